package report

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/transform"
)

// ruleView is one rule of the gate.
type ruleView struct {
	assess.RuleVerdict
	Found, Limit             cell
	FoundInUnit, LimitInUnit string // the same in the column's unit
}

func (r *Report) ruleView(i int, rule assess.RuleVerdict) ruleView {
	path := "/gate/rules/" + strconv.Itoa(i)
	v := ruleView{RuleVerdict: rule}
	found, limit, before := figure.Estimated(digits), figure.Writing(figure.Stated), ""
	switch rule.Measure {
	case "min_efficiency":
		found, limit = figure.Remaining, figure.StatedShare
	case "max_unchanged", "max_quarantined", "max_exact":
		found, limit = figure.Risking, figure.StatedShare
	case "min_rmse":
		v.FoundInUnit = unitAfter(r.unit(rule.Column))
		v.LimitInUnit = v.FoundInUnit
		found, before = figure.Estimated(riskDigits), "± "
	case "max_risk":
		v.FoundInUnit, v.LimitInUnit = r.precisionTexts(rule)
		found, before = figure.Estimated(riskDigits), "R = "
	case minReleased:
		found = figure.Counted
	}
	if a, b, counts, ok := identityRule(rule); ok {
		found, limit = a, b
		v.FoundInUnit, v.LimitInUnit = counts(rule.Found), counts(rule.Limit)
		v.Rule = capital(rule.Rule) // others begin with their column
	}
	text, bound := figure.Beside(float64(rule.Found), float64(rule.Limit), found, limit)
	v.Found = shown(path+"/found", rule.Found, before+text)
	v.Limit = shown(path+"/limit", rule.Limit, before+bound)
	return v
}

// precisionTexts writes the risk that a rule found and its limit as the errors with which a
// snooper knows the target.
func (r *Report) precisionTexts(rule assess.RuleVerdict) (found, limit string) {
	as := figure.Estimated(riskDigits)
	found, limit = figure.Beside(1/math.Sqrt(float64(rule.Found)), 1/math.Sqrt(float64(rule.Limit)), as, as)
	unit := unitAfter(r.unit(rule.Column))
	return ", known to ± " + found + unit, ", known to ± " + limit + unit
}

