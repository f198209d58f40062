package intruder_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/papers"
)

// Mean correct links of 100 in scenarios of tables 2 and 3 of Trottini et al. (2004), as given
// in docs/methods.md, section 6, from separate simulations. Both are means of runs; with our M
// runs' standard error s the tolerance is 4.5·√2·s (as if the values there were also means of
// M runs, false-reject rate 7e-6) plus half a unit of the last digit given there.
func TestTrottini2004(t *testing.T) {
	for _, c := range []struct {
		name       string
		s          papers.Trottini
		runs       int
		mean, unit float64
	}{
		{"d.1 DATA1 min med", papers.Trottini{Data: 1, Phi: papers.Phis[0], C: papers.Cs[1]}, 100, 12, 1},
		{"d.1 DATA1 med min", papers.Trottini{Data: 1, Phi: papers.Phis[1], C: papers.Cs[0]}, 100, 2.5, 0.1},
		{"d.1 DATA2 min min", papers.Trottini{Data: 2, Phi: papers.Phis[0], C: papers.Cs[0]}, 100, 62, 1},
		{"d.1 DATA2 med med", papers.Trottini{Data: 2, Phi: papers.Phis[1], C: papers.Cs[1]}, 100, 9, 1},
		{"d.1 DATA2 max max", papers.Trottini{Data: 2, Phi: papers.Phis[2], C: papers.Cs[2]}, 100, 2, 1},
		{"d.2 DATA1 min med", papers.Trottini{Data: 1, Phi: papers.Phis[0], C: papers.Cs[1], Priors: true}, 8, 7.6, 0.1},
		{"d.2 DATA2 min min", papers.Trottini{Data: 2, Phi: papers.Phis[0], C: papers.Cs[0], Priors: true}, 8, 28, 1},
	} {
		rng := rand.New(rand.NewPCG(2004, uint64(len(c.name))))
		var sum, squares float64
		for range c.runs {
			r, err := c.s.Run(context.Background(), rng)
			if err != nil {
				t.Fatal(err)
			}
			sum += r.Correct
			squares += r.Correct * r.Correct
		}
		n := float64(c.runs)
		mean := sum / n
		se := math.Sqrt((squares/n - mean*mean) / (n - 1))
		if !(math.Abs(mean-c.mean) <= 4.5*math.Sqrt2*se+c.unit/2) {
			t.Errorf("%s: %.2f ± %.2f correct links, docs/methods.md has %g", c.name, mean, se, c.mean)
		}
	}
}

// Table 4.3 of Fienberg, Makov and Sanil (1997): no bias and no noise, so every true
// record is among the first, 319 of 662 at the very front, where their posterior has mean
// 0.017 and that of the ten best 0.113. The survey's data are not public; ours are drawn
// after section 4.1, whose description fixes their spread to about a tenth. A spread that
// is a tenth off on four keys moves a posterior by up to half.
func TestFienberg1997(t *testing.T) {
	const targets = 200
	r, err := papers.Fienberg{Targets: targets}.Run(context.Background(), rand.New(rand.NewPCG(1997, 0)))
	if err != nil {
		t.Fatal(err)
	}
	// A share of 319/662 among 200 has an SD of 0.035; 0.2 leaves room for the spread too.
	first := r.Ranks[0]
	if !(math.Abs(first.Number/targets-319./662) <= 0.2) || r.Ranks[10].Number > 0.05*targets {
		t.Errorf("%g of %d ranked first and %g beyond the tenth, the paper has 319 and 0 of 662", first.Number, targets, r.Ranks[10].Number)
	}
	if !(math.Abs(math.Log(first.Posterior.Mean/0.017)) <= math.Log(1.5)) || math.Abs(math.Log(first.TopTen.Mean/0.113)) > math.Log(1.5) {
		t.Errorf("posterior %g and of the ten best %g, the paper has 0.017 and 0.113", first.Posterior.Mean, first.TopTen.Mean)
	}
}
