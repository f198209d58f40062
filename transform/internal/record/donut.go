package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Donut displaces points by a distance and a direction that the key and the place decide, uniform in the area of a
// ring: between two distances (donut masking: Hampton et al. 2010, Mapping health data: improved privacy protection
// with donut method geomasking, Am. J. Epidemiol. 172), or between the radii within which so many people live
// (Allshouse et al. 2010, Geomasking sensitive health data and privacy protection, Geocarto Int. 25).
type Donut struct {
	Columns []string `yaml:"columns" doc:"latitude and longitude, or x and y: two columns, or several such pairs one after another"`
	Unit    string   `yaml:"unit" doc:"degrees: latitude and longitude; metres: x and y in a plane" enum:"degrees,metres"`
	Least   *float64 `yaml:"least" doc:"the least displacement in metres"`
	Most    *float64 `yaml:"most" doc:"the greatest displacement in metres; beside k_least and k_most a record that needs more goes to quarantine"`
	KLeast  *int     `yaml:"k_least" doc:"instead of most: the displacement is at least the distance within which this many people live"`
	KMost   *int     `yaml:"k_most" doc:"with k_least: and at most the distance within which this many people live"`
	File    string   `yaml:"file" doc:"a CSV file with the places of the population: two columns in the unit and order of columns, and optionally the number of people there; the first line has names"`
	Records *bool    `yaml:"records" doc:"instead of file: the population is that of the source's own records, which takes a first pass. One respondent (identity) counts once at a place"`
	Weight  string   `yaml:"weight" doc:"with records: the column that says for how many people a record stands"`

	people *places.People // what readTable has read of File
	digest string         // of its content
}

// What displacements may be: beyond, a point says nothing, or its ring is no ring any more on the Earth.
const (
	greatestDisplacement = 5e6
	mostPeople           = 10_000
)

// Check implements Params.
func (m *Donut) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if len(m.Columns)%2 != 0 {
		ps.Addf("columns", "must be pairs: latitude and longitude, or x and y, got %d columns", len(m.Columns))
	}
	ps.OneOf("unit", m.Unit, "degrees", "metres")
	inRange := func(field string, v *float64) {
		if v != nil && !(*v > 0 && *v <= greatestDisplacement) {
			ps.Addf(field, "must be above 0 and at most %.0f metres, got %v", greatestDisplacement, *v)
		}
	}
	inRange("least", m.Least)
	inRange("most", m.Most)
	if m.Least == nil {
		ps.Addf("least", "must be given: the least displacement in metres, also where many people live at one place")
	}
	byPeople := m.KLeast != nil || m.KMost != nil
	switch {
	case !byPeople && m.Most == nil:
		ps.Addf("most", "must be given, or k_least and k_most")
	case m.Most != nil && m.Least != nil && !(*m.Least < *m.Most):
		ps.Addf("most", "must be greater than %v, which is least, got %v", *m.Least, *m.Most)
	}
	if byPeople {
		m.checkPeople(&ps)
	}
	switch records := m.Records != nil && *m.Records; {
	case records && m.File != "":
		ps.Addf("records", "must be left out beside file")
	case records && len(m.Columns) > 2:
		ps.Addf("records", "must be left out with more than one pair of columns: give the places of the population in a file")
	case m.Weight != "" && !records:
		ps.Addf("weight", "must be left out without records: true")
	}
	if m.Weight != "" && slices.Contains(m.Columns, m.Weight) {
		ps.Addf("weight", "must be another column than those that are masked, got %q", m.Weight)
	}
	return ps
}

func (m *Donut) checkPeople(ps *check.Problems) {
	switch {
	case m.KLeast == nil:
		ps.Addf("k_least", "must be given with k_most")
	case *m.KLeast < 2 || *m.KLeast > mostPeople:
		ps.Addf("k_least", "must be between 2 and %d, got %d", mostPeople, *m.KLeast)
	}
	switch {
	case m.KMost == nil:
		ps.Addf("k_most", "must be given with k_least")
	case m.KLeast != nil && *m.KMost <= *m.KLeast || *m.KMost > mostPeople:
		ps.Addf("k_most", "must be greater than k_least and at most %d, got %d", mostPeople, *m.KMost)
	}
	if m.File == "" && (m.Records == nil || !*m.Records) {
		ps.Addf("file",
			"must be given with k_least: the places of the population; or records: true, for the source's own records")
	}
}

