package assess

import (
	"cmp"
	"math"
	"slices"
)

// Weighted is what a survey office computes with the sampling weights, before masking with the weights of the original
// and behind it with those of the release (which calibrate changes): docs/methods.md, Weights. It is of one release, as
// the realised U is.
type Weighted struct {
	Weight      string           `json:"weight" doc:"the column of sampling weights"`
	Records     int              `json:"records" doc:"records with a weight above 0 before and behind the masks"`
	Sampled     bool             `json:"sampled,omitempty" doc:"whether these are of the keyed sample; standard errors and U are those of all records all the same"`
	Columns     []WeightedColumn `json:"columns"`
	Correlation Correlation      `json:"correlation" doc:"weighted correlations, over records that have both columns"`
}

// WeightedColumn is the weighted measures of a column.
type WeightedColumn struct {
	Name     string          `json:"name"`
	Original WeightedMoments `json:"original"`
	Released WeightedMoments `json:"released"`
	// U = 1/(v(ȳ) + (ȳ − x̄)²) and U0 = 1/v(x̄), with the weighted means and their variances by linearisation.
	U          Float `json:"U" doc:"utility of this release for the weighted mean: 1/(v + (difference of the weighted means)²), with the variance v of the released weighted mean by linearisation"`
	U0         Float `json:"U0" doc:"that of the unmasked data"`
	Efficiency Float `json:"efficiency" doc:"U/U0"`
}

// WeightedMoments are the weighted moments of a column, and its percentiles: the least value at which the share of the
// weights is reached.
type WeightedMoments struct {
	N     int   `json:"n"`
	Sum   Float `json:"sum_of_weights" doc:"of the records with a value"`
	Total Float `json:"total" doc:"weighted sum"`
	Mean  Float `json:"mean"`
	SE    Float `json:"mean_se" doc:"standard error of the weighted mean, as drawn with replacement and without strata: √(n/(n−1) Σ(w(x − mean)/Σw)²)"`
	SD    Float `json:"sd" doc:"√(n/(n−1) Σw(x − mean)²/Σw)"`
	P10   Float `json:"p10"`
	P25   Float `json:"p25"`
	P50   Float `json:"p50"`
	P75   Float `json:"p75"`
	P90   Float `json:"p90"`
}

// mostCorrelated bounds the columns whose weighted correlations are computed.
const mostCorrelated = 40

// NewWeighted computes the measures of columns, NaN where there is no value, with the weights before and behind the
// masks. They are of a sample of records, all if it has as many as there are.
func NewWeighted(weight string, names []string, original, released [][]float64, before, after []float64,
	records int64) *Weighted {
	w := &Weighted{Weight: weight, Sampled: int64(len(before)) < records}
	share := 1.0
	if w.Sampled {
		share = float64(len(before)) / float64(records)
	}
	used := make([]bool, len(before))
	for i := range used {
		if used[i] = before[i] > 0 && after[i] > 0 && before[i]-before[i] == 0 && after[i]-after[i] == 0; used[i] {
			w.Records++
		}
	}
	for c, name := range names {
		w.Columns = append(w.Columns, weightedColumn(name, original[c], released[c], before, after, used, share))
	}
	if len(names) <= mostCorrelated {
		w.Correlation = Correlation{names, correlations(original, before, used), correlations(released, after, used)}
	}
	return w
}

func weightedColumn(name string, x, y, before, after []float64, used []bool, share float64) WeightedColumn {
	c := WeightedColumn{Name: name}
	var ofX, ofY weightedValues
	ofX.take(x, before, used)
	ofY.take(y, after, used)
	c.Original, c.Released = ofX.moments(share), ofY.moments(share)
	drift := float64(c.Released.Mean - c.Original.Mean)
	if math.Abs(drift) <= 1e-13*(math.Abs(float64(c.Original.Mean))+float64(c.Original.SD)) {
		drift = 0 // the rounding of sums
	}
	square := drift * drift
	if share < 1 {
		// The difference is of the sample: what it varies by, which records the sample holds, is taken off.
		square = max(0, square-(1-share)*differs(x, y, before, after, used, &ofX, &ofY))
	}
	c.U0 = Float(1 / (float64(c.Original.SE) * float64(c.Original.SE)))
	c.U = Float(1 / (float64(c.Released.SE)*float64(c.Released.SE) + square))
	switch c.Efficiency = c.U / c.U0; {
	case math.IsInf(float64(c.U0), 1) && math.IsInf(float64(c.U), 1):
		c.Efficiency = 1
	case math.IsInf(float64(c.U0), 1):
		c.Efficiency = 0
	}
	return c
}

