package linkage

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

var missing = math.NaN()

func link(t *testing.T, targets, released Keys, o Options) *Result {
	t.Helper()
	r, err := Link(t.Context(), targets, released, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func numeric(columns ...[]float64) Keys { return Keys{Numeric: columns} }

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
}

func TestLinkByHand(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		targets, released Keys
		o                 Options
		linked, nearest   []float64
		ties              []int
		rank              []float64
		constant          []int
	}{
		// Released SD of 0, 2, 4 is 2.
		"standardised": {numeric([]float64{0, 3, 5}), numeric([]float64{0, 2, 4}), Options{},
			[]float64{1, 0.5, 1}, []float64{0, 0.5, 0.5}, []int{1, 2, 1}, []float64{1, 1.5, 1}, nil},
		// SDs² are 20/3. Squares to the four records: 5, 1, 13, 41; 10, 26, 58, …;
		// 90, 74, 74, 90 twice.
		"two keys": {numeric([]float64{1, 1, 9, 9}, []float64{4, 9, 9, 9}),
			numeric([]float64{0, 2, 4, 6}, []float64{6, 4, 2, 0}), Options{Truth: []int32{0, 0, 0, -1}},
			[]float64{0, 1, 0, 0},
			[]float64{math.Sqrt(3.0 / 20), math.Sqrt(30.0 / 20), math.Sqrt(74 * 3.0 / 20), math.Sqrt(74 * 3.0 / 20)},
			[]int{1, 1, 2, 2}, []float64{2, 1, 3.5, 0}, nil},
		"three tied": {numeric([]float64{1}), numeric([]float64{1, 1, 1, 5}), Options{},
			[]float64{1.0 / 3}, []float64{0}, []int{3}, []float64{2}, nil},
		"not in the release": {numeric([]float64{1, 9}), numeric([]float64{1, 1, 1, 5}), Options{Truth: []int32{-1, 3}},
			[]float64{0, 1}, []float64{0, 2}, []int{3, 1}, []float64{0, 1}, nil},
		"one record": {numeric([]float64{7}), numeric([]float64{5}), Options{},
			[]float64{1}, []float64{0}, []int{1}, []float64{1}, []int{0}},
		"one key constant": {numeric([]float64{7, 8}, []float64{0, 2}), numeric([]float64{5, 5}, []float64{2, 0}), Options{},
			[]float64{0, 0}, []float64{0, 0}, []int{1, 1}, []float64{2, 2}, []int{0}},
		"all constant": {numeric([]float64{7, 8}), numeric([]float64{5, 5}), Options{},
			[]float64{0.5, 0.5}, []float64{0, 0}, []int{2, 2}, []float64{1.5, 1.5}, []int{0}},
		// Ranges 10 and 1. The category that record 2 lacks counts ½.
		"gower": {Keys{[][]float64{{0, 10, missing}}, [][]int32{{0, 1, 1}}},
			Keys{[][]float64{{4, 10, 2}}, [][]int32{{0, 1, -1}}}, Options{Distance: Gower},
			[]float64{1, 1, 0}, []float64{0.2, 0, 0}, []int{1, 1, 1}, []float64{1, 1, 2}, nil},
		"nothing to compare": {numeric([]float64{missing, 1}), numeric([]float64{1, 2}), Options{Distance: Gower},
			[]float64{0.5, 0}, []float64{0, 0}, []int{2, 1}, []float64{1.5, 2}, nil},
		"categories alone": {Keys{nil, [][]int32{{3, 0, 2}, {1, 1, -1}}}, Keys{nil, [][]int32{{3, 3, 2}, {0, 1, 1}}},
			Options{Distance: Gower},
			[]float64{0, 1.0 / 2, 1}, []float64{0, 0.5, 0}, []int{1, 2, 1}, []float64{2.5, 1.5, 1}, nil},
		// The target of rank 1.5 of 4 is as far from ranks 1 and 2.
		"ranks": {numeric([]float64{10, 10, 30, 40}), numeric([]float64{-1, 0, 7, 9e9}), Options{Distance: Ranks},
			[]float64{0.5, 0.5, 1, 1}, []float64{0.125, 0.125, 0, 0}, []int{2, 2, 1, 1}, []float64{1.5, 1.5, 1, 1}, nil},
		// 20 is third of the reference's four, so 0.75 of the way; the release has 8.
		"ranks among more": {numeric([]float64{20}), numeric([]float64{1, 2, 3, 4, 5, 6, 7, 8}),
			Options{Distance: Ranks, Truth: []int32{5}, Reference: &Keys{Numeric: [][]float64{{5, 30, 20, 10}}}},
			[]float64{1}, []float64{0}, []int{1}, []float64{1}, nil},
		// Squares of differences of 10²⁰⁰ SDs are beyond float64.
		"huge": {numeric([]float64{1e308, -1e308, 1e300}), numeric([]float64{1.5e308, -1e308, 0}), Options{},
			[]float64{1, 1, 1}, nil, []int{1, 1, 1}, []float64{1, 1, 1}, nil},
		"tiny": {numeric([]float64{1e-310, 2e-310}), numeric([]float64{1e-310, 3e-310}), Options{},
			[]float64{1, 0.5}, nil, []int{1, 2}, []float64{1, 1.5}, nil},
		"beyond comparison": {numeric([]float64{1e300, 1}), numeric([]float64{1, 2}), Options{},
			[]float64{0.5, 0}, []float64{inf, 0}, []int{2, 1}, []float64{1.5, 2}, nil},
		"no targets": {numeric([]float64{}), numeric([]float64{1, 2}), Options{}, []float64{}, []float64{}, []int{},
			[]float64{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range []method{byTree, byBlocks} {
				o := c.o
				o.Ranked, o.method = true, m
				r := link(t, c.targets, c.released, o)
				sum := 0.0
				for i, share := range c.linked {
					sum += share
					if !near(r.Linked[i], share) {
						t.Errorf("linked[%d] = %v, want %v", i, r.Linked[i], share)
					}
				}
				for i, d := range c.nearest {
					if !near(r.Nearest[i], d) {
						t.Errorf("nearest[%d] = %v, want %v", i, r.Nearest[i], d)
					}
				}
				if c.ties != nil && !reflect.DeepEqual(r.Ties, c.ties) {
					t.Errorf("ties %v, want %v", r.Ties, c.ties)
				}
				if c.rank != nil && !reflect.DeepEqual(r.Rank, c.rank) {
					t.Errorf("rank %v, want %v", r.Rank, c.rank)
				}
				if !reflect.DeepEqual(r.Constant, c.constant) {
					t.Errorf("constant %v, want %v", r.Constant, c.constant)
				}
				if !near(r.ExpectedCorrect, sum) || !near(r.CorrectShare*float64(max(1, len(c.linked))), sum) {
					t.Errorf("expected correct %v, share %v, want sum %v", r.ExpectedCorrect, r.CorrectShare, sum)
				}
			}
		})
	}
}

