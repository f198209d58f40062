package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// validateMap judges the map section and fills in its column. An axis of the
// map that fits no list of masks is warned of here and an error of MapStrategies:
// when a strategy has become the pipeline's own, the axes of the former masks
// are still there, and the pipeline must run.
func (l *loader) validateMap(p *Pipeline) {
	m := p.Map
	if m == nil || !l.Known("map") {
		return
	}
	if len(m.Vary) == 0 && len(m.Strategies) == 0 && l.Sound("map.vary", "map.strategies") {
		l.Wrong("map", "must have vary or strategies, which say what is compared")
	}
	l.validateAxes("map.vary", m.Vary)
	l.validateStrategies(p)
	var ps check.Problems
	if ps.AtLeast("margin", m.Margin, 0); l.Sound("map.margin") {
		l.Within("map", ps)
	}
	l.validateMapColumn(p)
	l.validateBy(p)
	own := slices.ContainsFunc(m.Strategies, func(s Strategy) bool { return len(s.Vary) > 0 })
	if m.Search && len(m.Vary) == 0 && !own && l.Sound("map") {
		l.Wrong("map.search", "needs vary: without a parameter that varies over a range there is no boundary to find")
	}
	if l.Sound("map", "masks") {
		l.validateGrid(p)
	}
}

// validateAxes judges the axes of a section one by one.
func (l *loader) validateAxes(section string, axes Axes) {
	first := make(map[string]string, len(axes))
	for _, a := range axes {
		path := form.Join(section, a.Path)
		param, wrong := parseParameter(a.Path)
		if wrong != "" {
			l.WrongName(path, "%s", wrong)
			continue
		}
		if before, again := first[param.String()]; again {
			l.WrongName(path, "must not be given again, as %s", before)
			continue
		}
		first[param.String()] = a.Path
		l.validateAxis(path, a, param)
	}
}

func (l *loader) validateAxis(path string, a Axis, param parameter) {
	a = a.of(param)
	var ps check.Problems
	ps.Whole("steps", a.Steps, 2, 1000)
	for _, end := range []struct {
		field string
		transform.Amount
	}{{"from", a.From}, {"to", a.To}} {
		switch v := end.Value; {
		case math.IsNaN(v) || math.Abs(v) > 1e300:
			ps.Addf(end.field, "must be a finite number, or a percentage")
		case end.Relative && param.form.Type != amountType:
			ps.Addf(end.field, "must be a number, got %s: %s takes no percentage", percentage(v), param)
		case param.form.Type.Kind() == reflect.Int && v != math.Trunc(v):
			ps.Addf(end.field, "must be a whole number, as %s is, got %s", param, form.Number(v))
		}
	}
	if l.Within(path, ps); !l.Sound(path) {
		return
	}
	from, to := amountText(a.From), amountText(a.To)
	lo, hi := a.From.Value, a.To.Value
	switch {
	case a.From.Relative != a.To.Relative:
		l.Wrong(path+".to", "must be written as from is, both as percentages or both as numbers, got %s and %s", from, to)
	case lo >= hi:
		l.Wrong(path+".to", "must be greater than from, which is %s, got %s", from, to)
	case hi-lo < 1e-6*max(math.Abs(lo), math.Abs(hi)):
		l.Wrong(path+".to", "must differ from from by more than a millionth, got %s and %s", from, to)
	case a.Scale == Log && lo <= 0:
		l.Wrong(path+".from", "must be greater than 0 for scale: log, got %s", from)
	case a.Scale == Variance && lo < 0:
		l.Wrong(path+".from", "must be at least 0 for scale: variance, got %s", from)
	}
}

func amountText(a transform.Amount) string {
	if a.Relative {
		return percentage(a.Value)
	}
	return form.Number(a.Value)
}

