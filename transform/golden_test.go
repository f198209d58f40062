package transform

import (
	"hash/fnv"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The same key, data and masks give the same bits on every platform and in every version: next
// month's release depends on it. A difference here changes releases and needs a new version of the
// keystream's labels.
func TestReleasedBits(t *testing.T) {
	const n = 5000
	columns := []testColumn{
		floats(2, make([]float64, n)...), floats(-1, make([]float64, n)...),
		{Values: make([]float64, n), Type: arrow.PrimitiveTypes.Float32, Decimals: 1}, floats(0, make([]float64, n)...),
		floats(0, make([]float64, n)...),
	}
	for i := range n {
		columns[0].Values[i] = float64(i*7919%1000003) / 100
		columns[1].Values[i] = float64(i*104729%1000003) / 3
		columns[2].Values[i] = float64(float32(i%997) / 10)
		columns[3].Values[i], columns[4].Values[i] = float64(i%211), float64(i/400%3)
		if i%97 == 0 {
			columns[4].Values[i] = 7 // unique in the data set
		}
	}
	setup := testSetup(t, columns...)
	setup.Window = 1000
	for i := range setup.Columns {
		setup.Columns[i].Mean, setup.Columns[i].SD = 5000, 2900 // constants, so that they are the same on every platform
	}
	for _, tt := range []struct {
		name  string
		masks []Spec
		want  uint64
	}{
		{"bias", []Spec{mask(&Bias{Columns: []string{"a", "b", "c"}, Range: ptr(0.05)})}, 0xd2d54fc086adab1b},
		{
			"normal",
			[]Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: percent(35), Tiers: []Tier{{Above: ptr(1000.0),
				VarianceFactor: ptr(2.0)}}})},
			0x741031d1d920471e},
		{"laplace", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "laplace"})},
			0xa67d06942467c2d5},
		{"uniform", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "uniform"})},
			0x5137375d59c77937},
		{
			"redraw, normal",
			[]Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35)}),
				mask(&Truncate{Columns: []string{"a", "b", "c"}, Lower: ptr(50.0), Upper: ptr(9000.0), Mode: "redraw"})},
			0xea9e380bbc37e00f},
		{"redraw, laplace", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "laplace"}),
			mask(&Truncate{Columns: []string{"a", "b", "c"}, Lower: ptr(50.0), Mode: "redraw"})}, 0x6e63f1e2f7b8d23d},
		{
			"swap, unique",
			[]Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5)})},
			0x4f4f9d3dee19e974},
		{
			"swap, random",
			[]Spec{
				mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5),
					Policy: "random"})}, 0xb412030de73cf870},
		{"swap, unique, dataset",
			[]Spec{
				mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5),
					Scope: "dataset"})}, 0xbb61628ae9c5c6f8},
		{"swap, random, dataset",
			[]Spec{
				mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5), Scope: "dataset",
					Policy: "random"})}, 0xc5ff9ffc5e21304c},
	} {
		c := chain(t, setup, tt.masks...)
		if c.NeedsSurvey() {
			surveyed(t, c, 1000, columns...)
		}
		b := apply(t, c, block(0, n, columns...))
		h := fnv.New64a()
		for k := range 3 {
			for _, y := range b.Columns[k].Out().Values {
				bits := math.Float64bits(y)
				for s := 0; s < 64; s += 8 {
					h.Write([]byte{byte(bits >> s)})
				}
			}
		}
		if got := h.Sum64(); got != tt.want {
			t.Errorf("%s: released bits hash to %#x, want %#x", tt.name, got, tt.want)
		}
	}
}
