package transform

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestRound(t *testing.T) {
	for _, tt := range []struct {
		name     string
		round    Round
		decimals int
		in, want []float64
	}{
		{"halves to even", Round{Decimals: ptr(0)}, 1, []float64{0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 2.6},
			[]float64{0, 2, 2, 0, -2, 2, 3}},
		{"halves of the decimal number", Round{Decimals: ptr(2)}, 3, []float64{2.675, 1.005, 0.285, 1.015, 2.665},
			[]float64{2.68, 1, 0.28, 1.02, 2.66}},
		{"negative decimals", Round{Decimals: ptr(-2)}, 0, []float64{149, 150, 250, 251, -150, 12345},
			[]float64{100, 200, 200, 300, -200, 12300}},
		{"more decimals than the column has", Round{Decimals: ptr(5)}, 2, []float64{1.25, 3}, []float64{1.25, 3}},
		{"base", Round{Base: ptr(5.0)}, 0, []float64{2, 3, 7, 8, -7}, []float64{0, 5, 5, 10, -5}},
		{"base of a half", Round{Base: ptr(0.05)}, 3, []float64{0.075, 0.125, 0.349, 0.351, 0.35},
			[]float64{0.1, 0.1, 0.35, 0.35, 0.35}},
		{"no grid, decimals", Round{Decimals: ptr(3)}, -1, []float64{math.Pi, 2.0625, 1e17}, []float64{3.142, 2.062, 1e17}},
		{"no grid, negative decimals", Round{Decimals: ptr(-1)}, -1, []float64{14.9, 15, 25}, []float64{10, 20, 20}},
		{"no grid, base", Round{Base: ptr(0.25)}, -1, []float64{math.Pi, 0.125, 0.375}, []float64{3.25, 0, 0.5}},
		{"beyond exact integers", Round{Decimals: ptr(0)}, 2, []float64{1e300, -1e17}, []float64{1e300, -1e17}},
	} {
		tt.round.Columns = []string{"a"}
		x := floats(tt.decimals, tt.in...)
		got := release(t, testSetup(t, x), []testColumn{x}, mask(&tt.round))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		for _, v := range got {
			if v == 0 && math.Signbit(v) {
				t.Errorf("%s: negative zero", tt.name)
			}
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		name         string
		lower, upper *float64
		column       testColumn
		want         []float64
	}{
		{"both", ptr(0.0), ptr(10.0), floats(1, -5, 0, 5, 10, 10.1), []float64{0, 0, 5, 10, 10}},
		{"lower", ptr(3.0), nil, floats(1, -5, 3, 1e9), []float64{3, 3, 1e9}},
		{"upper", nil, ptr(3.0), floats(1, -5, 3, 1e9), []float64{-5, 3, 3}},
		{"bounds move inward to the grid", ptr(0.05), ptr(0.97), floats(1, 0, 0.5, 1), []float64{0.1, 0.5, 0.9}},
		{"a bound on the grid stays", ptr(0.29), ptr(0.57), floats(2, 0.28, 0.29, 0.57, 0.58),
			[]float64{0.29, 0.29, 0.57, 0.57}},
		{"integers", ptr(1.5), ptr(3.5), testColumn{Values: []float64{0, 1, 2, 3, 4}, Type: arrow.PrimitiveTypes.Int8},
			[]float64{2, 2, 2, 3, 3}},
		{"no grid", ptr(math.Pi), nil, floats(-1, 3, 4), []float64{math.Pi, 4}},
		{"null", ptr(1.0), nil, testColumn{Values: []float64{0, 0}, Null: []int{1}, Type: arrow.PrimitiveTypes.Float64},
			[]float64{1, 0}},
	} {
		got := release(t, testSetup(t, tt.column), []testColumn{tt.column},
			mask(&Truncate{Columns: []string{"a"}, Lower: tt.lower, Upper: tt.upper}))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
