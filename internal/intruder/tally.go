package intruder

import "math"

const (
	// negligible: densities below e^-45 times the greatest are omitted from the sum. A
	// million of them change it by a relative 3e-14 at most.
	negligible = 45
	// tieWidth: densities count as equal if their logarithms differ by at most this. It
	// is far above rounding errors (two records at the same distance on either side of
	// the target differ in their last bits) and far below any difference that a
	// posterior shows.
	tieWidth = 1e-9
	bestKept = 10
)

// tally is the running state of one target over the blocks of records: the sum of the
// densities under a moving scale (log-sum-exp in one pass), the ten greatest densities,
// and the numbers of records that rank before the true one or tie with it. Densities
// are given as m·exp(-q), so that the logarithm of m is computed only where it is
// needed.
type tally struct {
	ref   float64 // densities are scaled by exp(-ref)
	sum   float64
	best  [bestKept]float64 // descending, scaled
	floor float64           // densities with a logarithm below it are skipped

	known    bool    // the true record is in the release and known
	logTrue  float64 // log density of the true record
	from, to float64 // scaled densities between from and to tie with the true one
	greater  int
	ties     int // the true record included

	picked [blockRecords]uint16
}

func newTally() tally {
	return tally{ref: math.NaN(), floor: math.Inf(-1)}
}

// expect sets the density of the true record to m·exp(-q).
func (s *tally) expect(q, m float64) {
	s.known = true
	s.logTrue = math.Log(m) - q
	if !math.IsInf(s.logTrue, 0) {
		s.scale(-q)
	}
}

// scale changes the reference to ref and rescales the sum and the best densities.
func (s *tally) scale(ref float64) {
	if s.sum > 0 {
		f := math.Exp(s.ref - ref)
		s.sum *= f
		for j := range s.best {
			s.best[j] *= f
		}
	}
	s.ref = ref
	if s.known {
		w := math.Exp(s.logTrue - ref)
		s.from, s.to = w*(1-tieWidth), w*(1+tieWidth)
	}
}

// add adds the densities of a block of records. The state is in local variables and exp
// is inlined by hand, because this loop takes most of an attack's time.
func (s *tally) add(q, m []float64) {
	m = m[:len(q)]
	ref, floor, from, to, tenth := s.ref, s.floor, s.from, s.to, s.best[bestKept-1]
	// The records above the floor are selected first, without a branch, because the
	// processor would mispredict about half of them.
	picked := 0
	for i, qi := range q {
		s.picked[picked&(blockRecords-1)] = uint16(i)
		if m[i]-1-qi >= floor { // log m ≤ m - 1
			picked++
		}
	}
	sum, before, with := 0.0, 0, 0
	for _, i := range s.picked[:picked] {
		qi, mi := q[i], m[i]
		x := -qi - ref
		if !(x > -60 && x < 40 && mi > 1e-100) {
			s.sum += sum
			sum = 0
			s.addFar(qi, mi)
			ref, from, to, tenth = s.ref, s.from, s.to, s.best[bestKept-1]
			continue
		}
		shifted := x*stepsPerE + roundShift
		k := shifted - roundShift
		r := (x - k*stepHigh) - k*stepLow
		n := int64(k)
		t := expTable[n&(expSteps-1)]
		t += t * (r + r*r*(0.5+r*(1.0/6+r*(1.0/24))))
		w := mi * math.Float64frombits(math.Float64bits(t)+uint64(n>>7)<<52)
		sum += w
		if w >= from {
			with++
		}
		if w > to {
			before++
		}
		if w > tenth {
			s.insert(w)
			tenth = s.best[bestKept-1]
		}
	}
	s.sum += sum
	if s.known {
		s.greater += before
		s.ties += with - before
	}
}

// addFar adds a density outside the range that the scale covers well.
func (s *tally) addFar(q, m float64) {
	l := math.Log(m) - q
	if s.known {
		switch {
		case l == s.logTrue || math.Abs(l-s.logTrue) <= tieWidth:
			s.ties++
		case l > s.logTrue:
			s.greater++
		}
	}
	if math.IsInf(l, -1) || math.IsNaN(l) {
		return
	}
	if math.IsNaN(s.ref) || l-s.ref > 40 {
		s.scale(l)
	}
	if w := math.Exp(l - s.ref); w > 0 {
		s.sum += w
		if w > s.best[bestKept-1] {
			s.insert(w)
		}
	}
}

func (s *tally) insert(w float64) {
	j := bestKept - 1
	for ; j > 0 && s.best[j-1] < w; j-- {
		s.best[j] = s.best[j-1]
	}
	s.best[j] = w
	if j == 0 {
		s.floor = s.ref + math.Log(w) - negligible
		if s.known {
			s.floor = math.Min(s.floor, s.logTrue-2*tieWidth)
		}
	}
}

// outcome returns the result of one target over n records. logOutside is the logarithm
// of (N−n) times the density of a person outside the release, -Inf if N = n.
func (s *tally) outcome(n int, logOutside float64) outcome {
	o := outcome{}
	switch {
	case s.sum > 0:
		outside := math.Exp(math.Min(logOutside-s.ref, 700))
		total := s.sum + outside
		o.best = s.best[0] / total
		for _, w := range s.best {
			o.topTen += w
		}
		o.topTen /= total
		o.outside = outside / total
		if s.known {
			o.posterior = math.Exp(s.logTrue-s.ref) / total
		}
	case math.IsInf(logOutside, -1):
		// All densities are 0: no record can belong to this person, so all records get
		// the same posterior.
		o.best = 1 / float64(n)
		o.topTen = math.Min(bestKept, float64(n)) / float64(n)
		o.posterior = o.best
	default:
		o.outside = 1
	}
	if s.known {
		o.greater, o.ties = s.greater, s.ties
	} else {
		o.posterior = 0
	}
	return o
}

// outcome is the intruder's result on one target.
type outcome struct {
	posterior float64 // of the true record
	best      float64 // the greatest posterior of a record
	topTen    float64 // posterior of the ten best together
	outside   float64 // posterior of not being in the release
	greater   int     // records with a greater density than the true one
	ties      int     // records that tie with the true one, itself included; 0 if the true record is unknown
}
