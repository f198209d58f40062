package joint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// swapped are records with a number that goes with one that stays, of which couples at most a reach of ranks apart have
// exchanged.
type swapped struct {
	stayed, x, y []float64
	reach        int
}

// byRanks makes n records. The number is ρ times what stayed plus independent noise, of variance 1 together. The couples
// are drawn in a random order, so that all differences of ranks are about alike.
func byRanks(r *rand.Rand, n, reach int, rho float64) swapped {
	s := swapped{stayed: make([]float64, n), x: make([]float64, n), y: make([]float64, n), reach: reach}
	order, partner := make([]int, n), make([]int, n)
	for i := range n {
		s.stayed[i], order[i], partner[i] = r.NormFloat64(), i, i
		s.x[i] = rho*s.stayed[i] + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, s.x[a]-s.x[b])) })
	for _, k := range r.Perm(n) {
		var free []int
		for j := max(0, k-reach); j < min(n, k+reach+1); j++ {
			if j != k && partner[j] == j {
				free = append(free, j)
			}
		}
		if partner[k] == k && len(free) > 0 {
			j := free[r.IntN(len(free))]
			partner[k], partner[j] = j, k
		}
	}
	for k, i := range order {
		s.y[i] = s.x[order[partner[k]]]
	}
	return s
}

// frame has what is released of the first n of them.
func (s *swapped) frame(n int, share float64) (*Frame, [][]float64, Exchange) {
	f := New([]Column{{Name: "stayed", Values: s.stayed[:n]}, {Name: "moved", Values: s.y[:n]}}, n, share == 1)
	f.Share = share
	return f, [][]float64{nil, s.x[:n]}, Exchange{Moved: []int{1}, Couples: true, Ranks: true}
}

// known is what a snooper reaches in the first n records who knows the law, by Bayes over all that each can have
// exchanged with. He sees all records. The square is that of the mean; hits counts the likeliest.
func (s *swapped) known(n int, rho float64) (square float64, hits int) {
	sorted := slices.Sorted(slices.Values(s.y))
	rank := func(v float64) int { k, _ := slices.BinarySearch(sorted, v); return k }
	of := make([]int, len(sorted)) // by rank
	for i, v := range s.y {
		of[rank(v)] = i
	}
	ratio := func(who int, v float64) float64 { // that a value is one's own, to that it is anyone's
		d := v - rho*s.stayed[who]
		return v*v/2 - d*d/2/(1-rho*rho)
	}
	stay := math.Max(0.5, float64(equal(s.x, s.y))) / float64(len(s.x))
	mixed := func(who int) float64 { return math.Log(stay*math.Exp(ratio(who, s.y[who])) + 1 - stay) }
	for i := range n {
		best, likeliest := math.Log(stay)+ratio(i, s.y[i]), s.y[i]
		weight := math.Exp(best)
		sum := weight * s.y[i]
		at := rank(s.y[i])
		within := min(len(sorted)-1, at+s.reach) - max(0, at-s.reach)
		for k := max(0, at-s.reach); k < min(len(sorted), at+s.reach+1); k++ {
			if k == at {
				continue
			}
			l := math.Log((1-stay)/float64(within)) + ratio(i, sorted[k]) + ratio(of[k], s.y[i]) - mixed(of[k])
			w := math.Exp(l)
			if weight, sum = weight+w, sum+w*sorted[k]; l > best {
				best, likeliest = l, sorted[k]
			}
		}
		d := s.x[i] - sum/weight
		square += d * d / float64(n)
		if likeliest == s.x[i] {
			hits++
		}
	}
	return square, hits
}

// What is found by a fitted law comes near to what a snooper reaches who knows the law. 1,000 records have a mean square
// with a relative standard error of √(κ − 1)/√1000 each, κ ≤ 20, of which both have most in common: 0.15 is as much as
// each has of its own. Hits differ by less than four standard errors of a share of ½, 60 records.
func TestMatchedByRanks(t *testing.T) {
	for _, of := range []struct {
		reach int
		rho   float64
	}{{10, 0.9995}, {100, 0.9995}, {100, 0.995}, {30, 0.98}, {100, 0.9}, {300, 0.7}, {999, 0.99}} {
		s := byRanks(rand.New(rand.NewPCG(4, uint64(of.reach))), 1000, of.reach, of.rho)
		f, originals, e := s.frame(1000, 1)
		found := f.Matched(e, originals)[0]
		if found == nil {
			t.Fatalf("%+v: nothing is found", of)
		}
		square, hits := s.known(1000, of.rho)
		if got := squareTo(s.x, found.Mean); math.Abs(got/square-1) > 0.15 {
			t.Errorf("%+v: mean square %.6f, with the law %.6f; as released %.6f", of, got, square, squareTo(s.x, s.y))
		}
		if got := equal(s.x, found.Likeliest); math.Abs(float64(got-hits)) > 60 {
			t.Errorf("%+v: %d are right, with the law %d", of, got, hits)
		}
	}
}

