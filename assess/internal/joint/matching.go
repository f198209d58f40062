package joint

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// matching is the law of what moved given what stayed.
type matching struct {
	f         *Frame
	e         Exchange
	originals [][]float64 // by column
	couples   bool
	dims      int

	stay     float64          // probability that a record has kept its values
	counted  bool             // whether it was counted
	moved    [parts][]float64 // released values as independent numbers of variance 1, by the law of each part, by row
	expected []float64        // what stayed makes expect of them, by the law of the row's part, by row
	any      [parts][]float64 // the logarithm of the density of any record's values, by the law of each part and row
	known    []float64        // original below, by row
	mixed    []float64        // the logarithm of the likelihood ratio of what a record has, if it may have kept it, by row
	holders  map[uint64]int32
	others   []float64 // what having the other's values adds, of the couples of which both are in the sample

	byRank *byRank // nil: values have not moved by their ranks
	seldom float64 // the logarithm of the share of the records that the sample is

	logs []float64 // of the records that are compared, and which they are
	near []int32
}

// scales are what is made of a column's numbers before a normal law is fitted. Each takes the values that it has.
var scales = []func(values []float64) func(v float64) float64{
	func([]float64) func(float64) float64 { return func(v float64) float64 { return v } },
	func(values []float64) func(float64) float64 {
		if len(values) > 0 && slices.Min(values) > 0 {
			return math.Log
		}
		return func(v float64) float64 { return v }
	},
	func(values []float64) func(float64) float64 {
		sorted := slices.Sorted(slices.Values(values))
		return func(v float64) float64 {
			from, _ := slices.BinarySearch(sorted, v)
			to, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
			return distuv.UnitNormal.Quantile((float64(from+to)/2 + 0.5) / float64(len(sorted)+1))
		}
	},
}

// numbersOf are values as they are scaled: centred, and 0 where there is none.
func numbersOf(values []float64, scaled func(v float64) float64) []float64 {
	out := make([]float64, len(values))
	sum, n := 0.0, 0.0
	for i, v := range values {
		if out[i] = math.NaN(); v < cell.Categories {
			if out[i] = scaled(v); out[i]-out[i] == 0 {
				sum, n = sum+out[i], n+1
			}
		}
	}
	for i, v := range out {
		if out[i] = v - sum/n; v-v != 0 {
			out[i] = 0
		}
	}
	return out
}

// matching fits the laws; nil if there is nothing to fit.
func (f *Frame) matching(e Exchange, originals [][]float64,
	scaled func(values []float64) func(float64) float64) *matching {
	m := &matching{f: f, e: e, originals: originals, couples: e.Couples}
	var x, y [][]float64 // by number, of the originals and as released
	for _, column := range e.Moved {
		if originals[column] == nil || len(x) == mostMoved {
			continue
		}
		present := cell.Present(originals[column][:f.rows])
		if len(present) < 2*leastModel {
			continue
		}
		to := scaled(present)
		x, y = append(x, numbersOf(originals[column], to)), append(y, numbersOf(f.columns[column].Values, to))
	}
	stayed := m.stayed(x, scaled)
	if m.dims = len(x); m.dims == 0 || len(stayed) == 0 || !m.fit(x, y, stayed) {
		return nil
	}
	m.count()
	if e.Ranks {
		if m.byRank = m.ranked(); m.byRank == nil {
			return nil
		}
		if !f.complete {
			m.seldom = math.Log(cmp.Or(f.Share, 1))
		}
	}
	return m
}

// stayed are the features of what stayed that tell most of what moved, each beside those before it: what is left of a
// sum tells nothing of a part by itself, and much beside the sum.
func (m *matching) stayed(x [][]float64, scaled func(values []float64) func(float64) float64) (list [][]float64) {
	var all [][]float64
	for _, feature := range m.f.features {
		if slices.Contains(m.e.Moved, feature.column) {
			continue
		}
		values := feature.values
		if feature.whole {
			values = numbersOf(values, scaled(cell.Present(values[:m.f.rows])))
		}
		all = append(all, numbersOf(values, func(v float64) float64 { return v }))
	}
	most := min(len(all), mostStayed, m.f.rows/2/leastModel)
	rows := m.f.some(max(leastChosen, min(mostModel, chooseWork/max(1, len(all)*(len(x)+1)*most))))
	at := func(of [][]float64) [][]float64 {
		out := make([][]float64, len(of))
		for k := range of {
			for _, i := range rows {
				if i < m.f.rows {
					out[k] = append(out[k], of[k][i])
				}
			}
		}
		return out
	}
	for _, j := range forward(at(x), at(all), most) {
		list = append(list, all[j])
	}
	return list
}

