package assess

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// halving draws new values around half of a record's value: a mask with a bias, and with a variance
// for each record.
type halving struct{ seed uint64 }

func (halving) NeedsSurvey() bool             { return false }
func (halving) Survey(*microdata.Block) error { return nil }
func (halving) EndSurvey() error              { return nil }
func (p halving) Apply(b *microdata.Block) error {
	rng := rand.New(rand.NewPCG(p.seed, uint64(b.Stream)+1))
	v := b.Columns[0].Mutable()
	for i, x := range v.Values {
		v.Values[i] = 0.5*x + 3*rng.NormFloat64()
	}
	return nil
}

// R of m copies is that of an intruder who takes the mean of the copies, compared with copies that
// are drawn and averaged. One copy changes nothing. The mean over 2,000 draws has an error of
// √(2/2000) = 3 %, and so has that of as many replicates: 5 of both are 22 %.
func TestRiskOfCopies(t *testing.T) {
	const n, m, draws = 300, 5, 2000
	rng := rand.New(rand.NewPCG(7, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = 10 * rng.ExpFloat64()
	}
	block := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		copy(b.Columns[0].Alloc(n, false).Values, x)
		return b
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, x[a]-x[b])) })
	low, high := order[0], order[n-1]
	square := map[string]float64{}
	for d := range draws {
		sum, mean, position := make([]float64, n), 0.0, 0.0
		for c := range m {
			b := block()
			if err := (halving{uint64(1000 + d*m + c)}).Apply(b); err != nil {
				t.Fatal(err)
			}
			y := b.Columns[0].Out().Values
			for i, v := range y {
				sum[i] += v / m
				mean += v / (n * m)
			}
			position += slices.Max(y) / m
		}
		for i := range x {
			square["typical index"] += (x[i] - sum[i]) * (x[i] - sum[i]) / (n * draws)
			square["typical mean"] += (x[i] - mean) * (x[i] - mean) / (n * draws)
		}
		square["min index"] += (x[low] - sum[low]) * (x[low] - sum[low]) / draws
		square["max position"] += (x[high] - position) * (x[high] - position) / draws
		square["max mean"] += (x[high] - mean) * (x[high] - mean) / draws
	}
	risks := func(copies, replicates, sample int) map[string]Risk {
		o := Options{Columns: []Column{{Name: "x", Masked: true, Copies: copies}}, Sample: sample, Replicates: replicates,
			Targets: []string{"min", "p50", "max"}}
		if replicates > 0 {
			o.Replicate = func(m int) Masker { return halving{uint64(m)} }
		}
		a := newAccumulator(t, o)
		b := block()
		if err := (halving{1 << 40}).Apply(b); err != nil {
			t.Fatal(err)
		}
		a.Add(b)
		got, err := a.Measure(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]Risk{}
		for _, r := range got.Columns[0].Risk {
			list[r.Target+" "+r.Knowledge] = r
		}
		return list
	}
	// an odd number: the last replicate has no partner
	one, plain, all := risks(1, 2001, -1), risks(0, 2001, -1), risks(m, 2001, -1)
	for name, want := range square {
		if got := 1 / float64(all[name].R); !(math.Abs(got/want-1) <= 0.22) || all[name].Approximate {
			t.Errorf("%s: E(τ − τ̂)² is %v, drawn %v", name, got, want)
		}
		if one[name].R != plain[name].R || !(name == "max position" || one[name].R < all[name].R) {
			t.Errorf("%s: R is %v with one copy, %v without copies, %v with %d", name, one[name].R, plain[name].R, all[name].R,
				m)
		}
	}
	// For parts of the sample the same, as far as they allow.
	if part := risks(m, 2001, 150); !(math.Abs(float64(all["typical index"].R/part["typical index"].R)-1) <= 0.25) {
		t.Errorf("typical by index: R is %v of all, %v of a sample", all["typical index"].R, part["typical index"].R)
	}
	// By the mean of all values, two copies halve the variance of separate draws, and five divide
	// it by five, except for one of 2001, because a variance has one replicate less.
	byMean := func(list map[string]Risk) float64 { return 1 / float64(list["typical mean"].R) }
	two := risks(2, 2001, -1)
	if half, four := byMean(one)-byMean(two), byMean(one)-byMean(all); !(half > 0) ||
		!(math.Abs(four/half-(1-1.0/m)/0.5) <= 0.01) {
		t.Errorf("typical by mean: E(τ − τ̂)² is %v with one copy, %v with two, %v with %d", byMean(one), byMean(two),
			byMean(all), m)
	}
	// By the mean, on parts: more copies reduce the error of separate draws, and the rest is the
	// same.
	noise := func(r Risk) float64 { return math.Pow(float64(r.SE/(r.R*r.R)), 2) }
	parts, single := risks(m, 2001, 150), risks(1, 2001, 150)
	for _, name := range []string{"typical mean", "p50 mean", "max mean"} {
		if got, most := noise(parts[name]), noise(single[name]); !(got > 0) || !(got < most) {
			t.Errorf("%s: the variance of 1/R is %v, with one copy %v", name, got, most)
		}
	}
	// Without replicates: the maximum.
	for name, r := range risks(m, 0, -1) {
		if r.R != m*r.RealisedR || !r.Approximate || r.Errs != ErrsSafe {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
