package exchange

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

func swapMask(policy, scope string, rate float64) *Swap {
	return &Swap{Keys: []string{"b", "c"}, Attribute: "d", Columns: []string{"a"}, Rate: &rate, Policy: policy,
		Scope: scope}
}

// keyOf returns a record's keys, comboOf the keys and the attribute.
func keyOf(columns []testColumn, i int) [2]float64 {
	return [2]float64{columns[1].Values[i], columns[2].Values[i]}
}

func comboOf(columns []testColumn, i int) [3]float64 {
	return [3]float64{columns[1].Values[i], columns[2].Values[i], columns[3].Values[i]}
}

// A swap permutes values within its window by exchanging pairs of partners, and each column keeps
// its values, bit by bit.
func TestSwapIsPermutationWithinWindow(t *testing.T) {
	for seed := range uint64(12) {
		for _, policy := range []string{"unique", "random"} {
			for _, window := range []int{1, 10, 64, 1000, 5000} {
				n := 2000 + int(seed)*37
				columns := swapData(n, seed, []int{2, 40, 400}[seed%3], 2+int(seed)%4)
				setup := testSetup(t, columns...)
				setup.Window = window
				b := block(0, n, columns...)
				b.Reject(3, "d", "test")
				b.Reject(n-1, "d", "test")
				apply(t, chain(t, setup, mask(swapMask(policy, "", 0.6))), b)
				y := b.Columns[0].Out().Values
				checkExchanges(t, columns, y, window, false) // uniqueness counts only records that are not rejected
				if y[3] != 4 || y[n-1] != float64(n) {
					t.Fatal("a rejected record was exchanged")
				}
				if !slices.Equal(slices.Sorted(slices.Values(y)), columns[0].Values) {
					t.Fatal("the values of the column are not the same any more")
				}
			}
		}
	}
}

// Blocks of several windows and blocks of one window give the same release.
func TestSwapWindowsInBlocks(t *testing.T) {
	const n, window = 5300, 500
	columns := swapData(n, 1, 60, 3)
	setup := testSetup(t, columns...)
	setup.Window = window
	c := chain(t, setup, mask(swapMask("unique", "", 0.8)))
	whole := release(t, setup, columns, mask(swapMask("unique", "", 0.8)))
	if moved := checkExchanges(t, columns, whole, window, true); moved < n/20 {
		t.Fatalf("only %d records exchanged", moved)
	}
	for _, size := range []int{window, 3 * window} {
		for from := 0; from < n; from += size {
			b := apply(t, c, block(from, min(from+size, n), columns...))
			if !slices.Equal(b.Columns[0].Out().Values, whole[from:min(from+size, n)]) {
				t.Fatalf("blocks of %d differ at %d", size, from)
			}
		}
	}
	if err := c.Apply(block(7, 500, columns...)); err == nil {
		t.Error("a block that starts within a window was accepted")
	}
}

// With rate 1 every candidate with a free partner is exchanged: no candidate is left together with
// a free record of its group that it could have been exchanged with.
func TestSwapRateOneIsExhaustive(t *testing.T) {
	columns := swapData(3000, 4, 100, 3)
	for _, tt := range []struct{ policy, scope string }{{"unique", ""}, {"random", ""}, {"unique", "dataset"},
		{"random", "dataset"}} {
		c := chain(t, testSetup(t, columns...), mask(swapMask(tt.policy, tt.scope, 1)))
		if tt.scope == "dataset" {
			surveyed(t, c, 700, columns...)
		}
		y := apply(t, c, block(0, 3000, columns...)).Columns[0].Out().Values
		checkExchanges(t, columns, y, 3000, tt.policy == "unique")
		count := map[[3]float64]int{}
		left := map[[2]float64]map[float64]bool{} // for each key, the attribute values of unchanged records
		for i := range y {
			count[comboOf(columns, i)]++
			if y[i] == columns[0].Values[i] {
				if left[keyOf(columns, i)] == nil {
					left[keyOf(columns, i)] = map[float64]bool{}
				}
				left[keyOf(columns, i)][columns[3].Values[i]] = true
			}
		}
		for i := range y {
			candidate := tt.policy == "random" || count[comboOf(columns, i)] == 1
			if candidate && y[i] == columns[0].Values[i] && len(left[keyOf(columns, i)]) > 1 {
				t.Errorf("%v: record %d stayed although a partner was free", tt, i)
				break
			}
		}
	}
}

