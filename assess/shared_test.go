package assess

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// kin returns the incomes of households, skewed, which all members have, and the households' numbers.
func kin(r *rand.Rand, n int, size func(income float64) int) (x, household []float64) {
	for h := 1.0; len(x) < n; h++ {
		v := math.Round(100*math.Exp(6+1.2*r.NormFloat64())) / 100
		for range size(v) {
			x, household = append(x, v), append(household, h)
		}
	}
	r.Shuffle(len(x), func(i, j int) {
		x[i], x[j] = x[j], x[i]
		household[i], household[j] = household[j], household[i]
	})
	return x, household
}

// byPosition returns the mean over releases of (τ − y_(k))² for each target, with one draw for each household.
func byPosition(a *Accumulator, r *rand.Rand, x, household []float64, sd float64, releases int) []float64 {
	sorted, y, of := slices.Sorted(slices.Values(x)), make([]float64, len(x)), map[float64]float64{}
	sum := make([]float64, len(a.targets))
	for range releases {
		clear(of)
		for i, h := range household {
			e, drawn := of[h]
			if !drawn {
				e = sd * r.NormFloat64()
				of[h] = e
			}
			y[i] = x[i] + e
		}
		slices.Sort(y)
		for k, t := range a.targets {
			at := t.Rank(len(x))
			if t.Maximum() {
				at = len(x)
			}
			d := y[at-1] - sorted[at-1]
			sum[k] += d * d / float64(releases)
		}
	}
	return sum
}

// R of a value known by its position is no less than that of brute force where the members of a household share a draw,
// for more records than the sample holds and for all of them; the extremes are exact where each household has a value
// of its own.
func TestPositionsWithSharedDraws(t *testing.T) {
	const releases = 2000
	targets := []string{"min", "p01", "p10", "p50", "p90", "p99", "max"}
	r := rand.New(rand.NewPCG(3, 9))
	sizes := map[string]func(income float64) int{
		"1 to 8": func(float64) int { return 1 + r.IntN(8) },
		"8":      func(float64) int { return 8 },
		"large and rich": func(income float64) int {
			if income > 3000 {
				return 8
			}
			return 1
		},
		"persons": func(float64) int { return 1 },
		"waves":   func(float64) int { return 1 + r.IntN(8) }, // of persons, who are told apart by identity
	}
	for i, name := range slices.Sorted(maps.Keys(sizes)) {
		size := sizes[name]
		for j, sd := range []float64{20, 2000} {
			if testing.Short() && (i+j)%2 > 0 {
				continue // each size with one noise
			}
			x, household := kin(r, 400, size)
			n := len(x)
			setup := transform.Setup{Key: keytest.Key(4),
				Households: transform.Households{Index: []int{1}, Shared: []string{"wage"}},
				Columns: []transform.ColumnInfo{
					{Name: "wage", Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, Decimals: 2, SD: 100}}}
			masks := []transform.Spec{{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: sd}}}}
			var persons []int
			if name == "waves" {
				setup.Households, persons = transform.Households{}, []int{1}
			}
			chain, err := transform.NewChain(masks, setup)
			must(t, err)
			setup.Persons = []int{1}
			repeated, err := transform.NewChain(masks, setup)
			must(t, err)
			var brute []float64
			for _, sample := range []int{n / 4, -1} {
				a := newAccumulator(t, Options{
					Columns: []Column{{Name: "wage", Masked: true, Shared: name != "persons" && name != "waves"}}, Sample: sample,
					Targets: targets, Key: keytest.Key(4),
					Replicates: releases, Replicate: func(m int) Masker { return chain.Replicate(m) }, Carry: []int{1},
					Persons: persons, Repeated: func(m int) Masker { return repeated.Replicate(m) },
					Law: func(string) Law { l, _ := chain.ColumnLaw("wage"); return l },
				})
				b := new(microdata.Block)
				b.Reset(0, 0, n, 2)
				copy(b.Columns[0].Alloc(n, false).Values, x)
				copy(b.Columns[1].Alloc(n, false).Values, household)
				must(t, chain.Apply(b))
				a.Add(b)
				if brute == nil {
					brute = byPosition(a, r, x, household, sd, releases)
				}
				m := measured(t, a).Column("wage")
				for k, target := range targets {
					got := risk(t, m, target, KnowledgePosition)
					// The square of an order statistic's error has a relative SD of at most 2.5 (an extreme of skewed data), so that
					// of the mean of 2000 is at most 0.056, in brute force and in replicates; the limits are 3 of √2 of these below,
					// and the same above where the figure is exact.
					ratio := float64(got.R) * brute[k]
					exact := sample < 0 || target == "min" || target == "max" || name == "persons"
					if ratio < 0.77 || exact && ratio > 1.24 {
						t.Errorf("households of %s, SD %v, sample %d, %s: R is %.2f of that of brute force", name, sd, sample, target,
							ratio)
					}
					if bound := sample > 0 && ratio > 1.24; bound && (!got.Approximate || got.Errs != ErrsSafe) {
						t.Errorf("households of %s, SD %v, %s: a bound is not said to be one: %+v", name, sd, target, got)
					}
				}
			}
		}
	}
}
