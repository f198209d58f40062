package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
)

// exchanged reports whether a mask moves values of a column between records.
func (r *reckoning) exchanged(c int) bool { return r.a.opts.Columns[c].Exchanged }

// typicalExchanged sets the risk of the typical record by index of a swapped column, and
// reports whether its expectation is known.
func (r *reckoning) typicalExchanged(c int, row *Risk) bool {
	x := r.exchange
	if x == nil {
		return false
	}
	var square, se float64
	var ok bool
	if name := r.a.opts.Columns[c].Name; r.group == nil {
		square, se, ok = x.Typical(name)
	} else {
		square, se, ok = x.Group(name, len(r.group.Rows), func(i int) (string, int, int64) {
			at := r.group.Rows[i]
			return r.data.From[at].Scope, int(r.data.From[at].Stream), r.data.Row[at]
		})
	}
	if ok {
		row.set(square, se*se)
		row.Sampled, row.Approximate, row.Errs = false, false, ""
	}
	return ok
}

// typicalReleased sets the risk of the typical record by index to that of the release, if its
// expectation is not known. The release's mean of (x−y)² is one draw. Exchanged records come in
// pairs with the same difference, so the variance of the mean is twice that of independent
// records, which is estimated from the sample.
func (r *reckoning) typicalReleased(c int, own float64, row *Risk) {
	if r.candidate {
		own = 0 // nothing was released
	}
	row.set(own, 2*varianceOfChange(r.data.Original(c), r.data.Released(c))/float64(r.a.columns[c].pairs))
	row.Approximate, row.Errs, row.Sampled = true, ErrsEither, true
}

// targetExchanged sets the risk by index of a target of a swapped column. If its expectation
// is not known, the record may have kept its value.
func (r *reckoning) targetExchanged(c int, f *located, row *Risk) {
	if x := r.exchange; x != nil {
		scope, stream, place := "", 0, int64(-1)
		if f.record != nil && f.record.From != nil && f.record.X == f.tau {
			scope, stream, place = f.record.From.Scope, int(f.record.From.Stream), f.record.Row
		}
		if square, se, ok := x.At(r.a.opts.Columns[c].Name, f.target.Name, f.tau, scope, stream, place); ok {
			row.set(square, se*se)
			row.Sampled, row.Approximate, row.Errs = false, false, ""
			return
		}
	} else if r.expected[c] == nil {
		return // keep the figure of the replicates of all masks
	}
	row.set(0, 0)
	row.Approximate, row.Errs = true, ErrsSafe
}

// set sets R and SE for a mean squared error and its variance.
func (row *Risk) set(square, noise float64) {
	row.R = Float(estimate.Risk(square))
	row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
	row.SE = Float(estimate.StandardError(float64(row.R), noise))
}
