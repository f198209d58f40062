package core

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

// Condition is one or more comparisons that a record must all meet.
type Condition []Comparison

// Comparison compares a column of a record with a number or a text. A missing value meets none.
type Comparison struct {
	Column string
	Op     string  // one of operators, never ==
	Number float64 // for a text its code
	Text   string
	OfText bool // with text, not with a number
}

// operators in the order in which they are tried: the longer ones first.
var operators = []string{"<=", ">=", "!=", "==", "<", ">", "="}

// Holds reports whether a value, a number or the code of a text, meets the comparison.
func (c *Comparison) Holds(v float64) bool {
	switch {
	case v != v:
		return false
	case c.Op == "<":
		return v < c.Number
	case c.Op == "<=":
		return v <= c.Number
	case c.Op == ">":
		return v > c.Number
	case c.Op == ">=":
		return v >= c.Number
	case c.Op == "!=":
		return v != c.Number
	}
	return v == c.Number
}

// Name describes a comparison without ambiguity, for the names of draws.
func (c *Comparison) Name() string {
	value := strconv.FormatFloat(c.Number+0, 'x', -1, 64)
	if c.OfText {
		value = strconv.Quote(c.Text)
	}
	return fmt.Sprintf("%d:%s%s%s", len(c.Column), c.Column, c.Op, value)
}

// Names are those of all comparisons.
func (c Condition) Names() (list []string) {
	for i := range c {
		list = append(list, c[i].Name())
	}
	return list
}

// Columns are the columns that are compared, each once.
func (c Condition) Columns() (list []string) {
	for _, one := range c {
		if !slices.Contains(list, one.Column) {
			list = append(list, one.Column)
		}
	}
	return list
}

var errCondition = errors.New(
	`must be comparisons of a column with a number or a text (quoted where it is not one word), such as wage > 0 and status = employed`)

// ParseCondition reads comparisons joined by "and". The name of a column that is not one word is quoted.
func ParseCondition(text string) (Condition, error) {
	var c Condition
	for {
		one, rest, err := ParseComparison(text)
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

// ParseComparison reads a comparison from the beginning of a text, and returns what follows it.
func ParseComparison(text string) (c Comparison, rest string, err error) {
	name, _, rest, ok := nextToken(text)
	if !ok || name == "" {
		return c, "", errCondition
	}
	c.Column = name
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(rest, op) })
	if i < 0 {
		return c, "", errCondition
	}
	c.Op = operators[i]
	value, quoted, rest, ok := nextToken(rest[len(c.Op):])
	if c.Op == "==" {
		c.Op = "="
	}
	switch {
	case !ok:
		return c, "", errCondition
	case quoted && c.Op != "=" && c.Op != "!=":
		return c, "", errors.New("must compare a text by = or !=, as texts have no order here")
	case quoted:
		c.Text, c.Number, c.OfText = value, microdata.CategoryCode([]byte(value)), true
		return c, rest, nil
	}
	c.Number, err = strconv.ParseFloat(value, 64)
	if word := err != nil && errors.Is(err, strconv.ErrSyntax) && !strings.EqualFold(value, "and"); word &&
		(c.Op == "=" || c.Op == "!=") {
		c.Text, c.Number, c.OfText = value, microdata.CategoryCode([]byte(value)), true // a text of one word
		return c, rest, nil
	}
	if err != nil || math.IsInf(c.Number, 0) || c.Number != c.Number {
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

// KindOfValue says what a value is in a message.
func KindOfValue(text bool) string {
	if text {
		return "a text in quotes, as it holds texts"
	}
	return "a number, as it holds numbers"
}
