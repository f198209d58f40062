package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// conditional are masks that can have a condition, with a function that gives their result for a value, or nil if that
// is drawn.
func conditional(where string) map[string]struct {
	mask  Spec
	fixed func(v float64) float64
} {
	type of = struct {
		mask  Spec
		fixed func(v float64) float64
	}
	return map[string]of{
		"noise":   {mask(&Noise{Columns: []string{"a"}, SD: amount(20), Where: where}), nil},
		"laplace": {mask(&Noise{Columns: []string{"a"}, SD: amount(20), Distribution: "laplace", Where: where}), nil},
		"bias":    {mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.2), Where: where}), nil},
		"round": {mask(&Round{Columns: []string{"a"}, Base: ptr(50.0), Where: where}), func(v float64) float64 {
			return 50 * math.RoundToEven(v/50)
		}},
		"topcode": {mask(&Topcode{Columns: []string{"a"}, Lower: ptr(80.0), Upper: ptr(130.0), Where: where}),
			func(v float64) float64 { return max(80, min(130, v)) }},
		"truncate": {mask(&Truncate{Columns: []string{"a"}, Lower: ptr(80.0), Upper: ptr(130.0), Where: where}),
			func(v float64) float64 { return max(80, min(130, v)) }},
	}
}

func conditionalData(n int) testColumn {
	r := rand.New(rand.NewPCG(37, 5))
	c := floats(1, make([]float64, n)...)
	for i := range n {
		if r.IntN(2) == 0 {
			c.Values[i] = math.Round(1000+200*r.NormFloat64()) / 10
		}
	}
	c.Values[2] = 40.04 // between the steps of the grid: its decimals are those of the release
	c.Null = []int{0, 7, n - 1}
	return c
}

// Records whose original value does not meet the condition are released unchanged, the others as the mask has them, for
// any mask before it and in blocks of any size; a replicate does the same. The count is of the changed records.
func TestConditionsChooseTheRecords(t *testing.T) {
	const n = 3000
	c := conditionalData(n)
	met := func(v float64) bool { return v > 60 && v != 100 }
	before := mask(&Truncate{Columns: []string{"a"}, Upper: ptr(59.0)}) // behind it no value meets the condition any more
	for name, m := range conditional("a > 60 and a != 100") {
		for _, masks := range [][]Spec{{m.mask}, {Spec{Name: "before", Params: before.Params}, m.mask}} {
			release := chain(t, testSetup(t, c), masks...)
			for which, chain := range map[string]*Chain{"release": release, "replicate": release.Replicate(3)} {
				changed := 0
				for _, size := range []int{n, 700} {
					for from := 0; from < n; from += size {
						v := apply(t, chain, block(from, min(from+size, n), c)).Columns[0].Out()
						for i, y := range v.Values {
							x := c.Values[from+i]
							if len(masks) > 1 {
								x = min(x, 59)
							}
							x = math.RoundToEven(10*x) / 10
							switch {
							case slices.Contains(c.Null, from+i):
								if v.Valid.Has(i) {
									t.Fatalf("%s, %s: record %d has a value", name, which, from+i)
								}
								continue
							case !met(c.Values[from+i]) && y != x:
								t.Fatalf("%s, %s: record %d does not meet the condition and is %v, want %v", name, which, from+i, y, x)
							case met(c.Values[from+i]) && m.fixed != nil && y != m.fixed(x):
								t.Fatalf("%s, %s: record %d meets the condition and is %v, want %v", name, which, from+i, y, m.fixed(x))
							}
							if y != x {
								changed++
							}
						}
					}
				}
				if got := chain.Touched()[len(masks)-1].Records; changed == 0 || got != int64(changed) {
					t.Errorf("%s, %s: %d records counted, %d have changed", name, which, got, changed)
				}
			}
		}
	}
}

// Noise of the records that meet the condition has mean 0 and the SD of the mask, to five standard errors.
func TestConditionalNoiseIsTheNoise(t *testing.T) {
	c := conditionalData(20_000)
	v := apply(t, chain(t, testSetup(t, c), conditional("a > 0")["noise"].mask),
		block(0, len(c.Values), c)).Columns[0].Out()
	var e []float64
	for i, x := range c.Values {
		if x > 0 && v.Valid.Has(i) {
			e = append(e, v.Values[i]-x)
		}
	}
	mean, sd := meanSD(e)
	if root := math.Sqrt(float64(len(e))); math.Abs(mean) > 5*20/root || math.Abs(sd-20) > 5*20/root {
		t.Errorf("mean %v and SD %v", mean, sd)
	}
}

