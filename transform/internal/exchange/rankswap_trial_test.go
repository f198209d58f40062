package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// outcomes adds the probability of each result of an exchange to those of releases, from the ranks that are free on: by
// the words of the definition, with no draw. values are by rank and change places.
func outcomes(of map[string]float64, values []float64, records []int, free []bool, rank, reach int, p float64) {
	for rank < len(values) && !free[rank] {
		rank++
	}
	if rank == len(values) {
		released := make([]float64, len(values))
		for at, i := range records {
			released[i] = values[at]
		}
		of[fmt.Sprint(released)] += p
		return
	}
	var near []int
	for j := rank + 1; j < len(values) && j <= rank+reach; j++ {
		if free[j] {
			near = append(near, j)
		}
	}
	next := slices.Clone(free)
	next[rank] = false
	if len(near) == 0 {
		outcomes(of, values, records, next, rank+1, reach, p)
	}
	for _, j := range near {
		own, taken := slices.Clone(values), slices.Clone(next)
		own[rank], own[j] = own[j], own[rank]
		taken[j] = false
		outcomes(of, own, records, taken, rank+1, reach, p/float64(len(near)))
	}
}

// permutations calls f with each order of list from at on.
func permutations(list []int, at int, f func()) {
	if at == len(list) {
		f()
		return
	}
	for i := at; i < len(list); i++ {
		list[at], list[i] = list[i], list[at]
		permutations(list, at+1, f)
		list[at], list[i] = list[i], list[at]
	}
}

// The releases of replicates have the probabilities of the definition, and so have those of a run: for any reach, with
// equal values, whose records are in a random order first, and with ends that get their mean. Of 40,000 draws a share
// has an SD of at most √(p/40,000), and of a few hundred shares none departs by more than 5 of these, up to a
// probability of 10⁻⁴.
func TestReplicatesExchangeAsReleasesDo(t *testing.T) {
	const draws = 40_000
	for name, c := range map[string]struct {
		x           []float64
		reach       int
		bottom, top int
	}{
		"neighbours":              {[]float64{5, 3, 4, 1, 2}, 1, 0, 0},
		"within two":              {[]float64{5, 3, 4, 1, 2, 0}, 2, 0, 0},
		"any":                     {[]float64{5, 3, 4, 1, 2}, 9, 0, 0},
		"equal ones":              {[]float64{2, 1, 2, 1, 2}, 2, 0, 0},
		"equal ones, and ends":    {[]float64{7, 1, 2, 2, 0, 9}, 2, 1, 1},
		"two that are alike":      {[]float64{3, 3, 8}, 2, 0, 0},
		"two, and others beyond":  {[]float64{3, 3, 8, 9, 10}, 3, 0, 0},
		"two kinds of equal ones": {[]float64{1, 1, 1, 2, 2}, 3, 0, 0},
		"a record that stays":     {[]float64{1, 2, 3}, 1, 0, 0},
		"one beside equal ones":   {[]float64{4, 4, 4, 9}, 1, 0, 0},
	} {
		of := &columnRanks{order: sortedRows(c.x), bottom: c.bottom, top: c.top, reach: c.reach}
		for at := 0; at < len(of.order); {
			end := at
			for ; end < len(of.order) && c.x[of.order[end]] == c.x[of.order[at]]; end++ {
				of.sorted = append(of.sorted, c.x[of.order[at]])
			}
			if end-at > 1 {
				of.alike = append(of.alike, span{at, end})
			}
			at = end
		}
		want, inner := map[string]float64{}, len(c.x)-c.bottom-c.top
		all := make([]int, len(c.x))
		for i := range all {
			all[i] = int(of.order[i])
		}
		orders := 0.0
		count := func(f func()) { // each order of equal values is as likely
			permutations(all, 0, func() {
				if slices.IsSortedFunc(all, func(a, b int) int { return int(c.x[a] - c.x[b]) }) {
					f()
				}
			})
		}
		count(func() { orders++ })
		count(func() {
			free := make([]bool, len(c.x))
			for k := range inner {
				free[c.bottom+k] = true
			}
			outcomes(want, slices.Clone(of.sorted), all, free, 0, c.reach, 1/orders)
		})
		for kind, exchange := range map[string]func(values []float64, words []uint64){
			"a replicate": func(values []float64, words []uint64) { new(trialExchanger).exchange(values, words, of, nil) },
			"a release": func(values []float64, words []uint64) {
				own := *of
				own.order, own.sorted = slices.Clone(of.order), slices.Clone(of.sorted)
				new(exchanger).exchange(values, words, &own, nil)
			},
		} {
			r := rand.New(rand.NewPCG(37, 9))
			got, words := map[string]float64{}, make([]uint64, len(c.x))
			for range draws {
				for i := range words {
					words[i] = r.Uint64()
				}
				y := slices.Clone(c.x)
				exchange(y, words)
				for k, i := range of.order { // what is at an end has its mean here, and stays in the definition above
					if k < c.bottom || k >= len(c.x)-c.top {
						y[i] = c.x[i]
					}
				}
				got[fmt.Sprint(y)] += 1.0 / draws
			}
			for release, p := range got {
				if want[release] == 0 {
					t.Errorf("%s: %s is impossible, and %s has it with %v", name, release, kind, p)
				}
			}
			for release, p := range want {
				if math.Abs(got[release]-p) > 5*math.Sqrt(max(0, p*(1-p)/draws))+1e-9 {
					t.Errorf("%s: %s of %s has a probability of %v, want %v", name, release, kind, got[release], p)
				}
			}
		}
	}
}

