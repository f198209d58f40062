package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// unchangedLevel is the greatest probability with which a release that follows the law of
// its masks is reported to have more unchanged values than the law explains.
const unchangedLevel = 1e-6

// unchanged sets in m how many released values of column c equal the original, and
// how many of them the law of its masks explains.
func (r *reckoning) unchanged(c int, m *ColumnMeasures) {
	s := &r.a.columns[c]
	if !m.Masked || r.candidate {
		return
	}
	count := s.unchanged
	m.Unchanged = &count
	if r.a.opts.Keeping == nil {
		return
	}
	x := cell.Present(r.data.Original(c))
	law := r.a.opts.Keeping(m.Name, math.Hypot(float64(m.Original.Mean), float64(m.Original.SD)))
	var mean, square float64
	for _, v := range x {
		p := law.Share(v)
		mean += p
		square += p * p
	}
	k := max(float64(len(x)), 1)
	mean, square = mean/k, square/k
	spread := max(0, square-mean*mean)
	mean = min(mean, law.Most)
	if law.Changes && count == s.pairs {
		mean, spread = 0, 0
	}
	n := float64(s.pairs)
	explained := Float(n * mean)
	m.UnchangedExplained = &explained
	// The count varies about n·mean like a sum of independent draws; the mean over a sample
	// varies too.
	variance := n * mean * (1 - mean)
	if !r.data.Complete {
		variance += n * n * spread / k
	}
	m.UnchangedExcess = float64(count) > n*mean && exceeds(float64(count), n*mean, variance)
}

// exceeds reports whether a count with the given mean and variance would be as great as this
// with a probability of at most unchangedLevel. It uses Bernstein's inequality,
// P(K − μ ≥ t) ≤ exp(−t²/(2(v + t/3))), which holds for sums of any number of independent
// indicators. If the law explains no unchanged value, one is too many.
func exceeds(count, mean, variance float64) bool {
	t := count - mean
	if mean == 0 {
		return t > 0
	}
	return t*t/(2*(variance+t/3)) > -math.Log(unchangedLevel)
}
