package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder gets its name complete and readable, never in place of another one. If any call fails,
// it is complete under one of the two names.
func TestNameDir(t *testing.T) {
	dir := t.TempDir()
	temp, path := filepath.Join(dir, ".temp"), filepath.Join(dir, "name")
	fill := func() {
		t.Helper()
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(temp, "file"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	if err := NameDir(temp, path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777&^umask() {
		t.Errorf("%v, %v", info, err)
	}
	fill()
	if err := NameDir(temp, path); err == nil || !strings.Contains(err.Error(), "name: is there already") {
		t.Errorf("a name that is taken: %v", err)
	}
	full := errors.New("full")
	before := system
	defer func() { system = before }()
	for name, fault := range map[string]func(){
		"chmod":  func() { system.chmodName = func(string, os.FileMode) error { return full } },
		"rename": func() { system.rename = func(string, string) error { return full } },
		"sync":   func() { system.sync = func(*os.File) error { return full } },
	} {
		system = before
		fault()
		if err := NameDir(temp, filepath.Join(dir, name)); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder has its name: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(temp, "file")); err != nil {
		t.Error(err)
	}
}

// A temporary name is hidden and has the suffix; a name with only one of both belongs to someone
// else.
func TestTemporaryNames(t *testing.T) {
	for name, want := range map[string]bool{
		TempName("out.csv"): true, TempName(filepath.Join("folder", "out.csv")): true, TempName("folder/"): true,
		"out.csv": false, ".out.csv": false, "out.csv" + suffix: false, filepath.Join(".folder", "out.csv"+suffix): false,
		TempName("out.csv") + "~": false,
	} {
		if got := IsTemp(name); got != want {
			t.Errorf("%s: temporary %v, want %v", name, got, want)
		}
	}
}
