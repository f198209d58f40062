package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// Headline returns the verdict of the report with its main figures: whether respondents
// are found, how well their values are known, the utility of the release, and the lost
// records. Every view of a report shows it.
func (r *Report) Headline() *headline.Headline {
	v := r.verdict()
	h := &headline.Headline{Word: v.Word, Line: v.Line, Tone: v.Tone}
	h.Figures, h.Assumptions = headline.Respondents(r.subject(), v.Rules)
	h.Figures = append(h.Figures, r.columnFigures()...)
	h.Figures = append(h.Figures, r.lostFigure())
	h.Figures = append(h.Figures, unshown(v.Rules, h.Figures)...)
	return h
}

// subject returns the results of the attack about the respondents.
func (r *Report) subject() headline.Subject {
	s := subjectOf(r.Attack)
	if r.Foreign != nil {
		s.Unknown = masksUnknown
	}
	return s
}

// masksUnknown is the reason why a foreign release is not inverted.
const masksUnknown = "which masks made the release is not known"

func subjectOf(a *attack.Result) headline.Subject {
	if a == nil {
		return headline.Subject{}
	}
	return headline.Subject{Identity: a.Identity(), Population: a.Weighted}
}

// unshown returns figures for the rules that have none yet: every rule of the gate appears in the
// headline.
func unshown(rules []assess.RuleVerdict, shown []headline.Figure) (figures []headline.Figure) {
	about := map[string]bool{"max_risk": true, "min_rmse": true, "min_efficiency": true, minReleased: true}
	for _, f := range shown {
		about[f.Measure] = true
	}
	for _, rule := range rules {
		if about[rule.Measure] {
			continue
		}
		f := headline.Figure{Measure: rule.Measure, Column: rule.Column, Label: shortOf(rule), Value: rule.Found,
			Text: pretty(float64(rule.Found), digits)}
		f.Hold([]assess.RuleVerdict{rule}, "", func(assess.RuleVerdict) string {
			return f.Beside(float64(rule.Found), float64(rule.Limit), figure.Estimated(digits), figure.Estimated(digits))
		})
		figures = append(figures, f)
	}
	return figures
}

// shortOf is the short name of what a rule without a figure of its own limits.
func shortOf(rule assess.RuleVerdict) string {
	switch {
	case rule.Measure == "max_epsilon" && rule.Column != "":
		return "ε of " + rule.Column
	case rule.Measure == "max_epsilon":
		return "ε of all records of one"
	case rule.Measure == "max_metric_epsilon":
		return "ε by distance of " + rule.Column
	}
	return rule.Rule
}

// columnFigures returns three figures of the masked columns: the least error with which a target
// is known, the greatest bias and the least precision; each is that of the worst column.
func (r *Report) columnFigures() (figures []headline.Figure) {
	known, bias, precision := worstOf{by: " in its SDs"}, worstOf{by: " in its SDs"}, worstOf{}
	values := slices.ContainsFunc(r.Columns, func(c assess.ColumnMeasures) bool { return c.Masked && !c.Key })
	for i := range r.Columns {
		c := &r.Columns[i]
		if !c.Masked || c.Key && values && !r.ruled(c.Name) {
			continue
		}
		known.see(r.knownBest(c))
		bias.see(biasOf(c))
		precision.see(r.precisionOf(c))
	}
	for _, w := range []*worstOf{&known, &bias, &precision} {
		if w.columns > 0 {
			figures = append(figures, w.figure())
		}
	}
	return figures
}

// ruled reports whether a rule is about a column.
func (r *Report) ruled(column string) bool {
	return slices.ContainsFunc(r.Gate.Rules, func(v assess.RuleVerdict) bool { return v.Column == column })
}

// worstOf keeps the worst figure of several columns: one that breaks its rule, otherwise the
// most severe one.
type worstOf struct {
	by       string // the unit in which columns of different units are compared
	columns  int
	worst    headline.Figure
	severity float64
	doubtful string // a column whose figure is not known well
}

func (w *worstOf) see(f headline.Figure, severity float64) {
	if math.IsNaN(severity) {
		severity = math.Inf(1) // nothing is worse than what could not be measured
	}
	w.columns++
	if f.Tone == headline.Amber && w.doubtful == "" {
		w.doubtful = f.Column
	}
	broken, before := f.Tone == headline.Bad, w.worst.Tone == headline.Bad
	if w.columns == 1 || broken && !before || broken == before && severity > w.severity {
		w.worst, w.severity = f, severity
	}
}

