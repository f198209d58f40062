package iceberg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
)

// A location has several forms, which all are one path; what is none is refused without being repeated.
func TestPaths(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a%20b")
	if err := os.WriteFile(odd, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"/a/b": "/a/b", "/a//b/": "/a/b", "file:/a/b": "/a/b", "file:///a/b": "/a/b", "file:///a/b%20c": "/a/b c",
		"file://" + odd: odd, "/a:b": "/a:b",
		"a/b": "", "": "", "file://host/a": "", "file:a": "",
		"s3://lake/a/b": "s3://lake/a/b", "s3a://lake/a": "s3://lake/a", "s3://AKID:canary@lake/a": "",
		"s3://lake/a?X-Amz-Signature=canary": "", "s3://lake/a#canary": "", "s3://lake/a//canary": "", "canary://a/b": "",
	} {
		got, err := pathOf(location)
		if err != nil && (strings.Contains(err.Error(), "canary") && !strings.HasPrefix(location, "canary")) {
			t.Errorf("%q: the error repeats it: %v", location, err)
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", location, got, err, want)
		}
		if want != "" && normal(location) != want || want == "" && normal(location) != location {
			t.Errorf("%q is taken for %q", location, normal(location))
		}
	}
}

// A table in object storage, by a REST catalog, is read with its deletes, under both names that the storage has; a
// release is appended to it. Nothing made of it is written where it lies.
func TestTableOfObjects(t *testing.T) {
	server := objecttest.New(t, "lake")
	objecttest.Use(t, server.URL, objecttest.AccessKey, objecttest.SecretKey)
	name, err := objectpath.Parse("s3://lake/t")
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := objects.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 50), &SinkConfig{Place: at(path)})
	deleting(t, path, deletion{columns: []column{
		{"file_path", deletedPathID, []any{"s3://lake" + dataPath(t, path, 50)}}, {"pos", deletedPosID, []any{3}}}})
	tab := present(t, path)
	put := func(at string, text []byte) { objecttest.Put(t, bucket, strings.TrimPrefix(at, "/"), string(text)) }
	list, err := manifestsOf(t.Context(), tab.current())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		m := &list[i]
		all, err := liveEntries(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		for k := range all {
			f := &all[k].File
			text, err := os.ReadFile(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			put(f.Path, text)
			f.Path, all[k].Status = "s3a://lake"+f.Path, meta.Kept
		}
		text, _, err := meta.Write(1, 9, tab.spec(), tab.schema(), m.Deletes, all)
		if err != nil {
			t.Fatal(err)
		}
		put(m.Path, text)
		m.Path = "s3://lake" + m.Path
	}
	text, err := meta.WriteList(1, nil, 9, list)
	if err != nil {
		t.Fatal(err)
	}
	put("/list.avro", text)
	rewritten(t, path, func(m map[string]any) {
		m["location"] = "s3://lake/there"
		snapshots := m["snapshots"].([]any)
		snapshots[len(snapshots)-1].(map[string]any)["manifest-list"] = "s3://lake/list.avro"
	})
	from := &SourceConfig{Place: at(tab.location)}
	expectRows(t, from, masked(upTo(50, 3)...))
	src, err := from.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for to, taken := range map[string]bool{
		"s3://lake/there/x.parquet": true, "s3://lake/there": true, "s3://lake/therefore": false, "s3://other/there/x": false,
		"/there/x": false,
	} {
		if err := connectors.Spare(src, to); (err != nil) != taken {
			t.Errorf("a release at %s: %v, want an error: %v", to, err, taken)
		}
	}
	catalog, place := newRESTServer(t)
	if catalog.table, err = (&folder{path: tab.location}).load(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectRows(t, &SourceConfig{Place: place}, masked(upTo(50, 3)...))
	release(t, records(t, 1), &SinkConfig{Place: place, Mode: "append"})
	expectRows(t, &SourceConfig{Place: place}, masked(0), masked(upTo(50, 3)...))
}
