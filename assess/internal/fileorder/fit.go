package fileorder

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// sequence is the bins of one level of an order, in the order of the source.
type sequence struct {
	level    int
	complete bool       // whether all records are in it
	bins     []orderBin // that hold a record
	within   []float64  // (by bin) Σ(x − x̄)² that no fit to bins can explain
	ends     []int      // of contiguous stretches: bins[ends[k−1]:ends[k]]
	records  float64
	rank     []float64 // see ranks
}

func (o *Order) sequence(l int) *sequence {
	level := &o.levels[l]
	s := &sequence{level: l, complete: level.thin == 0}
	keys := make([]stretchKey, 0, len(level.stretches))
	for k := range level.stretches {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, stretchKey.compare)
	for i, k := range keys {
		if i > 0 && (k.of != keys[i-1].of || k.index != keys[i-1].index+1) {
			s.ends = append(s.ends, len(s.bins))
		}
		for _, b := range level.stretches[k] {
			if b.n > 0 {
				s.bins = append(s.bins, b)
				s.records += b.n
			}
		}
	}
	s.ends = append(s.ends, len(s.bins))
	s.setWithin()
	return s
}

// setWithin limits the spread within a bin to that of most bins. If values jump between groups, a
// bin with a jump has a large spread, but an intruder with all records has no such bins.
func (s *sequence) setWithin() {
	s.within = make([]float64, len(s.bins))
	var each []float64
	for _, b := range s.bins {
		if b.n > 1 {
			each = append(each, b.square/b.n)
		}
	}
	if len(each) == 0 {
		return
	}
	slices.Sort(each)
	most := 4 * each[len(each)/2]
	for i, b := range s.bins {
		s.within[i] = min(b.square, most*b.n)
	}
}

// stretches calls f for the bounds of each contiguous part.
func (s *sequence) stretches(f func(from, to int)) {
	from := 0
	for _, to := range s.ends {
		if to > from {
			f(from, to)
		}
		from = to
	}
}

// Fit is a snooper's estimate of the original values from the order.
type Fit struct {
	Name       string
	Mse, Noise float64 // (1/n)Σ(x − fit)² and the variance of that
	Sampled    bool
}

// judged returns the fit with the given estimates, which are NaN for bins without an
// estimate; false if these have most of the records. scale corrects the squared error
// for fitted parameters.
func (s *sequence) judged(name string, estimate []float64, scale float64) (Fit, bool) {
	const groups = 32
	var sums, weights [groups]float64
	total, square, at := 0.0, 0.0, 0.0
	for i, b := range s.bins {
		at += b.n
		if e := estimate[i]; e == e {
			d := b.x - e
			error := b.n*d*d + s.within[i]
			g := min(groups-1, int(groups*(at-b.n/2)/s.records))
			sums[g] += error
			weights[g] += b.n
			total += b.n
			square += error
		}
	}
	if total < s.records/4 {
		return Fit{}, false
	}
	f := Fit{Name: name, Mse: scale * square / total, Sampled: !s.complete}
	used := 0.0
	for g := range sums {
		if weights[g] > 0 {
			d := scale*sums[g] - f.Mse*weights[g]
			f.Noise += d * d
			used++
		}
	}
	f.Noise = f.Noise / (total * total) * used / max(used-1, 1)
	return f, true
}

// Best returns the fit that comes nearest to the originals, of all that a snooper
// would try: averages over any distance, levels that jump, estimates from
// neighbours, and, if the file is sorted, isotonic regression. mask is E(x − y)²,
// from which jumps are distinguished.
//
// The width, the number of jumps and the weights of neighbours are those that fit
// the originals best, which a snooper does not have: R is therefore overstated
// rather than understated.
func (o *Order) Best(mask float64) (best Fit, ok bool) {
	best.Mse = math.Inf(1)
	take := func(f Fit, fits bool) {
		if fits && f.Mse < best.Mse {
			best, ok = f, true
		}
	}
	for l := range o.levels {
		s := o.sequence(l)
		if len(s.bins) < 2 {
			continue
		}
		for h := 1; h <= len(s.bins)/2; h *= 2 {
			estimate, ok := s.average(h)
			if !ok {
				break
			}
			take(s.judged("moving average", estimate, 1))
		}
		if estimate, ok := s.groups(mask); ok {
			take(s.judged("groups", estimate, 1))
		}
		for _, penalty := range []float64{0.25, 0.5, 1, 2} {
			take(s.judged("levels with jumps", s.jumps(penalty*mask), 1))
		}
		if estimate, scale, ok := s.neighbours(12); ok {
			take(s.judged("neighbours", estimate, scale))
		}
		if s.complete {
			for _, falling := range []bool{false, true} {
				for _, each := range []bool{false, true} {
					take(s.judged(isotonicName(falling), s.isotonic(falling, each), 1))
				}
			}
		}
	}
	return best, ok
}

