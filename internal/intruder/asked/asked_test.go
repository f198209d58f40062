package asked

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
)

// TestFormula: terms, their order and what is refused.
func TestFormula(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a", "a"},
		{" ~a+ b ", "a + b"},
		{"a + b + c + a:b", "a + b + c + a:b"},
		{"a:b + a + b", "a:b + a + b"},
		{"a + b + a:b + b:a", "a + b + a:b"},
		{"a*b*c", "a + b + c + a:b + a:c + b:c + a:b:c"},
		{"a*b + c", "a + b + a:b + c"},
		{"`a b` + `c:d` + `a b`:`c:d`", "`a b` + `c:d` + `a b`:`c:d`"},
		{"größe + x.1", "größe + x.1"},
	} {
		f, err := ParseFormula(c.text)
		if err != nil || f.String() != c.want {
			t.Errorf("%q: %q, %v", c.text, f, err)
			continue
		}
		if again, err := ParseFormula(f.String()); err != nil || again.String() != c.want {
			t.Errorf("%q again: %q, %v", c.text, again, err)
		}
	}
	for _, text := range []string{"", "~", "+", "a +", "+ a", "a:", "a + b + a:b*c", "a*b:c", "a + a:b", "a:b + b", "a^2",
		"(a + b)", "a + `b", "a:a + a", "a | b", "a b:"} {
		if f, err := ParseFormula(text); err == nil {
			t.Errorf("%q is read as %q", text, f)
		}
	}
}

// What a formula has: terms in any order of their variables, the variables, and whether there are interactions.
func TestWhatAFormulaHas(t *testing.T) {
	f, err := ParseFormula("b + a + a:b")
	if err != nil || !f.Has([]string{"b", "a"}) || !f.Has([]string{"a"}) || f.Has([]string{"c"}) ||
		f.Has([]string{"a", "b", "c"}) {
		t.Errorf("%v, %v", f, err)
	}
	if !slices.Equal(f.Variables(), []string{"b", "a"}) || !f.Interactions() {
		t.Errorf("%v: %v, %v", f, f.Variables(), f.Interactions())
	}
	if m := MainEffects([]string{"b", "a"}); m.String() != "b + a" || m.Interactions() {
		t.Errorf("main effects: %v", m)
	}
}

// Each model has the name that a configuration gives it; what is none has no name of one.
func TestNamesOfModels(t *testing.T) {
	for i, want := range []string{"default", "ce", "pml", "weighted", "ipf"} {
		if Model(i).String() != want {
			t.Errorf("%d: %v", i, Model(i))
		}
	}
	for _, m := range []Model{-1, IPF + 1} {
		if slices.Contains(Models, m.String()) {
			t.Errorf("%d is %v", int(m), m)
		}
	}
}

// Numbers below a bound, at it and above it; a k that is there twice; and what is no number.
func TestChecks(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		part interface{ Check() check.Problems }
		want string // paths of the problems
	}{
		{&Section{Targets: 0}, "targets"}, {&Section{Targets: 1}, ""}, {&Section{Targets: 1e9}, ""},
		{&Section{Targets: 1e9 + 1}, "targets"},
		{&Section{Targets: 1, Interval: []float64{}}, "interval"},
		{&Section{Targets: 1, Interval: []float64{0, 0.1, 0.1, nan}}, "interval[0] interval[2] interval[3]"},
		{&Bayes{Threshold: -0.1}, "threshold"}, {&Bayes{}, ""}, {&Bayes{Threshold: 0.99}, ""},
		{&Bayes{Threshold: 1}, "threshold"}, {&Bayes{Threshold: nan}, "threshold"},
		{&Prior{0.49, 1}, "shape"}, {&Prior{0.5, 1}, ""}, {&Prior{1e6, 1}, ""}, {&Prior{1e6 + 1, 1}, "shape"},
		{&Prior{1, 0}, "scale"}, {&Prior{nan, nan}, "shape scale"},
		{&Uniqueness{Alpha: -0.1}, "alpha"}, {&Uniqueness{Alpha: 1}, ""}, {&Uniqueness{Alpha: 1.1}, "alpha"},
		{&Uniqueness{K: []int{1, 2, math.MaxInt32, math.MaxInt32 + 1}}, "k[0] k[3]"},
		{&Uniqueness{K: []int{2, 3, 2}}, "k[2]"},
		{&Attribute{-0.1}, "within"}, {&Attribute{0}, ""}, {&Attribute{nan}, "within"},
		{&Regression{Level: 0}, "level"}, {&Regression{Level: 0.5}, ""}, {&Regression{Level: 1}, "level"},
		{&Regression{Level: nan}, "level"},
	} {
		var paths []string
		for _, p := range c.part.Check() {
			paths = append(paths, p.Path)
		}
		if got := strings.Join(paths, " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.part, got, c.want)
		}
	}
}

// A section with any part names it, by the name in the file.
func TestPartsOfASection(t *testing.T) {
	if (*Section)(nil).Named() || (&Section{Targets: 5, Categorical: []string{"a"}, Count: CountReleased}).Named() {
		t.Error("no part is named")
	}
	for name, s := range map[string]*Section{
		"linkage": {Linkage: &Linkage{}}, "bayes": {Bayes: &Bayes{}}, "uniqueness": {Uniqueness: &Uniqueness{}},
		"population": {Population: &Population{}},
		"interval":   {Interval: []float64{}}, "utility": {Utility: &Utility{}}, "attribute": {Attribute: &Attribute{}},
		"inversion": {Inversion: true},
	} {
		if !s.Named() || !s.IsSet(name) || s.IsSet("targets") || s.IsSet("no such") {
			t.Errorf("%s: %v, %v", name, s.Named(), s.IsSet(name))
		}
	}
	of := &Population{Model: "weighted", Formula: "a*b"}
	if of.Fit() != Weighted || of.Terms([]string{"c"}).String() != "a + b + a:b" ||
		(&Population{}).Terms([]string{"c"}).String() != "c" {
		t.Errorf("%v, %v", of.Fit(), of.Terms(nil))
	}
}
