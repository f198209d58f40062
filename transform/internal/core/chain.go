package core

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
	Masks           []Spec
	Labels          []string // of the masks, see Label
	Setup           Setup
	ReplicateNumber int
	columns         []*Column    // that masks change, in the order in which masks first name them
	Steps           []Step       // one a mask
	Choice          choosing     // nil where all records are released
	Chosen          string       // description of the sample, for the names of draws; "" if there is none
	Expected        int64        // number of records that a survey will see; 0: not known
	Room            func() int64 // bytes of memory for what is held
	survey          int          // number of steps up to and including the last mask of scope dataset
	Unseen          []bool       // by those steps: whether the survey can do without what the step changes
	Surveyed        bool
	TouchedBy       []atomic.Int64
	ListedBits      int             // number of bits in Block.Listed
	listed          []atomic.Uint64 // of all blocks
	verifies        []*verifying

	unidentified atomic.Int64

	scratch   *sync.Pool
	DrawNames []DrawName   // what the steps draw from, by the number that stream gave them
	streams   sync.Map     // scope → []*keystream.Stream, in the order of draws
	shared    *sharedDraws // of a replicate; nil if it shares no draws
	Common    int          // number of leading masks that it shares with first
	First     *Chain       // the first of the chains that share these masks

	Outcomes *sync.Map // what masks find once for the chain and its replicates, by mask

	Cancelled atomic.Bool
}

// Step is a mask on the columns of a chain.
type Step interface {
	Apply(c *Chain, w *Work, b *microdata.Block) error
}

// compiler is the part of Params that makes a step of mask i of a chain.
type compiler interface {
	Compile(c *Chain, i int) (Step, error)
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
	return CompileChain(masks, setup, 0, nil)
}

// CompileChain is NewChain for masks that have been checked: a release (replicate 0) or a replicate.
func CompileChain(masks []Spec, setup Setup, replicate int, shared *sharedDraws) (*Chain, error) {
	c := &Chain{
		Masks: masks, Labels: labels(masks), Setup: setup, ReplicateNumber: replicate, shared: shared,
		TouchedBy: make([]atomic.Int64, len(masks)),
		scratch:   &sync.Pool{New: func() any { return new(Work) }}, Outcomes: &sync.Map{}, Room: memory.Room,
	}
	for i, m := range masks {
		p, ok := m.Params.(compiler)
		if !ok {
			return nil, fmt.Errorf("%s: has no arithmetic", c.At(i))
		}
		s, err := p.Compile(c, i)
		if err != nil {
			return nil, err
		}
		if err := c.settle(i); err != nil {
			return nil, err
		}
		c.Steps = append(c.Steps, s)
		if _, ok := s.(Surveying); ok {
			c.survey = i + 1
		}
	}
	for _, col := range c.columns {
		if col.Field.Numeric() && col.Digits >= 0 && !col.OnGrid {
			col.refit = true
		}
	}
	if err := c.checkSame(); err != nil {
		return nil, err
	}
	c.settleSurvey()
	c.listed = make([]atomic.Uint64, c.Listing())
	c.verifies = c.verified()
	c.StreamsOf("")
	return c, nil
}

// At names mask i as the configuration does, for errors.
func (c *Chain) At(i int) string {
	return fmt.Sprintf("masks[%d].%s", i, c.Masks[i].Kind())
}

// Info returns a column of the setup; nil if it is not there.
func (c *Chain) Info(name string) *ColumnInfo {
	for i := range c.Setup.Columns {
		if c.Setup.Columns[i].Name == name {
			return &c.Setup.Columns[i]
		}
	}
	return nil
}

// Touch returns the column that a mask changes, or nil where it is not there.
func (c *Chain) Touch(name string) *Column {
	col := c.Lookup(name)
	if col != nil && !slices.Contains(c.columns, col) {
		c.columns = append(c.columns, col)
	}
	return col
}

