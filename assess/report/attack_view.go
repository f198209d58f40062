package report

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
)

//go:embed attack.html.tmpl
var attackTemplate string

//go:embed attack.css
var attackCSS string

// attackPath is the place of the attack in the JSON of a report; in the JSON of an attack
// without a run it is the root.
const attackPath = "/attack"

// attackView is everything that the page shows of an attack. Parts that were not
// requested are nil.
type attackView struct {
	Headline   string
	Lines      []string
	Basis      string
	Sampled    string
	Linkage    *linkageView
	Bayes      *bayesView
	Unique     *uniqueView
	Population *populationView
	Interval   *intervalView
	Inversion  *inversionView
	Averaging  *averagingView
	Cost       *costView

	Categories *categoriesView
	Attribute  *attributeView
	Referee    *refereeView
	Models     []regressionView
}

type intervalView struct {
	Rows    []uniqueRow
	Compare string // a comparison with the linkage, if the intervals look safer than the release is
}

type inversionView struct {
	Rows []inversionRow
	All  []inversionAttempt
}

type inversionRow struct {
	Name   string
	Passed bool
	By     string
	Cells  []cell
}

type inversionAttempt struct {
	Column, Words, Mask string
	Fails               bool
	Cells               []cell
}

type averagingView struct {
	Releases string
	Rows     []averagingRow
	Linkage  string
}

type averagingRow struct {
	Name                  string
	Cells                 []cell
	KnownBy1, KnownByMean string
	Words                 string
}

func amountCell(path string, v float64) cell { return shown(path, assess.Float(v), amount(v)) }
func shareCell(path string, v float64) cell  { return shown(path, assess.Float(v), share(v)) }

// riskCell returns the cell of a probability, or of another number without a natural scale.
func riskCell(path string, v float64) cell {
	return shown(path, assess.Float(v), pretty(v, riskDigits))
}

func exactCell(path string, v float64) cell { return shown(path, assess.Float(v), trimmed(v)) }

func optionalCell(path string, v *float64) cell {
	if v == nil {
		return cell{Text: "–"}
	}
	return riskCell(path, *v)
}

func viewAttack(a *attack.Result, at string) *attackView {
	if a == nil {
		return nil
	}
	lines := findings(a)
	v := &attackView{Headline: lines[0], Lines: lines[1:], Basis: capital(targetsText(a)) + "."}
	if a.Sampled > 0 {
		v.Sampled =
			"The intruder of a sample seeks among its records only: in the whole release, linkage and posterior find at most that share. Frequencies are the sample’s own, by which more records stand out; how much one record does that is not among them it does not tell."
	}
	if a.Linkage != nil {
		v.Linkage = viewLinkage(a, at+"/linkage")
	}
	if a.Bayes != nil {
		v.Bayes = viewBayes(a.Bayes, at+"/bayes")
	}
	if a.Uniqueness != nil {
		v.Unique = viewUniqueness(a.Uniqueness, at+"/uniqueness")
	}
	v.Population = viewPopulation(a, at+"/population")
	v.Interval = viewInterval(a, at)
	if a.Inversion != nil {
		v.Inversion = viewInversion(a.Inversion, at+"/inversion")
	}
	if a.Averaging != nil {
		v.Averaging = viewAveraging(a, at+"/averaging")
	}
	if a.Utility != nil {
		v.Cost = viewCost(a.Utility, at+"/utility")
	}
	if a.Attribute != nil {
		v.Attribute = viewAttribute(a.Attribute, a.Sampled > 0, at+"/attribute")
	}
	if a.Referee != nil && a.Referee.Framework != nil {
		v.Referee = viewReferee(a.Referee, at+"/referee")
	}
	for i, m := range a.Models {
		v.Models = append(v.Models, viewRegression(fmt.Sprintf("%s/models/%d", at, i), m))
	}
	v.Categories = viewCategories(a.Categories, a.Replicated, at+"/categories")
	return v
}

// capital returns words with a capital first letter.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if first == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

