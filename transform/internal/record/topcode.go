package record

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Topcode replaces values beyond a bound, or beyond a percentile of the original, by the bound,
// the mean of the values beyond it, or a label: top and bottom coding (Hundepool et al. 2012,
// Statistical Disclosure Control, section 3.2.4).
type Topcode struct {
	Columns         []string `yaml:"columns" doc:"the columns to mask"`
	Upper           *float64 `yaml:"upper" doc:"values above this are coded"`
	Lower           *float64 `yaml:"lower" doc:"values below this are coded"`
	UpperPercentile *float64 `yaml:"upper_percentile" doc:"instead of upper: a percentile of the original, above 50 and below 100, which takes a first pass"`
	LowerPercentile *float64 `yaml:"lower_percentile" doc:"instead of lower: a percentile of the original, above 0 and below 50, which takes a first pass"`
	Replace         string   `yaml:"replace" doc:"what replaces a coded value. bound (default): the bound; mean: the mean of the original values beyond the bound, which takes a first pass; label: the texts upper_label and lower_label" enum:"bound,mean,label"`
	UpperLabel      *string  `yaml:"upper_label" doc:"with replace: label, the text that replaces values above the bound"`
	LowerLabel      *string  `yaml:"lower_label" doc:"with replace: label, the text that replaces values below the bound"`
	Least           *int     `yaml:"least" doc:"with replace: mean or a percentile, the least number of values beyond a bound beyond which there are any; default 3"`
	Share           *float64 `yaml:"share" share:"whole" doc:"with replace: mean, the greatest share that one value may have in the sum of those beyond the bound, by its amount and by its distance from the bound; default 0.8"`
	Where           string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Check implements Params.
func (m *Topcode) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if m.Upper == nil && m.Lower == nil && m.UpperPercentile == nil && m.LowerPercentile == nil {
		ps.Addf("", "must have upper, lower or a percentile in place of one, got neither")
	}
	for _, side := range []struct {
		field      string
		bound      *float64
		percentile *float64
		lo, hi     float64
		label      *string
	}{{"upper", m.Upper, m.UpperPercentile, 50, 100, m.UpperLabel},
		{"lower", m.Lower, m.LowerPercentile, 0, 50, m.LowerLabel}} {
		if side.bound != nil {
			core.CheckFinite(&ps, side.field, *side.bound)
		}
		given := side.bound != nil || side.percentile != nil
		if p := side.percentile; p != nil {
			switch {
			case side.bound != nil:
				ps.Addf(side.field+"_percentile", "must be left out beside %s", side.field)
			case !(*p > side.lo && *p < side.hi):
				ps.Addf(side.field+"_percentile", "must be above %v and below %v, got %v", side.lo, side.hi, *p)
			}
		}
		switch labels := m.Replace == "label"; {
		case labels && given && side.label == nil:
			ps.Addf(side.field+"_label", "must be given with replace: label")
		case side.label != nil && (!labels || !given):
			ps.Addf(side.field+"_label", "must be left out without replace: label and a bound on that side")
		}
	}
	if m.Lower != nil && m.Upper != nil && *m.Lower > *m.Upper {
		ps.Addf("upper", "must be at least %v, which is lower, got %v", *m.Lower, *m.Upper)
	}
	core.CheckWord(&ps, "replace", m.Replace, "bound", "mean", "label")
	core.CheckContributors(&ps, m.Least, m.Share)
	core.CheckWhere(&ps, m.Where, m.Columns)
	if m.Where != "" &&
		(m.UpperPercentile != nil || m.LowerPercentile != nil || m.Replace == "mean" || m.Replace == "label") {
		ps.Addf("where",
			"must not be given with percentiles, means or labels, which are of all records; give upper and lower, and replace: bound")
	}
	return ps
}

func (m *Topcode) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckWhereAmong(masks, i, m.Where)
}

// Describe implements Params.
func (m *Topcode) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, Reads: core.WhereRead(m.Where, m.Columns), Retype: m.releasedField,
		NeedsValues: m.needsValues(), FitsData: m.needsValues() != "", // percentiles and means are those of the data
		Parameters: m.parameters, Action: m.action, Published: m, OnColumn: m.onColumn, Among: m.checkAmong, Puts: m.puts,
		KeepsCode: m.keepsCode, Mechanism: m.mechanism,
	}
}

