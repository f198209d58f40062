package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// calls are the calls of the operating system that can fail; tests replace them.
type calls struct {
	openFile func(name string, flag int, mode fs.FileMode) (*os.File, error)
	mkdirAll func(name string, mode fs.FileMode) error
	lock     func(*os.File) error
	stat     func(*os.File) (fs.FileInfo, error)
	read     func(*os.File) ([]byte, error)
	write    func(f *os.File, data []byte, at int64) (int, error)
	truncate func(f *os.File, size int64) error
	sync     func(*os.File) error
	close    func(*os.File) error
}

var system = calls{
	openFile: os.OpenFile, mkdirAll: os.MkdirAll, stat: (*os.File).Stat,
	read:     func(f *os.File) ([]byte, error) { return io.ReadAll(io.NewSectionReader(f, 0, 1<<62)) },
	write:    func(f *os.File, data []byte, at int64) (int, error) { return f.WriteAt(data, at) },
	truncate: (*os.File).Truncate, sync: (*os.File).Sync, close: (*os.File).Close,
	lock: func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) },
}

// patience is how long a run waits before it looks again whether another one has let go of the ledger.
const patience = 100 * time.Millisecond

// file is a ledger in a file, with a lock that ends with the process and no earlier: nobody else adds a line meanwhile.
type file struct {
	path string
	held *os.File // nil: it is not held
	size int64    // of its lines
}

func (f *file) String() string { return f.path }

// Hold implements place.Store. A file that others may read, a link, or one of another user is an error.
func (f *file) Hold(ctx context.Context, waiting func()) (err error) {
	if err := system.mkdirAll(filepath.Dir(f.path), 0o777); err != nil {
		return err
	}
	if f.held, err = open(f.path, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if err = f.take(ctx, waiting); err != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}

// open opens the file of a ledger.
func open(path string, flag int) (*os.File, error) {
	f, err := system.openFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s: is a link, and a ledger is a file", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := system.stat(f)
	if err == nil {
		err = private(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, system.close(f))
	}
	return f, nil
}

// private reports what lets others read or replace a ledger.
func private(path string, info fs.FileInfo) error {
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is no regular file", path)
	case known && int64(st.Uid) != int64(os.Geteuid()):
		return fmt.Errorf("%s: belongs to another user", path)
	case known && st.Nlink != 1:
		return fmt.Errorf("%s: has several names, or none", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: must be readable by its owner only (chmod 600), has mode %04o", path, info.Mode().Perm())
	}
	return nil
}

// take waits for the lock.
func (f *file) take(ctx context.Context, waiting func()) error {
	for told := false; ; told = true {
		err := system.lock(f.held)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%s: cannot be locked: %w", f.path, err)
		}
		if !told && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(patience):
		}
	}
	held, err := system.stat(f.held)
	if err != nil {
		return err
	}
	if named, err := os.Lstat(f.path); err != nil || !os.SameFile(held, named) {
		return fmt.Errorf("%s: was replaced while this run waited for it", f.path)
	}
	// The name of a new file, and lines of a run that was killed before it had synced them.
	return errors.Join(system.sync(f.held), syncDir(filepath.Dir(f.path)))
}

func syncDir(dir string) error {
	d, err := system.openFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(system.sync(d), system.close(d))
}

// Read implements place.Store.
func (f *file) Read(context.Context) (text []byte, err error) {
	if f.held != nil {
		text, err = system.read(f.held)
	} else {
		var once *os.File
		if once, err = open(f.path, os.O_RDONLY); err != nil {
			return nil, err
		}
		text, err = system.read(once)
		err = errors.Join(err, system.close(once))
	}
	f.size = int64(len(text))
	return text, err
}

// cut removes what follows whole lines of that size.
func (f *file) cut(size int64) error {
	f.size = size
	return errors.Join(system.truncate(f.held, size), system.sync(f.held))
}

// Add implements place.Store.
func (f *file) Add(_ context.Context, line []byte) error {
	_, err := system.write(f.held, line, f.size)
	if err == nil {
		err = system.sync(f.held)
	}
	if err != nil {
		return errors.Join(err, system.truncate(f.held, f.size)) // what is there is read again by the next run
	}
	f.size += int64(len(line))
	return nil
}

// Probe implements place.Store.
func (f *file) Probe(context.Context) error {
	there, err := open(f.path, os.O_RDWR)
	if err == nil {
		return system.close(there)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	one, err := publish.Create(f.path, publish.Confidential)
	if err == nil {
		err = one.Abort()
	}
	return err
}

// Close implements place.Store.
func (f *file) Close() error {
	if f.held == nil {
		return nil
	}
	held := f.held
	f.held = nil
	return system.close(held)
}
