package exchange

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/relocation"
)

// RecordSwap exchanges the places where households live: targeted record swapping (Shlomo, Tudor and Groom 2010, Data
// Swapping for Protecting Census Tables; the method of the European census, as in sdcMicro's recordSwap). A household
// is at risk where fewer than K households of its area, at some level of the hierarchy, have a member with the risk
// keys of one of its members. Each moves to another area, in exchange with a household of the same composition, and
// further households until a share Rate of each finest area has moved. All members of a household move together, with
// the columns of Carry; whatever else is known of them stays.
//
// Without the configuration's household each record is a household of its own.
type RecordSwap struct {
	Hierarchy []string   `yaml:"hierarchy" doc:"the columns of the areas, from the coarsest to the finest, whose values are exchanged between households; the same for all members"`
	Carry     []string   `yaml:"carry" doc:"further columns that are exchanged with them, such as a postcode or a density class; the same for all members"`
	Risk      []string   `yaml:"risk" doc:"the key columns: a household is at risk where fewer than k households of its area have a member with the keys of one of its members"`
	K         *int       `yaml:"k" doc:"k, the least number of households of an area with the same keys; below it a household is exchanged. 3 by default"`
	Rate      *float64   `yaml:"rate" share:"whole" doc:"the share of the households of each of the finest areas that are exchanged, both of a pair counted; more where more are at risk"`
	Similar   [][]string `yaml:"similar" doc:"lists of columns: the households of a pair have the same number of members and the same values of the first list, those of the members in any order; where there is no such household, of the second, and so on. By default the number of members alone"`
	MaxLeft   *float64   `yaml:"max_left" share:"whole" doc:"the greatest share of the households at risk that may stay where they are, because no household is similar; beyond it nothing is released. 0 by default"`

	household bool
}

func (m *RecordSwap) OfHouseholds() { m.household = true }

// Check implements Params.
func (m *RecordSwap) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "hierarchy", m.Hierarchy, "column of areas")
	if len(m.Carry) > 0 {
		core.CheckColumns(&ps, "carry", m.Carry, "column")
	}
	core.CheckColumns(&ps, "risk", m.Risk, "key")
	apart := func(path, name string, from []string, what string) {
		if slices.Contains(from, name) && name != "" {
			ps.Addf(path, "must not be one of %s, got %q", what, name)
		}
	}
	for i, name := range m.Carry {
		apart(fmt.Sprintf("carry[%d]", i), name, m.Hierarchy, "hierarchy")
	}
	for i, name := range m.Risk {
		apart(fmt.Sprintf("risk[%d]", i), name, m.Masks(), "the columns that are exchanged")
	}
	for i, list := range m.Similar {
		at := fmt.Sprintf("similar[%d]", i)
		if len(list) > 0 {
			core.CheckColumns(&ps, at, list, "column")
		}
		for j, name := range list {
			apart(fmt.Sprintf("%s[%d]", at, j), name, m.Masks(), "the columns that are exchanged")
		}
	}
	if m.K != nil && (*m.K < 1 || *m.K > core.GreatestK) {
		ps.Addf("k", "must be at least 1 and at most %d, got %d: with 1 no household is at risk", core.GreatestK, *m.K)
	}
	if m.Rate == nil {
		ps.Addf("rate", "must be given: the share of households that are exchanged; 0 for those at risk alone")
	} else {
		ps.Between("rate", *m.Rate, 0, 1)
	}
	if m.MaxLeft != nil {
		ps.Between("max_left", *m.MaxLeft, 0, 1)
	}
	return ps
}

// Describe implements Params.
func (m *RecordSwap) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, ColumnsField: "hierarchy", Reads: m.readColumns(), MovesOnly: true, Permutes: true,
		OnCategories: true,
		Axis:         core.Axis{Rank: 3, Field: "rate", From: core.Amount{Value: 0.01}, To: core.Amount{Value: 0.5}},
		Parameters:   m.parameters, Action: m.action, Published: m,
		Instead:   "pram or recode, which take each record by itself",
		LeavesAll: func() bool { return m.least() == 1 && m.Rate != nil && *m.Rate == 0 },
		Among:     m.checkAmong, ByHousehold: true, OfNumber: true, // households are rarer in a sample
		KeepsCode: func(microdata.Code) bool { return true },
	}
}