func (l *loader) validateStrategies(p *Pipeline) {
	for i, s := range p.Map.Strategies {
		path := fmt.Sprintf("map.strategies[%d]", i)
		if l.Given(path+".name") && l.Sound(path+".name") {
			switch same := slices.IndexFunc(p.Map.Strategies[:i], func(before Strategy) bool { return before.Name == s.Name }); {
			case strings.TrimSpace(s.Name) == "":
				l.Wrong(path+".name", "must not be empty")
			case s.Name == Configured:
				l.Wrong(path+".name", "must not be %q, which is the name of the pipeline's own masks on the map", s.Name)
			case same >= 0:
				l.Wrong(path+".name", "must differ from the name of strategies[%d], got %q again", same, s.Name)
			}
		}
		if l.Given(path+".masks") && l.Known(path+".masks") && len(s.Masks) == 0 {
			l.Wrong(path+".masks", "must list at least one mask")
		}
		l.validateMaskList(p, path+".masks", s.Masks)
		l.validateAxes(path+".vary", s.Vary)
		if !l.Sound(path + ".masks") {
			continue
		}
		for _, a := range s.Vary.axes(path + ".vary") {
			if why := a.misfit(s.Masks); why != "" && l.Sound(a.field) {
				l.WrongName(a.field, "must name a parameter of the strategy's own masks, but %s", why)
			}
		}
	}
}

// validateMapColumn demands that the column is masked, and chooses it if none is given.
func (l *loader) validateMapColumn(p *Pipeline) {
	const path = "map.column"
	if l.Misspelt("map", "column") {
		return
	}
	m := p.Map
	if !l.Sound(path, "masks", "map.strategies") || l.validateMapCategories(p) {
		return
	}
	if !l.Given(path) {
		switch columns := numericColumns(p); len(columns) {
		case 0:
			l.WrongAt("map", path, "is required: no mask says by itself that its columns are numbers")
			return
		case 1:
			m.Column = columns[0]
		default:
			l.WrongAt("map", path, "is required, since several columns are masked: %s", strings.Join(columns, ", "))
			return
		}
	}
	if l.listed(p, path, m.Column) == nil {
		return
	}
	if masksColumn(p.Masks, m.Column) {
		return
	}
	without := slices.IndexFunc(m.Strategies, func(s Strategy) bool { return !masksColumn(s.Masks, m.Column) })
	switch {
	case len(m.Strategies) == 0:
		l.Wrong(path, "must be a column that is masked, got %q%s", m.Column, form.ThereAre(maskedColumns(p.Masks)))
	case without >= 0:
		l.Wrong(path, "must be masked by the configured masks or by every strategy, and neither they nor %q mask %q",
			m.Strategies[without].Name, m.Column)
	}
}

// validateMapCategories checks the columns of a map of categories, and reports whether the map
// is one.
func (l *loader) validateMapCategories(p *Pipeline) bool {
	const list = "map.categories"
	m := p.Map
	if !l.Given(list) {
		return false
	}
	if len(m.Categories) == 0 && l.Sound(list) {
		l.Wrong(list, "must name at least one column")
	}
	if l.Given("map.column") {
		l.Wrong("map.column", "must be left out with categories: the map is of those")
	}
	if len(m.By) > 0 && l.Sound("map.by") {
		l.Wrong("map.by", "must be left out with categories, for which there is no map by groups")
	}
	for i, name := range m.Categories {
		path := fmt.Sprintf("%s[%d]", list, i)
		masked := masksColumn(p.Masks, name) || slices.ContainsFunc(m.Strategies, func(s Strategy) bool {
			return masksColumn(s.Masks, name)
		})
		switch {
		case l.listed(p, path, name) == nil:
		case !masked:
			l.Wrong(path, "must be a column that is masked, got %q%s", name, form.ThereAre(maskedColumns(p.Masks)))
		case slices.Contains(m.Categories[:i], name):
			l.Wrong(path, "must not repeat a column, got %q again", name)
		case !slices.Contains(p.Assess.IntruderKeys(), name) && l.Sound("assess.keys"):
			l.Wrong(path, "must be one of %s, got %q%s", p.Assess.keysWords(), name, form.Instead(name, p.Assess.IntruderKeys()))
		}
	}
	return true
}

