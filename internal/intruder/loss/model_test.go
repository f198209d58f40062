package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// One binary column, so that the regression is saturated: the fitted propensity
// of each value is the released ones' share among the records that have it. Of
// 10 originals 3 have a 1, of 10 releases 6: p̂(1) = 6/9, p̂(0) = 4/11.
func TestPropensityByHand(t *testing.T) {
	x, y := make([]float64, 10), make([]float64, 10)
	for i := range 3 {
		x[i] = 1
	}
	for i := range 6 {
		y[i] = 1
	}
	r, err := PropensityOf(t.Context(), Pair{[]string{"a"}, [][]float64{x}, [][]float64{y}}, PropensityOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := (9*math.Pow(6.0/9-0.5, 2) + 11*math.Pow(4.0/11-0.5, 2)) / 20
	close12(t, "pMSE", r.PMSE, want)
	close12(t, "expected", r.Expected, 0.125/20)
	close12(t, "ratio", *r.Ratio, want/(0.125/20))
	if r.Separated || r.Ridge != 0 || r.Terms != 2 || r.TermsLeftOut != 0 {
		t.Errorf("%+v", r)
	}
}

// Suppression distinguishes the sides, although every remaining value is correct. With
// 400 of 2000 released values missing and none of the originals, the term for missing
// values separates those 400, so the regression has a ridge; pMSE must lie near what
// the shares give: p̂ = 1 for these, 1600/3600 for all others.
func TestPropensitySeesSuppression(t *testing.T) {
	const n, gone = 2000, 400
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		if y[i] = x[i]; i < gone {
			y[i] = nan
		}
	}
	r, err := PropensityOf(t.Context(), Pair{[]string{"a"}, [][]float64{x}, [][]float64{y}}, PropensityOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := float64(n-gone) / float64(2*n-gone)
	want := (gone*0.25 + float64(2*n-gone)*math.Pow(left-0.5, 2)) / (2 * n)
	// The penalty of 1 against 400 certain records keeps p̂ of these about 1 % from
	// 1, which is 4 % of (p̂ − 1/2)².
	if !r.Separated || r.Ridge != separationRidge || !(math.Abs(r.PMSE-want) <= 0.05*want) {
		t.Errorf("%+v, want pMSE about %v", r, want)
	}
}

// If a threshold separates the two sides, the likelihood has no maximum; with the
// ridge, pMSE is near its bound of 1/4.
func TestPropensityOfSeparatedSides(t *testing.T) {
	p := randomPair(400, 2, 0)
	for i := range p.Released[0] {
		p.Released[0] = append([]float64{}, p.Released[0]...)
		p.Released[0][i] += 100
	}
	r, err := PropensityOf(t.Context(), p, PropensityOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Separated || !(r.PMSE > 0.22 && r.PMSE <= 0.25) {
		t.Errorf("%+v", r)
	}
}

// Interactions detect what main effects do not: a swap keeps the values of each column
// but destroys the correlation.
func TestPropensityInteractions(t *testing.T) {
	p := randomPair(4000, 3, 0)
	b := append([]float64{}, p.Released[1]...)
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	p.Released[1] = b
	p.Names = append(p.Names, "twice a")
	for _, side := range []*[][]float64{&p.Original, &p.Released} {
		twice := make([]float64, len(b))
		for i, v := range (*side)[0] {
			twice[i] = 2*v + 1
		}
		*side = append(*side, twice)
	}
	main, err := PropensityOf(t.Context(), p, PropensityOptions{})
	if err != nil {
		t.Fatal(err)
	}
	both, err := PropensityOf(t.Context(), p, PropensityOptions{Interactions: true})
	if err != nil {
		t.Fatal(err)
	}
	if main.Terms != 4 || main.TermsLeftOut != 1 {
		t.Errorf("a combination of other columns is a term: %+v", main)
	}
	// a·a′ is no combination of main effects, the others with a′ are.
	if both.Terms != 4+3+1 || both.TermsLeftOut != 3 {
		t.Errorf("%+v", both)
	}
	if !(*both.Ratio > 20**main.Ratio && *both.Ratio > 20) {
		t.Errorf("ratio %v with, %v without interactions", *both.Ratio, *main.Ratio)
	}
}

// Released values that are new draws from the empirical distribution of the original have a ratio
// with mean 1. The ratio is about χ²(k−1)/(k−1) for k−1 = 3, so its variance is 2/3; the mean of
// 150 has SD 0.067, and 4.5 SD are 0.30. The approximation errs by O(1/n) at n = 500.
func TestPropensityExpectation(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	p := randomPair(500, 3, 0)
	for j := range p.Released {
		p.Released[j] = make([]float64, 500)
	}
	const rounds = 150
	var mean float64
	for range rounds {
		for i := range 500 {
			from := rng.IntN(500)
			for j := range p.Released {
				p.Released[j][i] = p.Original[j][from]
			}
		}
		r, err := PropensityOf(t.Context(), p, PropensityOptions{})
		if err != nil {
			t.Fatal(err)
		}
		mean += *r.Ratio / rounds
	}
	if !(math.Abs(mean-1) <= 0.31) {
		t.Errorf("mean ratio %v, want 1", mean)
	}
}

// By hand, on 3 degrees of freedom: t(0.975; 3) = 3.182446305284263.
func TestOverlapByHand(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4}
	y := []float64{0, 3, 5, 8, 10} // b = 25/10 = 2.5, a = 5.2 − 5 = 0.2, RSS = 0.3
	z := []float64{1, 4, 6, 9, 11} // the same, 1 higher
	o, err := OverlapOf(t.Context(), Pair{[]string{"x", "y"}, [][]float64{x, y}, [][]float64{x, z}},
		Regression{Response: "y", Predictors: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	const q = 3.182446305284263
	half := q * math.Sqrt(0.3/3*(1.0/5+4.0/10))
	close9 := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("%s = %.12g, want %.12g", what, got, want)
		}
	}
	a, b := o.Coefficients[0], o.Coefficients[1]
	close9("intercept", a.Original.Value, 0.2)
	close9("intercept's upper", a.Original.Upper, 0.2+half)
	close9("released intercept", a.Released.Value, 1.2)
	close9("intercept's overlap", a.Overlap, (2*half-1)/(2*half))
	close9("slope", b.Original.Value, 2.5)
	close9("slope's lower", b.Original.Lower, 2.5-q*math.Sqrt(0.3/3/10))
	close9("slope's overlap", b.Overlap, 1)
	close9("mean", o.Mean, ((2*half-1)/(2*half)+1)/2)
	if a.Term != Intercept || b.Term != "x" || o.Records != [2]int{5, 5} {
		t.Errorf("%+v", o)
	}
}

func TestOverlap(t *testing.T) {
	p := randomPair(2000, 3, 0)
	rng := rand.New(rand.NewPCG(11, 12))
	noisy := func(sd float64) Pair {
		q := Pair{p.Names, p.Original, nil}
		for _, v := range p.Original {
			w := make([]float64, len(v))
			for i := range v {
				w[i] = v[i] + sd*rng.NormFloat64()
			}
			q.Released = append(q.Released, w)
		}
		return q
	}
	r := Regression{Response: "c", Predictors: []string{"a", "b"}}
	before := 1.1
	for _, sd := range []float64{0, 0.05, 0.5, 3} { // noise attenuates the slopes ever more
		o, err := OverlapOf(t.Context(), noisy(sd), r)
		if err != nil {
			t.Fatal(err)
		}
		if !(o.Mean < before) || o.Mean < 0 {
			t.Errorf("noise of SD %v: overlap %v after %v", sd, o.Mean, before)
		}
		before = o.Mean
	}
	// A predictor that is constant in the release is left out on both sides, and
	// incomplete records on their own side.
	q := noisy(0)
	q.Released[1] = make([]float64, 2000)
	q.Released[2][5] = nan
	o, err := OverlapOf(t.Context(), q, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.LeftOut) != 1 || o.LeftOut[0] != "b" || len(o.Coefficients) != 2 || o.Records != [2]int{2000, 1999} {
		t.Errorf("%+v", o)
	}
	if overlap(Estimate{Value: 1, Lower: 1, Upper: 1}, Estimate{Value: 1, Lower: 1, Upper: 1}) != 1 ||
		overlap(Estimate{Value: 1, Lower: 1, Upper: 1}, Estimate{Value: 2, Lower: 2, Upper: 2}) != 0 {
		t.Error("intervals of no length")
	}
}
