package pipeline

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// EarlierColumn is what the ledger says of a column that an earlier release had.
type EarlierColumn struct {
	Name, Type string        // Type as microdata.TypeName has it
	Shape      *assess.Shape // nil: not known
	Guarded    bool          // whether it was sensitive and masked
	Ordered    *bool         // whether the order in which its records left tells of it; nil: not known
}

// orderNot says why it is not known that the order in which earlier releases left tells nothing of a column; "" if it
// tells nothing. A release without the column may have left in its order all the same.
func (pl *Plan) orderNot(name string) string {
	for _, e := range pl.earlier {
		if e.Repeats {
			continue
		}
		_, of := pl.earlierColumn(int(e.Number), name)
		switch {
		case of == nil || of.Ordered == nil:
			return e.At() + " does not say whether the order of its records told of the column"
		case *of.Ordered:
			return "the order of the records of " + e.At() + " told of the column"
		}
	}
	return ""
}

// fits returns an error if the masks of an earlier release, applied to today's records, give other columns than it
// had, or columns of another kind.
func (e *EarlierRelease) fits() error {
	for _, c := range e.Columns {
		field := (*microdata.Field)(nil)
		for i := range e.plan.Layout.Release {
			if f := &e.plan.Layout.Release[i].Field; f.Name == c.Name {
				field = f
			}
		}
		switch {
		case field == nil:
			return fmt.Errorf("it had a column %s, which its masks do not give today", c.Name)
		case field.Numeric() != numeric(c.Type):
			return fmt.Errorf("its column %s was of type %s, and is of type %s today",
				c.Name, c.Type, microdata.TypeName(field.Type))
		}
	}
	return nil
}

// numeric reports whether a type, by its name, is one of numbers.
func numeric(name string) bool {
	for _, kind := range []string{"int", "uint", "float", "decimal"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

// CompareEarlier compares, once all records are masked, what the masks of earlier releases make of today's records
// with what these had: if they differ as a whole, it is not known what all releases tell. It must come before what is
// measured is computed. read, released and unidentified are those of WithLedger's doubts.
func (pl *Plan) CompareEarlier(p assess.Pairs, read, released, unidentified int64) {
	if !pl.fromLedger || p.Len() == 0 {
		return
	}
	var earlier []assess.Shape
	pl.shapes, earlier = p.Shapes(pl.Assessed)
	for i, e := range p.Earlier {
		of, was := pl.earlierColumn(e.Release, e.Of)
		if was == nil || was.Shape == nil || e.Before || e.Piece > 0 {
			continue
		}
		shape := *was.Shape
		if transform.Renames(of.Config.Masks, e.Of) { // digits of pseudonyms under another key are others
			shape = shape.OfNames()
		}
		if why := shape.Unlike(earlier[i]); why != "" {
			pl.distrust(fmt.Sprintf("%s cannot be told from today's records: column %s: %s", of.At(), e.Of, why))
		}
	}
	pl.distrust(pl.toldCounts(&p))
	if pl.doubts != nil {
		pl.distrust(pl.doubts(read, released, unidentified))
	}
}

// Shapes has the released columns as a whole, after CompareEarlier.
func (pl *Plan) Shapes() map[string]assess.Shape { return pl.shapes }

// distrust says why it is not known what all releases tell; "" changes nothing.
func (pl *Plan) distrust(why string) {
	if why == "" || pl.earlierNot != "" {
		return
	}
	pl.earlierNot = why
	if known := pl.earlierKnown; known != nil {
		known.Not, known.Others = why, max(known.Others, 1)
	}
}

// earlierColumn finds a column of an earlier release; nil if it had none.
func (pl *Plan) earlierColumn(release int, name string) (*EarlierRelease, *EarlierColumn) {
	for _, e := range pl.earlier {
		for i := range e.Columns {
			if e.Number == int64(release) && e.Columns[i].Name == name {
				return e, &e.Columns[i]
			}
		}
	}
	return nil, nil
}