func masksColumn(masks []transform.Spec, column string) bool {
	return slices.Contains(maskedColumns(masks), column)
}

// maskedColumns are the columns that the masks change, each once.
func maskedColumns(masks []transform.Spec) []string {
	var columns []string
	for _, spec := range masks {
		for _, name := range spec.Params.Masks() {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// numericColumns are the masked columns that are known to be numbers. A swap
// exchanges values of any kind: a column that is only swapped is one of numbers
// where it has decimals, or where it is the only one that is masked.
func numericColumns(p *Pipeline) []string {
	masks := slices.Clone(p.Masks)
	for _, s := range p.Map.Strategies {
		masks = append(masks, s.Masks...)
	}
	all := maskedColumns(masks)
	if len(all) == 1 {
		return all
	}
	arithmetic := maskedColumns(slices.DeleteFunc(masks, func(spec transform.Spec) bool {
		return !transform.Computes(spec.Params)
	}))
	return slices.DeleteFunc(all, func(name string) bool {
		c := p.Columns.Named(name)
		return !slices.Contains(arithmetic, name) && (c == nil || c.Decimals == nil)
	})
}

func (l *loader) validateBy(p *Pipeline) {
	for i, name := range p.Map.By {
		path := fmt.Sprintf("map.by[%d]", i)
		c := l.listed(p, path, name)
		switch {
		case c == nil:
		case c.Role == microdata.Identifier:
			l.Wrong(path,
				"must be a column that is released, got %q, an identifier: groups of its values would be single respondents", name)
		case name == p.Map.Column:
			l.Wrong(path, "must not be the column that is mapped, got %q", name)
		case slices.Contains(p.Map.By[:i], name):
			l.Wrong(path, "must not repeat a column, got %q again", name)
		}
	}
}

// validateGrid demands that there are not too many points, and that the masks
// are possible at each of them. What masks demand of their numbers are bounds
// and orders, so what holds at the corners of a grid holds within it; there are
// no more corners than points.
func (l *loader) validateGrid(p *Pipeline) {
	variants, idle := p.variants()
	for _, a := range idle {
		p.Warnings = append(p.Warnings, a.field+" "+a.fitsNone(p))
	}
	points := 0
	for _, v := range variants {
		grid := 1
		for _, a := range v.axes {
			grid = min(grid*len(a.values()), maxMapPoints+1)
		}
		points += grid
	}
	if points > maxMapPoints {
		l.Wrong("map",
			"must have at most %d points, the steps of all axes multiplied and summed over the strategies; give fewer steps",
			maxMapPoints)
		return
	}
	l.validateSamples(p, variants)
	for _, v := range variants {
		if wrong := v.corners(p); wrong != nil {
			l.Add(*wrong)
		}
	}
}

// corners makes the masks of every corner of the grid, and returns the first
// error.
func (v variant) corners(p *Pipeline) *Error {
	values := make([]float64, len(v.axes))
	for corner := range 1 << len(v.axes) {
		for i, a := range v.axes {
			values[i] = a.From.Value
			if corner>>i&1 == 1 {
				values[i] = a.To.Value
			}
		}
		if _, wrong := v.place(p, values); wrong != nil {
			return wrong
		}
	}
	return nil
}

// validateAxesOnce refuses percentages of a standard deviation that is not known
// before the records are masked.
func (l *loader) validateAxesOnce(p *Pipeline, section string, axes Axes, once string) {
	for _, a := range axes {
		if path := form.Join(section, a.Path); a.From.Relative && p.Profile == "" && l.Sound(path) {
			l.Wrong(path+".from",
				"must be a number in the column's unit: %s, and the standard deviation that a percentage refers to is not known then; or name a profile", once)
		}
	}
}
