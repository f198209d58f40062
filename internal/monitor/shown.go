package monitor

import (
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

const (
	// fewest is the least number of respondents by which two shown states of a
	// column may differ: between states one respondent apart, n times the mean
	// differs by that respondent's value. It is also the least that is shown of.
	fewest = 10
	// Most significant digits of aggregates, and of a risk of an order statistic, whose
	// Monte-Carlo error is about 10 %.
	digits     = 4
	riskDigits = 2
	// How much coarser than a single figure the figures of a column are, and its risks of order statistics:
	// most go by the column's SD, so that each one tells more of it.
	scale     = 2
	riskScale = 5
	// Significant digits of a standard error.
	errorDigits = 1
	// longestHistory is the number of snapshots that the page shows.
	longestHistory = 10
)

// view is what may be shown of a snapshot.
type view struct {
	report  *report.Report // with null for whatever is not shown
	columns map[string]*columnView
}

// columnView is what may be shown of a column.
type columnView struct {
	measures assess.ColumnMeasures
	ru       figure.RUMap // without trails
	enough   bool         // respondents
	earlier  bool         // it is the state of an earlier snapshot
}

// viewOf reduces a report to what may be shown of it: nothing from which the value
// of one respondent follows. Left out are
//
//   - least and greatest values and distributions;
//   - the window since the last snapshot, but for its counts: it may hold a
//     single record, whose value would be its mean;
//   - R of an order statistic that is known by the mean: it is 1/(τ − ȳ)², and ȳ
//     is there, so τ would follow; and with it its standard error, 2·SD(ȳ)/|τ − ȳ|³;
//   - the realised R of an order statistic, 1/(τ − y)² for one y that the release
//     holds, and any other from which τ follows (assess.ColumnMeasures.TellsTarget);
//   - what an intruder finds;
//   - a column with fewer than 10 values; and its new state, as long as fewer
//     than 10 values have come since the one that was shown.
//
// What is left is rounded as assess.Coarse does, so that states of the data that differ by a record,
// such as the reports of two nights, do not tell its value: aggregates to 4 significant digits at most,
// risks of order statistics to 2 digits of √(1/R), standard errors to 1, correlations to 3 decimals.
func viewOf(r *report.Report, before *view) *view {
	v := &view{columns: make(map[string]*columnView, len(r.Columns))}
	t := *r
	t.Attack, t.Verdict = nil, nil // the latter is said anew, of what is left
	if len(t.Warnings) > 0 {
		t.Warnings = []string{"The confidential report has warnings."}
	}
	t.Columns = make(report.Columns, len(r.Columns))
	settled := true
	for i := range r.Columns {
		var earlier *columnView
		if before != nil {
			earlier = before.columns[r.Columns[i].Name]
		}
		c := showColumn(&r.Columns[i], r.Gate, earlier)
		settled = settled && c.enough && !c.earlier
		v.columns[c.measures.Name] = c
		t.Columns[i] = c.measures
	}
	switch {
	case settled:
		t.Correlation = showCorrelation(r)
	case before != nil:
		t.Correlation = before.report.Correlation
	default:
		t.Correlation = assess.Correlation{}
	}
	if r.Window != nil {
		t.Window = &report.Window{Started: r.Window.Started, Finished: r.Window.Finished, Records: r.Window.Records}
	}
	t.Gate.Rules = make([]assess.RuleVerdict, len(r.Gate.Rules))
	for i, rule := range r.Gate.Rules {
		t.Gate.Rules[i] = showRule(r, rule, v.columns[rule.Column])
	}
	if r.Withheld != "" {
		t.Withheld = "The release is withheld; the confidential report says why."
	}
	v.report = &t
	return v
}

// showColumn reduces the measures of a column, or repeats what was shown before.
func showColumn(c *assess.ColumnMeasures, gate assess.Verdict, earlier *columnView) *columnView {
	if earlier != nil && earlier.enough {
		if d := c.Original.N - earlier.measures.Original.N; d != 0 && -fewest < d && d < fewest {
			again := *earlier
			again.earlier = true
			return &again
		}
	}
	nan := assess.Float(math.NaN())
	v := &columnView{enough: c.Original.N >= fewest && c.Released.N >= fewest}
	out := assess.ColumnMeasures{Name: c.Name, Unit: c.Unit, Masked: c.Masked, Key: c.Key, Risk: []assess.Risk{}}
	moments := func(m assess.Moments) assess.Moments {
		s := assess.Moments{N: m.N, Nulls: m.Nulls, Mean: nan, SD: nan, Min: nan, Max: nan}
		if v.enough {
			s.Mean, s.SD = coarse(m.Mean, m.SD, m.N), coarse(m.SD, m.SD, m.N)
		}
		return s
	}
	out.Original, out.Released = moments(c.Original), moments(c.Released)
	if !v.enough {
		out.MeanSquaredDifference = nan
		out.Utility = assess.Utility{U: nan, SE: nan, RealisedU: nan, U0: nan, Efficiency: nan, Bias: nan}
		v.measures, v.ru = out, figure.RUMap{Column: c.Name, Unit: c.Unit}
		return v
	}
	n, u := c.Original.N, c.Utility
	own := func(v assess.Float) assess.Float { return coarse(v, v, n) }
	out.MeanSquaredDifference = own(c.MeanSquaredDifference)
	out.Utility = assess.Utility{U: own(u.U), SE: rounded(u.SE, errorDigits), RealisedU: own(u.RealisedU), U0: own(u.U0),
		Efficiency: own(u.Efficiency), Bias: coarse(u.Bias, c.Original.SD, n)}
	for _, k := range c.Risk {
		out.Risk = append(out.Risk, showRisk(c, k))
	}
	v.measures = out
	// The map is drawn of the very measures, so that a point beyond its threshold
	// is marked even where rounding would put it on the line.
	v.ru = report.MapOf(c, gate)
	points := v.ru.Points
	v.ru.Points = nil
	for i, p := range points {
		if c.TellsTarget(&c.Risk[i]) {
			continue
		}
		p.R, p.Efficiency = float64(out.Risk[i].R), float64(out.Utility.Efficiency)
		v.ru.Points = append(v.ru.Points, p)
	}
	return v
}

// showRisk reduces a risk of a column.
func showRisk(c *assess.ColumnMeasures, k assess.Risk) assess.Risk {
	nan, most, exact, tells, n := assess.Float(math.NaN()), digits, k.RMSE, c.TellsTarget(&k), c.Original.N
	if k.RMSE = coarse(exact, exact, n); k.Target != assess.TargetTypical {
		most, k.RMSE = riskDigits, rounded(assess.Coarse(exact, riskScale*exact, n), riskDigits)
	}
	if tells || k.RMSE == 0 && exact != 0 {
		k.RMSE = nan
	}
	if k.RMSE != k.RMSE {
		k.R, k.SE, k.RealisedR = nan, nan, nan
		return k
	}
	// R follows from the rounded error, so that the two agree on the page.
	k.R, k.SE = rounded(1/(k.RMSE*k.RMSE), most+1), rounded(k.SE, errorDigits)
	if k.RealisedR = coarse(k.RealisedR, k.RealisedR, n); k.Target != assess.TargetTypical {
		k.RealisedR = nan
	}
	return k
}

// showRule leaves out what a rule found where it is a hidden risk, and the advice
// of a risk rule, which repeats it with all digits.
func showRule(r *report.Report, rule assess.RuleVerdict, c *columnView) assess.RuleVerdict {
	nan := assess.Float(math.NaN())
	if rule.Measure == "max_epsilon" || rule.Measure == "max_metric_epsilon" {
		return rule // it follows from the configuration, and no value of the data is in it
	}
	if c == nil || !c.enough {
		rule.Found, rule.Advice = nan, ""
		return rule
	}
	if rule.Measure == "min_efficiency" {
		rule.Found = besideLimit(rule, coarse(rule.Found, rule.Found, c.measures.Original.N))
		return rule
	}
	// What another rule has found is nowhere on the page.
	found := nan
	if rule.Measure == "max_risk" || rule.Measure == "min_rmse" {
		found = besideLimit(rule, shownRisk(r, rule))
	}
	rule.Found = found
	if rule.Advice != "" {
		rule.Advice = "The confidential report says what would have to change."
	}
	return rule
}

// besideLimit is what is shown of what a rule found: not a number, where rounding would
// shownRisk is the figure on the page of what a rule about risk has found; NaN if the page has none.
func shownRisk(r *report.Report, rule assess.RuleVerdict) assess.Float {
	figure := assess.Float(math.NaN())
	for i := range r.Columns {
		if r.Columns[i].Name != rule.Column {
			continue
		}
		for _, k := range r.Columns[i].Risk {
			if rule.Target != "" && k.Target != rule.Target || rule.Knowledge != "" && k.Knowledge != rule.Knowledge {
				continue
			}
			if rule.Measure == "max_risk" && k.R != rule.Found || rule.Measure == "min_rmse" && k.RMSE != rule.Found {
				continue
			}
			shown := showRisk(&r.Columns[i], k)
			figure = shown.RMSE
			if rule.Measure == "max_risk" {
				figure = shown.R
			}
			if r.Columns[i].TellsTarget(&k) { // of two risks of the same size, one may be
				break
			}
		}
	}
	return figure
}

// have it on the other side of the limit.
func besideLimit(rule assess.RuleVerdict, shown assess.Float) assess.Float {
	within := shown >= rule.Limit
	if rule.Measure == "max_risk" {
		within = shown <= rule.Limit
	}
	if within != rule.Passed {
		return assess.Float(math.NaN())
	}
	return shown
}

func showCorrelation(r *report.Report) assess.Correlation {
	c, n := r.Correlation, int64(math.MaxInt64)
	for i := range r.Columns {
		if slices.Contains(c.Columns, r.Columns[i].Name) {
			n = min(n, r.Columns[i].Original.N)
		}
	}
	matrix := func(m [][]assess.Float) [][]assess.Float {
		out := make([][]assess.Float, len(m))
		for i, row := range m {
			out[i] = make([]assess.Float, len(row))
			for j, v := range row {
				of := math.Max(-1, math.Min(1, float64(assess.Coarse(v, scale, n))))
				out[i][j] = assess.Float(math.Round(1000*of) / 1000)
			}
		}
		return out
	}
	return assess.Correlation{Columns: c.Columns, Original: matrix(c.Original), Released: matrix(c.Released)}
}

// coarse rounds a figure of n values whose error goes by of.
func coarse(v, of assess.Float, n int64) assess.Float {
	return rounded(assess.Coarse(v, scale*of, n), digits)
}

// rounded has n significant digits.
func rounded(v assess.Float, n int) assess.Float {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return v
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', n-1, 64), 64)
	if err != nil { // beyond the greatest float64
		return assess.Float(math.Copysign(math.Inf(1), f))
	}
	return assess.Float(short)
}
