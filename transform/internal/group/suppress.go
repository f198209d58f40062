package group

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/suppression"
)

// Suppress sets cells of the keys missing until at least K released records can be that of each
// respondent for a snooper who knows the respondent's keys: local suppression (Willenborg and de
// Waal 2001, Elements of Statistical Disclosure Control, section 5.3). The snooper knows the values
// that come into the mask, also those that it hides. Cells of little total importance are set missing.
type Suppress struct {
	Keys         []string           `yaml:"keys" doc:"the key columns, whose cells are set missing"`
	K            *int               `yaml:"k" doc:"k, the least number of released records that can be that of a respondent whose keys are known, also those that are set missing here"`
	Combinations *int               `yaml:"combinations" doc:"the number of keys that a snooper knows at a time: k then holds for every set of so many keys; all keys by default"`
	Importance   map[string]float64 `yaml:"importance" doc:"the cost of a missing cell, by key, 1 by default: the total cost is to be small"`
	Missing      string             `yaml:"missing" doc:"none (default): a missing cell matches no value; only those records count that are at least as likely as the respondent's own whatever a missing cell weighs: complete ones that agree with the known keys, and those with the same present cells as the respondent's own record; any: a missing cell matches every value, so that a few records that lack many cells protect all others, and rare records stay complete" enum:"none,any"`
	MaxShare     *float64           `yaml:"max_share" share:"whole" doc:"the greatest share of a key's values that may be set missing; beyond it nothing is released"`

	household bool // k counts households
}

func (m *Suppress) OfHouseholds() { m.household = true }

// greatestKeys bounds the keys of one mask: all of their subsets may have to be tried.
const greatestKeys = 12

// Check implements Params.
func (m *Suppress) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "keys", m.Keys, "key")
	if len(m.Keys) > greatestKeys {
		ps.Addf("keys", "must be at most %d, got %d", greatestKeys, len(m.Keys))
	}
	switch {
	case m.K == nil:
		ps.Addf("k", "must be given: the least number of records that can be that of a respondent")
	case *m.K < 2 || *m.K > core.GreatestK:
		ps.Addf("k", "must be at least 2 and at most %d, got %d: with 1 nothing is suppressed", core.GreatestK, *m.K)
	}
	if c := m.Combinations; c != nil && (*c < 1 || *c > max(len(m.Keys), 1)) {
		ps.Addf("combinations", "must be at least 1 and at most the number of keys, %d, got %d", len(m.Keys), *c)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Importance)) {
		if v := m.Importance[name]; !(v > 0) || math.IsInf(v, 1) {
			ps.Addf("importance."+name, "must be a number above 0, got %v", v)
		}
		if !slices.Contains(m.Keys, name) {
			ps.Addf("importance."+name, "must be one of the keys, got %q%s", name, check.Suggest(name, m.Keys))
		}
	}
	core.CheckWord(&ps, "missing", m.Missing, "none", "any")
	if m.MaxShare != nil {
		ps.Between("max_share", *m.MaxShare, 0, 1)
	}
	return ps
}

// CheckAmong: later masks must change neither the combinations that were
// counted nor which records are released.
func (m *Suppress) checkAmong(masks []core.Spec, i int) check.Problems {
	ps := core.CheckDataset(masks, i, "keys", "")
	path := fmt.Sprintf("[%d].%s", i, masks[i].Kind())
	for j := i + 1; j < len(masks); j++ {
		for _, name := range masks[j].Params.Masks() {
			if slices.Contains(m.Keys, name) {
				ps.Addf(path+".keys",
					"must not be changed after this mask, but mask [%d], a %s, changes %q: put it before this mask", j,
					masks[j].Kind(), name)
			}
		}
		if core.Declared(masks[j].Params).Rejects {
			ps.Addf(path, "must come after mask [%d], a %s, which may send records to quarantine that are counted here", j,
				masks[j].Kind())
		}
	}
	return ps
}

// instead names the masks for data that are too large.
const instead = "recode or pram, which take each record by itself"

// Describe implements Params.
func (m *Suppress) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, ColumnsField: "keys", OnCategories: true, Retype: m.releasedField,
		Axis:       core.Axis{Rank: 3, Field: "k", From: core.Amount{Value: 2}, To: core.Amount{Value: 10}},
		Parameters: m.parameters, Action: m.action, Published: m, Instead: instead,
		Among: m.checkAmong, ByHousehold: true, OfNumber: true, // a combination is rarer in a sample
		KeepsCode: func(microdata.Code) bool { return true },
	}
}

// Masks implements Params.
func (m *Suppress) Masks() []string { return m.Keys }

// Reads implements Params.
func (m *Suppress) Reads() []string { return nil }

// ReleasedField: any key may have missing cells.
func (m *Suppress) releasedField(f microdata.Field) (microdata.Field, bool) {
	f.Nullable = true
	return f, false
}

// strict reports whether a missing cell counts as no value.
func (m *Suppress) strict() bool { return m.Missing != "any" }

// weight returns the importance of a key: the cost of setting one of its cells missing.
func (m *Suppress) weight(key string) float64 {
	if v, ok := m.Importance[key]; ok {
		return v
	}
	return 1
}

