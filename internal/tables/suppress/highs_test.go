package suppress

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// HiGHS, given what is published and nothing else, finds every primary cell of the
// patterns as uncertain as its rule asks.
func TestPatternsAuditedByHiGHS(t *testing.T) {
	var questions []audit.Question
	var cells [][]int32
	names := []string{"2d8", "2d50", "3d10", "hier"}
	for _, name := range names {
		q, p := load(t, name, 3)
		protect(t, q, p, Options{})
		var primary []int32
		for c, s := range p.Status {
			if s == tables.Primary {
				primary = append(primary, int32(c))
			}
		}
		questions, cells = append(questions, q), append(cells, primary)
	}
	low, high := tabletest.HiGHS(t, questions, cells)
	for i, name := range names {
		q := questions[i]
		for k, c := range cells[i] {
			if v := q.Value[c]; math.Floor(high[i][k]+1e-6) < v+3 || math.Ceil(low[i][k]-1e-6) > max(0, v-3) {
				t.Errorf("%s: %s is between %v and %v by HiGHS", name, q.Set.Name(int(c)), low[i][k], high[i][k])
			}
		}
		t.Logf("%s: %d primary cells", name, len(cells[i]))
	}
}
