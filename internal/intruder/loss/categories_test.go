package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

func categoriesNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// By hand: four equally frequent categories joined to two lose one bit; a third of the
// records changed.
func TestCategoriesByHand(t *testing.T) {
	r, err := CategoriesOf([]CategoryPair{
		{"joined", []int32{0, 1, 2, 3, 0, 1, 2, 3}, []int32{4, 4, 5, 5, 4, 4, 5, 5}, nil},
		{"same", []int32{0, 1, -1, 1, 0, 1, -1, 1}, []int32{0, 1, -1, 1, 0, 1, -1, 1}, nil},
		{"missing", []int32{0, 0, 0, 0, 1, 1, 1, 1}, []int32{0, 0, 0, 0, 1, 1, -1, -1}, nil},
		{"swapped", []int32{0, 0, 0, 0, 1, 1, 1, 1}, []int32{1, 1, 1, 1, 0, 0, 0, 0}, nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []CategoryLoss{
		{"joined", 8, 8, 0, 2, 1, 1, 1},
		{"same", 8, 0, 0, 1.5, 1.5, 0, 0},
		{"missing", 8, 2, 2, 1, 1.5, 0, 0.25},
		{"swapped", 8, 8, 0, 1, 1, 0, 0}, // what follows from the release is not lost
	} {
		got := r.Columns[i]
		if got.Name != want.Name || got.Records != want.Records || got.Changed != want.Changed ||
			got.Missing != want.Missing {
			t.Errorf("got %+v, want %+v", got, want)
		}
		categoriesNear(t, want.Name+" entropy", got.Original, want.Original)
		categoriesNear(t, want.Name+" released", got.Released, want.Released)
		categoriesNear(t, want.Name+" lost", got.Lost, want.Lost)
		categoriesNear(t, want.Name+" distance", got.Distance, want.Distance)
	}
	categoriesNear(t, "pMSE", r.PMSE, 0.25) // no combination is on both sides
	for _, wrong := range [][]CategoryPair{nil, {{"a", nil, nil, nil}}, {{"a", []int32{1}, []int32{1, 2}, nil}},
		{{"a", []int32{1}, []int32{1}, []int32{}}},
		{{"a", []int32{1}, []int32{1}, nil}, {"b", []int32{1, 2}, []int32{1, 2}, nil}}} {
		if _, err := CategoriesOf(wrong); err == nil {
			t.Errorf("%v is no error", wrong)
		}
	}
}

// Independent draws from the distribution of the original have the expected pMSE. The mean over m = 400
// trials of a sum that is χ²(k − 1), up to terms of order 1/n, has a relative standard error of
// √(2/((k−1)·m)), here 2.4 %; four of them are allowed, and 2 % for the small cells.
func TestCategoriesOfFreshDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	const n, k, trials = 2000, 10, 400
	original, released := make([]int32, n), make([]int32, n)
	for i := range original {
		original[i] = int32(min(r.IntN(k), r.IntN(k)))
	}
	var ratio float64
	for range trials {
		for i := range released {
			released[i] = original[r.IntN(n)]
		}
		c, err := CategoriesOf([]CategoryPair{{"a", original, released, nil}})
		if err != nil {
			t.Fatal(err)
		}
		ratio += c.PMSE / c.Expected / trials
	}
	if !(math.Abs(ratio-1) <= 0.02+4*math.Sqrt(2.0/(9*trials))) {
		t.Errorf("pMSE is %v times its expectation", ratio)
	}
}

// After a recoding, records are compared with what the recoding makes of them; what it joins is lost.
func TestCategoriesAfterRecoding(t *testing.T) {
	original := []int32{0, 1, 2, 3, 0, 1, 2, 3}
	coded := []int32{4, 4, 5, 5, 4, 4, 5, 5}
	for _, c := range []struct {
		released []int32
		want     CategoryLoss
		pmse     float64
	}{
		{coded, CategoryLoss{"a", 8, 0, 0, 2, 1, 1, 0}, 0},
		{[]int32{4, 5, 4, 5, 4, 5, 4, 5}, CategoryLoss{"a", 8, 4, 0, 2, 1, 1, 0}, 0},
		// 3 of 4 are lost of 4, and 5 has 4 before and after: (4/7 − ½)²·7 + (½)²·1 over 16.
		{[]int32{4, 4, 5, 5, 4, -1, 5, 5}, CategoryLoss{"a", 8, 1, 1, 2, 1.4056390622295664, 0.8443609377704336, 0.125},
			(7*(3.0/7-0.5)*(3.0/7-0.5) + 0.25) / 16},
	} {
		r, err := CategoriesOf([]CategoryPair{{"a", original, c.released, coded}})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Columns[0]
		if got.Changed != c.want.Changed || got.Missing != c.want.Missing {
			t.Errorf("%v: %d changed, %d missing; want %d and %d", c.released, got.Changed, got.Missing, c.want.Changed,
				c.want.Missing)
		}
		categoriesNear(t, "entropy", got.Original, c.want.Original)
		categoriesNear(t, "released", got.Released, c.want.Released)
		categoriesNear(t, "distance", got.Distance, c.want.Distance)
		categoriesNear(t, "lost", got.Lost, c.want.Lost)
		categoriesNear(t, "pMSE", r.PMSE, c.pmse)
	}
}
