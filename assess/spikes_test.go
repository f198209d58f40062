package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Of 3,000 incomes 1,506 are zero: the zeros and the others are measured apart, each figure as a plain computation has
// it.
func TestSpikesAreMeasuredApart(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 6))
	var x, y []float64
	for i := range 3000 {
		v := 0.0
		if i >= 1506 {
			v = math.Round(1000 * math.Exp(0.5*r.NormFloat64()))
		}
		w := v + math.Round(50*r.NormFloat64())
		if i < 1000 { // of the zeros most are kept
			w = v
		}
		x, y = append(x, v), append(y, w)
	}
	x[2999], y[2998], y[1200], y[2997] = math.NaN(), math.NaN(), math.NaN(), 0
	s := spikesOf(x, y)
	if s == nil || len(s.Values) != 1 {
		t.Fatalf("%+v", s)
	}
	kept, out := 0, 0
	var before, after []float64
	square := 0.0
	for i := range x {
		if x[i] == 0 && y[i] == 0 {
			kept++
		}
		if y[i] == 0 {
			out++
		}
		if x[i] > 0 && y[i] == y[i] {
			before, after = append(before, x[i]), append(after, y[i])
			square += (x[i] - y[i]) * (x[i] - y[i])
		}
	}
	near := func(what string, got Float, want float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	k, n := s.Values[0], float64(len(before))
	near("value", k.Value, 0)
	near("share", k.Share, 1506.0/2999)
	near("released share", k.Released, float64(out)/2998)
	near("kept", k.Kept, float64(kept)/1505)
	mean := func(v []float64) (mean, sd float64) {
		for _, w := range v {
			mean += w / float64(len(v))
		}
		for _, w := range v {
			sd += (w - mean) * (w - mean)
		}
		return mean, math.Sqrt(sd / float64(len(v)-1))
	}
	m, sd := mean(before)
	m2, sd2 := mean(after)
	if s.Rest.N != len(before) || s.Rest.N != 1492 {
		t.Errorf("%d other records, want %d", s.Rest.N, len(before))
	}
	near("mean", s.Rest.Original.Mean, m)
	near("SD", s.Rest.Original.SD, sd)
	near("released mean", s.Rest.Released.Mean, m2)
	near("released SD", s.Rest.Released.SD, sd2)
	near("error", s.Rest.RMSE, math.Sqrt(square/n))
	near("R", s.Rest.RealisedR, n/square)
	near("U", s.Rest.RealisedU, 1/(sd2*sd2/n+(m2-m)*(m2-m)))
	near("U0", s.Rest.U0, n/(sd*sd))
	slices.Sort(before)
	slices.Sort(after)
	for i, p := range []float64{0.1, 0.5, 0.9} {
		at := int(math.Ceil(p*n)) - 1
		near(s.Rest.Percentiles[i].Name, s.Rest.Percentiles[i].Original, before[at])
		near(s.Rest.Percentiles[i].Name+" released", s.Rest.Percentiles[i].Released, after[at])
	}
}

