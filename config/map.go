package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Map says what an R-U confidentiality map runs over. A run ignores it.
type Map struct {
	Column     string     `yaml:"column" doc:"the column whose risk and utility are mapped; may be left out if only one numeric column is masked"`
	Categories []string   `yaml:"categories" doc:"instead of column: masked categorical keys; utility is then the information that the released categories contain about the original ones, in bits, and risk is the probability that a record is found by its categorical keys"`
	Vary       Axes       `yaml:"vary" doc:"parameters that vary over a range, by path: masks.1.noise.sd; they vary in the configured masks and in every strategy that has such a mask at this place"`
	Strategies []Strategy `yaml:"strategies" doc:"other lists of masks to compare with the configured one"`
	By         []string   `yaml:"by" doc:"columns by which the records are grouped: risk and utility are also reported for each combination of their values"`
	Search     bool       `yaml:"search" default:"false" doc:"find the boundary of what the gate's rules allow by bisection, to 1 % of the parameter, instead of a grid"`
	Margin     float64    `yaml:"margin" default:"0" doc:"a point is admissible if the rules hold by this many Monte-Carlo standard errors of R; 0 (default): the estimate itself is compared"`
}

// Axes are the parameters that run over a range, in the order of the file.
type Axes []Axis

// Axis is one parameter and its range, both ends included.
type Axis struct {
	Path  string           `yaml:",name"` // as it is written: masks.1.noise.sd or masks[1].noise.sd
	From  transform.Amount `yaml:"from" required:"true" doc:"the least value: a number or, if the parameter allows it, a percentage"`
	To    transform.Amount `yaml:"to" required:"true" doc:"the greatest value, written in the same way as from"`
	Steps int              `yaml:"steps" default:"20" doc:"number of points on the axis, 2 to 1000, both ends included; for a parameter that is a whole number, at most the number of whole numbers in the range"`
	Scale string           `yaml:"scale" default:"linear" enum:"linear,log,variance" doc:"the axis has equal steps of the parameter (linear, default), of its logarithm (log), or of its square (variance)"`
}

// Strategy is a list of masks that is compared with the configured ones.
type Strategy struct {
	Name  string           `yaml:"name" required:"true" doc:"the strategy's name on the map"`
	Masks []transform.Spec `yaml:"masks" required:"true" doc:"the masks, in the order in which they apply"`
	Vary  Axes             `yaml:"vary" doc:"the parameters of these masks that vary over a range, instead of the map's: masks.0.swap.rate; {}: none"`
}

// How the points of an axis lie.
const (
	Linear   = "linear"   // equal steps of the parameter
	Log      = "log"      // equal steps of its logarithm
	Variance = "variance" // equal steps of its square
)

// Configured is the name of the configuration's own masks among the strategies of a map; rumap knows them by the same
// word.
const Configured = "configured"

// maxMapPoints bounds the points of a grid over all strategies.
const maxMapPoints = 10_000

// MapStrategy is one list of masks that a map compares.
type MapStrategy struct {
	Name string
	Path string // of its masks in the configuration, for Errorf: "masks", "map.strategies[0].masks"
	Axes []MapAxis
	// Masks returns the list of masks with one value for each axis put in its
	// place, in the order of Axes. The values need not be those of the grid; of
	// a whole-number parameter they are rounded. The error, an Error, names the
	// axis and what is wrong with the value, such as a lower bound above the
	// upper one. What is returned must not be changed: masks that no axis
	// concerns are those of the pipeline.
	Masks func(values []float64) ([]transform.Spec, error)
}

// MapAxis is one parameter of a strategy and the points of its grid, ascending.
type MapAxis struct {
	Path     string // masks.1.noise.sd, whichever way the configuration writes it
	Relative bool   // values are fractions of the column's standard deviation: 0.35 for 35 %
	Whole    bool   // values are whole numbers
	Values   []float64
	Scale    string // Linear, Log or Variance
	Leaves   bool   // the parameter decides which records are released
}

