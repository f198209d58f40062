package rounding

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Table 1, IJ+, and table 2 of Duncan et al. 2001, which is its controlled rounding to base 3: the
// changes of all cells, margins included, add up to 20.
func TestPaperTable2(t *testing.T) {
	inner := [][]float64{{3, 87, 68, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	set := tabletest.Set(t,
		tables.Table{Name: "IJ", Dimensions: []*tables.Dimension{tabletest.Flat(t, "I", 4), tabletest.Flat(t, "J", 4)}})
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Counts: true}
	for i, row := range inner {
		for j, v := range row {
			for _, cell := range []int{0, 5 * (i + 1), j + 1, 5*(i+1) + j + 1} {
				q.Value[cell] += v
			}
		}
	}
	rounded, err := Controlled(q, 3, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := rounded.Value
	all := 0.0
	for c := range got {
		all += math.Abs(got[c] - q.Value[c])
	}
	if problems := set.CheckSums(got, 0); len(problems) > 0 || all != 20 {
		t.Errorf("changes %v, %v", all, problems)
	}
}

// Controlled rounding is compared with all possible roundings: it is additive, rounds to an adjacent
// multiple, and has the least sum of changes; and if none is found, there is none. So in three dimensions, with several
// hierarchies, and in linked tables.
func TestControlledAgainstEveryRounding(t *testing.T) {
	sets := tabletest.Small(t)
	c, d, e := tabletest.Flat(t, "c", 2), tabletest.Flat(t, "d", 2), tabletest.Flat(t, "e", 3)
	sets["2x2x3"] = tabletest.Set(t, tables.Table{Name: "cde", Dimensions: []*tables.Dimension{c, d, e}})
	sets["cde and its sides"] = tabletest.Set(t, tables.Table{Name: "cde", Dimensions: []*tables.Dimension{c, d, e}},
		tables.Table{Name: "de", Dimensions: []*tables.Dimension{d, e}},
		tables.Table{Name: "c", Dimensions: []*tables.Dimension{c}})
	f, g := tabletest.Flat(t, "f", 3), tabletest.Flat(t, "g", 3)
	sets["3x3x3"] = tabletest.Set(t, tables.Table{Name: "efg", Dimensions: []*tables.Dimension{e, f, g}})
	sets["2x2x2x2"] = tabletest.Set(t,
		tables.Table{
			Name: "abcd", Dimensions: []*tables.Dimension{c, d, tabletest.Flat(t, "x", 2), tabletest.Flat(t, "y", 2)}})
	sets["3x3x4"] = tabletest.Set(t,
		tables.Table{Name: "fgh", Dimensions: []*tables.Dimension{f, g, tabletest.Flat(t, "h", 4)}})
	sets["4x4x3"] = tabletest.Set(t,
		tables.Table{Name: "hif", Dimensions: []*tables.Dimension{tabletest.Flat(t, "h", 4), tabletest.Flat(t, "i", 4), f}})
	trials := 200
	if testing.Short() {
		trials = 40
	}
	searched := 0
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked", "2x2x3", "cde and its sides", "3x3x3",
		"2x2x2x2", "3x3x4", "4x4x3"} {
		rng := rand.New(rand.NewPCG(3, uint64(len(name))))
		found, none := 0, 0
		for trial := range trials {
			base := int64(2 + trial%4)
			q := tabletest.Random(t, rng, sets[name], 12, 0)
			least := everyRounding(q, float64(base))
			rounded, err := Controlled(q, base, Limits{})
			if errors.Is(err, ErrNone) && !errors.Is(err, ErrEnded) {
				if none++; !math.IsInf(least, 1) {
					t.Fatalf("%s, base %d: no rounding of %v found, and there is one with changes of %v", name, base, q.Value, least)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got := rounded.Value
			found++
			sum := 0.0
			for c, v := range got {
				d := math.Abs(v - q.Value[c])
				if sum += d; math.Mod(v, float64(base)) != 0 || d >= float64(base) || v < 0 {
					t.Fatalf("%v becomes %v", q.Value[c], v)
				}
			}
			if problems := q.Set.CheckSums(got, 0); len(problems) > 0 {
				t.Fatal(problems)
			}
			if !(math.Abs(sum-least) <= 1e-9) || rounded.Changes != sum || rounded.AtLeast != sum || rounded.Short {
				t.Errorf("%s, base %d: changes of %v (%v, at least %v), %v would do: %v", name, base, sum, rounded.Changes,
					rounded.AtLeast, least, q.Value)
			}
			if _, err := Controlled(q, base, Limits{Work: 1}); err != nil { // the linear program alone gives none
				searched++
			}
		}
		t.Logf("%s: %d found, %d not", name, found, none)
		if found < trials/4 {
			t.Errorf("%s: only %d found", name, found)
		}
	}
	t.Logf("%d needed the search", searched)
	if searched < 3 {
		t.Error("too few of the tables need the integer program")
	}
}

// everyRounding enumerates all roundings of the inner cells whose sums are multiples adjacent to the totals, and
// returns the least sum of changes; +Inf if there are none. It knows of the sums only which inner cells are in which
// cell.
func everyRounding(q audit.Question, base float64) float64 {
	inner, of := tabletest.Leaves(q.Set)
	complete := map[int][]int{} // cells by the last of their inner cells
	for c, leaves := range of {
		last := slices.Max(leaves)
		complete[last] = append(complete[last], c)
	}
	slices.Sort(inner)
	x := make([]float64, len(q.Value))
	least := math.Inf(1)
	var fill func(i int, changes float64)
	fill = func(i int, changes float64) {
		if changes >= least {
			return
		}
		if i == len(inner) {
			least = changes
			return
		}
		leaf := inner[i]
		down := q.Value[leaf] - math.Mod(q.Value[leaf], base)
		for _, v := range []float64{down, down + base} {
			if v > down && down == q.Value[leaf] {
				continue
			}
			x[leaf] = v
			sum, ok := changes, true
			for _, c := range complete[leaf] {
				total := 0.0
				for _, l := range of[c] {
					total += x[l]
				}
				d := math.Abs(total - q.Value[c])
				ok = ok && d < base
				sum += d
			}
			if ok {
				fill(i+1, sum)
			}
		}
	}
	fill(0, 0)
	return least
}

// The expectation of random rounding, over all draws, is the count itself.
func TestRandomHasNoBias(t *testing.T) {
	const n = 1 << 12
	for _, base := range []int64{2, 3, 5, 10} {
		for count := range int64(25) {
			ups := 0.0
			for i := range uint64(n) {
				v := Random(count, base, bits.Reverse64(i)) // evenly over all draws
				if v%base != 0 || v <= count-base || v >= count+base {
					t.Fatalf("%d to base %d is %d", count, base, v)
				}
				ups += float64(v - count)
			}
			// on an even grid the number of draws that round up differs from its share by less than one
			if math.Abs(ups/n) > float64(base)/n {
				t.Errorf("%d to base %d: bias %v", count, base, ups/n)
			}
		}
	}
	if Random(6, 3, 0) != 6 || Random(6, 3, math.MaxUint64) != 6 || Random(1, 3, math.MaxUint64) != 0 ||
		Random(1, 3, 0) != 3 {
		t.Error("ends of the draws")
	}
}

// Each likelihood contains exactly the counts that can be published as this value; for random
// rounding, with their probabilities.
func TestLikelihoods(t *testing.T) {
	for _, base := range []int64{2, 3, 4, 5, 8} {
		for published := int64(0); published < 5*base; published++ {
			for name, l := range map[string]Likelihood{"nearest": OfNearest(base), "random": OfRandom(base),
				"controlled": OfControlled(base), "small": OfSmall(base)} {
				if name != "small" && published%base != 0 {
					continue
				}
				first, p := l(published)
				for count := range int64(8 * base) {
					want := 0.0
					switch down, rest := count-count%base, count%base; {
					case name == "nearest" && Nearest(count, base) == published,
						name == "small" &&
							(count >= base && count == published || count < base && (published == 0 || published == base && count > 0)),
						name == "controlled" && (published == down || rest > 0 && published == down+base):
						want = 1
					case name == "random" && published == down:
						want = 1 - float64(rest)/float64(base)
					case name == "random" && published == down+base:
						want = float64(rest) / float64(base)
					}
					if name == "small" && published > 0 && published < base {
						want = 0 // is never published; its likelihood contains only the value itself
						continue
					}
					got := 0.0
					if i := count - first; i >= 0 && i < int64(len(p)) {
						got = p[i]
					}
					if !(math.Abs(got-want) <= 1e-12) {
						t.Errorf("%s, base %d: %d published as %d has %v, want %v", name, base, count, published, got, want)
					}
				}
			}
		}
	}
}

// Small counts become 0 or the base, other counts do not change, all sums hold, and totals change by
// less than if each small count were rounded to the nearer of the two.
func TestSmallCounts(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "abc",
			Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 6), tabletest.Flat(t, "b", 7), tabletest.Flat(t, "c", 4)}})
	rng := rand.New(rand.NewPCG(16, 11))
	for _, base := range []int64{3, 5} {
		value, nearest := make([]float64, set.Cells()), make([]float64, set.Cells())
		inner := make([]bool, set.Cells())
		for c := range value {
			_, n := set.Home(c)
			if inner[c] = !slices.Contains(n, 0); !inner[c] {
				continue
			}
			v := math.Floor(rng.ExpFloat64() * 4)
			near := v
			if v < float64(base) {
				near = float64(Nearest(int64(v), base))
			}
			for mask := range 8 {
				at := 0
				for k, d := range set.Tables[0].Dimensions {
					at *= len(d.Codes)
					if mask>>k&1 == 0 {
						at += n[k]
					}
				}
				value[at] += v
				nearest[at] += near
			}
		}
		got := Small(set, value, inner, base)
		if problems := set.CheckSums(got, 0); len(problems) > 0 {
			t.Fatal(problems)
		}
		ours, theirs, worst := 0.0, 0.0, 0.0
		for c, v := range got {
			d := v - value[c]
			switch {
			case !inner[c]:
				ours, theirs, worst = ours+d*d, theirs+(nearest[c]-value[c])*(nearest[c]-value[c]), max(worst, math.Abs(d))
			case value[c] >= float64(base) || value[c] == 0:
				if d != 0 {
					t.Errorf("%v becomes %v", value[c], v)
				}
			case v != 0 && v != float64(base):
				t.Errorf("%v becomes %v", value[c], v)
			}
		}
		t.Logf("base %d: squares of totals %v, of the nearest %v; worst %v", base, ours, theirs, worst)
		if ours > theirs/2 || worst > 2*float64(base) {
			t.Errorf("base %d: squares of totals %v, of the nearest %v; worst %v", base, ours, theirs, worst)
		}
	}
}

