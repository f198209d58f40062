package joint

import (
	"math"
	"slices"
)

// Relations give a value exactly: x = Σ kᵢ·zᵢ with small whole kᵢ, a copy, a constant ratio, a
// linear relation with any coefficients, or a value that is constant in the groups of a category.

// exact is a relation that gives x.
type exact struct {
	tells []string
	at    func(row int) float64 // x by the relation; nil: known by group
	open  bool
	// rounded says that the relation gives the value after rounding to its grid.
	rounded bool
}

func (e *exact) holds(s *sought, x float64, row int) bool {
	return math.Abs(e.at(row)-x) <= s.tolerance(x, e.rounded)
}

// counted are the rows on which relations are tried, at most: those whose value is neither the most
// frequent one, which anyone guesses, nor released as it is.
const counted = 400

// tried returns places in rows for relations.
func (s *sought) tried() []int {
	var rows []int
	for _, i := range s.rows {
		if s.x[i] != s.usual && s.x[i] != s.y[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// fewest is the number of rows on which a relation is tried first.
const fewest = 16

// samples returns more and more of the rows on which a relation is tried, and at last all.
func samples(rows []int) [][]int {
	list := [][]int{thinned(rows, 64), thinned(rows, counted), rows}
	if len(rows) > fewest {
		list = append([][]int{thinned(rows, fewest)}, list...)
	}
	return list
}

// majority reports whether most of the rows that can be judged obey, many more than the values of
// other records would by chance. There must be enough such rows, with enough different values.
func (s *sought) majority(samples [][]int, rounded bool, at func(row int) float64) bool {
	for _, part := range samples {
		n, holds, chance := 0.0, 0.0, 0.0
		for k, i := range part {
			v := at(i)
			if v != v {
				continue
			}
			n++
			other := s.x[part[(k+len(part)/2)%len(part)]]
			if math.Abs(v-s.x[i]) <= s.tolerance(s.x[i], rounded) {
				holds++
			}
			if math.Abs(v-other) <= s.tolerance(other, rounded) {
				chance++
			}
		}
		if len(part) == fewest && len(samples) > 3 {
			if 8*holds < n { // as in someHold
				return false
			}
			continue
		}
		if n < leastRows || 4*n < float64(len(part)) || 2*holds < n || holds-chance < 0.5*(n-chance) {
			return false
		}
	}
	return s.different(samples[len(samples)-1])
}

// different reports whether x has at least leastRows different values on rows.
func (s *sought) different(rows []int) bool {
	seen := map[float64]bool{}
	for _, i := range rows {
		if seen[s.x[i]] = true; len(seen) >= leastRows {
			return true
		}
	}
	return false
}

// Recover returns a column with the values that a relation gives for most rows of the originals x, NaN
// where its cells are missing; false if there is none. Beside it relations of other columns may be found.
func (f *Frame) Recover(of Sought) (Column, bool) {
	s := f.seek(of.X, of.Y, of.Own)
	e := f.relation(s)
	if e == nil {
		return Column{}, false
	}
	c := Column{Name: of.Name, Values: make([]float64, f.all)}
	for i := range c.Values {
		v := e.at(i)
		if e.rounded && s.step > 0 {
			v = s.step * math.Round(v/s.step)
		}
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		c.Values[i] = v
	}
	return c, true
}

// With returns a frame that has further columns.
func (f *Frame) With(columns ...Column) *Frame {
	more := New(slices.Concat(f.columns, columns), f.rows, f.complete)
	more.InOrder, more.Share, more.Exchanges = f.InOrder, f.Share, f.Exchanges
	return more
}

// relation returns a relation of up to three columns that gives the values of most rows.
func (f *Frame) relation(s *sought) (e *exact) {
	rows := s.tried()
	if len(rows) < leastRows {
		return nil
	}
	parts := samples(rows)
	first := s.lookAt(parts[0])
	f.relations(s, func(r *relation) bool {
		if len(parts) > 3 && !first.someHold(r) {
			return false
		}
		if r = r.kept(); !s.majority(parts, r.rounded, r.at) {
			return false
		}
		e = &exact{at: r.at, rounded: r.rounded, tells: f.names(r.columns())}
		return true
	})
	return e
}

// look is the rows on which relations are tried first, with what is needed of them for each.
type look struct {
	rows      []int
	x, values []float64
	tolerance [2][]float64 // as it is, and after rounding
}

func (s *sought) lookAt(rows []int) *look {
	l := &look{rows: rows, values: make([]float64, len(rows))}
	for _, i := range rows {
		l.x = append(l.x, s.x[i])
		for rounded := range l.tolerance {
			l.tolerance[rounded] = append(l.tolerance[rounded], s.tolerance(s.x[i], rounded == 1))
		}
	}
	return l
}

func (l *look) tolerances(r *relation) []float64 {
	if r.rounded {
		return l.tolerance[1]
	}
	return l.tolerance[0]
}

// someHold reports whether at least an eighth of the rows that can be judged obey: of a relation that half of the rows
// obey, fewer of 16 do so in 3 of 10,000 cases.
func (l *look) someHold(r *relation) bool {
	tolerance := l.tolerances(r)
	n, holds := 0, 0
	for k, v := range r.of(l.rows, l.values) {
		if v == v {
			if n++; math.Abs(v-l.x[k]) <= tolerance[k] {
				holds++
			}
		}
	}
	return 8*holds >= n
}

func (f *Frame) names(columns []int) (names []string) {
	for _, c := range columns {
		if c == byOrder {
			names = append(names, OrderOfRecords)
			continue
		}
		names = append(names, f.columns[c].Name)
	}
	return names
}

// exactly reports whether the linear estimator gives most values exactly, or does after records that
// do not fit have been given less weight.
func (s *sought) exactly() *exact {
	rows := s.tried()
	if len(rows) < 2*(len(s.chosen)+leastRows) {
		return nil
	}
	if tells := s.tells(); len(tells) > 0 && s.majority(samples(rows), false, s.predict) && s.ofAll(s.predict) {
		return &exact{tells: tells, at: s.predict}
	}
	return s.robust(rows)
}

// confident is the share of correct statements from which a snooper counts as certain, as in the inversion.
const confident = 0.6827

// ofAll reports whether a relation in which the released value itself may stand gives the values
// also where the mask has left some as they are: nobody knows where that is. What gives x in
// exchanged couples alone, as the sum of the couple less the released value, is wrong in the others.
func (s *sought) ofAll(at func(row int) float64) bool {
	n, same, holds := 0.0, 0.0, 0.0
	for _, i := range s.rows {
		v := at(i)
		if v != v || s.x[i] == s.usual {
			continue
		}
		n++
		if s.x[i] == s.y[i] {
			same++
		}
		if math.Abs(v-s.x[i]) <= s.tolerance(s.x[i], false) {
			holds++
		}
	}
	return 10*same < n || holds >= confident*n
}

// robust fits the least sum of absolute errors by repeated weighting. It gives the relation that most
// records obey even if others do not.
func (s *sought) robust(rows []int) *exact {
	m := len(s.chosen)
	rows = thinned(rows, max(1000, 20*(m+1)))
	if len(rows) < 3*(m+1) || m < 2 {
		return nil
	}
	scale := make([]float64, m+1)
	z := make([][]float64, len(rows))
	for k, i := range rows {
		z[k] = make([]float64, m+1)
		z[k][m] = 1
		for c, j := range s.chosen {
			z[k][c] = s.features[j].values[i] - s.centreOf(s.centre[j], i)
		}
	}
	for c := range scale {
		for k := range z {
			scale[c] += z[k][c] * z[k][c]
		}
		if scale[c] = math.Sqrt(scale[c] / float64(len(z))); scale[c] == 0 {
			scale[c] = 1
		}
		for k := range z {
			z[k][c] /= scale[c]
		}
	}
	beta := append(slices.Clone(s.beta), 0)
	for c := range beta {
		beta[c] *= scale[c]
	}
	sd := math.Sqrt(s.total / float64(len(s.rows)))
	weight := make([]float64, len(rows))
	for range 30 {
		for k, i := range rows {
			e := s.x[i] - s.centreOf(s.mean, i)
			for c, b := range beta {
				e -= b * z[k][c]
			}
			weight[k] = 1 / max(math.Abs(e), 1e-9*sd)
		}
		next := weighted(z, weight, func(k int) float64 { return s.x[rows[k]] - s.centreOf(s.mean, rows[k]) })
		if next == nil {
			return nil
		}
		beta = next
	}
	value := func(i int) float64 {
		v := s.centreOf(s.mean, i) + beta[m]/scale[m]
		for c, j := range s.chosen {
			v += beta[c] / scale[c] * (s.features[j].values[i] - s.centreOf(s.centre[j], i))
		}
		return v
	}
	if !s.majority(samples(s.tried()), false, value) || !s.ofAll(value) {
		return nil
	}
	var tells []string
	for c, j := range s.chosen {
		from := s.features[j].from
		if from == nil {
			from = []int{s.features[j].column}
		}
		for _, at := range from {
			if name := s.names([]int{at})[0]; at != s.own && math.Abs(beta[c]) > 1e-4*sd && !slices.Contains(tells, name) {
				tells = append(tells, name)
			}
		}
	}
	if len(tells) == 0 {
		return nil
	}
	return &exact{tells: tells, at: value}
}

// weighted solves weighted least squares by Cholesky; nil if that is not possible.
func weighted(z [][]float64, weight []float64, x func(k int) float64) []float64 {
	p := len(z[0])
	a, b := make([][]float64, p), make([]float64, p)
	for i := range a {
		a[i] = make([]float64, p)
	}
	for k, row := range z {
		of := x(k)
		for i, v := range row {
			w := weight[k] * v
			b[i] += w * of
			to := a[i][:i+1]
			for j, u := range row[:len(to)] {
				to[j] += w * u
			}
		}
	}
	for i := range p {
		for j := range i + 1 {
			v := a[i][j]
			for k := range j {
				v -= a[i][k] * a[j][k]
			}
			if i == j {
				if !(v > 1e-13*a[i][i]) {
					return nil
				}
				a[i][i] = math.Sqrt(v)
			} else {
				a[i][j] = v / a[j][j]
			}
		}
	}
	for i := range p {
		for k := range i {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := p - 1; i >= 0; i-- {
		for k := i + 1; k < p; k++ {
			b[i] -= a[k][i] * b[k]
		}
		b[i] /= a[i][i]
	}
	return b
}
