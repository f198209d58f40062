package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// weightedByLoop are the mean, its standard error, the SD and a percentile by the formulas of the survey package of R
// (svymean, svyvar and the inverse of the weighted distribution function), for a design without strata and clusters.
func weightedByLoop(x, w []float64, p float64) (n int, mean, se, sd, q float64) {
	sum, total := 0.0, 0.0
	for i, v := range x {
		if v == v && w[i] > 0 {
			n, sum, total = n+1, sum+w[i], total+w[i]*v
		}
	}
	mean = total / sum
	var of, around float64
	for i, v := range x {
		if v == v && w[i] > 0 {
			u := w[i] * (v - mean) / sum
			of, around = of+u*u, around+w[i]/sum*(v-mean)*(v-mean)
		}
	}
	q = math.Inf(1)
	for i, v := range x {
		at := 0.0
		for j, u := range x {
			if u <= v && w[j] > 0 {
				at += w[j]
			}
		}
		if v == v && w[i] > 0 && at >= p*sum*(1-1e-9) {
			q = min(q, v)
		}
	}
	f := float64(n) / float64(n-1)
	return n, mean, math.Sqrt(f * of), math.Sqrt(f * around), q
}

func TestWeightedMeasures(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	nan := math.NaN()
	const n = 300
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	before, after := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i] = math.Round(100 * math.Exp(r.NormFloat64()))
		y[i] = x[i] + 20*r.NormFloat64() + 3
		z[i] = x[i]*x[i]/100 + 50*r.NormFloat64()
		before[i] = 1 + 9*r.Float64()
		after[i] = before[i] * (0.8 + 0.4*r.Float64())
		switch i {
		case 3:
			x[i], y[i] = nan, nan
		case 4:
			y[i] = nan
		case 5:
			before[i] = 0
		case 6:
			before[i] = nan
		case 7:
			after[i] = -1
		case 8:
			after[i] = math.Inf(1)
		case 9:
			before[i] = math.Inf(1)
		}
	}
	w := NewWeighted("w", []string{"x", "z"}, [][]float64{x, z}, [][]float64{y, z}, before, after, n)
	if w.Records != n-5 || w.Sampled || w.Weight != "w" || len(w.Columns) != 2 {
		t.Fatalf("%+v", w)
	}
	used := func(weights []float64) []float64 {
		u := slices.Clone(weights)
		for _, i := range []int{5, 6, 7, 8, 9} {
			u[i] = 0
		}
		return u
	}
	for what, c := range map[string]struct {
		got     WeightedMoments
		values  []float64
		weights []float64
	}{
		"original x": {w.Columns[0].Original, x, used(before)}, "released x": {w.Columns[0].Released, y, used(after)},
		"original z": {w.Columns[1].Original, z, used(before)}, "released z": {w.Columns[1].Released, z, used(after)},
	} {
		for p, got := range map[float64]Float{0.1: c.got.P10, 0.25: c.got.P25, 0.5: c.got.P50, 0.75: c.got.P75,
			0.9: c.got.P90} {
			n, mean, se, sd, q := weightedByLoop(c.values, c.weights, p)
			if c.got.N != n || math.Abs(float64(c.got.Mean)-mean) > 1e-9*mean || math.Abs(float64(c.got.SE)/se-1) > 1e-9 ||
				math.Abs(float64(c.got.SD)/sd-1) > 1e-9 || float64(got) != q {
				t.Errorf("%s: %+v, want n %d, mean %v ± %v, SD %v and %v at %v", what, c.got, n, mean, se, sd, q, p)
			}
			if sum := float64(c.got.Sum); math.Abs(float64(c.got.Total)/sum-mean) > 1e-9*mean {
				t.Errorf("%s: total %v of %v", what, c.got.Total, sum)
			}
		}
	}
	// U by its definition.
	_, mx, sx, _, _ := weightedByLoop(x, used(before), 0.5)
	_, my, sy, _, _ := weightedByLoop(y, used(after), 0.5)
	c := w.Columns[0]
	if u := 1 / (sy*sy + (my-mx)*(my-mx)); math.Abs(float64(c.U)/u-1) > 1e-9 || math.Abs(float64(c.U0)*sx*sx-1) > 1e-9 ||
		math.Abs(float64(c.Efficiency)/(u*sx*sx)-1) > 1e-9 {
		t.Errorf("U %v of %v, want %v of %v", c.U, c.U0, u, 1/sx/sx)
	}
	// Correlations, by another formula.
	for k, of := range []struct {
		got  [][]Float
		a, b []float64
		w    []float64
	}{{w.Correlation.Original, x, z, used(before)}, {w.Correlation.Released, y, z, used(after)}} {
		var s, sa, sb, saa, sbb, sab float64
		for i, v := range of.w {
			if v > 0 && of.a[i] == of.a[i] && of.b[i] == of.b[i] {
				s, sa, sb, saa, sbb, sab = s+v, sa+v*of.a[i], sb+v*of.b[i], saa+v*of.a[i]*of.a[i], sbb+v*of.b[i]*of.b[i],
					sab+v*of.a[i]*of.b[i]
			}
		}
		want := (sab/s - sa/s*sb/s) / math.Sqrt((saa/s-sa/s*sa/s)*(sbb/s-sb/s*sb/s))
		if math.Abs(float64(of.got[0][1])-want) > 1e-9 || of.got[1][0] != of.got[0][1] ||
			math.Abs(float64(of.got[0][0])-1) > 1e-12 {
			t.Errorf("correlations %d: %v, want %v", k, of.got, want)
		}
	}
	// By hand: 1, 2 and 4 with the weights 1, 2 and 1.
	hand := NewWeighted("w", []string{"x"}, [][]float64{{1, 2, 4}}, [][]float64{{1, 2, 4}}, []float64{1, 2, 1},
		[]float64{1, 2, 1}, 3).Columns[0]
	if o := hand.Original; o.Mean != 2.25 || math.Abs(float64(o.SE)-math.Sqrt(1.5*4.875)/4) > 1e-12 || o.Total != 9 ||
		o.Sum != 4 || o.P25 != 1 || o.P50 != 2 || o.P75 != 2 || o.P90 != 4 || hand.Efficiency != 1 {
		t.Errorf("by hand: %+v", hand)
	}
	if c := NewWeighted("w", []string{"x"}, [][]float64{{5, 5}}, [][]float64{{5, 5}}, []float64{1, 2}, []float64{1, 2},
		2); c.Columns[0].Efficiency != 1 || c.Correlation.Original[0][0] == c.Correlation.Original[0][0] {
		t.Errorf("constant: %+v", c)
	}
	if c := NewWeighted("w", []string{"x"}, [][]float64{{5, 5}}, [][]float64{{5, 6}}, []float64{1, 2}, []float64{1, 2},
		2); c.Columns[0].Efficiency != 0 {
		t.Errorf("constant before: %+v", c)
	}
	many := slices.Repeat([][]float64{{1, 2, 4}}, mostCorrelated+1)
	if c := NewWeighted("w", make([]string, len(many)), many, many, []float64{1, 2, 1}, []float64{1, 2, 1},
		3); c.Correlation.Columns != nil {
		t.Error("too many correlations")
	}
	if c := NewWeighted("w", make([]string, mostCorrelated), many[1:], many[1:], []float64{1, 2, 1}, []float64{1, 2, 1},
		3); len(c.Correlation.Original) != mostCorrelated {
		t.Error("no correlations")
	}
}

