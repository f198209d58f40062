package transform

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// examples contain chains for each kind; the mask at the given place has every possible parameter.
// A kind without an example fails the test.
var examples = map[string][]struct {
	at    int
	masks func() []Spec
}{
	"sample": {{0, func() []Spec {
		return []Spec{
			mask(&Sample{Rate: ptr(0.25), By: "c", Rates: map[string]float64{"1": 0.4}}),
			mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a"}, Rate: ptr(0.4), Policy: "random",
				Scope: "window"}),
		}
	}}, {0, func() []Spec {
		return []Spec{
			mask(&Sample{Rate: ptr(0.25), By: "c", Rates: map[string]float64{"1": 0.4}}),
			mask(&RankSwap{Columns: []string{"a", "b"}, P: ptr(0.1)}),
		}
	}}},
	"bias": {
		{0, func() []Spec { return []Spec{mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.1)})} }},
		{0, func() []Spec { return []Spec{mask(&Bias{Columns: []string{"a"}, Range: ptr(0.3)})} }},
	},
	"noise": {{0, func() []Spec {
		return []Spec{
			mask(&Noise{Columns: []string{"a"}, SD: amount(200), Distribution: "laplace",
				Tiers: []Tier{{Above: ptr(300.0), VarianceFactor: ptr(2.0)}, {Above: ptr(900.0), VarianceFactor: ptr(3.0)}}})}
	}}, {0, func() []Spec {
		return []Spec{
			mask(&Noise{Columns: []string{"a", "c", "d"}, SD: percent(20), Distribution: "normal", Correlated: true})}
	}}},
	"truncate": {
		{0, func() []Spec {
			return []Spec{mask(&Truncate{Columns: []string{"a"}, Lower: ptr(100.0), Upper: ptr(500.0), Mode: "clip"})}
		}},
		{1, func() []Spec {
			return []Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(200)}),
				mask(&Truncate{Columns: []string{"a"}, Lower: ptr(100.0), Upper: ptr(500.0), Mode: "redraw"})}
		}},
	},
	"round": {
		{0, func() []Spec { return []Spec{mask(&Round{Columns: []string{"a"}, Decimals: ptr(0)})} }},
		{0, func() []Spec { return []Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(50.0)})} }},
	},
	"rankswap": {{0, func() []Spec {
		return []Spec{
			mask(&RankSwap{Columns: []string{"a", "b"}, P: ptr(0.1), Bottom: ptr(0.1), Top: ptr(0.15), Least: ptr(5),
				Share: ptr(0.9)})}
	}}},
	"date": {{0, func() []Spec {
		return []Spec{mask(&Date{Columns: []string{"a"}, Round: "month", Zone: "Europe/Vienna", Unit: "days"})}
	}}, {0, func() []Spec {
		return []Spec{mask(&Date{Columns: []string{"a"}, Shift: ptr(20), By: "c", Scope: "p", Unit: "days"})}
	}}, {0, func() []Spec {
		return []Spec{
			mask(&Date{Columns: []string{"a"}, Age: ptr("2024-02-28"), Breaks: []float64{0, 30, 54, 60}, Unit: "days"})}
	}}, {0, func() []Spec {
		return []Spec{mask(&Date{Columns: []string{"a"}, Age: ptr("2024-02-28"), Top: ptr(53), Unit: "days"})}
	}}},
	"donut": {{0, func() []Spec {
		return []Spec{mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(2000.0), Most: ptr(5000.0)})}
	}}, {0, func() []Spec {
		return []Spec{
			mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(20.0), KLeast: ptr(5), KMost: ptr(20),
				Records: ptr(true)})}
	}}},
	"pseudonym": {{0, func() []Spec {
		return []Spec{mask(&Pseudonym{Columns: []string{"a"}, Scope: "person", Form: "hex", Length: ptr(20)})}
	}}},
	"suppress": {{1, func() []Spec {
		return []Spec{
			hundreds,
			mask(&Suppress{Keys: []string{"a", "c"}, K: ptr(4), Combinations: ptr(1), Importance: map[string]float64{"a": 2},
				Missing: "any", MaxShare: ptr(1.0)})}
	}}},
	"shuffle": {{0, func() []Spec {
		return []Spec{mask(&Shuffle{Columns: []string{"a", "b"}, On: []string{"c", "d"}})}
	}}},
	"synthesise": {{1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Synthesise{Columns: []string{"b", "a"}, On: []string{"c"}, By: []string{"e"}, Categories: []string{"c"},
				Copy: ptr(3)})}
	}}, {1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Synthesise{Columns: []string{"b", "a"}, On: []string{"c"}, By: []string{"e"}, Categories: []string{"c"},
				Copies: ptr(3)})}
	}}, {1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Synthesise{Columns: []string{"b", "a"}, On: []string{"c"}, Categories: []string{"c"}, HeldOut: ptr(0.25),
				Rules: []string{"a = 100 if c < 2", "b = 1000 if c = 5"}})}
	}}, {1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Synthesise{Columns: []string{"b", "a"}, On: []string{"c"}, Method: "normal", Bounds: "none"})}
	}}, {1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Synthesise{Columns: []string{"b", "a"}, On: []string{"c"}, Categories: []string{"c"}, Method: "cart",
				Leaf: ptr(12)})}
	}}},
	"microaggregate": {{0, func() []Spec {
		return []Spec{
			mask(&Microaggregate{Columns: []string{"a", "b"}, K: ptr(12), Method: "mdav", Aggregate: "mean", By: []string{"c"},
				Least: ptr(4), Share: ptr(0.9)})}
	}}},
	"topcode": {
		{0, func() []Spec {
			return []Spec{mask(&Topcode{Columns: []string{"a"}, Lower: ptr(100.0), Upper: ptr(500.0), Replace: "bound"})}
		}},
		{0, func() []Spec {
			return []Spec{
				mask(&Topcode{Columns: []string{"a"}, LowerPercentile: ptr(10.0), UpperPercentile: ptr(60.0), Replace: "mean",
					Least: ptr(5), Share: ptr(0.6)})}
		}},
		{0, func() []Spec {
			return []Spec{
				mask(&Topcode{Columns: []string{"a"}, Lower: ptr(100.0), Upper: ptr(500.0), Replace: "label",
					LowerLabel: ptr("few"), UpperLabel: ptr("many")})}
		}},
	},
	"recode": {{1, func() []Spec {
		return []Spec{mask(&Recode{Columns: []string{"a"}, Breaks: []float64{0, 300, 1e9}, Labels: []string{"less", "more"}}),
			mask(&Recode{Columns: []string{"a"}, Prefix: ptr(3)})}
	}},
		{0, func() []Spec {
			return []Spec{
				mask(&Recode{Columns: []string{"a"}, Breaks: []float64{0, 200, 400, 1000}, Midpoints: true, Other: ptr("5000")})}
		}},
		{0, func() []Spec {
			return []Spec{
				mask(&Recode{Columns: []string{"a"}, Breaks: []float64{0, 200, 1000}, Labels: []string{"1", "2"}, Other: ptr("3")})}
		}},
		{1, func() []Spec {
			return []Spec{
				hundreds,
				mask(&Recode{Columns: []string{"a"}, Map: map[string]string{"200": "300", "300": "400"}, Level: ptr(2),
					Other: ptr("5")})}
		}},
		{1, func() []Spec {
			return []Spec{
				hundreds,
				mask(&Recode{Columns: []string{"a"}, File: "f.csv", Table: map[string]string{"200": "300", "300": "400"},
					Other: ptr("5")})}
		}},
	},
	"pram": {
		{1, func() []Spec {
			return []Spec{
				hundreds,
				mask(&PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Frequencies: map[string]float64{"200": 1, "300": 2},
					Invariant: true, Other: ptr("200")})}
		}},
		{1, func() []Spec {
			return []Spec{
				hundreds,
				mask(&PRAM{Columns: []string{"a"}, Keep: ptr(0.5), Categories: []string{"200", "300"}, Other: ptr("300")})}
		}},
		{1, func() []Spec {
			return []Spec{
				hundreds,
				mask(
					&PRAM{Columns: []string{"a"},
						Matrix: map[string]map[string]float64{"200": {"200": 0.5, "300": 0.5}, "300": {"300": 1}}, Other: ptr("300")})}
		}},
	},
	"calibrate": {{1, func() []Spec {
		return []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(1000.0)}),
			mask(&Calibrate{Columns: []string{"a"}, By: []string{"d"}, On: []string{"b"}, Lower: ptr(0.2), Upper: ptr(5.0),
				Least: ptr(4), Share: ptr(0.7)})}
	}}, {1, func() []Spec {
		return []Spec{
			mask(&Recode{Columns: []string{"c"}, Map: map[string]string{"0": "200", "1": "200"}, Other: ptr("300")}),
			mask(
				&Calibrate{Columns: []string{"a"}, Margins: map[string]map[string]float64{"c": {"200": 40_000, "300": 60_000}}})}
	}}, {0, func() []Spec {
		return []Spec{mask(&Calibrate{Columns: []string{"a"}, Totals: map[string]float64{"b": 1e8}})}
	}}},
	"recordswap": {{0, func() []Spec {
		return []Spec{
			mask(&RecordSwap{Hierarchy: []string{"a"}, Carry: []string{"e"}, Risk: []string{"c"}, K: ptr(2), Rate: ptr(0.4),
				Similar: [][]string{{"d"}}, MaxLeft: ptr(1.0)})}
	}}},
	"swap": {{0, func() []Spec {
		return []Spec{
			mask(&Swap{Keys: []string{"c"}, Attribute: "d", Columns: []string{"a"}, Rate: ptr(0.4), Policy: "random",
				Scope: "window"})}
	}}},
}

