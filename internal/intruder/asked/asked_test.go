package asked

import (
	"slices"
	"testing"
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
	for _, text := range []string{"", "~", "+", "a +", "+ a", "a:", "a + b + a:b*c", "a*b:c", "a + a:b", "a:b + b", "a^2", "(a + b)", "a + `b", "a:a + a", "a | b", "a b:"} {
		if f, err := ParseFormula(text); err == nil {
			t.Errorf("%q is read as %q", text, f)
		}
	}
}

// What a formula has: terms in any order of their variables, the variables, and whether there are interactions.
func TestWhatAFormulaHas(t *testing.T) {
	f, err := ParseFormula("b + a + a:b")
	if err != nil || !f.Has([]string{"b", "a"}) || !f.Has([]string{"a"}) || f.Has([]string{"c"}) || f.Has([]string{"a", "b", "c"}) {
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
