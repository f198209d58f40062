package inversion

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// toBase is the law of rounding to multiples of a base.
type toBase float64

func (b toBase) to(x float64) float64 { return math.RoundToEven(x/float64(b)) * float64(b) }
func (b toBase) Below(x, t float64) float64 {
	if b.to(x) <= t {
		return 1
	}
	return 0
}
func (b toBase) Reach(x float64) (low, high float64) {
	return x - float64(b)/2, x + float64(b)/2
}
func (b toBase) Support() (low, high, step float64) { return math.Inf(-1), math.Inf(1), float64(b) }

// statedBy is the share of whole numbers x that whoever has all releases states within a distance: for each record by
// the posterior over all values that occur, with their frequencies, of the probabilities of what was released; the mean
// of the greatest probabilities of an interval of width 2d, and the share of records that lie in it.
func statedBy(x []float64, y [][]float64, density []func(x, y float64) float64, d float64) (expected,
	realised float64) {
	count := map[float64]float64{}
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		count[v]++
		least, most = min(least, v), max(most, v)
	}
	for i := range x {
		p, total := map[float64]float64{}, 0.0
		for v, n := range count {
			w := n
			for k := range y {
				if y[k][i] == y[k][i] {
					w *= density[k](v, y[k][i])
				}
			}
			p[v], total = w, total+w
		}
		best, right := 0.0, false
		for c := least; c <= most; c += 0.5 { // whole numbers, and places between two of them that are nearer to both than d
			from, to := math.Ceil(c-d), math.Floor(c+d)
			if c != math.Floor(c) && from == c-d {
				from, to = from+1, to-1
			}
			sum := 0.0
			for v := from; v <= to; v++ {
				sum += p[v]
			}
			if sum > best {
				best, right = sum, from <= x[i] && x[i] <= to
			}
		}
		expected += best / total
		if right {
			realised++
		}
	}
	return expected / float64(len(x)), realised / float64(len(x))
}

// What is stated by several releases is what brute force over all values finds: the average of draws, the intersection
// of roundings, both together, and values that a release lacks. The prior of the attack is smoothed, that of brute
// force is not, which moves shares by some hundredths; the realised share of n records has a standard error of at most
// √(1/4n), of which three are allowed. Both lie far from the share of one release.
func TestExactTogetherAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	n := 1500
	if testing.Short() {
		n = 500
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Round(300 + 40*rng.NormFloat64())
	}
	normal := func(sd float64) func(x, y float64) float64 {
		return func(x, y float64) float64 { return math.Exp(-(y - x) * (y - x) / (2 * sd * sd)) }
	}
	drawn := func(sd float64) []float64 {
		y := make([]float64, n)
		for i, v := range x {
			y[i] = v + sd*rng.NormFloat64()
		}
		return y
	}
	rounded := func(base toBase) ([]float64, func(x, y float64) float64) {
		y := make([]float64, n)
		for i, v := range x {
			y[i] = base.to(v)
		}
		return y, func(x, y float64) float64 {
			if base.to(x) == y {
				return 1
			}
			return 0
		}
	}
	seven, by7 := rounded(7)
	five, by5 := rounded(5)
	a, b, c := drawn(6), drawn(4), drawn(9)
	lacking := drawn(6)
	for i := range lacking {
		if i%2 == 0 {
			lacking[i] = math.NaN()
		}
	}
	type released struct {
		y       []float64
		law     law
		density func(x, y float64) float64
	}
	six, four, nine := released{a, ofNoise(6), normal(6)}, released{b, ofNoise(4), normal(4)},
		released{c, ofNoise(9), normal(9)}
	some := released{lacking, ofNoise(6), normal(6)}
	to7, to5 := released{seven, toBase(7), by7}, released{five, toBase(5), by5}
	for name, of := range map[string][]released{
		"one": {six}, "two draws": {six, four}, "the other order": {four, six}, "three": {six, four, nine},
		"one rounding":  {to7},
		"two roundings": {to7, to5}, "a draw and a rounding": {nine, to7}, "half of a draw": {some, nine},
	} {
		var held []Held
		var y [][]float64
		var density []func(x, y float64) float64
		for _, r := range of {
			held, y, density = append(held, Held{r.y, r.law}), append(y, r.y), append(density, r.density)
		}
		distances := []float64{0.5, 2}
		list, err := ExactTogether(Column{Name: "x", Grid: 1, Original: x, Released: of[0].y}, n, held, nil, distances)
		if err != nil {
			t.Fatal(err)
		}
		for k, d := range distances {
			expected, realised := statedBy(x, y, density, d)
			e := list[k]
			if !(math.Abs(*e.Expected-expected) <= 0.03+2*e.SE) || !(e.Found >= realised-0.02-1.5/math.Sqrt(float64(n))) ||
				e.Found > expected+0.05+4*e.SE {
				t.Errorf("%s within %v: expected %.3f, found %.3f; brute force %.3f, in fact %.3f", name, d, *e.Expected, e.Found,
					expected, realised)
			}
		}
	}
}

// Values that were released by other laws than those that are said to have been theirs are no statement, and a column
// without values has none that is known.
func TestExactTogetherOfOtherLaws(t *testing.T) {
	x, y := []float64{100, 200, 300, 400}, []float64{107, 207, 307, 407}
	column := Column{Name: "x", Grid: 1, Original: x, Released: y}
	if _, err := ExactTogether(column, 4, []Held{{y, ofNoise(1)}, {[]float64{90, 190, 290, 390}, ofNoise(1)}}, nil,
		[]float64{1}); !errors.Is(err, errUnexplained) {
		t.Errorf("values 17 apart under noise of SD 1 each: error %v", err)
	}
	none := []float64{math.NaN()}
	list, err := ExactTogether(Column{Name: "x", Grid: 1, Original: none, Released: none}, 1, []Held{{none, ofNoise(1)}},
		nil, []float64{1})
	if err != nil || len(list) != 1 || list[0].Found != 0 {
		t.Errorf("without values: %+v, error %v", list, err)
	}
	// Who has nothing guesses: one of four values that are a hundred apart.
	lost := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	list, err = ExactTogether(column, 4, []Held{{lost, ofNoise(1)}}, nil, []float64{1})
	if err != nil || *list[0].Expected != 0.25 {
		t.Errorf("without released values: %+v, error %v", list, err)
	}
	// What other columns tell counts.
	list, err = ExactTogether(column, 4, []Held{{lost, ofNoise(1)}}, [][]float64{x}, []float64{1})
	if err != nil || list[0].Found != 1 {
		t.Errorf("told by others: %+v, error %v", list, err)
	}
}
