package report

import (
	"fmt"
	"slices"
	"strings"
)

// general says what holds for every column.
func general(p *Public) []string {
	list := []string{
		"Below, x is a respondent’s value, y the released one, and w any other column. Masks draw for every record and column apart from all others.",
		"In a subset of the records, use the subset’s own mean and variance of y with the same parameters. A corrected figure of few records is uncertain, and a corrected variance may even fall below 0: the masks then hide what was asked.",
		"Standard errors: those of a mean are SD(y)/√n. For what is corrected, resample the records and correct each time (bootstrap).",
		"Quantiles, shares beyond a limit, least and greatest values and graphs of a column with noise or bias are those of y, spread wider than those of x. No formula here corrects them.",
	}
	if slices.ContainsFunc(p.Masks, func(m PublicMask) bool { return m.Mask == "noise" || m.Mask == "bias" }) {
		list = append(list, "Noise and bias are rounded to the decimals of the column. Where these are coarse beside the noise, add d²/12 for each of the two to the variance that is taken off, d being a unit of the last decimal.")
	}
	return list
}

// carries says of each mask what it did to the column.
func (c *carried) carries() []string {
	var list []string
	for i := range c.masks {
		m := &c.masks[i]
		switch m.Mask {
		case "bias":
			if φ, ok := m.phi(); ok {
				list = append(list, "bias: multiplied by θ ~ N(1, φ²) with φ = "+trimmed(φ))
			} else {
				list = append(list, "bias: multiplied by a random factor of mean 1, whose standard deviation φ is not published")
			}
		case "noise":
			list = append(list, c.noiseCarried(m, c.partial[i]))
		case "round":
			if h, ok := m.step(); ok {
				list = append(list, "rounding: to multiples of "+trimmed(h)+unitAfter(c.unit))
			} else {
				list = append(list, "rounding: to a step that is not published")
			}
		case "truncate":
			list = append(list, "truncation: "+c.truncation(m))
		case "swap":
			list = append(list, "swap: "+swapped(m))
		default:
			list = append(list, m.Mask+": there is no formula for it")
		}
	}
	return list
}

func (c *carried) noiseCarried(m *PublicMask, partial bool) string {
	λ, ok := m.lambda(c.name)
	if !ok {
		return "noise: an amount of mean 0 was added, whose standard deviation λ is not published"
	}
	law := ""
	if d := m.word("distribution"); d != "" {
		law = d + " "
	}
	s := fmt.Sprintf("noise: %sdraws of mean 0 and standard deviation λ = %s%s were added", law, trimmed(λ), unitAfter(c.unit))
	for _, t := range m.tiers() {
		s += fmt.Sprintf("; %s times the variance above %s", trimmed(t.Factor), trimmed(t.Above))
	}
	if partial {
		s += "; not all that sets their variance is published"
	}
	return s
}

func (c *carried) truncation(m *PublicMask) string {
	var bounds []string
	if v, ok := m.numeric("lower"); ok {
		bounds = append(bounds, "below "+trimmed(v))
	}
	if v, ok := m.numeric("upper"); ok {
		bounds = append(bounds, "above "+trimmed(v))
	}
	where := "outside of bounds that are not published"
	if bounds != nil {
		where = strings.Join(bounds, " or ")
	}
	switch m.word("mode") {
	case "redraw":
		return "the noise was drawn so that no value lies " + where
	case "clip":
		return "values " + where + " were moved to the bound"
	}
	return "no value lies " + where
}

func swapped(m *PublicMask) string {
	s := "values were exchanged between some records"
	if keys := m.list("keys"); keys != nil {
		s += " that agree in " + strings.Join(keys, ", ")
	}
	if a := m.word("attribute"); a != "" {
		s += " and differ in " + a
	}
	if rate, ok := m.numeric("rate"); ok {
		s += fmt.Sprintf("; each possible exchange was made with probability π = %s", trimmed(rate))
	}
	return s
}