// lattice has many ties, equal records, missing values and categories.
func lattice(random *rand.Rand, n, p, categories int, gaps bool) Keys {
	var k Keys
	for range p {
		x := make([]float64, n)
		for i := range x {
			if x[i] = float64(random.IntN(5)); gaps && random.IntN(9) == 0 {
				x[i] = missing
			}
		}
		k.Numeric = append(k.Numeric, x)
	}
	for range categories {
		x := make([]int32, n)
		for i := range x {
			if x[i] = int32(random.IntN(4)); gaps && random.IntN(9) == 0 {
				x[i] = -1
			}
		}
		k.Categorical = append(k.Categorical, x)
	}
	return k
}

func continuous(random *rand.Rand, n, p int) Keys {
	var k Keys
	for range p {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(2 * random.NormFloat64())
		}
		k.Numeric = append(k.Numeric, x)
	}
	return k
}

// Tree and blocks are compared with all pairs, by the definition of a sum, bit by bit.
func TestMethodsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, c := range map[string]struct {
		targets, released Keys
		distance          Distance
	}{
		"lattice":            {lattice(random, 200, 3, 0, false), lattice(random, 2000, 3, 0, false), Standardised},
		"lattice with gaps":  {lattice(random, 200, 3, 0, true), lattice(random, 2000, 3, 0, true), Standardised},
		"lattice, gower":     {lattice(random, 200, 3, 0, false), lattice(random, 2000, 3, 0, false), Gower},
		"mixed with gaps":    {lattice(random, 200, 2, 2, true), lattice(random, 2000, 2, 2, true), Gower},
		"categories":         {lattice(random, 200, 0, 3, false), lattice(random, 2000, 0, 3, false), Gower},
		"lattice, ranks":     {lattice(random, 200, 3, 0, true), lattice(random, 2000, 3, 0, true), Ranks},
		"lattice, distorted": {lattice(random, 200, 4, 0, false), lattice(random, 2000, 4, 0, false), Mahalanobis},
		"one key":            {continuous(random, 200, 1), continuous(random, 2000, 1), Standardised},
		"four keys":          {continuous(random, 200, 4), continuous(random, 2000, 4), Standardised},
		"five keys":          {continuous(random, 200, 5), continuous(random, 2000, 5), Standardised},
		"eleven keys":        {continuous(random, 200, 11), continuous(random, 2000, 11), Standardised},
		"ranks":              {continuous(random, 200, 3), continuous(random, 2000, 3), Ranks},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Distance: c.distance, Ranked: true, Truth: make([]int32, c.targets.Len())}
			for i := range o.Truth {
				o.Truth[i] = int32(random.IntN(c.released.Len()+1)) - 1
			}
			want := everyPair(t, c.targets, c.released, o)
			for _, m := range methods {
				o.method = m.method
				r := link(t, c.targets, c.released, o)
				for _, of := range []struct {
					name      string
					got, want any
				}{
					{"linked", r.Linked, want.Linked}, {"ties", r.Ties, want.Ties},
					{"nearest", r.Nearest, want.Nearest}, {"rank", r.Rank, want.Rank},
				} {
					if !reflect.DeepEqual(of.got, of.want) {
						t.Errorf("%s: %s differs from every pair's", m.name, of.name)
					}
				}
				for i, own := range r.Own {
					switch known := o.Truth[i] >= 0; {
					case known == math.IsNaN(own):
						t.Errorf("%s: target %d has record %d, and its own distance is %v", m.name, i, o.Truth[i], own)
					case known && (own < r.Nearest[i] || (own == r.Nearest[i]) != (r.Linked[i] > 0)):
						t.Errorf("%s: target %d has its record at %v, the nearest at %v, and is linked by %v", m.name, i, own,
							r.Nearest[i], r.Linked[i])
					}
				}
			}
		})
	}
}

