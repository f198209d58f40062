package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

//go:embed attack.html.tmpl
var attackTemplate string

//go:embed attack.css
var attackCSS string

// attackPath is the place of the attack in the report's JSON.
const attackPath = "/attack"

// attackView is everything that the page shows of an attack. Parts that were not
// asked for are nil.
type attackView struct {
	Headline  string
	Lines     []string
	Basis     string
	Sampled   string
	Linkage   []labelled
	Distance  string
	Bayes     *bayesView
	Unique    *uniqueView
	Interval  *intervalView
	Inversion *inversionView
	Averaging *averagingView
	Cost      *costView
}

type bayesView struct {
	About                 []string
	Tiles                 []labelled
	RanksWide, RanksSlim  template.HTML
	CurveWide, CurveSlim  template.HTML
	Ranks, Curve, Easiest [][]cell // rows; the first cell is the row's heading
}

type uniqueView struct {
	Keys         string
	Tiles        []labelled
	Violations   []uniqueRow
	Diversity    []uniqueRow
	Sizes        []uniqueRow
	Contribution []uniqueRow
	Combinations []uniqueRow
	Left         int64 // combinations that the table leaves to the JSON report
}

type uniqueRow struct {
	Name  string
	Cells []cell
}

type intervalView struct {
	Rows    []uniqueRow
	Compare string // how blind it is here
}

type inversionView struct {
	Rows []inversionRow
	All  []inversionTried
}

type inversionRow struct {
	Name   string
	Passed bool
	By     string
	Cells  []cell
}

type inversionTried struct {
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
	Equal                 bool
}

func amountCell(path string, v float64) cell { return shown(path, assess.Float(v), amount(v)) }
func shareCell(path string, v float64) cell  { return shown(path, assess.Float(v), share(v)) }

// riskCell is a probability, or another number without a natural scale.
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

func viewAttack(a *attack.Result) *attackView {
	if a == nil {
		return nil
	}
	lines := findings(a)
	v := &attackView{Headline: lines[0], Lines: lines[1:], Basis: capital(sought(a)) + "."}
	if a.Sampled > 0 {
		v.Sampled = "The intruder of a sample seeks among its records only: in the whole release, linkage and posterior find at most that share. Frequencies are the sample’s own, by which more records stand out."
	}
	if l := a.Linkage; l != nil {
		path := attackPath + "/linkage"
		v.Distance = distanceWords(l.Distance)
		v.Linkage = []labelled{
			{"found by the nearest record", amountCell(path+"/expected_correct", l.ExpectedCorrect), "of " + plural(int64(a.Targets), "respondent", "respondents") + " sought, " + v.Distance},
			{"share found", shareCell(path+"/correct_share", l.CorrectShare), "of those sought"},
		}
		if l.OneToOneCorrect != nil {
			v.Linkage = append(v.Linkage, labelled{"found one to one", amountCell(path+"/one_to_one_correct", *l.OneToOneCorrect),
				"the worst case: every target is given a record of its own, at the least total distance"})
		}
		v.Linkage = append(v.Linkage, labelled{"found by guessing", cell{Text: amount(guessed(a))}, "by picking a record at random"})
	}
	if a.Bayes != nil {
		v.Bayes = viewBayes(a)
	}
	if a.Uniqueness != nil {
		v.Unique = viewUniqueness(a.Uniqueness)
	}
	v.Interval = viewInterval(a)
	if a.Inversion != nil {
		v.Inversion = viewInversion(a.Inversion)
	}
	if a.Averaging != nil {
		v.Averaging = viewAveraging(a)
	}
	if a.Utility != nil {
		v.Cost = viewCost(a.Utility)
	}
	return v
}

func distanceWords(d linkage.Distance) string {
	switch d {
	case linkage.Standardised:
		return "by distance in SDs"
	case linkage.Mahalanobis:
		return "by Mahalanobis’ distance"
	case linkage.Gower:
		return "by Gower’s distance"
	case linkage.Ranks:
		return "by distance of ranks"
	}
	return "by " + d.String() + " distance"
}