// differs is the variance of the difference of both weighted means over samples, by linearisation.
func differs(x, y, before, after []float64, used []bool, ofX, ofY *weightedValues) float64 {
	n, sum := 0.0, 0.0
	meanX, meanY := ofX.mean(), ofY.mean()
	for i := range x {
		if !used[i] || x[i] != x[i] && y[i] != y[i] {
			continue
		}
		d := 0.0
		if y[i] == y[i] {
			d = after[i] * (y[i] - meanY) / ofY.sum
		}
		if x[i] == x[i] {
			d -= before[i] * (x[i] - meanX) / ofX.sum
		}
		n++
		sum += float64(d * d)
	}
	return n / (n - 1) * sum
}

// weightedValues are the values of a column that are there, with their weights.
type weightedValues struct {
	values, weights []float64
	sum, total      float64
}

func (v *weightedValues) take(values, weights []float64, used []bool) {
	for i, x := range values {
		if used[i] && x-x == 0 {
			v.values, v.weights = append(v.values, x), append(v.weights, weights[i])
			v.sum += weights[i]
			v.total += float64(weights[i] * x)
		}
	}
}

func (v *weightedValues) mean() float64 { return v.total / v.sum }

// moments are those of all records, of which the values are a share: sums are divided by it, and the variance of the
// mean is multiplied.
func (v *weightedValues) moments(share float64) WeightedMoments {
	n, mean := float64(len(v.values)), v.mean()
	squares, linear := 0.0, 0.0
	for i, x := range v.values {
		d := x - mean
		squares += float64(v.weights[i] * d * d)
		linear += float64(v.weights[i] * d * (v.weights[i] * d))
	}
	m := WeightedMoments{
		N: len(v.values), Sum: Float(v.sum / share), Total: Float(v.total / share), Mean: Float(mean),
		SE: Float(math.Sqrt(share*n/(n-1)*linear) / v.sum), SD: Float(math.Sqrt(n / (n - 1) * squares / v.sum)),
	}
	order := make([]int, len(v.values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(v.values[a], v.values[b]), cmp.Compare(a, b)) })
	for _, p := range []struct {
		share float64
		to    *Float
	}{{0.1, &m.P10}, {0.25, &m.P25}, {0.5, &m.P50}, {0.75, &m.P75}, {0.9, &m.P90}} {
		*p.to = Float(math.NaN())
		sum := 0.0
		for _, i := range order {
			sum += v.weights[i]
			*p.to = Float(v.values[i])
			if sum >= p.share*v.sum*(1-1e-12) {
				break
			}
		}
	}
	return m
}

// correlations are weighted, over the records that have both columns.
func correlations(columns [][]float64, weights []float64, used []bool) [][]Float {
	rows := make([][]Float, len(columns))
	for i := range rows {
		rows[i] = make([]Float, len(columns))
	}
	for i, x := range columns {
		for j, y := range columns[:i+1] {
			var sum, meanX, meanY, xx, yy, xy float64
			for k, w := range weights {
				if !used[k] || x[k]-x[k] != 0 || y[k]-y[k] != 0 {
					continue
				}
				sum += w
				dx, dy := x[k]-meanX, y[k]-meanY
				meanX += float64(w / sum * dx)
				meanY += float64(w / sum * dy)
				xx += float64(w * dx * (x[k] - meanX))
				yy += float64(w * dy * (y[k] - meanY))
				xy += float64(w * dx * (y[k] - meanY))
			}
			r := Float(max(-1, min(1, xy/math.Sqrt(xx*yy)))) // NaN of a constant column
			rows[i][j], rows[j][i] = r, r
		}
	}
	return rows
}
