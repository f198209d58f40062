package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestPending(t *testing.T) {
	dir := t.TempDir()
	temp := TempName(filepath.Join(dir, "a.parquet"))
	if _, err := CreatePending(filepath.Join(dir, "a.parquet")); err == nil {
		t.Error("a name that is not temporary must be refused")
	}
	p, err := CreatePending(temp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreatePending(temp); err == nil {
		t.Error("a name that is taken must be refused")
	}
	if gone, err := RemoveAbandoned(temp); gone || err != nil {
		t.Errorf("an open file was removed: %v, %v", gone, err)
	}
	if info, err := p.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if err := errors.Join(p.Sync(), p.Release(), p.Release(), p.Abort()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(temp); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after Release: mode %v (%v)", info.Mode(), err)
	}
	for range 2 {
		if gone, err := RemoveAbandoned(temp); !gone || err != nil {
			t.Errorf("a file that is not open stays: %v, %v", gone, err)
		}
	}
	if gone, err := RemoveAbandoned(dir); gone || err == nil {
		t.Error("a name that is not temporary must be refused")
	}
}

func TestPendingAbort(t *testing.T) {
	dir := t.TempDir()
	for _, renamed := range []bool{false, true} {
		p, err := CreatePending(TempName(filepath.Join(dir, "a")))
		if err != nil {
			t.Fatal(err)
		}
		if renamed {
			if err := Name(p.Name(), filepath.Join(dir, "b")); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(dir, "b")); err != nil || info.Mode().Perm() != 0o666&^umask() {
				t.Errorf("mode %v (%v)", info.Mode(), err)
			}
		}
		if err := errors.Join(p.Abort(), p.Abort(), p.Release()); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "b" {
		t.Errorf("left are %v", got)
	}
}

func TestSyncDirs(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := SyncDirs(dir, deep, filepath.Join(dir, "a"), dir); err != nil {
		t.Error(err)
	}
	if err := SyncDirs(dir, filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing folder must be an error")
	}
	t.Chdir(dir)
	if err := SyncDirs("a", "a/b"); err != nil {
		t.Error(err)
	}
}
