package transform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// condition is one or more comparisons that a record must all meet.
type condition []comparison

// comparison compares a column of a record with a number or a text. A missing value meets none.
type comparison struct {
	column string
	op     string  // one of operators, never ==
	number float64 // for a text its code
	text   string
	ofText bool // with text, not with a number
}

// operators in the order in which they are tried: the longer ones first.
var operators = []string{"<=", ">=", "!=", "==", "<", ">", "="}

// holds reports whether a value, a number or the code of a text, meets the comparison.
func (c *comparison) holds(v float64) bool {
	switch {
	case v != v:
		return false
	case c.op == "<":
		return v < c.number
	case c.op == "<=":
		return v <= c.number
	case c.op == ">":
		return v > c.number
	case c.op == ">=":
		return v >= c.number
	case c.op == "!=":
		return v != c.number
	}
	return v == c.number
}

// name describes a comparison without ambiguity, for the names of draws.
func (c *comparison) name() string {
	value := strconv.FormatFloat(c.number+0, 'x', -1, 64)
	if c.ofText {
		value = strconv.Quote(c.text)
	}
	return fmt.Sprintf("%d:%s%s%s", len(c.column), c.column, c.op, value)
}

// names are those of all comparisons.
func (c condition) names() (list []string) {
	for i := range c {
		list = append(list, c[i].name())
	}
	return list
}

// columns are the columns that are compared, each once.
func (c condition) columns() (list []string) {
	for _, one := range c {
		if !slices.Contains(list, one.column) {
			list = append(list, one.column)
		}
	}
	return list
}

var errCondition = errors.New(
	`must be comparisons of a column with a number or a text (quoted where it is not one word), such as wage > 0 and status = employed`)

// parseCondition reads comparisons joined by "and". The name of a column that is not one word is quoted.
func parseCondition(text string) (condition, error) {
	var c condition
	for {
		one, rest, err := parseComparison(text)
		if err != nil {
			return nil, err
		}
		c = append(c, one)
		if rest == "" {
			return c, nil
		}
		word, after, _ := strings.Cut(rest, " ")
		if !strings.EqualFold(word, "and") {
			return nil, errCondition
		}
		text = after
	}
}

func parseComparison(text string) (c comparison, rest string, err error) {
	name, _, rest, ok := nextToken(text)
	if !ok || name == "" {
		return c, "", errCondition
	}
	c.column = name
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(rest, op) })
	if i < 0 {
		return c, "", errCondition
	}
	c.op = operators[i]
	value, quoted, rest, ok := nextToken(rest[len(c.op):])
	if c.op == "==" {
		c.op = "="
	}
	switch {
	case !ok:
		return c, "", errCondition
	case quoted && c.op != "=" && c.op != "!=":
		return c, "", errors.New("must compare a text by = or !=, as texts have no order here")
	case quoted:
		c.text, c.number, c.ofText = value, microdata.CategoryCode([]byte(value)), true
		return c, rest, nil
	}
	c.number, err = strconv.ParseFloat(value, 64)
	if word := err != nil && errors.Is(err, strconv.ErrSyntax) && !strings.EqualFold(value, "and"); word &&
		(c.op == "=" || c.op == "!=") {
		c.text, c.number, c.ofText = value, microdata.CategoryCode([]byte(value)), true // a text of one word
		return c, rest, nil
	}
	if err != nil || math.IsInf(c.number, 0) || c.number != c.number {
		return c, "", errCondition
	}
	return c, rest, nil
}

// nextToken takes a word or a quoted text from the front of a text, and the space around it.
func nextToken(text string) (value string, quoted bool, rest string, ok bool) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if text == "" {
		return "", false, "", false
	}
	if mark := text[0]; mark == '"' || mark == '\'' {
		value, rest, ok = strings.Cut(text[1:], string(mark))
		return value, true, strings.TrimLeftFunc(rest, unicode.IsSpace), ok
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>=!\"'", r) })
	if end < 0 {
		end = len(text)
	}
	return text[:end], false, strings.TrimLeftFunc(text[end:], unicode.IsSpace), end > 0
}

func kindOfValue(text bool) string {
	if text {
		return "a text in quotes, as it holds texts"
	}
	return "a number, as it holds numbers"
}
