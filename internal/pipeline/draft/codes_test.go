package draft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Codes are found where they stand apart or occur far more often than their neighbours, and nowhere else.
func TestCodesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 41))
	column := func(n int, draw func() float64, codes map[float64]int) map[float64]int {
		counts := map[float64]int{}
		for range n {
			counts[draw()]++
		}
		for v, k := range codes {
			counts[v] += k
		}
		return counts
	}
	age := func() float64 { return float64(18 + r.IntN(77)) }
	young := func() float64 { return float64(18 + r.IntN(63)) }
	income := func() float64 { return math.Round(100*math.Exp(8+0.7*r.NormFloat64())) / 100 }
	wide := func() float64 { return math.Round(math.Exp(10 + 1.5*r.NormFloat64())) }
	scale := func() float64 { return float64(1 + r.IntN(7)) }
	few := func() float64 { return float64(1 + r.IntN(4)) }
	balance := func() float64 { return math.Round(1000 * r.NormFloat64()) }
	temperature := func() float64 { return float64(-3 + r.IntN(30)) }
	for _, tt := range []struct {
		name  string
		draw  func() float64
		codes map[float64]int
		want  []float64
	}{
		{"income, none", income, nil, nil},
		{"income, −9", income, map[float64]int{-9: 200}, []float64{-9}},
		{"income, −9 and −8 and 9999999", income, map[float64]int{-9: 200, -8: 12, 9999999: 40}, []float64{-9, -8, 9999999}},
		{"wide, 99999 among the values", wide, map[float64]int{99999: 150}, []float64{99999}},
		{"wide, none", wide, nil, nil},
		{"age, 97 to 99 far more often", age, map[float64]int{97: 300, 98: 350, 99: 200}, []float64{97, 98, 99}},
		{"age, 97 to 99 far away", young, map[float64]int{97: 17, 98: 16, 99: 17}, []float64{97, 98, 99}},
		{"age, old people", func() float64 { return float64(18 + r.IntN(82)) }, nil, nil},
		{"a scale", scale, nil, nil},
		{"a scale to nine", func() float64 { return float64(1 + r.IntN(9)) }, nil, nil},
		{"few classes, 9", few, map[float64]int{9: 30}, []float64{9}},
		{"few classes, 8 and 9", few, map[float64]int{8: 20, 9: 30}, []float64{8, 9}},
		{"balance", balance, nil, nil},
		{"balance, −999 far more often", balance, map[float64]int{-999: 120}, []float64{-999}},
		{"temperature", temperature, nil, nil},
		{"a code too rare", income, map[float64]int{-9: 2}, nil},
		{"no usual code", income, map[float64]int{-12: 300}, nil},
		{"nothing else", func() float64 { return -9 }, nil, nil},
	} {
		counts := column(2000, tt.draw, tt.codes)
		var got []float64
		for _, c := range findCodes(counts) {
			got = append(got, c.value)
			if c.n != counts[c.value] {
				t.Errorf("%s: %v is counted %d times, occurs %d times", tt.name, c.value, c.n, counts[c.value])
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", tt.name, got, tt.want)
		}
	}
}

// No other number than a usual one is ever written into a draft.
func TestOnlyUsualCodes(t *testing.T) {
	for v, want := range map[float64]bool{-1: true, -9: true, 7: true, 6: false, 0: false, 97: true, 96: true, 95: false, 998: true, 988: false, -99: true, 77: true, 888: true, 9999999: true, 99.5: false, 1e15: false, 1234: false} {
		if usualCode(v) != want {
			t.Errorf("%v: %v, want %v", v, !want, want)
		}
	}
}
