package fileorder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sequences returns bins of many kinds: complete and cut from a longer file, in one stretch and in
// several, and with a single bin in the last stretch.
func sequences() map[string]*sequence {
	rng := rand.New(rand.NewPCG(31, 4))
	all := map[string]*sequence{}
	for _, kind := range []string{"shuffled", "rising", "falling", "levels", "groups", "waves"} {
		for _, complete := range []bool{true, false} {
			for _, ends := range [][]int{{120}, {40, 119, 120}, {1, 120}} {
				s := &sequence{complete: complete, ends: slices.Clone(ends)}
				for i := range 120 {
					b := orderBin{n: float64(1 + rng.IntN(3)), x: 10 * rng.NormFloat64()}
					switch kind {
					case "rising":
						b.x += 3 * float64(i)
					case "falling":
						b.x -= 3 * float64(i)
					case "levels":
						b.x = b.x/10 + 100*float64(i/25%2)
					case "groups":
						b.x = float64(30 * (i / 4 * 7 % 11))
					case "waves":
						b.x = 80 * math.Sin(float64(i)/9)
					}
					b.y = b.x + 8*rng.NormFloat64()
					if b.n > 1 && kind != "groups" || i%17 == 3 {
						b.square = b.n * float64(rng.IntN(40))
					}
					s.bins = append(s.bins, b)
					s.records += b.n
				}
				s.setWithin()
				name := kind + map[bool]string{true: ", complete", false: ", cut"}[complete]
				all[name+map[int]string{1: "", 2: ", parted after one", 3: ", in three"}[len(ends)]] = s
			}
		}
	}
	return all
}

// meanOfY returns the mean of the bins from ≤ i < to.
func (s *sequence) meanOfY(from, to int) float64 {
	sum, n := 0.0, 0.0
	for _, b := range s.bins[from:to] {
		sum, n = sum+b.n*b.y, n+b.n
	}
	return sum / n
}

// bounds returns the stretches as pairs.
func (s *sequence) bounds() (list [][2]int) {
	from := 0
	for _, to := range s.ends {
		list = append(list, [2]int{from, to})
		from = to
	}
	return list
}

// checkEstimate checks that two lists agree, including NaN.
func checkEstimate(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d estimates, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-7*(1+math.Abs(w))) && !(math.IsNaN(got[i]) && math.IsNaN(w)) {
			t.Errorf("%s: bin %d is estimated as %v, want %v", what, i, got[i], w)
			return
		}
	}
}

// A moving average is the mean of the bins within distance h. In a stretch that was cut out it
// exists only if all of these bins are present.
func TestAverageIsTheMeanAround(t *testing.T) {
	for name, s := range sequences() {
		for _, h := range []int{1, 2, 5, 60} {
			want, any := make([]float64, len(s.bins)), false
			for _, part := range s.bounds() {
				for i := part[0]; i < part[1]; i++ {
					from, to := max(part[0], i-h), min(part[1], i+h+1)
					if want[i] = s.meanOfY(from, to); !s.complete && to-from < 2*h+1 {
						want[i] = math.NaN()
					}
					any = any || want[i] == want[i]
				}
			}
			got, fitted := s.average(h)
			if fitted != any {
				t.Errorf("%s, %d to either side: reports a fit: %v", name, h, fitted)
			}
			checkEstimate(t, name, got, want)
		}
	}
}

// Isotonic regression is max over a ≤ i of min over b ≥ i of the mean of a…b.
func TestIsotonicIsMaxMin(t *testing.T) {
	for name, s := range sequences() {
		for _, falling := range []bool{false, true} {
			for _, each := range []bool{false, true} {
				want := make([]float64, len(s.bins))
				parts := s.bounds()
				if !each {
					parts = [][2]int{{0, len(s.bins)}}
				}
				sums, counts := []float64{0}, []float64{0}
				for i, b := range s.bins {
					sums, counts = append(sums, sums[i]+b.n*b.y), append(counts, counts[i]+b.n)
				}
				sign := 1.0
				if falling {
					sign = -1
				}
				for _, part := range parts {
					for i := part[0]; i < part[1]; i++ {
						best := math.Inf(-1)
						for a := part[0]; a <= i; a++ {
							least := math.Inf(1)
							for b := i; b < part[1]; b++ {
								least = min(least, sign*(sums[b+1]-sums[a])/(counts[b+1]-counts[a]))
							}
							best = max(best, least)
						}
						want[i] = sign * best
					}
				}
				checkEstimate(t, name, s.isotonic(falling, each), want)
			}
		}
	}
}

