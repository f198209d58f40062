package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// parameter is a number among the parameters of a mask: what an axis runs over.
type parameter struct {
	mask   int        // index in a list of masks
	kind   string     // of the mask
	fields []string   // from the mask's parameters to the number: tiers, 0, above
	form   *form.Form // of the number
	share  bool       // it is a share, of which a percentage is another way to write it
}

// String is the parameter's path: masks.1.noise.sd.
func (p parameter) String() string {
	return fmt.Sprintf("masks.%d.%s.%s", p.mask, p.kind, joined(p.fields))
}

func joined(fields []string) string { return strings.Join(fields, ".") }

// whole reports whether the parameter is a whole number.
func (p parameter) whole() bool { return p.form.Type.Kind() == reflect.Int }

// leavesOut reports whether the parameter decides which records are released.
func (p parameter) leavesOut() bool {
	at := slices.IndexFunc(transform.Kinds(), func(k transform.Kind) bool { return k.Name == p.kind })
	return at >= 0 && transform.LeavesOut(transform.Kinds()[at].New())
}

// maskForm is the form of one mask.
var maskForm = sync.OnceValue(func() *form.Form { return dialect().Of(specType) })

// parseParameter parses a path as --set takes it, for any list of masks; misfit finds out
// whether a given list has the mask.
func parseParameter(path string) (p parameter, wrong string) {
	segments := strings.Split(form.Dotted(path), ".")
	if segments[0] != "masks" {
		return p, "must begin with masks and name a parameter of a mask, as in masks.0.noise.sd"
	}
	var ok bool
	if len(segments) < 4 {
		return p, "must name a parameter of a mask, as in masks.0.noise.sd"
	}
	if p.mask, ok = position(segments[1]); !ok {
		return p, fmt.Sprintf("must give the mask by its number, from 0, after masks, got %q", segments[1])
	}
	kinds := maskForm().Choices()
	p.kind = segments[2]
	if !slices.Contains(kinds, p.kind) {
		return p, fmt.Sprintf("must name a kind of mask after its number, got %q%s", p.kind, form.Instead(p.kind, kinds))
	}
	p.form, p.fields = maskForm().Member(p.kind).Form, segments[3:]
	trail := fmt.Sprintf("masks.%d.%s", p.mask, p.kind)
	for _, segment := range p.fields {
		switch p.form.Shape {
		case form.Record:
			m := p.form.Member(segment)
			if m == nil {
				return p, fmt.Sprintf("has no field %q in %s%s", segment, trail, form.Instead(segment, p.form.Names()))
			}
			p.form, p.share = m.Form, m.Share()
		case form.List:
			if _, ok := position(segment); !ok {
				return p, fmt.Sprintf("must give an element of %s by its number, from 0, got %q", trail, segment)
			}
			p.form, p.share = p.form.Elem, false
		case form.Dict:
			return p, ofMapping(trail)
		default:
			return p, fmt.Sprintf("must end at %s, a single value, got %q behind it", trail, segment)
		}
		trail = form.Join(trail, segment)
	}
	switch {
	case p.form.Shape == form.Record:
		return p, fmt.Sprintf("must name a number; %s is a mapping, go on with a dot and a field%s", trail,
			form.ThereAre(p.form.Names()))
	case p.form.Shape == form.List:
		return p, fmt.Sprintf("must name a number; %s is a list, go on with a dot and the number of an element", trail)
	case p.form.Shape == form.Dict:
		return p, ofMapping(trail)
	case p.form.Type.Kind() == reflect.Bool:
		return p,
			fmt.Sprintf(
				"must name a parameter that is a number, and %s is true or false; give it in map.strategies, each of which has a list of masks of its own", trail)
	case p.form.Type != amountType && p.form.Type.Kind() != reflect.Float64 && p.form.Type.Kind() != reflect.Int:
		return p, fmt.Sprintf("must name a parameter that is a number, and %s is text", trail)
	}
	return p, ""
}

// ofMapping refuses what belongs together, such as the probabilities of a row.
func ofMapping(trail string) string {
	return fmt.Sprintf(
		"must name a number by itself, and those of %s belong together; give each in map.strategies, in a list of masks of its own", trail)
}

// position reads the number of an element.
func position(segment string) (int, bool) {
	i, err := strconv.Atoi(segment)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == segment
}

// misfit says why a list of masks does not have the parameter; "" if it has, or could have.
func (p parameter) misfit(masks []transform.Spec) string {
	if p.mask >= len(masks) {
		return fmt.Sprintf("there %s, and masks.%d is not among them", are(len(masks), "mask"), p.mask)
	}
	spec := masks[p.mask]
	if kind := spec.Kind(); kind != p.kind {
		return fmt.Sprintf("masks.%d is %s, not %s", p.mask, kind, p.kind)
	}
	_, wrong := p.find(reflect.ValueOf(&spec).Elem(), false)
	return wrong
}

// find follows the fields through a mask; own says to make copies of the lists
// on the way.
func (p parameter) find(spec reflect.Value, own bool) (v reflect.Value, wrong string) {
	f := maskForm().Member(p.kind).Form
	v = spec
	for i, field := range p.fields {
		if f.Shape == form.Record {
			m := f.Member(field)
			v, f = m.Bind(v), m.Form
			continue
		}
		at, _ := position(field)
		if at >= v.Len() {
			return v, fmt.Sprintf("masks.%d.%s.%s has %s", p.mask, p.kind, joined(p.fields[:i]), count(v.Len(), "element"))
		}
		if own {
			elements := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(elements, v)
			v.Set(elements)
		}
		v, f = v.Index(at), f.Elem
	}
	return v, ""
}

// put gives the parameter a value in a mask that has it. The parameters that
// spec pointed to are left as they were.
func (p parameter) put(spec *transform.Spec, value float64, relative bool) {
	params := reflect.New(reflect.TypeOf(spec.Params).Elem())
	params.Elem().Set(reflect.ValueOf(spec.Params).Elem())
	spec.Params = params.Interface().(transform.Params)
	v, _ := p.find(reflect.ValueOf(spec).Elem(), true)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case p.form.Type == amountType:
		v.Set(reflect.ValueOf(transform.Amount{Value: value, Relative: relative}))
	case p.whole():
		v.SetInt(int64(math.Round(value)))
	default:
		v.SetFloat(value)
	}
}

func are(n int, what string) string {
	if n == 1 {
		return "is 1 " + what
	}
	return fmt.Sprintf("are %d %ss", n, what)
}
