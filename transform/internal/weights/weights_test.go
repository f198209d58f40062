package weights

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
	"math"
	"slices"
	"strings"
	"testing"
)

// A record whose sampling weight is negative, not finite or missing is rejected with its place and without the value,
// where a measure estimates by it; where it is only calibrated, a missing one stays. A weight of 0 is one. Of what is
// never released nothing is rejected.
func TestWeightsThatAreNone(t *testing.T) {
	values := []float64{-1, 2, 0, math.Inf(1), math.NaN(), 5, math.Inf(-1), -1e-300, 3}
	null := 5
	made := func(masks []core.Spec, weights ...core.ColumnInfo) *core.Chain {
		setup := testSetup(t, floats(2, values...), floats(0, 1, 2, 3))
		setup.Weights = weights
		return chain(t, setup, masks...)
	}
	rejected := func(c *core.Chain) (rows []int) {
		weights := floats(2, values...)
		weights.Null = []int{null}
		b := block(0, len(values), weights, floats(0, make([]float64, len(values))...))
		if err := c.Admit(b); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Rejects {
			if r.Column != "a" || strings.ContainsAny(r.Reason, "123456789") {
				t.Errorf("record %d is rejected because %s: %s", r.Row, r.Column, r.Reason)
			}
			rows = append(rows, r.Row)
		}
		slices.Sort(rows)
		return rows
	}
	other := []core.Spec{mask(&record.Round{Columns: []string{"b"}, Base: ptr(5.0)})}
	weight := core.ColumnInfo{Name: "a", Index: 0}
	if got := rejected(made(other, weight)); !slices.Equal(got, []int{0, 3, 4, 5, 6, 7}) {
		t.Errorf("by a measure: records %v are rejected", got)
	}
	if got := rejected(made(other)); got != nil {
		t.Errorf("without weights: records %v are rejected", got)
	}
	calibrated := []core.Spec{mask(&Calibrate{Columns: []string{"a"}, By: []string{"b"}})}
	if got := rejected(made(calibrated)); !slices.Equal(got, []int{0, 3, 4, 6, 7}) {
		t.Errorf("calibrated: records %v are rejected", got)
	}
	if got := rejected(made(calibrated, weight)); !slices.Equal(got, []int{0, 3, 4, 5, 6, 7}) {
		t.Errorf("calibrated and measured: records %v are rejected", got)
	}
	if got := rejected(made(calibrated, weight).Replicate(1)); slices.Contains(got, 5) || slices.Contains(got, 0) {
		t.Errorf("in a replicate, records %v are rejected", got)
	}
}