// A controlled rounding of 30 × 30 counts.
func TestControlledOfALargeTable(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 30), tabletest.Flat(t, "b", 30)}})
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Counts: true}
	rng := rand.New(rand.NewPCG(16, 12))
	for i := range 30 {
		for j := range 30 {
			v := math.Floor(rng.ExpFloat64() * 6)
			for _, c := range []int{0, 31 * (i + 1), j + 1, 31*(i+1) + j + 1} {
				q.Value[c] += v
			}
		}
	}
	rounded, err := Controlled(q, 5, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := rounded.Value
	if problems := set.CheckSums(got, 0); len(problems) > 0 {
		t.Fatal(problems)
	}
	for c, v := range got {
		if math.Mod(v, 5) != 0 || math.Abs(v-q.Value[c]) >= 5 {
			t.Fatalf("%v becomes %v", q.Value[c], v)
		}
	}
}

// large returns a table of counts that are mostly small, with all margins.
func large(t testing.TB, seed uint64, sizes ...int) audit.Question {
	table := tables.Table{Name: "t"}
	for k, n := range sizes {
		table.Dimensions = append(table.Dimensions, tabletest.Flat(t, string(rune('a'+k)), n))
	}
	set := tabletest.Set(t, table)
	rng := rand.New(rand.NewPCG(seed, 38))
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Counts: true}
	for c := range q.Value {
		_, n := set.Home(c)
		if slices.Contains(n, 0) {
			continue
		}
		v := math.Floor(math.Exp(rng.NormFloat64()) * 2)
		for mask := range 1 << len(sizes) {
			at := 0
			for k, d := range table.Dimensions {
				at *= len(d.Codes)
				if mask>>k&1 == 0 {
					at += n[k]
				}
			}
			q.Value[at] += v
		}
	}
	return q
}

