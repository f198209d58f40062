package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/verify/papers"
)

// additiveNoise draws figures 2 to 4 of Duncan, Keller-McNulty and Stokes (2004):
// σ = 1, n = 200, λ² from 0.01 to 2.
func additiveNoise(context.Context, string) ([]chart, error) {
	all, err := equations()
	if err != nil {
		return nil, err
	}
	base := chart{
		source: "σ = 1, n = 200, noise variance λ² from 0.01 (right) to 2 (left); closed forms of the paper",
		x:      axis{label: "data utility U = n/(σ²+λ²), 1/(unit of x)²", min: 60, max: 200, ticks: steps(60, 200, 20)},
		y:      axis{label: "disclosure risk R, 1/(unit of x)²", min: 0.1, max: 100, log: true, ticks: decades(0.1, 100)},
	}
	two, three, four := base, base, base
	two.name, two.title = "duncan2004-figure2", "Figure 2: additive noise, typical target"
	two.curves = []curve{all[4], all[2]}
	two.level = &level{5, "largest tolerable risk, R = 5"}
	noise := rumap.Noise{N: 200, SD: 1, Lambda: math.Sqrt(0.21)}
	u, errU := noise.Utility()
	r, errR := noise.RiskOfRecord()
	if err := errors.Join(errU, errR); err != nil {
		return nil, err
	}
	two.marks = []mark{{x: u, y: r, text: fmt.Sprintf("λ² = 0.21: U = %.0f, R = %.2f", u, r), down: true}}
	two.describe =
		"R against U. The curve of the linked record rises from R = 0.5 at U = 67 without bound towards U = 200 and passes the tolerable risk of 5 near U = 165; that of the mean stays just below 1."

	three.name, three.title = "duncan2004-figure3", "Figure 3: the 99th percentile as target"
	three.curves = []curve{all[4], all[2], all[8]}
	three.marks, err = crossings(three.curves[2], three.curves[1], three.curves[0])
	if err != nil {
		return nil, err
	}
	// The crossing of the mean is to the left, that of the record to the right and close to it.
	three.marks[0].left = true
	three.marks[1].down = true
	three.marks[2].down = true
	three.describe =
		"R against U. The percentile's curve lies above the linked record's for λ² between 0.085 and 0.887, below it elsewhere, and falls below the mean's for λ² above 0.965."

	four.name, four.title = "duncan2004-figure4", "Figure 4: an extreme as target"
	four.curves = []curve{all[4], all[2], all[8], all[10]}
	four.describe =
		"R against U. The maximum's curve lies below those of the percentile and of the linked record everywhere, and falls below the mean's for λ² above 0.714."
	return []chart{two, three, four}, nil
}

// equations returns the curves of the paper's equations (2), (4), (8) and (10) by number.
func equations() (map[int]curve, error) {
	p := 0.99
	var ratios []assess.Float
	for _, v := range steps(0.01, 2, 0.01) {
		ratios = append(ratios, assess.Float(v))
	}
	m, err := rumap.Curves(rumap.Analytic{N: 200, SD: 1, Percentile: &p, Ratios: ratios})
	if err != nil {
		return nil, err
	}
	all := map[int]curve{}
	for _, c := range m.Curves {
		v := curve{parameter: "lambda^2"}
		for i, r := range c.R {
			v.points = append(v.points, point{float64(m.Variance[i]), float64(m.U[i]), float64(r)})
		}
		all[c.Equation] = v
	}
	for style, eq := range []int{4, 2, 8, 10} {
		v := all[eq]
		v.style = style
		v.id = fmt.Sprintf("equation %d", eq)
		v.name = map[int]string{
			4:  "index known: the linked record, equation (4)",
			2:  "no knowledge but the population: the mean, equation (2)",
			8:  "99th percentile of the population known, equation (8)",
			10: "known to be the maximum of the sample, equation (10)",
		}[eq]
		all[eq] = v
	}
	return all, nil
}

// crossings returns marks where the curve crosses each of the others.
func crossings(c curve, others ...curve) ([]mark, error) {
	var marks []mark
	for _, o := range others {
		for i := 1; i < len(c.points); i++ {
			before, after := c.points[i-1].y-o.points[i-1].y, c.points[i].y-o.points[i].y
			if before*after >= 0 {
				continue
			}
			// Linear between two points of the grid, which are 0.01 apart in λ²: that
			// is far finer than the drawing.
			t := before / (before - after)
			at := func(a, b float64) float64 { return a + t*(b-a) }
			marks = append(marks, mark{
				x: at(c.points[i-1].x, c.points[i].x), y: at(c.points[i-1].y, c.points[i].y),
				text: fmt.Sprintf("λ² = %.3f", at(c.points[i-1].parameter, c.points[i].parameter)),
			})
		}
	}
	if len(marks) == 0 {
		return nil, errors.New("the curves do not cross")
	}
	return marks, nil
}