// The variance by linearisation is that of the weighted mean over samples with replacement: its mean over 2,000 samples
// of 400 lies within 5 standard errors of their variance, whose relative error is about √(2/2000) = 3 %; the
// linearisation is off by the order of 1/400.
func TestWeightedVarianceOverSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	const size, n, times = 5_000, 400, 2_000
	population, p := make([]float64, size), make([]float64, size)
	sum := 0.0
	for i := range population {
		p[i] = 0.2 + r.Float64()
		population[i] = 50*p[i] + 10*r.NormFloat64()
		sum += p[i]
	}
	cumulative, at := make([]float64, size), 0.0
	for i := range p {
		at += p[i] / sum
		cumulative[i] = at
	}
	var means, variances []float64
	for range times {
		x, w := make([]float64, n), make([]float64, n)
		for k := range x {
			i, _ := slices.BinarySearch(cumulative, r.Float64())
			i = min(i, size-1)
			x[k], w[k] = population[i], sum/p[i]/n
		}
		m := NewWeighted("w", []string{"x"}, [][]float64{x}, [][]float64{x}, w, w, n).Columns[0].Original
		means, variances = append(means, float64(m.Mean)), append(variances, float64(m.SE)*float64(m.SE))
	}
	mean, variance, expected := 0.0, 0.0, 0.0
	for i := range means {
		mean += means[i] / times
		expected += variances[i] / times
	}
	for _, m := range means {
		variance += (m - mean) * (m - mean) / (times - 1)
	}
	if math.Abs(expected/variance-1) > 5*math.Sqrt(2.0/times)+2.0/n {
		t.Errorf("the variance is %v, and by linearisation %v on average", variance, expected)
	}
}

