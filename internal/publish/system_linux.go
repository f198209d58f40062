package publish

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two folders in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// WriteBack makes the kernel write a part of a file to disk in the background, so that the sync at
// the end takes less time. It is a hint: if the file system has no such call, or w is not a file,
// it does nothing.
func WriteBack(w io.Writer, offset, n int64) {
	f, _ := w.(*os.File)
	switch w := w.(type) {
	case *File:
		f = w.File
	case *dirPart:
		f = w.File
	}
	if f == nil {
		return
	}
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
