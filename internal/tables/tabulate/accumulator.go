package tabulate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/sampling"
)

// Options of a tabulation.
type Options struct {
	Decimals int      // decimals of values: each weighted contribution is rounded to them, then summed exactly
	Counts   bool     // the value is 1 per record
	Most     int      // number of largest contributions to keep, as many as the rules need
	Absolute bool     // rules use absolute contributions
	Keys     bool     // records have keys, which are summed by cell
	Samples  *Samples // samples of the records, which then must have draws; nil: none
	Holdings bool     // contributors are holdings: all that a holding adds to a cell is one contribution

	Identities int // number of contributors per cell whose identities are kept, at most MostIdentities

	MaxEntries int // greatest number of base cells, or of pairs of base cell and holding; 0: 50 million
}

// MostIdentities is the largest number of contributors per cell whose identities can be kept.
const MostIdentities = 3

// Samples specifies samples of the records: sample i has one record in OneIn[i].
type Samples struct{ OneIn []int }

// Records is a batch of records by columns.
type Records struct {
	Codes   [][]int32 // by variable (see Accumulator.Variables) the leaf, -1 if the code is unknown or missing
	Values  []float64 // nil for counts
	Weights []float64 // nil: 1 each
	Holding []string  // nil without holdings
	Who     []uint64  // identity of each record, the same in all tables; nil without Options.Identities, or with holdings
	Keys    []uint64  // of each record; nil without
	Draws   []uint64  // of each record, uniform over 64 bits; nil without samples
	Unknown []bool    // records without identity, which have no key; nil: none
	Absent  []bool    // records with a declared code for a missing value, which contribute nothing; nil: none
	Request []bool    // respondents who requested protection; nil: none. A holding requests it if one of its records does
}

// Accumulator holds the state of a tabulation. The zero value is not usable; see New.
type Accumulator struct {
	set       *tables.Set
	options   Options
	scale     float64
	variables []*tables.Dimension
	leaf      [][]int32 // of a variable: node → number among its leaves
	nodes     [][]int32 // of a variable: number among its leaves → node

	index   map[uint64]int32 // base cell → entry, if there are too many base cells for dense
	dense   []int32
	entries []entry
	largest []tables.Contribution
	sampled []int64 // by entry and sample: number of records

	holding map[string]int32
	holders []string
	shares  map[share]total

	last    []int64 // by record of the last call of Add: its contribution
	refused Refused
	unknown []int64 // by variable: number of records with an unknown or a missing code
}

type entry struct {
	key               uint64
	records, negative int64
	units, gross      int64
	keys              uint64
	requested         int64 // 1 + the largest contribution of a respondent who requested protection, 0 if none did
	overflow          bool
	who               [MostIdentities]uint64 // identities of the first records
}

// meet counts records of the given identities.
func (e *entry) meet(who ...uint64) {
	for _, w := range who {
		if e.records < MostIdentities {
			e.who[e.records] = w
		}
		e.records++
	}
}

// known returns the identities of all records, or of the first ones.
func (e *entry) known() []uint64 { return e.who[:min(e.records, MostIdentities)] }

type share struct {
	key    uint64
	holder int32
}

type total struct {
	units, gross int64
	requested    bool
}

// Refused counts records that were not tabulated, by reason.
type Refused struct {
	Code   int64 // unknown or missing code
	Value  int64 // value is not a number
	Weight int64 // weight is below 1 or not a number
	Holder int64 // missing holding
	Nobody int64 // no identity, although records must have keys
}

