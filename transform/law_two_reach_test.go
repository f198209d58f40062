package transform

import "testing"

// The reach of two draws depends on the tiers that the first draw can lead to, on either side of
// their bound, and on no other tier.
func TestReachOfTwoDrawsIsThatOfTheirTiers(t *testing.T) {
	values := floats(2, 10, 100, 1000)
	reach := func(x, sd float64, tiers ...Tier) [2]float64 {
		c := chain(t, testSetup(t, values),
			mask(&Noise{Columns: []string{"a"}, SD: amount(1), Distribution: "uniform"}),
			mask(&Noise{Columns: []string{"a"}, SD: amount(sd), Distribution: "uniform", Tiers: tiers}))
		law, ok := c.Law("a")
		if !ok {
			t.Fatal("no law")
		}
		low, high := law.Reach(x)
		return [2]float64{low, high}
	}
	wider, narrower := Tier{Above: ptr(100.0), VarianceFactor: ptr(25.0)}, Tier{Above: ptr(100.0),
		VarianceFactor: ptr(0.04)}
	for what, c := range map[string]struct{ got, want [2]float64 }{
		"below a wider tier":     {reach(10, 2, wider), reach(10, 2)},
		"within a wider tier":    {reach(1000, 2, wider), reach(1000, 10)},
		"at a wider tier":        {reach(100, 2, wider), reach(100, 10)},
		"below a narrower tier":  {reach(10, 10, narrower), reach(10, 10)},
		"within a narrower tier": {reach(1000, 10, narrower), reach(1000, 2)},
		"at a narrower tier":     {reach(100, 10, narrower), reach(100, 10)},
	} {
		if c.got != c.want || !(c.got[0] < c.got[1]) {
			t.Errorf("%s: from %v, want %v", what, c.got, c.want)
		}
	}
}