func isotonicName(falling bool) string {
	if falling {
		return "isotonic, falling"
	}
	return "isotonic, rising"
}

// average returns the mean of y over each bin and the h bins on either side. At the ends of a file
// there are fewer bins. At the ends of a stretch that was cut from a file there is no mean and ok
// is false, because an intruder with the whole file has more neighbours.
func (s *sequence) average(h int) (estimate []float64, ok bool) {
	estimate = slices.Repeat([]float64{math.NaN()}, len(s.bins))
	s.stretches(func(from, to int) {
		sum, n := 0.0, 0.0
		base := s.bins[from].y
		left, right := from, from // the window is [left, right)
		for i := from; i < to; i++ {
			for ; right < min(to, i+h+1); right++ {
				sum += s.bins[right].n * (s.bins[right].y - base)
				n += s.bins[right].n
			}
			for ; left < i-h; left++ {
				sum -= s.bins[left].n * (s.bins[left].y - base)
				n -= s.bins[left].n
			}
			if s.complete || right-left == 2*h+1 {
				estimate[i] = base + sum/n
				ok = true
			}
		}
	})
	return estimate, ok
}

// jumps fits constant levels: a stretch is divided where the sum of squares decreases
// most, as long as that decrease is above 2·mask·log n (binary segmentation).
func (s *sequence) jumps(mask float64) []float64 {
	estimate := make([]float64, len(s.bins))
	s.stretches(func(from, to int) {
		base := s.bins[from].y
		sum, n := make([]float64, to-from+1), make([]float64, to-from+1)
		for i := from; i < to; i++ {
			sum[i-from+1] = sum[i-from] + s.bins[i].n*(s.bins[i].y-base)
			n[i-from+1] = n[i-from] + s.bins[i].n
		}
		limit := 2 * mask * math.Log(float64(to-from)+1)
		open := [][2]int{{0, to - from}}
		for len(open) > 0 {
			part := open[len(open)-1]
			open = open[:len(open)-1]
			a, b := part[0], part[1]
			cut, gain := divide(sum, n, a, b)
			if cut > 0 && gain > limit {
				open = append(open, [2]int{a, cut}, [2]int{cut, b})
				continue
			}
			level := base + (sum[b]-sum[a])/(n[b]-n[a])
			if !s.complete && (a == 0 || b == to-from) {
				level = math.NaN() // an intruder with the whole file has more neighbours
			}
			for i := a; i < b; i++ {
				estimate[from+i] = level
			}
		}
	})
	return estimate
}

// groups returns the mean of y over neighbours with the same original, such as the members
// of a household or a village: another column often shows where such a group ends. It gives
// no estimate where the steps between groups are not greater than the noise, since such
// groups cannot be recognised.
func (s *sequence) groups(mask float64) (estimate []float64, ok bool) {
	estimate = slices.Repeat([]float64{math.NaN()}, len(s.bins))
	var steps []float64
	alike := 0
	s.stretches(func(from, to int) {
		for a := from; a < to; {
			b := a + 1
			for b < to && s.bins[b].x == s.bins[a].x {
				b++
			}
			if b < to {
				steps = append(steps, math.Abs(s.bins[b].x-s.bins[a].x))
			}
			alike += b - a - 1
			// A bin with a step in it belongs to no group; an intruder with all records has no such
			// bins.
			if s.bins[a].square == 0 && (s.complete || a > from && b < to) {
				sum, n := 0.0, 0.0
				for _, one := range s.bins[a:b] {
					sum += one.n * (one.y - s.bins[a].y)
					n += one.n
				}
				for i := a; i < b; i++ {
					estimate[i] = s.bins[a].y + sum/n
				}
			}
			a = b
		}
	})
	if len(steps) == 0 || alike == 0 {
		return nil, false
	}
	slices.Sort(steps)
	return estimate, steps[len(steps)/2] > math.Sqrt(mask)
}

