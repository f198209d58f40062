package keystream

import (
	"fmt"
	"math"
	"math/bits"
	"testing"
)

// All tolerances below give a test a false-reject rate of about 1e-5: 4.42 standard errors of a
// two-sided normal statistic.
const zLimit = 4.42

// law is a symmetric distribution with its centre and the moments needed for the standard errors:
// variance σ², β₂ = μ₄/σ⁴, β₄ = μ₆/σ⁶, β₆ = μ₈/σ⁸.
type law struct {
	name                  string
	fill                  func(s *Stream, dst []float64, r Records)
	cdf                   func(float64) float64
	centre, v, b2, b4, b6 float64
}

var laws = []law{
	{"normal", (*Stream).Normals, NormalCDF, 0, 1, 3, 15, 105},
	{"laplace", (*Stream).Laplaces, LaplaceCDF, 0, 2, 6, 90, 2520},
	{"uniform", (*Stream).Uniforms, func(x float64) float64 { return x }, 0.5, 1. / 12, 9. / 5, 27. / 7, 9},
}

// lawDraws returns 1e7 draws, and a tenth of it in short mode.
func lawDraws() int {
	if testing.Short() {
		return 1_000_000
	}
	return 10_000_000
}

// TestLaws checks the moments and the distribution of every draw.
func TestLaws(t *testing.T) {
	digests, values := identities(1<<16, 7)
	for _, l := range laws {
		t.Run(l.name+"/place", func(t *testing.T) {
			l.test(t, lawDraws(), func(dst []float64, at int) {
				l.fill(lawStream, dst, Records{Stream: 1, First: int64(at)})
			})
		})
		t.Run(l.name+"/release by place", func(t *testing.T) {
			l.test(t, lawDraws()/10, func(dst []float64, at int) {
				for i := range dst {
					values[i] = float64((at + i) % 1000)
				}
				l.fill(lawRelease, dst, Records{Stream: 1, First: int64(at), Values: values})
			})
		})
		// 2¹⁶ respondents, with as many values each as needed.
		t.Run(l.name+"/digest", func(t *testing.T) {
			l.test(t, lawDraws()/10, func(dst []float64, at int) {
				for i := range dst {
					values[i] = float64(at + i)
				}
				l.fill(lawRelease, dst, Records{Digests: digests, Values: values})
			})
		})
	}
}

var (
	lawStream  = testKey(1).Stream("noise", "wage", 0)
	lawRelease = release(testKey(1), "noise", "wage")
)

// test draws n values and compares their moments and distribution with those of the law.
func (l law) test(t *testing.T, n int, fill func(dst []float64, at int)) {
	const bins = 1 << 14
	var m1, m2, m3, m4 float64
	counts := make([]float64, bins)
	dst := make([]float64, 1<<16)
	for at := 0; at < n; at += len(dst) {
		part := dst[:min(len(dst), n-at)]
		fill(part, at)
		for _, x := range part {
			// The centre is known, so these are moments about the true mean.
			d := x - l.centre
			q := d * d
			m1, m2, m3, m4 = m1+d, m2+q, m3+q*d, m4+q*q
			counts[min(int(l.cdf(x)*bins), bins-1)]++
		}
	}
	N := float64(n)
	m1, m2, m3, m4 = m1/N, m2/N, m3/N, m4/N

	sd := math.Sqrt(m2 - m1*m1)
	c3 := m3 - 3*m1*m2 + 2*m1*m1*m1
	c4 := m4 - 4*m1*m3 + 6*m1*m1*m2 - 3*m1*m1*m1*m1
	// Standard errors of the sample's mean, variance, skewness and kurtosis for a
	// symmetric law (Kendall and Stuart, vol. 1, §10.5): σ/√n, σ²√((β₂−1)/n),
	// √((β₄ − 6β₂ + 9)/n), √((β₆ − 4β₂β₄ + 4β₂³ − β₂²)/n). For the normal: 1, 2, 6, 24.
	for _, c := range []struct {
		name            string
		got, want, vari float64
	}{
		{"mean", m1, 0, l.v},
		{"variance", m2 - m1*m1, l.v, l.v * l.v * (l.b2 - 1)},
		{"skewness", c3 / (sd * sd * sd), 0, l.b4 - 6*l.b2 + 9},
		{"kurtosis", c4 / (sd * sd * sd * sd), l.b2, l.b6 - 4*l.b2*l.b4 + 4*l.b2*l.b2*l.b2 - l.b2*l.b2},
	} {
		if z := (c.got - c.want) / math.Sqrt(c.vari/N); !(math.Abs(z) < zLimit) {
			t.Errorf("%s: %g, want %g: %.2f standard errors off", c.name, c.got, c.want, z)
		}
	}

	// Kolmogorov-Smirnov on the grid of the bins: the maximum difference on a grid is at most the
	// overall maximum, and P(√n·D > 2.47) ≈ 2 exp(−2·2.47²) = 1e-5. Chi-square over the bins has
	// mean bins−1 and standard deviation √(2(bins−1)), and is close to normal for so many bins.
	d, chi2, below := 0.0, 0.0, 0.0
	expected := N / bins
	for i, c := range counts {
		below += c
		d = max(d, math.Abs(below/N-float64(i+1)/bins))
		chi2 += (c - expected) * (c - expected) / expected
	}
	if k := math.Sqrt(N) * d; !(k < 2.47) {
		t.Errorf("Kolmogorov-Smirnov: √n·D = %.2f, want below 2.47", k)
	}
	if z := (chi2 - (bins - 1)) / math.Sqrt(2*(bins-1)); !(math.Abs(z) < zLimit+0.3) {
		// 0.3 for the skewness of chi-square, √(8/16383) = 0.022, at 4.42.
		t.Errorf("chi-square of %d bins: %.0f, %.2f standard deviations off", bins, chi2, z)
	}
}