// A spike has 5 % of the records, 10 at least, and five times as many as either value beside it; it may be the least,
// the greatest or among others. Without two other values there is none.
func TestWhatIsASpike(t *testing.T) {
	values := func(counts ...int) (x []float64) {
		for v, n := range counts {
			for range n {
				x = append(x, float64(v-1))
			}
		}
		return x
	}
	spread := func(n, from int, more ...float64) []float64 {
		for i := range n {
			more = append(more, float64(from+i))
		}
		return more
	}
	same := func(n int, v float64) (x []float64) {
		for range n {
			x = append(x, v)
		}
		return x
	}
	for name, c := range map[string]struct {
		x    []float64
		want []float64
	}{
		"none":                        {spread(1000, 0), nil},
		"nothing":                     {nil, nil},
		"one value":                   {same(100, 7), nil},
		"one value and another":       {append(same(100, 7), 8), nil},
		"one value and two others":    {append(same(100, 7), 8, 9), []float64{7}},
		"of 1,000, 5 %":               {spread(950, 100, same(50, 0)...), []float64{0}},
		"of 1,000, a little less":     {spread(951, 100, same(49, 0)...), nil},
		"the greatest":                {spread(950, 0, same(50, 5000)...), []float64{5000}},
		"two, far apart":              {append(spread(800, 0, same(100, -9)...), same(100, 99.5)...), []float64{-9, 99.5}},
		"ten of 100":                  {spread(90, 1, same(10, 0)...), []float64{0}},
		"nine of 100":                 {spread(91, 1, same(9, 0)...), nil},
		"five times the one before":   {values(20, 100, 20, 20), []float64{0}},
		"less than five times":        {values(20, 99, 19, 20), nil},
		"less than five times behind": {values(19, 99, 20, 20), nil},
		"a category":                  {values(300, 280, 310, 250), nil},
		"both zeros are one": {spread(900, 1, append(same(25, 0), same(25, math.Copysign(0, -1))...)...),
			[]float64{0}},
		"a missing value is none": {append(spread(950, 100, same(50, 0)...), same(500, math.NaN())...), []float64{0}},
	} {
		for _, way := range []string{"as given", "reversed"} {
			x := slices.Clone(c.x)
			if way == "reversed" {
				slices.Reverse(x)
			}
			var got []float64
			if s := spikesOf(x, x); s != nil {
				for _, k := range s.Values {
					got = append(got, float64(k.Value))
					if k.Kept != 1 || k.Share != k.Released || math.Signbit(float64(k.Value)) && k.Value == 0 {
						t.Errorf("%s: %+v of values that are released as they are", name, k)
					}
				}
				if s.Rest.RMSE != 0 || !math.IsInf(float64(s.Rest.RealisedR), 1) {
					t.Errorf("%s: %+v of values that are released as they are", name, s.Rest)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s, %s: spikes %v, want %v", name, way, got, c.want)
			}
		}
	}
}

// Where no other record is released with a value, there are no figures of the others, and JSON can be written.
func TestSpikesWithoutOthersThatAreReleased(t *testing.T) {
	x, y := make([]float64, 100), make([]float64, 100)
	for i := range x {
		if y[i] = math.NaN(); i >= 40 {
			x[i] = float64(i)
		}
	}
	s := spikesOf(x, y)
	if s == nil || s.Rest.N != 0 || s.Values[0].Kept == s.Values[0].Kept || s.Rest.RealisedR == s.Rest.RealisedR {
		t.Fatalf("%+v", s)
	}
	m := ColumnMeasures{Spikes: s}
	if m.Spikes.Rest.Percentiles == nil {
		t.Error("percentiles are null")
	}
}

// Masked columns of a run have their spikes, of the sample where that does not hold all records.
func TestMeasureFindsSpikes(t *testing.T) {
	for _, sample := range []int{-1, 2000} {
		r := rand.New(rand.NewPCG(1, 1))
		pairs := make([]float64, 6000)
		for i := range pairs {
			if r.IntN(3) > 0 {
				pairs[i] = r.ExpFloat64()
			}
		}
		a := newAccumulator(t,
			Options{Columns: []Column{{Name: "x", Masked: true}, {Name: "y", Index: 1}}, Targets: []string{"max"},
				Sample: sample, Key: testKey(t)})
		a.Add(spikyBlock(pairs))
		m := measured(t, a)
		s := m.Column("x").Spikes
		if s == nil || s.Sampled != (sample > 0) || math.Abs(float64(s.Values[0].Share)-1.0/3) > 5*math.Sqrt(2.0/9/2000) {
			t.Errorf("sample %d: %+v", sample, s)
		}
		if m.Column("y").Spikes != nil {
			t.Error("a column without a mask has spikes")
		}
	}
}

// spikyBlock has the values in a masked column and in one that is not masked.
func spikyBlock(x []float64) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, 0, len(x), 2)
	b.Columns[0].Original, b.Columns[0].Released = microdata.Vector{Values: x}, microdata.Vector{Values: slices.Clone(x)}
	b.Columns[1].Original = microdata.Vector{Values: x}
	return b
}
