package weights

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Calibrate multiplies sampling weights by factors near 1 so that the weighted totals of the released
// columns are those of the margins: Deville and Särndal (1992), Calibration estimators in survey
// sampling, JASA 87. The factor of a record is F(x'λ) with the exponential F of raking (case 2) or, between
// bounds, the logit F (case 6). It depends on the released margin columns of the record alone, so that the
// weights tell the margins, the weights before, and nothing else.
type Calibrate struct {
	Columns []string                      `yaml:"columns" doc:"the column of weights, one"`
	By      []string                      `yaml:"by" doc:"categorical columns whose released categories get the weighted totals that they had in the original; records that were left out or sent to quarantine count in these"`
	On      []string                      `yaml:"on" doc:"numeric columns whose released values get the weighted total that the original has"`
	Margins map[string]map[string]float64 `yaml:"margins" doc:"categorical columns with the total of each released category"`
	Totals  map[string]float64            `yaml:"totals" doc:"numeric columns with the total of their released values"`
	Lower   *float64                      `yaml:"lower" doc:"the factors are greater than this, from 0 to below 1; 0 by default. A factor of 1 is the ratio of all weights after to all weights before"`
	Upper   *float64                      `yaml:"upper" doc:"the factors are less than this, above 1; without bound by default"`
	Least   *int                          `yaml:"least" doc:"the least number of records behind a total that is taken from the original (by, on); default 3"`
	Share   *float64                      `yaml:"share" share:"whole" doc:"the greatest share that one record may have in a total that is taken from the original; default 0.8"`
}

// Check implements Params.
func (m *Calibrate) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if len(m.Columns) > 1 {
		ps.Addf("columns", "must be one column of weights, got %d", len(m.Columns))
	}
	if len(m.By)+len(m.On)+len(m.Margins)+len(m.Totals) == 0 {
		ps.Addf("by", "must name a column, or margins, on or totals must: there is nothing to calibrate to")
	}
	seen := map[string]string{}
	for _, name := range m.Columns {
		seen[name] = "columns"
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"by", m.By}, {"on", m.On}, {"margins", slices.Sorted(maps.Keys(m.Margins))},
		{"totals", slices.Sorted(maps.Keys(m.Totals))}} {
		for i, name := range list.names {
			at := fmt.Sprintf("%s[%d]", list.field, i)
			if list.field == "margins" || list.field == "totals" {
				at = list.field + "." + name
			}
			switch before, twice := seen[name]; {
			case name == "":
				ps.Addf(at, "must be the name of a column, got %q", name)
			case twice:
				ps.Addf(at, "must not be a column that %s names, got %q", before, name)
			}
			seen[name] = list.field
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Margins)) {
		if len(m.Margins[name]) == 0 {
			ps.Addf("margins."+name, "must have at least one category with its total")
		}
		for _, category := range slices.Sorted(maps.Keys(m.Margins[name])) {
			if v := m.Margins[name][category]; !(v > 0) || math.IsInf(v, 1) {
				ps.Addf("margins."+name+"."+category, "must be a number above 0, got %v", v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Totals)) {
		if v := m.Totals[name]; v == 0 || v-v != 0 {
			ps.Addf("totals."+name, "must be a number other than 0, got %v", v)
		}
	}
	if v := m.Lower; v != nil && !(*v >= 0 && *v < 1) {
		ps.Addf("lower", "must be at least 0 and below 1, got %v", *v)
	}
	if v := m.Upper; v != nil && !(*v > 1 && !math.IsInf(*v, 1)) {
		ps.Addf("upper", "must be a number above 1, got %v", *v)
	}
	core.CheckContributors(&ps, m.Least, m.Share)
	return ps
}

// CheckAmong: later masks must change neither the weights nor what they were calibrated to, nor which records leave.
func (m *Calibrate) checkAmong(masks []core.Spec, i int) check.Problems {
	ps := core.CheckDataset(masks, i, "", "")
	path := fmt.Sprintf("[%d].%s", i, masks[i].Kind())
	for j, other := range masks {
		if j == i || other.Params == nil {
			continue
		}
		for _, name := range other.Params.Masks() {
			switch {
			case slices.Contains(m.Columns, name):
				ps.Addf(path+".columns", "must be changed by no other mask, and mask [%d], a %s, changes %q", j, other.Kind(), name)
			case j > i && slices.Contains(m.Reads(), name):
				ps.Addf(path, "must come after mask [%d], a %s, which changes %q: its weighted totals would be others", j,
					other.Kind(), name)
			}
		}
		if j > i && core.Declared(other.Params).Rejects {
			ps.Addf(path, "must come after mask [%d], a %s, which may send records to quarantine whose weights count here", j,
				other.Kind())
		}
	}
	return ps
}

// Describe implements Params.
func (m *Calibrate) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, Reads: m.readColumns(), Weighs: true, Parameters: m.parameters,
		Action: m.action, Published: m, Instead: "the weights as they are, or round, which takes each record by itself",
		Among: m.checkAmong, OfNumber: true,
	}
}

