package suppress

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// HiGHS, given only the published values, finds that every primary cell of the patterns is as
// uncertain as its rule requires.
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

// The same for the table in docs/performance.md with 891 unsafe cells, one cell in eight, and for
// turnovers, with patterns from programs over parts of the table.
func TestDensePatternsAuditedByHiGHS(t *testing.T) {
	tabletest.HiGHS(t, nil, nil) // skips the test early if HiGHS is not installed
	hier := [][]int{{5, 4, 3}, {4, 3}, {4}}
	counts, ofCounts := drawTable(t, 3, 1, hier...)
	turnovers, ofTurnovers, _ := drawnValues(t, 10, 1.5, hier...)
	turnovers.Large = 1
	questions, rules := []audit.Question{counts, turnovers}, []*primary.Result{ofCounts, ofTurnovers}
	cells := make([][]int32, len(rules))
	for i, p := range rules {
		protect(t, questions[i], p, Options{})
		for c, s := range p.Status {
			if s == tables.Primary {
				cells[i] = append(cells[i], int32(c))
			}
		}
	}
	if len(cells[0]) != 891 || len(cells[1]) != 504 {
		t.Fatalf("%d and %d unsafe cells", len(cells[0]), len(cells[1]))
	}
	low, high := tabletest.HiGHS(t, questions, cells)
	for i, q := range questions {
		for k, c := range cells[i] {
			v, p := q.Value[c], rules[i]
			// rounding leaves a thousandth and 1e-9 of a value
			if eps := 2e-3 + 1e-9*v; !(high[i][k] >= v+p.Up[c]-eps && low[i][k] <= v-p.Down[c]+eps) {
				t.Errorf("%s is between %v and %v by HiGHS, asked for %v -%v +%v", q.Set.Name(int(c)), low[i][k], high[i][k], v,
					p.Down[c], p.Up[c])
			}
		}
	}
}

// The audit alone, of all cells that our pattern holds back, by this package and by HiGHS over the same linear
// programs:
//
//	SDLFILTER_HIGHS=$PWD/.cache/interop/venv/bin/python go test -run - -bench AuditBesideHiGHS ./internal/tables/suppress
//
// What HiGHS takes includes the start of Python and the reading of the tables, 0.2 s.
func BenchmarkAuditBesideHiGHS(b *testing.B) {
	for _, name := range []string{"2d50", "3d10", "hier"} {
		q, p := load(b, name, 3)
		protect(b, q, p, Options{})
		var cells []int32
		for c, hidden := range q.Hidden {
			if hidden {
				cells = append(cells, int32(c))
			}
		}
		b.Run(name+"/ours", func(b *testing.B) {
			for range b.N {
				if _, err := audit.Audit(q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(cells)), "cells")
		})
		b.Run(name+"/HiGHS", func(b *testing.B) {
			for range b.N {
				tabletest.HiGHS(b, []audit.Question{q}, [][]int32{cells})
			}
			b.ReportMetric(float64(len(cells)), "cells")
		})
	}
}
