package exchange

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
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
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	if r := m.MinCorrelation; r != nil && !(*r > 0 && *r < 1) {
		ps.Addf("min_correlation", "must be above 0 and below 1, got %v", *r)
	}
	if m.P == nil && m.MinCorrelation == nil {
		ps.Addf("p",
			"must be given: how far apart in rank values may be exchanged, as a share of the records; or min_correlation")
	} else if m.P != nil && !(*m.P > 0 && *m.P <= 1) {
		ps.Addf("p", "must be above 0 and at most 1, a share of the records, got %v", *m.P)
	}
	core.CheckContributors(&ps, m.Least, m.Share)
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

func (m *RankSwap) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckDataset(masks, i, "columns", "")
}

// Describe implements Params.
func (m *RankSwap) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeDataset, Permutes: m.permutes(), FitsData: !m.permutes(), Axis: m.mapAxis(),
		Parameters: m.parameters,
		Action:     m.action, Published: m, OnColumn: m.onColumn,
		Instead: "a swap of scope window, or noise, which takes each record by itself", Among: m.checkAmong,
	}
}

// Masks implements Params.
func (m *RankSwap) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *RankSwap) Reads() []string { return nil }

func (m *RankSwap) Compile(c *core.Chain, i int) (core.Step, error) {
	r := &rankExchange{p: m.within(), correlation: core.OrZero(m.MinCorrelation),
		bottom: core.OrZero(m.Bottom), top: core.OrZero(m.Top),
		demand: core.ContributorsOf(m.Least, m.Share)}
	done := core.Part("rankswap", r.p, r.bottom, r.top)
	if r.correlation > 0 {
		done = core.Part("rankswap", r.p, r.bottom, r.top, r.correlation)
	}
	s, err := gathered.New(c, i, r, done)
	if err != nil {
		return nil, err
	}
	for _, col := range s.Columns {
		s.DrawsWords(c, col.Name, col.Done.Text)
	}
	return s, nil
}

// share returns the greatest difference of ranks, as a share of the number of records.
func (m *RankSwap) within() float64 {
	if m.P == nil {
		return 1
	}
	return *m.P
}

const (
	fitRanks = gathered.FitOwn + iota
	fitDraws // what the draws of a shuffle go by
)

// rankExchange is the arithmetic of RankSwap. correlation is 0 if none is required.
type rankExchange struct {
	p, correlation, bottom, top float64
	demand                      core.Contributors
	fits                        *gathered.Fits
}

// Most implements Masker: besides each value a word is held.
func (r *rankExchange) Most() int { return gathered.MaxCells / 2 }

func (r *rankExchange) Takes() (record, value int64) { return 18, 36 }

func (r *rankExchange) MaskAll(g *gathered.Data) *decision.Refusal {
	of := gathered.Digest{}
	if g.Trial {
		of = g.Sum()
		r.fits.Begin(of, g.N*len(g.Values))
	}
	if err := g.CheckColumns(r.fits, of); err != nil {
		return err
	}
	// Columns do not depend on one another. Replicates, which have fewer records, are themselves on all cores.
	refusals := make([]*decision.Refusal, len(g.Values))
	cores.Each(len(g.Values), func(k int) { refusals[k] = r.maskColumn(g, of, k) })
	return gathered.FirstRefusal(refusals)
}

func (r *rankExchange) maskColumn(g *gathered.Data, of gathered.Digest, k int) *decision.Refusal {
	at := gathered.FitKey{Of: of, Column: k, What: fitRanks}
	ranks := gathered.Once(g.Trials(r.fits), at, g.Stop, func() columnRanks {
		return r.ranks(g, k)
	})
	if g.Stop.Now() {
		return nil
	}
	if ranks.err != nil {
		return ranks.err
	}
	if g.Trial {
		own := trialScratch.Get().(*trialExchanger)
		own.exchange(g.Values[k], g.Words[k], &ranks, g.Stop)
		trialScratch.Put(own)
		return nil
	}
	new(exchanger).exchange(g.Values[k], g.Words[k], &ranks, g.Stop)
	return nil
}

// columnRanks are the records of a column in the order of their values, equal ones by their places, or the reason why
// they cannot be exchanged.
type columnRanks struct {
	order              []int32
	sorted             []float64 // their values
	alike              []span    // records of equal values, of at least two
	bottom, top, reach int
	err                *decision.Refusal
}

// span is a part of a list, from..to−1.
type span struct{ from, to int }