// New returns an empty accumulator for a set, or problems of the options.
func New(set *tables.Set, o Options) (*Accumulator, check.Problems) {
	var problems check.Problems
	if o.Decimals < 0 || o.Decimals > 9 {
		problems.Addf("decimals", "must be between 0 and 9, got %d", o.Decimals)
	}
	if o.Most < 0 || o.Most > 100 {
		problems.Addf("most", "must be between 0 and 100, got %d", o.Most)
	}
	if o.Identities < 0 || o.Identities > MostIdentities {
		problems.Addf("identities", "must be between 0 and %d, got %d", MostIdentities, o.Identities)
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = 50_000_000
	}
	a := &Accumulator{set: set, options: o, scale: math.Pow10(o.Decimals), holding: map[string]int32{},
		shares: map[share]total{}}
	size := 1.0
	for _, t := range set.Tables {
		for _, d := range t.Dimensions {
			if slices.ContainsFunc(a.variables, func(v *tables.Dimension) bool { return v.Name == d.Name }) {
				continue
			}
			number := make([]int32, len(d.Codes))
			for i, n := range d.Leaves(0) {
				number[n] = int32(i)
			}
			a.variables, a.leaf, a.nodes = append(a.variables, d), append(a.leaf, number), append(a.nodes, d.Leaves(0))
			size *= float64(len(d.Leaves(0)))
		}
	}
	switch {
	case size > 1<<62:
		problems.Addf("", "the variables have %.3g combinations of leaves", size)
	case size <= 1<<22:
		a.dense = make([]int32, int(size))
	default:
		a.index = map[uint64]int32{}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	a.unknown = make([]int64, len(a.variables))
	return a, nil
}

// Variables returns the variables in the order of Records.Codes.
func (a *Accumulator) Variables() []*tables.Dimension { return a.variables }

// Refused returns the numbers of records that were not tabulated, by reason.
func (a *Accumulator) Refused() Refused { return a.refused }

// Unknown returns, for every variable, the number of records with an unknown or a
// missing code. A record can be counted for several variables.
func (a *Accumulator) Unknown() []int64 { return a.unknown }

// ErrTooMany reports that MaxEntries was exceeded.
var ErrTooMany = errors.New("tabulation: too many combinations of leaves or holdings")

// ErrTooLarge reports that a value or a sum has more than 53 bits in its units.
var ErrTooLarge = errors.New("tabulation: a value is too large for its decimals")

// largestUnits is the limit up to which float64 represents every whole number.
const largestUnits = 1 << 53

// Add tabulates records. After an error the accumulator must not be used.
func (a *Accumulator) Add(r Records) error {
	if len(r.Codes) != len(a.variables) {
		return fmt.Errorf("tabulation: codes of %d variables, want %d", len(r.Codes), len(a.variables))
	}
	n, err := 0, error(nil)
	switch {
	case len(r.Codes) > 0:
		n = len(r.Codes[0])
	case r.Values != nil:
		n = len(r.Values)
	}
	a.last = slices.Grow(a.last[:0], n)[:n]
	clear(a.last)
	for i := range n {
		key, ok := a.key(r.Codes, i)
		if !ok {
			a.unplaced(r.Codes, i)
			continue
		}
		if r.Absent != nil && r.Absent[i] {
			continue
		}
		one, ok := a.contribution(&r, i)
		if !ok {
			continue
		}
		if a.last[i], err = a.add(key, one); err != nil {
			return err
		}
	}
	return nil
}

// Last returns the contribution, in units, of each record of the last call of Add; 0 if the record is
// not tabulated. It is valid until the next call.
func (a *Accumulator) Last() []int64 { return a.last }

// unplaced counts a record with an unknown or a missing code.
func (a *Accumulator) unplaced(codes [][]int32, i int) {
	a.refused.Code++
	for v := range codes {
		if codes[v][i] < 0 {
			a.unknown[v]++
		}
	}
}

// contribution is the contribution of one record.
type contribution struct {
	value, weight float64
	holder        string
	who           uint64 // 0 without Options.Identities
	key           uint64 // 0 without Options.Keys
	draw          uint64 // 0 without Options.Samples
	requested     bool
}

// contribution reads record i. If the record cannot be tabulated, it counts the record by
// reason and returns false.
func (a *Accumulator) contribution(r *Records, i int) (one contribution, ok bool) {
	one = contribution{value: 1, weight: 1, requested: r.Request != nil && r.Request[i]}
	if !a.options.Counts {
		one.value = r.Values[i]
	}
	if r.Weights != nil {
		one.weight = r.Weights[i]
	}
	if a.options.Holdings {
		one.holder = r.Holding[i]
	}
	if a.options.Identities > 0 && r.Who != nil {
		one.who = r.Who[i]
	}
	if a.options.Keys {
		one.key = r.Keys[i]
	}
	if a.options.Samples != nil {
		one.draw = r.Draws[i]
	}
	switch {
	case one.value-one.value != 0:
		a.refused.Value++
	case one.weight-one.weight != 0 || one.weight < 1:
		a.refused.Weight++
	case a.options.Holdings && one.holder == "":
		a.refused.Holder++
	case a.options.Keys && r.Unknown != nil && r.Unknown[i]:
		a.refused.Nobody++
	default:
		return one, true
	}
	return one, false
}

func (a *Accumulator) key(codes [][]int32, i int) (uint64, bool) {
	key := uint64(0)
	for v := range codes {
		c := codes[v][i]
		if c < 0 {
			return 0, false
		}
		key = key*uint64(len(a.nodes[v])) + uint64(a.leaf[v][c])
	}
	return key, true
}

// add adds a contribution to a base cell, and returns it in units.
func (a *Accumulator) add(key uint64, one contribution) (contributed int64, err error) {
	units := math.RoundToEven(one.weight * one.value * a.scale)
	value := math.RoundToEven(one.value * a.scale)
	if math.Abs(units) > largestUnits || math.Abs(value) > largestUnits {
		return 0, ErrTooLarge
	}
	e, err := a.entry(key)
	if err != nil {
		return 0, err
	}
	entry := &a.entries[e]
	entry.meet(one.who)
	if a.options.Counts || units != 0 { // who adds nothing to a value does not give the same value another change
		entry.keys += one.key
	}
	if s := a.options.Samples; s != nil {
		for i, oneIn := range s.OneIn {
			if sampling.Drawn(one.draw, oneIn) {
				a.sampled[int(e)*len(s.OneIn)+i]++
			}
		}
	}
	entry.put(int64(units), int64(math.Abs(units)))
	if units < 0 {
		entry.negative++
	}
	if a.options.Holdings {
		return int64(units),
			a.addShare(share{key, a.holder(one.holder)}, total{int64(units), int64(math.Abs(units)), one.requested})
	}
	if a.options.Absolute {
		value = math.Abs(value)
	}
	if one.requested {
		entry.requested = max(entry.requested, 1+int64(math.Abs(value)))
	}
	tables.Keep(a.largest[int(e)*a.options.Most:int(e+1)*a.options.Most],
		tables.Contribution{Value: value, Weight: one.weight, Who: one.who})
	return int64(units), nil
}

func (e *entry) put(units, gross int64) {
	e.units += units
	e.gross += gross
	e.overflow = e.overflow || e.gross > largestUnits || e.gross < 0
}

func (a *Accumulator) addShare(s share, t total) error {
	old, known := a.shares[s]
	if !known && len(a.shares) >= a.options.MaxEntries {
		return ErrTooMany
	}
	a.shares[s] = total{old.units + t.units, old.gross + t.gross, old.requested || t.requested}
	return nil
}

func (a *Accumulator) holder(name string) int32 {
	h, known := a.holding[name]
	if !known {
		h = int32(len(a.holders))
		a.holding[name] = h
		a.holders = append(a.holders, name)
	}
	return h
}

// entry returns the index of a base cell's entry, which it creates if necessary. It
// returns ErrTooMany above MaxEntries.
func (a *Accumulator) entry(key uint64) (int32, error) {
	var e int32
	if a.dense != nil {
		e = a.dense[key] - 1
	} else {
		e = a.index[key] - 1
	}
	if e >= 0 {
		return e, nil
	}
	if len(a.entries) >= a.options.MaxEntries {
		return 0, ErrTooMany
	}
	e = int32(len(a.entries))
	a.entries = append(a.entries, entry{key: key})
	if s := a.options.Samples; s != nil {
		for range s.OneIn {
			a.sampled = append(a.sampled, 0)
		}
	}
	for range a.options.Most {
		a.largest = append(a.largest, tables.Contribution{})
	}
	if a.dense != nil {
		a.dense[key] = e + 1
	} else {
		a.index[key] = e + 1
	}
	return e, nil
}

// Merge adds the contents of another accumulator. It returns an error unless both have
// the same set and options.
func (a *Accumulator) Merge(b *Accumulator) error {
	if a.set != b.set || a.options != b.options {
		return errors.New("tabulation: accumulators of different tables do not merge")
	}
	most := a.options.Most
	for i, x := range b.entries {
		n, err := a.entry(x.key)
		if err != nil {
			return err
		}
		e := &a.entries[n]
		known := x.known()
		e.meet(known...)
		e.records += x.records - int64(len(known))
		e.keys += x.keys
		e.negative += x.negative
		e.requested = max(e.requested, x.requested)
		e.put(x.units, x.gross)
		if s := a.options.Samples; s != nil {
			for k := range s.OneIn {
				a.sampled[int(n)*len(s.OneIn)+k] += b.sampled[i*len(s.OneIn)+k]
			}
		}
		e.overflow = e.overflow || x.overflow
		for _, c := range b.largest[i*most : (i+1)*most] {
			if c.Weight > 0 {
				tables.Keep(a.largest[int(n)*most:int(n+1)*most], c)
			}
		}
	}
	for s, t := range b.shares {
		if err := a.addShare(share{s.key, a.holder(b.holders[s.holder])}, t); err != nil {
			return err
		}
	}
	for v, n := range b.unknown {
		a.unknown[v] += n
	}
	a.refused.Code += b.refused.Code
	a.refused.Value += b.refused.Value
	a.refused.Weight += b.refused.Weight
	a.refused.Holder += b.refused.Holder
	a.refused.Nobody += b.refused.Nobody
	return nil
}
