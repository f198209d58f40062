package replicate

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Data is the sample in the order of place.
type Data struct {
	N        int   // records in the sample
	Records  int64 // assessed pairs
	Complete bool  // whether the sample holds every pair
	Values   [][]float64
	Priority []uint32
	From     []*place.Origin
	Row      []int64
}

// Original returns the original values of column c, and Released the released ones; NaN
// where there is no value.
func (d *Data) Original(c int) []float64 { return d.Values[2*c] }
func (d *Data) Released(c int) []float64 { return d.Values[2*c+1] }

// place returns the index of a record in the sample; −1 if it is not there.
func (d *Data) place(t *sample.Extreme) int {
	i, found := sort.Find(d.N, func(i int) int { return cmp.Or(t.From.Compare(d.From[i]), cmp.Compare(t.Row, d.Row[i])) })
	if !found {
		return -1
	}
	return i
}

// Subset is the records that one replicate masks: some or all of the sample, followed
// by records that were added because they are targets or extremes. It is shared by
// goroutines and only read.
type Subset struct {
	Size   int                // number of records of the sample; those after them were added
	Values [][]float64        // by column, originals only; then carried codes; 0 where there is no value
	Valid  []microdata.Bitmap // by column; nil if every record has a value
	// by column: the NaNs of declared codes that are kept, 0 elsewhere; nil if there are none
	coded [][]float64
	Runs  []Stretch               // records of one stream, masked as one block
	index map[*sample.Extreme]int // index of each tracked record
}

// Stretch is records From … To−1 of a subset, all of one stream.
type Stretch struct{ Stream, From, To int }

// Planner makes the subsets.
type Planner struct {
	Of      sample.Layout
	By      int // column in whose order systematic subsets are taken
	Data    *Data
	Tracked []*sample.Extreme // records that must be in every subset
}

// Whole returns one subset of the whole sample in the order of place. If the sample has
// all data, the streams are separate, as they were for the masks of the release.
func (p *Planner) Whole() []*Subset {
	rows := make([]int32, p.Data.N)
	for i := range rows {
		rows[i] = int32(i)
	}
	s := p.build(rows)
	if !p.Data.Complete || p.Data.N == 0 {
		return []*Subset{s}
	}
	s.Runs = nil
	var last *place.Origin
	for i, from := range p.Data.From {
		if last == nil || last.Compare(from) != 0 {
			last = from
			stream := int(from.Stream)
			if from.Scope != "" {
				// A replicate's draws do not depend on the scope: partitions of several topics
				// are numbered consecutively.
				stream = len(s.Runs)
			}
			s.Runs = append(s.Runs, Stretch{stream, i, i})
		}
		s.Runs[len(s.Runs)-1].To = i + 1
	}
	return []*Subset{s}
}

// Random returns one subset of the n records of lowest priority, a uniform
// sample, in the order of place.
func (p *Planner) Random(n int) []*Subset {
	limit := orderstat.Nth(slices.Clone(p.Data.Priority), n-1)
	rows := make([]int32, 0, n)
	for i, v := range p.Data.Priority {
		if v <= limit {
			rows = append(rows, int32(i))
		}
	}
	return []*Subset{p.build(rows)}
}

// Systematic returns j subsets: every j-th record of the sample in the order of
// a column, with offsets 0 … j−1. Each covers that column's distribution evenly, and
// together they are the sample. For the other columns a subset is as good as a random
// one; since every offset is used equally often and only their mean matters, the
// differences between subsets cancel. The same subsets are used for all columns,
// since a replicate masks all at once.
func (p *Planner) Systematic(j int) []*Subset {
	rows := coarseOrder(p.Data.Original(p.By))
	subsets := make([]*Subset, j)
	part := make([]int32, 0, p.Data.N/j+1)
	for o := range subsets {
		part = part[:0]
		for i := o; i < len(rows); i += j {
			part = append(part, rows[i])
		}
		subsets[o] = p.build(part)
	}
	return subsets
}

