package audit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// cuboid is a set of one table of 4 by 5 by 4 inner cells.
func cuboid(t *testing.T) *tables.Set {
	return tabletest.Set(t,
		tables.Table{Name: "abc",
			Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 4), tabletest.Flat(t, "b", 5), tabletest.Flat(t, "c", 4)}})
}

// The result of Near is a table in which the column deviates as far as required and at most the
// given number of columns change, none of them fixed. If the neighbourhood may grow to the
// whole component, Near finds a table whenever the interval of the cell, by programs over the
// whole component, is wide enough.
func TestNearAgainstRanges(t *testing.T) {
	rng, set := rand.New(rand.NewPCG(16, 1)), cuboid(t)
	found, none, few := 0, 0, 0
	for range 12 {
		q := tabletest.Random(t, rng, set, 30, 0.7)
		q.Counts = false
		open := q
		open.Hidden = append([]bool(nil), q.Hidden...)
		parts, _, err := audit.Components(open)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			for j, c := range parts[i].Cells {
				if rng.IntN(8) == 0 {
					if err := parts[i].Fix(j); err != nil {
						t.Fatal(err)
					}
					q.Hidden[c] = false
				}
			}
		}
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			p := &parts[i]
			for j, c := range p.Cells {
				for _, d := range []float64{-20, -3, 2, 15} {
					reaches := r.Low[c] <= q.Value[c]+d && d < 0 || r.High[c] >= q.Value[c]+d && d > 0
					columns, by := p.Near(j, d, 1_000_000)
					if (columns != nil) != reaches {
						t.Fatalf("%s by %v: found %v, range %v to %v around %v", set.Name(int(c)), d, columns != nil, r.Low[c], r.High[c],
							q.Value[c])
					}
					if columns == nil {
						none++
						continue
					}
					found++
					checkReached(t, q, p, int32(j), d, columns, by)
					if columns, by = p.Near(j, d, 24); columns != nil {
						few++
						if checkReached(t, q, p, int32(j), d, columns, by); len(columns) > 24 {
							t.Fatalf("%d columns, asked for 24", len(columns))
						}
					}
				}
			}
		}
	}
	t.Logf("%d found, %d of them among 24 columns; %d not", found, few, none)
	if found < 500 || none < 500 || few < found/10 || few == found {
		t.Errorf("%d found, %d of them among 24 columns; %d not: the test shows little", found, few, none)
	}
}

// checkReached checks deviations against the sums and bounds of a table, and column j against
// d.
func checkReached(t *testing.T, q audit.Question, p *audit.Component, j int32, d float64, columns []int32,
	by []float64) {
	t.Helper()
	cells, reached := make([]int32, len(columns)), 0.0
	for k, c := range columns {
		cells[k] = p.Cells[c]
		if c == j {
			reached = by[k]
		}
	}
	r := &audit.Ranges{ShownLow: append([]float64(nil), q.Value...), ShownHigh: append([]float64(nil), q.Value...)}
	// rounding leaves a thousandth, as everywhere in this package
	if err := r.Show(q, cells, by); err != nil || reached*d <= 0 || !(math.Abs(reached) >= math.Abs(d)-1.1e-3) {
		t.Fatalf("%v of %v by %v: %v", reached, d, by, err)
	}
}

// For counts only tables of whole numbers are found.
func TestNearOfCounts(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(17, uint64(len(name))))
		found := 0
		for range 20 {
			q := tabletest.Random(t, rng, set, 4, 0.9)
			low, high, _ := tabletest.Enumerated(q)
			parts, _, err := audit.Components(q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				for j, c := range parts[i].Cells {
					for _, d := range []float64{-2, -1, 1, 2} {
						columns, by := parts[i].Near(j, d, 100)
						if columns == nil {
							continue
						}
						found++
						if checkReached(t, q, &parts[i], int32(j), d, columns, by); low[c] > q.Value[c]+d && d < 0 ||
							high[c] < q.Value[c]+d && d > 0 {
							t.Fatalf("%s, %s by %v: of all tables %v to %v", name, set.Name(int(c)), d, low[c], high[c])
						}
					}
				}
			}
		}
		t.Logf("%s: %d found", name, found)
		if found < 20 {
			t.Errorf("%s: %d found: the test shows little", name, found)
		}
	}
}

// With a small limit of work for large components an audit gives weaker but correct
// results: no interval is narrower than without the limit, no shown interval is wider,
// and unsolved ends are counted.
func TestAuditsWithLittleWork(t *testing.T) {
	rng, set := rand.New(rand.NewPCG(18, 1)), cuboid(t)
	wider, left := 0, 0
	for range 12 {
		q := tabletest.Random(t, rng, set, 30, 0.7)
		q.Counts = false
		whole, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		q.Large, q.Work = 1, 1
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		parts, _, err := audit.Components(q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts { // no linear program ends, so that only the shuttle algorithm gives bounds
			for j, c := range parts[i].Cells {
				if r.Low[c] != q.Value[c]+parts[i].Low[j] || r.High[c] != q.Value[c]+parts[i].High[j] {
					t.Fatalf("%s: %v to %v without any work", set.Name(int(c)), r.Low[c], r.High[c])
				}
			}
		}
		q.Work = 2000
		r, err = audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		left += r.Unsolved
		p := allUnsafe(rng, q)
		v, err := audit.Judge(q, r, p)
		if err != nil {
			t.Fatal(err)
		}
		full, err := audit.Judge(q, whole, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Narrow)+len(v.Disclosed) != len(full.Narrow)+len(full.Disclosed) {
			t.Fatalf("unsafe %v and %v, with all work %v and %v", v.Narrow, v.Disclosed, full.Narrow, full.Disclosed)
		}
		for c, x := range q.Value {
			// rounding leaves a thousandth and 1e-9 of a value
			eps := 2e-3 + 1e-9*x
			if !(r.Low[c] <= whole.Low[c]+eps && r.High[c] >= whole.High[c]-eps && r.ShownLow[c] >= whole.Low[c]-eps &&
				r.ShownHigh[c] <= whole.High[c]+eps) {
				t.Fatalf("%s: %v to %v, shown %v to %v; with all work %v to %v", set.Name(c), r.Low[c], r.High[c], r.ShownLow[c],
					r.ShownHigh[c], whole.Low[c], whole.High[c])
			}
			if r.High[c] > whole.High[c]+eps || r.Low[c] < whole.Low[c]-eps {
				wider++
			}
		}
		again, err := audit.Audit(q)
		if err != nil || again.Programs != r.Programs || again.Unsolved != r.Unsolved {
			t.Fatalf("%d programs and %d ends left, before %d and %d: %v", again.Programs, again.Unsolved, r.Programs,
				r.Unsolved, err)
		}
	}
	t.Logf("%d ends left, %d ranges wider", left, wider)
	if left < 20 || wider < 10 {
		t.Errorf("%d ends left, %d ranges wider: the test shows little", left, wider)
	}
}
