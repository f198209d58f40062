package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file that is left keeps its content under its temporary name, and gets its name later, once; if what
// it holds does not fit, a run has it in work, or it is not complete, it does not.
func TestRecover(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	fits := func(text []byte) error {
		if string(text) != "all" {
			return errors.New("other content")
		}
		return nil
	}
	mode := Confidential
	leave := func(text string, finish bool) *File {
		t.Helper()
		f, err := Create(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if finish {
			if err := f.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	if found, err := Recover(t.Context(), path, fits); found || err != nil {
		t.Errorf("of nothing: %v, %v", found, err)
	}
	if err := leave("all", false).Leave(); err != nil || Exists(t.Context(), TempName(path)) {
		t.Errorf("what is not complete is left (%v)", err)
	}
	if err := leave("other", true).Leave(); err != nil {
		t.Fatal(err)
	}
	if found, err := Recover(t.Context(), path, fits); !found || err == nil || Exists(t.Context(), path) {
		t.Errorf("of other content: %v, %v", found, err)
	}
	live := leave("all", true)
	if found, err := Recover(t.Context(), path, fits); found || err == nil || Exists(t.Context(), path) {
		t.Errorf("while a run writes: %v, %v", found, err)
	}
	if err := live.Leave(); err != nil {
		t.Fatal(err)
	}
	if err := live.Abort(); err != nil || !Exists(t.Context(), TempName(path)) {
		t.Errorf("a file that was left is aborted (%v)", err)
	}
	if found, err := Recover(t.Context(), path, fits); !found || err != nil {
		t.Errorf("of what was left: %v, %v", found, err)
	}
	info, err := os.Stat(path)
	if text, _ := os.ReadFile(path); err != nil || string(text) != "all" || info.Mode().Perm() != 0o600 ||
		Exists(t.Context(), TempName(path)) {
		t.Errorf("recovered: %q, %v (%v)", text, info.Mode(), err)
	}
	if found, err := Recover(t.Context(), path, fits); found || err != nil {
		t.Errorf("once more: %v, %v", found, err)
	}
	mode = Public
	if err := leave("all", true).Leave(); err != nil {
		t.Fatal(err)
	}
	if found, err := Recover(t.Context(), path, fits); !found || err != nil {
		t.Errorf("of a public file: %v, %v", found, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666&^umask() {
		t.Errorf("a public file has the mode %v (%v)", info.Mode(), err)
	}
}
