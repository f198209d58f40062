package pipeline

import (
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// movedBlock returns a block with one column of values and known displacements.
func movedBlock(first int64, xs ...float64) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, first, len(xs), 1)
	v := b.Columns[0].Alloc(len(xs), false)
	m := &b.Columns[0].Moved
	for i, x := range xs {
		v.Values[i] = x
		m.Stay, m.Square, m.Noise = append(m.Stay, 0.5), append(m.Square, float64(first)+float64(i)), append(m.Noise, 0.25)
		m.Weight, m.Total = append(m.Weight, 1), append(m.Total, x)
		m.Likeliest, m.Mean = append(m.Likeliest, math.Inf(1)), append(m.Mean, math.Inf(1)) // nothing can be undone
	}
	return b
}

// ownOf is the assumed effect of the masks that move nothing: E(x − y)² = x, with variance 4.
func ownOf(x float64) (square, noise float64) { return x, 4 }

// The record with a target is the one with its rank in the bracket, ordered by value and then by
// place. If the number of records differs from the count, the result is unknown.
func TestSeekersFindTheRecord(t *testing.T) {
	column := &exchangedColumn{Column: assess.Column{Name: "x"}, own: ownOf}
	zero := assess.Bracket{} // of the zeros and the values in their bin
	if !zero.Holds(0) {
		t.Fatal("the bracket without a code does not hold 0")
	}
	find := func(rank, count int64, blocks ...*microdata.Block) (float64, bool) {
		s := &seeker{bracket: zero, column: column}
		s.bracket.Rank, s.bracket.Count = rank, count
		for _, b := range blocks {
			if s.within(b) {
				s.take(b)
			}
		}
		r, ok := s.holder()
		return r.square, ok // the place of the record
	}
	a, b := movedBlock(0, 7, 0, 9, 0), movedBlock(100, 0, 5)
	for rank, want := range map[int64]float64{1: 1, 2: 3, 3: 100} {
		if got, ok := find(rank, 3, a, b); got != want || !ok {
			t.Errorf("rank %d of the zeros is record %v (found: %v), want %v", rank, got, ok, want)
		}
	}
	if _, ok := find(1, 4, a, b); ok {
		t.Error("a record is found although one of the counted values is missing")
	}
	if _, ok := find(1, 2, a, b); ok {
		t.Error("a record is found although there are more values than were counted")
	}
	c := movedBlock(0, 0, 0, 0)
	c.Reject(1, "x", "for the test")
	if got, ok := find(2, 2, c); got != 2 || !ok {
		t.Errorf("with one record rejected, rank 2 is record %v (found: %v), want 2", got, ok)
	}
	unmoved := movedBlock(0, 0)
	unmoved.Columns[0].Moved = microdata.Moved{}
	if _, ok := find(1, 1, unmoved); ok {
		t.Error("a record is found in a block without displacements")
	}
	s := &seeker{bracket: zero, column: column}
	if s.within(movedBlock(0, 1, 2)) {
		t.Error("within is true for a block without a value in the bracket")
	}
	rejected := movedBlock(0, 0)
	rejected.Reject(0, "x", "for the test")
	if s.within(rejected) {
		t.Error("within is true although the only record in the bracket is rejected")
	}
}

// In a bracket with different values, ranks follow the order of values, and of places among equal
// values, whatever the order of arrival.
func TestSeekersOrderByValue(t *testing.T) {
	column := &exchangedColumn{Column: assess.Column{Name: "x"}, own: ownOf}
	low := 1.0
	high := math.Nextafter(low, 2)
	bracket := assess.Bracket{Count: 5}
	for shift := range 64 {
		if bracket.Code = math.Float64bits(low) >> shift; bracket.Holds(low) && bracket.Holds(high) {
			break
		}
	}
	if !bracket.Holds(low) || !bracket.Holds(high) || bracket.Holds(2) {
		t.Fatal("the bracket must hold both values but not 2")
	}
	for rank, want := range map[int64]float64{1: 1, 2: 3, 3: 100, 4: 0, 5: 101} {
		s := &seeker{bracket: bracket, column: column}
		s.bracket.Rank = rank
		s.take(movedBlock(0, high, low, 2, low))
		s.take(movedBlock(100, low, high))
		if r, ok := s.holder(); !ok || r.square != want { // the place of the record
			t.Errorf("rank %d is record %v (found: %v), want %v", rank, r.square, ok, want)
		}
	}
}

