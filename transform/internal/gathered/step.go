package gathered

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// MaxCells bounds the values that a mask of scope dataset gathers; with the memory for masking
// them that is about 3 GiB.
const MaxCells = 1 << 27

// Step is the step of a mask that computes with all values of its numeric columns at
// once. The survey gathers them, 8 bytes a value, with the stratum of each record and the
// words that the mask draws; decide masks them; apply puts the results in their places.
type Step struct {
	Mask    int
	Columns []*core.Column
	by      []int   // in Block.Columns
	on      []int   // likewise, of numbers that are read
	Bound   []int   // what draws are bound to: by and columns
	words   []int   // in work.streams; of each a word is drawn for every record
	Normals []int   // likewise of a normal draw; −1: none for this column
	Texts   []texts // by column: its categories, where it holds texts
	All     Masker

	grouping coding.Grouping
	Data     Data
	still    []bool // by column: most values are unchanged, see standing
	Ties     bool   // equal records are ordered by their identities, not by their places
}

// Masker is the arithmetic of a mask on all values at once.
type Masker interface {
	// MaskAll overwrites the values of g with those to be released. In an error it sets Path
	// and Text. If g.stop is true it gives up: values and error must not be used then.
	MaskAll(g *Data) *decision.Refusal
	Most() int // the greatest number of values that may be gathered
	// Takes returns the bytes of memory at the peak, of a record and of each of its values; measured
	// (docs/reliability.md).
	Takes() (record, value int64)
}

// New makes the step of mask i on all columns that it names, in strata of those that
// it reads.
func New(c *core.Chain, i int, all Masker, done string) (*Step, error) {
	return NewOn(c, i, all, done, nil)
}

// NewOn is New of a mask that reads the numbers of some columns, in strata of the
// others that it reads.
func NewOn(c *core.Chain, i int, all Masker, done string, on []string) (*Step, error) {
	s := &Step{Mask: i, All: all}
	p := c.Masks[i].Params
	for _, name := range p.Reads() {
		info := c.Info(name)
		if info == nil {
			return nil, fmt.Errorf("%s: there is no column %s", c.At(i), strconv.Quote(name))
		}
		if !coding.Movable(info.Field.Type) {
			return nil, fmt.Errorf("%s: column %s must have a scalar type to be compared, got %s", c.At(i), strconv.Quote(name),
				microdata.TypeName(info.Field.Type))
		}
		s.Bound = append(s.Bound, info.Index)
		if k := slices.Index(on, name); k < 0 {
			s.by = append(s.by, info.Index)
		} else if s.on = append(s.on, info.Index); c.ReplicateNumber == 0 && !info.Field.Numeric() &&
			!(core.TakesTexts(p, name) && core.TextField(info.Field.Type)) {
			return nil, fmt.Errorf("%s.on[%d]: column %s must be numeric, got type %s; recode it to numbers, or leave it out",
				c.At(i), k, strconv.Quote(name), microdata.TypeName(info.Field.Type))
		}
	}
	// The result for one column depends on all of them.
	done += c.DigestOf("columns", p.Masks()...)
	for _, name := range p.Masks() {
		col, text, err := columnOf(c, i, name)
		if err != nil {
			return nil, err
		}
		c.AddToHistory(i, col, done)
		col.OnGrid = true // see MaskBy
		s.Texts = append(s.Texts, nil)
		if text {
			s.Texts[len(s.Columns)] = texts{}
			after, _ := core.CategoryField(col.Field, nil)
			col.Becomes(after)
		}
		s.Columns, s.Bound = append(s.Columns, col), append(s.Bound, col.Index)
	}
	s.Data = Data{Columns: s.Columns, Values: make([][]float64, len(s.Columns)), On: make([][]float64, len(s.on))}
	return s, nil
}

// Of implements core.Step.
func (s *Step) Of() int { return s.Mask }

// Holds is the memory that it takes of so many records.
func (s *Step) Holds(expected int64) int64 {
	record, value := s.All.Takes()
	return max(expected, int64(s.Data.N)) * (record + value*int64(len(s.Columns)+len(s.on)))
}

