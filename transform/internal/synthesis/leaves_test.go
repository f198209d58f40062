package synthesis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

// A tree on columns that do not change knows the leaf of each record, missing predictors included; one on drawn columns
// does not, nor does that of a small stratum.
func TestLeavesOfUnchangedPredictorsAreKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const n = 600
	x, z, y, rows := make([]float64, n), make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range n {
		x[i], z[i], rows[i] = r.NormFloat64(), r.NormFloat64(), int32(i)
		y[i] = x[i] + r.NormFloat64()/10
	}
	x[5] = math.NaN()
	s := &synthesis{leaf: 10, categories: []bool{false}}
	by := modelled{before: []models.Predictor{{Values: x}, {Values: z}}, on: 2}
	fit := s.fitTree(y, slices.Delete(slices.Clone(rows), 5, 6), 0, by, nil)
	if len(fit.leaves) != n || len(fit.of.Nodes) < 20 {
		t.Fatalf("%d leaves of records, %d nodes", len(fit.leaves), len(fit.of.Nodes))
	}
	for i, leaf := range fit.leaves {
		if int(leaf) != fit.of.NodeOf(by.before, int32(i)) {
			t.Errorf("record %d has another leaf", i)
		}
	}
	for i, row := range fit.of.Rows {
		if fit.y[i] != y[row] {
			t.Errorf("row %d has another value", i)
		}
	}
	if by.on = 0; s.fitTree(y, rows[10:], 0, by, nil).leaves != nil {
		t.Error("the leaves of a drawn predictor are said not to change")
	}
	if by.on = 2; s.fitTree(y, rows[n/2+10:], 0, by, nil).leaves != nil {
		t.Error("a small stratum has the leaves of all records")
	}
}