func (r *rankExchange) ranks(g *gathered.Data, k int) (of columnRanks) {
	values := g.Values[k]
	order := make([]int32, 0, len(values))
	for i, v := range values {
		if v == v && g.Strata[i] >= 0 {
			order = append(order, int32(i))
		}
	}
	n := float64(len(order))
	of.reach = int(math.Floor(r.p * n))
	if of.reach < 1 && n > 0 {
		of.err = &decision.Refusal{
			Path: "p",
			Text: fmt.Sprintf(
				"must be at least 1 record of those with a value in columns[%d]: a share of %v of %d is less; give a greater p", k,
				r.p, len(order))}
		return of
	}
	if rank.Order(order, values, g.Stop); g.Stop.Now() {
		return of
	}
	at := 0
	for equal := range alike(order, values) {
		if len(equal) > 1 {
			of.alike = append(of.alike, span{at, at + len(equal)})
		}
		at += len(equal)
	}
	of.order, of.sorted, of.bottom, of.top = order, make([]float64, len(order)), int(math.Floor(r.bottom*n)),
		int(math.Floor(r.top*n))
	cores.Parts(len(order), gathered.InPart, func(from, to int) {
		for i, row := range order[from:to] {
			of.sorted[from+i] = values[row]
		}
	})
	if r.correlation > 0 && n > 0 {
		if of.reach = CorrelatedReach(of.sorted, of.bottom, of.top, of.reach, r.correlation); of.reach < 1 {
			of.err = &decision.Refusal{Path: "min_correlation",
				Text: fmt.Sprintf(
					"must allow exchanges between neighbours in rank, and those of columns[%d] differ too much for %v; give a smaller one", k, r.correlation)}
			return of
		}
	}
	of.err = r.ends(g, k, order, of.bottom, of.top)
	return of
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

// exchanger exchanges the values of a release. Replicates have a trialExchanger.
type exchanger struct {
	order []int32
	y     []float64 // by rank
	drawn []uint64  // likewise
	free  freeRanks
}

// exchange exchanges the values of a column between the records of its ranks, which it uses up.
func (e *exchanger) exchange(values []float64, words []uint64, ranks *columnRanks, stop decision.Stop) {
	e.order, e.y, e.drawn = ranks.order, ranks.sorted, make([]uint64, len(ranks.order))
	cores.Parts(len(e.order), gathered.InPart, func(from, to int) {
		for rank, i := range e.order[from:to] {
			e.drawn[from+rank] = words[i]
		}
	})
	// Equal values are in random order: which of them is exchanged must not depend on their places.
	cores.Parts(len(ranks.alike), spansInPart, func(from, to int) {
		var own wordOrder
		for _, equal := range ranks.alike[from:to] {
			if stop.Now() {
				return
			}
			e.mix(equal, values, &own, stop)
		}
	})
	average(values, e.order[:ranks.bottom])
	average(values, e.order[len(e.order)-ranks.top:])
	from, to := ranks.bottom, len(e.order)-ranks.top
	y := e.y[from:to]
	e.ranks(y, e.drawn[from:to], ranks.reach, stop)
	order := e.order[from:to]
	cores.Parts(len(order), gathered.InPart, func(from, to int) {
		for rank, i := range order[from:to] {
			values[i] = y[from+rank]
		}
	})
}

// spansInPart is how many values of several records one core takes at a time.
const spansInPart = 64

// mix puts records of equal values in the order of their words.
func (e *exchanger) mix(equal span, values []float64, own *wordOrder, stop decision.Stop) {
	order := e.order[equal.from:equal.to]
	own.sort(order, e.drawn[equal.from:equal.to], stop)
	if e.y[equal.from] == 0 { // 0 and −0 are equal, and each stays with its record until it is exchanged
		for k, i := range order {
			e.y[equal.from+k] = values[i]
		}
	}
}

// ranks goes through the ranks of sorted values y, each with a word: each record that is in no pair takes one of the
// following ones within reach that are in none, each with the same probability, and the two
// exchange their values. One without such a partner keeps its value.
func (e *exchanger) ranks(y []float64, drawn []uint64, reach int, stop decision.Stop) {
	free, taken := &e.free, 0
	free.all(len(y))
	for w := range free.bits {
		if stop.At(w) {
			return
		}
		for free.bits[w] != 0 {
			rank := 64*w + bits.TrailingZeros64(free.bits[w])
			free.take(rank)
			taken++
			// All ranks up to this one are taken, and no rank beyond its reach is.
			last := min(rank+reach, len(y)-1)
			n := last + 1 - taken
			if n == 0 {
				continue
			}
			partner := free.find(rank, last, int(matching.Below(drawn[rank], int64(n))))
			free.take(partner)
			taken++
			y[rank], y[partner] = y[partner], y[rank]
		}
	}
}

// freeRanks are the ranks that are in no pair: a bit for each, and how many there are in parts of three sizes.
type freeRanks struct {
	bits                 []uint64
	small, middle, large []int32
}

// The sizes of parts of freeRanks, as powers of 2; a small part has 8 words.
const (
	smallPart  = 9
	middlePart = 14
	largePart  = 20
)

// all makes n ranks free.
func (f *freeRanks) all(n int) {
	f.bits = zeros(f.bits, (n>>smallPart+1)<<(smallPart-6))
	f.small, f.middle, f.large = zeros(f.small, n>>smallPart+1), zeros(f.middle, n>>middlePart+1),
		zeros(f.large, n>>largePart+1)
	for w := range f.bits[:n>>6+1] {
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

// Find returns the k-th free rank, from 0, where none is free up to `from` and it is none behind `last`. Small parts
// and words are counted to the end of the reach: the processor would guess wrong at which one to leave a loop.
func (f *freeRanks) find(from, last, k int) int {
	large, k := countedPart(f.large, from>>largePart, k)
	middle, k := countedPart(f.middle, max(from>>middlePart, large<<(largePart-middlePart)), k)
	const parts = 1 << (middlePart - smallPart)
	small := max(from>>smallPart, middle*parts)
	before, sum := 0, 0
	for _, n := range f.small[small : min(last>>smallPart, middle*parts+parts-1)+1] {
		sum += int(n)
		passed := (sum - k - 1) >> 63 // −1 where the part ends before the k-th, otherwise 0
		small -= passed
		before += int(n) & passed
	}
	k -= before
	at, sum, before := 0, 0, 0
	words := f.bits[small<<(smallPart-6):][:8]
	for _, word := range words {
		n := bits.OnesCount64(word)
		sum += n
		passed := (sum - k - 1) >> 63
		at -= passed
		before += n & passed
	}
	return small<<smallPart + 64*at + nthOne(words[at&7], k-before)
}

// countedPart returns the part, from the given one on, that has the k-th of what they count, and its number there.
func countedPart(counts []int32, at, k int) (part, rest int) {
	for k >= int(counts[at]) {
		k -= int(counts[at])
		at++
	}
	return at, k
}

// nthOne returns the place of the k-th bit that is 1, from 0: its byte by the sums of ones up to the end of each, all
// at once (Vigna 2008, Broadword implementation of rank/select queries, section 5), and its bit there by a table.
func nthOne(word uint64, k int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	sums := word - word>>1&0x5555555555555555
	sums = sums&0x3333333333333333 + sums>>2&0x3333333333333333
	sums = (sums + sums>>4) & 0x0f0f0f0f0f0f0f0f * ones
	at := 8 * bits.OnesCount64(((uint64(k)*ones|tops)-sums)&tops)
	k -= int(sums << 8 >> at & 0xff)
	return at + int(onesOfBytes[word>>at&0xff][k&7])
}

// onesOfBytes are the places of the bits of each byte that are 1.
var onesOfBytes = func() (of [256][8]uint8) {
	for b := range of {
		n := 0
		for at := range 8 {
			if b>>at&1 != 0 {
				of[b][n] = uint8(at)
				n++
			}
		}
	}
	return of
}()

// permutes: records at an end get a mean.
func (m *RankSwap) permutes() bool { return core.OrZero(m.Bottom) == 0 && core.OrZero(m.Top) == 0 }

func (m *RankSwap) onColumn(column string) core.Params {
	only := *m
	only.Columns = []string{column}
	return &only
}

// mapAxis: p from .01 to .3, or the least correlation from .8 to .99.
func (m *RankSwap) mapAxis() core.Axis {
	if m.P == nil && m.MinCorrelation != nil {
		return core.Axis{Rank: 4, Field: "min_correlation", From: core.Amount{Value: 0.8}, To: core.Amount{Value: 0.99}}
	}
	return core.Axis{Rank: 4, Field: "p", From: core.Amount{Value: 0.01}, To: core.Amount{Value: 0.3}}
}

func (m *RankSwap) parameters() []core.Parameter {
	list := core.WithNumber(core.WithNumber(core.WithNumber(core.WithNumber(nil, "p", m.P), "min_correlation",
		m.MinCorrelation), "bottom",
		m.Bottom), "top", m.Top)
	return core.WithContributors(list, m.Least, m.Share)
}

func (m *RankSwap) action(string, float64) core.Action {
	if m.P == nil && m.MinCorrelation == nil {
		return nil
	}
	return RankExchange{P: m.within(), Correlation: core.OrZero(m.MinCorrelation),
		Bottom: core.OrZero(m.Bottom), Top: core.OrZero(m.Top)}
}

// PublishedAction implements Publishing.
func (m *RankSwap) PublishedAction(p core.Published, _ string) core.Action {
	end := func(name string) float64 {
		if v, ok := p.Float(name); ok {
			return v
		}
		if p.Named(name) && !p.Has(name) {
			return 0
		}
		return core.NaN
	}
	share := p.NumberOr("p", core.NaN)
	if p.Named("p") && !p.Has("p") {
		share = 1
	}
	return RankExchange{P: share, Correlation: p.NumberOr("min_correlation", 0), Bottom: end("bottom"), Top: end("top")}
}

// Words implements Publishing.
func (m *RankSwap) Words(p core.Published, _ string) string {
	s := "rank swapping: values were exchanged between records with values of similar rank"
	if v, ok := p.Float("p"); ok {
		s += fmt.Sprintf(", at most %s %% of the records apart", p.Number(100*v))
	}
	if v, ok := p.Float("min_correlation"); ok {
		s += fmt.Sprintf(", as far as a correlation of %s with the original values allows, as expected", p.Number(v))
	}
	if v, ok := p.Float("bottom"); ok && v > 0 {
		s += fmt.Sprintf("; the lowest %s %% of values became their mean", p.Number(100*v))
	}
	if v, ok := p.Float("top"); ok && v > 0 {
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

func (r *rankExchange) Share(fits *gathered.Fits) { r.fits = fits }
