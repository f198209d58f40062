package joint

import (
	"math"
	"slices"
	"testing"
)

// pay is what is drawn for the tests of what is known closely: wages, their logarithm of two digits, hours, and what was
// earned by the hour.
type pay struct{ wage, log, hours, hourly []float64 }

func (w *world) pay() (p pay) {
	p.wage = w.of(func(int) float64 { return math.Round(100*math.Exp(6.5+0.5*w.r.NormFloat64())) / 100 })
	p.log = w.of(func(i int) float64 { return math.Round(100*math.Log(p.wage[i])) / 100 })
	p.hours = w.of(func(int) float64 { return float64(10 + w.r.IntN(50)) })
	p.hourly = w.of(func(i int) float64 { return math.Round(100*p.wage[i]/p.hours[i]) / 100 })
	return p
}

// TestFactors: a wage is a factor of hours where what was earned by the hour is released, and of rents only a summand; what
// is released of a column, or what it has in common with nothing, makes none.
func TestFactors(t *testing.T) {
	w := newWorld(51, 500)
	p := w.pay()
	rent := w.of(func(int) float64 { return math.Round(400 * w.r.ExpFloat64()) })
	total := w.of(func(i int) float64 { return p.wage[i] + rent[i] })
	twice := w.of(func(i int) float64 { return p.wage[i] / 2 })
	apart := w.incomes()
	third := w.of(func(i int) float64 {
		if i%3 > 0 {
			return math.NaN()
		}
		return p.hourly[i]
	})
	wage, fine := w.noisy(p.wage, 200), w.noisy(p.wage, 0.001)
	hours, rents, halves := w.noisy(p.hours, 9), w.noisy(rent, 200), w.noisy(twice, 100)
	for name, c := range map[string]struct {
		columns [][]float64
		sought  []Sought
		want    []Factor
	}{
		"quotient": {[][]float64{wage, hours, p.hourly}, []Sought{{X: p.wage, Y: wage}, {X: p.hours, Y: hours, Own: 1}},
			[]Factor{Multiplied, Multiplied}},
		"turned": {[][]float64{p.hourly, hours, wage}, []Sought{{X: p.hours, Y: hours, Own: 1}, {X: p.wage, Y: wage, Own: 2}},
			[]Factor{Multiplied, Multiplied}},
		"withheld": {[][]float64{p.hourly, hours}, []Sought{{X: p.hours, Y: hours, Own: 1},
			{X: p.wage, Y: slices.Repeat([]float64{math.NaN()}, w.n), Own: -1}}, []Factor{Multiplied, Multiplied}},
		"sum": {[][]float64{wage, rents, total}, []Sought{{X: p.wage, Y: wage}, {X: rent, Y: rents, Own: 1}},
			[]Factor{Summand, Summand}},
		"multiple": {[][]float64{wage, halves}, []Sought{{X: p.wage, Y: wage}, {X: twice, Y: halves, Own: 1}},
			[]Factor{Summand, Summand}},
		"logarithm": {[][]float64{wage, halves}, []Sought{{X: p.wage, Y: wage},
			{X: w.of(func(i int) float64 { return math.Log(p.wage[i]) }), Y: halves, Own: 1}},
			[]Factor{Multiplied, Multiplied}},
		"as good as released": {[][]float64{fine, hours, p.hourly},
			[]Sought{{X: p.wage, Y: fine}, {X: p.hours, Y: hours, Own: 1}}, []Factor{NoFactor, NoFactor}},
		"quotient, then sum": {[][]float64{wage, hours, rents, p.hourly, total},
			[]Sought{{X: p.wage, Y: wage}, {X: p.hours, Y: hours, Own: 1}, {X: rent, Y: rents, Own: 2}},
			[]Factor{Multiplied, Multiplied, Summand}},
		"sum, then quotient": {[][]float64{rents, total, hours, p.hourly, wage},
			[]Sought{{X: rent, Y: rents}, {X: p.hours, Y: hours, Own: 2}, {X: p.wage, Y: wage, Own: 4}},
			[]Factor{Summand, Multiplied, Multiplied}},
		"in a third of the records": {[][]float64{wage, hours, third}, []Sought{{X: p.wage, Y: wage},
			{X: p.hours, Y: hours, Own: 1}}, []Factor{NoFactor, NoFactor}},
		"nothing in common": {[][]float64{wage, hours, apart},
			[]Sought{{X: p.wage, Y: wage}, {X: p.hours, Y: hours, Own: 1}}, []Factor{NoFactor, NoFactor}},
	} {
		if got := New(columns(c.columns...), w.n, true).Factors(c.sought); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestClosely: a logarithm of two digits gives a wage closely, which least squares do not; two copies with noise do not
// halve the square that the better one leaves, and ten do, as least squares do.
func TestClosely(t *testing.T) {
	w := newWorld(52, 1500)
	p := w.pay()
	y := w.noisy(p.wage, 200)
	got, _ := New(columns(y, p.log), w.n, true).Closely(Sought{Name: "wage", X: p.wage, Y: y}, true)
	// Half a hundredth of the logarithm, uniformly.
	if want := 1e-4 / 12 * squareOf(p.wage, make([]float64, w.n)); got.Name != "wage" ||
		!(squareOf(p.wage, got.Values) < 1.2*want) {
		t.Errorf("off by %v, want %v", squareOf(p.wage, got.Values), want)
	}
	list := columns(y, w.noisy(p.wage, 200))
	if got, _ := New(list, w.n, true).Closely(Sought{X: p.wage, Y: w.noisy(p.wage, 100)}, false); got.Values != nil {
		t.Error("by two copies that are worse")
	}
	for range 9 {
		list = append(list, Column{Name: "again", Values: w.noisy(p.wage, 200)})
	}
	for _, beyond := range []bool{false, true} {
		if got, _ := New(list, w.n, true).Closely(Sought{X: p.wage, Y: y}, beyond); (got.Values != nil) == beyond {
			t.Errorf("by ten copies, beyond least squares %v: %v", beyond, !beyond)
		}
	}
	if got, _ := New(list, 3, true).Closely(Sought{X: p.wage[:3], Y: y[:3]}, false); got.Values != nil {
		t.Error("of three records")
	}
}

// TestEstimatesOfOtherRecords: a linear estimator of 11 columns, fitted to 80 of 100 records, leaves more in the others
// than the best one does, and one that was fitted to all would leave less.
func TestEstimatesOfOtherRecords(t *testing.T) {
	ratio := 0.0
	const worlds, sd = 12, 200
	for seed := range uint64(worlds) {
		w := newWorld(60+seed, 100)
		x := w.of(func(int) float64 { return 500 * w.r.NormFloat64() })
		y := w.noisy(x, sd)
		list := columns(y)
		for range 10 {
			list = append(list, Column{Name: "again", Values: w.noisy(x, sd)})
		}
		got, _ := New(list, w.n, true).Closely(Sought{X: x, Y: y}, false)
		if got.Values == nil {
			t.Fatal("ten copies do not tell it closely")
		}
		ratio += squareOf(x, got.Values) / (sd * sd / 11) / worlds
	}
	// 80 records suffice for 8 columns of 11: about 11/8·(1 + 9/71) = 1.55. All 100, with the 10 that they suffice for:
	// 11/10·(1 − 11/100) = 0.98 at most. The relative SD of 1,200 squares is 4 %.
	if ratio < 1.2 || ratio > 1.75 {
		t.Errorf("off by %.3f of the best", ratio)
	}
}

// TestNearInManyRecords: what was earned by the hour gives a wage to its rounding where the hours are not cut at a bound,
// and far off where they are. It is found down to a third of the records, and beside a logarithm that tells most of
// them a little; not in a sixth, nor where the estimates are as near.
func TestNearInManyRecords(t *testing.T) {
	w := newWorld(53, 600)
	p := w.pay()
	y := w.noisy(p.wage, 300)
	third, coarse := w.of(func(int) float64 { return float64(w.r.IntN(3)) }), w.of(func(i int) float64 {
		if i%5 == 0 {
			return 9
		}
		return math.Round(20*math.Log(p.wage[i])) / 20
	})
	part := w.of(func(int) float64 { return float64(10 + w.r.IntN(50)) })
	rest := w.of(func(i int) float64 { return math.Round(10*p.wage[i]/part[i]*float64(1+max(0, i%5-3))) / 10 })
	often := w.of(func(i int) float64 { return p.wage[i] + w.r.NormFloat64()*float64(1+2000*max(0, i%5-3)) })
	cut := func(bound float64) []float64 { return w.of(func(i int) float64 { return min(p.hours[i], bound) }) }
	share := func(x, v []float64) float64 {
		n := 0.0
		for i := range v {
			if math.Abs(v[i]-x[i]) < 0.31 {
				n++
			}
		}
		return n / float64(w.n)
	}
	for name, c := range map[string]struct {
		columns [][]float64
		y       []float64
		want    []float64 // by column, the shares of the records that it gives
	}{
		"in most":                  {[][]float64{y, cut(52.5), p.hourly}, y, []float64{0.86}},
		"turned":                   {[][]float64{y, p.hourly, cut(52.5)}, y, []float64{0.86}},
		"in two of five":           {[][]float64{y, cut(29.5), p.hourly}, y, []float64{0.4}},
		"in some, most by another": {[][]float64{y, cut(29.5), p.hourly, coarse}, y, []float64{0.01, 0.4}},
		"later ones less near":     {[][]float64{y, cut(52.5), p.hourly, part, rest}, y, []float64{0.86}},
		"in a sixth":               {[][]float64{y, cut(17.5), p.hourly}, y, nil},
		"released near as often":   {[][]float64{often, cut(52.5), w.noisy(p.hourly, 0.1)}, often, nil},
		"released as near":         {[][]float64{p.wage, cut(52.5), p.hourly}, w.noisy(p.wage, 0.1), nil},
		"estimated as near":        {[][]float64{y, p.hours, p.hourly}, y, nil},
		"nothing":                  {[][]float64{y, third}, y, nil},
	} {
		f := New(columns(c.columns...), w.n, true)
		_, list := f.Closely(Sought{Name: "wage", X: p.wage, Y: c.y}, true)
		var got []float64
		for k, column := range list {
			got = append(got, share(p.wage, column.Values))
			if k < len(c.want) && math.Abs(got[k]-c.want[k]) > 0.06 || column.Name != "wage" {
				t.Errorf("%s: %s is given in %.3f", name, column.Name, got)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %.3f, want %.3f", name, got, c.want)
		}
	}
	// Of few records too little is known, and the most frequent value anyone guesses.
	for n, want := range map[int]int{38: 0, 44: 1} {
		f := New(columns(y[:n], cut(40.5)[:n], p.hourly[:n]), n, true)
		if _, list := f.Closely(Sought{X: p.wage[:n], Y: y[:n]}, true); len(list) != want {
			t.Errorf("of %d records %d columns", n, len(list))
		}
	}
	zeros := w.of(func(i int) float64 { return p.wage[i] * float64(min(1, i%5/2)) })
	told := w.of(func(i int) float64 { return 5000 * w.r.Float64() * float64(min(1, i%5/2)) })
	z := w.noisy(zeros, 300)
	if _, list := New(columns(z, told), w.n, true).Closely(Sought{X: zeros, Y: z}, true); list != nil {
		t.Errorf("most frequent value: %d columns", len(list))
	}
	// What gives every other record is not used in these, whose originals have told of it.
	odd := w.of(func(i int) float64 { return p.wage[i^1] })
	a := w.of(func(i int) float64 { return []float64{p.wage[i], odd[i]}[i%2] })
	b := w.of(func(i int) float64 { return []float64{odd[i], p.wage[i]}[i%2] })
	for _, list := range [][][]float64{{y, a, b}, {y, b, a}} {
		_, got := New(columns(list...), w.n, true).Closely(Sought{X: p.wage, Y: y}, true)
		if len(got) != 1 || share(p.wage, got[0].Values) > 0.02 {
			t.Errorf("%d columns", len(got))
		}
	}
}
