package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// incompleteReleases are releases that are being written.
var incompleteReleases = map[string]func(path string) (abort func() error, err error){
	"file": func(path string) (func() error, error) {
		f, err := Create(path, Public)
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString("half")
		return f.Abort, err
	},
	"device": func(string) (func() error, error) {
		f, err := Create("/dev/null", Public)
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString("half")
		return f.Abort, err
	},
	"pending": func(path string) (func() error, error) {
		p, err := CreatePending(TempName(path))
		if err != nil {
			return nil, err
		}
		return p.Abort, nil
	},
	"folder": func(path string) (func() error, error) {
		d, err := CreateDir(path, ".csv")
		if err != nil {
			return nil, err
		}
		f, err := d.create("a.csv")
		if err != nil {
			return nil, err
		}
		return d.Abort, system.close(f)
	},
}

// An aborted release leaves nothing behind. If the system fails, the error is returned, or the name
// may belong to another process. Nothing stays open, and a second abort does nothing.
func TestEveryCallOfTheSystemFailsInAbort(t *testing.T) {
	for name, begin := range incompleteReleases {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				dir := t.TempDir()
				s := &faults{fail: n, idle: true}
				back := exchanged(s.system(system))
				defer back()
				abort, err := begin(filepath.Join(dir, "release"))
				if err != nil {
					t.Fatal(err)
				}
				s.idle = false
				err = abort()
				calls := len(s.calls)
				if again := abort(); again != nil || len(s.calls) != calls {
					t.Errorf("given up twice: %v, %v", again, s.calls[calls:])
				}
				back()
				if n > calls {
					break
				}
				failed, _, _ := strings.Cut(s.at(), " ")
				unknown := failed == "lstat" || failed == "stat" && name == "file"
				if failed == "none" && err != nil || failed != "none" && !unknown && !errors.Is(err, errFault) {
					t.Errorf("a fault in call %d, %s: %v", n, s.at(), err)
				}
				if len(s.open) > 0 {
					t.Errorf("after a fault in call %d, %s, these stay open: %v", n, s.at(), s.open)
				}
				if got := names(t, dir); len(got) > 0 && failed != "remove" && failed != "clear" && !unknown {
					t.Errorf("after a fault in call %d, %s, there is %v", n, s.at(), got)
				}
			}
		})
	}
}

// A device is written to when everything is ready. Errors on the way are returned, and nothing
// stays open.
func TestEveryCallOfTheSystemFailsWithADevice(t *testing.T) {
	for n := 0; ; n++ {
		s := &faults{fail: n}
		back := exchanged(s.system(system))
		err := WriteFile("/dev/null", Public, []byte("text"))
		back()
		if n > len(s.calls) {
			break
		}
		if (n == 0) != (err == nil) || n > 0 && !errors.Is(err, errFault) {
			t.Errorf("a fault in call %d, %s: %v", n, s.at(), err)
		}
		if len(s.open) > 0 {
			t.Errorf("after a fault in call %d, %s, these stay open: %v", n, s.at(), s.open)
		}
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no device that is full")
	}
	if err := WriteFile("/dev/full", Public, []byte("text")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a device that is full: %v", err)
	}
}

// The content of a folder is read to the end and the folder is closed. Errors of reading are
// returned.
func TestEveryCallOfTheSystemFailsInContent(t *testing.T) {
	dir := t.TempDir()
	if err := writeDir(t, filepath.Join(dir, "release"), "a.csv", "sub/b.csv").Commit(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "release"), filepath.Join(dir, "release", "a.csv")} {
		for n := 0; ; n++ {
			s := &faults{fail: n}
			back := exchanged(s.system(system))
			c, err := ContentOf(t.Context(), path)
			back()
			if n > len(s.calls) {
				break
			}
			if (n == 0) != (err == nil) && !s.read || n == 0 && c.Path != path || len(s.open) > 0 {
				t.Errorf("a fault in call %d, %s: %+v, %v, open %v", n, s.at(), c, err, s.open)
			}
		}
	}
}

// watched runs a function on a system without faults and returns the system calls.
func watched(do func() error) ([]string, error) {
	s := &faults{}
	back := exchanged(s.system(system))
	defer back()
	err := do()
	return s.calls, err
}

// count returns the number of calls with a name.
func count(calls []string, name string) (n int) {
	for _, call := range calls {
		if strings.HasPrefix(call, name) {
			n++
		}
	}
	return n
}

