package statfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/text/encoding/charmap"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// encoded is a block as a chunk.
type encoded struct {
	chunk []byte
	rows  int
	notes []note
}

// note is what the header must know of a column's values.
type note struct {
	width  int     // bytes of the longest text
	lo, hi float64 // of the numbers; NaN without one
	codes  *microdata.Occurring
}

func (n *note) merge(m note) {
	n.width = max(n.width, m.width)
	if !(n.lo <= m.lo) && !math.IsNaN(m.lo) {
		n.lo = m.lo
	}
	if !(n.hi >= m.hi) && !math.IsNaN(m.hi) {
		n.hi = m.hi
	}
	if n.codes != nil {
		n.codes.Merge(m.codes)
	}
}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	e := &encoded{rows: b.Kept()}
	kept, _ := b.Carried.(*carried)
	columns := make([]readstat.Column, len(s.layout.Release))
	for i, o := range s.layout.Release {
		var raw []stretch
		if kept != nil && i < len(kept.columns) {
			raw = kept.columns[i]
		}
		var err error
		switch {
		case s.carries && !o.Masked && raw != nil:
			columns[i] = pick(raw, b)
		case o.Column < 0:
			err = errors.New("is not decoded, and this output cannot carry it")
		default:
			columns[i], err = s.convert(o, &b.Columns[o.Column], b)
			if err == nil && raw != nil && s.program == stata {
				tag(&columns[i], raw, b)
			}
		}
		var n note
		if err == nil {
			n = noteOf(&columns[i], s.notes[i].codes)
			if s.version == 117 && columns[i].Offsets != nil {
				columns[i], err = oldTexts(columns[i])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", s.path, o.Field.Name, err)
		}
		e.notes = append(e.notes, n)
	}
	e.chunk = readstat.AppendChunk(nil, columns, e.rows)
	return e, nil
}

// oldText is a text as Stata 13 has it, which knows no Unicode.
func oldText(text string) (string, error) {
	old, err := charmap.Windows1252.NewEncoder().String(text)
	if err != nil {
		return "", errors.New("has a character that files of Stata 13 cannot hold; write version 118")
	}
	return old, nil
}

func oldTexts(c readstat.Column) (readstat.Column, error) {
	out := readstat.Column{Offsets: []uint32{0}}
	for i := range len(c.Offsets) - 1 {
		text, err := oldText(string(c.Text(i)))
		if err != nil {
			return out, fmt.Errorf("record %d of the block: %w", i+1, err)
		}
		appendText(&out, []byte(text))
	}
	return out, nil
}

func noteOf(c *readstat.Column, codes *microdata.Occurring) note {
	n := note{lo: math.NaN(), hi: math.NaN(), codes: codes.Empty()}
	if c.Offsets != nil {
		for i := range len(c.Offsets) - 1 {
			text := c.Text(i)
			n.width = max(n.width, len(text))
			if n.codes != nil {
				n.codes.Add(microdata.Code{Text: string(text), IsText: true})
			}
		}
		return n
	}
	for i, x := range c.Numbers {
		switch state := c.States[i]; {
		case state > 1 && n.codes != nil:
			n.codes.Add(microdata.Code{Tag: state})
		case state == 0:
			if !(n.lo <= x) {
				n.lo = x
			}
			if !(n.hi >= x) {
				n.hi = x
			}
			if n.codes != nil {
				n.codes.AddNumber(x)
			}
		}
	}
	return n
}

// pick returns the released rows of a stored column.
func pick(parts []stretch, b *microdata.Block) readstat.Column {
	var out readstat.Column
	row := 0
	for _, p := range parts {
		if p.Offsets != nil && out.Offsets == nil {
			out.Offsets = []uint32{0}
		}
		for k := range p.rows {
			if !b.Rejected(row) {
				if p.Offsets != nil {
					appendText(&out, p.Text(k))
				} else {
					out.Numbers, out.States = append(out.Numbers, p.Numbers[k]), append(out.States, p.States[k])
				}
			}
			row++
		}
	}
	return out
}

