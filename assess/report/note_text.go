package report

import (
	"fmt"
	"math"
	"strings"
)

// general returns the sentences for all columns; spread: some mask adds or multiplies; linked:
// the noise of some columns is correlated.
func general(spread, linked bool) []string {
	list := []string{
		"Below, x is a respondent’s value, y the released one, and w any other column that is not masked; for a masked one see what is said of it too. Masks draw for every column apart, and for every record; where the configuration names columns that identify respondents, for every respondent and value, so that equal values of one respondent are released alike.",
		"In a subset of the records that is chosen by columns which are not masked, use the subset’s own mean and variance of y with the same parameters. A subset chosen by released values of a masked column has no correction here. A corrected figure of few records is uncertain, and a corrected variance may even fall below 0: the masks then hide what was asked.",
		"Standard errors, where records are respondents: those of a mean are SD(y)/√n. For what is corrected, resample the records and correct each time (bootstrap).",
		"Quantiles, shares beyond a limit, least and greatest values and graphs of a column with noise or bias are those of y, spread wider than those of x. No formula here corrects them.",
		"Masked values are kept in the range of the column’s type, 0 to 255 for example, by moving those outside to its ends. Where values can come near an end of the type (unsigned whole numbers near 0), that is a truncation: what is said below of such a column then holds as far as few values lie at the end.",
	}
	if linked {
		list[0] += " Noise that is said to be correlated is drawn for its columns together."
	}
	if spread {
		list = append(list,
			"Noise and bias are rounded to the decimals of the column. Where these are coarse beside the noise, add d²/12 for each of the two to the variance that is taken off, d being a unit of the last decimal. Where the standard deviation of the noise is below a quarter of d, it moves few values at all: take nothing off.")
	}
	return list
}

