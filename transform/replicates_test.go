package transform

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Chains that share their draws give the same values as chains that do not, bit by bit, for all
// common masks and distributions. For other records they draw again.
func TestReplicatesShareDraws(t *testing.T) {
	x := make([]float64, 9000)
	testKey(t, 3).Stream("x", "", 0).Normals(x, keystream.Records{})
	for i := range x {
		x[i] = math.Round(1000*x[i]) / 10
	}
	kind := make([]float64, len(x))
	for i := range kind {
		kind[i] = float64(i % 7)
	}
	columns := []testColumn{floats(1, x...), floats(1, slices.Clone(x)...), floats(0, kind...)}
	columns[0].Null = []int{3, 4000, 8999}
	setup := testSetup(t, columns...)
	setup.Window = 9000
	noise := func(sd float64, distribution string, tiers ...Tier) Spec {
		return Spec{
			Params: &Noise{Columns: []string{"a", "b"}, SD: &Amount{Value: sd}, Distribution: distribution, Tiers: tiers}}
	}
	bias := Spec{Params: &Bias{Columns: []string{"a"}, Phi: ptr(0.1)}}
	redraw := Spec{Params: &Truncate{Columns: []string{"a", "b"}, Lower: ptr(-90.0), Mode: "redraw"}}
	clip := Spec{Params: &Truncate{Columns: []string{"a", "b"}, Lower: ptr(-90.0)}}
	everywhere := Spec{
		Params: &Swap{Keys: []string{"c"}, Attribute: "b", Columns: []string{"a"}, Rate: ptr(0.5), Policy: "random",
			Scope: "dataset"}}
	swap := Spec{
		Params: &Swap{Keys: []string{"c"}, Attribute: "b", Columns: []string{"a"}, Rate: ptr(0.5), Policy: "random"}}
	lists := [][]Spec{
		{noise(5, "")}, {noise(50, "")}, {noise(50, "laplace")}, {noise(50, "uniform")},
		{noise(50, "", Tier{Above: ptr(0.0), VarianceFactor: ptr(2.0)})}, {noise(5, "uniform", Tier{Above: ptr(0.0),
			VarianceFactor: ptr(2.0)})},
		{bias, noise(5, "")}, {noise(50, ""), redraw}, {noise(5, "uniform"), redraw}, {swap, noise(5, "")}, {noise(0, "")},
		{swap, bias, noise(5, "")}, {swap, bias, noise(50, "")}, {swap, bias, noise(50, ""), redraw},
		{swap, noise(50, ""), redraw}, {swap, noise(50, ""), clip},
		{bias, swap}, {bias, everywhere, noise(5, "")}, {bias, everywhere, noise(50, "")},
	}
	chains := make([]*Chain, len(lists))
	for i, masks := range lists {
		chains[i] = chain(t, setup, masks...)
	}
	for m := 1; m <= 2; m++ {
		shared := Replicates(chains, m)
		for i, c := range chains {
			alone := c.Replicate(m)
			for _, first := range []int64{0, 9000} {
				for stream := range 2 {
					var got, want *microdata.Block
					for _, of := range []struct {
						c  *Chain
						to **microdata.Block
					}{{shared[i], &got}, {alone, &want}} {
						b := block(0, 9000, columns...)
						b.First, b.Stream = first, stream
						if of.c.NeedsSurvey() && !of.c.Surveyed {
							survey(t, of.c, block(0, 9000, columns...))
						}
						*of.to = apply(t, of.c, b)
					}
					for k := range columns {
						if !slices.Equal(got.Columns[k].Out().Values, want.Columns[k].Out().Values) {
							t.Errorf("masks %d, replicate %d, records from %d of stream %d, column %d: differs from the column alone", i, m,
								first, stream, k)
						}
					}
				}
			}
		}
	}
	if shared := Replicates(chains, 1); shared[6].Common != 0 || shared[11].Common != 2 ||
		shared[12].First != shared[11] || shared[12].First == shared[14].First {
		t.Error("the number of shared masks is not that of the leading masks in common")
	}
	if a, b := fmt.Sprint(released(t, Replicates(chains[:1], 1)[0], columns)), fmt.Sprint(
		released(t, Replicates(chains[:1], 2)[0], columns)); a == b {
		t.Error("two replicates are the same")
	}
}

func survey(t *testing.T, c *Chain, b *microdata.Block) {
	t.Helper()
	if err := c.Survey(b); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
}

func released(t *testing.T, c *Chain, columns []testColumn) []float64 {
	t.Helper()
	return apply(t, c, block(0, 9000, columns...)).Columns[0].Out().Values
}

// The result of a mask on one column alone equals its result for this column among others, bit by
// bit.
func TestAlone(t *testing.T) {
	both, other := []string{"a", "b"}, []string{"b"}
	masks := []Spec{
		{Params: &Noise{Columns: other, SD: &Amount{Value: 3}}},
		{Params: &Bias{Columns: both, Phi: ptr(0.1)}},
		{Params: &Noise{Columns: both, SD: &Amount{Value: 20}}}, // noise#2 has other draws than noise#1
		{Params: &Truncate{Columns: both, Lower: ptr(5.0), Mode: "redraw"}},
		{Params: &Round{Columns: both, Base: ptr(5.0)}},
	}
	alone, ok := Alone(masks, "a")
	if !ok || len(alone) != 4 {
		t.Fatalf("%d masks, %v", len(alone), ok)
	}
	columns := []testColumn{floats(0, incomes(500, 1)...), floats(0, incomes(500, 2)...)}
	among := release(t, testSetup(t, columns...), columns, masks...)
	by := release(t, testSetup(t, columns[:1]...), columns[:1], alone...)
	if !slices.Equal(among, by) || slices.Equal(by, columns[0].Values) {
		t.Error("a column is masked differently alone and with other columns")
	}
	swap := Spec{Params: &Swap{Keys: []string{"k"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(0.5)}}
	if _, ok := Alone(append(masks, swap), "a"); ok {
		t.Error("Alone must return false for a swap, which reads other columns")
	}
	if alone, ok := Alone(masks, "c"); !ok || len(alone) > 0 {
		t.Errorf("%d masks of a column that none concerns, %v", len(alone), ok)
	}
}
