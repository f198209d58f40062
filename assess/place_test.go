package assess

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// topicBlock returns rows [from, to) as a block of a partition with gaps between its offsets.
func topicBlock(t *pairTable, scope string, stream int, places []int64, from, to int) *microdata.Block {
	b := t.block(from, to)
	b.Scope, b.Stream, b.Places, b.First = scope, stream, places[from:to], places[from]
	return b
}

func offsets(n int, gaps float64) []int64 {
	rng := rand.New(rand.NewPCG(uint64(n), 4))
	places, at := make([]int64, n), int64(1001)
	for i := range places {
		places[i] = at
		if at++; rng.Float64() < gaps {
			at += rng.Int64N(50)
		}
	}
	return places
}

// Which records are kept depends on their true place and topic, not on the block that contained them.
func TestTruePlaces(t *testing.T) {
	const n = 3000
	table := makePairs(41, n, true)
	for _, gaps := range []float64{0, 0.02, 0.7, 1} {
		places := offsets(n, gaps)
		for _, key := range []bool{true, false} {
			o := testOptions(t)
			if !key {
				o.Key = Options{}.Key
			}
			whole, cut, single := newAccumulator(t, o), newAccumulator(t, o), newAccumulator(t, o)
			whole.Add(topicBlock(&table, "survey", 2, places, 0, n))
			for from := 0; from < n; from += 37 {
				cut.Add(topicBlock(&table, "survey", 2, places, from, min(n, from+37)))
			}
			for i := range n {
				b := table.block(i, i+1)
				b.Scope, b.Stream, b.First = "survey", 2, places[i]
				single.Add(b)
			}
			sameAccumulator(t, cut, whole)
			sameAccumulator(t, single, whole)
			if t.Failed() {
				t.Fatalf("gaps %v, key %v", gaps, key)
			}
			whole.sample.Settle()
			for i, row := range whole.sample.Row {
				at, found := slices.BinarySearch(places, row)
				if x := whole.sample.Values[2][i]; !found || x != table.x[1][at] && !(math.IsNaN(x) && math.IsNaN(table.x[1][at])) {
					t.Fatalf("place %d of the sample does not have the record of that place", row)
				}
			}
		}
	}
	// A profile depends on places, too.
	places := offsets(n, 0.3)
	p, q := NewProfiler(testOptions(t).Columns), NewProfiler(testOptions(t).Columns)
	p.sample.K, q.sample.K = 200, 200
	p.Add(topicBlock(&table, "survey", 2, places, 0, n))
	for i := range n {
		b := table.block(i, i+1)
		b.Scope, b.Stream, b.First = "survey", 2, places[i]
		q.Add(b)
	}
	p.sample.Settle()
	q.sample.Settle()
	if p.sample.Len() != 200 || !slices.Equal(p.sample.Row, q.sample.Row) ||
		!slices.Equal(p.sample.Priority, q.sample.Priority) {
		t.Error("the profile's sample depends on the blocks")
	}
}

// Partitions of two topics have the same numbers and offsets. Their records are not confused, in
// whichever order they are merged, with and without encoding.
func TestTopicsAreToldApart(t *testing.T) {
	const n = 2000
	tables := []pairTable{makePairs(51, n, true), makePairs(52, n, true), makePairs(53, n, true)}
	places := offsets(n, 0.1)
	o := testOptions(t)
	names := []string{"b", "a", ""}
	whole := newAccumulator(t, o)
	var parts []*Accumulator
	for k := range tables {
		b := topicBlock(&tables[k], names[k], 0, places, 0, n)
		whole.Add(b)
		part := newAccumulator(t, o)
		part.Add(b)
		text, err := part.MarshalBinary()
		must(t, err)
		decoded := newAccumulator(t, o)
		must(t, decoded.UnmarshalBinary(text))
		parts = append(parts, decoded)
	}
	slices.Reverse(parts)
	merged, err := Merged(o, parts...)
	must(t, err)
	sameAccumulator(t, merged, whole)
	perTopic := map[string]int{}
	for i, from := range whole.sample.From {
		perTopic[from.Scope]++
		k := slices.Index(names, from.Scope)
		at, _ := slices.BinarySearch(places, whole.sample.Row[i])
		if x := whole.sample.Values[4][i]; !math.IsNaN(x) && x != tables[k].x[2][at] {
			t.Fatal("a record is assigned to another topic")
		}
	}
	// Hypergeometric with mean 100 of 300, SD √(300·⅓·⅔·0.95) = 8; 5.5 of them.
	for name, k := range perTopic {
		if k < 56 || k > 144 {
			t.Errorf("%d of 300 sampled records are of topic %q", k, name)
		}
	}
	for i := range whole.sample.Priority[1:] {
		if whole.sample.Priority[i] == whole.sample.Priority[i+1] && whole.sample.Row[i] == whole.sample.Row[i+1] {
			t.Error("the same place has the same priority in two topics")
		}
	}
	seen := map[string]bool{}
	top, _ := whole.Extremes("income")
	for _, e := range top {
		seen[e.Scope] = true
	}
	if len(seen) < 2 {
		t.Errorf("extremes of topics %v", seen)
	}
	if a, b := whole.sample.Row[0], whole.Records(); a == 0 || b == 0 {
		t.Errorf("place %d, %d records", a, b)
	}
}

// If the sample has all pairs of two topics, a replicate draws separately for their records: the
// variance of the mean is that of 2n records.
func TestReplicatesOfTopics(t *testing.T) {
	const n = 400
	o := Options{Columns: numbered(1), Key: testKey(t), Sample: -1, Replicates: 300, Targets: []string{"p50"}}
	o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0}, lambda: 30, replicate: m} }
	a := newAccumulator(t, o)
	for _, scope := range []string{"a", "b"} {
		b := new(microdata.Block)
		b.Reset(0, 50, n, 1)
		b.Scope = scope
		clear(b.Columns[0].Alloc(n, false).Values)
		must(t, noisy{key: o.Key, columns: []int{0}, lambda: 30}.Apply(b))
		a.Add(b)
	}
	m, err := a.Measure(context.Background())
	must(t, err)
	// R of the typical target by the mean is 1/(0 + E(ȳ−x̄)²) = 2n/λ²; the relative standard error
	// is √(2/300) = 8 %, so shared draws, with half of R, are 6 of them away.
	if r := float64(m.Columns[0].Risk[0].R) * 900 / (2 * n); r < 0.7 || r > 1.45 {
		t.Errorf("R of typical by mean is %v of the expected value", r)
	}
}