// Masks implements Params.
func (m *RecordSwap) Masks() []string { return slices.Concat(m.Hierarchy, m.Carry) }

// Reads implements Params.
func (m *RecordSwap) Reads() []string {
	list := slices.Clone(m.Risk)
	for _, similar := range m.Similar {
		for _, name := range similar {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

func (m *RecordSwap) readColumns() (list []core.ReadColumn) {
	for i, name := range m.Risk {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("risk[%d]", i), Name: name, As: "a key of a record swap"})
	}
	for i, similar := range m.Similar {
		for j, name := range similar {
			if !slices.ContainsFunc(list, func(c core.ReadColumn) bool { return c.Name == name }) {
				list = append(list,
					core.ReadColumn{Field: fmt.Sprintf("similar[%d][%d]", i, j), Name: name, As: "what partners of a record swap agree in"})
			}
		}
	}
	return list
}

// CheckAmong: what a later mask sends to quarantine, or changes of the keys, was counted here.
func (m *RecordSwap) checkAmong(masks []core.Spec, i int) check.Problems {
	ps := core.CheckDataset(masks, i, "hierarchy", "")
	for j := i + 1; j < len(masks); j++ {
		if core.Declared(masks[j].Params).Rejects {
			ps.Addf(fmt.Sprintf("[%d].%s", i, masks[i].Kind()),
				"must come after mask [%d], a %s, which may send records to quarantine that are counted here", j, masks[j].Kind())
		}
	}
	return ps
}

// least returns k.
func (m *RecordSwap) least() int {
	if m.K == nil {
		return 3
	}
	return *m.K
}

// profiles returns the lists of Similar; the empty one where there are none.
func (m *RecordSwap) profiles() [][]string {
	if len(m.Similar) == 0 {
		return [][]string{nil}
	}
	return m.Similar
}

// inAll returns the columns that are in all lists: the partners of every pair agree in them.
func inAll(lists [][]string) (in []string) {
	for _, list := range lists[:min(1, len(lists))] {
		for _, name := range list {
			if !slices.ContainsFunc(lists, func(other []string) bool { return !slices.Contains(other, name) }) {
				in = append(in, name)
			}
		}
	}
	return in
}

// Relocation exchanges the values of its columns, all together, between whole households that agree in the columns Keys
// of their members, in any order, and in their number. Rate is the least share of the households of an area that are
// exchanged; NaN where it is not known.
type Relocation struct {
	Keys []string
	Rate float64
}

func (Relocation) IsAction() {}

func (m *RecordSwap) parameters() []core.Parameter {
	list := []core.Parameter{{Name: "hierarchy", Value: core.JsonWords(m.Hierarchy)}}
	if len(m.Carry) > 0 {
		list = append(list, core.Parameter{Name: "carry", Value: core.JsonWords(m.Carry)})
	}
	list = append(list, core.Parameter{Name: "risk", Value: core.JsonWords(m.Risk)}, core.Parameter{Name: "k",
		Value: float64(m.least())})
	list = core.WithNumber(list, "rate", m.Rate)
	if len(m.Similar) > 0 {
		var similar []any
		for _, names := range m.Similar {
			similar = append(similar, core.JsonWords(names))
		}
		list = append(list, core.Parameter{Name: "similar", Value: similar})
	}
	return core.WithHousehold(core.WithNumber(list, "max_left", m.MaxLeft), m.household)
}

func (m *RecordSwap) action(string, float64) core.Action {
	if m.Rate == nil {
		return nil
	}
	return Relocation{Keys: inAll(m.Similar), Rate: *m.Rate}
}

// PublishedAction implements Publishing.
func (m *RecordSwap) PublishedAction(p core.Published, _ string) core.Action {
	var similar [][]string
	lists, _ := p.Parameters("similar")
	entries, _ := lists.([]any)
	for _, e := range entries {
		names, _ := e.([]any)
		list := []string{}
		for _, name := range names {
			s, _ := name.(string)
			list = append(list, s)
		}
		similar = append(similar, list)
	}
	return Relocation{Keys: inAll(similar), Rate: p.NumberOr("rate", core.NaN)}
}

// Words implements Publishing.
func (m *RecordSwap) Words(p core.Published, _ string) string {
	what, whose := "records", "records"
	if p.Has("household") {
		what, whose = "households, with all their members,", "households"
	}
	s := "record swapping: the areas of some " + what +
		" were exchanged, first of those whose keys are rare in their area; each area has as many as before"
	if hierarchy := p.List("hierarchy"); hierarchy != nil {
		s += "; the areas are " + strings.Join(hierarchy, ", ")
	}
	if keys := p.List("risk"); keys != nil {
		s += "; the keys are " + strings.Join(keys, ", ")
	}
	if k, ok := p.Float("k"); ok {
		s += "; rare are keys that fewer than " + p.Number(k) + " " + whose + " of an area have"
	}
	if rate, ok := p.Float("rate"); ok {
		s += "; a share of " + p.Number(rate) + " of each area was exchanged, or more where more were rare"
	}
	return s
}

// EfficiencyFollows implements Publishing: each column keeps its values.
func (m *RecordSwap) EfficiencyFollows(_, _ func(string) bool) bool { return true }

// recordSwapStep is a record swap on the columns of a chain.
type recordSwapStep struct {
	mask     int
	params   *RecordSwap
	moved    []*core.Column // of areas, then carried; those that the chain has
	levels   int            // how many of moved are areas
	bound    []int          // indexes of moved in Block.Columns
	keys     []int          // likewise of Risk
	similar  [][]int        // likewise of Similar, by list
	draws    int            // in work.streams
	coders   map[int]*coding.Coder
	codes    map[int][]int32 // by index in Block.Columns, and record
	data     gathered.Data
	members  core.Memberships
	values   []swapColumn // by moved column: the values of each household
	first    [][]int32    // by moved column and household: the code of the first member
	seen     []bool       // by household: whether it has a record that is not rejected
	torn     []bool       // by household: whether members differ in a moved column
	out      []bool       // by household: it takes no part
	drawn    []float64    // by household
	rejected []bool       // by record

	partner []int32 // after decide, by household: whose values it gets; −1: it stays
	result  *Relocated
}

// Relocated says how a record swap ended.
type Relocated = relocation.Result

func (m *RecordSwap) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &recordSwapStep{mask: i, params: m, levels: len(m.Hierarchy), coders: map[int]*coding.Coder{},
		codes: map[int][]int32{}}
	word := "recordswap"
	if len(c.Setup.Households.Index) > 0 {
		word += " household"
	}
	done := core.Part(word, float64(m.least()), *m.Rate, float64(len(m.Similar))) + c.DigestOf("hierarchy",
		m.Hierarchy...) +
		c.DigestOf("carry", core.Sorted(m.Carry)...) + c.DigestOf("risk", core.Sorted(m.Risk)...)
	for _, similar := range m.Similar {
		done += c.DigestOf("similar", core.Sorted(similar)...)
	}
	s.draws = c.StreamNamed(i, "household", done)
	index := func(at, name string) (int, error) {
		info := c.Info(name)
		if info == nil {
			return 0, fmt.Errorf("%s.%s: there is no column %s", c.At(i), at, strconv.Quote(name))
		}
		if !coding.Movable(info.Field.Type) {
			return 0, fmt.Errorf("%s.%s: column %s must have a scalar type to be compared, got %s", c.At(i), at,
				strconv.Quote(name), microdata.TypeName(info.Field.Type))
		}
		s.coders[info.Index] = new(coding.Coder)
		return info.Index, nil
	}
	for j, name := range m.Masks() {
		at := fmt.Sprintf("hierarchy[%d]", j)
		if j >= s.levels {
			at = fmt.Sprintf("carry[%d]", j-s.levels)
		}
		k, err := index(at, name)
		if err != nil {
			return nil, err
		}
		col := c.Touch(name)
		c.AddToHistory(i, col, done)
		s.moved, s.bound = append(s.moved, col), append(s.bound, k)
	}
	for j, name := range m.Risk {
		k, err := index(fmt.Sprintf("risk[%d]", j), name)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, k)
	}
	for l, similar := range m.profiles() {
		var list []int
		for j, name := range similar {
			k, err := index(fmt.Sprintf("similar[%d][%d]", l, j), name)
			if err != nil {
				return nil, err
			}
			list = append(list, k)
		}
		s.similar = append(s.similar, list)
	}
	s.values, s.first = make([]swapColumn, len(s.moved)), make([][]int32, len(s.moved))
	return s, nil
}