func (m *PublicMask) list(name string) []string {
	v, _ := m.Parameters.Get(name)
	entries, _ := v.([]any)
	var out []string
	for _, e := range entries {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// limits says what no formula corrects.
func (c *carried) limits() []string {
	var list []string
	if c.truncated {
		list = append(list, "Truncation: the formulas hold as far as few values lie at or near a bound; count those that are equal to it. No formula makes up for it. A model for censored data (tobit) with the noise in it can.")
	}
	for i := range c.swaps {
		ties := "what ties it to the columns that partners share"
		if keys := c.swaps[i].list("keys"); keys != nil {
			ties = "what ties it to " + strings.Join(keys, ", ")
		}
		if with := others(c.swaps[i].Columns, c.name); with != nil {
			ties += " and to " + strings.Join(with, ", ") + ", exchanged together with it"
		}
		list = append(list, "Swapping keeps the column’s own mean, variance and distribution, and "+ties+
			". Its correlations and slopes with all other columns are weakened, by an amount that depends on the data: no formula corrects them.")
	}
	if c.rounded && !c.hidden {
		list = append(list, "Rounding is taken as step²/12 of variance (Sheppard), which holds where values spread over several steps.")
	}
	if c.tiers && !c.hidden {
		list = append(list, "Tiers: which noise a record got was decided by a value that is not released. Taking the released value instead is close, not exact; the ranges above hold whatever the tiers did, but for the chance of the draws.")
	}
	return list
}

func others(list []string, name string) []string {
	var out []string
	for _, n := range list {
		if n != name {
			out = append(out, n)
		}
	}
	return out
}

// statistics says how to correct each statistic of the column.
func (c *carried) statistics(found *Corrected) []StatisticNote {
	mean := StatisticNote{"mean", "mean(x) = mean(y)", "Needs no correction: what the masks add is 0 on average."}
	switch {
	case c.truncated:
		mean = StatisticNote{"mean", "mean(x) ≈ mean(y)", "Shifted by what truncation moved, see below."}
	case !c.added:
		mean.Text = "The released values are the respondents’, some of them at other records."
	}
	if !c.measured {
		ties := "Need no correction."
		if c.swaps != nil {
			ties = "Those with columns that moved along need no correction; for all others see below."
		}
		return []StatisticNote{{"counts and shares", "", "Those of the column alone need no correction."}, {"ties to other columns", "", ties}}
	}
	if !c.added {
		variance := StatisticNote{"variance", "Var(x) = Var(y)", "Needs no correction."}
		ties := "Those with columns that moved along need no correction; for all others see below."
		switch {
		case c.truncated:
			variance = StatisticNote{"variance", "", "Too small by what truncation moved."}
			ties = "Disturbed by what truncation moved."
		case c.swaps == nil:
			ties = "Need no correction."
		}
		return []StatisticNote{mean, variance, {"correlation and slope", "", ties}}
	}
	if c.hidden {
		return []StatisticNote{mean,
			{"variance", "", "Var(y) is larger than Var(x), by an amount that is not published. It cannot be corrected: say so beside it."},
			{"correlation", "", "Nearer to 0 than among respondents, by a factor that is not published. Covariances with other columns need no correction."},
			{"slope, as a regressor", "", "Flatter than among respondents, by a factor that is not published: treat the column as measured with error."},
			{"slope, as the response", "b(x on w) = b(y on w)", "Needs no correction; its standard error is larger than without masks."},
		}
	}
	variance := StatisticNote{"variance", c.varianceFormula(), ""}
	switch {
	case c.tiers:
		variance.Text = "N is the variance of the noise: the mean over the records of " + c.tierWords() + "."
	case found == nil:
		variance.Text = "In this release the masks leave no variance to correct to."
	}
	reliability, moved := "", ""
	if c.swaps != nil {
		moved = " For what swapping does to it, see below."
	}
	if found != nil {
		reliability = " = " + found.Reliability.text()
	}
	return []StatisticNote{mean, variance,
		{"correlation", "r(x, w) = r(y, w) / √ρ,  ρ = Var(x) / Var(y)" + reliability,
			"Where w is masked too, divide by √ρ of w as well. Covariances need no correction." + moved},
		{"slope, as a regressor", "b(w on x) = b(w on y) / ρ",
			"The intercept is mean(w) − b·mean(y). Among several regressors: take Var(y) − Var(x) off this column’s entry on the diagonal of their covariance matrix, then solve." + moved},
		{"slope, as the response", "b(x on w) = b(y on w)", "Needs no correction; its standard error is larger than without masks." + moved},
	}
}

// varianceFormula is correct.Masking.Variance with the published numbers.
func (c *carried) varianceFormula() string {
	phi2, top := c.least.Phi2, "Var(y)"
	if phi2 > 0 {
		top += " − " + trimmed(phi2) + "·mean(y)²"
	}
	switch {
	case c.tiers:
		top += " − N"
	case c.least.Noise > 0:
		top += " − " + trimmed(c.least.Noise)
	}
	if phi2 > 0 {
		return "Var(x) = (" + top + ") / (1 + " + trimmed(phi2) + ")"
	}
	return "Var(x) = " + top
}

// tierWords says the variance of the noise of a record.
func (c *carried) tierWords() string {
	var parts []string
	for _, n := range c.noise {
		s := trimmed(float64(n.Variance))
		for _, t := range n.Tiers {
			s += fmt.Sprintf(", but %s where y > %s", trimmed(float64(n.Variance*t.Factor)), trimmed(float64(t.Above)))
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; plus ")
}

// text writes a range: 0.93, or 0.89 to 0.96.
func (r Range) text() string {
	low, high := trimmed(float64(r.Least)), trimmed(float64(r.Greatest))
	if low == high {
		return low
	}
	return low + " to " + high
}
