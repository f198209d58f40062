package parquet

import (
	"path/filepath"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
)

// A file with another schema is refused. The error gives its name, what it has and what the first
// file has, whichever of them has more columns.
func TestFilesOfAnotherSchemaAreNamed(t *testing.T) {
	type few struct {
		Name string `parquet:"name"`
	}
	for _, c := range []struct{ many, few, want string }{
		{"1.parquet", "2.parquet", "2.parquet: has 1 columns where the first file has 4"},
		{"2.parquet", "1.parquet", "2.parquet: has 4 columns where the first file has 1"},
	} {
		dir := t.TempDir()
		writePeople(t, filepath.Join(dir, c.many), 3)
		if err := pqgo.WriteFile(filepath.Join(dir, c.few), []few{{"a"}}); err != nil {
			t.Fatal(err)
		}
		src, err := (&SourceConfig{Path: filepath.Join(dir, "*.parquet")}).Open(t.Context())
		if err == nil {
			t.Error("they are read:", src.Close())
		} else if !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
