package assess

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Keeping says how many values of a column leave as they are by the law of its masks:
// Share is the probability that an original value does, Most the greatest share of
// a column that the law explains.
type Keeping struct {
	Share func(x float64) float64
	Most  float64
}

// unchangedLevel is the probability with which a release that follows the law of
// its masks is nevertheless said to leave more values than it explains.
const unchangedLevel = 1e-6

// unchangedIn counts the pairs of a block whose released value is the original.
// Values that are null, not finite or of rejected records are no pairs.
func unchangedIn(x, y microdata.Vector, keep microdata.Bitmap) (n int64) {
	for from := 0; from < len(x.Values); from += run {
		to := min(len(x.Values), from+run)
		xs, ys := x.Values[from:to], y.Values[from:to]
		ys = ys[:len(xs)]
		same := 0
		for i, v := range xs {
			if v == ys[i] {
				same++
			}
		}
		// Most runs have no such value, and need no look at what may be missing.
		if same == 0 {
			continue
		}
		for i, v := range xs {
			row := from + i
			if v == ys[i] && finite(v) && keep.Has(row) && x.Valid.Has(row) && y.Valid.Has(row) {
				n++
			}
		}
	}
	return n
}

// unchanged puts into m how many released values of column c are the original and
// how many the law of its masks explains.
func (r *reckoning) unchanged(c int, m *ColumnMeasures) {
	s := &r.a.columns[c]
	if !m.Masked || r.tried {
		return
	}
	count := s.unchanged
	m.Unchanged = &count
	if r.a.opts.Keeping == nil {
		return
	}
	x := withValue(r.data.original(c))
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
	n := float64(s.pairs)
	explained := Float(n * mean)
	m.UnchangedExplained = &explained
	// The count strays about n·mean as independent draws do, and the mean over a
	// sample strays too.
	variance := n * mean * (1 - mean)
	if !r.data.complete {
		variance += n * n * spread / k
	}
	m.UnchangedExcess = float64(count) > n*mean && exceeds(float64(count), n*mean, variance)
}

// exceeds reports whether a count of the given mean and variance is so great with
// a probability of at most unchangedLevel: Bernstein's inequality,
// P(K − μ ≥ t) ≤ exp(−t²/(2(v + t/3))), which holds for sums of independent
// indicators of any size; where the law explains nothing, one is too many.
func exceeds(count, mean, variance float64) bool {
	t := count - mean
	if mean == 0 {
		return t > 0
	}
	return t*t/(2*(variance+t/3)) > -math.Log(unchangedLevel)
}

// unchangedShare of the pairs, NaN where there are none or they were not counted.
func (c *ColumnMeasures) unchangedShare() float64 {
	if c.Unchanged == nil {
		return math.NaN()
	}
	return float64(*c.Unchanged) / float64(c.pairs())
}

// pairs is the number of records with an original and a released value.
func (c *ColumnMeasures) pairs() int64 { return min(c.Original.N, c.Released.N) }

// tooFew reports whether more values leave as they are than the law explains, and
// than the steward has allowed.
func (c *ColumnMeasures) tooManyUnchanged(allowed *float64) bool {
	if !c.UnchangedExcess {
		return false
	}
	return allowed == nil || !(c.unchangedShare() <= *allowed)
}

// UnchangedWarning says in words that more values of a column leave as they are
// than its masks explain; "" where that is not so.
func (c *ColumnMeasures) UnchangedWarning() string {
	if !c.UnchangedExcess {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d released values are the original; the law of the masks explains %s",
		c.Name, *c.Unchanged, c.pairs(), number(math.Round(float64(*c.UnchangedExplained))))
}

// checkUnchanged checks the limit on values that stay; it returns how many limits
// there are.
func (r Rule) checkUnchanged(ps *check.Problems) (given int) {
	if r.MaxUnchanged == nil {
		return 0
	}
	ps.Between("max_unchanged", *r.MaxUnchanged, 0, 1)
	if r.Target != "" {
		ps.Addf("target", "must be left out with max_unchanged, which has no target")
	}
	if r.Knowledge != "" {
		ps.Addf("knowledge", "must be left out with max_unchanged, which has no knowledge state")
	}
	return 1
}

const unchangedAdvice = "the masks must move values by more than a step of the column: a greater sd, no rounding behind the noise, values within the precision of their type; or allow it (gate.allow_unchanged, or a rule max_unchanged)"

// judgeUnchanged holds the share of values that stay against a rule.
func (r Rule) judgeUnchanged(c *ColumnMeasures) RuleVerdict {
	v := RuleVerdict{Column: r.Column, Measure: "max_unchanged", Limit: Float(*r.MaxUnchanged), Found: Float(math.NaN()),
		Rule: fmt.Sprintf("%s: share of released values equal to the original at most %s", r.Column, number(*r.MaxUnchanged))}
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	switch {
	case !c.Masked && c.Original.N > 0:
		v.Found = 1 // no mask touches it
	case c.Unchanged != nil && c.pairs() == 0, c.Original.N == 0:
		v.Found = 0 // there is nothing to give away
	default:
		v.Found = Float(c.unchangedShare())
	}
	if v.Passed = float64(v.Found) <= *r.MaxUnchanged; !v.Passed {
		v.Advice = unchangedAdvice
	}
	return v
}

// judgeLaws demands, of every masked column of which no rule says how many values
// may stay, that no more do than the law of its masks explains.
func judgeLaws(rules []Rule, m *Measures) (broken []RuleVerdict) {
	for i := range m.Columns {
		c := &m.Columns[i]
		judged := false
		for _, r := range rules {
			judged = judged || r.MaxUnchanged != nil && r.Column == c.Name
		}
		if judged || !c.tooManyUnchanged(m.AllowUnchanged) {
			continue
		}
		limit := float64(*c.UnchangedExplained) / float64(c.pairs())
		if m.AllowUnchanged != nil {
			limit = max(limit, *m.AllowUnchanged)
		}
		broken = append(broken, RuleVerdict{Column: c.Name, Measure: "max_unchanged", Limit: Float(limit), Found: Float(c.unchangedShare()),
			Rule: c.Name + ": no more released values equal to the original than the masks explain", Advice: unchangedAdvice})
	}
	return broken
}
