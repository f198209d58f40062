package rounding

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Table 1, IJ+, and table 2 of Duncan et al. 2001, which is its controlled rounding to base 3: the
// changes of all cells, margins included, add up to 20.
func TestPaperTable2(t *testing.T) {
	inner := [][]float64{{3, 87, 68, 72}, {5, 8, 80, 4}, {3, 4, 7, 107}, {64, 6, 56, 7}}
	set := tabletest.Set(t, tables.Table{Name: "IJ", Dimensions: []*tables.Dimension{tabletest.Flat(t, "I", 4), tabletest.Flat(t, "J", 4)}})
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Counts: true}
	for i, row := range inner {
		for j, v := range row {
			for _, cell := range []int{0, 5 * (i + 1), j + 1, 5*(i+1) + j + 1} {
				q.Value[cell] += v
			}
		}
	}
	got, err := Controlled(q, 3)
	if err != nil {
		t.Fatal(err)
	}
	all := 0.0
	for c := range got {
		all += math.Abs(got[c] - q.Value[c])
	}
	if problems := set.CheckSums(got, 0); len(problems) > 0 || all != 20 {
		t.Errorf("changes %v, %v", all, problems)
	}
}

// Controlled rounding is compared with all possible roundings: it is additive, rounds to an adjacent
// multiple, and has the least sum of changes. In three dimensions the result is such a rounding or
// none.
func TestControlledAgainstEveryRounding(t *testing.T) {
	sets := tabletest.Small(t)
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2"} {
		rng := rand.New(rand.NewPCG(3, uint64(len(name))))
		found, none := 0, 0
		for trial := range 60 {
			base := int64(2 + trial%4)
			q := tabletest.Random(t, rng, sets[name], 12, 0)
			least := everyRounding(q, float64(base))
			got, err := Controlled(q, base)
			if errors.Is(err, ErrNone) {
				none++
				if name == "line" || name == "3x3" {
					t.Fatalf("%s, base %d: no rounding of %v", name, base, q.Value)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
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
			if !(math.Abs(sum-least) <= 1e-9) {
				t.Errorf("%s, base %d: changes of %v, %v would do: %v", name, base, sum, least, q.Value)
			}
		}
		t.Logf("%s: %d found, %d not", name, found, none)
		if found < 30 {
			t.Errorf("%s: only %d found", name, found)
		}
	}
}

// everyRounding enumerates all roundings of the inner cells and returns the least sum of changes among
// those whose sums are multiples adjacent to the totals; +Inf if there are none.
func everyRounding(q audit.Question, base float64) float64 {
	var inner []int
	table := q.Set.Tables[0]
	for c := range q.Value {
		_, nodes := q.Set.Home(c)
		leaf := true
		for k, n := range nodes {
			leaf = leaf && table.Dimensions[k].IsLeaf(n)
		}
		if leaf {
			inner = append(inner, c)
		}
	}
	least := math.Inf(1)
	for mask := range 1 << len(inner) {
		x := make([]float64, len(q.Value))
		for c := range x {
			x[c] = math.NaN()
		}
		for i, c := range inner {
			rest := math.Mod(q.Value[c], base)
			up := mask>>i&1 == 1
			if rest == 0 && up {
				x[c] = math.NaN()
				break
			}
			if x[c] = q.Value[c] - rest; up {
				x[c] += base
			}
		}
		for range 4 { // totals of totals
			for i := range q.Set.Sums() {
				s := q.Set.Sum(i)
				total := 0.0
				for _, p := range s.Parts {
					total += x[p]
				}
				if x[s.Total] != x[s.Total] {
					x[s.Total] = total
				}
			}
		}
		sum := 0.0
		for c, v := range x {
			d := math.Abs(v - q.Value[c])
			if !(d < base) {
				sum = math.Inf(1)
				break
			}
			sum += d
		}
		least = min(least, sum)
	}
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
			if math.Abs(ups/n) > float64(base)/n { // on an even grid the number of draws that round up differs from its share by less than one
				t.Errorf("%d to base %d: bias %v", count, base, ups/n)
			}
		}
	}
	if Random(6, 3, 0) != 6 || Random(6, 3, math.MaxUint64) != 6 || Random(1, 3, math.MaxUint64) != 0 || Random(1, 3, 0) != 3 {
		t.Error("ends of the draws")
	}
}

// Each likelihood contains exactly the counts that can be published as this value; for random
// rounding, with their probabilities.
func TestLikelihoods(t *testing.T) {
	for _, base := range []int64{2, 3, 4, 5, 8} {
		for published := int64(0); published < 5*base; published++ {
			for name, l := range map[string]Likelihood{"nearest": OfNearest(base), "random": OfRandom(base), "controlled": OfControlled(base), "small": OfSmall(base)} {
				if name != "small" && published%base != 0 {
					continue
				}
				first, p := l(published)
				for count := range int64(8 * base) {
					want := 0.0
					switch down, rest := count-count%base, count%base; {
					case name == "nearest" && Nearest(count, base) == published,
						name == "small" && (count >= base && count == published || count < base && (published == 0 || published == base && count > 0)),
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
	set := tabletest.Set(t, tables.Table{Name: "abc", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 6), tabletest.Flat(t, "b", 7), tabletest.Flat(t, "c", 4)}})
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
	set := tabletest.Set(t, tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 30), tabletest.Flat(t, "b", 30)}})
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
	got, err := Controlled(q, 5)
	if err != nil {
		t.Fatal(err)
	}
	if problems := set.CheckSums(got, 0); len(problems) > 0 {
		t.Fatal(problems)
	}
	for c, v := range got {
		if math.Mod(v, 5) != 0 || math.Abs(v-q.Value[c]) >= 5 {
			t.Fatalf("%v becomes %v", q.Value[c], v)
		}
	}
}
