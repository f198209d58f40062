package group

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// suppressed releases records masked by m, in blocks of a size.
func suppressed(t *testing.T, r rows, size int, m *Suppress) (rows, *core.Chain) {
	t.Helper()
	columns := r.Columns(arrow.PrimitiveTypes.Int64)
	m.Keys = names(len(columns))
	c := surveyed(t, chain(t, testSetup(t, columns...), mask(m)), size, columns...)
	var out rows
	for from := 0; from < len(r); from += size {
		b := apply(t, c, block(from, min(from+size, len(r)), columns...))
		for i := range b.N {
			var record []int
			for k := range b.Columns {
				v := b.Columns[k].Out()
				x := int(v.Values[i])
				if !v.Valid.Has(i) {
					x = 0
				}
				record = append(record, x)
			}
			out = append(out, record)
		}
	}
	return out, c
}

// Every respondent has k candidates, by counting pairs. The release does not depend on the limits of the
// blocks, and as many cells are missing if the records come in the opposite order.
func TestSuppressReachesK(t *testing.T) {
	trials := 40
	r := rand.New(rand.NewPCG(3, 14))
	of := [][]int{{3, 4, 5}, {2, 2}, {30, 2, 7, 3}, {200, 300}, {2, 3, 2, 2, 4, 3}, {40}, {1, 1}, {90, 12, 2, 4, 3}}
	for trial := range trials {
		cards := of[trial%len(of)]
		n, missing := 1+r.IntN(40), []float64{0, 0.1, 0.5}[trial%3]
		if trial%10 == 0 {
			n = 200 + r.IntN(100)
		}
		importance := map[string]float64{}
		for _, name := range names(len(cards)) {
			if trial%4 == 0 {
				importance[name] = []float64{1, 2.5, 7}[r.IntN(3)]
			}
		}
		in := categoriesAt(r, n, cards, missing)
		if trial%20 == 7 { // all are distinct
			for i := range in {
				in[i][0] = i + 1
			}
		}
		backwards := slices.Clone(in)
		slices.Reverse(backwards)
		for _, word := range []string{"any", "none"} {
			k, strict := min(n, 2+r.IntN(4)), word == "none"
			if k < 2 {
				continue
			}
			known := len(cards)
			if trial%3 == 1 {
				known = 1 + r.IntN(known)
			}
			m := func() *Suppress {
				return &Suppress{K: &k, Missing: word, Importance: importance, Combinations: &known}
			}
			out, c := suppressed(t, in, 17, m())
			again, _ := suppressed(t, in, n, m())
			opposite, _ := suppressed(t, backwards, n, m())
			touched, cells := 0, 0
			for i := range in {
				set := missingCells(t, in[i], out[i])
				if set != 0 {
					touched++
				}
				cells += bits.OnesCount(uint(set)) - bits.OnesCount(uint(missingCells(t, backwards[i], opposite[i])))
				if !slices.Equal(out[i], again[i]) {
					t.Fatalf("trial %d, %s: the release depends on the blocks", trial, word)
				}
			}
			if got := fewest(in, out, known, strict); got < k {
				t.Fatalf("trial %d, %s, k = %d by %d of %d keys: a respondent has %d candidates", trial, word, k, known, len(cards),
					got)
			}
			if got := c.Touched()[0].Records; got != int64(touched) {
				t.Fatalf("trial %d: %d records changed, and %d counted", trial, touched, got)
			}
			if cells != 0 {
				t.Errorf("trial %d, %s: in the opposite order %d cells fewer are missing", trial, word, cells)
			}
		}
	}
}