// The share of exchanged pairs is π: of K possible pairs the number exchanged is binomial, so it
// lies within 5 standard deviations.
func TestSwapRate(t *testing.T) {
	const n = 40000
	columns := swapData(n, 8, 5, 2)
	for i := range n { // pairs of two unique records: keys i/2, regions 0 and 1
		columns[1].Values[i], columns[2].Values[i], columns[3].Values[i] = float64(i/2), 0, float64(i%2)
	}
	for _, policy := range []string{"unique", "random"} {
		for _, scope := range []string{"window", "dataset"} {
			for _, rate := range []float64{0, 0.1, 0.5, 1} {
				c := chain(t, testSetup(t, columns...), mask(swapMask(policy, scope, rate)))
				if scope == "dataset" {
					surveyed(t, c, 999, columns...)
				}
				y := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
				pairs := float64(checkExchanges(t, columns, y, n, policy == "unique")) / 2
				if sd := math.Sqrt(n / 2 * rate * (1 - rate)); !(math.Abs(pairs-rate*n/2) <= 5*sd) {
					t.Errorf("%s, %s: %v of %v pairs exchanged, want a share of %v", policy, scope, pairs, n/2, rate)
				}
				if got := c.Touched()[0].Records; got != int64(2*pairs) {
					t.Errorf("touched %d records, want %v", got, 2*pairs)
				}
			}
		}
	}
}

// A unique record is exchanged with each possible partner equally often, including partners with a
// frequent value of the attribute. Each count is binomial; 5 standard deviations.
func TestSwapPartnersAreUniform(t *testing.T) {
	const groups, size = 12000, 6 // one unique record, 2 of region 1, 3 of region 2
	n := groups * size
	columns := swapData(n, 1, 1, 1)
	for i := range n {
		columns[1].Values[i], columns[2].Values[i] = float64(i/size), 0
		columns[3].Values[i] = []float64{0, 1, 1, 2, 2, 2}[i%size]
	}
	for _, scope := range []string{"window", "dataset"} {
		c := chain(t, testSetup(t, columns...), mask(swapMask("unique", scope, 1)))
		if scope == "dataset" {
			surveyed(t, c, 12345, columns...)
		}
		y := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
		checkExchanges(t, columns, y, n, true)
		var counts [size]float64
		for g := range groups {
			counts[(int(y[g*size])-1)%size]++
		}
		const p = 1.0 / 5
		for k := 1; k < size; k++ {
			if z := (counts[k] - groups*p) / math.Sqrt(groups*p*(1-p)); !(math.Abs(z) <= 5) {
				t.Errorf("%s: partner %d taken %v times of %d", scope, k, counts[k], groups)
			}
		}
	}
}

// Scope dataset recognises the same unique records for any blocks, forms pairs across blocks, and
// requires its survey.
func TestSwapDataset(t *testing.T) {
	const n = 6000
	columns := swapData(n, 2, 500, 4)
	columns[0].Null = []int{11, 500, 501, 502, 1000}
	for _, policy := range []string{"unique", "random"} {
		var first []float64
		for _, size := range []int{n, 1000, 77} {
			c := chain(t, testSetup(t, columns...), mask(swapMask(policy, "dataset", 0.7)))
			if !c.NeedsSurvey() {
				t.Fatal("needs a survey")
			}
			if err := c.Apply(block(0, 10, columns...)); err == nil {
				t.Fatal("applied without a survey")
			}
			surveyed(t, c, size, columns...)
			var y []float64
			nulls := 0
			for from := 0; from < n; from += 600 {
				b := apply(t, c, block(from, from+600, columns...))
				y = append(y, b.Columns[0].Out().Values...)
				nulls += 600 - b.Columns[0].Out().Valid.Count(600)
			}
			if nulls != len(columns[0].Null) {
				t.Errorf("%d nulls after, %d before", nulls, len(columns[0].Null))
			}
			if first == nil {
				first = y
			} else if !slices.Equal(first, y) {
				t.Errorf("%s: blocks of %d in the survey change the release", policy, size)
			}
		}
		across, moved := 0, 0
		for i, v := range first {
			if v != 0 && v != columns[0].Values[i] {
				moved++
				if int(v-1)/600 != i/600 {
					across++
				}
			}
		}
		if moved < n/10 || across < moved/2 {
			t.Errorf("%s: %d exchanged, %d across blocks", policy, moved, across)
		}
	}
}

