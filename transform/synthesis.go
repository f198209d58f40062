package transform

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// synthesis is the arithmetic of Synthesise.
type synthesis struct {
	onCategories, categories []bool        // which columns on, and which to be drawn, are categories
	normal                   bool          // residuals are normal, and the mean is drawn
	leaf                     int           // by trees with so many records a leaf; 0: by regressions
	heldOut                  float64       // share of the records that are not learnt from
	key                      keystream.Key // that says which
	held                     []bool        // by record; nil: none
	ordered                  bool          // by identity: the order of the records is of no matter
	fits                     *allFits
	of                       [sha256.Size]byte // the data, and who is held out
}

// most implements allMasker: beside each value there are two words, a residual and what the
// value becomes.
func (*synthesis) most() int { return maxCells / 8 }

// leastResiduals is how many records a model needs beyond its coefficients.
const leastResiduals = 10

func (s *synthesis) maskAll(g *gathered) *SurveyError {
	if err := g.checkColumns("columns"); err != nil {
		return err
	}
	if slices.Contains(s.categories, true) && s.leaf == 0 {
		s.of = g.sum()
	}
	if s.held = g.heldOut(s.key, s.heldOut); s.held != nil {
		s.of = sumWith(s.of, s.held)
	}
	defer func() { s.held = nil }()
	original := make([][]float64, len(g.values))
	for k, values := range g.values {
		original[k] = slices.Clone(values)
	}
	for _, rows := range g.rowsByStratum() {
		if s.ordered {
			g.inOrder(rows)
		}
		for k := range g.values {
			if g.stop.now() {
				return nil
			}
			if err := s.column(g, original, rows, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// column draws column k of the records of a stratum. A record without a value keeps
// none. The model is fitted to the original values of records that have all of on, the columns
// before k and k, without those that are held out; it is applied to on and to what the columns
// before have become. A value that is missing there counts as the mean.
func (s *synthesis) column(g *gathered, original [][]float64, rows []int32, k int) *SurveyError {
	learnt := learntFrom(rows, s.held)
	before, now, on, err := s.predictors(g, original, learnt, k)
	if err != nil {
		return err
	}
	at := fmt.Sprintf("columns[%d]", k)
	name := strconv.Quote(g.columns[k].Name)

	if !slices.ContainsFunc(rows, func(r int32) bool { return original[k][r] == original[k][r] }) {
		return nil
	}
	fitted := completeOf(learnt, original[k], before)
	if s.leaf > 0 {
		return s.drawFromTree(g, original, rows, fitted, k, before, now)
	}
	if s.categories[k] {
		return s.drawCategories(g, original, rows, fitted, k, before, now, on)
	}
	if need := len(before) + 1 + leastResiduals; len(fitted) < need {
		return tooFewFor(at, name, need, len(fitted))
	}
	model := regress(before, original[k], fitted, g.stop)
	spread := deviation(model.residuals)
	total := make([]float64, len(fitted))
	for i, r := range fitted {
		total[i] = original[k][r]
	}
	// What on alone determines would leave as it is, and so would what does not vary.
	free := deviation(regress(before[:on], original[k], fitted, g.stop).residuals)
	if g.stop.now() {
		return nil
	}
	if sd := deviation(total); !(free > 1e-6*sd) || oneValue(original[k], fitted) {
		return determined(at, name)
	}
	// The posterior of the mean with a flat prior, in SDs of the residuals: one draw for all of the stratum,
	// by the word of its first record that would choose a residual.
	shift := normalOf(g.words[2*k][rows[0]]) / math.Sqrt(float64(len(fitted)))
	width := bandwidth(len(fitted))
	shrink := 1 / math.Sqrt(1+float64(width*width))
	for i, r := range rows {
		if g.stop.at(i) {
			return nil
		}
		if y := original[k][r]; y != y {
			continue
		}
		z := normalOf(g.words[2*k+1][r])
		if s.normal {
			g.values[k][r] = model.at(now, r) + float64(spread*(shift+z))
			continue
		}
		e := model.residuals[below(g.words[2*k][r], int64(len(model.residuals)))]
		g.values[k][r] = model.at(now, r) + float64((e+float64(float64(width*spread)*z))*shrink)
	}
	return nil
}

// completeOf are those of rows that have the value to be explained and all values that explain it.
func completeOf(rows []int32, explained []float64, by []predictor) (complete []int32) {
	for _, r := range rows {
		if y := explained[r]; y == y && !slices.ContainsFunc(by, func(x predictor) bool { return x.at(r) != x.at(r) }) {
			complete = append(complete, r)
		}
	}
	return complete
}

// normalOf is a standard normal draw by a word.
func normalOf(word uint64) float64 {
	return keystream.NormalQuantile((float64(word>>12) + 0.5) / (1 << 52))
}

func tooFewFor(at, name string, need, got int) *SurveyError {
	return &SurveyError{Path: at, Text: fmt.Sprintf("must have at least %d records, in each stratum, with values in it, in those before it and in on: %s has %d; "+
		"name fewer columns in by or on, or leave it out", need, name, got)}
}

// oneValue reports whether records have one value alone, which rounding in a mean would hide.
func oneValue(values []float64, rows []int32) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r int32) bool { return values[r] != values[rows[0]] })
}

func determined(at, name string) *SurveyError {
	return &SurveyError{Path: at, Text: fmt.Sprintf("must not be determined by on, nor be one value alone in a stratum, or one category alone of as many records as a leaf has (5 by regressions): %s would leave as it is; leave it out, or name other columns in on or by", name)}
}

// bandwidth is that of Silverman's rule for n values, in their standard deviations.
func bandwidth(n int) float64 {
	// n^(−1/5) by its logarithm in six digits: the last bits of a power differ between machines.
	return math.RoundToEven(0.9*math.Pow(float64(n), -0.2)*1e6) / 1e6
}

// deviation is the standard deviation of values of mean 0 or any other.
func deviation(v []float64) float64 {
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

// linear is a regression on columns taken to mean 0 and variance 1.
type linear struct {
	centre, scale []float64 // of the columns; scale 0: of one value alone
	mean          float64   // of the response
	slopes        []float64
	residuals     []float64 // of mean 0
}

// at is what the model says of record r.
func (m *linear) at(x []predictor, r int32) float64 {
	y := m.mean
	for k, slope := range m.slopes {
		if v := x[k].at(r); v == v {
			y += float64(slope * float64((v-m.centre[k])*m.scale[k]))
		}
	}
	return y
}

// regress fits y on columns by least squares, by the normal equations of standardised columns
// and Cholesky's factors; a column that those before it determine gets slope 0.
func regress(x []predictor, y []float64, rows []int32, stop stopper) *linear {
	n, p := float64(len(rows)), len(x)
	m := &linear{centre: make([]float64, p), scale: make([]float64, p), slopes: make([]float64, p)}
	for i, r := range rows {
		if stop.at(i) {
			return m
		}
		m.mean += y[r] / n
		for k := range x {
			m.centre[k] += x[k].at(r) / n
		}
	}
	for k := range x {
		square := 0.0
		for _, r := range rows {
			d := x[k].at(r) - m.centre[k]
			square += float64(d*d) / n
		}
		if square > 0 {
			m.scale[k] = 1 / math.Sqrt(square)
		}
	}
	gram, with, u := make([][]float64, p), make([]float64, p), make([]float64, p)
	for k := range gram {
		gram[k] = make([]float64, p)
	}
	for i, r := range rows {
		if stop.at(i) {
			return m
		}
		for k := range x {
			u[k] = float64((x[k].at(r) - m.centre[k]) * m.scale[k])
			with[k] += float64(u[k]*(y[r]-m.mean)) / n
			for j := range k + 1 {
				gram[k][j] += float64(u[k]*u[j]) / n
			}
		}
	}
	m.solve(gram, with)
	for i, r := range rows {
		if stop.at(i) {
			break
		}
		m.residuals = append(m.residuals, y[r]-m.at(x, r))
	}
	return m
}

// solve finds the slopes of the normal equations, of which gram has the lower triangle.
func (m *linear) solve(gram [][]float64, with []float64) {
	const none = 1e-10 // of a column's variance beyond what those before it say
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
