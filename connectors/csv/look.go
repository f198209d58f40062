package csv

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/text"
)

const (
	// piece is the number of bytes of text that are examined in all columns before the text
	// after them, so that they stay in the processor's caches.
	piece = 32 << 10
	// recordsAtOnce is the number of records examined at once if quotes or malformed records forbid
	// pieces.
	recordsAtOnce = 256
)

// look adds the kinds of a chunk's values to kinds.
func (s *source) look(kinds []text.Kinds, declared []arrow.DataType, c *text.Chunk, b *bounds) {
	if s.lookFlat(kinds, declared, c, b) {
		return
	}
	s.dialect.tokenise(b, c.Data, c.Records, c.Final)
	bad := b.malformed
	for from := 0; from < c.Records; from += recordsAtOnce {
		to := min(from+recordsAtOnce, c.Records)
		s.lookAt(kinds, declared, c.Data, b, bad, from, to)
		for len(bad) > 0 && bad[0].row < to {
			bad = bad[1:]
		}
	}
}

// lookFlat is look for a chunk in which every line is a record and nothing is in quotes. It
// returns false if a piece is not of this form; the pieces examined before it are.
func (s *source) lookFlat(kinds []text.Kinds, declared []arrow.DataType, c *text.Chunk, b *bounds) bool {
	d := &s.dialect
	if d.fields < 2 || bytes.IndexByte(c.Data, d.quote) >= 0 {
		return false
	}
	for rest := c.Data; len(rest) > 0; {
		p := rest
		if len(p) > piece {
			if n := bytes.LastIndexByte(p[:piece], '\n') + 1; n > 0 {
				p = p[:n]
			}
		}
		rest = rest[len(p):]
		records := bytes.Count(p, []byte{'\n'})
		if p[len(p)-1] != '\n' {
			records++
		}
		b.reset(d, records)
		if !d.flat(b, p, records) {
			return false
		}
		s.lookAt(kinds, declared, p, b, nil, 0, records)
	}
	return true
}

// lookAt adds the kinds of the values of records from to to. bad begins with the first of
// those records that is malformed.
func (s *source) lookAt(kinds []text.Kinds, declared []arrow.DataType, data []byte, b *bounds, bad []malformed, from,
	to int) {
	for f := range kinds {
		if declared[f] == nil && kinds[f]&text.SeenString == 0 {
			kinds[f] |= s.lookDown(data, b, bad, f, from, to)
		}
	}
}

// lookDown returns the kinds of the values of column f, up to the first that is text.
func (s *source) lookDown(data []byte, b *bounds, bad []malformed, f, from, to int) (k text.Kinds) {
	plain := s.readsPlain() && len(bad) == 0
	fields := b.column(data, f)
	var buf [64]byte
	for r := from; r < to && k&text.SeenString == 0; r++ {
		if plain {
			var seen text.Kinds
			seen, r = fields.PlainKinds(r, to)
			if k |= seen; r == to {
				break
			}
		}
		if len(bad) > 0 && bad[0].row == r {
			bad = bad[1:]
			continue
		}
		start, end := b.field(r, f)
		k |= s.kind(data[start:end], buf[:0])
	}
	return k
}

// readsPlain reports whether text.Fields can read the source's numbers: they are in the usual
// notation, and no null string can be a number.
func (s *source) readsPlain() bool { return s.numbers.usual() && len(s.nulls.others) == 0 }

// column returns the places of the fields of a column. The fields of malformed records are empty.
func (b *bounds) column(data []byte, f int) text.Fields {
	c := text.Fields{Text: data, Starts: b.starts, StartStep: 1, Ends: b.ends[f:], EndStep: b.fields}
	if f > 0 {
		c.Starts, c.StartStep, c.Skip = b.ends[f-1:], b.fields, 1
	}
	return c
}

// kind returns the kind of one field's value; text.SeenNull if it has none.
func (s *source) kind(field, buf []byte) text.Kinds {
	if s.nulls.has(field) {
		return text.SeenNull
	}
	content, _ := s.dialect.bare(field)
	if len(content) == 0 && s.nulls.empty {
		return text.SeenNull // "" does not determine the type
	}
	return s.numbers.kind(content, buf)
}
