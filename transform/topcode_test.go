package transform

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/golden"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// coded returns the result of a topcode mask for numbers, with all statistics given.
func coded(t *testing.T, m *Topcode, of testColumn) []float64 {
	t.Helper()
	m.Columns = []string{"a"}
	setup := testSetup(t, of)
	setup.Sorted = map[string][]float64{"a": {}}
	for i, x := range of.Values {
		if !slices.Contains(of.Null, i) {
			setup.Sorted["a"] = append(setup.Sorted["a"], x)
		}
	}
	slices.Sort(setup.Sorted["a"])
	b := apply(t, chain(t, setup, mask(m)), block(0, len(of.Values), of))
	v := b.Columns[0].Out()
	out := slices.Clone(v.Values)
	for i := range out {
		if !v.Valid.Has(i) {
			out[i] = math.NaN()
		}
	}
	return out
}

func TestTopcode(t *testing.T) {
	of := typed([]float64{5, 0, 10, 20, 0, 100, 60}, []int{4}, arrow.PrimitiveTypes.Float64, 1)
	pairs, all := ptr(2), ptr(1.0) // so few values can only be shown with these
	null := math.NaN()
	for name, c := range map[string]struct {
		m    *Topcode
		want []float64
	}{
		"above": {&Topcode{Upper: ptr(20.0)}, []float64{5, 0, 10, 20, null, 20, 20}},
		"below": {&Topcode{Lower: ptr(5.0)}, []float64{5, 5, 10, 20, null, 100, 60}},
		"both": {&Topcode{Lower: ptr(5.0), Upper: ptr(60.0), Replace: "bound"},
			[]float64{5, 5, 10, 20, null, 60, 60}},
		"means": {&Topcode{Lower: ptr(9.0), Upper: ptr(20.0), Replace: "mean", Least: pairs, Share: all},
			[]float64{2.5, 2.5, 10, 20, null, 80, 80}},
		"nobody beyond": {&Topcode{Upper: ptr(100.0), Replace: "mean"}, []float64{5, 0, 10, 20, null, 100, 60}},
		// For 0 5 10 20 60 100: h = 5·0.7 + 1 = 4.5; h = 5·0.3 + 1 = 2.5.
		"percentiles": {&Topcode{UpperPercentile: ptr(70.0), LowerPercentile: ptr(30.0), Least: pairs},
			[]float64{7.5, 7.5, 10, 20, null, 40, 40}},
		"with the mean": {&Topcode{UpperPercentile: ptr(60.0), Replace: "mean", Least: pairs, Share: all},
			[]float64{5, 0, 10, 20, null, 80, 80}},
	} {
		got := coded(t, c.m, of)
		for i, want := range c.want {
			if got[i] != want && !(got[i] != got[i] && want != want) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
	if _, err := NewChain([]Spec{mask(&Topcode{Columns: []string{"a"}, UpperPercentile: ptr(90.0)})},
		testSetup(t, of)); err == nil || !strings.Contains(err.Error(), "masks[0].topcode.upper_percentile") {
		t.Errorf("a percentile of unknown values: %v", err)
	}
	empty := typed([]float64{0}, []int{0}, arrow.PrimitiveTypes.Float64, 1)
	if got := coded(t, &Topcode{UpperPercentile: ptr(90.0), Replace: "mean"}, empty); got[0] == got[0] {
		t.Errorf("a column without values: %v", got)
	}
}

// The mean beyond a bound keeps the column's mean, exactly up to the decimals.
func TestTopcodeMeanKeepsTheMean(t *testing.T) {
	of := typed(incomes(4001, 3), nil, arrow.PrimitiveTypes.Float64, 2)
	got := coded(t, &Topcode{LowerPercentile: ptr(5.0), UpperPercentile: ptr(97.0), Replace: "mean"}, of)
	x, y := 0.0, 0.0
	for i := range got {
		x += of.Values[i] / 4001
		y += got[i] / 4001
	}
	if !(math.Abs(x-y) <= 0.005) || slices.Equal(got, of.Values) {
		t.Errorf("the mean is %v, was %v", y, x)
	}
}

func TestTopcodeLabels(t *testing.T) {
	m := &Topcode{Columns: []string{"a"}, Lower: ptr(18.0), Upper: ptr(80.0), Replace: "label", LowerLabel: ptr("<18"),
		UpperLabel: ptr("80+")}
	for name, c := range map[string]struct {
		of   arrow.DataType
		json string
		want []string
	}{
		"ages": {arrow.PrimitiveTypes.Int8, `[3, 18, null, 80, 81]`, []string{"<18", "18", "null", "80", "80+"}},
		"decimals": {&arrow.Decimal128Type{Precision: 9, Scale: 1}, `["17.9", "18.5", "80.1"]`,
			[]string{"<18", "18.5", "80+"}},
	} {
		got, b := categories(t, []Spec{mask(m)}, c.of, c.json)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		original := b.Columns[0].Array
		full,
			err := NewChain([]Spec{mask(m)},
			Setup{Key: testKey(t, 5),
				Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: c.of}, Decimals: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		var r microdata.Block
		r.Reset(0, 0, original.Len(), 1)
		v := r.Columns[0].Alloc(original.Len(), true)
		for i := range v.Values {
			if v.Values[i] = microdata.CodeOf(original, i); original.IsNull(i) {
				v.Values[i] = 0
				v.Valid.Clear(i)
			}
		}
		if err := full.Replicate(1).Apply(&r); err != nil {
			t.Fatal(err)
		}
		for i, x := range r.Columns[0].Out().Values {
			if want := microdata.CodeOf(b.Columns[0].OutArray(), i); want == want && x != want {
				t.Errorf("%s: record %d has the code %v in a replicate, want %v", name, i, x, want)
			}
		}
	}
}

func TestTopcodeChecks(t *testing.T) {
	for path, m := range map[string]*Topcode{
		"":                 {},
		"upper":            {Upper: ptr(1.0), Lower: ptr(2.0)},
		"upper_percentile": {Upper: ptr(1.0), UpperPercentile: ptr(99.0)},
		"lower_percentile": {LowerPercentile: ptr(50.0)},
		"upper_label":      {Upper: ptr(1.0), Replace: "label"},
		"lower_label":      {Upper: ptr(1.0), Replace: "label", UpperLabel: ptr("x"), LowerLabel: ptr("y")},
		"lower":            {Lower: ptr(math.Inf(1))},
		"replace":          {Upper: ptr(1.0), Replace: "median"},
	} {
		m.Columns = []string{"x"}
		if ps := m.Check(); len(ps) != 1 || ps[0].Path != path {
			t.Errorf("%q: %v", path, ps)
		}
	}
}

// Top and bottom coding of sdcMicro's testdata at R's quantiles.
func TestTopcodeGolden(t *testing.T) {
	names, original := golden.Columns(t, "golden", "p13_testdata_topbottom_orig.csv")
	_, masked := golden.Columns(t, "golden", "p13_testdata_topbottom_masked.csv")
	for name, m := range map[string]*Topcode{"income": {UpperPercentile: ptr(99.0)},
		"savings": {LowerPercentile: ptr(5.0)}} {
		got := coded(t, m, typed(original[slices.Index(names, name)], nil, arrow.PrimitiveTypes.Float64, -1))
		for i, want := range masked[slices.Index(names, name)] {
			if !(math.Abs(got[i]-want) <= 1e-9*math.Abs(want)) {
				t.Fatalf("%s of record %d: %v, want %v", name, i, got[i], want)
			}
		}
	}
}

// A column that a label turns into text is absent in a chain of replicates. Every other column
// named by a mask must be present.
func TestTopcodeOfAnAbsentColumn(t *testing.T) {
	only := Setup{
		Key: testKey(t, 5),
		Columns: []ColumnInfo{
			{Name: "b", Field: microdata.Field{Name: "b", Type: arrow.PrimitiveTypes.Float64}, Decimals: -1}}}
	label := &Topcode{Columns: []string{"a", "b"}, Upper: ptr(80.0), Replace: "label", UpperLabel: ptr("80+")}
	if _, err := NewChain([]Spec{mask(label)}, only); err != nil {
		t.Errorf("a label: %v", err)
	}
	if _, err := NewChain([]Spec{mask(&Topcode{Columns: []string{"a"}, Upper: ptr(80.0)})}, only); err == nil {
		t.Error("no error for a column that the chain does not have")
	}
}
