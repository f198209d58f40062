package sampling

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// The belief agrees with Bayes' theorem over all counts up to 4,000 with a uniform prior; the binomial
// probabilities are exact fractions.
func TestBelief(t *testing.T) {
	for _, oneIn := range []int{2, 3, 10} {
		for _, drawn := range []int64{0, 1, 2, 7, 40} {
			want, sum := map[int64]*big.Float{}, new(big.Float)
			keep := new(big.Rat).SetFrac64(int64(oneIn-1), int64(oneIn))
			power := big.NewFloat(1).SetPrec(200)
			for n := drawn; n <= 4000; n++ {
				w := new(big.Float).SetPrec(200).SetInt(new(big.Int).Binomial(n, drawn))
				w.Mul(w, power)
				want[n] = w
				sum.Add(sum, w)
				k, _ := new(big.Float).SetPrec(200).SetRat(keep).Float64()
				power = new(big.Float).SetPrec(200).Mul(power, big.NewFloat(k))
			}
			first, p := Belief(drawn, oneIn)
			total := 0.0
			for k, got := range p {
				q, _ := new(big.Float).Quo(want[first+int64(k)], sum).Float64()
				if !(math.Abs(got-q) <= 1e-11) {
					t.Errorf("%d of one in %d: %d is believed with %v, want %v", drawn, oneIn, first+int64(k), got, q)
				}
				if !(got <= 1/float64(oneIn)+1e-12) {
					t.Errorf("%d of one in %d: %d is believed with %v", drawn, oneIn, first+int64(k), got)
				}
				total += got
			}
			if !(math.Abs(total-1) <= 1e-9) {
				t.Errorf("%d of one in %d: the sum is %v", drawn, oneIn, total)
			}
		}
	}
}

// For a respondent who knows a lower bound of the count, also no count has a probability above
// 1/oneIn, as long as the belief above the bound is at least a billionth.
func TestNobodyIsSurer(t *testing.T) {
	for _, oneIn := range []int{2, 5} {
		for drawn := range int64(30) {
			first, p := Belief(drawn, oneIn)
			rest := 0.0
			for k := len(p) - 1; k >= 0; k-- {
				if rest += p[k]; rest > 1e-9 && !(p[k]/rest <= 1/float64(oneIn)+1e-4) {
					t.Errorf("%d of one in %d: a respondent who knows %d records believes with %v that there are no more", drawn,
						oneIn, first+int64(k), p[k]/rest)
				}
			}
		}
	}
}

// What all counts of a sample together tell of one of them makes nobody more certain than the belief by the count
// alone: the joint posterior of a 2 × 2 table, whose four inner counts are equally likely beforehand, enumerated up to
// 18 (or, for the total, 72). All cells are published, or only both margins, from which the sampled inner counts do not
// follow. Counts beyond the enumeration have a probability below 0.004, as the drawn ones are at most 3.
func TestOtherCountsMakeNobodySurer(t *testing.T) {
	trials := 200
	if testing.Short() {
		trials = 20
	}
	rng := rand.New(rand.NewPCG(38, 19))
	const most, f = 18, 0.5
	choose := func(n, k int) float64 {
		if k < 0 || k > n {
			return 0
		}
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(a - b - c)
	}
	var chance [most + 1][4]float64 // that so many of so many are drawn
	for n := range chance {
		for k := range chance[n] {
			chance[n][k] = choose(n, k) * math.Pow(f, float64(n))
		}
	}
	entropy := func(p []float64) (h float64) {
		for _, q := range p {
			if q > 0 {
				h -= q * math.Log(q)
			}
		}
		return h
	}
	less := 0
	for trial := range trials {
		var d [4]int
		for k := range d {
			d[k] = rng.IntN(3) * rng.IntN(2)
		}
		ways := [][4]int{d}
		if trial%2 == 1 { // the margins alone
			ways = nil
			for a := range 4 {
				w := [4]int{a, d[0] + d[1] - a, d[0] + d[2] - a, d[3] - d[0] + a}
				if min(w[1], w[2], w[3]) >= 0 && max(w[1], w[2], w[3]) <= 3 {
					ways = append(ways, w)
				}
			}
		}
		row, total, inner, all := make([]float64, 2*most+1), make([]float64, 4*most+1), make([]float64, most+1), 0.0
		for a := range most + 1 {
			for b := range most + 1 {
				for c := range most + 1 {
					for e := range most + 1 {
						w := 0.0
						for _, x := range ways {
							w += chance[a][x[0]] * chance[b][x[1]] * chance[c][x[2]] * chance[e][x[3]]
						}
						inner[a], row[a+b], total[a+b+c+e], all = inner[a]+w, row[a+b]+w, total[a+b+c+e]+w, all+w
					}
				}
			}
		}
		check := func(name string, p []float64, drawn int) {
			top := 0.0
			for n := range p {
				p[n] /= all
				top = max(top, p[n])
			}
			_, belief := Belief(int64(drawn), 2)
			by := slices.Max(belief)
			if top > by+0.004 || entropy(p) < entropy(belief)-0.03 {
				t.Errorf("%v, %s: together a count has %v, and the entropy is %v; by itself %v and %v", ways, name, top, entropy(p),
					by, entropy(belief))
			}
			if top < by-0.02 {
				less++
			}
		}
		if trial%2 == 0 {
			check("inner", inner, d[0])
		}
		check("row", row, d[0]+d[1])
		check("total", total, d[0]+d[1]+d[2]+d[3])
	}
	if less < trials {
		t.Errorf("of %d totals together tell less: too few for this test", less)
	}
}

// The belief about a large count has the mean (m+1)/f − 1 and the variance (m+1)(1−f)/f² of a negative
// binomial distribution.
func TestBeliefOfALargeCount(t *testing.T) {
	first, p := Belief(20_000, 5)
	mean, square := 0.0, 0.0
	for k, q := range p {
		x := float64(first + int64(k))
		mean, square = mean+q*x, square+q*x*x
	}
	if variance := square - mean*mean; !(math.Abs(mean-(20_001*5-1)) <= 0.01) ||
		!(math.Abs(variance/(20_001*0.8*25)-1) <= 1e-3) {
		t.Errorf("mean %v, variance %v", mean, variance)
	}
}

// One record in oneIn is drawn: 200,000 draws, with a tolerance of five standard errors. A record in a
// sample is also in all larger samples.
func TestDrawn(t *testing.T) {
	const draws = 200_000
	rng := rand.New(rand.NewPCG(16, 6))
	count := map[int]float64{}
	for range draws {
		u, before := rng.Uint64(), true
		for _, oneIn := range []int{2, 3, 10, 1000} {
			d := Drawn(u, oneIn)
			if d && !before {
				t.Fatalf("drawn as one in %d and not among more", oneIn)
			}
			if before = d; d {
				count[oneIn]++
			}
		}
	}
	for _, oneIn := range []int{2, 3, 10, 1000} {
		f := 1 / float64(oneIn)
		if got := count[oneIn] / draws; !(math.Abs(got-f) <= 5*math.Sqrt(f*(1-f)/draws)) {
			t.Errorf("one in %d: %v are drawn", oneIn, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for oneIn, good := range map[int]bool{1: false, 0: false, -3: false, 2: true, MostOneIn: true, MostOneIn + 1: false} {
		if (len(Check(oneIn)) == 0) != good {
			t.Errorf("one in %d: %v", oneIn, Check(oneIn))
		}
	}
}
