package csv

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// If the columns of a file change places between two passes, the file is refused, even if only its
// header shows the change.
func TestHeaderIsHeldAgainstThatOfThePlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	for _, now := range []string{"wage,id\n2,1\n", "id,wage,more\n1,2,3\n", "\"id\",wage\n1,2\n", "id,wagf\n1,2\n",
		"id\n1\n"} {
		if err := os.WriteFile(path, []byte("id,wage\n1,2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := (&SourceConfig{Path: path}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 1, As: microdata.Numbers}}}
		reader, err := src.Read(t.Context(), layout, connectors.Cut{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Next(t.Context()); !errors.Is(err, files.ErrChanged) {
			t.Errorf("%q: got %v", now, err)
		}
		if err := errors.Join(reader.Close(), src.Close()); err != nil {
			t.Error(err)
		}
	}
}
