package filejob

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A bucket that is not there, or that may not be written to, is found before the source is looked at, which is
// missing here, whatever goes there. Nothing is left behind where all are there.
func TestBucketsAreProbedFirst(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		s := newStores(t, scheme, 2)
		dir := t.TempDir()
		for _, of := range []string{"out.csv", "q.jsonl", "r.json", "r.html", "b.html", ""} {
			for _, denied := range []bool{false, true} {
				other, words := scheme+"://missing/", "no such bucket: make it"
				if denied {
					other, words = scheme+"://data1/", "need the right to write objects there"
					s.failing("data1", func(int) *objecttest.Fault {
						return &objecttest.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
					})
				}
				at := func(name string) string {
					if name == of {
						return "'" + other + name + "'"
					}
					return "'" + scheme + "://data0/" + name + "'"
				}
				p := parse(t, dir, setup{source: "csv: {path: " + filepath.Join(dir, "none.csv") + ", types: {debt: float64}}",
					sink: "csv: {path: " + at("out.csv") + "}", masks: noiseMasks,
					extra: "report: {json: " + at("r.json") + ", html: " + at("r.html") + ", board: " + at("b.html") +
						"}\nquarantine: {jsonl: " + at("q.jsonl") + "}\ngate: {allow_unchanged: 1}\n"})
				want := []string{words, strings.Trim(at(of), "'")}
				if of == "" {
					want = []string{"none.csv"}
				}
				_, ran := Run(t.Context(), p, pipeline.Options{})
				for _, err := range []error{ran, Connect(t.Context(), p)} {
					if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(err.Error(), want[len(want)-1]) {
						t.Errorf("%s, %s, denied %v: %v, want %q", scheme, of, denied, err, want)
					}
				}
				if keys, uploads := s.server.Keys("data0"), s.server.Uploads(); len(keys) > 0 || uploads > 0 {
					t.Errorf("%s, %s: left are %v and %d uploads", scheme, of, keys, uploads)
				}
			}
		}
	}
}

// Probing leaves what has the name as it is.
func TestProbeLeavesWhatIsThere(t *testing.T) {
	for _, scheme := range []string{"s3", "gs", "az"} {
		s := newStores(t, scheme, 1)
		s.server.Set("data0", "out.csv", []byte(earlierRelease))
		at := s.server.Get("data0", "out.csv").ETag
		dir := t.TempDir()
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "none.csv") + "}",
				sink: "csv: {path: '" + scheme + "://data0/out.csv'}", masks: noiseMasks, extra: "gate: {allow_unchanged: 1}\n"})
		if err := Connect(t.Context(), p); err == nil || !strings.Contains(err.Error(), "none.csv") {
			t.Errorf("%s: %v", scheme, err)
		}
		if o := s.server.Get("data0", "out.csv"); o == nil || o.ETag != at || string(o.Data) != earlierRelease {
			t.Errorf("%s: there is %v", scheme, o)
		}
	}
}