// TestNormalTails counts extreme values: near the border of the ziggurat's base layer and its tail
// (3.654), and beyond.
func TestNormalTails(t *testing.T) {
	n := lawDraws()
	cuts := []float64{1, 2, 3, 3.6, 3.65, 3.66, 4, 5}
	counts := make([][2]float64, len(cuts))
	dst := make([]float64, 1<<16)
	s := testKey(9).Stream("tails", "", 0)
	for at := 0; at < n; at += len(dst) {
		part := dst[:min(len(dst), n-at)]
		s.Normals(part, Records{First: int64(at)})
		for _, x := range part {
			for c, cut := range cuts {
				if x > cut {
					counts[c][1]++
				} else if x < -cut {
					counts[c][0]++
				} else {
					break
				}
			}
		}
	}
	for c, cut := range cuts {
		mean := float64(n) * normalSurvival(cut)
		for side, count := range counts[c] {
			// Binomial, almost Poisson for extreme values: 4.42 standard errors, plus 6 for the
			// skewness when a few values are expected (P(Poisson(2.87) > 2.87+4.42√2.87+6 = 16.4)
			// is 1e-8; a negative count is impossible).
			if off := math.Abs(count - mean); off > zLimit*math.Sqrt(mean)+6 {
				t.Errorf("beyond %g on side %d: %.0f of %d, want %.1f", cut, side, count, n, mean)
			}
		}
	}
}

// TestTailOfZiggurat draws from the tail only, with words that lead there: the distribution beyond
// x₁ is that of the normal distribution, up to extreme values.
func TestTailOfZiggurat(t *testing.T) {
	const n, bins = 1_000_000, 1000
	words := make([]uint64, n)
	testKey(1).Stream("tail", "", 0).Words(words, Records{})
	counts := make([]float64, bins)
	beyond5 := 0.0
	base := normalSurvival(zigguratX[1])
	for i, w1 := range words {
		w0 := ^uint64(0) &^ 0xff // layer 0, at its right end
		if i%2 == 0 {
			w0 &^= signBit
		}
		x, ok := point(w0, w1)
		if !ok || math.Abs(x) < zigguratX[1] || (x < 0) != (i%2 == 1) {
			t.Fatalf("the tail gave %g, %t", x, ok)
		}
		x = math.Abs(x)
		counts[min(int(normalSurvival(x)/base*bins), bins-1)]++
		if x > 5 {
			beyond5++
		}
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - n/bins) * (c - n/bins) / (n / bins)
	}
	// Skewness of chi-square with 999 degrees is √(8/999) = 0.09: 4.42 becomes 4.7.
	if z := (chi2 - (bins - 1)) / math.Sqrt(2*(bins-1)); !(math.Abs(z) < 4.8) {
		t.Errorf("chi-square %.0f for %d bins", chi2, bins)
	}
	p := normalSurvival(5) / base
	if z := (beyond5 - n*p) / math.Sqrt(n*p*(1-p)); !(math.Abs(z) < zLimit) {
		t.Errorf("beyond 5: %.0f of %d in the tail, want %.0f", beyond5, n, n*p)
	}
}

// TestUniformIsOpen: neither end occurs, and the middle not more often than expected.
func TestUniformIsOpen(t *testing.T) {
	for _, c := range []struct {
		w uint64
		u float64
	}{
		{0, 0x1p-53},
		{^uint64(0), 1 - 0x1p-53},
		{1<<12 - 1, 0x1p-53},
		{1 << 12, 3 * 0x1p-53},
		{1 << 63, 0.5 + 0x1p-53},
		{1<<63 - 1, 0.5 - 0x1p-53},
	} {
		if got := uniform(c.w); got != c.u {
			t.Errorf("uniform(%x) = %x, want %x", c.w, got, c.u)
		}
	}
}

