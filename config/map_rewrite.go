package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/internal/rumap"
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
	r := rewriting{p: p, variant: v, configured: strategy == rumap.Configured}
	if err := r.choose(values); err != nil {
		return nil, err
	}
	d, err := newDocument(p.loaded.file, p.loaded.source)
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
	var err error
	r.masks, err = r.place(r.p, read)
	return err
}

// text is the new text of the file.
func (r *rewriting) text(d *document) (string, error) {
	list := r.list(d.root)
	var edits []edit
	for i, a := range r.axes {
		mapping := a.holder(list)
		if mapping == nil {
			return "", r.p.Errorf(r.path, "must have %s in the file itself, where its value can be written; it was set from outside", a)
		}
		edits = append(edits, d.set(mapping, a.fields[len(a.fields)-1], r.texts[i], a.form.typ == amountType))
	}
	if r.configured {
		return d.edited(0, len(d.text), edits), nil
	}
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return "", r.p.Errorf(r.path, "must stand in the file itself, where it can be copied from; it was set from outside")
	}
	start, end := d.stretch(list)
	return d.edited(0, len(d.text), []edit{d.replaceMasks(list, d.edited(start, end, edits))}), nil
}

// list is the node of the strategy's masks in the file, nil where there is none.
func (r *rewriting) list(root *yaml.Node) *yaml.Node {
	steps := []step{{name: "masks"}}
	if !r.configured {
		at := slices.IndexFunc(r.p.Map.Strategies, func(s Strategy) bool { return s.Name == r.name })
		steps = []step{{name: "map"}, {name: "strategies"}, {index: at}, {name: "masks"}}
	}
	return follow(root, steps)
}

// follow goes down from a node, nil where it does not lead anywhere.
func follow(n *yaml.Node, steps []step) *yaml.Node {
	for _, st := range steps {
		kind := yaml.MappingNode
		if st.name == "" {
			kind = yaml.SequenceNode
		}
		if n == nil || n.Kind != kind {
			return nil
		}
		n = child(n, st)
	}
	return n
}

// holder is the mapping, below the node of a list of masks, that the parameter is
// a member of; nil where the file does not have it.
func (p parameter) holder(list *yaml.Node) *yaml.Node {
	steps := []step{{index: p.mask}, {name: p.kind}}
	for _, field := range p.fields[:len(p.fields)-1] {
		st := step{name: field}
		if at, is := position(field); is {
			st = step{index: at}
		}
		steps = append(steps, st)
	}
	if n := follow(list, steps); n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		return n
	}
	return nil
}

// replaceMasks returns the edit that puts the text of a list elsewhere in the
// document in place of the pipeline's masks.
func (d *document) replaceMasks(list *yaml.Node, text string) edit {
	if !flow(list) {
		text = indented(text, list.Column-1, 0)
	}
	old := child(d.root, step{name: "masks"})
	if old == nil {
		last := d.root.Content[len(d.root.Content)-1]
		name := "masks: "
		switch {
		case d.root.Content[0].Style&yaml.DoubleQuotedStyle != 0:
			name = `"masks": `
		case !flow(list):
			name, text = "masks:", d.eol+"  "+indented(text, 0, d.root.Column+1)
		}
		return d.add(d.root, d.end(last, d.root.Column-1), name+text)
	}
	var start, end int
	if old.Kind == yaml.SequenceNode {
		start, end = d.stretch(old)
	} else { // a settings' list over no list of the file's
		start, end = d.start(old), d.end(old, d.root.Column-1)
	}
	column := old.Column - 1
	switch block := old.Kind == yaml.SequenceNode && !flow(old); {
	case flow(list) && block && column == d.root.Column-1:
		text = "  " + text // what is in brackets must be indented, dashes need not
	case flow(list) && start > 0 && d.text[start-1] == ':':
		text = " " + text
	case flow(list):
	case block:
		text = indented(text, 0, column)
	case len(bytes.TrimSpace(d.text[d.lines[old.Line-1]:start])) == 0: // a line of its own
		text = indented(text, 0, column)
	default:
		start = len(bytes.TrimRight(d.text[:start], " \t"))
		comment := string(d.text[end:d.lineEnd(end)])
		end += len(comment)
		text = comment + d.eol + strings.Repeat(" ", d.root.Column+1) + indented(text, 0, d.root.Column+1)
	}
	return edit{start, end, text}
}

// verify demands that the new text says what was meant and nothing else.
func (r *rewriting) verify(old *document, text []byte) error {
	l := r.p.loaded
	changed, err := newDocument(l.file, text)
	if err != nil {
		return fmt.Errorf("the rewritten configuration cannot be read: %w", err)
	}
	if !sameButMasks(old.root, changed.root) {
		return r.p.Errorf(r.path, "cannot be rewritten in the way that this file is written; write it by hand")
	}
	options := l.options
	options.Set = slices.DeleteFunc(slices.Clone(options.Set), r.concerned)
	q, err := Parse(l.file, text, options)
	if err != nil {
		return fmt.Errorf("the rewritten configuration is not valid: %w", err)
	}
	if !reflect.DeepEqual(q.Masks, r.masks) {
		return r.p.Errorf(r.path, "would not take effect as mapped: settings of masks from outside the file (%s) would change them", strings.Join(l.origins(), ", "))
	}
	return nil
}

// concerned reports whether a setting of the command line is of what is
// rewritten.
func (r *rewriting) concerned(flag string) bool {
	s, err := flagSetting(flag)
	if err != nil || s.path[0] != "masks" {
		return false
	}
	return !r.configured || slices.ContainsFunc(r.axes, func(a axis) bool { return a.String() == joined(s.path) })
}

// origins are the settings of masks that are not from the file.
func (l *loader) origins() []string {
	var all []string
	for _, origin := range l.origin {
		if strings.Contains(strings.ToLower(origin), "masks") && !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	slices.Sort(all)
	return all
}

// sameButMasks reports whether two documents say the same except for the
// pipeline's masks.
func sameButMasks(a, b *yaml.Node) bool {
	without := func(root *yaml.Node) *yaml.Node {
		rest := *root
		rest.Content = nil
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value != "masks" {
				rest.Content = append(rest.Content, root.Content[i], root.Content[i+1])
			}
		}
		return &rest
	}
	return sameNodes(without(a), without(b))
}

func sameNodes(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Tag == b.Tag && a.Style == b.Style && slices.EqualFunc(a.Content, b.Content, sameNodes)
}
