package weights

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/category"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// weightsData: weights a, categories b (4) and c (3), a number d and a category e of five records of 400.
func weightsData(n int) []testColumn {
	r := rand.New(rand.NewPCG(41, 7))
	columns := make([]testColumn, 5)
	for k := range columns {
		columns[k] = floats([]int{-1, 0, 0, 2, 0}[k], make([]float64, n)...)
	}
	for i := range n {
		columns[0].Values[i] = 10 + 90*r.Float64()
		columns[1].Values[i] = float64(r.IntN(4))
		columns[2].Values[i] = float64(r.IntN(3))
		columns[3].Values[i] = math.Round(100*math.Exp(3+r.NormFloat64())) / 100
	}
	return columns
}

func calibrated(t *testing.T, columns []testColumn, masks ...core.Spec) ([]float64, *Calibrated, *microdata.Block) {
	t.Helper()
	c := surveyed(t, chain(t, testSetup(t, columns...), masks...), 97, columns...)
	b := apply(t, c, block(0, len(columns[0].Values), columns...))
	return slices.Clone(b.Columns[0].Out().Values), CalibratedBy(c, len(masks)-1), b
}

// plainRaking scales the weights to one margin after another, many times.
func plainRaking(w, b, c []float64, ofB, ofC []float64) []float64 {
	w = slices.Clone(w)
	for range 2000 {
		for _, m := range []struct{ by, of []float64 }{{b, ofB}, {c, ofC}} {
			sums := make([]float64, len(m.of))
			for i, v := range w {
				sums[int(m.by[i])] += v
			}
			for i := range w {
				w[i] *= m.of[int(m.by[i])] / sums[int(m.by[i])]
			}
		}
	}
	return w
}

func margins(b, c []float64) map[string]map[string]float64 {
	m := map[string]map[string]float64{"b": {}, "c": {}}
	for i, v := range b {
		m["b"][string(rune('0'+i))] = v
	}
	for i, v := range c {
		m["c"][string(rune('0'+i))] = v
	}
	return m
}

// Without bounds the weights are those of iterative proportional fitting, to the ten digits that are kept.
func TestRakingIsIterativeProportionalFitting(t *testing.T) {
	columns := weightsData(400)
	ofB, ofC := []float64{3000, 9000, 5000, 6000}, []float64{13000, 4000, 6000}
	got, said, _ := calibrated(t, columns, mask(&Calibrate{Columns: []string{"a"}, Margins: margins(ofB, ofC)}))
	want := plainRaking(columns[0].Values, columns[1].Values, columns[2].Values, ofB, ofC)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 2e-9*want[i] {
			t.Fatalf("record %d: %v, want %v", i, got[i], want[i])
		}
	}
	scale := 23000 / sumOf(columns[0].Values)
	least, greatest := math.Inf(1), 0.0
	for i, v := range want {
		f := v / columns[0].Values[i] / scale
		least, greatest = min(least, f), max(greatest, f)
	}
	if said.Records != 400 || said.Gap > 1e-9 || math.Abs(said.Least-least) > 1e-7 ||
		math.Abs(said.Greatest-greatest) > 1e-7 || said.Alone != 400 || said.AtLower+said.AtUpper > 0 {
		t.Errorf("%+v, want factors of %v to %v", said, least, greatest)
	}
	var sum, square float64
	for _, v := range got {
		sum, square = sum+v, square+v*v
	}
	if want := 400 * square / sum / sum; math.Abs(said.DesignAfter-want) > 1e-9 || said.DesignAfter == said.DesignBefore {
		t.Errorf("design effects %v and %v, want the second %v", said.DesignBefore, said.DesignAfter, want)
	}
}