// Describe implements Params.
func (m *Donut) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, File: &core.TableFile{Field: "file", Path: m.File, Read: m.readTable},
		NeedsPeople: m.needsPeople(),
		Places:      m.places(),
		// what is no place, or half of one
		Parameters: m.parameters, Action: m.action, Published: m, Among: m.checkAmong, Rejects: true,
		Instead: "a file with the places of the population, or least and most",
	}
}

// Masks implements Params.
func (m *Donut) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Donut) Reads() []string { return nil }

func (m *Donut) needsPeople() *core.PeopleOf {
	if m.Records == nil || !*m.Records || len(m.Columns) < 2 {
		return nil
	}
	return &core.PeopleOf{Unit: m.Unit, A: m.Columns[0], B: m.Columns[1], Weight: m.Weight}
}

// CheckAmong: the draw is bound to the true place, so that all records of a place are displaced alike; a mask that
// draws before it would make other places of each. Behind it only rounding keeps what is verified.
func (m *Donut) checkAmong(masks []core.Spec, i int) (ps check.Problems) {
	for k, name := range m.Columns {
		for j, other := range masks {
			if j == i || other.Params == nil || !slices.Contains(other.Params.Masks(), name) {
				continue
			}
			if _, rounds := core.ActionOf(other.Params, name, 1).(core.Rounding); j < i || !rounds {
				ps.Addf(fmt.Sprintf("[%d].donut.columns[%d]", i, k),
					"must be changed by no other mask, except round behind it, and mask [%d] (%s) changes %s", j, other.Kind(),
					strconv.Quote(name))
				break
			}
		}
	}
	return ps
}

func (m *Donut) unit() places.Unit { unit, _, _ := core.UnitOf(m.Unit); return unit }

func (m *Donut) perMetre() float64 { _, perMetre, _ := core.UnitOf(m.Unit); return perMetre }

// places returns the pairs of columns, to be verified.
func (m *Donut) places() (list []core.Place) {
	for k := 0; k+1 < len(m.Columns); k += 2 {
		p := core.Place{Columns: [2]string{m.Columns[k], m.Columns[k+1]}, Unit: m.Unit, Ring: m.Ring}
		if of := m.needsPeople(); of != nil {
			p.Of = of
		}
		if m.KLeast != nil {
			p.K = *m.KLeast
		}
		p.People, p.Same = m.people, m.KLeast == nil
		list = append(list, p)
	}
	return list
}

// Ring returns the ring about a place; false if the place has none.
func (m *Donut) Ring(people *places.People, at places.Point) (inner, outer float64, ok bool) {
	inner, outer, reason := m.radii(people, at)
	return inner, outer, reason == ""
}

// donutStep is a donut mask on the columns of a chain.
type donutStep struct {
	mask    int
	of      *Donut
	people  *places.People // nil for none
	pairs   []donutPair
	hash    *keystream.Pseudonyms
	streams [2]int // of replicates: distance and direction
}

// donutPair is the columns of a pair, in their order.
type donutPair struct {
	columns [2]*core.Column
	grids   [2]core.Grid
}

