package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && p != dir {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileHasNoNameBeforeCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "release.csv")
	f, err := Create(path, Public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the temporary file has mode %v, want 0600 (%v)", info.Mode(), err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the final name is there before Commit: %v", err)
	}
	if _, err := Create(path, Public); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Fatalf("a second writer of the same name got %v", err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatalf("Abort after Commit: %v", err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "x\n" {
		t.Fatalf("read %q, %v", got, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o666&^umask() {
		t.Errorf("a public file has mode %v", info.Mode())
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "a"), Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Abort(), f.Abort()); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("remaining files: %v", left)
	}
}

func TestLeftoverIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(TempName(path), []byte("half of an older release"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, Confidential, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if string(got) != "new" || info.Mode().Perm() != 0o600 || len(names(t, dir)) != 1 {
		t.Errorf("got %q, mode %v, folder %v", got, info.Mode(), names(t, dir))
	}
}

func writeDir(t *testing.T, path string, files ...string) *Dir {
	t.Helper()
	d, err := CreateDir(path, ".csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := d.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestDirReplacesAnEarlierReleaseAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "release")
	if err := writeDir(t, path, "region=a/part-00000.csv", "region=b/part-00000.csv").Commit(); err != nil {
		t.Fatal(err)
	}
	second := writeDir(t, path, "region=c/part-00000.csv")
	if _, err := CreateDir(path, ".csv"); err == nil {
		t.Error("two runs may not write one folder at a time")
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(t, dir), " "); got != "release release/region=c release/region=c/part-00000.csv" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestDirRefusesToReplaceOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "release")
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "thesis.docx"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateDir(path, ".csv"); err == nil || !strings.Contains(err.Error(), "thesis.docx") {
		t.Fatalf("got %v", err)
	}
	d := writeDir(t, filepath.Join(dir, "other"), "a.csv")
	if err := d.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names(t, dir), " "); got != "release release/thesis.docx" {
		t.Errorf("the folder holds %s", got)
	}
}

// The umask belongs to the process and does not change.
func TestUmask(t *testing.T) {
	got := umask()
	now := syscall.Umask(0o022)
	syscall.Umask(now)
	if got != fs.FileMode(now) {
		t.Errorf("%o, and the process has %o", got, now)
	}
}
