package transform

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// RankSwap exchanges values between records whose ranks differ by at most a share p of
// their number, each column by itself: Moore (1996), Controlled data swapping for masking
// public use microdata sets.
type RankSwap struct {
	Columns []string `yaml:"columns" doc:"the columns to mask, each independently of the others"`
	P       *float64 `yaml:"p" share:"whole" doc:"the ranks of exchanged values differ by at most this share of the number of records: 5% or 0.05; may be left out with min_correlation"`
	// MinCorrelation bounds the reach by what the exchanges do: see correlatedReach.
	MinCorrelation *float64 `yaml:"min_correlation" share:"whole" doc:"the least expected correlation between the original and the released values of a column, 0.95 for example: the ranks of exchanged values differ by as much as this allows, and by no more than p"`
	Bottom         *float64 `yaml:"bottom" share:"whole" doc:"this share of the records, those with the least values, are not exchanged: each gets the mean of these values; default 0"`
	Top            *float64 `yaml:"top" share:"whole" doc:"the same for the greatest values"`
	Least          *int     `yaml:"least" doc:"the least number of records at an end that get their mean; default 3"`
	Share          *float64 `yaml:"share" share:"whole" doc:"the greatest share that one value may have in the sum of those at an end, by its amount and by its distance from the nearest value that is not among them; default 0.8"`
}

// Check implements Params.
func (m *RankSwap) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "columns", m.Columns, "column")
	if r := m.MinCorrelation; r != nil && !(*r > 0 && *r < 1) {
		ps.Addf("min_correlation", "must be above 0 and below 1, got %v", *r)
	}
	if m.P == nil && m.MinCorrelation == nil {
		ps.Addf("p", "must be given: how far apart in rank values may be exchanged, as a share of the records; or min_correlation")
	} else if m.P != nil && !(*m.P > 0 && *m.P <= 1) {
		ps.Addf("p", "must be above 0 and at most 1, a share of the records, got %v", *m.P)
	}
	checkContributors(&ps, m.Least, m.Share)
	ends := 0.0
	for _, end := range []struct {
		path  string
		value *float64
	}{{"bottom", m.Bottom}, {"top", m.Top}} {
		if end.value == nil {
			continue
		}
		if !(*end.value >= 0 && *end.value < 1) {
			ps.Addf(end.path, "must be at least 0 and below 1, a share of the records, got %v", *end.value)
			continue
		}
		ends += *end.value
	}
	if ends >= 1 {
		ps.Addf("top", "must leave values between bottom and top: together they must be below 1, got %v", ends)
	}
	return ps
}

// checkAmong implements amongMasks.
func (m *RankSwap) checkAmong(masks []Spec, i int) check.Problems {
	return checkDataset(masks, i, "columns", "")
}

// Masks implements Params.
func (m *RankSwap) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *RankSwap) Reads() []string { return nil }

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func (m *RankSwap) compile(c *Chain, i int) (step, error) {
	r := &rankExchange{p: m.share(), correlation: orZero(m.MinCorrelation), bottom: orZero(m.Bottom), top: orZero(m.Top), demand: contributorsOf(m.Least, m.Share)}
	done := part("rankswap", r.p, r.bottom, r.top)
	if r.correlation > 0 {
		done = part("rankswap", r.p, r.bottom, r.top, r.correlation)
	}
	s, err := c.newWhole(i, r, done)
	if err != nil {
		return nil, err
	}
	for _, col := range s.columns {
		s.draws(c, col.Name, col.done.text)
	}
	return s, nil
}

// share returns the greatest difference of ranks, as a share of the number of records.
func (m *RankSwap) share() float64 {
	if m.P == nil {
		return 1
	}
	return *m.P
}

// rankExchange is the arithmetic of RankSwap. correlation is 0 if none is required.
type rankExchange struct {
	p, correlation, bottom, top float64
	demand                      contributors
	fits                        *allFits
}

// most implements allMasker: besides each value a word is held.
func (r *rankExchange) most() int { return maxCells / 2 }

func (r *rankExchange) takes() (record, value int64) { return 24, 30 }