// Cells of important keys stay if others can be set missing: the cost is the least of all ways.
func TestSuppressByImportance(t *testing.T) {
	k := 2
	in := rows{{1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 2}, {3, 1}, {4, 1}}
	for _, word := range []string{"any", "none"} {
		lost := map[string]int{}
		for _, importance := range []map[string]float64{nil, {"a": 1.5}, {"a": 3, "b": 1.5}, {"b": 9}, {"a": 9}} {
			cost := func(set int) (cost float64) {
				for c, name := range names(2) {
					if set>>c&1 == 1 {
						w, ok := importance[name]
						if !ok {
							w = 1
						}
						cost += w
					}
				}
				return cost
			}
			out, _ := suppressed(t, in, 3, &Suppress{K: &k, Importance: importance, Missing: word})
			got, least := 0.0, math.Inf(1)
			for i := range in {
				set := missingCells(t, in[i], out[i])
				got += cost(set)
				lost[fmt.Sprint(importance)] += set & 1
			}
			for way := range 1 << 14 {
				try, c := make(rows, 7), 0.0
				for i := range try {
					try[i] = without(in[i], way>>(2*i)&3)
					c += cost(way >> (2 * i) & 3)
				}
				if c < least && fewest(in, try, 2, word == "none") >= k {
					least = c
				}
			}
			if math.Abs(got-least) > 1e-9 {
				t.Errorf("%s, %v: cells of cost %v are missing, the least is %v: %v", word, importance, got, least, out)
			}
		}
		if lost["map[a:9]"] >= lost["map[b:9]"] {
			t.Errorf("%s: as many cells of the important key are missing as if the other one is important: %v", word, lost)
		}
	}
}

func TestSuppressRefusals(t *testing.T) {
	in := rows{{1, 1}, {1, 1}, {1, 1}, {1, 2}, {2, 1}}
	columns := in.Columns(arrow.PrimitiveTypes.Int64)
	for _, tt := range []struct {
		m    *Suppress
		want string
	}{
		{&Suppress{K: ptr(6)}, "masks[0].suppress.k: must be at most the number of records, got 6"},
		{&Suppress{K: ptr(3), MaxShare: ptr(0.1)},
			"masks[0].suppress.max_share: is exceeded, and nothing is released: k = 3 takes 100 % of the values of \"a\", at most 10 %"},
	} {
		tt.m.Keys = []string{"a", "b"}
		c := chain(t, testSetup(t, columns...), mask(tt.m))
		if err := c.Survey(block(0, 5, columns...)); err != nil {
			t.Fatal(err)
		}
		err := c.EndSurvey()
		var of *core.SurveyError
		if !errors.As(err, &of) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		if c.Apply(block(0, 5, columns...)) == nil {
			t.Error("releases nevertheless")
		}
	}
	for path, m := range map[string]*Suppress{
		"keys": {K: ptr(3)}, "k": {Keys: []string{"a"}},
		"importance.b": {Keys: []string{"a"}, K: ptr(2), Importance: map[string]float64{"b": 1}},
		"importance.a": {Keys: []string{"a"}, K: ptr(2), Importance: map[string]float64{"a": 0}},
		"max_share":    {Keys: []string{"a"}, K: ptr(2), MaxShare: ptr(1.5)},
		"missing":      {Keys: []string{"a"}, K: ptr(2), Missing: "some"},
		"combinations": {Keys: []string{"a", "b"}, K: ptr(2), Combinations: ptr(3)},
		"keys[1]":      {Keys: []string{"a", "a"}, K: ptr(2)},
	} {
		if ps := m.Check(); len(ps) != 1 || ps[0].Path != path {
			t.Errorf("%s: %v", path, ps)
		}
	}
	k2 := &Suppress{Keys: []string{"a"}, K: ptr(2)}
	for want, masks := range map[string][]core.Spec{
		"[0].suppress.keys: must not be changed after this mask": {
			mask(k2), mask(&record.Noise{Columns: []string{"a"}, SD: amount(1)})},
		"[0].suppress: must come after mask [2], a pram": {
			mask(k2), mask(&record.Noise{Columns: []string{"b"}, SD: amount(1)}),
			mask(&category.PRAM{Columns: []string{"b"}, Keep: ptr(0.5), Categories: []string{"1", "2"}})},
		"[1].suppress.keys: \"a\" depends on mask [0]": {mask(micro(2, "a", "b")), mask(k2)},
	} {
		if ps := core.CheckSpecs(masks); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("%v, want %s", ps, want)
		}
	}
	for _, before := range []core.Spec{mask(&record.Noise{Columns: []string{"a"}, SD: amount(1)}),
		mask(&category.PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Categories: []string{"1", "2"}})} {
		if ps := core.CheckSpecs([]core.Spec{before, mask(k2)}); len(ps) != 0 {
			t.Errorf("in front of it: %v", ps)
		}
	}
}

