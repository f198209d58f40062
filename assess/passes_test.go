package assess

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// columnValues are the values of one column by definition, in the order of the records.
type columnValues struct {
	x, y      []float64
	placeX    []int64
	pairs     int64
	unchanged int64
}

// randomBlock returns a block of n records with three columns: skewed values, many zeros with both
// signs, and one constant. With odd set, in some runs some values are null or not finite, some
// records are rejected and some places are left out.
func randomBlock(rng *rand.Rand, first int64, n int, odd bool) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, first, n, 3)
	if odd && rng.IntN(2) == 0 {
		place := first
		for range n {
			b.Places = append(b.Places, place)
			place += 1 + int64(rng.IntN(20)/19)*70 // all of them below the places where weights begin
		}
	}
	spared := rng.IntN(4) * 512 // earlier runs have no such values
	for c := range 3 {
		x := b.Columns[c].Alloc(n, odd)
		for i := range x.Values {
			if odd {
				x.Valid.Set(i)
			}
			switch c {
			case 0:
				x.Values[i] = math.Round(100 * math.Exp(2*rng.NormFloat64()))
			case 1:
				x.Values[i] = math.Copysign(max(0, rng.NormFloat64()), float64(rng.IntN(2))-0.5)
			default:
				x.Values[i] = 1e6
			}
		}
		y := b.Columns[c].Mutable()
		for i := range y.Values {
			if rng.IntN(3) > 0 {
				y.Values[i] = y.Values[i]*0.75 + rng.NormFloat64()
			}
			if odd && i >= spared && rng.IntN(40) == 0 {
				strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[rng.IntN(4)]
				switch rng.IntN(4) {
				case 0:
					x.Values[i], y.Values[i] = strange, strange
				case 1:
					y.Values[i] = strange
				case 2:
					b.Columns[c].Original.Valid.Clear(i)
					y.Valid.Clear(i)
				default:
					y.Valid.Clear(i)
				}
			}
		}
	}
	for i := spared; odd && i < n; i++ {
		if rng.IntN(90) == 0 {
			b.Reject(i, "x", "is beyond what can be masked")
		}
	}
	return b
}

// take adds the values of a block by definition.
func (k *columnValues) take(b *microdata.Block, c int) {
	x, y := b.Columns[c].Original, b.Columns[c].Out()
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	for i := range b.N {
		if b.Rejected(i) {
			continue
		}
		hasX, hasY := x.Valid.Has(i) && finite(x.Values[i]), y.Valid.Has(i) && finite(y.Values[i])
		if hasX {
			k.x, k.placeX = append(k.x, x.Values[i]), append(k.placeX, b.Place(i))
		}
		if hasY {
			k.y = append(k.y, y.Values[i])
		}
		if hasX && hasY {
			k.pairs++
			if x.Values[i] == y.Values[i] {
				k.unchanged++
			}
		}
	}
}

// The counts and kept values of blocks of any size, with and without irregular values, equal their
// definitions: pairs, unchanged values, ranges, extremes in the order of their places, bins, and
// the values at either end.
func TestPassesByDefinition(t *testing.T) {
	const extremes = 7
	for _, sizes := range [][]int{
		{1, 1, 1, 1, 2, 1}, {7, 63, 64, 65}, {511, 512, 513, 1, 1024}, {4095, 4096, 4097, 6000}, {9001, 3, 8192, 20_000},
	} {
		for _, odd := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(61, uint64(len(sizes)*sizes[0])))
			columns := []Column{{Name: "a", Index: 0, Masked: true}, {Name: "b", Index: 1, Masked: true},
				{Name: "c", Index: 2, Masked: true}}
			a := newAccumulator(t, Options{Columns: columns, Key: testKey(t), Extremes: extremes})
			var all [3]columnValues
			first := int64(0)
			for range 3 {
				for _, n := range sizes {
					b := randomBlock(rng, first, n, odd)
					first = b.Place(n-1) + 1
					a.Add(b)
					for c := range all {
						all[c].take(b, c)
					}
				}
			}
			for c := range all {
				checkKept(t, &a.columns[c], &all[c], extremes)
			}
		}
	}
}

