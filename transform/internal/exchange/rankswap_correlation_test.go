package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// rankSwapped returns values after rank swapping with a reach; a seed gives the same draws each
// time.
func rankSwapped(x []float64, reach int, seed uint64) []float64 {
	order := sortedRows(x)
	y := append([]float64{}, x...)
	words := make([]uint64, len(x))
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range words {
		words[i] = r.Uint64()
	}
	exchangeRanks(y, order, words, reach)
	return y
}

// exchangeRanks exchanges values between the records of an order, each with a word.
func exchangeRanks(values []float64, order []int32, words []uint64, reach int) {
	var sorted []float64
	var drawn []uint64
	for _, i := range order {
		sorted, drawn = append(sorted, values[i]), append(drawn, words[i])
	}
	new(exchanger).ranks(sorted, drawn, reach, nil)
	for rank, y := range sorted {
		values[order[rank]] = y
	}
}

func sortedRows(x []float64) []int32 {
	order := make([]int32, len(x))
	for i := range order {
		order[i] = int32(i)
	}
	for i := 1; i < len(order); i++ { // insertion sort: shares no code with the tested sort
		for k := i; k > 0 && x[order[k]] < x[order[k-1]]; k-- {
			order[k], order[k-1] = order[k-1], order[k]
		}
	}
	return order
}

func pearson(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my, xx, yy, xy float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		xx, yy, xy = xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my), xy+(x[i]-mx)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// The mean correlation over 40 draws is at least the requested one minus four standard errors, on
// uniform, normal and skewed data, with few and many values. A reach twice as wide has less, if the
// number of records allows it.
func TestCorrelationOfRankSwaps(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 67))
	for name, draw := range map[string]func() float64{
		"even":   r.Float64,
		"normal": r.NormFloat64,
		"skewed": func() float64 { return math.Exp(r.NormFloat64()) },
	} {
		for _, n := range []int{60, 1500} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			sorted := make([]float64, n)
			for k, i := range sortedRows(x) {
				sorted[k] = x[i]
			}
			for _, requested := range []float64{0.7, 0.9, 0.98, 0.995} {
				at := fmt.Sprintf("%s, %d, %v", name, n, requested)
				reach := CorrelatedReach(sorted, 0, 0, n, requested)
				if reach < 1 {
					if name != "skewed" && n > 60 {
						t.Errorf("%s: no reach", at)
					}
					continue
				}
				mean := func(reach int) (m, se float64) {
					var sum, squares float64
					const draws = 40
					for k := range uint64(draws) {
						c := pearson(x, rankSwapped(x, reach, k))
						sum, squares = sum+c, squares+c*c
					}
					m = sum / draws
					return m, math.Sqrt(math.Max(0, squares/draws-m*m) / draws)
				}
				if m, se := mean(reach); m < requested-4*se-1e-9 {
					t.Errorf("%s: reach %d has a correlation of %v ± %v", at, reach, m, se)
				}
				if m, se := mean(2 * reach); name != "skewed" && reach > 3 && 2*reach < n-1 && m > requested+4*se {
					t.Errorf("%s: reach %d is too small: twice that still has a correlation of %v ± %v", at, reach, m, se)
				}
				if half := CorrelatedReach(sorted, 0, 0, max(1, reach/2), requested); half != max(1, reach/2) {
					t.Errorf("%s: %d where at most %d may be", at, half, reach/2)
				}
			}
		}
	}
	// Two values far apart cannot be exchanged; equal values always can.
	if reach := CorrelatedReach([]float64{0, 1}, 0, 0, 2, 0.5); reach != 0 {
		t.Errorf("two values: reach %d", reach)
	}
	if reach := CorrelatedReach(make([]float64, 9), 0, 0, 5, 0.99); reach != 5 {
		t.Errorf("equal values: reach %d, want 5", reach)
	}
	// The loss at the ends is included.
	x := make([]float64, 400)
	for i := range x {
		x[i] = float64(i)
	}
	order := sortedRows(x)
	reach := CorrelatedReach(x, 30, 80, 400, 0.98)
	y, sum := append([]float64{}, x...), 0.0
	for k := range uint64(40) {
		copy(y, x)
		average(y, order[:30])
		average(y, order[320:])
		copy(y[30:320], rankSwapped(x[30:320], reach, k))
		sum += pearson(x, y) / 40
	}
	if !(reach > 10 && sum > 0.98-0.001) { // the spread of a draw is at most 0.001
		t.Errorf("with ends, reach %d has a correlation of %v", reach, sum)
	}
}

// The expected squared changes match those of draws, with up to 8 % more and 2 % less, for uniform
// and normal values and for reaches of one part and of many, up to a quarter of the records. The
// mean of 30 draws has a standard error of at most 1 %; the tolerance adds four of them.
func TestExpectedChangesOfRankSwaps(t *testing.T) {
	const n, draws = 1500, 30
	r := rand.New(rand.NewPCG(61, 67))
	for name, c := range map[string]struct {
		draw    func() float64
		reaches []int
	}{
		"even":   {r.Float64, []int{1, 5, 15, 16, 31, 32, 100, 375}},
		"normal": {r.NormFloat64, []int{1, 100, 200}},
	} {
		x := make([]float64, n)
		for i := range x {
			x[i] = c.draw()
		}
		slices.Sort(x)
		for _, reach := range c.reaches {
			sum := 0.0
			for k := range uint64(draws) {
				for i, y := range rankSwapped(x, reach, k) {
					sum += (x[i] - y) * (x[i] - y) / draws
				}
			}
			if ratio := squaredChanges(x, reach) / sum; !(ratio > 0.94 && ratio < 1.12) {
				t.Errorf("%s: within %d ranks %.3f of what draws change", name, reach, ratio)
			}
		}
	}
}