func (m *Donut) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &donutStep{mask: i, of: m, people: m.people, hash: c.Setup.Key.Pseudonyms("mask: donut " + m.Unit)}
	if of := m.needsPeople(); of != nil {
		if s.people = c.Setup.People[*of]; s.people == nil {
			return nil, fmt.Errorf("%s.records: needs the places of all records, which are not known", c.At(i))
		}
	}
	if m.KLeast != nil {
		switch {
		case s.people == nil:
			return nil, fmt.Errorf("%s.file: is not read", c.At(i))
		case s.people.Total() < float64(*m.KMost):
			return nil, fmt.Errorf("%s.k_most: must be at most the number of people of the population, got %d, which is more",
				c.At(i), *m.KMost)
		}
	}
	done := m.description() + core.DigestOfTexts("columns", m.Columns...)
	for k := 0; k+1 < len(m.Columns); k += 2 {
		var pair donutPair
		for j, name := range m.Columns[k : k+2] {
			col := c.Touch(name)
			if col == nil {
				continue // of a replicate without the column
			}
			if !col.Field.Numeric() {
				return nil, fmt.Errorf("%s.columns: column %s must be numeric, got type %s", c.At(i), strconv.Quote(name),
					microdata.TypeName(col.Field.Type))
			}
			decimals := col.Digits
			if decimals < 0 {
				_, _, decimals = core.UnitOf(m.Unit)
			}
			if step := math.Pow10(-decimals) / m.perMetre(); step > *m.Least {
				return nil, fmt.Errorf("%s.least: must be at least %.3g metres, which is the last decimal of column %s, got %v",
					c.At(i), step, strconv.Quote(name), *m.Least)
			}
			pair.columns[j], pair.grids[j] = col, core.DecimalGrid(decimals)
			col.OnGrid = col.Digits >= 0
			c.AddToHistory(i, col, done)
		}
		s.pairs = append(s.pairs, pair)
	}
	for k, what := range []string{"distance", "direction"} {
		s.streams[k] = c.StreamNamed(i, "donut\x00"+what, done)
	}
	return s, nil
}

// description lists all parameters.
func (m *Donut) description() string {
	most, kLeast, kMost := math.Inf(1), 0.0, 0.0
	if m.Most != nil {
		most = *m.Most
	}
	if m.KLeast != nil {
		kLeast, kMost = float64(*m.KLeast), float64(*m.KMost)
	}
	return core.Part("donut", *m.Least, most, kLeast, kMost) + core.DigestOfTexts("people", m.Unit, m.digest, m.Weight)
}

// radii returns the ring about a place; the reason says why there is none.
func (m *Donut) radii(people *places.People, at places.Point) (inner, outer float64, reason string) {
	if m.KLeast == nil {
		return *m.Least, *m.Most, ""
	}
	inner, outer = people.Radii(at, float64(*m.KLeast), float64(*m.KMost))
	inner = max(inner, *m.Least)
	if outer = max(outer, math.Sqrt2*inner); m.Most != nil && outer > *m.Most {
		outer = *m.Most
	}
	if !(inner < outer) || outer > greatestDisplacement {
		return 0, 0, "has too few people around within the greatest displacement"
	}
	return inner, outer, ""
}

// The reasons why a record is not masked.
const (
	HalfPlace = "has one coordinate of a place without the other"
	NoPlace   = "is no coordinate of a place"
)

