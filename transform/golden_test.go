package transform

import (
	"hash/fnv"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The same key, data and masks give the same bits on every platform and in every
// version: whoever releases again next month relies on it. A change here is a
// change of what is released, and needs a new version of the keystream's labels.
func TestReleasedBits(t *testing.T) {
	const n = 5000
	columns := []testColumn{
		floats(2, make([]float64, n)...), floats(-1, make([]float64, n)...),
		{values: make([]float64, n), typ: arrow.PrimitiveTypes.Float32, decimals: 1}, floats(0, make([]float64, n)...), floats(0, make([]float64, n)...),
	}
	for i := range n {
		columns[0].values[i] = float64(i*7919%1000003) / 100
		columns[1].values[i] = float64(i*104729%1000003) / 3
		columns[2].values[i] = float64(float32(i%997) / 10)
		columns[3].values[i], columns[4].values[i] = float64(i%211), float64(i/400%3)
		if i%97 == 0 {
			columns[4].values[i] = 7 // unique in the data set
		}
	}
	setup := testSetup(t, columns...)
	setup.Window = 1000
	for i := range setup.Columns {
		setup.Columns[i].Mean, setup.Columns[i].SD = 5000, 2900 // not computed, so that they are the same everywhere
	}
	for _, tt := range []struct {
		name  string
		masks []Spec
		want  uint64
	}{
		{"bias", []Spec{mask(&Bias{Columns: []string{"a", "b", "c"}, Range: ptr(0.05)})}, 0xb88d7e67b374e99a},
		{"normal", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: percent(35), Tiers: []Tier{{ptr(1000.0), ptr(2.0)}}})}, 0x3adc793d90baa470},
		{"laplace", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "laplace"})}, 0x7c11e61d840f7a5a},
		{"uniform", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "uniform"})}, 0x4f699e470260eaae},
		{"redraw, normal", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35)}), mask(&Truncate{Columns: []string{"a", "b", "c"}, Lower: ptr(50.0), Upper: ptr(9000.0), Mode: "redraw"})}, 0xd36c8aeb065d6d4d},
		{"redraw, laplace", []Spec{mask(&Noise{Columns: []string{"a", "b", "c"}, SD: amount(35), Distribution: "laplace"}), mask(&Truncate{Columns: []string{"a", "b", "c"}, Lower: ptr(50.0), Mode: "redraw"})}, 0xf58910a8143b4083},
		{"swap, unique", []Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5)})}, 0xe362e3cfaf158510},
		{"swap, random", []Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5), Policy: "random"})}, 0x818b418015855814},
		{"swap, unique, dataset", []Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5), Scope: "dataset"})}, 0xf6ff1246a488be48},
		{"swap, random, dataset", []Spec{mask(&Swap{Keys: []string{"d"}, Attribute: "e", Columns: []string{"a", "b", "c"}, Rate: ptr(0.5), Scope: "dataset", Policy: "random"})}, 0xfb598bd5377bf2bc},
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