// puts returns its labels and bounds.
func (m *Topcode) puts() (list []core.PutValue) {
	for _, side := range []struct {
		field string
		label *string
		bound *float64
	}{{"upper", m.UpperLabel, m.Upper}, {"lower", m.LowerLabel, m.Lower}} {
		switch {
		case side.label != nil:
			list = append(list, core.PutValue{Field: side.field + "_label", Text: *side.label})
		case side.bound != nil && (m.Replace == "" || m.Replace == "bound"):
			list = append(list, core.PutValue{Field: side.field, Text: core.FormatNumber(*side.bound)})
		}
	}
	return list
}

// keepsCode: a code between the bounds. The bounds themselves stand for all values beyond them, and so may a mean
// or a percentile of the data.
func (m *Topcode) keepsCode(c microdata.Code) bool {
	if c.IsText || m.needsValues() != "" || m.Replace == "mean" {
		return false
	}
	return c.Tag != 0 || (m.Lower == nil || c.Number > *m.Lower) && (m.Upper == nil || c.Number < *m.Upper)
}

// Masks implements Params.
func (m *Topcode) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Topcode) Reads() []string { return core.WhereReads(m.Where, m.Columns) }

func (m *Topcode) needsValues() string {
	switch {
	case m.UpperPercentile != nil:
		return "upper_percentile"
	case m.LowerPercentile != nil:
		return "lower_percentile"
	case m.Replace == "mean":
		return "replace"
	}
	return ""
}

// percentile returns the p-th percentile by linear interpolation between the order statistics
// next to h = (n−1)p/100 + 1: Hyndman and Fan (1996), definition 7, the default of R.
func percentile(sorted []float64, p float64) float64 {
	h := float64(len(sorted)-1) * p / 100
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((h-float64(i))*(sorted[i+1]-sorted[i]))
}

// meanOf returns the mean of values in ascending order; none if there are no values.
func meanOf(values []float64, none float64) float64 {
	if len(values) == 0 {
		return none
	}
	mean := 0.0
	for i, v := range values {
		mean += (v - mean) / float64(i+1)
	}
	return mean
}

// Tail is what a column has beyond its bounds, infinite where there is none, and what
// takes its place.
type Tail struct {
	*core.Column
	Lower, Upper float64 // bounds
	Low, High    float64 // released instead of values beyond the bounds: means, or the codes of the labels
}

// bounds returns the bounds of a column, from the values of the original where they are
// percentiles.
func (m *Topcode) bounds(c *core.Chain, i int, col *core.Column) (lower, upper float64, err error) {
	lower, upper = math.Inf(-1), math.Inf(1)
	sorted, known := c.Setup.Sorted[col.Name]
	if m.needsValues() != "" && len(sorted) == 0 {
		if !known {
			return 0, 0, fmt.Errorf("%s.%s: needs the original values of column %s, which are not known", c.At(i),
				m.needsValues(), strconv.Quote(col.Name))
		}
		return lower, upper, nil // no value, so none is beyond a bound
	}
	for _, side := range []struct {
		to                *float64
		bound, percentile *float64
	}{{&lower, m.Lower, m.LowerPercentile}, {&upper, m.Upper, m.UpperPercentile}} {
		switch {
		case side.bound != nil:
			*side.to = *side.bound
		case side.percentile != nil:
			*side.to = percentile(sorted, *side.percentile)
		}
	}
	return lower, upper, nil
}

