package asked

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LinearModel is a linear regression in the notation of R, as log(wage) ~ education + I(experience^2) + sex:region.
type LinearModel struct {
	Text     string
	Response Factor
	Terms    []Product
}

// Product is a term: the product of its factors.
type Product []Factor

// Factor is a column, a function of it, or a power of it.
type Factor struct {
	Column   string
	Function string // "", log, sqrt or exp
	Power    int    // 1 if it is none
}

// functions of a number in a model; what they give no number for is missing.
var functions = []string{"log", "sqrt", "exp"}

// String returns the factor in R's notation.
func (f Factor) String() string {
	name := f.Column
	if strings.ContainsFunc(name, func(r rune) bool { return !letter(r) }) {
		name = "`" + name + "`"
	}
	switch {
	case f.Function != "":
		return f.Function + "(" + name + ")"
	case f.Power > 1:
		return "I(" + name + "^" + strconv.Itoa(f.Power) + ")"
	}
	return name
}

func (t Product) String() string {
	var names []string
	for _, f := range t {
		names = append(names, f.String())
	}
	return strings.Join(names, ":")
}

// Columns returns the columns that the model uses, each once.
func (m *LinearModel) Columns() (names []string) {
	for _, t := range append([]Product{{m.Response}}, m.Terms...) {
		for _, f := range t {
			if !slices.Contains(names, f.Column) {
				names = append(names, f.Column)
			}
		}
	}
	return names
}

// Transforms reports whether a term has a function or a power of a column.
func (m *LinearModel) Transforms(column string) bool {
	return slices.ContainsFunc(m.Terms, func(t Product) bool {
		return slices.ContainsFunc(t, func(f Factor) bool { return f.Column == column && (f.Function != "" || f.Power > 1) })
	})
}

// ParseLinearModel reads a response, a tilde and terms joined by +: a column, log(x), sqrt(x), exp(x), a power I(x^2)
// up to 5, an interaction a:b, or a*b for a + b + a:b. Names with other characters than letters, digits, . and _ stand
// in backticks. The model has an intercept. An error says what was expected, and at which character.
func ParseLinearModel(text string) (*LinearModel, error) {
	p := &modelParser{text: text}
	m := &LinearModel{Text: strings.TrimSpace(text)}
	var err error
	if m.Response, err = p.factor(); err != nil {
		return nil, err
	}
	if !p.take("~") {
		return nil, p.expected("a tilde (~) behind the response")
	}
	for {
		if p.take("1") {
			// the intercept, which is there anyhow
		} else if err := m.add(p); err != nil {
			return nil, err
		}
		switch {
		case p.done():
			if len(m.Terms) == 0 {
				return nil, p.expected("a term behind the tilde")
			}
			return m, nil
		case !p.take("+"):
			return nil, p.expected("+, : or * between columns, or the end")
		}
	}
}

// add reads one term with its interactions.
func (m *LinearModel) add(p *modelParser) error {
	at := p.at
	f, err := p.factor()
	if err != nil {
		return err
	}
	t, crossed := Product{f}, false
	for {
		switch {
		case p.take("*"):
			crossed = true
		case p.take(":") && !crossed:
		default:
			return m.addTerm(t, crossed, p, at)
		}
		if f, err = p.factor(); err != nil {
			return err
		}
		t = append(t, f)
		if crossed && len(t) > 2 || len(t) > 3 {
			return p.expected("an interaction of at most three columns, a * of two")
		}
	}
}

func (m *LinearModel) addTerm(t Product, crossed bool, p *modelParser, at int) error {
	list := []Product{t}
	if crossed {
		list = []Product{{t[0]}, {t[1]}, t}
	}
	for _, t := range list {
		for i, f := range t {
			if slices.Contains(t[:i], f) || f == m.Response {
				p.at = at
				return p.expected("columns that occur once in a term, and are not the response")
			}
		}
		if !slices.ContainsFunc(m.Terms, func(o Product) bool { return slices.Equal(o, t) }) {
			m.Terms = append(m.Terms, t)
		}
	}
	return nil
}

// modelParser reads a formula from its place at.
type modelParser struct {
	text string
	at   int
}

func (p *modelParser) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

func (p *modelParser) done() bool {
	p.space()
	return p.at == len(p.text)
}

// take reads a sign, if it is there. A 1 must not be the beginning of a name.
func (p *modelParser) take(sign string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.text[p.at:], sign)
	if next, _ := utf8.DecodeRuneInString(rest); !ok || sign == "1" && rest != "" && letter(next) {
		return false
	}
	p.at += len(sign)
	return true
}

func (p *modelParser) expected(what string) error {
	p.space()
	return fmt.Errorf("%s: character %d: there must be %s", strconv.Quote(p.text), utf8.RuneCountInString(p.text[:p.at])+1,
		what)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' }

// name reads the name of a column or a function.
func (p *modelParser) name() (name string, quoted bool, err error) {
	p.space()
	rest := p.text[p.at:]
	if strings.HasPrefix(rest, "`") {
		name, _, ok := strings.Cut(rest[1:], "`")
		if !ok || name == "" {
			return "", false, p.expected("a name and a second backtick")
		}
		p.at += len(name) + 2
		return name, true, nil
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !letter(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", false,
			p.expected("the name of a column (in backticks if it has other characters than letters, digits, . and _)")
	}
	p.at += end
	return rest[:end], false, nil
}

// mostPower is the greatest power of a column.
const mostPower = 5

func (p *modelParser) factor() (f Factor, err error) {
	p.space()
	start := p.at
	name, quoted, err := p.name()
	if err != nil {
		return f, err
	}
	f = Factor{Column: name, Power: 1}
	if quoted || !p.take("(") {
		return f, nil
	}
	if name != "I" && !slices.Contains(functions, name) {
		p.at = start
		return f, p.expected("a column, or one of " + strings.Join(functions, ", ") + " and I in front of a parenthesis")
	}
	if f.Column, _, err = p.name(); err != nil {
		return f, err
	}
	if name != "I" {
		f.Function = name
	} else if !p.take("^") {
		return f, p.expected("^ and a power, as in I(x^2)")
	} else if f.Power, err = p.digit(); err != nil {
		return f, err
	}
	if !p.take(")") {
		return f, p.expected("a closing parenthesis")
	}
	return f, nil
}

func (p *modelParser) digit() (int, error) {
	p.space()
	if p.at < len(p.text) && p.text[p.at] >= '2' && p.text[p.at] <= '0'+mostPower {
		p.at++
		return int(p.text[p.at-1] - '0'), nil
	}
	return 0, p.expected("a power from 2 to 5")
}
