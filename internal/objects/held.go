package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Held is an object that is written and has no name: it is not visible before a process, this one
// or another, resumes and commits it. It contains no secret, but anyone who may write to the bucket
// can use it to publish the object.
type Held struct {
	Key    string          `json:"key"`
	Mark   string          `json:"mark"`
	Bytes  int64           `json:"bytes"`
	SHA256 string          `json:"sha256"`
	Upload json.RawMessage `json:"upload"` // Upload.Token
	// Replaces is the ETag of what the object replaces; "": its name must be unused.
	Replaces string `json:"replaces,omitempty"`
}

// Hold has everything uploaded and leaves it to another process, which resumes it. After
// it Abort does nothing.
func (w *Writer) Hold() (*Held, error) {
	if w.done {
		return nil, errors.New("the object is committed or given up")
	}
	if !w.cond.Absent {
		return nil, errors.New("the object's name is already used; the held object gets an unused name")
	}
	if err := w.Finish(); err != nil {
		return nil, err
	}
	if w.upload == nil {
		// What is small is one part.
		up, err := w.bucket.Begin(w.ctx, w.key, w.mark, w.cond)
		if err != nil {
			return nil, err
		}
		w.upload = up
		if err := up.Part(w.ctx, 1, w.part); err != nil {
			return nil, err
		}
	}
	h, err := w.Staged()
	if err != nil {
		return nil, err
	}
	w.Leave()
	return h, nil
}

// Staged describes what Stage has uploaded: with it another process can give the object its name if this one
// does not. It is ErrNoUpload of an empty object, of which nothing is uploaded.
func (w *Writer) Staged() (*Held, error) {
	if w.upload == nil {
		return nil, ErrNoUpload
	}
	token, err := w.upload.Token()
	if err != nil {
		return nil, err
	}
	h := &Held{Key: w.key, Mark: w.mark, Upload: token, Replaces: w.cond.ETag}
	h.Bytes, h.SHA256 = w.Sum()
	return h, nil
}

// Leave leaves the upload as it is, to whoever resumes it. After it Abort does nothing.
func (w *Writer) Leave() {
	if w.done {
		return
	}
	w.done = true
	w.cancel()
	w.part = nil
}

// Resume is the writer of an object that was held. What it commits replaces what it was written to replace and
// nothing else, unless the name is the object's already: whoever has committed it before and died
// has done so. The error is ErrNoUpload where neither is there any more.
func Resume(ctx context.Context, b Bucket, h *Held) (*Writer, error) {
	w, err := resumed(ctx, b, h)
	if err != nil {
		return nil, err
	}
	switch err := w.upload.There(ctx); {
	case err == nil:
		return w, nil
	case !errors.Is(err, ErrNoUpload):
		w.cancel()
		return nil, err
	}
	defer w.cancel()
	info, err := b.Head(ctx, h.Key)
	switch {
	case errors.Is(err, ErrAbsent), err == nil && (info.Mark != h.Mark || info.Size != h.Bytes):
		return nil, ErrNoUpload
	case err != nil:
		return nil, err
	}
	w.done, w.committed = true, true
	return w, nil
}

// Discard gives up a held object. A committed object stays, and a missing one is not an error.
func Discard(ctx context.Context, b Bucket, h *Held) error {
	w, err := resumed(ctx, b, h)
	if err != nil {
		return err
	}
	return w.Abort()
}

func resumed(ctx context.Context, b Bucket, h *Held) (*Writer, error) {
	if h.Key == "" || h.Mark == "" || h.Bytes < 0 {
		return nil, fmt.Errorf("what is known of the upload is damaged")
	}
	up, err := b.Resume(h.Key, h.Upload)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		bucket: b, key: h.Key, mark: h.Mark, cond: Condition{Absent: h.Replaces == "", ETag: h.Replaces}, upload: up,
		size: h.Bytes, sum: h.SHA256, finished: true,
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return w, nil
}
