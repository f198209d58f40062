package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// Leave gives up the file's name for now: what is complete stays under its temporary name, for Recover.
// What is not complete, an object, and what is copied to a device, is aborted.
func (f *File) Leave() error {
	if f.object != nil || f.device || !f.finished {
		return f.Abort()
	}
	if f.done {
		return nil
	}
	f.done = true
	return system.close(f.File)
}

// Recover gives the file that a run of this user has left complete under the temporary name of path its
// name, if fits has no error for its content. It reports whether there was one. The file keeps its mode, which is that of
// a confidential file until it is complete. A live run that writes the file is an error, and objects are.
func Recover(path string, fits func(text []byte) error) (found bool, err error) {
	if objects.Is(path) {
		return false, fmt.Errorf("%s: what was uploaded of an object without its name cannot be completed later; the same run again writes it", path)
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