// capital writes words with a capital at their head.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if first == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

func viewBayes(a *attack.Result) *bayesView {
	b := a.Bayes
	path := attackPath + "/bayes"
	v := &bayesView{About: aboutBayes(b)}
	v.Tiles = []labelled{
		{"links made", whole(path+"/links", int64(b.Links)), "where the likeliest record’s posterior exceeds t = " + trimmed(b.Threshold)},
		{"of these right", amountCell(path+"/correct", b.Correct), ""},
		{"right by his reckoning", amountCell(path+"/expected_correct", b.ExpectedCorrect), "the sum of his links’ posteriors; it agrees where his model is true"},
		{"posterior of a right link", riskCell(path+"/posterior_of_correct/mean", b.PosteriorOfCorrect.Mean), "mean; SD " + pretty(b.PosteriorOfCorrect.SD, 2)},
	}
	if b.Links > 0 {
		v.Tiles[1].Note = share(b.Correct/float64(b.Links)) + " of the links"
	}
	if b.Outside > 0 {
		v.Tiles = append(v.Tiles, labelled{"thought to be outside", amountCell(path+"/expected_outside", b.Outside),
			"of the release, in a population of " + count(int64(b.Population))})
	}
	var bars []figure.RankBar
	for i, n := range b.Rank {
		bar := figure.RankBar{Rank: strconv.Itoa(i + 1), Targets: n}
		if i == len(b.Rank)-1 {
			bar.Rank = "beyond"
		}
		if b.WithRecord > 0 {
			bar.Share = n / float64(b.WithRecord)
		}
		if i < len(b.Ranks) && n > 0 {
			bar.Note = "mean posterior " + pretty(b.Ranks[i].Posterior.Mean, riskDigits)
		}
		bars = append(bars, bar)
	}
	v.RanksWide = template.HTML(figure.RanksSVG(bars, figure.SVGOptions{Width: 540}))
	v.RanksSlim = template.HTML(figure.RanksSVG(bars, figure.SVGOptions{Width: 328}))
	curve := linkCurve(b)
	v.CurveWide = template.HTML(figure.PrecisionRecallSVG(curve, figure.SVGOptions{Width: 540, Height: 332}))
	v.CurveSlim = template.HTML(figure.PrecisionRecallSVG(curve, figure.SVGOptions{Width: 328, Height: 300}))
	for i, r := range b.Ranks {
		at := path + "/ranks/" + strconv.Itoa(i)
		v.Ranks = append(v.Ranks, []cell{{Text: r.Rank}, amountCell(at+"/number", r.Number), amountCell(at+"/cumulative", r.Cumulative),
			riskCell(at+"/posterior/mean", r.Posterior.Mean), riskCell(at+"/posterior/sd", r.Posterior.SD), riskCell(at+"/top_ten/mean", r.TopTen.Mean)})
	}
	for i, p := range b.Curve {
		at := path + "/curve/" + strconv.Itoa(i)
		v.Curve = append(v.Curve, []cell{exactCell(at+"/threshold", p.Threshold), whole(at+"/links", int64(p.Links)),
			amountCell(at+"/correct", p.Correct), amountCell(at+"/expected_correct", p.Expected), shareCell(at+"/precision", p.Precision), shareCell(at+"/recall", p.Recall)})
	}
	for i, w := range b.Worst {
		at := path + "/worst/" + strconv.Itoa(i)
		v.Easiest = append(v.Easiest, []cell{shown(at+"/record", assess.Float(w.Record), strconv.Itoa(w.Record)), exactCell(at+"/rank", w.Rank), riskCell(at+"/posterior", w.Posterior)})
	}
	return v
}

