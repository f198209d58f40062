package transform

import (
	"math"
	"slices"
	"sync"
	"testing"
)

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