// A partner is any free rank within reach with the same probability, whether few or many are free, near or far, and
// none where none is. χ² of k − 1 degrees of freedom is below k − 1 + 6√(2(k − 1)) up to a probability of 10⁻⁶ (k ≥ 9).
func TestPartnersAreAsLikely(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 37))
	for _, span := range []int{10, 63, 64, 65, 127, 128, 129, 1000, 5000} {
		for _, share := range []float64{1, 0.7, 0.3, 0.02, 0} {
			first := r.IntN(130)
			e := &trialExchanger{free: make([]uint64, (first+span+200)>>6+2)}
			var free []int
			for rank := range 64 * (len(e.free) - 1) {
				within := rank >= first && rank < first+span
				if within && r.Float64() >= share { // all those beyond the reach are free
					continue
				}
				e.free[rank>>6] |= 1 << (rank & 63)
				if within {
					free = append(free, rank)
				}
			}
			if len(free) == 0 {
				if got := e.partner(first, first+span-1, r.Uint64()); got != -1 {
					t.Errorf("of %d ranks none is free, and %d is taken", span, got)
				}
				continue
			}
			draws := max(20_000, 30*len(free))
			counts := map[int]int{}
			for range draws {
				counts[e.partner(first, first+span-1, r.Uint64())]++
			}
			if len(counts) > len(free) {
				t.Fatalf("of %d ranks %d are free, and %d are taken", span, len(free), len(counts))
			}
			square, expected := 0.0, float64(draws)/float64(len(free))
			for _, rank := range free {
				d := float64(counts[rank]) - expected
				square += d * d / expected
			}
			if k := float64(len(free) - 1); square > k+6*math.Sqrt(2*k)+12 {
				t.Errorf("of %d ranks %d are free: χ² is %v", span, len(free), square)
			}
		}
	}
}

// Far exchanges of replicates are those of releases: the share of records that keep their value, and the mean distance
// of ranks, by the place of the record. Both have 2,000 × 40 draws in each of five parts; distances up to 600 have an
// SD of their mean of at most 1.6 each, shares one of at most 0.005 from one release to the next, and their means
// 0.0004.
func TestFarExchangesOfReplicatesAreThoseOfReleases(t *testing.T) {
	const n, parts, times = 10_000, 5, 40
	for _, reach := range []int{65, 100, 600} {
		of := &columnRanks{reach: reach}
		for i := range n {
			of.order, of.sorted = append(of.order, int32(i)), append(of.sorted, float64(i))
		}
		var stays, far [2][parts]float64
		r := rand.New(rand.NewPCG(uint64(reach), 1))
		words := make([]uint64, n)
		for range times {
			for kind, exchange := range []func(y []float64){
				func(y []float64) { new(trialExchanger).exchange(y, words, of, nil) },
				func(y []float64) {
					own := *of
					own.order, own.sorted = slices.Clone(of.order), slices.Clone(of.sorted)
					new(exchanger).exchange(y, words, &own, nil)
				},
			} {
				for i := range words {
					words[i] = r.Uint64()
				}
				y := slices.Clone(of.sorted)
				exchange(y)
				for i, v := range y {
					d := math.Abs(v - float64(i))
					if d > float64(reach) {
						t.Fatalf("reach %d: %v", reach, d)
					}
					far[kind][i*parts/n] += d / (n / parts * times)
					if d == 0 {
						stays[kind][i*parts/n] += 1.0 / (n / parts * times)
					}
				}
			}
		}
		for p := range parts {
			if math.Abs(far[0][p]-far[1][p]) > 5*float64(reach)/600*1.6*math.Sqrt2 {
				t.Errorf("reach %d, part %d: mean distances %v and %v", reach, p, far[0][p], far[1][p])
			}
			if math.Abs(stays[0][p]-stays[1][p]) > 5*0.0008 {
				t.Errorf("reach %d, part %d: shares that stay %v and %v", reach, p, stays[0][p], stays[1][p])
			}
		}
	}
}
