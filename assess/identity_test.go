package assess

import (
	"math"
	"strings"
	"testing"
)

func TestRulesAboutRespondents(t *testing.T) {
	k := func(v int) *int { return &v }
	nan := Float(math.NaN())
	found := &Identity{Linked: 0.04, CorrectLinks: 12, MinK: 5, MaxIndividualRisk: 0.09}
	for _, c := range []struct {
		name   string
		rule   Rule
		id     *Identity
		passed bool
		want   string
	}{
		{"linked", Rule{MaxLinked: ptr(0.04)}, found, true, ""},
		{"linked more", Rule{MaxLinked: ptr(0.039)}, found, false, "mask the keys"},
		{"links", Rule{MaxCorrectLinks: ptr(12)}, found, true, ""},
		{"more links", Rule{MaxCorrectLinks: ptr(11)}, found, false, "mask the keys more"},
		{"k", Rule{MinK: k(5)}, found, true, ""},
		{"a greater k", Rule{MinK: k(6)}, found, false, "recode"},
		{"risk", Rule{MaxIndividualRisk: ptr(0.09)}, found, true, ""},
		{"more risk", Rule{MaxIndividualRisk: ptr(0.08)}, found, false, "recode"},
		{"not measured", Rule{MaxLinked: ptr(1)}, &Identity{Linked: nan}, false, "not measured"},
		{"a sample", Rule{MinK: k(2)}, &Identity{MinK: nan, Sampled: true}, false, "assess.sample: all"},
		{"nothing measured", Rule{MinK: k(2)}, nil, false, "not measured"},
		{"nothing measured", Rule{MaxIndividualRisk: ptr(1)}, nil, false, "not measured"},
	} {
		if ps := c.rule.Check(); len(ps) > 0 {
			t.Fatalf("%s: %v", c.name, ps)
		}
		v := Judge([]Rule{c.rule}, &Measures{Identity: c.id})
		if v.Passed != c.passed || v.Rules[0].Passed != c.passed || !strings.Contains(v.Rules[0].Advice, c.want) ||
			(v.Rules[0].Advice == "") != c.passed {
			t.Errorf("%s: %+v, want %v", c.name, v.Rules[0], c.passed)
		}
	}
	for recovered, passed := range map[int64]bool{0: true, 1: false} {
		if v := Judge(nil, &Measures{Identity: &Identity{Inverted: &recovered}}); v.Passed != passed {
			t.Errorf("%d values computed back: passed %v", recovered, v.Passed)
		}
	}
	for name, r := range map[string]Rule{
		"column":              {Column: "wage", MaxLinked: ptr(0.1)},
		"target":              {Target: "max", MinK: k(3)},
		"knowledge":           {Knowledge: "index", MaxIndividualRisk: ptr(0.1)},
		"max_linked":          {MaxLinked: ptr(1.1)},
		"max_individual_risk": {MaxIndividualRisk: ptr(math.NaN())},
		"max_correct_links":   {MaxCorrectLinks: ptr(-1)},
		"min_k":               {MinK: k(1)},
		"":                    {MinK: k(3), MaxLinked: ptr(0.1)},
	} {
		if ps := r.Check(); len(ps) != 1 || ps[0].Path != name {
			t.Errorf("%q: %v", name, ps)
		}
	}
}

func TestPairs(t *testing.T) {
	const n = 500
	key := testKey(t)
	for _, sample := range []int{-1, 100} {
		a := newAccumulator(t,
			Options{Columns: []Column{{Name: "wage", Masked: true}}, Carry: []int{2}, Sample: sample, Key: key})
		b := wages(t, key, 0, n)
		b.Columns[0].Mutable().Values[7] = 1
		a.Add(b)
		p := a.Pairs()
		want := n
		if sample > 0 {
			want = sample
		}
		if len(p.Original[0]) != want || len(p.Released[0]) != want || len(p.Carried[0]) != want || p.Records != n ||
			p.Complete != (sample < 0) {
			t.Fatalf("sample %d: %d pairs of %d, complete %v", sample, len(p.Original[0]), p.Records, p.Complete)
		}
		if sample < 0 {
			fresh := wages(t, key, 0, n)
			for i, x := range fresh.Columns[0].Original.Values {
				y := x
				if i == 7 {
					y = 1
				}
				if p.Original[0][i] != x || p.Released[0][i] != y || p.Carried[0][i] != Code(&fresh.Columns[2], i) {
					t.Fatalf("record %d differs from the added one", i)
				}
			}
		}
	}
}