// Masks implements Params.
func (m *Calibrate) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Calibrate) Reads() []string {
	return slices.Concat(m.By, m.On, slices.Sorted(maps.Keys(m.Margins)), slices.Sorted(maps.Keys(m.Totals)))
}

func (m *Calibrate) readColumns() []core.ReadColumn {
	var list []core.ReadColumn
	for i, name := range m.By {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("by[%d]", i), Name: name, As: "a margin of weights"})
	}
	for i, name := range m.On {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("on[%d]", i), Name: name, As: "a margin of weights"})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Margins)) {
		list = append(list, core.ReadColumn{Field: "margins." + name, Name: name, As: "a margin of weights"})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Totals)) {
		list = append(list, core.ReadColumn{Field: "totals." + name, Name: name, As: "a margin of weights"})
	}
	return list
}

func (m *Calibrate) bounds() (lower, upper float64) {
	upper = math.Inf(1)
	if m.Lower != nil {
		lower = *m.Lower
	}
	if m.Upper != nil {
		upper = *m.Upper
	}
	return lower, upper
}

// description lists all parameters, for the names of draws behind this mask.
func (m *Calibrate) description() string {
	lower, upper := m.bounds()
	demand := core.ContributorsOf(m.Least, m.Share)
	text := core.Part("calibrate", lower, upper, float64(demand.Least), demand.Share) + core.DigestOfTexts("by", m.By...) +
		core.DigestOfTexts("on", m.On...)
	for _, name := range slices.Sorted(maps.Keys(m.Margins)) {
		for _, category := range slices.Sorted(maps.Keys(m.Margins[name])) {
			text += core.DigestOfTexts("margin", name, category) + core.Part("total", m.Margins[name][category])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Totals)) {
		text += core.DigestOfTexts("number", name) + core.Part("total", m.Totals[name])
	}
	return text
}

func (m *Calibrate) parameters() []core.Parameter {
	var list []core.Parameter
	if len(m.By) > 0 {
		list = append(list, core.Parameter{Name: "by", Value: core.JsonWords(m.By)})
	}
	if len(m.On) > 0 {
		list = append(list, core.Parameter{Name: "on", Value: core.JsonWords(m.On)})
	}
	if m.Margins != nil {
		table := make(map[string]any, len(m.Margins))
		for name, margin := range m.Margins {
			table[name] = numbersAny(margin)
		}
		list = append(list, core.Parameter{Name: "margins", Value: table})
	}
	if m.Totals != nil {
		list = append(list, core.Parameter{Name: "totals", Value: numbersAny(m.Totals)})
	}
	list = core.WithNumber(list, "lower", m.Lower)
	return core.WithContributors(core.WithNumber(list, "upper", m.Upper), m.Least, m.Share)
}

func numbersAny(of map[string]float64) map[string]any {
	table := make(map[string]any, len(of))
	for name, v := range of {
		table[name] = v
	}
	return table
}

func (m *Calibrate) action(string, float64) core.Action {
	if m.Columns == nil {
		return nil
	}
	return core.Calibration{}
}

// PublishedAction implements Publishing.
func (m *Calibrate) PublishedAction(core.Published, string) core.Action { return core.Calibration{} }