// Between bounds the factors are inside them, meet the margins, and have a logit that is a sum of a term for
// each category: then they are the only solution.
func TestCalibrationWithinBounds(t *testing.T) {
	columns := weightsData(400)
	ofB, ofC := []float64{4300, 7000, 5700, 6000}, []float64{9000, 6000, 8000}
	for _, bounds := range [][2]float64{{0.3, 3}, {0.5, 1.6}, {0, 1.35}} {
		m := &Calibrate{Columns: []string{"a"}, Margins: margins(ofB, ofC), Lower: ptr(bounds[0]), Upper: ptr(bounds[1])}
		got, said, _ := calibrated(t, columns, mask(m))
		scale := 23000 / sumOf(columns[0].Values)
		sums := [2][4]float64{}
		logit := [4][3]float64{}
		for i, v := range got {
			f := v / columns[0].Values[i] / scale
			if !(f > bounds[0] && f < bounds[1]) {
				t.Fatalf("%v: a factor of %v", bounds, f)
			}
			b, c := int(columns[1].Values[i]), int(columns[2].Values[i])
			sums[0][b] += v
			sums[1][c] += v
			logit[b][c] = math.Log((f - bounds[0]) / (bounds[1] - f))
		}
		for k, want := range ofB {
			if math.Abs(sums[0][k]-want) > 1e-7*want {
				t.Errorf("%v: b = %d has %v, want %v", bounds, k, sums[0][k], want)
			}
		}
		for k, want := range ofC {
			if math.Abs(sums[1][k]-want) > 1e-7*want {
				t.Errorf("%v: c = %d has %v, want %v", bounds, k, sums[1][k], want)
			}
		}
		for b := 1; b < 4; b++ {
			for c := 1; c < 3; c++ {
				if d := logit[b][c] - logit[0][c] - logit[b][0] + logit[0][0]; math.Abs(d) > 1e-6 {
					t.Errorf("%v: the logits are no sum: %v", bounds, d)
				}
			}
		}
		if said.Gap > 1e-8 || said.Iterations < 2 {
			t.Errorf("%v: %+v", bounds, said)
		}
	}
	// Bounds that no weights can meet.
	m := &Calibrate{Columns: []string{"a"}, Margins: margins(ofB, ofC), Lower: ptr(0.97), Upper: ptr(1.03)}
	c := chain(t, testSetup(t, columns...), mask(m))
	if err := c.Survey(block(0, 400, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err == nil || !strings.Contains(err.Error(), "did not converge after") ||
		!strings.Contains(err.Error(), "nothing is released") {
		t.Errorf("narrow bounds: %v", err)
	}
}

// Behind masks, released columns get the weighted totals of the original, though records were left out.
func TestCalibrationToTheOriginal(t *testing.T) {
	columns := weightsData(4000)
	for i := range 40 {
		columns[0].Null = append(columns[0].Null, 100*i)
	}
	masks := []core.Spec{
		mask(&record.Sample{Rate: ptr(0.25)}),
		mask(&category.PRAM{Columns: []string{"b"}, Keep: ptr(0.6), Categories: []string{"0", "1", "2", "3"}}),
		mask(&record.Noise{Columns: []string{"d"}, SD: amount(10)}),
		mask(&Calibrate{Columns: []string{"a"}, By: []string{"b", "c"}, On: []string{"d"}}),
	}
	got, said, b := calibrated(t, columns, masks...)
	var want, sums [2][4]float64
	wantD, sumD, released, changed := 0.0, 0.0, 0, 0
	for i := range 4000 {
		if i%100 == 0 {
			continue
		}
		w := columns[0].Values[i]
		want[0][int(columns[1].Values[i])] += w
		want[1][int(columns[2].Values[i])] += w
		wantD += w * columns[3].Values[i]
		if b.Rejected(i) {
			continue
		}
		released++
		rb := b.Columns[1].Out().Values[i]
		if rb != columns[1].Values[i] {
			changed++
		}
		sums[0][int(rb)] += got[i]
		sums[1][int(columns[2].Values[i])] += got[i]
		sumD += got[i] * b.Columns[3].Out().Values[i]
	}
	for k := range want {
		for j := range want[k] {
			if math.Abs(sums[k][j]-want[k][j]) > 1e-7*want[k][j] {
				t.Errorf("margin %d of %d: %v, want %v", j, k, sums[k][j], want[k][j])
			}
		}
	}
	if math.Abs(sumD-wantD) > 1e-7*wantD || said.Records != released || changed < released/5 {
		t.Errorf("total %v, want %v; %+v of %d released, %d changed", sumD, wantD, said, released, changed)
	}
}

// What a calibration refuses; no text holds a value of the data.
func TestCalibrationRefuses(t *testing.T) {
	rare := func(n int, weight float64) []testColumn {
		columns := weightsData(400)
		for i := range n {
			columns[4].Values[13*i] = 7
		}
		if weight != 0 {
			columns[0].Values[0] = weight
		}
		return columns
	}
	a := []string{"a"}
	for name, c := range map[string]struct {
		columns []testColumn
		masks   []core.Spec
		want    string
	}{
		"two records": {rare(2, 0), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"e"}})},
			"calibrate.least: must be at most the number of records of a category of column \"e\""},
		"three": {rare(3, 0), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"e"}})}, ""},
		"four are asked": {rare(3, 0), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"e"}, Least: ptr(4)})},
			"calibrate.least"},
		"one rules": {rare(3, 3000), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"e"}})},
			"calibrate.share: is exceeded"},
		"one may": {rare(3, 3000), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"e"}, Share: ptr(1.0)})}, ""},
		"too coarse": {func() []testColumn {
			columns := rare(0, 0)
			columns[0].Decimals = 0
			for i := range columns[0].Values {
				columns[0].Values[i] = 1 + float64(i%2)
			}
			return columns
		}(),
			[]core.Spec{
				mask(
					&Calibrate{Columns: a, Margins: map[string]map[string]float64{"b": {"0": 100, "1": 110, "2": 120, "3": 130}}})},
			"they miss a margin by"},
		"a number": {rare(2, 0), []core.Spec{mask(&Calibrate{Columns: a, On: []string{"e"}})}, "calibrate.least"},
		"negative": {rare(3, -5), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}})}, ""}, // in quarantine
		"zero":     {rare(3, 0.0), []core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}})}, ""},
		"not listed": {
			rare(3, 0), []core.Spec{mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"e": {"0": 9}}})},
			"must have a total for each released category"},
		"nobody": {
			rare(3, 0),
			[]core.Spec{mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"e": {"0": 9, "7": 1, "8": 1}}})},
			"must have no total for a category that no released record"},
		"unlike totals": {
			rare(3, 0),
			[]core.Spec{
				mask(&Calibrate{Columns: a, By: []string{"b"}, Margins: map[string]map[string]float64{"e": {"0": 9, "7": 1}}})},
			"must have the same total over all categories"},
		"mapped, left out": {
			rare(30, 0),
			[]core.Spec{mask(&record.Sample{Rate: ptr(0.5)}),
				mask(&category.Recode{Columns: []string{"b"}, Map: map[string]string{"0": "1"}, Other: ptr("2")}),
				mask(&Calibrate{Columns: a, By: []string{"b"}})}, "must have totals that are given (margins)"},
		"mapped": {
			rare(30, 0), []core.Spec{mask(&category.Recode{Columns: []string{"b"}, Map: map[string]string{"0": "1"}, Other: ptr("2")}),
				mask(&Calibrate{Columns: a, By: []string{"b"}})}, ""},
	} {
		ch := chain(t, testSetup(t, c.columns...), c.masks...)
		if err := ch.Survey(block(0, 400, c.columns...)); err != nil {
			t.Fatal(err)
		}
		err := ch.EndSurvey()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	columns := weightsData(400)
	for name, c := range map[string]struct {
		masks []core.Spec
		want  string
	}{
		"nothing": {[]core.Spec{mask(&Calibrate{Columns: a})}, "there is nothing to calibrate to"},
		"two weights": {[]core.Spec{mask(&Calibrate{Columns: []string{"a", "d"}, By: []string{"b"}})},
			"must be one column of weights"},
		"itself": {[]core.Spec{mask(&Calibrate{Columns: a, By: a})}, "must not be a column that columns names"},
		"twice": {[]core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}, Totals: map[string]float64{"b": 1}})},
			"must not be a column that by names"},
		"lower": {[]core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}, Lower: ptr(1.0)})},
			"lower: must be at least 0 and below 1"},
		"endless margin": {
			[]core.Spec{mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"b": {"0": math.Inf(1)}}})},
			"margins.b.0: must be a number above 0"},
		"endless total": {[]core.Spec{mask(&Calibrate{Columns: a, Totals: map[string]float64{"d": math.Inf(-1)}})},
			"totals.d: must be a number other than 0"},
		"no number": {[]core.Spec{mask(&Calibrate{Columns: a, Totals: map[string]float64{"d": math.NaN()}})},
			"totals.d: must be a number other than 0"},
		"below 0": {[]core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}, Lower: ptr(-0.1)})},
			"lower: must be at least 0 and below 1"},
		"no bound": {[]core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}, Upper: ptr(math.Inf(1))})},
			"upper: must be a number above 1"},
		"upper": {[]core.Spec{mask(&Calibrate{Columns: a, By: []string{"b"}, Upper: ptr(1.0)})},
			"upper: must be a number above 1"},
		"no total": {[]core.Spec{mask(&Calibrate{Columns: a, Totals: map[string]float64{"d": 0}})},
			"totals.d: must be a number other than 0"},
		"margin of 0": {[]core.Spec{mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"b": {"0": 0}}})},
			"margins.b.0: must be a number above 0"},
		"empty margin": {[]core.Spec{mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"b": {}}})},
			"at least one category"},
		"noise on it": {[]core.Spec{mask(&record.Noise{Columns: a, SD: amount(1)}), mask(&Calibrate{Columns: a, By: []string{"b"}})},
			"must be changed by no other mask"},
		"mask after": {
			[]core.Spec{mask(&Calibrate{Columns: a, On: []string{"d"}}), mask(&record.Noise{Columns: []string{"d"}, SD: amount(1)})},
			"must come after mask [1]"},
		"rejects after": {
			[]core.Spec{mask(&Calibrate{Columns: a, On: []string{"d"}}),
				mask(&category.Recode{Columns: []string{"b"}, Map: map[string]string{"0": "1"}})}, "which may send records to quarantine"},
		"mapped and drawn": {
			[]core.Spec{mask(&category.Recode{Columns: []string{"b"}, Map: map[string]string{"0": "1"}, Other: ptr("2")}),
				mask(&category.PRAM{Columns: []string{"b"}, Keep: ptr(0.5), Categories: []string{"1", "2"}}),
				mask(&Calibrate{Columns: a, By: []string{"b"}})}, "cannot be taken from the original"},
	} {
		if _, err := core.NewChain(c.masks, testSetup(t, columns...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Weights that are rounded miss the margins by what is said, and a replicate leaves them alone.
func TestRoundedWeights(t *testing.T) {
	columns := weightsData(400)
	columns[0].Decimals = 0
	for i := range columns[0].Values {
		columns[0].Values[i] = math.Round(columns[0].Values[i])
	}
	ofB := []float64{3000.5, 9000, 5000, 6000}
	m := mask(
		&Calibrate{Columns: []string{"a"},
			Margins: map[string]map[string]float64{"b": {"0": ofB[0], "1": ofB[1], "2": ofB[2], "3": ofB[3]}}})
	got, said, _ := calibrated(t, columns, m)
	gap := 0.0
	for k := range ofB {
		sum := 0.0
		for i, v := range got {
			if v != math.Trunc(v) {
				t.Fatalf("%v is not rounded", v)
			}
			if int(columns[1].Values[i]) == k {
				sum += v
			}
		}
		gap = max(gap, math.Abs(sum-ofB[k])/ofB[k])
	}
	if math.Abs(gap-said.Gap) > 1e-12 || gap < 1e-6 {
		t.Errorf("gap %v, said %v", gap, said.Gap)
	}
	r := chain(t, testSetup(t, columns...), m).Replicate(1)
	if r.NeedsSurvey() || CalibratedBy(r, 0) != nil {
		t.Error("a replicate calibrates")
	}
}

// The last pivots of a calibration by several columns are 0; the first category of each is met as the last is.
func TestCalibrationOfManyColumns(t *testing.T) {
	columns := weightsData(400)
	ofB, ofC := []float64{5000, 6000, 5500, 6500}, []float64{8000, 7000, 8000}
	m := &Calibrate{Columns: []string{"a"}, Margins: margins(ofB, ofC), Totals: map[string]float64{"d": 23000 * 33},
		Upper: ptr(4.0)}
	got, said, _ := calibrated(t, columns, mask(m))
	total := 0.0
	for i, v := range got {
		total += v * columns[3].Values[i]
	}
	if math.Abs(total-23000*33) > 1e-7*total || said.Gap > 1e-8 {
		t.Errorf("total %v: %+v", total, said)
	}
}

// With a lower bound alone the factors are L + (1 − L) exp(u/(1 − L)), where u = x'λ: by a number alone u is a multiple
// of it, and by categories a sum of a term for each. A factor is 1 and has the slope 1 at u = 0, so that Newton's steps
// end soon.
func TestCalibrationAboveALowerBound(t *testing.T) {
	columns := weightsData(400)
	total := 0.0
	for i, w := range columns[0].Values {
		total += w * columns[3].Values[i]
	}
	for _, lower := range []float64{0, 0.4, 0.9} {
		for _, times := range []float64{0.97, 1.2, 2} {
			got, said,
				_ := calibrated(t, columns,
				mask(&Calibrate{Columns: []string{"a"}, Totals: map[string]float64{"d": times * total}, Lower: &lower}))
			sum, λ := 0.0, math.NaN()
			for i, w := range got {
				d := columns[3].Values[i]
				sum += w * d
				u := (1 - lower) * math.Log((w/columns[0].Values[i]-lower)/(1-lower)) / d
				if λ != λ {
					λ = u
				}
				if math.Abs(u-λ) > 1e-6*math.Abs(λ)+1e-9/d {
					t.Fatalf("lower %v, %v times the total: λ is %v and %v", lower, times, λ, u)
				}
			}
			if math.Abs(sum/total-times) > 1e-8 || said.Iterations > 9 || (λ > 0) != (times > 1) {
				t.Errorf("lower %v: %v times the total, want %v; %+v", lower, sum/total, times, said)
			}
		}
	}
	// Less than the lower bound leaves of the total.
	c := chain(t, testSetup(t, columns...),
		mask(&Calibrate{Columns: []string{"a"}, Totals: map[string]float64{"d": 0.89 * total}, Lower: ptr(0.9)}))
	if err := c.Survey(block(0, 400, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err == nil || !strings.Contains(err.Error(), "did not converge after") {
		t.Errorf("below the bound: %v", err)
	}
	ofB, ofC := []float64{4300, 7000, 5700, 6000}, []float64{9000, 6000, 8000}
	const lower = 0.5
	got, said,
		_ := calibrated(t, columns, mask(&Calibrate{Columns: []string{"a"}, Margins: margins(ofB, ofC), Lower: ptr(lower)}))
	scale := 23000 / sumOf(columns[0].Values)
	u := [4][3]float64{}
	sums := [4]float64{}
	low := 0
	for i, v := range got {
		f := v / columns[0].Values[i] / scale
		u[int(columns[1].Values[i])][int(columns[2].Values[i])] = math.Log((f - lower) / (1 - lower))
		sums[int(columns[1].Values[i])] += v
		if f-lower < 0.005 {
			low++
		}
	}
	for b := range sums {
		if math.Abs(sums[b]-ofB[b]) > 1e-7*ofB[b] {
			t.Errorf("b = %d has %v, want %v", b, sums[b], ofB[b])
		}
		for c := 1; c < 3; c++ {
			if d := u[b][c] - u[0][c] - u[b][0] + u[0][0]; math.Abs(d) > 1e-6 {
				t.Errorf("the terms are no sum: %v", d)
			}
		}
	}
	if said.AtLower != low || said.AtUpper != 0 || said.Iterations > 9 {
		t.Errorf("%+v, want %d at the lower bound", said, low)
	}
}

// F is 1 and has the slope 1 at 0, lies between its bounds, and its slope is that of a difference; it is at a bound
// within a hundredth of the way from there to 1.
func TestFactorsOfCalibration(t *testing.T) {
	for _, p := range []calibration{{lower: 0, upper: math.Inf(1)}, {lower: 0.4, upper: math.Inf(1)},
		{lower: 0, upper: 1.5}, {lower: 0.4, upper: 3}, {lower: 0.9, upper: 1.01}} {
		if f, slope := p.factor(0); math.Abs(f-1) > 1e-12 || math.Abs(slope-1) > 1e-12 {
			t.Errorf("%+v: F(0) is %v with the slope %v", p, f, slope)
		}
		for _, u := range []float64{-50, -2, -0.3, 0.3, 2, 50} {
			const h = 1e-5
			f, slope := p.factor(u)
			less, _ := p.factor(u - h)
			more, _ := p.factor(u + h)
			if f < p.lower || f > p.upper || math.Abs((more-less)/2/h-slope) > 1e-4*slope+1e-9 {
				t.Errorf("%+v: F(%v) is %v with the slope %v, want %v", p, u, f, slope, (more-less)/2/h)
			}
		}
		for _, c := range []struct {
			f         float64
			low, high bool
		}{{p.lower + 0.0099*(1-p.lower), true, false}, {p.lower + 0.0101*(1-p.lower), false, false}, {1, false, false},
			{p.upper - 0.0101*(p.upper-1), false, false}, {p.upper - 0.0099*(p.upper-1), false, true}} {
			if math.IsNaN(c.f) || math.IsInf(c.f, 1) {
				continue
			}
			if low, high := p.atBound(c.f); low != c.low || high != c.high {
				t.Errorf("%+v: a factor of %v is at the bounds: %v, %v", p, c.f, low, high)
			}
		}
	}
}

// Where limits lie: totals, what one record may have, what weights may miss or hold, how many categories there may be,
// and when the search ends.
func TestLimitsOfCalibration(t *testing.T) {
	a := []string{"a"}
	of := func(n int, change func(columns []testColumn)) []testColumn {
		columns := weightsData(n)
		for i := range columns[0].Values {
			columns[0].Values[i] = 10
		}
		change(columns)
		return columns
	}
	few := func(weights ...float64) func(columns []testColumn) {
		return func(columns []testColumn) {
			for i, w := range weights {
				columns[0].Values[i], columns[4].Values[i] = w, 7
			}
		}
	}
	coarse := func(columns []testColumn) { few(10, 10, 10)(columns); columns[0].Decimals = 0 }
	margin := func(seven, rest float64) core.Spec {
		return mask(&Calibrate{Columns: a, Margins: map[string]map[string]float64{"e": {"7": seven, "0": rest}}})
	}
	many := func(n int) []testColumn {
		return of(3*n, func(columns []testColumn) {
			for i := range columns[4].Values {
				columns[4].Values[i] = float64(i / 3)
			}
		})
	}
	by := mask(&Calibrate{Columns: a, By: []string{"e"}})
	on := mask(&Calibrate{Columns: a, On: []string{"e"}})
	for name, c := range map[string]struct {
		columns []testColumn
		mask    core.Spec
		want    string
	}{
		"the share":       {of(400, few(80, 10, 10)), by, ""},
		"more":            {of(400, few(81, 10, 10)), by, "calibrate.share"},
		"a miss of 0.7 %": {of(400, coarse), margin(30.2, 3970), ""},
		"a miss of 3 %":   {of(400, coarse), margin(31, 3970), "they miss a margin by"},
		"a total of 0": {of(400, func(c []testColumn) { copy(c[4].Values, []float64{1, 1, 1, -1, -1, -1}) }), on,
			"must have a weighted total other than 0"},
		"an endless total": {of(400, func(c []testColumn) { copy(c[4].Values, []float64{1e307, 1e307, 1e307, 1e307}) }), on,
			"must have a weighted total other than 0"},
		"nothing": {of(400, func([]testColumn) {}), mask(&Calibrate{Columns: a, Totals: map[string]float64{"e": 5}}),
			"must have released values other than 0"},
		"unlike totals": {of(400, few(10, 10, 10)),
			mask(
				&Calibrate{
					Columns: a,
					Margins: map[string]map[string]float64{"e": {"7": 30, "0": 3970},
						"b": {"0": 1000, "1": 1000, "2": 1000, "3": 1002}}}),
			"must have the same total over all categories"},
		"1000 categories": {many(1000), by, ""},
		"1001":            {many(1001), by, "must have at most 1000 categories and numbers"},
		"beyond its type": {of(400, func(c []testColumn) {
			c[0].Type, c[0].Decimals = arrow.PrimitiveTypes.Int8, 0
			for i := range c[0].Values {
				c[0].Values[i] = 100
			}
			few(100, 100, 100)(c)
		}), margin(390, 39700), "must hold the calibrated weights"},
		"within its type": {of(400, func(c []testColumn) {
			c[0].Type, c[0].Decimals = arrow.PrimitiveTypes.Int8, 0
			for i := range c[0].Values {
				c[0].Values[i] = 100
			}
			few(100, 100, 100)(c)
		}), margin(381, 39700), ""},
	} {
		ch := chain(t, testSetup(t, c.columns...), c.mask)
		if err := ch.Survey(block(0, len(c.columns[0].Values), c.columns...)); err != nil {
			t.Fatal(err)
		}
		err := ch.EndSurvey()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// Weights that two records have are not alone.
	columns := of(400, func(c []testColumn) {
		for i := range c[0].Values {
			c[0].Values[i], c[1].Values[i] = float64(5+i/2), float64(i/2%4)
		}
		c[0].Values[399] = 7777
	})
	if _, said, _ := calibrated(t, columns,
		mask(
			&Calibrate{
				Columns: a, Margins: map[string]map[string]float64{"b": {"0": 10000, "1": 12000, "2": 11000,
					"3": 12000}}})); said != nil && said.Alone != 2 {
		t.Errorf("%d weights are alone, want those of the last two", said.Alone)
	}
	// The search ends where no step helps, and nothing is released.
	columns = weightsData(400)
	total := 0.0
	for i, w := range columns[0].Values {
		total += w * columns[3].Values[i]
	}
	for _, m := range []*Calibrate{
		{Columns: a, Totals: map[string]float64{"d": 0.5 * total}, Lower: ptr(0.9)},
		{Columns: a, Totals: map[string]float64{"d": 3 * total}, Upper: ptr(1.5)},
		{Columns: a, Margins: margins([]float64{4300, 7000, 5700, 6000}, []float64{9000, 6000, 8000}), Lower: ptr(0.97),
			Upper: ptr(1.03)},
	} {
		c := chain(t, testSetup(t, columns...), mask(m))
		if err := c.Survey(block(0, 400, columns...)); err != nil {
			t.Fatal(err)
		}
		err := c.EndSurvey()
		if err == nil || !strings.Contains(err.Error(), "did not converge after") {
			t.Fatalf("%+v: %v", m, err)
		}
	}
	never := &calibration{units: []calibrationUnit{{weight: 1, at: []int32{0, 1}, x: []float64{1, 1}}},
		totals: []float64{1, 2}, sizes: []float64{1, 2}, upper: math.Inf(1), scale: 1}
	if never.solve(nil) || never.iterations != 1 {
		t.Errorf("two totals of one number are met after %d iterations", never.iterations)
	}
}