func (m *Topcode) Compile(c *core.Chain, i int) (core.Step, error) {
	return c.CompileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Topcode) compileAll(c *core.Chain, i int) (core.Step, error) {
	s := &TailStep{mask: i, Of: m}
	clip := &clipStep{mask: i}
	for _, name := range m.Columns {
		if m.Replace == "label" && c.Lookup(name) == nil {
			continue // replicates do not have columns that are released as text
		}
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		lower, upper, err := m.bounds(c, i, col)
		if err != nil {
			return nil, err
		}
		t := Tail{Column: col, Lower: lower, Upper: upper, Low: lower, High: upper}
		switch m.Replace {
		case "label":
			t.Low, t.High = m.label(m.LowerLabel), m.label(m.UpperLabel)
			c.AddToHistory(i, col, core.Part("toplabel", lower, upper)+core.DigestOfTexts("labels", m.labels()...))
			col.Becomes(microdata.Field{Name: col.Field.Name, Type: arrow.BinaryTypes.String, Nullable: col.Field.Nullable})
		case "mean":
			sorted := c.Setup.Sorted[name]
			below := sort.SearchFloat64s(sorted, lower)
			above := sort.Search(len(sorted), func(k int) bool { return sorted[k] > upper })
			if err := m.contributors(c, i, col, sorted[:below], sorted[above:], lower, upper); err != nil {
				return nil, err
			}
			t.Low, t.High = meanOf(sorted[:below], lower), meanOf(sorted[above:], upper)
			if col.Digits >= 0 {
				g := core.DecimalGrid(col.Digits)
				t.Low, t.High = g.Snap(t.Low), g.Snap(t.High)
			}
			c.AddToHistory(i, col, core.Part("topmean", lower, upper, t.Low, t.High))
		default:
			sorted := c.Setup.Sorted[name]
			below := sort.SearchFloat64s(sorted, lower)
			above := sort.Search(len(sorted), func(k int) bool { return sorted[k] > upper })
			if err := m.beyondPercentiles(c, i, col, below, len(sorted)-above); err != nil {
				return nil, err
			}
			if err := clip.take(c, i, col, lower, upper); err != nil {
				return nil, err
			}
			continue
		}
		s.Columns = append(s.Columns, t)
	}
	if m.Replace == "mean" || m.Replace == "label" {
		return s, nil
	}
	return clip, nil
}

// label is the code of a label, NaN where there is none.
func (m *Topcode) label(text *string) float64 {
	if text == nil {
		return math.NaN()
	}
	return microdata.CategoryCode([]byte(*text))
}

// labels are those of the lower and the upper side, "" where there is none.
func (m *Topcode) labels() []string {
	list := make([]string, 2)
	for k, text := range []*string{m.LowerLabel, m.UpperLabel} {
		if text != nil {
			list[k] = *text
		}
	}
	return list
}

// TailStep is a topcode mask that releases means or labels.
type TailStep struct {
	mask    int
	Of      *Topcode
	Columns []Tail
}

func (s *TailStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	for k := range s.Columns {
		t := &s.Columns[k]
		if s.Of.Replace == "label" {
			s.text(t, b, changed)
			continue
		}
		v, err := t.Numbers(b)
		if err != nil {
			return err
		}
		for i, x := range v.Values {
			if x < t.Lower {
				v.Values[i] = t.Low
				own.Set(i)
			} else if x > t.Upper {
				v.Values[i] = t.High
				own.Set(i)
			}
		}
		core.Settle(v, own, changed)
	}
	c.Count(s.mask, b, changed)
	return nil
}

// text releases numbers as texts, and those beyond the bounds as labels; in replicates, as the
// codes of these texts.
func (s *TailStep) text(t *Tail, b *microdata.Block, changed microdata.Bitmap) {
	col := &b.Columns[t.Index]
	labels := s.Of.labels()
	if col.Array == nil {
		if col.Original.Values == nil {
			return
		}
		v := col.Mutable()
		for i, x := range v.Values {
			switch {
			case !v.Valid.Has(i):
			case x < t.Lower:
				v.Values[i] = t.Low
			case x > t.Upper:
				v.Values[i] = t.High
			default:
				v.Values[i] = microdata.CategoryCode([]byte(core.NumberText(x)))
			}
		}
		return
	}
	var numbers microdata.Column
	beyond := microdata.NumbersOf(col.OutArray(), &numbers)
	v := numbers.Original
	out := make([]string, b.N)
	for i, x := range v.Values {
		switch {
		case !v.Valid.Has(i):
		case x-x != 0:
			b.Reject(i, t.Name, "is not a finite number")
		case x < t.Lower:
			out[i] = labels[0]
			changed.Set(i)
		case x > t.Upper:
			out[i] = labels[1]
			changed.Set(i)
		default:
			out[i] = core.NumberText(x)
		}
	}
	for _, i := range beyond {
		b.Reject(i, t.Name, "is beyond what can be compared exactly (2^53 units of the last place)")
	}
	places := make([]int32, b.N)
	for i := range places {
		if places[i] = int32(i); !v.Valid.Has(i) || b.Rejected(i) {
			places[i] = core.Missing
		}
	}
	col.ReleasedArray = (&core.CategoryColumn{Out: out}).Array(places)
}

