package publish

import (
	"io/fs"
	"os"
	"syscall"
)

// calls are the calls of the operating system that this package uses, each of which can fail:
// a full disk, a folder that vanishes. The tests replace them with calls of which the n-th
// fails, for every n, so that each failure is tested.
type calls struct {
	openFile   func(name string, flag int, mode fs.FileMode) (*os.File, error)
	createTemp func(dir, pattern string) (*os.File, error)
	lstat      func(name string) (fs.FileInfo, error)
	mkdir      func(name string, mode fs.FileMode) error
	mkdirAll   func(name string, mode fs.FileMode) error
	chmodName  func(name string, mode fs.FileMode) error
	link       func(old, name string) error
	rename     func(old, name string) error
	exchange   func(a, b string) error
	remove     func(name string) error
	removeAll  func(name string) error

	stat  func(*os.File) (fs.FileInfo, error)
	chmod func(*os.File, fs.FileMode) error
	lock  func(*os.File) error
	write func(f *os.File, data []byte) (int, error)
	seek  func(f *os.File, offset int64, whence int) (int64, error)
	sync  func(*os.File) error
	close func(*os.File) error
}

var system = calls{
	openFile: os.OpenFile, createTemp: os.CreateTemp, lstat: os.Lstat, mkdir: os.Mkdir, mkdirAll: os.MkdirAll,
	chmodName: os.Chmod, link: os.Link, rename: os.Rename, exchange: exchange, remove: os.Remove, removeAll: os.RemoveAll,
	stat: (*os.File).Stat, chmod: (*os.File).Chmod, write: (*os.File).Write, seek: (*os.File).Seek,
	sync: (*os.File).Sync, close: (*os.File).Close,
	lock: func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) },
}