// hundreds turns incomes into categories.
var hundreds = mask(&Round{Columns: []string{"a"}, Base: ptr(100.0)})

// variants returns other values that a field can have.
func variants(t *testing.T, f reflect.StructField, v reflect.Value) (others []reflect.Value) {
	add := func(x any) { others = append(others, reflect.ValueOf(x)) }
	switch x := v.Interface().(type) {
	case *float64:
		if x == nil {
			return []reflect.Value{reflect.ValueOf(ptr(0.2)), reflect.ValueOf(ptr(700.0))}
		}
		add((*float64)(nil))
		add(ptr(*x / 2))
		add(ptr(*x * 1.5))
	case *int:
		if x == nil {
			return []reflect.Value{reflect.ValueOf(ptr(1))}
		}
		add(ptr(*x + 1))
		add(ptr(*x - 2))
	case *Amount:
		add(&Amount{Value: x.Value * 1.01, Relative: false})
		add(&Amount{Value: 0.35, Relative: true})
	case string:
		if f.Name == "Where" {
			add("a > 300")
			add("a <= 300 and a != 200")
			add("c < 2")
			add("a > 300 and c < 2")
			break
		}
		words := strings.Split(f.Tag.Get("enum"), ",")
		if words[0] == "" {
			words = []string{"e", "c"}
		}
		for _, w := range append(words, "") {
			if w != x {
				add(w)
			}
		}
	case []string:
		for _, name := range []string{"b", "e", "12300"} {
			add(append(slices.Clone(x), name))
		}
		add([]string{"e"})
		add([]string{"a = 700 if c < 2"}) // a rule
		reversed := slices.Clone(x)
		slices.Reverse(reversed)
		add(reversed)
	case []float64:
		longer := slices.Clone(x)
		for i := range longer {
			longer[i] *= 1.5
		}
		add(longer)
	case bool:
		add(!x)
	case *bool:
		add((*bool)(nil))
	case *string:
		add((*string)(nil))
		add(ptr("2014-06-01"))
		add(ptr("200"))
		add(ptr("300"))
	case map[string]string:
		other := maps.Clone(x)
		for k := range other {
			other[k] = "700"
		}
		add(other)
	case []map[string]string:
		add([]map[string]string{{"200": "700", "300": "700"}})
	case map[string]float64:
		other := maps.Clone(x)
		for k := range other {
			other[k] *= 2
			break
		}
		add(other)
	case map[string]map[string]float64:
		other := map[string]map[string]float64{}
		for k, row := range x {
			other[k] = map[string]float64{"200": 0.2 * row["200"], "300": 1 - 0.2*row["200"]}
		}
		add(other)
	case [][]string:
		add([][]string(nil))
		add(append([][]string{{"b"}}, x...))
		add(append(slices.Clone(x), nil))
		add([][]string{{"b"}})
	case []Tier:
		add([]Tier(nil))
		add(x[:min(1, len(x))])
		for i := range x {
			for k := range reflect.TypeFor[Tier]().NumField() {
				for _, w := range variants(t, reflect.TypeFor[Tier]().Field(k), reflect.ValueOf(x[i]).Field(k)) {
					tiers := slices.Clone(x)
					reflect.ValueOf(&tiers[i]).Elem().Field(k).Set(w)
					add(tiers)
				}
			}
		}
	default:
		t.Fatalf("field %s has type %s: this test has no different values for it", f.Name, f.Type)
	}
	return others
}