// suppressStep is a suppress mask on the columns of a chain.
type suppressStep struct {
	mask    int
	params  *Suppress
	columns []*core.Column
	paths   []string // of the columns in the parameters
	coders  []coding.Coder

	data     gathered.Data // the places of the records
	codes    [][]int32     // by column and record: 0 where the value is missing; of rejected records −1
	hidden   []uint16      // after decide, by record: the columns that are set missing
	suppress suppression.Search

	members core.Memberships // of households, if they are known
}

func (m *Suppress) Compile(c *core.Chain, i int) (core.Step, error) {
	s := &suppressStep{mask: i, params: m, suppress: suppression.Search{K: *m.K, Strict: m.strict()}}
	word := "suppress " + core.WordOr(m.Missing, "none")
	if m.Combinations != nil {
		s.suppress.Known = *m.Combinations
		word += fmt.Sprintf(" of %d", *m.Combinations)
	}
	var weights []float64
	for j, name := range m.Keys {
		at := fmt.Sprintf("keys[%d]", j)
		col := c.Touch(name)
		if col == nil {
			continue // as in the assessment's replicates, which have only the columns that are measured
		}
		if !coding.Movable(col.Field.Type) {
			return nil, fmt.Errorf("%s.%s: column %s must have a scalar type so that its values can be compared, got %s",
				c.At(i), at, strconv.Quote(name), microdata.TypeName(col.Field.Type))
		}
		s.columns, s.paths = append(s.columns, col), append(s.paths, at)
		weights = append(weights, m.weight(name))
	}
	s.suppress.Weights = weights
	if len(c.Setup.Households.Index) > 0 {
		if s.suppress.Known > 0 {
			return nil,
				fmt.Errorf(
					"%s.combinations: must not be given with household: each combination of all keys then is that of at least k households", c.At(i))
		}
		word += " household"
	}
	done := core.Part(word, append([]float64{float64(*m.K)}, weights...)...) + c.DigestOf("keys", m.Keys...)
	for _, col := range s.columns {
		c.AddToHistory(i, col, done)
		col.Field.Nullable = true
	}
	s.coders, s.codes = make([]coding.Coder, len(s.columns)), make([][]int32, len(s.columns))
	return s, nil
}

func (s *suppressStep) Of() int { return s.mask }

// Holds implements surveying: the codes of the keys, an order and what is hidden.
func (s *suppressStep) Holds(expected int64) int64 {
	each := int64(5*len(s.columns) + 18)
	if len(s.members.Of) > 0 {
		each += int64(8*len(s.columns) + 120)
	}
	return max(expected, int64(s.data.N)) * each
}

func (s *suppressStep) Survey(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 || len(s.columns) == 0 {
		return nil
	}
	from := s.data.N
	if (from+b.N)*len(s.columns) > 2*gathered.MaxCells {
		return c.Refused(s.mask,
			&decision.Refusal{
				Text: fmt.Sprintf(
					"must not be used on so many records: it holds a number for each cell of its keys in memory, at most %d; name fewer keys, or %s",
					2*gathered.MaxCells, instead)})
	}
	for k, col := range s.columns {
		s.codes[k] = slices.Grow(s.codes[k], b.N)[:from+b.N]
		// A kept code for a missing value is a category like any other: whoever knows that a respondent has
		// none finds the records with the code.
		undo, err := core.RestoreIn(&b.Columns[col.Index])
		if err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
		err = s.coders[k].Code(s.codes[k][from:], &b.Columns[col.Index], 0)
		if undo(); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
	}
	for i := range b.N {
		if b.Rejected(i) {
			s.codes[0][from+i] = -1
		}
	}
	if w.Units.Known() {
		s.members.Add(w, b)
	}
	s.data.N += b.N
	s.data.Identify(w, b)
	s.data.Follow(b, from)
	return nil
}

func (s *suppressStep) Decide(c *core.Chain) error {
	s.data.SortRuns()
	for k := range s.coders {
		s.coders[k].InOrder(s.codes[k])
	}
	s.coders = nil
	if len(s.columns) == 0 {
		return nil
	}
	s.suppress.Ties, s.data.Ties = s.data.Ties, nil
	s.suppress.Stop = c.Cancelled.Load
	hidden, err := s.hide()
	if c.Cancelled.Load() {
		return core.ErrCancelled
	}
	if err != nil {
		return c.Refused(s.mask, err)
	}
	if err := s.checkShare(hidden); err != nil {
		return c.Refused(s.mask, err)
	}
	s.hidden, s.codes, s.suppress.Ties, s.members = hidden, nil, nil, core.Memberships{}
	return nil
}

// hide returns for each record the set of keys whose cells are to be set missing.
func (s *suppressStep) hide() ([]uint16, *decision.Refusal) {
	if len(s.members.Of) == 0 {
		return s.suppress.Hide(s.codes)
	}
	shared, personal := uint16(0), uint16(0)
	for j, col := range s.columns {
		if col.Shared {
			shared |= 1 << j
		}
		if col.Personal {
			personal |= 1 << j
		}
	}
	return s.suppress.HideByHousehold(s.codes, s.members.Of, int(s.members.N), shared, personal)
}

