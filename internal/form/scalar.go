package form

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

var (
	wholeNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	realNumber  = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// Number writes a number as the shortest decimal that reads back the same.
func Number(v float64) string { return Plain(strconv.FormatFloat(v, 'e', -1, 64)) }

// Plain writes a number in scientific notation without an exponent where that is how people would write it.
func Plain(scientific string) string {
	v, err := strconv.ParseFloat(scientific, 64)
	if size := math.Abs(v); err != nil || size != 0 && (size < 1e-6 || size >= 1e15) {
		return scientific
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// WholeNumber reports whether a text is a whole number, as a configuration writes one.
func WholeNumber(text string) bool { return wholeNumber.MatchString(text) }

// decodeScalar reads a scalar node into v. What is wrong is returned in words,
// with the text as it stands in the file: what an expansion brought in is never
// shown, it may be secret.
func (r *Reading) decodeScalar(n *yaml.Node, v reflect.Value, may allowed) (wrong string) {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if isNull(n) {
			return "must be a value, got nothing"
		}
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			return err.Error()
		}
		return ""
	}
	switch v.Kind() {
	case reflect.String:
		return r.decodeText(n, v, may.words)
	case reflect.Bool:
		switch {
		case n.Tag == "!!bool":
			v.SetBool(strings.EqualFold(n.Value, "true"))
			return ""
		case n.Style&quoted != 0 && (n.Value == "true" || n.Value == "false"):
			return fmt.Sprintf("must be true or false, got text; remove the quotes around %s", r.text(n))
		}
		return "must be true or false, got " + r.describe(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.decodeWhole(n, v)
	case reflect.Float32, reflect.Float64:
		return r.decodeReal(n, v, may.share)
	}
	panic(fmt.Sprintf("form: a field of type %s cannot be configured", v.Type()))
}

// decodeReal reads a number, which where share is given may be a percentage.
func (r *Reading) decodeReal(n *yaml.Node, v reflect.Value, share string) (wrong string) {
	if share != "" {
		if x, ok := asShare(n); ok {
			if share == "whole" && x > 1 {
				return "must be at most 100%, got " + r.describe(n)
			}
			v.SetFloat(x)
			return ""
		}
	}
	if r.quotedNumber(n) {
		return fmt.Sprintf("must be a number, got text; remove the quotes around %s", r.text(n))
	}
	if n.Style&quoted != 0 || !realNumber.MatchString(n.Value) {
		return "must be a number, got " + r.describe(n)
	}
	x, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || math.IsInf(x, 0) {
		return fmt.Sprintf("must be a number that a double holds, got %s", r.text(n))
	}
	if share == "whole" && x > 1 {
		return fmt.Sprintf("must be a share from 0 to 1, or a percentage, got %s; write %v or %v%%", r.describe(n), x/100, x)
	}
	v.SetFloat(x)
	return ""
}

// synonym returns which of the words a word of other tools stands for, "" where it
// is one of them itself.
func (d *Dialect) synonym(v string, words []string) string {
	if word := d.Synonyms[strings.ToLower(v)]; slices.Contains(words, word) && !slices.Contains(words, v) {
		return word
	}
	return ""
}

// allowed is what a field's tags say of its values: words of which it is one, or
// that it is a share, which may be written as a percentage: "whole", of which there
// is at most 1, or "part", of which there may be more.
type allowed struct {
	words []string
	share string
}

// asShare reads "90%" as 0.9.
func asShare(n *yaml.Node) (share float64, ok bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(n.Value), "%")
	number = strings.TrimSpace(number)
	if !ok || !realNumber.MatchString(number) {
		return 0, false
	}
	x, err := strconv.ParseFloat(number, 64)
	// Divided as a decimal, so that 5% is 0.05 to the bit.
	return x / 100, err == nil && !math.IsInf(x, 0)
}

func (r *Reading) decodeText(n *yaml.Node, v reflect.Value, enum []string) (wrong string) {
	// What was set or expanded cannot be quoted where it comes from, so there any
	// text is taken as it is.
	_, free := r.written[n]
	if _, set := r.origin[n]; !set && !free && n.Style&quoted == 0 {
		switch n.Tag {
		case "!!null":
			if slices.Contains(enum, n.Value) {
				break // the word null
			}
			return "must be text, got nothing; remove the field or give it a value"
		case "!!int", "!!float", "!!bool":
			return fmt.Sprintf("must be text, got %s; write it in quotes: \"%s\"", r.describe(n), n.Value)
		}
	}
	if enum != nil {
		var ps check.Problems
		if word := r.dialect.synonym(n.Value, enum); word != "" {
			return fmt.Sprintf("must be one of %s, got %q, which is called %q here", strings.Join(enum, ", "), n.Value, word)
		}
		if ps.OneOf("", n.Value, enum...); len(ps) > 0 {
			return ps[0].Text
		}
	}
	v.SetString(n.Value)
	return ""
}

func (r *Reading) decodeWhole(n *yaml.Node, v reflect.Value) (wrong string) {
	if r.quotedNumber(n) {
		return fmt.Sprintf("must be a whole number, got text; remove the quotes around %s", r.text(n))
	}
	if n.Style&quoted != 0 || !wholeNumber.MatchString(n.Value) {
		hint := ""
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 &&
			r.written[n] == "" {
			hint = fmt.Sprintf("; write %.0f", x)
		}
		return "must be a whole number, got " + r.describe(n) + hint
	}
	x, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
	if err != nil {
		return fmt.Sprintf("must be a whole number of at most %d bits, got %s", v.Type().Bits(), r.text(n))
	}
	v.SetInt(x)
	return ""
}

func (r *Reading) quotedNumber(n *yaml.Node) bool {
	return n.Style&quoted != 0 && realNumber.MatchString(n.Value)
}

// text is a scalar as it stands in the file.
func (r *Reading) text(n *yaml.Node) string {
	if written, expanded := r.written[n]; expanded {
		return written
	}
	return n.Value
}

// describe says what a node is, for "must be …, got …".
func (r *Reading) describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	text := r.text(n)
	if width(text) > 60 {
		text = string([]rune(text)[:60]) + "…"
	}
	if _, expanded := r.written[n]; expanded {
		return fmt.Sprintf("the value of %q", text)
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "the number " + text
	case "!!bool":
		return text
	}
	return fmt.Sprintf("the text %q", text)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
