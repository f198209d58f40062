package transform

import (
	"fmt"
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
	chain   *Chain
	columns []displacedColumn
	swaps   []*displacingSwap
	window  bool // whether a swap seeks partners within windows
	draws   []*Chain
	scratch sync.Pool
}

// displacedColumn is a column whose values swaps move.
type displacedColumn struct {
	name    string
	index   int // in Block.Columns
	swaps   []int
	moments func(x float64) (shift, square float64) // of the masks other than swaps; nil: no closed form, they are simulated
	centre  float64                                 // subtracted from original values, for precision
	centred bool                                    // the survey has set centre (not if unknown); else each window has a centre of its own
	unknown bool                                    // keys of a swap on it depend on draws
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

// Displacer returns nil if no swap moves a numeric column of the chain.
//
// It also returns nil if a mask computes with all values at once: a released value then
// depends on which respondent's value is in the record.
func (c *Chain) Displacer() *Displacer {
	if AnyComputesWithAll(c.masks) {
		return nil
	}
	d := &Displacer{chain: c, scratch: sync.Pool{New: func() any { return new(displacing) }}}
	at := map[int]int{} // by mask: in d.swaps
	for _, col := range c.columns {
		if !col.Field.Numeric() {
			continue
		}
		if info := d.findSwaps(col, at); len(info.swaps) > 0 {
			d.columns = append(d.columns, info)
		}
	}
	if len(d.columns) == 0 {
		return nil
	}
	d.layOut()
	if slices.ContainsFunc(d.columns, func(col displacedColumn) bool { return col.moments == nil }) {
		setup := c.setup
		setup.Identity = nil
		for b := range batches {
			rest, err := newChain(Unmixed(c.masks), setup, drawsFrom+b, nil)
			if err != nil {
				panic(fmt.Sprintf("transform: masks of a valid chain: %v", err))
			}
			d.draws = append(d.draws, rest)
		}
	}
	return d
}

// findSwaps finds the swaps that move a column, and adds to d those that are not there yet; at
// gives the index in d.swaps of a mask's swap.
func (d *Displacer) findSwaps(col *column, at map[int]int) displacedColumn {
	c, info := d.chain, displacedColumn{name: col.Name, index: col.Index}
	for i, m := range c.masks {
		if !slices.Contains(m.Params.Masks(), col.Name) {
			continue
		}
		exchanges := declared(m.Params).exchanges
		if exchanges == nil {
			// A mask that does not declare how it moves values is ignored.
			info.unknown = info.unknown || MixesRecords(m.Params) && !Computes(m.Params)
			continue
		}
		s := exchanges()
		if _, known := at[i]; !known {
			at[i] = len(d.swaps)
			d.swaps = append(d.swaps, c.displacing(s))
			d.window = d.window || !s.dataset
		}
		info.swaps = append(info.swaps, at[i])
		for _, before := range c.masks[:i] {
			if slices.ContainsFunc(before.Params.Masks(), func(name string) bool { return slices.Contains(s.reads, name) }) {
				info.unknown = true
			}
		}
	}
	if law, ok := c.Law(col.Name); ok {
		info.moments = law.Moments
	}
	return info
}

// layOut assigns the sums of swaps of scope dataset their places: a column has one place if
// the expectations before the swap are exact, else one for each batch.
func (d *Displacer) layOut() {
	for k, s := range d.swaps {
		s.first = -1
		s.at, s.batches = make([]int, len(d.columns)), make([]int, len(d.columns))
		for i, col := range d.columns {
			at := slices.Index(col.swaps, k)
			if at < 0 || col.unknown {
				continue
			}
			if s.first < 0 {
				s.first = i
			}
			s.at[i], s.batches[i] = s.width, 1
			if at > 0 || col.moments == nil {
				s.batches[i] = batches
			}
			s.width += s.batches[i]
		}
	}
}

// drawsFrom is the number of the first replicate that a Displacer draws if there is no closed
// form. The replicates of an assessment have lower numbers.
const drawsFrom = 1 << 30

func (c *Chain) displacing(e exchangeRule) *displacingSwap {
	s := &displacingSwap{dataset: e.dataset, pairer: &pairer{rate: e.rate, unique: e.unique, dataset: e.dataset}}
	for _, name := range e.reads {
		s.keys = append(s.keys, c.info(name).Index)
	}
	for _, name := range e.columns {
		if info := c.info(name); info != nil {
			s.exchanged = append(s.exchanged, info.Index)
		}
	}
	return s
}

// Columns returns the indexes in Block.Columns of the columns for which Apply has results.
func (d *Displacer) Columns() []int {
	var list []int
	for _, c := range d.columns {
		list = append(list, c.index)
	}
	return list
}

// Approximate returns the indexes of the columns for which Apply ignores the exchange, because
// the keys of a swap depend on draws. An exchange moves a value further than the other masks
// do, so for these columns E(x − y)² is understated and risk overstated.
func (d *Displacer) Approximate() []int {
	var list []int
	for _, c := range d.columns {
		if c.unknown {
			list = append(list, c.index)
		}
	}
	return list
}

// Independent reports whether the result of Apply and ApplyTo for a record in a column (an index in
// Block.Columns) is the same to the last bit whatever other records are in the block or wanted: the
// column is moved by one swap of scope dataset and policy random, the law of the other masks is
// known, and no swap of the chain has scope window.
func (d *Displacer) Independent(column int) bool {
	i := slices.IndexFunc(d.columns, func(c displacedColumn) bool { return c.index == column })
	if i < 0 || d.window {
		return false
	}
	col := &d.columns[i]
	return col.moments != nil && !col.unknown && len(col.swaps) == 1 && d.swaps[col.swaps[0]].dataset && !d.swaps[col.swaps[0]].pairer.unique
}

// NeedsSurvey reports whether all blocks must go through Survey, and EndSurvey
// follow, before the first Apply.
func (d *Displacer) NeedsSurvey() bool {
	return slices.ContainsFunc(d.swaps, func(s *displacingSwap) bool { return s.dataset })
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
			if c.moments == nil {
				w.drawn[k][i] = append(w.drawn[k][i][:0], v.Columns[c.index].Out().Values...)
			}
		}
	}
	return nil
}