// MapStrategies returns what a map compares: the configured masks first, under
// the name Configured, where there are any, then the strategies in the
// order of the file. A strategy in which no axis of the map fits has none: it is
// one point. The error, of type Errors, names the axes that fit none of them,
// and says so where the configuration has no map.
func (p *Pipeline) MapStrategies() ([]MapStrategy, error) {
	if p.Map == nil {
		return nil,
			Errors{
				p.Errorf("map", "must be given: the parameters that vary (map.vary), or strategies to compare (map.strategies)")}
	}
	variants, idle := p.variants()
	if len(idle) > 0 {
		var errs Errors
		for _, a := range idle {
			errs = append(errs, p.Errorf(a.field, "%s", a.fitsNone(p)))
		}
		return nil, errs.Sorted()
	}
	strategies := make([]MapStrategy, len(variants))
	for i, v := range variants {
		strategies[i] = MapStrategy{Name: v.name, Path: v.path, Masks: func(values []float64) ([]transform.Spec, error) {
			masks, wrong := v.place(p, values)
			if wrong != nil {
				return nil, Errors{*wrong}
			}
			return masks, nil
		}}
		for _, a := range v.axes {
			strategies[i].Axes = append(strategies[i].Axes, MapAxis{
				Path: a.String(), Relative: a.From.Relative, Whole: a.whole(), Values: a.values(), Scale: a.Scale,
				Leaves: a.leavesOut(),
			})
		}
	}
	return strategies, nil
}

// variant is one list of masks that is compared, with the axes that fit it.
type variant struct {
	name  string
	path  string // of its masks in the configuration
	masks []transform.Spec
	axes  []axis
}

// axis is an axis whose path names a parameter.
type axis struct {
	Axis
	parameter
	field string // in the configuration: map.vary.masks.1.noise.sd
}

// axes parses the paths of a section of axes. Those that name no parameter are left out.
func (as Axes) axes(section string) []axis {
	var valid []axis
	for _, a := range as {
		if param, wrong := parseParameter(a.Path); wrong == "" {
			valid = append(valid, axis{Axis: a.of(param), parameter: param, field: form.Join(section, a.Path)})
		}
	}
	return valid
}

// of returns the axis with its ends as numbers where the parameter is a share: 5% is 0.05.
func (a Axis) of(p parameter) Axis {
	if p.share {
		a.From.Relative, a.To.Relative = false, false
	}
	return a
}

// variants returns what is compared, and the axes of the map that fit none.
func (p *Pipeline) variants() (vs []variant, idle []axis) {
	if len(p.Masks) > 0 {
		vs = append(vs, variant{name: Configured, path: "masks", masks: p.Masks})
	}
	own := make([]bool, len(vs)) // whether the axes are the strategy's own
	for i, s := range p.Map.Strategies {
		path := fmt.Sprintf("map.strategies[%d]", i)
		v := variant{name: s.Name, path: path + ".masks", masks: s.Masks}
		if s.Vary != nil {
			v.axes = fitting(s.Vary.axes(path+".vary"), s.Masks)
		}
		vs, own = append(vs, v), append(own, s.Vary != nil)
	}
	shared := p.Map.Vary.axes("map.vary")
	fits := make([]bool, len(shared))
	for i := range vs {
		if own[i] {
			continue
		}
		for k, a := range shared {
			if a.misfit(vs[i].masks) == "" {
				vs[i].axes = append(vs[i].axes, a)
				fits[k] = true
			}
		}
	}
	for k, a := range shared {
		if !fits[k] {
			idle = append(idle, a)
		}
	}
	return vs, idle
}

func fitting(axes []axis, masks []transform.Spec) []axis {
	return slices.DeleteFunc(axes, func(a axis) bool { return a.misfit(masks) != "" })
}

// fitsNone says why an axis of the map runs over nothing.
func (a axis) fitsNone(p *Pipeline) string {
	text := "must name a parameter of the configured masks or of a strategy without vary of its own"
	if why := a.misfit(p.Masks); why != "" {
		text += ", but " + why
	}
	return text
}

