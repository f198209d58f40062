package inversion

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Every list of masks that leaves values unchanged, or nearly so, fails.
func TestWeakMasksFail(t *testing.T) {
	for name, c := range map[string]struct {
		column string // put first
		masks  []transform.Spec
		by     Kind
		least  float64 // share recovered
	}{
		"no mask":                 {"wage", nil, Identity, 1},
		"another column's mask":   {"wage", []transform.Spec{noiseOf("education", "3", "")}, Identity, 1},
		"no noise":                {"wage", []transform.Spec{noiseOf("wage", "0%", "")}, Identity, 1},
		"no bias":                 {"wage", []transform.Spec{biasOf("wage", 0)}, Identity, 1},
		"no swap":                 {"wage", []transform.Spec{swapOf(0, "", "")}, Identity, 1},
		"rounding to the grid":    {"wage", []transform.Spec{roundTo("wage", 0.01)}, Identity, 1},
		"noise below the grid":    {"wage", []transform.Spec{noiseOf("wage", "0.002", "")}, SmallNoise, 0.98},
		"laplace below the grid":  {"wage", []transform.Spec{noiseOf("wage", "0.003", "laplace")}, SmallNoise, 0.85},
		"uniform within the cell": {"wage", []transform.Spec{noiseOf("wage", "0.0028", "uniform")}, SmallNoise, 1},
		// P(|N(0, 0.4²)| < 0.5) = 0.789; three SDs of 28,155 are 0.007.
		"small noise, coarse grid": {"education", []transform.Spec{noiseOf("education", "0.4", "")}, SmallNoise, 0.78},
		"noise lost in rounding": {
			"education", []transform.Spec{noiseOf("education", "0.1", ""), roundTo("education", 1)}, SmallNoise, 0.99},
		"bias below the grid": {"education", []transform.Spec{biasOf("education", 0.01)}, SmallBias, 0.99},
		"truncation alone": {"wage", []transform.Spec{clipOf("wage", nil, ptr(2000.0), "")}, InsideBounds,
			0.97},
		"truncation both sides": {"wage", []transform.Spec{clipOf("wage", ptr(100.0), ptr(1500.0), "clip")},
			InsideBounds, 0.8},
		"swap of few":                 {"wage", []transform.Spec{swapOf(0.05, "unique", "")}, Unswapped, 0.98},
		"swap of uniques, every time": {"wage", []transform.Spec{swapOf(1, "unique", "dataset")}, Unswapped, 0.8},
		"random swap, one in ten":     {"wage", []transform.Spec{swapOf(0.1, "random", "dataset")}, Unswapped, 0.89},
		"noise for the rich alone": {
			"wage", []transform.Spec{noiseOf("wage", "0", "", transform.Tier{Above: ptr(1000.0), VarianceFactor: ptr(4.0)})},
			Identity, 1},
		"no noise for the rich": {
			"wage", []transform.Spec{noiseOf("wage", "150", "", transform.Tier{Above: ptr(1000.0), VarianceFactor: ptr(0.0)})},
			Tier, 0.05},
		"two weak masks": {
			"wage", []transform.Spec{biasOf("wage", 0), noiseOf("wage", "0.001", ""), clipOf("wage", ptr(0.0), nil, "")}, "",
			0.99},
		"a swap that noise of 0 follows": {"wage", []transform.Spec{swapOf(0.05, "unique", ""), noiseOf("wage", "0", "")},
			Unswapped, 0.98},
	} {
		t.Run(name, func(t *testing.T) {
			f := census(t)
			if c.column == "education" {
				f = []field{f[1], f[0], f[2], f[3]}
			}
			r := attack(t, f, c.masks...)
			if r.Passed || r.Share < c.least || (c.by != "" && r.By != c.by) || !(r.BeyondGuess > 0) {
				t.Errorf("passed %v, %.4f recovered by %q, want %v by %q; %+v", r.Passed, r.Share, r.By, c.least, c.by,
					r.Inversions)
			}
			for _, v := range r.Inversions {
				if v.Recovered > v.Claims {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

// Masks whose protection depends on their draws pass, even if their parameters and
// moments are known.
func TestSoundMasksPass(t *testing.T) {
	for name, c := range map[string]struct {
		column string
		masks  []transform.Spec
	}{
		"noise of 35 %": {"wage", []transform.Spec{noiseOf("wage", "35%", "")}},
		"laplace":       {"wage", []transform.Spec{noiseOf("wage", "35%", "laplace")}},
		"uniform":       {"wage", []transform.Spec{noiseOf("wage", "35%", "uniform")}},
		"noise of 5 %":  {"wage", []transform.Spec{noiseOf("wage", "5%", "")}},
		"bias":          {"wage", []transform.Spec{biasOf("wage", 0.05)}},
		"bias, noise, clip": {
			"wage",
			[]transform.Spec{biasOf("wage", 0.05/3),
				noiseOf("wage", "90", "", transform.Tier{Above: ptr(1000.0), VarianceFactor: ptr(4.0)}),
				clipOf("wage", ptr(0.0), nil, "clip")}},
		"noise, redraw": {
			"wage", []transform.Spec{noiseOf("wage", "35%", ""), clipOf("wage", ptr(50.0), ptr(20000.0), "redraw")}},
		"swap, then noise":       {"wage", []transform.Spec{swapOf(0.5, "unique", ""), noiseOf("wage", "35%", "")}},
		"noise, then rounds":     {"wage", []transform.Spec{noiseOf("wage", "35%", ""), roundTo("wage", 10)}},
		"noise of a year":        {"education", []transform.Spec{noiseOf("education", "1", "")}},
		"uniform of a year":      {"education", []transform.Spec{noiseOf("education", "1", "uniform")}},
		"bias and noise, coarse": {"education", []transform.Spec{biasOf("education", 0.05), noiseOf("education", "1", "")}},
		"two noises, coarse": {
			"experience", []transform.Spec{noiseOf("experience", "2", "laplace"), noiseOf("experience", "1", "")}},
		"tiers, coarse": {"experience",
			[]transform.Spec{noiseOf("experience", "1", "", transform.Tier{Above: ptr(10.0), VarianceFactor: ptr(4.0)})}},
		"coarse and clipped": {"experience", []transform.Spec{noiseOf("experience", "3", ""), roundTo("experience", 5)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := census(t)
			for i := range f {
				if f[i].name == c.column {
					g := append([]field{f[i]}, f[:i]...)
					f = append(g, f[i+1:]...)
					break
				}
			}
			r := attack(t, f, c.masks...)
			if !r.Passed || r.Recovered != 0 || r.By != "" || !r.Masked {
				t.Errorf("recovered %d (%.4f) by %q: %+v", r.Recovered, r.Share, r.By, r.Inversions)
			}
			if len(r.Inversions) < 2 {
				t.Errorf("tried %+v only", r.Inversions)
			}
		})
	}
}

// Values that are unchanged by chance on a coarse grid are counted, and agree with the
// masks' probabilities: noise of one year leaves P(|N(0, 1)| < 1/2) = 0.3829 of the
// values, within three SDs of a share of 28,155 (0.009).
func TestLuckIsWhatTheNoiseLeaves(t *testing.T) {
	f := census(t)
	r := attack(t, []field{f[1]}, noiseOf("education", "1", ""))
	v := r.Inversions[0]
	if v.Kind != Luck || v.Deterministic || v.Claims != len(f[1].values) {
		t.Fatalf("%+v", r.Inversions)
	}
	if share := float64(v.Recovered) / float64(v.Claims); !(math.Abs(share-0.3829) <= 0.009) {
		t.Errorf("share %v", share)
	}
	// A release without noise, under the same masks, is not due to chance.
	c := Column{"education", 1, f[1].values, f[1].values}
	masks := []transform.Spec{noiseOf("education", "1", "")}
	got, err := Attack(t.Context(), masks, Published{}, Release{Columns: []Column{c}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Passed || got.Columns[0].By != Luck || got.Columns[0].Share != 1 {
		t.Errorf("%+v", got)
	}
}

// Certain claims are correct: all claims of certainty 1 are recovered, and those with a
// lower bound at least as often as the bound says (minus 5 SDs).
func TestCertaintyHolds(t *testing.T) {
	for name, s := range map[string]transform.Spec{
		"unique, window":  swapOf(0.9, "unique", "window"),
		"unique, dataset": swapOf(0.3, "unique", "dataset"),
		"random, window":  swapOf(0.3, "random", "window"),
		"random, dataset": swapOf(0.2, "random", "dataset"),
		"tier":            noiseOf("wage", "150", "", transform.Tier{Above: ptr(1000.0), VarianceFactor: ptr(0.0)}),
		"noise":           noiseOf("wage", "0.003", "laplace"),
	} {
		t.Run(name, func(t *testing.T) {
			masks := []transform.Spec{s}
			out := mask(t, census(t), 5000, masks)
			known := publishedMoments(out)
			known.Window = 5000
			for _, confidence := range []float64{0.7, 1} {
				r, err := Attack(t.Context(), masks, known, Release{Columns: out}, Options{Confidence: confidence})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range r.Columns[0].Inversions {
					if !v.Deterministic {
						continue
					}
					share := float64(v.Recovered) / float64(v.Claims)
					if share < v.Certainty-5*math.Sqrt(v.Certainty*(1-v.Certainty)/float64(v.Claims)) {
						t.Errorf("confidence %v: %d of %d recovered, certainty %v", confidence, v.Recovered, v.Claims, v.Certainty)
					}
				}
			}
		})
	}
}

// The records that cannot have been swapped follow from keys that are not masked. If
// the keys are masked afterwards, only the rate is known.
func TestUnswappedFollowsFromKeys(t *testing.T) {
	masks := []transform.Spec{swapOf(1, "unique", "dataset")}
	out := mask(t, census(t), 0, masks)
	r, err := Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Columns[0].By != Unswapped || r.Passed {
		t.Errorf("%+v", r.Columns[0])
	}
	alone, err := Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out[:1]}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !alone.Passed {
		t.Errorf("without keys nothing is known of a swap at rate 1: %+v", alone.Columns[0])
	}
	codes := make([]int32, len(out[3].Released))
	for i, v := range out[3].Released {
		codes[i] = int32(v)
	}
	coded,
		err := Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out[:3], Keys: []Key{{"region", codes}}},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	if coded.Columns[0].Recovered != r.Columns[0].Recovered {
		t.Error("a key by codes is another than the same by numbers")
	}
	masks = append(masks, noiseOf("experience", "3", ""))
	out = mask(t, census(t), 0, masks)
	r, err = Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out[:1]}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Columns[0].Passed {
		t.Errorf("%+v", r.Columns[0])
	}
}

// A release of another program that shifted, scaled or reflected its columns is
// recovered from published moments, but not without them.
func TestAffineReleases(t *testing.T) {
	x := census(t)[0].values
	s := sideOf(x)
	for name, c := range map[string]struct {
		f  func(x float64) float64
		by Kind
	}{
		"shift":       {func(x float64) float64 { return x + 250 }, Shift},
		"scale":       {func(x float64) float64 { return 1.3 * x }, Scale},
		"standardise": {func(x float64) float64 { return 40 + 0.01*(x-s.mean) }, Standardise},
		"reflect":     {func(x float64) float64 { return 2*s.mean - x }, Reflect},
	} {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = c.f(v)
		}
		out := []Column{{"wage", 0.01, x, y}}
		r, err := Attack(t.Context(), nil, publishedMoments(out), Release{Columns: out}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Columns[0]; got.Passed || got.Share < 0.999 {
			t.Errorf("%s: %.4f by %q", name, got.Share, got.By)
		}
		ok := false
		for _, v := range r.Columns[0].Inversions {
			ok = ok || v.Kind == c.by && v.Fails
		}
		if !ok {
			t.Errorf("%s: %+v", name, r.Columns[0].Inversions)
		}
		if r, err = Attack(t.Context(), nil, Published{}, Release{Columns: out}, Options{}); err != nil {
			t.Fatal(err)
		}
		if !r.Passed {
			t.Errorf("%s: found without moments: %+v", name, r.Columns[0])
		}
	}
}

// Noise that is recentred afterwards is still noise.
func TestRecentredNoisePasses(t *testing.T) {
	masks := []transform.Spec{noiseOf("wage", "35%", "")}
	out := mask(t, census(t)[:1], 0, masks)
	before, after := sideOf(out[0].Original), sideOf(out[0].Released)
	for i, y := range out[0].Released {
		out[0].Released[i] = math.Round(100*(before.mean+(y-after.mean)*before.sd/after.sd)) / 100
	}
	r, err := Attack(t.Context(), masks, publishedMoments(out), Release{Columns: out}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Passed {
		t.Errorf("%+v", r.Columns[0])
	}
}

// One or two values beyond a bound follow from mean and SD when all others are
// exact; three do not.
func TestHeapByMoments(t *testing.T) {
	x := []float64{12, 15, 11, 18, 90, 14, 13, 3, 75, 16}
	for _, c := range []struct {
		lower, upper *float64
		recovered    int
	}{
		{nil, ptr(80.0), 1},
		{ptr(5.0), nil, 1},
		{nil, ptr(40.0), 2},
		{ptr(5.0), ptr(80.0), 2},
		{ptr(5.0), ptr(40.0), 0},
	} {
		r := attack(t, []field{{"wage", 0, x}}, clipOf("wage", c.lower, c.upper, ""))
		got := 0
		for _, v := range r.Inversions {
			if v.Kind == HeapMoments {
				got += v.Recovered
			}
		}
		if got != c.recovered || r.Passed || (c.recovered > 0 && r.Recovered != len(x)) {
			t.Errorf("bounds %v %v: %d, want %d: %+v", c.lower, c.upper, got, c.recovered, r)
		}
	}
}

// A heap hides values beyond the bound, unless the published extreme shows that there
// are none, or most values of the heap are the bound itself.
func TestHeaps(t *testing.T) {
	f := census(t)[:1]
	masks := []transform.Spec{clipOf("wage", ptr(50.0), nil, "")}
	out := mask(t, f, 0, masks)
	known := publishedMoments(out)
	known.Extremes = map[string]Extremes{"wage": {50.05, 18777.2}}
	r, err := Attack(t.Context(), masks, known, Release{Columns: out}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Columns[0]; c.By != Identity || c.Share != 1 {
		t.Errorf("%+v", c)
	}
	// Of 9,000 values 4,000 are 0 and the others are far from 0, so noise moves half of
	// the zeros, and no other values, below 0: the heap consists of zeros.
	x := make([]float64, 9000)
	for i := range x {
		if i >= 4000 {
			x[i] = 5000 + float64(i)
		}
	}
	c := attack(t, []field{{"wage", 0, x}}, noiseOf("wage", "100", ""), clipOf("wage", ptr(0.0), nil, ""))
	if c.Passed || c.By != Heap {
		t.Errorf("%+v", c)
	}
	// With redraw no value lies at the bound, but the zeros are told from all other values.
	c = attack(t, []field{{"wage", 0, x}}, noiseOf("wage", "100", ""), clipOf("wage", ptr(0.0), nil, "redraw"))
	if c.Passed || c.By != ToldApart {
		t.Errorf("%+v", c)
	}
	// A bias does not change a zero.
	if c = attack(t, []field{{"wage", 0, x}}, biasOf("wage", 0.2)); c.Passed || c.By != SmallBias || c.Recovered < 4000 ||
		c.Recovered > 4020 {
		t.Errorf("%+v", c)
	}
}

// Rounding alone narrows a value to the step, and recovers the share that lies on
// the step by chance; where the data are coarser than their grid, it recovers more.
func TestRoundingAlone(t *testing.T) {
	x := make([]float64, 10000)
	for i := range x {
		x[i] = float64(i % 997)
	}
	r := attack(t, []field{{"wage", 0, x}}, roundTo("wage", 5))
	if !r.Passed {
		t.Errorf("%+v", r)
	}
	for i := range x {
		if i%3 > 0 {
			x[i] = 10 * math.Round(x[i]/10)
		}
	}
	r = attack(t, []field{{"wage", 0, x}}, roundTo("wage", 5))
	if r.Passed || r.By != Rounding {
		t.Errorf("%+v", r)
	}
	// With noise before the rounding, values are recovered by chance only.
	r = attack(t, []field{{"wage", 0, x}}, noiseOf("wage", "10", ""), roundTo("wage", 5))
	if !r.Passed {
		t.Errorf("%+v", r)
	}
}

// A column with one value is guessed, not inverted; there are no claims for missing
// values.
func TestGuessAndMissing(t *testing.T) {
	nan := math.NaN()
	same := Column{"a", 1, []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}}
	r, err := Attack(t.Context(), nil, Published{}, Release{Columns: []Column{same}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Columns[0]; !c.Passed || c.Guess != 1 {
		t.Errorf("%+v", c)
	}
	holes := Column{"a", 1, []float64{7, nan, 9, 11}, []float64{7, 8, nan, nan}}
	if r, err = Attack(t.Context(), nil, Published{}, Release{Columns: []Column{holes}}, Options{}); err != nil {
		t.Fatal(err)
	}
	if c := r.Columns[0]; c.Passed || c.Records != 3 || c.Recovered != 1 || c.Inversions[0].Claims != 1 {
		t.Errorf("%+v", c)
	}
	gone := Column{"a", 1, []float64{7, 8}, []float64{nan, nan}}
	if r, err = Attack(t.Context(), nil, publishedMoments([]Column{gone}), Release{Columns: []Column{gone}},
		Options{}); err != nil || !r.Passed {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAttackRefuses(t *testing.T) {
	good := Column{"a", 1, []float64{1, 2}, []float64{1, 2}}
	for name, c := range map[string]struct {
		masks []transform.Spec
		known Published
		r     Release
		o     Options
		text  string
	}{
		"nothing": {nil, Published{}, Release{}, Options{}, "at least 1"},
		"mask": {[]transform.Spec{noiseOf("a", "-1", "")}, Published{}, Release{Columns: []Column{good}}, Options{},
			"masks[0].noise"},
		"masks": {[]transform.Spec{clipOf("a", ptr(1.0), nil, "redraw")}, Published{}, Release{Columns: []Column{good}},
			Options{}, "masks[0]"},
		"grid": {nil, Published{}, Release{Columns: []Column{{"a", 0, good.Original, good.Released}}}, Options{},
			"grid above 0"},
		"length": {nil, Published{}, Release{Columns: []Column{good}, Keys: []Key{{"k", []int32{1}}}}, Options{},
			"2 records"},
		"sides": {nil, Published{}, Release{Columns: []Column{{"a", 1, good.Original, nil}}}, Options{}, "2 released"},
		"twice": {nil, Published{}, Release{Columns: []Column{good, good}}, Options{}, "distinct"},
		"infinite": {nil, Published{}, Release{Columns: []Column{{"a", 1, good.Original, []float64{1, math.Inf(1)}}}},
			Options{}, "record 2"},
		"n":          {nil, Published{N: 1}, Release{Columns: []Column{good}}, Options{}, "at least the 2 records"},
		"confidence": {nil, Published{}, Release{Columns: []Column{good}}, Options{Confidence: 2}, "confidence"},
	} {
		if _, err := Attack(t.Context(), c.masks, c.known, c.r, c.o); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.text)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Attack(ended, nil, Published{}, Release{Columns: []Column{good}}, Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v", err)
	}
}

func BenchmarkAttack(b *testing.B) {
	f, err := cps()
	if err != nil {
		b.Fatal(err)
	}
	big := make([]field, len(f)) // 36 times the records: 1,013,580
	for i, c := range f {
		big[i] = field{c.name, c.decimals, nil}
		for range 36 {
			big[i].values = append(big[i].values, c.values...)
		}
	}
	masks := []transform.Spec{swapOf(0.5, "unique", ""), noiseOf("wage", "35%", "")}
	out := mask(b, big, 65536, masks)
	known := publishedMoments(out)
	known.Window = 65536
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Attack(b.Context(), masks, known, Release{Columns: out}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
