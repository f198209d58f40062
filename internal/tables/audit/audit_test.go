package audit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Bounds against all possible tables: no table has values outside Low and High; tables
// attain both ends of the shown interval; along lines and in two flat dimensions, where
// vertices are whole, all four bounds coincide.
func TestRangesAgainstEveryTable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(7, uint64(len(name))))
		wide, gaps := 0, 0
		for trial := range 30 {
			q := tabletest.Random(t, rng, set, 4, []float64{0.3, 0.6, 1}[trial%3])
			low, high, taken := tabletest.Enumerated(q)
			r, err := audit.Audit(q)
			if err != nil {
				t.Fatal(err)
			}
			for c := range low {
				if high[c] > low[c] {
					wide++
				}
				if r.Low[c] > low[c] || r.High[c] < high[c] || r.ShownLow[c] < low[c] || r.ShownHigh[c] > high[c] {
					t.Fatalf("%s, %s: bounds %v to %v, shown %v to %v; of all tables %v to %v",
						name, set.Name(c), r.Low[c], r.High[c], r.ShownLow[c], r.ShownHigh[c], low[c], high[c])
				}
				exact := r.Low[c] == low[c] && r.High[c] == high[c]
				if !exact && (name == "line" || name == "3x3") {
					t.Fatalf("%s, %s: bounds %v to %v, of all tables %v to %v", name, set.Name(c), r.Low[c], r.High[c], low[c],
						high[c])
				}
				if !exact || r.ShownLow[c] != low[c] || r.ShownHigh[c] != high[c] {
					gaps++
				}
			}
			searched(t, q, taken)
		}
		if wide < 40 {
			t.Errorf("%s: only %d cells had a range", name, wide)
		}
		t.Logf("%s: %d cells with a range, %d not sharp", name, wide, gaps)
	}
}

// searched compares the search for a table of whole numbers with the enumeration of all
// tables.
func searched(t *testing.T, q audit.Question, taken []map[float64]bool) {
	t.Helper()
	parts, known, err := audit.Components(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range known {
		if len(taken[c]) != 1 {
			t.Fatalf("%s is reported as known, but has %d possible values", q.Set.Name(int(c)), len(taken[c]))
		}
	}
	for i := range parts {
		for j, c := range parts[i].Cells {
			for d := -3.0; d <= 3; d++ {
				if found := parts[i].WholeTable(j, d, 1e6) != nil; found != taken[c][q.Value[c]+d] {
					t.Fatalf("%s: a table with %v more was found: %v", q.Set.Name(int(c)), d, found)
				}
			}
		}
	}
}

// audit.Judge against all possible tables: a primary cell is reported as safe if and
// only if tables at both ends of its protection exist.
func TestVerdictAgainstEveryTable(t *testing.T) {
	for name, set := range tabletest.Small(t) {
		rng := rand.New(rand.NewPCG(8, uint64(len(name))))
		seen := map[string]int{}
		for range 25 {
			q := tabletest.Random(t, rng, set, 4, 0.8)
			low, high, _ := tabletest.Enumerated(q)
			p := &primary.Result{Status: make([]tables.Status, len(low)), Up: make([]float64, len(low)),
				Down: make([]float64, len(low))}
			for c := range low {
				if q.Hidden[c] {
					p.Status[c] = tables.Primary
					p.Up[c] = float64(1 + rng.IntN(2))
					p.Down[c] = min(p.Up[c], q.Value[c])
				}
			}
			r, err := audit.Audit(q)
			if err != nil {
				t.Fatal(err)
			}
			v, err := audit.Judge(q, r, p)
			if err != nil {
				t.Fatal(err)
			}
			for c := range low {
				if !q.Hidden[c] {
					continue
				}
				want := "safe"
				switch {
				case low[c] == high[c]:
					want = "disclosed"
				case low[c] > q.Value[c]-p.Down[c] || high[c] < q.Value[c]+p.Up[c]:
					want = "narrow"
				}
				got := "safe"
				switch {
				case slices.Contains(v.Disclosed, int32(c)):
					got = "disclosed"
				case slices.Contains(v.Narrow, int32(c)):
					got = "narrow"
				}
				seen[want]++
				if got != want {
					t.Fatalf("%s, %s: %s, want %s: of all tables %v to %v, asked for %v -%v +%v", name, set.Name(c), got, want, low[c],
						high[c], q.Value[c], p.Down[c], p.Up[c])
				}
			}
			if v.Safe() != (len(v.Disclosed)+len(v.Narrow) == 0) {
				t.Fatal("Safe contradicts the lists")
			}
		}
		for _, kind := range []string{"safe", "disclosed", "narrow"} {
			if seen[kind] < 10 {
				t.Errorf("%s: %d cells were %s", name, seen[kind], kind)
			}
		}
	}
}

func TestWhatIsKnownBeforehandNarrows(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2)}})
	q := audit.Question{Set: set, Value: []float64{100, 40, 60, 30, 10, 20, 70, 30, 40}, Hidden: make([]bool, 9)}
	for _, c := range []int{4, 5, 7, 8} {
		q.Hidden[c] = true
	}
	check := func(what string, want ...float64) {
		t.Helper()
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := []float64{r.Low[4], r.High[4], r.Low[8], r.High[8]}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("nothing known", 0, 30, 30, 60)
	q.Lower, q.Upper = make([]float64, 9), make([]float64, 9)
	for c, v := range q.Value { // within 20 percent
		q.Lower[c], q.Upper[c] = 0.8*v, 1.2*v
	}
	check("20 percent known", 8, 12, 38, 42)
	for c := range q.Value {
		q.Lower[c], q.Upper[c] = math.Inf(-1), math.Inf(1)
	}
	inf := math.Inf(1)
	check("values may be negative", -inf, inf, -inf, inf)
	q.Lower, q.Upper = nil, nil
	// the totals of the second row and column and the grand total are not published
	q.Hidden[0], q.Hidden[2], q.Hidden[6] = true, true, true
	check("no total", 0, 30, 0, inf)
	q.Counts = true
	check("no total of counts", 0, 30, 0, inf)
}