// probed is the result of a chain for column a, with the names of the draws that made it and of a
// draw that follows.
type probed struct {
	values []float64
	own    []core.DrawName
	next   string
}

func probe(t *testing.T, setup Setup, columns []testColumn, masks []Spec) (p probed, ok bool) {
	t.Helper()
	c, err := NewChain(masks, setup)
	if err != nil {
		return p, false
	}
	p.own = c.DrawNames
	if c.NeedsSurvey() {
		for from := 0; from < len(columns[0].Values); from += setup.Window {
			if err := c.Survey(block(from, min(from+setup.Window, len(columns[0].Values)), columns...)); err != nil {
				t.Fatal(err)
			}
		}
		if c.EndSurvey() != nil {
			return p, false // the data do not allow it
		}
	}
	p.values = slices.Clone(apply(t, c, block(0, len(columns[0].Values), columns...)).Columns[0].Out().Values)
	next,
		err := NewChain(
		append(slices.Clone(masks), Spec{Name: "probe", Params: &Noise{Columns: []string{"a"}, SD: amount(1)}}), setup)
	if err != nil {
		p.next = c.Lookup("a").Done.Text // released as text, so no noise can be added
		return p, true
	}
	p.next = next.DrawNames[len(next.DrawNames)-1].Done
	return p, true
}