func everyPair(t *testing.T, targets, released Keys, o Options) *Result {
	t.Helper()
	s, err := newSpace(targets, released, &o)
	if err != nil {
		t.Fatal(err)
	}
	m := targets.Len()
	r := &Result{Linked: make([]float64, m), Ties: make([]int, m), Nearest: make([]float64, m), Rank: make([]float64, m)}
	for i := range m {
		best, ties, nearer, level, own := math.Inf(1), 0, 0, 0, s.own(i, &o)
		for k := range released.Len() {
			d := s.between(s.target(i), s.record(k))
			if d < best {
				best, ties = d, 0
			}
			if d == best {
				ties++
			}
			if d < own {
				nearer++
			} else if d == own {
				level++
			}
		}
		r.Ties[i], r.Nearest[i] = ties, s.measured(best)
		if o.Truth[i] >= 0 {
			if own == best {
				r.Linked[i] = 1 / float64(ties)
			}
			r.Rank[i] = float64(nearer) + float64(level+1)/2
		}
	}
	return r
}

// Any order of the file gives the same shares and totals, bit by bit.
func TestOrderOfTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const n = 250
	for name, c := range map[string]struct {
		targets, released Keys
		distance          Distance
	}{
		"standardised": {lattice(random, n, 3, 0, true), lattice(random, n, 3, 0, true), Standardised},
		"mahalanobis":  {lattice(random, n, 3, 0, false), lattice(random, n, 3, 0, false), Mahalanobis},
		"skewed":       {continuous(random, n, 3), continuous(random, n, 3), Mahalanobis},
		"gower":        {lattice(random, n, 2, 1, true), lattice(random, n, 2, 1, true), Gower},
		"ranks":        {lattice(random, n, 3, 0, true), lattice(random, n, 3, 0, true), Ranks},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Distance: c.distance, Ranked: true, OneToOne: true}
			want := link(t, c.targets, c.released, o)
			for range 3 {
				of, to := random.Perm(n), random.Perm(n)
				o.Truth = make([]int32, n)
				place := make([]int32, n)
				for at, k := range to {
					place[k] = int32(at)
				}
				for at, i := range of {
					o.Truth[at] = place[i]
				}
				r := link(t, ordered(c.targets, of), ordered(c.released, to), o)
				if r.ExpectedCorrect != want.ExpectedCorrect || *r.OneToOneCorrect != *want.OneToOneCorrect {
					t.Errorf("%v and %v one to one, another order has %v and %v", want.ExpectedCorrect, *want.OneToOneCorrect,
						r.ExpectedCorrect, *r.OneToOneCorrect)
				}
				for at, i := range of {
					if r.Linked[at] != want.Linked[i] || r.Ties[at] != want.Ties[i] || r.Nearest[at] != want.Nearest[i] ||
						r.Rank[at] != want.Rank[i] {
						t.Fatalf("target %d: %v of %d at %v, place %v; in another order %v of %d at %v, place %v", i,
							want.Linked[i], want.Ties[i], want.Nearest[i], want.Rank[i], r.Linked[at], r.Ties[at], r.Nearest[at], r.Rank[at])
					}
				}
			}
		})
	}
}