// figure returns the worst figure; it mentions another column whose figure is doubtful.
func (w *worstOf) figure() headline.Figure {
	f := w.worst
	if w.columns > 1 {
		f.Note = fmt.Sprintf("%s, the worst of %d columns%s%s", f.Column, w.columns, w.by, after("; ", f.Note))
		if w.doubtful != "" && w.doubtful != f.Column {
			f.Note += "; of " + w.doubtful + " it is not known well"
			f.Tone = f.Tone.Worse(headline.Amber)
		}
	} else {
		f.Note = f.Column + after("; ", f.Note)
	}
	return f
}

// knownBest returns the figure of the target of a column that is known best, and its error in
// SDs of the original. A risk beyond a limit of the gate goes first. Knowledge of the mean is
// left out: its R is the same for every release of the data.
func (r *Report) knownBest(c *assess.ColumnMeasures) (headline.Figure, float64) {
	f := headline.Figure{Measure: "known", Column: c.Name, Label: "known best to", Value: assess.Float(math.NaN()),
		Text: "–"}
	rules := r.rulesOn(c.Name, "max_risk", "min_rmse")
	var worst *assess.Risk
	broken := false
	for i := range c.Risk {
		k := &c.Risk[i]
		breaks := r.breaks(c, k)
		if k.Knowledge == assess.KnowledgeMean && !breaks || broken && !breaks {
			continue
		}
		if worst == nil || breaks && !broken || severer(k, worst) {
			worst, broken = k, breaks
		}
	}
	if worst == nil {
		f.Hold(rules, "nothing is known of the risk", func(rule assess.RuleVerdict) string {
			return r.limitOfRisk(&f, rule, nil)
		})
		return f, math.NaN()
	}
	rmse := float64(worst.RMSE)
	f.Value, f.Text, f.Unit = worst.RMSE, "± "+pretty(rmse, riskDigits), c.Unit
	f.Note = worst.Target + " by " + worst.Knowledge
	doubt := unsure(worst.Approximate, worst.Errs)
	if math.IsNaN(rmse) {
		f.Text, doubt = "–", "it could not be computed"
	}
	f.Hold(concerning(rules, worst), doubt, func(rule assess.RuleVerdict) string { return r.limitOfRisk(&f, rule, worst) })
	return f, float64(c.Original.SD) / rmse
}

// severer reports whether risk k is greater than another; one that could not be computed is
// greater than any.
func severer(k, than *assess.Risk) bool {
	switch {
	case math.IsNaN(float64(than.RMSE)):
		return false
	case math.IsNaN(float64(k.RMSE)):
		return true
	}
	return k.RMSE < than.RMSE
}

// breaks reports whether a risk is beyond a limit of the gate, as the gate judges it.
func (r *Report) breaks(c *assess.ColumnMeasures, k *assess.Risk) bool {
	held, concerned := judged(r.Gate, c.Name, k.Target, k.Knowledge, float64(k.Upper()))
	return concerned && !held
}

// concerning returns the rules on the target and the knowledge of a risk, followed by the other
// rules about risk that do not hold, so that none of these is left out.
func concerning(rules []assess.RuleVerdict, k *assess.Risk) []assess.RuleVerdict {
	var list, others []assess.RuleVerdict
	for _, rule := range rules {
		switch {
		case rule.Covers(k.Target, k.Knowledge):
			list = append(list, rule)
		case !rule.Passed:
			others = append(others, rule)
		}
	}
	return append(list, others...)
}

// limitOfRisk returns a limit of max_risk or min_rmse as an error in the column's unit, and
// writes the figure, which shows the risk k (nil: none), with matching digits. If the rule is
// broken by the bound that the gate judges, and not by the figure itself, the figure says so.
func (r *Report) limitOfRisk(f *headline.Figure, rule assess.RuleVerdict, k *assess.Risk) string {
	limit, found, bound := float64(rule.Limit), float64(rule.Found), figure.Writing(figure.Stated)
	if rule.Measure == "max_risk" {
		limit, found, bound = 1/math.Sqrt(limit), 1/math.Sqrt(found), figure.Estimated(riskDigits)
	}
	rmse := math.NaN()
	if k != nil {
		rmse = float64(k.RMSE)
	}
	unit := unitAfter(r.unit(rule.Column))
	text := f.Beside(rmse, limit, figure.Estimated(riskDigits), bound)
	if !math.IsNaN(rmse) {
		f.Text = "± " + f.Text
		if !rule.Passed && rmse >= limit && found < limit && k.Upper() > k.R {
			judged, _ := figure.Beside(found, limit, figure.Estimated(riskDigits), bound)
			f.Add("judged at two standard errors, ± " + judged + unit)
		}
	}
	return "at least ± " + text + unit
}