func aboutBayes(b *intruder.Result) []string {
	var about []string
	switch b.Knowledge {
	case "d.1":
		about = append(about, "The intruder knows the SDs of bias and noise of every key (d.1).")
	case "d.2":
		about = append(about, "The intruder has prior distributions of the SDs of bias and noise (d.2).")
	}
	switch b.Model {
	case intruder.BiasNoise:
		about = append(about, "His own values are exact and the release is biased and noisy: Trottini, Fienberg, Makov and Meyer (2004).")
	case intruder.InexactTarget:
		about = append(about, "His own values are biased and noisy: Fienberg, Makov and Sanil (1997).")
	}
	if q := b.Quadrature; q != nil {
		about = append(about, "His posteriors are integrated to a relative error of at most "+pretty(q.PosteriorError, 2)+".")
	}
	if l := b.Learned; l != nil {
		s := "He has learned bias and noise from " + plural(int64(l.Units), "further unit", "further units") + " whose records he does not know"
		if !l.Converged {
			s += "; the estimates had not settled after " + plural(int64(l.Iterations), "iteration", "iterations")
		}
		about = append(about, s+".")
	}
	return about
}

func linkCurve(b *intruder.Result) figure.LinkCurve {
	c := figure.LinkCurve{Linked: b.Links > 0 && b.WithRecord > 0}
	for _, p := range b.Curve {
		c.Points = append(c.Points, figure.LinkPoint{Threshold: p.Threshold, Precision: p.Precision, Recall: p.Recall, Correct: p.Correct, Links: p.Links})
	}
	if c.Linked {
		c.Chosen = figure.LinkPoint{Threshold: b.Threshold, Precision: b.Correct / float64(b.Links), Recall: b.Correct / float64(b.WithRecord),
			Correct: b.Correct, Links: b.Links}
	}
	return c
}

// mostCombinations bounds the rows of the table of uniques.
const mostCombinations = 60

func viewUniqueness(u *uniqueness.Result) *uniqueView {
	path := attackPath + "/uniqueness"
	v := &uniqueView{Keys: names(u.Keys)}
	of := func(n int) cell {
		if u.Records <= 0 {
			return cell{Text: "–"}
		}
		return cell{Text: share(float64(n) / float64(u.Records))}
	}
	v.Tiles = []labelled{
		{"k", amountCell(path+"/min_k", u.MinFrequency), "fewest records that share a combination of the keys"},
		{"records alone", whole(path+"/sample_uniques", int64(u.SampleUniques)), of(u.SampleUniques).Text + " of " + count(int64(u.Records))},
		{"greatest individual risk", riskCell(path+"/max_individual_risk", u.MaxIndividualRisk), "E(1/F | f), " + u.Estimator},
		{"re-identifications expected", amountCell(path+"/expected_reidentifications", u.ExpectedReidentifications), "sum of the individual risks"},
	}
	if h := u.Household; h != nil {
		v.Tiles = append(v.Tiles,
			labelled{"greatest household risk", riskCell(path+"/household/max_risk", h.MaxRisk), "that some member is found"},
			labelled{"by households", amountCell(path+"/household/expected_reidentifications", h.ExpectedReidentifications), "respondents expected to be found or to live with one who is"})
	}
	if s := u.SUDA2; s != nil {
		v.Tiles = append(v.Tiles,
			labelled{"greatest SUDA2 score", riskCell(path+"/suda2/max", s.Max), "DIS " + pretty(s.DISMax, riskDigits)},
			labelled{"mean SUDA2 score", riskCell(path+"/suda2/mean", s.Mean), "DIS " + pretty(s.DISMean, riskDigits)})
		for i, n := range s.Sizes {
			v.Sizes = append(v.Sizes, uniqueRow{strconv.Itoa(i + 1), []cell{whole(fmt.Sprintf("%s/suda2/msus_by_size/%d", path, i), n)}})
		}
		for _, name := range slices.Sorted(maps.Keys(s.Contribution)) {
			v.Contribution = append(v.Contribution, uniqueRow{name, []cell{shareCell(below(path+"/suda2/contribution", name), s.Contribution[name])}})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(u.Violations)) {
		at := below(path+"/violations", strconv.Itoa(k))
		v.Violations = append(v.Violations, uniqueRow{count(int64(k)), []cell{whole(at, int64(u.Violations[k])), of(u.Violations[k])}})
	}
	diversity := func(at, name string, d uniqueness.Diversity) {
		v.Diversity = append(v.Diversity, uniqueRow{name, []cell{whole(at+"/distinct_min", int64(d.DistinctMin)),
			riskCell(at+"/entropy_min", d.EntropyMin), whole(at+"/recursive_min", int64(d.RecursiveMin))}})
	}
	for _, name := range slices.Sorted(maps.Keys(u.LDiversity)) {
		diversity(below(path+"/l_diversity", name), name, u.LDiversity[name])
	}
	if d := u.LDiversityMulti; d != nil {
		diversity(path+"/l_diversity_multi", "all together", *d)
	}
	order := make([]int, len(u.Combinations))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return u.Combinations[j].Uniques - u.Combinations[i].Uniques })
	for _, i := range order[:min(len(order), mostCombinations)] {
		c := u.Combinations[i]
		v.Combinations = append(v.Combinations, uniqueRow{strings.Join(c.Keys, " × "), []cell{{Text: strconv.Itoa(len(c.Keys))},
			whole(fmt.Sprintf("%s/combinations/%d/uniques", path, i), int64(c.Uniques)), of(c.Uniques)}})
	}
	v.Left = int64(len(order) - len(v.Combinations))
	return v
}

