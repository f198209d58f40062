package draft

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
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
	for v, want := range map[float64]bool{-1: true, -9: true, 7: true, 6: false, 0: false, 97: true, 96: true, 95: false,
		998: true, 988: false, -99: true, 77: true, 888: true, 9999999: true, 99.5: false, 1e15: false, 1234: false} {
		if usualCode(v) != want {
			t.Errorf("%v: %v, want %v", v, !want, want)
		}
	}
}

// spread are the whole numbers of a range, each so often.
func spread(from, to, n int) map[float64]int {
	counts := map[float64]int{}
	for v := from; v <= to; v++ {
		counts[float64(v)] = n
	}
	return counts
}

// Each condition on a code just holds, or just does not.
func TestCodesAtTheLimits(t *testing.T) {
	with := func(counts map[float64]int, codes map[float64]int) map[float64]int {
		for v, n := range codes {
			counts[v] = n
		}
		return counts
	}
	for _, c := range []struct {
		name   string
		counts map[float64]int
		want   []float64
	}{
		{"three records", with(spread(1, 40, 2), map[float64]int{-9: 3}), []float64{-9}},
		{"two records", with(spread(1, 40, 2), map[float64]int{-9: 2}), nil},
		{"one in 1,000", with(spread(1, 27, 111), map[float64]int{-9: 3}), []float64{-9}},
		{"fewer than one in 1,000", with(spread(1, 28, 111), map[float64]int{-9: 3}), nil},
		{"a positive one at the low end", with(spread(100, 140, 10), map[float64]int{8: 50}), nil},
		{"a negative one at the high end", with(spread(-140, -100, 10), map[float64]int{-9: 50}), nil},
		{"twenty among the values",
			with(spread(10, 60, 2), map[float64]int{-1: 2, 1: 2, 2: 2, 77: 2, 78: 2, 79: 2, 80: 2, 81: 2, 88: 20, 89: 2, 90: 2,
				91: 2, 92: 2, 93: 2}), []float64{88}},
		{"nineteen among the values",
			with(spread(10, 60, 1),
				map[float64]int{77: 1, 78: 1, 79: 1, 80: 1, 81: 1, 88: 19, 89: 1, 90: 1, 91: 1, 92: 1, 93: 1}), nil},
		{"not ten times as often", with(spread(10, 60, 3), map[float64]int{88: 29, 89: 3, 90: 3, 91: 3, 92: 3, 93: 3}), nil},
		{"beyond values below 0, near", with(spread(-50, 50, 4), map[float64]int{-99: 17}), nil},
		{"beyond values below 0, far", with(spread(-40, 40, 4), map[float64]int{-99: 17}), []float64{-99}},
		{"8 next to classes", with(spread(1, 5, 10), map[float64]int{8: 30}), nil},
		{"9 next to classes", with(spread(1, 5, 10), map[float64]int{9: 30}), []float64{9}},
		{"one below counts", with(spread(0, 40, 10), map[float64]int{-1: 5}), nil},
		{"one below counts, often", with(spread(0, 40, 10), map[float64]int{-1: 40}), []float64{-1}},
		{"three below counts", with(spread(0, 40, 10), map[float64]int{-3: 5}), []float64{-3}},
		{"the next class, often", with(spread(1, 6, 10), map[float64]int{7: 50}), nil},
		{"the class after next, often", with(spread(1, 5, 10), map[float64]int{7: 50}), []float64{7}},
		{"the next of many, often", with(spread(85, 96, 10), map[float64]int{97: 50}), []float64{97}},
	} {
		var got []float64
		for _, code := range findCodes(c.counts) {
			got = append(got, code.value)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v", c.name, got, c.want)
		}
	}
	for v, want := range map[float64]bool{98.6: false, -9.4: false, 999999999999: true, 9999999999999: false, 8: true,
		9: true, -6: true, 99: true, 88888: true, 66: false} {
		if usualCode(v) != want {
			t.Errorf("%v: %v, want %v", v, !want, want)
		}
	}
}

// A column is described without its codes: what is left of its values, their sums, their ends and their sign.
func TestColumnsWithoutTheirCodes(t *testing.T) {
	for _, negative := range []bool{false, true} {
		counts, n, sum, squares := map[float64]int{-9: 30, 9999: 40}, 0, 0.0, 0.0
		for v := range 200 {
			counts[float64(v+1)] = 2
		}
		if negative {
			delete(counts, -9)
			counts[-2] = 1
		}
		for v, k := range counts {
			n, sum, squares = n+k, sum+v*float64(k), squares+v*v*float64(k)
		}
		c := Column{Field: microdata.Field{Type: arrow.PrimitiveTypes.Int64}, Values: n, Distinct: len(counts), sum: sum,
			squares: squares, least: -9, most: 9999, Negative: true}
		c.setCodes(counts, nil)
		coded, codes, least, left, lefts := 70, []string{"-9", "9999"}, 1.0, 40200.0, 0.0
		if negative {
			coded, codes, least, left = 40, []string{"9999"}, -2, 40198
		}
		for v, k := range counts {
			lefts += v * v * float64(k)
		}
		if !slices.Equal(c.Codes, codes) || c.Coded != coded || c.left != coded || c.Values != n-coded ||
			c.Distinct != len(counts) || c.least != least || c.most != 200 || c.Negative != negative || c.sum != left ||
			c.squares != lefts {
			t.Errorf("negative %v: %+v, want codes %v of %d records, %v to 200, sum %v, squares %v", negative, c, codes, coded,
				least, left, lefts)
		}
		if _, there := counts[9999]; there || c.declared() != "["+strings.Join(codes, ", ")+"]" ||
			!strings.HasPrefix(c.Proposal(),
				strings.Join(codes, ", ")+map[bool]string{true: " looks like a code", false: " look like codes"}[negative]) {
			t.Errorf("negative %v: declared %s, proposal %s", negative, c.declared(), c.Proposal())
		}
	}
	texts := Column{Field: microdata.Field{Type: arrow.BinaryTypes.String}, Values: 20, Distinct: 3}
	if texts.setCodes(nil, map[string]int{"refused": 3, "dk": 2}); !slices.Equal(texts.Codes, []string{"dk", "refused"}) ||
		texts.Coded != 5 || texts.declared() != `["dk", "refused"]` {
		t.Errorf("texts: %+v", texts)
	}
	for _, c := range []Column{{Values: 3, Distinct: 1}, {Values: 3, Distinct: 2}} { // nothing but that
		c.Field.Type = arrow.BinaryTypes.String
		if c.setCodes(nil, map[string]int{"refused": 3}); c.Codes != nil {
			t.Errorf("all values are codes: %+v", c)
		}
	}
	if c := (Column{Field: microdata.Field{Type: arrow.BinaryTypes.String}, Values: 4, Distinct: 1}); true {
		if c.setCodes(nil, map[string]int{"refused": 3}); c.Codes != nil {
			t.Errorf("no value but codes: %+v", c)
		}
	}
}