// divide finds the cut of [a, b) with the least sum of squares about the two means.
func divide(sum, n []float64, a, b int) (cut int, gain float64) {
	all := (sum[b] - sum[a]) / (n[b] - n[a])
	for i := a + 1; i < b; i++ {
		left, right := n[i]-n[a], n[b]-n[i]
		d := (sum[i]-sum[a])/left - all
		// left·d² + right·(left·d/right)²
		if g := left * d * d * (1 + left/right); g > gain {
			cut, gain = i, g
		}
	}
	return cut, gain
}

// neighbours returns the best linear estimate of x from y of the same bin and the k
// bins on either side, which a snooper can compute from the released autocovariances
// and λ². scale is n/(n − p), for the p weights.
func (s *sequence) neighbours(k int) (estimate []float64, scale float64, ok bool) {
	rows := func() (n int) {
		s.stretches(func(from, to int) { n += max(0, to-from-2*k) })
		return n
	}
	for ; k > 0 && rows() < 8*(2*k+2); k /= 2 {
	}
	m := rows()
	if k == 0 || m < 8*(2*k+2) {
		return nil, 0, false
	}
	p := 2*k + 1
	var meanX, meanY float64
	for _, b := range s.bins {
		meanX += b.n * b.x / s.records
		meanY += b.n * b.y / s.records
	}
	gram, moment := mat.NewSymDense(p+1, nil), mat.NewVecDense(p+1, nil)
	row := make([]float64, p+1)
	fill := func(i int) {
		for j := range p {
			row[j] = s.bins[i-k+j].y - meanY
		}
		row[p] = 1
	}
	s.stretches(func(from, to int) {
		for i := from + k; i < to-k; i++ {
			fill(i)
			for a, v := range row {
				moment.SetVec(a, moment.AtVec(a)+v*(s.bins[i].x-meanX))
				for b := a; b <= p; b++ {
					gram.SetSym(a, b, gram.At(a, b)+v*row[b])
				}
			}
		}
	})
	var cholesky mat.Cholesky
	var weights mat.VecDense
	if !cholesky.Factorize(gram) || cholesky.SolveVecTo(&weights, moment) != nil {
		return nil, 0, false
	}
	estimate = slices.Repeat([]float64{math.NaN()}, len(s.bins))
	s.stretches(func(from, to int) {
		for i := from + k; i < to-k; i++ {
			fill(i)
			estimate[i] = meanX
			for a, v := range row {
				estimate[i] += v * weights.AtVec(a)
			}
		}
	})
	return estimate, float64(m) / float64(m-p-1), true
}

// isotonic returns the isotonic regression of y on the place, by pooling adjacent
// violators; falling or rising, over the whole file or in each stream.
func (s *sequence) isotonic(falling, each bool) []float64 {
	sign := 1.0
	if falling {
		sign = -1
	}
	estimate := make([]float64, len(s.bins))
	pool := func(from, to int) {
		type pooled struct {
			y, n float64
			end  int
		}
		var stack []pooled
		for i := from; i < to; i++ {
			next := pooled{sign * s.bins[i].y, s.bins[i].n, i + 1}
			for len(stack) > 0 && stack[len(stack)-1].y >= next.y {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				next.y = (top.y*top.n + next.y*next.n) / (top.n + next.n)
				next.n += top.n
			}
			stack = append(stack, next)
		}
		i := from
		for _, p := range stack {
			for ; i < p.end; i++ {
				estimate[i] = sign * p.y
			}
		}
	}
	if each {
		s.stretches(pool)
	} else {
		pool(0, len(s.bins))
	}
	return estimate
}
