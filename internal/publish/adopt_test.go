package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What a dead run has left is taken over as it is by one run at a time; what is not there, and what lives, is not.
func TestAdopt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if _, err := Adopt(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: error %v", err)
	}
	live, err := Create(path, Public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(path); !errors.Is(err, ErrLive) {
		t.Errorf("of a live run: error %v", err)
	}
	if err := live.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(TempName(path), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Adopt(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(path); !errors.Is(err, ErrLive) {
		t.Errorf("taken over already: error %v", err)
	}
	if text, err := os.ReadFile(TempName(path)); err != nil || string(text) != "left" {
		t.Errorf("%q is left of it, error %v", text, err)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(TempName(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: error %v", err)
	}
}
