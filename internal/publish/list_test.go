package publish

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The files of a folder are listed in the order of their names: no folder, no link and no file whose name
// begins with a point. A folder that does not exist is an error.
func TestListOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", ".hidden", "a.json", "..twice", "c."} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := List(t.Context(), dir)
	want := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b"), filepath.Join(dir, "c.")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := List(t.Context(), filepath.Join(dir, "gone")); err == nil {
		t.Errorf("a folder that does not exist: %v", got)
	}
}
