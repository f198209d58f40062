package transform

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestCheck(t *testing.T) {
	a := []string{"a"}
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		params Params
		want   []string // each problem as "path: text"; the text may be cut
	}{
		{&Bias{Columns: a, Phi: ptr(0.0)}, nil},
		{&Bias{Columns: a, Range: ptr(0.05)}, nil},
		{&Bias{}, []string{"columns: must name at least one column", "must have phi or range, got neither"}},
		{&Bias{Columns: a, Phi: ptr(1.0), Range: ptr(1.0)}, []string{"must have phi or range, got both"}},
		{&Bias{Columns: a, Phi: ptr(-1.0)}, []string{"phi: must be at least 0, got -1"}},
		{&Bias{Columns: a, Range: ptr(nan)}, []string{"range: must be at least 0, got NaN"}},
		{&Bias{Columns: a, Range: ptr(inf)}, []string{"range: must be at least 0, got +Inf"}},
		{&Bias{Columns: []string{"a", "b", "a"}, Phi: ptr(0.0)},
			[]string{`columns[2]: must not repeat a column, got "a" again`}},
		{&Bias{Columns: []string{""}, Phi: ptr(0.0)}, []string{`columns[0]: must be the name of a column, got ""`}},

		{&Noise{Columns: a, SD: amount(0)}, nil},
		{
			&Noise{Columns: a, SD: percent(35), Distribution: "laplace",
				Tiers: []Tier{{Above: ptr(1.0), VarianceFactor: ptr(0.0)}, {Above: ptr(2.0), VarianceFactor: ptr(2.0)}}}, nil},
		{&Noise{}, []string{"columns: must name at least one column", "sd: must be given"}},
		{&Noise{Columns: a, SD: amount(-3)}, []string{"sd: must be at least 0, got -3"}},
		{&Noise{Columns: a, SD: amount(nan)}, []string{"sd: must be at least 0, got NaN"}},
		{&Noise{Columns: a, SD: percent(-5)}, []string{"sd: must be at least 0%, got -5%"}},
		{&Noise{Columns: a, SD: percent(inf)}, []string{"sd: must be at least 0%, got +Inf%"}},
		{&Noise{Columns: a, SD: amount(1), Distribution: "gaussian"},
			[]string{`distribution: must be one of normal, laplace, uniform, got "gaussian"`}},
		{&Noise{Columns: a, SD: amount(1), Distribution: "uniforme"},
			[]string{`distribution: must be one of normal, laplace, uniform, got "uniforme" (did you mean "uniform"?)`}},
		{&Noise{Columns: a, SD: amount(1), Tiers: []Tier{{}}},
			[]string{"tiers[0].above: must be given", "tiers[0].variance_factor: must be given"}},
		{&Noise{Columns: a, SD: amount(1), Tiers: []Tier{{Above: ptr(5.0), VarianceFactor: ptr(-1.0)}, {Above: ptr(5.0),
			VarianceFactor: ptr(1.0)}}},
			[]string{"tiers[0].variance_factor: must be at least 0, got -1",
				"tiers[1].above: must be greater than 5, the bound of the tier before it, got 5"}},
		{&Noise{Columns: a, SD: amount(1), Tiers: []Tier{{Above: ptr(inf), VarianceFactor: ptr(1.0)}}},
			[]string{"tiers[0].above: must be a finite number, got +Inf"}},

		{&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y"}}, nil},
		{&PRAM{Columns: a, Categories: []string{"x", "y"}}, []string{"must have matrix or keep, got neither"}},
		{&PRAM{Columns: a, Keep: ptr(0.5), Matrix: map[string]map[string]float64{"x": {"x": 1}, "y": {"y": 1}}},
			[]string{"must have matrix or keep, got both"}},

		{&Recode{Columns: a, Breaks: []float64{1, 2, 3}, Labels: []string{"x", "y", "z"}},
			[]string{"labels: must have 2 entries, or 4 with what lies below and above the breaks, got 3"}},
		{&Recode{Columns: a, Breaks: []float64{1, 3, 2}},
			[]string{"breaks[2]: must be greater than the bound before it, which is 3, got 2"}},

		{&Truncate{Columns: a, Lower: ptr(0.0)}, nil},
		{&Truncate{Columns: a, Upper: ptr(0.0), Mode: "clip"}, nil},
		{&Truncate{Columns: a, Lower: ptr(1.0), Upper: ptr(1.0)}, nil},
		{&Truncate{Columns: a}, []string{"must have lower or upper, got neither"}},
		{&Truncate{Columns: a, Lower: ptr(50.0), Upper: ptr(20.0)},
			[]string{"upper: must be at least 50, which is lower, got 20"}},
		{&Truncate{Columns: a, Lower: ptr(nan), Upper: ptr(inf)},
			[]string{"lower: must be a finite number, got NaN", "upper: must be a finite number, got +Inf"}},
		{&Truncate{Columns: a, Lower: ptr(0.0), Mode: "redrew"},
			[]string{`mode: must be one of clip, redraw, got "redrew" (did you mean "redraw"?)`}},

		{&Round{Columns: a, Decimals: ptr(-3)}, nil},
		{&Round{Columns: a, Base: ptr(0.5)}, nil},
		{&Round{Columns: a}, []string{"must have decimals or base, got neither"}},
		{&Round{Columns: a, Decimals: ptr(0), Base: ptr(1.0)}, []string{"must have decimals or base, got both"}},
		{&Round{Columns: a, Base: ptr(0.0)}, []string{"base: must be greater than 0, got 0"}},
		{&Round{Columns: a, Base: ptr(nan)}, []string{"base: must be greater than 0, got NaN"}},
		{&Round{Columns: a, Decimals: ptr(16)}, []string{"decimals: must be between -15 and 15, got 16"}},

		{&Swap{Keys: []string{"k"}, Attribute: "r", Columns: a, Rate: ptr(0.1)}, nil},
		{
			&Swap{},
			[]string{"keys: must name at least one swapping key", "attribute: must be given",
				"columns: must name at least one protected column", "rate: must be given"}},
		{&Swap{Keys: []string{"k", "r"}, Attribute: "r", Columns: a, Rate: ptr(0.1)},
			[]string{`attribute: must not be one of the keys, got "r", which is keys[1]`}},
		{&Swap{Keys: []string{"k"}, Attribute: "r", Columns: []string{"k", "r"}, Rate: ptr(0.1)},
			[]string{`columns[0]: must not be one of the keys, got "k", which is keys[0]`,
				`columns[1]: must not be the attribute, got "r"`}},
		{&Swap{Keys: []string{"k", "k"}, Attribute: "r", Columns: a, Rate: ptr(1.5)},
			[]string{`keys[1]: must not repeat a column, got "k" again`, "rate: must be between 0 and 1, got 1.5"}},
		{&Swap{Keys: []string{"k"}, Attribute: "r", Columns: a, Rate: ptr(nan)},
			[]string{"rate: must be between 0 and 1, got NaN"}},
		{&Swap{Keys: []string{"k"}, Attribute: "r", Columns: a, Rate: ptr(1.0), Policy: "uniqe", Scope: "windows"},
			[]string{`policy: must be one of unique, random, got "uniqe" (did you mean "unique"?)`,
				`scope: must be one of window, dataset, got "windows" (did you mean "window"?)`}},
	} {
		ps := tt.params.Check()
		if len(ps) != len(tt.want) {
			t.Errorf("%+v: got %v, want %v", tt.params, ps, tt.want)
			continue
		}
		for i, p := range ps {
			if !strings.HasPrefix(p.Error(), tt.want[i]) {
				t.Errorf("got %q, want %q", p.Error(), tt.want[i])
			}
		}
	}
}