// A mask with a condition describes nothing from which something would be computed as if it changed all records.
func TestConditionalMasksDescribeNothing(t *testing.T) {
	c := conditionalData(300)
	all := func(string) bool { return true }
	for name, m := range conditional("a > 0") {
		chain := chain(t, testSetup(t, c), m.mask)
		apply(t, chain, block(0, 300, c))
		if _, ok := chain.Law("a"); ok {
			t.Errorf("%s: has a law", name)
		}
		if _, ok := chain.ColumnLaw("a"); ok {
			t.Errorf("%s: has a law of the column", name)
		}
		if k := chain.Keeping("a", 100, true); k.Share(0) != 0 || k.Share(100) != 0 {
			t.Errorf("%s: explains unchanged values", name)
		}
		if ActionOf(m.mask.Params, "a", 50) != nil {
			t.Errorf("%s: has an action", name)
		}
		kind := PublishingKind(m.mask.Kind())
		if p := published(m.mask.Params, 50, "where", "sd", "phi", "base", "lower", "upper", "mode", "distribution",
			"replace"); kind.PublishedAction(p, "a") != nil || !strings.HasSuffix(kind.Words(p, "a"), "; only where a > 0") {
			t.Errorf("%s: %+v, %q", name, kind.PublishedAction(p, "a"), kind.Words(p, "a"))
		}
		if p := published(m.mask.Params, 50); kind.PublishedAction(p, "a") != nil ||
			!strings.Contains(kind.Words(p, "a"), "not published") || strings.Contains(kind.Words(p, "a"), "> 0") {
			t.Errorf("%s, nothing published: %q", name, kind.Words(p, "a"))
		}
		if kind.EfficiencyFollows(all, all) {
			t.Errorf("%s: the efficiency follows", name)
		}
		if alone, ok := Alone([]Spec{m.mask}, "a"); !ok || ActionOf(alone[0].Params, "a", 50) != nil {
			t.Errorf("%s: alone it has lost its condition", name)
		}
	}
}

func TestConditionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		mask Params
		want string
	}{
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "a"}, "where: must be comparisons"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "b > x"}, "where: must be comparisons"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "b = and"}, "where: must be comparisons"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "b = x y"}, "where: must be comparisons"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "b = 1 and a = x"}, `where: must compare "a" with a number`},
		{&Topcode{Columns: []string{"a"}, Upper: ptr(5.0), Lower: ptr(1.0), Replace: "mean", Where: "a > 0"},
			"where: must not be given with percentiles, means or labels"},
		{&Topcode{Columns: []string{"a"}, Lower: ptr(5.0), LowerLabel: ptr("few"), Replace: "label", Where: "b > 0"},
			"where: must not be given with percentiles, means or labels"},
		{&Topcode{Columns: []string{"a"}, UpperPercentile: ptr(95.0), Where: "b > 0"},
			"where: must not be given with percentiles, means or labels"},
		{&Topcode{Columns: []string{"a"}, LowerPercentile: ptr(5.0), Where: "b > 0"},
			"where: must not be given with percentiles, means or labels"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: `a = "x"`}, `where: must compare "a" with a number`},
		{&Noise{Columns: []string{"a", "b"}, SD: amount(1), Where: "a > 0"}, "where: must be of a mask of one column, got 2"},
		{&Bias{Columns: []string{"a", "b"}, Phi: ptr(0.1), Where: "b > 0"}, "where: must be of a mask of one column, got 2"},
		{&Round{Columns: []string{"a"}, Base: ptr(5.0), Where: "a >"}, "where: must be comparisons"},
		{&Truncate{Columns: []string{"a"}, Upper: ptr(5.0), Mode: "redraw", Where: "a > 0"},
			"where: must not be given with mode redraw"},
	} {
		if ps := c.mask.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.mask, ps, c.want)
		}
	}
	for name, m := range conditional("a > 0") {
		for _, before := range []Params{
			&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"d", "a"}, Rate: ptr(0.5)},
			&RankSwap{Columns: []string{"a"}, P: ptr(0.1)}, &Synthesise{Columns: []string{"a"}}} {
			ps := CheckSpecs([]Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(2.0)}), {Name: "before", Params: before},
				{Name: "last", Params: m.mask.Params}})
			if len(ps) != 1 || !strings.Contains(ps[0].Error(), ".where: must not be given behind mask [1]") {
				t.Errorf("%s behind %T: %v", name, before, ps)
			}
			if ps := CheckSpecs([]Spec{{Name: "first", Params: m.mask.Params}, mask(before)}); len(ps) != 0 {
				t.Errorf("%s before %T: %v", name, before, ps)
			}
		}
		if ps := CheckSpecs([]Spec{mask(&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"d"}, Rate: ptr(0.5)}),
			m.mask}); len(ps) != 0 {
			t.Errorf("%s behind a swap of another column: %v", name, ps)
		}
	}
	ps := CheckSpecs([]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(1), Where: "a > 0"}),
		mask(&Truncate{Columns: []string{"a"}, Upper: ptr(5.0), Mode: "redraw"})})
	if len(ps) != 1 || !strings.Contains(ps[0].Error(), "redraw needs a noise mask without where just before it") {
		t.Errorf("a redraw of noise with a condition: %v", ps)
	}
}

