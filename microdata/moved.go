package microdata

import "slices"

// Moved describes the expected squared distance between released value y and original value x,
// for each record of a column whose values a mask moves between records. The expectation is
// over the draws of all masks, given the data:
//
//	E((x − y)² | y is there) = Stay · E(x − y(x))² + Square
//
// Here y(x) is the value of x after the masks that do not move values. Moved is empty if no
// mask moves the column's values. For rejected records and those without an original value,
// Weight and Total are 0 and the others NaN.
type Moved struct {
	Stay   []float64 // probability that the value is the record's own, given that y is there
	Square []float64 // the part of E(x − y)² that is not the record's own, given that y is there
	Noise  []float64 // variance of the estimate Square, 0 where it is exact
	Weight []float64 // probability that y is there
	Total  []float64 // Weight · E((x − y)² | y is there), for the mean over records

	// Weight · E((x − τ̂)² | y is there) of somebody who undoes the move: τ̂ is the released value of the
	// record that most probably holds x, or the mean of the released values by these probabilities.
	Likeliest, Mean []float64

	// Deviations are, by batch, the differences between independent estimates and their mean
	// Total. Their sums over records show the error of the sum of Total. Nil if Total is exact.
	Deviations [][]float32
}

// Displace gives Moved n elements of undefined content, from the column's own buffers;
// Deviations are nil.
func (c *Column) Displace(n int) *Moved {
	for _, to := range []*[]float64{&c.moved.Stay, &c.moved.Square, &c.moved.Noise, &c.moved.Weight, &c.moved.Total,
		&c.moved.Likeliest, &c.moved.Mean} {
		*to = slices.Grow((*to)[:0], n)[:n]
	}
	deviations := c.moved.Deviations
	c.Moved = c.moved
	c.Moved.Deviations = nil
	c.moved.Deviations = deviations
	return &c.Moved
}

// Deviate gives Moved this number of batches of deviations, all 0, from the column's own
// buffers.
func (c *Column) Deviate(batches int) {
	list := slices.Grow(c.moved.Deviations[:0], batches)[:batches]
	for k := range list {
		list[k] = slices.Grow(list[k][:0], len(c.Moved.Total))[:len(c.Moved.Total)]
		clear(list[k])
	}
	c.moved.Deviations, c.Moved.Deviations = list, list
}

func (m *Moved) part(from, n int) Moved {
	if m.Total == nil {
		return Moved{}
	}
	to := from + n
	p := Moved{
		Stay: m.Stay[from:to], Square: m.Square[from:to], Noise: m.Noise[from:to], Weight: m.Weight[from:to],
		Total:     m.Total[from:to],
		Likeliest: m.Likeliest[from:to], Mean: m.Mean[from:to],
	}
	for _, d := range m.Deviations {
		p.Deviations = append(p.Deviations, d[from:to])
	}
	return p
}