// sdcTable issue 136: each of two linked tables is safe, together they are not.
func TestLinkedTablesTogether(t *testing.T) {
	region := tabletest.Dimension(t, "region",
		tables.FromLevels("county",
			[][]string{{"c1", "A"}, {"c1", "B"}, {"c1", "I"}, {"c1", "J"}, {"c2", "K"}, {"c2", "L"}, {"c2", "M"}, {"c2", "N"}}),
		tables.FromLevels("size",
			[][]string{{"small", "A"}, {"small", "B"}, {"small", "I"}, {"small", "J"}, {"BIG", "L"}, {"BIG", "M"},
				{"small", "K"}, {"small", "N"}}))
	county := tabletest.Dimension(t, "region",
		tables.FromLevels("county",
			[][]string{{"c1", "A"}, {"c1", "B"}, {"c1", "I"}, {"c1", "J"}, {"c2", "K"}, {"c2", "L"}, {"c2", "M"}, {"c2", "N"}}))
	n := map[string]float64{"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7, "c1": 20, "c2": 16,
		"small": 30, "BIG": 6, "total": 36}
	ask := func(d *tables.Dimension, hidden ...string) *audit.Ranges {
		set := tabletest.Set(t, tables.Table{Name: "r", Dimensions: []*tables.Dimension{d}})
		q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Hidden: make([]bool, set.Cells()), Counts: true}
		for c, code := range d.Codes {
			q.Value[c], q.Hidden[c] = n[code], slices.Contains(hidden, code)
		}
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	hidden := []string{"A", "B", "K", "L", "M"}
	alone := ask(county, hidden...)
	together := ask(region, hidden...)
	for _, code := range hidden {
		c, _ := county.Node(code)
		if alone.High[c] <= alone.Low[c] {
			t.Errorf("%s is known from the counties alone", code)
		}
	}
	// BIG = L + M = 6 and K + L + M = 9 are published, so K = 3 is known.
	k, _ := region.Node("K")
	if together.Low[k] != 3 || together.High[k] != 3 {
		t.Errorf("K is between %v and %v of both tables, want 3", together.Low[k], together.High[k])
	}
}

func TestAuditNeverNamesValues(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2)}})
	q := audit.Question{Set: set, Value: []float64{4242, 4242, 0, 4242, 4242, 0, 0, 0, 0},
		Hidden: []bool{false, false, false, false, true, true, true, true, true},
		Lower:  slices.Repeat([]float64{math.NaN()}, 9), Upper: slices.Repeat([]float64{math.NaN()}, 9)}
	if _, err := audit.Audit(q); err == nil || strings.Contains(err.Error(), "4242") {
		t.Errorf("bounds that are no numbers: %v", err)
	}
}

