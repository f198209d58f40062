package placed

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Columns names the columns of whole numbers, from 0, that hold the places of records.
type Columns struct {
	Stream string // the stream of the whole that a record is of; "": all are of the first
	Record string // its place in that stream
}

// Names are the columns that there are.
func (c Columns) Names() []string {
	if c.Stream == "" {
		return []string{c.Record}
	}
	return []string{c.Stream, c.Record}
}

// Source is a source whose records have the places that its columns say. Its blocks
// are of one stream each, with ascending places; a record without a place is rejected
// at the place where it is stored. It carries nothing undecoded.
type Source struct {
	connectors.Source
	columns        Columns
	stream, record int    // in the schema; stream −1 where there is none
	places         Places // of the pass that was begun last
	whole          *Source
	part           connectors.Part // where whole is not nil
}

// On gives a source the places of its columns. The error names the column that is not
// there, or is of another type.
func On(src connectors.Source, c Columns) (*Source, error) {
	s := &Source{Source: src, columns: c, stream: -1}
	var err error
	if s.record, err = column(src.Schema(), "record", c.Record); err != nil {
		return nil, err
	}
	if c.Stream != "" {
		if s.stream, err = column(src.Schema(), "stream", c.Stream); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func column(schema *microdata.Schema, field, name string) (int, error) {
	i := schema.Index(name)
	if i < 0 {
		return 0,
			check.Problem{Path: field,
				Text: fmt.Sprintf("the source has no such column, got %q%s", name, check.SuggestPlace(name, schema.Names()))}
	}
	if f := &schema.Fields[i]; !arrow.IsInteger(f.Type.ID()) && !f.Unseen {
		return 0,
			check.Problem{Path: field,
				Text: fmt.Sprintf("must be a column of whole numbers, and %s is %s", name, microdata.TypeName(f.Type))}
	}
	return i, nil
}

// Of returns a source as one whose places come from columns; nil if they do not.
func Of(src connectors.Source) *Source {
	s, _ := src.(*Source)
	return s
}

// Places are the places that have been read: all of them once the pass has ended.
func (s *Source) Places() *Places { return &s.places }

// Read implements connectors.Source. That two records have one place is an error of
// Next.
func (s *Source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	cut.Exact = false // there are no windows where the order of records is not that of the source
	inner := &microdata.Layout{Schema: layout.Schema, Read: slices.Clone(layout.Read)}
	want := func(field int) int {
		if field < 0 {
			return -1
		}
		w := microdata.Want{Field: field, As: microdata.Array}
		if i := slices.Index(inner.Read, w); i >= 0 {
			return i
		}
		inner.Read = append(inner.Read, w)
		return len(inner.Read) - 1
	}
	r := &reader{source: s, width: len(layout.Read), stream: want(s.stream), record: want(s.record)}
	taken := &s.places
	if s.whole != nil {
		taken = &s.whole.places // the parts that one process reads are compared with each other
	} else {
		s.places = Places{}
	}
	r.places = taken
	in, err := s.Source.Read(ctx, inner, cut)
	if err != nil {
		return nil, err
	}
	r.inner = in
	return r, nil
}

// Abilities implements connectors.Source: those of the wrapped source, of which parts are wrapped too. Its records are
// those of files, whose progress nobody stores.
func (s *Source) Abilities() connectors.SourceAbilities {
	can := s.Source.Abilities()
	can.StreamName, can.Relocated = streamName, s
	can.Acknowledge, can.Numbered, can.Holding = nil, nil, nil
	if can.Divisible != nil {
		can.Divisible = s
	}
	return can
}

// StoredIn implements connectors.Relocated.
func (s *Source) StoredIn(b *microdata.Block) int {
	if s.whole != nil {
		return 0
	}
	return b.Carried.(origin).stream
}

// NameOf implements connectors.Relocated: placed records are called by their place.
func (s *Source) NameOf(b *microdata.Block) string {
	o := b.Carried.(origin)
	if !o.placed {
		return s.Source.Streams()[o.stream]
	}
	return streamName(b.Stream)
}

func streamName(stream int) string { return fmt.Sprintf("place %d", stream) }

// Streams implements connectors.Source: a part is of one file.
func (s *Source) Streams() []string {
	if s.whole != nil {
		return s.Source.Streams()[s.part.Stream : s.part.Stream+1]
	}
	return s.Source.Streams()
}

// Part implements connectors.Divisible.
func (s *Source) Part(p connectors.Part) (connectors.Source, error) {
	inner, err := s.Source.Abilities().Divisible.Part(p)
	if err != nil {
		return nil, err
	}
	return &Source{Source: inner, columns: s.columns, stream: s.stream, record: s.record, whole: s, part: p}, nil
}

// Divide implements connectors.Divisible.
func (s *Source) Divide(ctx context.Context, bytes int64, cut connectors.Cut) ([]connectors.Part, error) {
	cut.Exact = false
	return s.Source.Abilities().Divisible.Divide(ctx, bytes, cut)
}

// Stored implements connectors.Divisible.
func (s *Source) Stored(stream int) (connectors.Stored, error) {
	return s.Source.Abilities().Divisible.Stored(stream)
}