func (r *Report) rulesOn(column string, measures ...string) (list []assess.RuleVerdict) {
	for _, rule := range headline.Named(r.Gate.Rules, measures...) {
		if rule.Column == column {
			list = append(list, rule)
		}
	}
	return list
}

// biasOf returns the expected shift of a column's mean, in per cent of the mean if that is
// meaningful. No rule is about it.
func biasOf(c *assess.ColumnMeasures) (headline.Figure, float64) {
	b, mean := float64(c.Utility.Bias), math.Abs(float64(c.Original.Mean))
	f := headline.Figure{Measure: "bias", Column: c.Name, Label: "bias of the mean", Value: assess.Float(math.NaN()),
		Text: "–"}
	doubt := unsure(c.Utility.Approximate, c.Utility.Errs)
	if math.IsNaN(b) {
		doubt = "it could not be computed"
	} else {
		f.Note = "a shift of " + pretty(b, riskDigits) + unitAfter(c.Unit)
		if text := inPercent(b, mean); text != "" {
			f.Value, f.Text, f.Unit = assess.Float(b/mean), text, "of it"
		}
	}
	f.Hold(nil, doubt, nil)
	return f, math.Abs(b) / float64(c.Original.SD)
}

// precisionOf returns the share of the unmasked data's precision that is left for the mean,
// which the gate judges.
func (r *Report) precisionOf(c *assess.ColumnMeasures) (headline.Figure, float64) {
	e := c.Utility.EfficiencyGate
	f := headline.Figure{Measure: "precision", Column: c.Name, Label: "precision of the mean", Value: e,
		Text: figure.LeftOf(float64(e)), Note: "of that of the unmasked data"}
	doubt := unsure(c.Utility.Approximate, c.Utility.Errs)
	if math.IsNaN(float64(e)) {
		f.Text, doubt = "–", "it could not be computed"
	}
	f.Hold(r.rulesOn(c.Name, "min_efficiency"), doubt, func(rule assess.RuleVerdict) string {
		limit := float64(rule.Limit)
		if found := float64(rule.Found); !rule.Passed && float64(e) >= limit && found < limit {
			judged, _ := figure.Beside(found, limit, figure.Remaining, figure.StatedShare)
			f.Add("judged at two standard errors, " + judged)
		}
		return "at least " + f.Beside(float64(e), limit, figure.Remaining, figure.StatedShare)
	})
	return f, -float64(e)
}

// minReleased is the measure of the rule that a release has records at all.
const minReleased = "min_released"

// lostFigure returns the figure of the records that were read and not released. It is amber if
// there are any, and red if their share is beyond the gate's limit, which is the configured one
// or the default.
func (r *Report) lostFigure() headline.Figure {
	n, of, what := r.Records.Quarantined, r.Records.Read, "could not be masked"
	if r.Foreign != nil {
		n, what = r.Foreign.Unmatched, "have no released record"
	}
	f := headline.Figure{Measure: "max_quarantined", Label: "records lost", Value: assess.Float(math.NaN()), Text: "–"}
	if of > 0 {
		f.Value = assess.Float(float64(n) / float64(of))
		f.Text = share(float64(f.Value))
	}
	f.Note = fmt.Sprintf("%s of %s %s", count(n), count(of), what)
	if of <= 0 {
		f.Note = ""
	}
	rules, byDefault := headline.Named(r.Gate.Rules, f.Measure, minReleased), ""
	if limit := r.Records.MaxQuarantined; len(rules) == 0 && limit != nil && of > 0 {
		rules, byDefault = []assess.RuleVerdict{{Limit: *limit, Found: f.Value, Passed: f.Value <= *limit}}, ", by default"
	}
	f.Hold(rules, "", func(rule assess.RuleVerdict) string {
		if rule.Measure == minReleased {
			return "at least one record is released"
		}
		return "at most " + f.Beside(float64(f.Value), float64(rule.Limit), figure.Risking, figure.StatedShare) + byDefault
	})
	if n > 0 {
		f.Tone = f.Tone.Worse(headline.Amber)
	}
	return f
}