func namingData(n int) []testColumn {
	r := rand.New(rand.NewPCG(77, 1))
	columns := []testColumn{floats(2, incomes(n, 7)...), floats(2, incomes(n, 8)...)}
	for _, k := range []float64{6, 4, 3} {
		c := floats(0, make([]float64, n)...)
		for i := range c.Values {
			c.Values[i] = math.Floor(r.Float64() * k)
		}
		columns = append(columns, c)
	}
	return columns
}

// TestKindsNameTheirParameters changes every field of every kind's parameters: if this changes the
// column before a draw, it must change the name of the draw.
func TestKindsNameTheirParameters(t *testing.T) {
	columns := namingData(500)
	setup := testSetup(t, columns...)
	setup.Window = 100
	setup.Sorted = map[string][]float64{}
	var points []places.Point
	for i := range columns[0].Values {
		points = append(points, places.Point{A: columns[0].Values[i], B: columns[1].Values[i]})
	}
	setup.People = map[PeopleOf]*places.People{}
	for _, weight := range []string{"", "c", "e"} {
		setup.People[PeopleOf{Unit: "metres", A: "a", B: "b", Weight: weight}] = places.NewPeople(places.Metres, points,
			map[string][]float64{"c": columns[2].Values, "e": columns[4].Values}[weight])
	}
	for i := range setup.Columns {
		setup.Sorted[setup.Columns[i].Name] = slices.Sorted(slices.Values(columns[i].Values))
	}
	for _, kind := range Kinds() {
		if len(examples[kind.Name]) == 0 {
			t.Errorf("%s: no example, so it is unknown whether its parameters are in the names of draws", kind.Name)
		}
		varied := map[string]int{}
		for _, example := range examples[kind.Name] {
			base, ok := probe(t, setup, columns, example.masks())
			if !ok {
				t.Fatalf("%s: the example is not valid", kind.Name)
			}
			params := reflect.TypeOf(example.masks()[example.at].Params).Elem()
			for k := range params.NumField() {
				f := params.Field(k)
				if !f.IsExported() {
					continue // no parameter of the configuration
				}
				for _, v := range variants(t, f, reflect.ValueOf(example.masks()[example.at].Params).Elem().Field(k)) {
					masks := example.masks()
					reflect.ValueOf(masks[example.at].Params).Elem().Field(k).Set(v)
					other, ok := probe(t, setup, columns, masks)
					if !ok {
						continue
					}
					varied[f.Name]++
					if slices.Equal(other.values, base.values) {
						continue
					}
					if other.next == base.next {
						t.Errorf("%s.%s = %v: the values differ, but the next draw has the same name: %q", kind.Name, f.Name, v,
							base.next)
					}
					if len(base.own) > 0 && reflect.DeepEqual(base.own, other.own) {
						t.Errorf("%s.%s = %v: the values differ, but the draws have the same name: %v", kind.Name, f.Name, v, base.own)
					}
				}
			}
		}
		for k := range reflect.TypeOf(kind.New()).Elem().NumField() {
			f := reflect.TypeOf(kind.New()).Elem().Field(k)
			if name := f.Name; f.IsExported() && varied[name] == 0 {
				t.Errorf("%s.%s: no different value is valid in an example, so nothing is tested", kind.Name, name)
			}
		}
	}
}