// elsewhere are columns that conditions compare: b holds numbers and c texts, some missing.
func elsewhere(n int) (b, c testColumn, texts []string) {
	r := rand.New(rand.NewPCG(8, 1))
	b, c, texts = floats(0, make([]float64, n)...), testColumn{Type: arrow.BinaryTypes.String, Decimals: -1},
		make([]string, n)
	for i := range n {
		b.Values[i] = float64(r.IntN(30))
		texts[i] = []string{"employed", "looks for work", "16", ""}[r.IntN(4)]
		c.Values = append(c.Values, microdata.CategoryCode([]byte(texts[i])))
	}
	b.Null, c.Null = []int{1, 5, n - 1}, []int{2, 5, n - 2}
	return b, c, texts
}

// textsIn are the texts of some records as a source has them.
func textsIn(texts []string, null []int, from, to int) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := from; i < to; i++ {
		if slices.Contains(null, i) {
			b.AppendNull()
		} else {
			b.Append(texts[i])
		}
	}
	return b.NewArray()
}

// A condition compares numbers and texts of the record's other columns; a missing one meets none. So it does in a
// replicate, which has the codes of texts, and for records in blocks of any size.
func TestConditionsOnOtherColumns(t *testing.T) {
	const n = 2000
	a := conditionalData(n)
	b, c, texts := elsewhere(n)
	for where, met := range map[string]func(a, b float64, c string) bool{
		"b >= 16":      func(_, b float64, _ string) bool { return b >= 16 },
		"c = employed": func(_, _ float64, c string) bool { return c == "employed" },
		`c != 'looks for work' and "b" < 16`: func(_, b float64, c string) bool {
			return c != "looks for work" && c != "none" && b < 16
		},
		`a > 0 and c = "16" and b != 3`: func(a, b float64, c string) bool {
			return a > 0 && c == "16" && b == b && b != 3
		},
		`b = 7 and a != 100 and c = ""`: func(a, b float64, c string) bool { return b == 7 && a != 100 && c == "" },
		`c != employed and c != "16" and b >= 0`: func(_, b float64, c string) bool {
			return c != "employed" && c != "16" && c != "none" && b >= 0
		},
	} {
		for name, m := range conditional(where) {
			release := chain(t, testSetup(t, a, b, c), m.mask)
			for which, chain := range map[string]*Chain{"release": release, "replicate": release.Replicate(2)} {
				left, changed := 0, 0
				for _, size := range []int{n, 300} {
					for from := 0; from < n; from += size {
						to := min(from+size, n)
						of := block(from, to, a, b, c)
						if which == "release" {
							of.Columns[2].Original, of.Columns[2].Array = microdata.Vector{}, textsIn(texts, c.Null, from, to)
						}
						v := apply(t, chain, of).Columns[0].Out()
						for i := from; i < to; i++ {
							if slices.Contains(a.Null, i) {
								continue
							}
							other, text, x := b.Values[i], texts[i], a.Values[i]
							if slices.Contains(b.Null, i) {
								other = math.NaN()
							}
							if slices.Contains(c.Null, i) {
								text = "none"
							}
							switch y := v.Values[i-from]; {
							case !met(x, other, text):
								if left++; y != math.RoundToEven(10*x)/10 {
									t.Fatalf("%s where %s, %s: record %d does not meet it and is %v, not %v", name, where, which, i, y, x)
								}
							case m.fixed != nil && y != m.fixed(x):
								t.Fatalf("%s where %s, %s: record %d meets it and is %v, want %v", name, where, which, i, y, m.fixed(x))
							case y != x:
								changed++
							}
						}
					}
				}
				if changed == 0 || left == 0 {
					t.Errorf("%s where %s, %s: %d records left, %d changed", name, where, which, left, changed)
				}
			}
		}
	}
}

