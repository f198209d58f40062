package attack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

func (t *table) linkage() {
	l := t.r.Linkage
	t.title("Linkage by " + l.Distance.String() + " distance")
	t.row("found", number(l.ExpectedCorrect)+" of "+figure.Count(int64(t.r.Targets)),
		"whose nearest record is their own; ties share the credit")
	t.row("share", share(l.CorrectShare), "who guesses blindly finds "+share(1/float64(t.r.measured())))
	if l.OneToOneCorrect != nil {
		t.row("one to one", number(*l.OneToOneCorrect), "are found where all are linked at once: the worst case")
	}
	if len(l.Constant) > 0 {
		known := slices.Concat(t.r.Keys, t.r.Categorical)
		var constant []string
		for _, j := range l.Constant {
			constant = append(constant, known[j])
		}
		t.Wrapped("  ", "", "Left out, since no two records differ in it: "+names(constant)+".")
	}
	t.Line("")
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
	t.row("correct links", number(b.Correct), fmt.Sprintf("of %s links made, where the posterior exceeds %s",
		figure.Count(int64(b.Links)), number(b.Threshold)))
	t.row("expected by himself", number(b.ExpectedCorrect), "correct links, if his model is true")
	if b.Correct > 0 {
		t.row("posterior of these", figure.Plain(b.PosteriorOfCorrect.Mean, figure.RiskDigits), "mean, 1 being certainty; SD "+
			figure.Plain(b.PosteriorOfCorrect.SD, figure.RiskDigits))
	}
	ten := 0.0
	for _, k := range b.Rank[:10] {
		ten += k
	}
	t.row("own record first", number(b.Rank[0]), "of "+figure.Count(int64(b.WithRecord))+" respondents")
	t.row("among the ten first", number(ten), "of his ten candidates one is the right one")
	if b.Population > b.Records {
		t.row("not in the release", number(b.Outside), "expected, in a population of "+figure.Count(int64(b.Population)))
	}
	t.worst()
	t.Line("")
}

// shownWorst is how many places a terminal gets.
const shownWorst = 5

// worst names the records that are found most easily, by place.
func (t *table) worst() {
	var places []string
	for _, w := range t.r.Bayes.Worst {
		if len(places) == shownWorst || w.Rank > 1 {
			break
		}
		places = append(places, figure.Count(int64(w.Record)))
	}
	if len(places) > 0 {
		t.Wrapped("  ", "", "Found most easily: records "+strings.Join(places, "; ")+" (from 0).")
	}
}

func (t *table) uniqueness() {
	u := t.r.Uniqueness
	t.title("Uniqueness on " + names(u.Keys))
	of := "of " + figure.Count(int64(u.Records))
	if t.r.Sampled > 0 {
		of += " in the sample"
		t.Wrapped("  ", "", "Counted within the sample: records that are unique there may share their keys with others of the release, and who was not drawn is not seen.")
	}
	t.row("k", number(u.MinFrequency), "records at least share each combination of keys")
	for _, k := range slices.Sorted(maps.Keys(u.Violations)) {
		t.row("below "+strconv.Itoa(k), figure.Count(int64(u.Violations[k])), violation(k, of))
	}
	t.row("greatest risk", figure.Plain(u.MaxIndividualRisk, figure.RiskDigits), "probability that a record is found by its keys")
	t.row("expected to be found", figure.Plain(u.ExpectedReidentifications, figure.Digits), "respondents, the sum of the individual risks")
	if h := u.Household; h != nil {
		t.row("with their households", figure.Plain(h.ExpectedReidentifications, figure.Digits), "someone of their household is found")
		t.row("greatest household risk", figure.Plain(h.MaxRisk, figure.RiskDigits), "probability that someone in it is found")
	}
	if s := u.SUDA2; s != nil {
		t.row("greatest SUDA2 score", figure.Plain(s.Max, figure.Digits), "0 where none is unique; mean "+
			figure.Plain(s.Mean, figure.RiskDigits))
	}
	for _, name := range slices.Sorted(maps.Keys(u.LDiversity)) {
		d := u.LDiversity[name]
		t.row("l of "+figure.Printable(name), figure.Count(int64(d.DistinctMin)), "values at least among equal keys, effectively "+figure.Plain(d.EntropyMin, figure.RiskDigits))
	}
	t.combinations()
	t.Line("")
}

func violation(k int, of string) string {
	if k == 2 {
		return "records are unique, " + of
	}
	return "records share their keys with fewer than " + strconv.Itoa(k-1) + " others"
}

// shownCombinations is how many combinations of keys a terminal gets.
const shownCombinations = 3