// place returns the masks with values for the axes, or what is wrong with them.
func (v variant) place(p *Pipeline, values []float64) ([]transform.Spec, *Error) {
	if len(values) != len(v.axes) {
		wrong := p.Errorf(v.path, "must be given one value for each of %s, got %s", count(len(v.axes), "parameter"),
			count(len(values), "value"))
		return nil, &wrong
	}
	masks := slices.Clone(v.masks)
	for i, a := range v.axes {
		a.put(&masks[a.mask], values[i], a.From.Relative)
	}
	for i, a := range v.axes {
		if slices.ContainsFunc(v.axes[:i], func(before axis) bool { return before.mask == a.mask }) {
			continue
		}
		if problems := masks[a.mask].Params.Check(); len(problems) > 0 {
			to := v.blame(a, problems[0].Path)
			where := strings.TrimSuffix(fmt.Sprintf("%s[%d].%s.%s", v.path, a.mask, a.kind, problems[0].Path), ".")
			wrong := p.Errorf(to.field, "makes the masks of %q impossible: %s %s", v.name, where, problems[0].Text)
			return nil, &wrong
		}
	}
	return masks, nil
}

// blame finds the axis that causes a problem of the mask of a: that of the parameter if it has
// one, otherwise a.
func (v variant) blame(a axis, problem string) axis {
	for _, other := range v.axes {
		if other.mask == a.mask && form.Dotted(problem) == joined(other.fields) {
			return other
		}
	}
	return a
}

// values returns the points of the axis, ascending. Each is a short decimal
// where one is within about 1e-12 of it, so that the value that is written into a
// configuration is to the bit the value that was mapped.
func (a axis) values() []float64 {
	from, to := a.From.Value, a.To.Value
	values := make([]float64, a.Steps)
	for i := range values {
		t := float64(i) / float64(a.Steps-1)
		var v float64
		switch {
		case i == 0:
			v = from
		case i == a.Steps-1:
			v = to
		case a.Scale == Log:
			v = math.Exp((1-t)*math.Log(from) + t*math.Log(to))
		case a.Scale == Variance:
			r := from / to // squares of the values themselves may overflow
			v = to * math.Sqrt(r*r+(1-r*r)*t)
		default:
			v = (1-t)*from + t*to
		}
		if a.whole() {
			v = math.Round(v)
		} else if i > 0 && i < a.Steps-1 {
			v = tidy(v, a.From.Relative)
		}
		values[i] = v
	}
	return slices.Compact(values)
}

// tidy returns a value near v that is read back from how it is written.
func tidy(v float64, relative bool) float64 {
	for range 17 { // digits, of which each round but the last takes one at least
		near := shorter(v, relative)
		if near == v {
			break
		}
		v = near // of which a shorter decimal may be within 1e-12 in turn
	}
	return v
}

// shorter returns the shortest decimal, or percentage, within 1e-12 of v.
func shorter(v float64, relative bool) float64 {
	if !relative {
		for digits := 1; digits < 17; digits++ {
			if near, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64); err == nil &&
				math.Abs(near-v) <= 1e-12*math.Abs(v) {
				return near
			}
		}
		return v
	}
	var a transform.Amount
	if err := a.UnmarshalText([]byte(percentage(v))); err != nil {
		return v
	}
	return a.Value
}

// percentage writes a fraction as the shortest percentage that reads back within
// 1e-12 of it.
func percentage(v float64) string {
	for digits := 1; digits <= 17; digits++ {
		text := form.Plain(strconv.FormatFloat(v*100, 'e', digits-1, 64))
		near, err := strconv.ParseFloat(text, 64)
		if err == nil && math.Abs(near/100-v) <= 1e-12*min(1, math.Abs(v)) {
			return text + "%"
		}
	}
	return form.Number(v*100) + "%"
}

// written writes a value of the axis as the configuration would have it.
func (a axis) written(v float64) string {
	if a.whole() {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return amountText(transform.Amount{Value: v, Relative: a.From.Relative})
}

var amountType = reflect.TypeFor[transform.Amount]()
