package assess

import (
	"math"
	"math/bits"
	"sync"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// blockSums adds what depends on all columns of a record together, and the ends of the columns, of one block, by
// windows: parts sum the runs of a window beside one another, and fold then adds their sums in the order of the runs,
// so that every sum is rounded in one order, however many cores there are.
type blockSums struct {
	a      *Accumulator
	b      *microdata.Block
	origin *place.Origin
	keep   microdata.Bitmap
	from   int // the window's first record
	runs   int // of the window
}

// work is scratch for the sums of blocks.
type work struct {
	columns            int
	window, group      int       // runs of a window, and of a part of it
	runs               []run     // of the window
	limits             []limits  // by column, of the window
	lowBound, topBound []float64 // bounds beyond which an original value can be an extreme
	kernels            sync.Pool // of *kernel
}

// run has the sums of one run of records.
type run struct {
	clean              bool // every record is kept and has every value
	columns            []runSums
	original, released comoment.Run
}

// limits are the values of a column that were the most extreme before a window.
type limits struct {
	lo, hi    float64 // original values beyond them are kept
	low, high float64 // of the released values
}

// kernel is scratch for one run of records.
type kernel struct {
	u, v        [][]float64 // centred original and released of the run
	bufU, bufV  [][]float64
	su, sv      []float64
	has, hasOut [][]float64 // runs with nulls only
	inX, inY    []cell.Bits // the same as bits, by column
}

// The sums of the runs of a window take about so many bytes, and those of a part some microseconds at least; a window
// has runs for as many cores as this all the same.
const (
	windowBytes = 2 << 20
	windowLeast = 16
	partPairs   = 512
	partMost    = 8
)

func newWork(columns int) *work {
	pairs := max(1, columns*(columns+1)/2)
	w := &work{columns: columns, window: max(windowLeast, windowBytes/(2*7*8*pairs)),
		group: max(1, min(partMost, partPairs/pairs))}
	w.limits = make([]limits, columns)
	w.lowBound, w.topBound = make([]float64, columns), make([]float64, columns)
	w.kernels.New = func() any {
		return &kernel{u: make([][]float64, columns), v: make([][]float64, columns), bufU: comoment.Rows(columns),
			bufV: comoment.Rows(columns), su: make([]float64, columns), sv: make([]float64, columns)}
	}
	return w
}

// begin begins a block.
func (a *Accumulator) begin(b *microdata.Block, origin *place.Origin, keep microdata.Bitmap) *blockSums {
	a.records += int64(b.Kept())
	w := a.work
	for c := range a.columns {
		col := &b.Columns[a.opts.Columns[c].Index]
		a.original.Recentre(c, col.Original, keep)
		a.released.Recentre(c, col.Out(), keep)
		w.lowBound[c] = a.columns[c].bottom.Threshold(origin, b.First)
		w.topBound[c] = a.columns[c].top.Threshold(origin, b.First)
	}
	return &blockSums{a: a, b: b, origin: origin, keep: keep}
}

// parts begins a window and returns what sums its runs: calls that do not depend on one another.
func (s *blockSums) parts() []func() {
	w := s.a.work
	s.runs = min(w.window, (s.b.N-s.from+cell.Run-1)/cell.Run)
	for len(w.runs) < s.runs {
		w.runs = append(w.runs, run{columns: make([]runSums, w.columns)})
	}
	for c := range s.a.columns {
		w.limits[c] = s.a.columns[c].limits(w.lowBound[c], w.topBound[c])
	}
	var parts []func()
	for first := 0; first < s.runs; first += w.group {
		parts = append(parts, func() { s.sum(first, min(first+w.group, s.runs)) })
	}
	return parts
}

// limits returns the limits of a column: those beyond which its record is kept, or narrower ones if the value alone is.
func (s *columnSums) limits(lo, hi float64) limits {
	if s.counts != nil {
		least, most := s.counts.Bounds()
		lo, hi = max(lo, least), min(hi, most)
	}
	return limits{lo, hi, s.low, s.high}
}

// sum sums some runs of the window. It changes nothing else.
func (s *blockSums) sum(first, last int) {
	w := s.a.work
	k := w.kernels.Get().(*kernel)
	defer w.kernels.Put(k)
	for i := first; i < last; i++ {
		r := &w.runs[i]
		from := s.from + i*cell.Run
		n := min(cell.Run, s.b.N-from)
		if r.clean = s.sumClean(k, r, from, n); !r.clean {
			s.sumPart(k, r, from, n)
		}
	}
}

func (s *blockSums) column(c int) *microdata.Column { return &s.b.Columns[s.a.opts.Columns[c].Index] }

// sumClean sums a run if every record in it is kept and has every value; otherwise it returns false.
func (s *blockSums) sumClean(k *kernel, r *run, from, n int) bool {
	if !cell.AllSet(s.keep, from, n) {
		return false
	}
	for c := range r.columns {
		if col := s.column(c); !cell.AllSet(col.Original.Valid, from, n) || !cell.AllSet(col.Out().Valid, from, n) {
			return false
		}
	}
	for c := range r.columns {
		col := s.column(c)
		x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
		var d runSums
		kx, ky, l := s.a.original.Centre[c], s.a.released.Centre[c], &s.a.work.limits[c]
		if kx == 0 && ky == 0 {
			d = plain(x, y, l.lo, l.hi, l.low, l.high)
			k.u[c], k.v[c] = x, y
		} else {
			k.u[c], k.v[c] = k.bufU[c][:n], k.bufV[c][:n]
			d = centred(k.u[c], k.v[c], x, y, kx, ky, l.lo, l.hi, l.low, l.high)
		}
		if !cell.Finite(d.su + d.sv + d.sd) {
			return false
		}
		r.columns[c], k.su[c], k.sv[c] = d, d.su, d.sv
	}
	r.original.Clean(n, k.u, k.su)
	r.released.Clean(n, k.v, k.sv)
	return true
}

// sumPart sums a run in which some values are null, not finite, or of rejected records.
func (s *blockSums) sumPart(k *kernel, r *run, from, n int) {
	if k.has == nil {
		k.has, k.hasOut = comoment.Rows(len(r.columns)), comoment.Rows(len(r.columns))
		k.inX, k.inY = make([]cell.Bits, len(r.columns)), make([]cell.Bits, len(r.columns))
	}
	for c := range r.columns {
		col := s.column(c)
		k.u[c], k.v[c] = k.bufU[c], k.bufV[c]
		comoment.Centre(col.Original, from, n, s.keep, s.a.original.Centre[c], k.u[c], k.has[c], &k.inX[c])
		comoment.Centre(col.Out(), from, n, s.keep, s.a.released.Centre[c], k.v[c], k.hasOut[c], &k.inY[c])
		x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
		l := &s.a.work.limits[c]
		r.columns[c] = sumPairs(x, y, &k.inX[c], &k.inY[c], l.lo, l.hi, l.low, l.high)
	}
	r.original.Part(n, k.u, k.has, k.inX)
	r.released.Part(n, k.v, k.hasOut, k.inY)
}

// fold adds the sums of the window's runs in their order, ends the window, and returns what adds the ends of its
// columns: calls that do not depend on one another.
func (s *blockSums) fold() (ends []func()) {
	a, from, runs := s.a, s.from, s.a.work.runs[:s.runs]
	for c := range a.columns {
		t, beyond := &a.columns[c], false
		for i := range runs {
			d := &runs[i].columns[c]
			t.pairs += int64(d.pairs)
			t.diff -= d.sd
			t.squareDiff += d.sdd
			if a.opts.Columns[c].Masked {
				t.unchanged += int64(d.same)
			}
			beyond = beyond || d.beyond
		}
		if beyond {
			ends = append(ends, func() { s.addEnds(c, from, runs) })
		}
	}
	for i := range runs {
		a.original.Add(&runs[i].original)
		a.released.Add(&runs[i].released)
	}
	s.from += s.runs * cell.Run
	return ends
}

// end ends the block.
func (s *blockSums) end() {
	s.a.original.Fold()
	s.a.released.Fold()
}

// addEnds adds the extreme values of a column in runs, the first of which begins at a record. Only those that have
// values beyond what was most extreme before the window may have any.
func (s *blockSums) addEnds(c, from int, runs []run) {
	for i := range runs {
		r, at := &runs[i], from+i*cell.Run
		n := min(cell.Run, s.b.N-at)
		switch {
		case !r.columns[c].beyond:
		case r.clean:
			s.addCleanEnds(c, at, n, r.columns[c].pieces)
		default:
			s.addPartEnds(c, at, n)
		}
	}
}

// addCleanEnds is addEnds of one run that is clean. pieces marks the pieces of the run that may have any.
func (s *blockSums) addCleanEnds(c, from, n int, pieces uint64) {
	t, w := &s.a.columns[c], s.a.work
	col := s.column(c)
	x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
	beyond := false
	for ; pieces != 0; pieces &= pieces - 1 {
		at := bits.TrailingZeros64(pieces) * pieceLength
		end := min(at+pieceLength, n)
		if t.counts != nil {
			t.counts.AddEnds(x[at:end])
		}
		beyond = beyond || t.extreme(x[at:end], y[at:end], w.lowBound[c], w.topBound[c])
	}
	if t.counts != nil {
		t.counts.BoundEnds()
	}
	if beyond {
		s.scanEnds(c, from, n)
	}
}

// addPartEnds is addEnds of one run that is not clean.
func (s *blockSums) addPartEnds(c, from, n int) {
	t, w := &s.a.columns[c], s.a.work
	col := s.column(c)
	x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
	if t.counts != nil {
		var marks cell.Bits
		cell.Mark(&marks, col.Original, from, n, s.keep)
		t.counts.AddMarkedEnds(x, &marks)
	}
	if t.extreme(x, y, w.lowBound[c], w.topBound[c]) {
		s.scanEnds(c, from, n)
	}
}

// extreme reports whether an original value is beyond [lo, hi], or a released one beyond those seen so
// far.
func (s *columnSums) extreme(x, y []float64, lo, hi float64) bool {
	for i, v := range x {
		if v < lo || v > hi || y[i] < s.low || y[i] > s.high {
			return true
		}
	}
	return false
}

// scanEnds adds a run's extremes of one column. Values that are null, not
// finite or of rejected records are ignored.
func (s *blockSums) scanEnds(c, from, n int) {
	a, b := s.a, s.b
	t, w := &a.columns[c], a.work
	x, y := s.column(c).Original, s.column(c).Out()
	row := 0
	fill := func(dst []float64) { a.layout.Fill(dst, b, row) }
	for i, v := range y.Values[from : from+n] {
		// −0 is less than 0 here.
		if (v <= t.low || v >= t.high) && cell.Finite(v) && s.keep.Has(from+i) && y.Valid.Has(from+i) {
			t.low, t.high = math.Min(t.low, v), math.Max(t.high, v)
		}
	}
	lo, hi := w.lowBound[c], w.topBound[c]
	for i, v := range x.Values[from : from+n] {
		if !(v < lo || v > hi) || !cell.Finite(v) || !s.keep.Has(from+i) || !x.Valid.Has(from+i) {
			continue
		}
		row = from + i
		if v < lo && t.bottom.Add(v, s.origin, b.Place(row), a.layout.Width(), fill) {
			lo = t.bottom.Threshold(s.origin, b.Place(row)+1)
		}
		if v > hi && t.top.Add(v, s.origin, b.Place(row), a.layout.Width(), fill) {
			hi = t.top.Threshold(s.origin, b.Place(row)+1)
		}
	}
	w.lowBound[c], w.topBound[c] = lo, hi
}