// limits describes what no formula corrects.
func (c *publishedColumn) limits() []string {
	var list []string
	if c.synthetic {
		list = append(list, syntheticLimits(c.method))
	}
	if c.truncated {
		s :=
			"Truncation: how far the values outside the bounds lay is not released. Covariances, correlations, slopes and graphs of the column are disturbed, by an amount for which no correction is known."
		if c.normal() != nil {
			s += " Where the values within the bounds look normal, the program for clipped columns below, with this column’s bounds, fits the normal column that was there before; it refuses where they do not."
		} else {
			s += " A model for censored data (tobit) that includes the other masks may do, if its distribution is right."
		}
		list = append(list, s)
	}
	if c.averaged {
		list = append(list, c.groupLimits())
	}
	if c.ends {
		list = append(list, rankLimits+endLimits)
	}
	for i := range c.swaps {
		if c.swaps[i].ranks {
			list = append(list, rankLimits)
			continue
		}
		if c.swaps[i].shuffled {
			list = append(list, c.swaps[i].shuffleLimits(c.name))
			continue
		}
		ties := "what ties it to the columns that partners share"
		if keys := c.swaps[i].keys; keys != nil {
			ties = "what ties it to " + strings.Join(keys, ", ")
		}
		if with := others(c.swaps[i].columns, c.name); with != nil {
			ties += " and to " + strings.Join(with, ", ") + ", exchanged together with it"
		}
		list = append(list, "Swapping keeps the column’s own mean, variance and distribution, and "+ties+
			". Its correlations and slopes with all other columns, and its means by them, are changed, mostly weakened, by an amount that depends on the data: no correction is known.")
	}
	if c.smooth && !c.unknown && !c.hidden {
		list = append(list,
			"Rounding of noised values is taken as step²/12 of variance (Sheppard); the noise before it is wide enough for that.")
	}
	if c.coarse > 0 {
		list = append(list,
			fmt.Sprintf(
				"Rounding moved values by up to %s%s. No noise before it is wide enough, and known to be, that it could be taken as variance; the limits here hold whatever the values are.", trimmed(c.coarse), unitAfter(c.unit)))
	}
	if c.tiers && !c.hidden && !c.unknown {
		list = append(list,
			"Tiers: which noise a record got was decided by a value that is not released. The limits hold whatever the tiers did, but for the chance of the draws.")
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

// statistics describes how to correct each statistic of the column.
func (c *publishedColumn) statistics(found *Corrected) []StatisticNote {
	if c.synthetic && len(c.chain) == 1 {
		return c.syntheticNotes()
	}
	if c.unknown {
		const text = "No correction is known: what a mask does to it is not published."
		return []StatisticNote{{"mean", "", text}, {"variance", "", text}, {"correlation and slope", "", text}}
	}
	if !c.measured {
		ties := "Need no correction."
		if c.swaps != nil {
			ties = "Those with columns that moved along need no correction; for all others see below."
		}
		return []StatisticNote{{"counts and shares", "", "Those of the column alone need no correction."},
			{"ties to other columns", "", ties}}
	}
	if c.grouped() {
		return c.groupNotes(found)
	}
	list := []StatisticNote{c.meanNote(), c.varianceNote(found)}
	if !c.added && !c.truncated && c.coarse == 0 {
		ties := "Need no correction."
		if c.swaps != nil {
			ties = "Those with columns that moved along need no correction; for all others see below."
		}
		return append(list, StatisticNote{"correlation and slope", "", ties})
	}
	if c.truncated {
		return append(list, StatisticNote{"correlation, covariance and slope", "",
			"Disturbed by what truncation moved, also where the column is the response: no correction is known."})
	}
	return append(append(list, c.linkedNotes()...), c.tiesNotes(found)...)
}

func (c *publishedColumn) meanNote() StatisticNote {
	about := ""
	if c.coarse > 0 {
		about = trimmed(c.coarse)
	}
	if c.truncated {
		const hidden = " by an amount that the release does not tell: no correction is known."
		switch {
		case !c.upper:
			return StatisticNote{"mean", "mean(x) ≤ mean(y)" + after(" + ", about), "Truncation moved values up," + hidden}
		case !c.lower:
			return StatisticNote{"mean", "mean(x) ≥ mean(y)" + after(" − ", about), "Truncation moved values down," + hidden}
		}
		return StatisticNote{"mean", "", "Shifted by what truncation moved," + hidden}
	}
	switch {
	case c.coarse > 0:
		return StatisticNote{"mean", "mean(x) = mean(y) ± " + about,
			"Rounding moves it by half a step at most; no closer correction is known."}
	case c.added:
		return StatisticNote{"mean", "mean(x) = mean(y)", "Needs no correction: what the masks add is 0 on average."}
	}
	return StatisticNote{"mean", "mean(x) = mean(y)",
		"The released values are the respondents’, some of them at other records."}
}

func after(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + text
}

func (c *publishedColumn) varianceNote(found *Corrected) StatisticNote {
	if c.hidden && !c.truncated && c.coarse == 0 {
		return StatisticNote{"variance", "",
			"Var(y) is larger than Var(x), by an amount that is not published. It cannot be corrected: say so beside it."}
	}
	n := StatisticNote{Statistic: "variance"}
	switch {
	case c.hidden || found == nil && c.truncated:
		n.Text = "No correction is known: the masks add to it and take from it by amounts that the release does not tell."
	case c.truncated && c.coarse == 0:
		n.Formula = "Var(x) ≥ " + c.varianceFormula()
		n.Text = "What truncation took from it is not known: no correction is, only that it was this much at least."
		if c.tiers {
			n.Text = "N is the greatest variance of the noise, " + trimmed(c.greatest.Noise) + ". " + n.Text
		}
	case c.coarse > 0:
		n.Formula = "SD(before rounding) = SD(y) ± " + trimmed(c.coarse)
		n.Text = "Rounding changes it by half a step at most; no closer correction is known."
		if c.added {
			n.Text += " What the other masks add is taken off both ends; see the figures above."
		}
		if c.truncated {
			n.Text += " Truncation has taken from it besides: only the lower end holds."
		}
	case !c.added:
		n.Formula, n.Text = "Var(x) = Var(y)", "Needs no correction."
	default:
		n.Formula = "Var(x) = " + c.varianceFormula()
		switch {
		case c.tiers:
			n.Text = "N is the variance of the noise, which depends on values that are not released: between " +
				trimmed(c.least.Noise) + " and " + trimmed(c.greatest.Noise) +
				". The program below, with this column’s numbers, narrows that down by how many released values lie near the bounds of the tiers."
		case math.IsNaN(c.moments.Variance.Greatest):
			n.Text = "Var(y) is the variance of the released values, which is not listed here: they are few, or all the same."
		case found == nil:
			n.Text = "In this release the masks leave no variance to correct to."
		}
	}
	return n
}

// tiesNotes returns notes on the associations of a column with noise, bias or rounding with others.
func (c *publishedColumn) tiesNotes(found *Corrected) []StatisticNote {
	const unswapped = " That is so for columns that moved along with it in every swap, or that partners share; for all others no correction is known, see below."
	moved := ""
	if c.swaps != nil {
		moved = unswapped
	}
	if c.coarse > 0 {
		half := trimmed(c.coarse)
		return []StatisticNote{
			{"covariance", "Cov(x, w) = Cov(y, w) ± " + half + "·SD(w)",
				"Rounding changes it by that at most; no closer correction is known." + moved},
			{"correlation and slope", "", "From the limits of covariance and variance; no closer correction is known." + moved},
		}
	}
	response := StatisticNote{"slope, as the response", "b(x on w) = b(y on w)",
		"Needs no correction; its standard error is larger than without masks." + moved}
	if c.hidden {
		return []StatisticNote{
			{
				"correlation", "",
				"Nearer to 0 than among respondents, by a factor that is not published. Covariances with other columns need no correction." + moved},
			{"slope, as a regressor", "",
				"Flatter than among respondents, by a factor that is not published: treat the column as measured with error." +
					moved},
			response,
		}
	}
	reliability := ""
	if found != nil && found.Reliability != nil {
		reliability = " = " + found.Reliability.text()
	}
	return []StatisticNote{
		{"correlation", "r(x, w) = r(y, w) / √ρ,  ρ = Var(x) / Var(y)" + reliability,
			"Where w is masked too, divide by √ρ of w as well. Covariances need no correction." + moved},
		{"slope, as a regressor", "b(w on x) = b(w on y) / ρ",
			"The intercept is mean(w) − b·mean(y). Among several regressors: take Var(y) − Var(x) off this column’s entry on the diagonal of their covariance matrix, then solve." + moved},
		response,
	}
}

// varianceFormula writes correct.Masking.Variance with the published numbers: Var(x), or a lower
// bound of it.
func (c *publishedColumn) varianceFormula() string {
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
		return "(" + top + ") / (1 + " + trimmed(phi2) + ")"
	}
	return top
}

// text writes a range: 0.93, or 0.89 to 0.96.
func (r Range) text() string {
	low, high := trimmed(float64(r.Least)), trimmed(float64(r.Greatest))
	if low == high {
		return low
	}
	return low + " to " + high
}