// In a sample no less is stated than what a snooper reaches there who has all records: the likeliest of fewer is right in
// no fewer, and the means, beside what stayed, leave no more, but for the tolerances of TestMatchedByRanks, with 400
// records 0.25 and 40.
func TestMatchedByRanksInSample(t *testing.T) {
	for _, of := range []struct {
		reach int
		rho   float64
	}{{100, 0.9995}, {100, 0.98}, {1000, 0.9}} {
		s := byRanks(rand.New(rand.NewPCG(6, uint64(of.reach))), 2000, of.reach, of.rho)
		f, originals, e := s.frame(400, 0.2)
		found := f.Matched(e, originals)[0]
		square, hits := s.known(400, of.rho)
		if got := f.With(found.Expected()).Estimate(s.x[:400], s.y[:400], 1, nil).Square; got > 1.25*square || got < 0.5*square {
			t.Errorf("%+v: mean square %.6f, with the law and all records %.6f", of, got, square)
		}
		if got := equal(s.x[:400], found.Likeliest); got < hits-40 || got > hits+40 {
			t.Errorf("%+v: %d are right, with the law and all records %d", of, got, hits)
		}
	}
}

// A large reach in many records is looked at in parts, which tell as much.
func TestMatchedByRanksOfMany(t *testing.T) {
	const n, rho = 20_000, 0.999
	s := byRanks(rand.New(rand.NewPCG(8, 1)), n, 4000, rho)
	f, originals, e := s.frame(n, 1)
	found := f.Matched(e, originals)[0]
	square, hits := s.known(2000, rho)
	if got := squareTo(s.x[:2000], found.Mean); math.Abs(got/square-1) > 0.15 {
		t.Errorf("mean square %.7f, with the law %.7f", got, square)
	}
	if got := equal(s.x[:2000], found.Likeliest); math.Abs(float64(got-hits)) > 90 { // four of √(2000/4)
		t.Errorf("%d are right, with the law %d", got, hits)
	}
}

// Where nothing tells, no more are right than by chance, of 20 within reach, and the mean leaves no less than the best
// of what is within reach does: half of what is released does, with four relative standard errors 4·√(κ − 1)/√1000.
func TestMatchedByRanksByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := byRanks(r, 1000, 10, 0)
	for _, missing := range []bool{false, true} {
		if missing {
			s.y[5], s.x[6] = math.NaN(), math.NaN()
		}
		f, originals, e := s.frame(1000, 1)
		found := f.Matched(e, originals)[0]
		if hits := equal(s.x, found.Likeliest); hits > 50+4*7 {
			t.Errorf("%d of 1000 are right by chance", hits)
		}
		if got, released := squareTo(s.x, found.Mean), squareTo(s.x, s.y); got < 0.4*released || got > 1.1*released {
			t.Errorf("mean square %v, as released %v", got, released)
		}
		for i, v := range found.Mean {
			if v != v != (s.y[i] != s.y[i]) {
				t.Fatalf("row %d: released %v, taken for %v", i, s.y[i], v)
			}
		}
	}
}

// Bands share out the reach, whose probabilities add up to 1 wherever a record is.
func TestBandsOfRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, reach := range []int{1, 2, 5, 16, 17, 40, 399} {
		b := byRank{reach: reach}
		var moved []int
		for range 300 {
			moved = append(moved, 1+r.IntN(reach))
		}
		b.count(moved)
		for _, at := range []int{0, 1, 7, 200, 398, 399} {
			sum := 0.0
			for d := -at; d < 400-at; d++ {
				if d != 0 && d >= -reach && d <= reach {
					sum += b.shares[b.band(d)]
				}
			}
			near(t, fmt.Sprintf("reach %d at %d", reach, at), math.Exp(b.open(at, 400)), sum, 1e-9)
		}
	}
}

// What a sum less a part tells of the rest comes to light beside the sum alone: what tells
// nothing new, and what tells nothing, is left out.
func TestForward(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n = 400
	x, sum, part, again, none := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], part[i], none[i] = r.NormFloat64(), 3*r.NormFloat64(), r.NormFloat64()
		sum[i] = x[i] + part[i]
		again[i] = 2 * sum[i]
	}
	if got := forward([][]float64{x}, [][]float64{none, part, again, sum}, 3); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("chosen %v, want the sum and then the part", got)
	}
}

// What a sample shows of the variance that a further mask adds is chance where nothing is added; of noise with a variance v it
// is within four standard errors, 4·√(2·v²/400 + 4·v/400).
func TestAddedByFurtherMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 9))
	s := byRanks(r, 2000, 20, 0.9)
	for _, sd := range []float64{0, 0.3} {
		y := make([]float64, 400)
		for i := range y {
			y[i] = s.y[i] + sd*r.NormFloat64()
		}
		f, _, e := s.frame(400, 0.2)
		m := &matching{f: f, e: e}
		got, want := m.added([][]float64{s.x[:400]}, [][]float64{y})[0], sd*sd
		if math.Abs(got-want) > 4*math.Sqrt(2*want*want/400+4*want/400) {
			t.Errorf("noise of %v adds %v", sd, got)
		}
	}
}

// The records with the least and the greatest values are kept beside a sample, and lie beyond all that it has.
func TestMatchedByRanksBeyondTheSample(t *testing.T) {
	s := byRanks(rand.New(rand.NewPCG(8, 3)), 1000, 100, 0.98)
	for _, ends := range [][]float64{{-50, 50}, {50, 60}, {-50, -60}} {
		_, originals, e := s.frame(400, 0.4)
		f := New([]Column{
			{Name: "stayed", Values: append(slices.Clone(s.stayed[:400]), 0, 0)},
			{Name: "moved", Values: append(slices.Clone(s.y[:400]), ends...)},
		}, 400, false)
		found := f.Matched(e, originals)[0]
		if found == nil || len(found.Mean) != 402 {
			t.Fatalf("ends %v: %v", ends, found)
		}
		for _, v := range found.Mean {
			if math.IsInf(v, 0) {
				t.Errorf("ends %v: a mean of %v", ends, v)
			}
		}
	}
}