func (r *rankExchange) maskAll(g *gatheredData) *SurveyError {
	if err := g.checkColumns("columns"); err != nil {
		return err
	}
	of := [sha256.Size]byte{}
	if g.trial {
		of = g.sum()
		r.fits.begin(of, g.n*len(g.values))
	}
	for k, values := range g.values {
		ranks := fitOnce(g.trials(r.fits), fitKey{of: of, column: k, what: fitRanks}, g.stop, func() columnRanks { return r.ranks(g, k) })
		if g.stop.now() {
			return nil
		}
		if ranks.err != nil {
			copied := *ranks.err
			return &copied
		}
		words := g.words[k]
		own := exchangeScratch.Get().(*exchanger)
		order := append(own.order[:0], ranks.order...)
		buffer := slices.Grow(own.drawn[:0], 2*ranks.most)[:2*ranks.most]
		own.order, own.drawn = order, buffer
		// Equal values are in random order: which of them is exchanged must not depend on their places.
		for at, equal := range ranks.alike {
			if g.stop.at(at) {
				exchangeScratch.Put(own)
				return nil
			}
			byWords(order[equal.from:equal.to], words, buffer, g.stop)
		}
		average(values, order[:ranks.bottom])
		average(values, order[len(order)-ranks.top:])
		own.ranks(values, order[ranks.bottom:len(order)-ranks.top], words, ranks.reach, g.stop)
		exchangeScratch.Put(own)
	}
	return nil
}

// columnRanks are the records of a column in the order of their values, equal ones by their places, or the reason why they cannot
// be exchanged.
type columnRanks struct {
	order              []int32
	alike              []span // records of equal values, of at least two
	most               int    // in one of these
	bottom, top, reach int
	err                *SurveyError
}

// span is a part of a list, from..to−1.
type span struct{ from, to int }

func (r *rankExchange) ranks(g *gatheredData, k int) (of columnRanks) {
	values := g.values[k]
	order := make([]int32, 0, len(values))
	for i, v := range values {
		if v == v && g.strata[i] >= 0 {
			order = append(order, int32(i))
		}
	}
	n := float64(len(order))
	of.reach = int(math.Floor(r.p * n))
	if of.reach < 1 && n > 0 {
		of.err = &SurveyError{Path: "p", Text: fmt.Sprintf("must be at least 1 record of those with a value in columns[%d]: a share of %v of %d is less; give a greater p", k, r.p, len(order))}
		return of
	}
	if rank.Order(order, values, g.stop); g.stop.now() {
		return of
	}
	at := 0
	for equal := range alike(order, values) {
		if len(equal) > 1 {
			of.alike, of.most = append(of.alike, span{at, at + len(equal)}), max(of.most, len(equal))
		}
		at += len(equal)
	}
	of.order, of.bottom, of.top = order, int(math.Floor(r.bottom*n)), int(math.Floor(r.top*n))
	if r.correlation > 0 && n > 0 {
		sorted := make([]float64, len(order))
		for i, row := range order {
			sorted[i] = values[row]
		}
		if of.reach = CorrelatedReach(sorted, of.bottom, of.top, of.reach, r.correlation); of.reach < 1 {
			of.err = &SurveyError{Path: "min_correlation", Text: fmt.Sprintf("must allow exchanges between neighbours in rank, and those of columns[%d] differ too much for %v; give a smaller one", k, r.correlation)}
			return of
		}
	}
	of.err = r.ends(g, k, order, of.bottom, of.top)
	return of
}

// packedBits are those of a word that make room for a row's number when rows are sorted with their words in one number.
const packedBits = 20

// byWords puts rows, which ascend, in the order of their words. buffer is scratch for twice their number.
func byWords(rows []int32, words []uint64, buffer []uint64, stop stopper) {
	const mask = 1<<packedBits - 1
	if len(rows) > mask+1 {
		orderByWords(rows, words, stop)
		return
	}
	packed := buffer[:len(rows)]
	for i, row := range rows {
		packed[i] = words[row]*mixing&^mask | uint64(i)
	}
	slices.Sort(packed)
	for i := 1; i < len(packed); i++ {
		if packed[i]&^mask == packed[i-1]&^mask { // the bits that are left out decide
			orderByWords(rows, words, stop)
			return
		}
	}
	own := buffer[len(rows) : 2*len(rows)]
	for i, row := range rows {
		own[i] = uint64(row)
	}
	for i, p := range packed {
		rows[i] = int32(own[p&mask])
	}
}

