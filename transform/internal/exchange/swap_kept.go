package exchange

import (
	"cmp"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// swapRecord is a record that may be exchanged. There may be one for every record of the data,
// so it holds no pointers: its source is a number in sources, its values a place in
// swapColumns.
type swapRecord struct {
	order, partner, coin uint64
	row                  int64
	source, value        uint32
}

// sources numbers the scopes and streams that blocks come from.
type sources struct {
	list   []core.RecordPlace // without rows
	number map[core.RecordPlace]uint32
}

// of returns the number of a block's source; a new source gets the next number.
func (s *sources) of(b *microdata.Block) uint32 {
	return s.numbered(core.RecordPlace{Scope: b.Scope, Stream: b.Stream})
}

// numbered returns the number of a scope and stream; new ones get the next number.
func (s *sources) numbered(p core.RecordPlace) uint32 {
	n, ok := s.number[p]
	if !ok {
		if s.number == nil {
			s.number = make(map[core.RecordPlace]uint32)
		}
		n = uint32(len(s.list))
		s.number[p], s.list = n, append(s.list, p)
	}
	return n
}

// Find returns the number of a block's source, if it has one. It may be called from
// many goroutines.
func (s *sources) find(b *microdata.Block) (uint32, bool) {
	n, ok := s.number[core.RecordPlace{Scope: b.Scope, Stream: b.Stream}]
	return n, ok
}

// compare orders records by their drawn words, and those of equal words by place.
func (s *sources) compare(r, q swapRecord) int {
	if r.order != q.order {
		return cmp.Compare(r.order, q.order)
	}
	return s.place(r).Compare(s.place(q))
}

func (s *sources) place(r swapRecord) core.RecordPlace {
	p := s.list[r.source]
	p.Row = r.row
	return p
}

// swapColumn holds the values that swapRecords have in a column: numbers, or the bytes of
// an array's values one after another.
type swapColumn struct {
	numbers []float64
	starts  []uint64 // of arrays: where a value's bytes begin
	lengths []uint32
	bytes   []byte
	nulls   []bool

	// of the block that is read; empty if it does not have the column, as in replicates
	vector microdata.Vector
	text   func(i int) (v []byte, valid bool) // instead of vector, if the column is an array
}

// read selects the column of a block from which append and set take values.
func (k *swapColumn) read(col *microdata.Column) {
	k.text, k.vector = nil, microdata.Vector{}
	if a := col.OutArray(); a != nil {
		at, ok := coding.BytesOf(a)
		k.text = func(i int) ([]byte, bool) {
			if a.IsNull(i) || !ok {
				return nil, false
			}
			return at(i), true
		}
		return
	}
	k.vector = col.Out()
}

// append adds the value of record i of the block.
func (k *swapColumn) append(i int) {
	at := uint32(len(k.nulls))
	k.nulls = append(k.nulls, false)
	if k.text == nil {
		k.numbers = append(k.numbers, 0)
	} else {
		k.starts, k.lengths = append(k.starts, 0), append(k.lengths, 0)
	}
	k.set(at, i)
}

// set replaces the value at a place by that of record i of the block.
func (k *swapColumn) set(at uint32, i int) {
	if k.text == nil {
		k.numbers[at], k.nulls[at] = 0, true
		if v := &k.vector; v.Values != nil {
			k.numbers[at], k.nulls[at] = v.Values[i], !v.Valid.Has(i)
		}
		return
	}
	v, valid := k.text(i)
	k.nulls[at] = !valid
	k.starts[at], k.lengths[at] = uint64(len(k.bytes)), uint32(len(v))
	k.bytes = append(k.bytes, v...)
}

// cell returns the value at a place.
func (k *swapColumn) cell(at uint32) coding.Cell {
	if k.starts == nil {
		return coding.Cell{Null: k.nulls[at], Number: k.numbers[at]}
	}
	if k.nulls[at] {
		return coding.Cell{Null: true}
	}
	from := k.starts[at]
	return coding.Cell{Bytes: k.bytes[from : from+uint64(k.lengths[at])]}
}