// With one core the pairs of a whole file are the same as with several.
func TestSwapDatasetOnOneCore(t *testing.T) {
	columns := swapData(2000, 3, 100, 4)
	on := func(cores int) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		return whole(t, chain(t, testSetup(t, columns...), mask(swapMask("random", "dataset", 0.7))), 2000, columns...)[0]
	}
	one := on(1)
	if slices.Equal(one, columns[0].Values) || !slices.Equal(one, on(4)) {
		t.Error("the exchange on one core differs from that on four, or nothing was exchanged")
	}
}

// A swap of scope dataset moves the values of the release: the masks before it are applied in the
// survey exactly as in the release.
func TestSwapDatasetAfterNoise(t *testing.T) {
	const n = 3000
	columns := swapData(n, 3, 100, 3)
	setup := testSetup(t, columns...)
	noise := mask(&record.Noise{Columns: []string{"a"}, SD: amount(1e5)})
	masked := release(t, setup, columns, noise)
	c := surveyed(t, chain(t, setup, noise, mask(swapMask("unique", "dataset", 1))), 256, columns...)
	y := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
	if slices.Equal(masked, y) {
		t.Error("nothing was exchanged")
	}
	if !slices.Equal(slices.Sorted(slices.Values(masked)), slices.Sorted(slices.Values(y))) {
		t.Error("the exchanged values are not those of the masked column")
	}
}

// Replicates exchange other pairs, and ignore values that are not in the block.
func TestSwapReplicates(t *testing.T) {
	const n = 2000
	columns := swapData(n, 5, 50, 3)
	for _, scope := range []string{"window", "dataset"} {
		m := swapMask("unique", scope, 0.5)
		m.Columns = []string{"a", "e"}
		setup := testSetup(t, columns...)
		setup.Columns = append(setup.Columns,
			core.ColumnInfo{Name: "e", Index: 4, Field: microdata.Field{Name: "e", Type: arrow.BinaryTypes.String}})
		c := chain(t, setup, mask(m))
		var releases [][]float64
		for _, r := range []*core.Chain{c.Replicate(1), c.Replicate(2), c.Replicate(1)} {
			wide := append(slices.Clone(columns), testColumn{Values: make([]float64, n), Type: arrow.PrimitiveTypes.Float64})
			empty := func() *microdata.Block {
				b := block(0, n, wide...)
				b.Columns[4].Original = microdata.Vector{}
				return b
			}
			if r.NeedsSurvey() {
				if err := r.Survey(empty()); err != nil {
					t.Fatal(err)
				}
				if err := r.EndSurvey(); err != nil {
					t.Fatal(err)
				}
			}
			releases = append(releases, apply(t, r, empty()).Columns[0].Out().Values)
		}
		if slices.Equal(releases[0], releases[1]) || !slices.Equal(releases[0], releases[2]) {
			t.Errorf("%s: replicates must differ and be reproducible", scope)
		}
	}
}

// checkExchanges checks that y is x with disjoint pairs exchanged. The two records of a pair must
// lie in one window, have equal keys and different attributes, and under policy unique one of them
// must be unique. It returns the number of exchanged records.
func checkExchanges(t *testing.T, columns []testColumn, y []float64, window int, unique bool) int {
	t.Helper()
	n := len(y)
	count := map[[4]float64]int{}
	at := func(i int) [4]float64 {
		c := comboOf(columns, i)
		return [4]float64{float64(i / window), c[0], c[1], c[2]}
	}
	for i := range n {
		count[at(i)]++
	}
	moved := 0
	for i := range n {
		j := int(y[i]) - 1 // values are places + 1
		if j == i {
			continue
		}
		moved++
		if int(y[j])-1 != i {
			t.Fatalf("record %d has the value of record %d, which has the value of record %v instead", i, j, y[j]-1)
		}
		if i/window != j/window {
			t.Fatalf("records %d and %d are not in one window of %d", i, j, window)
		}
		if keyOf(columns, i) != keyOf(columns, j) || columns[3].Values[i] == columns[3].Values[j] {
			t.Fatalf("records %d and %d are no partners", i, j)
		}
		if unique && count[at(i)] != 1 && count[at(j)] != 1 {
			t.Fatalf("neither %d nor %d is unique", i, j)
		}
	}
	return moved
}
