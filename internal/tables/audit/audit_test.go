package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

func dimension(t testing.TB, name string, h ...tables.Hierarchy) *tables.Dimension {
	t.Helper()
	d, problems := tables.NewDimension(name, "", h...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

func flat(t testing.TB, name string, n int) *tables.Dimension {
	var codes []string
	for i := range n {
		codes = append(codes, fmt.Sprint(i+1))
	}
	return dimension(t, name, tables.Flat("", codes))
}

func newSet(t testing.TB, ts ...tables.Table) *tables.Set {
	t.Helper()
	set, problems := tables.NewSet(ts...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// leavesOf lists, for every cell, the inner cells it is the sum of, by codes alone.
func leavesOf(set *tables.Set) (inner []int, of [][]int) {
	of = make([][]int, set.Cells())
	for at := range set.Cells() {
		table, nodes := set.Home(at)
		leaf := table == 0
		for k, n := range nodes {
			leaf = leaf && set.Tables[table].Dimensions[k].IsLeaf(n)
		}
		if leaf {
			inner = append(inner, at)
		}
	}
	for cell := range set.Cells() {
		table, nodes := set.Home(cell)
		for _, leaf := range inner {
			_, at := set.Home(leaf)
			under := true
			for k, n := range nodes {
				d := set.Tables[table].Dimensions[k]
				for m, o := range set.Tables[0].Dimensions {
					if o.Name == d.Name {
						code, _ := d.Node(o.Codes[at[m]])
						under = under && slices.Contains(d.Leaves(n), int32(code))
					}
				}
			}
			if under {
				of[cell] = append(of[cell], leaf)
			}
		}
	}
	return inner, of
}

// enumerated goes through all tables of whole numbers that agree with what is
// published, and returns the least and greatest value of each cell, and every one
// that it takes.
func enumerated(q Question) (low, high []float64, taken []map[float64]bool) {
	inner, of := leavesOf(q.Set)
	low, high = make([]float64, len(q.Value)), make([]float64, len(q.Value))
	for c := range low {
		low[c], high[c] = math.Inf(1), math.Inf(-1)
	}
	taken = make([]map[float64]bool, len(q.Value))
	x := make([]float64, len(q.Value))
	last := make([]int, len(q.Value)) // the last inner cell of a cell
	fixed := make([][]int, len(q.Value))
	for c, leaves := range of {
		last[c], taken[c] = leaves[len(leaves)-1], map[float64]bool{}
		for _, l := range leaves {
			if !q.Hidden[c] {
				fixed[l] = append(fixed[l], c)
			}
		}
	}
	var fill func(i int)
	fill = func(i int) {
		if i == len(inner) {
			for c, leaves := range of {
				sum := 0.0
				for _, l := range leaves {
					sum += x[l]
				}
				low[c], high[c] = min(low[c], sum), max(high[c], sum)
				taken[c][sum] = true
			}
			return
		}
		from, to := 0.0, q.Value[0]
		if !q.Hidden[inner[i]] {
			from, to = q.Value[inner[i]], q.Value[inner[i]]
		}
		if q.Upper != nil {
			to = min(to, q.Upper[inner[i]])
		}
	next:
		for v := from; v <= to; v++ {
			x[inner[i]] = v
			for _, c := range fixed[inner[i]] {
				sum := 0.0
				for _, l := range of[c] {
					if l <= inner[i] {
						sum += x[l]
					}
				}
				if sum > q.Value[c] || last[c] == inner[i] && sum != q.Value[c] {
					continue next
				}
			}
			fill(i + 1)
		}
	}
	fill(0)
	return low, high, taken
}

// random makes a small table of counts and hides cells at random, never the total.
func random(t testing.TB, rng *rand.Rand, set *tables.Set, most int, share float64) Question {
	inner, of := leavesOf(set)
	q := Question{Set: set, Value: make([]float64, set.Cells()), Hidden: make([]bool, set.Cells()), Counts: true}
	x := map[int]float64{}
	for _, l := range inner {
		x[l] = float64(rng.IntN(most) * rng.IntN(2))
	}
	for c, leaves := range of {
		for _, l := range leaves {
			q.Value[c] += x[l]
		}
		q.Hidden[c] = c > 0 && rng.Float64() < share
	}
	if p := set.CheckSums(q.Value, 0); len(p) > 0 {
		t.Fatal(p)
	}
	return q
}

func smallSets(t testing.TB) map[string]*tables.Set {
	a, b, c := flat(t, "a", 3), flat(t, "b", 3), flat(t, "c", 2)
	two := flat(t, "d", 2)
	h := dimension(t, "h", tables.FromLevels("", [][]string{{"X", "x1"}, {"X", "x2"}, {"Y", "y1"}, {"Y", "y2"}}),
		tables.FromLevels("other", [][]string{{"u", "x1"}, {"u", "y1"}, {"v", "x2"}, {"v", "y2"}}))
	return map[string]*tables.Set{
		"line":   newSet(t, tables.Table{Name: "a", Dimensions: []*tables.Dimension{flat(t, "a", 4)}}),
		"3x3":    newSet(t, tables.Table{Name: "ab", Dimensions: []*tables.Dimension{a, b}}),
		"2x2x2":  newSet(t, tables.Table{Name: "cde", Dimensions: []*tables.Dimension{c, two, flat(t, "e", 2)}}),
		"4x2":    newSet(t, tables.Table{Name: "hc", Dimensions: []*tables.Dimension{h, c}}),
		"linked": newSet(t, tables.Table{Name: "hc", Dimensions: []*tables.Dimension{dimension(t, "h", tables.Flat("", []string{"x1", "x2", "y1", "y2"})), c}}, tables.Table{Name: "h", Dimensions: []*tables.Dimension{h}}),
	}
}

// Bounds against every table there is: outside Low and High is none; both ends of
// what was shown are in one; along lines and in two flat dimensions, where vertices
// are whole, all four coincide.
func TestRangesAgainstEveryTable(t *testing.T) {
	for name, set := range smallSets(t) {
		rng := rand.New(rand.NewPCG(7, uint64(len(name))))
		wide, gaps := 0, 0
		for trial := range 30 {
			q := random(t, rng, set, 4, []float64{0.3, 0.6, 1}[trial%3])
			low, high, taken := enumerated(q)
			r, err := Audit(q)
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
					t.Fatalf("%s, %s: bounds %v to %v, of all tables %v to %v", name, set.Name(c), r.Low[c], r.High[c], low[c], high[c])
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

// searched holds the search for one whole table against what every table says.
func searched(t *testing.T, q Question, taken []map[float64]bool) {
	t.Helper()
	parts, known, err := Components(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range known {
		if len(taken[c]) != 1 {
			t.Fatalf("%s is said to be known, and takes %d values", q.Set.Name(int(c)), len(taken[c]))
		}
	}
	for i := range parts {
		for j, c := range parts[i].Cells {
			for d := -3.0; d <= 3; d++ {
				if found := parts[i].WholeTable(j, d); found != taken[c][q.Value[c]+d] {
					t.Fatalf("%s: a table with %v more was found: %v", q.Set.Name(int(c)), d, found)
				}
			}
		}
	}
}

// Judge against every table there is: a primary cell is called safe if and only if
// tables at both ends of its protection exist.
func TestVerdictAgainstEveryTable(t *testing.T) {
	for name, set := range smallSets(t) {
		rng := rand.New(rand.NewPCG(8, uint64(len(name))))
		seen := map[string]int{}
		for range 25 {
			q := random(t, rng, set, 4, 0.8)
			low, high, _ := enumerated(q)
			p := &primary.Result{Status: make([]tables.Status, len(low)), Up: make([]float64, len(low)), Down: make([]float64, len(low))}
			for c := range low {
				if q.Hidden[c] {
					p.Status[c] = tables.Primary
					p.Up[c] = float64(1 + rng.IntN(2))
					p.Down[c] = min(p.Up[c], q.Value[c])
				}
			}
			r, err := Audit(q)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Judge(q, r, p)
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
					t.Fatalf("%s, %s: %s, want %s: of all tables %v to %v, asked for %v -%v +%v", name, set.Name(c), got, want, low[c], high[c], q.Value[c], p.Down[c], p.Up[c])
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
	set := newSet(t, tables.Table{Name: "ab", Dimensions: []*tables.Dimension{flat(t, "a", 2), flat(t, "b", 2)}})
	q := Question{Set: set, Value: []float64{100, 40, 60, 30, 10, 20, 70, 30, 40}, Hidden: make([]bool, 9)}
	for _, c := range []int{4, 5, 7, 8} {
		q.Hidden[c] = true
	}
	check := func(what string, want ...float64) {
		t.Helper()
		r, err := Audit(q)
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
	q.Hidden[0], q.Hidden[2], q.Hidden[6] = true, true, true // nothing above the second row and column
	check("no total", 0, 30, 0, inf)
	q.Counts = true
	check("no total of counts", 0, 30, 0, inf)
}

// sdcTable issue 136: each of two linked tables is safe, together they are not.
func TestLinkedTablesTogether(t *testing.T) {
	region := dimension(t, "region", tables.FromLevels("county", [][]string{{"c1", "A"}, {"c1", "B"}, {"c1", "I"}, {"c1", "J"}, {"c2", "K"}, {"c2", "L"}, {"c2", "M"}, {"c2", "N"}}),
		tables.FromLevels("size", [][]string{{"small", "A"}, {"small", "B"}, {"small", "I"}, {"small", "J"}, {"BIG", "L"}, {"BIG", "M"}, {"small", "K"}, {"small", "N"}}))
	county := dimension(t, "region", tables.FromLevels("county", [][]string{{"c1", "A"}, {"c1", "B"}, {"c1", "I"}, {"c1", "J"}, {"c2", "K"}, {"c2", "L"}, {"c2", "M"}, {"c2", "N"}}))
	n := map[string]float64{"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7, "c1": 20, "c2": 16, "small": 30, "BIG": 6, "total": 36}
	ask := func(d *tables.Dimension, hidden ...string) *Ranges {
		set := newSet(t, tables.Table{Name: "r", Dimensions: []*tables.Dimension{d}})
		q := Question{Set: set, Value: make([]float64, set.Cells()), Hidden: make([]bool, set.Cells()), Counts: true}
		for c, code := range d.Codes {
			q.Value[c], q.Hidden[c] = n[code], slices.Contains(hidden, code)
		}
		r, err := Audit(q)
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
	set := newSet(t, tables.Table{Name: "ab", Dimensions: []*tables.Dimension{flat(t, "a", 2), flat(t, "b", 2)}})
	q := Question{Set: set, Value: []float64{4242, 4242, 0, 4242, 4242, 0, 0, 0, 0}, Hidden: []bool{false, false, false, false, true, true, true, true, true},
		Lower: slices.Repeat([]float64{math.NaN()}, 9), Upper: slices.Repeat([]float64{math.NaN()}, 9)}
	if _, err := Audit(q); err == nil || strings.Contains(err.Error(), "4242") {
		t.Errorf("bounds that are no numbers: %v", err)
	}
}
