package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Missing declares the values of a column that mean that there is none.
type Missing struct {
	Codes []MissingCode `yaml:"codes" short:"true" doc:"the codes: single values, and ranges of numbers {from: 97, to: 99}; a list may stand in place of the mapping"`
	As    string        `yaml:"as" enum:"keep,null" doc:"how they are released: keep (default), as they are, or null, as a missing value"`
}

// MissingCode is one code, or a range of numbers.
type MissingCode struct {
	Code MissingValue `yaml:"code" short:"true" doc:"a number, or a text of a column of text"`
	From *float64     `yaml:"from" doc:"the least number of a range; if it is left out, the range has no lower end"`
	To   *float64     `yaml:"to" doc:"the greatest number of a range; if it is left out, the range has no upper end"`
}

// MissingValue is a number or a text.
type MissingValue string

// UnmarshalText reads a number or a text.
func (v *MissingValue) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf(
			"must be a number or a text; the empty field of a CSV file is missing without a code, and `nulls` of the source lists further ones")
	}
	*v = MissingValue(text)
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (v MissingValue) MarshalText() ([]byte, error) { return []byte(v), nil }

// Check reports what is wrong whatever the data are.
func (m *Missing) Check() check.Problems {
	var ps check.Problems
	if m.As != "" && len(m.Codes) == 0 {
		ps.Addf("codes", "must be given: the values that mean that there is none")
	}
	seen := map[string]bool{}
	for i, c := range m.Codes {
		at := fmt.Sprintf("codes[%d]", i)
		switch {
		case c.Code != "" && (c.From != nil || c.To != nil):
			ps.Addf(at, "must be a code or a range, not both")
		case c.Code == "" && c.From == nil && c.To == nil:
			ps.Addf(at, "must be a code, or a range {from: …, to: …}")
		case c.From != nil && c.To != nil && !(*c.From <= *c.To):
			ps.Addf(at, "must be a range from the smaller to the greater number, got %v to %v", *c.From, *c.To)
		case c.Code != "" && seen[string(c.Code)]:
			ps.Addf(at, "must not repeat a code, got %q again", string(c.Code))
		}
		seen[string(c.Code)] = true
	}
	return ps
}

// Declared returns the declaration; nil if the column has none.
func (m *Missing) Declared() *microdata.Missing {
	if len(m.Codes) == 0 {
		return nil
	}
	d := &microdata.Missing{Null: m.As == "null"}
	for _, c := range m.Codes {
		if c.Code != "" {
			d.Codes = append(d.Codes, string(c.Code))
			continue
		}
		r := microdata.MissingRange{From: math.Inf(-1), To: math.Inf(1)}
		if c.From != nil {
			r.From = *c.From
		}
		if c.To != nil {
			r.To = *c.To
		}
		d.Ranges = append(d.Ranges, r)
	}
	return d
}

// Fits reports codes that a column of a field's type cannot have.
func (m *Missing) Fits(f microdata.Field) check.Problems {
	var ps check.Problems
	for i, code := range m.Codes {
		path := fmt.Sprintf("codes[%d]", i)
		switch _, isNumber := microdata.NumberOf(string(code.Code)); {
		case f.Nested():
			ps.Addf(path, "must be left out: the values of the column are nested (%s)", microdata.TypeName(f.Type))
		case f.Numeric() && code.Code != "" && !isNumber:
			ps.Addf(path,
				"must be a number: the column has type %s; a text that stands for a missing number is one of the source's `nulls`",
				microdata.TypeName(f.Type))
		case !f.Numeric() && code.Code == "":
			ps.Addf(path, "must not be a range: the column has type %s; list the codes one by one", microdata.TypeName(f.Type))
		}
	}
	return ps
}

// HasRange reports whether a range of numbers is declared.
func (m *Missing) HasRange() bool {
	return slices.ContainsFunc(m.Codes, func(c MissingCode) bool { return c.From != nil || c.To != nil })
}

// madeCodes refuses masks that would release a declared code for a missing value in place of values, if the codes
// are kept.
func (l *loader) madeCodes(p *Pipeline, path string, m transform.Params) {
	for _, name := range m.Masks() {
		c := p.Columns.Named(name)
		if c == nil || !l.Sound(path) {
			continue
		}
		d := c.Missing.Declared()
		if d == nil || d.Null {
			continue
		}
		if field := transform.MakesCode(m, name, d.Is); field != "" {
			l.Wrong(form.Join(path, field),
				"must not have a code that columns.%s.missing declares: it stays as it is, and a value that a mask replaces by it would be taken for a missing one; leave it out here, or release the codes as null (as: null)", name)
		}
	}
}
