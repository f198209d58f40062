package statfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// FuzzFiles: whatever a file holds, it is read or is an error that names it and shows none of its values.
func FuzzFiles(f *testing.F) {
	for _, name := range []string{"made.sav", "made.zsav", "made.dta", "made5.xpt", "made8.xpt"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for kind := range uint8(4) {
			f.Add(kind, whole)
		}
		f.Add(uint8(0), whole[:len(whole)/2])
	}
	f.Fuzz(func(t *testing.T, kind uint8, content []byte) {
		ext := []string{".sav", ".dta", ".xpt", ".sas7bdat"}[kind%4]
		path := filepath.Join(t.TempDir(), "in"+ext)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		refused := func(err error) {
			if !strings.Contains(err.Error(), "in"+ext) || strings.Contains(err.Error(), "canary-") {
				t.Fatalf("the error does not name the file, or shows a value: %v", err)
			}
		}
		src, err := (&SourceConfig{Path: path, program: []string{spss, stata, sas, sas}[kind%4]}).Open(t.Context())
		if err != nil {
			refused(err)
			return
		}
		layout := &microdata.Layout{Schema: src.Schema()}
		for i := range src.Schema().Fields {
			layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		}
		if err := pass(t.Context(), src, layout, nil, nil); err != nil {
			refused(err)
		}
	})
}
