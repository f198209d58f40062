package account

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// A report lists the files of a folder with their digests, and for a single file only that file.
// Paths are relative to the report's folder.
func TestReleaseOf(t *testing.T) {
	files := []publish.FileContent{{Name: "a.csv", Bytes: 7, SHA256: "aa"}, {Name: "b.csv", Bytes: 5, SHA256: "bb"}}
	if r := releaseOf(nil, "r.json"); r != nil {
		t.Errorf("releaseOf(nil) = %+v, want nil", r)
	}
	one := &publish.Content{Path: filepath.Join("out", "a.csv"), Files: files[:1]}
	if r := releaseOf(one, filepath.Join("reports", "r.json")); r.Folder || r.Files != nil || r.Bytes != 7 ||
		r.Path != "../out/a.csv" || r.SHA256 != one.SHA256() {
		t.Errorf("releaseOf a file = %+v", r)
	}
	folder := &publish.Content{Path: "out", Folder: true, Files: files}
	want := []report.ReleaseFile{{Name: "a.csv", Bytes: 7, SHA256: "aa"}, {Name: "b.csv", Bytes: 5, SHA256: "bb"}}
	if r := releaseOf(folder, "r.json"); !r.Folder || !reflect.DeepEqual(r.Files, want) || r.Bytes != 12 ||
		r.Path != "out" || r.SHA256 != folder.SHA256() {
		t.Errorf("releaseOf a folder = %+v", r)
	}
	if r := releaseOf(&publish.Content{Files: files[:1]}, "r.json"); r.Path != "" {
		t.Errorf("releaseOf content without a path = %+v, want no path", r)
	}
}