// combinations names the smallest sets of keys that make most uniques.
func (t *table) combinations() {
	list := slices.Clone(t.r.Uniqueness.Combinations)
	list = slices.DeleteFunc(list, func(c uniqueness.Combination) bool { return c.Uniques == 0 || len(c.Keys) == len(t.r.Uniqueness.Keys) })
	slices.SortStableFunc(list, func(a, b uniqueness.Combination) int { return b.Uniques - a.Uniques })
	for _, c := range list[:min(len(list), shownCombinations)] {
		t.Wrapped("  ", "", names(c.Keys)+" alone make unique: "+figure.Count(int64(c.Uniques))+".")
	}
}

func (t *table) interval() {
	t.title("Interval disclosure")
	most := 0.0
	for _, width := range slices.SortedFunc(maps.Keys(t.r.Interval), byValue) {
		v := t.r.Interval[width]
		most = max(most, v)
		t.row("within "+width+" SD", figure.Percent(v), "of the records; in SDs of the original "+figure.Percent(t.r.IntervalSound[width]))
	}
	const blind = "It counts a record only where all numeric columns lie within the interval, so it falls with each further column, which whoever links is helped by."
	switch l := t.r.Linkage; {
	case l != nil && l.CorrectShare > most:
		t.Wrapped("  ", "1", "Not to be relied on here: linkage finds "+figure.Percent(l.CorrectShare)+" of the respondents.")
		t.Wrapped("  ", "", blind)
	case l == nil:
		t.Wrapped("  ", "", "It says nothing of whether respondents are found; linkage, which does, was not asked for. "+blind)
	}
	t.Line("")
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
		meaning := "error of one and of the mean; of endless ones ± " + figure.Plain(math.Sqrt(float64(c.Limit)), figure.RiskDigits)
		switch {
		case c.Compared == 0:
			meaning = "no record has a value in the original and in all releases"
		case c.Equal:
			meaning = "nothing more: all releases have the same values"
		}
		t.row(figure.Printable(c.Name), "± "+figure.Plain(one, figure.RiskDigits)+" -> "+figure.Plain(all, figure.RiskDigits), meaning)
	}
	if l := a.Linkage; l != nil {
		t.row("found by linkage", number(l.Single.ExpectedCorrect)+" -> "+number(l.Averaged.ExpectedCorrect), "respondents, by one release and by the means")
	}
	t.Line("")
}

func (t *table) inversion() {
	v := t.r.Inversion
	t.title("Computed back by whoever knows the masks")
	if v.Passed {
		t.Wrapped("  ", "32", "✓ Nothing is computed back from the list of masks and what is published.")
	} else {
		t.Wrapped("  ", "31", "✗ "+figure.Count(t.r.recovered())+" values are computed back. The release rests on the draws of its masks alone; what is "+
			"deterministic in them is undone.")
	}
	for _, c := range v.Columns {
		if c.Passed {
			t.row(figure.Printable(c.Name), "0 of "+figure.Count(int64(c.Records)), "values are known to within half a grid step")
			continue
		}
		t.row(figure.Printable(c.Name), figure.Count(int64(c.Recovered))+" of "+figure.Count(int64(c.Records)), inverted(&c))
	}
	t.Line("")
}

// inverted says how most of a column was recovered.
func inverted(c *inversion.ColumnResult) string {
	return undone(c) + "; guessing finds " + share(c.Guess)
}

// undone names the inversion that recovered the most, and the mask that it undoes.
func undone(c *inversion.ColumnResult) string {
	s := "by " + strings.ReplaceAll(string(c.By), "_", " ")
	for _, i := range c.Inversions {
		if i.Kind == c.By && i.Mask != "" {
			s += " (" + figure.Printable(i.Mask) + ")"
			break
		}
	}
	return s
}

// shownColumns is how many columns' distances a terminal gets.
const shownColumns = 12

func (t *table) utility() {
	u := t.r.Utility
	t.title("Utility: what it costs")
	t.row("change per cell (IL1s)", figure.Plain(u.IL1sPerCell, figure.Digits), "mean change in √2 SDs of the column; sum "+
		figure.Plain(u.IL1s, figure.Digits))
	if u.Eigen != nil {
		t.row("eigenvalues", figure.Plain(*u.Eigen, figure.Digits), "of the correlations: sum of relative changes")
	}
	if u.PMSE != nil {
		t.row("pMSE", figure.Plain(*u.PMSE, figure.Digits), "0: release and original look alike, 0.25: they do not")
	}
	for i, c := range u.Columns {
		if i == shownColumns {
			t.Wrapped("  ", "", "and "+figure.Count(int64(len(u.Columns)-i))+" columns more.")
			break
		}
		ks, ok := u.KS[c.Name]
		if !ok {
			continue
		}
		t.row("KS of "+figure.Printable(c.Name), figure.Plain(ks, figure.RiskDigits), "of the distributions, 0 to 1; mass moves by "+
			figure.Plain(u.Wasserstein[c.Name], figure.RiskDigits))
	}
	for _, o := range u.Regressions {
		t.row("regression of "+figure.Printable(o.Response), figure.Percent(o.Mean), "mean overlap of the confidence intervals")
	}
	t.Line("")
}