func (s *recordSwapStep) Of() int { return s.mask }

// Holds implements surveying: codes of the columns, the values and draws of each household, and the lists of partners.
func (s *recordSwapStep) Holds(expected int64) int64 {
	return max(expected, int64(s.data.N)) * int64(60+9*len(s.coders)+30*len(s.moved)+16*len(s.similar)*s.levels+80)
}

func (s *recordSwapStep) Survey(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	from := s.data.N
	if (from+b.N)*len(s.coders) > 2*gathered.MaxCells {
		return c.Refused(s.mask,
			&decision.Refusal{
				Text: fmt.Sprintf(
					"must not be used on so many records: it holds a number for each cell of its columns in memory, at most %d; name fewer columns", 2*gathered.MaxCells)})
	}
	for k, of := range s.coders {
		undo, err := core.RestoreIn(&b.Columns[k]) // a code for a missing value is a category like any other
		if err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
		s.codes[k] = slices.Grow(s.codes[k], b.N)[:from+b.N]
		err = of.Code(s.codes[k][from:], &b.Columns[k], 0)
		if undo(); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
	}
	if w.Units.Known() {
		s.members.Add(w, b)
	} else {
		for range b.N {
			s.members.Of = append(s.members.Of, s.members.N)
			s.members.N++
		}
	}
	s.draw(c, w, b, from)
	s.data.N += b.N
	s.data.Follow(b, from)
	return nil
}

