package audit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Duncan, Fienberg, Krishnan, Padman and Roehrig (2001), "Disclosure Limitation
// Methods and Information Loss for Tabular Data", table 1 and §4. The inner cells are
// not legible in the available copy, but the margins are. Bounds follow from the
// margins alone, so any table with these margins can be used.
var (
	marginIJ = [][]float64{{3, 87, 68, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	marginJK = [][]float64{{5, 2, 68}, {10, 10, 85}, {69, 81, 61}, {7, 132, 51}}
	marginIK = [][]float64{{74, 75, 81}, {3, 85, 9}, {8, 61, 52}, {6, 4, 123}}
	inner    = [4][4][3]float64{
		{{1, 2, 0}, {5, 1, 81}, {68, 0, 0}, {0, 72, 0}}, {{1, 0, 4}, {1, 6, 1}, {0, 79, 1}, {1, 0, 3}},
		{{3, 0, 0}, {4, 0, 0}, {1, 1, 5}, {0, 60, 47}}, {{0, 0, 64}, {0, 3, 3}, {0, 1, 55}, {6, 0, 1}}}
)

func paperTable(t *testing.T) audit.Question {
	t.Helper()
	set := tabletest.Set(t,
		tables.Table{Name: "IJK",
			Dimensions: []*tables.Dimension{tabletest.Flat(t, "I", 4), tabletest.Flat(t, "J", 4), tabletest.Flat(t, "K", 3)}})
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Hidden: make([]bool, set.Cells()), Counts: true}
	for cell := range q.Value {
		_, n := set.Home(cell)
		for i := range 4 {
			for j := range 4 {
				for k := range 3 {
					if (n[0] == 0 || n[0] == i+1) && (n[1] == 0 || n[1] == j+1) && (n[2] == 0 || n[2] == k+1) {
						q.Value[cell] += inner[i][j][k]
					}
				}
			}
		}
		switch {
		case n[0] > 0 && n[1] > 0 && n[2] == 0 && q.Value[cell] != marginIJ[n[0]-1][n[1]-1],
			n[0] == 0 && n[1] > 0 && n[2] > 0 && q.Value[cell] != marginJK[n[1]-1][n[2]-1],
			n[0] > 0 && n[1] == 0 && n[2] > 0 && q.Value[cell] != marginIK[n[0]-1][n[2]-1]:
			t.Fatalf("cell %v is %v", n, q.Value[cell])
		}
		q.Hidden[cell] = n[0] > 0 && n[1] > 0 && n[2] > 0
	}
	return q
}

// frechet returns the bounds of the margin I+K that the margins IJ+ and +JK imply: Σ_j max(0, n_ij+ + n_+jk − n_+j+)
// and Σ_j min(n_ij+, n_+jk), which are sharp (Dobra and Fienberg 2000).
func frechet(ij, jk [][]float64) (lower, upper [4][3]float64) {
	for i := range ij {
		for j, a := range ij[i] {
			for k, b := range jk[j] {
				lower[i][k] += max(0, a+b-(jk[j][0]+jk[j][1]+jk[j][2]))
				upper[i][k] += min(a, b)
			}
		}
	}
	return lower, upper
}

// §4: bounds of I+K from IJ+ and +JK, and where they fall short of 20 percent above
// the value. The paper prints (3,3) for (4,3), though its own tables have 65 > 63.
func TestBoundsOfTheThirdMargin(t *testing.T) {
	lower, upper := frechet(marginIJ, marginJK)
	wantUpper := [][]float64{{88, 152, 200}, {86, 94, 78}, {21, 120, 65}, {74, 71, 133}}
	wantLower := [][]float64{{0, 14, 67}, {0, 0, 0}, {0, 49, 0}, {0, 0, 57}}
	q := paperTable(t)
	for cell := range q.Value { // I+K is not published either
		_, n := q.Set.Home(cell)
		q.Hidden[cell] = q.Hidden[cell] || n[0] > 0 && n[1] == 0 && n[2] > 0
	}
	r, err := audit.Audit(q)
	if err != nil {
		t.Fatal(err)
	}
	var short [][2]int
	for i := range 4 {
		for k := range 3 {
			if lower[i][k] != wantLower[i][k] || upper[i][k] != wantUpper[i][k] {
				t.Errorf("I+K (%d,%d): Fréchet %v to %v, want %v to %v", i+1, k+1, lower[i][k], upper[i][k], wantLower[i][k],
					wantUpper[i][k])
			}
			cell := (i+1)*20 + k + 1
			if r.Low[cell] != wantLower[i][k] || r.High[cell] != wantUpper[i][k] || r.ShownLow[cell] != r.Low[cell] ||
				r.ShownHigh[cell] != r.High[cell] {
				t.Errorf("I+K (%d,%d): audit %v to %v (shown %v to %v), want %v to %v", i+1, k+1, r.Low[cell], r.High[cell],
					r.ShownLow[cell], r.ShownHigh[cell], wantLower[i][k], wantUpper[i][k])
			}
			if upper[i][k] < math.Ceil(1.2*marginIK[i][k]-1e-9) {
				short = append(short, [2]int{i + 1, k + 1})
			}
		}
	}
	if len(short) != 3 || short[0] != [2]int{1, 1} || short[1] != [2]int{2, 2} || short[2] != [2]int{4, 3} {
		t.Errorf("the bounds fall short at %v, want (1,1), (2,2), (4,3)", short)
	}
}

// §4: all three two-way margins published. Bounds are from an earlier program and from
// integer programming (HiGHS). (1,3,3) has the linear bound 13.5, which no table of
// counts attains: the greatest value is 13.
func TestBoundsFromAllTwoWayMargins(t *testing.T) {
	q := paperTable(t)
	r, err := audit.Audit(q)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i, j, k int) int { return i*20 + j*4 + k }
	nonzero := map[int][2]float64{
		at(1, 2, 3): {67, 81}, at(1, 3, 1): {54, 68}, at(1, 4, 2): {63, 72}, at(2, 3, 2): {71, 80},
		at(3, 4, 2): {52, 61}, at(3, 4, 3): {39, 51}, at(4, 1, 3): {57, 64}, at(4, 3, 3): {46, 56}}
	for cell, hidden := range q.Hidden {
		if !hidden {
			continue
		}
		want, isNonzero := nonzero[cell]
		if !isNonzero && r.Low[cell] != 0 || isNonzero && (r.Low[cell] != want[0] || r.High[cell] != want[1]) {
			t.Errorf("%s: %v to %v, want %v", q.Set.Name(cell), r.Low[cell], r.High[cell], want)
		}
	}
	if h := r.High[at(1, 3, 3)]; h != 13 {
		t.Errorf("(1,3,3) is at most %v, want 13", h)
	}
	parts, _, err := audit.Components(q)
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	for j, cell := range parts[0].Cells {
		if int(cell) == at(1, 3, 3) && (parts[0].WholeTable(j, 13, 1e5) == nil || parts[0].WholeTable(j, 14, 1e5) != nil) {
			t.Error("(1,3,3): a table with 13 was not found, or one with 14 was")
		}
	}
	q.Counts = false
	if r, err = audit.Audit(q); err != nil {
		t.Fatal(err)
	}
	if h := r.High[at(1, 3, 3)]; !(math.Abs(h-13.5) <= 1e-9) {
		t.Errorf("(1,3,3) as a real number is at most %v, want 13.5", h)
	}
	parts, _, _ = audit.Components(q)
	if h := q.Value[at(1, 3, 3)] + parts[0].High[slices.Index(parts[0].Cells, int32(at(1, 3, 3)))]; h != 14 {
		t.Errorf("the shuttle leaves (1,3,3) at most %v, want 14", h)
	}
}