// No records, only missing values, or a constant: there is nothing to do. A record in quarantine
// does not count and does not change.
func TestSuppressAtTheEdges(t *testing.T) {
	k := 2
	for _, word := range []string{"any", "none"} {
		for _, in := range []rows{{{0, 0}, {0, 0}}, {{1, 1}, {1, 1}}, {{1, 0}, {1, 0}, {1, 0}}} {
			out, _ := suppressed(t, in, 2, &Suppress{K: &k, Missing: word})
			for i := range in {
				if missingCells(t, in[i], out[i]) != 0 {
					t.Errorf("%s: cells of %v are missing", word, in)
				}
			}
		}
		out, _ := suppressed(t, rows{{1, 2}, {3, 4}}, 1, &Suppress{K: &k, Missing: word})
		if word == "none" && !slices.Equal(slices.Concat(out...), []int{0, 0, 0, 0}) {
			t.Errorf("two records without anything in common: %v", out)
		}
		columns := rows{{1, 1}, {1, 1}, {1, 2}}.Columns(arrow.PrimitiveTypes.Int64)
		c := chain(t, testSetup(t, columns...), mask(&Suppress{Keys: []string{"a", "b"}, K: &k, Missing: word}))
		in := func() *microdata.Block {
			b := block(0, 3, columns...)
			b.Reject(0, "a", "is broken")
			return b
		}
		if err := c.Survey(in()); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		b := apply(t, c, in())
		if v := b.Columns[1].Out(); v.Valid.Has(1) && v.Valid.Has(2) || !v.Valid.Has(0) {
			t.Errorf("%s: a rejected record counts", word)
		}
	}
	empty := chain(t, testSetup(t, testColumn{Type: arrow.PrimitiveTypes.Int64}),
		mask(&Suppress{Keys: []string{"a"}, K: &k}))
	if err := empty.EndSurvey(); err != nil {
		t.Error(err)
	}
}