// swapping draws the figure of Duncan and Keller-McNulty (2000), section 6.2.
func swapping(context.Context, string) ([]chart, error) {
	swap := papers.Swap{N1: 3, N2: 2, Difference: 1, SD: 1}
	at := func(rate float64) (point, error) {
		s := swap
		s.Rate = rate
		u, errU := s.Utility()
		r, errR := s.Risk()
		return point{rate, u, r}, errors.Join(errU, errR)
	}
	line := curve{id: "swapping", name: "one unique record exchanged with probability π (from 1, left, to 0.05, right)",
		parameter: "pi"}
	for _, rate := range steps(0.05, 1, 0.01) {
		p, err := at(rate)
		if err != nil {
			return nil, err
		}
		line.points = append(line.points, p)
	}
	c := chart{
		name: "duncan2000-swapping", title: "Swapping: R and U as the swapping rate runs",
		source: "Duncan and Keller-McNulty (2000), section 6.2: n₁ = 3, n₂ = 2, σ = 1, μ₁ − μ₂ = 1",
		x: axis{label: "data utility U = 1/MSE of the difference of two means, 1/(unit of x)²", min: 0.6, max: 1.2,
			ticks: steps(0.6, 1.2, 0.1)},
		y:      axis{label: "disclosure risk R = 1/E(L), 1/(unit of x)²", min: 0, max: 7, ticks: steps(0, 7, 1)},
		curves: []curve{line}, level: &level{0.5, "a tolerable risk, R = 0.5: the smallest admissible rate is π = 2/3"},
		describe: "R against U. R falls from 6.7 at π = 0.05, U = 1.15, to 1/3 at π = 1, U = 0.65.",
	}
	smallest, err := swap.SmallestRate(c.level.y)
	if err != nil {
		return nil, err
	}
	for _, rate := range []float64{0.05, 0.1, 0.25, smallest, 1} {
		p, err := at(rate)
		if err != nil {
			return nil, err
		}
		c.marks = append(c.marks, mark{x: p.x, y: p.y, text: fmt.Sprintf("π = %.2g", rate), left: rate < 1, down: rate == 1})
	}
	return []chart{c}, nil
}

// dataSquareFigure draws figure 3 of Duncan et al. (2001), section 5, from the formulas, together
// with the paper's printed figures.
func dataSquareFigure(context.Context, string) ([]chart, error) {
	prior := []float64{0, .3, .3, .15, .1, .05, .04, .03, .02, .01} // table 4
	square := papers.Perturbation{Row: 15, Column: 18, Total: 115}
	at := func(parameter float64, likelihood []float64, err error) (point, error) {
		if err != nil {
			return point{}, err
		}
		post, err := papers.CellPosterior(prior, likelihood)
		if err != nil {
			return point{}, err
		}
		return point{parameter, papers.CellUtility(post, 1), papers.CellRisk(post)}, nil
	}
	markov := curve{id: "Markov perturbation", name: "Markov perturbation, θ from 0.02 (top) to 1", parameter: "theta"}
	printed := curve{id: "printed", name: "as the paper prints them, which its own formula does not give",
		parameter: "theta (0: suppression, rounding)", style: 3, only: true}
	computed := curve{id: "computed", name: "cell suppression, rounding to base 3", parameter: "base (0: suppression)",
		style: 1, only: true}
	c := chart{
		name: "duncan2001-figure3", title: "A 2×2 table: suppression, rounding, Markov perturbation",
		source: "Duncan et al. (2001), section 5: cell (1,1) is 1 and published as 3; prior of table 4",
		x:      axis{label: "data utility U = 1/E(ω−1)², 1/count²", min: 0.1, max: 0.4, ticks: steps(0.1, 0.4, 0.05)},
		y:      axis{label: "disclosure risk R = 1/entropy, 1/nat", min: 0, max: 2, ticks: steps(0, 2, 0.25)},
		describe: "R against U. Markov perturbation with θ = 0.05, 0.1, 0.2 has U = 0.24, 0.23, 0.22 and R = 1.34, 0.97, 0.77; " +
			"suppression has U = 0.16, R = 0.57, rounding U = 0.35, R = 0.70. The paper prints R = 1.26, 0.97, 0.71, 0.26, 0.92.",
	}
	for _, theta := range steps(0.02, 1, 0.01) {
		square.Theta = theta
		l, err := square.Likelihood(3)
		p, err := at(theta, l, err)
		if err != nil {
			return nil, err
		}
		markov.points = append(markov.points, p)
	}
	for i, theta := range []float64{0.05, 0.1, 0.2} {
		square.Theta = theta
		l, err := square.Likelihood(3)
		p, err := at(theta, l, err)
		if err != nil {
			return nil, err
		}
		c.marks = append(c.marks, mark{x: p.x, y: p.y, text: fmt.Sprintf("θ = %v", theta), down: true})
		printed.points = append(printed.points, point{theta, []float64{.240, .232, .216}[i], []float64{1.263, .969, .713}[i]})
	}
	suppressed, err := at(0, papers.SuppressedLikelihood(square.Bounds()), nil)
	if err != nil {
		return nil, err
	}
	l, err := papers.RoundedLikelihood(3, 3)
	rounded, err := at(3, l, err)
	if err != nil {
		return nil, err
	}
	computed.points = []point{suppressed, rounded}
	printed.points = append(printed.points, point{0, .159, .255}, point{0, .346, .919})
	c.curves = []curve{markov, computed, printed}
	c.marks = append(c.marks,
		mark{x: suppressed.x, y: suppressed.y, text: "suppression", down: true, plain: true},
		mark{x: rounded.x, y: rounded.y, text: "rounding", down: true, plain: true})
	return []chart{c}, nil
}
