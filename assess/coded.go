package assess

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// CodedColumn is a column with declared codes for missing values.
type CodedColumn struct {
	Name  string
	Index int      // in Block.Columns, in either form
	Codes []string // as microdata.Missing.Texts gives them
	Null  bool     // they are released as null
}

// MissingCodes says how often the declared codes of a column occur. The codes are configuration and no
// respondent's values.
type MissingCodes struct {
	Column string        `json:"column"`
	As     string        `json:"as" doc:"how they are released: keep or null"`
	Codes  []MissingCode `json:"codes" doc:"each declared code or range, in the order of the declaration"`
}

// MissingCode is one declared code.
type MissingCode struct {
	Code    string `json:"code"`
	Records int64  `json:"records" doc:"number of assessed records that have it"`
}

// newCoded returns counters for the declared codes.
func newCoded(columns []CodedColumn) [][]int64 {
	counts := make([][]int64, len(columns))
	for i, c := range columns {
		counts[i] = make([]int64, len(c.Codes))
	}
	return counts
}

// countCodes counts the declared codes in the records of a block that are released.
func (a *Accumulator) countCodes(b *microdata.Block) {
	for i, c := range a.opts.Coded {
		at := &b.Columns[c.Index].Coded
		for k, row := range at.Rows {
			if !b.Rejected(int(row)) {
				a.coded[i][at.Entry[k]]++
			}
		}
	}
}

func (a *Accumulator) mergeCodes(o *Accumulator) {
	for i := range a.coded {
		for k := range a.coded[i] {
			a.coded[i][k] += o.coded[i][k]
		}
	}
}

// missingCodes returns the counts.
func (a *Accumulator) missingCodes() (list []MissingCodes) {
	for i, c := range a.opts.Coded {
		m := MissingCodes{Column: c.Name, As: "keep"}
		if c.Null {
			m.As = "null"
		}
		for k, code := range c.Codes {
			m.Codes = append(m.Codes, MissingCode{code, a.coded[i][k]})
		}
		list = append(list, m)
	}
	return list
}

// encodeCodes writes nothing where no codes are declared.
func (a *Accumulator) encodeCodes(e *wire.Encoder) {
	for i, c := range a.opts.Coded {
		e.Text(c.Name)
		for k, code := range c.Codes {
			e.Text(code)
			e.Int(a.coded[i][k])
		}
	}
}

// decodeCodes reads what encodeCodes wrote for the same codes.
func (a *Accumulator) decodeCodes(d *wire.Decoder) {
	for i, c := range a.opts.Coded {
		if d.Text() != c.Name {
			d.Failed = true
			return
		}
		for k, code := range c.Codes {
			if d.Text() != code {
				d.Failed = true
				return
			}
			n := d.Int()
			if a.coded[i][k] = n; n < 0 || n > a.records {
				d.Failed = true
			}
		}
	}
}

func sameCoded(a, b []CodedColumn) bool {
	return slices.EqualFunc(a, b, func(a, b CodedColumn) bool {
		return a.Name == b.Name && a.Index == b.Index && a.Null == b.Null && slices.Equal(a.Codes, b.Codes)
	})
}

// AbsentCodes returns a warning for each column with declared codes that no record has.
func AbsentCodes(list []MissingCodes) (warnings []string) {
	for _, m := range list {
		var absent []string
		for _, c := range m.Codes {
			if c.Records == 0 {
				absent = append(absent, c.Code)
			}
		}
		if len(absent) > 0 {
			warnings = append(warnings,
				fmt.Sprintf("%s: no record of the release has the declared code for a missing value %s (columns.%s.missing)",
					m.Column, strings.Join(absent, ", "), m.Column))
		}
	}
	return warnings
}
