package connectortest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// rewrites are the ways in which a file changes behind a reader's back. None of
// them may go unseen.
var rewrites = []struct {
	name string
	do   func(t *testing.T, path string, before []byte)
}{
	{"rewritten in place", func(t *testing.T, path string, before []byte) {
		writeAt(t, path, 0, before)
	}},
	{"one byte, same size, mtime restored", func(t *testing.T, path string, before []byte) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		writeAt(t, path, int64(len(before)/2), []byte{before[len(before)/2] ^ 1})
		if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}},
	{"cut", func(t *testing.T, path string, before []byte) {
		if err := os.Truncate(path, int64(len(before)/2)); err != nil {
			t.Fatal(err)
		}
	}},
	{"appended to", func(t *testing.T, path string, before []byte) {
		writeAt(t, path, int64(len(before)), before[len(before)/2:])
	}},
	{"another file under its name", func(t *testing.T, path string, before []byte) {
		if err := os.WriteFile(path+".new", before, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}},
	{"removed", func(t *testing.T, path string, _ []byte) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}},
}

func writeAt(t *testing.T, path string, at int64, p []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(p, at); err != nil {
		t.Fatal(err)
	}
}

// changed: a file that is not what it was when it was opened is told, and a file
// that is the same is not, however often it was read. The file is fresh: opening it
// has waited until the clock of the file system has moved on.
func changed(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, rewrite := range rewrites {
		t.Run(rewrite.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in"+c.Ext)
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := c.Source(path).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			for range 2 {
				if _, err := contentOf(t.Context(), src, connectors.Cut{}); err != nil {
					t.Fatal(err)
				}
				if err := unchanged(t, src); err != nil {
					t.Fatalf("nothing was changed: %v", err)
				}
			}
			rewrite.do(t, path, whole)
			err = unchanged(t, src)
			if err == nil {
				t.Fatal("the source does not know that its file was changed")
			}
			if !strings.Contains(err.Error(), "in"+c.Ext) {
				t.Errorf("the error does not name the file: %v", err)
			}
			expectNoValue(t, err, tab)
		})
	}
}

// unchanged demands that a source of files can be asked.
func unchanged(t *testing.T, src connectors.Source) error {
	t.Helper()
	if src.Abilities().Unchanged == nil {
		t.Fatalf("%T does not say whether its data change", src)
	}
	return connectors.Unchanged(src)
}

// changedFolder: files that come to a folder or go from it are a change.
func changedFolder(t *testing.T, c Contract) {
	if !c.Folders {
		t.Skip("reads no folders")
	}
	in, _ := input(t, c, 30)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	put := func(dir string, names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name+c.Ext), whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, change := range map[string]func(dir string){
		"first":   func(dir string) { put(dir, "a") },
		"between": func(dir string) { put(dir, "c") },
		"last":    func(dir string) { put(dir, "e") },
		"gone":    func(dir string) { os.Remove(filepath.Join(dir, "d"+c.Ext)) },
		"renamed": func(dir string) { os.Rename(filepath.Join(dir, "d"+c.Ext), filepath.Join(dir, "e"+c.Ext)) },
		"one":     func(dir string) { writeAt(t, filepath.Join(dir, "d"+c.Ext), 0, whole[:1]) },
	} {
		for _, pattern := range []string{"", "*" + c.Ext} {
			dir := t.TempDir()
			put(dir, "b", "d")
			src, err := c.Source(filepath.Join(dir, pattern)).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := unchanged(t, src); err != nil {
				t.Errorf("%s: nothing was changed: %v", name, err)
			}
			put(dir, ".hidden") // no data
			if err := unchanged(t, src); err != nil {
				t.Errorf("%s: what is no data was changed: %v", name, err)
			}
			change(dir)
			if err := unchanged(t, src); err == nil {
				t.Errorf("%s, %q: the source does not know that its folder was changed", name, pattern)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
