package models

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Logistic is a multinomial logistic regression on predictors that are standardised to mean 0
// and variance 1; with two categories it is the usual logistic regression. The first category
// is the reference.
type Logistic struct {
	categories    []float64
	centre, scale []float64
	slopes        [][]float64 // by category but the first: the constant, then each predictor
}

// newtonSteps is the greatest number of steps of a fit. A fit takes about 5, or 15 if the
// predictors nearly separate the categories.
const newtonSteps = 60

// slopeWeight is the penalty of a slope of 1 on twice the log-likelihood: that of a normal
// prior with SD 10. With it, a maximum exists even if predictors separate the categories.
const slopeWeight = 0.01

// FitLogistic maximises the log-likelihood of the records' categories y minus
// slopeWeight/2·Σβ² over the slopes. The constants have no penalty, so the shares of the
// categories in the model are those of the data.
func FitLogistic(x []Predictor, y []float64, categories []float64, rows []int32, stop decision.Stop) *Logistic {
	p := len(x)
	m := &Logistic{categories: categories, centre: make([]float64, p), scale: make([]float64, p)}
	n := float64(len(rows))
	for k := range x {
		square := 0.0
		for _, r := range rows {
			m.centre[k] += x[k].At(r) / n
		}
		for _, r := range rows {
			d := x[k].At(r) - m.centre[k]
			square += float64(d*d) / n
		}
		if square > 0 {
			m.scale[k] = 1 / math.Sqrt(square)
		}
	}
	of := make([]int, len(rows))
	count := make([]float64, len(categories))
	for i, r := range rows {
		for c, v := range categories {
			if y[r] == v {
				of[i] = c
			}
		}
		count[of[i]]++
	}
	m.slopes = make([][]float64, len(categories)-1)
	for c := range m.slopes {
		m.slopes[c] = make([]float64, p+1)
		m.slopes[c][0] = math.Log(count[c+1] / count[0])
	}
	if p > 0 {
		m.climb(x, of, rows, stop)
	}
	for _, slopes := range m.slopes {
		for k, v := range slopes {
			// The last bits of an exponential differ between machines, and the release must not.
			slopes[k] = math.RoundToEven(v*1e9) / 1e9
		}
	}
	return m
}

// climb maximises the likelihood by Newton's method; each step is halved until it increases it.
func (m *Logistic) climb(x []Predictor, of []int, rows []int32, stop decision.Stop) {
	size := len(m.slopes) * (len(x) + 1)
	at, score, hessian := m.slope(x, of, rows, stop)
	for range newtonSteps {
		if stop.Now() {
			return
		}
		step := solvePositive(hessian, score)
		gain := 0.0
		for i := range step {
			gain += float64(step[i] * score[i])
		}
		if !(gain > 1e-12*float64(len(rows))) {
			return
		}
		from := make([]float64, 0, size)
		for _, slopes := range m.slopes {
			from = append(from, slopes...)
		}
		for share := 1.0; ; share /= 2 {
			for c, slopes := range m.slopes {
				for k := range slopes {
					i := c*len(slopes) + k
					slopes[k] = from[i] + float64(share*step[i])
				}
			}
			var now float64
			if now, score, hessian = m.slope(x, of, rows, stop); now >= at || share < 1e-9 || stop.Now() {
				at = now
				break
			}
		}
	}
}

