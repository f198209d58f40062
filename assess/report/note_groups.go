package report

import "strings"

// The note on columns whose values were replaced by those of groups.

const groupTies = "Disturbed: columns of one mask are tied together more strongly than among respondents, others mostly more weakly, by an amount that depends on the data. No correction is known."

// The effect of rank swapping, without the ends and with them.
const (
	rankLimits = "Rank swapping keeps the column’s values as a whole, and brings each to a record whose own was of similar rank. Correlations and slopes with all other columns, and means by them, are weakened, the more the further ranks may be apart, by an amount that depends on the data: no correction is known."
	endLimits  = " At the ends of the column, where it is published that there are such, or not published that there are none, the mean of a share of the records stands in place of their values: mean(y) is kept, extremes are not."
)

// shuffleLimits describes what shuffling keeps and what it does not.
func (e *exchange) shuffleLimits(name string) string {
	among := ""
	if with := others(e.columns, name); with != nil {
		among = " with " + strings.Join(with, ", ") + ", shuffled together with it,"
	}
	on := "the columns that it was shuffled on"
	if e.on != nil {
		on = strings.Join(e.on, ", ")
	}
	if among != "" {
		among += " and"
	}
	return "Shuffling keeps the column’s own distribution to the last value: mean, variance and quantiles need no correction. Its rank correlations" + among + " with " + on +
		" are kept, but for chance, where these ties are those of a joint normal distribution behind the ranks; of other ties, such as those that bend or that hold in one group alone, that part is gone." +
		" Correlations and slopes with all other columns, and means by them, are what these columns alone explain: no correction is known. The record’s own value says nothing beyond that."
}

// grouped reports whether values were replaced by those of groups or by means of the ends.
func (c *publishedColumn) grouped() bool { return c.averaged || c.ends }

// groupLimits describes the effects of groups that no formula corrects.
func (c *publishedColumn) groupLimits() string {
	s := "Microaggregation: what values spread within groups is not released."
	if c.medians {
		return s + " Groups show a median, or it is not published whether they do, so that not even the mean is kept."
	}
	return s +
		" The standard error of a mean is that of the respondents’ values, and so larger than SD(y)/√n; medians of groups of records, least and greatest values, quantiles and tests of normality are those of means of groups, closer together than those of respondents." +
		" A record with values missing as few others miss them may have taken the values of a group that it is not in."
}

// groupNotes describes how to correct each statistic of a numeric column with groups.
func (c *publishedColumn) groupNotes(found *Corrected) []StatisticNote {
	mean := StatisticNote{"mean", "mean(x) = mean(y)", "Needs no correction: each group keeps the sum of its values."}
	switch {
	case c.medians:
		mean = StatisticNote{"mean", "", "Groups show a median, or may: no correction is known."}
	case c.truncated || c.coarse > 0:
		mean = c.meanNote()
	}
	variance := StatisticNote{"variance", "",
		"No correction is known: the masks take from it, or add to it, by amounts that the release does not tell."}
	if found != nil && c.coarse == 0 && !c.tiers {
		variance = StatisticNote{"variance", "Var(x) ≥ " + c.varianceFormula(),
			"What values spread within groups is gone from it, by an amount that the release does not tell."}
	}
	ties := groupTies
	if !c.averaged {
		if !c.truncated && c.coarse == 0 {
			mean.Text = "Needs no correction: exchanges keep it, and so do the means of the ends."
		}
		if variance.Formula != "" {
			variance.Text = "What values spread at the ends is gone from it, by an amount that the release does not tell."
		}
		ties = "Weakened, by an amount that depends on the data. No correction is known."
	}
	return []StatisticNote{mean, variance, {"correlation, covariance and slope", "", ties}}
}
