// Package masksim masks columns in the plainest way, for tests that hold what the
// program says about masks against what masks do. It shares no code with package
// transform: draws are those of math/rand, noise is redrawn by drawing again.
package masksim

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Mask is one mask on a column.
type Mask struct {
	Kind         string // noise, laplace, uniform, bias, tiers, clip, redraw, round, swap
	SD           float64
	Above        float64 // tiers: the bound
	Factor       float64 // tiers: the factor of SD² above it
	Lower, Upper float64 // clip, redraw
	Step         float64 // round
	Rate         float64 // swap
}

// Apply returns the released values of one draw of the masks. Records with equal
// key may exchange values.
func Apply(r *rand.Rand, x []float64, key []int, masks []Mask) []float64 {
	y := slices.Clone(x)
	for i, m := range masks {
		switch m.Kind {
		case "swap":
			swap(r, y, key, m.Rate)
			continue
		case "redraw":
			continue // done with the noise before it
		}
		lower, upper := math.Inf(-1), math.Inf(1)
		if i+1 < len(masks) && masks[i+1].Kind == "redraw" {
			lower, upper = masks[i+1].Lower, masks[i+1].Upper
		}
		for k, v := range y {
			y[k] = m.of(r, v, lower, upper)
		}
	}
	return y
}

func (m Mask) of(r *rand.Rand, v, lower, upper float64) float64 {
	switch m.Kind {
	case "bias":
		return v * (1 + m.SD*r.NormFloat64())
	case "clip":
		return math.Max(m.Lower, math.Min(m.Upper, v))
	case "round":
		return m.Step * math.RoundToEven(v/m.Step)
	}
	sd := m.SD
	if m.Kind == "tiers" && v > m.Above {
		sd *= math.Sqrt(m.Factor)
	}
	for range 400 {
		e := r.NormFloat64()
		switch m.Kind {
		case "laplace":
			e = r.ExpFloat64() / math.Sqrt2
			if r.IntN(2) == 0 {
				e = -e
			}
		case "uniform":
			e = (2*r.Float64() - 1) * math.Sqrt(3)
		}
		if y := v + sd*e; y >= lower && y <= upper {
			return y
		}
	}
	// Where one draw in 400 is too few, what lands inside lies at the bound, nearly.
	return math.Max(lower, math.Min(upper, v))
}

// swap pairs the records of a key at random and exchanges a pair's values with
// probability rate.
func swap(r *rand.Rand, y []float64, key []int, rate float64) {
	records := map[int][]int{}
	for i, k := range key {
		records[k] = append(records[k], i)
	}
	for k := range slices.Max(key) + 1 {
		list := records[k]
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for i := 0; i+1 < len(list); i += 2 {
			if r.Float64() < rate {
				y[list[i]], y[list[i+1]] = y[list[i+1]], y[list[i]]
			}
		}
	}
}

// Chains returns all lists of 1 to length of the masks, in every order and with
// repetition, in which a redraw stands behind noise.
func Chains(masks []Mask, length int) [][]Mask {
	var chains [][]Mask
	var grow func(chain []Mask)
	grow = func(chain []Mask) {
		if len(chain) > 0 {
			chains = append(chains, slices.Clone(chain))
		}
		if len(chain) == length {
			return
		}
		for _, m := range masks {
			if m.Kind == "redraw" &&
				(len(chain) == 0 || !slices.Contains([]string{"noise", "laplace", "uniform", "tiers"}, chain[len(chain)-1].Kind)) {
				continue
			}
			grow(append(chain, m))
		}
	}
	grow(nil)
	return chains
}

// Shapes are columns of n values with mean near 100 and SD near 20, by name, each
// with a key of a few values and a further column w that both hang on x.
func Shapes(n int) map[string]Data {
	r := rand.New(rand.NewPCG(12, 2004))
	shapes := map[string]Data{}
	for name, draw := range map[string]func() float64{
		"normal":    func() float64 { return 100 + 20*r.NormFloat64() },
		"lognormal": func() float64 { return 68 + 24*math.Exp(0.6*r.NormFloat64()) },
		"pareto":    func() float64 { return 80 + 8*math.Pow(r.Float64(), -0.4) },
		"few":       func() float64 { return []float64{70, 100, 100, 131}[r.IntN(4)] },
		"heap":      func() float64 { return 80 + float64(r.IntN(2))*math.Round(40+3*r.NormFloat64()) },
	} {
		var d Data
		for range n {
			x := draw()
			d.X = append(d.X, x)
			d.Key = append(d.Key, min(max(int(x/25+2*r.NormFloat64()), 0), 9))
			d.W = append(d.W, 0.05*x+2*r.NormFloat64())
		}
		shapes[name] = d
	}
	return shapes
}

// Data is a column to mask, X, with a key and a further column.
type Data struct {
	X, W []float64
	Key  []int
}
