package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// begun are releases that are written to and not complete.
var begun = map[string]func(path string) (abort func() error, err error){
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
		f, err := d.Create("a.csv")
		if err != nil {
			return nil, err
		}
		return d.Abort, system.close(f)
	},
}

// What is given up leaves nothing behind; where the system fails in that, the failure is
// said, or the name cannot be told to be one's own any more. Nothing stays open, and to
// give up twice is to give up once.
func TestEveryCallOfTheSystemFailsInAbort(t *testing.T) {
	for name, begin := range begun {
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

// A device is written to when everything is there; what fails on the way is said, and
// leaves nothing open.
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

// What a folder holds is read to the end, and closed; what cannot be read is said.
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
