package attack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/figure"
	"github.com/sdlfilter/sdlfilter/assess/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/assess/intruder/uniqueness"
)

func (t *table) linkage() {
	l := t.r.Linkage
	t.title("Linkage by " + l.Distance.String() + " distance")
	t.row("found", number(l.ExpectedCorrect)+" of "+figure.Count(int64(t.r.Targets)),
		"respondents whose nearest released record is their own; tied records share the credit")
	t.row("share", figure.Percent(l.CorrectShare), "who guesses blindly finds "+share(1/float64(t.r.measured())))
	if l.OneToOneCorrect != nil {
		t.row("one to one", number(*l.OneToOneCorrect), "found where all are linked at once, each to a record of its own: the worst case")
	}
	if len(l.Constant) > 0 {
		known := slices.Concat(t.r.Keys, t.r.Categorical)
		var constant []string
		for _, j := range l.Constant {
			constant = append(constant, known[j])
		}
		t.wrapped("  ", "", "Left out, since no two records differ in it: "+names(constant)+".")
	}
	t.line("")
}

// share writes a share that may be far below 1 in 1,000.
func share(v float64) string {
	if v > 0 && v < 0.0005 {
		return figure.Plain(100*v, 2) + " %"
	}
	return figure.Percent(v)
}

func (t *table) bayes() {
	b := t.r.Bayes
	knowledge := "knows how much bias and noise there is (d.1)"
	if b.Knowledge == "d.2" {
		knowledge = "has a prior of how much bias and noise there is (d.2)"
	}
	t.title("Bayesian intruder, who " + knowledge)
	t.row("correct links", number(b.Correct), fmt.Sprintf("of %s made where the posterior of the likeliest record exceeds %s",
		figure.Count(int64(b.Links)), number(b.Threshold)))
	t.row("expected by the intruder", number(b.ExpectedCorrect), "links that he believes are right: how far he can tell which ones are")
	if b.Correct > 0 {
		t.row("posterior of these", figure.Plain(b.PosteriorOfCorrect.Mean, figure.RiskDigits), "mean over the correct links: 1 is certainty; SD "+
			figure.Plain(b.PosteriorOfCorrect.SD, figure.RiskDigits))
	}
	ten := 0.0
	for _, k := range b.Rank[:10] {
		ten += k
	}
	t.row("own record ranked first", number(b.Rank[0]), "of "+figure.Count(int64(b.WithRecord))+" respondents")
	t.row("among the first ten", number(ten), "whoever looks at ten candidates has the right one before him")
	if b.Population > b.Records {
		t.row("not in the release", number(b.Outside), "respondents whom he expects outside it, of a population of "+figure.Count(int64(b.Population)))
	}
	t.line("")
}

func (t *table) uniqueness() {
	u := t.r.Uniqueness
	t.title("Uniqueness on " + names(u.Keys))
	of := "of " + figure.Count(int64(u.Records)) + " records"
	if t.r.Sampled > 0 {
		of += " of the sample, where fewer share their keys than in the release"
	}
	t.row("k", number(u.MinFrequency), "fewest records that share a combination of keys")
	for _, k := range slices.Sorted(maps.Keys(u.Violations)) {
		t.row("below "+strconv.Itoa(k), figure.Count(int64(u.Violations[k])), violation(k, of))
	}
	t.row("greatest individual risk", figure.Plain(u.MaxIndividualRisk, figure.RiskDigits), "probability that a record is re-identified by its keys")
	t.row("expected to be found", figure.Plain(u.ExpectedReidentifications, figure.Digits), "respondents: the sum of the individual risks")
	if h := u.Household; h != nil {
		t.row("with their households", figure.Plain(h.ExpectedReidentifications, figure.Digits), "respondents of whom someone in the household is found")
		t.row("greatest household risk", figure.Plain(h.MaxRisk, figure.RiskDigits), "probability that someone in it is found")
	}
	if s := u.SUDA2; s != nil {
		t.row("greatest SUDA2 score", figure.Plain(s.Max, figure.Digits), "how special the most special unique is: 0 where none is unique; mean "+
			figure.Plain(s.Mean, figure.RiskDigits))
	}
	for _, name := range slices.Sorted(maps.Keys(u.LDiversity)) {
		d := u.LDiversity[name]
		t.row("l of "+figure.Printable(name), figure.Count(int64(d.DistinctMin)), "fewest different values among records with the same keys: "+
			"with 1, keys tell the value; effectively "+figure.Plain(d.EntropyMin, figure.RiskDigits))
	}
	t.combinations()
	t.line("")
}

func violation(k int, of string) string {
	if k == 2 {
		return "unique, " + of
	}
	return "share their keys with fewer than " + strconv.Itoa(k-1) + " others"
}

// shownCombinations is how many combinations of keys a terminal gets.
const shownCombinations = 3

// combinations names the smallest sets of keys that make most uniques.
func (t *table) combinations() {
	list := slices.Clone(t.r.Uniqueness.Combinations)
	list = slices.DeleteFunc(list, func(c uniqueness.Combination) bool { return c.Uniques == 0 || len(c.Keys) == len(t.r.Uniqueness.Keys) })
	slices.SortStableFunc(list, func(a, b uniqueness.Combination) int { return b.Uniques - a.Uniques })
	for _, c := range list[:min(len(list), shownCombinations)] {
		t.wrapped("  ", "", names(c.Keys)+" alone make "+figure.Count(int64(c.Uniques))+" records unique.")
	}
}