// draw draws for the households of a block, and notes where they live. Draws are those of the household, and bound to
// what it has in the columns that are exchanged.
func (s *recordSwapStep) draw(c *core.Chain, w *core.Work, b *microdata.Block, from int) {
	var bound []float64
	if w.Leaves {
		bound = slices.Clone(core.BindTo(c, w, b, s.bound, 0, b.N))
	}
	drawn := make([]float64, b.N)
	w.Streams[s.draws].Laplaces(drawn, w.StretchOf(true, b, 0, b.N, bound))
	for k, col := range s.moved {
		s.values[k].read(&b.Columns[col.Index])
	}
	for i := range b.N {
		h := int(s.members.Of[from+i])
		for len(s.seen) <= h { // households are numbered in the order of their first records
			s.seen, s.torn, s.out, s.drawn = append(s.seen, false), append(s.torn, false), append(s.out, false),
				append(s.drawn, 0)
			for k := range s.moved {
				s.values[k].append(i)
				s.first[k] = append(s.first[k], 0)
			}
		}
		s.rejected = append(s.rejected, b.Rejected(i))
		if b.Rejected(i) {
			continue
		}
		if !s.seen[h] {
			s.seen[h], s.drawn[h] = true, max(drawn[i], -drawn[i])
		}
		for k, col := range s.moved {
			switch code := s.codes[col.Index][from+i]; {
			case s.first[k][h] == 0: // of the first record that is not rejected
				s.values[k].set(uint32(h), i)
				s.first[k][h] = code + 1
			case s.first[k][h] != code+1:
				s.torn[h] = true
			}
			s.out[h] = s.out[h] || b.Columns[col.Index].Coded.Has(i)
		}
	}
}

