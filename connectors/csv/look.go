package csv

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/text"
)

// looked is how many records are looked at in one column before the next: their text
// stays near the processor until all columns are done.
const looked = 256

// look adds the kinds of a chunk's values to kinds.
func (s *source) look(kinds []text.Kinds, declared []arrow.DataType, c *text.Chunk, b *bounds) {
	s.dialect.tokenise(b, c.Data, c.Records, c.Final)
	for from := 0; from < c.Records; from += looked {
		to := min(from+looked, c.Records)
		for f := range kinds {
			if declared[f] == nil && kinds[f]&text.SeenString == 0 {
				kinds[f] |= s.lookAt(c.Data, b, f, from, to)
			}
		}
		for len(b.malformed) > 0 && b.malformed[0].row < to {
			b.malformed = b.malformed[1:]
		}
	}
}

// lookAt returns the kinds of the values that records from from to to have in column f,
// up to the first that is text. malformed begins with the first of those records that is.
func (s *source) lookAt(data []byte, b *bounds, f, from, to int) (k text.Kinds) {
	bad := b.malformed
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

// readsPlain reports whether text.Fields reads what the source has of numbers: no null is
// one.
func (s *source) readsPlain() bool { return s.numbers.usual() && len(s.nulls.others) == 0 }

// column is where the fields of a column lie. Those of malformed records lie nowhere.
func (b *bounds) column(data []byte, f int) text.Fields {
	c := text.Fields{Text: data, Starts: b.starts, StartStep: 1, Ends: b.ends[f:], EndStep: b.fields}
	if f > 0 {
		c.Starts, c.StartStep, c.Skip = b.ends[f-1:], b.fields, 1
	}
	return c
}

// kind is that of one field's value, or that it has none.
func (s *source) kind(field, buf []byte) text.Kinds {
	if s.nulls.has(field) {
		return text.SeenNull
	}
	content, _ := s.dialect.bare(field, nil)
	if len(content) == 0 && s.nulls.empty {
		return text.SeenNull // "" says nothing of the type
	}
	return s.numbers.kind(content, buf)
}
