package joint

import (
	"math"
	"slices"
)

// A small tree finds what a linear estimator leaves: values that a mask clips, noise that depends on
// the value, curved relations. It is fitted to what is left on four fifths of the records and judged
// on the others, five times.
const (
	folds     = 5
	depth     = 3
	cuts      = 16
	treeRows  = 10_000
	leafRows  = 20
	mostSplit = 64 // features that a tree may split by
)

// grow returns the share of the linear estimator's mean squared error that a tree removes; 0 if that is
// not beyond chance.
func (s *sought) grow() float64 {
	var places []int
	for k := range s.rows {
		places = append(places, k)
	}
	places = thinned(places, treeRows)
	if len(places) < 10*leafRows || !(dot(s.left, s.left) > 1e-18*s.total) {
		return 0
	}
	t := s.forest(places)
	var gains []float64
	before := 0.0
	for fold := range folds {
		var fit, hold []int
		for at := range places {
			if int(uint32(at)*2654435761>>16)%folds == fold {
				hold = append(hold, at)
			} else {
				fit = append(fit, at)
			}
		}
		root := t.split(fit, depth)
		for _, at := range hold {
			e := t.left[at]
			d := e - root.of(t, at)
			gains = append(gains, e*e-d*d)
			before += e * e
		}
	}
	n, mean, q := 0.0, 0.0, 0.0
	for _, g := range gains {
		n++
		d := g - mean
		mean += d / n
		q += d * (g - mean)
	}
	gain := mean * n / before
	if !(mean > 3*math.Sqrt(q/n/n)) || gain < 0.01 {
		return 0
	}
	return min(gain, 1)
}

// forest is the data of trees: by feature the number of the interval of each place.
type forest struct {
	left []float64
	bins [][]uint8
}

func (s *sought) forest(places []int) *forest {
	t := &forest{left: make([]float64, len(places))}
	for at, k := range places {
		t.left[at] = s.left[k]
	}
	for j := range s.features[:min(len(s.features), mostSplit)] {
		values := make([]float64, len(places))
		for at, k := range places {
			values[at] = s.features[j].values[s.rows[k]]
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		var bounds []float64
		for c := 1; c < cuts; c++ {
			if v := sorted[c*len(sorted)/cuts]; v > sorted[0] && (len(bounds) == 0 || v > bounds[len(bounds)-1]) {
				bounds = append(bounds, v)
			}
		}
		if len(bounds) == 0 && sorted[len(sorted)-1] > sorted[0] {
			bounds = append(bounds, sorted[len(sorted)-1]) // a rare level
		}
		if len(bounds) == 0 {
			continue
		}
		bins := make([]uint8, len(places))
		for at, v := range values {
			b, exact := slices.BinarySearch(bounds, v)
			if exact {
				b++
			}
			bins[at] = uint8(b)
		}
		t.bins = append(t.bins, bins)
	}
	return t
}

type node struct {
	mean      float64
	feature   int
	bin       uint8 // the greatest of the lower side
	low, high *node
}

func (n *node) of(t *forest, at int) float64 {
	for n.low != nil {
		if t.bins[n.feature][at] <= n.bin {
			n = n.low
		} else {
			n = n.high
		}
	}
	return n.mean
}

// split grows a tree on places.
func (t *forest) split(places []int, depth int) *node {
	n := &node{}
	sum := 0.0
	for _, at := range places {
		sum += t.left[at]
	}
	all := float64(len(places))
	n.mean = sum / max(all, 1)
	if depth == 0 || len(places) < 2*leafRows {
		return n
	}
	best := 0.0
	for f, bins := range t.bins {
		var sums, counts [cuts + 1]float64
		for _, at := range places {
			sums[bins[at]] += t.left[at]
			counts[bins[at]]++
		}
		low, few := 0.0, 0.0
		for b := range cuts {
			low, few = low+sums[b], few+counts[b]
			if few < leafRows || all-few < leafRows {
				continue
			}
			if gain := low*low/few + (sum-low)*(sum-low)/(all-few) - sum*sum/all; gain > best {
				best, n.feature, n.bin = gain, f, uint8(b)
			}
		}
	}
	if best == 0 {
		return n
	}
	var low, high []int
	for _, at := range places {
		if t.bins[n.feature][at] <= n.bin {
			low = append(low, at)
		} else {
			high = append(high, at)
		}
	}
	n.low, n.high = t.split(low, depth-1), t.split(high, depth-1)
	return n
}
