package objects

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Limits of writing: at most uploads parts are on their way while one is filled. An
// upload has at most mostParts of them, of which the later ones are larger, so that an
// object can have a terabyte.
const (
	partBytes  = 16 << 20
	laterBytes = 128 << 20
	smallParts = 2000
	mostParts  = 10000
	uploads    = 3
	// tidyTime is how long the end of a run waits for what it takes back.
	tidyTime = time.Minute
)

// Writer writes an object that is not visible before Commit, and that replaces only the object that
// had its name when the Writer was made. Only one goroutine may use it.
type Writer struct {
	bucket Bucket
	key    string
	mark   string
	cond   Condition

	ctx    context.Context
	cancel context.CancelFunc

	part    []byte // being filled
	number  int    // of parts that were handed on
	size    int64
	upload  Upload // nil until a part is full
	slots   chan []byte
	sending sync.WaitGroup
	mu      sync.Mutex
	failed  error

	digest    hash.Hash
	sum       string // of what another process has written, in place of digest
	attempted bool   // to commit, without knowing that it was not done
	finished  bool
	done      bool // committed or given up
	committed bool
}

// NewWriter begins an object. What is under its name now is what Commit replaces; fresh
// demands that nothing is.
func NewWriter(ctx context.Context, b Bucket, key string, fresh bool) (*Writer, error) {
	c := Condition{Absent: true}
	if !fresh {
		info, err := b.Head(ctx, key)
		switch {
		case err == nil:
			c = Condition{ETag: info.ETag}
		case !errors.Is(err, ErrAbsent):
			return nil, err
		}
	}
	w := &Writer{bucket: b, key: key, mark: newMark(), cond: c, slots: make(chan []byte, uploads), digest: sha256.New()}
	// What is on its way ends with Abort: a run that is ended aborts what it writes.
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for range uploads {
		w.slots <- nil
	}
	return w, nil
}

// newMark is a random name of a writing, by which it is known again.
func newMark() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Committed reports whether the object has its name.
func (w *Writer) Committed() bool { return w.committed }

// Key is the object's key.
func (w *Writer) Key() string { return w.key }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.finished || w.done {
		return 0, errors.New("the object is finished")
	}
	for n < len(p) {
		if err := w.failure(); err != nil {
			return n, err
		}
		room := w.partSize() - len(w.part)
		k := min(room, len(p)-n)
		w.part = append(w.part, p[n:n+k]...)
		n += k
		if k == room {
			if err := w.send(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *Writer) partSize() int {
	if w.number >= smallParts {
		return laterBytes
	}
	return partBytes
}

// send has the part uploaded, in the background.
func (w *Writer) send() error {
	if w.upload == nil {
		up, err := w.bucket.Begin(w.ctx, w.key, w.mark, w.cond)
		if err != nil {
			return err
		}
		w.upload = up
	}
	if w.number == mostParts {
		return fmt.Errorf("the object would have more than %d GB, the most that is written: release a folder",
			(smallParts*partBytes+(mostParts-smallParts)*laterBytes)/1_000_000_000)
	}
	w.number++
	number, part := w.number, w.part
	w.size += int64(len(part))
	w.digest.Write(part)
	w.part = (<-w.slots)[:0]
	w.sending.Add(1)
	go func() {
		defer w.sending.Done()
		defer bug.Guard()
		if err := w.upload.Part(w.ctx, number, part); err != nil {
			w.fail(err)
		}
		w.slots <- part
	}()
	return nil
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Finish has everything uploaded; what is left for Commit is the name.
func (w *Writer) Finish() error {
	if w.finished || w.done {
		return w.failure()
	}
	if w.upload == nil {
		w.size += int64(len(w.part))
		w.digest.Write(w.part)
	} else if len(w.part) > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	w.sending.Wait()
	w.finished = true
	return w.failure()
}

// Stage is Finish of an object that is complete on the server afterwards, however small it is. Of an
// empty one it asks only whether the server would take it.
func (w *Writer) Stage() error {
	if w.upload != nil || w.finished || w.done {
		return w.Finish()
	}
	if len(w.part) > 0 {
		if err := w.send(); err != nil {
			return err
		}
		return w.Finish()
	}
	up, err := w.bucket.Begin(w.ctx, w.key, w.mark, w.cond)
	if err != nil {
		return err
	}
	if err := up.Abort(w.ctx); err != nil && !errors.Is(err, ErrNoUpload) {
		return err
	}
	return w.Finish()
}

// Sum is the size and the SHA-256 of what was written, after Finish.
func (w *Writer) Sum() (size int64, digest string) {
	if w.digest == nil {
		return w.size, w.sum
	}
	return w.size, hex.EncodeToString(w.digest.Sum(nil))
}

// Commit gives the object its name, if what is under it is still what was there. The
// error is ErrCondition where it is not, and a *NamedError where it is not known whether the object
// has its name; Abort then tries to take it back.
func (w *Writer) Commit() error {
	if w.done {
		return nil
	}
	if err := w.Finish(); err != nil {
		return err
	}
	ctx, doubt := doubting(w.ctx)
	var err error
	if w.upload == nil {
		err = w.bucket.Put(ctx, w.key, w.part, w.mark, w.cond)
	} else {
		err = w.upload.Complete(ctx, w.cond)
	}
	// An upload that is gone was completed, perhaps, by another process or in an earlier attempt.
	w.attempted = w.attempted || doubt.Load() || errors.Is(err, ErrNoUpload)
	if err != nil {
		// An answer that was lost has its request sent again, which then finds the object
		// there, or the upload gone, or nothing but broken connections: the mark tells.
		ours, unknown := w.there(w.ctx)
		switch {
		case unknown != nil && w.attempted:
			return &NamedError{Err: err}
		case !ours, errors.Is(err, ErrDamaged):
			return err
		}
	}
	w.done, w.committed = true, true
	w.cancel()
	w.part = nil
	return nil
}

// there reports whether the object that has the name is this one. The error: that is not known.
func (w *Writer) there(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	info, err := w.bucket.Head(ctx, w.key)
	if errors.Is(err, ErrAbsent) {
		return false, nil
	}
	return err == nil && info.Mark == w.mark, err
}

// Abort gives the object up. After Commit it does nothing. A *NamedError: the object has its name all the
// same, or that is not known.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.cancel()
	w.sending.Wait()
	w.part = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), tidyTime)
	defer cancel()
	var err error
	if w.upload != nil {
		if err = w.upload.Abort(ctx); errors.Is(err, ErrNoUpload) {
			err = nil
		}
	}
	if !w.attempted {
		return err
	}
	// The server may have done what it did not answer.
	switch ours, unknown := w.there(ctx); {
	case unknown != nil:
		return &NamedError{Err: unknown}
	case !ours:
		return err
	case !w.cond.Absent:
		return &NamedError{Known: true, Err: errors.New("what was there before is gone")}
	}
	if err := w.bucket.Delete(ctx, w.key); err != nil {
		return &NamedError{Known: true, Err: fmt.Errorf("it could not be removed: %w", err)}
	}
	return nil
}

// PutWhole writes a small object in one go, on a condition.
func PutWhole(ctx context.Context, b Bucket, key string, data []byte, c Condition) error {
	w := &Writer{bucket: b, key: key, mark: newMark(), cond: c, finished: true, part: data}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w.Commit()
}