func ordered(k Keys, by []int) (o Keys) {
	for _, column := range k.Numeric {
		x := make([]float64, len(by))
		for at, i := range by {
			x[at] = column[i]
		}
		o.Numeric = append(o.Numeric, x)
	}
	for _, column := range k.Categorical {
		x := make([]int32, len(by))
		for at, i := range by {
			x[at] = column[i]
		}
		o.Categorical = append(o.Categorical, x)
	}
	return o
}

func TestNumberOfGoroutines(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	targets, released := lattice(random, 200, 4, 0, true), lattice(random, 12_000, 4, 0, true)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	o := Options{Ranked: true, method: byTree}
	want := link(t, targets, released, o)
	for _, n := range []int{2, 7} {
		runtime.GOMAXPROCS(n)
		if r := link(t, targets, released, o); !reflect.DeepEqual(r, want) {
			t.Errorf("%d goroutines give another result", n)
		}
	}
}

// The input is not changed, and Mahalanobis distances are those of any other
// axes: keys that are sums and differences of the keys give the same links.
func TestMahalanobisDoesNotDependOnTheAxes(t *testing.T) {
	targets, released := noisy(400, 400, 2, 0.5)
	turned := func(k Keys) Keys {
		var x, y []float64
		for i, v := range k.Numeric[0] {
			x, y = append(x, 3*v+2*k.Numeric[1][i]), append(y, 1e6*(v-k.Numeric[1][i]))
		}
		return numeric(x, y)
	}
	for _, c := range []Covariance{OfDifferences, OfReleased} {
		o := Options{Distance: Mahalanobis, Covariance: c}
		a, b := link(t, targets, released, o), link(t, turned(targets), turned(released), o)
		if a.ExpectedCorrect != b.ExpectedCorrect || a.ExpectedCorrect == 0 {
			t.Errorf("%v correct, by other axes %v", a.ExpectedCorrect, b.ExpectedCorrect)
		}
		for i, d := range a.Nearest {
			if !(math.Abs(d-b.Nearest[i]) <= 1e-9) {
				t.Fatalf("nearest[%d] is %v away, by other axes %v", i, d, b.Nearest[i])
			}
		}
	}
	// By hand: the covariance of (±1, ±2) is diagonal, 4/3 and 16/3, and (1, 0) is
	// (0, 2) away from two of them.
	r := link(t, numeric([]float64{1}, []float64{0}), numeric([]float64{-1, -1, 1, 1}, []float64{-2, 2, -2, 2}),
		Options{Distance: Mahalanobis, Covariance: OfReleased, Truth: []int32{2}})
	if !near(r.Nearest[0], math.Sqrt(3.0/4)) || r.Ties[0] != 2 {
		t.Errorf("nearest %v with %d ties, want √(4·3/16) and 2", r.Nearest[0], r.Ties[0])
	}
}