func redraw(columns ...string) Spec {
	return mask(&Truncate{Columns: columns, Lower: ptr(0.0), Mode: "redraw"})
}

func TestCheckSpecs(t *testing.T) {
	noise := func(columns ...string) Spec { return mask(&Noise{Columns: columns, SD: amount(1)}) }
	round := func(columns ...string) Spec { return mask(&Round{Columns: columns, Decimals: ptr(0)}) }
	swap := func(scope, key, column string) Spec {
		return mask(&Swap{Keys: []string{key}, Attribute: "r", Columns: []string{column}, Rate: ptr(0.1), Scope: scope})
	}
	named := func(name string, s Spec) Spec { s.Name = name; return s }
	for _, tt := range []struct {
		name  string
		masks []Spec
		want  []string
	}{
		{"redraw after noise", []Spec{noise("a", "b"), redraw("a")}, nil},
		{"another column's mask between", []Spec{noise("a"), round("b"), redraw("a")}, nil},
		{"redraw alone", []Spec{redraw("a")},
			[]string{`[0].truncate.mode: redraw needs a noise mask just before it on "a", got no mask`}},
		{"redraw before noise", []Spec{redraw("a"), noise("a")}, []string{"[0].truncate.mode"}},
		{"a mask between", []Spec{noise("a"), round("a"), redraw("a")},
			[]string{`[2].truncate.mode: redraw needs a noise mask just before it on "a", got round ([1])`}},
		{"a swap between", []Spec{noise("a"), swap("window", "k", "a"), redraw("a")}, []string{"[2].truncate.mode"}},
		{"redraw twice", []Spec{noise("a"), redraw("a"), redraw("a")}, []string{"[2].truncate.mode"}},
		{"one of two columns", []Spec{noise("a"), redraw("a", "b")},
			[]string{`[1].truncate.mode: redraw needs a noise mask just before it on "b"`}},
		{"names", []Spec{named("x", noise("a")), named("y", noise("a")), noise("a"), noise("a")}, nil},
		{"the same name", []Spec{named("x", noise("a")), named("x", round("a"))},
			[]string{`[1].name: must differ from the name of mask [0], got "x"`}},
		{"a name that an unnamed mask has", []Spec{noise("a"), named("noise#1", round("a"))}, []string{"[1].name"}},
		{"two swaps of scope dataset", []Spec{swap("dataset", "k", "a"), swap("dataset", "k", "b")}, nil},
		{"on the same column", []Spec{swap("dataset", "k", "a"), swap("dataset", "j", "a")},
			[]string{`[1].swap.scope: must be window, got "dataset": "a" depends on mask [0]`}},
		{"key of the second", []Spec{swap("dataset", "k", "a"), swap("dataset", "a", "b")}, []string{"[1].swap.scope"}},
		{"by way of a window", []Spec{swap("dataset", "k", "a"), swap("window", "a", "b"), swap("dataset", "k", "b")},
			[]string{`[2].swap.scope: must be window, got "dataset": "b" depends on mask [0]`}},
	} {
		ps := CheckSpecs(tt.masks)
		if len(ps) != len(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, ps, tt.want)
			continue
		}
		for i, p := range ps {
			if !strings.HasPrefix(p.Error(), tt.want[i]) {
				t.Errorf("%s: got %q, want %q", tt.name, p.Error(), tt.want[i])
			}
		}
	}
}

