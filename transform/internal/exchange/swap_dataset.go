package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// maxKept bounds the records that a swap of scope dataset keeps: with one column some 8 GB.
const maxKept = 1 << 26

// Upper bounds of the memory for a kept record until the decision, in bytes: for the record, and
// for each number or text that may move. docs/scale.md has the measurements.
const (
	bytesKept       = 110
	bytesKeptNumber = 20
	bytesOfPasses   = 45e6 // of the draws of the blocks that are in work
	bytesKeptText   = 30   // and twice its length
)

// datasetSwap exchanges values between any two records of a data set. A first
// pass, the survey, counts the combinations of keys and attribute and keeps of
// each the records that may be exchanged, with the values that they have at this
// point of the chain; EndSurvey decides; Apply puts the values in their places.
//
// Policy unique: of each combination the survey keeps its count and at most four
// records, those of least keyed word, that is, a random sample. Memory grows with
// the number of distinct combinations. The partner's combination is chosen with a
// probability proportional to its number of records in no pair; one whose four
// records are all in pairs is not available any more.
//
// Policy random: the survey also keeps every record whose coin of rate π falls
// heads, so memory grows with π times the number of records. Those are paired
// among themselves and exchanged; one that finds no partner among them takes, with
// probability ½, one from the samples of the others. So as many records are
// exchanged, in expectation, as there are heads with a possible partner: a share π.
type datasetSwap struct {
	swapColumns
	grouping coding.Grouping // codes are the same for all blocks
	combos   []combo         // by code
	sources  sources
	values   []swapColumn // one a protected column
	free     []uint32     // places in values of records that are not kept any more
	kept     int          // records that are kept, of at most most
	most     int
	received []move   // of policy random while it decides: by the place in values of a record whose coin falls heads
	moves    [][]move // after decide: by source, each in the order of rows
	stop     decision.Stop
}

// combo is a combination of keys and attribute.
type combo struct {
	group   int32
	count   int64
	heads   []swapRecord // policy random: records whose coin falls heads, but for those in full
	full    *[][]swapRecord
	records []swapRecord // a sample of the others, sorted by order, at most reserves
}

// headsChunk is the length of one list of records whose coin falls heads: a single list of all of
// them would be copied repeatedly while it grows.
const headsChunk = 1 << 12

// addHead adds a record whose coin falls heads.
func (m *combo) addHead(r swapRecord) {
	if len(m.heads) == headsChunk {
		if m.full == nil {
			m.full = new([][]swapRecord)
		}
		*m.full, m.heads = append(*m.full, m.heads), make([]swapRecord, 0, headsChunk)
	}
	m.heads = append(m.heads, r)
}

// allHeads returns the lists of its records whose coin falls heads, in the order in which they were
// added, and the number of these records.
func (m *combo) allHeads() (lists [][]swapRecord, n int) {
	if m.full != nil {
		lists = slices.Clone(*m.full)
	}
	lists = append(lists, m.heads)
	for _, list := range lists {
		n += len(list)
	}
	return lists, n
}

// move is the values that a record receives.
type move struct {
	row    int64
	source uint32 // of the record that receives
	value  uint32
}

func newDatasetSwap(s swapColumns) *datasetSwap {
	return &datasetSwap{swapColumns: s, most: maxKept}
}

// Prepare makes the draws of the swap for a block.
func (s *datasetSwap) Prepare(c *core.Chain, w *core.Work, b *microdata.Block) error {
	for _, index := range s.keys {
		if col := &b.Columns[index]; col.OutArray() == nil && len(col.Out().Values) < b.N {
			return fmt.Errorf("%s: %w", c.At(s.mask), coding.ErrNotHeld)
		}
	}
	if b.N > 0 {
		s.words(c, w, b, 0, b.N)
	}
	return nil
}

// Survey takes a block of the first pass, with the preceding masks applied and prepared.
func (s *datasetSwap) Survey(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	if err := s.grouping.Find(b, s.keys, 0, b.N); err != nil {
		return fmt.Errorf("%s: %w", c.At(s.mask), err)
	}
	s.grouping.Exclude(b, 0, s.exchanged)
	if s.values == nil {
		s.values = make([]swapColumn, len(s.protected))
	}
	for k, p := range s.protected {
		s.values[k].read(&b.Columns[p.Index])
	}
	s.take(w, b)
	return s.Bounded(c)
}

