package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

var errFault = fmt.Errorf("a fault: %w", syscall.EIO)

// faults is a system in which one call fails, with a record of its calls.
type faults struct {
	fail  int    // number of the call, from 1; 0: none
	how   error  // nil: errFault
	only  string // calls of other names are not counted
	idle  bool   // no call is counted
	calls []string
	open  map[*os.File]string
	read  bool // the failing call closes a file that was only read
	// killed: the failing call and those after it do nothing, as if the process had ended there.
	killed bool
}

// call records a call and reports whether it fails. do is executed first even if the call fails.
func (s *faults) call(name, of string, done func()) error {
	if s.idle || s.only != "" && s.only != name {
		return nil
	}
	s.calls = append(s.calls, name+" "+filepath.Base(of))
	if s.killed && len(s.calls) >= s.fail {
		return errFault
	}
	if len(s.calls) != s.fail {
		return nil
	}
	if done != nil {
		done()
	}
	if s.how != nil {
		return s.how
	}
	return errFault
}

// system returns the real system with the one fault.
func (s *faults) system(real calls) calls {
	s.open = map[*os.File]string{}
	onlyRead := map[*os.File]bool{}
	opened := func(f *os.File, err error) (*os.File, error) {
		if err == nil {
			s.open[f] = f.Name()
		}
		return f, err
	}
	one := func(name string, do func(string) error, doneAnyway bool) func(string) error {
		return func(path string) error {
			var done func()
			if doneAnyway {
				done = func() { _ = do(path) }
			}
			if err := s.call(name, path, done); err != nil {
				return err
			}
			return do(path)
		}
	}
	mode := func(name string, do func(string, fs.FileMode) error) func(string, fs.FileMode) error {
		return func(path string, m fs.FileMode) error {
			return one(name, func(path string) error { return do(path, m) }, false)(path)
		}
	}
	two := func(name string, do func(a, b string) error) func(a, b string) error {
		return func(a, b string) error {
			return one(name, func(b string) error { return do(a, b) }, false)(b)
		}
	}
	file := func(name string, do func(*os.File) error) func(*os.File) error {
		return func(f *os.File) error {
			if err := s.call(name, f.Name(), nil); err != nil {
				return err
			}
			return do(f)
		}
	}
	c := calls{
		openFile: func(path string, flag int, m fs.FileMode) (*os.File, error) {
			if err := s.call("open", path, nil); err != nil {
				return nil, err
			}
			f, err := opened(real.openFile(path, flag, m))
			onlyRead[f] = flag&os.O_RDWR == 0
			return f, err
		},
		createTemp: func(dir, pattern string) (*os.File, error) {
			if err := s.call("create", pattern, nil); err != nil {
				return nil, err
			}
			return opened(real.createTemp(dir, pattern))
		},
		lstat: func(path string) (fs.FileInfo, error) {
			if err := s.call("lstat", path, nil); err != nil {
				return nil, err
			}
			return real.lstat(path)
		},
		stat: func(f *os.File) (fs.FileInfo, error) {
			if err := s.call("stat", f.Name(), nil); err != nil {
				return nil, err
			}
			return real.stat(f)
		},
		write: func(f *os.File, data []byte) (int, error) {
			if err := s.call("write", f.Name(), nil); err != nil {
				if len(s.calls) > s.fail {
					return 0, err
				}
				n, _ := real.write(f, data[:len(data)/2])
				return n, err
			}
			return real.write(f, data)
		},
		seek: func(f *os.File, offset int64, whence int) (int64, error) {
			if err := s.call("seek", f.Name(), nil); err != nil {
				return 0, err
			}
			return real.seek(f, offset, whence)
		},
		close: func(f *os.File) error {
			// A file is closed even if close returns an error.
			err := s.call("close", f.Name(), func() { _ = real.close(f) })
			if s.killed && err != nil {
				return err
			}
			delete(s.open, f)
			if err == nil {
				return real.close(f)
			}
			s.read = onlyRead[f]
			return err
		},
		chmod: func(f *os.File, m fs.FileMode) error {
			return file("chmod", func(f *os.File) error { return real.chmod(f, m) })(f)
		},
		lock:      file("lock", real.lock),
		sync:      file("sync", func(*os.File) error { return nil }), // slow, and no test can detect it
		mkdir:     mode("mkdir", real.mkdir),
		mkdirAll:  mode("mkdirs", real.mkdirAll),
		chmodName: mode("chmod", real.chmodName),
		link:      two("link", real.link),
		rename:    two("rename", real.rename),
		exchange:  two("exchange", real.exchange),
		// If another process was faster, the file to remove is gone.
		remove:    one("remove", real.remove, errors.Is(s.how, fs.ErrNotExist)),
		removeAll: one("clear", real.removeAll, false),
	}
	return c
}