// TestNamesTellTheColumn: data that influence a mask's values are part of the names of draws: given
// statistics, the columns that a swap reads with all their earlier masks, and who drew.
func TestNamesTellTheColumn(t *testing.T) {
	columns := namingData(500)
	base := testSetup(t, columns...)
	base.Window = 100
	noise := mask(&Noise{Columns: []string{"a"}, SD: percent(35)})
	correlated := mask(&Noise{Columns: []string{"a", "b"}, SD: percent(35), Correlated: true})
	swap := func(keys, attribute string) Spec {
		return mask(&Swap{Keys: strings.Split(keys, ""), Attribute: attribute, Columns: []string{"a"}, Rate: ptr(0.4),
			Policy: "random"})
	}
	change := func(f func(s *Setup)) Setup {
		s := base
		s.Columns = slices.Clone(base.Columns)
		f(&s)
		return s
	}
	same := change(func(*Setup) {})
	for _, c := range []struct {
		name        string
		a, b        Setup
		left, right []Spec
		equal       bool
	}{
		{"the same", base, same, []Spec{noise}, []Spec{noise}, true},
		{"decimals", base, change(func(s *Setup) { s.Columns[0].Decimals = 1 }), []Spec{noise}, []Spec{noise}, false},
		{"no decimals", base, change(func(s *Setup) { s.Columns[0].Decimals = -1 }), []Spec{noise}, []Spec{noise}, false},
		{"SD", base, change(func(s *Setup) { s.Columns[0].SD *= 1.01 }), []Spec{noise}, []Spec{noise}, false},
		{"float32", base, change(func(s *Setup) { s.Columns[0].Field.Type = arrow.PrimitiveTypes.Float32 }), nil, nil, false},
		{"a correlation", base, change(func(s *Setup) { s.Correlations = Correlations{{"a", "b"}: 0.5} }), []Spec{correlated},
			[]Spec{correlated}, false},
		{"correlated with a column that is masked", base, same, []Spec{correlated},
			[]Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(5.0)}), correlated}, false},
		{"window", base, change(func(s *Setup) { s.Window = 50 }), []Spec{swap("c", "d")}, []Spec{swap("c", "d")}, false},
		{"window without a swap", base, change(func(s *Setup) { s.Window = 50 }), []Spec{noise}, []Spec{noise}, true},
		{"order of keys", base, same, []Spec{swap("ce", "d")}, []Spec{swap("ec", "d")}, true},
		{"key and attribute", base, same, []Spec{swap("c", "d")}, []Spec{swap("d", "c")}, false},
		{"a key that is masked", base, same, []Spec{mask(&Round{Columns: []string{"c"}, Base: ptr(2.0)}), swap("c", "d")},
			[]Spec{swap("c", "d")}, false},
		{"a swap of the key", base, same,
			[]Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"c"}, Rate: ptr(0.4), Policy: "random"}),
				{Name: "s", Params: swap("c", "d").Params}},
			[]Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"c"}, Rate: ptr(0.5), Policy: "random"}),
				{Name: "s", Params: swap("c", "d").Params}}, false},
		{"other draws before", base, same, []Spec{{Name: "p", Params: noise.Params}},
			[]Spec{{Name: "q", Params: noise.Params}}, false},
		{"another column beside", base, same, []Spec{mask(&Noise{Columns: []string{"b", "a"}, SD: amount(5)})},
			[]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(5)})}, true},
		{"another column before", base, same, []Spec{mask(&Round{Columns: []string{"b"}, Base: ptr(5.0)})}, nil, true},
		{"range and φ", base, same, []Spec{mask(&Bias{Columns: []string{"a"}, Range: ptr(0.375)})},
			[]Spec{mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.125)})}, true},
		{"decimals and base", base, same, []Spec{mask(&Round{Columns: []string{"a"}, Decimals: ptr(-1)})},
			[]Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(10.0)})}, true},
		{"decimals where there is no grid", change(func(s *Setup) { s.Columns[0].Decimals = -1 }),
			change(func(s *Setup) { s.Columns[0].Decimals = -1 }),
			[]Spec{mask(&Round{Columns: []string{"a"}, Decimals: ptr(1)})},
			[]Spec{mask(&Round{Columns: []string{"a"}, Decimals: ptr(0)})}, false},
		{"the default distribution", base, same, []Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(5)})},
			[]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(5), Distribution: "normal"})}, true},
		{"clip outside and inside the grid", base, same, []Spec{mask(&Truncate{Columns: []string{"a"}, Upper: ptr(500.001)})},
			[]Spec{mask(&Truncate{Columns: []string{"a"}, Upper: ptr(500.0)})}, true},
		{"order of masks", base, same,
			[]Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(50.0)}),
				mask(&Truncate{Columns: []string{"a"}, Upper: ptr(480.0)})},
			[]Spec{mask(&Truncate{Columns: []string{"a"}, Upper: ptr(480.0)}),
				mask(&Round{Columns: []string{"a"}, Base: ptr(50.0)})}, false},
		{"last of three", base, same,
			[]Spec{noise, swap("c", "d"), mask(&Truncate{Columns: []string{"a"}, Upper: ptr(480.0)})},
			[]Spec{noise, swap("c", "d"), mask(&Truncate{Columns: []string{"a"}, Upper: ptr(490.0)})}, false},
		{"first of three", base, same,
			[]Spec{mask(&Truncate{Columns: []string{"a"}, Upper: ptr(480.0)}), noise, swap("c", "d")},
			[]Spec{mask(&Truncate{Columns: []string{"a"}, Upper: ptr(490.0)}), noise, swap("c", "d")}, false},
	} {
		left, _ := probe(t, c.a, columns, c.left)
		right, _ := probe(t, c.b, columns, c.right)
		if left.next == "" || right.next == "" {
			t.Errorf("%s: a chain is not valid", c.name)
		}
		if (left.next == right.next) != c.equal {
			t.Errorf("%s: names %q and %q, equal must be %v", c.name, left.next, right.next, c.equal)
		}
	}
}
