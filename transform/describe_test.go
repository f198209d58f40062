package transform

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// filled contains one mask of each kind with all its parameters.
var filled = map[string]Params{
	"sample": &Sample{Rate: ptr(0.25), By: "k", Rates: map[string]float64{"x": 0.5}},
	"bias":   &Bias{Columns: []string{"a"}, Range: ptr(0.3)},
	"noise": &Noise{Columns: []string{"a"}, SD: percent(25), Distribution: "laplace",
		Tiers: []Tier{{Above: ptr(50.0), VarianceFactor: ptr(4.0)}}},
	"truncate": &Truncate{Columns: []string{"a"}, Lower: ptr(10.0), Upper: ptr(90.0), Mode: "redraw"},
	"round":    &Round{Columns: []string{"a"}, Decimals: ptr(-1)},
	"swap": &Swap{Keys: []string{"k", "l"}, Attribute: "r", Columns: []string{"a", "b"}, Rate: ptr(0.3),
		Policy: "random", Scope: "dataset"},
	"rankswap": &RankSwap{Columns: []string{"a", "b"}, P: ptr(0.05), MinCorrelation: ptr(0.9), Bottom: ptr(0.03),
		Top: ptr(0.04), Least: ptr(4), Share: ptr(0.7)},
	"synthesise": &Synthesise{Columns: []string{"a", "b"}, On: []string{"k"}, By: []string{"l"},
		Categories: []string{"b"}, Method: "cart", Leaf: ptr(15), Bounds: "none", Rules: []string{"a = 0 if k < 2"},
		HeldOut: ptr(0.2), Copy: ptr(2)},
	"shuffle": &Shuffle{Columns: []string{"a", "b"}, On: []string{"k", "l"}},
	"microaggregate": &Microaggregate{Columns: []string{"a", "b"}, K: ptr(7), Method: "mdav", Aggregate: "median",
		By: []string{"k"}, Least: ptr(4), Share: ptr(0.7)},
	"topcode": &Topcode{Columns: []string{"a"}, Lower: ptr(10.0), Upper: ptr(90.0), Replace: "bound", Least: ptr(4),
		Share: ptr(0.7)},
	"recode":    &Recode{Columns: []string{"a"}, Breaks: []float64{0, 10, 50}, Midpoints: true, Other: ptr("0")},
	"pseudonym": &Pseudonym{Columns: []string{"a"}, Scope: "person", Form: "digits", Length: ptr(17)},
	"date":      &Date{Columns: []string{"a"}, Round: "quarter", Zone: "Europe/Vienna", Unit: "seconds"},
	"donut": &Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(100.0), Most: ptr(900.0),
		KLeast: ptr(5), KMost: ptr(20), File: "f.csv"},
	"suppress": &Suppress{Keys: []string{"a", "b"}, K: ptr(7), Combinations: ptr(2),
		Importance: map[string]float64{"b": 3}, Missing: "none", MaxShare: ptr(0.3)},
	"recordswap": &RecordSwap{Hierarchy: []string{"a", "b"}, Carry: []string{"c"}, Risk: []string{"k", "l"}, K: ptr(4),
		Rate: ptr(0.1), Similar: [][]string{{"m", "l"}, {"m"}}, MaxLeft: ptr(0.05)},
	"calibrate": &Calibrate{Columns: []string{"a"}, By: []string{"k"}, On: []string{"l"},
		Margins: map[string]map[string]float64{"m": {"x": 2}}, Totals: map[string]float64{"n": 3}, Lower: ptr(0.3),
		Upper: ptr(3.0), Least: ptr(4), Share: ptr(0.7)},
	"pram": &PRAM{Columns: []string{"a"}, Keep: ptr(0.8), Categories: []string{"1", "2"}, Invariant: true,
		Frequencies: map[string]float64{"1": 3, "2": 5}, Other: ptr("1")},
}

// TestEveryMaskSaysAllOfItself: each mask must implement all descriptions. If one is missing, the
// program hides or refuses something, although the user's configuration is correct.
func TestEveryMaskSaysAllOfItself(t *testing.T) {
	// a map varies these only on request
	noAxis := []string{"sample", "truncate", "round", "recode", "topcode", "shuffle", "pseudonym", "date", "donut",
		"calibrate"}
	for _, k := range Kinds() {
		p := filled[k.Name]
		if p == nil {
			t.Errorf("%s: not in this test", k.Name)
			continue
		}
		if ScopeOf(p) == ScopeUndeclared {
			t.Errorf("%s: does not declare its scope", k.Name)
		}
		if _, ok := MapAxis(p); ok == slices.Contains(noAxis, k.Name) {
			t.Errorf("%s: describes an axis: %v", k.Name, ok)
		}
		if ActionOf(p, "a", 20) == nil {
			t.Errorf("%s: does not describe its action", k.Name)
		}
		if PublishingKind(k.Name) == nil {
			t.Errorf("%s: does not describe what may be published", k.Name)
		}
		for _, c := range ReadColumnsOf(p) {
			if c.Field == "" {
				t.Errorf("%s: does not declare the field that names %s", k.Name, c.Name)
			}
		}
		// Every configured field is a parameter of the report, except the columns, which the report
		// lists separately.
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("yaml")
			if name == "columns" || v.Field(i).IsZero() {
				continue
			}
			if !slices.ContainsFunc(ParametersOf(p), func(q Parameter) bool { return q.Name == name }) {
				t.Errorf("%s: does not declare its parameter %s", k.Name, name)
			}
			if a, ok := v.Field(i).Interface().(*Amount); ok && a.Relative {
				if field, columns := RelativeTo(p); field != name || !slices.Equal(columns, p.Masks()) {
					t.Errorf("%s: %s refers to a standard deviation, but the description is %q, %v", k.Name, name, field, columns)
				}
			}
		}
	}
}

