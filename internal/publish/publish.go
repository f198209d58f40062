// Package publish writes files that appear under their name only when they are
// complete: temporary name, fsync, rename, fsync of the folder. A killed run
// leaves at most a temporary file behind, which the next run over the same name
// removes. Devices and pipes are written to when everything is there.
package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Mode is who may read a file once it has its name. Before that only its owner can.
type Mode bool

const (
	Confidential Mode = false // 0600
	Public       Mode = true  // as the umask allows
)

const suffix = ".sdlfilter-tmp"

// TempName returns the temporary name that belongs to a final name: hidden, in
// the same folder, always the same.
func TempName(path string) string {
	if objectpath.Is(path) {
		at := strings.LastIndexByte(path, '/') + 1
		return path[:at] + "." + path[at:] + suffix
	}
	dir, base := filepath.Split(filepath.Clean(path))
	return dir + "." + base + suffix
}

// IsTemp reports whether a file name is one of those that TempName gives. Such
// files are never part of a source.
func IsTemp(name string) bool {
	return filepath.Ext(name) == suffix && filepath.Base(name)[0] == '.'
}

// File is a file that has no name yet.
type File struct {
	sequential // its File is nil where the path is that of an object
	path       string
	object     *objects.Writer
	receipt    bool // of the object, lies under TempName(path), or may lie there
	mode       Mode
	device     bool // path is a device or pipe: File is a spool without a name, copied out by Commit
	finished   bool
	done       bool
}

// Create makes a temporary file next to path, in a folder that is made where it
// is missing. Another live run that writes the same name is an error; what a
// dead one left is removed. Where path is a character device or a pipe
// (/dev/null, /dev/stdout, a FIFO), which is never replaced, the file has no name
// and Commit copies it there.
//
// Where path is that of an object (s3://BUCKET/KEY), nobody sees it before Commit, which
// is an error where something else has come under the name meanwhile. Who may read it is
// what the bucket says, whatever the mode.
func Create(path string, mode Mode) (*File, error) {
	if objectpath.Is(path) {
		return createObject(path, mode)
	}
	device, err := Device(path)
	if err != nil {
		return nil, err
	}
	if device {
		spool, err := spool()
		if err != nil {
			return nil, err
		}
		return &File{sequential: sequential{File: spool}, path: path, mode: mode, device: true}, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder, and the output is a file", path)
	}
	if err := system.mkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := claim(path)
	if err != nil {
		return nil, err
	}
	// Whatever the umask.
	if err := system.chmod(f, 0o600); err != nil {
		return nil, errors.Join(err, system.remove(f.Name()), system.close(f))
	}
	return &File{sequential: sequential{File: f}, path: path, mode: mode}, nil
}

// Path returns the final name.
func (f *File) Path() string { return f.path }

// Finish sets the final mode and syncs: what is left for Commit is the name.
func (f *File) Finish() error {
	if f.object != nil {
		return withName(f.path, f.object.Finish())
	}
	if f.finished || f.done || f.device {
		return nil
	}
	if !hasName(f.Name(), f.File) {
		return errReplaced(f.Name())
	}
	if f.mode == Public {
		if err := system.chmod(f.File, 0o666&^umask()); err != nil {
			return err
		}
	}
	f.finished = true
	return system.sync(f.File)
}

// Commit gives the file its name, replacing what was there, after Finish where
// that has not been called. After a *NamedError it has its name.
func (f *File) Commit() error {
	if f.object != nil {
		return withName(f.path, f.object.Commit())
	}
	if f.done {
		return nil
	}
	if f.device {
		if err := copyOut(f.File, f.path); err != nil {
			return err
		}
		f.done = true
		return system.close(f.File)
	}
	if err := f.Finish(); err != nil {
		return err
	}
	if !hasName(f.Name(), f.File) {
		return errReplaced(f.Name())
	}
	if err := system.rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return named(f.path, errors.Join(system.close(f.File), syncDir(filepath.Dir(f.path))))
}

// Abort removes the temporary file. After Commit it does nothing.
func (f *File) Abort() error {
	if f.object != nil {
		err := f.object.Abort()
		f.Forget()
		return withName(f.path, err)
	}
	if f.done {
		return nil
	}
	f.done = true
	if f.device {
		return errors.Join(hangUp(f.File, f.path), system.close(f.File))
	}
	if !hasName(f.Name(), f.File) {
		return system.close(f.File) // it is gone, or the name is another's
	}
	err := system.remove(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, system.close(f.File))
}

// WriteFile writes a whole file in one go.
func WriteFile(path string, mode Mode, data []byte) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	if f.object != nil {
		_, err = f.Write(data)
	} else {
		_, err = system.write(f.File, data)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Commit(); err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

// Replace writes a whole confidential file, as WriteFile does, but several processes may write
// it at once: the last one to end wins.
func Replace(path string, data []byte) (err error) {
	if objectpath.Is(path) {
		return replaceObject(path, data)
	}
	if err := system.mkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := system.createTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+suffix)
	if err != nil {
		return err
	}
	_, err = system.write(f, data)
	if err = errors.Join(err, system.sync(f), system.close(f)); err == nil {
		err = system.rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, system.remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir has what a folder holds survive a crash.
func SyncDir(dir string) error { return syncDir(dir) }

func syncDir(dir string) error {
	d, err := system.openFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(system.sync(d), system.close(d))
}