func orderByWords(rows []int32, words []uint64, stop stopper) {
	rank.OrderFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(words[a]*mixing, words[b]*mixing), cmp.Compare(a, b))
	}, stop)
}

// mixing turns a word into one that orders records differently: the partner of a record must
// not follow from its rank among equal values.
const mixing = 0x9e3779b97f4a7c15

// average replaces the values of rows by their mean.
func average(values []float64, rows []int32) {
	if len(rows) == 0 {
		return
	}
	var sum float64
	first := values[rows[0]]
	for _, i := range rows {
		sum += values[i] - first
	}
	mean := first + sum/float64(len(rows))
	for _, i := range rows {
		values[i] = mean
	}
}

// exchanger is the memory of a rank swap, for which replicates take turns.
type exchanger struct {
	order []int32
	y     []float64 // by rank
	drawn []uint64  // likewise
	free  freeRanks
}

var exchangeScratch = sync.Pool{New: func() any { return new(exchanger) }}

// ranks goes through the ranks: each record that is in no pair takes one of the
// following ones within reach that are in none, each with the same probability, and the two
// exchange their values. One without such a partner keeps its value.
func (e *exchanger) ranks(values []float64, order []int32, words []uint64, reach int, stop stopper) {
	y, drawn := e.y[:0], e.drawn[:0] // by rank: the loop below would jump about in memory
	for _, i := range order {
		y, drawn = append(y, values[i]), append(drawn, words[i])
	}
	e.y, e.drawn = y, drawn
	free, taken := &e.free, 0
	free.all(len(order))
	for w := range free.bits {
		if stop.at(w) {
			return
		}
		for free.bits[w] != 0 {
			rank := 64*w + bits.TrailingZeros64(free.bits[w])
			free.take(rank)
			taken++
			// All ranks up to this one are taken, and no rank beyond its reach is.
			n := min(rank+reach, len(order)-1) + 1 - taken
			if n == 0 {
				continue
			}
			partner := free.find(rank, int(below(drawn[rank], int64(n))))
			free.take(partner)
			taken++
			y[rank], y[partner] = y[partner], y[rank]
		}
	}
	for rank, i := range order {
		values[i] = y[rank]
	}
}

// freeRanks are the ranks that are in no pair: a bit for each, and how many there are in parts of three sizes.
type freeRanks struct {
	bits                 []uint64
	small, middle, large []int32
}

// The sizes of parts of freeRanks, as powers of 2.
const (
	smallPart  = 9
	middlePart = 14
	largePart  = 20
)

// all makes n ranks free.
func (f *freeRanks) all(n int) {
	f.bits = zeros(f.bits, n>>6+1)
	f.small, f.middle, f.large = zeros(f.small, n>>smallPart+1), zeros(f.middle, n>>middlePart+1), zeros(f.large, n>>largePart+1)
	for w := range f.bits {
		ones := min(64, n-64*w)
		f.bits[w] = 1<<ones - 1
		f.small[64*w>>smallPart] += int32(ones)
		f.middle[64*w>>middlePart] += int32(ones)
		f.large[64*w>>largePart] += int32(ones)
	}
}

// zeros returns n zeros, in the memory of a list if it has so much.
func zeros[T any](of []T, n int) []T {
	of = slices.Grow(of[:0], n)[:n]
	clear(of)
	return of
}

func (f *freeRanks) take(rank int) {
	f.bits[rank>>6] &^= 1 << (rank & 63)
	f.small[rank>>smallPart]--
	f.middle[rank>>middlePart]--
	f.large[rank>>largePart]--
}

// find returns the k-th free rank, from 0, where none is free up to `from`.
func (f *freeRanks) find(from, k int) int {
	large, k := countedPart(f.large, from>>largePart, k)
	middle, k := countedPart(f.middle, max(from>>middlePart, large<<(largePart-middlePart)), k)
	small, k := countedPart(f.small, max(from>>smallPart, middle<<(middlePart-smallPart)), k)
	for w := max(from>>6, small<<(smallPart-6)); ; w++ {
		word := f.bits[w]
		if n := bits.OnesCount64(word); k >= n {
			k -= n
			continue
		}
		return 64*w + nthOne(word, k)
	}
}

