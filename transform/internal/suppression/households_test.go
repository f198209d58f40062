package suppression

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// householdRows draws keys of persons: the last keys are of households, with a share of households in
// which members differ.
func householdRows(r *rand.Rand, n, persons int, cards []int, differ float64) (out rows, of []int) {
	for h := 1; h <= n; h++ {
		shared := categoriesAt(r, 1, cards, 0.05)[0]
		odd := r.Float64() < differ
		for m := range 1 + r.IntN(4) {
			record := categoriesAt(r, 1, cards, 0.05)[0]
			if !odd || m == 0 {
				copy(record[persons:], shared[persons:])
			}
			out, of = append(out, record), append(of, h)
		}
	}
	return out, of
}

// Records that look alike are of k households, by comparing all pairs; a key of households is missing for
// all members or for none, and never where members differ; the release does not depend on the order of the
// records; and nothing is suppressed where k holds already.
func TestHouseholds(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for trial := range 40 {
		cards := [][]int{{3, 2, 4, 3}, {5, 9, 30}, {2, 2, 2, 2, 2}, {12, 3}}[trial%4]
		persons := len(cards) / 2
		if trial%8 == 5 {
			persons = 0 // all keys are of households
		}
		k := 2 + trial%4
		n := []int{30, 120, 300}[trial%3]
		in, of := householdRows(r, n, persons, cards, []float64{0, 0.03}[trial%2])
		if trial%2 == 1 && len(of)%2 == 1 { // so few households that more than 5 % may differ: the keys are declared
			in, of = in[:len(in)-1], of[:len(of)-1]
		}
		out := suppressedBy(t, in, of, persons, k, nil)
		for i := range in {
			missingCells(t, in[i], out[i])
			alike := map[int]bool{}
			for j := range out {
				if slices.Equal(out[i], out[j]) {
					alike[of[j]] = true
				}
				if of[i] == of[j] && !slices.Equal(out[i][persons:], out[j][persons:]) {
					t.Fatalf("trial %d: members of household %d leave with %v and %v", trial, of[i], out[i], out[j])
				}
			}
			if len(alike) < k {
				t.Fatalf("trial %d: record %d, %v, is alike in %d households, want %d", trial, i, out[i], len(alike), k)
			}
		}
		order := r.Perm(len(in))
		back := suppressedBy(t, in, of, persons, k, order)
		if fmt.Sprint(back) != fmt.Sprint(out) {
			t.Fatalf("trial %d: the release depends on the order of the records", trial)
		}
		again := suppressedBy(t, out, of, persons, k, nil)
		if fmt.Sprint(again) != fmt.Sprint(out) {
			t.Fatalf("trial %d: cells are missing that need not be", trial)
		}
	}
}

// suppressedBy hides cells of records in an order and returns them in their own; keys from persons on are of
// households, which is found in the data, or said.
func suppressedBy(t *testing.T, in rows, of []int, persons, k int, order []int) rows {
	t.Helper()
	keys := len(in[0])
	if order == nil {
		for i := range in {
			order = append(order, i)
		}
	}
	records, numbers, members := make(rows, len(in)), map[int]int32{}, []int32{}
	for i, at := range order {
		records[i] = in[at]
		if _, known := numbers[of[at]]; !known {
			numbers[of[at]] = int32(len(numbers))
		}
		members = append(members, numbers[of[at]])
	}
	personal := uint16(1)<<persons - 1
	shared := uint16(0)
	if len(of)%2 == 0 {
		shared = 1<<keys - 1 - personal
	}
	s := Search{K: k, Strict: true}
	for range keys {
		s.Weights = append(s.Weights, 1)
	}
	hidden, err := s.HideByHousehold(records.codes(), members, len(numbers), shared, personal)
	if err != nil {
		t.Fatal(err.Text)
	}
	out := make(rows, len(in))
	for i, at := range order {
		out[at] = without(records[i], int(hidden[i]))
	}
	return out
}

// Five members of one household protect nobody; with too few households nothing is released.
func TestCountsHouseholds(t *testing.T) {
	in := rows{{1}, {1}, {1}, {1}, {1}, {2}, {2}, {2}}
	out := suppressedBy(t, in, []int{1, 1, 1, 1, 1, 2, 3, 4}, 0, 3, nil)
	// Household 1 alone has the value 1: it must be hidden, and of the others at least two beside it.
	if fmt.Sprint(out) != "[[0] [0] [0] [0] [0] [0] [0] [0]]" {
		t.Errorf("got %v", out)
	}
	out = suppressedBy(t, rows{{1}, {1}, {1}, {2}, {2}}, []int{1, 2, 3, 4, 4}, 0, 2, nil)
	if fmt.Sprint(out) != "[[0] [0] [0] [0] [0]]" {
		t.Errorf("got %v", out)
	}
	s := Search{K: 3, Strict: true, Weights: []float64{1}}
	if _, err := s.HideByHousehold([][]int32{{1, 1, 2}}, []int32{0, 0, 1}, 2, 0, 0); err == nil || err.Path != "k" {
		t.Errorf("3 of 2 households: %v", err)
	}
}

// A key counts as one of households from three households of two members on, if it is the same within 95 % of them.
func TestKeysOfHouseholds(t *testing.T) {
	for _, c := range []struct {
		several, differ int
		want            uint16
	}{{2, 0, 0}, {3, 0, 1}, {4, 0, 1}, {20, 1, 1}, {20, 2, 0}, {19, 1, 0}, {100, 5, 1}, {100, 6, 0}} {
		s := householdSearch{codes: make([][]int32, 1), n: c.several}
		for h := range c.several {
			second := int32(1)
			if h < c.differ {
				second = 2
			}
			s.codes[0], s.of = append(s.codes[0], 1, second), append(s.of, int32(h), int32(h))
		}
		if got := s.keysOfHouseholds(0, 0); got != c.want {
			t.Errorf("%d households, %d differ: %b, want %b", c.several, c.differ, got, c.want)
		}
	}
}
