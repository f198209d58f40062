package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// kind is what a cell holds.
type kind uint8

const (
	empty kind = iota
	isNumber
	isText
	isBool
	isTime // a number that is shown as a date
)

// cell is a cell of a sheet.
type cell struct {
	kind   kind
	number float64
	text   string
}

// The bounds of a sheet.
const (
	maxRows    = 1 << 20
	maxColumns = 1 << 14
	maxText    = 32767
)

// scan calls f for each row of a sheet, with its number from 1. Rows without a cell are left out. The cells are
// those of the next call too.
func (b *book) scan(part string, f func(number int, cells []cell) error) error {
	s := scanner{book: b, f: f}
	return b.elements(part, s.start, s.end, s.chars)
}

type scanner struct {
	*book
	f     func(number int, cells []cell) error
	cells []cell
	row   int
	at    int // column of the cell, from 0
	typ   string
	style int
	value strings.Builder
	keep  bool // characters are part of the cell's value
	deep  int  // within text for pronunciation
	bytes int  // of the row's texts
}

func (s *scanner) wrong(what string) error {
	return fmt.Errorf("row %d, column %d: %s", s.row, s.at+1, what)
}

func (s *scanner) start(e xml.StartElement) error {
	switch e.Name.Local {
	case "row":
		if s.row++; attribute(e, "r") != "" {
			n, err := strconv.Atoi(attribute(e, "r"))
			if err != nil || n < s.row || n > maxRows {
				return fmt.Errorf("row %d: has a wrong number", s.row)
			}
			s.row = n
		}
		if s.row > maxRows {
			return fmt.Errorf("has more than %d rows", maxRows)
		}
		clear(s.cells)
		s.cells, s.at, s.bytes = s.cells[:0], -1, 0
	case "c":
		if s.at++; attribute(e, "r") != "" {
			n, ok := columnOf(attribute(e, "r"))
			if !ok || n < s.at {
				return s.wrong("has a wrong place")
			}
			s.at = n
		}
		if s.at >= maxColumns {
			return s.wrong("lies beyond the last column that a sheet can have")
		}
		s.typ, s.style = attribute(e, "t"), 0
		if w := attribute(e, "s"); w != "" {
			n, err := strconv.Atoi(w)
			if err != nil || n < 0 {
				return s.wrong("has a wrong style")
			}
			s.style = n
		}
		s.value.Reset()
	case "rPh":
		s.deep++
	case "v", "t":
		s.keep = s.deep == 0
	}
	return nil
}

func (s *scanner) chars(p xml.CharData) error {
	if s.keep {
		if s.value.Len()+len(p) > maxCell {
			return errCell
		}
		s.value.Write(p)
	}
	return nil
}

func (s *scanner) end(name string) error {
	switch name {
	case "v", "t":
		s.keep = false
	case "rPh":
		s.deep--
	case "c":
		if s.at < 0 { // of a row that has begun within the cell
			return fmt.Errorf("row %d: has a cell that is not closed", s.row)
		}
		c, err := s.cell()
		if err != nil || c.kind == empty {
			return err
		}
		if s.bytes += len(c.text); s.bytes > maxRow {
			return errRow
		}
		for len(s.cells) <= s.at {
			s.cells = append(s.cells, cell{})
		}
		s.cells[s.at] = c
	case "row":
		if len(s.cells) > 0 {
			return s.f(s.row, s.cells)
		}
	}
	return nil
}

// cell returns the cell that has ended.
func (s *scanner) cell() (cell, error) {
	text := s.value.String()
	switch s.typ {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 0 || n >= len(s.strings) {
			return cell{}, s.wrong("names a text that is not there")
		}
		text = s.strings[n]
	case "inlineStr", "str":
		text = unescape(text)
	case "b":
		if text == "" {
			return cell{}, nil
		}
		return cell{kind: isBool, number: float64(b2i(truth(text)))}, nil
	case "e":
		return cell{}, nil
	case "", "n":
		if text = strings.TrimSpace(text); text == "" {
			return cell{}, nil
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return cell{}, s.wrong("is no number")
		}
		if s.style < len(s.dates) && s.dates[s.style] {
			return cell{kind: isTime, number: s.serial(x)}, nil
		}
		return cell{kind: isNumber, number: x}, nil
	default:
		return cell{}, s.wrong("is of a type that is not known")
	}
	if text == "" {
		return cell{}, nil
	}
	return cell{kind: isText, text: text}, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

const (
	epoch1900 = 25569 // days from 30 December 1899 to 1970
	epoch1904 = 24107
)

// serial returns the days since 1970 that a number of a date stands for. Excel takes 1900 for a leap year: before
// March its numbers are one less.
func (s *scanner) serial(x float64) float64 {
	switch {
	case s.base:
		return x - epoch1904
	case x < 60:
		x++
	}
	return x - epoch1900
}

// columnOf returns the column, from 0, of a place such as AB12.
func columnOf(place string) (int, bool) {
	n, i := 0, 0
	for ; i < len(place) && place[i] >= 'A' && place[i] <= 'Z' && i < 4; i++ {
		n = n*26 + int(place[i]-'A') + 1
	}
	return n - 1, i > 0
}

// unescape replaces _xHHHH_, which stands for a character that XML cannot hold.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if c, ok := escaped(text[i:]); ok {
			b.WriteRune(c)
			i += 7
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

func escaped(s string) (rune, bool) {
	if len(s) < 7 || s[0] != '_' || s[1] != 'x' || s[6] != '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || n >= 0xd800 && n < 0xe000 {
		return 0, false
	}
	return rune(n), true
}

var errNames = errors.New("the first row must give each column a name of its own")