// Levels with jumps: a part is divided at the point that minimises the squares about two means, as
// long as the gain is above 2·mask·log(n+1).
func TestJumpsAreBinarySegmentation(t *testing.T) {
	jumped := 0
	for name, s := range sequences() {
		for _, mask := range []float64{4, 64, 900} {
			want := make([]float64, len(s.bins))
			squares := func(from, to int) (sum float64) {
				m := s.meanOfY(from, to)
				for _, b := range s.bins[from:to] {
					sum += b.n * (b.y - m) * (b.y - m)
				}
				return sum
			}
			for _, part := range s.bounds() {
				var divide func(from, to int)
				divide = func(from, to int) {
					cut, gain := 0, 0.0
					for at := from + 1; at < to; at++ {
						if g := squares(from, to) - squares(from, at) - squares(at, to); g > gain {
							cut, gain = at, g
						}
					}
					if gain > 2*mask*math.Log(float64(part[1]-part[0])+1) {
						jumped++
						divide(from, cut)
						divide(cut, to)
						return
					}
					for i := from; i < to; i++ {
						if want[i] = s.meanOfY(from, to); !s.complete && (from == part[0] || to == part[1]) {
							want[i] = math.NaN()
						}
					}
				}
				divide(part[0], part[1])
			}
			checkEstimate(t, name, s.jumps(mask), want)
		}
	}
	if jumped < 50 {
		t.Errorf("only %d jumps were fitted, too few for this test", jumped)
	}
}

// Groups consist of neighbours with the same original value. They are detected if the median step
// between them is greater than the noise.
func TestGroupsAreMeansOfEqualNeighbours(t *testing.T) {
	seen := 0
	for name, s := range sequences() {
		want := slices.Repeat([]float64{math.NaN()}, len(s.bins))
		var steps []float64
		alike := 0
		for _, part := range s.bounds() {
			for i := part[0]; i < part[1]; i++ {
				a, b := i, i+1
				for a > part[0] && s.bins[a-1].x == s.bins[i].x {
					a--
				}
				for b < part[1] && s.bins[b].x == s.bins[i].x {
					b++
				}
				if i == a && b < part[1] {
					steps = append(steps, math.Abs(s.bins[b].x-s.bins[a].x))
				}
				if i > a {
					alike++
				}
				if s.bins[a].square == 0 && (s.complete || a > part[0] && b < part[1]) {
					want[i] = s.meanOfY(a, b)
				}
			}
		}
		slices.Sort(steps)
		for _, mask := range []float64{1, 64, 1e6} {
			got, fitted := s.groups(mask)
			if len(steps) == 0 || alike == 0 {
				if got != nil || fitted {
					t.Errorf("%s: there are no groups", name)
				}
				continue
			}
			if fitted != (steps[len(steps)/2] > math.Sqrt(mask)) {
				t.Errorf("%s, mask %v: seen is %v at a median step of %v", name, mask, fitted, steps[len(steps)/2])
			}
			seen++
			checkEstimate(t, name, got, want)
		}
	}
	if seen == 0 {
		t.Error("no file has groups")
	}
}

