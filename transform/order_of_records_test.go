package transform

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// With identity, every respondent has the same released values in every order of the records.
// Otherwise two releases of a file sorted differently would reveal which values are exchanged, or
// would mask one value twice. Microaggregation draws nothing, but if a mean changed with the order,
// an intruder would know that a value lies on the border between two groups. All columns have many
// equal values.
func TestOrderOfRecordsChangesNothing(t *testing.T) {
	const n = 700
	draw := rand.New(rand.NewPCG(11, 12))
	columns := make([]testColumn, 6)
	for k := range columns {
		columns[k] = floats(0, make([]float64, n)...)
	}
	for i := range n {
		for k, most := range []int{90, 60, 40, 3, 5} {
			columns[k].Values[i] = float64(1 + draw.IntN(most))
		}
		columns[0].Values[i] += columns[1].Values[i]
		columns[5].Values[i] = float64(i)
	}
	columns[0].Null = []int{3, 77, 500}
	setup := testSetup(t, columns...)
	setup.Identity = []int{5}
	some := []string{"a", "b"}
	for name, m := range map[string]Params{
		"swap, unique": &Swap{Keys: []string{"d"}, Attribute: "c", Columns: some, Rate: ptr(0.7), Scope: "dataset"},
		"swap, random": &Swap{Keys: []string{"d"}, Attribute: "e", Columns: some, Rate: ptr(0.7), Scope: "dataset",
			Policy: "random"},
		"swap, all": &Swap{Keys: []string{"d"}, Attribute: "c", Columns: some, Rate: ptr(1.0), Scope: "dataset",
			Policy: "random"},
		"rankswap":            &RankSwap{Columns: some, P: ptr(0.1), Bottom: ptr(0.05), Top: ptr(0.05)},
		"microaggregate":      &Microaggregate{Columns: []string{"b", "c"}, K: ptr(3)},
		"microaggregate, by":  &Microaggregate{Columns: []string{"a", "b"}, K: ptr(3), By: []string{"d"}},
		"microaggregate, one": &Microaggregate{Columns: []string{"b"}, K: ptr(4), Method: "univariate"},
		"recordswap": &RecordSwap{Hierarchy: []string{"d", "e"}, Carry: []string{"b"}, Risk: []string{"c"},
			Rate: ptr(0.3), Similar: [][]string{{"a"}, nil}},
		"calibrate":          &Calibrate{Columns: []string{"b"}, By: []string{"d", "e"}, On: []string{"c"}},
		"shuffle":            &Shuffle{Columns: []string{"b"}, On: []string{"c", "d"}},
		"synthesise":         &Synthesise{Columns: []string{"b", "c"}, On: []string{"d"}},
		"synthesise, normal": &Synthesise{Columns: []string{"b", "c"}, On: []string{"d"}, Method: "normal"},
		"synthesise, cart":   &Synthesise{Columns: []string{"b", "c"}, On: []string{"d"}, Method: "cart"},
		"suppress":           &Suppress{Keys: []string{"b", "c", "d"}, K: ptr(3)},
		"suppress, any":      &Suppress{Keys: []string{"b", "c", "d"}, K: ptr(3), Missing: "any"},
	} {
		t.Run(name, func(t *testing.T) {
			want := whole(t, chain(t, setup, mask(m)), n, columns...)
			order := draw.Perm(n)
			got := whole(t, chain(t, setup, mask(m)), 97, reordered(columns, order)...)
			others, masked := 0, 0
			for at, i := range order {
				var was, is [10]float64
				for k := range 5 {
					was[k], is[k] = columns[k].Values[i], columns[k].Values[i]
					was[5+k], is[5+k] = want[k][i], got[k][at]
				}
				if !slices.Equal(was[:5], was[5:]) {
					masked++
				}
				if fmt.Sprint(was) != fmt.Sprint(is) { // also for missing values
					others++
				}
			}
			if others > 0 || masked == 0 {
				t.Errorf("%d records have a different release in another order; %d of %d masked", others, masked, n)
			}
		})
	}
}

// Records that are synthesised in the order of their identities take other draws than those in
// the order of the file: the same draws for other records would show two releases' differences.
// Replicates know no identities, and have the same draws in both.
func TestSynthesisByIdentityHasDrawsOfItsOwn(t *testing.T) {
	columns := []testColumn{floats(0, 1, 2, 3), floats(0, 4, 5, 6), floats(0, 7, 8, 9)}
	setup := testSetup(t, columns...)
	identified := setup
	identified.Identity = []int{2}
	for _, method := range []string{"", "normal", "cart"} {
		m := synthesise(Synthesise{Columns: []string{"a"}, On: []string{"b"}, Method: method})
		plain, by := chain(t, setup, m), chain(t, identified, m)
		if len(plain.DrawNames) == 0 || len(plain.DrawNames) != len(by.DrawNames) {
			t.Fatalf("method %q: %d and %d draws", method, len(plain.DrawNames), len(by.DrawNames))
		}
		for _, name := range plain.DrawNames {
			if slices.Contains(by.DrawNames, name) {
				t.Errorf("method %q: both draw %+v", method, name)
			}
		}
		for _, replicate := range []int{1, 2} {
			if p, q := plain.Replicate(replicate).DrawNames, by.Replicate(replicate).DrawNames; !slices.Equal(p, q) {
				t.Errorf("method %q: replicates draw %+v and %+v", method, p, q)
			}
		}
	}
}

// If fewer than k records are left, a group with the smallest number of cells loses all keys with
// them. Among groups of equal size the order of the records must not decide.
func TestOrderOfRecordsChoosesNoGroup(t *testing.T) {
	b, c, id := []float64{1, 1, 1, 1, 2, 2, 2, 2, 3, 3}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, make([]float64, 10)
	for _, from := range []float64{0, 100, 200, 300} { // the identities decide
		for i := range id {
			id[i] = from + float64(i)
		}
		columns := []testColumn{floats(0, b...), floats(0, c...), floats(0, id...)}
		setup := testSetup(t, columns...)
		setup.Identity = []int{2}
		m := mask(&Suppress{Keys: []string{"a", "b"}, K: ptr(4), Importance: map[string]float64{"a": 2}})
		want := whole(t, chain(t, setup, m), 10, columns...)
		for _, order := range [][]int{{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {4, 0, 8, 1, 5, 2, 6, 3, 7, 9},
			{8, 9, 4, 5, 6, 7, 0, 1, 2, 3}} {
			got := whole(t, chain(t, setup, m), 3, reordered(columns, order)...)
			for at, i := range order {
				if fmt.Sprint(want[0][i], want[1][i]) != fmt.Sprint(got[0][at], got[1][at]) {
					t.Fatalf("order %v: record %d is released as %v %v, and as %v %v", order, i, want[0][i], want[1][i], got[0][at],
						got[1][at])
				}
			}
		}
	}
}
