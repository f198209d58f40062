package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Limits of reading. A Reader holds at most cacheBytes of what it was told it would need,
// and asks for it in stretches of at most stretchMost, fetchers at a time. What nobody
// announced is read in stretches of stretchSmall.
const (
	cacheBytes   = 96 << 20
	stretchMost  = 4 << 20
	stretchLeast = 256 << 10
	stretchSmall = 64 << 10
	fetchers     = 8
	attempts     = 6
)

// Extent is a stretch of an object, [From, To).
type Extent struct{ From, To int64 }

// Reader reads one state of an object: every request names the ETag, and where the
// object has another one the error is ErrCondition. ReadAt and Want can be called
// concurrently.
type Reader struct {
	bucket Bucket
	info   Info
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	idle   time.Duration // how long a server may say nothing

	mu     sync.Mutex
	plan   []*stretch // what was announced last, in order, without gaps within an extent
	cached []*stretch // stretches with data or being fetched, the one used longest ago first
	size   int64      // of cached
	at     int64      // of Read
}

// stretch is a part of the object that is fetched at once.
type stretch struct {
	Extent
	next  *stretch // that follows in the extent; nil at its end
	begun bool
	done  chan struct{} // closed when data or err is there
	data  []byte
	err   error
}

// NewReader reads an object as info describes it, until ctx ends.
func NewReader(ctx context.Context, b Bucket, info Info) *Reader {
	ctx, cancel := context.WithCancel(ctx)
	return &Reader{bucket: b, info: info, ctx: ctx, cancel: cancel, slots: make(chan struct{}, fetchers), idle: Silence}
}

// Size is the object's size.
func (r *Reader) Size() int64 { return r.info.Size }

// ETag is the state of the object that is read.
func (r *Reader) ETag() string { return r.info.ETag }

// Want announces what will be read, each extent from its beginning to its end and several
// at once, so that it is fetched ahead. It takes the place of what was announced before;
// what was fetched stays as long as there is room.
func (r *Reader) Want(extents ...Extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = nil
	// Every extent has a stretch that is read and two that come, and all of them must fit.
	each := int64(stretchMost)
	if n := int64(len(extents)); n > 0 {
		each = min(each, max(stretchLeast, cacheBytes/(3*n)))
	}
	for _, e := range extents {
		e.From, e.To = max(e.From, 0), min(e.To, r.info.Size)
		var last *stretch
		for from := e.From; from < e.To; from += each {
			s := &stretch{Extent: Extent{from, min(from+each, e.To)}}
			if last != nil {
				last.next = s
			}
			last = s
			r.plan = append(r.plan, s)
		}
	}
}

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("a negative offset")
	}
	for n < len(p) {
		if off >= r.info.Size {
			return n, io.EOF
		}
		s := r.stretchAt(off, int64(len(p)-n))
		select {
		case <-s.done:
		case <-r.ctx.Done():
			return n, context.Cause(r.ctx)
		}
		if s.err != nil {
			return n, s.err
		}
		k := copy(p[n:], s.data[off-s.From:])
		n, off = n+k, off+int64(k)
	}
	return n, nil
}

// stretchAt returns the stretch that holds an offset, being fetched, and has what follows
// it in its extent fetched as well.
func (r *Reader) stretchAt(off, n int64) *stretch {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.cached) - 1; i >= 0; i-- {
		if s := r.cached[i]; s.From <= off && off < s.To {
			r.cached = append(append(r.cached[:i:i], r.cached[i+1:]...), s)
			r.ahead(s)
			return s
		}
	}
	for _, s := range r.plan {
		if !s.begun && s.From <= off && off < s.To {
			r.fetch(s)
			r.ahead(s)
			return s
		}
	}
	from := off / stretchSmall * stretchSmall
	to := min((off+max(n, 1)+stretchSmall-1)/stretchSmall*stretchSmall, from+stretchMost, r.info.Size)
	s := &stretch{Extent: Extent{from, to}}
	r.fetch(s)
	return s
}

// ahead fetches the two stretches that follow; where few extents are read at once, so
// many that all fetchers are busy.
func (r *Reader) ahead(s *stretch) {
	many := 2
	if s.To-s.From >= stretchMost {
		many = fetchers - 1
	}
	for s = s.next; s != nil && many > 0; s, many = s.next, many-1 {
		if !s.begun {
			r.fetch(s)
		}
	}
}

// fetch begins to fetch a stretch, and lets go of what was used longest ago where there
// is no room for it. What waits for such a stretch still gets it.
func (r *Reader) fetch(s *stretch) {
	s.begun, s.done = true, make(chan struct{})
	r.cached = append(r.cached, s)
	r.size += s.To - s.From
	for r.size > cacheBytes && len(r.cached) > 1 {
		old := r.cached[0]
		r.size -= old.To - old.From
		r.cached = r.cached[1:]
		// It may be announced still, and read a second time.
		again := *old
		again.begun, again.done, again.data, again.err = false, nil, nil, nil
		for i, p := range r.plan {
			if p == old {
				r.plan[i] = &again
			} else if p.next == old {
				p.next = &again
			}
		}
	}
	go func() {
		defer close(s.done)
		defer bug.Guard()
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
		case <-r.ctx.Done():
			s.err = context.Cause(r.ctx)
			return
		}
		s.data, s.err = r.get(s.Extent)
	}()
}

// get reads an extent. A connection that breaks is taken up where it broke, until it has
// broken several times in a row without a byte.
func (r *Reader) get(e Extent) ([]byte, error) {
	data := make([]byte, e.To-e.From)
	for n, tries := 0, 0; ; {
		k, final, err := r.getOnce(data[n:], e.From+int64(n))
		n += k
		switch {
		case err == nil:
			return data, nil
		case r.ctx.Err() != nil:
			return nil, context.Cause(r.ctx)
		case final:
			return nil, err
		}
		if tries++; k > 0 {
			tries = 1
		}
		if tries == attempts {
			return nil, fmt.Errorf("%w, %d times in a row", err, attempts)
		}
		if !pause(r.ctx, tries) {
			return nil, context.Cause(r.ctx)
		}
	}
}

// getOnce fills p; final is set where another attempt would end the same way: what a
// request itself has failed with, the bucket has tried again already.
func (r *Reader) getOnce(p []byte, off int64) (n int, final bool, err error) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	body, err := r.bucket.Get(ctx, r.info.Key, r.info.ETag, off, int64(len(p)))
	if err != nil {
		return 0, true, err
	}
	defer body.Close()
	silent := time.AfterFunc(r.idle, cancel)
	defer silent.Stop()
	for n < len(p) {
		k, err := body.Read(p[n:])
		n += k
		if err != nil && n < len(p) {
			return n, false, errors.New("the connection was cut")
		}
		silent.Reset(r.idle)
	}
	return n, false, nil
}

// pause waits before another attempt, longer each time.
func pause(ctx context.Context, try int) bool {
	t := time.NewTimer(min(50*time.Millisecond<<try, 5*time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.at >= r.info.Size {
		return 0, io.EOF
	}
	n, err := r.ReadAt(p[:min(int64(len(p)), r.info.Size-r.at)], r.at)
	r.at += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.info.Size
	}
	if offset < 0 {
		return 0, errors.New("a negative offset")
	}
	r.at = offset
	return offset, nil
}

// Close ends what is being fetched and lets go of everything.
func (r *Reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan, r.cached, r.size = nil, nil, 0
	return nil
}
