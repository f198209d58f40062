package assess

import (
	"math"
	"slices"
)

// spectrum stands for all original values of a column: atoms of ascending value, each
// of which stands for a number of records. The values at both ends are there one by
// one. The others are those of the keyed sample, post-stratified on the counts of all
// records in narrow bins: the records of a bin are shared out among the sampled
// values that lie in it. So what is summed over the atoms is exact but for what a
// function does within a bin, and that error can be told from the sample
// (docs/methods.md §9).
type spectrum struct {
	x       []float64
	n       []float64 // whole numbers
	stratum []int32   // −1 where the atom stands for its own value only
	strata  int
	total   float64
}

// perStratum is how many sampled values a stratum is to have on average, so that their
// spread can be told. Which bins it takes in depends on their counts alone: a stratum
// that closed at a sampled value would have its values too far up.
const perStratum = 8

// exactSpectrum is that of values which are all there, sorted.
func exactSpectrum(values []float64) *spectrum {
	s := new(spectrum)
	for _, v := range values {
		s.exact(v)
	}
	return s
}

// exact adds a record of known value.
func (s *spectrum) exact(v float64) {
	s.total++
	if k := len(s.x) - 1; k >= 0 && s.x[k] == v && s.stratum[k] < 0 {
		s.n[k]++
		return
	}
	s.x, s.n, s.stratum = append(s.x, v), append(s.n, 1), append(s.stratum, -1)
}

// spectrumOf builds the spectrum of a column from the counts of its values, those at
// either end, and those of the sample. All values are multiples of unit, where that is
// above 0.
func spectrumOf(counted *tally, lowest, highest *tail, sample []float64, unit float64) *spectrum {
	least, most := lowest.sorted(), highest.sorted()
	n := int(counted.n)
	if n <= len(least)+len(most) {
		return exactSpectrum(slices.Concat(least[:min(n, len(least))], most[len(most)-max(0, n-len(least)):]))
	}
	low, high := math.Inf(-1), math.Inf(1)
	taken := map[uint64]uint64{}
	for _, t := range [][]float64{least, most} {
		for _, v := range t {
			taken[math.Float64bits(v)>>binShift]++
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
	slices.Sort(within)

	s := exactSpectrum(least)
	enough := perStratum * (counted.n - uint64(len(least)+len(most))) / uint64(max(len(within), 1))
	var open stratum
	at := 0
	counted.each(func(b bin) bool {
		from := at
		for at < len(within) && math.Float64bits(within[at])>>binShift == b.code {
			at++
		}
		count := b.count - taken[b.code]
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
	for _, v := range most {
		s.exact(v)
	}
	return s
}

// stratum is some neighbouring bins and the sampled values that lie in them.
type stratum struct {
	count  uint64
	values []float64
	middle float64 // mean of the bins' middles
}

// close shares the records of a stratum out among its values, as evenly as whole
// numbers can be.
func (s *spectrum) close(o *stratum, unit float64) {
	if len(o.values) == 0 { // nothing was sampled near: its middle is known to the bin's width
		if unit > 0 {
			o.middle = math.Round(o.middle/unit) * unit
		}
		o.values = append(o.values, o.middle)
	}
	m := uint64(len(o.values))
	for i, v := range o.values {
		n := o.count*uint64(i+1)/m - o.count*uint64(i)/m
		s.x, s.n, s.stratum = append(s.x, v), append(s.n, float64(n)), append(s.stratum, int32(s.strata))
	}
	s.total += float64(o.count)
	s.strata++
	o.count, o.values, o.middle = 0, o.values[:0], 0
}

// sampled reports whether some atoms are values of a sample.
func (s *spectrum) sampled() bool { return s.strata > 0 }

// orderStatistic returns the k-th smallest value of the atoms, k ≥ 1, its index, and
// whether it is that of the data.
func (s *spectrum) orderStatistic(k int) (tau float64, at int, exact bool) {
	before := 0.0
	for i, n := range s.n {
		if before += n; before >= float64(k) {
			return s.x[i], i, s.stratum[i] < 0
		}
	}
	return math.NaN(), -1, false
}

// sampleVariance is the variance, over which records the sample drew, of the sum of a
// function over all records of which f gives the atoms' values.
func (s *spectrum) sampleVariance(f func(i int) float64) float64 {
	sum := 0.0
	for i := 0; i < len(s.x); {
		if s.stratum[i] < 0 {
			i++
			continue
		}
		var m, mean, square, count float64
		j := i
		for ; j < len(s.x) && s.stratum[j] == s.stratum[i]; j++ {
			v := f(j)
			m++
			d := v - mean
			mean += d / m
			square += d * (v - mean)
			count += s.n[j]
		}
		if m > 1 {
			sum += count * max(0, count-m) * square / (m - 1) / m
		}
		i = j
	}
	return sum
}