// DrawsWords adds a stream, from which a word is drawn for every record.
func (s *Step) DrawsWords(c *core.Chain, name, done string) {
	s.words = append(s.words, c.StreamNamed(s.Mask, name, done))
	s.Data.Words = append(s.Data.Words, nil)
}

// DrawsNormals adds a stream, from which a normal draw is made for every record: in a release it is that of a word.
func (s *Step) DrawsNormals(c *core.Chain, name, done string) {
	s.Normals = append(s.Normals, c.StreamNamed(s.Mask, name, done))
	s.Data.Normals = append(s.Data.Normals, nil)
}

// draws reports whether the mask draws anything.
func (s *Step) draws() bool { return len(s.words)+len(s.Normals) > 0 }

// Survey gathers the values of a block, and what the mask draws for its records.
func (s *Step) Survey(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	g := &s.Data
	if most := min(MaxCells, s.All.Most()); (g.N+b.N)*(len(s.Columns)+len(s.on)) > most {
		return c.Refused(s.Mask,
			&decision.Refusal{
				Text: fmt.Sprintf("must not be used on so many records: it holds all values of its columns in memory, at most %d; "+
					"mask fewer columns at a time, or %s", most, core.InsteadOf(c.Masks[s.Mask].Params))})
	}
	from := g.N
	if c.ReplicateNumber != 0 && g.Own == nil {
		g.borrow()
	}
	if from > 0 && c.ReplicateNumber == 0 { // with the first block there was memory for as many
		g.reserve(int(min(c.Expected, int64(min(MaxCells, s.All.Most())/(len(s.Columns)+len(s.on))))))
	}
	if err := s.gatherColumns(c, b); err != nil {
		return err
	}
	for k, index := range s.on {
		g.On[k] = AppendNumbers(g.On[k], &b.Columns[index], b.N)
	}
	g.N += b.N
	if len(s.by) == 0 {
		clear(Extended(&g.Strata, b.N))
	} else {
		if err := s.grouping.Find(b, s.by, 0, b.N); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.Mask), err)
		}
		g.Strata = append(g.Strata, s.grouping.Combo...)
	}
	if !b.Whole() {
		for i := range b.N {
			if b.Rejected(i) {
				g.Strata[from+i] = -1
			}
		}
	}
	if c.ReplicateNumber != 0 {
		s.draw(c, w, b, g.Words, g.Normals)
	} else {
		addAll(g.Words, w.Words)
		addAll(g.Normals, w.Normals)
	}
	if s.Ties {
		g.Identify(w, b)
	}
	g.Follow(b, from)
	return nil
}

// Prepare makes the draws for a block of a release. Those of replicates, of which each is on one core, go where they
// stay.
func (s *Step) Prepare(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if c.ReplicateNumber != 0 || b.N == 0 {
		return nil
	}
	if err := s.held(c, b); err != nil {
		return err
	}
	w.Words, w.Normals = emptied(w.Words, len(s.words)), emptied(w.Normals, len(s.Normals))
	s.draw(c, w, b, w.Words, w.Normals)
	return nil
}

// emptied returns n lists without elements, with the memory that there is.
func emptied[T any](lists [][]T, n int) [][]T {
	lists = slices.Grow(lists[:0], n)[:n]
	for k := range lists {
		lists[k] = lists[k][:0]
	}
	return lists
}

// addAll appends to each list the one of its number.
func addAll[T any](to, lists [][]T) {
	for k := range to {
		to[k] = append(to[k], lists[k]...)
	}
}

