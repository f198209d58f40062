package csv

import (
	"context"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// rearranged is what a sink knows of records that leave in another order: how the fields that are
// copied are spelled, by field of the source. A column of which some fields are in quotes by habit
// and others are bare comes of two hands, one after the other: it gets quotes only where it needs
// them, since they would tell where in the source a record stood.
type rearranged struct {
	habit, bare []atomic.Bool
}

func (c *SinkConfig) createRearranged(ctx context.Context, plan connectors.Plan) (connectors.Rearranged, error) {
	n := len(plan.Layout.Schema.Fields)
	s, err := c.create(ctx, plan, &rearranged{habit: make([]atomic.Bool, n), bare: make([]atomic.Bool, n)})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// observe looks at the quotes of the fields that are copied from a block.
func (o *rearranged) observe(s *sink, b *microdata.Block, c *carried) {
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		for _, op := range s.ops {
			if op.output >= 0 {
				continue
			}
			for f := op.first; f <= op.last; f++ {
				start, end := c.field(r, f)
				o.see(s, f, c.chunk.Data[start:end])
			}
		}
	}
}

func (o *rearranged) see(s *sink, f int, field []byte) {
	switch inner, quoted := unquoted(field); {
	case quoted && !o.habit[f].Load() && !s.needs(string(inner)):
		o.habit[f].Store(true)
	case !quoted && !o.bare[f].Load() && !s.needs(string(field)):
		o.bare[f].Store(true)
	}
}

// unquoted returns what stands between the quotes of a field.
func unquoted(field []byte) (inner []byte, quoted bool) {
	if n := len(field); n >= 2 && field[0] == '"' && field[n-1] == '"' {
		return field[1 : n-1], true
	}
	return field, false
}

// mixed reports whether a column of the release is copied and has both spellings.
func (o *rearranged) mixed(field int) bool { return o.habit[field].Load() && o.bare[field].Load() }

// Texts implements connectors.Rearranged.
func (s *sink) Texts(dst [][]byte, enc connectors.Encoded) [][]byte {
	return enc.(*encoded).Each(dst)
}

// Gather implements connectors.Rearranged.
func (s *sink) Gather(texts [][]byte) connectors.Encoded {
	e := encodedPool.Get().(*encoded)
	e.Clear()
	e.stream = 0
	bare := s.bareColumns()
	for _, t := range texts {
		if bare == nil {
			e.Buf = append(e.Buf, t...)
		} else {
			e.Buf = s.bareFields(e.Buf, t, bare)
		}
	}
	return e
}

// bareColumns says of which columns of the release the quotes that are habit are dropped; nil: of none.
func (s *sink) bareColumns() []bool {
	var bare []bool
	for _, op := range s.ops {
		for f := op.first; op.output < 0 && f <= op.last; f++ {
			if !s.order.mixed(f) {
				continue
			}
			if bare == nil {
				bare = make([]bool, len(s.layout.Release))
			}
			for i, o := range s.layout.Release {
				bare[i] = bare[i] || o.Source == f && !o.Masked
			}
		}
	}
	return bare
}

// bareFields appends a record without the quotes that are habit in the given columns.
func (s *sink) bareFields(dst, record []byte, bare []bool) []byte {
	for i := range bare {
		n := s.fieldEnd(record)
		field := record[:n]
		if inner, quoted := unquoted(field); bare[i] && quoted && !s.needs(string(inner)) {
			field = inner
		}
		dst = append(dst, field...)
		if i < len(bare)-1 && n < len(record) {
			dst = append(dst, record[n])
			n++
		}
		record = record[n:]
	}
	return append(dst, record...)
}

// fieldEnd returns the length of the first field of a record, with its quotes.
func (s *sink) fieldEnd(record []byte) int {
	quoted := len(record) > 0 && record[0] == '"'
	for i := 0; i < len(record); i++ {
		switch c := record[i]; {
		case c == '"' && quoted && i > 0:
			if i+1 < len(record) && record[i+1] == '"' {
				i++
			} else {
				quoted = false
			}
		case !quoted && (c == s.delimiter || c == '\n' || c == '\r'):
			return i
		}
	}
	return len(record)
}