// The report names the strata of pram, if there are any.
func TestStrataOfPRAMAreSaid(t *testing.T) {
	p := *filled["pram"].(*PRAM)
	for _, by := range [][]string{nil, {"k"}, {"k", "l"}} {
		p.By = by
		var described any
		for _, q := range ParametersOf(&p) {
			if q.Name == "by" {
				described = q.Value
			}
		}
		if by == nil && described != nil || by != nil && !reflect.DeepEqual(described, core.JsonWords(by)) {
			t.Errorf("by %q: described as %v", by, described)
		}
	}
}

// Every column that a mask reads is said, with where its parameters name it: the first and the
// last of each list.
func TestColumnsReadAreSaidWithTheirPlace(t *testing.T) {
	two := []string{"k", "l"}
	for _, m := range []struct {
		mask Params
		want []ReadColumn
	}{
		{&PRAM{By: two}, []ReadColumn{{Field: "by[0]", Name: "k", As: "a stratum"}, {Field: "by[1]", Name: "l",
			As: "a stratum"}}},
		{&Microaggregate{By: two}, []ReadColumn{{Field: "by[0]", Name: "k", As: "a stratum"}, {Field: "by[1]", Name: "l",
			As: "a stratum"}}},
		{&Sample{By: "k"}, []ReadColumn{{Field: "by", Name: "k", As: "strata of a sample"}}},
		{&Sample{}, nil},
		{&Shuffle{On: two}, []ReadColumn{{Field: "on[0]", Name: "k", As: "what a shuffle goes by"}, {Field: "on[1]",
			Name: "l", As: "what a shuffle goes by"}}},
		{&Swap{Keys: two, Attribute: "r"},
			[]ReadColumn{{Field: "keys[0]", Name: "k", As: "a swapping key"}, {Field: "keys[1]", Name: "l",
				As: "a swapping key"},
				{Field: "attribute", Name: "r", As: "a swapping attribute"}}},
		{&Synthesise{On: two, By: []string{"r", "s"}},
			[]ReadColumn{{Field: "on[0]", Name: "k", As: "what a model goes by"}, {Field: "on[1]", Name: "l",
				As: "what a model goes by"},
				{Field: "by[0]", Name: "r", As: "a stratum"}, {Field: "by[1]", Name: "s", As: "a stratum"}}},
		{&Noise{Columns: two}, nil},
	} {
		if got := ReadColumnsOf(m.mask); !slices.Equal(got, m.want) {
			t.Errorf("%+v: %v, want %v", m.mask, got, m.want)
		}
	}
}

