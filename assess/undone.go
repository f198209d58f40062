package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// Undoing says how masks that need the whole column move its values between records: what a snooper who knows them can
// state of a record that he knows by its index, other than its released value.
type Undoing struct {
	// Ranked: values were exchanged with others of similar rank. The best linear estimate draws the released value towards
	// the mean: with the correlation ρ of original and released values, its expected square is (1 + ρ)/2 times that of the
	// released value.
	Ranked bool
	// Shuffled: given the columns that the shuffle goes by, the released value is independent of the original and has its
	// law. The mean of that law has half the expected square.
	Shuffled bool
	// Origins computes with the probabilities of all exchanges, if the column is masked by a rank swap alone.
	Origins Origins
}

// moves reports whether masks give the values of the whole column to other records.
func (u Undoing) moves() bool { return u.Ranked || u.Shuffled }

// Origins are the originals that a released value of a rank swap can have had. sorted are values in ascending order.
type Origins interface {
	// Undone returns the least expected squares that a snooper reaches: of the typical record, and of the record with each
	// value. ok is false if they are not known.
	Undone(sorted []float64) (typical float64, at []float64, ok bool)
	// Near reports whether Undone may know the squares for n values, of which sorted are a sample.
	Near(n int64, sorted []float64) bool
}

// undo lowers the expected square of a row known by index to what the snooper reaches who undoes moves of whole
// columns: of target i, or of the typical record (i = −1).
func (t *riskTable) undo(i int, row *Risk) {
	u := t.a.opts.Columns[t.of.column].Undoing
	if !u.moves() {
		return
	}
	square := 1 / float64(row.R)
	if !(square > 0) || math.IsInf(square, 1) {
		t.correlation = 1
		return
	}
	population, ρ, share := t.of.x.Cii/t.of.x.N, 0.0, 0.0
	if !u.Shuffled && population > 0 {
		ρ = max(0, 1-square/(2*population))
	}
	if i < 0 {
		t.correlation = ρ
		share = (1 + ρ) / 2
	} else {
		share = t.undoneTarget(i, u.Shuffled, t.correlation) / square
	}
	if share < 1 { // false if it is not known
		row.R, row.SE, row.RMSE = row.R/Float(share), row.SE/Float(share), row.RMSE*Float(math.Sqrt(share))
	}
	t.undoRanks(i, u.Origins, row)
}

// undoneTarget returns the mean square of the error of the better estimate for the i-th target, from the replicates;
// NaN without them.
func (t *riskTable) undoneTarget(i int, shuffled bool, ρ float64) float64 {
	f, n, sum, mean, squares := t.of.targets[i], 0.0, 0.0, 0.0, 0.0
	if f.record == nil {
		return math.NaN()
	}
	x := f.record.X
	for m := range t.of.answers {
		y := t.of.answers[m].Linked[i]
		if y != y {
			continue
		}
		d := x - t.of.x.Mi - ρ*(y-t.of.x.Mi)
		sum += d * d
		n++
		e := y - mean
		mean += e / n
		squares += e * (y - mean)
	}
	if shuffled && n > 1 {
		d := x - t.of.x.Mi // a shuffle keeps the mean of the column, which is an estimate too
		return min(d*d, max(0, (x-mean)*(x-mean)-squares/(n-1)/n))
	}
	return sum / n
}

// undoRanks is undo for a column that only a rank swap masks.
func (t *riskTable) undoRanks(i int, origins Origins, row *Risk) {
	if origins == nil || t.group != nil {
		return
	}
	sorted := slices.Sorted(slices.Values(cell.Present(t.data.Original(t.of.column))))
	if !t.data.Complete {
		if origins.Near(t.data.Records, sorted) {
			row.set(0, 0) // whether it can be undone depends on records that are not in the sample
			row.Approximate, row.Errs = true, ErrsSafe
		}
		return
	}
	typical, at, ok := origins.Undone(sorted)
	if !ok {
		return
	}
	square := typical
	if i >= 0 {
		f := t.of.targets[i]
		if f.record == nil {
			return
		}
		k, found := slices.BinarySearch(sorted, f.record.X)
		if !found {
			return
		}
		square = at[k]
	}
	if square < 1/float64(row.R) {
		row.set(square, 0)
		row.Approximate, row.Errs, row.Sampled = false, "", false
	}
}