// For a short reach, the expected squared changes are computed from all sequences of choices with
// their probabilities, which the test enumerates.
func TestSquaredChangesOfAShortReach(t *testing.T) {
	var walk func(x []float64, in []bool, rank, reach int) float64
	walk = func(x []float64, in []bool, rank, reach int) float64 {
		if rank == len(x) {
			return 0
		}
		var partners []int
		for k := rank + 1; k <= rank+reach && k < len(x); k++ {
			if !in[k] {
				partners = append(partners, k)
			}
		}
		if in[rank] || len(partners) == 0 {
			return walk(x, in, rank+1, reach)
		}
		sum := 0.0
		for _, k := range partners {
			in[k] = true
			sum += 2*(x[k]-x[rank])*(x[k]-x[rank]) + walk(x, in, rank+1, reach)
			in[k] = false
		}
		return sum / float64(len(partners))
	}
	r := rand.New(rand.NewPCG(5, 8))
	for reach := 1; reach <= exactReach; reach++ {
		for _, n := range []int{1, 2, 3, reach, reach + 1, 9} {
			x := make([]float64, n)
			for i := range x {
				x[i] = r.ExpFloat64()
			}
			slices.Sort(x)
			want := walk(x, make([]bool, n), 0, reach)
			if got := squaredChanges(x, reach); math.Abs(got-want) > 1e-12*(1+want) {
				t.Errorf("reach %d, %d values: %v, want %v", reach, n, got, want)
			}
		}
	}
}

// For many values they equal the mean over draws within five standard errors, for every short
// reach, on skewed data too.
func TestSquaredChangesOfManyValues(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	x := make([]float64, 900)
	for i := range x {
		x[i] = math.Exp(r.NormFloat64() / 2)
	}
	slices.Sort(x)
	for reach := 1; reach <= exactReach; reach++ {
		const draws = 60
		var sum, squares float64
		for k := range uint64(draws) {
			change := 0.0
			for i, y := range rankSwapped(x, reach, k) {
				change += (y - x[i]) * (y - x[i])
			}
			sum, squares = sum+change, squares+change*change
		}
		mean := sum / draws
		se := math.Sqrt(math.Max(0, squares/draws-mean*mean) / draws)
		if got := squaredChanges(x, reach); math.Abs(got-mean) > 5*se+1e-9*mean {
			t.Errorf("reach %d: %v, drawn %v ± %v", reach, got, mean, se)
		}
	}
}

// A rank swap with a least correlation exchanges no farther than that allows, and fails if not even
// neighbours may be exchanged; without it, p alone bounds the ranks.
func TestRankSwapKeepsItsCorrelation(t *testing.T) {
	const n = 2000
	r := rand.New(rand.NewPCG(8, 15))
	x, words := make([]float64, n), make([]uint64, n)
	for i := range x {
		x[i] = math.Exp(r.NormFloat64() / 2)
	}
	swapped := func(m *rankExchange) float64 {
		for i := range words {
			words[i] = r.Uint64()
		}
		g := &gathered.Data{N: n, Values: [][]float64{slices.Clone(x)}, Strata: make([]int32, n), Words: [][]uint64{words},
			Columns: []*core.Column{{Digits: -1}}}
		if err := m.MaskAll(g); err != nil {
			t.Fatal(err)
		}
		var xx, xy, mean float64
		for _, v := range x {
			mean += v / n
		}
		for i, v := range x {
			xx += (v - mean) * (v - mean)
			xy += (v - mean) * (g.Values[0][i] - mean)
		}
		return xy / xx
	}
	// One release has an SD of 0.009, the mean of 40 of 0.0014; a whole reach leaves up to a tenth of 1 − r unused.
	mean := 0.0
	for range 40 {
		mean += swapped(&rankExchange{p: 1, correlation: 0.9}) / 40
	}
	if math.Abs(mean-0.9) > 5*0.0014+0.01 {
		t.Errorf("the mean correlation is %v, want 0.9", mean)
	}
	if c := swapped(&rankExchange{p: 1}); c > 0.3 {
		t.Errorf("without a least correlation it is %v", c)
	}
	far := &gathered.Data{N: 3, Values: [][]float64{{1, 1000, 2000}}, Strata: make([]int32, 3),
		Words: [][]uint64{{1, 2, 3}}, Columns: []*core.Column{{Digits: -1}}}
	if err := (&rankExchange{p: 1, correlation: 0.99}).MaskAll(far); err == nil || err.Path != "min_correlation" {
		t.Errorf("three values that are far apart: error %v, want one of min_correlation", err)
	}
}

// If every record is rejected, nothing is exchanged, whatever correlation is requested.
func TestRanksOfNothing(t *testing.T) {
	for _, correlation := range []float64{0, 0.5} {
		g := &gathered.Data{N: 3, Values: [][]float64{{1, 2, 4}}, Strata: []int32{-1, -1, -1}, Words: [][]uint64{{1, 2, 3}},
			Columns: []*core.Column{{Digits: -1}}}
		if err := (&rankExchange{p: 0.5, correlation: correlation}).MaskAll(g); err != nil ||
			!slices.Equal(g.Values[0], []float64{1, 2, 4}) {
			t.Errorf("correlation %v: %v, %v", correlation, err, g.Values[0])
		}
	}
}
