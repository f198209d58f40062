package placed

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// run are records of a chunk that become a block.
type run struct {
	stream int
	places []int64 // ascending
	rows   []int   // of the chunk; nil where these are all of it, in their order
	placed bool    // else the records have no place and are rejected
}

// reasons for which a record has no place. They say nothing of its value.
const (
	reasonNone = "holds no place: it must be a whole number from 0"
	reasonFar  = "holds no place: it is greater than a place can be"
)

// furthest is the greatest place. Code that counts places in stretches can add a stretch to it
// without overflow.
const furthest = 1<<62 - 1

// cut rejects the records of a decoded block that have no place, and puts the others into runs
// of one stream and ascending places each. Records whose places ascend already keep their
// order.
func (r *reader) cut(b *microdata.Block) ([]run, error) {
	if b.N == 0 {
		return nil, nil
	}
	records, err := newWhole(b.Columns[r.record].Array, furthest)
	if err != nil {
		return nil, err
	}
	streams := &whole{at: func(int) (int64, string) { return 0, "" }}
	if r.stream >= 0 {
		if streams, err = newWhole(b.Columns[r.stream].Array, math.MaxInt32); err != nil {
			return nil, err
		}
	}
	malformed := map[int]bool{}
	for _, reject := range b.Rejects {
		if reject.Column == "" {
			malformed[reject.Row] = true // of what it holds nothing is certain
		}
	}
	var homeless []int
	stream, place := make([]int64, b.N), make([]int64, b.N)
	for i := range b.N {
		var none string
		if place[i], none = records.at(i); none != "" {
			b.Reject(i, r.source.columns.Record, none)
		} else if stream[i], none = streams.at(i); none != "" {
			b.Reject(i, r.source.columns.Stream, none)
		}
		if none != "" || malformed[i] {
			homeless = append(homeless, i)
		}
	}
	return runs(b, stream, place, homeless), nil
}

func runs(b *microdata.Block, stream, place []int64, homeless []int) (all []run) {
	rows := make([]int, 0, b.N)
	k := 0
	for i := range b.N {
		if k < len(homeless) && homeless[k] == i {
			k++
			continue
		}
		rows = append(rows, i)
	}
	order := func(x, y int) int { return cmp.Or(cmp.Compare(stream[x], stream[y]), cmp.Compare(place[x], place[y])) }
	all = consecutive(rows, order, stream)
	if most := 1 + len(rows)/minimum; len(all) > most { // out of order
		slices.SortStableFunc(rows, order)
		all = consecutive(rows, order, stream)
	}
	for i := range all {
		for _, row := range all[i].rows {
			all[i].places = append(all[i].places, place[row])
		}
	}
	if len(homeless) > 0 {
		lost := run{stream: b.Stream, rows: homeless}
		for _, row := range homeless {
			lost.places = append(lost.places, b.First+int64(row))
		}
		all = append(all, lost)
	}
	if len(all) == 1 && slices.IsSorted(all[0].rows) {
		all[0].rows = nil
	}
	return all
}

// minimum is how many records a run should have on average. Records of a chunk that are in no
// order are sorted, so that blocks and the pages of a release do not become small.
const minimum = 512

// consecutive cuts rows where the stream changes or the place does not ascend. Two records of
// one place come into different runs, in which Places then finds them.
func consecutive(rows []int, order func(x, y int) int, stream []int64) (all []run) {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && stream[rows[to]] == stream[rows[from]] && order(rows[to-1], rows[to]) < 0 {
			to++
		}
		all = append(all, run{stream: int(stream[rows[from]]), rows: rows[from:to:to], placed: true})
		from = to
	}
	return all
}

// whole reads a column of whole numbers.
type whole struct {
	at func(row int) (v int64, none string)
}

// errType is about a column of which a file says another type than the source.
var errType = errors.New("a column of places is not of whole numbers")

// newWhole reads an array whose values must be 0 to most.
func newWhole(a arrow.Array, most int64) (*whole, error) {
	var value func(row int) int64
	switch a := a.(type) {
	case *array.Int64:
		value = func(i int) int64 { return a.Value(i) }
	case *array.Int32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int16:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Int8:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint64:
		value = func(i int) int64 { return int64(min(a.Value(i), math.MaxInt64)) }
	case *array.Uint32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint16:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Uint8:
		value = func(i int) int64 { return int64(a.Value(i)) }
	default:
		if a.NullN() != a.Len() { // a column of which a text source has seen no value
			return nil, errType
		}
	}
	return &whole{func(i int) (int64, string) {
		if a.IsNull(i) {
			return 0, reasonNone
		}
		switch v := value(i); {
		case v < 0:
			return 0, reasonNone
		case v > most:
			return 0, reasonFar
		default:
			return v, ""
		}
	}}, nil
}

// gather fills dst with some rows of b.
func gather(dst, b *microdata.Block, rows []int) error {
	dst.Reset(b.Stream, b.First, len(rows), len(b.Columns))
	for i := range b.Columns {
		from, to := &b.Columns[i], &dst.Columns[i]
		if from.Array != nil {
			var err error
			if to.Array, err = take(from.Array, rows); err != nil {
				return err
			}
			continue
		}
		v := to.Alloc(len(rows), from.Original.Valid != nil)
		for k, row := range rows {
			v.Values[k] = from.Original.Values[row]
			if !from.Original.Valid.Has(row) {
				v.Valid.Clear(k)
			}
		}
	}
	if len(b.Rejects) == 0 {
		return nil
	}
	at := make(map[int]int, len(rows))
	for k, row := range rows {
		at[row] = k
	}
	for _, r := range b.Rejects {
		if k, here := at[r.Row]; here {
			dst.Reject(k, r.Column, r.Reason)
		}
	}
	return nil
}

// take returns some rows of an array, those that follow one another at once.
func take(a arrow.Array, rows []int) (arrow.Array, error) {
	var pieces []arrow.Array
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && rows[i+n] == rows[i]+n {
			n++
		}
		pieces = append(pieces, array.NewSlice(a, int64(rows[i]), int64(rows[i]+n)))
		i += n
	}
	return array.Concatenate(pieces, memory.DefaultAllocator)
}
