package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// A sum that is released gives the values of a masked column exactly, whether its parts are measured columns or
// not; a withheld column gives nothing.
func TestRecordStatesExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 7))
	const n = 800
	var x, y, part, total, other [n]float64
	for i := range n {
		x[i] = math.Round(math.Exp(6 + 0.5*r.NormFloat64()))
		y[i] = math.Round(x[i] + 300*r.NormFloat64())
		part[i] = math.Round(math.Exp(5 + 0.5*r.NormFloat64()))
		total[i], other[i] = x[i]+part[i], float64(r.IntN(1000))
	}
	sd := 300.0
	noise := []transform.Spec{{Params: &transform.Noise{Columns: []string{"x"}, SD: &transform.Amount{Value: sd}}}}
	masked := NumericColumn{Name: "x", Grid: 1, Original: x[:], Released: y[:]}
	as := func(name string, v []float64, withheld bool) NumericColumn {
		return NumericColumn{Name: name, Grid: 1, Original: v, Released: v, Withheld: withheld}
	}
	shown := func(name string, v []float64) BesideColumn { return BesideColumn{Name: name, Released: v} }
	for name, c := range map[string]struct {
		d     Data
		exact bool
	}{
		"measured": {Data{Numeric: []NumericColumn{as("part", part[:], false), masked, as("total", total[:], false)}},
			true},
		"shown": {
			Data{Numeric: []NumericColumn{masked}, Shown: []BesideColumn{shown("total", total[:]), shown("part", part[:])}},
			true},
		"one of each": {
			Data{Numeric: []NumericColumn{masked, as("part", part[:], false)}, Shown: []BesideColumn{shown("total", total[:])}},
			true},
		"withheld": {
			Data{Numeric: []NumericColumn{masked, as("part", part[:], true)}, Shown: []BesideColumn{shown("total", total[:])}},
			false},
		"unrelated": {
			Data{Numeric: []NumericColumn{masked}, Shown: []BesideColumn{shown("other", other[:]), shown("part", part[:])}},
			false},
		"nothing beside": {Data{Numeric: []NumericColumn{masked}}, false},
	} {
		result, err := Run(t.Context(), c.d, Options{Inversion: &Inversion{Masks: noise}})
		if err != nil {
			t.Fatal(err)
		}
		e := result.Inversion.Columns[0].Exact[0]
		passed := e.Found <= *e.Limit
		if c.exact && (e.Realised != 1 || e.Found < 0.99) || passed == c.exact {
			t.Errorf("%s: %+v, limit %v", name, e, *e.Limit)
		}
	}
	d := Data{Numeric: []NumericColumn{masked}, Shown: []BesideColumn{shown("total", total[:]), shown("part", part[:])}}
	for name, alone := range map[string]bool{"x": true, "part": false} {
		result, err := Run(t.Context(), d, Options{Inversion: &Inversion{Masks: noise, Alone: map[string]bool{name: true}}})
		if err != nil {
			t.Fatal(err)
		}
		if e := result.Inversion.Columns[0].Exact[0]; e.Found <= *e.Limit != alone {
			t.Errorf("%s alone: %+v, limit %v", name, e, *e.Limit)
		}
	}
	if _, err := Run(t.Context(), Data{Numeric: []NumericColumn{masked}, Shown: []BesideColumn{shown("short", part[1:])}},
		Options{Inversion: &Inversion{Masks: noise}}); err == nil {
		t.Error("a column of fewer records is accepted")
	}
}

// TestColumnsThatAreNotAttackedTell: a part that is masked, and of which nothing is to be stated, follows from its
// logarithm, and with a total it tells the other part; whether its rule is about it alone or its masks cannot be undone.
func TestColumnsThatAreNotAttackedTell(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 8))
	const n = 800
	var x, y, part, noisy, total, log [n]float64
	for i := range n {
		x[i] = math.Round(math.Exp(6 + 0.5*r.NormFloat64()))
		y[i] = math.Round(x[i] + 300*r.NormFloat64())
		part[i] = math.Round(math.Exp(5 + 0.5*r.NormFloat64()))
		noisy[i] = math.Round(part[i] + 100*r.NormFloat64())
		total[i], log[i] = x[i]+part[i], math.Round(1e5*math.Log(part[i]))/1e5
	}
	noise := transform.Spec{Params: &transform.Noise{Columns: []string{"x"}, SD: &transform.Amount{Value: 300}}}
	other := transform.Spec{Params: &transform.Noise{Columns: []string{"part"}, SD: &transform.Amount{Value: 100}}}
	upper := 400.0
	bounded := transform.Spec{Params: &transform.Topcode{Columns: []string{"part"}, Upper: &upper, Replace: "mean"}}
	numbers := []NumericColumn{{Name: "x", Grid: 1, Original: x[:], Released: y[:]},
		{Name: "part", Grid: 1, Original: part[:], Released: noisy[:]}}
	for name, o := range map[string]Inversion{
		"alone":        {Masks: []transform.Spec{noise, other}, Alone: map[string]bool{"part": true}},
		"not undone":   {Masks: []transform.Spec{noise, bounded}, Unasked: true},
		"not at all":   {Masks: []transform.Spec{noise, other}, Alone: map[string]bool{"x": true}},
		"attacked too": {Masks: []transform.Spec{noise, other}},
	} {
		for _, list := range [][]NumericColumn{numbers, {numbers[1], numbers[0]}} {
			d := Data{Numeric: list,
				Shown: []BesideColumn{{Name: "total", Released: total[:]}, {Name: "log", Released: log[:]}}}
			result, err := Run(t.Context(), d, Options{Inversion: &o})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range result.Inversion.Columns {
				if e := c.Exact[0]; c.Name == "x" && (e.Realised == 1) != (name != "not at all") {
					t.Errorf("%s: %+v", name, e)
				}
			}
		}
	}
}
