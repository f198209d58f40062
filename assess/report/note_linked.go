package report

import (
	"math"
	"strings"
)

// linkedNotes returns notes on the associations of a column with others whose noise is correlated
// with its own as their values are: that noise keeps correlations and increases covariances. The
// notes of tiesNotes after them are on columns that are masked independently.
func (c *publishedColumn) linkedNotes() []StatisticNote {
	if c.linked == nil {
		return nil
	}
	with := " with " + strings.Join(c.linked, ", ")
	if c.coarse > 0 || c.swaps != nil {
		return []StatisticNote{{"covariance, correlation and slope" + with, "",
			"Masked together by noise that follows their covariances; what other masks of the column did to these ties is not known, and so no correction is. What follows is on columns that are not masked with it."}}
	}
	const apart = " What follows is on columns that are not masked with it."
	unpublished := StatisticNote{"covariance" + with, "",
		"Greater than among respondents, by a factor that is not published: it cannot be corrected." + apart}
	if len(c.chain) == 1 {
		list := []StatisticNote{
			{"correlation and slopes" + with, "r(x, w) = r(y, w),  b(x on w) = b(y on w),  b(w on x) = b(w on y)",
				"Need no correction, also in regressions on several of these columns, where w has no mask beside this one: the noise was drawn with the covariances of the data, in proportion."},
			{"covariance" + with, "Cov(x, w) = Cov(y, w)·ρ,  ρ = Var(x) / Var(y)",
				"Greater by the same factor as the variance." + apart},
		}
		if c.hidden {
			list[1] = unpublished
		}
		return list
	}
	if c.hidden || math.IsNaN(c.chain.Follows(c.linked[0])) {
		return []StatisticNote{unpublished}
	}
	n := StatisticNote{"covariance" + with, "Cov(x, w) = Cov(y, w) / (1 + V/Var(x))",
		"V is the variance of the noise that the two were masked with together"}
	v, same := c.chain.Follows(c.linked[0]), true
	for _, other := range c.linked {
		same = same && c.chain.Follows(other) == v
	}
	if same {
		n.Text += ", " + trimmed(v)
	}
	n.Text += ". Correlations and slopes: from covariances and variances so corrected." + apart
	return []StatisticNote{n}
}
