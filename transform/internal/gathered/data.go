package gathered

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Data holds the data of all records of a survey, in its order.
type Data struct {
	N       int
	Values  [][]float64 // by column, NaN where there is none
	On      [][]float64 // by column that is read, NaN where there is no number
	Strata  []int32     // codes, dense from 0; −1: the record is rejected and not used
	Words   [][]uint64  // by stream of words
	Normals [][]float64 // by stream of normal draws
	Ties    []uint64    // from each record's digest, if equal records are ordered by it; else nil
	Columns []*core.Column
	runs    []recordRun
	Stop    decision.Stop
	Trial   bool // the values are those of a replicate, which is not released and may be of a sample
	Own     *lists
}

// recordRun is a run of records of one stream that are consecutive in Data.
type recordRun struct {
	scope  string
	stream int
	first  int64   // place of the first
	places []int64 // of all, ascending; nil: they follow one another
	from   int     // the first in Data
	n      int
}

func (r *recordRun) compare(scope string, stream int, place int64) int {
	return cmp.Or(cmp.Compare(r.scope, scope), cmp.Compare(r.stream, stream), cmp.Compare(r.first, place))
}

// Identify notes the digests by which equal records of a block are ordered, if there are any.
func (g *Data) Identify(w *core.Work, b *microdata.Block) {
	if w.Digests == nil {
		return
	}
	for i := range b.N {
		g.Ties = append(g.Ties, binary.LittleEndian.Uint64(w.Digests[i][:]))
	}
}

// AppendNumbers appends the values of a column in a block as numbers, NaN where there is none.
func AppendNumbers(to []float64, col *microdata.Column, n int) []float64 {
	v, bad := col.Out(), []int(nil)
	if a := col.OutArray(); a != nil && core.TextField(a.DataType()) {
		to, _ = texts{}.take(to, a, n)
		return to
	} else if a != nil {
		var read microdata.Column
		bad = microdata.NumbersOf(a, &read)
		v = read.Original
	}
	from := len(to)
	to = append(to, v.Values[:n]...)
	for i := range n {
		if v.Valid != nil && !v.Valid.Has(i) || math.IsInf(to[from+i], 0) {
			to[from+i] = math.NaN()
		}
	}
	for _, i := range bad {
		to[from+i] = math.NaN()
	}
	return to
}

// Follow notes the places of the records of a block.
func (g *Data) Follow(b *microdata.Block, from int) {
	if b.Places == nil && len(g.runs) > 0 {
		last := &g.runs[len(g.runs)-1]
		if last.places == nil && last.scope == b.Scope && last.stream == b.Stream && last.first+int64(last.n) == b.First {
			last.n += b.N
			return
		}
	}
	g.runs = append(g.runs, recordRun{b.Scope, b.Stream, b.Place(0), slices.Clone(b.Places), from, b.N})
}

// SortRuns prepares find, after the last follow.
func (g *Data) SortRuns() {
	slices.SortFunc(g.runs, func(a, b recordRun) int { return a.compare(b.scope, b.stream, b.first) })
}

// Find returns the index of a record in g; −1 if it is not there. The search begins at
// the run near, which is set to the run where the record was found.
func (g *Data) Find(scope string, stream int, place int64, near *int) int {
	for {
		if *near >= 0 && *near < len(g.runs) {
			r := &g.runs[*near]
			if r.scope == scope && r.stream == stream && place >= r.first {
				if r.places == nil && place < r.first+int64(r.n) {
					return r.from + int(place-r.first)
				}
				if i, there := slices.BinarySearch(r.places, place); there {
					return r.from + i
				}
			}
		}
		at, there := slices.BinarySearchFunc(g.runs, place, func(r recordRun, place int64) int {
			return r.compare(scope, stream, place)
		})
		if !there {
			at--
		}
		if at == *near || at < 0 {
			return -1
		}
		*near = at
	}
}