func (s *recordSwapStep) Decide(c *core.Chain) error {
	s.data.SortRuns()
	torn := 0
	for _, t := range s.torn {
		if t {
			torn++
		}
	}
	if torn > 0 {
		return c.Refused(s.mask,
			&decision.Refusal{
				Path: "hierarchy",
				Text: fmt.Sprintf(
					"must be the same for all members of a household, and so must the columns of carry: they differ within %d households; correct them, or take such columns out", torn)})
	}
	r := relocation.Search{K: s.params.least(), Rate: *s.params.Rate, Households: len(s.seen), Of: s.members.Of,
		Rejected: s.rejected, Out: s.out, Drawn: s.drawn, Stop: c.Cancelled.Load}
	r.Keys = s.tuples(s.keys)
	for _, columns := range s.similar {
		r.Tuples = append(r.Tuples, s.tuples(columns))
	}
	for k := range s.levels {
		r.Places = append(r.Places, s.first[k])
	}
	partner, result := r.Decide()
	if c.Cancelled.Load() {
		return core.ErrCancelled
	}
	s.codes, s.coders, s.first, s.drawn, s.out, s.torn = nil, nil, nil, nil, nil, nil
	s.partner, s.result = partner, &result
	if left := float64(result.Left) / float64(max(result.AtRisk, 1)); left > core.OrZero(s.params.MaxLeft) {
		return c.Refused(s.mask,
			&decision.Refusal{
				Path: "similar",
				Text: fmt.Sprintf(
					"leaves %d of the %d households at risk where they are, and nothing is released: no household of another area is similar; "+
						"add a coarser list of columns, or an empty one, recode the keys of risk in front of this mask, or allow max_left",
					result.Left, result.AtRisk)})
	}
	return nil
}

// tuples numbers the combinations of codes of columns, by record.
func (s *recordSwapStep) tuples(columns []int) []int32 {
	list := make([]int32, s.data.N)
	for _, k := range columns {
		list = relocation.Numbered(list, s.codes[k])
	}
	return list
}

// RelocatedBy returns how the record swap of mask i ended; nil for other masks.
func RelocatedBy(c *core.Chain, i int) *Relocated {
	if i >= len(c.Steps) {
		return nil // a chain of a part of the masks
	}
	if s, ok := c.Steps[i].(*recordSwapStep); ok {
		return s.result
	}
	return nil
}

// Apply gives the members of each household of a pair what the other household has.
func (s *recordSwapStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	changed := w.NewChanged(b.N)
	var rows []int32
	var from []uint32
	near := -1
	for i := range b.N {
		at := s.data.Find(b.Scope, b.Stream, b.Place(i), &near)
		if at < 0 {
			return fmt.Errorf("%s: a record that the first pass did not see is there now", c.At(s.mask))
		}
		if other := s.partner[s.members.Of[at]]; other >= 0 && !b.Rejected(i) {
			rows, from = append(rows, int32(i)), append(from, uint32(other))
			changed.Set(i)
		}
	}
	for k, col := range s.moved {
		if len(rows) == 0 {
			break
		}
		cells := make([]coding.Cell, len(rows))
		for j, other := range from {
			cells[j] = s.values[k].cell(other)
		}
		switch at := &b.Columns[col.Index]; {
		case at.Array != nil:
			a, err := coding.Place(at.OutArray(), rows, cells)
			if err != nil {
				return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
			}
			at.ReleasedArray = a
		case at.Original.Values != nil:
			core.PlaceNumbers(at.Mutable(), rows, cells)
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

// Keeps: the values of households that are not exchanged stay.
func (s *recordSwapStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	l.Spares = true
}
