package displacement

import (
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// Displacer computes how far the masks of a chain are expected to move the values of
// single records that a swap may exchange: E(x − y)² of each record over the draws
// of masks and swaps, given the data. Duncan and Keller-McNulty (2000), section 6.2,
// give it for two areas.
//
// A swap depends on keys and attribute alone. So whether record i is exchanged, and
// with which record, is independent of the exchanged values. The released value of an
// exchanged record i is a draw of the other masks' law at its partner's original value, so
//
//	E(x_i − y_i)² = (1 − p_i) E(x_i − y(x_i))² + Σ_j p_ij E(x_i − y(x_j))²
//
// with p_ij the probability of the exchange of i and j, p_i their sum. p_ij is that of
// the pairing, which depends on the sizes of combinations; the sums over j follow
// from sums of E y(x_j) and E y(x_j)² over each combination. Several swaps on one column
// are taken one after another, each from the expectations after the one before it.
//
// Apply may be called from many goroutines.
type Displacer struct {
	columns []Column
	swaps   []*Swap
	window  bool // whether a swap seeks partners within windows
	records int  // of a window
	draws   []Masked
	scratch sync.Pool
}

// Column is a column whose values swaps move.
type Column struct {
	Index int // in Block.Columns
	// that move it, by their places in the list, in the order in which they are applied
	Swaps []int
	// of the masks other than swaps; nil: no closed form, they are simulated
	Moments func(x float64) (shift, square float64)
	centre  float64 // subtracted from original values, for precision
	// the survey has set centre (not if unknown); else each window has a centre of its own
	centred bool
	Unknown bool // keys of a swap on it depend on draws
}

// moment is Σ p, Σ p·E(y − centre), Σ p·E(y − centre)², Σ p·(E(y − centre))² over records, p the
// probability that a record's value is not null.
type moment [4]float64

func (m *moment) add(o moment, f float64) {
	m[0] += f * o[0]
	m[1] += f * o[1]
	m[2] += f * o[2]
	m[3] += f * o[3]
}

// Masked is something that masks blocks, with draws of its own.
type Masked interface {
	Apply(b *microdata.Block) error
}

// New returns a Displacer of swaps that move columns. window is the number of records of a window, for swaps that seek
// partners within windows. draws makes as many independent draws of the masks other than swaps as it is asked for; it
// is called only if some column has no closed form.
func New(columns []Column, swaps []*Swap, window int, draws func(n int) []Masked) *Displacer {
	d := &Displacer{columns: columns, swaps: swaps, records: window,
		scratch: sync.Pool{New: func() any { return new(displacing) }}}
	d.window = slices.ContainsFunc(swaps, func(s *Swap) bool { return !s.dataset })
	d.layOut()
	if slices.ContainsFunc(columns, func(col Column) bool { return col.Moments == nil }) {
		d.draws = draws(batches)
	}
	return d
}

// NewSwap describes a swap by the indexes in Block.Columns of its keys, the attribute last, and of the columns whose
// values it moves.
func NewSwap(keys, exchanged []int, p *Pairer) *Swap {
	return &Swap{keys: keys, exchanged: exchanged, dataset: p.Dataset, pairer: p}
}

// layOut assigns the sums of swaps of scope dataset their places: a column has one place if
// the expectations before the swap are exact, else one for each batch.
func (d *Displacer) layOut() {
	for k, s := range d.swaps {
		s.first = -1
		s.at, s.batches = make([]int, len(d.columns)), make([]int, len(d.columns))
		for i, col := range d.columns {
			at := slices.Index(col.Swaps, k)
			if at < 0 || col.Unknown {
				continue
			}
			if s.first < 0 {
				s.first = i
			}
			s.at[i], s.batches[i] = s.width, 1
			if at > 0 || col.Moments == nil {
				s.batches[i] = batches
			}
			s.width += s.batches[i]
		}
	}
}

// Columns returns the indexes in Block.Columns of the columns for which Apply has results.
func (d *Displacer) Columns() []int {
	var list []int
	for _, c := range d.columns {
		list = append(list, c.Index)
	}
	return list
}

// Approximate returns the indexes of the columns for which Apply ignores the exchange, because
// the keys of a swap depend on draws. An exchange moves a value further than the other masks
// do, so for these columns E(x − y)² is understated and risk overstated.
func (d *Displacer) Approximate() []int {
	var list []int
	for _, c := range d.columns {
		if c.Unknown {
			list = append(list, c.Index)
		}
	}
	return list
}

// Independent reports whether the result of Apply and ApplyTo for a record in a column (an index in
// Block.Columns) is the same, up to the rounding of sums, whatever other records are in the block or wanted: the
// column is moved by one swap of scope dataset and policy random, the law of the other masks is
// known, and no swap of the chain has scope window.
func (d *Displacer) Independent(column int) bool {
	i := slices.IndexFunc(d.columns, func(c Column) bool { return c.Index == column })
	if i < 0 || d.window {
		return false
	}
	col := &d.columns[i]
	return col.Moments != nil && !col.Unknown && len(col.Swaps) == 1 && d.swaps[col.Swaps[0]].dataset &&
		!d.swaps[col.Swaps[0]].pairer.Unique
}

// NeedsSurvey reports whether all blocks must go through Survey, and EndSurvey
// follow, before the first Apply.
func (d *Displacer) NeedsSurvey() bool {
	return slices.ContainsFunc(d.swaps, func(s *Swap) bool { return s.dataset })
}

// Survey takes a block of a first pass over the data; call it for one block after another. It
// reads originals only; rejected records take no part.
func (d *Displacer) Survey(b *microdata.Block) error {
	return d.run(b, func(w *displacing) error {
		w.wanted = nil
		return d.blocks(w, b, true)
	})
}

// EndSurvey makes the pairings of swaps of scope dataset.
func (d *Displacer) EndSurvey() {
	for _, s := range d.swaps {
		if s.dataset {
			s.endSurvey()
		}
	}
}

// Apply fills Moved of the columns that swaps move. The block may have been masked.
func (d *Displacer) Apply(b *microdata.Block) error { return d.ApplyTo(b, nil) }

// ApplyTo is Apply for some of the records only; the others may get no result, like records
// without a value.
func (d *Displacer) ApplyTo(b *microdata.Block, wanted func(i int) bool) error {
	return d.run(b, func(w *displacing) error {
		if w.wanted = wanted; d.window {
			w.wanted = nil // any record of a window may be exchanged with a record that is wanted
		}
		return d.blocks(w, b, false)
	})
}

func (d *Displacer) run(b *microdata.Block, f func(*displacing) error) error {
	if b.N == 0 {
		return nil
	}
	w := d.scratch.Get().(*displacing)
	defer d.scratch.Put(w)
	if err := d.draw(w, b); err != nil {
		return err
	}
	return f(w)
}

// draw simulates the masks other than swaps on the block, if their law has no closed form.
func (d *Displacer) draw(w *displacing, b *microdata.Block) error {
	if w.drawn == nil {
		w.drawn = make([][][]float64, len(d.draws))
	}
	for k, rest := range d.draws {
		v := w.original(b)
		if err := rest.Apply(v); err != nil {
			return err
		}
		if w.drawn[k] == nil {
			w.drawn[k] = make([][]float64, len(d.columns))
		}
		for i, c := range d.columns {
			if c.Moments == nil {
				w.drawn[k][i] = append(w.drawn[k][i][:0], v.Columns[c.Index].Out().Values...)
			}
		}
	}
	return nil
}

// atATime is how many records are looked at together, if there are no windows.
const atATime = 4096

// blocks goes through a block window by window.
func (d *Displacer) blocks(w *displacing, b *microdata.Block, survey bool) error {
	size := atATime
	switch {
	case d.window:
		size = d.records
	case !survey:
		size = atATime / 4 // the memory for each record is large, and should stay in the cache
	}
	if !survey {
		for i := range d.columns {
			b.Columns[d.columns[i].Index].Displace(b.N)
		}
	}
	for from := 0; from < b.N; from += size {
		n := min(size, b.N-from)
		for i := range d.columns {
			if survey && !slices.ContainsFunc(d.columns[i].Swaps, func(k int) bool { return d.swaps[k].dataset }) {
				continue
			}
			if err := d.part(w, b, i, from, n, survey); err != nil {
				return err
			}
		}
	}
	return nil
}

// part is follow; if only few records are wanted, it is called for each of them separately.
func (d *Displacer) part(w *displacing, b *microdata.Block, i, from, n int, survey bool) error {
	if w.wanted == nil {
		return d.follow(w, b, i, from, n, survey)
	}
	w.rows = w.rows[:0]
	for r := from; r < from+n; r++ {
		if w.wanted(r) {
			w.rows = append(w.rows, r)
		}
	}
	if len(w.rows) > n/8 {
		return d.follow(w, b, i, from, n, survey)
	}
	to := &b.Columns[d.columns[i].Index].Moved
	for at := from; at < from+n; at++ {
		writeUnknown(to, at)
	}
	for _, r := range w.rows {
		if err := d.follow(w, b, i, r, 1, survey); err != nil {
			return err
		}
	}
	return nil
}

// follow takes the values of one column through its swaps, for records [from,
// from+n).
func (d *Displacer) follow(w *displacing, b *microdata.Block, i, from, n int, survey bool) error {
	col := &d.columns[i]
	if !survey && !d.window && col.centred && col.Moments != nil && len(col.Swaps) == 1 && d.swaps[col.Swaps[0]].dataset {
		return d.alone(w, b, i, from, n, d.swaps[col.Swaps[0]])
	}
	if survey && col.Moments != nil && !col.Unknown && d.swaps[col.Swaps[0]].dataset {
		return d.count(w, b, i, from, n, d.swaps[col.Swaps[0]])
	}
	d.begin(w, b, i, from, n)
	if !col.Unknown {
		for _, k := range col.Swaps {
			s := d.swaps[k]
			if err := s.find(w, b, from, n); err != nil {
				return err
			}
			switch {
			case !s.dataset:
				s.window(w, len(col.Swaps) > 1)
			case survey:
				if !col.centred {
					col.centre, col.centred = w.centre, true
				}
				s.take(w, i)
				return nil // the values before a later swap are not known yet, and not needed
			default:
				if err := s.apply(w, i, d.window, len(col.Swaps) > 1); err != nil {
					return err
				}
			}
		}
	}
	if !survey {
		d.writeColumn(w, b, i, from, n)
	}
	return nil
}

// find fills w.grouping with the groups of a swap; with those of the whole data if its scope is
// dataset.
func (s *Swap) find(w *displacing, b *microdata.Block, from, n int) error {
	g := &w.grouping
	if !s.dataset {
		g.Reset()
		if err := g.Find(w.original(b), s.keys, from, n); err != nil {
			return err
		}
		g.Exclude(b, from, s.exchanged)
		return nil
	}
	survey := &s.grouping
	if s.groups != nil { // after the survey
		survey = w.reader(s)
	}
	if err := survey.Find(w.original(b), s.keys, from, n); err != nil {
		return err
	}
	for i, code := range survey.Combo {
		if code < 0 && !b.Rejected(from+i) {
			return errGone
		}
	}
	g.Group, g.Combo = append(g.Group[:0], survey.Group...), append(g.Combo[:0], survey.Combo...)
	g.Exclude(b, from, s.exchanged)
	return nil
}

// reader returns a grouping that finds the codes assigned by the survey.
func (w *displacing) reader(s *Swap) *coding.Grouping {
	r := w.readers[s]
	if r == nil {
		if w.readers == nil {
			w.readers = make(map[*Swap]*coding.Grouping)
		}
		r = s.grouping.Reader()
		w.readers[s] = r
	}
	return r
}