// TestWordBits: each bit of a million words is set half of the time, and each pair
// of neighbours agrees half of the time. 191 comparisons share the 1e-5: 5.4
// standard errors.
func TestWordBits(t *testing.T) {
	const n = 1_000_000
	words := make([]uint64, n)
	testKey(1).Stream("bits", "", 0).Words(words, Records{})
	var ones, same, next [64]int
	for i, w := range words {
		agree := ^(w ^ bits.RotateLeft64(w, 1))
		follow := ^(w ^ words[(i+1)%n])
		for b := range 64 {
			ones[b] += int(w >> b & 1)
			same[b] += int(agree >> b & 1)
			next[b] += int(follow >> b & 1)
		}
	}
	for name, c := range map[string]*[64]int{"set": &ones, "like its neighbour": &same, "as in the next record": &next} {
		for b, k := range c {
			if z := (float64(k) - n/2) / math.Sqrt(n/4.); !(math.Abs(z) <= 5.4) {
				t.Errorf("bit %d is %s %d times of %d", b, name, k, n)
			}
		}
	}
}

// TestUncorrelated: draws with different names, keys or places are uncorrelated, and so are their
// squares. The correlation of n independent pairs has standard error 1/√n; 5 standard errors have
// probability 6e-7, and there are about 160 correlations.
func TestUncorrelated(t *testing.T) {
	const n = 1_000_000
	key := testKey(1)
	type series struct {
		name string
		x    []float64
	}
	var all []series
	add := func(name string, s *Stream, r Records) {
		x := make([]float64, n)
		s.Normals(x, r)
		all = append(all, series{name, x})
	}
	base := key.Stream("noise", "wage", 0)
	add("base", base, Records{})
	add("other column", key.Stream("noise", "age", 0), Records{})
	add("other mask", key.Stream("bias", "wage", 0), Records{})
	add("replicate 1", key.Stream("noise", "wage", 1), Records{})
	add("replicate 2", key.Stream("noise", "wage", 2), Records{})
	add("other file", base, Records{Stream: 1})
	add("next record", base, Records{First: 1})
	add("other key", testKey(2).Stream("noise", "wage", 0), Records{})
	digests, values := identities(n, 5)
	leaves := release(key, "noise", "wage")
	add("place and value", leaves, Records{Values: values})
	add("next place", leaves, Records{First: 1, Values: values})
	add("digests", leaves, Records{Digests: digests, Values: values})
	shifted := make([]float64, n)
	for i, v := range values {
		shifted[i] = v + 1
	}
	add("same place, other values", leaves, Records{Values: shifted})
	add("same respondents, other values", leaves, Records{Digests: digests, Values: shifted})
	limit := 5 / math.Sqrt(n)
	for i := range all {
		for j := range i {
			var xy, sq float64
			for k, x := range all[i].x {
				y := all[j].x[k]
				xy += x * y
				// The squares minus their mean have variance 2 each.
				sq += (x*x - 1) * (y*y - 1) / 2
			}
			for what, r := range map[string]float64{"values": xy / n, "squares": sq / n} {
				if !(math.Abs(r) <= limit) {
					t.Errorf("%s: correlation %.5f of %s and %s, want within %.5f", what, r, all[i].name, all[j].name, limit)
				}
			}
		}
	}
}

// TestSignsAndLayers: sign, layer and position in the layer use independent bits. A generator that
// shares them (Marsaglia and Tsang's first) fails this test (Doornik 2005).
func TestSignsAndLayers(t *testing.T) {
	const n, cells = 1_000_000, 256
	x := make([]float64, n)
	lawStream.Normals(x, Records{Stream: 5})
	counts := make([]float64, 2*cells)
	for _, v := range x {
		// Cells of |x| by its low-order digits on a fine grid, so that neighbours in a layer belong
		// to different cells.
		c := int(math.Mod(math.Abs(v)*1e6, cells))
		if v < 0 {
			c += cells
		}
		counts[c]++
	}
	// The density changes by less than 1e-6 within 256 steps of 1e-6, and n resolves 1e-3: the
	// cells are equally likely.
	chi2 := 0.0
	for _, c := range counts {
		e := float64(n) / (2 * cells)
		chi2 += (c - e) * (c - e) / e
	}
	if z := (chi2 - (2*cells - 1)) / math.Sqrt(2*(2*cells-1)); !(math.Abs(z) <= 4.9) {
		t.Errorf("chi-square %.0f for %d cells", chi2, 2*cells)
	}
}

func ExampleKey_Release() {
	key, err := ParseKey("AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=")
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := make([]float64, 2)
	stream := key.Release(Name{Mask: "noise", Done: "noise 0x0p+00 0x1p+01 0x1.9p+06 0x0p+00;", Column: "wage"})
	stream.Normals(noise, Records{Stream: 0, First: 1000, Values: []float64{1800, 2400.5}})
	fmt.Println(key, key.ID())
	fmt.Printf("%.6f\n", noise)
	// Output:
	// [secret] ab53033a46b30a16
	// [0.241991 0.052327]
}
