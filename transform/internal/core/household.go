package core

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Households says what is known of households; nothing in the zero value.
type Households struct {
	Index    []int    // in Block.Columns: what tells households apart
	Instead  []int    // by index: what tells them apart where that is missing, −1 for none
	Shared   []string // columns that are the same for all members of a household, and are masked once for each
	Personal []string // columns in which each member has a value of its own, even where all are equal
}

// units tells the households of a block's records apart. Where all members of a household have one value,
// a draw for each member would give an intruder several noisy values of it, whose mean tells more than
// one; so the draw is that of the household, and the members' values leave as equal as they came.
type units struct {
	Digests []microdata.Digest // nil: there are no households
	places  []int64
}

// Known reports whether households are known.
func (u *units) Known() bool { return u.Digests != nil }

// group finds the households of a block's records. In a replicate of columns without that of the
// households there are none.
func (c *Chain) group(w *Work, b *microdata.Block) {
	u := &w.Units
	if !c.tell(u, w, b, c.Setup.Households.Index) {
		return
	}
	if w.Leaves {
		c.otherwise(w, b, u.Digests, c.Setup.Households.Index, c.Setup.Households.Instead)
	}
	if w.Digests == nil {
		return
	}
	for i := range u.Digests { // without a household the record is a household of its own
		if u.Digests[i] == (microdata.Digest{}) {
			u.Digests[i] = w.Digests[i]
		}
	}
}

// tell sets the digests of a block's records by columns; false if the block does not have them.
func (c *Chain) tell(u *units, w *Work, b *microdata.Block, columns []int) bool {
	at := w.identity[:0]
	for _, i := range columns {
		if i < len(b.Columns) {
			if col := &b.Columns[i]; col.Array != nil || len(col.Original.Values) == b.N {
				at = append(at, col)
			}
		}
	}
	w.identity = at
	if len(at) == 0 || len(at) < len(columns) || b.N == 0 {
		*u = units{}
		return false
	}
	u.Digests = c.Setup.Key.Digests(u.Digests, at, b.N)
	return true
}

// repeat finds the respondents of the records of a replicate's block.
func (c *Chain) repeat(w *Work, b *microdata.Block) {
	if c.ReplicateNumber == 0 || len(c.Setup.Persons) == 0 {
		w.persons = units{}
		return
	}
	c.tell(&w.persons, w, b, c.Setup.Persons)
}

// repeated names records [from, from+n) of a replicate by their respondents and values: in a release an unchanged value
// of a respondent leaves unchanged.
func (u *units) repeated(b *microdata.Block, from, n int, values []float64) keystream.Records {
	u.places = u.places[:0]
	for i, d := range u.Digests[from : from+n] {
		place := b.Place(from + i)
		if d != (microdata.Digest{}) {
			h := binary.LittleEndian.Uint64(d[:8]) + math.Float64bits(values[i])*0x9e3779b97f4a7c15
			h = (h ^ h>>32) * 0xd6e8feb86659fd93
			place = int64((h ^ h>>32) >> 1)
		}
		u.places = append(u.places, place)
	}
	return keystream.Records{Places: u.places}
}

// stretch names records [from, from+n) by their households.
func (u *units) stretch(w *Work, b *microdata.Block, from, n int, values []float64) keystream.Records {
	digests := u.Digests[from : from+n]
	r := keystream.Records{Stream: b.Stream, First: b.First + int64(from)}
	if b.Places != nil {
		r.Places = b.Places[from : from+n]
	}
	if w.Leaves {
		r.Values, r.Digests = values, digests
		return r
	}
	// Draws that never leave have no digests, but any place will do.
	u.places = u.places[:0]
	for i, d := range digests {
		place := b.Place(from + i)
		if d != (microdata.Digest{}) {
			place = int64(binary.LittleEndian.Uint64(d[:8]) >> 1)
		}
		u.places = append(u.places, place)
	}
	r.Stream, r.Places = 0, u.places
	return r
}

// ByHousehold reports whether a mask decides about whole households where they are known.
func ByHousehold(p Params) bool { return Declared(p).ByHousehold }

// WithHousehold adds to parameters that a mask decides about whole households.
func WithHousehold(list []Parameter, household bool) []Parameter {
	if household {
		list = append(list, Parameter{"household", true})
	}
	return list
}

// DependsOn returns the columns on which it depends what becomes of a value, beside the value itself.
func DependsOn(p Params) []string {
	return slices.Concat(p.Reads(), NeedsCorrelations(p))
}

// Memberships numbers the households of the records of a survey.
type Memberships struct {
	numbers map[microdata.Digest]int32
	Of      []int32 // by record
	N       int32
}

// Add notes the households of a block. A record without one is a household of its own.
func (m *Memberships) Add(w *Work, b *microdata.Block) {
	if m.numbers == nil {
		m.numbers = map[microdata.Digest]int32{}
	}
	for _, d := range w.Units.Digests[:b.N] {
		number, known := m.numbers[d]
		if !known || d == (microdata.Digest{}) {
			number = m.N
			m.N++
			m.numbers[d] = number
		}
		m.Of = append(m.Of, number)
	}
}
