package transform

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/memory"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// ColumnInfo describes a column that a mask changes or reads.
type ColumnInfo struct {
	Name     string
	Index    int             // in Block.Columns; arithmetic masks need Numbers form, swap takes either form
	Field    microdata.Field // type of the release: range, integer or not
	Decimals int             // decimals of released values (0 for integers); -1: the data show no grid
	SD, Mean float64         // of the original column; NaN where not known
	Days     bool            // dates or moments, which masks compute with in days since 1970-01-01 (microdata.Want.Days)
}

// Setup is what a chain needs to know about the data and the run.
type Setup struct {
	Key        keystream.Key
	Columns    []ColumnInfo
	Identity   []int // Block.Columns indexes of the identity columns; empty: place is the identity
	Households Households
	// Persons are the indexes of the identity columns for replicates: records of one respondent with the same value then
	// share draws, as they do in a release. Empty: each record draws by itself.
	Persons []int
	// SameAs names for a column another one, whose name is in its draws; Instead are by identity column the
	// index of the column that identifies a record without it, −1 for none.
	SameAs  map[string]string
	Instead []int
	// Weights are columns of sampling weights, in Numbers form, by which a measure estimates: a record without a finite
	// weight of at least 0 is rejected.
	Weights []ColumnInfo
	// Sorted are the original values of columns in ascending order, for masks that need them
	// (NeedsValues). A column without an entry is not known.
	Sorted map[string][]float64
	// Frequencies are those of original categories, where a mask needs them (NeedsFrequencies).
	Frequencies map[string]*Frequencies
	// People are the places of the source's records, where a mask needs them (NeedsPeople).
	People map[PeopleOf]*places.People
	// Places are pairs of columns to verify, beside those that masks displace.
	Places []Place
	// Correlations are those of original columns with one another, where a mask needs them
	// (NeedsCorrelations).
	Correlations Correlations
	Window       int // records in a swap window; blocks of a file start at multiples of it and hold whole windows
}

// unreleased returns the setup for draws that never leave: a record is identified by its place, and each column
// draws by itself.
func (s Setup) unreleased() Setup {
	s.Identity, s.Instead, s.SameAs, s.Households.Instead, s.Weights = nil, nil, nil, nil, nil
	return s
}

// Chain is a list of masks that is ready for the columns of one run. Apply may be called from
// many goroutines. What a chain releases does not depend on the order of the blocks, nor on
// where they are cut (except for swaps within windows). One chain serves blocks of any number
// of scopes.
type Chain struct {
	masks     []Spec
	labels    []string // of the masks, see Label
	setup     Setup
	replicate int
	columns   []*column    // that masks change, in the order in which masks first name them
	steps     []step       // one a mask
	choice    choosing     // nil where all records are released
	chosen    string       // description of the sample, for the names of draws; "" if there is none
	expected  int64        // number of records that a survey will see; 0: not known
	room      func() int64 // bytes of memory for what is held
	survey    int          // number of steps up to and including the last mask of scope dataset
	unseen    []bool       // by those steps: whether the survey can do without what the step changes
	surveyed  bool
	touched   []atomic.Int64
	listing   int             // number of bits in Block.Listed
	listed    []atomic.Uint64 // of all blocks
	verifies  []*verifying

	unidentified atomic.Int64

	scratch *sync.Pool
	draws   []drawName   // what the steps draw from, by the number that stream gave them
	streams sync.Map     // scope → []*keystream.Stream, in the order of draws
	shared  *sharedDraws // of a replicate; nil if it shares no draws
	common  int          // number of leading masks that it shares with first
	first   *Chain       // the first of the chains that share these masks

	outcomes *sync.Map // what masks find once for the chain and its replicates, by mask

	cancelled atomic.Bool
}

// step is a mask on the columns of a chain.
type step interface {
	apply(c *Chain, w *work, b *microdata.Block) error
}

// compiler is the part of Params that makes a step of mask i of a chain.
type compiler interface {
	compile(c *Chain, i int) (step, error)
}