func unitAfter(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

func (r *Report) unit(column string) string {
	for _, c := range r.Columns {
		if c.Name == column {
			return c.Unit
		}
	}
	return ""
}

// columnView is everything that the page shows of a column.
type columnView struct {
	*assess.ColumnMeasures
	ID    string
	Label string // of the variable, as the release has it
	// what stands beside the name of a column that is not shown before it is asked for; "": it is shown
	Folded     string
	First      bool          // of the folded columns
	Wide, Slim template.HTML // the R-U map in two sizes
	// The dot plot of its marks, in two sizes; empty where there is none.
	Dots, SlimDots template.HTML
	Utility        []labelled
	Risk           []riskRow
	Moments        []momentRow
	Masks          []string
	Histogram      *histogramView
}

// plainView is a column that is assessed, as a row of one table.
type plainView struct {
	Name, Label, Unit string
	Cells             []cell
}

func plainColumn(c *assess.ColumnMeasures, label string) plainView {
	v := plainView{Name: c.Name, Label: label, Unit: c.Unit}
	for _, row := range momentRows(below("/columns", c.Name), c) {
		v.Cells = append(v.Cells, row.After)
	}
	return v
}

type riskRow struct {
	Target, Knowledge, Class string
	R, SE, Known, Realised   cell
	Sampled                  bool
	Unsure                   string // in what respect R is not known
	Gate                     string // ✓ or ✗; "" if no rule concerns it
	GateWords                string
}

type momentRow struct {
	Name             string
	Before, After    cell
	Change, Relative string
}

type histogramView struct {
	Wide, Slim template.HTML
	Left       string // which bins are not drawn
	Bins       []binRow
}

type binRow struct {
	From, To, Before, After string
}

func (r *Report) columnView(c *assess.ColumnMeasures) columnView {
	path := below("/columns", c.Name)
	place := slices.IndexFunc(r.Columns, func(of assess.ColumnMeasures) bool { return of.Name == c.Name })
	v := columnView{ColumnMeasures: c, ID: "column-" + strconv.Itoa(place+1), Moments: momentRows(path, c)}
	m := MapOf(c, r.Gate)
	for _, of := range r.Alternatives {
		if of.Column == c.Name {
			addAlternatives(&m, of)
		}
	}
	// The SVG is written by package figure, which escapes every string.
	v.Wide = template.HTML(
		figure.RUMapSVG(m, figure.SVGOptions{Width: 580, Height: 500, ID: v.ID + "-wide", Beside: true}))
	v.Slim = template.HTML(
		figure.RUMapSVG(m, figure.SVGOptions{Width: 328, Height: 460, ID: v.ID + "-slim", Beside: true}))
	v.Dots = template.HTML(figure.RiskDotsSVG(m, figure.SVGOptions{Width: 520}))
	v.SlimDots = template.HTML(figure.RiskDotsSVG(m, figure.SVGOptions{Width: 328}))
	u, expected := c.Utility, "expected over the masks’ draws"
	if r.Foreign != nil {
		expected = "of this very release: its masks are not known"
	}
	v.Utility = []labelled{
		{"precision of the mean",
			shown(path+"/utility/efficiency_gate", u.EfficiencyGate, figure.LeftOf(float64(u.EfficiencyGate))),
			"share of the unmasked data’s precision that is left for estimating the mean, by which the gate judges: a variance that masking lowers does not count as utility" + after("; ", unsure(u.Approximate, u.Errs))},
		{"efficiency", shown(path+"/utility/efficiency", u.Efficiency, percent(float64(u.Efficiency))),
			"U/U₀ as it is defined, with the released variance"},
		{"U", number(path+"/utility/U", u.U), expected},
		{"SE of U", shown(path+"/utility/U_se", u.SE, pretty(float64(u.SE), 2)), "standard error of U"},
		{"U realised", number(path+"/utility/realised_U", u.RealisedU), "of this very release"},
		{"U₀", number(path+"/utility/U0", u.U0), "of the unmasked data, n/S²"},
		{"bias", shown(path+"/utility/bias", u.Bias, pretty(float64(u.Bias), 3)),
			"expected shift of the mean" + after(", in percent of it: ", inPercent(float64(u.Bias), float64(c.Original.Mean)))},
		{"mean (x − y)²", number(path+"/mean_squared_difference", c.MeanSquaredDifference),
			"mean squared difference of original and released values"},
	}
	if c.Unchanged != nil {
		note := "released values equal to the original"
		if c.UnchangedExplained != nil && *c.Unchanged > 0 {
			note += "; the law of the masks explains up to " + pretty(math.Round(float64(*c.UnchangedExplained)), digits)
		}
		v.Utility = append(v.Utility, labelled{"unchanged", whole(path+"/unchanged", *c.Unchanged), note})
	}
	v.Utility = append(v.Utility, spikeTiles(below(path, "spikes"), c.Spikes)...)
	for k, risk := range c.Risk {
		v.Risk = append(v.Risk, r.riskRow(c.Name, below(path, "risk", strconv.Itoa(k)), risk))
	}
	for _, mask := range r.Masks {
		for _, name := range mask.Columns {
			if name == c.Name {
				v.Masks = append(v.Masks, maskTitle(mask))
				break
			}
		}
	}
	if figure.DrawableHistogram(c.Histogram) {
		v.Histogram = histogramOf(c)
	}
	return v
}

// spikeTiles shows the parts of a column of which many records share a value.
func spikeTiles(path string, of *assess.Spikes) (list []labelled) {
	if of == nil {
		return nil
	}
	where := "of this very release"
	if of.Sampled {
		where += ", in the sample"
	}
	for i, k := range of.Values {
		list = append(list,
			labelled{"kept at " + trimmed(float64(k.Value)),
				shown(below(path, "values", strconv.Itoa(i), "kept"), k.Kept, percent(float64(k.Kept))),
				"share of the records with this value, which many have, that are released with it, " + where})
	}
	return append(list,
		labelled{"the others known to",
			shown(below(path, "rest", "rmse"), of.Rest.RMSE, "± "+pretty(float64(of.Rest.RMSE), riskDigits)),
			"by index, for a typical record without a value that many have, " + where})
}

// unsure describes the uncertainty of a figure; "" if its standard error is all.
func unsure(approximate bool, errs string) string {
	switch {
	case !approximate:
		return ""
	case errs == assess.ErrsSafe:
		return "approximate, on the safe side"
	}
	return "approximate, may be off on either side"
}

// inPercent writes a number in percent of another; "" if that has no meaning.
func inPercent(v, of float64) string {
	if of == 0 || math.IsNaN(v/of) || math.IsInf(v/of, 0) {
		return ""
	}
	return pretty(100*v/math.Abs(of), 3) + "\u00a0%"
}

func (r *Report) riskRow(column, path string, k assess.Risk) riskRow {
	row := riskRow{
		Target: k.Target, Knowledge: k.Knowledge, Class: figure.KnowledgeClass(k.Knowledge), Sampled: k.Sampled,
		Unsure:   unsure(k.Approximate, k.Errs),
		R:        shown(path+"/R", k.R, pretty(float64(k.R), riskDigits)),
		SE:       number(path+"/R_se", k.SE),
		Known:    shown(path+"/rmse", k.RMSE, "± "+pretty(float64(k.RMSE), riskDigits)),
		Realised: shown(path+"/realised_R", k.RealisedR, pretty(float64(k.RealisedR), riskDigits)),
	}
	if !math.IsNaN(float64(k.SE)) {
		row.SE.Text = "± " + pretty(float64(k.SE), 2)
	}
	if k.Bound {
		row.SE.Text = "at most"
	}
	switch held, concerned := judged(r.Gate, column, k.Target, k.Knowledge, float64(k.Upper())); {
	case concerned && held:
		row.Gate, row.GateWords = "✓", "within the gate’s limits"
	case concerned:
		row.Gate, row.GateWords = "✗", "beyond a limit of the gate"
	}
	return row
}

func momentRows(path string, c *assess.ColumnMeasures) []momentRow {
	before, after := path+"/original", path+"/released"
	counts := func(name, member string, x, y int64) momentRow {
		row := momentRow{Name: name, Before: whole(before+"/"+member, x), After: whole(after+"/"+member, y), Change: "0"}
		if y != x {
			row.Change = plus(count(y-x), y > x)
		}
		return row
	}
	numbers := func(name, member string, x, y assess.Float) momentRow {
		row := momentRow{Name: name, Before: number(before+"/"+member, x), After: number(after+"/"+member, y)}
		d := float64(y - x)
		row.Change = plus(pretty(d, 3), d > 0)
		switch share := d / math.Abs(float64(x)); {
		case d == 0 || math.IsNaN(share) || math.IsInf(share, 0):
		case math.Abs(share) < 0.001:
			row.Relative = "< 0.1\u00a0%"
		default:
			row.Relative = plus(percent(share), share > 0)
		}
		return row
	}
	// The relative change of an extreme is left out: an extreme may be near 0.
	extremes := func(name, member string, x, y assess.Float) momentRow {
		row := numbers(name, member, x, y)
		row.Before.Text, row.After.Text, row.Relative = trimmed(float64(x)), trimmed(float64(y)), ""
		row.Change = plus(trimmed(float64(y-x)), y > x)
		return row
	}
	o, y := c.Original, c.Released
	rows := []momentRow{
		counts("n", "n", o.N, y.N), counts("nulls", "nulls", o.Nulls, y.Nulls),
		numbers("mean", "mean", o.Mean, y.Mean), numbers("SD", "sd", o.SD, y.SD),
		extremes("least", "min", o.Min, y.Min), extremes("greatest", "max", o.Max, y.Max),
	}
	if c.Spikes == nil {
		return rows
	}
	for i, k := range c.Spikes.Values {
		at := below(path, "spikes", "values", strconv.Itoa(i))
		share := func(name string, x, y figureAt) momentRow {
			return momentRow{Name: name, Before: shown(at+x.member, x.v, percent(float64(x.v))),
				After: shown(at+y.member, y.v, percent(float64(y.v))), Change: plus(percent(float64(y.v-x.v)), y.v > x.v)}
		}
		rows = append(rows,
			share("share of "+trimmed(float64(k.Value)), figureAt{"/share", k.Share}, figureAt{"/released_share", k.Released}))
	}
	before, after = below(path, "spikes", "rest", "original"), below(path, "spikes", "rest", "released")
	rest := c.Spikes.Rest
	return append(rows, numbers("mean of the others", "mean", rest.Original.Mean, rest.Released.Mean),
		numbers("SD of the others", "sd", rest.Original.SD, rest.Released.SD))
}

// figureAt is a figure with the member of the report that has it.
type figureAt struct {
	member string
	v      assess.Float
}

func plus(s string, positive bool) string {
	s = strings.ReplaceAll(s, "-", "−")
	if positive {
		return "+" + s
	}
	return s
}

func histogramOf(c *assess.ColumnMeasures) *histogramView {
	h := c.Histogram
	v := &histogramView{
		Wide: template.HTML(figure.HistogramSVG(c, 540, 280)),
		Slim: template.HTML(figure.HistogramSVG(c, 328, 240)),
		Left: figure.Undrawn(h),
	}
	for i := range h.Original {
		v.Bins = append(v.Bins, binRow{
			trimmed(float64(h.Edges[i])), trimmed(float64(h.Edges[i+1])),
			count(int64(h.Original[i])), count(int64(h.Released[i])),
		})
	}
	return v
}

// maskView is one mask of the pipeline.
type maskView struct {
	Number     int
	Kind, Name string
	Does       string // what a mask of the kind does
	Columns    []string
	Parameters []parameterView
	Records    cell
}

type parameterView struct {
	Name, Value string
}

// viewMask returns what every page shows of a mask; unit returns that of a column.
func viewMask(i int, m PublicMask, unit func(column string) string) maskView {
	return maskView{
		Number: i + 1, Kind: m.Mask, Does: does(m.Mask), Columns: m.Columns,
		Parameters: parameterViews(m.Parameters, m.NoiseSD, unit),
	}
}

// maskViews returns a view of each mask, with what is not public.
func (r *Report) maskViews() (list []maskView) {
	for i, m := range r.Masks {
		v := viewMask(i, PublicMask{m.Mask, m.Columns, m.Parameters, m.NoiseSD}, r.unit)
		v.Name, v.Records = m.Name, whole(fmt.Sprintf("/masks/%d/records", i), m.Records)
		list = append(list, v)
	}
	return list
}

// does describes what a kind of mask does.
func does(kind string) string {
	for _, k := range transform.Kinds() {
		if k.Name == kind {
			return k.Doc
		}
	}
	return ""
}

func maskTitle(m Mask) string {
	if m.Name != "" {
		return m.Name
	}
	return m.Mask
}

func parameterViews(list Ordered[any], λ Ordered[assess.Float], unit func(column string) string) []parameterView {
	var views []parameterView
	for _, p := range list {
		views = append(views, parameterView{symbol(p.Name), valueText(p.Value)})
	}
	for _, c := range λ {
		views = append(views, parameterView{"λ of " + c.Name, pretty(float64(c.Value), digits) + unitAfter(unit(c.Name))})
	}
	return views
}

// symbol adds the letter used in the papers to a parameter's name.
func symbol(name string) string {
	switch name {
	case "phi":
		return "φ"
	case "sd":
		return "sd, λ"
	case "rate":
		return "rate, π"
	case "variance_factor":
		return "variance factor"
	}
	return name
}

// valueText writes a parameter's value, given in the form that decoding JSON gives.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return trimmed(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			list[i] = valueText(e)
		}
		return strings.Join(list, ", ")
	case map[string]any:
		if above, ok := v["above"]; ok && len(v) == 2 {
			return "λ² × " + valueText(v["variance_factor"]) + " above " + valueText(above)
		}
		list := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text := valueText(v[name])
			if _, row := v[name].(map[string]any); row {
				text = "(" + text + ")"
			}
			list = append(list, name+": "+text)
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(v)
}

