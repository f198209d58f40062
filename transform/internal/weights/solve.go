package weights

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// calibration finds λ with Σ d F(x'λ) x = T by Newton's method, where d are the weights times their common
// scale: Deville and Särndal (1992), section 2. x has a 1 at the category of each categorical margin, and the
// numbers of the others.
type calibration struct {
	units        []calibrationUnit
	totals       []float64 // by margin: those of all categories, then those of numbers
	sizes        []float64 // what errors are relative to
	lower, upper float64
	scale        float64
	iterations   int
	factors      []float64 // by unit
}

// calibrationUnit is the records that have all margins in common.
type calibrationUnit struct {
	rows   []int32
	weight float64 // scaled
	at     []int32 // margins
	x      []float64
}

// mostMargins bounds the categories and numbers: their products fill a matrix.
const mostMargins = 1000

// problem makes the units of records in order.
func (s *calibrateStep) problem(c *core.Chain, rows []int32) (*calibration, error) {
	p := &calibration{scale: 1}
	p.lower, p.upper = s.params.bounds()
	var first []int32 // margin of the first category
	whole := math.NaN()
	for _, k := range s.categories {
		first = append(first, int32(len(p.totals)))
		p.totals = append(p.totals, k.totals...)
		sum := sumOf(k.totals)
		if whole == whole && math.Abs(sum-whole) > 1e-6*whole {
			return nil,
				s.error(c, k.path,
					"must have the same total over all categories as the other margins, and that of column %s differs; records without release, or given totals, are the usual reason", c.Lookup(k.Name).Name)
		}
		if whole != whole {
			whole = sum
		}
	}
	p.sizes = append(p.sizes, p.totals...)
	if len(p.totals)+len(s.numbers) > mostMargins {
		return nil, s.error(c, "", "must have at most %d categories and numbers, got %d: recode the columns more coarsely",
			mostMargins, len(p.totals)+len(s.numbers))
	}
	sum := 0.0
	for _, i := range rows {
		sum += s.data.Values[0][i]
	}
	if whole == whole {
		p.scale = whole / sum
	}
	for from := 0; from < len(rows); {
		to := from
		u := calibrationUnit{}
		for ; to < len(rows) && s.compareMargins(rows[from], rows[to]) == 0; to++ {
			u.weight += s.data.Values[0][rows[to]]
		}
		u.weight *= p.scale
		u.rows = rows[from:to]
		for j, k := range s.categories {
			u.at, u.x = append(u.at, first[j]+k.codes[rows[from]]), append(u.x, 1)
		}
		for j, k := range s.numbers {
			if v := k.values[rows[from]]; v == v && v != 0 {
				u.at, u.x = append(u.at, int32(len(p.totals)+j)), append(u.x, v)
			}
		}
		p.units = append(p.units, u)
		from = to
	}
	// Numbers are scaled to a mean amount of 1, so that the equations are of one size.
	categories := len(p.totals)
	amounts := make([]float64, len(s.numbers))
	for _, u := range p.units {
		for j, at := range u.at {
			if int(at) >= categories {
				amounts[int(at)-categories] += u.weight * math.Abs(u.x[j])
			}
		}
	}
	for j, k := range s.numbers {
		if amounts[j] == 0 {
			return nil,
				s.error(c, k.path, "must have released values other than 0, and column %s has none", c.Lookup(k.Name).Name)
		}
		amounts[j] /= sum * p.scale
		p.totals = append(p.totals, k.total/amounts[j])
		p.sizes = append(p.sizes, math.Abs(k.total/amounts[j]))
	}
	for i := range p.units {
		for j, at := range p.units[i].at {
			if int(at) >= categories {
				p.units[i].x[j] /= amounts[int(at)-categories]
			}
		}
	}
	return p, nil
}

// factor returns F and its derivative: F(0) = F'(0) = 1, and lower < F < upper. Between bounds it is
// the logit function of case 6; without an upper bound its limit, and without both the exponential.
func (p *calibration) factor(u float64) (f, slope float64) {
	l, h := p.lower, p.upper
	if math.IsInf(h, 1) {
		e := math.Exp(min(u/(1-l), 700))
		return l + (1-l)*e, e
	}
	a := (h - l) / ((1 - l) * (h - 1))
	if u > 0 { // so that no exponential overflows
		e := math.Exp(-a * u)
		q := (h-1)*e + (1 - l)
		return (l*(h-1)*e + h*(1-l)) / q, a * (h - l) * (h - 1) * (1 - l) * e / (q * q)
	}
	e := math.Exp(a * u)
	q := (h - 1) + (1-l)*e
	return (l*(h-1) + h*(1-l)*e) / q, a * (h - l) * (h - 1) * (1 - l) * e / (q * q)
}