// For many equal values at most two records are kept, and the one with the rank is among them,
// wherever it arrives. If a crowded bracket has different values, the search is given up.
func TestSeekersKeepLittleOfAHeap(t *testing.T) {
	column := &exchangedColumn{Column: assess.Column{Name: "x"}, own: ownOf}
	zeros := func(first int64, n int) *microdata.Block { return movedBlock(first, make([]float64, n)...) }
	for _, c := range []struct{ rank, n int64 }{{1, keptInBracket + 5}, {keptInBracket, keptInBracket + 5},
		{keptInBracket + 1, keptInBracket + 5}, {keptInBracket + 5, keptInBracket + 5}, {3, keptInBracket}} {
		s := &seeker{column: column}
		s.bracket.Rank, s.bracket.Count = c.rank, c.n
		for at := int64(0); at < c.n; at += 1 << 16 {
			s.take(zeros(at, int(min(1<<16, c.n-at))))
		}
		r, ok := s.holder()
		if !ok || r.square != float64(c.rank-1) || len(s.records) > 2 {
			t.Errorf("rank %d of %d: record %v (found: %v), %d records kept", c.rank, c.n, r.square, ok, len(s.records))
		}
	}
	tiny := math.SmallestNonzeroFloat64
	if !new(assess.Bracket).Holds(tiny) {
		return // zeros have their own bin
	}
	for _, at := range []int{0, keptInBracket - 1} {
		s := &seeker{column: column}
		s.bracket.Rank, s.bracket.Count = 1, keptInBracket
		xs := make([]float64, keptInBracket)
		xs[at] = tiny
		if s.take(movedBlock(0, xs...)); !s.lost || len(s.records) > 0 {
			t.Errorf("another value at %d: want the seeker lost, %d records are kept", at, len(s.records))
		}
	}
}

// exchangeOf returns an exchange of one column with the blocks added.
func exchangeOf(limit int, blocks ...*microdata.Block) *Exchange {
	x := &Exchange{limit: limit, keepsAll: true,
		columns: []*exchangedColumn{{Column: assess.Column{Name: "x"}, own: ownOf, holders: map[string]movedRecord{}}}}
	for _, b := range blocks {
		x.Add(b)
	}
	return x
}

// The expectation of a record is the sum of its own part, if its value stays, and of the parts that
// others bring. For a group it is the weighted mean, and for all records the mean of the totals.
func TestExchangeExpects(t *testing.T) {
	a, b := movedBlock(0, 2, 4, 8), movedBlock(3, 16, 32)
	a.Reject(1, "x", "for the test")
	b.Columns[0].Moved.Weight[1] = 0.25
	x := exchangeOf(-1, a, b)
	row := func(i int64) (float64, float64, bool) { return x.At("x", "max", 0, "", 0, i) }
	for i, value := range map[int64]float64{0: 2, 2: 8, 3: 16, 4: 32} {
		within := float64(i)
		if i > 2 {
			within = 3 + float64(i-3)
		}
		// stay · E own + moved part; variances add up with the square of stay.
		square, se, ok := row(i)
		if want := 0.5*value + within; !ok || square != want || !(math.Abs(se-math.Sqrt(0.25*4+0.25)) <= 1e-15) {
			t.Errorf("record %d: %v ± %v (known: %v), want %v", i, square, se, ok, want)
		}
	}
	for _, i := range []int64{-1, 1, 5} {
		if _, _, ok := row(i); ok {
			t.Errorf("record %d is known, but it does not exist", i)
		}
	}
	if square, se, ok := x.At("y", "max", 0, "", 0, 0); ok || square != 0 || se != 0 {
		t.Error("column y has a result although no mask moves its values")
	}
	if _, _, ok := x.At("x", "max", 0, "other", 0, 0); ok {
		t.Error("a record of another scope is known")
	}
	group := func(rows ...int64) (float64, float64, bool) {
		return x.Group("x", len(rows), func(i int) (string, int, int64) { return "", 0, rows[i] })
	}
	square, se, ok := group(0, 4)
	if want := (1*(1.0+0) + 0.25*(16+4)) / 1.25; !ok || !(math.Abs(square-want) <= 1e-12) ||
		!(math.Abs(se-math.Sqrt(1.25)) <= 1e-12) {
		t.Errorf("the group of records 0 and 4: %v ± %v, want %v", square, se, want)
	}
	if _, _, ok := group(0, 1); ok {
		t.Error("a group is known although one of its records does not exist")
	}
	if square, se, ok := x.Group("y", 0, nil); ok || square != 0 || se != 0 {
		t.Error("column y has a result although no mask moves its values")
	}
	typical, _, ok := x.Typical("x")
	if want := (2.0 + 4 + 8 + 16 + 32) / 4.25; !ok || !(math.Abs(typical-want) <= 1e-12) {
		t.Errorf("the typical square is %v, want %v", typical, want)
	}
	if _, _, ok := x.Typical("y"); ok {
		t.Error("column y has a result although no mask moves its values")
	}
	if _, _, ok := exchangeOf(-1).Typical("x"); ok {
		t.Error("an exchange without records has a typical square")
	}
}