// Words implements Publishing.
func (m *Calibrate) Words(p core.Published, _ string) string {
	s := "calibration: the weights were multiplied by factors so that weighted totals of released columns are given ones"
	var of []string
	for _, name := range []string{"by", "on"} {
		of = append(of, p.List(name)...)
	}
	for _, name := range []string{"margins", "totals"} {
		v, _ := p.Parameters(name)
		table, _ := v.(map[string]any)
		of = append(of, slices.Sorted(maps.Keys(table))...)
	}
	if len(of) > 0 {
		s += ", those of " + strings.Join(of, ", ")
	}
	lower, low := p.Float("lower")
	upper, up := p.Float("upper")
	switch {
	case low && up:
		s += "; each factor lies between " + p.Number(lower) + " and " + p.Number(upper)
	case low:
		s += "; each factor is greater than " + p.Number(lower)
	case up:
		s += "; each factor is less than " + p.Number(upper)
	}
	return s
}

// EfficiencyFollows implements Publishing: weights are not measured as values of respondents are.
func (m *Calibrate) EfficiencyFollows(_, _ func(string) bool) bool { return false }

// Compile: in a replicate the mask does nothing, since weights are not measured there.
func (m *Calibrate) Compile(c *core.Chain, i int) (core.Step, error) {
	if c.ReplicateNumber != 0 {
		if col := c.Touch(m.Columns[0]); col != nil {
			c.AddToHistory(i, col, m.description())
		}
		return idle{}, nil
	}
	s := &calibrateStep{mask: i, params: m}
	if len(m.Columns) != 1 {
		return nil, fmt.Errorf("%s.columns: must be one column", c.At(i))
	}
	col, err := c.Arithmetic(i, m.Columns[0])
	if err != nil {
		return nil, err
	}
	s.weight = col
	for j, name := range m.By {
		if err := s.addCategories(c, fmt.Sprintf("by[%d]", j), name, nil); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Margins)) {
		if err := s.addCategories(c, "margins."+name, name, m.Margins[name]); err != nil {
			return nil, err
		}
	}
	for j, name := range m.On {
		if err := s.addNumbers(c, fmt.Sprintf("on[%d]", j), name, 0); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Totals)) {
		if err := s.addNumbers(c, "totals."+name, name, m.Totals[name]); err != nil {
			return nil, err
		}
	}
	c.AddToHistory(i, col, m.description()+c.DigestOf("columns", m.Columns...))
	return s, nil
}

func (s *calibrateStep) addCategories(c *core.Chain, path, name string, given map[string]float64) error {
	col := c.Lookup(name)
	if col == nil {
		return fmt.Errorf("%s.%s: there is no column %s", c.At(s.mask), path, strconv.Quote(name))
	}
	k := &categoryMargin{Column: col, path: path}
	if given != nil {
		listed := slices.Sorted(maps.Keys(given))
		of, err := c.CategoriesOf(s.mask, col, path, path, listed)
		if err != nil {
			return err
		}
		k.listed = of
		for _, category := range listed {
			k.totals = append(k.totals, given[category])
		}
		s.categories = append(s.categories, k)
		return nil
	}
	if !coding.Movable(col.Field.Type) {
		return fmt.Errorf("%s.%s: column %s must have a scalar type so that its values can be compared", c.At(s.mask), path,
			strconv.Quote(name))
	}
	maps, moves := -1, -1
	for j, other := range c.Masks[:s.mask] {
		switch p := other.Params; {
		case !slices.Contains(p.Masks(), name):
		case core.ScopeOf(p) == core.ScopeRecord && !slices.ContainsFunc(c.DrawNames,
			func(d core.DrawName) bool { return d.Mask == j }):
			maps = j
		default:
			moves = j
		}
	}
	if maps >= 0 && moves >= 0 {
		return fmt.Errorf(
			"%s.%s: the totals of column %s cannot be taken from the original, whose categories masks[%d] maps to others before or after masks[%d] draws them: give the totals (margins)", c.At(s.mask), path, strconv.Quote(name), maps, moves)
	}
	k.drawn = moves >= 0
	s.categories = append(s.categories, k)
	return nil
}

func (s *calibrateStep) addNumbers(c *core.Chain, path, name string, given float64) error {
	col := c.Lookup(name)
	if col == nil {
		return fmt.Errorf("%s.%s: there is no column %s", c.At(s.mask), path, strconv.Quote(name))
	}
	if !col.Field.Numeric() {
		return fmt.Errorf("%s.%s: column %s must be numeric, as it is released", c.At(s.mask), path, strconv.Quote(name))
	}
	s.numbers = append(s.numbers, &numberMargin{Column: col, path: path, total: given})
	return nil
}

// idle is the step of a mask that does nothing in a replicate.
type idle struct{}