func TestNeeds(t *testing.T) {
	masks := []Spec{
		mask(&Noise{Columns: []string{"a", "b"}, SD: percent(10)}),
		{Name: "late", Params: &Noise{Columns: []string{"b", "c"}, SD: percent(10)}},
		mask(&Noise{Columns: []string{"d"}, SD: amount(10)}),
		mask(&Swap{Scope: "dataset"}),
	}
	if got := NeedsSD(masks); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("NeedsSD: got %v", got)
	}
	if NeedsWindow(masks) || !NeedsWindow(append(masks, mask(&Swap{}))) {
		t.Error("NeedsWindow: only a swap of scope window needs one")
	}
	for i, want := range []string{"noise#1", "late", "noise#2", "swap#1"} {
		if got := Label(masks, i); got != want {
			t.Errorf("Label(%d): got %q, want %q", i, got, want)
		}
	}
}

func TestNewChainErrors(t *testing.T) {
	f64, utf8 := arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	list := arrow.ListOf(f64)
	setup := Setup{Key: testKey(t, 1), Window: 10, Columns: []ColumnInfo{
		{Name: "wage", Index: 0, Field: microdata.Field{Name: "wage", Type: f64}, Decimals: 2, SD: math.NaN(),
			Mean: math.NaN(), Days: false},
		{Name: "region", Index: 1, Field: microdata.Field{Name: "region", Type: utf8}, Decimals: -1, SD: math.NaN(),
			Mean: math.NaN(), Days: false},
		{Name: "list", Index: 2, Field: microdata.Field{Name: "list", Type: list}, Decimals: -1, SD: math.NaN(),
			Mean: math.NaN(), Days: false},
		{Name: "free", Index: 3, Field: microdata.Field{Name: "free", Type: f64}, Decimals: -1, SD: math.NaN(),
			Mean: math.NaN(), Days: false},
		{Name: "age", Index: 4, Field: microdata.Field{Name: "age", Type: arrow.PrimitiveTypes.Uint8}, Decimals: 0, SD: 10,
			Mean: 40, Days: false},
	}}
	swap := func(key, attribute, column string) *Swap {
		return &Swap{Keys: []string{key}, Attribute: attribute, Columns: []string{column}, Rate: ptr(0.5)}
	}
	for _, tt := range []struct {
		params Params
		want   string
	}{
		{&Noise{Columns: []string{"wage"}, SD: percent(35)},
			`masks[0].noise.sd: the standard deviation of column "wage" is not known`},
		{&Noise{Columns: []string{"wages"}, SD: amount(1)}, `masks[0].noise.columns: there is no column "wages"`},
		{&Noise{Columns: []string{"region"}, SD: amount(1)},
			`masks[0].noise.columns: column "region" must be numeric, got type string`},
		{&Noise{Columns: []string{"wage"}, SD: amount(-1)}, "masks[0].noise.sd: must be at least 0, got -1"},
		{&Bias{Columns: []string{"free"}, Phi: ptr(0.1)}, `masks[0].bias: column "free" needs decimals`},
		{&Truncate{Columns: []string{"wage"}, Lower: ptr(0.001), Upper: ptr(0.004)},
			`masks[0].truncate: column "wage" has no value between the bounds`},
		{&Truncate{Columns: []string{"age"}, Lower: ptr(300.0)},
			`masks[0].truncate: column "age" has no value between the bounds`},
		{&Round{Columns: []string{"wage"}, Base: ptr(0.125)},
			`masks[0].round.base: must be a multiple of 0.01, the last decimal of column "wage", got 0.125`},
		{&Round{Columns: []string{"age"}, Base: ptr(2.5)}, "masks[0].round.base: must be a multiple of 1"},
		{swap("key", "region", "wage"), `masks[0].swap: there is no column "key"`},
		{swap("list", "region", "wage"), `masks[0].swap: column "list" must have a scalar type to be compared`},
		{swap("age", "region", "list"), `masks[0].swap.columns: column "list" must have a scalar type to be exchanged`},
	} {
		_, err := NewChain([]Spec{mask(tt.params)}, setup)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := NewChain([]Spec{redraw("wage")}, setup); err == nil ||
		!strings.HasPrefix(err.Error(), "masks[0].truncate.mode: redraw needs") {
		t.Errorf("got %v", err)
	}
	setup.Window = 0
	if _, err := NewChain([]Spec{mask(swap("age", "region", "wage"))}, setup); err == nil ||
		!strings.HasPrefix(err.Error(), "window.records: must be at least 1") {
		t.Errorf("got %v", err)
	}
	if _, err := NewChain([]Spec{mask(swap("age", "region", "gone"))},
		Setup{Key: setup.Key, Columns: setup.Columns, Window: 5}); err != nil {
		t.Errorf("a protected column that is not there is skipped, got %v", err)
	}
}

func TestAmountText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Amount
	}{{"12.5", Amount{Value: 12.5, Relative: false}}, {" 35 % ", Amount{Value: 0.35, Relative: true}}, {"1e3",
		Amount{Value: 1000, Relative: false}},
		{"0%", Amount{Value: 0, Relative: true}}} {
		var got Amount
		if err := got.UnmarshalText([]byte(tt.text)); err != nil || got != tt.want {
			t.Errorf("%q: got %v, %v", tt.text, got, err)
		}
		text, _ := got.MarshalText()
		var again Amount
		if err := again.UnmarshalText(text); err != nil || again != got {
			t.Errorf("%q: written as %q, read as %v, %v", tt.text, text, again, err)
		}
	}
	if err := new(Amount).UnmarshalText([]byte("a lot")); err == nil {
		t.Error("accepted words")
	}
}

