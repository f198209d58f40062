package publish

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp tells whether a file is still as its writer has left it, without its being read:
// which file it is, its size, and the two times that the system keeps of its changes, in
// nanoseconds. That of the content can be set back; that of the file (ctime) cannot. The
// device is no part of it: another machine has another number for the same file.
type Stamp struct {
	Inode    uint64 `json:"inode"`
	Bytes    int64  `json:"bytes"`
	Modified int64  `json:"modified"`
	Changed  int64  `json:"changed"`
}

// tick is the longest step of the clock that file systems read: what changes a file within one
// leaves its times as they are.
const tick = 11 * time.Millisecond

// StampOf stamps the file of a name whose content is known. It waits until a change that comes
// after it has another time. Where none can be had (the file system keeps no fractions of
// a second, or has another clock than this machine) it is nil.
func StampOf(path string) *Stamp {
	for range 10 {
		s := stampOf(path)
		if s == nil || s.Changed%int64(time.Second) == 0 {
			return nil
		}
		age := time.Since(time.Unix(0, s.Changed))
		switch {
		case age >= tick:
			return s
		case age < -tick:
			return nil
		}
		time.Sleep(tick - age)
	}
	return nil
}

// stampOf is the stamp of a regular file as it is now; nil if there is none. It opens the
// file: a network file system then asks its server, and need not for a mere look at the name.
func stampOf(path string) *Stamp {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	var st unix.Stat_t
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || unix.Fstat(int(f.Fd()), &st) != nil {
		return nil
	}
	return &Stamp{Inode: st.Ino, Bytes: st.Size, Modified: unix.TimespecToNsec(st.Mtim),
		Changed: unix.TimespecToNsec(st.Ctim)}
}

// AdoptStamped is Adopt for a file whose content its writer has digested. If the stamp still
// fits, Content does not read the file, so that a commit of shards need not read the release.
// Otherwise, and without a stamp, it does.
func (d *Dir) AdoptStamped(path, name string, stamp *Stamp, content FileContent) error {
	as := stamp != nil && stamp.Bytes == content.Bytes
	if as {
		now := stampOf(path)
		as = now != nil && *now == *stamp
	}
	if err := d.Adopt(path, name); err != nil || !as {
		return err
	}
	// The new link has changed the file's own time, and another file may have got the name before
	// it.
	now := stampOf(filepath.Join(d.temp, name))
	if now == nil || now.Inode != stamp.Inode || now.Bytes != stamp.Bytes || now.Modified != stamp.Modified {
		return nil
	}
	content.Name = name
	d.know(name, content)
	return nil
}
