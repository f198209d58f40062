package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that are named one by one are those and no others, whatever else comes into their folder; no name holds the
// value of a folder.
func TestListed(t *testing.T) {
	root := t.TempDir()
	var paths []string
	for _, name := range []string{"z/who=canary1/a.parquet", "b/who=canary2/a.parquet", "c.parquet"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	s, err := Listed(t.Context(), root, paths)
	if err != nil {
		t.Fatal(err)
	}
	stamps := make([]Stamp, len(paths))
	for i, f := range s.Files {
		if f.Path != paths[i] || strings.Contains(f.Label, "canary") || !strings.HasPrefix(f.Label, root+"/") ||
			len(f.Partitions) > 0 {
			t.Errorf("file %d is %+v", i, f)
		}
		if stamps[i], err = statPath(f.Path); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Folder || len(s.PartitionFields()) > 0 {
		t.Errorf("the set is %+v", s)
	}
	if one := s.One(1); len(one.Files) != 1 || one.Files[0].Path != paths[1] || len(s.Files) != 3 {
		t.Errorf("the second alone is %+v", one)
	}
	if err := os.WriteFile(filepath.Join(root, "d.parquet"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Unchanged(stamps); err != nil {
		t.Errorf("another file came: %v", err)
	}
	for path, want := range map[string]bool{paths[0]: true, filepath.Dir(paths[0]): true, root: true,
		filepath.Join(root, "d.parquet"): false} {
		if at, err := s.At(path); at != want || err != nil {
			t.Errorf("%s is read: %v, %v", path, at, err)
		}
	}
	if err := os.Remove(paths[2]); err != nil {
		t.Fatal(err)
	}
	if err := s.Unchanged(stamps); !errors.Is(err, ErrChanged) {
		t.Errorf("a file is gone: %v", err)
	}
}