// releases are all kinds of releases: how a text is written under a path, and what must be true
// afterwards.
var releases = []struct {
	name string
	do   func(path, text string) error
	// before creates leftovers of an earlier run.
	before func(t *testing.T, path string)
	folder bool
	synced bool // this package syncs the text, not its writer
}{
	{name: "file", do: func(path, text string) error { return WriteFile(path, Public, []byte(text)) }, synced: true},
	{name: "confidential file", do: func(path, text string) error {
		return WriteFile(path, Confidential, []byte(text))
	}, synced: true},
	{name: "file finished first", do: func(path, text string) error {
		f, err := Create(path, Public)
		if err != nil {
			return err
		}
		_, err = system.write(f.File, []byte(text))
		if err = errors.Join(err, f.Finish()); err == nil {
			err = f.Commit()
		}
		return errors.Join(err, f.Abort())
	}, synced: true},
	{name: "file over what a killed run left", do: func(path, text string) error {
		return WriteFile(path, Public, []byte(text))
	}, synced: true,
		before: func(t *testing.T, path string) {
			if err := os.WriteFile(TempName(path), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	{name: "replaced", do: func(path, text string) error { return Replace(path, []byte(text)) }, synced: true},
	{name: "pending over what a killed run left", do: func(path, text string) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if gone, err := RemoveAbandoned(TempName(path)); err != nil || !gone {
			return errors.Join(err, errors.New("it is still there"))
		}
		p, err := CreatePending(TempName(path))
		if err != nil {
			return err
		}
		_, err = system.write(p.File, []byte(text))
		if err = errors.Join(err, system.sync(p.File)); err != nil {
			return errors.Join(err, p.Abort())
		}
		if err := p.Release(); err != nil {
			return err
		}
		if err := Name(TempName(path), path); err != nil {
			return err
		}
		return SyncDirs(filepath.Dir(path), filepath.Dir(path))
	}, synced: true, before: func(t *testing.T, path string) {
		if err := os.WriteFile(TempName(path), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "folder", do: func(path, text string) error {
		return writeFolder(path, text, false)
	}, folder: true, synced: true},
	{name: "folder over what a killed run left", do: func(path, text string) error {
		return writeFolder(path, text, false)
	}, folder: true, synced: true,
		before: func(t *testing.T, path string) {
			if err := errors.Join(os.MkdirAll(filepath.Join(TempName(path), "sub"), 0o700),
				os.WriteFile(TempName(path+".lock"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
	{name: "folder of what was there", do: func(path, text string) error {
		return writeFolder(path, text, true)
	}, folder: true},
	{name: "folder of tables", do: writeTables, folder: true, synced: true},
}

// writeTables writes a folder of two files, each by a writer of its own that gives it its name there.
func writeTables(path, text string) (err error) {
	d, err := CreateDir(path, ".csv")
	if err != nil {
		return err
	}
	var tables []*File
	defer func() {
		if err != nil {
			for _, f := range tables {
				err = errors.Join(err, f.Abort())
			}
			err = errors.Join(err, d.Abort())
		}
	}()
	for _, name := range []string{"a.csv", "sub/b.csv"} {
		at, err := d.Inside(name)
		if err != nil {
			return err
		}
		f, err := Create(at, Public)
		if err != nil {
			return err
		}
		tables = append(tables, f)
		if _, err = system.write(f.File, []byte(text)); err == nil {
			err = f.Finish()
		}
		if err != nil {
			return err
		}
	}
	for _, f := range tables {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return d.Commit()
}

// writeFolder writes a folder of two files, the second in a subfolder.
func writeFolder(path, text string, adopt bool) error {
	part := path + ".part"
	if adopt {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
			return err
		}
		defer os.Remove(part)
	}
	d, err := CreateDir(path, ".csv")
	if err != nil {
		return err
	}
	if adopt {
		if err := d.Adopt(part, "a.csv"); err != nil {
			return errors.Join(err, d.Abort())
		}
	} else {
		f, err := d.create("a.csv")
		if err == nil {
			_, err = system.write(f, []byte(text))
			err = errors.Join(err, system.sync(f), system.close(f))
		}
		if err != nil {
			return errors.Join(err, d.Abort())
		}
	}
	f, err := d.create("sub/b.csv")
	if err == nil {
		err = errors.Join(system.sync(f), system.close(f))
	}
	if err != nil {
		return errors.Join(err, d.Abort())
	}
	if err := d.Commit(); err != nil {
		return errors.Join(err, d.Abort())
	}
	return d.Commit() // the second call does nothing
}

// exchanged makes the package use another system until the returned function is called.
func exchanged(c calls) (back func()) {
	real := system
	system = c
	return func() { system = real }
}

// contentAt returns the content under a name.
func contentAt(path string, folder bool) string {
	// of a folder of tables; of another folder it is empty
	second, missing := os.ReadFile(filepath.Join(path, "sub", "b.csv"))
	if folder {
		path = filepath.Join(path, "a.csv")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "nothing"
	}
	if missing == nil && len(second) > 0 && string(second) != string(text) {
		return "two files of two runs"
	}
	return string(text)
}

// If any system call fails during any kind of release: the error is returned, the name has either
// the complete earlier release or the complete new one, no file stays open, no lock is held, and
// the next run succeeds and leaves only the release.
func TestEveryCallOfTheSystemFails(t *testing.T) {
	for _, way := range releases {
		for _, earlier := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, earlier release %v", way.name, earlier), func(t *testing.T) {
				for n := 0; ; n++ {
					dir := t.TempDir()
					path := filepath.Join(dir, "sub", "release")
					if earlier {
						back := exchanged((&faults{}).system(system))
						if err := way.do(path, "earlier"); err != nil {
							t.Fatal(err)
						}
						back()
					} else if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if way.before != nil {
						way.before(t, path)
					}
					s := &faults{fail: n}
					back := exchanged(s.system(system))
					err := way.do(path, "the new one")
					back()
					if n > len(s.calls) {
						break
					}
					judgeFault(t, s, err, contentAt(path, way.folder), earlier)
					if n == 0 {
						judgeOrder(t, s.calls, way.synced)
						judgeModes(t, path, way.folder, way.name != "confidential file" && way.name != "replaced")
					}
					back = exchanged((&faults{}).system(system))
					if err := way.do(path, "the next"); err != nil {
						t.Errorf("after a fault in %v the next run fails: %v", s.at(), err)
					}
					back()
					want := []string{"release"}
					got, err := os.ReadDir(filepath.Dir(path))
					if err != nil {
						t.Fatal(err)
					}
					left := slices.DeleteFunc(got, func(e fs.DirEntry) bool { return e.Name() == want[0] })
					// Only its own run can find a name that is drawn at random.
					if way.name == "replaced" && s.at() == "remove" {
						left = nil
					}
					if len(left) > 0 || contentAt(path, way.folder) != "the next" {
						t.Errorf("after a fault in %v and another run, %v exists besides the release, which contains %q", s.at(), left,
							contentAt(path, way.folder))
					}
				}
			})
		}
	}
}

// If a run is killed at any system call of any kind of release, the name has either the complete
// earlier release or the complete new one, and the next run succeeds and leaves only the release.
func TestKilledAtEveryCallOfTheSystem(t *testing.T) {
	racetest.Alone(t)
	for _, way := range releases {
		for _, earlier := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, earlier release %v", way.name, earlier), func(t *testing.T) {
				published := false // by a run that was killed earlier
				for n := 1; ; n++ {
					path := filepath.Join(t.TempDir(), "sub", "release")
					want := "nothing"
					if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if earlier {
						want = "earlier"
						back := exchanged((&faults{}).system(system))
						if err := way.do(path, want); err != nil {
							t.Fatal(err)
						}
						back()
					}
					if way.before != nil {
						way.before(t, path)
					}
					s := &faults{fail: n, killed: true}
					back := exchanged(s.system(system))
					err := way.do(path, "the new one")
					back()
					if n > len(s.calls) {
						if n < 5 || !published {
							t.Errorf("a release makes %d calls, published before the last: %v", len(s.calls), published)
						}
						break
					}
					for f := range s.open { // the process has ended
						_ = f.Close()
					}
					got := contentAt(path, way.folder)
					if published = published || got == "the new one"; published || err == nil {
						want = "the new one"
					}
					if got != want {
						t.Errorf("killed at call %d, %s: there is %q, want %q (%v)", n, s.at(), got, want, err)
					}
					back = exchanged((&faults{}).system(system))
					if err := way.do(path, "the next"); err != nil {
						t.Errorf("killed at call %d, %s: the next run fails: %v", n, s.at(), err)
					}
					back()
					left, err := os.ReadDir(filepath.Dir(path))
					if err != nil {
						t.Fatal(err)
					}
					// Only its own run can find a name that is drawn at random.
					if len(left) != 1 && way.name != "replaced" || contentAt(path, way.folder) != "the next" {
						t.Errorf("killed at call %d, %s: after the next run there is %v, and the release contains %q", n, s.at(), left,
							contentAt(path, way.folder))
					}
				}
			})
		}
	}
}

// at returns the name of the failing call.
func (s *faults) at() string {
	if s.fail == 0 || s.fail > len(s.calls) {
		return "none"
	}
	return s.calls[s.fail-1]
}

func judgeFault(t *testing.T, s *faults, err error, got string, earlier bool) {
	t.Helper()
	before := "nothing"
	if earlier {
		before = "earlier"
	}
	last := "rename release"
	if slices.Contains(s.calls, "exchange release") {
		last = "exchange release"
	}
	done := slices.Index(s.calls, last)
	renamed := done >= 0 && done+1 != s.fail
	want := before
	if renamed {
		want = "the new one"
	}
	if got != want {
		t.Errorf("after a fault in call %d, %s, there is %q, want %q (%v)", s.fail, s.at(), got, want, err)
	}
	name, _, _ := strings.Cut(s.at(), " ")
	switch name {
	case "none":
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
	case "lstat", "stat", "lock", "link":
		// If the name or the lock cannot be examined, it belongs to another process or is tried
		// again. Without links there are copies. It must never be reported as published if it is
		// not.
		if err == nil && got != "the new one" {
			t.Errorf("a fault in call %d, %s, is passed over", s.fail, s.at())
		}
	default:
		if !errors.Is(err, errFault) && !s.read {
			t.Errorf("a fault in call %d, %s, is passed over: %v\n%s", s.fail, s.at(), err, strings.Join(s.calls, ", "))
		}
	}
	if len(s.open) > 0 {
		t.Errorf("after a fault in call %d, %s, these stay open: %v", s.fail, s.at(), s.open)
	}
}

// judgeOrder checks the order of system calls of a run without faults, which crash safety requires:
// written files are synced before they get the name, and the folder afterwards.
func judgeOrder(t *testing.T, calls []string, synced bool) {
	t.Helper()
	place := func(what func(name, of string) bool) (first, last int) {
		first, last = -1, -1
		for i, call := range calls {
			if name, of, _ := strings.Cut(call, " "); what(name, of) {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		return first, last
	}
	_, written := place(func(name, _ string) bool { return name == "write" })
	named, _ := place(func(name, of string) bool { return name == "rename" && of == "release" })
	_, settled := place(func(name, of string) bool { return name == "sync" && of == "sub" })
	inTime := false
	for i := written + 1; i < named; i++ {
		inTime = inTime || strings.HasPrefix(calls[i], "sync ")
	}
	if synced && !inTime || named < 0 || settled < named {
		t.Errorf("written %d, named %d, the folder synced %d:\n%s", written, named, settled, strings.Join(calls, "\n"))
	}
}

// judgeModes checks the modes of a release.
func judgeModes(t *testing.T, path string, folder, public bool) {
	t.Helper()
	want := map[string]fs.FileMode{"": 0o600}
	if public {
		want = map[string]fs.FileMode{"": 0o666 &^ umask()}
	}
	if folder {
		want = map[string]fs.FileMode{"": 0o777 &^ umask(), "a.csv": 0o666 &^ umask(), "sub": 0o777 &^ umask(),
			"sub/b.csv": 0o666 &^ umask()}
	}
	for name, mode := range want {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, want %v (%v)", name, info.Mode(), mode, err)
		}
	}
}

// If another process removes a file at the moment at which it should be removed, that is no error.
func TestRemovedBySomebodyElse(t *testing.T) {
	for _, way := range releases {
		t.Run(way.name, func(t *testing.T) {
			for n := 1; ; n++ {
				path := filepath.Join(t.TempDir(), "sub", "release")
				if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if way.before != nil {
					way.before(t, path)
				}
				s := &faults{fail: n, how: &fs.PathError{Op: "remove", Path: path, Err: syscall.ENOENT}, only: "remove"}
				back := exchanged(s.system(system))
				err := way.do(path, "the new one")
				back()
				if n > len(s.calls) {
					break
				}
				// A missing guard means that another process removed the lock.
				if (err != nil) != (s.at() == "remove .release.lock.sdlfilter-tmp" && n == len(s.calls)) ||
					contentAt(path, way.folder) != "the new one" {
					t.Errorf("call %d, %s: %v, and there is %q", n, s.at(), err, contentAt(path, way.folder))
				}
			}
		})
	}
}
