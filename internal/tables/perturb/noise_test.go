package perturb

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func table(t *testing.T, n Noise) *Table {
	t.Helper()
	table, problems := NewTable(n)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return table
}

// The expectation of every count does not change, the change has the required variance, and no
// forbidden value is published. The distribution has the greatest entropy. For a distribution with
// given mean and variance this is equivalent to log p being a polynomial of degree 2 on all possible
// values (Cover and Thomas 2006, theorem 12.1.1), so that divided differences of third order are 0.
// Probabilities are in units of 2⁻³².
func TestChangesAreOfGreatestEntropy(t *testing.T) {
	for _, n := range []Noise{{1, 0.5, 0}, {2, 1, 1}, {3, 1.5, 0}, {3, 2.9, 0}, {5, 2, 0}, {5, 4, 0}, {4, 2.5, 3},
		{6, 4.5, 4}, {10, 6, 0}} {
		table := table(t, n)
		for count := int64(1); count < 40; count++ {
			r := table.of(count)
			sum, mean, square, seen := 0.0, 0.0, 0.0, 0
			for v := int64(-n.Max); v <= int64(n.Max); v++ {
				to := count + v
				if to < 0 || to > 0 && to < int64(n.Least) {
					continue
				}
				if seen >= len(r.change) || r.change[seen] != v {
					t.Fatalf("%+v: a count of %d cannot become %d", n, count, to)
				}
				p := r.p[seen]
				seen++
				sum, mean, square = sum+p, mean+p*float64(v), square+p*float64(v*v)
			}
			// Rounding to 2⁻³² changes each of at most 21 probabilities by up to 2⁻³³, and the
			// variance by up to 10² times this for each.
			if seen != len(r.change) || !(math.Abs(sum-1) <= 1e-12) || math.Abs(mean) > 1e-7 ||
				!(math.Abs(square-n.Variance) <= 1e-6) {
				t.Errorf("%+v: count %d: %d changes, sum %v, mean %v, variance %v", n, count, seen, sum, mean, square)
			}
			for i := 3; i < len(r.p); i++ {
				if min(r.p[i-3], r.p[i-2], r.p[i-1], r.p[i]) < 1e-4 {
					continue // the rounding error of 2⁻³² is more than 1e-6 of the probability
				}
				third := 0.0 // divided difference, by Lagrange's form
				for a := i - 3; a <= i; a++ {
					w := math.Log(r.p[a])
					for b := i - 3; b <= i; b++ {
						if b != a {
							w /= float64(r.change[a] - r.change[b])
						}
					}
					third += w
				}
				if !(math.Abs(third) <= 1e-5) {
					t.Errorf("%+v: count %d: log p is no parabola, third difference %v", n, count, third)
				}
			}
		}
	}
}

// Every change is drawn with its probability, and the likelihood of a published count, given a true
// count, is this probability.
func TestDrawsFollowTheTable(t *testing.T) {
	const n = 200_000
	for _, noise := range []Noise{{3, 1.5, 0}, {4, 2.5, 3}} {
		table := table(t, noise)
		rng := rand.New(rand.NewPCG(16, 4))
		for _, count := range []int64{0, 1, 2, 3, 5, 8, 1000} {
			seen := map[int64]float64{}
			for range n {
				seen[table.Perturb(count, rng.Uint64())]++
			}
			total := 0.0
			for published := max(0, count-int64(noise.Max)-1); published <= count+int64(noise.Max)+1; published++ {
				first, l := table.Likelihood(published)
				p := 0.0
				if i := count - first; i >= 0 && i < int64(len(l)) {
					p = l[i]
				}
				// Five standard deviations of a binomial share, which 1 share in 2 million exceeds.
				if !(math.Abs(seen[published]/n-p) <= 5*math.Sqrt(p*(1-p)/n)) {
					t.Errorf("%+v: %d becomes %d with %v, want %v", noise, count, published, seen[published]/n, p)
				}
				total += seen[published]
				if published > 0 && published < int64(noise.Least) && p > 0 {
					t.Errorf("%+v: %d is published", noise, published)
				}
			}
			if total != n {
				t.Errorf("%+v: %d is changed by more than %d", noise, count, noise.Max)
			}
		}
		if table.Perturb(0, math.MaxUint64) != 0 || table.Perturb(0, 0) != 0 {
			t.Error("an empty cell gets a count")
		}
		first, l := table.Likelihood(0)
		if first != 0 || len(l) < 2 || l[0] != 1 {
			t.Errorf("counts that may be published as 0: from %d, %v", first, l)
		}
		if first, l = table.Likelihood(5); first < 1 || l[0] <= 0 || l[len(l)-1] <= 0 {
			t.Errorf("counts that may be published as 5: from %d, %v", first, l)
		}
	}
}

// The least and the greatest draw give the first and the last change.
func TestEndsOfTheDraws(t *testing.T) {
	table := table(t, Noise{2, 1, 0})
	if table.Perturb(9, 0) != 7 || table.Perturb(9, math.MaxUint64) != 11 {
		t.Errorf("%d and %d", table.Perturb(9, 0), table.Perturb(9, math.MaxUint64))
	}
}

func TestNoiseThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		n    Noise
		want string
	}{
		{Noise{0, 1, 0}, "max: must be between 1 and 1000, got 0"},
		{Noise{3, 0, 0}, "variance: must be greater than 0"},
		{Noise{3, math.NaN(), 0}, "variance"},
		{Noise{3, 3, 0}, "variance: must be greater than 0 and less than 3"},
		{Noise{3, 1.5, -1}, "least: must be between 0 and 1000"},
		{Noise{3, 2, 3}, "variance: must be greater than 2 and less than 3"},
		{Noise{2, 1, 5}, "max: must be at least"},
	} {
		if _, problems := NewTable(c.n); len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.n, problems, c.want)
		}
	}
}
