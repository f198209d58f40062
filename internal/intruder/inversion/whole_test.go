package inversion

import (
	"context"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// whole attacks one column under one mask of scope dataset.
func whole(t *testing.T, p transform.Params, extremes *Extremes, x, y []float64) ColumnResult {
	t.Helper()
	known := Published{}
	if extremes != nil {
		known.Extremes = map[string]Extremes{"a": *extremes}
	}
	r,
		err := Attack(context.Background(), []transform.Spec{{Params: p}}, known,
		Release{Columns: []Column{{Name: "a", Grid: 1, Original: x, Released: y}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Columns[0]
}

func inversionOf(c ColumnResult, kind Kind) *Inversion {
	for i := range c.Inversions {
		if c.Inversions[i].Kind == kind {
			return &c.Inversions[i]
		}
	}
	return nil
}

// All values of a group whose mean is a published extreme are known; those of other
// groups are not, although equal values are also released unchanged there.
func TestGroupAtAnExtreme(t *testing.T) {
	k := 3
	micro := &transform.Microaggregate{Columns: []string{"a"}, K: &k, Method: "univariate"}
	x := []float64{0, 0, 0, 5, 5, 5, 10, 20, 30, 31, 50, 99}
	y := []float64{0, 0, 0, 5, 5, 5, 20, 20, 20, 60, 60, 60}
	c := whole(t, micro, &Extremes{Min: 0, Max: 99}, x, y)
	if v := inversionOf(c, GroupValue); c.Passed || v == nil || v.Claims != 3 || v.Recovered != 3 || !v.Fails ||
		c.Recovered != 3 {
		t.Errorf("a group of zeros, the least value: %+v", c)
	}
	if c := whole(t, micro, nil, x, y); !c.Passed {
		t.Errorf("no extreme is published: %+v", c)
	}
	median := *micro
	median.Aggregate = "median"
	if c := whole(t, &median, &Extremes{Min: 0, Max: 99}, x, y); !c.Passed {
		t.Errorf("half of a group with that median may have other values: %+v", c)
	}
}

// A heap of equal values that is wider than the window of ranks is known to the extent
// that few of its values can have come from outside.
func TestHeapUnderRankSwapping(t *testing.T) {
	var x, y []float64
	for i := range 1000 { // 600 zeros
		v := max(0, float64(i-599)*10)
		x, y = append(x, v), append(y, v)
	}
	for i := 600; i+1 < 1000; i += 2 { // neighbours are exchanged
		y[i], y[i+1] = y[i+1], y[i]
	}
	for _, tt := range []struct {
		p      float64
		passed bool
	}{{0.01, false}, {0.1, false}, {0.3, true}, {0.6, true}} {
		p := tt.p
		c := whole(t, &transform.RankSwap{Columns: []string{"a"}, P: &p}, nil, x, y)
		if c.Passed != tt.passed || !tt.passed && (c.By != RankWindow || c.Recovered != 600) {
			t.Errorf("p = %v: %+v", p, c)
		}
	}
}

// For shuffled or synthetic values nothing is certain, and equal values are equal by chance.
// Both masks are known to the intruder and cause no error.
func TestNothingIsKnownOfShuffledOrSyntheticValues(t *testing.T) {
	var x, shuffled, drawn []float64
	for i := range 1000 {
		v := max(0, float64(i-899)*10) // nine in ten are 0
		x = append(x, v)
		drawn = append(drawn, float64((i*7919)%1000))
	}
	for i := range x {
		shuffled = append(shuffled, x[(i*7919)%1000])
	}
	for name, c := range map[string]ColumnResult{
		"shuffle":    whole(t, &transform.Shuffle{Columns: []string{"a"}}, nil, x, shuffled),
		"synthesise": whole(t, &transform.Synthesise{Columns: []string{"a"}}, nil, x, drawn),
	} {
		if !c.Passed || !c.Masked {
			t.Errorf("%s: %+v", name, c)
		}
		for _, v := range c.Inversions {
			if v.Deterministic || v.Certainty > 0 {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}
