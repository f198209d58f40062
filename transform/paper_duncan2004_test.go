package transform

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tfs376 returns the 177 incomes constructed to match table 1 of Duncan, Keller-McNulty and Stokes
// (2004).
func tfs376(t *testing.T) testColumn {
	t.Helper()
	text, err := os.ReadFile("testdata/tfs376_reconstruction.csv")
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, line := range strings.Fields(string(text))[1:] {
		v, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if len(values) != 177 {
		t.Fatalf("%d incomes", len(values))
	}
	return floats(0, values...)
}

// point contains U, and R for several targets and knowledge states.
type point struct {
	u                                                     float64
	maxIndex, maxPosition, p99Index, p99Position, minimum float64
}

// replicateMap is the empirical R and U of section 5, equations (12) and (14),
// of y = max(0, x + ε) with λ² = f·S_x² (equation 11).
func replicateMap(t *testing.T, x testColumn, f float64, tiers []Tier, replicates int) point {
	c := chain(t, testSetup(t, x),
		mask(&Noise{Columns: []string{"a"}, SD: &Amount{Value: math.Sqrt(f), Relative: true}, Tiers: tiers}),
		mask(&Truncate{Columns: []string{"a"}, Lower: ptr(0.0)}))
	n := len(x.Values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(x.Values[i] - x.Values[j]) })
	k99 := int(math.Ceil(0.99 * float64(n)))
	top, second := order[n-1], order[k99-1]
	mean, _ := meanSD(x.Values)
	var loss point
	var means, variance float64
	square := func(a, b float64) float64 { return (a - b) * (a - b) / float64(replicates) }
	b := block(0, n, x)
	for m := 1; m <= replicates; m++ {
		b.Reset(0, 0, n, 1)
		copy(b.Columns[0].Alloc(n, false).Values, x.Values)
		y := apply(t, c.Replicate(m), b).Columns[0].Out().Values
		my, sy := meanSD(y)
		means += my / float64(replicates)
		variance += sy * sy / float64(n) / float64(replicates)
		loss.maxIndex += square(x.Values[top], y[top])
		loss.p99Index += square(x.Values[second], y[second])
		s := slices.Sorted(slices.Values(y))
		loss.maxPosition += square(x.Values[top], s[n-1])
		loss.p99Position += square(x.Values[second], s[k99-1])
		loss.minimum += square(x.Values[order[0]], s[0])
	}
	return point{
		u:        1 / (variance + (means-mean)*(means-mean)),
		maxIndex: 1 / loss.maxIndex, maxPosition: 1 / loss.maxPosition,
		p99Index: 1 / loss.p99Index, p99Position: 1 / loss.p99Position, minimum: 1 / loss.minimum,
	}
}

// The table of docs/methods.md, section 3 (2,000 replicates, two or three digits), and the values
// that the paper reads from figures 5 and 6.
func TestDuncan2004Table(t *testing.T) {
	x := tfs376(t)
	_, sd := meanSD(x.Values)
	replicates := 4000
	if testing.Short() {
		replicates = 2000
	}
	for _, row := range []struct {
		f, u                                         float64
		maxIndex, maxPosition, p99Index, p99Position float64
	}{
		{0.05, 9.56e-07, 1.1e-07, 1.1e-07, 1.2e-07, 1.3e-07},
		{0.12, 9.04e-07, 4.6e-08, 4.6e-08, 4.9e-08, 5.8e-08},
		{0.14, 8.89e-07, 4.0e-08, 4.0e-08, 4.2e-08, 5.3e-08},
		{0.40, 7.06e-07, 1.5e-08, 1.5e-08, 1.4e-08, 2.0e-08},
		{1.00, 3.69e-07, 5.7e-09, 6.8e-09, 5.5e-09, 8.5e-09},
	} {
		got := replicateMap(t, x, row.f, nil, replicates)
		// The mean of m squares of normal draws has a relative standard error of √(2/m): 3.2 % for
		// the table's 2,000 replicates, and at most as much for ours. The tolerance is five of both
		// together, plus half a unit of the last printed digit.
		tolerance := 5 * math.Sqrt(2.0/2000+2/float64(replicates))
		for _, r := range []struct {
			name      string
			got, want float64
		}{
			{"max, index", got.maxIndex, row.maxIndex}, {"max, position", got.maxPosition, row.maxPosition},
			{"p99, index", got.p99Index, row.p99Index}, {"p99, position", got.p99Position, row.p99Position},
		} {
			digit := 0.5 * math.Pow(10, math.Floor(math.Log10(r.want))-1)
			if !(math.Abs(r.got-r.want) <= tolerance*r.want+digit) {
				t.Errorf("f = %v: R %s = %.3g, table %.3g", row.f, r.name, r.got, r.want)
			}
		}
		// U depends on S_y², with a relative spread in one replicate below 0.15 at n = 177, and on
		// the bias of the mean; over 2,000 replicates 5·0.15/√2000.
		if !(math.Abs(got.u/row.u-1) <= 5*0.15/math.Sqrt(2000)+0.005) {
			t.Errorf("f = %v: U = %.4g, table %.4g", row.f, got.u, row.u)
		}
		// The maximum is far from the truncation: R = 1/λ² (4).
		if exact := 1 / (row.f * sd * sd); math.Abs(got.maxIndex/exact-1) > 5*math.Sqrt(2/float64(replicates)) && row.f < 1 {
			t.Errorf("f = %v: R max, index = %.4g, 1/λ² = %.4g", row.f, got.maxIndex, exact)
		}
		if got.p99Position <= got.p99Index {
			t.Errorf("f = %v: position (%.3g) must beat index (%.3g) at p99 (fig. 6)", row.f, got.p99Position, got.p99Index)
		}
		if got.minimum < 4.0e-08 {
			t.Errorf("f = %v: R of the minimum = %.3g falls below 4.0E-08 (fig. 5)", row.f, got.minimum)
		}
		if row.f == 1 && math.Abs(got.minimum*2000*2000-1) > 0.001 {
			t.Errorf("R of the minimum settles at %.4g, not at 1/2000²", got.minimum)
		}
		// The paper reads U = 8.9E-07 at f = 0.12 from one run of 200 replicates.
		if row.f == 0.12 && math.Abs(got.u/8.9e-07-1) > 0.03 {
			t.Errorf("U at f = 0.12 is %.3g, paper 8.9E-07", got.u)
		}
	}
}

// Figure 7: at equal utility, doubling λ² above 35,000 gives less risk at p99 than equal variance.
func TestDuncan2004UnequalVariance(t *testing.T) {
	x := tfs376(t)
	replicates := 2000
	if testing.Short() {
		replicates = 1500
	}
	var equal []point // in order of decreasing U
	for _, f := range []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8} {
		equal = append(equal, replicateMap(t, x, f, nil, replicates))
	}
	for _, f := range []float64{0.05, 0.12, 0.25, 0.4} {
		p := replicateMap(t, x, f, []Tier{{Above: ptr(35000.0), VarianceFactor: ptr(2.0)}}, replicates)
		i := slices.IndexFunc(equal, func(q point) bool { return q.u < p.u })
		if i < 1 {
			t.Fatalf("f = %v: U = %.3g is outside the curve", f, p.u)
		}
		a, b := equal[i-1], equal[i]
		share := (a.u - p.u) / (a.u - b.u)
		r := math.Exp((1-share)*math.Log(a.p99Position) + share*math.Log(b.p99Position))
		if p.p99Position >= r {
			t.Errorf("f = %v: R p99 = %.3g at U = %.3g, equal variance %.3g", f, p.p99Position, p.u, r)
		}
	}
}
