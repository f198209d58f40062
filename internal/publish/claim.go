package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLive is the error of a file that has a temporary name which another process holds.
var ErrLive = errors.New("another run is writing this file")

// claim makes the temporary file of path, new and of this user, and locks it. The
// name is known to everybody, so nothing that is found under it is ever written
// to: neither through a link nor into a file that somebody else has opened, owns
// or has a second name for. What a run that was killed has left (a file of this
// user with one name, that no live run has locked) is removed; anything else is an
// error.
//
// A run that ends between opening and locking gives its file the final name, and
// one that tidies up removes a file that its maker has not locked yet, so the name
// is looked at again once the lock is held: the lock must be on the file that has it.
func claim(path string) (*os.File, error) {
	temp := TempName(path)
	for range 1000 {
		f, err := system.openFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if err = removeStale(path, temp); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if lock(f) == nil && hasName(temp, f) {
			return f, nil
		}
		system.close(f)
	}
	return nil, fmt.Errorf("%s: %w", path, ErrLive)
}

// Adopt takes over what a dead run has left under a temporary name, as it is: until Abort removes it, nobody else can.
// The error is ErrLive if the run lives, and fs.ErrNotExist if there is nothing.
func Adopt(path string) (*File, error) {
	temp := TempName(path)
	f, err := openOwn(temp)
	if err != nil {
		return nil, err
	}
	switch {
	case lock(f) != nil:
		err = fmt.Errorf("%s: %w", path, ErrLive)
	case !hasName(temp, f):
		err = fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	default:
		return &File{sequential: sequential{File: f}, path: path, mode: Confidential}, nil
	}
	return nil, errors.Join(err, system.close(f))
}

// removeStale removes what a dead run has left under a temporary name.
func removeStale(path, temp string) error {
	f, err := openOwn(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer system.close(f)
	if lock(f) != nil {
		return fmt.Errorf("%s: %w", path, ErrLive)
	}
	if !hasName(temp, f) {
		return nil
	}
	if err := system.remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openOwn opens a file that runs of this user leave behind: a regular file of this user with
// one name, not a link.
func openOwn(temp string) (*os.File, error) {
	// Looked at first, since to open a device may do something.
	info, err := system.lstat(temp)
	if err != nil {
		return nil, err
	}
	if err := own(temp, info); err != nil {
		return nil, err
	}
	f, err := system.openFile(temp, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = system.stat(f); err == nil {
		err = own(temp, info)
	}
	if err != nil {
		return nil, errors.Join(err, system.close(f))
	}
	return f, nil
}

// own reports what tells a file from one that a run of this user has made.
func own(temp string, info fs.FileInfo) error {
	what := ""
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		what = "a link"
	case !info.Mode().IsRegular():
		what = "no regular file"
	case known && int64(st.Uid) != int64(os.Geteuid()):
		what = "another user's file"
	case known && st.Nlink != 1:
		what = "a file of several names"
	default:
		return nil
	}
	return fmt.Errorf("%s: is %s, and not the temporary file of a run of this user; look at it and remove it", temp, what)
}

func lock(f *os.File) error { return system.lock(f) }

// hasName reports whether a name is that of the open file, and its only one.
func hasName(path string, f *os.File) bool {
	held, err1 := system.stat(f)
	named, err2 := system.lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, named) && own(path, named) == nil
}

// errReplaced is the error of a temporary name that now belongs to another file.
func errReplaced(temp string) error {
	return fmt.Errorf("%s: was replaced, linked to or given away while it was being written; nothing gets its name",
		filepath.Base(temp))
}