// Cells of any type can be set missing: text, a dictionary entry, a date, a boolean.
func TestSuppressOfEveryType(t *testing.T) {
	const n = 70
	k := 3
	build := map[arrow.DataType]func(b array.Builder, i int){
		arrow.BinaryTypes.String: func(b array.Builder, i int) {
			b.(*array.StringBuilder).Append(fmt.Sprint("category ", i))
		},
		arrow.FixedWidthTypes.Boolean: func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i%2 == 0) },
		arrow.PrimitiveTypes.Date32:   func(b array.Builder, i int) { b.(*array.Date32Builder).Append(arrow.Date32(i)) },
		arrow.BinaryTypes.StringView: func(b array.Builder, i int) {
			b.(*array.StringViewBuilder).Append(fmt.Sprint("a longer category ", i))
		},
		&arrow.Decimal128Type{Precision: 9, Scale: 2}: func(b array.Builder, i int) {
			if err := b.(*array.Decimal128Builder).AppendValueFromString(fmt.Sprint(i, ".50")); err != nil {
				t.Fatal(err)
			}
		},
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}: func(
			b array.Builder, i int) {
			if err := b.(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for typ, put := range build {
		in := categoriesAt(rand.New(rand.NewPCG(5, 6)), n, []int{2, 2}, 0)
		in[n-1][0], in[64][1] = 3, 3 // rare ones, in the last place and across a word of bits
		setup := core.Setup{Key: testKey(t, 1), Window: 1}
		for c, name := range names(2) {
			setup.Columns = append(setup.Columns,
				core.ColumnInfo{Name: name, Index: c, Field: microdata.Field{Name: name, Type: typ}, Decimals: -1})
		}
		arraysOf(t, in, typ, put, setup, k)
	}
}

// arraysOf suppresses columns of a type whose arrays are slices, so their values do not begin at the
// start of the buffers.
func arraysOf(t *testing.T, r rows, typ arrow.DataType, put func(b array.Builder, i int), setup core.Setup, k int) {
	t.Helper()
	n := len(r)
	at := func(c int) arrow.Array {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		put(b, 1)
		for i := range r {
			put(b, r[i][c])
		}
		return array.NewSlice(b.NewArray(), 1, int64(n+1))
	}
	m := &Suppress{Keys: []string{"a", "b"}, K: &k}
	c := chain(t, setup, mask(m))
	in := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 2)
		for k := range b.Columns {
			b.Columns[k].Array = at(k)
		}
		return b
	}
	if err := c.Survey(in()); err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	b := apply(t, c, in())
	binary := typ.ID() == arrow.BOOL
	want := make(rows, n)
	for i := range r {
		want[i] = slices.Clone(r[i])
		if binary {
			want[i][0], want[i][1] = 1+r[i][0]%2, 1+r[i][1]%2
		}
	}
	expected, _ := suppressed(t, want, n, &Suppress{K: &k})
	missing := 0
	for k := range b.Columns {
		original, released := at(k), b.Columns[k].OutArray()
		for i := range n {
			if released.IsNull(i) != (expected[i][k] == 0) {
				t.Fatalf("%s: record %d, key %d: missing %v", typ, i, k, released.IsNull(i))
			}
			if released.IsNull(i) {
				missing++
			} else if original.ValueStr(i) != released.ValueStr(i) {
				t.Fatalf("%s: record %d, key %d got another value", typ, i, k)
			}
		}
	}
	if missing == 0 && !binary {
		t.Errorf("%s: no cell is missing, so the case tests nothing", typ)
	}
}

// A cancelled chain makes no more decisions: neither before the decision nor in the middle of it,
// with both ways to count missing cells.
func TestEndSurveyIsCancelled(t *testing.T) {
	r := categoriesAt(rand.New(rand.NewPCG(5, 6)), 3*decision.Every, []int{40, 40, 40}, 0.01)
	columns := r.Columns(arrow.PrimitiveTypes.Int64)
	for _, missing := range []string{"any", "none"} {
		begun := func() *core.Chain {
			c := chain(t, testSetup(t, columns...), mask(&Suppress{Keys: names(3), K: ptr(3), Missing: missing}))
			if err := c.Survey(block(0, len(r), columns...)); err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := begun()
		c.Cancel()
		if err := c.EndSurvey(); !errors.Is(err, core.ErrCancelled) || c.Surveyed {
			t.Errorf("missing %s, cancelled before: %v", missing, err)
		}
		// The search itself stops at any call that asks whether to continue, and
		// it asks several times.
		checks := 0
		for at := 1; ; at += onward(testing.Short(), at, 4) {
			c := begun()
			s := c.Steps[0].(*suppressStep)
			s.data.SortRuns()
			checks = 0
			s.suppress.Stop = func() bool { checks++; return checks >= at }
			if _, err := s.suppress.Hide(s.codes); err != nil {
				t.Fatal(err)
			}
			if checks < at {
				break // the search is complete
			}
			if most := at + 1; checks > most { // the loop after the interrupted one asks once
				t.Errorf("missing %s: continues after it was cancelled %d times", missing, checks-at)
			}
		}
		if checks < 4 {
			t.Errorf("missing %s: asks %d times whether to go on", missing, checks)
		}
	}
}
