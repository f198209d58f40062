package tally

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Spectrum represents all original values of a column by atoms of ascending value, each
// of which represents a number of records. The values at both ends are single atoms. The
// others are those of the keyed sample, post-stratified on the counts of all records in
// narrow bins: the records of a bin are distributed among the sampled values in it. So a
// sum over the atoms is exact up to the variation of the function within a bin, and that
// error can be estimated from the sample (docs/methods.md §9).
type Spectrum struct {
	X       []float64
	N       []float64 // whole numbers
	stratum []int32   // −1 if the atom represents its own value only
	strata  int
	Total   float64
}

// perStratum is the desired average number of sampled values in a stratum, so that their
// spread can be estimated. Which bins a stratum has depends on their counts alone: if strata
// ended at sampled values, these would be too high in their strata.
const perStratum = 8

// ExactSpectrum returns the spectrum of sorted values that are all values of the column.
func ExactSpectrum(values []float64) *Spectrum {
	s := newSpectrum(len(values))
	s.exactly(values)
	return s
}

// newSpectrum returns an empty spectrum with room for a number of atoms.
func newSpectrum(room int) *Spectrum {
	return &Spectrum{X: make([]float64, 0, room), N: make([]float64, 0, room), stratum: make([]int32, 0, room)}
}

// exactly adds records of known values, which must be in ascending order.
func (s *Spectrum) exactly(values []float64) {
	for _, v := range values {
		s.exact(v)
	}
}

// exact adds a record of known value.
func (s *Spectrum) exact(v float64) {
	s.Total++
	if k := len(s.X) - 1; k >= 0 && s.X[k] == v && s.stratum[k] < 0 {
		s.N[k]++
		return
	}
	s.X, s.N, s.stratum = append(s.X, v), append(s.N, 1), append(s.stratum, -1)
}

// Spectrum returns the spectrum of the originals, with the values of a sample of them. If unit
// is above 0, all values are multiples of it.
func (c *Counts) Spectrum(sample []float64, unit float64) *Spectrum {
	least, most := c.least.sorted(), c.most.sorted()
	n := int(c.X.N)
	if n <= len(least)+len(most) {
		return ExactSpectrum(slices.Concat(least[:min(n, len(least))], most[len(most)-max(0, n-len(least)):]))
	}
	low, high := math.Inf(-1), math.Inf(1)
	taken := map[uint64]uint64{}
	for _, t := range [][]float64{least, most} {
		for _, v := range t {
			taken[BinCode(v)]++
		}
	}
	if len(least) > 0 {
		low, high = least[len(least)-1], most[0]
	}
	within := make([]float64, 0, len(sample))
	for _, v := range sample {
		if v >= low && v <= high {
			within = append(within, v)
		}
	}
	rank.Sort(within)

	s := newSpectrum(len(least) + len(within) + len(most))
	s.exactly(least)
	enough := perStratum * (c.X.N - uint64(len(least)+len(most))) / uint64(max(len(within), 1))
	var open stratum
	at := 0
	c.X.Each(func(b Bin) bool {
		from := at
		for at < len(within) && BinCode(within[at]) == b.Code {
			at++
		}
		count := b.Count - taken[b.Code]
		if count == 0 {
			return true
		}
		open.count += count
		open.values = append(open.values, within[from:at]...)
		open.middle += (b.lo/2 + b.hi/2 - open.middle) * float64(count) / float64(open.count)
		if open.count >= enough && len(open.values) > 1 {
			s.close(&open, unit)
		}
		return true
	})
	if open.count > 0 {
		s.close(&open, unit)
	}
	s.exactly(most)
	return s
}

// stratum is some neighbouring bins and the sampled values that lie in them.
type stratum struct {
	count  uint64
	values []float64
	middle float64 // mean of the bins' middles
}

// close distributes the records of a stratum among its values, as evenly as whole numbers
// allow.
func (s *Spectrum) close(o *stratum, unit float64) {
	if len(o.values) == 0 { // no value was sampled: the middle is known to within the width of the bins
		if unit > 0 {
			o.middle = math.Round(o.middle/unit) * unit
		}
		o.values = append(o.values, o.middle)
	}
	m := uint64(len(o.values))
	for i, v := range o.values {
		n := o.count*uint64(i+1)/m - o.count*uint64(i)/m
		s.X, s.N, s.stratum = append(s.X, v), append(s.N, float64(n)), append(s.stratum, int32(s.strata))
	}
	s.Total += float64(o.count)
	s.strata++
	o.count, o.values, o.middle = 0, o.values[:0], 0
}

// Sampled reports whether some atoms are values of a sample.
func (s *Spectrum) Sampled() bool { return s.strata > 0 }

// OrderStatistic returns the k-th smallest value of the atoms, k ≥ 1, the index of its atom, and
// whether it is exactly that of the data.
func (s *Spectrum) OrderStatistic(k int) (tau float64, at int, exact bool) {
	before := 0.0
	for i, n := range s.N {
		if before += n; before >= float64(k) {
			return s.X[i], i, s.stratum[i] < 0
		}
	}
	return math.NaN(), -1, false
}

// SampleVariance returns the variance, over the choice of the sample, of the sum of a function
// over all records; f returns its value at atom i.
func (s *Spectrum) SampleVariance(f func(i int) float64) float64 {
	sum := 0.0
	for i := 0; i < len(s.X); {
		if s.stratum[i] < 0 {
			i++
			continue
		}
		var m, mean, square, count float64
		j := i
		for ; j < len(s.X) && s.stratum[j] == s.stratum[i]; j++ {
			v := f(j)
			m++
			if d := v - mean; d != 0 { // most functions are constant over most strata
				mean += d / m
				square += d * (v - mean)
			}
			count += s.N[j]
		}
		if m > 1 {
			sum += count * max(0, count-m) * square / (m - 1) / m
		}
		i = j
	}
	return sum
}
