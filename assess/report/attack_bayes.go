package report

import (
	"html/template"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
)

// bayesView shows the results of the Bayesian intruder.
type bayesView struct {
	About                 []string
	Tiles                 []labelled
	RanksWide, RanksSlim  template.HTML
	CurveWide, CurveSlim  template.HTML
	Ranks, Curve, Easiest [][]cell // rows; the first cell is the row's heading
}

func viewBayes(b *intruder.Result, path string) *bayesView {
	v := &bayesView{About: aboutBayes(b)}
	v.Tiles = []labelled{
		{"links made", whole(path+"/links", int64(b.Links)),
			"where the likeliest record’s posterior exceeds t = " + trimmed(b.Threshold)},
		{"of these right", amountCell(path+"/correct", b.Correct), ""},
		{"right by his reckoning", amountCell(path+"/expected_correct", b.ExpectedCorrect),
			"the sum of his links’ posteriors; it agrees where his model is true"},
		{"posterior of a right link", riskCell(path+"/posterior_of_correct/mean", b.PosteriorOfCorrect.Mean),
			"mean; SD " + pretty(b.PosteriorOfCorrect.SD, 2)},
	}
	if b.Links > 0 {
		v.Tiles[1].Note = share(b.Correct/float64(b.Links)) + " of the links"
	}
	if j := b.Jointly; j != nil {
		v.Tiles = append(v.Tiles,
			labelled{"right if matched jointly", amountCell(path+"/jointly/correct", j.Correct),
				"each target with a record of its own"})
	}
	if b.Outside > 0 {
		v.Tiles = append(v.Tiles, labelled{"thought to be outside", amountCell(path+"/expected_outside", b.Outside),
			"of the release, in a population of " + count(int64(b.Population))})
	}
	v.drawRanks(b)
	curve := linkCurve(b)
	v.CurveWide = template.HTML(figure.PrecisionRecallSVG(curve, figure.SVGOptions{Width: 540, Height: 332}))
	v.CurveSlim = template.HTML(figure.PrecisionRecallSVG(curve, figure.SVGOptions{Width: 328, Height: 300}))
	v.tables(b, path)
	return v
}

// drawRanks draws the ranks of the true records.
func (v *bayesView) drawRanks(b *intruder.Result) {
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
}

// tables fills the tables with the numbers of the two pictures, and the records that are easiest
// to find.
func (v *bayesView) tables(b *intruder.Result, path string) {
	for i, r := range b.Ranks {
		at := path + "/ranks/" + strconv.Itoa(i)
		v.Ranks = append(v.Ranks,
			[]cell{{Text: r.Rank}, amountCell(at+"/number", r.Number), amountCell(at+"/cumulative", r.Cumulative),
				riskCell(at+"/posterior/mean", r.Posterior.Mean), riskCell(at+"/posterior/sd", r.Posterior.SD),
				riskCell(at+"/top_ten/mean", r.TopTen.Mean)})
	}
	for i, p := range b.Curve {
		at := path + "/curve/" + strconv.Itoa(i)
		v.Curve = append(v.Curve, []cell{exactCell(at+"/threshold", p.Threshold), whole(at+"/links", int64(p.Links)),
			amountCell(at+"/correct", p.Correct), amountCell(at+"/expected_correct", p.Expected),
			shareCell(at+"/precision", p.Precision), shareCell(at+"/recall", p.Recall)})
	}
	for i, w := range b.Worst {
		at := path + "/worst/" + strconv.Itoa(i)
		v.Easiest = append(v.Easiest,
			[]cell{shown(at+"/record", assess.Float(w.Record), strconv.Itoa(w.Record)), exactCell(at+"/rank", w.Rank),
				riskCell(at+"/posterior", w.Posterior)})
	}
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
		about = append(about,
			"His own values are exact and the release is biased and noisy: Trottini, Fienberg, Makov and Meyer (2004).")
	case intruder.InexactTarget:
		about = append(about, "His own values are biased and noisy: Fienberg, Makov and Sanil (1997).")
	}
	if q := b.Quadrature; q != nil {
		about = append(about, "His posteriors are integrated to a relative error of at most "+pretty(q.PosteriorError, 2)+".")
	}
	if l := b.Learned; l != nil {
		s := "He has learned bias and noise from " + plural(int64(l.Units), "further unit", "further units") +
			" whose records he does not know"
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
		c.Points = append(c.Points,
			figure.LinkPoint{Threshold: p.Threshold, Precision: p.Precision, Recall: p.Recall, Correct: p.Correct,
				Links: p.Links})
	}
	if c.Linked {
		c.Chosen = figure.LinkPoint{Threshold: b.Threshold, Precision: b.Correct / float64(b.Links),
			Recall:  b.Correct / float64(b.WithRecord),
			Correct: b.Correct, Links: b.Links}
	}
	return c
}