// The error for the typical record is that of independent estimates, and the deviations from their
// mean are known by batch.
func TestExchangeKnowsItsError(t *testing.T) {
	a, b := movedBlock(0, 1, 1), movedBlock(2, 1)
	a.Columns[0].Moved.Deviations = [][]float32{{1, 2}, {-3, 0}, {2, -2}}
	b.Columns[0].Moved.Deviations = [][]float32{{1}, {0}, {-1}}
	_, se, ok := exchangeOf(-1, a, b).Typical("x")
	// Sums by batch: 4, −3, −1; √(Σd²/m/(m−1)) over a weight of 3.
	if want := math.Sqrt((16+9+1)/3.0/2) / 3; !ok || !(math.Abs(se-want) <= 1e-12) {
		t.Errorf("the standard error is %v, want %v", se, want)
	}
	c := movedBlock(0, 1)
	c.Columns[0].Moved.Deviations = [][]float32{{5}}
	if _, se, _ := exchangeOf(-1, c).Typical("x"); se != 0 {
		t.Errorf("with one batch, the standard error is %v, want 0", se)
	}
}

// At most limit records are kept; with one more, none are kept and only those searched for have
// expectations.
func TestExchangeKeepsSoManyRecords(t *testing.T) {
	for limit, kept := range map[int]bool{-1: true, 5: true, 4: false, 0: false} {
		x := exchangeOf(limit, movedBlock(0, 2, 4, 8), movedBlock(3, 16, 32))
		if x.keepsAll != kept || kept && len(x.places) != 5 || !kept && (len(x.places) > 0 || len(x.columns[0].records) > 0) {
			t.Errorf("5 records, limit %d: all kept: %v, %d places", limit, x.keepsAll, len(x.places))
		}
		x.columns[0].holders["max"] = movedRecord{x: 3, stay: 1, undone: 9}
		square, se, ok := x.At("x", "max", 0, "", 0, 4)
		switch {
		case kept && (!ok || square != 16+4):
			t.Errorf("with all records kept, the square is %v (known: %v), want that of the record", square, ok)
		case !kept && (!ok || square != 3 || se != 2):
			t.Errorf("with the holder of the target: %v ± %v (known: %v), want 3 ± 2", square, se, ok)
		}
		if _, _, ok := x.At("x", "min", 0, "", 0, 99); ok {
			t.Error("a target without a holder has a result")
		}
		if _, _, ok := x.Group("x", 0, nil); ok {
			t.Error("a group without records has a result")
		}
	}
	rejected := movedBlock(0, 1, 2, 3)
	rejected.Reject(0, "x", "for the test")
	if x := exchangeOf(2, rejected); !x.keepsAll || len(x.places) != 2 ||
		!slices.Equal([]int64{x.places[0].row, x.places[1].row}, []int64{1, 2}) {
		t.Errorf("a rejected record is counted: all kept: %v, places %v", x.keepsAll, x.places)
	}
	x := exchangeOf(-1, movedBlock(0, 1))
	x.columns[0].own = func(float64) (float64, float64) { return math.NaN(), 0 }
	if _, _, ok := x.At("x", "max", 0, "", 0, 0); ok {
		t.Error("At has a result although the expected square is NaN")
	}
	var none *Exchange
	if none.Add(movedBlock(0, 1)); none.displace(movedBlock(0, 1)) != nil ||
		none.Join(t.Context(), nil, nil, nil, keystream.Key{}, nil) != nil {
		t.Error("a nil Exchange returns an error")
	}
}
