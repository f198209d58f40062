package models

import (
	"math"
	"runtime"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Deviation returns the standard deviation of values.
func Deviation(v []float64) float64 {
	mean := 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	square := 0.0
	for _, x := range v {
		square += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(square / float64(len(v)))
}

// Linear is a linear regression on columns standardised to mean 0 and variance 1.
type Linear struct {
	centre, scale []float64 // of the columns; scale is 0 for a constant column
	mean          float64   // of the response
	slopes        []float64
	Residuals     []float64 // of mean 0
}

// At returns the model's prediction for record r.
func (m *Linear) At(x []Predictor, r int32) float64 {
	y := m.mean
	for k, slope := range m.slopes {
		if v := x[k].At(r); v == v {
			y += float64(slope * float64((v-m.centre[k])*m.scale[k]))
		}
	}
	return y
}

// Regress fits y on columns by least squares, by the normal equations of standardised columns
// and Cholesky's factors; a column that those before it determine gets slope 0.
func Regress(x []Predictor, y []float64, rows []int32, stop decision.Stop) *Linear {
	n, p := float64(len(rows)), len(x)
	m := &Linear{centre: make([]float64, p), scale: make([]float64, p), slopes: make([]float64, p)}
	// Each sum is over the records in their order, whatever the number of cores.
	cores.Each(p+1, func(k int) {
		if k == p {
			for i, r := range rows {
				if stop.At(i) {
					return
				}
				m.mean += y[r] / n
			}
			return
		}
		m.centre[k], m.scale[k] = standardOf(x[k], rows, stop)
	})
	gram, with := make([][]float64, p), make([]float64, p)
	for k := range gram {
		gram[k] = make([]float64, k+1)
	}
	tasks := min(p, runtime.GOMAXPROCS(0))
	cores.Each(tasks, func(t int) { m.products(x, y, rows, gram, with, t, tasks, stop) })
	if stop.Now() {
		return m
	}
	m.solve(gram, with)
	m.Residuals = make([]float64, len(rows))
	cores.Parts(len(rows), 4*decision.Every, func(from, to int) {
		rows, residuals := rows[from:to], m.Residuals[from:to]
		m.Predict(x, rows, residuals, stop)
		for i, r := range rows {
			residuals[i] = y[r] - residuals[i]
		}
	})
	return m
}

// standardOf returns the mean of a column, and 1/SD; 0 for a constant one.
func standardOf(x Predictor, rows []int32, stop decision.Stop) (centre, scale float64) {
	n := float64(len(rows))
	for i, r := range rows {
		if stop.At(i) {
			return centre, 0
		}
		centre += x.At(r) / n
	}
	square := 0.0
	for _, r := range rows {
		d := x.At(r) - centre
		square += float64(d*d) / n
	}
	if square > 0 {
		scale = 1 / math.Sqrt(square)
	}
	return centre, scale
}

// products adds up the products of standardised columns with those before them, in gram, and with the response: of the
// columns from, from + every, … alone.
func (m *Linear) products(x []Predictor, y []float64, rows []int32, gram [][]float64, with []float64, from, every int,
	stop decision.Stop) {
	n, u := float64(len(rows)), make([]float64, len(x))
	last := from + (len(x)-1-from)/every*every
	for i, r := range rows {
		if stop.At(i) {
			return
		}
		for k := range u[:last+1] {
			u[k] = float64((x[k].At(r) - m.centre[k]) * m.scale[k])
		}
		for k := from; k < len(x); k += every {
			with[k] += float64(u[k]*(y[r]-m.mean)) / n
			for j := range gram[k] {
				gram[k][j] += float64(u[k]*u[j]) / n
			}
		}
	}
}

// solve finds the slopes of the normal equations, of which gram has the lower triangle.
func (m *Linear) solve(gram [][]float64, with []float64) {
	const none = 1e-10 // share of a column's variance not explained by those before it that counts as 0
	u := make([]float64, len(with))
	for i := range with {
		u[i] = with[i]
		for k := range i + 1 {
			s := gram[i][k]
			for j := range k {
				s -= float64(gram[i][j] * gram[k][j])
			}
			switch {
			case k == i && s <= none:
				gram[i][i] = 0
			case k == i:
				gram[i][i] = math.Sqrt(s)
			case gram[k][k] == 0:
				gram[i][k] = 0
			default:
				gram[i][k] = s / gram[k][k]
			}
		}
		for k := range i {
			u[i] -= float64(gram[i][k] * u[k])
		}
		if gram[i][i] > 0 {
			u[i] /= gram[i][i]
		} else {
			u[i] = 0
		}
	}
	for i := len(with) - 1; i >= 0; i-- {
		if gram[i][i] == 0 {
			continue
		}
		s := u[i]
		for k := i + 1; k < len(with); k++ {
			s -= float64(gram[k][i] * m.slopes[k])
		}
		m.slopes[i] = s / gram[i][i]
	}
}

// Predict writes the predictions for records, each as at has it.
func (m *Linear) Predict(x []Predictor, rows []int32, out []float64, stop decision.Stop) {
	for i := range rows {
		out[i] = m.mean
	}
	for k := 0; k < len(m.slopes); {
		if stop.Now() {
			return
		}
		if k+4 <= len(m.slopes) && !slices.ContainsFunc(x[k:k+4], func(x Predictor) bool { return x.Of != nil }) {
			m.addFour(k, x[k:k+4], rows, out)
			k += 4
			continue
		}
		centre, scale, slope := m.centre[k], m.scale[k], m.slopes[k]
		for i, r := range rows {
			if v := x[k].At(r); v == v {
				out[i] += float64(slope * float64((v-centre)*scale))
			}
		}
		k++
	}
}

// addFour adds to predictions the terms of predictors k to k + 3, columns of numbers, one after another.
func (m *Linear) addFour(k int, x []Predictor, rows []int32, out []float64) {
	a, b, c, d := x[0].Values, x[1].Values, x[2].Values, x[3].Values
	centre, scale, slope := [4]float64(m.centre[k:]), [4]float64(m.scale[k:]), [4]float64(m.slopes[k:])
	for i, r := range rows {
		y := out[i]
		if v := a[r]; v == v {
			y += float64(slope[0] * float64((v-centre[0])*scale[0]))
		}
		if v := b[r]; v == v {
			y += float64(slope[1] * float64((v-centre[1])*scale[1]))
		}
		if v := c[r]; v == v {
			y += float64(slope[2] * float64((v-centre[2])*scale[2]))
		}
		if v := d[r]; v == v {
			y += float64(slope[3] * float64((v-centre[3])*scale[3]))
		}
		out[i] = y
	}
}
