package core

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Replicates returns replicate m ≥ 1 of each of several chains of one key. The draws of a
// replicate depend on a mask's label and its column, not on its parameters, so the points of a
// grid of parameters have the same draws; each is made once and kept for the other chains. The
// chains must be used by one goroutine at a time, on records identified by their place; draws
// are shared only if they are used one after another on the same blocks.
func Replicates(chains []*Chain, m int) []*Chain {
	shared := &sharedDraws{
		streams: map[streamName]*keystream.Stream{}, draws: map[drawKey][]float64{}, begun: map[begunKey][]microdata.Vector{},
		clean: map[cleanKey]bool{},
	}
	replicates := make([]*Chain, len(chains))
	for i, c := range chains {
		replicates[i] = c.replicateWith(m, shared)
	}
	for i, c := range replicates {
		n := 0
		for _, beside := range []int{i - 1, i + 1} {
			if beside >= 0 && beside < len(replicates) {
				n = max(n, inCommon(c, replicates[beside]))
			}
		}
		if n == 0 {
			continue
		}
		c.Common, c.First = n, c
		for _, earlier := range replicates[:i] {
			if earlier.Common == n && inCommon(c, earlier) >= n {
				c.First = earlier.First
				break
			}
		}
	}
	return replicates
}

// Alone returns the masks of one column, restricted to this column. They keep their labels from
// the list, so the draws are the same. It returns false if one of these masks reads other
// columns or cannot be restricted to one column.
func Alone(masks []Spec, column string) ([]Spec, bool) {
	var alone []Spec
	for i, m := range masks {
		if len(m.Params.Reads()) > 0 {
			return nil, false
		}
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		only := Spec{Name: Label(masks, i)}
		onColumn := Declared(m.Params).OnColumn
		if onColumn == nil {
			return nil, false
		}
		only.Params = onColumn(column)
		alone = append(alone, only)
	}
	return alone, true
}

// inCommon returns the number of leading masks of two chains that are the same, on the same
// columns, and do not depend on later masks. It ends before a step that surveys, since that
// depends on the survey of its own chain.
func inCommon(a, b *Chain) int {
	same := func(x, y ColumnInfo) bool {
		return x.Name == y.Name && x.Index == y.Index && x.Decimals == y.Decimals &&
			math.Float64bits(x.SD) == math.Float64bits(y.SD) &&
			math.Float64bits(x.Mean) == math.Float64bits(y.Mean) && x.Field == y.Field
	}
	if !slices.EqualFunc(a.Setup.Columns, b.Setup.Columns, same) || a.Setup.Window != b.Setup.Window ||
		!maps.EqualFunc(a.Setup.Correlations, b.Setup.Correlations, func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y)
		}) {
		return 0
	}
	n := 0
	for n < min(len(a.Masks), len(b.Masks)) && reflect.DeepEqual(a.Masks[n], b.Masks[n]) {
		if _, surveyed := a.Steps[n].(Surveying); surveyed {
			break
		}
		n++
	}
	for i := 0; i < n; i++ {
		if !Declared(a.Masks[i].Params).DrawsWithin {
			continue
		}
		for _, name := range a.Masks[i].Params.Masks() {
			j, _ := RedrawOf(a.Masks, i, name)
			k, _ := RedrawOf(b.Masks, i, name)
			if j >= n || k >= n {
				return i // the noise is drawn within the bounds of a mask that is not the same
			}
		}
	}
	return n
}

// sharedDraws keeps the draws of one replicate.
type sharedDraws struct {
	streams map[streamName]*keystream.Stream
	draws   map[drawKey][]float64
	begun   map[begunKey][]microdata.Vector
	clean   map[cleanKey]bool // columns of blocks of which every value can be masked
}

// cleanKey names a column of a block, as it is admitted.
type cleanKey struct {
	column int
	limit  float64
	of     int // the records' stream
	first  int64
	n      int
}

func cleanKeyOf(col *Column, b *microdata.Block) cleanKey {
	return cleanKey{col.Index, col.limit, b.Stream, b.First, b.N}
}

// admitted reports whether a column of a block need not be admitted again: another chain has
// admitted it, and has rejected and changed nothing.
func (d *sharedDraws) admitted(col *Column, b *microdata.Block) bool {
	return d != nil && b.Places == nil && d.clean[cleanKeyOf(col, b)]
}

func (d *sharedDraws) admit(col *Column, b *microdata.Block, clean bool) {
	if d != nil && b.Places == nil && clean && !(col.Float32 && col.Digits >= 0) {
		d.clean[cleanKeyOf(col, b)] = true
	}
}

// begunKey identifies the results of a chain's leading masks for a block.
type begunKey struct {
	chain  *Chain // the first that has them
	stream int
	first  int64
	n      int
}

// begin applies the leading masks that a chain has in common with another, or takes over the
// results of the other chain for the same block. It returns the remaining steps.
func (c *Chain) begin(w *Work, b *microdata.Block) ([]Step, error) {
	if c.Common == 0 || b.Places != nil {
		return c.Steps, nil
	}
	key := begunKey{c.First, b.Stream, b.First, b.N}
	if made, ok := c.shared.begun[key]; ok {
		for i, v := range made {
			if v.Values == nil {
				continue
			}
			to := b.Columns[c.columns[i].Index].Mutable()
			copy(to.Values, v.Values)
			copy(to.Valid, v.Valid)
		}
		return c.Steps[c.Common:], nil
	}
	for _, s := range c.Steps[:c.Common] {
		if err := s.Apply(c, w, b); err != nil {
			return nil, err
		}
	}
	made := make([]microdata.Vector, len(c.columns))
	for i, col := range c.columns {
		v := b.Columns[col.Index].Released
		made[i] = microdata.Vector{Values: slices.Clone(v.Values), Valid: slices.Clone(v.Valid)}
	}
	c.shared.begun[key] = made
	return c.Steps[c.Common:], nil
}

type streamName struct{ label, column string }

// drawKey names the draws of one kind for consecutive records.
type drawKey struct {
	stream *keystream.Stream
	kind   Draw
	of     int // the records' stream
	first  int64
	n      int
}

func (d *sharedDraws) stream(key keystream.Key, label, column string, replicate int) *keystream.Stream {
	name := streamName{label, column}
	s := d.streams[name]
	if s == nil {
		s = key.Stream(label, column, replicate)
		d.streams[name] = s
	}
	return s
}

// Fill writes standard draws of a distribution (for uniform: on (0, 1)) for the records r. It
// takes them from the shared draws if there are any.
func (w *Work) Fill(dst []float64, kind Draw, stream int, r keystream.Records) {
	s := w.Streams[stream]
	if w.shared == nil || r.Places != nil {
		kind.fill(dst, s, r)
		return
	}
	key := drawKey{s, kind, r.Stream, r.First, len(dst)}
	made := w.shared.draws[key]
	if made == nil {
		made = make([]float64, len(dst))
		kind.fill(made, s, r)
		w.shared.draws[key] = made
	}
	copy(dst, made)
}