// Arithmetic returns the column for mask i to compute with. It must be there and
// be numeric.
func (c *Chain) Arithmetic(i int, name string) (*Column, error) {
	col := c.Touch(name)
	if col == nil {
		return nil, fmt.Errorf("%s.columns: there is no column %s", c.At(i), strconv.Quote(name))
	}
	if !col.Field.Numeric() {
		return nil, fmt.Errorf("%s.columns: column %s must be numeric, got type %s", c.At(i), strconv.Quote(name),
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
	for _, d := range c.DrawNames {
		if !LeavesOut(c.Masks[d.Mask].Params) {
			return true
		}
	}
	return false
}

// DrawsFor reports whether what a column is released with depends on random draws, its own or those of
// columns that its masks read or mask together with it.
func (c *Chain) DrawsFor(column string) bool {
	on := map[string]bool{column: true}
	for i := len(c.Masks) - 1; i >= 0; i-- {
		p := c.Masks[i].Params
		if !slices.ContainsFunc(p.Masks(), func(name string) bool { return on[name] }) {
			continue
		}
		if slices.ContainsFunc(c.DrawNames, func(d DrawName) bool { return d.Mask == i }) {
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
		Masks: c.Masks, Labels: c.Labels, Setup: c.Setup, ReplicateNumber: c.ReplicateNumber, columns: c.columns,
		Steps:  c.Steps,
		Choice: c.Choice, Chosen: c.Chosen, survey: c.survey, Unseen: c.Unseen, Surveyed: c.Surveyed,
		TouchedBy: make([]atomic.Int64, len(c.Masks)), ListedBits: c.ListedBits, listed: make([]atomic.Uint64, len(c.listed)),
		scratch: &sync.Pool{New: func() any { return new(Work) }}, DrawNames: c.DrawNames, Outcomes: c.Outcomes,
	}
	again.StreamsOf("")
	return again
}

// Apply masks a block: it fills Released or ReleasedArray of the columns that
// masks change, and Digests where identity columns are set, and rejects the
// records that have a value which cannot be masked (NaN, ±Inf, beyond 2^53
// units) in one of them, and those with a value that the masks have made a declared code for a
// missing one. Values are as a sink writes them: with the column's
// decimals and in its type. Nulls stay null.
func (c *Chain) Apply(b *microdata.Block) error {
	if c.survey > 0 && !c.Surveyed {
		return errors.New("a mask of scope dataset needs a survey of all records first")
	}
	return c.Run(b, func(w *Work) error {
		steps, err := c.begin(w, b)
		if err != nil {
			return err
		}
		for _, s := range steps {
			if err := s.Apply(c, w, b); err != nil {
				return err
			}
		}
		for _, col := range c.columns {
			col.fit(b)
		}
		c.addListed(b.Listed)
		if c.ReplicateNumber == 0 {
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
	if c.Choice == nil {
		return c.admit(b)
	}
	if err := c.admit(b); err != nil {
		return err
	}
	w := c.scratch.Get().(*Work)
	defer c.scratch.Put(w)
	w.Streams, w.shared, w.Leaves = c.StreamsOf(b.Scope), c.shared, c.ReplicateNumber == 0
	w.Digests = c.identify(w, b)
	c.group(w, b)
	return c.Choice.Choose(c, w, b)
}

// identify returns digests of the records' identities; nil if the identity of a record is its
// place.
func (c *Chain) identify(w *Work, b *microdata.Block) []microdata.Digest {
	if len(c.Setup.Identity) == 0 {
		return nil
	}
	w.identity = w.identity[:0]
	for _, i := range c.Setup.Identity {
		w.identity = append(w.identity, &b.Columns[i])
	}
	digests := c.Setup.Key.Digests(b.Digests, w.identity, b.N)
	c.otherwise(w, b, digests, c.Setup.Identity, c.Setup.Instead)
	return digests
}

func (c *Chain) admit(b *microdata.Block) error {
	for i := range c.Setup.Weights {
		rejectWeights(b, &c.Setup.Weights[i], false)
	}
	if c.ReplicateNumber == 0 {
		for _, s := range c.Steps {
			if of, ok := s.(weighing); ok {
				rejectWeights(b, of.Weights(), true)
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

// Run admits the block, computes its digests and gives f scratch space.
func (c *Chain) Run(b *microdata.Block, f func(*Work) error) error {
	w := c.scratch.Get().(*Work)
	defer c.scratch.Put(w)
	if err := c.open(w, b); err != nil {
		return err
	}
	return f(w)
}

// open prepares scratch space for a block, and admits the block.
func (c *Chain) open(w *Work, b *microdata.Block) error {
	w.Streams, w.shared, w.Leaves = c.StreamsOf(b.Scope), c.shared, c.ReplicateNumber == 0
	b.Touched = append(b.Touched[:0], make([]int64, len(c.Masks))...)
	b.Listed = append(b.Listed[:0], make(microdata.Bitmap, c.Listing())...)
	if err := c.admit(b); err != nil {
		return err
	}
	if w.Digests = c.identify(w, b); w.Digests != nil {
		b.Digests = w.Digests
		for i := range w.Digests {
			if w.Digests[i] == (microdata.Digest{}) && !b.Rejected(i) {
				c.unidentified.Add(1)
			}
		}
	}
	c.group(w, b)
	c.repeat(w, b)
	w.Left = b.LeftOut()
	if c.Choice == nil {
		return nil
	}
	return c.Choice.Choose(c, w, b)
}

// Replicate returns a chain of the same masks with independent draws, number m ≥ 1, in which
// the identity of a record is its place. It shares nothing with c. If NeedsSurvey is true it
// needs its own survey.
func (c *Chain) Replicate(m int) *Chain { return c.replicateWith(m, nil) }

func (c *Chain) replicateWith(m int, shared *sharedDraws) *Chain {
	r, err := CompileChain(c.Masks, c.Setup.unreleased(), m, shared)
	if err != nil {
		panic(fmt.Sprintf("transform: replicate of a valid chain: %v", err)) // NewChain has accepted the same masks and setup
	}
	r.Outcomes = c.Outcomes
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
	touched := make([]Touch, len(c.Masks))
	for i, m := range c.Masks {
		touched[i] = Touch{c.Labels[i], m.Kind(), m.Params.Masks(), c.TouchedBy[i].Load()}
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
		c.TouchedBy[i].Add(n)
	}
	c.unidentified.Add(unidentified)
}

// Count adds the records marked in changed to those that mask i has changed. A
// rejected record is not released and does not count.
func (c *Chain) Count(i int, b *microdata.Block, changed microdata.Bitmap) {
	if !b.Whole() {
		for i := range b.N {
			if b.Rejected(i) {
				changed.Clear(i)
			}
		}
	}
	c.CountIn(i, b, changed.Count(b.N))
}

// CountIn adds n records of a block to those that mask i has changed.
func (c *Chain) CountIn(i int, b *microdata.Block, n int) {
	c.TouchedBy[i].Add(int64(n))
	b.Touched[i] += int64(n)
}

// Numbers returns the column's numbers for a mask to compute with.
func (c *Column) Numbers(b *microdata.Block) (*microdata.Vector, error) {
	if err := c.InNumbers(b); err != nil {
		return nil, err
	}
	return b.Columns[c.Index].Mutable(), nil
}

// Rewritten returns the vector for a mask that writes all numbers of a column, and the values
// from which it computes them.
func (c *Column) Rewritten(b *microdata.Block) (to *microdata.Vector, from []float64, err error) {
	if err := c.InNumbers(b); err != nil {
		return nil, nil, err
	}
	to, from = b.Columns[c.Index].Rewritten()
	return to, from, nil
}

// InNumbers returns an error if a block does not hold the column's numbers.
func (c *Column) InNumbers(b *microdata.Block) error {
	if len(b.Columns[c.Index].Original.Values) != b.N {
		return fmt.Errorf("column %s: must be in Numbers form to be masked", strconv.Quote(c.Name))
	}
	return nil
}

// Batch is how many values are drawn and masked at a time, a multiple of 64:
// draws and values then stay in the processor's near caches.
const Batch = 4096

// Work is the scratch space of one Apply.
type Work struct {
	identity []*microdata.Column
	Digests  []microdata.Digest // of the block; nil where place is the identity
	Units    units              // the households of the block's records
	persons  units              // likewise the respondents, in a replicate that knows them
	missing  []microdata.Digest // of identity columns that others stand in for
	instead  []microdata.Digest
	Left     int  // records that were left out before the masks saw them
	Leaves   bool // draws are for a release, and so are bound to the values
	Streams  []*keystream.Stream
	Binding  *keystream.Binding
	shared   *sharedDraws

	draws, Bound    []float64
	changed, within microdata.Bitmap
	own             microdata.Bitmap // marks of one column
	places, strata  []int32
	combinations    coding.Combinations
	Scratch         any        // what one kind of mask keeps from block to block; each asks for its own type
	Words           [][]uint64 // for a mask of all records
	Normals         [][]float64
}

// Floats returns n numbers of undefined content.
func (w *Work) Floats(n int) []float64 {
	if cap(w.draws) < n {
		w.draws = make([]float64, n)
	}
	return w.draws[:n]
}

// OnGrid returns the values rounded to the grid. Draws are added and bound to these: two runs of
// a program may read one decimal number as two float64s, and must get the same draw. Draws of
// replicates are bound to no value: x itself is then returned, unless needed is true.
func (w *Work) OnGrid(g Grid, x []float64, needed bool) []float64 {
	if !w.Leaves && !needed {
		return x
	}
	if cap(w.Bound) < len(x) {
		w.Bound = make([]float64, len(x))
	}
	on := w.Bound[:len(x)]
	g.snapTo(on, x)
	return on
}

// NewChanged returns a bitmap of n clear bits.
func (w *Work) NewChanged(n int) microdata.Bitmap { return cleared(&w.changed, n) }

// NewWithin is NewChanged for a second bitmap.
func (w *Work) NewWithin(n int) microdata.Bitmap { return cleared(&w.within, n) }

// NewOwn returns a bitmap of n clear bits for the marks of one column, see settle.
func (w *Work) NewOwn(n int) microdata.Bitmap { return cleared(&w.own, n) }

func cleared(buf *microdata.Bitmap, n int) microdata.Bitmap {
	words := (n + 63) / 64
	if cap(*buf) < words {
		*buf = make(microdata.Bitmap, words)
	}
	bm := (*buf)[:words]
	clear(bm)
	return bm
}

// Stretch names records [from, from+n) of the block for the keystream: in a release
// with the values that are being masked.
func (w *Work) Stretch(b *microdata.Block, from, n int, values []float64) keystream.Records {
	return w.StretchOf(false, b, from, n, values)
}

// StretchOf is stretch for a column; household says that the draws belong to households.
func (w *Work) StretchOf(household bool, b *microdata.Block, from, n int, values []float64) keystream.Records {
	if household && w.Units.Known() {
		return w.Units.stretch(w, b, from, n, values)
	}
	r := keystream.Records{Stream: b.Stream, First: b.First + int64(from)}
	if b.Places != nil {
		r.Places = b.Places[from : from+n]
	}
	if !w.Leaves {
		if w.persons.Known() && values != nil {
			return w.persons.repeated(b, from, n, values)
		}
		return r
	}
	r.Values = values
	if w.Digests != nil {
		r.Digests = w.Digests[from : from+n]
	}
	return r
}
