package assess

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// grouped returns the reckoning of records with a value and two keys; NaN is missing.
func grouped(t *testing.T, x, one, two []float64, targets ...string) *reckoning {
	t.Helper()
	b := new(microdata.Block)
	b.Reset(0, 0, len(x), 3)
	for c, values := range [][]float64{x, one, two} {
		v := b.Columns[c].Alloc(len(x), true)
		for i, value := range values {
			if v.Values[i] = value; math.IsNaN(value) {
				v.Values[i] = 0
				v.Valid.Clear(i)
			}
		}
	}
	a := newAccumulator(t,
		Options{Columns: []Column{{Name: "x", Masked: true, Index: 0}, {Name: "one", Index: 1}, {Name: "two", Index: 2}},
			Sample: -1, Targets: targets})
	a.Add(b)
	return a.reckon(true)
}

// Groups are the records with equal values in every key, in the order of the keys; records without
// a key are in none. Each group has its own targets, including the last group.
func TestGroups(t *testing.T) {
	nan := math.NaN()
	x := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	one := []float64{2, 1, 2, 1, 1, 3, nan, 2}
	two := []float64{5, 7, 5, 7, 6, 1, 1, nan}
	for _, c := range []struct {
		by   []int
		want string
	}{
		{nil, "[]"},
		{[]int{1}, "[[1]:[20 40 50] [2]:[10 30 80] [3]:[60]]"},
		{[]int{2}, "[[1]:[60 70] [5]:[10 30] [6]:[50] [7]:[20 40]]"},
		{[]int{1, 2}, "[[1 6]:[50] [1 7]:[20 40] [2 5]:[10 30] [3 1]:[60]]"},
		{[]int{2, 1}, "[[1 3]:[60] [5 2]:[10 30] [6 1]:[50] [7 1]:[20 40]]"},
	} {
		r := grouped(t, x, one, two, "min", "p50", "max")
		groups, err := r.formed(c.by)
		if err != nil {
			t.Fatal(err)
		}
		list := []string{}
		for _, g := range groups {
			var values []float64
			for _, row := range g.Rows {
				values = append(values, r.data.Original(0)[row])
			}
			slices.Sort(values)
			list = append(list, fmt.Sprint(g.codes, ":", values))
			f := g.located[0]
			if len(f) != 3 || f[0].tau != values[0] || f[2].tau != values[len(values)-1] || f[1].tau < values[0] ||
				f[1].tau > values[len(values)-1] {
				t.Errorf("by %v, group %v: targets %+v of %v", c.by, g.codes, f, values)
			}
			for k, one := range f {
				if one.target.Name != []string{"min", "p50", "max"}[k] {
					t.Errorf("target %d is %q", k, one.target.Name)
				}
			}
		}
		if got := fmt.Sprint(list); got != c.want {
			t.Errorf("by %v: %s, want %s", c.by, got, c.want)
		}
	}
}

// The maximum number of groups in a report, and one more.
func TestGroupsAreBounded(t *testing.T) {
	for _, n := range []int{MaxGroups - 1, MaxGroups, MaxGroups + 1} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}
		groups, err := grouped(t, x, x, x).formed([]int{1})
		if n <= MaxGroups && (err != nil || len(groups) != n) || n > MaxGroups && !errors.Is(err, ErrGroups) {
			t.Errorf("%d groups: %d, %v", n, len(groups), err)
		}
	}
	if _, err := grouped(t, []float64{1}, []float64{1}, []float64{1}).formed([]int{9}); err == nil {
		t.Error("a column that is neither assessed nor carried forms groups")
	}
}

// Replay returns every record once, in blocks of at most the given size, including the last. If the
// sample does not have all records, it returns none.
func TestReplayShowsEveryRecord(t *testing.T) {
	const n = 23
	key := testKey(t)
	for _, size := range []int{1, 5, 22, 23, 24, 1000} {
		a := newAccumulator(t, Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key})
		b := wages(t, key, 0, n)
		want := slices.Clone(b.Columns[0].Original.Values)
		a.Add(b)
		var got []float64
		next := int64(0)
		all, err := a.Replay(size, func(b *microdata.Block) error {
			if b.N > size || b.N < 1 || b.First != next {
				t.Errorf("size %d: a block of %d from %d, want from %d", size, b.N, b.First, next)
			}
			for i := range b.N {
				if b.Place(i) != next {
					t.Errorf("record %d is at %d", next, b.Place(i))
				}
				next++
			}
			got = append(got, b.Columns[0].Original.Values...)
			return nil
		})
		if err != nil || !all || !slices.Equal(got, want) {
			t.Errorf("size %d: %v, %v, %d records: %v, want %v", size, all, err, len(got), got, want)
		}
	}
	stop := errors.New("enough")
	a := newAccumulator(t, Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key})
	a.Add(wages(t, key, 0, n))
	calls := 0
	if _, err := a.Replay(5, func(*microdata.Block) error { calls++; return stop }); !errors.Is(err, stop) || calls != 1 {
		t.Errorf("after an error: %v, %d calls", err, calls)
	}
	a = newAccumulator(t, Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: 10, Key: key})
	a.Add(wages(t, key, 0, n))
	if all, err := a.Replay(5, func(*microdata.Block) error { t.Error("a block of a sample"); return nil }); all ||
		err != nil {
		t.Errorf("of a sample: %v, %v", all, err)
	}
}
