package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// Stamp tells whether a file is still what it was: which file it is, its size, and
// the two times that the system keeps of its changes. The time of the content
// (mtime) can be set back by whoever may write the file; that of the file (ctime)
// cannot, so that a rewrite of the same size whose mtime was restored shows in it.
type Stamp struct {
	device, inode uint64
	size          int64
	modified      time.Time
	changed       time.Time
	etag          string // of an object, which has no other
}

// A change within one tick of the clock that file systems read leaves the times as
// they are. The clock of Linux ticks every 1 to 10 ms; file systems that keep no
// fractions of a second (ext3, FAT, some network ones) every one or two seconds.
const (
	tick       = 11 * time.Millisecond
	coarseTick = 2100 * time.Millisecond
)

// StampOf stamps an open file. Where the file was changed just now it waits until
// the clock has moved on, at most two seconds, so that a change that comes after
// has another time. It must come before the first byte is read.
func StampOf(f *os.File) (Stamp, error) {
	s, err := stat(f)
	for end := time.Now().Add(coarseTick); err == nil; s, err = stat(f) {
		young := tick
		if s.changed.Nanosecond() == 0 && s.modified.Nanosecond() == 0 {
			young = coarseTick
		}
		now := time.Now()
		age := now.Sub(s.changed)
		if age >= young || now.After(end) {
			break
		}
		time.Sleep(min(young-max(age, 0), end.Sub(now)) + time.Millisecond)
	}
	return s, err
}

func stat(f *os.File) (Stamp, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return Stamp{}, err
	}
	var st unix.Stat_t
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), &st) }); err != nil {
		return Stamp{}, err
	}
	return stampFrom(&st), failed
}

func statPath(path string) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Stamp{}, err
	}
	return stampFrom(&st), nil
}

func stampFrom(st *unix.Stat_t) Stamp {
	return Stamp{
		device: uint64(st.Dev), inode: st.Ino, size: st.Size, //nolint:unconvert // Dev is narrower on some systems
		modified: time.Unix(st.Mtim.Unix()), changed: time.Unix(st.Ctim.Unix()),
	}
}

// Size is the file's size in bytes when it was stamped.
func (s Stamp) Size() int64 { return s.size }

// Latest returns when the last of the stamped files was changed: its ctime.
func Latest(stamps []Stamp) (t time.Time) {
	for _, s := range stamps {
		if s.changed.After(t) {
			t = s.changed
		}
	}
	return t
}

// ErrChanged is the error of a file that is not what it was when it was opened.
var ErrChanged = errors.New("the file was changed while it was being read")

// Holds reports whether an open file is still what the stamp says.
func (s Stamp) Holds(h Handle) error {
	f, ok := h.(*os.File)
	if !ok {
		return nil // each read of an object names its ETag
	}
	now, err := stat(f)
	if err != nil {
		return err
	}
	return s.compare(now)
}

func (s Stamp) compare(now Stamp) error {
	what := ""
	switch {
	case s.etag != now.etag:
		what = "it has another ETag"
	case s.device != now.device || s.inode != now.inode:
		what = "another file has its name"
	case s.size != now.size:
		what = fmt.Sprintf("it had %d bytes and has %d", s.size, now.size)
	case !s.modified.Equal(now.modified):
		what = "it was written to"
	case !s.changed.Equal(now.changed):
		what = "it was written to, or its name, owner or mode was changed"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrChanged, what)
}

// Unchanged holds the files that the set's path stands for now, and what is under
// each of their names, against the set and the stamps of its files. Of those without a stamp
// it is the name alone. The error names the first file that differs.
func (s *Set) Unchanged(stamps []Stamp) error {
	now := s
	if s.Folder && !s.listed {
		var err error
		if now, err = Find(s.ctx, s.path, s.extensions...); err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
	for i, f := range s.Files {
		if i >= len(now.Files) || now.Files[i].Rel > f.Rel {
			return fmt.Errorf("%s: %w: it is gone", f.Label, ErrChanged)
		}
		if now.Files[i].Rel < f.Rel {
			return fmt.Errorf("%s: the file was added while the others were being read", now.Files[i].Label)
		}
		if stamps[i] == (Stamp{}) {
			continue // it was not opened
		}
		at, err := now.Files[i].stampNow()
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, objects.ErrAbsent):
			err = fmt.Errorf("%w: it is gone", ErrChanged)
		case err == nil:
			err = stamps[i].compare(at)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Label, err)
		}
	}
	if n := len(s.Files); len(now.Files) > n {
		return fmt.Errorf("%s: the file was added while the others were being read", now.Files[n].Label)
	}
	return nil
}