func viewInterval(a *attack.Result, at string) *intervalView {
	if a.Interval == nil && a.IntervalSound == nil {
		return nil
	}
	v := &intervalView{}
	widths := slices.Collect(maps.Keys(a.Interval))
	for w := range a.IntervalSound {
		if _, both := a.Interval[w]; !both {
			widths = append(widths, w)
		}
	}
	slices.SortFunc(widths, func(x, y string) int {
		a, errA := strconv.ParseFloat(x, 64)
		b, errB := strconv.ParseFloat(y, 64)
		switch {
		case errA == nil && errB == nil && a < b, errA == nil && errB != nil:
			return -1
		case errA == nil && errB == nil && a > b, errA != nil && errB == nil:
			return 1
		}
		return strings.Compare(x, y)
	})
	least := math.Inf(1)
	for _, w := range widths {
		row := uniqueRow{Name: w}
		for _, side := range []struct {
			name   string
			shares map[string]float64
		}{{"interval", a.Interval}, {"interval_sound", a.IntervalSound}} {
			c := cell{Text: "–"}
			if x, ok := side.shares[w]; ok {
				c = shareCell(below(at, side.name, w), x)
				least = math.Min(least, x)
			}
			row.Cells = append(row.Cells, c)
		}
		v.Rows = append(v.Rows, row)
	}
	if f, ok := worstFinding(a); ok && f.share() > least {
		v.Compare = fmt.Sprintf("So it is here: it goes down to %s, and %s of the respondents sought are found.",
			share(least), share(f.share()))
	}
	return v
}

func viewInversion(r *inversion.Result, path string) *inversionView {
	v := &inversionView{}
	for i, c := range r.Columns {
		at := fmt.Sprintf("%s/columns/%d", path, i)
		row := inversionRow{Name: c.Name, Passed: c.Passed, By: "–", Cells: []cell{whole(at+"/recovered", int64(c.Recovered)),
			shareCell(at+"/share", c.Share), shareCell(at+"/beyond_guess", c.BeyondGuess), {Text: "–"}}}
		if len(c.Exact) > 0 {
			row.Cells[3] = shareCell(at+"/exact/0/found", c.Exact[0].Found)
			row.Cells[3].Text += " within " + pretty(c.Exact[0].Within, riskDigits)
		}
		if c.By != "" {
			row.By = inversionWords(c.By)
		}
		v.Rows = append(v.Rows, row)
		for k, n := range c.Inversions {
			at := fmt.Sprintf("%s/inversions/%d", at, k)
			v.All = append(v.All, inversionAttempt{Column: c.Name, Words: inversionWords(n.Kind), Mask: n.Mask, Fails: n.Fails,
				Cells: []cell{whole(at+"/claims", int64(n.Claims)), whole(at+"/recovered", int64(n.Recovered)),
					shareCell(at+"/chance", n.Chance)}})
		}
	}
	return v
}

func viewAveraging(a *attack.Result, path string) *averagingView {
	v := &averagingView{Releases: plural(int64(a.Averaging.Releases), "release", "releases")}
	for i, c := range a.Averaging.Columns {
		row := averagingRow{Name: c.Name, KnownBy1: "–", KnownByMean: "–"}
		at := fmt.Sprintf("%s/columns/%d", path, i)
		row.Cells = []cell{whole(at+"/compared", int64(c.Compared)), {Text: "–"}, {Text: "–"}}
		row.Words = averagingWords(c)
		if n := len(c.R); n > 0 {
			row.Cells[1] = shown(at+"/R/0", c.R[0], pretty(float64(c.R[0]), riskDigits))
			row.Cells[2] = shown(fmt.Sprintf("%s/R/%d", at, n-1), c.R[n-1], pretty(float64(c.R[n-1]), riskDigits))
		}
		if n := len(c.MSE); n > 0 {
			row.KnownBy1 = "± " + pretty(math.Sqrt(float64(c.MSE[0])), riskDigits)
			row.KnownByMean = "± " + pretty(math.Sqrt(float64(c.MSE[n-1])), riskDigits)
		}
		v.Rows = append(v.Rows, row)
	}
	if l := a.Averaging.Linkage; l != nil && l.Single != nil && l.Averaged != nil {
		v.Linkage = fmt.Sprintf("Linked to the means, %s found; linked to this release alone, %s.",
			isAre(l.Averaged.ExpectedCorrect), isAre(l.Single.ExpectedCorrect))
	}
	return v
}

// averagingWords describes what further releases would disclose about a column.
func averagingWords(c attack.AveragedColumn) string {
	switch {
	case c.Compared == 0:
		return "no record has a value in the original and in every release"
	case c.Equal:
		return "nothing more: every release has the same values"
	}
	return "endless releases would leave ± " + pretty(math.Sqrt(float64(c.Limit)), riskDigits)
}
