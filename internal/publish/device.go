package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Device reports whether a path is something that is written to and never
// replaced: a character device, a pipe, or whatever a process has open (/dev/stdout,
// /dev/fd/3, below /proc). Sockets and disks are an error: nothing of a release
// belongs there.
func Device(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false, nil // where it cannot be made, Create says so
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSocket != 0:
		return false, fmt.Errorf("%s: is a socket, which is not written to", path)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return false, fmt.Errorf("%s: is a disk, which is not written to", path)
	case !mode.IsRegular():
		return true, nil
	}
	return opened(path), nil
}

// opened reports whether a path stands for a file that a process has open. To give another
// file this name would cut the process off.
func opened(path string) bool {
	for range 40 { // as many links as Linux follows
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return false
		}
		if dir == "/proc" || strings.HasPrefix(dir, "/proc/") || dir == "/dev" || dir == "/dev/fd" {
			return true
		}
		target, err := os.Readlink(filepath.Join(dir, filepath.Base(path)))
		if err != nil {
			return false
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return false
}

// spool makes a file without a name, that its owner alone can read.
func spool() (*os.File, error) {
	f, err := system.createTemp("", ".sdlfilter-*")
	if err != nil {
		return nil, err
	}
	if err := system.remove(f.Name()); err != nil {
		return nil, errors.Join(err, system.close(f))
	}
	return f, nil
}

// copyOut writes a spool to a device or pipe. What was appended to before
// (>> file) is appended to again.
func copyOut(spool *os.File, path string) error {
	if _, err := system.seek(spool, 0, io.SeekStart); err != nil {
		return err
	}
	out, err := system.openFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if device, err := stillDevice(path, out); err != nil || !device {
		return errors.Join(fmt.Errorf("%s: was a device or a pipe, and is none any more", path), err, system.close(out))
	}
	_, err = io.Copy(out, spool)
	return errors.Join(err, system.close(out))
}

func stillDevice(path string, f *os.File) (bool, error) {
	info, err := system.stat(f)
	return err == nil && (!info.Mode().IsRegular() || opened(path)), err
}

// hangUp tells a reader that waits at the other end of a pipe that the release will not come.
// Without a waiting reader it does nothing.
func hangUp(spool *os.File, path string) error {
	if begun, err := system.stat(spool); err != nil || begun.Size() == 0 {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 || opened(path) {
		return nil
	}
	f, err := system.openFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return system.close(f)
}
