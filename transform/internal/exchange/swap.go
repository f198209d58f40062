package exchange

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// Check implements Params.
func (m *Swap) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "keys", m.Keys, "swapping key")
	if m.Attribute == "" {
		ps.Addf("attribute", "must be given: the column in which partners differ")
	} else if i := slices.Index(m.Keys, m.Attribute); i >= 0 {
		ps.Addf("attribute", "must not be one of the keys, got %q, which is keys[%d]", m.Attribute, i)
	}
	core.CheckColumns(&ps, "columns", m.Columns, "protected column")
	for i, name := range m.Columns {
		at := fmt.Sprintf("columns[%d]", i)
		if k := slices.Index(m.Keys, name); k >= 0 && name != "" {
			ps.Addf(at, "must not be one of the keys, got %q, which is keys[%d]", name, k)
		} else if name == m.Attribute && name != "" {
			ps.Addf(at, "must not be the attribute, got %q", name)
		}
	}
	if m.Rate == nil {
		ps.Addf("rate", "must be given: the probability that a possible exchange is made")
	} else {
		ps.Between("rate", *m.Rate, 0, 1)
	}
	core.CheckWord(&ps, "policy", m.Policy, "unique", "random")
	core.CheckWord(&ps, "scope", m.Scope, "window", "dataset")
	return ps
}

// Describe implements Params.
func (m *Swap) Describe() core.Description {
	return core.Description{
		Scope: m.reach(), Reads: m.readColumns(), MovesOnly: true, LeavesAll: func() bool {
			return m.Rate != nil && *m.Rate == 0
		},
		Axis:       core.Axis{Rank: 2, Field: "rate", From: core.Amount{Value: 0.05}, To: core.Amount{Value: 1}},
		Parameters: m.parameters, Action: m.action, Published: m, Instead: "scope window",
		Among: m.checkAmong, Exchanges: m.exchanges, InParts: true,
	}
}

// Masks implements Params.
func (m *Swap) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Swap) Reads() []string {
	return append(slices.Clone(m.Keys), m.Attribute)
}

func (m *Swap) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckDataset(masks, i, "scope", "must be window, got \"dataset\": ")
}

func (m *Swap) exchanges() core.ExchangeRule {
	e := core.ExchangeRule{Reads: m.Reads(), Columns: m.Columns, Rate: math.NaN(), Unique: m.unique(),
		Dataset: m.dataset()}
	if m.Rate != nil {
		e.Rate = *m.Rate
	}
	return e
}

func (m *Swap) dataset() bool { return m.Scope == "dataset" }

func (m *Swap) unique() bool { return m.Policy != "random" }

// swapColumns is the part of a swap in a chain that both scopes have.
type swapColumns struct {
	mask      int
	keys      []int          // indexes in Block.Columns; the attribute comes last
	protected []*core.Column // those that the chain has
	exchanged []int          // their indexes in Block.Columns
	bound     []int          // keys, attribute, protected columns, in an order that the configuration does not decide
	matching.Policy

	order, partner, coin int // in work.streams
}

