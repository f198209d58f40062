package perturb

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The draws of cells have expectation 0, variance 1/12 and the fourth moment of the mean of four uniform numbers, are
// the same for the same records and value, and independent for other values, parameters, records and keys.
func TestDrawsOfValues(t *testing.T) {
	k := keys(t, 1)
	v, other := &Values{Most: 0.5, Q: 3, Epsilon: []float64{1}}, &Values{Most: 0.4, Q: 3, Epsilon: []float64{1}}
	const n = 20_000
	var m1, m2, m4 float64
	var cross [4]float64
	for i := range uint64(n) {
		d := k.Value(v, "turnover", i)
		if d != keys(t, 1).Value(v, "turnover", i) && i < 100 || !(d > -1 && d < 1) {
			t.Fatal("the same records have another draw, or it is out of range")
		}
		m1, m2, m4 = m1+d/n, m2+d*d/n, m4+d*d*d*d/n
		for j, o := range []float64{k.Value(v, "costs", i), k.Value(other, "turnover", i), k.Value(v, "turnover", i+n),
			keys2.Value(v, "turnover", i)} {
			cross[j] += d * o / n
		}
	}
	// The mean has standard deviation √(1/12/n) = 0.00204; x² has variance E x⁴ − 1/144 = 0.0111, so its mean 0.00075;
	// products of independent draws have standard deviation 1/12, their mean 0.00059. Tolerances are 4.5 of them. E x⁴ is
	// that of the mean of four independent numbers on −1 … 1 : (4·1/5 + 3·4·3·1/9)/256 = 0.01875.
	if math.Abs(m1) > 0.0092 || math.Abs(m2-VarianceOfDraw) > 0.0034 || math.Abs(m4-0.01875) > 0.0015 {
		t.Errorf("moments %v, %v, %v", m1, m2, m4)
	}
	for j, c := range cross {
		if math.Abs(c) > 0.0027 {
			t.Errorf("case %d: correlated draws, %v", j, c)
		}
	}
}

var keys2 = keys(new(testing.T), 2)

// The likelihood of a published value is how often it is published; and all of them add up to 1.
func TestLikelihoodOfValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 7))
	for _, scale := range []float64{0, 0.3, 1, 2.5, 7.25, 40} {
		const n = 200_000
		found := map[float64]float64{}
		for range n {
			draw := (rng.Float64()+rng.Float64()+rng.Float64()+rng.Float64())/2 - 1
			found[Change(100, scale, draw)] += 1.0 / n
		}
		sum := 0.0
		for y := 50.0; y <= 150; y++ {
			p := Likelihood(y, 100, scale)
			sum += p
			// five standard deviations of a share of n, and 10⁻⁵ for shares near 0
			if math.Abs(found[y]-p) > 5*math.Sqrt(p*(1-p)/n)+1e-5 {
				t.Errorf("scale %v: %v is published with probability %v, found %v", scale, y, p, found[y])
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("scale %v: probabilities add up to %v", scale, sum)
		}
	}
}

// Values of many digits have the same likelihoods in proportion, up to the greatest whole number that is exact.
func TestLikelihoodOfGreatValues(t *testing.T) {
	for _, scale := range []float64{99_999, 100_001, 1e9, 1e15} {
		for _, v := range []float64{-0.99, -0.7, -0.5, -0.3, 0, 0.1, 0.5, 0.8, 0.97} {
			d := math.Round(v * scale)
			want := (belowDraw(v+1e-4) - belowDraw(v-1e-4)) / 2e-4 // of a scale of 1
			if got := Likelihood(2e15+d, 2e15, scale) * scale; math.Abs(got-want) > 1e-4*(1+want) {
				t.Errorf("scale %v, draw %v: %v, want %v", scale, v, got, want)
			}
		}
	}
}

// The scale is the sum of shares; shares fall from most at the point to large; no scale exceeds the value.
func TestScaleOfValues(t *testing.T) {
	simple := &Values{Most: 0.5, Q: 3, Epsilon: []float64{1, 0.5}, Least: 10}
	flex := &Values{Most: 0.4, Large: 0.1, Point: 1000, Q: 3, Epsilon: []float64{1}}
	for _, c := range []struct {
		v       *Values
		value   float64
		largest []float64
		want    float64
	}{
		{simple, 1000, []float64{400, 200, 150}, 250}, {simple, 400, []float64{400}, 200}, {simple, 30, []float64{12, 8}, 10},
		{simple, 7, []float64{7}, 7}, {simple, 0, []float64{0}, 0},
		{flex, 5000, []float64{1000, 900}, 400}, {flex, 5000, []float64{500}, 200},
		{flex, 9000, []float64{3000}, 3000 * (0.1 + (0.4*3000-0.1*1000)/1000*0.125)}, // 2·1000/4000 cubed
	} {
		if got := c.v.Scale(c.value, c.largest); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("scale of %v %v: %v, want %v", c.value, c.largest, got, c.want)
		}
	}
	if got := flex.Scale(1e12, []float64{1e12}); math.Abs(got/1e12-0.1) > 1e-4 {
		t.Errorf("the share of a very large contribution is %v, want 0.1", got/1e12)
	}
	if over := (&Values{Most: 0.4, Large: 0.35, Point: 1000, Q: 2, Epsilon: []float64{1}}).Scale(3000,
		[]float64{1500}); over > 600 {
		t.Errorf("more than most: %v", over)
	}
	for _, v := range []Values{
		{Most: 0, Q: 3, Epsilon: []float64{1}}, {Most: 0.96, Q: 3, Epsilon: []float64{1}},
		{Most: 0.5, Large: 0.6, Point: 1, Q: 3, Epsilon: []float64{1}},
		{Most: 0.5, Q: 1, Epsilon: []float64{1}}, {Most: 0.5, Q: 3}, {Most: 0.5, Q: 3, Epsilon: []float64{0.5}},
		{Most: 0.5, Q: 3, Epsilon: []float64{1, 0.2, 0.3}},
		{Most: 0.5, Q: 3, Epsilon: []float64{1}, Least: -1}, {Most: 0.5, Q: 3, Epsilon: []float64{1}, Point: math.NaN()},
		{Most: math.NaN(), Q: 3, Epsilon: []float64{1}},
	} {
		if len(v.Check()) == 0 {
			t.Errorf("no problem with %+v", v)
		}
	}
	if got := Insert(nil, []float64{9, 5, 5, 1}, 5); got[0] != 9 || got[3] != 5 || got[4] != 1 || len(got) != 5 {
		t.Errorf("inserted: %v", got)
	}
}