func checkKept(t *testing.T, s *columnSums, want *columnValues, extremes int) {
	t.Helper()
	if s.pairs != want.pairs || s.unchanged != want.unchanged {
		t.Errorf("%d pairs, %d unchanged; want %d and %d", s.pairs, s.unchanged, want.pairs, want.unchanged)
	}
	if len(want.y) > 0 && (s.low != slices.Min(want.y) || s.high != slices.Max(want.y)) {
		t.Errorf("released from %v to %v, want %v to %v", s.low, s.high, slices.Min(want.y), slices.Max(want.y))
	}
	order := make([]int, len(want.x))
	for i := range order {
		order[i] = i
	}
	s.bottom.Prune()
	s.top.Prune()
	for sign, got := range map[float64][]int64{-1: places(s, false), +1: places(s, true)} {
		slices.SortStableFunc(order, func(i, j int) int {
			switch a, b := sign*want.x[i], sign*want.x[j]; {
			case a > b:
				return -1
			case a < b:
				return 1
			}
			return int(want.placeX[i] - want.placeX[j])
		})
		for k, place := range got[:min(extremes, len(got))] {
			if want.placeX[order[k]] != place {
				t.Fatalf("extreme %d of sign %v is at %d, want %d", k, sign, place, want.placeX[order[k]])
			}
		}
		if len(got) < min(extremes, len(want.x)) {
			t.Errorf("%d extremes of %d", len(got), len(want.x))
		}
	}
	bins := func(values []float64) map[uint64]uint64 {
		m := map[uint64]uint64{}
		for _, v := range values {
			m[math.Float64bits(v)>>41]++
		}
		return m
	}
	for side, of := range map[*tally.Tally][]float64{&s.counts.X: want.x, &s.counts.Y: want.y} {
		left := bins(of)
		side.Each(func(b tally.Bin) bool {
			if left[b.Code] != b.Count {
				t.Fatalf("bin %x holds %d, want %d", b.Code, b.Count, left[b.Code])
			}
			delete(left, b.Code)
			return true
		})
		if len(left) > 0 || side.N != uint64(len(of)) {
			t.Errorf("%d bins missing, %d values of %d", len(left), side.N, len(of))
		}
	}
	// The ends, from values added one by one: either no zeros belong to them, or all of them, with
	// either sign.
	single := tally.NewCounts(3)
	none := microdata.Vector{Values: []float64{0}, Valid: microdata.Bitmap{0}}
	for i := range want.x {
		single.Add(&microdata.Block{N: 1, First: int64(i)}, microdata.Vector{Values: want.x[i : i+1]}, none, nil)
		single.AddEnds(want.x[i : i+1])
		single.BoundEnds()
	}
	for i := range want.y {
		single.Add(&microdata.Block{N: 1, First: int64(i)}, none, microdata.Vector{Values: want.y[i : i+1]}, nil)
	}
	var got, one wire.Encoder
	s.counts.Encode(&got)
	single.Encode(&one)
	if !bytes.Equal(got, one) {
		t.Error("the counts differ from those of the values counted singly")
	}
}

func places(s *columnSums, top bool) (list []int64) {
	entries := s.bottom.Entries
	if top {
		entries = s.top.Entries
	}
	for _, e := range entries {
		list = append(list, e.Row)
	}
	return list
}

// A difference of 0 with either sign counts, the smallest positive one does not.
func TestNone(t *testing.T) {
	least := math.SmallestNonzeroFloat64
	for d, want := range map[float64]int{0: 1, least: 0, -least: 0, 1: 0, -1: 0, math.MaxFloat64: 0, -math.MaxFloat64: 0,
		math.Inf(1): 0, math.Inf(-1): 0} {
		if got := none(d); got != want {
			t.Errorf("%v gives %d", d, got)
		}
	}
	if none(math.Copysign(0, -1)) != 1 || none(math.NaN()) != 0 {
		t.Error("−0 must count, NaN must not")
	}
}

// Every value beyond a bound marks its own piece of the run, for runs of any length.
func TestPiecesOfARun(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 100, cell.Run - 1, cell.Run} {
		x, y, u, v := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for at := range n {
			for _, side := range [][]float64{x, y} {
				for _, out := range []float64{-2, 2} {
					side[at] = out
					for _, got := range []runSums{plain(x, y, -1, 1, -1, 1), centred(u, v, x, y, 1, 1, -1, 1, -1, 1)} {
						if got.pieces != 1<<(at/8) || !got.beyond || got.same != n-1 {
							t.Fatalf("%d of %d: pieces %x, %d the same", at, n, got.pieces, got.same)
						}
					}
					side[at] = 0
				}
			}
		}
	}
}