// paper is a source of the methods.
type paper struct {
	Authors, Year, Title, Where string
}

var papers = []paper{
	{"Duncan, G. T. and Keller-McNulty, S.", "2000", "Bayesian Insights on Disclosure Limitation: Mask or Impute?",
		"Los Alamos National Laboratory"},
	{"Fienberg, S. E., Makov, U. E. and Sanil, A. P.", "1997",
		"A Bayesian Approach to Data Disclosure: Optimal Intruder Behavior for Continuous Data",
		"Journal of Official Statistics 13, 75–89"},
	{"Duncan, G. T., Keller-McNulty, S. A. and Stokes, S. L.", "2004",
		"Disclosure Risk vs. Data Utility: The R-U Confidentiality Map",
		"Task force report, National Institute of Statistical Sciences"},
	{"Trottini, M., Fienberg, S. E., Makov, U. E. and Meyer, M. M.", "2004",
		"Additive noise and multiplicative bias as disclosure limitation techniques for continuous microdata: A simulation study", "Journal of Computational Methods in Sciences and Engineering 4, 5–16"},
	{"Duncan, G. T., Fienberg, S. E., Krishnan, R., Padman, R. and Roehrig, S. F.", "2001",
		"Disclosure Limitation Methods and Information Loss for Tabular Data",
		"in Confidentiality, Disclosure and Data Access: Theory and Practical Applications for Statistical Agencies"},
}
