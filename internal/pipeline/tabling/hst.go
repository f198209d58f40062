package tabling

import (
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// isHST reports by its name whether an a priori list is one of tau-Argus.
func isHST(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".hst") }

// hstLine is what the lines of one cell say.
type hstLine struct {
	primary.Listed
	status, levels, cost int // the line that says it; 0: none
}

// readHST reads an a priori list of tau-Argus: each line has the codes of a cell, in the order of rows, and one change:
// s (safe), u (unsafe) or p (published), c or w with a cost, pl with a lower and an upper protection level. Fields are
// separated by ; , or a tab; the code of a total may be empty. What has no counterpart here is refused by line.
func (a *aprioriFile) readHST(in io.Reader) {
	text, err := io.ReadAll(in)
	if err != nil {
		a.wrong(a.at, "file %s cannot be read", a.path)
		return
	}
	clean := strings.TrimPrefix(string(text), "\ufeff")
	c := csv.NewReader(strings.NewReader(clean))
	c.Comma, c.FieldsPerRecord = a.separator(clean), -1
	cells := map[int]*hstLine{}
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line := lineOf(c, err)
		if err != nil {
			a.wrong(a.at, "file %s cannot be read at line %d: its quotation marks are not in pairs", a.path, line)
			return
		}
		a.hstRow(cells, record, line)
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		if l := cells[cell]; l.status != 0 || l.levels != 0 {
			if l.status == 0 {
				l.As = primary.Levels
			}
			a.list = append(a.list, l.Listed)
		}
	}
}

// separator returns the separator of a list: the one with which its first line has the fields of a cell and a change.
func (a *aprioriFile) separator(text string) rune {
	first, _, _ := strings.Cut(text, "\n")
	n := len(a.family.set.Tables[a.table].Dimensions)
	for _, s := range []rune{';', ',', '\t'} {
		if fields := strings.Count(first, string(s)) + 1; fields > n && fields <= n+4 {
			return s
		}
	}
	return ','
}

// hstRow enters a line.
func (a *aprioriFile) hstRow(cells map[int]*hstLine, record []string, line int) {
	dimensions := a.family.set.Tables[a.table].Dimensions
	for i := range record {
		record[i] = strings.TrimSpace(record[i])
	}
	for len(record) > len(dimensions)+1 && record[len(record)-1] == "" {
		record = record[:len(record)-1]
	}
	if len(record) <= len(dimensions) {
		a.wrong(a.at, "%s:%d: must have the codes of %d variables and a change, separated by ; , or a tab", a.path, line,
			len(dimensions))
		return
	}
	codes := slices.Clone(record[:len(dimensions)])
	for k, d := range dimensions {
		if codes[k] == "" {
			codes[k] = d.Codes[0]
		}
	}
	cell, err := a.family.set.At(a.table, codes...)
	if err != nil {
		a.wrong(a.at, "%s:%d: %v", a.path, line, err)
		return
	}
	l := cells[cell]
	if l == nil {
		l = &hstLine{Listed: primary.Listed{Cell: cell, Line: line}}
		cells[cell] = l
	}
	a.hstChange(l, strings.ToLower(record[len(dimensions)]), record[len(dimensions)+1:], line)
}

// hstChange enters the change of a cell.
func (a *aprioriFile) hstChange(l *hstLine, change string, values []string, line int) {
	place, count := &l.status, 0
	switch change {
	case "c", "w":
		place, count = &l.cost, 1
	case "pl":
		place, count = &l.levels, 2
	case "s", "u", "p":
	case "m", "ml":
		a.wrong(a.at,
			"%s:%d: %s, held back by hand to protect others, is not possible: which cells are is found anew; u holds back and protects the cell", a.path, line, change)
		return
	case "ab":
		a.wrong(a.at, "%s:%d: ab, bounds that everybody knows, is not possible", a.path, line)
		return
	default:
		a.wrong(a.at, "%s:%d: the change must be one of s, u, p, c, w and pl", a.path, line)
		return
	}
	switch {
	case len(values) != count:
		a.wrong(a.at, "%s:%d: %s must have %d numbers behind it", a.path, line, change, count)
		return
	case *place != 0:
		a.wrong(a.at, "%s:%d: line %d says the same of this cell already, or something else", a.path, line, *place)
		return
	}
	*place = line
	switch change {
	case "s":
		l.As = primary.Safe
	case "p":
		l.As = primary.Published
	case "c", "w":
		switch cost := a.parse(values[0], "the cost", line, 1); {
		case cost == 0:
			a.wrong(a.at, "%s:%d: the cost must be above 0", a.path, line)
		case cost > 0:
			a.setCost(l.Cell, cost)
		}
	case "pl":
		scale := math.Pow10(a.family.options.Decimals)
		l.Down, l.Up = a.parse(values[0], "the lower protection level", line, scale),
			a.parse(values[1], "the upper protection level", line, scale)
	}
}