// forward returns up to most features in the order in which each tells most of what those before it leave of one of x,
// by Gram-Schmidt; after the first those alone that tell more than two standard errors of chance do.
func forward(x, z [][]float64, most int) (chosen []int) {
	size := make([]float64, len(z))
	for j := range z {
		size[j] = dot(z[j], z[j])
	}
	for len(chosen) < most {
		best, tells := -1, 0.0
		for j := range z {
			zz := dot(z[j], z[j])
			if slices.Contains(chosen, j) || zz <= 1e-9*size[j] {
				continue
			}
			for k := range x {
				if c, xx := dot(z[j], x[k]), dot(x[k], x[k]); xx > 0 && c*c/zz/xx > tells {
					best, tells = j, c*c/zz/xx
				}
			}
		}
		if best < 0 || len(chosen) > 0 && tells*float64(len(z[best])) < 4 {
			break
		}
		chosen = append(chosen, best)
		q := slices.Clone(z[best])
		length := math.Sqrt(dot(q, q))
		for i := range q {
			q[i] /= length
		}
		for _, of := range [2][][]float64{x, z} {
			for k := range of {
				reduced(of[k], q, q, dot(q, of[k]))
			}
		}
	}
	return chosen
}

// parts is the number of parts of the rows: each goes by the law of the others, since a law that is fitted to a record
// knows it again.
const parts = 5

// fit fits the law of each part of the rows and applies it to all.
func (m *matching) fit(x, y, stayed [][]float64) bool {
	n, d, p := m.f.all, m.dims, len(stayed)+1
	at := mat.NewDense(n, p, nil) // what stayed
	for i := range n {
		at.Set(i, 0, 1)
		for k, of := range stayed {
			at.Set(i, k+1, of[i])
		}
	}
	matrix := func(of [][]float64) *mat.Dense {
		out := mat.NewDense(n, d, nil)
		for k := range of {
			out.SetCol(k, of[k])
		}
		return out
	}
	originals, released := matrix(x), matrix(y)
	m.expected, m.known = make([]float64, n*d), make([]float64, n)
	added := m.added(x, y)
	for part := range parts {
		var rows []int
		for i := range m.f.rows {
			if m.part(i) != part {
				rows = append(rows, i)
			}
		}
		law, whole, ok := lawOf(at, originals, thinned(rows, mostModel), added)
		if !ok {
			return false
		}
		m.moved[part] = whitened(released, law.spread)
		var expected mat.Dense
		expected.Mul(at, law.slopes)
		all, own := whitened(&expected, law.spread), whitened(originals, law.spread)
		m.any[part] = densities(released, law, whole)
		known := densities(originals, law, whole)
		for i := range n {
			if from, to := i*d, (i+1)*d; m.part(i) == part {
				copy(m.expected[from:to], all[from:])
				m.known[i] = gap(own[from:to], all[from:to]) - known[i]
			}
		}
	}
	return true
}

// part is that whose law a row goes by.
func (m *matching) part(row int) int { return row % parts }

// law is a normal law of several numbers given others.
type law struct {
	slopes *mat.Dense
	spread *mat.Cholesky
}

// densities are the logarithms of the density of any record's numbers, by row, as multiples of that given what stayed.
func densities(of *mat.Dense, given, whole law) []float64 {
	n, d := of.Dims()
	numbers, scale := whitened(of, whole.spread), (whole.spread.LogDet()-given.spread.LogDet())/2
	out, none := make([]float64, n), make([]float64, d)
	for i := range out {
		out[i] = gap(numbers[i*d:(i+1)*d], none) - scale
	}
	return out
}

// added is what further masks add to the variance of each released value. All records have the values of all. In a
// sample it may be chance: of values that came from afar that is not told apart, of those from nearby it is.
func (m *matching) added(x, y [][]float64) []float64 {
	added, n := make([]float64, len(x)), float64(m.f.rows)
	for k := range x {
		var mean, q, square float64
		for i := range m.f.rows {
			d := y[k][i]*y[k][i] - x[k][i]*x[k][i]
			of := d - mean
			mean += of / float64(i+1)
			q += of * (d - mean)
			square += x[k][i] * x[k][i] / n
		}
		if mean > 1e-7*square && (m.f.complete || !m.e.Ranks || mean > 3*math.Sqrt(q)/n) {
			added[k] = mean
		}
	}
	return added
}

// lawOf fits the law of originals given what stayed in the rows, and that of the values of any record. What
// further masks add to the variance of a released value is added to both.
func lawOf(stayed, originals *mat.Dense, rows []int, added []float64) (given, whole law, ok bool) {
	_, p := stayed.Dims()
	_, d := originals.Dims()
	if len(rows) <= 2*p {
		return law{}, law{}, false
	}
	a, b := rowsOf(stayed, rows), rowsOf(originals, rows)
	var gram, with mat.SymDense
	var both, off mat.Dense
	gram.SymOuterK(1, a.T())
	for k := range p {
		gram.SetSym(k, k, gram.At(k, k)*(1+1e-9)+1e-12)
	}
	var factor mat.Cholesky
	if !factor.Factorize(&gram) {
		return law{}, law{}, false
	}
	both.Mul(a.T(), b)
	given.slopes = mat.NewDense(p, d, nil)
	if err := factor.SolveTo(given.slopes, &both); err != nil && !wellEnough(err) {
		return law{}, law{}, false
	}
	var expected mat.Dense
	expected.Mul(a, given.slopes)
	off.Sub(b, &expected)
	with.SymOuterK(1/float64(len(rows)-p), off.T())
	var all, of, moves mat.SymDense
	moves.SymOuterK(1/float64(len(rows)), expected.T())
	of.SymOuterK(1/float64(len(rows)), b.T())
	for k := range d {
		with.SetSym(k, k, with.At(k, k)+added[k]+1e-9*of.At(k, k)+1e-300)
	}
	all.AddSym(&with, &moves) // so that what nothing tells of cancels
	given.spread, whole.spread = new(mat.Cholesky), new(mat.Cholesky)
	return given, whole, given.spread.Factorize(&with) && whole.spread.Factorize(&all)
}

