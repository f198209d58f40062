package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// gappy returns n ascending places: mostly consecutive, some with gaps.
func gappy(n int, first int64, seed uint64) []int64 {
	r := rand.New(rand.NewPCG(seed, 9))
	places := make([]int64, n)
	for i := range places {
		places[i] = first
		if first++; r.IntN(20) == 0 || i > n/2 && i < n/2+50 {
			first += 1 + r.Int64N(1000)
		}
	}
	return places
}

// streamBlock makes a block of a topic with the records [from, to) of the columns.
func streamBlock(scope string, stream int, places []int64, from, to int, columns ...testColumn) *microdata.Block {
	b := block(from, to, columns...)
	b.Stream, b.Scope = stream, scope
	b.Places = places[from:to]
	b.First = places[from]
	return b
}

// The draws belong to the place of a record, with or without gaps, however blocks are cut.
func TestPlacesWithGaps(t *testing.T) {
	const n = 5000
	columns := []testColumn{floats(2, incomes(n, 1)...), floats(0, incomes(n, 2)...)}
	c := chain(t, testSetup(t, columns...), arithmeticMasks()...)
	places := gappy(n, 1<<40, 1)
	whole := apply(t, c, streamBlock("", 3, places, 0, n, columns...))
	for from := 0; from < n; from += 777 {
		cut := apply(t, c, streamBlock("", 3, places, from, min(from+777, n), columns...))
		for k := range columns {
			if got, want := cut.Columns[k].Out().Values, whole.Columns[k].Out().Values[from:min(from+777, n)]; !slices.Equal(got,
				want) {
				t.Fatalf("column %d, block from %d: values differ from those in one block", k, from)
			}
		}
	}
	for i := range n {
		b := block(i, i+1, columns...)
		b.Stream, b.First = 3, places[i]
		apply(t, c, b)
		for k := range columns {
			if got, want := b.Columns[k].Out().Values[0], whole.Columns[k].Out().Values[i]; got != want {
				t.Fatalf("column %d, record %d: not masked as the record at its place", k, i)
			}
		}
	}
}

// Topics share no draws, unless identifying values show that a respondent is the same. One chain
// serves all topics, from any number of goroutines.
func TestScopes(t *testing.T) {
	const n = 4000
	columns := []testColumn{floats(2, slices.Repeat([]float64{100}, n)...), floats(0, incomes(n, 2)...)}
	setup := testSetup(t, columns...)
	masks := []Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(10)})}
	identified := setup
	identified.Identity = []int{1}
	scopes := []string{"", "survey", "survey.2026", "a", "b"}
	for _, tt := range []struct {
		name  string
		chain func() *Chain
		same  bool
	}{
		{"by place", func() *Chain { return chain(t, setup, masks...) }, false},
		{"by identity", func() *Chain { return chain(t, identified, masks...) }, true},
		{"replicate", func() *Chain { return chain(t, setup, masks...).Replicate(3) }, true},
	} {
		c := tt.chain()
		got := make([][]float64, 4*len(scopes))
		var wg sync.WaitGroup
		for k := range got {
			wg.Go(func() {
				b := block(0, n, columns...)
				b.Scope = scopes[k%len(scopes)]
				if err := c.Apply(b); err != nil {
					t.Error(err)
				}
				got[k] = b.Columns[0].Out().Values
			})
		}
		wg.Wait()
		for k := range got {
			first := k % len(scopes)
			if !slices.Equal(got[k], got[first]) {
				t.Errorf("%s: scope %q is masked differently by a chain that has masked other scopes before", tt.name,
					scopes[first])
			}
			if first == 0 {
				continue
			}
			switch same := slices.Equal(got[first], got[0]); {
			case tt.same && !same:
				t.Errorf("%s: scope %q must be masked like every other scope", tt.name, scopes[first])
			case !tt.same && same:
				t.Errorf("%s: scope %q has the draws of records without a scope", tt.name, scopes[first])
			}
		}
		if !tt.same {
			// For independent draws |r| exceeds 5.5/√n at most once in 10⁷.
			for i := range scopes {
				for j := range i {
					if r := correlation(got[i], got[j]); !(math.Abs(r) <= 5.5/math.Sqrt(n)) {
						t.Errorf("draws of %q and %q have correlation %v", scopes[i], scopes[j], r)
					}
				}
			}
		}
		if want := fresh(t, tt.chain(), "survey", columns); !slices.Equal(got[1], want) {
			t.Errorf("%s: a fresh chain masks otherwise", tt.name)
		}
		changed := int64(0)
		for _, y := range got {
			for _, v := range y {
				if v != 100 {
					changed++
				}
			}
		}
		if touched := c.Touched()[0].Records; touched != changed {
			t.Errorf("%s: %d records touched over all scopes, want %d", tt.name, touched, changed)
		}
	}
}