// slope returns the penalised log-likelihood, its first derivatives, and the lower triangle of
// its negative second derivatives.
func (m *Logistic) slope(x []Predictor, of []int, rows []int32, stop decision.Stop) (at float64, score []float64,
	hessian [][]float64) {
	p := len(x) + 1
	size := len(m.slopes) * p
	score, hessian = make([]float64, size), make([][]float64, size)
	for i := range hessian {
		hessian[i] = make([]float64, i+1)
	}
	u, share := make([]float64, p), make([]float64, len(m.categories))
	for i, r := range rows {
		if stop.At(i) {
			break
		}
		m.Standard(u, x, r)
		m.Shares(share, u)
		at += math.Log(max(share[of[i]], math.SmallestNonzeroFloat64))
		for c := range m.slopes {
			e := -share[c+1]
			if of[i] == c+1 {
				e++
			}
			for k, v := range u {
				score[c*p+k] += float64(e * v)
			}
			for d := range c + 1 {
				w := -float64(share[c+1] * share[d+1])
				if c == d {
					w += share[c+1]
				}
				addSquare(hessian[c*p:(c+1)*p], d*p, w, u)
			}
		}
	}
	for c, slopes := range m.slopes {
		for k := 1; k < p; k++ {
			at -= slopeWeight / 2 * float64(slopes[k]*slopes[k])
			score[c*p+k] -= float64(slopeWeight * slopes[k])
			hessian[c*p+k][c*p+k] += slopeWeight
		}
	}
	return at, score, hessian
}

// addSquare adds w·u·uᵀ to the square block of the lower triangle that begins in column `at` of
// its rows.
func addSquare(rows [][]float64, at int, w float64, u []float64) {
	for k, v := range u {
		row, wv := rows[k][at:], float64(w*v)
		for j := range min(len(row), len(u)) {
			row[j] += float64(wv * u[j])
		}
	}
}

// Standard writes to u a 1 and the standardised predictors of record r; a missing one counts as
// its mean.
func (m *Logistic) Standard(u []float64, x []Predictor, r int32) {
	u[0] = 1
	for k := range x {
		if u[k+1] = 0; m.scale[k] > 0 {
			if v := x[k].At(r); v == v {
				u[k+1] = float64((v - m.centre[k]) * m.scale[k])
			}
		}
	}
}

// Shares writes the probability of each category.
func (m *Logistic) Shares(share, u []float64) {
	most := 0.0
	share[0] = 0
	for c, slopes := range m.slopes {
		s := 0.0
		for k, v := range u {
			s += float64(slopes[k] * v)
		}
		share[c+1] = s
		most = max(most, s)
	}
	total := 0.0
	for c, s := range share {
		share[c] = math.Exp(s - most)
		total += share[c]
	}
	for c := range share {
		share[c] /= total
	}
}

// solvePositive solves Ax = b for a positive definite matrix, given by its lower triangle,
// with Cholesky's factor. If rounding leaves a pivot that is not positive, its unknown is 0.
func solvePositive(a [][]float64, b []float64) []float64 {
	x := make([]float64, len(b))
	for i := range a {
		for k := range i + 1 {
			s := a[i][k]
			for j := range k {
				s -= float64(a[i][j] * a[k][j])
			}
			switch {
			case k < i && a[k][k] > 0:
				a[i][k] = s / a[k][k]
			case k < i:
				a[i][k] = 0
			case s > 0:
				a[i][i] = math.Sqrt(s)
			default:
				a[i][i] = 0
			}
		}
		s := b[i]
		for k := range i {
			s -= float64(a[i][k] * x[k])
		}
		if a[i][i] > 0 {
			x[i] = s / a[i][i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		s := x[i]
		for k := i + 1; k < len(b); k++ {
			s -= float64(a[k][i] * x[k])
		}
		if x[i] = 0; a[i][i] > 0 {
			x[i] = s / a[i][i]
		}
	}
	return x
}

// Free returns the mean probability that a record gets a category other than its own, divided by
// that probability for a draw from all records.
func (m *Logistic) Free(x []Predictor, y []float64, rows []int32) float64 {
	u, share := make([]float64, len(x)+1), make([]float64, len(m.categories))
	other, same := 0.0, make([]float64, len(m.categories))
	n := float64(len(rows))
	for _, r := range rows {
		m.Standard(u, x, r)
		m.Shares(share, u)
		for c, v := range m.categories {
			if y[r] == v {
				other += (1 - share[c]) / n
				same[c] += 1 / n
			}
		}
	}
	chance := 1.0
	for _, v := range same {
		chance -= float64(v * v)
	}
	return other / chance
}
