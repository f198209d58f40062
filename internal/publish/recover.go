package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Leave gives up the file's name for now: what is complete stays under its temporary name, for Recover.
// What is not complete, an object without a receipt, and what is copied to a device, is aborted.
func (f *File) Leave() error {
	if f.object != nil && f.receipt {
		f.object.Leave()
		f.receipt = false // it is Recover's
		return nil
	}
	if f.object != nil || f.device || !f.finished {
		return f.Abort()
	}
	if f.done {
		return nil
	}
	f.done = true
	return system.close(f.File)
}

// Left reports whether a run has left something for Recover, or is about to give it its name. If that cannot be found
// out it returns false.
func Left(ctx context.Context, path string) bool {
	if !objectpath.Is(path) {
		return Exists(ctx, TempName(path))
	}
	name, err := objectName(TempName(path))
	if err != nil {
		return false
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return false
	}
	_, err = b.Head(ctx, name.Key)
	return err == nil
}

// receiptSchema names the form of a receipt; a change raises the number.
const receiptSchema = "sdlfilter.receipt/1"

// receipt is what lies under the temporary name of an object that is uploaded and has no name: how to complete
// it, and a note that says what it is about, since nobody can read it. Of Google's protocol it holds the object's last
// bytes.
type receipt struct {
	Schema string          `json:"schema"`
	Note   json.RawMessage `json:"note"`
	Held   *objects.Held   `json:"held"`
}

// Receipt leaves what Recover needs beside an object, after Stage; of files it does nothing. That it cannot be left is
// no error, since who may write the object need not be allowed to write another: Recover then finds nothing.
func (f *File) Receipt(note []byte) {
	if f.object == nil {
		return
	}
	held, err := f.object.Staged()
	if err != nil {
		return
	}
	text, err := json.Marshal(receipt{receiptSchema, note, held})
	if err != nil {
		return
	}
	f.receipt = true // even if the answer is lost
	_ = replaceObject(TempName(f.path), text)
}

// Forget removes the receipt of an object. One that stays harms nobody: what it describes has its name, or is gone.
func (f *File) Forget() {
	if !f.receipt {
		return
	}
	f.receipt = false
	forget(context.Background(), f.path)
}

func forget(ctx context.Context, path string) {
	name, err := objectName(TempName(path))
	if err != nil {
		return
	}
	if b, err := objects.Open(ctx, name); err == nil {
		_ = b.Delete(ctx, name.Key)
	}
}

// Recover gives what a run has left complete without its name the name: of files the one of this user under the
// temporary name of path, if fits has no error for its content, and of objects the one whose receipt lies there, if
// fits has none for its note. It reports whether there was one. A file keeps its mode, which is that of a confidential
// file until it is complete. A live run that writes the file is an error.
func Recover(ctx context.Context, path string, fits func(text []byte) error) (found bool, err error) {
	if objectpath.Is(path) {
		return recoverObject(ctx, path, fits)
	}
	temp := TempName(path)
	f, err := openOwn(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer system.close(f)
	if lock(f) != nil {
		return false, fmt.Errorf("%s: %w", path, ErrLive)
	}
	if !hasName(temp, f) {
		return false, nil
	}
	text, err := io.ReadAll(f)
	if err == nil {
		err = fits(text)
	}
	if err != nil {
		return true, err
	}
	if err := errors.Join(system.sync(f), system.rename(temp, path)); err != nil {
		return true, err
	}
	return true, named(path, syncDir(filepath.Dir(path)))
}

// recoverObject is Recover of an object. The server completes an upload once, and only if what has the name is what
// had it when the upload was begun: whoever else completes it, at the same time or before, is no error.
func recoverObject(ctx context.Context, path string, fits func(note []byte) error) (found bool, err error) {
	name, err := objectName(path)
	if err != nil {
		return false, err
	}
	text, err := ReadFile(ctx, TempName(path))
	if errors.Is(err, objects.ErrAbsent) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r := receipt{}
	if json.Unmarshal(text, &r) != nil || r.Schema != receiptSchema || r.Held == nil || r.Held.Key != name.Key {
		return true, fmt.Errorf("%s: is damaged, or none of this program's", TempName(path))
	}
	if err := fits(r.Note); err != nil {
		return true, err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return true, err
	}
	w, err := objects.Resume(ctx, b, r.Held)
	if errors.Is(err, objects.ErrNoUpload) {
		return false, nil // it was given up, or somebody has written there since
	}
	if err == nil {
		err = w.Commit()
		w.Leave()
	}
	if err != nil {
		return true, withName(path, err)
	}
	forget(ctx, path)
	return true, nil
}