// The estimate from neighbours is the least squares estimate of x from the y around it: its
// residuals are orthogonal to each of these y and sum to 0.
func TestNeighboursAreLeastSquares(t *testing.T) {
	for name, s := range sequences() {
		const k = 2
		got, scale, fitted := s.neighbours(k)
		if !fitted {
			t.Errorf("%s: has no fit", name)
			continue
		}
		inner := 0
		products := make([]float64, 2*k+2)
		var size float64
		for _, part := range s.bounds() {
			for i := part[0]; i < part[1]; i++ {
				if i < part[0]+k || i >= part[1]-k {
					if got[i] == got[i] {
						t.Errorf("%s: bin %d has too few neighbours", name, i)
					}
					continue
				}
				inner++
				d := s.bins[i].x - got[i]
				size += math.Abs(d) * 100
				products[2*k+1] += d
				for j := -k; j <= k; j++ {
					products[j+k] += d * s.bins[i+j].y
				}
			}
		}
		for j, p := range products {
			if !(math.Abs(p) <= 1e-7*(1+size)) {
				t.Errorf("%s: residuals are not orthogonal to neighbour %d: %v", name, j-k, p)
			}
		}
		if want := float64(inner) / float64(inner-2*k-2); !(math.Abs(scale-want) <= 1e-12) {
			t.Errorf("%s: scale %v, want %v", name, scale, want)
		}
	}
	// With few bins, fewer neighbours are used, so that there are eight bins for each weight.
	for n, want := range map[int]int{31: -1, 33: -1, 34: 1, 51: 1, 52: 2, 87: 2, 88: 4} {
		s := &sequence{complete: true, ends: []int{n}, records: float64(n)}
		rng := rand.New(rand.NewPCG(uint64(n), 4))
		for range n {
			s.bins = append(s.bins, orderBin{1, rng.NormFloat64(), rng.NormFloat64(), 0})
		}
		estimate, _, fitted := s.neighbours(4)
		k := -1
		if fitted {
			k = slices.IndexFunc(estimate, func(e float64) bool { return e == e })
		}
		if k != want {
			t.Errorf("%d bins: %d neighbours to either side, want %d", n, k, want)
		}
	}
}

// The mean square error of an estimate, and its variance from 32 groups of records.
func TestJudgedIsTheSquareError(t *testing.T) {
	for name, s := range sequences() {
		for _, every := range []int{1, 2, 3, 5} {
			estimate := make([]float64, len(s.bins))
			var total, square, at, used float64
			sums, weights := map[int]float64{}, map[int]float64{}
			for i, b := range s.bins {
				estimate[i] = math.NaN()
				if i%every == 0 {
					estimate[i] = b.y + 3
					e := b.n*(b.x-b.y-3)*(b.x-b.y-3) + s.within[i]
					g := int(32 * (at + b.n/2) / s.records)
					sums[g] += e
					weights[g] += b.n
					total, square = total+b.n, square+e
				}
				at += b.n
			}
			got, fitted := s.judged("fit", estimate, 1.5)
			if fitted != (total >= s.records/4) {
				t.Errorf("%s, every %d: reported %v", name, every, fitted)
			}
			if !fitted {
				continue
			}
			want := Fit{Name: "fit", Mse: 1.5 * square / total, Sampled: !s.complete}
			for g := range 32 {
				if weights[g] > 0 {
					d := 1.5*sums[g] - want.Mse*weights[g]
					want.Noise += d * d / (total * total)
					used++
				}
			}
			want.Noise *= used / (used - 1)
			if got.Name != want.Name || got.Sampled != want.Sampled || !(math.Abs(got.Mse-want.Mse) <= 1e-9*want.Mse) ||
				math.Abs(got.Noise-want.Noise) > 1e-9*want.Noise {
				t.Errorf("%s, every %d: %+v, want %+v", name, every, got, want)
			}
		}
	}
}

// One group of records gives no variance. Two and three groups have the correction factor of a
// sample of that size.
func TestJudgedByFewGroups(t *testing.T) {
	for used := 1; used <= 3; used++ {
		s := &sequence{complete: true, records: float64(used), within: make([]float64, used)}
		estimate := make([]float64, used)
		errors := []float64{1, 4, 16}[:used]
		mean := 0.0
		for _, e := range errors {
			s.bins = append(s.bins, orderBin{n: 1, x: math.Sqrt(e)})
			mean += e / float64(used)
		}
		want := 0.0
		for _, e := range errors {
			want += (e - mean) * (e - mean) / float64(used*max(1, used-1))
		}
		f, fitted := s.judged("few", estimate, 1)
		if !fitted || !(math.Abs(f.Mse-mean) <= 1e-12) || math.Abs(f.Noise-want) > 1e-12 {
			t.Errorf("%d groups: %+v, want %v and %v", used, f, mean, want)
		}
	}
}