// draw appends the draws for the records of a block. Normal draws of replicates, which nobody keeps, are made the
// faster way.
func (s *Step) draw(c *core.Chain, w *core.Work, b *microdata.Block, toWords [][]uint64, toNormals [][]float64) {
	if !s.draws() {
		return
	}
	var values []float64
	if w.Leaves {
		values = core.BindTo(c, w, b, s.Bound, 0, b.N)
	}
	records := w.Stretch(b, 0, b.N, values)
	for k, stream := range s.words {
		w.Streams[stream].Words(Extended(&toWords[k], b.N), records)
	}
	for k, stream := range s.Normals {
		to := Extended(&toNormals[k], b.N)
		if !w.Leaves {
			w.Streams[stream].Normals(to, records)
			continue
		}
		words := make([]uint64, b.N)
		w.Streams[stream].Words(words, records)
		keystream.NormalsOfWords(to, words)
	}
}

// held returns an error where the block does not hold what the mask takes.
func (s *Step) held(c *core.Chain, b *microdata.Block) error {
	for k, col := range s.Columns {
		if b.Columns[col.Index].OutArray() != nil && s.Texts[k] != nil {
			continue
		}
		if err := col.InNumbers(b); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.Mask), err)
		}
	}
	return nil
}

// gatherColumns adds the values of a block in the masked columns; it does not yet raise the number
// of records.
func (s *Step) gatherColumns(c *core.Chain, b *microdata.Block) error {
	if err := s.held(c, b); err != nil {
		return err
	}
	g := &s.Data
	for k, col := range s.Columns {
		if a := b.Columns[col.Index].OutArray(); a != nil && s.Texts[k] != nil {
			var ok bool
			if g.Values[k], ok = s.Texts[k].take(g.Values[k], a, b.N); !ok {
				return c.Refused(s.Mask, TooMany(fmt.Sprintf("columns[%d]", k)))
			}
			continue
		}
		v := b.Columns[col.Index].Out()
		g.Values[k] = append(g.Values[k], v.Values[:b.N]...)
		if v.Valid == nil {
			continue
		}
		for i := range b.N {
			if !v.Valid.Has(i) {
				g.Values[k][g.N+i] = math.NaN()
			}
		}
	}
	return nil
}

// Decide masks the values. A replicate of a mask that draws nothing takes over the result of an
// earlier replicate on the same values.
func (s *Step) Decide(c *core.Chain) error {
	g := &s.Data
	g.Stop, g.Trial = c.Cancelled.Load, c.ReplicateNumber != 0
	g.SortRuns()
	s.grouping = coding.Grouping{}
	if f, ok := s.All.(Fitting); ok {
		f.Share(&OutcomesOf(c, s.Mask).Fits)
	}
	var err *decision.Refusal
	switch {
	case c.ReplicateNumber == 0:
		var before [][]float64
		if s.draws() { // without draws, values in groups of equal ones rightly stay
			before = firstOf(g.Values)
		}
		if err = g.MaskBy(s.All); err == nil && before != nil {
			s.still = standing(before, g.Values, g.Strata)
		}
	case s.draws():
		err = g.MaskBy(s.All)
	default:
		err = OutcomesOf(c, s.Mask).of(g, s.All)
	}
	g.decided()
	if g.Stop.Now() {
		return core.ErrCancelled
	}
	if err != nil {
		return c.Refused(s.Mask, err)
	}
	return nil
}

// Apply puts what was decided for the records of a block in their places.
func (s *Step) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	changed := w.NewChanged(b.N)
	if done, err := s.applyAll(c, b, changed); err != nil {
		return err
	} else if !done {
		if err := s.applyEach(c, b, changed); err != nil {
			return err
		}
	}
	if err := s.applyTexts(c, b, changed); err != nil {
		return err
	}
	c.Count(s.Mask, b, changed)
	return nil
}