// follows returns the index of record i of a block, where the one before it is the at-th in g and in the run near, if
// that of i is the next one there; −1 if it must be sought.
func (g *Data) follows(at, near int, b *microdata.Block, i int) int {
	if at < 0 {
		return -1
	}
	r := &g.runs[near]
	next := at + 1 - r.from
	switch {
	case next >= r.n,
		r.places == nil && r.first+int64(next) != b.Place(i),
		r.places != nil && r.places[next] != b.Place(i):
		return -1
	}
	return at + 1
}

// InPart is how many records of a data set one core takes at a time; a test changes it.
var InPart = 1 << 14

// MaskBy masks the values and rounds the results to the columns' decimals.
func (g *Data) MaskBy(all Masker) *decision.Refusal {
	if err := all.MaskAll(g); err != nil || g.Stop.Now() {
		return err
	}
	for k, col := range g.Columns {
		if col.Digits < 0 {
			continue
		}
		values := g.Values[k]
		cores.Parts(len(values), InPart, func(from, to int) { core.DecimalGrid(col.Digits).SnapAll(values[from:to]) })
	}
	return nil
}

// FirstRefusal returns the refusal of the first of some parts that were decided side by side.
func FirstRefusal(of []*decision.Refusal) *decision.Refusal {
	for _, r := range of {
		if r != nil {
			return r
		}
	}
	return nil
}

// RowsByStratum returns the records that are not rejected, by stratum, in their order.
func (g *Data) RowsByStratum() [][]int32 {
	var strata [][]int32
	for i, s := range g.Strata {
		if s < 0 {
			continue
		}
		for int(s) >= len(strata) {
			strata = append(strata, nil)
		}
		strata[s] = append(strata[s], int32(i))
	}
	return strata
}

// InOrder sorts rows by their values, the numbers read, their words and their identities, so that
// the result does not depend on the order of the records.
func (g *Data) InOrder(rows []int32) {
	rank.OrderFunc(rows, func(a, b int32) int {
		for _, columns := range [][][]float64{g.Values, g.On} {
			for _, values := range columns {
				if c := cmp.Compare(values[a], values[b]); c != 0 {
					return c
				}
			}
		}
		for _, words := range g.Words {
			if c := cmp.Compare(words[a], words[b]); c != 0 {
				return c
			}
		}
		return cmp.Or(g.CompareTies(a, b), cmp.Compare(a, b))
	}, g.Stop)
}

// CompareTies compares rows by their identities; all are equal where these are not gathered.
func (g *Data) CompareTies(a, b int32) int {
	if g.Ties == nil {
		return 0
	}
	return cmp.Compare(g.Ties[a], g.Ties[b])
}

// CheckColumns returns an error for a column that cannot be masked. Replicates on the same data check it once.
func (g *Data) CheckColumns(fits *Fits, of Digest) *decision.Refusal {
	return Once(g.Trials(fits), FitKey{Of: of, What: fitChecked}, g.Stop, g.checkedColumns)
}

func (g *Data) checkedColumns() *decision.Refusal {
	for k, values := range g.Values {
		low, high, records := math.Inf(1), math.Inf(-1), 0
		for i, v := range values {
			if g.Strata[i] < 0 {
				continue
			}
			records++
			if v < low { // neither of NaN
				low = v
			}
			if v > high {
				high = v
			}
		}
		at := fmt.Sprintf("columns[%d]", k)
		switch name := strconv.Quote(g.Columns[k].Name); {
		case records == 0:
			return nil
		case low > high:
			return &decision.Refusal{
				Path: at, Text: fmt.Sprintf("must have values: all of %s are missing; leave the column out of the mask", name)}
		case low == high:
			return &decision.Refusal{
				Path: at,
				Text: fmt.Sprintf(
					"must have different values: those of %s are all the same, and would leave as they are; withhold the column (role identifier), or leave it out of the mask", name)}
		}
	}
	return nil
}

// ByTies sorts rows by their identities. Rows whose identities are equal or not gathered keep their
// order.
func (g *Data) ByTies(rows []int32) {
	if g.Ties == nil {
		return
	}
	rank.OrderFunc(rows, func(a, b int32) int { return cmp.Or(g.CompareTies(a, b), cmp.Compare(a, b)) }, g.Stop)
}