func TestMahalanobisOfSingularMatrices(t *testing.T) {
	targets, released := noisy(200, 200, 2, 0.5)
	total := func(k Keys) []float64 {
		x := make([]float64, k.Len())
		for i := range x {
			x[i] = k.Numeric[0][i] + k.Numeric[1][i]
		}
		return x
	}
	o := Options{Distance: Mahalanobis, Covariance: OfReleased}
	two := link(t, targets, released, o)
	three := link(t, numeric(targets.Numeric[0], targets.Numeric[1], total(targets)),
		numeric(released.Numeric[0], released.Numeric[1], total(released)), o)
	if two.ExpectedCorrect != three.ExpectedCorrect {
		t.Errorf("the sum of two keys as a third: %v correct instead of %v", three.ExpectedCorrect, two.ExpectedCorrect)
	}
	// A key that is not masked finds all targets, for any noise of the other key.
	o.Covariance = OfDifferences
	if r := link(t, targets, numeric(targets.Numeric[0], released.Numeric[1]), o); r.ExpectedCorrect != 200 {
		t.Errorf("an unmasked key finds %v of 200", r.ExpectedCorrect)
	}
	if r := link(t, targets, targets, o); r.ExpectedCorrect != 200 {
		t.Errorf("unmasked keys find %v of 200", r.ExpectedCorrect)
	}
}

// Swapping exchanges values of near ranks, and a change of unit or a monotone recoding
// does not change ranks.
func TestRanksOfRecodedData(t *testing.T) {
	targets, released := noisy(500, 500, 3, 0)
	for _, column := range released.Numeric {
		for i, v := range column {
			column[i] = math.Exp(v) * 1e3
		}
	}
	if r := link(t, targets, released, Options{Distance: Ranks}); r.ExpectedCorrect != 500 {
		t.Errorf("ranks find %v of 500", r.ExpectedCorrect)
	}
	if r := link(t, targets, released, Options{}); r.ExpectedCorrect > 50 {
		t.Errorf("values find %v of 500", r.ExpectedCorrect)
	}
}

// A key that no target has cannot be used for ranks: it is omitted, first or last, and
// the distance is the one of the other keys.
func TestRanksAmongNobody(t *testing.T) {
	none, x, y := []float64{missing, missing, missing}, []float64{1, 2, 4}, []float64{5, 1, 3}
	want := link(t, numeric(x), numeric(x), Options{Distance: Ranks, Ranked: true})
	for at, c := range [][2]Keys{{numeric(none, x), numeric(y, x)}, {numeric(x, none), numeric(x, y)}} {
		r := link(t, c[0], c[1], Options{Distance: Ranks, Ranked: true})
		if !reflect.DeepEqual(r.Constant, []int{at}) || !reflect.DeepEqual(r.Nearest, want.Nearest) ||
			!reflect.DeepEqual(r.Rank, want.Rank) {
			t.Errorf("key %d of nobody: %v, without it %v", at, r, want)
		}
	}
	r := link(t, numeric(none), numeric(y), Options{Distance: Ranks, Ranked: true})
	if !reflect.DeepEqual(r.Ties, []int{3, 3, 3}) || !reflect.DeepEqual(r.Nearest, []float64{0, 0, 0}) {
		t.Errorf("by no key at all: %v", r)
	}
}

