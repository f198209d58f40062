package publish

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A release is digested while it is written. If it is not written from beginning to end, or another
// process writes too, it is read.
func TestDigestOfWhatIsWritten(t *testing.T) {
	type target interface {
		io.Writer
		io.StringWriter
		io.ReaderFrom
		io.WriterAt
		io.Seeker
		Truncate(int64) error
		Name() string
	}
	long := strings.Repeat("0123456789", 100_000)
	text := func(f target, texts ...string) (errs error) {
		for _, s := range texts {
			_, err := f.Write([]byte(s))
			errs = errors.Join(errs, err)
		}
		return errs
	}
	ways := map[string]func(f target) error{
		"nothing":  func(f target) error { return nil },
		"in parts": func(f target) error { return text(f, "a", "", "bc", long, "d") },
		"as texts": func(f target) error {
			_, err := f.WriteString("ab")
			return errors.Join(err, text(f, "cd"))
		},
		"copied": func(f target) error {
			_, err := io.Copy(f, strings.NewReader(long))
			return err
		},
		"at places": func(f target) error {
			_, err := f.WriteAt([]byte("xy"), 1)
			return errors.Join(text(f, "abcd"), err)
		},
		"written over": func(f target) error {
			err := text(f, "abcd")
			_, at := f.WriteAt([]byte("xy"), 1)
			return errors.Join(err, at)
		},
		"back and forth": func(f target) error {
			err := text(f, "abcd")
			_, seek := f.Seek(0, io.SeekStart)
			return errors.Join(err, seek, text(f, "wxyz"))
		},
		"cut off": func(f target) error {
			err := errors.Join(text(f, "abcd"), f.Truncate(2))
			return err
		},
		"by somebody else": func(f target) error {
			other, err := os.OpenFile(f.Name(), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = other.WriteString("more")
			return errors.Join(text(f, "abcd"), err, other.Close())
		},
	}
	for what, write := range ways {
		f, err := Create(filepath.Join(t.TempDir(), "a"), Confidential)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(f); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		stored, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Content(t.Context())
		if err != nil || summary(c) != line("", string(stored)) {
			t.Errorf("%s: %v\n%s\nwant\n%s", what, err, summary(c), line("", string(stored)))
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
		}

		d := newDir(t)
		p, err := d.Create("sub/b.csv")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(p.(target)), d.Settle(p)); err != nil {
			t.Fatalf("%s, in a folder: %v", what, err)
		}
		c, err = d.Content(t.Context())
		if err != nil || summary(c) != line("sub/b.csv", string(stored)) {
			t.Errorf("%s, in a folder: %v\n%s\nwant\n%s", what, err, summary(c), line("sub/b.csv", string(stored)))
		}
		if err := d.Abort(); err != nil {
			t.Error(err)
		}
	}
}

// The digest is that of the intended content: bytes that another process has replaced are detected
// by comparison.
func TestDigestTellsWhatWasPutInItsPlace(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "a"), Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("what is released"); err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.WriteString("something of it")
	c, cerr := f.Content(t.Context())
	if err := errors.Join(err, cerr, other.Close(), f.Commit()); err != nil {
		t.Fatal(err)
	}
	if summary(c) != line("", "what is released") {
		t.Errorf("got %s", summary(c))
	}
	if now, err := ContentOf(t.Context(), f.Path()); err != nil || summary(now) == summary(c) {
		t.Errorf("%v, %v", now, err)
	}
}

// A file in a folder with known content is read all the same if it has another size, or is not a
// regular file.
func TestKnownContentIsLookedAt(t *testing.T) {
	d := writeDir(t, filepath.Join(t.TempDir(), "release"), "a.csv", "b.csv")
	if err := d.Settled(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.temp, "b.csv"), []byte("of another size"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(d.temp, "a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Content(t.Context())
	if want := line("a.csv", string(a)) + line("b.csv", "of another size"); err != nil || summary(c) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, summary(c), want)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}

// A write that fails may have stored a part of the bytes: the file is then read for its digest.
func TestDigestAfterAFailedWrite(t *testing.T) {
	for _, length := range []int{apart - 1, apart, 3 * apart} {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path) // nothing can be written
		if err != nil {
			t.Fatal(err)
		}
		s := sequential{File: f}
		if n, err := s.Write(make([]byte, length)); n != 0 || err == nil {
			t.Errorf("%d bytes: wrote %d, %v", length, n, err)
		}
		if c, known := s.content(); known && c.SHA256 != sum(sha256.New()) {
			t.Errorf("%d bytes: the digest is that of bytes that are not in the file", length)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
