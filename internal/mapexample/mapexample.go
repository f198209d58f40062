// Package mapexample makes R-U maps of a survey that never was, by closed forms,
// for tests of what is written and drawn of a map and for looking at it. None of
// its figures is of a person.
package mapexample

import (
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

const (
	records    = 28155
	sd         = 453.55 // S of the column
	replicates = 200
	noiseAxis  = "masks.1.noise.sd"
)

// targets and what R of them under position knowledge is times λ² at small λ: an
// extreme of the released data is moved by the noise of its neighbours, too.
var targets = []struct {
	name     string
	position float64
}{{"typical", 0}, {"min", 0.4}, {"p10", 30}, {"p90", 25}, {"p99", 1.4}, {"max", 0.9}}

func base() *rumap.Map {
	return &rumap.Map{Schema: rumap.Schema, Name: "cps-nightly", Version: "0.5.0", Column: "wage", Unit: "USD/week",
		Replicates: replicates, Records: records, U0: records / (sd * sd),
		Axes: []rumap.Axis{{Path: noiseAxis, Relative: true}}}
}

// limit makes a rule on R.
func limit(target, knowledge string, r float64) rumap.Rule {
	f := assess.Float(r)
	return rumap.Rule{Target: target, Knowledge: knowledge, MaxRisk: &f}
}

// judge judges a map on which no variance falls below the original's.
func judge(m *rumap.Map) {
	for i := range m.Points {
		m.Points[i].EfficiencyGate = m.Points[i].Efficiency
	}
	m.Judge()
}

func efficiency(least float64) rumap.Rule {
	f := assess.Float(least)
	return rumap.Rule{MinEfficiency: &f}
}

// risk has the standard error of an estimate whose squared errors are those of
// normal noise: R·√(2/M).
func risk(target, knowledge string, r float64) rumap.Risk {
	k := rumap.Risk{Target: target, Knowledge: knowledge, R: assess.Float(r),
		RSE: assess.Float(r * math.Sqrt(2.0/replicates)), RMSE: assess.Float(1 / math.Sqrt(r))}
	if math.IsInf(r, 1) {
		k.RSE = assess.Float(math.NaN())
	}
	return k
}

// noise is a point of additive noise of λ = f·S: U = n/(S² + λ²), R = 1/λ² of an
// indexed record (Duncan et al. 2004, eq. 4), and of a position a multiple that
// falls as noise comes to reorder the records. factor multiplies every R.
func noise(strategy, path string, f, factor float64) rumap.Point {
	λ2 := f * f * sd * sd
	u := records / (sd*sd + λ2)
	p := rumap.Point{Strategy: strategy, Parameters: map[string]float64{path: f}, U: assess.Float(u),
		Efficiency: assess.Float(1 / (1 + f*f)),
		USE:        assess.Float(u * 0.004), Bias: assess.Float(0.02 * f)}
	for _, t := range targets {
		p.Risk = append(p.Risk, risk(t.name, "index", factor/λ2))
		if t.position > 0 {
			p.Risk = append(p.Risk, risk(t.name, "position", factor*t.position/(λ2*math.Sqrt(1+f*f))))
		}
	}
	return p
}

// finish judges the points and chooses, without any further replicates.
func finish(m *rumap.Map) *rumap.Map {
	judge(m)
	again := func(i int) (rumap.Point, error) { return m.Points[i], nil }
	passes := func(int) (assess.Verdict, error) { return assess.Verdict{Passed: true}, nil }
	if err := m.Recommend(replicates, again, passes); err != nil {
		panic(err) // again returns none
	}
	return m
}

// steps calls do with n values of f whose squares are equal steps apart.
func steps(n int, from, to float64, do func(f float64)) {
	for i := range n {
		t := float64(i) / float64(n-1)
		do(math.Sqrt(from*from + t*(to*to-from*from)))
	}
}

// Noise is the map of one strategy and a gate that 11 of 20 points or so pass.
func Noise() *rumap.Map {
	m := base()
	m.Rules = []rumap.Rule{limit("max", "", 4e-5), limit("p99", "position", 1e-4), efficiency(0.7)}
	steps(20, 0.05, 1, func(f float64) {
		m.Points = append(m.Points, noise(rumap.Configured, noiseAxis, f, 1))
	})
	return finish(m)
}

// Free is the map of a gate without rules.
func Free() *rumap.Map {
	m := Noise()
	m.Rules = nil
	m.Sampled = 5000
	return finish(m)
}

// None is a map on which no point is admissible.
func None() *rumap.Map {
	m := Noise()
	m.Rules = []rumap.Rule{limit("max", "index", 1e-6), efficiency(0.8)}
	return finish(m)
}

// Strategies compares equal noise, unequal noise and swapping on every target:
// many curves, and an infinite R where a swap leaves the minimum in its place.
func Strategies() *rumap.Map {
	m := base()
	const unequal, swap = "strategies.0.masks.0.noise.sd", "strategies.1.masks.0.swap.rate"
	m.Axes = append(m.Axes, rumap.Axis{Path: unequal, Relative: true}, rumap.Axis{Path: swap})
	m.Rules = []rumap.Rule{limit("max", "", 6e-5), limit("p99", "", 6e-5), limit("typical", "index", 3e-5),
		efficiency(0.6)}
	steps(12, 0.05, 0.9, func(f float64) {
		m.Points = append(m.Points, noise(rumap.Configured, noiseAxis, f, 1))
	})
	steps(12, 0.05, 0.9, func(f float64) {
		p := noise("unequal", unequal, f, 0.62)
		p.Efficiency = assess.Float(1 / (1 + 1.2*f*f))
		p.U = p.Efficiency * m.U0
		m.Points = append(m.Points, p)
	})
	for i := range 10 {
		rate := 0.05 + 0.1*float64(i)
		p := rumap.Point{Strategy: "swap", Parameters: map[string]float64{swap: rate},
			Efficiency: assess.Float(1 / (1 + rate*0.3)), Bias: 0.4}
		p.U, p.USE = p.Efficiency*m.U0, p.Efficiency*m.U0*0.004
		for _, t := range targets {
			p.Risk = append(p.Risk, risk(t.name, "index", 1/(rate*2*sd*sd)*3))
			if t.position > 0 {
				p.Risk = append(p.Risk, risk(t.name, "position", math.Inf(1))) // a swap keeps every order statistic
			}
		}
		m.Points = append(m.Points, p)
	}
	return finish(m)
}

// Many is Strategies with a rule for every target under every state, which are
// more curves than a picture can hold.
func Many() *rumap.Map {
	m := Strategies()
	m.Rules = []rumap.Rule{limit("", "", 1e-3)}
	return finish(m)
}

// Groups is a map with R and U by region: regions of few records are the riskier.
func Groups() *rumap.Map {
	m := Noise()
	m.Groups = []string{"region"}
	for i := range m.Points {
		p := &m.Points[i]
		f := p.Parameters[noiseAxis]
		for k, name := range []string{"midwest", "northeast", "south", "west"} {
			g := rumap.Group{Values: []string{name}, Records: []int{6863, 6441, 8760, 6091}[k],
				Efficiency: assess.Float(1 / (1 + f*f*(0.8+0.15*float64(k))))}
			for _, r := range p.Risk {
				g.Risk = append(g.Risk, risk(r.Target, r.Knowledge, float64(r.R)*(0.7+0.35*float64(k))))
			}
			p.Groups = append(p.Groups, g)
		}
	}
	m.SetWorst()
	return m
}

// Grid is a map of two parameters that both run.
func Grid() *rumap.Map {
	m := base()
	const phi = "masks.0.bias.phi"
	m.Axes = append(m.Axes, rumap.Axis{Path: phi})
	m.Rules = []rumap.Rule{limit("max", "index", 4e-5)}
	for _, b := range []float64{0, 0.1, 0.2} {
		steps(10, 0.1, 1, func(f float64) {
			p := noise(rumap.Configured, noiseAxis, f, 1/(1+20*b*b))
			p.Parameters[phi] = b
			p.Efficiency /= assess.Float(1 + b*b)
			p.U = p.Efficiency * m.U0
			m.Points = append(m.Points, p)
		})
	}
	return finish(m)
}

// Hostile is a map whose words try to be markup or to steer a terminal, and whose
// numbers are infinite, absent or 0.
func Hostile() *rumap.Map {
	const name = "<script>alert(\"x\")</script>&'/~\x1b[31m"
	m := Groups()
	m.Name, m.Version, m.Column, m.Unit, m.Groups = name, name, name, `"><img src=x onerror=alert(1)>`, []string{name}
	path := strings.ReplaceAll(name, "\x1b", "") // YAML has no control characters
	m.Axes[0].Path = path
	m.Rules = append(m.Rules, limit(name, name, math.Inf(1)), limit("", "", 0))
	inf, nan := assess.Float(math.Inf(1)), assess.Float(math.NaN())
	for i := range m.Points {
		p := &m.Points[i]
		p.Strategy = name + strconv.Itoa(i%3)
		p.Parameters = map[string]float64{path: float64(i)}
		p.Risk[i%len(p.Risk)].Target = name
		p.Risk[i%len(p.Risk)].R, p.Risk[(i+1)%len(p.Risk)].R, p.Risk[(i+2)%len(p.Risk)].R = inf, nan, 0
		p.Groups[0].Values[0] = name
		p.Groups[1].Risk[0].R = inf
	}
	m.SetWorst()
	m.Points[3].Efficiency, m.Points[4].Efficiency, m.Points[5].USE = nan, inf, inf
	return finish(m)
}

// Losses is a map by groups whose points, but for the last, have figures beside R and U.
func Losses() *rumap.Map {
	m := Groups()
	for i := range m.Points[:len(m.Points)-1] {
		p, size := &m.Points[i], float64(i+1)
		pmse, overlap := assess.Float(size*1e-4), assess.Float(1/(1+size/10))
		p.Loss = &rumap.Loss{
			KS: map[string]assess.Float{"wage": assess.Float(size / 100), "hours/week": assess.Float(size / 50)}, PMSE: &pmse}
		if i > 0 {
			p.Loss.Overlap = &overlap
		}
		p.Respondents = map[string]assess.Float{rumap.MeasureAttribute: assess.Float(0.5 / size)}
	}
	return m
}

// All are the maps of this package by name.
func All() map[string]*rumap.Map {
	return map[string]*rumap.Map{"noise": Noise(), "free": Free(), "none": None(), "strategies": Strategies(),
		"many":   Many(),
		"groups": Groups(), "losses": Losses(), "grid": Grid(), "hostile": Hostile(), "empty": {}}
}