// wellEnough reports whether an error only says that a matrix is nearly singular.
func wellEnough(err error) bool {
	_, condition := errors.AsType[mat.Condition](err)
	return condition
}

func rowsOf(of *mat.Dense, rows []int) *mat.Dense {
	_, n := of.Dims()
	out := mat.NewDense(len(rows), n, nil)
	for k, i := range rows {
		out.SetRow(k, of.RawRowView(i))
	}
	return out
}

// whitened makes independent numbers of variance 1 of rows with a covariance, in one slice by row.
func whitened(of *mat.Dense, spread *mat.Cholesky) []float64 {
	var lower mat.TriDense
	spread.LTo(&lower)
	n, d := of.Dims()
	out := make([]float64, n*d)
	for i := range n {
		row, to := of.RawRowView(i), out[i*d:(i+1)*d]
		for k := range d {
			v := row[k]
			for j := range k {
				v -= lower.At(k, j) * to[j]
			}
			to[k] = v / lower.At(k, k)
		}
	}
	return out
}

// ratio is the logarithm of the likelihood ratio of the values which another row has: that they are a row's own, to
// that they are anyone's.
func (m *matching) ratio(row, other int) float64 {
	part, d := m.part(row), m.dims
	return gap(m.moved[part][other*d:(other+1)*d], m.expected[row*d:(row+1)*d]) - m.any[part][other]
}

// original is the same of the row's originals.
func (m *matching) original(row int) float64 { return m.known[row] }

func gap(a, b []float64) float64 {
	sum := 0.0
	for k, v := range a {
		e := v - b[k]
		sum += e * e
	}
	return -sum / 2
}

// count counts how many records have kept their values, and notes who has which.
func (m *matching) count() {
	m.holders = map[uint64]int32{}
	kept, n := 0, 0
	for i := range m.f.rows {
		has, _ := m.bundle(func(column int) float64 { return m.f.columns[column].Values[i] })
		m.holders[has] = int32(i)
		had, there := m.bundle(func(column int) float64 { return m.originals[column][i] })
		if there {
			if n++; had == has {
				kept++
			}
		}
	}
	m.counted = kept > 0
	m.setStay(cmp.Or(float64(kept)/float64(max(n, 1)), 0.5))
	if m.f.complete || !m.couples {
		return
	}
	for i := range m.f.rows {
		if of, there := m.holderOf(i); there && of != i {
			m.others = append(m.others, m.other(i, of))
		}
	}
	m.couples = len(m.others) >= leastModel
}

// other is what it adds to the logarithm of the ratio that another row has a row's values, if they are a couple.
func (m *matching) other(row, of int) float64 { return m.ratio(of, row) - m.mixed[of] }

// setStay sets the probability that a record has kept its values, and how likely what each has then is.
func (m *matching) setStay(stay float64) {
	least := 0.5 / float64(m.f.rows)
	m.stay = max(least, min(1-least, stay))
	if !m.couples {
		return
	}
	m.mixed = make([]float64, m.f.all)
	for i := range m.mixed {
		a, b := math.Log(m.stay)+m.ratio(i, i), math.Log(1-m.stay)
		m.mixed[i] = max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
	}
}

// bundle is a number made of values of a row that moved together.
func (m *matching) bundle(value func(column int) float64) (hash uint64, there bool) {
	hash = 14695981039346656037
	for _, column := range m.e.Moved {
		if m.originals[column] == nil {
			continue
		}
		v := value(column)
		there = there || v == v
		hash = (hash ^ math.Float64bits(v)) * 1099511628211
		hash ^= hash >> 29
	}
	return hash, there
}

// holderOf returns the record that has a row's own values.
func (m *matching) holderOf(row int) (of int, there bool) {
	had, there := m.bundle(func(column int) float64 { return m.originals[column][row] })
	at, is := m.holders[had]
	return int(at), is && there
}

// agree reports whether two rows agree in a column in which those that exchange differ.
func (m *matching) agree(a, b int) bool {
	for _, column := range m.e.Apart {
		if v := m.f.columns[column].Values; v[a] == v[b] {
			return true
		}
	}
	return false
}