// What a record is released with does not depend on other records' meeting the condition, nor on how the condition is
// written; another condition has other draws.
func TestConditionsDoNotMoveDraws(t *testing.T) {
	const n = 500
	a := conditionalData(n)
	b, _, _ := elsewhere(n)
	b.Null = nil
	of := func(b testColumn, where string) []float64 {
		m := conditional(where)["noise"].mask
		return apply(t, chain(t, testSetup(t, a, b), m), block(0, n, a, b)).Columns[0].Out().Values
	}
	others := b
	others.Values = slices.Clone(b.Values)
	for i := range n {
		if i%2 == 0 {
			others.Values[i] = 29 - others.Values[i]
		}
	}
	one, two, same, next := of(b, "b >= 16"), of(others, "b >= 16"), of(b, `"b">=16.0`), of(b, "b >= 15")
	moved := 0
	for i, y := range one {
		if i%2 == 1 && y != two[i] {
			t.Errorf("record %d depends on others", i)
		}
		if y != same[i] {
			t.Errorf("record %d depends on how the condition is written", i)
		}
		if b.Values[i] >= 16 && y != a.Values[i] && y == next[i] {
			moved++
		}
	}
	if moved > n/50 { // decimals coincide by chance
		t.Errorf("%d records have the same draws with another condition", moved)
	}
}

// Columns that a condition compares are read by the mask: sources hand them over, and they are part of the names of
// draws. They must not be masked anywhere, must be there, and be compared with what they hold.
func TestComparedColumnsAreRead(t *testing.T) {
	a, b := conditionalData(300), conditionalData(300)
	_, c, _ := elsewhere(300)
	for name, m := range conditional("a > 0 and b > 1 and c = x and b < 9") {
		if got := m.mask.Params.Reads(); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("%s: reads %v", name, got)
		}
		if got := ReadColumnsOf(m.mask.Params); len(got) != 2 || got[0] != (ReadColumn{Field: "where", Name: "b",
			As: "compared by a mask"}) {
			t.Errorf("%s: reads %v", name, got)
		}
		if ActionOf(m.mask.Params, "a", 50) != nil || ScopeOf(m.mask.Params) != ScopeRecord {
			t.Errorf("%s: describes itself as if it changed all records, or looked at others", name)
		}
		for _, other := range []Params{&Round{Columns: []string{"b"}, Base: ptr(5.0)},
			&Suppress{Keys: []string{"b", "c"}, K: ptr(3)}} {
			for at, masks := range [][]Spec{{m.mask, mask(other)}, {mask(other), m.mask}} {
				ps := CheckSpecs(masks)
				if len(ps) == 0 ||
					!strings.Contains(ps[0].Error(),
						fmt.Sprintf("[%d].%s.where: must not compare \"b\", which mask [%d]", at, m.mask.Kind(), 1-at)) {
					t.Errorf("%s with a mask of what it compares: %v", name, ps)
				}
			}
		}
		if _, err := NewChain([]Spec{m.mask}, testSetup(t, a, b)); err == nil ||
			!strings.Contains(err.Error(), `where: there is no column "c"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	date := b
	date.Type = arrow.FixedWidthTypes.Date32
	for where, want := range map[string]string{
		"b = x": `where: must compare "b" with a number`,
		"c > 3": `where: must compare "c" with a text`,
		"d > 3": `where: must compare a column of numbers or texts, and "d" is of type`,
	} {
		if _, err := NewChain([]Spec{conditional(where)["noise"].mask}, testSetup(t, a, b, c, date)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}