// countedPart returns the part, from the given one on, that has the k-th of what they count, and its number there.
func countedPart(counts []int32, at, k int) (part, rest int) {
	for k >= int(counts[at]) {
		k -= int(counts[at])
		at++
	}
	return at, k
}

// nthOne returns the place of the k-th bit that is 1, from 0.
func nthOne(word uint64, k int) int {
	at := 0
	for half := 32; half >= 8; half /= 2 {
		if n := bits.OnesCount64(word & (1<<half - 1)); k >= n {
			k -= n
			word >>= half
			at += half
		}
	}
	for ; k > 0; k-- {
		word &= word - 1
	}
	return at + bits.TrailingZeros64(word)
}

// Reach implements Scoped.
func (m *RankSwap) Reach() Scope { return ScopeDataset }

// Permutes implements Permuting: records at an end get a mean.
func (m *RankSwap) Permutes() bool { return orZero(m.Bottom) == 0 && orZero(m.Top) == 0 }

// FitsData implements Modelling.
func (m *RankSwap) FitsData() bool { return !m.Permutes() }

// Instead implements Replaceable.
func (m *RankSwap) Instead() string {
	return "a swap of scope window, or noise, which takes each record by itself"
}

// OnColumn implements Narrowing.
func (m *RankSwap) OnColumn(column string) Params {
	only := *m
	only.Columns = []string{column}
	return &only
}

// MapAxis implements Varying: p from .01 to .3, or the least correlation from .8 to .99.
func (m *RankSwap) MapAxis() Axis {
	if m.P == nil && m.MinCorrelation != nil {
		return Axis{Rank: 4, Field: "min_correlation", From: Amount{Value: 0.8}, To: Amount{Value: 0.99}}
	}
	return Axis{Rank: 4, Field: "p", From: Amount{Value: 0.01}, To: Amount{Value: 0.3}}
}

// Parameters implements Described.
func (m *RankSwap) Parameters() []Parameter {
	list := withNumber(withNumber(withNumber(withNumber(nil, "p", m.P), "min_correlation", m.MinCorrelation), "bottom", m.Bottom), "top", m.Top)
	return withContributors(list, m.Least, m.Share)
}

// ActionOn implements Acting.
func (m *RankSwap) ActionOn(string, float64) Action {
	if m.P == nil && m.MinCorrelation == nil {
		return nil
	}
	return RankExchange{P: m.share(), Correlation: orZero(m.MinCorrelation), Bottom: orZero(m.Bottom), Top: orZero(m.Top)}
}

// PublishedAction implements Publishing.
func (m *RankSwap) PublishedAction(p Published, _ string) Action {
	end := func(name string) float64 {
		if v, ok := p.number(name); ok {
			return v
		}
		if p.Named(name) && !p.Has(name) {
			return 0
		}
		return nan
	}
	share := p.numberOr("p", nan)
	if p.Named("p") && !p.Has("p") {
		share = 1
	}
	return RankExchange{P: share, Correlation: p.numberOr("min_correlation", 0), Bottom: end("bottom"), Top: end("top")}
}

// Words implements Publishing.
func (m *RankSwap) Words(p Published, _ string) string {
	s := "rank swapping: values were exchanged between records with values of similar rank"
	if v, ok := p.number("p"); ok {
		s += fmt.Sprintf(", at most %s %% of the records apart", p.Number(100*v))
	}
	if v, ok := p.number("min_correlation"); ok {
		s += fmt.Sprintf(", as far as a correlation of %s with the original values allows, as expected", p.Number(v))
	}
	if v, ok := p.number("bottom"); ok && v > 0 {
		s += fmt.Sprintf("; the lowest %s %% of values became their mean", p.Number(100*v))
	}
	if v, ok := p.number("top"); ok && v > 0 {
		s += fmt.Sprintf("; the highest %s %% of values became their mean", p.Number(100*v))
	}
	return s
}

// EfficiencyFollows implements Publishing: an exchange keeps the column's values; by how much
// the means at the ends lower the variance discloses something of the ends.
func (m *RankSwap) EfficiencyFollows(has, named func(string) bool) bool {
	for _, end := range []string{"bottom", "top"} {
		if has(end) && !named(end) {
			return false
		}
	}
	return true
}