// blocks goes through a block window by window.
func (d *Displacer) blocks(w *displacing, b *microdata.Block, survey bool) error {
	size := batch
	switch {
	case d.window:
		size = d.chain.setup.Window
	case !survey:
		size = batch / 4 // the memory for each record is large, and should stay in the cache
	}
	if !survey {
		for i := range d.columns {
			b.Columns[d.columns[i].index].Displace(b.N)
		}
	}
	for from := 0; from < b.N; from += size {
		n := min(size, b.N-from)
		for i := range d.columns {
			if survey && !slices.ContainsFunc(d.columns[i].swaps, func(k int) bool { return d.swaps[k].dataset }) {
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
	to := &b.Columns[d.columns[i].index].Moved
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
	if !survey && !d.window && col.centred && col.moments != nil && len(col.swaps) == 1 && d.swaps[col.swaps[0]].dataset {
		return d.alone(w, b, i, from, n, d.swaps[col.swaps[0]])
	}
	if survey && col.moments != nil && !col.unknown && d.swaps[col.swaps[0]].dataset {
		return d.count(w, b, i, from, n, d.swaps[col.swaps[0]])
	}
	d.begin(w, b, i, from, n)
	if !col.unknown {
		for _, k := range col.swaps {
			s := d.swaps[k]
			if err := s.find(w, b, from, n); err != nil {
				return err
			}
			switch {
			case !s.dataset:
				s.window(w, len(col.swaps) > 1)
			case survey:
				if !col.centred {
					col.centre, col.centred = w.centre, true
				}
				s.take(w, i)
				return nil // the values before a later swap are not known yet, and not needed
			default:
				if err := s.apply(w, i, d.window, len(col.swaps) > 1); err != nil {
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
func (s *displacingSwap) find(w *displacing, b *microdata.Block, from, n int) error {
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
func (w *displacing) reader(s *displacingSwap) *coding.Grouping {
	r := w.readers[s]
	if r == nil {
		if w.readers == nil {
			w.readers = make(map[*displacingSwap]*coding.Grouping)
		}
		r = s.grouping.Reader()
		w.readers[s] = r
	}
	return r
}