func (m *Swap) Compile(c *core.Chain, i int) (core.Step, error) {
	s := swapColumns{mask: i, Policy: matching.Policy{Rate: *m.Rate, Unique: m.unique()}}
	policy, window := "unique", float64(c.Setup.Window)
	if !s.Unique {
		policy = "random"
	}
	if m.dataset() {
		window = 0
	}
	done := core.Part("swap "+policy, *m.Rate, window) +
		c.DigestOf("keys", core.Sorted(m.Keys)...) + c.DigestOf("attribute", m.Attribute) +
		c.DigestOf("columns", core.Sorted(m.Columns)...)
	if m.dataset() {
		done += core.Part("ordered")
	}
	s.order, s.partner, s.coin = c.StreamNamed(i, "order", done), c.StreamNamed(i, "partner", done),
		c.StreamNamed(i, "coin", done)
	for _, name := range m.Reads() {
		info := c.Info(name)
		if info == nil {
			return nil, fmt.Errorf("%s: there is no column %s", c.At(i), strconv.Quote(name))
		}
		if !coding.Movable(info.Field.Type) {
			return nil, fmt.Errorf("%s: column %s must have a scalar type to be compared, got %s", c.At(i), strconv.Quote(name),
				microdata.TypeName(info.Field.Type))
		}
		s.keys = append(s.keys, info.Index)
	}
	for _, name := range m.Columns {
		col := c.Touch(name)
		if col == nil {
			continue
		}
		if !coding.Movable(col.Field.Type) {
			return nil, fmt.Errorf("%s.columns: column %s must have a scalar type to be exchanged, got %s", c.At(i),
				strconv.Quote(name), microdata.TypeName(col.Field.Type))
		}
		c.AddToHistory(i, col, done)
		s.protected, s.exchanged = append(s.protected, col), append(s.exchanged, col.Index)
	}
	for _, name := range slices.Concat(core.Sorted(m.Keys), []string{m.Attribute}, core.Sorted(m.Columns)) {
		if info := c.Info(name); info != nil {
			s.bound = append(s.bound, info.Index)
		}
	}
	if m.dataset() {
		return newDatasetSwap(s), nil
	}
	return &windowSwap{s}, nil
}

// windowSwap exchanges values within windows.
type windowSwap struct{ swapColumns }

// swapScratch is the scratch space of a swap for one block.
type swapScratch struct {
	grouping coding.Grouping
	matcher  matching.Matcher
	matching.Words
	pairs []coding.Pair
	coding.Placing
}

func swapScratchOf(w *core.Work) *swapScratch {
	s, ok := w.Scratch.(*swapScratch)
	if !ok {
		s = new(swapScratch)
		w.Scratch = s
	}
	return s
}

func (s *windowSwap) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	window := c.Setup.Window
	// A block of a stream is one window or several. Where it starts depends on the
	// records that were there when a transaction began, so only a file's is checked.
	if file := b.Scope == "" && b.Places == nil; file && b.First%int64(window) != 0 {
		return fmt.Errorf("%s: a block must start at a multiple of the window of %d records, got record %d", c.At(s.mask),
			window, b.First)
	}
	sw := swapScratchOf(w)
	sw.pairs = sw.pairs[:0]
	for from := 0; from < b.N; from += window {
		n := min(window, b.N-from)
		sw.grouping.Reset()
		if err := sw.grouping.Find(b, s.keys, from, n); err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
		sw.grouping.Exclude(b, from, s.exchanged)
		s.words(c, w, b, from, n)
		sw.pairs = sw.matcher.Match(sw.pairs, s.Policy, sw.grouping.Group, sw.grouping.Combo, &sw.Words, from)
	}
	for _, col := range s.protected {
		if err := exchange(&b.Columns[col.Index], sw); err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
		}
	}
	c.CountIn(s.mask, b, 2*len(sw.pairs))
	return nil
}

// words makes the draws of the swap for the records [from, from+n).
func (s *swapColumns) words(c *core.Chain, w *core.Work, b *microdata.Block, from, n int) {
	sw := swapScratchOf(w)
	var values []float64
	if w.Leaves {
		values = s.bind(c, w, b, from, n)
	}
	records := w.Stretch(b, from, n, values)
	for _, d := range []struct {
		dst *[]uint64
		src int
	}{{&sw.Order, s.order}, {&sw.Partner, s.partner}, {&sw.Coin, s.coin}} {
		if cap(*d.dst) < n {
			*d.dst = make([]uint64, n)
		}
		*d.dst = (*d.dst)[:n]
		w.Streams[d.src].Words(*d.dst, records)
	}
}