// checkShare returns an error if more than the share MaxShare of a key's values are set missing.
func (s *suppressStep) checkShare(hidden []uint16) *decision.Refusal {
	if s.params.MaxShare == nil {
		return nil
	}
	for k, col := range s.columns {
		values, lost := 0, 0
		for i, code := range s.codes[k] {
			if code <= 0 || s.codes[0][i] < 0 {
				continue
			}
			values++
			if hidden[i]>>k&1 == 1 {
				lost++
			}
		}
		if share := float64(lost) / float64(values); share > *s.params.MaxShare {
			return &decision.Refusal{
				Path: "max_share",
				Text: fmt.Sprintf(
					"is exceeded, and nothing is released: k = %d takes %s %% of the values of %s, at most %s %% may be set missing; "+
						"recode the keys more coarsely in front of it, or ask for a smaller k", s.suppress.K, core.ShareText(share),
					strconv.Quote(col.Name), core.ShareText(*s.params.MaxShare))}
		}
	}
	return nil
}

// Apply sets missing the cells that decide has chosen.
func (s *suppressStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if b.N == 0 || len(s.columns) == 0 {
		return nil
	}
	changed := w.NewChanged(b.N)
	rows := make([][]int32, len(s.columns))
	near := -1
	for i := range b.N {
		at := s.data.Find(b.Scope, b.Stream, b.Place(i), &near)
		if at < 0 {
			return fmt.Errorf("%s: a record that the first pass did not see is there now", c.At(s.mask))
		}
		if s.hidden[at] == 0 || b.Rejected(i) {
			continue
		}
		changed.Set(i)
		for k := range s.columns {
			if s.hidden[at]>>k&1 == 1 {
				rows[k] = append(rows[k], int32(i))
				b.Columns[s.columns[k].Index].Coded.Drop(i)
			}
		}
	}
	for k, col := range s.columns {
		if len(rows[k]) == 0 {
			continue
		}
		cells := make([]coding.Cell, len(rows[k]))
		for j := range cells {
			cells[j].Null = true
		}
		switch at := &b.Columns[col.Index]; {
		case at.Array != nil:
			a, err := coding.Place(at.OutArray(), rows[k], cells)
			if err != nil {
				return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
			}
			at.ReleasedArray = a
		case at.Original.Values != nil:
			core.PlaceNumbers(at.Mutable(), rows[k], cells)
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

// Keeps: values that are not set missing are released unchanged.
func (s *suppressStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	l.Spares = true // no cell of a key that is important enough is set missing
}

func (m *Suppress) parameters() []core.Parameter {
	list := []core.Parameter{{Name: "keys", Value: core.JsonWords(m.Keys)}}
	if m.K != nil {
		list = append(list, core.Parameter{Name: "k", Value: float64(*m.K)})
	}
	if m.Combinations != nil {
		list = append(list, core.Parameter{Name: "combinations", Value: float64(*m.Combinations)})
	}
	if m.Importance != nil {
		table := make(map[string]any, len(m.Importance))
		for name, v := range m.Importance {
			table[name] = v
		}
		list = append(list, core.Parameter{Name: "importance", Value: table})
	}
	list = append(list, core.Parameter{Name: "missing", Value: core.WordOr(m.Missing, "none")})
	return core.WithHousehold(core.WithNumber(list, "max_share", m.MaxShare), m.household)
}

func (m *Suppress) action(string, float64) core.Action {
	if m.K == nil {
		return nil
	}
	return core.Suppression{K: float64(*m.K), Keys: slices.Clone(m.Keys)}
}

// PublishedAction implements Publishing.
func (m *Suppress) PublishedAction(p core.Published, _ string) core.Action {
	return core.Suppression{K: p.NumberOr("k", core.NaN), Keys: p.List("keys")}
}

// Words implements Publishing.
func (m *Suppress) Words(p core.Published, _ string) string {
	s :=
		"local suppression: cells of the keys were set missing where the combination of a record was rare, in that record or in others"
	if keys := p.List("keys"); keys != nil {
		s += "; the keys are " + strings.Join(keys, ", ")
	}
	if k, ok := p.Float("k"); ok {
		of := "the keys"
		if n, ok := p.Float("combinations"); ok {
			of = p.Number(n) + " of the keys"
		}
		if p.Has("household") {
			return s +
				fmt.Sprintf(
					"; records that agree in all keys, a missing one being one like any other, are of at least %s households, and a key that is the same for all members of a household is missing for all or for none of them", p.Number(k))
		}
		s += fmt.Sprintf("; for whoever knows %s of a respondent at least %s records can be the respondent's", of,
			p.Number(k))
		switch p.Word("missing") {
		case "any":
			s += ", counting those whose missing cells may be the same"
		case "none":
			s += ", counting those that lack no cell, or the same as the respondent's own"
		}
	}
	return s
}

// EfficiencyFollows implements Publishing: it does not, since the loss of variance and of values
// discloses something of the few rare values that were set missing.
func (m *Suppress) EfficiencyFollows(has, named func(string) bool) bool { return false }
