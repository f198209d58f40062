package publish_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// A folder whose files something else lists has them under the names that were told, and nothing beside them; before
// Commit, after Abort and after a commit that failed half-way there is nothing.
func TestListedFolder(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	server := serve(t)
	write := func(path string) *publish.Dir {
		t.Helper()
		d, err := publish.CreateListed(path, ".csv")
		for _, name := range []string{"a.csv", "sub/b.csv"} {
			var part publish.Part
			if err == nil {
				part, err = d.Create(name)
			}
			if err == nil {
				_, err = part.Write([]byte(name))
			}
			if err == nil {
				err = errors.Join(part.Sync(), part.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := write("s3://bucket/t/data/one")
	if keys := server.Keys("bucket"); len(keys) > 0 {
		t.Errorf("before the commit there is %q", keys)
	}
	content, err := d.Content(t.Context())
	if err != nil || len(content.Files) != 2 || content.Files[1].Name != "sub/b.csv" || content.Files[0].Bytes != 5 {
		t.Errorf("content %+v, %v", content, err)
	}
	if err := errors.Join(d.Commit(), d.Commit(), d.Abort()); err != nil {
		t.Fatal(err)
	}
	want := []string{"t/data/one/a.csv", "t/data/one/sub/b.csv"}
	if keys := server.Keys("bucket"); !slices.Equal(keys, want) ||
		string(server.Get("bucket", want[1]).Data) != "sub/b.csv" {
		t.Errorf("there is %q, want %q", keys, want)
	}
	if err := write("s3://bucket/t/data/two").Abort(); err != nil {
		t.Error(err)
	}
	half := write("s3://bucket/t/data/three")
	server.Failing(func(r *http.Request) *objecttest.Fault {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "b.csv") {
			return &objecttest.Fault{Status: http.StatusForbidden}
		}
		return nil
	})
	if err := half.Commit(); err == nil || !strings.Contains(err.Error(), "s3://bucket/t/data/three") {
		t.Errorf("a part that is refused: %v", err)
	}
	server.Failing(nil)
	if err := half.Abort(); err != nil {
		t.Error(err)
	}
	if keys := server.Keys("bucket"); !slices.Equal(keys, want) {
		t.Errorf("at the end there is %q, want %q", keys, want)
	}
	here := filepath.Join(t.TempDir(), "here")
	if err := write(here).Commit(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(here, "sub", "b.csv")); err != nil || string(text) != "sub/b.csv" {
		t.Errorf("on this machine %q, %v", text, err)
	}
}
