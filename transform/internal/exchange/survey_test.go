package exchange

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// sortSpread sorts correctly for any words: uniform, all equal, few, two distant clusters, or so
// close that a bucket has many.
func TestSortSpread(t *testing.T) {
	type record struct {
		word uint64
		tie  int
	}
	r := rand.New(rand.NewPCG(1, 2))
	words := map[string]func(i int) uint64{
		"even":       func(int) uint64 { return r.Uint64() },
		"equal":      func(int) uint64 { return math.MaxUint64 },
		"rows":       func(i int) uint64 { return uint64(999_999 - i) },
		"few values": func(int) uint64 { return r.Uint64N(3) },
		"two heaps":  func(i int) uint64 { return uint64(i%2)*math.MaxUint64 ^ r.Uint64N(1000) },
		"powers":     func(int) uint64 { return 1 << r.UintN(64) },
	}
	compare := func(a, b record) int { return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(a.tie, b.tie)) }
	for name, word := range words {
		for _, n := range []int{0, 1, 2, 63, 64, 65, 66, 1000, 5000} {
			list := make([]record, n)
			for i := range list {
				list[i] = record{word(i), r.Int()}
			}
			want := slices.Clone(list)
			slices.SortFunc(want, compare)
			if got := sortSpread(list, func(x record) uint64 { return x.word }, compare); !slices.Equal(got, want) {
				t.Errorf("%s, %d records: not in order", name, n)
			}
		}
	}
}

// Blocks prepared concurrently in any order give the same survey as blocks that are not. Masks
// before the swap are omitted from the survey, and only from it, if the swap does not use their
// columns.
func TestPreparedSurveysReleaseTheSame(t *testing.T) {
	columns := append(swapData(4000, 7, 20, 3), floats(0, make([]float64, 4000)...))
	setup := testSetup(t, columns...)
	noise := func(name, column string) core.Spec {
		m := mask(&record.Noise{Columns: []string{column}, SD: &core.Amount{Value: 2}})
		m.Name = name
		return m
	}
	for name, masks := range map[string][]core.Spec{
		"noise on what is moved":      {noise("a", "a"), mask(swapMask("random", "dataset", 0.7))},
		"and on a column that is not": {noise("a", "e"), noise("b", "a"), mask(swapMask("random", "dataset", 0.7))},
		"on that one behind it too":   {noise("b", "e"), mask(swapMask("unique", "dataset", 1)), noise("c", "e")},
		"on a key, which it looks at": {noise("k", "b"), mask(swapMask("random", "dataset", 0.7))},
		"on the attribute and a clip": {noise("k", "d"), mask(&record.Round{Columns: []string{"d"}, Base: ptr(2.0)}),
			mask(swapMask("random", "dataset", 0.7))},
		"one that reads what is masked": {mask(&record.Round{Columns: []string{"a"}, Base: ptr(5.0)}),
			mask(swapMask("random", "dataset", 0.7))},
	} {
		one, parts := chain(t, setup, masks...), chain(t, setup, masks...)
		surveyed(t, one, 4000, columns...)
		want := apply(t, one, block(0, 4000, columns...))

		const size = 500
		prepared := make([]core.Prepared, 4000/size)
		var wg sync.WaitGroup
		for i := range prepared {
			wg.Go(func() {
				p, err := parts.Prepare(block(i*size, (i+1)*size, columns...))
				if err != nil {
					t.Error(err)
				}
				prepared[i] = p
			})
		}
		wg.Wait()
		for _, p := range prepared {
			if err := parts.SurveyPrepared(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := parts.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		for i := range prepared {
			got := apply(t, parts, block(i*size, (i+1)*size, columns...))
			for k := range columns {
				if !slices.Equal(got.Columns[k].Out().Values[:size], want.Columns[k].Out().Values[i*size:(i+1)*size]) {
					t.Errorf("%s: column %d of block %d", name, k, i)
				}
			}
		}
	}
}

// The survey applies masks before a swap that change columns used by it, directly or through
// another mask.
func TestWhatASurveyNeedNotSee(t *testing.T) {
	columns := append(swapData(10, 7, 2, 3), floats(0, make([]float64, 10)...))
	setup := testSetup(t, columns...)
	noise := func(name string, columns ...string) core.Spec {
		m := mask(&record.Noise{Columns: columns, SD: &core.Amount{Value: 2}})
		m.Name = name
		return m
	}
	swap := mask(swapMask("random", "dataset", 0.7))
	for i, c := range []struct {
		masks []core.Spec
		want  []bool
	}{
		{[]core.Spec{noise("1", "e"), noise("2", "a"), noise("3", "b"), noise("4", "d"), swap, noise("5", "e")},
			[]bool{true, false, false, false, false}},
		{[]core.Spec{noise("1", "a"), noise("2", "e"), noise("3", "e"), swap}, []bool{false, true, true, false}},
		{[]core.Spec{noise("1", "e"), noise("2", "e", "a"), swap}, []bool{false, false, false}}, // all columns of one mask count
		{[]core.Spec{noise("1", "e"), noise("2", "a")}, []bool{}},
	} {
		if got := chain(t, setup, c.masks...).Unseen; !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}

// A swap over the data set refuses to keep more than the memory of the process allows, in one
// survey and in several.
func TestSwapsFitInMemory(t *testing.T) {
	columns := swapData(400, 7, 2, 3)
	swap := mask(swapMask("random", "dataset", 1))
	const need = bytesOfPasses + 400*(bytesKept+bytesKeptNumber)
	for room, fits := range map[int64]bool{need: true, need - 1: false} {
		of := func() *core.Chain {
			c := chain(t, testSetup(t, columns...), swap)
			c.Room = func() int64 { return room }
			return c
		}
		whole, first, second := of(), of(), of()
		one := whole.Survey(block(0, 400, columns...))
		if err := errors.Join(first.Survey(block(0, 200, columns...)), second.Survey(block(200, 400, columns...))); err !=
			nil {
			t.Fatal(err)
		}
		found, err := second.MarshalSurvey()
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"one": one, "two": first.MergeSurvey(found, []core.Stretch{{Stream: 0, First: 200,
			N: 200}})} {
			if fits && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !fits {
				wants(t, name, err, "masks[0].swap: holds its columns in memory")
				wants(t, name, err, "take 46 MB where 45 MB are left")
			}
		}
	}
}

// A swap over the data set refuses to keep more records than allowed and suggests an alternative.
// Records no longer kept do not count.
func TestSwapKeepsWithinBounds(t *testing.T) {
	columns := swapData(400, 7, 2, 3) // 2·3·3 combinations
	for _, c := range []struct {
		policy string
		rate   float64
		keeps  int
	}{{"random", 1, 400}, {"unique", 1, 18 * matching.Reserves}} {
		for _, most := range []int{c.keeps, c.keeps - 1} {
			swap := chain(t, testSetup(t, columns...), mask(swapMask(c.policy, "dataset", c.rate)))
			swap.Steps[0].(*datasetSwap).most = most
			var err error
			for from := 0; from < 400 && err == nil; from += 100 {
				err = swap.Survey(block(from, from+100, columns...))
			}
			if most == c.keeps && err != nil {
				t.Errorf("%s: %v", c.policy, err)
			}
			if most < c.keeps {
				wants(t, c.policy, err, "masks[0].swap: must not be used on so many records")
				wants(t, c.policy, err, "scope window")
			}
		}
	}
}
