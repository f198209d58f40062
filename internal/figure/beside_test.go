package figure

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestShares(t *testing.T) {
	for _, c := range []struct {
		v                    float64
		share, left, portion string
	}{
		{0, "0", "0", "0"}, {1, "100", "100", "100"}, {math.NaN(), "–", "–", "–"},
		{0.0025, "0.25", "0.25", "0.25"},    // a decimal of so many digits stays as it is
		{0.07, "7.0", "7.0", "7.0"},         // 100 × 0.07 is a little more than 7
		{0.29, "29.0", "29.0", "29.0"},      // and 100 × 0.29 a little less than 29
		{0.24205, "24.3", "24.2", "24.2"},   // up, down, to the nearest
		{0.0501, "5.1", "5.0", "5.0"},       //
		{0.00251, "0.26", "0.25", "0.25"},   //
		{0.0099999, "1.00", "0.99", "1.00"}, //
		{0.99999, "100.0", "99.9", "100.0"}, // not all: 100 %
		{3.0 / 28155, "0.011", "0.010", "0.011"},
		{1.04e-7, "1.1×10⁻⁵", "1.0×10⁻⁵", "1.0×10⁻⁵"},
	} {
		for what, got := range map[string][2]string{"Share": {Share(c.v), c.share}, "LeftOf": {LeftOf(c.v), c.left},
			"Portion": {Portion(c.v), c.portion}} {
			if strings.TrimSuffix(got[0], "\u00a0%") != got[1] {
				t.Errorf("%s(%v) = %q, want %s %%", what, c.v, got[0], got[1])
			}
		}
	}
}

func TestStated(t *testing.T) {
	for v, want := range map[float64][2]string{
		0.05: {"0.05", "5\u00a0%"}, 0.07: {"0.07", "7\u00a0%"}, 0.050004: {"0.050004", "5.0004\u00a0%"},
		1: {"1", "100\u00a0%"}, 0: {"0", "0\u00a0%"},
		5000.5: {"5,000.5", "500,050\u00a0%"}, 4e-5: {"4×10⁻⁵", "0.004\u00a0%"}, math.Inf(1): {"∞", "∞"},
	} {
		text, value := Stated(v, 0)
		share, of := StatedShare(v, 0)
		if text != want[0] || share != want[1] || value != v || of != v {
			t.Errorf("%v is stated as %q and %q, want %q", v, text, share, want)
		}
	}
}

// TestBeside: a value that differs from a limit, by any amount and in either direction,
// is not formatted like the limit.
func TestBeside(t *testing.T) {
	for _, c := range []struct {
		found, limit float64
		value, bound Writing
		text, rule   string
	}{
		{0.04, 0.05, Risking, StatedShare, "4.0\u00a0%", "5\u00a0%"},
		{0.05, 0.05, Risking, StatedShare, "5.0\u00a0%", "5\u00a0%"},
		{0.0499, 0.05, Risking, StatedShare, "4.99\u00a0%", "5\u00a0%"},
		{0.05001, 0.05, Risking, StatedShare, "5.1\u00a0%", "5\u00a0%"},
		{0.7999, 0.8, Remaining, StatedShare, "79.9\u00a0%", "80\u00a0%"},
		{0.80001, 0.8, Remaining, StatedShare, "80.001\u00a0%", "80\u00a0%"},
		{4999.9, 5000, Estimated(3), Stated, "4,999.9", "5,000"},
		{0.090001, 0.09, Estimated(3), Stated, "0.090001", "0.09"},
		{157.9, 1 / math.Sqrt(4e-5), Estimated(3), Estimated(3), "157.9", "158.1"},
		{5.0001, 5, Counted, Stated, "5.0001", "5"},
		{20110, 0, Counted, Counted, "20,110", "0"},
		{math.NaN(), 0.05, Risking, StatedShare, "–", "5\u00a0%"},
		{math.Inf(1), 5, Estimated(3), Stated, "∞", "5"},
	} {
		if text, rule := Beside(c.found, c.limit, c.value, c.bound); text != c.text || rule != c.rule {
			t.Errorf("%v beside %v: %q, %q; want %q, %q", c.found, c.limit, text, rule, c.text, c.rule)
		}
	}
}

// TestBesideAnything: for numbers of all sizes, many of them almost equal, the texts read
// as numbers compare in the same way as the numbers.
func TestBesideAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(text string) float64 {
		text, isShare := strings.CutSuffix(text, "\u00a0%")
		n := parsedValue(text, math.NaN())
		if isShare {
			return n / 100
		}
		return n
	}
	ways := [][2]Writing{{Risking, StatedShare}, {Remaining, StatedShare}, {Estimated(3), Stated},
		{Estimated(4), Estimated(4)}, {Counted, Stated}, {Risking, Risking}}
	for range 20000 {
		limit := math.Pow(10, -8+16*r.Float64())
		way := ways[r.IntN(len(ways))]
		if r.IntN(2) == 0 { // as people state limits
			limit = math.Round(limit*1000) / 1000
		}
		found := limit * (1 + (r.Float64()-0.5)*math.Pow(10, -9*r.Float64()))
		text, rule := Beside(found, limit, way[0], way[1])
		a, b := number(text), number(rule)
		if math.IsNaN(a) || math.IsNaN(b) || limit > 0 && cmp.Compare(a, b) != cmp.Compare(found, limit) {
			t.Fatalf("%v beside %v: %q beside %q", found, limit, text, rule)
		}
		if math.Abs(a-found) > 0.11*found {
			t.Fatalf("%v reads %q", found, text)
		}
	}
}