// coarseOrder returns the indices of x sorted by bins of its values, and within a bin in
// the original order. That is enough for a systematic choice, and takes linear time.
func coarseOrder(x []float64) []int32 {
	var s orderstat.Selector
	s.Fit(x)
	var next [orderstat.Bins + 3]int32
	bin := func(v float64) int {
		t := (v - s.Lo) * s.Scale
		switch {
		case t >= orderstat.Bins:
			return orderstat.Bins + 1
		case t >= 0:
			return int(t) + 1
		}
		return 0 // NaN too
	}
	for _, v := range x {
		next[bin(v)+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	rows := make([]int32, len(x))
	for i, v := range x {
		b := bin(v)
		rows[next[b]] = int32(i)
		next[b]++
	}
	return rows
}

func (p *Planner) build(rows []int32) *Subset {
	s := &Subset{Size: len(rows), index: make(map[*sample.Extreme]int, len(p.Tracked))}
	at := make(map[int]int, len(p.Tracked)) // sample index → index in the subset, tracked records only
	for _, t := range p.Tracked {
		if i := p.Data.place(t); i >= 0 {
			at[i] = -1
		}
	}
	if len(at) > 0 {
		for i, r := range rows {
			if _, wanted := at[int(r)]; wanted {
				at[int(r)] = i
			}
		}
	}
	// The same record may be tracked for several columns; it is added once.
	type spot struct {
		from place.Origin
		row  int64
	}
	added := map[spot]int{}
	var extra []*sample.Extreme
	for _, t := range p.Tracked {
		if i := p.Data.place(t); i >= 0 && at[i] >= 0 {
			s.index[t] = at[i]
			continue
		}
		k := spot{*t.From, t.Row}
		i, there := added[k]
		if !there {
			i = len(rows) + len(extra)
			added[k] = i
			extra = append(extra, t)
		}
		s.index[t] = i
	}
	columns, carry := len(p.Of.Columns), len(p.Of.Carry)
	for k := range columns + carry {
		source := 2 * k
		if k >= columns {
			source = columns + k
		}
		values := make([]float64, 0, len(rows)+len(extra))
		from := p.Data.Values[source]
		for _, r := range rows {
			values = append(values, from[r])
		}
		for _, t := range extra {
			values = append(values, t.Values[source])
		}
		s.coded = append(s.coded, codedOf(values))
		s.Values = append(s.Values, values)
		s.Valid = append(s.Valid, WithoutNaN(values))
	}
	s.Runs = []Stretch{{0, 0, len(rows) + len(extra)}}
	return s
}

// codedOf returns the values that stand for declared codes, 0 in place of the others; nil if there are none.
func codedOf(values []float64) (list []float64) {
	for i, v := range values {
		if _, ok := microdata.MissingCode(v); ok {
			if list == nil {
				list = make([]float64, len(values))
			}
			list[i] = v
		}
	}
	return list
}

// WithoutNaN replaces NaN by 0 and returns the bitmap of the other values; nil if there
// is no NaN.
func WithoutNaN(values []float64) microdata.Bitmap {
	var valid microdata.Bitmap
	for i, v := range values {
		if math.IsNaN(v) {
			if valid == nil {
				valid = microdata.NewBitmap(len(values), nil)
			}
			valid.Clear(i)
			values[i] = 0
		}
	}
	return valid
}

// Present fills b with one stretch of the subset, in the form of a block from a source.
// scratch is for shifted bitmaps, one a column.
func (s *Subset) Present(b *microdata.Block, of sample.Layout, run Stretch, scratch []microdata.Bitmap) {
	width := 0
	for _, i := range of.Columns {
		width = max(width, i+1)
	}
	for _, i := range of.Carry {
		width = max(width, i+1)
	}
	n := run.To - run.From
	b.Reset(run.Stream, 0, n, width)
	for k := range s.Values {
		index := of.Index(k)
		v := microdata.Vector{Values: s.Values[k][run.From:run.To:run.To]}
		if s.Valid[k] != nil {
			scratch[k] = microdata.NewBitmap(n, scratch[k])
			for i := range n {
				if !s.Valid[k].Has(run.From + i) {
					scratch[k].Clear(i)
				}
			}
			v.Valid = scratch[k]
		}
		b.Columns[index].Original = v
		if s.coded[k] != nil {
			b.Columns[index].Recall(s.coded[k][run.From:run.To])
		}
	}
}

// OriginalVariance is s² of the original values in a subset, divisor n−1.
func (s *Subset) OriginalVariance(column int) float64 {
	x := slices.Clone(s.Values[column][:s.Size])
	if valid := s.Valid[column]; valid != nil {
		for i := range x {
			if !valid.Has(i) {
				x[i] = math.NaN()
			}
		}
	}
	c := comoment.Of(cell.Present(x))
	return c.Variance()
}
