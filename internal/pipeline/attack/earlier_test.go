package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// rounding is the law of rounding to multiples of a base, up to a bound.
type rounding struct {
	assess.Law
	base, most float64
}

func (r rounding) Support() (low, high, step float64) { return math.Inf(-1), r.most, r.base }
func (r rounding) Fixed() bool                        { return true }

// rootOf is the root mean squared error of a key.
func rootOf(s shown) float64 {
	sum := 0.0
	for i, x := range s.original {
		sum += (s.released[i] - x) * (s.released[i] - x)
	}
	return math.Sqrt(sum / float64(len(s.original)))
}

// Of two draws of SD a and b the combination errs by ab/√(a² + b²), in either order, whatever bias one of them has; of
// y₁ = x + z and y₂ = x + 2z it is x; where one is missing it is the other. Of 4,000 records a root mean square has a
// relative standard error of 1.1 %, of which four are allowed.
func TestCombinedKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const n, a, b = 4000, 30.0, 40.0
	x, one, two, twice := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		z := a * rng.NormFloat64()
		x[i] = 1000 * rng.Float64()
		one[i], twice[i] = x[i]+z, x[i]+2*z
		two[i] = x[i] + 7 + b*rng.NormFloat64()
	}
	of := func(list ...[]float64) (keys []shown) {
		for _, y := range list {
			keys = append(keys, shown{original: x, released: y})
		}
		return keys
	}
	for _, keys := range [][]shown{of(one, two), of(two, one), meansOf(of(one, two))} {
		if got := rootOf(combined(keys)); !(math.Abs(got/24-1) < 0.044) {
			t.Errorf("of SD 30 and 40 remains %v, want 24", got)
		}
	}
	if got := rootOf(combined(of(one, twice))); got > 0.01 {
		t.Errorf("one draw in two sizes: remains %v", got)
	}
	one[0], two[1] = math.NaN(), math.NaN()
	c := combined(of(one, two))
	if got, want := c.released[0], two[0]-7; math.Abs(got-want) > 4*b/math.Sqrt(n) ||
		math.Abs(c.released[1]-one[1]) > 4*a/math.Sqrt(n) {
		t.Errorf("a missing value: %v, want about %v; %v, want about %v", got, want, c.released[1], one[1])
	}
}

// meansOf is the list with what meanOf makes of it, twice.
func meansOf(keys []shown) []shown { return []shown{meanOf(keys), meanOf(keys)} }

// Of many records the values that can have been rounded to 50 and to 70 are those of the intersection, whose middle is
// taken; at a bound only the other one says something.
func TestMiddleOfRoundings(t *testing.T) {
	n := mostMeans + 1
	x, a, b := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i % 700)
		a[i], b[i] = math.Round(x[i]/50)*50, min(math.Round(x[i]/70)*70, 420)
	}
	got := meanOf([]shown{{original: x, released: a, law: rounding{base: 50, most: math.Inf(1)}},
		{original: x, released: b, law: rounding{base: 70, most: 420}}})
	for i := range x {
		low, high := a[i]-25, a[i]+25
		if b[i] < 420 {
			low, high = max(low, b[i]-35), min(high, b[i]+35)
		}
		if want := (low + high) / 2; got.released[i] != want {
			t.Fatalf("record %d: middle %v, want %v", i, got.released[i], want)
		}
	}
}

// An attack on a configuration with a ledger says that its figures leave the ledger's releases out, and one without says
// nothing.
func TestAttackSaysThatItIsOfOneRelease(t *testing.T) {
	for _, ledger := range []string{"", "\nledger: releases.sdl"} {
		p, err := panel(t, "1,a,1,n,5\n2,b,1,n,6\n", "role: identifier", "assess: {keys: [region]}"+ledger)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil || (r.Alone != "") != (ledger != "") {
			t.Errorf("%q: %v, says %q", ledger, err, r.Alone)
		}
	}
}
