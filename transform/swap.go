package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// Check implements Params.
func (m *Swap) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "keys", m.Keys, "swapping key")
	if m.Attribute == "" {
		ps.Addf("attribute", "must be given: the column in which partners differ")
	} else if i := slices.Index(m.Keys, m.Attribute); i >= 0 {
		ps.Addf("attribute", "must not be one of the keys, got %q, which is keys[%d]", m.Attribute, i)
	}
	checkColumns(&ps, "columns", m.Columns, "protected column")
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
	checkWord(&ps, "policy", m.Policy, "unique", "random")
	checkWord(&ps, "scope", m.Scope, "window", "dataset")
	return ps
}

// Describe implements Params.
func (m *Swap) Describe() Description {
	return Description{
		Scope: m.reach(), Reads: m.readColumns(), MovesOnly: true, LeavesAll: func() bool {
			return m.Rate != nil && *m.Rate == 0
		},
		Axis:       Axis{Rank: 2, Field: "rate", From: Amount{Value: 0.05}, To: Amount{Value: 1}},
		Parameters: m.parameters, Action: m.action, Published: m, Instead: "scope window",
		among: m.checkAmong, exchanges: m.exchanges, inParts: true,
	}
}

// Masks implements Params.
func (m *Swap) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Swap) Reads() []string {
	return append(slices.Clone(m.Keys), m.Attribute)
}

func (m *Swap) checkAmong(masks []Spec, i int) check.Problems {
	return checkDataset(masks, i, "scope", "must be window, got \"dataset\": ")
}

func (m *Swap) exchanges() exchangeRule {
	e := exchangeRule{reads: m.Reads(), columns: m.Columns, rate: math.NaN(), unique: m.unique(), dataset: m.dataset()}
	if m.Rate != nil {
		e.rate = *m.Rate
	}
	return e
}

func (m *Swap) dataset() bool { return m.Scope == "dataset" }

func (m *Swap) unique() bool { return m.Policy != "random" }

// swapColumns is the part of a swap in a chain that both scopes have.
type swapColumns struct {
	mask      int
	keys      []int     // indexes in Block.Columns; the attribute comes last
	protected []*column // those that the chain has
	exchanged []int     // their indexes in Block.Columns
	bound     []int     // keys, attribute and protected columns, in an order that does not depend on the configuration's
	matching.Policy

	order, partner, coin int // in work.streams
}