// Show accepts valid tables only: a table that changes published cells, does not add
// up, exceeds a bound or is not whole is rejected and has no effect.
func TestOnlyTablesThatCanBeAreShown(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2)}})
	q := audit.Question{Set: set, Value: []float64{10, 4, 6, 3, 1, 2, 7, 3, 4}, Hidden: make([]bool, 9), Counts: true}
	for _, c := range []int{4, 5, 7, 8} {
		q.Hidden[c] = true
	}
	r, err := audit.Audit(q)
	if err != nil {
		t.Fatal(err)
	}
	for c := range q.Value {
		r.ShownLow[c], r.ShownHigh[c] = q.Value[c], q.Value[c]
	}
	square := []int32{4, 5, 7, 8}
	for name, by := range map[string][]float64{
		"does not add up": {1, -1, -1, 0}, "below 0": {3, -3, -3, 3}, "not whole": {0.5, -0.5, -0.5, 0.5},
		"no number": {math.NaN(), -1, -1, 1},
	} {
		if err := r.Show(q, square, by); err == nil || r.ShownHigh[4] != 1 {
			t.Errorf("%s: %v, shown %v", name, err, r.ShownHigh[4])
		}
	}
	if err := r.Show(q, []int32{4, 1, 7}, []float64{1, 1, 0}); err == nil {
		t.Error("a published cell was changed")
	}
	if err := r.Show(q, square, []float64{2, -2, -2, 2}); err != nil || r.ShownHigh[4] != 3 || r.ShownLow[7] != 1 {
		t.Errorf("a good table: %v, shown up to %v and down to %v", err, r.ShownHigh[4], r.ShownLow[7])
	}
}

// The table has cells of 10^12 and cells of a few units. In two dimensions all vertices have whole
// coordinates, so every deviation from a whole number, in a cell or in a sum, is a rounding error. It
// must be far below one unit, the least protection of a small cell.
func TestSmallCellsBesideVeryLargeOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 9), tabletest.Flat(t, "b", 9)}})
	for range 30 {
		q := tabletest.Random(t, rng, set, 3, 0)
		for cell := range q.Value { // first the inner cells, then their sums
			if cell/10 > 0 && cell%10 > 0 {
				q.Value[cell] = math.Floor(math.Pow(10, 12*rng.Float64()*rng.Float64()))
			} else {
				q.Value[cell] = 0
			}
			q.Hidden[cell] = cell/10 > 0 && cell%10 > 0 && rng.IntN(3) > 0
		}
		for cell := 99; cell > 10; cell-- {
			if a, b := cell/10, cell%10; a > 0 && b > 0 {
				q.Value[a*10] += q.Value[cell]
				q.Value[b] += q.Value[cell]
				q.Value[0] += q.Value[cell]
			}
		}
		if p := set.CheckSums(q.Value, 0); len(p) > 0 {
			t.Fatal(p)
		}
		q.Counts = false
		r, err := audit.Audit(q)
		if err != nil || r.Unsolved > 0 {
			t.Fatal(err, r.Unsolved)
		}
		for cell := range q.Value {
			for _, v := range []float64{r.Low[cell], r.High[cell], r.ShownLow[cell], r.ShownHigh[cell]} {
				if !(math.Abs(v-math.Round(v)) <= 0.01) {
					t.Fatalf("%s: an end of %v", set.Name(cell), v)
				}
			}
			if !(math.Abs(r.Low[cell]-r.ShownLow[cell]) <= 0.01) || math.Abs(r.High[cell]-r.ShownHigh[cell]) > 0.01 {
				t.Fatalf("%s: %v to %v, shown %v to %v", set.Name(cell), r.Low[cell], r.High[cell], r.ShownLow[cell],
					r.ShownHigh[cell])
			}
		}
	}
}

// A large cell whose interval is too narrow by a few units is reported as narrow, not
// as protected.
func TestALargeCellIsNotProtectedByItsSize(t *testing.T) {
	set := tabletest.Set(t, tables.Table{Name: "a", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2)}})
	q := audit.Question{Set: set, Value: []float64{1e12 + 600, 1e12, 600}, Hidden: []bool{false, true, true}}
	for up, narrow := range map[float64]int{600: 0, 601: 1} {
		p := &primary.Result{Status: []tables.Status{tables.Free, tables.Primary, tables.Secondary}, Up: []float64{0, up, 0},
			Down: make([]float64, 3)}
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := audit.Judge(q, r, p); err != nil || len(v.Narrow) != narrow || len(v.Disclosed) != 0 {
			t.Errorf("600 above is possible, %v asked for: %+v (%v)", up, v, err)
		}
	}
}
