package report

import (
	"math"
	"slices"
)

// The note on columns that are drawn from a model.

// syntheticLimits describes what draws from regressions, from trees, or from a model that is not known do
// not preserve.
func syntheticLimits(method string) string {
	follow :=
		"What holds in a group that the models do not tell apart, and all ties to columns that the models leave out, is not in them."
	switch method {
	case "parametric":
		follow =
			"They follow linear models with residuals like those of the data: what bends, what holds in a group that the models do not tell apart, and all ties to columns that the models leave out, is not in them."
	case "normal":
		follow =
			"They follow linear models with normal residuals, around means that were drawn as well: what is skewed, bends or holds in a group that the models do not tell apart, and all ties to columns that the models leave out, is not in them."
	case "cart":
		follow =
			"They are drawn from groups of respondents that trees have found, numbers with noise beside them: a slope is a stair in them, so that ties are somewhat weaker than in the data; what holds in groups smaller than the least leaf, and all ties to columns that the models leave out, is not in them. No group is of one value alone, so what holds without exception in the data has exceptions here."
	}
	return "Synthetic values: all are drawn, none belongs to the record that it stands in, and one that equals a respondent’s does so by chance. " + follow + " Least and greatest values, and quantiles far out, are the model’s, not the respondents’; a value that a tenth of them share or more is drawn with its share."
}

// syntheticNotes describes how statistics of synthetic columns are computed: Reiter (2003), and for
// one copy Raab, Nowok and Dibben (2016); see correct.Combine.
func (c *publishedColumn) syntheticNotes() []StatisticNote {
	alone := "q ± 1.96·√(2u)"
	switch c.method {
	case "normal":
		alone = "q ± 1.96·√(3u), as the mean was drawn as well"
	case "":
		alone = "q ± 1.96·√(3u), as means may have been drawn as well"
	}
	list := []StatisticNote{
		{"any statistic, its variance", "q̄ ± t·√T,  T = ū + b/m",
			"From each of m copies compute the statistic q and its variance u as if the copy were data; q̄ and ū are their means, b = Σ(q − q̄)²/(m − 1), and t is Student’s on (m − 1)·(1 + ū/(b/m))² degrees of freedom. Of this one copy alone: " + alone + ". " + c.modelled()},
		{
			"in Python", "",
			"import statistics as s; m = len(q); b = s.variance(q); T = s.mean(u) + b/m; df = (m - 1)*(1 + s.mean(u)/(b/m))**2"},
		{"in R", "", "m <- length(q); b <- var(q); T <- mean(u) + b/m; df <- (m - 1)*(1 + mean(u)/(b/m))^2"},
	}
	if aside := c.setAside(); aside > 0 {
		why := "Models were fitted without " + trimmed(math.Round(1e4*aside)/100) + " % of the records"
		if math.IsNaN(c.heldOut) {
			why = "Models were fitted without a share of the records that is not published, of at most half of them"
		}
		list = slices.Insert(list, 1,
			StatisticNote{"that variance", "u/" + trimmed(math.Round(1e4*(1-aside))/1e4),
				why + ", which are as uncertain as if there were so many fewer: divide each u by that before it is put in."})
	}
	return list
}

// modelled says which statistics among synthetic columns, and those that the models go by, are without bias. A linear
// model with the residuals of the data keeps the moments up to the second whatever the data are, but not where draws
// beyond a bound are made again.
func (c *publishedColumn) modelled() string {
	switch {
	case c.ruled:
		return "Rules gave, or took away, some of the values, which moves all statistics: no correction is known."
	case (c.method == "parametric" || c.method == "normal") && !c.bounded:
		return "Means, variances, correlations and slopes among the synthetic columns and those that the models go by need nothing else."
	case c.method == "cart":
		return "Means need nothing else. Variances, correlations and slopes, also among the synthetic columns and those that the models go by, are somewhat nearer to 0 than in the data: no correction is known."
	}
	return "Numbers were drawn within the bounds of the data, or may have been, and draws beyond them were made again. Where many records lie near a bound or the column is skewed, that moves the mean, and takes from variances, correlations and slopes, by an amount that the release does not tell: no correction is known."
}

// greatestHeldOut is the greatest share that a synthesis may set aside.
const greatestHeldOut = 0.5

// setAside returns the share of the records that models were not fitted to; if that is not published,
// its greatest possible value.
func (c *publishedColumn) setAside() float64 {
	if math.IsNaN(c.heldOut) {
		return greatestHeldOut
	}
	return c.heldOut
}