// NewChain prepares the masks for a run. The error names mask and parameter. Errors are:
// parameters that Check or CheckSpecs refuse; a column that is not in the setup or whose type
// the mask does not support; a percentage of an SD that is not known; bounds between which
// there is no value with the column's type and decimals; a missing window. Protected columns
// of a swap that are not in the setup are skipped.
func NewChain(masks []Spec, setup Setup) (*Chain, error) {
	var ps check.Problems
	for i, m := range masks {
		ps.Within(fmt.Sprintf("[%d].%s", i, m.Kind()), m.Params.Check())
	}
	ps = append(ps, CheckSpecs(masks)...)
	if len(ps) > 0 {
		errs := make([]error, len(ps))
		for i, p := range ps {
			errs[i] = fmt.Errorf("masks%w", p)
		}
		return nil, errors.Join(errs...)
	}
	if setup.Window <= 0 && NeedsWindow(masks) {
		return nil, fmt.Errorf("window.records: must be at least 1 for a swap of scope window, got %d", setup.Window)
	}
	return newChain(masks, setup, 0, nil)
}

func newChain(masks []Spec, setup Setup, replicate int, shared *sharedDraws) (*Chain, error) {
	c := &Chain{
		masks: masks, labels: labels(masks), setup: setup, replicate: replicate, shared: shared,
		touched: make([]atomic.Int64, len(masks)),
		scratch: &sync.Pool{New: func() any { return new(work) }}, outcomes: &sync.Map{}, room: memory.Room,
	}
	for i, m := range masks {
		p, ok := m.Params.(compiler)
		if !ok {
			return nil, fmt.Errorf("%s: has no arithmetic", c.at(i))
		}
		s, err := p.compile(c, i)
		if err != nil {
			return nil, err
		}
		if err := c.settle(i); err != nil {
			return nil, err
		}
		c.steps = append(c.steps, s)
		if _, ok := s.(surveying); ok {
			c.survey = i + 1
		}
	}
	for _, col := range c.columns {
		if col.Field.Numeric() && col.decimals >= 0 && !col.onGrid {
			col.refit = true
		}
	}
	if err := c.checkSame(); err != nil {
		return nil, err
	}
	c.settleSurvey()
	c.listed = make([]atomic.Uint64, c.Listing())
	c.verifies = c.verified()
	c.streamsOf("")
	return c, nil
}

// at names mask i as the configuration does, for errors.
func (c *Chain) at(i int) string {
	return fmt.Sprintf("masks[%d].%s", i, c.masks[i].Kind())
}

func (c *Chain) info(name string) *ColumnInfo {
	for i := range c.setup.Columns {
		if c.setup.Columns[i].Name == name {
			return &c.setup.Columns[i]
		}
	}
	return nil
}

// touch returns the column that a mask changes, or nil where it is not there.
func (c *Chain) touch(name string) *column {
	col := c.lookup(name)
	if col != nil && !slices.Contains(c.columns, col) {
		c.columns = append(c.columns, col)
	}
	return col
}

// arithmetic returns the column for mask i to compute with. It must be there and
// be numeric.
func (c *Chain) arithmetic(i int, name string) (*column, error) {
	col := c.touch(name)
	if col == nil {
		return nil, fmt.Errorf("%s.columns: there is no column %s", c.at(i), strconv.Quote(name))
	}
	if !col.Field.Numeric() {
		return nil, fmt.Errorf("%s.columns: column %s must be numeric, got type %s", c.at(i), strconv.Quote(name),
			microdata.TypeName(col.Field.Type))
	}
	return col, nil
}

// NeedsSurvey reports whether the chain has a mask of scope dataset. If so, Survey must be called
// for all blocks and then EndSurvey, before the first Apply.
func (c *Chain) NeedsSurvey() bool { return c.survey > 0 }

// Draws reports whether the chain uses random draws for the released records. If not, each of
// its replicates is equal to the release.
func (c *Chain) Draws() bool {
	for _, d := range c.draws {
		if !LeavesOut(c.masks[d.mask].Params) {
			return true
		}
	}
	return false
}

