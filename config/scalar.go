package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

var (
	wholeNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	realNumber  = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// decodeScalar reads a scalar node into v. What is wrong is returned in words,
// with the text as it stands in the file: what an expansion brought in is never
// shown, it may be secret.
func (l *loader) decodeScalar(n *yaml.Node, v reflect.Value, enum []string) (wrong string) {
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
		return l.decodeText(n, v, enum)
	case reflect.Bool:
		switch {
		case n.Tag == "!!bool":
			v.SetBool(strings.EqualFold(n.Value, "true"))
			return ""
		case n.Style&quoted != 0 && (n.Value == "true" || n.Value == "false"):
			return fmt.Sprintf("must be true or false, got text; remove the quotes around %s", l.text(n))
		}
		return "must be true or false, got " + l.describe(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return l.decodeWhole(n, v)
	case reflect.Float32, reflect.Float64:
		if l.quotedNumber(n) {
			return fmt.Sprintf("must be a number, got text; remove the quotes around %s", l.text(n))
		}
		if n.Style&quoted != 0 || !realNumber.MatchString(n.Value) {
			return "must be a number, got " + l.describe(n)
		}
		x, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(x, 0) {
			return fmt.Sprintf("must be a number that a double holds, got %s", l.text(n))
		}
		v.SetFloat(x)
		return ""
	}
	panic(fmt.Sprintf("config: a field of type %s cannot be configured", v.Type()))
}

func (l *loader) decodeText(n *yaml.Node, v reflect.Value, enum []string) (wrong string) {
	// What was set or expanded cannot be quoted where it comes from, so there any
	// text is taken as it is.
	_, free := l.written[n]
	if _, set := l.origin[n]; !set && !free && n.Style&quoted == 0 {
		switch n.Tag {
		case "!!null":
			return "must be text, got nothing; remove the field or give it a value"
		case "!!int", "!!float", "!!bool":
			return fmt.Sprintf("must be text, got %s; write it in quotes: \"%s\"", l.describe(n), n.Value)
		}
	}
	if enum != nil {
		var ps check.Problems
		if ps.OneOf("", n.Value, enum...); len(ps) > 0 {
			return ps[0].Text
		}
	}
	v.SetString(n.Value)
	return ""
}

func (l *loader) decodeWhole(n *yaml.Node, v reflect.Value) (wrong string) {
	if l.quotedNumber(n) {
		return fmt.Sprintf("must be a whole number, got text; remove the quotes around %s", l.text(n))
	}
	if n.Style&quoted != 0 || !wholeNumber.MatchString(n.Value) {
		hint := ""
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 && l.written[n] == "" {
			hint = fmt.Sprintf("; write %.0f", x)
		}
		return "must be a whole number, got " + l.describe(n) + hint
	}
	x, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
	if err != nil {
		return fmt.Sprintf("must be a whole number of at most %d bits, got %s", v.Type().Bits(), l.text(n))
	}
	v.SetInt(x)
	return ""
}

func (l *loader) quotedNumber(n *yaml.Node) bool {
	return n.Style&quoted != 0 && realNumber.MatchString(n.Value)
}

// text is a scalar as it stands in the file.
func (l *loader) text(n *yaml.Node) string {
	if written, expanded := l.written[n]; expanded {
		return written
	}
	return n.Value
}

// describe says what a node is, for "must be …, got …".
func (l *loader) describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	text := l.text(n)
	if width(text) > 60 {
		text = string([]rune(text)[:60]) + "…"
	}
	if _, expanded := l.written[n]; expanded {
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
