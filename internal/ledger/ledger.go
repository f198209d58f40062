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

// Ledger is a ledger that this process holds. One goroutine at a time may use it.
type Ledger struct {
	path    string
	file    *os.File
	content *content
	now     func() time.Time
	failed  bool // a line could not be written
	Torn    bool // there was a line at the end that was cut off, which Open removes
}

// Open opens a ledger, and makes it if it is not there. It waits until no other run holds it, and calls waiting, if
// it is not nil, before it waits for the first time. A file that others may read, a link, or one of another user is
// an error, and so is a broken chain.
func Open(ctx context.Context, path string, waiting func()) (*Ledger, error) {
	if err := system.mkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	l := &Ledger{path: path, file: f, now: time.Now}
	if err := l.take(ctx, waiting); err != nil {
		return nil, errors.Join(err, system.close(f))
	}
	return l, nil
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

// take waits for the lock, and reads what is there.
func (l *Ledger) take(ctx context.Context, waiting func()) error {
	for told := false; ; told = true {
		err := system.lock(l.file)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%s: cannot be locked: %w", l.path, err)
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
	held, err := system.stat(l.file)
	if err != nil {
		return err
	}
	if named, err := os.Lstat(l.path); err != nil || !os.SameFile(held, named) {
		return fmt.Errorf("%s: was replaced while this run waited for it", l.path)
	}
	text, err := system.read(l.file)
	if err != nil {
		return err
	}
	if l.content, err = parse(l.path, text); err != nil {
		return err
	}
	if l.content.torn {
		if err := system.truncate(l.file, l.content.size); err != nil {
			return err
		}
		l.Torn, l.content.torn = true, false
	}
	// The name of a new file, and lines of a run that was killed before it had synced them.
	return errors.Join(system.sync(l.file), syncDir(filepath.Dir(l.path)))
}

func syncDir(dir string) error {
	d, err := system.openFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(system.sync(d), system.close(d))
}

// Path returns the file's name.
func (l *Ledger) Path() string { return l.path }

// Next returns the number of the next entry, and the SHA-256 of the line before it.
func (l *Ledger) Next() (number int64, previous string) {
	return int64(len(l.content.entries)) + 1, l.content.head
}

// Line returns the SHA-256 of a line by its number, 64 zeros of line 0; ok is false where there is no such line.
func (l *Ledger) Line(number int64) (digest string, ok bool) {
	switch {
	case number == 0:
		return first, true
	case number < 0 || number > int64(len(l.content.entries)):
		return "", false
	}
	return l.content.entries[number-1].SHA256, true
}

// Releases returns the releases of records that count as published, in their order.
func (l *Ledger) Releases() (list []Listed) {
	for _, r := range l.content.releases() {
		if r.Published && r.Release != nil {
			list = append(list, r)
		}
	}
	return list
}

// Tables returns the releases of tables that count as published, in their order.
func (l *Ledger) Tables() (list []Listed) {
	for _, r := range l.content.releases() {
		if r.Published && r.Tables != nil {
			list = append(list, r)
		}
	}
	return list
}

// All returns all releases, of records and of tables, also those that were not published.
func (l *Ledger) All() []Listed { return l.content.releases() }

// Unknown returns the releases without outcome.
func (l *Ledger) Unknown() (list []Listed) {
	for _, r := range l.content.releases() {
		if !r.Known {
			list = append(list, r)
		}
	}
	return list
}

// Enter writes a release that is about to be published, and returns its number. It is on the disk when Enter returns
// without an error; after an error nothing may be published.
func (l *Ledger) Enter(r *Release) (number int64, err error) { return l.add(Entry{Release: r}) }

// EnterTables is Enter for tables.
func (l *Ledger) EnterTables(t *Tables) (number int64, err error) { return l.add(Entry{Tables: t}) }

// Settle writes what became of a release. After an error the release counts as published.
func (l *Ledger) Settle(number int64, published bool) error {
	_, err := l.add(Entry{Outcome: &Outcome{Of: number, Published: published}})
	return err
}

func (l *Ledger) add(e Entry) (int64, error) {
	if l.file == nil {
		return 0, fmt.Errorf("%s: is not held", l.path)
	}
	if l.failed {
		return 0, fmt.Errorf("%s: an earlier line could not be written", l.path)
	}
	e.Schema, e.Number, e.Previous, e.Time = Schema, int64(len(l.content.entries))+1, l.content.head, l.now().UTC()
	line, _, err := sealed(e)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", l.path, err)
	}
	if len(line) > mostLine {
		return 0, fmt.Errorf("%s: the configuration of the release is too long for an entry", l.path)
	}
	back, err := entryOf(line, e.Number, e.Previous, l.openReleases()) // as it will be read
	if err != nil {
		return 0, fmt.Errorf("%s: the new line %w", l.path, err)
	}
	if _, err = system.write(l.file, append(line, '\n'), l.content.size); err == nil {
		err = system.sync(l.file)
	}
	if err != nil {
		l.failed = true // what is there is read again by the next run
		return 0, errors.Join(err, system.truncate(l.file, l.content.size))
	}
	c := l.content
	c.entries, c.head, c.size = append(c.entries, back), back.SHA256, c.size+int64(len(line))+1
	return e.Number, nil
}

func (l *Ledger) openReleases() map[int64]bool {
	open := map[int64]bool{}
	for _, r := range l.Unknown() {
		open[r.Number] = true
	}
	return open
}

// Close lets go of the ledger.
func (l *Ledger) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return system.close(f)
}

// Look reads a ledger without holding it: nothing can be entered. Torn says that a line at its end was cut off, or is
// being written.
func Look(path string) (*Ledger, error) {
	f, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := system.read(f)
	if err = errors.Join(err, system.close(f)); err != nil {
		return nil, err
	}
	c, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	return &Ledger{path: path, content: c, now: time.Now, Torn: c.torn}, nil
}
