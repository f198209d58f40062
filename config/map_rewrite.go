package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Rewritten returns the text of the configuration file with the masks of a
// strategy and the values that were chosen for its axes, by path; an axis
// without a value keeps what the file says. Everything else, comments and
// ${…} included, stands as it stands: of the configured masks only the numbers
// change, byte for byte; for another strategy the list under masks gives way to
// a copy of the strategy's.
//
// The text is read again, with the environment and the settings of the command
// line as at first (but without settings of what is rewritten), and must give
// the masks of the map. The error says what is in the way: a value that the
// masks do not allow, a mask or a value that a setting of the command line or
// the environment brought in and the file does not have.
func (p *Pipeline) Rewritten(strategy string, values map[string]float64) ([]byte, error) {
	if p.Map == nil || p.loaded == nil {
		return nil, p.Errorf("map", "must be given in a configuration file for its choice to be written there")
	}
	v, ok := p.variant(strategy)
	if !ok {
		return nil, p.Errorf("map.strategies", "has none of the name %q", strategy)
	}
	r := rewriting{p: p, variant: v, configured: strategy == Configured}
	if err := r.choose(values); err != nil {
		return nil, err
	}
	d, err := form.NewDocument(p.loaded.File(), p.loaded.Text())
	if err != nil {
		return nil, err
	}
	text, err := r.text(d)
	if err != nil {
		return nil, err
	}
	if err := r.verify(d, []byte(text)); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// Choice says in words what Rewritten writes: the strategy, where it is not that of the
// configured masks, and each value as the file has it, a percentage as a percentage.
func (p *Pipeline) Choice(strategy string, values map[string]float64) (string, error) {
	if p.Map == nil {
		return "", p.Errorf("map", "must be given for one of its strategies to be chosen")
	}
	v, ok := p.variant(strategy)
	if !ok {
		return "", p.Errorf("map.strategies", "has none of the name %q", strategy)
	}
	r := rewriting{p: p, variant: v}
	if err := r.choose(values); err != nil {
		return "", err
	}
	var words []string
	if strategy != Configured {
		words = append(words, strategy)
	}
	for i, a := range r.axes {
		words = append(words, a.String()+" "+r.texts[i])
	}
	return strings.Join(words, ", "), nil
}

// variant finds what is compared under a name.
func (p *Pipeline) variant(name string) (variant, bool) {
	variants, _ := p.variants()
	for _, v := range variants {
		if v.name == name {
			return v, true
		}
	}
	return variant{}, false
}

// rewriting is one call of Rewritten.
type rewriting struct {
	p          *Pipeline
	variant             // with the axes that have a value
	texts      []string // of the values, as they are written
	masks      []transform.Spec
	configured bool
}

// choose takes the values as they are read back from what is written.
func (r *rewriting) choose(values map[string]float64) error {
	chosen := make(map[string]float64, len(values))
	for path, value := range values {
		param, _ := parseParameter(path)
		if !slices.ContainsFunc(r.axes, func(a axis) bool { return a.String() == param.String() }) {
			return r.p.Errorf(r.path, "must have the parameter %s among those that vary", path)
		}
		chosen[param.String()] = value
	}
	r.axes = slices.DeleteFunc(r.axes, func(a axis) bool { _, given := chosen[a.String()]; return !given })
	read := make([]float64, len(r.axes))
	for i, a := range r.axes {
		text := a.written(chosen[a.String()])
		var amount transform.Amount
		if err := amount.UnmarshalText([]byte(text)); err != nil {
			return r.p.Errorf(a.field, "%v", err)
		}
		read[i] = amount.Value
		r.texts = append(r.texts, text)
	}
	masks, wrong := r.place(r.p, read)
	if wrong != nil {
		return *wrong
	}
	r.masks = masks
	return nil
}

// text is the new text of the file.
func (r *rewriting) text(d *form.Document) (string, error) {
	list := r.list(d)
	var edits []form.Edit
	for i, a := range r.axes {
		mapping := a.holder(list)
		if mapping == nil {
			return "",
				r.p.Errorf(r.path, "must have %s in the file itself, where its value can be written; it was set from outside", a)
		}
		edits = append(edits, d.Set(mapping, a.fields[len(a.fields)-1], r.texts[i], a.form.Type == amountType))
	}
	if r.configured {
		return d.Edited(edits...), nil
	}
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return "", r.p.Errorf(r.path, "must stand in the file itself, where it can be copied from; it was set from outside")
	}
	return d.Edited(d.ReplaceList("masks", list, d.ListText(list, edits...))), nil
}

// list is the node of the strategy's masks in the file, nil where there is none.
func (r *rewriting) list(d *form.Document) *yaml.Node {
	steps := []form.Step{{Name: "masks"}}
	if !r.configured {
		at := slices.IndexFunc(r.p.Map.Strategies, func(s Strategy) bool { return s.Name == r.name })
		steps = []form.Step{{Name: "map"}, {Name: "strategies"}, {Index: at}, {Name: "masks"}}
	}
	return d.At(steps...)
}

// holder is the mapping, below the node of a list of masks, that the parameter is
// a member of; nil where the file does not have it.
func (p parameter) holder(list *yaml.Node) *yaml.Node {
	steps := []form.Step{{Index: p.mask}, {Name: p.kind}}
	for _, field := range p.fields[:len(p.fields)-1] {
		st := form.Step{Name: field}
		if at, is := position(field); is {
			st = form.Step{Index: at}
		}
		steps = append(steps, st)
	}
	if n := form.Follow(list, steps...); n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		return n
	}
	return nil
}

// verify demands that the new text says what was meant and nothing else.
func (r *rewriting) verify(old *form.Document, text []byte) error {
	l := r.p.loaded
	changed, err := form.NewDocument(l.File(), text)
	if err != nil {
		return fmt.Errorf("the rewritten configuration cannot be read: %w", err)
	}
	if !form.SameBut(old, changed, "masks") {
		return r.p.Errorf(r.path, "cannot be rewritten in the way that this file is written; write it by hand")
	}
	options := l.Options()
	options.Set = slices.DeleteFunc(slices.Clone(options.Set), r.concerned)
	q, err := Parse(l.File(), text, options)
	if err != nil {
		return fmt.Errorf("the rewritten configuration is not valid: %w", err)
	}
	if !reflect.DeepEqual(q.Masks, r.masks) {
		return r.p.Errorf(r.path,
			"would not take effect as mapped: settings of masks from outside the file (%s) would change them",
			strings.Join(l.origins(), ", "))
	}
	return nil
}

// concerned reports whether a setting of the command line is of what is
// rewritten.
func (r *rewriting) concerned(flag string) bool {
	path, ok := form.FlagPath(flag)
	if top, _, _ := strings.Cut(path, "."); !ok || top != "masks" {
		return false
	}
	return !r.configured || slices.ContainsFunc(r.axes, func(a axis) bool { return a.String() == path })
}

// origins are the settings of masks that are not from the file.
func (l *loader) origins() []string {
	return slices.DeleteFunc(l.Origins(), func(origin string) bool {
		return !strings.Contains(strings.ToLower(origin), "masks")
	})
}
