package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Pending is a file whose final name is decided only when it is complete, and given by Name,
// perhaps in another process. Its temporary name is unique. Until it has its final name only
// its owner can read it.
type Pending struct {
	*os.File
	done bool
}

// CreatePending makes a file of a new temporary name (IsTemp), and locks it for as long as it
// is open: RemoveAbandoned does not touch it.
func CreatePending(temp string) (*Pending, error) {
	if !IsTemp(temp) {
		return nil, fmt.Errorf("%s: is no temporary name", temp)
	}
	f, err := system.openFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, system.close(f))
	}
	return &Pending{File: f}, nil
}

// Release closes the file and lets go of its name, under which it stays.
func (p *Pending) Release() error {
	if p.done {
		return nil
	}
	p.done = true
	return system.close(p.File)
}

// Abort removes the file if it still has its temporary name. After Release it does nothing.
func (p *Pending) Abort() error {
	if p.done {
		return nil
	}
	p.done = true
	err := system.remove(p.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, system.close(p.File))
}

// Name gives a complete file its final name and the modes that the umask allows. Both are
// durable once the folders are synced. It is an error if the file is a link, or was not made
// by a run of this user.
func Name(temp, final string) error {
	f, err := openOwn(temp)
	if err != nil {
		return err
	}
	defer system.close(f)
	if err := system.chmod(f, 0o666&^umask()); err != nil {
		return err
	}
	return system.rename(temp, final)
}

// RemoveAbandoned removes the file of a temporary name unless somebody has it
// open as a Pending. It reports whether the name is gone.
func RemoveAbandoned(temp string) (gone bool, err error) {
	if !IsTemp(temp) {
		return false, fmt.Errorf("%s: is no temporary name", temp)
	}
	f, err := openOwn(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer system.close(f)
	switch err := lock(f); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := system.remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// SyncDirs syncs folders below root, and the folders that hold them up to root itself: files
// that were made in them are then found after a crash.
func SyncDirs(root string, dirs ...string) error {
	root = filepath.Clean(root)
	done := make(map[string]bool)
	for _, dir := range dirs {
		for dir = filepath.Clean(dir); !done[dir]; dir = filepath.Dir(dir) {
			if err := syncDir(dir); err != nil {
				return err
			}
			done[dir] = true
			if dir == root || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}