// Keeps: values within the bounds stay.
func (s *TailStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	for _, t := range s.Columns {
		if t.Name == l.Name {
			l.Lower, l.Upper = append(l.Lower, core.Bound{Mask: i, At: t.Lower}), append(l.Upper, core.Bound{Mask: i,
				At: t.Upper})
		}
	}
}

func (m *Topcode) releasedField(f microdata.Field) (microdata.Field, bool) {
	if m.Replace != "label" {
		return f, false
	}
	f.Type = arrow.BinaryTypes.String
	return f, true
}

func (m *Topcode) parameters() []core.Parameter {
	list := core.WithNumber(core.WithNumber(nil, "upper", m.Upper), "lower", m.Lower)
	list = core.WithNumber(core.WithNumber(list, "upper_percentile", m.UpperPercentile), "lower_percentile",
		m.LowerPercentile)
	list = core.WithContributors(append(list, core.Parameter{Name: "replace", Value: core.WordOr(m.Replace, "bound")}),
		m.Least, m.Share)
	if m.UpperLabel != nil {
		list = append(list, core.Parameter{Name: "upper_label", Value: *m.UpperLabel})
	}
	if m.LowerLabel != nil {
		list = append(list, core.Parameter{Name: "lower_label", Value: *m.LowerLabel})
	}
	return core.WithWhere(list, m.Where)
}

// action: The bounds of percentiles depend on the data, and are not known
// here.
func (m *Topcode) action(string, float64) core.Action {
	if m.Where != "" {
		return nil
	}
	a := core.Bounding{Lower: math.Inf(-1), Upper: math.Inf(1), Mode: "clip"}
	if m.Lower != nil {
		a.Lower = *m.Lower
	}
	if m.Upper != nil {
		a.Upper = *m.Upper
	}
	if m.needsValues() != "" || m.Replace == "label" {
		return core.Recoding{}
	}
	return a
}

// PublishedAction implements Publishing: the action is known only if values are replaced by
// bounds that are published.
func (m *Topcode) PublishedAction(p core.Published, _ string) core.Action {
	if p.Has("where") {
		return nil
	}
	if p.Word("replace") != "bound" || p.Has("upper_percentile") || p.Has("lower_percentile") {
		return core.Recoding{}
	}
	return core.Bounding{Lower: p.Bound("lower", math.Inf(-1)), Upper: p.Bound("upper", math.Inf(1)), Mode: "clip"}
}

// Words implements Publishing.
func (m *Topcode) Words(p core.Published, _ string) string {
	var bounds []string
	for _, side := range []struct{ field, word string }{{"lower", "below "}, {"upper", "above "}} {
		if v, ok := p.Float(side.field); ok {
			bounds = append(bounds, side.word+p.Number(v))
		} else if v, ok := p.Float(side.field + "_percentile"); ok {
			bounds = append(bounds, side.word+"percentile "+p.Number(v))
		}
	}
	where := "beyond bounds that are not published"
	if bounds != nil {
		where = strings.Join(bounds, " or ")
	}
	to := "coded"
	switch p.Word("replace") {
	case "bound":
		to = "moved to the bound"
	case "mean":
		to = "replaced by their mean, so that the column's mean and sum are kept"
	case "label":
		to = "replaced by a label"
	}
	return "top and bottom coding: values " + where + " were " + to + core.WhereWords(p)
}

// EfficiencyFollows implements Publishing: the efficiency discloses how much lay beyond the bounds.
func (m *Topcode) EfficiencyFollows(has, named func(string) bool) bool {
	for _, field := range []string{"upper", "lower", "upper_percentile", "lower_percentile"} {
		if has(field) && !named(field) {
			return false
		}
	}
	return named("replace") && !has("where")
}

func (m *Topcode) onColumn(column string) core.Params {
	q := *m
	q.Columns = slices.Clone([]string{column})
	return &q
}

