package assess

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Released values equal to the original are counted over all records, for any division into blocks,
// without nulls and rejected records.
func TestUnchangedIsCounted(t *testing.T) {
	table := makePairs(7, 9000, true)
	rng := rand.New(rand.NewPCG(1, 2))
	want := [3]int64{}
	for i := range table.x[0] {
		for c := range want {
			if rng.IntN(40) == 0 {
				table.y[c][i] = table.x[c][i]
			}
			if !table.rejected[i] && table.x[c][i] == table.y[c][i] { // NaN if missing
				want[c]++
			}
		}
	}
	o := testOptions(t)
	whole, parts := newAccumulator(t, o), newAccumulator(t, o)
	whole.Add(table.block(0, 9000))
	for from := 0; from < 9000; {
		to := min(9000, from+1+rng.IntN(700))
		part := newAccumulator(t, o)
		part.Add(table.block(from, to))
		if err := parts.Merge(part); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	data, err := parts.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := newAccumulator(t, o)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*Accumulator{"whole": whole, "parts": parts, "again": again} {
		m, err := a.Measure(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for c := range want {
			if got := m.Columns[c].Unchanged; got == nil || *got != want[c] || want[c] == 0 {
				t.Errorf("%s: column %d: %v unchanged, want %d", name, c, got, want[c])
			}
		}
		if m.Columns[3].Unchanged != nil {
			t.Errorf("%s: a column that no mask changes counts %d", name, *m.Columns[3].Unchanged)
		}
		if m.Columns[0].UnchangedExplained != nil || m.Columns[0].UnchangedExcess {
			t.Errorf("%s: without a law, unchanged values must not be explained", name)
		}
	}
}

// A release that follows the law is not reported, and one with slightly more unchanged values is.
// The bound on false alarms is Bernstein's, 1e-6 per column: none in 3,000 releases.
func TestExcessIsToldFromLuck(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, n := range []int{1, 3, 50, 2000, 300_000} {
		for _, p := range []float64{1e-5, 0.01, 0.38, 0.5, 1} {
			mean, variance := float64(n)*p, float64(n)*p*(1-p)
			for range 120 {
				count := 0.0
				if n <= 2000 {
					for range n {
						if rng.Float64() < p {
							count++
						}
					}
				} else { // normal, far from the ends
					count = math.Round(mean + math.Sqrt(variance)*rng.NormFloat64())
				}
				if count > mean && exceeds(count, mean, variance) {
					t.Fatalf("n %d, p %v: %v of an expected %v are reported as an excess", n, p, count, mean)
				}
			}
			// Eight standard errors and a few records more cannot be due to chance.
			if more := mean + 8*math.Sqrt(variance) + 12; more <= float64(n) && !exceeds(more, mean, variance) {
				t.Errorf("n %d, p %v: %v of an expected %v must be too many", n, p, more, mean)
			}
		}
	}
	if !exceeds(1, 0, 0) || exceeds(0, 0, 0) {
		t.Error("if the law explains nothing, one unchanged value must be too many")
	}
}

func TestUnchangedIsJudged(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	float := func(v float64) *Float { f := Float(v); return &f }
	moments := Moments{N: 100}
	m := func() *Measures {
		return &Measures{Columns: []ColumnMeasures{
			{Name: "fine", Masked: true, Original: moments, Released: moments,
				Utility: Utility{Efficiency: 1, EfficiencyGate: 1}, Unchanged: count(3), UnchangedExplained: float(4)},
			{Name: "given", Masked: true, Original: moments, Released: moments, Unchanged: count(60),
				UnchangedExplained: float(4), UnchangedExcess: true},
			{Name: "bare", Original: moments, Released: moments},
			{Name: "empty", Masked: true, Unchanged: count(0), UnchangedExplained: float(0)},
		}}
	}
	other := Rule{Column: "fine", MinEfficiency: ptr(0.5)}
	most := func(column string, share float64) Rule { return Rule{Column: column, MaxUnchanged: ptr(share)} }
	for name, c := range map[string]struct {
		rules    []Rule
		withGate bool
		allow    *float64
		passed   bool
	}{
		"no gate":                 {nil, false, nil, true},
		"a gate without rules":    {nil, true, nil, false},
		"a rule about another":    {[]Rule{other}, true, nil, false},
		"allowed":                 {[]Rule{other}, true, ptr(0.6), true},
		"allowed too little":      {[]Rule{other}, true, ptr(0.59), false},
		"its own rule":            {[]Rule{most("given", 0.6)}, true, nil, true},
		"its own rule, last":      {[]Rule{other, most("given", 0.6)}, true, nil, true},
		"its own rule, stricter":  {[]Rule{other, most("given", 0.5)}, true, ptr(1), false},
		"the rule of another":     {[]Rule{most("fine", 0.6)}, true, nil, false},
		"beyond what is demanded": {[]Rule{most("given", 1), most("fine", 0.02)}, true, nil, false},
		"not masked":              {[]Rule{most("given", 1), most("bare", 0.99)}, true, nil, false},
		"not there":               {[]Rule{most("given", 1), most("none", 1)}, true, nil, false},
		"nothing to give away":    {[]Rule{most("given", 1), most("empty", 0)}, true, nil, true},
	} {
		measures := m()
		measures.Gated, measures.AllowUnchanged = c.withGate, c.allow
		v := Judge(c.rules, measures)
		if v.Passed != c.passed {
			t.Errorf("%s: %+v", name, v)
		}
		for _, r := range v.Rules {
			if !r.Passed && r.Advice == "" {
				t.Errorf("%s: no advice: %+v", name, r)
			}
		}
	}
	for _, bad := range []Rule{most("given", 1.1), most("given", -0.1), {MaxUnchanged: ptr(0.5)},
		{Column: "given", Target: "max", MaxUnchanged: ptr(0.5)},
		{Column: "given", Knowledge: "index", MaxUnchanged: ptr(0.5)},
		{Column: "given", MaxUnchanged: ptr(0.5), MinRMSE: ptr(3)}} {
		if len(bad.Check()) != 1 {
			t.Errorf("%+v: %v", bad, bad.Check())
		}
	}
	if w := m().Columns[1].UnchangedWarning(); !strings.Contains(w, "60 of 100") ||
		m().Columns[0].UnchangedWarning() != "" {
		t.Errorf("warning %q", w)
	}
}

// A law that assumes that the masks change some value of the column explains nothing if all values
// stay unchanged; one changed value is enough.
func TestUnchangedOfAColumnThatStays(t *testing.T) {
	for _, c := range []struct {
		changes   bool
		moved     int
		explained float64
		excess    bool
	}{{true, 0, 0, true}, {true, 1, 500, false}, {false, 0, 500, false}} {
		for _, sampled := range []int{50, -1} {
			a := newAccumulator(t,
				Options{Columns: []Column{{Name: "a", Masked: true}}, Sample: sampled, Key: testKey(t), Targets: []string{"max"},
					Keeping: func(string, float64) Keeping {
						return Keeping{Share: func(float64) float64 { return 1 }, Most: 1, Changes: c.changes}
					}})
			b := new(microdata.Block)
			b.Reset(0, 0, 500, 1)
			copy(b.Columns[0].Alloc(500, false).Values, numbersUpTo(500))
			v := b.Columns[0].Mutable()
			for i := range c.moved {
				v.Values[499-i]++
			}
			a.Add(b)
			m := measured(t, a).Columns[0]
			if float64(*m.UnchangedExplained) != c.explained || m.UnchangedExcess != c.excess {
				t.Errorf("changes %v, %d moved, sample %d: %v explained, excess %v", c.changes, c.moved, sampled,
					*m.UnchangedExplained, m.UnchangedExcess)
			}
		}
	}
}