// exchange exchanges a column's released values between the records of each
// pair. A column that the block does not hold, as in replicates, is left alone.
func exchange(col *microdata.Column, sw *swapScratch) error {
	switch {
	case col.Array != nil:
		if len(sw.pairs) == 0 {
			return nil
		}
		a, err := sw.Placing.Exchange(col.OutArray(), sw.pairs)
		if err != nil {
			return err
		}
		col.ReleasedArray = a
	case col.Original.Values != nil:
		v := col.Mutable()
		for _, p := range sw.pairs {
			v.Values[p.I], v.Values[p.J] = v.Values[p.J], v.Values[p.I]
			if v.Valid != nil {
				i, j := v.Valid.Has(int(p.I)), v.Valid.Has(int(p.J))
				core.SetTo(v.Valid, int(p.I), j)
				core.SetTo(v.Valid, int(p.J), i)
			}
		}
	}
	return nil
}

func (m *Swap) reach() core.Scope {
	if m.dataset() {
		return core.ScopeDataset
	}
	return core.ScopeWindow
}

func (m *Swap) readColumns() []core.ReadColumn {
	var list []core.ReadColumn
	for i, name := range m.Keys {
		list = append(list, core.ReadColumn{Field: fmt.Sprintf("keys[%d]", i), Name: name, As: "a swapping key"})
	}
	if m.Attribute != "" {
		list = append(list, core.ReadColumn{Field: "attribute", Name: m.Attribute, As: "a swapping attribute"})
	}
	return list
}

func (m *Swap) parameters() []core.Parameter {
	list := core.WithNumber([]core.Parameter{{Name: "keys", Value: core.JsonWords(m.Keys)}, {Name: "attribute",
		Value: m.Attribute}}, "rate", m.Rate)
	return append(list, core.Parameter{Name: "policy", Value: core.WordOr(m.Policy, "unique")},
		core.Parameter{Name: "scope", Value: core.WordOr(m.Scope, "window")})
}

func (m *Swap) action(string, float64) core.Action {
	if m.Rate == nil {
		return nil
	}
	return core.Exchange{Keys: m.Keys, Attribute: m.Attribute, Columns: m.Columns, Rate: *m.Rate, Unique: m.unique(),
		Dataset: m.dataset()}
}

// PublishedAction implements Publishing. Which columns are exchanged together is
// always published.
func (m *Swap) PublishedAction(p core.Published, _ string) core.Action {
	return core.Exchange{Keys: p.List("keys"), Attribute: p.Word("attribute"), Rate: p.NumberOr("rate", math.NaN())}
}

// Words implements Publishing.
func (m *Swap) Words(p core.Published, _ string) string {
	s := "swap: values were exchanged between some records"
	if keys := p.List("keys"); keys != nil {
		s += " that agree in " + strings.Join(keys, ", ")
	}
	if a := p.Word("attribute"); a != "" {
		s += " and differ in " + a
	}
	if rate, ok := p.Float("rate"); ok {
		s += fmt.Sprintf("; each possible exchange was made with probability π = %s", p.Number(rate))
	}
	return s
}

// EfficiencyFollows implements Publishing: an exchange keeps the column's values,
// and with them its variance.
func (m *Swap) EfficiencyFollows(_, _ func(string) bool) bool { return true }

// Swap exchanges the values of the protected columns between records with the
// same swapping keys and another value of the swapping attribute, each possible
// exchange with probability π: Duncan and Keller-McNulty (2000), sections 2.2
// and 3.
type Swap struct {
	Keys      []string `yaml:"keys" doc:"swapping keys: partners agree in all of them"`
	Attribute string   `yaml:"attribute" doc:"swapping attribute: partners differ in it"`
	Columns   []string `yaml:"columns" doc:"protected variables: the columns whose values are exchanged"`
	Rate      *float64 `yaml:"rate" share:"whole" doc:"π, the probability that a possible exchange is made"`
	Policy    string   `yaml:"policy" doc:"unique (default): candidates are unique in keys and attribute; random: every record is a candidate" enum:"unique,random"`
	Scope     string   `yaml:"scope" doc:"window (default): partners are in the same window of records; dataset: partners can be anywhere, which takes two passes" enum:"window,dataset"`
}

// Keeps: a record without a partner keeps its value.
func (s *windowSwap) Keeps(l *core.KeepingOf, i int) { l.Changed(i) }

func (s *windowSwap) Law(string) []core.Stage { return nil }