func (m *Topcode) mechanism(string) core.Mechanism {
	switch {
	case m.Where != "":
		return core.Mechanism{Not: core.ByCondition}
	case m.needsValues() != "":
		return core.Mechanism{Not: "percentiles and means of the data are its parameters (" + m.needsValues() + ")"}
	case m.Replace == "label":
		return core.Mechanism{Kind: core.OwnValue}
	}
	lower, upper := (&Truncate{Lower: m.Lower, Upper: m.Upper}).interval()
	return core.Mechanism{Kind: core.Clipping, Lower: lower, Upper: upper}
}

// The mean of the values beyond a bound lies beyond it, so the map does not decrease; the bound of a
// percentile need not be on the grid, and its rounded mean may then lie within.
func (s *TailStep) Law(column string) []core.Stage {
	for i := range s.Columns {
		t := &s.Columns[i]
		if t.Name != column {
			continue
		}
		if s.Of.Replace != "mean" || t.Low > t.Lower || t.High < t.Upper {
			return []core.Stage{{}}
		}
		f := t.level()
		return []core.Stage{{Level: &f}}
	}
	return nil
}

// level is the map of values beyond the bounds to their means.
func (t *Tail) level() core.Level {
	lower, upper, low, high := t.Lower, t.Upper, t.Low, t.High
	return core.Level{
		Jumps: low < lower || high > upper,
		Apply: func(v float64) float64 {
			switch {
			case v < lower:
				return low
			case v > upper:
				return high
			}
			return v
		},
		UpTo: func(t float64) float64 {
			switch {
			case t >= high:
				return math.Inf(1)
			case t >= upper:
				return upper
			case t >= lower:
				return t
			case t >= low:
				return math.Nextafter(lower, math.Inf(-1))
			}
			return math.Inf(-1)
		},
	}
}

// beyondPercentiles checks that enough values lie beyond bounds that are percentiles. Such a bound
// lies between two values, the inner one of which is released as it is, so that the outer one
// follows from both.
func (m *Topcode) beyondPercentiles(c *core.Chain, i int, col *core.Column, below, above int) error {
	demand := core.ContributorsOf(m.Least, m.Share)
	for _, side := range []struct {
		percentile *float64
		n          int
		name       string
		further    string
	}{{m.LowerPercentile, below, "lower", "raise"}, {m.UpperPercentile, above, "upper", "lower"}} {
		if side.percentile == nil || side.n == 0 || side.n >= demand.Least {
			continue
		}
		return c.Refused(i, &decision.Refusal{Path: core.TooFewValues, Text: fmt.Sprintf(
			"must be at most the number of values beyond the %s percentile of column %s, which is %d, got %d: a percentile with so few beyond it discloses them; %s %s_percentile, or give the bound itself (%s)",
			side.name, strconv.Quote(col.Name), side.n, demand.Least, side.further, side.name, side.name)})
	}
	return nil
}

// contributors checks that the means of the values beyond the bounds are of enough of them. The
// error contains no value and no bound that the data give.
func (m *Topcode) contributors(c *core.Chain, i int, col *core.Column, below, above []float64, lower,
	upper float64) error {
	demand := core.ContributorsOf(m.Least, m.Share)
	for _, side := range []struct {
		values  []float64
		bound   float64
		name    string
		further string
	}{{below, lower, "lower", "raise"}, {above, upper, "upper", "lower"}} {
		missed := demand.OfTail(side.values, side.bound)
		if missed == "" {
			continue
		}
		cure := fmt.Sprintf("%s the bound (%s), or use replace: bound or label", side.further, side.name)
		e := &decision.Refusal{Path: missed}
		switch of := strconv.Quote(col.Name); missed {
		case core.TooFewValues:
			e.Text = fmt.Sprintf(
				"must be at most the number of values beyond the %s bound of column %s, which is %d, got %d: a mean of so few discloses them; %s",
				side.name, of, len(side.values), demand.Least, cure)
		case core.OneRules:
			e.Text = fmt.Sprintf(
				"is exceeded beyond the %s bound of column %s: one record has more than %s %% of the sum of %d values, so that their mean discloses it; %s",
				side.name, of, core.ShareText(demand.Share), len(side.values), cure)
		}
		return c.Refused(i, e)
	}
	return nil
}