// take adds the records of a block to their combinations, which have been found.
func (s *datasetSwap) take(w *core.Work, b *microdata.Block) {
	sw, source := swapScratchOf(w), s.sources.of(b)
	for i, g := range s.grouping.Group {
		if g < 0 {
			continue
		}
		code := int(s.grouping.Combo[i])
		for len(s.combos) <= code {
			s.combos = append(s.combos, combo{})
		}
		m := &s.combos[code]
		m.group = g
		m.count++
		heads := !s.Unique && s.Heads(sw.Coin[i])
		if !heads && len(m.records) == matching.Reserves && sw.Order[i] > m.records[matching.Reserves-1].order {
			continue // not kept, as most records
		}
		r := swapRecord{order: sw.Order[i], partner: sw.Partner[i], coin: sw.Coin[i], row: b.Place(i), source: source}
		if heads {
			r.value = s.copied(i)
			m.addHead(r)
		} else {
			s.keep(m, r, i)
		}
	}
}

// keep keeps record i of the block if it is among the four of least order.
func (s *datasetSwap) keep(m *combo, r swapRecord, i int) {
	at, ok := s.placeAmong(m, r)
	if !ok {
		return
	}
	r.value = s.copied(i)
	m.records = slices.Insert(m.records, at, r)
}

// placeAmong returns the place of a record among the four of least order; ok is false if it is
// not among them.
func (s *datasetSwap) placeAmong(m *combo, r swapRecord) (at int, ok bool) {
	at, _ = slices.BinarySearchFunc(m.records, r, s.sources.compare)
	if at == matching.Reserves {
		return 0, false
	}
	if len(m.records) == matching.Reserves {
		s.free = append(s.free, m.records[matching.Reserves-1].value)
		m.records = m.records[:matching.Reserves-1]
	}
	return at, true
}

// copied copies the protected values of record i of the block and returns their place.
func (s *datasetSwap) copied(i int) uint32 {
	used := s.kept
	at := s.vacant()
	for k := range s.values {
		if s.kept == used {
			s.values[k].set(at, i)
		} else {
			s.values[k].append(i)
		}
	}
	return at
}

// vacant returns a place in values that no record has: a free one, or the one after the last.
func (s *datasetSwap) vacant() uint32 {
	if n := len(s.free); n > 0 {
		at := s.free[n-1]
		s.free = s.free[:n-1]
		return at
	}
	s.kept++
	return uint32(s.kept - 1)
}

// Apply puts the values that EndSurvey has decided on in their places.
func (s *datasetSwap) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	var moves []move
	if source, known := s.sources.find(b); known {
		all := s.moves[source]
		byRow := func(m move, row int64) int { return cmp.Compare(m.row, row) }
		lo, _ := slices.BinarySearchFunc(all, b.Place(0), byRow)
		n, last := slices.BinarySearchFunc(all[lo:], b.Place(b.N-1), byRow)
		if last {
			n++
		}
		moves = all[lo : lo+n]
	}
	sw := swapScratchOf(w)
	sw.Rows = sw.Rows[:0]
	row := 0
	for _, m := range moves {
		if b.Places == nil {
			row = int(m.row - b.First)
		} else {
			further, there := slices.BinarySearch(b.Places[row:], m.row)
			if row += further; !there {
				return fmt.Errorf("%s: record %d of stream %d, which the first pass saw, is gone", c.At(s.mask), m.row, b.Stream)
			}
		}
		sw.Rows = append(sw.Rows, int32(row))
	}
	for k, p := range s.protected {
		col := &b.Columns[p.Index]
		if err := s.values[k].fits(col, moves); err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(p.Name), err)
		}
		if col.Array == nil && col.Original.Values != nil {
			s.values[k].putNumbers(col.Mutable(), sw.Rows, moves)
			continue
		}
		sw.Cells = sw.Cells[:0]
		for _, m := range moves {
			sw.Cells = append(sw.Cells, s.values[k].cell(m.value))
		}
		if col.Array == nil || len(moves) == 0 {
			continue
		}
		a, err := coding.Place(col.OutArray(), sw.Rows, sw.Cells)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(p.Name), err)
		}
		col.ReleasedArray = a
	}
	c.CountIn(s.mask, b, len(moves))
	return nil
}

// putNumbers puts the values of moves at rows.
func (k *swapColumn) putNumbers(v *microdata.Vector, rows []int32, moves []move) {
	for i, row := range rows {
		value := moves[i].value
		null := k.nulls[value]
		if null && v.Valid == nil {
			v.Valid = microdata.NewBitmap(len(v.Values), nil)
		}
		if v.Valid != nil {
			core.SetTo(v.Valid, int(row), !null)
		}
		v.Values[row] = k.numbers[value]
	}
}

// Keeps: as for a swap within windows.
func (s *datasetSwap) Keeps(l *core.KeepingOf, i int) { l.Changed(i) }

func (s *datasetSwap) Law(string) []core.Stage { return nil }
