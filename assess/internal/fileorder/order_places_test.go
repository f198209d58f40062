package fileorder

import (
	"bytes"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Which stretches a thinned level keeps is a function of scope, stream and place that must not be
// changed: data that an earlier version stored are merged with new ones. The numbers of a stream
// are those of the generator SplitMix64.
func TestHashOfAStretchIsThatOfSplitMix64(t *testing.T) {
	mix := func(z uint64) uint64 {
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb
		return z ^ (z >> 31)
	}
	for _, stream := range []int32{0, 1, 70} {
		for _, scope := range []string{"", "survey"} {
			state := mix(uint64(stream) + 1)
			if scope != "" {
				h := fnv.New64a()
				h.Write([]byte(scope))
				state += mix(h.Sum64())
			}
			for index := range int64(5) {
				state += 0x9e3779b97f4a7c15
				if got := (stretchKey{place.Origin{Scope: scope, Stream: stream}, index}).hash(); got != mix(state) {
					t.Errorf("stretch %d of stream %d of %q: %x, want %x", index, stream, scope, got, mix(state))
				}
			}
		}
	}
}

// If records have places with gaps between them, each bin contains the records at its places,
// wherever the blocks are cut. Places without gaps equal those derived from a first record. An
// order that inherits a limit keeps no more than the order that it is merged into.
func TestOrderOfPlaces(t *testing.T) {
	const n = 3000
	rng := rand.New(rand.NewPCG(3, 8))
	x, y := make([]float64, n), make([]float64, n)
	dense, gaps := make([]int64, n), make([]int64, n)
	for i := range x {
		x[i] = math.Exp(rng.NormFloat64())
		y[i] = x[i] + rng.NormFloat64()
		dense[i] = int64(i) + 70
		if i > 0 {
			gaps[i] = gaps[i-1] + 1 + int64(rng.IntN(40))
		}
	}
	of := func(places []int64, first int64, limit, step int) *Order {
		o := New(limit)
		for from := 0; from < n; from += step {
			to := min(n, from+step)
			b := &microdata.Block{First: first + int64(from), N: to - from}
			if places != nil {
				b.First, b.Places = -1, places[from:to]
			}
			o.Add(&place.Origin{Scope: "s", Stream: 2}, b, microdata.Vector{Values: x[from:to]},
				microdata.Vector{Values: y[from:to]}, nil)
		}
		return o
	}
	for _, limit := range []int{64, 512, 4096} {
		if !bytes.Equal(encodedOrder(of(dense, 0, limit, 500)), encodedOrder(of(nil, 70, limit, 500))) {
			t.Errorf("at most %d bins: the result differs if places without gaps are listed", limit)
		}
		single := of(gaps, 0, limit, 1)
		for _, step := range []int{7, 500, n} {
			got := of(gaps, 0, limit, step)
			if len(got.levels) != len(single.levels) {
				t.Fatalf("at most %d bins, blocks of %d: %d levels, want %d", limit, step, len(got.levels), len(single.levels))
			}
			for l := range got.levels {
				if got.levels[l].thin != single.levels[l].thin || len(got.levels[l].stretches) != len(single.levels[l].stretches) {
					t.Fatalf("at most %d bins, blocks of %d: level %d has different stretches", limit, step, l)
				}
				for key, bins := range single.levels[l].stretches {
					if !slices.EqualFunc(got.levels[l].stretches[key], bins, func(a, b orderBin) bool {
						return a.n == b.n && math.Abs(a.x-b.x) < 1e-9 && math.Abs(a.y-b.y) < 1e-9
					}) {
						t.Fatalf("at most %d bins, blocks of %d: level %d has different bins", limit, step, l)
					}
				}
			}
		}
		// An inheriting order takes the rest of a file; both together give the result of the whole
		// file.
		heir := New(1)
		heir.Inherit(single)
		for l := range heir.levels {
			if heir.levels[l].thin != single.levels[l].thin || len(heir.levels[l].stretches) > 0 {
				t.Errorf("level %d is inherited with %d stretches", l, len(heir.levels[l].stretches))
			}
		}
		if heir.limit != limit || len(heir.levels) != len(single.levels) {
			t.Errorf("at most %d bins are inherited, in %d levels", heir.limit, len(heir.levels))
		}
	}
}