func (t *table) interval() {
	t.title("Interval disclosure")
	most := 0.0
	for _, width := range slices.SortedFunc(maps.Keys(t.r.Interval), byValue) {
		v := t.r.Interval[width]
		most = max(most, v)
		t.row("within "+width+" SD", figure.Percent(v), "of the records, in every numeric column; in SDs of the original: "+figure.Percent(t.r.IntervalSound[width]))
	}
	const blind = "It counts a record only where all numeric columns lie within the interval, so it falls with each further column, which whoever links is helped by."
	switch l := t.r.Linkage; {
	case l != nil && l.CorrectShare > most:
		t.wrapped("  ", "1", "Not to be relied on here: linkage finds "+figure.Percent(l.CorrectShare)+" of the respondents.")
		t.wrapped("  ", "", blind)
	case l == nil:
		t.wrapped("  ", "", "It says nothing of whether respondents are found; linkage, which does, was not asked for. "+blind)
	}
	t.line("")
}

// byValue orders decimals.
func byValue(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y)
}

func (t *table) averaging() {
	a := t.r.Averaging
	t.title("The mean of this release and " + figure.Count(int64(a.Releases-1)) + " earlier")
	for _, c := range a.Columns {
		one, all := math.Sqrt(float64(c.MSE[0])), math.Sqrt(float64(c.MSE[len(c.MSE)-1]))
		meaning := "error of one release and of the mean; endless releases would leave ± " + figure.Plain(math.Sqrt(float64(c.Limit)), figure.RiskDigits)
		switch {
		case c.Compared == 0:
			meaning = "no record has a value in the original and in all releases"
		case c.Equal:
			meaning = "nothing more: all releases have the same values"
		}
		t.row(figure.Printable(c.Name), "± "+figure.Plain(one, figure.RiskDigits)+" -> "+figure.Plain(all, figure.RiskDigits), meaning)
	}
	if l := a.Linkage; l != nil {
		t.row("found by linkage", number(l.Single.ExpectedCorrect)+" -> "+number(l.Averaged.ExpectedCorrect), "respondents, by this release and by the means")
	}
	t.line("")
}

func (t *table) inversion() {
	v := t.r.Inversion
	t.title("Known masks computed back")
	if v.Passed {
		t.wrapped("  ", "32", "✓ Nothing is computed back from the list of masks and what is published.")
	} else {
		t.wrapped("  ", "31", "✗ "+figure.Count(t.r.recovered())+" values are computed back. The release rests on the draws of its masks alone; what is "+
			"deterministic in them is undone.")
	}
	for _, c := range v.Columns {
		if c.Passed {
			t.row(figure.Printable(c.Name), "0 of "+figure.Count(int64(c.Records)), "known to within half a grid step")
			continue
		}
		t.row(figure.Printable(c.Name), figure.Count(int64(c.Recovered))+" of "+figure.Count(int64(c.Records)), inverted(&c))
	}
	t.line("")
}

// inverted says how most of a column was recovered.
func inverted(c *inversion.ColumnResult) string {
	s := "by " + strings.ReplaceAll(string(c.By), "_", " ")
	for _, i := range c.Inversions {
		if i.Kind == c.By && i.Mask != "" {
			s += " (" + figure.Printable(i.Mask) + ")"
			break
		}
	}
	return s + "; guessing the most frequent value finds " + share(c.Guess)
}

// shownColumns is how many columns' distances a terminal gets.
const shownColumns = 12

func (t *table) utility() {
	u := t.r.Utility
	t.title("Utility: what it costs")
	t.row("change per cell (IL1s)", figure.Plain(u.IL1sPerCell, figure.Digits), "mean difference of a value in √2 SDs of its column; the sum is "+
		figure.Plain(u.IL1s, figure.Digits))
	if u.Eigen != nil {
		t.row("eigenvalues", figure.Plain(*u.Eigen, figure.Digits), "sum of the relative changes of those of the correlation matrix")
	}
	if u.PMSE != nil {
		t.row("pMSE", figure.Plain(*u.PMSE, figure.Digits), "0 where release and original cannot be told apart, 0.25 where they can for certain")
	}
	for i, c := range u.Columns {
		if i == shownColumns {
			t.wrapped("  ", "", "and "+figure.Count(int64(len(u.Columns)-i))+" columns more.")
			break
		}
		ks, ok := u.KS[c.Name]
		if !ok {
			continue
		}
		t.row("KS of "+figure.Printable(c.Name), figure.Plain(ks, figure.RiskDigits), "greatest difference of the distribution functions; mass moves by "+
			figure.Plain(u.Wasserstein[c.Name], figure.RiskDigits)+" on average")
	}
	for _, o := range u.Regressions {
		t.row("regression of "+figure.Printable(o.Response), figure.Percent(o.Mean), "overlap of the confidence intervals, mean over the coefficients")
	}
	t.line("")
}