// DrawsFor reports whether what a column is released with depends on random draws, its own or those of
// columns that its masks read or mask together with it.
func (c *Chain) DrawsFor(column string) bool {
	on := map[string]bool{column: true}
	for i := len(c.masks) - 1; i >= 0; i-- {
		p := c.masks[i].Params
		if !slices.ContainsFunc(p.Masks(), func(name string) bool { return on[name] }) {
			continue
		}
		if slices.ContainsFunc(c.draws, func(d drawName) bool { return d.mask == i }) {
			return true
		}
		for _, name := range slices.Concat(p.Masks(), p.Reads()) {
			on[name] = true
		}
	}
	return false
}

// Again returns a chain that masks the same records in the same way once more, and leaves the counts
// of c as they are.
func (c *Chain) Again() *Chain {
	again := &Chain{
		masks: c.masks, labels: c.labels, setup: c.setup, replicate: c.replicate, columns: c.columns, steps: c.steps,
		choice: c.choice, chosen: c.chosen, survey: c.survey, unseen: c.unseen, surveyed: c.surveyed,
		touched: make([]atomic.Int64, len(c.masks)), listing: c.listing, listed: make([]atomic.Uint64, len(c.listed)),
		scratch: &sync.Pool{New: func() any { return new(work) }}, draws: c.draws, outcomes: c.outcomes,
	}
	again.streamsOf("")
	return again
}

// Apply masks a block: it fills Released or ReleasedArray of the columns that
// masks change, and Digests where identity columns are set, and rejects the
// records that have a value which cannot be masked (NaN, ±Inf, beyond 2^53
// units) in one of them, and those with a value that the masks have made a declared code for a
// missing one. Values are as a sink writes them: with the column's
// decimals and in its type. Nulls stay null.
func (c *Chain) Apply(b *microdata.Block) error {
	if c.survey > 0 && !c.surveyed {
		return errors.New("a mask of scope dataset needs a survey of all records first")
	}
	return c.run(b, func(w *work) error {
		steps, err := c.begin(w, b)
		if err != nil {
			return err
		}
		for _, s := range steps {
			if err := s.apply(c, w, b); err != nil {
				return err
			}
		}
		for _, col := range c.columns {
			col.fit(b)
		}
		c.addListed(b.Listed)
		if c.replicate == 0 {
			for _, col := range c.columns {
				col.rejectCodes(b)
			}
		}
		for _, place := range c.verifies {
			place.see(b)
		}
		return nil
	})
}

// Admit rejects the records of a block that Apply would reject, and leaves out those that
// Apply leaves out. It masks nothing.
func (c *Chain) Admit(b *microdata.Block) error {
	if c.choice == nil {
		return c.admit(b)
	}
	if err := c.admit(b); err != nil {
		return err
	}
	w := c.scratch.Get().(*work)
	defer c.scratch.Put(w)
	w.streams, w.shared, w.leaves = c.streamsOf(b.Scope), c.shared, c.replicate == 0
	w.digests = c.identify(w, b)
	c.group(w, b)
	return c.choice.choose(c, w, b)
}

// identify returns digests of the records' identities; nil if the identity of a record is its
// place.
func (c *Chain) identify(w *work, b *microdata.Block) []microdata.Digest {
	if len(c.setup.Identity) == 0 {
		return nil
	}
	w.identity = w.identity[:0]
	for _, i := range c.setup.Identity {
		w.identity = append(w.identity, &b.Columns[i])
	}
	digests := c.setup.Key.Digests(b.Digests, w.identity, b.N)
	c.otherwise(w, b, digests, c.setup.Identity, c.setup.Instead)
	return digests
}

func (c *Chain) admit(b *microdata.Block) error {
	for i := range c.setup.Weights {
		rejectWeights(b, &c.setup.Weights[i], false)
	}
	if c.replicate == 0 {
		for _, s := range c.steps {
			if of, ok := s.(weighing); ok {
				rejectWeights(b, of.weights(), true)
			}
		}
	}
	for _, col := range c.columns {
		if c.shared.admitted(col, b) {
			continue
		}
		before := len(b.Rejects)
		if err := col.admit(b); err != nil {
			return err
		}
		c.shared.admit(col, b, len(b.Rejects) == before)
	}
	return nil
}

