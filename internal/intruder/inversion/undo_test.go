package inversion

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// exchanged returns a release of couples in which each pair of neighbours has exchanged its values with probability
// rate.
func exchanged(n int, rate float64) Release {
	r := rand.New(rand.NewPCG(5, 2))
	c := Column{Name: "wage", Grid: 1}
	couple, sex := Key{Name: "couple"}, Key{Name: "sex"}
	for i := range n {
		c.Original = append(c.Original, math.Round(1000+8000*r.Float64()))
		couple.Codes, sex.Codes = append(couple.Codes, int32(i/2)), append(sex.Codes, int32(i%2))
	}
	c.Released = append([]float64{}, c.Original...)
	for i := 0; i < n; i += 2 {
		if r.Float64() < rate {
			c.Released[i], c.Released[i+1] = c.Released[i+1], c.Released[i]
		}
	}
	return Release{Columns: []Column{c}, Keys: []Key{couple, sex}}
}

func coupleSwap(keys string, rate float64, policy, scope string) transform.Spec {
	return transform.Spec{
		Params: &transform.Swap{Keys: []string{keys}, Attribute: "sex", Columns: []string{"wage"}, Rate: &rate,
			Policy: policy, Scope: scope}}
}

// Couples are exchanged back where that is more probable than the confidence; where neither is, nothing is claimed; and
// where an exchange is improbable, the released value is claimed. This holds for each policy and scope.
func TestCouplesAreExchangedBack(t *testing.T) {
	const n = 2000
	for rate, want := range map[float64]Kind{1: ExchangedBack, 0.95: ExchangedBack, 0.7: ExchangedBack, 0.6: "", 0.5: "",
		0.1: Unswapped} {
		release := exchanged(n, rate)
		for _, policy := range []string{"unique", "random"} {
			for _, scope := range []string{"window", "dataset"} {
				r, err := Attack(t.Context(), []transform.Spec{coupleSwap("couple", rate, policy, scope)}, Published{Window: n},
					release, Options{})
				if err != nil {
					t.Fatal(err)
				}
				c := r.Columns[0]
				if c.By != want || c.Passed != (want == "") {
					t.Errorf("%s %s, rate %v: passed %v, by %q, want %q", policy, scope, rate, c.Passed, c.By, want)
				}
				// Five standard errors of a share of 1,000 couples.
				if share := max(rate, 1-rate); want != "" &&
					!(math.Abs(c.Share-share) <= 5*math.Sqrt(share*(1-share)/(n/2))+0.002) {
					t.Errorf("%s %s, rate %v: recovered %v, want %v", policy, scope, rate, c.Share, share)
				}
			}
		}
	}
	// A group of many tells nobody's partner.
	release := exchanged(n, 1)
	clear(release.Keys[0].Codes)
	r, err := Attack(t.Context(), []transform.Spec{coupleSwap("couple", 1, "random", "dataset")}, Published{}, release,
		Options{})
	if err != nil || !r.Passed {
		t.Errorf("one large group: %+v, %v", r, err)
	}
}

// Neighbours in rank are exchanged back where the reach is one rank, and not where it is five.
func TestNeighboursInRankAreExchangedBack(t *testing.T) {
	const n = 500
	for reach, want := range map[int]Kind{1: ExchangedBack, 5: ""} {
		r := rand.New(rand.NewPCG(9, uint64(reach)))
		c := Column{Name: "wage", Grid: 1}
		order := r.Perm(n)
		c.Original, c.Released = make([]float64, n), make([]float64, n)
		values := make([]float64, n)
		for k := range values {
			values[k] = float64(k*k + 10*k)
		}
		released := exchangedRanks(r, values, reach)
		for k, i := range order {
			c.Original[i], c.Released[i] = values[k], released[k]
		}
		share := (float64(reach) + 0.5) / n
		got, err := Attack(t.Context(), []transform.Spec{{Params: &transform.RankSwap{Columns: []string{"wage"}, P: &share}}},
			Published{}, Release{Columns: []Column{c}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Columns[0]; c.By != want || want != "" && c.Recovered != n {
			t.Errorf("reach %d: by %q, %d recovered, want %q", reach, c.By, c.Recovered, want)
		}
	}
}

// exchangedRanks returns values by record that a rank swap has exchanged within reach, as Moore (1996) says.
func exchangedRanks(r *rand.Rand, value []float64, reach int) (y []float64) {
	n := len(value)
	y, taken := slices.Clone(value), make([]bool, n)
	for k := range n {
		var free []int
		for j := k + 1; j <= k+reach && j < n; j++ {
			if !taken[j] {
				free = append(free, j)
			}
		}
		if taken[k] || len(free) == 0 {
			continue
		}
		j := free[r.IntN(len(free))]
		y[k], y[j], taken[j] = value[j], value[k], true
	}
	return y
}

// TestSharesByTheLawOfRanks: the share of values that a snooper states who knows how ranks are exchanged. Brute force:
// of each rank the original that it most often has in many draws; by a reach of two ranks a third of all are exchanged
// with their neighbour, and he knows which neighbour that is.
func TestSharesByTheLawOfRanks(t *testing.T) {
	const n, draws = 120, 4000
	r := rand.New(rand.NewPCG(4, 4))
	gaps := make([]float64, n)
	dense := make([]float64, n)
	for k := range n {
		gaps[k] = 3 * float64(k)
		dense[k] = math.Floor(float64(k*k) / 300) // equal ones at the beginning
	}
	for _, c := range []struct {
		name   string
		value  []float64
		reach  int
		within float64
	}{{"two ranks", gaps, 2, 1}, {"three ranks", gaps, 3, 1}, {"two ranks, one about", gaps, 2, 3},
		{"five ranks, two about", gaps, 5, 6}, {"equal values", dense, 2, 0.4}, {"equal values, one about", dense, 3, 1}} {
		// By the released value: how often each original stands behind it.
		origins := map[float64]map[float64]float64{}
		var last []float64
		for range draws {
			y := exchangedRanks(r, c.value, c.reach)
			last = y
			for k, v := range y {
				if origins[v] == nil {
					origins[v] = map[float64]float64{}
				}
				origins[v][c.value[k]]++
			}
		}
		want := 0.0
		for _, of := range origins {
			most := 0.0
			for claim := range of {
				for _, shift := range []float64{0, c.within * (1 - 1e-6)} {
					sum := 0.0
					for x, count := range of {
						if math.Abs(x-claim-shift) <= c.within*(1+1e-6) {
							sum += count
						}
					}
					most = max(most, sum)
				}
			}
			want += most / draws / n
		}
		share := (float64(c.reach) + 0.5) / n
		got, err := Attack(t.Context(), []transform.Spec{{Params: &transform.RankSwap{Columns: []string{"wage"}, P: &share}}},
			Published{},
			Release{Columns: []Column{{Name: "wage", Grid: 0.1, Original: c.value, Released: last}}},
			Options{Within: map[string][]float64{"wage": {c.within}}})
		if err != nil {
			t.Fatal(err)
		}
		e := got.Columns[0].Exact[1]
		// The most frequent of a few origins is more frequent by chance: at most by a standard error of its frequency,
		// 1/(2√4,000) = 0.008.
		if e.Expected == nil || math.Abs(*e.Expected-want) > 0.016 || e.Found < want-0.016 {
			t.Errorf("%s: expected %v, found %v, brute force %v", c.name, e.Expected, e.Found, want)
		}
	}
}