func (m *Swap) compile(c *Chain, i int) (step, error) {
	s := swapColumns{mask: i, Policy: matching.Policy{Rate: *m.Rate, Unique: m.unique()}}
	policy, window := "unique", float64(c.setup.Window)
	if !s.Unique {
		policy = "random"
	}
	if m.dataset() {
		window = 0
	}
	done := part("swap "+policy, *m.Rate, window) +
		c.digestOf("keys", sorted(m.Keys)...) + c.digestOf("attribute", m.Attribute) +
		c.digestOf("columns", sorted(m.Columns)...)
	if m.dataset() {
		done += part("ordered")
	}
	s.order, s.partner, s.coin = c.streamNamed(i, "order", done), c.streamNamed(i, "partner", done),
		c.streamNamed(i, "coin", done)
	for _, name := range m.Reads() {
		info := c.info(name)
		if info == nil {
			return nil, fmt.Errorf("%s: there is no column %s", c.at(i), strconv.Quote(name))
		}
		if !coding.Movable(info.Field.Type) {
			return nil, fmt.Errorf("%s: column %s must have a scalar type to be compared, got %s", c.at(i), strconv.Quote(name),
				microdata.TypeName(info.Field.Type))
		}
		s.keys = append(s.keys, info.Index)
	}
	for _, name := range m.Columns {
		col := c.touch(name)
		if col == nil {
			continue
		}
		if !coding.Movable(col.Field.Type) {
			return nil, fmt.Errorf("%s.columns: column %s must have a scalar type to be exchanged, got %s", c.at(i),
				strconv.Quote(name), microdata.TypeName(col.Field.Type))
		}
		c.addToHistory(i, col, done)
		s.protected, s.exchanged = append(s.protected, col), append(s.exchanged, col.Index)
	}
	for _, name := range slices.Concat(sorted(m.Keys), []string{m.Attribute}, sorted(m.Columns)) {
		if info := c.info(name); info != nil {
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

func swapScratchOf(w *work) *swapScratch {
	s, ok := w.scratch.(*swapScratch)
	if !ok {
		s = new(swapScratch)
		w.scratch = s
	}
	return s
}

func (s *windowSwap) apply(c *Chain, w *work, b *microdata.Block) error {
	window := c.setup.Window
	// A block of a stream is one window or several. Where it starts depends on the
	// records that were there when a transaction began, so only a file's is checked.
	if file := b.Scope == "" && b.Places == nil; file && b.First%int64(window) != 0 {
		return fmt.Errorf("%s: a block must start at a multiple of the window of %d records, got record %d", c.at(s.mask),
			window, b.First)
	}
	sw := swapScratchOf(w)
	sw.pairs = sw.pairs[:0]
	for from := 0; from < b.N; from += window {
		n := min(window, b.N-from)
		sw.grouping.Reset()
		if err := sw.grouping.Find(b, s.keys, from, n); err != nil {
			return fmt.Errorf("%s: %w", c.at(s.mask), err)
		}
		sw.grouping.Exclude(b, from, s.exchanged)
		s.words(c, w, b, from, n)
		sw.pairs = sw.matcher.Match(sw.pairs, s.Policy, sw.grouping.Group, sw.grouping.Combo, &sw.Words, from)
	}
	for _, col := range s.protected {
		if err := exchange(&b.Columns[col.Index], sw); err != nil {
			return fmt.Errorf("%s: column %s: %w", c.at(s.mask), strconv.Quote(col.Name), err)
		}
	}
	c.countIn(s.mask, b, 2*len(sw.pairs))
	return nil
}

// words makes the draws of the swap for the records [from, from+n).
func (s *swapColumns) words(c *Chain, w *work, b *microdata.Block, from, n int) {
	sw := swapScratchOf(w)
	var values []float64
	if w.leaves {
		values = s.bind(c, w, b, from, n)
	}
	records := w.stretch(b, from, n, values)
	for _, d := range []struct {
		dst *[]uint64
		src int
	}{{&sw.Order, s.order}, {&sw.Partner, s.partner}, {&sw.Coin, s.coin}} {
		if cap(*d.dst) < n {
			*d.dst = make([]uint64, n)
		}
		*d.dst = (*d.dst)[:n]
		w.streams[d.src].Words(*d.dst, records)
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
				setTo(v.Valid, int(p.I), j)
				setTo(v.Valid, int(p.J), i)
			}
		}
	}
	return nil
}

func setTo(b microdata.Bitmap, i int, bit bool) {
	if bit {
		b.Set(i)
	} else {
		b.Clear(i)
	}
}

func (m *Swap) reach() Scope {
	if m.dataset() {
		return ScopeDataset
	}
	return ScopeWindow
}

func (m *Swap) readColumns() []ReadColumn {
	var list []ReadColumn
	for i, name := range m.Keys {
		list = append(list, ReadColumn{fmt.Sprintf("keys[%d]", i), name, "a swapping key"})
	}
	if m.Attribute != "" {
		list = append(list, ReadColumn{"attribute", m.Attribute, "a swapping attribute"})
	}
	return list
}

func (m *Swap) parameters() []Parameter {
	list := withNumber([]Parameter{{"keys", jsonWords(m.Keys)}, {"attribute", m.Attribute}}, "rate", m.Rate)
	return append(list, Parameter{"policy", wordOr(m.Policy, "unique")}, Parameter{"scope", wordOr(m.Scope, "window")})
}

func (m *Swap) action(string, float64) Action {
	if m.Rate == nil {
		return nil
	}
	return Exchange{Keys: m.Keys, Attribute: m.Attribute, Columns: m.Columns, Rate: *m.Rate, Unique: m.unique(),
		Dataset: m.dataset()}
}

// PublishedAction implements Publishing. Which columns are exchanged together is
// always published.
func (m *Swap) PublishedAction(p Published, _ string) Action {
	return Exchange{Keys: p.list("keys"), Attribute: p.word("attribute"), Rate: p.numberOr("rate", math.NaN())}
}

// Words implements Publishing.
func (m *Swap) Words(p Published, _ string) string {
	s := "swap: values were exchanged between some records"
	if keys := p.list("keys"); keys != nil {
		s += " that agree in " + strings.Join(keys, ", ")
	}
	if a := p.word("attribute"); a != "" {
		s += " and differ in " + a
	}
	if rate, ok := p.number("rate"); ok {
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

// keeps: a record without a partner keeps its value.
func (s *windowSwap) keeps(l *keepingOf, i int) { l.changed(i) }

func (s *windowSwap) law(string) []stage { return nil }
