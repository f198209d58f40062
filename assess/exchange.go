package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Exchange tells what swaps do to records known by their index: the expected square of
// x − y, over the pairing of partners and every other mask, and its standard error.
type Exchange interface {
	// Typical is the mean over all records.
	Typical(column string) (square, se float64, ok bool)
	// At is that of the record which holds a target, the original value tau. The record
	// is named by its place; row is −1 where only the target is known.
	At(column, target string, tau float64, scope string, stream int, row int64) (square, se float64, ok bool)
	// Group is the mean over n records, each named by its place.
	Group(column string, n int, record func(i int) (scope string, stream int, row int64)) (square, se float64, ok bool)
}

// SetExchange makes Measure ask x of records known by their index, and take replicates
// of the masks that move nothing, for what does not look at the record.
func (a *Accumulator) SetExchange(x Exchange, replicate func(m int) Masker) {
	a.opts.Exchange, a.opts.Replicate, a.opts.Mixes = x, replicate, false
}

// exchanged reports whether a mask moves values of a column between records.
func (r *reckoning) exchanged(c int) bool { return r.a.opts.Columns[c].Exchanged }

// typicalExchanged sets the risk of the typical record by index of a column that is
// swapped, and reports whether it is known what is expected.
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
		square, se, ok = x.Group(name, len(r.group.rows), func(i int) (string, int, int64) {
			at := r.group.rows[i]
			return r.data.from[at].scope, int(r.data.from[at].stream), r.data.row[at]
		})
	}
	if ok {
		row.set(square, se*se)
		row.Sampled, row.Approximate, row.Errs = false, false, ""
	}
	return ok
}

// typicalReleased sets it to that of the release, where nothing is known of what is
// expected. The release's mean of (x−y)² is one draw, and exchanged records come in
// pairs of the same difference, so that its variance is twice that of
// independent ones, as the sample shows it.
func (r *reckoning) typicalReleased(c int, own float64, row *Risk) {
	var n, mean, square float64
	y := r.data.released(c)
	for i, x := range r.data.original(c) {
		if d := x - y[i]; d == d {
			n++
			v := d*d - mean
			mean += v / n
			square += v * (d*d - mean)
		}
	}
	if r.tried {
		own = 0 // nothing was released
	}
	row.set(own, 2*square/(n-1)/n)
	row.Approximate, row.Errs, row.Sampled = true, ErrsEither, true
}

// targetExchanged sets the risk by index of a target of a column that is swapped. Where
// nothing tells what is expected, the record may have kept its value for all that is
// known.
func (r *reckoning) targetExchanged(c int, f *found, row *Risk) {
	if x := r.exchange; x != nil {
		scope, stream, place := "", 0, int64(-1)
		if f.record != nil && f.record.from != nil && f.record.x == f.tau {
			scope, stream, place = f.record.from.scope, int(f.record.from.stream), f.record.row
		}
		if square, se, ok := x.At(r.a.opts.Columns[c].Name, f.target.name, f.tau, scope, stream, place); ok {
			row.set(square, se*se)
			row.Sampled, row.Approximate, row.Errs = false, false, ""
			return
		}
	} else if r.expected[c] == nil {
		return // as replicates of all masks have it
	}
	row.set(0, 0)
	row.Approximate, row.Errs = true, ErrsSafe
}

// set makes R that of a mean squared error with its variance.
func (row *Risk) set(square, noise float64) {
	row.R = Float(riskOf(square))
	row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
	row.SE = Float(standardError(float64(row.R), noise))
}

// Replay shows the originals of all records again, in blocks of at most size, which
// follow one another within a stream: what masks that are tried are to look at. It
// returns false where the sample does not hold all records.
func (a *Accumulator) Replay(size int, show func(b *microdata.Block) error) (bool, error) {
	a.sample.settle()
	if int64(a.sample.len()) != a.records {
		return false, nil
	}
	r := a.reckon(true)
	p := &planner{opts: &a.opts, data: r.data}
	whole := p.whole()[0]
	var b microdata.Block
	scratch := make([]microdata.Bitmap, len(whole.values))
	for _, run := range whole.runs {
		for from := run.from; from < run.to; from += size {
			part := stretch{run.stream, from, min(from+size, run.to)}
			whole.present(&b, &a.opts, part, scratch)
			origin := r.data.from[from]
			b.Scope, b.Stream, b.Places = origin.scope, int(origin.stream), slices.Clone(r.data.row[part.from:part.to])
			b.First = b.Places[0]
			if err := show(&b); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}
