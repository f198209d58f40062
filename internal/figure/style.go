package figure

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
)

// style holds the properties of an element that this package's figures use.
type style struct {
	fill, stroke, current      color.NRGBA
	fillCurrent, strokeCurrent bool // the paint is currentColor
	fillOpacity, strokeOpacity float64
	strokeWidth                float64
	dashes                     []float64
	size                       float64 // of the font
	bold, hidden, strokeFirst  bool
}

// initial is the style of an SVG without any.
var initial = style{fill: color.NRGBA{A: 255}, current: color.NRGBA{A: 255}, fillOpacity: 1, strokeOpacity: 1, strokeWidth: 1, size: 16}

// inherited is the style that children start from: every property here is one
// that SVG inherits.
func (s style) inherited() style { return s }

// colour is a paint with its opacity.
func (s style) colour(paint color.NRGBA, opacity float64) color.NRGBA {
	paint.A = uint8(float64(paint.A)*opacity + 0.5)
	return paint
}

// sheet is a style sheet of rules on classes and names of elements. Rules with
// pseudo-classes, and those within @media, are for readers at a screen and left
// out.
type sheet struct {
	variables map[string]string
	rules     []rule // in ascending precedence
}

type rule struct {
	parts        [][]string // compounds from the outermost, each a name or classes with their dot
	declarations [][2]string
	weight       int
}

func parseSheet(text string) (sheet, error) {
	s := sheet{variables: map[string]string{}}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		head, rest, ok := strings.Cut(text, "{")
		if !ok {
			return s, fmt.Errorf("style sheet: a rule without {")
		}
		// The block ends where as many braces close as have opened.
		depth, end := 1, -1
		for i, c := range rest {
			switch c {
			case '{':
				depth++
			case '}':
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		if end < 0 {
			return s, fmt.Errorf("style sheet: a rule without }")
		}
		body := rest[:end]
		text = rest[end+1:]
		head = strings.TrimSpace(head)
		switch {
		case strings.HasPrefix(head, "@"):
		case head == ":root":
			for _, d := range declarations(body) {
				s.variables[d[0]] = d[1]
			}
		default:
			for _, selector := range strings.Split(head, ",") {
				if !strings.Contains(selector, ":") {
					s.rules = append(s.rules, newRule(selector, declarations(body)))
				}
			}
		}
	}
	slices.SortStableFunc(s.rules, func(a, b rule) int { return a.weight - b.weight })
	return s, nil
}

func declarations(body string) [][2]string {
	var list [][2]string
	for _, d := range strings.Split(body, ";") {
		if name, value, ok := strings.Cut(d, ":"); ok {
			list = append(list, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return list
}

func newRule(selector string, body [][2]string) rule {
	r := rule{declarations: body}
	for _, compound := range strings.Fields(selector) {
		var part []string
		name, classes, _ := strings.Cut(compound, ".")
		if name != "" {
			part = append(part, name)
			r.weight++
		}
		if classes != "" {
			for _, c := range strings.Split(classes, ".") {
				part = append(part, "."+c)
				r.weight += 1000 // a class outweighs any number of names
			}
		}
		r.parts = append(r.parts, part)
	}
	return r
}

// matches says whether a rule's last compound is the innermost of the open
// elements and the others are around it, in their order.
func (r *rule) matches(open []*node) bool {
	k := len(r.parts) - 1
	if k < 0 || !is(open[len(open)-1], r.parts[k]) {
		return false
	}
	k--
	for i := len(open) - 2; i >= 0 && k >= 0; i-- {
		if is(open[i], r.parts[k]) {
			k--
		}
	}
	return k < 0
}

func is(n *node, compound []string) bool {
	for _, word := range compound {
		if class, ok := strings.CutPrefix(word, "."); ok && !slices.Contains(n.classes, class) || !ok && word != n.name {
			return false
		}
	}
	return true
}

// apply gives the innermost of the open elements its style.
func (s *sheet) apply(open []*node) error {
	n := open[len(open)-1]
	for i := range s.rules {
		if !s.rules[i].matches(open) {
			continue
		}
		for _, d := range s.rules[i].declarations {
			if err := n.style.set(d[0], s.value(d[1])); err != nil {
				return err
			}
		}
	}
	// currentColor is that of the very element.
	if n.style.fillCurrent {
		n.style.fill = n.style.current
	}
	if n.style.strokeCurrent {
		n.style.stroke = n.style.current
	}
	return nil
}

// value puts a variable's value in its place.
func (s *sheet) value(v string) string {
	if name, ok := strings.CutPrefix(v, "var("); ok {
		return s.variables[strings.TrimSuffix(name, ")")]
	}
	return v
}

// set gives a property its value; properties that change nothing in a raster are
// passed over.
func (s *style) set(name, value string) (err error) {
	number := func() (v float64) {
		v, err = strconv.ParseFloat(strings.TrimSuffix(value, "px"), 64)
		return v
	}
	switch name {
	case "fill":
		s.fill, s.fillCurrent, err = paint(value)
	case "stroke":
		s.stroke, s.strokeCurrent, err = paint(value)
	case "color":
		s.current, _, err = paint(value)
	case "fill-opacity":
		s.fillOpacity = number()
	case "stroke-opacity":
		s.strokeOpacity = number()
	case "stroke-width":
		s.strokeWidth = number()
	case "stroke-dasharray":
		s.dashes = nil
		if value != "none" {
			for _, w := range strings.Fields(value) {
				v, bad := strconv.ParseFloat(w, 64)
				if bad != nil || !(v > 0) {
					return fmt.Errorf("style sheet: stroke-dasharray: must be lengths above 0, got %q", value)
				}
				s.dashes = append(s.dashes, v)
			}
		}
	case "font":
		value, _, _ = strings.Cut(value, "/")
		s.size = number()
	case "font-size":
		s.size = number()
	case "font-weight":
		s.bold = number() >= 600
	case "visibility":
		s.hidden = value == "hidden"
	case "paint-order":
		s.strokeFirst = value == "stroke"
	}
	if err != nil {
		return fmt.Errorf("style sheet: %s: %q is not understood", name, value)
	}
	return nil
}

// paint reads none, transparent, currentColor, #rgb and #rrggbb.
func paint(value string) (c color.NRGBA, current bool, err error) {
	switch value {
	case "none", "transparent":
		return c, false, nil
	case "currentColor":
		return c, true, nil
	}
	hex, ok := strings.CutPrefix(value, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	if !ok || err != nil || len(hex) != 6 {
		return c, false, fmt.Errorf("no colour")
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, false, nil
}
