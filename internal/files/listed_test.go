package files

import (
	"path/filepath"
	"testing"
)

// A file beside the folder whose name begins with the folder's is not taken for one in it.
func TestListedLabels(t *testing.T) {
	root := filepath.Join(t.TempDir(), "table")
	paths := []string{root + "/data/a.parquet", root + ".parquet", root + "s/b.parquet"}
	for _, r := range []string{root, root + "/"} {
		s, err := Listed(t.Context(), r, paths)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range s.Files {
			if filepath.Clean(f.Label) != paths[i] {
				t.Errorf("%s is called %s", paths[i], f.Label)
			}
		}
	}
}
