package pipeline

import (
	"bytes"
	"encoding/gob"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// ofAll covers all records of a part.
var ofAll = []transform.Stretch{{N: 1 << 40}}

// partsOf returns an encoded exchange for each list of blocks. A bracket that contains 0 gets the
// number of values before it.
func partsOf(t *testing.T, limit int, targets []Sought, lists ...[]*microdata.Block) [][]byte {
	t.Helper()
	var texts [][]byte
	for _, list := range lists {
		x := exchangeOf(limit)
		x.Seek(targets)
		for _, b := range list {
			x.Add(b)
			for i := range targets {
				for _, v := range b.Columns[0].Original.Values {
					if targets[i].Holds(v) {
						targets[i].Before++
					}
				}
			}
		}
		text, err := x.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

func merged(t *testing.T, limit int, texts ...[]byte) *Exchange {
	t.Helper()
	x := exchangeOf(limit)
	for _, text := range texts {
		if err := x.Merge(text, ofAll); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// Merged parts equal one exchange of all blocks: every record up to the limit, and the totals.
func TestExchangesMerge(t *testing.T) {
	a, b, c := movedBlock(0, 2, 4, 8), movedBlock(3, 16, 32), movedBlock(5, 64)
	a.Columns[0].Moved.Deviations = [][]float32{{1, 2, 3}, {4, 5, 6}}
	c.Columns[0].Moved.Deviations = [][]float32{{7}, {8}}
	for _, limit := range []int{-1, 6, 5} {
		one, parts := exchangeOf(limit, a, b, c),
			merged(t, limit, partsOf(t, limit, nil, []*microdata.Block{a}, nil, []*microdata.Block{b, c})...)
		if one.keepsAll != (limit != 5) || parts.keepsAll != one.keepsAll || len(parts.places) != len(one.places) {
			t.Errorf("limit %d: merged parts keep %d records (all: %v), one exchange keeps %d (all: %v)", limit,
				len(parts.places), parts.keepsAll, len(one.places), one.keepsAll)
		}
		square, se, ok := parts.Typical("x")
		if s, e, known := one.Typical("x"); !ok || !known || !(math.Abs(s-square) <= 1e-12*s) ||
			!(math.Abs(e-se) <= 1e-12*e) {
			t.Errorf("limit %d: merged parts give %v ± %v, one exchange gives %v ± %v", limit, square, se, s, e)
		}
		for row := range int64(7) {
			square, se, ok := parts.At("x", "max", 0, "", 0, row)
			if s, e, known := one.At("x", "max", 0, "", 0, row); s != square || e != se || known != ok ||
				ok != (one.keepsAll && row < 6) {
				t.Errorf("limit %d, record %d: merged parts give %v ± %v (known: %v), one exchange gives %v ± %v (known: %v)",
					limit, row, square, se, ok, s, e, known)
			}
		}
	}
	var none *Exchange
	if text, err := none.Marshal(); text != nil || err != nil || none.Merge(nil, nil) != nil ||
		none.JoinMerged(nil, nil, keystream.Key{}) != nil {
		t.Error("a nil Exchange marshals or merges something, or returns an error")
	}
}

// Damaged parts, and parts with other columns or other targets, are errors.
func TestExchangesThatDoNotMerge(t *testing.T) {
	a := movedBlock(0, 2, 0, 8)
	targets := func(target string) []Sought {
		return []Sought{{Bracket: assess.Bracket{Column: "x", Target: target, Rank: 1, Count: 1}}}
	}
	text := partsOf(t, 5, targets("p50"), []*microdata.Block{a})[0]
	for k := range text {
		if err := exchangeOf(5).Merge(text[:k], ofAll); err == nil {
			t.Fatalf("Merge accepts a part cut off after %d of %d bytes", k, len(text))
		}
	}
	two := exchangeOf(5)
	two.columns = append(two.columns, two.columns[0])
	if err := two.Merge(text, ofAll); err == nil {
		t.Error("Merge accepts a part with other columns")
	}
	for what, other := range map[string][]Sought{"another target": targets("p99"), "none": nil,
		"one more": append(targets("p50"), targets("p99")...)} {
		x := merged(t, 5, text)
		if err := x.Merge(partsOf(t, 5, other, nil)[0], ofAll); err == nil {
			t.Errorf("Merge accepts a next part with other targets: %s", what)
		}
	}
}

// The record with a target is found for any division into parts, with few ties and with many. If
// one seeker gives up, seekers of parts give up too.
func TestSeekersOfParts(t *testing.T) {
	racetest.Further(t)
	zeros := func(first, n int64) *microdata.Block { return movedBlock(first, make([]float64, n)...) }
	const heap = keptInBracket
	tiny := math.SmallestNonzeroFloat64
	for _, c := range []struct {
		rank  int64
		sizes []int64
	}{
		{1, []int64{3, 4}}, {3, []int64{3, 4}}, {4, []int64{3, 4}}, {7, []int64{3, 0, 4}},
		{1, []int64{heap - 1, 1}}, {heap, []int64{heap - 1, 1}}, {5, []int64{heap, heap}}, {heap, []int64{heap, heap}},
		{heap + 1, []int64{heap, heap}},
		{2 * heap, []int64{heap, heap}}, {2, []int64{1, heap + 3, 2}}, {heap + 5, []int64{1, heap + 3, 2}},
		{1, []int64{0, heap + 3}},
	} {
		n := int64(0)
		for _, size := range c.sizes {
			n += size
		}
		targets := []Sought{{Bracket: assess.Bracket{Column: "x", Target: "max", Rank: c.rank, Count: n}}}
		var lists [][]*microdata.Block
		first := int64(0)
		for _, size := range c.sizes {
			var list []*microdata.Block
			// The squares of movedBlock identify places: each block counts from its first record.
			if size > 0 {
				list = append(list, zeros(first, size))
			}
			lists, first = append(lists, list), first+size
		}
		x := merged(t, 0, partsOf(t, 0, targets, lists...)...)
		r, ok := x.seekers[0].holder()
		if !ok || r.square != float64(c.rank-1) {
			t.Errorf("rank %d of %v: the record is number %v (found: %v)", c.rank, c.sizes, r.square, ok)
		}
		x.seekers[0].bracket.Count++
		if _, ok := x.seekers[0].holder(); ok {
			t.Errorf("rank %d of %v: a record is found although one of the counted values is missing", c.rank, c.sizes)
		}
	}
	if !new(assess.Bracket).Holds(tiny) {
		t.Fatal("the bin of zero must hold other small values too")
	}
	for name, lists := range map[string][][]*microdata.Block{
		"first":  {{movedBlock(0, tiny)}, {zeros(1, heap)}},
		"last":   {{zeros(0, heap)}, {movedBlock(heap, tiny)}},
		"inside": {{zeros(0, heap-1)}, {movedBlock(heap-1, tiny)}},
		"in one": {{zeros(0, 1)}, {zeros(1, heap-1), movedBlock(heap, tiny)}},
		"of few": {{movedBlock(0, 0, tiny)}, {zeros(2, heap-1)}},
	} {
		targets := []Sought{{Bracket: assess.Bracket{Column: "x", Target: "max", Rank: 1, Count: heap + 1}}}
		x := merged(t, 0, partsOf(t, 0, targets, lists...)...)
		if _, ok := x.seekers[0].holder(); ok || !x.seekers[0].lost {
			t.Errorf("%s: want the seeker lost, as equal values are mixed with another one", name)
		}
	}
}

// Impossible records or probabilities in a part are refused: they would be used as expectations of
// other records.
func TestPartsThatCannotBe(t *testing.T) {
	targets := []Sought{{Bracket: assess.Bracket{Column: "x", Target: "p50", Rank: 1, Count: 1}}}
	part := func(change func(p *exchangePart)) []byte {
		var p exchangePart
		text := partsOf(t, 5, slices.Clone(targets), []*microdata.Block{movedBlock(3, 2, 0, 8)})[0]
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&p); err != nil || len(p.Places) != 3 || len(p.Seekers) != 1 ||
			p.Seekers[0].Seen != 1 {
			t.Fatalf("the decoded part is %+v (error %v)", p, err)
		}
		change(&p)
		var out bytes.Buffer
		if err := gob.NewEncoder(&out).Encode(p); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	of := []transform.Stretch{{Stream: 1, First: 0, N: 9}, {Stream: 0, First: 3, N: 3}}
	for name, change := range map[string]func(p *exchangePart){
		"nothing":               func(*exchangePart) {},
		"a record before":       func(p *exchangePart) { p.Places[0].Row = 2 },
		"a record behind":       func(p *exchangePart) { p.Places[2].Row = 6 },
		"another file":          func(p *exchangePart) { p.Places[2].Stream = 2 },
		"a scope":               func(p *exchangePart) { p.Places[2].Scope = "x" },
		"a record twice":        func(p *exchangePart) { p.Places[2].Row = p.Places[1].Row },
		"a weight below 0":      func(p *exchangePart) { p.Columns[0].Weight = -1 },
		"staying beyond 1":      func(p *exchangePart) { p.Columns[0].Records[0][1] = 1.5 },
		"staying below 0":       func(p *exchangePart) { p.Columns[0].Records[0][1] = -0.5 },
		"noise below 0":         func(p *exchangePart) { p.Columns[0].Records[0][3] = -1 },
		"a record's weight":     func(p *exchangePart) { p.Columns[0].Records[0][4] = -1 },
		"so many batches":       func(p *exchangePart) { p.Columns[0].Deviations = make([]float64, mostDeviations+1) },
		"more seen than found":  func(p *exchangePart) { p.Seekers[0].Seen = 2 },
		"more found than seen":  func(p *exchangePart) { p.Seekers[0].Seen = 0 },
		"seen below 0":          func(p *exchangePart) { p.Seekers[0].Seen, p.Seekers[0].Found = -1, nil },
		"more seen than are":    func(p *exchangePart) { p.Seekers[0].Seen, p.Seekers[0].Alone = 13, true },
		"found beyond staying":  func(p *exchangePart) { p.Seekers[0].Found[0][1] = 2 },
		"found alone, and more": func(p *exchangePart) { p.Seekers[0].Seen, p.Seekers[0].Alone = 0, true },
		"a record not expected": func(p *exchangePart) { p.Columns[0].Records = p.Columns[0].Records[:2] },
		"a place too few":       func(p *exchangePart) { p.Places = p.Places[:2] },
	} {
		if err := exchangeOf(5).Merge(part(change), of); (err == nil) != (name == "nothing") {
			t.Errorf("part with the change %q: Merge returns %v", name, err)
		}
	}
}

// Of a part that has kept of many equal values the one of the rank, that record holds the target,
// however few they are.
func TestPartsThatKeptOneOfMany(t *testing.T) {
	s := &seeker{bracket: assess.Bracket{Column: "x", Target: "max", Rank: 4, Count: 5}}
	s.join(&seekerPart{Seen: 5, Alone: true, Found: packMoved([]movedRecord{{square: 1}, {square: 4}})})
	if r, ok := s.holder(); !ok || r.square != 4 {
		t.Errorf("the record is %+v (found: %v), want that with the square 4", r, ok)
	}
}

// Of parts that keep no records, those that hold the targets are known where the seekers looked for
// these very targets; of others, and of a heap whose target has not come, nothing is.
func TestTargetsOfMergedParts(t *testing.T) {
	pl, x, _, measured, _ := movedRecords(t, "policy: random", 10, 0)
	brackets := measured.Brackets("wage")
	if x.keepsAll || len(brackets) != 3 {
		t.Fatalf("all records are kept, or there are %d targets instead of 3: the test checks nothing", len(brackets))
	}
	own := x.columns[0]
	at := func(b assess.Bracket, square float64) *seeker {
		return &seeker{bracket: b, column: own, count: b.Count, equal: true, records: []movedRecord{{}, {square: square}}}
	}
	other := brackets[1]
	other.Count++
	missing := at(brackets[2], 3)
	missing.records = missing.records[:1]
	x.seekers = []*seeker{at(other, 9), at(brackets[0], 1), at(brackets[1], 2), missing}
	if err := x.JoinMerged(pl, measured, keytest.Key(1)); err != nil {
		t.Fatal(err)
	}
	if len(own.holders) != 2 || own.holders[brackets[0].Target].square != 1 ||
		own.holders[brackets[1].Target].square != 2 {
		t.Errorf("the holders of the targets are %+v", own.holders)
	}
	clear(own.holders)
	x.keepsAll = true
	if err := x.JoinMerged(pl, measured, keytest.Key(1)); err != nil || len(own.holders) != 0 {
		t.Errorf("with all records kept, the holders are %+v (error %v), want none", own.holders, err)
	}
	pl.Config.Masks = append(slices.Clone(pl.Config.Masks),
		transform.Spec{Params: &transform.Round{Columns: []string{"gone"}, Base: new(float64)}})
	if err := x.JoinMerged(pl, measured, keytest.Key(1)); err == nil {
		t.Error("JoinMerged accepts a mask on a missing column")
	}
}

// FuzzExchangeParts: for any bytes, the result of a part is refused or merged, and the records with
// the targets are found or not.
func FuzzExchangeParts(f *testing.F) {
	of := []transform.Stretch{{N: 9}}
	lists := [][]*microdata.Block{{movedBlock(0, 2, 0, 8)}, {movedBlock(3, 0, 5)}}
	for _, limit := range []int{-1, 2} {
		x := exchangeOf(limit)
		x.Seek([]Sought{{Bracket: assess.Bracket{Column: "x", Target: "p50", Rank: 1, Count: 2}}})
		for _, list := range lists {
			for _, b := range list {
				x.Add(b)
			}
			text, err := x.Marshal()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x := exchangeOf(5)
		if x.Merge(text, of) != nil {
			return
		}
		_ = x.Merge(text, of)
		for _, s := range x.seekers {
			if s.bracket.Rank >= 1 && s.bracket.Rank <= s.bracket.Count { // as in JoinMerged
				s.holder()
			}
		}
		x.Typical("x")
		if square, _, ok := x.At("x", "p50", 0, "", 0, 1); ok && !(square >= 0) {
			t.Errorf("the mean square is %v, want at least 0", square)
		}
	})
}