func fresh(t *testing.T, c *Chain, scope string, columns []testColumn) []float64 {
	b := block(0, len(columns[0].Values), columns...)
	b.Scope = scope
	return apply(t, c, b).Columns[0].Out().Values
}

// A block of a stream is a window wherever it starts; a block with more records is divided.
func TestSwapWindowsOfStreams(t *testing.T) {
	const n, window = 2500, 1000
	columns := swapData(n, 5, 4, 6)
	setup := testSetup(t, columns...)
	setup.Window = window
	c := chain(t, setup, mask(swapMask("random", "window", 1)))
	places := gappy(n, 12345, 2)
	b := apply(t, c, streamBlock("survey", 1, places, 0, n, columns...))
	if exchanged := checkExchanges(t, columns, b.Columns[0].Out().Values, window, false); exchanged < n/2 {
		t.Errorf("%d records exchanged", exchanged)
	}
	// Without gaps, the scope alone identifies a stream.
	b = block(0, n, columns...)
	b.First, b.Scope = 17, "survey"
	apply(t, c, b)
	b = block(0, n, columns...)
	b.First = 17
	if err := c.Apply(b); err == nil || !strings.Contains(err.Error(), "multiple of the window") {
		t.Errorf("a block of a file at record 17 must be refused, got %v", err)
	}
}

// A swap over the data set reads the records of several topics by their places.
func TestDatasetSwapOfStreams(t *testing.T) {
	const n, half = 3000, 1500
	columns := swapData(n, 6, 4, 6)
	setup := testSetup(t, columns...)
	for _, policy := range []string{"unique", "random"} {
		c := chain(t, setup, mask(swapMask(policy, "dataset", 1)))
		places := gappy(half, 700, 3)
		places = append(places, places...) // both topics have a partition 2 with the same offsets
		blocks := func(yield func(*microdata.Block)) {
			for from := 0; from < n; from += 500 {
				yield(streamBlock([]string{"later", "earlier"}[from/half], 2, places, from, from+500, columns...))
			}
		}
		blocks(func(b *microdata.Block) {
			if err := c.Survey(b); err != nil {
				t.Fatal(err)
			}
		})
		if err := c.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		var y []float64
		blocks(func(b *microdata.Block) { y = append(y, apply(t, c, b).Columns[0].Out().Values...) })
		exchanged := checkExchanges(t, columns, y, n, policy == "unique")
		if policy == "random" && exchanged < n/2 {
			t.Errorf("%d records exchanged", exchanged)
		}
		if touched := c.Touched()[0].Records; touched != int64(exchanged) {
			t.Errorf("%d records touched, %d exchanged", touched, exchanged)
		}
		if policy == "unique" {
			continue
		}
		// A record that compaction removes between the passes would take its partner's value with
		// it.
		left := streamBlock("later", 2, slices.DeleteFunc(slices.Clone(places[:half]), func(p int64) bool {
			return p%2 == 1 && p > 710
		}), 0, 500, columns...)
		if err := c.Apply(left); err == nil || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("missing records must be an error, got %v", err)
		}
	}
}