// Of a sample, U is that of all records: its mean over samples is near to that of all, where the difference of the
// means is large.
func TestWeightedOfSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	const n, part, times = 4_000, 400, 4_000
	x, y, w := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], w[i] = 100+20*r.NormFloat64(), 1+r.Float64()
		y[i] = x[i] + 1 + 10*r.NormFloat64()
	}
	all := NewWeighted("w", []string{"x"}, [][]float64{x}, [][]float64{y}, w, w, n).Columns[0]
	loss := func(c WeightedColumn) float64 { return 1 / float64(c.U) }
	mean, se, total, sums := 0.0, 0.0, 0.0, 0.0
	for range times {
		var a, b, v []float64
		for _, i := range r.Perm(n)[:part] {
			a, b, v = append(a, x[i]), append(b, y[i]), append(v, w[i])
		}
		s := NewWeighted("w", []string{"x"}, [][]float64{a}, [][]float64{b}, v, v, n)
		if !s.Sampled {
			t.Fatal("a sample is taken for all")
		}
		mean += loss(s.Columns[0]) / times
		sums += float64(s.Columns[0].Released.Sum) / times
		se += float64(s.Columns[0].Original.SE) / times
		total += float64(s.Columns[0].Original.Total) / times
	}
	// A loss is the variance of 0.12 and the square of the difference of about 1, which has the standard error 2·10/√400
	// in a sample, 0.016 of the mean over 4,000: 5 of these, and as much for what is cut off at 0.
	if math.Abs(mean-loss(all)) > 0.16 {
		t.Errorf("mean loss %v, want %v", mean, loss(all))
	}
	// Of the first 400 of them, by the definition.
	n1, m1, _, _, _ := weightedByLoop(x[:part], w[:part], 0.5)
	_, m2, se2, _, _ := weightedByLoop(y[:part], w[:part], 0.5)
	linear, weight := 0.0, sumOfWeights(w[:part])
	for i := range part {
		d := w[i] * (y[i] - m2 - x[i] + m1) / weight
		linear += float64(n1) / float64(n1-1) * d * d
	}
	got := NewWeighted("w", []string{"x"}, [][]float64{x[:part]}, [][]float64{y[:part]}, w[:part], w[:part], n).Columns[0]
	if want := 0.1*se2*se2 + math.Max(0, (m2-m1)*(m2-m1)-0.9*linear); math.Abs(loss(got)/want-1) > 1e-9 ||
		(m2-m1)*(m2-m1) < linear {
		t.Errorf("of a sample: loss %v, want %v", loss(got), want)
	}
	if math.Abs(sums/float64(all.Released.Sum)-1) > 0.01 {
		t.Errorf("sum of weights %v, want %v", sums, all.Released.Sum)
	}
	if math.Abs(se/float64(all.Original.SE)-1) > 0.02 || math.Abs(total/float64(all.Original.Total)-1) > 0.02 {
		t.Errorf("standard error %v and total %v, want %v and %v", se, total, all.Original.SE, all.Original.Total)
	}
	if fmt.Sprint(NewWeighted("w", nil, nil, nil, nil, nil, 0)) == "" {
		t.Error("nothing")
	}
}

func sumOfWeights(w []float64) (sum float64) {
	for _, v := range w {
		sum += v
	}
	return sum
}