// An accepted amount is written in a form that can be read back, and no text causes a panic.
func FuzzAmount(f *testing.F) {
	for _, s := range []string{"12.5", "35%", "-3", "NaN", "1e999", "0x1p-3", " 7 % ", "%", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, b Amount
		if a.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, err := a.MarshalText()
		if err != nil || b.UnmarshalText(out) != nil {
			t.Fatalf("%q: written as %q, which is not read", text, out)
		}
		if a.Relative != b.Relative || math.Abs(a.Value-b.Value) > 1e-14*math.Abs(a.Value) && !math.IsNaN(a.Value) {
			t.Fatalf("%q: %v became %v", text, a, b)
		}
	})
}

// Two masks of scope dataset in either order do not see each other's columns.
func TestDatasetMasksInOrder(t *testing.T) {
	swap := swapMask("unique", "dataset", 0.5)
	of := func(columns ...string) *Microaggregate { return micro(3, columns...) }
	window := swapMask("unique", "", 0.5)
	by := of("x")
	by.By = []string{"a"}
	for _, tt := range []struct {
		masks []Spec
		want  string
	}{
		{[]Spec{mask(of("a")), mask(of("b"))}, ""},
		{[]Spec{mask(swap), mask(of("e"))}, ""},
		{[]Spec{mask(of("e")), mask(swap)}, ""},
		{[]Spec{mask(of("a")), mask(window)}, ""},
		{[]Spec{mask(swap), mask(of("a"))},
			`[1].microaggregate.columns: "a" depends on mask [0], a swap, which looks at all records in the same pass`},
		{[]Spec{mask(of("b")), mask(swap)},
			`[1].swap.scope: must be window, got "dataset": "b" depends on mask [0], a microaggregate`},
		{[]Spec{mask(of("a")), mask(by)},
			`[1].microaggregate.columns: "a" depends on mask [0], a microaggregate of the same scope`},
		{[]Spec{mask(of("d")), mask(window), mask(of("a"))},
			`[2].microaggregate.columns: "a" depends on mask [0], a microaggregate of the same scope`},
	} {
		ps := CheckSpecs(tt.masks)
		switch {
		case tt.want == "" && len(ps) > 0:
			t.Errorf("%v", ps)
		case tt.want != "" && (len(ps) == 0 || !strings.HasPrefix(ps[0].Error(), tt.want)):
			t.Errorf("got %v, want %s", ps, tt.want)
		}
	}
}