// atBound reports whether a factor is within a hundredth of the way from a bound to 1.
func (p *calibration) atBound(f float64) (low, high bool) {
	return f-p.lower < 0.01*(1-p.lower), !math.IsInf(p.upper, 1) && p.upper-f < 0.01*(p.upper-1)
}

// gapOf returns the greatest relative error of a margin, with the weights of units after calibration.
func (p *calibration) gapOf(weight func(u *calibrationUnit) float64) (gap float64) {
	sums := make([]float64, len(p.totals))
	for i := range p.units {
		w := weight(&p.units[i])
		for j, at := range p.units[i].at {
			sums[at] += float64(w * p.units[i].x[j])
		}
	}
	for k, total := range p.totals {
		gap = max(gap, math.Abs(sums[k]-total)/p.sizes[k])
	}
	return gap
}

func (p *calibration) gap(factors []float64) float64 {
	i := -1
	return p.gapOf(func(u *calibrationUnit) float64 { i++; return u.weight * factors[i] })
}

// closeEnough is the relative error of each margin at which the search ends.
const closeEnough = 1e-11

// solve reports whether all margins are met. Newton's step is halved until it lowers the errors.
func (p *calibration) solve(stop decision.Stop) bool {
	n := len(p.totals)
	λ, next := make([]float64, n), make([]float64, n)
	p.factors = make([]float64, len(p.units))
	slopes := make([]float64, len(p.units))
	rest, size := p.errors(λ, p.factors, slopes)
	factors, trial := make([]float64, len(p.units)), make([]float64, len(p.units))
	for p.iterations = 0; p.gap(p.factors) > closeEnough; {
		if p.iterations == 100 || stop.Now() {
			return p.gap(p.factors) < 1e-9 // as far as rounding lets it come
		}
		p.iterations++
		step := p.newton(rest, slopes)
		better := false
		for t := 1.0; t > 1e-6 && !better; t /= 2 {
			for k := range λ {
				next[k] = λ[k] + t*step[k]
			}
			r, s := p.errors(next, factors, trial)
			if better = s < size; better {
				copy(λ, next)
				p.factors, factors = factors, p.factors
				slopes, trial = trial, slopes
				rest, size = r, s
			}
		}
		if !better {
			return p.gap(p.factors) < 1e-9
		}
	}
	return true
}

// errors sets factors and slopes at λ and returns what totals lack, and the sum of its relative squares.
func (p *calibration) errors(λ, factors, slopes []float64) (rest []float64, size float64) {
	rest = append(rest, p.totals...)
	for i := range p.units {
		u, score := &p.units[i], 0.0
		for j, at := range u.at {
			score += float64(λ[at] * u.x[j])
		}
		factors[i], slopes[i] = p.factor(score)
		for j, at := range u.at {
			rest[at] -= float64(u.weight * factors[i] * u.x[j])
		}
	}
	for k, r := range rest {
		size += float64(r / p.sizes[k] * (r / p.sizes[k]))
	}
	return rest, size
}

// newton solves Σ d F' x x' step = rest by the factor LDL' of the matrix. Margins that follow from others, as the last
// category of each but one column, have pivots of 0 and no step.
func (p *calibration) newton(rest, slopes []float64) []float64 {
	n := len(rest)
	m := make([][]float64, n)
	for k := range m {
		m[k] = make([]float64, k+1)
	}
	for i := range p.units {
		u := &p.units[i]
		d := u.weight * slopes[i]
		for a, at := range u.at {
			for b, other := range u.at[:a+1] {
				m[at][other] += float64(d * u.x[a] * u.x[b])
			}
		}
	}
	diagonal := make([]float64, n)
	for k := range m {
		diagonal[k] = m[k][k]
	}
	dead := make([]bool, n)
	for k := range n {
		for j := range k {
			if dead[j] {
				m[k][j] = 0
				continue
			}
			sum := m[k][j]
			for i := range j {
				if !dead[i] {
					sum -= float64(m[k][i] * m[j][i] * m[i][i])
				}
			}
			m[k][j] = sum / m[j][j]
			m[k][k] -= float64(m[k][j] * m[k][j] * m[j][j])
		}
		dead[k] = !(m[k][k] > 1e-10*diagonal[k])
	}
	x := append([]float64(nil), rest...)
	for k := range n {
		for j := range k {
			if !dead[j] {
				x[k] -= float64(m[k][j] * x[j])
			}
		}
		if dead[k] {
			x[k] = 0
		}
	}
	for k := n - 1; k >= 0; k-- {
		if dead[k] {
			continue
		}
		x[k] /= m[k][k]
		for j := k + 1; j < n; j++ {
			if !dead[j] {
				x[k] -= float64(m[j][k] * x[j])
			}
		}
	}
	return x
}