// run admits the block, computes its digests and gives f scratch space.
func (c *Chain) run(b *microdata.Block, f func(*work) error) error {
	w := c.scratch.Get().(*work)
	defer c.scratch.Put(w)
	if err := c.open(w, b); err != nil {
		return err
	}
	return f(w)
}

// open prepares scratch space for a block, and admits the block.
func (c *Chain) open(w *work, b *microdata.Block) error {
	w.streams, w.shared, w.leaves = c.streamsOf(b.Scope), c.shared, c.replicate == 0
	b.Touched = append(b.Touched[:0], make([]int64, len(c.masks))...)
	b.Listed = append(b.Listed[:0], make(microdata.Bitmap, c.Listing())...)
	if err := c.admit(b); err != nil {
		return err
	}
	if w.digests = c.identify(w, b); w.digests != nil {
		b.Digests = w.digests
		for i := range w.digests {
			if w.digests[i] == (microdata.Digest{}) && !b.Rejected(i) {
				c.unidentified.Add(1)
			}
		}
	}
	c.group(w, b)
	c.repeat(w, b)
	w.left = b.LeftOut()
	if c.choice == nil {
		return nil
	}
	return c.choice.choose(c, w, b)
}

// Replicate returns a chain of the same masks with independent draws, number m ≥ 1, in which
// the identity of a record is its place. It shares nothing with c. If NeedsSurvey is true it
// needs its own survey.
func (c *Chain) Replicate(m int) *Chain { return c.replicateWith(m, nil) }

func (c *Chain) replicateWith(m int, shared *sharedDraws) *Chain {
	r, err := newChain(c.masks, c.setup.unreleased(), m, shared)
	if err != nil {
		panic(fmt.Sprintf("transform: replicate of a valid chain: %v", err)) // NewChain has accepted the same masks and setup
	}
	r.outcomes = c.outcomes
	return r
}

// Touch says how many records a mask has changed.
type Touch struct {
	Label, Kind string
	Columns     []string
	Records     int64
}

// Touched returns, per mask, the records that Apply has changed so far. A
// truncate of mode redraw counts the records whose noise was drawn within its
// bounds.
func (c *Chain) Touched() []Touch {
	touched := make([]Touch, len(c.masks))
	for i, m := range c.masks {
		touched[i] = Touch{c.labels[i], m.Kind(), m.Params.Masks(), c.touched[i].Load()}
	}
	return touched
}

// Unidentified returns how many records Apply has masked so far whose identity
// columns were all null or empty. Such a record is identified by its place.
func (c *Chain) Unidentified() int64 { return c.unidentified.Load() }

// Resume adds the counts of other chains of the same masks (their Touched, Unidentified and Listed) to
// those of this chain.
func (c *Chain) Resume(touched []int64, unidentified int64, listed microdata.Bitmap) {
	c.addListed(listed)
	for i, n := range touched {
		c.touched[i].Add(n)
	}
	c.unidentified.Add(unidentified)
}

// count adds the records marked in changed to those that mask i has changed. A
// rejected record is not released and does not count.
func (c *Chain) count(i int, b *microdata.Block, changed microdata.Bitmap) {
	if !b.Whole() {
		for i := range b.N {
			if b.Rejected(i) {
				changed.Clear(i)
			}
		}
	}
	c.countIn(i, b, changed.Count(b.N))
}

// countIn adds n records of a block to those that mask i has changed.
func (c *Chain) countIn(i int, b *microdata.Block, n int) {
	c.touched[i].Add(int64(n))
	b.Touched[i] += int64(n)
}

// numbers returns the column's numbers for a mask to compute with.
func (c *column) numbers(b *microdata.Block) (*microdata.Vector, error) {
	if err := c.inNumbers(b); err != nil {
		return nil, err
	}
	return b.Columns[c.Index].Mutable(), nil
}