// Larger tables of three variables have roundings, which the search finds; they are additive and adjacent, and the
// stated sum of changes and the bound of it are right as far as that can be seen.
func TestControlledInThreeDimensions(t *testing.T) {
	for seed := range uint64(3) {
		q := large(t, seed, 6, 5, 4)
		r, err := Controlled(q, 3, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for c, v := range r.Value {
			d := math.Abs(v - q.Value[c])
			if sum += d; math.Mod(v, 3) != 0 || d >= 3 || v < 0 {
				t.Fatalf("%v becomes %v", q.Value[c], v)
			}
		}
		if problems := q.Set.CheckSums(r.Value, 0); len(problems) > 0 || r.Changes != sum || r.AtLeast > sum ||
			r.AtLeast < 0.9*sum {
			t.Errorf("changes %v, said %v, at least %v; %v", sum, r.Changes, r.AtLeast, problems)
		}
	}
}

// The search ends where its limits say, and gives what it has.
func TestControlledEnds(t *testing.T) {
	q := large(t, 1, 10, 10, 10)
	if r, err := Controlled(q, 3, Limits{Work: 1}); !errors.Is(err, ErrEnded) {
		t.Errorf("without work: %v, %v", r, err)
	}
	r, err := Controlled(q, 3, Limits{Until: time.Now()})
	if err == nil && !r.Short || err != nil && !errors.Is(err, ErrNone) {
		t.Errorf("without time: %v, %v", r, err)
	}
	stopped := errors.New("stopped")
	q.Stop = func() error { return stopped }
	if _, err := Controlled(q, 3, Limits{}); !errors.Is(err, stopped) {
		t.Errorf("stopped: %v", err)
	}
}

// BenchmarkControlled is controlled rounding of counts in three and four dimensions.
func BenchmarkControlled(b *testing.B) {
	for _, sizes := range [][]int{{50, 50}, {6, 5, 4}, {10, 10, 10}, {20, 20, 5}, {6, 5, 4, 3}} {
		b.Run(fmt.Sprint(sizes), func(b *testing.B) {
			q := large(b, 1, sizes...)
			for b.Loop() {
				r, err := Controlled(q, 3, Limits{})
				if err != nil {
					b.Log(err)
					continue
				}
				b.ReportMetric(r.Changes, "changes")
				b.ReportMetric(r.AtLeast, "at-least")
			}
		})
	}
}