// applyAll is apply to numbers where every record of the block is released with a value in each column, and the records
// followed one another in the survey as they do here; false: something else must be done.
func (s *Step) applyAll(c *core.Chain, b *microdata.Block, changed microdata.Bitmap) (done bool, err error) {
	g, near := &s.Data, -1
	if b.Places != nil || !b.Whole() {
		return false, nil
	}
	from := g.Find(b.Scope, b.Stream, b.Place(0), &near)
	if from < 0 || g.runs[near].places != nil || from+b.N > g.runs[near].from+g.runs[near].n {
		return false, nil
	}
	for k, col := range s.Columns {
		if s.Texts[k] != nil && b.Columns[col.Index].OutArray() != nil || b.Columns[col.Index].Out().Valid != nil {
			return false, nil
		}
	}
	for k, col := range s.Columns {
		v, before, err := col.Rewritten(b)
		if err != nil {
			return false, fmt.Errorf("%s: %w", c.At(s.Mask), err)
		}
		if !rewrite(v.Values, before, g.Values[k][from:from+b.N], changed) {
			return false, fmt.Errorf("%s: a value that the first pass did not see is there now", c.At(s.Mask))
		}
	}
	return true, nil
}

// rewrite replaces values that differ, and marks where they do; false if there is none for one of them.
func rewrite(to, before, after []float64, changed microdata.Bitmap) bool {
	missing := false
	for from := 0; from < len(after); from += 64 {
		word := uint64(0)
		x := before[from:min(from+64, len(after))]
		y, z := after[from:][:len(x)], to[from:][:len(x)]
		for i, v := range x {
			if w := y[i]; v != w { // 0 and −0 are equal
				v = w
				word |= 1 << i
				missing = missing || w != w
			}
			z[i] = v
		}
		changed[from>>6] |= word
	}
	return !missing
}

// applyEach is apply to numbers, one record after another.
func (s *Step) applyEach(c *core.Chain, b *microdata.Block, changed microdata.Bitmap) error {
	g := &s.Data
	vectors := make([]*microdata.Vector, len(s.Columns))
	for k, col := range s.Columns {
		if b.Columns[col.Index].OutArray() != nil && s.Texts[k] != nil {
			continue
		}
		v, err := col.Numbers(b)
		if err != nil {
			return fmt.Errorf("%s: %w", c.At(s.Mask), err)
		}
		vectors[k] = v
	}
	near, at := -1, -1
	for i := range b.N {
		if at = g.follows(at, near, b, i); at < 0 {
			at = g.Find(b.Scope, b.Stream, b.Place(i), &near)
		}
		if at < 0 {
			return fmt.Errorf("%s: a record that the first pass did not see is there now", c.At(s.Mask))
		}
		for k, v := range vectors {
			y := g.Values[k][at]
			if v == nil {
				continue
			}
			switch {
			case !v.Valid.Has(i) || b.Rejected(i):
			case y != y:
				return fmt.Errorf("%s: a value that the first pass did not see is there now", c.At(s.Mask))
			case v.Values[i] != y:
				v.Values[i] = y
				changed.Set(i)
			}
		}
	}
	return nil
}

// applyTexts is apply of the columns that hold texts.
func (s *Step) applyTexts(c *core.Chain, b *microdata.Block, changed microdata.Bitmap) error {
	for k, col := range s.Columns {
		a := b.Columns[col.Index].OutArray()
		if a == nil || s.Texts[k] == nil {
			continue
		}
		near, values, missed := -1, make([]float64, b.N), false
		bytes, _ := coding.BytesOf(a)
		for i := range b.N {
			values[i] = s.Data.Values[k][s.Data.Find(b.Scope, b.Stream, b.Place(i), &near)]
			switch {
			case a.IsNull(i) || b.Rejected(i):
			case values[i] != values[i]:
				missed = true
			case s.Texts[k][values[i]] != string(bytes(i)):
				changed.Set(i)
			}
		}
		if missed {
			return fmt.Errorf("%s: a value that the first pass did not see is there now", c.At(s.Mask))
		}
		b.Columns[col.Index].ReleasedArray = s.Texts[k].put(b.N, func(i int) bool {
			return !a.IsNull(i) && !b.Rejected(i)
		}, func(i int) float64 { return values[i] })
	}
	return nil
}

// Keeps: values that the mask leaves unchanged are explained by its law, except in a column of
// which it changes almost nothing.
func (s *Step) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	for k, col := range s.Columns {
		if col.Name == l.Name && s.still != nil && s.still[k] {
			l.Silent = true
		}
	}
}