// rewritten returns the vector for a mask that writes all numbers of a column, and the values
// from which it computes them.
func (c *column) rewritten(b *microdata.Block) (to *microdata.Vector, from []float64, err error) {
	if err := c.inNumbers(b); err != nil {
		return nil, nil, err
	}
	to, from = b.Columns[c.Index].Rewritten()
	return to, from, nil
}

func (c *column) inNumbers(b *microdata.Block) error {
	if len(b.Columns[c.Index].Original.Values) != b.N {
		return fmt.Errorf("column %s: must be in Numbers form to be masked", strconv.Quote(c.Name))
	}
	return nil
}

// batch is how many values are drawn and masked at a time, a multiple of 64:
// draws and values then stay in the processor's near caches.
const batch = 4096

// work is the scratch space of one Apply.
type work struct {
	identity []*microdata.Column
	digests  []microdata.Digest // of the block; nil where place is the identity
	units    units              // the households of the block's records
	persons  units              // likewise the respondents, in a replicate that knows them
	missing  []microdata.Digest // of identity columns that others stand in for
	instead  []microdata.Digest
	left     int  // records that were left out before the masks saw them
	leaves   bool // draws are for a release, and so are bound to the values
	streams  []*keystream.Stream
	binding  *keystream.Binding
	shared   *sharedDraws

	draws, bound    []float64
	changed, within microdata.Bitmap
	own             microdata.Bitmap // marks of one column
	places, strata  []int32
	combinations    coding.Combinations
	scratch         any        // what one kind of mask keeps from block to block; each asks for its own type
	words           [][]uint64 // for a mask of all records
	normals         [][]float64
}

// floats returns n numbers of undefined content.
func (w *work) floats(n int) []float64 {
	if cap(w.draws) < n {
		w.draws = make([]float64, n)
	}
	return w.draws[:n]
}

// onGrid returns the values rounded to the grid. Draws are added and bound to these: two runs of
// a program may read one decimal number as two float64s, and must get the same draw. Draws of
// replicates are bound to no value: x itself is then returned, unless needed is true.
func (w *work) onGrid(g grid, x []float64, needed bool) []float64 {
	if !w.leaves && !needed {
		return x
	}
	if cap(w.bound) < len(x) {
		w.bound = make([]float64, len(x))
	}
	on := w.bound[:len(x)]
	g.snapTo(on, x)
	return on
}

// newChanged returns a bitmap of n clear bits.
func (w *work) newChanged(n int) microdata.Bitmap { return cleared(&w.changed, n) }

func (w *work) newWithin(n int) microdata.Bitmap { return cleared(&w.within, n) }

// newOwn returns a bitmap of n clear bits for the marks of one column, see settle.
func (w *work) newOwn(n int) microdata.Bitmap { return cleared(&w.own, n) }

func cleared(buf *microdata.Bitmap, n int) microdata.Bitmap {
	words := (n + 63) / 64
	if cap(*buf) < words {
		*buf = make(microdata.Bitmap, words)
	}
	bm := (*buf)[:words]
	clear(bm)
	return bm
}

// stretch names records [from, from+n) of the block for the keystream: in a release
// with the values that are being masked.
func (w *work) stretch(b *microdata.Block, from, n int, values []float64) keystream.Records {
	return w.stretchOf(false, b, from, n, values)
}

// stretchOf is stretch for a column; household says that the draws belong to households.
func (w *work) stretchOf(household bool, b *microdata.Block, from, n int, values []float64) keystream.Records {
	if household && w.units.known() {
		return w.units.stretch(w, b, from, n, values)
	}
	r := keystream.Records{Stream: b.Stream, First: b.First + int64(from)}
	if b.Places != nil {
		r.Places = b.Places[from : from+n]
	}
	if !w.leaves {
		if w.persons.known() && values != nil {
			return w.persons.repeated(b, from, n, values)
		}
		return r
	}
	r.Values = values
	if w.digests != nil {
		r.Digests = w.digests[from : from+n]
	}
	return r
}