func (s *donutStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed := w.NewChanged(b.N)
	for k := range s.pairs {
		if err := s.displace(w, b, &s.pairs[k], changed); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

func (s *donutStep) displace(w *core.Work, b *microdata.Block, pair *donutPair,
	changed microdata.Bitmap) error {
	var v [2]*microdata.Vector
	for j, col := range pair.columns {
		if col == nil || b.Columns[col.Index].Original.Values == nil {
			return nil // in a replicate that does not have both
		}
		var err error
		if v[j], err = col.Numbers(b); err != nil {
			return err
		}
	}
	unit := s.of.unit()
	at := make([]places.Point, b.N)
	for i := range at {
		at[i] = places.Point{A: pair.grids[0].Snap(v[0].Values[i]), B: pair.grids[1].Snap(v[1].Values[i])}
	}
	draws := s.draws(w, at)
	known := map[places.Point]places.Point{}
	for i, p := range at {
		if b.Rejected(i) {
			continue
		}
		hasA, hasB := v[0].Valid.Has(i), v[1].Valid.Has(i)
		switch {
		case !hasA && !hasB:
			v[0].Values[i], v[1].Values[i] = 0, 0
			continue
		case hasA != hasB:
			missing := pair.columns[0]
			if hasA {
				missing = pair.columns[1]
			}
			b.Reject(i, missing.Name, HalfPlace)
			continue
		case !unit.Valid(p):
			b.Reject(i, pair.columns[0].Name, NoPlace)
			continue
		}
		to, again := known[p]
		if !again {
			inner, outer, reason := s.of.radii(s.people, p)
			if reason != "" {
				b.Reject(i, pair.columns[0].Name, reason)
				continue
			}
			distance, turn := draws(i, p, inner, outer)
			to = unit.Move(p, unit.Radius(inner, outer, distance), turn)
			to = places.Point{A: pair.grids[0].Snap(to.A), B: pair.grids[1].Snap(to.B)}
			known[p] = to
		}
		v[0].Values[i], v[1].Values[i] = to.A, to.B
		changed.Set(i)
	}
	return nil
}

// draws returns a function that draws for record i at a place with its ring: two numbers in (0, 1) that depend on key,
// place and ring alone, so that all records of a place are displaced alike, by whichever mask, column or file. In a
// replicate they depend on the place.
func (s *donutStep) draws(w *core.Work, at []places.Point) func(i int, p places.Point, inner, outer float64) (distance,
	turn float64) {
	if w.Leaves {
		return func(_ int, p places.Point, inner, outer float64) (distance, turn float64) {
			var text []byte
			for _, x := range []float64{p.A, p.B, inner, outer} {
				text = binary.LittleEndian.AppendUint64(text, math.Float64bits(x+0))
			}
			sum := s.hash.Append(nil, text)
			return inside(binary.LittleEndian.Uint64(sum)), inside(binary.LittleEndian.Uint64(sum[8:]))
		}
	}
	r := keystream.Records{Places: make([]int64, len(at))}
	for i, p := range at {
		r.Places[i] = placeOf(p)
	}
	u := [2][]float64{make([]float64, len(at)), make([]float64, len(at))}
	for k, stream := range s.streams {
		w.Fill(u[k], core.Uniform, stream, r)
	}
	return func(i int, _ places.Point, _, _ float64) (distance, turn float64) { return u[0][i], u[1][i] }
}

// inside returns a number in (0, 1) of the first 53 of 64 bits.
func inside(bits uint64) float64 { return (float64(bits>>11) + 0.5) / (1 << 53) }

// placeOf returns a number of a place, for draws that never leave.
func placeOf(p places.Point) int64 {
	x := math.Float64bits(p.A + 0)
	for _, of := range []uint64{math.Float64bits(p.B + 0), 0} { // SplitMix64's finaliser between the two
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x = (x ^ x>>31) + of
	}
	return int64(x >> 1)
}

// Keeps: a coordinate stays if the displacement is within half a step of it across, at most with probability (2/π)
// asin(h/r) for a ring from radius r on.
func (s *donutStep) Keeps(l *core.KeepingOf, i int) {
	least := *s.of.Least * s.of.perMetre()
	l.Moves = append(l.Moves, core.Moving{
		Mask: i, Lost: func(_, step float64) bool { return step > least },
		Share: func(_, step float64) float64 { return 2 / math.Pi * math.Asin(min(1, step/2/least)) },
	})
}

type reading struct{ Donut }

// Reading returns the parameters whose table is a file with the places of a population, for points that another mask
// changes.
func Reading(columns []string, unit, file string) core.Params {
	return &reading{Donut{Columns: columns, Unit: unit, File: file}}
}

// Describe implements Params.
func (m *reading) Describe() core.Description {
	d := m.Donut.Describe()
	for i := range d.Places {
		d.Places[i].Ring, d.Places[i].Same = nil, false
	}
	return d
}

// Table returns the population that was read from File, nil for none, and the digest of the file.
func (m *Donut) Table() (people *places.People, digest string) { return m.people, m.digest }
