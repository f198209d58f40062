package uniqueness

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Combination is the number of sample uniques on a set of keys. Counts below 3 are not
// suppressed, because the table belongs to the confidential report.
type Combination struct {
	Keys []string `json:"keys"`
	// Uniques is the number of records with k (or f_k) below 2 by these keys alone.
	Uniques int `json:"uniques" doc:"number of records with a sample frequency below 2 by these keys alone"`
}

// tabulate counts the sample uniques of all combinations of up to size keys, ordered by
// size and then by the keys' order. It returns ctx's error if ctx ends.
func tabulate(ctx context.Context, c *classes, names []string, size int, alpha float64, workers int) ([]Combination,
	error) {
	sets := keySets(len(names), min(size, len(names)))
	table := make([]Combination, len(sets))
	errs := make([]error, workers)
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			defer bug.Guard()
			t := tabulator{ids: make([]int32, len(c.count)), g: &grouper{}}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(sets) || errs[w] != nil {
					return
				}
				if errs[w] = ctx.Err(); errs[w] != nil {
					return
				}
				columns := make([]field, len(sets[i]))
				table[i].Keys = make([]string, len(sets[i]))
				for j, key := range sets[i] {
					columns[j], table[i].Keys[j] = c.keys[key], names[key]
				}
				table[i].Uniques, errs[w] = t.uniques(ctx, columns, c.count, alpha)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return table, nil
}

// tabulator counts sample uniques. Its buffers are for one goroutine.
type tabulator struct {
	g   *grouper
	ids []int32
}

// uniques counts the records with f_k < 2 on columns. Row r of the columns represents
// count[r] records.
func (t *tabulator) uniques(ctx context.Context, columns []field, count []int64, alpha float64) (int, error) {
	groups := t.g.group(columns, nil, t.ids)
	sums := make([]int64, groups)
	first := make([]int32, groups)
	for r, id := range t.ids {
		if sums[id] == 0 {
			first[id] = int32(r)
		}
		sums[id] += count[r]
	}
	uniques := 0
	if missing(columns) == nil {
		for _, n := range sums {
			if n == 1 {
				uniques++
			}
		}
		return uniques, nil
	}
	tuples := make([]field, len(columns))
	for j, c := range columns {
		codes := make([]int32, groups)
		for id, r := range first {
			codes[id] = c.codes[r]
		}
		tuples[j] = field{codes, c.span}
	}
	f, _, err := frequencies(ctx, t.g, tuples, sums, nil, alpha)
	if err != nil {
		return 0, err
	}
	for id, n := range sums {
		if n == 1 && f[id] < 2 {
			uniques++
		}
	}
	return uniques, nil
}

// keySets returns the sets of 1 to size of n keys.
func keySets(n, size int) [][]int {
	var sets [][]int
	for k := 1; k <= size; k++ {
		sets = append(sets, setsOf(n, k)...)
	}
	return sets
}

// setsOf returns the sets of k of n keys, in lexical order.
func setsOf(n, k int) (sets [][]int) {
	set := make([]int, k)
	for j := range set {
		set[j] = j
	}
	for {
		sets = append(sets, append([]int(nil), set...))
		// Next set in lexical order: advance the last position that can advance.
		at := k - 1
		for at >= 0 && set[at] == n-k+at {
			at--
		}
		if at < 0 {
			return sets
		}
		set[at]++
		for j := at + 1; j < k; j++ {
			set[j] = set[j-1] + 1
		}
	}
}