func viewInterval(a *attack.Result) *intervalView {
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
				c = shareCell(below(attackPath, side.name, w), x)
				least = math.Min(least, x)
			}
			row.Cells = append(row.Cells, c)
		}
		v.Rows = append(v.Rows, row)
	}
	if f, ok := found(a); ok && f.share() > least {
		v.Compare = fmt.Sprintf("So it is here: it goes down to %s, and %s of the respondents sought are found.", share(least), share(f.share()))
	}
	return v
}

func viewInversion(r *inversion.Result) *inversionView {
	v := &inversionView{}
	for i, c := range r.Columns {
		at := fmt.Sprintf("%s/inversion/columns/%d", attackPath, i)
		row := inversionRow{Name: c.Name, Passed: c.Passed, By: "–", Cells: []cell{whole(at+"/recovered", int64(c.Recovered)),
			shareCell(at+"/share", c.Share), shareCell(at+"/beyond_guess", c.BeyondGuess)}}
		if c.By != "" {
			row.By = inversionWords(c.By)
		}
		v.Rows = append(v.Rows, row)
		for k, n := range c.Inversions {
			at := fmt.Sprintf("%s/inversions/%d", at, k)
			v.All = append(v.All, inversionTried{Column: c.Name, Words: inversionWords(n.Kind), Mask: n.Mask, Fails: n.Fails,
				Cells: []cell{whole(at+"/claims", int64(n.Claims)), whole(at+"/recovered", int64(n.Recovered)), shareCell(at+"/chance", n.Chance)}})
		}
	}
	return v
}

func viewAveraging(a *attack.Result) *averagingView {
	v := &averagingView{Releases: plural(int64(a.Averaging.Releases), "release", "releases")}
	for i, c := range a.Averaging.Columns {
		row := averagingRow{Name: c.Name, Equal: c.Equal, KnownBy1: "–", KnownByMean: "–"}
		at := fmt.Sprintf("%s/averaging/columns/%d", attackPath, i)
		row.Cells = []cell{whole(at+"/compared", int64(c.Compared)), {Text: "–"}, {Text: "–"}}
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
		v.Linkage = fmt.Sprintf("Linked to the means, %s found; linked to this release alone, %s.", isAre(l.Averaged.ExpectedCorrect), isAre(l.Single.ExpectedCorrect))
	}
	return v
}