func TestErrors(t *testing.T) {
	two, three := numeric([]float64{1, 2}), numeric([]float64{1, 2, 4})
	many := numeric(make([]float64, asked.OneToOne+1))
	for want, c := range map[string]struct {
		targets, released Keys
		o                 Options
	}{
		"keys: must be at least one, got none": {
			Keys{}, Keys{}, Options{}},
		"released: must have at least one record, got none": {
			numeric(nil), numeric(nil), Options{}},
		"targets: must have the keys of the release, 2 numeric and 0 categorical, got 1 and 0": {
			two, numeric([]float64{1}, []float64{2}), Options{}},
		"released.numeric[1]: must have 2 records like the other keys, got 1": {
			two, numeric([]float64{1, 2}, []float64{2}), Options{}},
		"released.categorical[0]: must have 2 records like the other keys, got 1": {
			two, Keys{two.Numeric, [][]int32{{1}}}, Options{}},
		"targets.numeric[0]: must be finite or missing, record 2 is infinite": {
			numeric([]float64{1, math.Inf(-1)}), two, Options{}},
		"targets.categorical[0]: must be −1 or a code from 0, record 1 is neither": {
			Keys{nil, [][]int32{{-2}}}, Keys{nil, [][]int32{{1}}}, Options{Distance: Gower}},
		"keys: the standardised distance compares numeric keys only, got 1 categorical: use gower": {
			Keys{nil, [][]int32{{1}}}, Keys{nil, [][]int32{{1}}}, Options{}},
		"truth: must say which released record is each target's where there are more targets than records, got 3 and 2": {
			three, two, Options{}},
		"truth: must have one entry for each of 2 targets, got 1": {
			two, three, Options{Truth: []int32{1}}},
		"truth[1]: must be −1 or the index of one of 3 released records, got 3": {
			two, three, Options{Truth: []int32{-1, 3}}},
		"one-to-one linkage: too many records: at most 5000 targets and released records, got 5001 and 5001": {
			many, many, Options{OneToOne: true}},
		"mahalanobis: the covariance of the differences of 1 keys needs more than 1 targets that are in the release, got 1": {
			two, three, Options{Distance: Mahalanobis, Truth: []int32{-1, 0}}},
		errMissing.Error():               {numeric([]float64{missing, 1}), two, Options{Distance: Mahalanobis}},
		"distance: unknown, Distance(9)": {two, two, Options{Distance: 9}},
		"reference: must have the keys of the release, 1 numeric and 0 categorical, got 0 and 0": {
			two, two, Options{Distance: Ranks, Reference: &Keys{}}},
	} {
		if _, err := Link(t.Context(), c.targets, c.released, c.o); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Link(t.Context(), many, many, Options{OneToOne: true}); !errors.Is(err, ErrTooManyRecords) {
		t.Errorf("%v is not ErrTooManyRecords", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, o := range []Options{{}, {OneToOne: true}} {
		if _, err := Link(ended, three, three, o); !errors.Is(err, context.Canceled) {
			t.Errorf("of an ended context: %v", err)
		}
	}
}

func TestJSON(t *testing.T) {
	r := link(t, numeric([]float64{1, 2}), numeric([]float64{1, 2}), Options{OneToOne: true})
	b, err := json.Marshal(r)
	if want := `{"distance":"standardised","expected_correct":2,"correct_share":1,"one_to_one_correct":2}`; err != nil ||
		string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	var d Distance
	for _, name := range distances {
		if err := d.UnmarshalText([]byte(name)); err != nil || d.String() != name {
			t.Errorf("%s reads as %v, %v", name, d, err)
		}
	}
	if d.UnmarshalText([]byte("euclid")) == nil {
		t.Error("euclid is a distance")
	}
}

// Records that lack a key are not nearer to targets because of this: if a tenth of each
// key is missing, the targets and records that have both keys are linked as without
// gaps. With the key omitted from the sum, almost no target would be found.
func TestIncompleteRecordsHideNobody(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	const n = 3000
	original, released := continuous(random, n, 2), Keys{}
	for j, column := range original.Numeric {
		released.Numeric = append(released.Numeric, make([]float64, n))
		for i, v := range column {
			v = math.Log(v)
			column[i], released.Numeric[j][i] = v, v+0.1*random.NormFloat64()
		}
	}
	for _, distance := range []Distance{Standardised, Gower, Ranks} {
		whole := link(t, original, released, Options{Distance: distance})
		x, y := numeric(slices.Clone(original.Numeric[0]), slices.Clone(original.Numeric[1])),
			numeric(slices.Clone(released.Numeric[0]), slices.Clone(released.Numeric[1]))
		for i := range n {
			for j := range 2 {
				if random.IntN(10) == 0 {
					x.Numeric[j][i], y.Numeric[j][i] = missing, missing
				}
			}
		}
		gaps := link(t, x, y, Options{Distance: distance})
		before, after := 0.0, 0.0
		for i := range n {
			if !math.IsNaN(x.Numeric[0][i]) && !math.IsNaN(x.Numeric[1][i]) {
				before += whole.Linked[i]
				after += gaps.Linked[i]
			}
		}
		// There are a fifth fewer complete records to confuse a target with, so
		// slightly more targets are found; fewer only if incomplete records are near by
		// chance.
		if before < 50 || after < 0.95*before || after > 1.4*before {
			t.Errorf("%v: %v of the complete records are found, %v without gaps", distance, after, before)
		}
	}
}