// A finished release is not finished again; a folder is synced once, up to the root and no further,
// in any notation of the root.
func TestNothingIsDoneTwice(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "new", "a"), Public)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new")); err != nil || info.Mode().Perm() != 0o777&^umask() {
		t.Errorf("the folder has mode %v (%v)", info.Mode(), err)
	}
	calls, err := watched(f.Finish)
	if err != nil || count(calls, "sync") != 1 || count(calls, "chmod") != 1 {
		t.Errorf("%v, %v", calls, err)
	}
	if calls, err = watched(f.Finish); err != nil || len(calls) != 0 {
		t.Errorf("finished again: %v, %v", calls, err)
	}
	if calls, err = watched(f.Commit); err != nil || count(calls, "chmod") != 0 || count(calls, "sync new") != 1 {
		t.Errorf("named: %v, %v", calls, err)
	}
	if calls, err = watched(func() error { return errors.Join(f.Finish(), f.Commit()) }); err != nil || len(calls) != 0 {
		t.Errorf("after it had its name: %v, %v", calls, err)
	}
	for _, name := range []string{"a/b", "a/c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []string{dir, dir + "/", dir + "/a/.."} {
		calls, err := watched(func() error {
			return SyncDirs(root, filepath.Join(dir, "a", "b"), filepath.Join(dir, "a", "c")+"/")
		})
		if want := []string{"sync b", "sync a", "sync " + filepath.Base(dir), "sync c"}; err != nil ||
			count(calls, "sync") != 4 ||
			!slices.Equal(slices.DeleteFunc(calls, func(c string) bool { return !strings.HasPrefix(c, "sync") }), want) {
			t.Errorf("%s: %v, %v, want %v", root, calls, err, want)
		}
	}
}

// A reader at the other end of a pipe is released if something was written, even one byte, and
// continues to wait if nothing was.
func TestPipeIsLetGo(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", "xy"} {
		f, err := Create(pipe, Public)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		c, err := f.Content(t.Context())
		if err != nil || c.Path != "" || summary(c) != line("", text) {
			t.Errorf("written to a pipe: %+v, %v", c, err)
		}
		calls, err := watched(f.Abort)
		if err != nil || (count(calls, "open pipe") == 1) != (text != "") {
			t.Errorf("%q was written: %v, %v", text, calls, err)
		}
	}
}

// Leftover files are searched for while another run may remove them: if one disappears in between,
// the name is free; if it cannot be locked, its state is unknown.
func TestLeftoverGoesOrCannotBeLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	gone := &fs.PathError{Op: "lstat", Path: path, Err: syscall.ENOENT}
	leave := func() {
		if err := os.WriteFile(TempName(path), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, do := range map[string]func() error{
		"a file": func() error { return WriteFile(path, Public, []byte("new")) },
		"abandoned": func() error {
			if is, err := RemoveAbandoned(TempName(path)); err != nil || !is {
				return errors.Join(err, errors.New("it is there"))
			}
			return nil
		},
	} {
		leave()
		s := &faults{fail: 1, how: gone, only: "lstat"}
		back := exchanged(s.system(system))
		err := do()
		back()
		if err != nil {
			t.Errorf("%s: a file that has disappeared: %v", what, err)
		}
	}
	leave()
	s := &faults{fail: 1, only: "lock"}
	back := exchanged(s.system(system))
	is, err := RemoveAbandoned(TempName(path))
	back()
	if is || !errors.Is(err, errFault) {
		t.Errorf("a file that cannot be locked: %v, %v", is, err)
	}
	d := writeDir(t, filepath.Join(t.TempDir(), "release"), "a.csv")
	if err := os.WriteFile(filepath.Join(d.temp, "b.csv"), []byte("of nobody"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = &faults{fail: 1, only: "open"}
	back = exchanged(s.system(system))
	c, err := d.Content(t.Context())
	back()
	if c != nil || !errors.Is(err, errFault) {
		t.Errorf("a folder that cannot be read: %+v, %v", c, err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}

// An error of a commit says that the name is given exactly if readers see the new release, whichever call of
// the system fails: of files and of folders, with and without an earlier release.
func TestNamedIsWhatReadersSee(t *testing.T) {
	for name, folder := range map[string]bool{"file": false, "folder": true} {
		for _, earlier := range []bool{false, true} {
			failed := 0
			for n := 0; ; n++ {
				path := filepath.Join(t.TempDir(), "release")
				write := func(text string) error {
					if folder {
						return writeFolder(path, text, false)
					}
					return WriteFile(path, Public, []byte(text))
				}
				if earlier {
					if err := write("earlier"); err != nil {
						t.Fatal(err)
					}
				}
				s := &faults{fail: n}
				back := exchanged(s.system(system))
				err := write("new")
				back()
				if n > len(s.calls) {
					break
				}
				var named *NamedError
				seen := contentAt(path, folder) == "new"
				if seen && err != nil {
					failed++
				}
				if said := err == nil || errors.As(err, &named); said != seen {
					t.Errorf("%s, earlier %v, a fault in call %d, %s: readers see it: %v, and the error is %v", name, earlier, n,
						s.at(), seen, err)
				}
			}
			if failed < 2 {
				t.Errorf("%s, earlier %v: %d calls fail after the name, want at least 2", name, earlier, failed)
			}
		}
	}
}