// The spread within a bin is limited to four times that of the median bin.
func TestWithinIsBounded(t *testing.T) {
	s := &sequence{
		bins: []orderBin{{1, 0, 0, 0}, {2, 0, 0, 8}, {2, 0, 0, 12}, {4, 0, 0, 400}, {2, 0, 0, 48}, {3, 0, 0, 30}}}
	s.setWithin() // by record 4, 6, 10, 24, 100
	if want := []float64{0, 8, 12, 160, 48, 30}; !slices.Equal(s.within, want) {
		t.Errorf("%v, want %v", s.within, want)
	}
	s.bins = s.bins[:1]
	if s.setWithin(); !slices.Equal(s.within, []float64{0}) {
		t.Errorf("%v", s.within)
	}
}

// Descents and autocorrelation, and their distance from those of a shuffled file.
func TestDeparturesAreThoseOfTheirDefinitions(t *testing.T) {
	for name, s := range sequences() {
		var up, down, variance float64
		for _, part := range s.bounds() {
			for i := part[0] + 1; i < part[1]; i++ {
				if s.bins[i].x > s.bins[i-1].x {
					up++
				}
				if s.bins[i].x < s.bins[i-1].x {
					down++
				}
			}
			if n := part[1] - part[0]; n > 1 {
				variance += float64(n+1) / 3
			}
		}
		z, share := s.descents()
		if !(math.Abs(z-(up-down)/math.Sqrt(variance)) <= 1e-12) || math.Abs(share-down/(up+down)) > 1e-12 {
			t.Errorf("%s: %v and %v of %v up and %v down", name, z, share, up, down)
		}
		rank := make([]float64, len(s.bins))
		var total float64
		for i, b := range s.bins {
			for _, o := range s.bins {
				if o.x < b.x {
					rank[i]++
				} else if o.x == b.x {
					rank[i] += 0.5
				}
			}
			rank[i] -= float64(len(s.bins)) / 2
			total += rank[i] * rank[i] / float64(len(s.bins))
		}
		checkEstimate(t, name, s.ranks(), rank)
		checkEstimate(t, name, s.ranks(), rank) // the lags that are kept
		for _, k := range []int{1, 2, 12} {
			var product, pairs float64
			for _, part := range s.bounds() {
				for i := part[0] + k; i < part[1]; i++ {
					product, pairs = product+rank[i]*rank[i-k], pairs+1
				}
			}
			want := max(-1, min(1, product/pairs/total))
			if z, r := s.autocorrelation(k); !(math.Abs(r-want) <= 1e-12) || math.Abs(z-want*math.Sqrt(pairs)) > 1e-9 {
				t.Errorf("%s, lag %d: %v and %v, want %v", name, k, z, r, want)
			}
		}
	}
	one := &sequence{complete: true, bins: []orderBin{{1, 3, 3, 0}}, ends: []int{1}, records: 1}
	if z, share := one.descents(); z != 0 || share == share {
		t.Errorf("of one record: %v, %v", z, share)
	}
	if z, r := one.autocorrelation(1); z != 0 || r == r {
		t.Errorf("of one record: %v, %v", z, r)
	}
	same := &sequence{complete: true, bins: slices.Repeat([]orderBin{{1, 3, 3, 0}}, 5), ends: []int{5}, records: 5}
	if z, r := same.autocorrelation(1); z != 0 || r == r {
		t.Errorf("of equal records: %v, %v", z, r)
	}
	// With so few records the quotient may be below -1, since the pairs do not contain all ranks.
	few := &sequence{complete: true, bins: []orderBin{{1, 3, 3, 0}, {1, 5, 5, 0}, {1, 9, 9, 0}}, ends: []int{3},
		records: 3}
	if z, r := few.autocorrelation(2); z != -1 || r != -1 {
		t.Errorf("of one pair: %v, %v", z, r)
	}
	if z, r := few.autocorrelation(3); z != 0 || r == r {
		t.Errorf("of no pair: %v, %v", z, r)
	}
}
