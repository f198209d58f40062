package intruder

import "math"

const (
	// negligible: a density e^-45 times the greatest is left out of the sum; a million
	// of them change it by less than 3e-14 of itself.
	negligible = 45
	// tieWidth: densities whose logarithms are nearer than this are equal. It is far
	// above rounding (two records at the same distance on either side of the target
	// differ in their last bits) and far below what a posterior shows.
	tieWidth = 1e-9
	bestKept = 10
)

// tally is what is kept of one target while the records pass: the sum of the densities
// under a moving scale (log-sum-exp in one pass), the ten greatest, and how many
// records come before the true one or tie with it. Densities are given as m·exp(-q),
// so that the logarithm of m is taken only where it is needed.
type tally struct {
	ref   float64 // densities are scaled by exp(-ref)
	sum   float64
	best  [bestKept]float64 // descending, scaled
	floor float64           // a density whose logarithm is below it changes nothing

	known    bool    // the true record is in the release and known
	logTrue  float64 // log density of the true record
	from, to float64 // scaled densities from..to tie with the true one
	greater  int
	ties     int // with the true record itself

	picked [blockRecords]uint16
}

func newTally() tally {
	return tally{ref: math.NaN(), floor: math.Inf(-1)}
}

// expect says that the true record has density m·exp(-q).
func (s *tally) expect(q, m float64) {
	s.known = true
	s.logTrue = math.Log(m) - q
	if !math.IsInf(s.logTrue, 0) {
		s.scale(-q)
	}
}

// scale moves the reference.
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

// add takes the densities of a block of records. The state lives in local variables
// and exp is written out: this loop is most of an attack's time.
func (s *tally) add(q, m []float64) {
	m = m[:len(q)]
	ref, floor, from, to, tenth := s.ref, s.floor, s.from, s.to, s.best[bestKept-1]
	// The records that count are picked first, without a branch that would be guessed
	// wrongly at each second of them.
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

// addFar takes a density outside the range that the scale covers well.
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

// outcome closes the tally of one target over n records. logOutside is the logarithm
// of (N−n) times the density of a person outside the release, -Inf where there is none.
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
		// No record can be this person's (a limit that nothing meets): nothing tells
		// them apart.
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
	greater   int     // records that come before the true one
	ties      int     // records that tie with the true one, itself with them; 0: it has none
}
