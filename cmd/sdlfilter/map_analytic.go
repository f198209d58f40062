package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// analyticFlags are the parameters of the closed forms; the names are those of the
// flags, in the unit of the column.
type analyticFlags struct {
	on                               bool
	n, steps                         int
	sd, distance, square, p, extreme float64
	from, to                         float64
	flags                            *pflag.FlagSet
}

func (a *analyticFlags) add(flags *pflag.FlagSet) {
	a.flags = flags
	flags.BoolVar(&a.on, "analytic", false, "the closed forms for additive noise, without data")
	flags.IntVar(&a.n, "n", 0, "analytic: records in the sample")
	flags.Float64Var(&a.sd, "sd", 1, "analytic: the column's standard deviation")
	flags.Float64Var(&a.distance, "mean-distance", 0, "analytic: how far off the mean the target lies, eq. 1")
	flags.Float64Var(&a.square, "mean-square", 0, "analytic: the mean of (x-mean)² over the sample, eq. 3")
	flags.Float64Var(&a.p, "percentile", 0, "analytic: a percentile as a share, 0.99, eq. 8")
	flags.Float64Var(&a.extreme, "extreme", 0,
		"analytic: how far off the mean the extreme lies, eq. 9; without it the expected one, eq. 10")
	flags.Float64Var(&a.from, "from", 0, "analytic: least λ²/σ² of the grid")
	flags.Float64Var(&a.to, "to", 1, "analytic: greatest λ²/σ²")
	flags.IntVar(&a.steps, "steps", 21, "analytic: points of the grid, equal steps of the variance")
}

func (a *analyticFlags) print(asJSON bool) error {
	if a.steps < 1 || !(a.from >= 0) || !(a.to >= a.from) {
		return usageError{errors.New("--from, --to and --steps must be a range of λ²/σ² from 0 up, of at least one step")}
	}
	given := func(name string, v *float64) *float64 {
		if !a.flags.Changed(name) {
			return nil
		}
		return v
	}
	m, err := rumap.Curves(rumap.Analytic{
		N: a.n, SD: a.sd,
		MeanDistance: given("mean-distance", &a.distance), MeanSquare: given("mean-square", &a.square),
		Percentile: given("percentile", &a.p), Extreme: given("extreme", &a.extreme),
		Ratios: rumap.Ratios(a.from, a.to, a.steps),
	})
	if err != nil {
		return usageError{err}
	}
	return printAnalytic(m, asJSON)
}

// analyticTable writes a row for each λ²/σ² and a column for each equation.
func analyticTable(m *rumap.AnalyticMap) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"R-U map of additive noise by closed forms (Duncan, Keller-McNulty and Stokes 2004), n = %d, SD = %s\n",
		m.Parameters.N, number(m.Parameters.SD))
	fmt.Fprintf(&b,
		"U0 = n/SD^2 = %s; from noise variance %s on, the mean serves a snooper better than the linked record\n\n",
		number(float64(m.U0)), number(float64(m.SwitchOver)))
	header := []string{"var/SD^2", "noise sd", "U", "efficiency"}
	for i, c := range m.Curves {
		header = append(header, fmt.Sprintf("R(%d)", c.Equation))
		fmt.Fprintf(&b, "  R(%d)  %s by %s\n", c.Equation, m.Curves[i].Target, c.Knowledge)
	}
	b.WriteByte('\n')
	row := func(cells []string) {
		var line strings.Builder
		for _, c := range cells {
			fmt.Fprintf(&line, "%12s", c)
		}
		b.WriteString(line.String() + "\n")
	}
	row(header)
	for i := range m.Ratios {
		cells := []string{number(float64(m.Ratios[i])), number(math.Sqrt(float64(m.Variance[i]))), number(float64(m.U[i])),
			number(float64(m.Efficiency[i]))}
		for _, c := range m.Curves {
			cells = append(cells, number(float64(c.R[i])))
		}
		row(cells)
	}
	return b.String()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
