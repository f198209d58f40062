package tabulate

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// Relations that were built into random records are found, and no others, however the records are
// divided; a single record that breaks a relation ends it.
func TestRelationsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 3))
	for trial := range 300 {
		n, m := 200, 2+rng.IntN(3) // independent numbers
		numbers := make([][]int64, m)
		for k := range numbers {
			for range n {
				numbers[k] = append(numbers[k], rng.Int64N(1<<40)*rng.Int64N(2))
			}
		}
		made := 1 + rng.IntN(4)
		var factors [][]int64
		for range made {
			f, x := make([]int64, m), make([]int64, n)
			for k := range f {
				f[k] = rng.Int64N(4) - 1
				for i := range x {
					x[i] += f[k] * numbers[k][i]
				}
			}
			factors = append(factors, f)
			numbers = append(numbers, x)
		}
		order := rng.Perm(len(numbers))
		mixed := make([][]int64, len(numbers))
		for k, o := range order {
			mixed[o] = numbers[k]
		}
		broken := trial%3 == 0
		if broken {
			mixed[order[m]][rng.IntN(n)] += 1 + rng.Int64N(5)
			made--
		}
		whole := NewRelations(len(mixed))
		for at := 0; at < n; {
			to := at + 1 + rng.IntN(n-at)
			part := NewRelations(len(mixed))
			var some [][]int64
			for _, x := range mixed {
				some = append(some, x[at:to])
			}
			part.Add(some)
			whole.Merge(part)
			at = to
		}
		found := whole.Find()
		if len(found) != made {
			t.Fatalf("trial %d: %d relations of %v, want %d: %v", trial, len(found), factors, made, found)
		}
		for _, f := range found {
			for i := range n {
				sum := int64(0)
				for k, x := range mixed {
					sum += f[k].Int64() * x[i]
				}
				if sum != 0 || !f[0].IsInt64() {
					t.Fatalf("trial %d: relation %v does not hold", trial, f)
				}
			}
		}
	}
}

// Few records, in which numbers can agree by chance, show no relation; records of zeros do not count.
func TestRelationsNeedRecords(t *testing.T) {
	for _, c := range []struct {
		records int
		want    string
	}{{coincidence, "[]"}, {coincidence + 1, "[[-1 1]]"}} {
		r := NewRelations(2)
		var x []int64
		for i := range c.records {
			x = append(x, int64(7+i*i))
		}
		x = append(x, make([]int64, 50)...)
		r.Add([][]int64{x, slices.Clone(x)})
		if got := fmt.Sprint(r.Find()); got != c.want {
			t.Errorf("%d records: relations %v, want %v", c.records, got, c.want)
		}
	}
	if r := NewRelations(3); r.Find() != nil {
		t.Error("relations without records")
	}
}

// Of w = a, w = b and t = w + c, the relations between a and b, and between a, t and c, follow; none
// follows between a and c.
func TestRelationsWithin(t *testing.T) {
	of := func(f ...int64) (rel []*big.Int) {
		for _, x := range f {
			rel = append(rel, big.NewInt(x))
		}
		return rel
	}
	all := [][]*big.Int{of(1, -1, 0, 0, 0), of(1, 0, -1, 0, 0), of(-2, 0, 0, 2, -2)} // of w, a, b, t, c
	for _, c := range []struct {
		keep []bool
		want string
	}{
		{[]bool{false, true, true, false, false}, "[[0 1 -1 0 0]]"},
		{[]bool{false, true, false, true, true}, "[[0 1 0 -1 1]]"},
		{[]bool{false, true, false, false, true}, "[]"},
		{[]bool{true, true, true, false, true}, "[[1 0 -1 0 0] [0 1 -1 0 0]]"},
	} {
		if got := fmt.Sprint(Within(all, c.keep)); got != c.want {
			t.Errorf("between %v: %v, want %v", c.keep, got, c.want)
		}
	}
}
