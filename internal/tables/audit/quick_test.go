package audit_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Against all possible tables, while some cells are fixed and again after they are freed:
// no table has an excluded deviation, and every result of Quick is a table.
func TestQuickAgainstEveryTable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(9, uint64(len(name))))
		found, excluded, none, some := 0, 0, 0, 0
		for range 12 {
			q := tabletest.Random(t, rng, set, 4, 0.9)
			parts, _, err := audit.Components(q)
			if err != nil {
				t.Fatal(err)
			}
			open := q
			open.Hidden = append([]bool(nil), q.Hidden...)
			for round := range 3 {
				for i := range parts {
					p := &parts[i]
					for j, c := range p.Cells {
						if fix := round == 1 && rng.IntN(4) == 0; fix == q.Hidden[c] {
							q.Hidden[c] = !fix
							if fix {
								err = p.Fix(j)
							} else {
								err = p.Free(open, j)
							}
							if err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				_, _, taken := tabletest.Enumerated(q)
				for i := range parts {
					for j, c := range parts[i].Cells {
						for d := -3.0; d <= 3; d++ {
							is := taken[c][q.Value[c]+d]
							columns, by, no := parts[i].Quick(j, d, 30)
							if no && is || columns != nil && !is || no != parts[i].Excludes(j, d) {
								t.Fatalf("%s, %s: %v more: excluded %v, found %v, in a table %v", name, set.Name(int(c)), d, no, columns != nil,
									is)
							}
							if columns != nil {
								found++
								checkChanges(t, q, &parts[i], int32(j), d, columns, by)
							}
							if no {
								excluded++
							}
							if is {
								some++
							} else {
								none++
							}
						}
					}
				}
			}
		}
		t.Logf("%s: %d found of %d, %d excluded of %d", name, found, some, excluded, none)
		if found < some/2 || excluded < none/2 || none < 50 {
			t.Errorf("%s: %d found of %d, %d excluded of %d", name, found, some, excluded, none)
		}
	}
}

// checkChanges checks deviations against the sums and the bounds of a table.
func checkChanges(t *testing.T, q audit.Question, p *audit.Component, j int32, d float64, columns []int32,
	by []float64) {
	t.Helper()
	cells, reached := make([]int32, len(columns)), d == 0
	for k, c := range columns {
		cells[k] = p.Cells[c]
		reached = reached || c == j && by[k] == d
	}
	r := &audit.Ranges{ShownLow: append([]float64(nil), q.Value...), ShownHigh: append([]float64(nil), q.Value...)}
	if err := r.Show(q, cells, by); err != nil || !reached {
		t.Fatalf("deviations %v of %v: %v", by, cells, err)
	}
}

// For values no deviation is excluded that a linear program attains, up to the largest
// deviations that rounding allows.
func TestExcludedValuesAreBeyondTheRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	excluded, kept := 0, 0
	for range 60 {
		set := randomSet(t, rng)
		q := audit.Question{Set: set, Value: randomValues(rng, set), Hidden: make([]bool, set.Cells())}
		size := []float64{1, 1e3, 1e9}[rng.IntN(3)]
		for c := range q.Value {
			q.Value[c] = float64(int64(q.Value[c])) * size
			q.Hidden[c] = rng.IntN(2) == 0
		}
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		parts, _, err := audit.Components(q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			for j, c := range parts[i].Cells {
				for _, end := range []float64{r.Low[c] - q.Value[c], r.High[c] - q.Value[c]} {
					for _, share := range []float64{0.5, 1, 1.01, 2} {
						d := end * share
						if end > 1e300 || end < -1e300 || d == 0 {
							continue
						}
						switch no := parts[i].Excludes(j, d); {
						case no && share <= 1:
							t.Fatalf("%s: %v more is excluded, its range goes %v further", set.Name(int(c)), d, end)
						case no:
							excluded++
						case share > 1:
							kept++
						}
					}
				}
			}
		}
	}
	t.Logf("%d deviations beyond the range excluded, %d not", excluded, kept)
	if excluded < kept {
		t.Error("too few are excluded")
	}
}
