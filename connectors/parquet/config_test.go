package parquet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		config interface{ Check() check.Problems }
		want   string // "": no error
	}{
		{&SourceConfig{Path: "a.parquet", KeepMetadata: []string{"title"}}, ""},
		{&SourceConfig{}, "path: must name"},
		{&SourceConfig{Path: "a", KeepMetadata: []string{""}}, "keep_metadata[0]: must not be empty"},
		{&SourceConfig{Path: "a", KeepMetadata: []string{"x", "pandas"}}, "keep_metadata[1]: must not be"},
		{&SinkConfig{Path: "a.parquet", Compression: "zstd", Encoding: "plain"}, ""},
		{&SinkConfig{Path: "-"}, "path: must name"},
		{&SinkConfig{Path: "a", Compression: "snapy"}, `did you mean "snappy"`},
		{&SinkConfig{Path: "a", Encoding: "dense"}, "encoding: must be one of"},
	} {
		ps := c.config.Check()
		switch {
		case c.want == "" && len(ps) > 0:
			t.Errorf("%+v: %v", c.config, ps[0])
		case c.want != "" && (len(ps) != 1 || !strings.Contains(ps[0].Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.config, ps, c.want)
		}
	}
}

// A release never replaces its own source or a folder that contains it.
func TestOwnSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d", "a.parquet")
	writePeople(t, path, 3)
	for _, c := range [][2]string{{path, path}, {filepath.Dir(path), filepath.Dir(path)}} {
		src, err := (&SourceConfig{Path: c[0]}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_,
			err = (&SinkConfig{Path: c[1]}).Create(t.Context(),
			connectors.Plan{Source: src, Layout: layoutOf(nil, nil)(src.Schema())})
		if err == nil || !strings.Contains(err.Error(), "its own source") {
			t.Errorf("%s to %s: %v", c[0], c[1], err)
		}
	}
}
