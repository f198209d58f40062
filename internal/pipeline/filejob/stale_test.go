package filejob

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A folder of objects as source, of which the server gives old lists: what an old list names and is gone, or another
// object now, ends the run with nothing published; and where the list is no longer old at the end, the source is said
// to have changed.
func TestSourceWithStaleLists(t *testing.T) {
	const records = "id,income,debt,age,region\nR1,1.5,2,30,north\nR2,2.5,3,31,south\n"
	for _, c := range []struct {
		name     string
		meddle   func(s *objecttest.Server) // after the list that is shown from then on
		thaw     bool                       // lists show what is there once the source has been read
		released int64                      // 0: nothing
	}{
		{"nothing is done", func(*objecttest.Server) {}, false, 4},
		{"one is gone", func(s *objecttest.Server) { s.Remove("data0", "in/b.csv") }, false, 0},
		{"one is replaced", func(s *objecttest.Server) { s.Set("data0", "in/b.csv", []byte(records+"R3,1,1,1,east\n")) },
			false, 0},
		// the source as it was
		{"one is new, and never listed", func(s *objecttest.Server) {
			s.Set("data0", "in/c.csv", []byte(records))
		}, false, 4},
		{"one is new, and listed at the end", func(s *objecttest.Server) {
			s.Set("data0", "in/c.csv", []byte(records))
		}, true, 0},
	} {
		s := newStores(t, "s3", 1)
		s.server.Set("data0", "in/a.csv", []byte(records))
		s.server.Set("data0", "in/b.csv", []byte(records))
		s.server.Freeze()
		c.meddle(s.server)
		s.server.Failing(func(r *http.Request) *objecttest.Fault {
			if c.thaw && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "in/b.csv") {
				s.server.Thaw()
			}
			return nil
		})
		p := parse(t, t.TempDir(),
			setup{source: "csv: {path: 's3://data0/in', types: {income: float64, debt: float64}}",
				sink: "csv: {path: 's3://data0/out.csv'}", masks: noiseMasks,
				extra: "report: {json: 's3://data0/r.json'}\ngate: {allow_unchanged: 1}\n"})
		result, err := Run(t.Context(), p, pipeline.Options{})
		there := slices.Contains(s.server.Keys("data0"), "out.csv") || slices.Contains(s.server.Keys("data0"), "r.json")
		switch {
		case c.released == 0 &&
			(err == nil || there || !strings.Contains(err.Error(), "chang") &&
				!strings.Contains(err.Error(), "was added while")):
			t.Errorf("%s: %v, and something is there: %v", c.name, err, there)
		case c.released > 0 && (err != nil || result.Report.Records.Released != c.released):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
