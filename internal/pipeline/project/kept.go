package project

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// fates are the values of a key in the records of a table, as keyed digests: true if a record that has it is released.
// That of the zero digest is that of records without a value, which refer to nothing. One value takes 25 to 40 bytes,
// and twice that while the map grows.
type fates map[microdata.Digest]bool

// add notes the values of the records of a masked block. twice reports whether two released records have one value.
func (f fates) add(digests []microdata.Digest, b *microdata.Block) (twice bool) {
	for i, d := range digests {
		released := !b.Rejected(i)
		twice = twice || released && f[d] && d != (microdata.Digest{})
		f[d] = f[d] || released
	}
	return twice
}

// lost reports whether a released record has a value that no released record of the other table has, or without
// optional none.
func (f fates) lost(other fates, optional bool) bool {
	for d, released := range f {
		none := d == (microdata.Digest{})
		if released && (none && !optional || !none && !other[d]) {
			return true
		}
	}
	return false
}

// filter leaves out records by what has become of the records of another table.
type filter struct {
	key      int // of the configuration
	field    int // of the source
	of       fates
	optional bool // a record without a value stays
	nobody   bool // the other table refers to this one
	left     *Left
}

// Left counts the records that leave a table because of another one.
type Left struct {
	Orphans int64 `json:"orphans" doc:"records that refer to none in the source of the other table"`
	With    int64 `json:"with" doc:"records that leave with one of the other table, which is in quarantine, not drawn by a sample, or leaves itself"`
	Without int64 `json:"without" doc:"records without a value in the column, which belong to none"`
}

func (l *Left) most(o Left) {
	l.Orphans, l.With, l.Without = max(l.Orphans, o.Orphans), max(l.With, o.With), max(l.Without, o.Without)
}

// kept is a source that leaves out records before anything is made of them: every pass over the records sees the others
// only.
type kept struct {
	connectors.Source
	key     keystream.Key
	filters []filter
}

// Abilities implements connectors.Source: nobody reads parts of it.
func (s *kept) Abilities() connectors.SourceAbilities {
	can := s.Source.Abilities()
	can.Divisible = nil
	return can
}

// Read implements connectors.Source. The columns of keys are read behind those that are wanted.
func (s *kept) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	inner := &microdata.Layout{Schema: layout.Schema, Read: slices.Clone(layout.Read)}
	r := &keptReader{source: s, width: len(layout.Read), counts: make([][3]atomic.Int64, len(s.filters))}
	for _, f := range s.filters {
		w := microdata.Want{Field: f.field, As: microdata.Array}
		at := slices.Index(inner.Read, w)
		if at < 0 {
			at, inner.Read = len(inner.Read), append(inner.Read, w)
		}
		r.columns = append(r.columns, at)
	}
	var err error
	r.Reader, err = s.Source.Read(ctx, inner, cut)
	return r, err
}

// keptReader is a pass.
type keptReader struct {
	connectors.Reader
	source  *kept
	width   int   // of the columns that are wanted
	columns []int // by filter
	counts  [][3]atomic.Int64
}

// Next implements connectors.Reader.
func (r *keptReader) Next(ctx context.Context) (connectors.Raw, error) {
	raw, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &keptRaw{raw, r}, nil
}

// Close implements connectors.Reader. A pass that was not ended has counted fewer records than one that was.
func (r *keptReader) Close() error {
	for i := range r.counts {
		c := &r.counts[i]
		r.source.filters[i].left.most(Left{c[0].Load(), c[1].Load(), c[2].Load()})
	}
	return r.Reader.Close()
}

type keptRaw struct {
	connectors.Raw
	reader *keptReader
}

// Decode implements connectors.Raw.
func (w *keptRaw) Decode(b *microdata.Block) error {
	if err := w.Raw.Decode(b); err != nil {
		return err
	}
	r := w.reader
	for k, f := range r.source.filters {
		digests := r.source.key.Digests(nil, []*microdata.Column{&b.Columns[r.columns[k]]}, b.N)
		for i, d := range digests {
			if b.Rejected(i) {
				continue
			}
			released, there := f.of[d]
			switch none := d == (microdata.Digest{}); {
			case none && f.optional, !none && released:
				continue
			case none:
				r.counts[k][2].Add(1)
			case there:
				r.counts[k][1].Add(1)
			default:
				r.counts[k][0].Add(1)
			}
			b.LeaveOut(i)
		}
	}
	b.Columns = b.Columns[:r.width]
	return nil
}
