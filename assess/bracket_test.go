package assess

import (
	"math"
	"slices"
	"testing"
)

// A bracket of a target contains exactly its number of originals, and the target is the one with
// its rank. If the sample has all records, or they are not counted, there is no bracket. Within
// gives the same count.
func TestBracketsHoldTheirTargets(t *testing.T) {
	const n = 4000
	table := makePairs(31, n, true)
	a := newAccumulator(t, testOptions(t))
	for from := 0; from < n; from += 333 {
		a.Add(table.block(from, min(from+333, n)))
	}
	found := 0
	for c, column := range []string{"income", "time", "class", "constant", "gone"} {
		list := a.Brackets(column)
		if c > 2 {
			if list != nil || a.Within(Bracket{Column: column}) != 0 {
				t.Errorf("%s: %v", column, list)
			}
			continue
		}
		var sorted []float64
		for i, x := range table.x[c] {
			if x == x && !table.rejected[i] {
				sorted = append(sorted, x)
			}
		}
		slices.Sort(sorted)
		if len(list) != 3 {
			t.Fatalf("%s: %v", column, list)
		}
		for k, b := range list {
			want := []float64{sorted[0], sorted[int(math.Ceil(float64(len(sorted))/2))-1], sorted[len(sorted)-1]}[k]
			var within []float64
			for _, x := range sorted {
				if b.Holds(x) {
					within = append(within, x)
				}
			}
			if b.Column != column || b.Target != []string{"min", "p50", "max"}[k] || int64(len(within)) != b.Count ||
				a.Within(b) != b.Count {
				t.Errorf("%+v: %d values lie within, counted are %d", b, len(within), a.Within(b))
			}
			if b.Rank < 1 || b.Rank > b.Count || within[b.Rank-1] != want {
				t.Errorf("%+v: the value of that rank is %v, want %v", b, within, want)
			}
			found++
		}
		other := list[0]
		other.Code = ^other.Code
		if got := a.Within(other); got != 0 {
			t.Errorf("%s: %d values where there are none", column, got)
		}
	}
	if found != 9 {
		t.Errorf("%d brackets", found)
	}
	whole := newAccumulator(t, testOptions(t))
	whole.Add(table.block(0, 300)) // as many as the sample holds
	if list := whole.Brackets("income"); list != nil {
		t.Errorf("of a sample of all: %v", list)
	}
}

// A locator has the brackets of an accumulator of the same records, some of which are rejected,
// and with some values missing or not finite.
func TestLocatorHasTheBracketsOfAnAccumulator(t *testing.T) {
	const n = 4000
	o := testOptions(t)
	o.Targets = []string{"min", "p25", "p50", "max"}
	for _, nulls := range []bool{false, true} {
		for _, odd := range []bool{false, true} {
			table := makePairs(33, n, nulls)
			a := newAccumulator(t, o)
			l, err := NewLocator(o.Columns, o.Targets)
			must(t, err)
			for from := 0; from < n; from += 333 {
				b := table.block(from, min(from+333, n))
				if odd && b.N > 100 {
					x := b.Columns[0].Original.Values
					x[5], x[70], x[71] = math.NaN(), math.Inf(1), math.Inf(-1)
				}
				l.Add(b)
				a.Add(b)
			}
			for i, c := range o.Columns[:3] {
				got, want := l.Brackets(c.Name), a.Brackets(c.Name)
				if len(want) != 4 || !slices.Equal(got, want) {
					t.Errorf("nulls %v, values that are not finite %v: %s: %v, want %v", nulls, odd, c.Name, got, want)
				}
				if got, want := l.Values(c.Name), int64(a.original.At(i, i).N); got != want {
					t.Errorf("nulls %v, values that are not finite %v: %s: %d values, want %d", nulls, odd, c.Name, got, want)
				}
			}
			if l.Brackets("gone") != nil || l.Values("gone") != 0 {
				t.Error("a column that does not exist has values")
			}
		}
	}
	none, err := NewLocator(o.Columns, o.Targets)
	must(t, err)
	if none.Brackets("income") != nil || none.Values("income") != 0 {
		t.Error("of no records there are values")
	}
	for _, targets := range [][]string{{"p5", "max"}, {"max", "p5"}} {
		if _, err := NewLocator(o.Columns, targets); err == nil {
			t.Errorf("%v: accepted", targets)
		}
	}
	for _, x := range []float64{0, 1, -1, 700.25} {
		if b := (Bracket{Code: BracketCode(x)}); !b.Holds(x) || b.Holds(x+1) {
			t.Errorf("%v is not in its own bracket, or what is far off is", x)
		}
	}
}