// TestPublishedActionIsTheAction: if all parameters are published, the published action equals the
// action. The action and its text contain no number that is not published.
func TestPublishedActionIsTheAction(t *testing.T) {
	for kind, p := range filled {
		var all []string
		for _, q := range ParametersOf(p) {
			all = append(all, q.Name)
		}
		of := PublishingKind(kind)
		want := ActionOf(p, "a", 20)
		if e, ok := want.(Exchange); ok { // the other fields are internal to the report, or of no use to users
			want = Exchange{Keys: e.Keys, Attribute: e.Attribute, Rate: e.Rate}
		}
		// What is made of each category is for the intruder who has the configuration.
		switch a := want.(type) {
		case Recoding:
			want = Recoding{Breaks: a.Breaks, Midpoints: a.Midpoints}
		case Randomising:
			a.Other = nil
			want = a
		}
		if got := of.PublishedAction(published(p, 20, append(all, "base", "upper", "lower", "tiers")...),
			"a"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
		for _, name := range all {
			var rest []string
			for _, other := range all {
				if other != name && !(kind == "bias") { // φ and range can be computed from each other
					rest = append(rest, other)
				}
			}
			without := published(p, 20, rest...)
			text := of.Words(without, "a")
			words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ;,:", r) })
			for _, hidden := range map[string][]string{
				"sd": {"5"}, "tiers": {"50", "4"}, "phi": {"0.1"}, "range": {"0.1", "0.3"}, "lower": {"10"}, "upper": {"90"},
				"decimals": {"10"}, "rate": {"0.3"}, "attribute": {"r"}, "keys": {"k", "l"}, "distribution": {"laplace"},
				"mode": {"drawn"},
				"p":    {"5"}, "bottom": {"3", "lowest"}, "top": {"4", "highest"},
				"k": {"7"}, "round": {"quarter"}, "method": {"mdav", "(MDAV)"}, "aggregate": {"median"},
			}[name] {
				if slices.Contains(words, hidden) {
					t.Errorf("%s without %s: %q", kind, name, text)
				}
			}
			if a, ok := of.PublishedAction(without, "a").(Addition); ok && (name == "sd" || name == "tiers") && a.SD == a.SD {
				t.Errorf("%s without %s: λ is treated as known", kind, name)
			}
		}
	}
}

// TestEfficiencyFollows: an efficiency is published only if everything that it reveals is
// published.
func TestEfficiencyFollows(t *testing.T) {
	for _, c := range []struct {
		kind       string
		has, named []string
		want       bool
	}{
		{"noise", []string{"sd", "distribution"}, nil, false},
		{"noise", []string{"sd", "distribution"}, []string{"distribution"}, false},
		{"noise", []string{"sd", "distribution"}, []string{"sd"}, true},
		{"noise", []string{"sd", "tiers"}, []string{"sd"}, false},
		{"noise", []string{"sd", "tiers"}, []string{"tiers"}, false},
		{"noise", []string{"sd", "tiers"}, []string{"sd", "tiers"}, true},
		{"bias", []string{"phi"}, nil, false},
		{"bias", []string{"phi"}, []string{"phi"}, true},
		{"bias", []string{"range", "phi"}, []string{"range"}, true},
		{"truncate", []string{"lower", "mode"}, []string{"mode"}, false},
		{"truncate", []string{"lower", "mode"}, []string{"lower"}, true},
		{"truncate", []string{"lower", "upper"}, []string{"lower"}, false},
		{"truncate", []string{"lower", "upper"}, []string{"upper"}, false},
		{"truncate", []string{"lower", "upper"}, []string{"lower", "upper"}, true},
		{"round", []string{"base"}, []string{"decimals"}, false},
		{"round", []string{"base"}, []string{"base"}, true},
		{"round", []string{"decimals"}, nil, false},
		{"swap", []string{"rate"}, nil, true},
		{"rankswap", []string{"p"}, nil, true},
		{"rankswap", []string{"p", "bottom"}, []string{"p", "top"}, false},
		{"rankswap", []string{"p", "top"}, []string{"bottom"}, false},
		{"rankswap", []string{"p", "bottom", "top"}, []string{"bottom", "top"}, true},
		{"microaggregate", []string{"k"}, []string{"method"}, false},
		{"microaggregate", []string{"k", "method"}, []string{"k"}, true},
	} {
		in := func(list []string) func(string) bool {
			return func(name string) bool { return slices.Contains(list, name) }
		}
		if got := PublishingKind(c.kind).EfficiencyFollows(in(c.has), in(c.named)); got != c.want {
			t.Errorf("%s with %v, named %v: %v", c.kind, c.has, c.named, got)
		}
	}
}

// TestActionsWithoutParameters: a mask that Check refuses describes no action, rather than a wrong
// one.
func TestActionsWithoutParameters(t *testing.T) {
	for _, k := range Kinds() {
		switch a := ActionOf(k.New(), "a", 1).(type) {
		case nil:
		case Bounding:
			if !math.IsInf(a.Lower, -1) || !math.IsInf(a.Upper, 1) {
				t.Errorf("%s: %+v", k.Name, a)
			}
		default:
			t.Errorf("%s: %+v", k.Name, a)
		}
	}
}

// TestBoundThatIsNotPublished: the absence of a bound is published only if bounds of that side are
// published.
func TestBoundThatIsNotPublished(t *testing.T) {
	below := &Truncate{Columns: []string{"a"}, Lower: ptr(10.0)}
	for _, c := range []struct {
		named        []string
		lower, upper float64
	}{
		{nil, math.NaN(), math.NaN()},
		{[]string{"lower"}, 10, math.NaN()},
		{[]string{"upper"}, math.NaN(), math.Inf(1)},
		{[]string{"lower", "upper"}, 10, math.Inf(1)},
	} {
		got := PublishingKind("truncate").PublishedAction(published(below, 20, c.named...), "a").(Bounding)
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if !same(got.Lower, c.lower) || !same(got.Upper, c.upper) {
			t.Errorf("published %v: %+v", c.named, got)
		}
	}
}

// No file of the program checks the type of a mask or a step; it uses the description instead.
func TestNothingLooksAtTheTypeOfAMask(t *testing.T) {
	masks := map[string]bool{}
	for _, k := range Kinds() {
		masks[reflect.TypeOf(k.New()).Elem().Name()] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		check := func(at ast.Expr) {
			looked++
			if star, ok := at.(*ast.StarExpr); ok {
				at = star.X
			}
			if name, ok := at.(*ast.Ident); ok && masks[name.Name] {
				t.Errorf("%s looks for a %s", set.Position(at.Pos()), name.Name)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				if n.Type != nil {
					check(n.Type)
				}
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, of := range c.(*ast.CaseClause).List {
						check(of)
					}
				}
			}
			return true
		})
	}
	if looked == 0 {
		t.Error("no assertion was looked at")
	}
}
