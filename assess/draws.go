package assess

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// PartOf is about how many sampled records one replicate of a sampled
// column works on: 200 replicates of four columns then cost about a tenth of a
// second, and together they still use every sampled record.
const PartOf = 10_000

// data is the sample in the order of place, and what is to be found in it.
type data struct {
	n        int   // records in the sample
	records  int64 // assessed pairs
	complete bool  // whether the sample holds every pair
	values   [][]float64
	priority []uint32
	from     []*origin
	row      []int64
}

// original returns the original values of column c, released the released
// ones; NaN where there is none.
func (d *data) original(c int) []float64 { return d.values[2*c] }
func (d *data) released(c int) []float64 { return d.values[2*c+1] }

// place finds a record of the sample, −1 where it is not in it.
func (d *data) place(t *extreme) int {
	i, found := sort.Find(d.n, func(i int) int { return cmp.Or(t.from.compare(d.from[i]), cmp.Compare(t.row, d.row[i])) })
	if !found {
		return -1
	}
	return i
}

// subset is the records that one replicate masks: some or all of the sample,
// and behind them records added because a target or an extreme is among them.
// It is shared by goroutines and only read.
type subset struct {
	size   int                // records of the sample proper; those behind are added ones
	values [][]float64        // by column, originals only; then carried codes; 0 where there is no value
	valid  []microdata.Bitmap // nil where every record has a value
	runs   []stretch          // records of one stream, masked as one block
	index  map[*extreme]int   // where the tracked records are
}

type stretch struct{ stream, from, to int }

// planner makes the subsets.
type planner struct {
	of      layout
	by      int // column in whose order systematic subsets are taken
	data    *data
	tracked []*extreme // records that must be in every subset
}

// whole returns one subset of the whole sample in the order of place, streams
// apart where it is the whole data: what the masks of the release saw.
func (p *planner) whole() []*subset {
	rows := make([]int32, p.data.n)
	for i := range rows {
		rows[i] = int32(i)
	}
	s := p.build(rows)
	if !p.data.complete || p.data.n == 0 {
		return []*subset{s}
	}
	s.runs = nil
	var last *origin
	for i, from := range p.data.from {
		if last == nil || last.compare(from) != 0 {
			last = from
			stream := int(from.stream)
			if from.scope != "" {
				// A replicate's draws know no scope: partitions of several topics are
				// told apart by counting them.
				stream = len(s.runs)
			}
			s.runs = append(s.runs, stretch{stream, i, i})
		}
		s.runs[len(s.runs)-1].to = i + 1
	}
	return []*subset{s}
}

// random returns one subset of the n records of lowest priority, a uniform
// sample, in the order of place.
func (p *planner) random(n int) []*subset {
	limit := selectNth(slices.Clone(p.data.priority), n-1)
	rows := make([]int32, 0, n)
	for i, v := range p.data.priority {
		if v <= limit {
			rows = append(rows, int32(i))
		}
	}
	return []*subset{p.build(rows)}
}

// systematic returns j subsets: every j-th record of the sample in the order of
// a column, with offsets 0 … j−1. Each spans that column's
// distribution evenly, and together they are the sample. For the other columns
// a subset is as good as a random one; as every offset is used equally often
// and their mean is what counts, the differences between subsets cancel. One
// set of subsets serves all columns, since a replicate masks all at once.
func (p *planner) systematic(j int) []*subset {
	rows := coarseOrder(p.data.original(p.by))
	subsets := make([]*subset, j)
	part := make([]int32, 0, p.data.n/j+1)
	for o := range subsets {
		part = part[:0]
		for i := o; i < len(rows); i += j {
			part = append(part, rows[i])
		}
		subsets[o] = p.build(part)
	}
	return subsets
}

// coarseOrder returns the indices of x sorted by bins of it, in the order given
// within a bin: all the order that a systematic choice needs, in linear time.
func coarseOrder(x []float64) []int32 {
	var s selector
	s.fit(x)
	var next [bins + 3]int32
	bin := func(v float64) int {
		t := (v - s.lo) * s.scale
		switch {
		case t >= bins:
			return bins + 1
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

func (p *planner) build(rows []int32) *subset {
	s := &subset{size: len(rows), index: make(map[*extreme]int, len(p.tracked))}
	at := make(map[int]int, len(p.tracked)) // sample index → index in the subset, tracked records only
	for _, t := range p.tracked {
		if i := p.data.place(t); i >= 0 {
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
	type place struct {
		origin
		row int64
	}
	added := map[place]int{}
	var extra []*extreme
	for _, t := range p.tracked {
		if i := p.data.place(t); i >= 0 && at[i] >= 0 {
			s.index[t] = at[i]
			continue
		}
		k := place{*t.from, t.row}
		i, there := added[k]
		if !there {
			i = len(rows) + len(extra)
			added[k] = i
			extra = append(extra, t)
		}
		s.index[t] = i
	}
	columns, carry := len(p.of.columns), len(p.of.carry)
	for k := range columns + carry {
		source := 2 * k
		if k >= columns {
			source = columns + k
		}
		values := make([]float64, 0, len(rows)+len(extra))
		from := p.data.values[source]
		for _, r := range rows {
			values = append(values, from[r])
		}
		for _, t := range extra {
			values = append(values, t.values[source])
		}
		s.values = append(s.values, values)
		s.valid = append(s.valid, withoutNaN(values))
	}
	s.runs = []stretch{{0, 0, len(rows) + len(extra)}}
	return s
}

// withoutNaN puts 0 where values holds NaN and returns the bitmap of the
// others, nil where there is no NaN.
func withoutNaN(values []float64) microdata.Bitmap {
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

// present fills b with one stretch of the subset, as a block that a source
// might have sent. scratch keeps shifted bitmaps, one a column.
func (s *subset) present(b *microdata.Block, of layout, run stretch, scratch []microdata.Bitmap) {
	width := 0
	for _, i := range of.columns {
		width = max(width, i+1)
	}
	for _, i := range of.carry {
		width = max(width, i+1)
	}
	n := run.to - run.from
	b.Reset(run.stream, 0, n, width)
	for k := range s.values {
		index := 0
		if k < len(of.columns) {
			index = of.columns[k]
		} else {
			index = of.carry[k-len(of.columns)]
		}
		v := microdata.Vector{Values: s.values[k][run.from:run.to:run.to]}
		if s.valid[k] != nil {
			scratch[k] = microdata.NewBitmap(n, scratch[k])
			for i := range n {
				if !s.valid[k].Has(run.from + i) {
					scratch[k].Clear(i)
				}
			}
			v.Valid = scratch[k]
		}
		b.Columns[index].Original = v
	}
}
