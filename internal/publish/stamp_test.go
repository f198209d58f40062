package publish

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAdoptStamped: a file that still agrees with its stamp is not read; any other file with its
// name is. Content always describes what will be published.
func TestAdoptStamped(t *testing.T) {
	const text, other = "what was written", "another text, 16"
	restored := func(t *testing.T, path string, do func() error) {
		t.Helper()
		info, err := os.Stat(path)
		if err := errors.Join(err, do(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		read   bool
		want   string
	}{
		"untouched": {func(*testing.T, string) {}, false, text},
		"rewritten": {func(t *testing.T, path string) {
			restored(t, path, func() error { return os.WriteFile(path, []byte(other), 0o600) })
		}, true, other},
		"replaced": {func(t *testing.T, path string) {
			restored(t, path, func() error {
				return errors.Join(os.WriteFile(path+".new", []byte(other), 0o600), os.Rename(path+".new", path))
			})
		}, true, other},
		"replaced while it is linked": {func(t *testing.T, path string) {
			link := system.link
			t.Cleanup(func() { system.link = link })
			system.link = func(old, name string) error {
				restored(t, path, func() error {
					return errors.Join(os.WriteFile(path+".new", []byte(other), 0o600), os.Rename(path+".new", path))
				})
				return link(old, name)
			}
		}, true, other},
		"rewritten while it is linked": {func(t *testing.T, path string) {
			link := system.link
			t.Cleanup(func() { system.link = link })
			system.link = func(old, name string) error {
				return errors.Join(os.WriteFile(path, []byte(other), 0o600), link(old, name))
			}
		}, true, other},
		"linked by a commit that died": {func(t *testing.T, path string) {
			if err := os.Link(path, path+".link"); err != nil {
				t.Fatal(err)
			}
		}, true, text},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "part")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			// A file system without reliable change times gives no stamp: then everything is read.
			stamp := StampOf(path)
			c.change(t, path)
			d, err := CreateDir(filepath.Join(t.TempDir(), "release"), ".csv")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Abort()
			known := FileContent{Bytes: int64(len(text)), SHA256: "as the writer said"}
			if err := d.AdoptStamped(path, "part.csv", stamp, known); err != nil {
				t.Fatal(err)
			}
			content, err := d.Content(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := line("part.csv", c.want)
			if !c.read && stamp != nil {
				want = "part.csv 16 as the writer said\n"
			}
			if got := summary(content); got != want {
				t.Errorf("the content is %q, and must be %q", got, want)
			}
			if got, err := os.ReadFile(filepath.Join(d.temp, "part.csv")); err != nil || !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("there is %q, %v", got, err)
			}
		})
	}
}

// TestAdoptStampedBeside: files without a stamp, or with a stamp of another size than the writer's,
// are read, in the order of names with those that are not read.
func TestAdoptStampedBeside(t *testing.T) {
	from := t.TempDir()
	d, err := CreateDir(filepath.Join(t.TempDir(), "release"), ".csv")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Abort()
	want := ""
	for i, name := range []string{"a.csv", "b.csv", "c.csv", "d.csv"} {
		path := filepath.Join(from, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		stamp := StampOf(path)
		stamped := stamp != nil
		known := FileContent{Bytes: 5, SHA256: "said"}
		switch i {
		case 0:
			stamp = nil
		case 2:
			known.Bytes = 6
		}
		if err := d.AdoptStamped(path, name, stamp, known); err != nil {
			t.Fatal(err)
		}
		if !stamped || i%2 == 0 {
			want += line(name, name)
		} else {
			want += name + " 5 said\n"
		}
	}
	if content, err := d.Content(t.Context()); err != nil || summary(content) != want {
		t.Errorf("the content is %q, %v, and must be %q", summary(content), err, want)
	}
	if err := d.AdoptStamped(filepath.Join(from, "none"), "e.csv", &Stamp{}, FileContent{}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
}

// TestStampOf: a stamp is older than the clock's resolution, so later changes are visible. Objects
// that are not files, or have another clock, have no stamp.
func TestStampOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := StampOf(path); s != nil && (s.Bytes != 4 || time.Since(time.Unix(0, s.Changed)) < tick) {
		t.Errorf("the stamp is %+v", s)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, filepath.Dir(path), path + ".none"} {
		if s := StampOf(p); s != nil {
			t.Errorf("%s: a stamp of an object that is not a file", p)
		}
	}
}