func appendText(c *readstat.Column, text []byte) {
	c.Bytes = append(append(c.Bytes, text...), 0)
	c.Offsets = append(c.Offsets, uint32(len(c.Bytes)))
}

// tag gives missing values the letters that they have in the source; those of SAS in lower case.
func tag(c *readstat.Column, parts []stretch, b *microdata.Block) {
	at, row := 0, 0
	for _, p := range parts {
		for k := range p.rows {
			if b.Rejected(row) {
				row++
				continue
			}
			if p.States != nil && c.States != nil && c.States[at] == 1 {
				if letter := p.States[k] | 0x20; letter >= 'a' && letter <= 'z' {
					c.States[at] = letter
				}
			}
			at++
			row++
		}
	}
}

// convert makes a column of what was decoded or masked.
func (s *sink) convert(o microdata.Output, from *microdata.Column, b *microdata.Block) (readstat.Column, error) {
	a := from.OutArray()
	if a == nil {
		a = microdata.ToArray(from.Out(), b.N, o.Field, nil)
	}
	var out readstat.Column
	if isText(o.Field.Type) {
		out.Offsets = []uint32{0}
		for row := range b.N {
			if b.Rejected(row) {
				continue
			}
			var text []byte
			if !a.IsNull(row) {
				text = []byte(stringAt(a, row))
			}
			if bytes.IndexByte(text, 0) >= 0 {
				return out, fmt.Errorf("record %d: has a zero byte, which the format cannot hold", b.Place(row)+1)
			}
			appendText(&out, text)
		}
		return out, nil
	}
	numbers := s.numbers(a, o.Field.Type)
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		x, ok := 0.0, !a.IsNull(row)
		if ok {
			x, ok = numbers(row)
		}
		state := byte(0)
		if x != x || !ok && a.IsNull(row) {
			x, state = 0, 1 // NaN is what other programs write for a missing value
		} else if !ok {
			return out, fmt.Errorf("record %d: holds an integer of more digits than the format's numbers have", b.Place(row)+1)
		}
		out.Numbers, out.States = append(out.Numbers, x), append(out.States, state)
	}
	return out, nil
}

func isText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	case arrow.DICTIONARY:
		return isText(t.(*arrow.DictionaryType).ValueType)
	}
	return false
}

// stringAt is a text of an array; ValueStr shows some types otherwise.
func stringAt(a arrow.Array, row int) string {
	if d, ok := a.(*array.Dictionary); ok {
		return stringAt(d.Dictionary(), d.GetValueIndex(row))
	}
	return a.ValueStr(row)
}

// numbers returns the function that gives the number that a row is stored as; false if it has none that
// is exact.
func (s *sink) numbers(a arrow.Array, t arrow.DataType) func(row int) (float64, bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(row int) (float64, bool) {
			if a.Value(row) {
				return 1, true
			}
			return 0, true
		}
	case *array.Date32:
		return func(row int) (float64, bool) { return s.dates().ofDays(int32(a.Value(row))), true }
	case *array.Date64:
		return func(row int) (float64, bool) {
			return s.dates().ofDays(int32(int64(a.Value(row)) / (day * 1000))), true
		}
	case *array.Timestamp:
		unit := t.(*arrow.TimestampType).Unit
		parts := []float64{1, 1e3, 1e6, 1e9}[unit]
		return func(row int) (float64, bool) { return s.times().ofTicks(int64(a.Value(row)), parts), true }
	}
	var c microdata.Column
	bad := map[int]bool{}
	for _, row := range microdata.NumbersOf(a, &c) {
		bad[row] = true
	}
	return func(row int) (float64, bool) { return c.Original.Values[row], !bad[row] }
}

// dates and times are how the program counts days and times.
func (s *sink) dates() clock {
	if s.program == spss {
		return clock{true, 1, spssEpoch}
	}
	return clock{true, day, otherEpoch}
}

func (s *sink) times() clock {
	if s.program == spss {
		return clock{false, 1, spssEpoch}
	}
	return clock{false, 1e-3, otherEpoch}
}
