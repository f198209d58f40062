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
	more.InOrder, more.Share = f.InOrder, f.Share
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

// bent are relations of one column that are no straight lines: what undoes a logarithm, a power or a reciprocal.
var bent = []func(a float64) float64{
	math.Exp, math.Expm1, func(a float64) float64 { return math.Pow(10, a) }, math.Sqrt, func(a float64) float64 {
		return a * a
	},
	math.Log, math.Log1p, math.Log10, func(a float64) float64 { return 1 / a }, func(a float64) float64 { return 100 / a },
}

// multiplied are relations of two columns that are no sums: products and quotients, and what a share, a rate of
// growth or of tax makes of an amount, as a fraction or in percent.
var multiplied = func() (list []func(a, b float64) float64) {
	for _, k := range []float64{1, 100} {
		list = append(list,
			func(a, b float64) float64 { return a * b / k },
			func(a, b float64) float64 { return k * a / b },
			func(a, b float64) float64 { return a * (k + b) / k },
			func(a, b float64) float64 { return a * k / (k + b) },
			func(a, b float64) float64 { return a * (k - b) / k },
			func(a, b float64) float64 { return a * k / (k - b) },
			func(a, b float64) float64 { return a * b / (k - b) },
			func(a, b float64) float64 { return a * (k - b) / b },
			func(a, b float64) float64 { return k * (a/b - 1) },
			func(a, b float64) float64 { return k * (1 - a/b) },
			func(a, b float64) float64 { return k * a / (a + b) })
	}
	return list
}()

// relation is a function of up to three columns: a multiple of one, a curve of one, a sum of two or three with whole
// coefficients, or what is made of two by multiplication.
type relation struct {
	rounded bool         // whether it gives values after rounding to their grid
	n       int          // columns
	column  [3]int       // their places
	z       [3][]float64 // their numbers
	k       [3]float64   // coefficients, unless there is a function:
	one     func(a float64) float64
	two     func(a, b float64) float64
}

// columns returns the places of the columns in their order.
func (r *relation) columns() []int {
	list := slices.Clone(r.column[:r.n])
	slices.Sort(list)
	return list
}

// kept returns a copy: what is visited is used again.
func (r *relation) kept() *relation {
	kept := *r
	return &kept
}

// at returns the value in a row.
func (r *relation) at(i int) float64 {
	switch {
	case r.one != nil:
		return r.one(r.z[0][i])
	case r.two != nil:
		return r.two(r.z[0][i], r.z[1][i])
	case r.n == 1:
		return r.k[0] * r.z[0][i]
	case r.n == 2:
		return r.k[0]*r.z[0][i] + r.k[1]*r.z[1][i]
	}
	return r.k[0]*r.z[0][i] + r.k[1]*r.z[1][i] + r.k[2]*r.z[2][i]
}

// of returns the values in some rows, in the memory given.
func (r *relation) of(rows []int, values []float64) []float64 {
	a, b, c, k := r.z[0], r.z[1], r.z[2], r.k
	values = values[:len(rows)]
	switch {
	case r.one != nil:
		for at, i := range rows {
			values[at] = r.one(a[i])
		}
	case r.two != nil:
		for at, i := range rows {
			values[at] = r.two(a[i], b[i])
		}
	case r.n == 1:
		for at, i := range rows {
			values[at] = k[0] * a[i]
		}
	case r.n == 2:
		for at, i := range rows {
			values[at] = k[0]*a[i] + k[1]*b[i]
		}
	default:
		for at, i := range rows {
			values[at] = k[0]*a[i] + k[1]*b[i] + k[2]*c[i]
		}
	}
	return values
}

// byOne, byTwo and byThree return relations of columns without coefficients or functions.
func (f *Frame) byOne(a int) relation {
	return relation{n: 1, column: [3]int{a}, z: [3][]float64{f.columns[a].numbers}}
}

func (f *Frame) byTwo(a, b int) relation {
	return relation{n: 2, column: [3]int{a, b}, z: [3][]float64{f.columns[a].numbers, f.columns[b].numbers}}
}

func (f *Frame) byThree(a, b, c int) relation {
	return relation{n: 3, column: [3]int{a, b, c},
		z: [3][]float64{f.columns[a].numbers, f.columns[b].numbers, f.columns[c].numbers}}
}

// others returns the numeric columns beside one.
func (f *Frame) others(own int) (at []int) {
	for _, w := range f.features {
		if w.whole && w.column != own {
			at = append(at, w.column)
		}
	}
	return at
}

var (
	factors = []float64{1, -1, 2, 0.5, 3, 4, 10, 12, 100, 1000, 1.0 / 3, 0.25, 0.1, 1.0 / 12, 0.01, 0.001}
	pairs   = [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {2, -1}, {-1, 2}, {1, -2}, {-2, 1}, {1, 2}, {2, 1},
		{0.5, 0.5}, {0.5, -0.5}, {-0.5, 0.5}}
)

// relations visits relations of up to three columns with small whole coefficients, relations of two that are
// multiplied or divided, and what totals of a unit leave, until a visit returns true. What is visited is used again:
// kept copies it.
func (f *Frame) relations(s *sought, found func(r *relation) bool) {
	at := f.others(s.own)
	for _, a := range at {
		r := f.byOne(a)
		for _, k := range factors {
			if r.k[0], r.rounded = k, k < 1 && k > 0; found(&r) {
				return
			}
		}
		r.rounded = true
		for _, r.one = range bent {
			if found(&r) {
				return
			}
		}
	}
	for _, rest := range s.rests() { // by the column and the unit
		r := relation{n: 2, column: [3]int{rest.column, rest.unit.columns[0]},
			z: [3][]float64{rest.values, rest.values}, k: [3]float64{1, 0}}
		if found(&r) {
			return
		}
	}
	if len(at) > 60 {
		at = at[:60]
	}
	for i, a := range at {
		for _, b := range at[:i] {
			r, turned := f.byTwo(a, b), f.byTwo(b, a)
			for _, k := range pairs {
				if r.k[0], r.k[1] = k[0], k[1]; found(&r) {
					return
				}
			}
			r.rounded, turned.rounded = true, true
			for _, of := range multiplied {
				if r.two, turned.two = of, of; found(&r) || found(&turned) {
					return
				}
			}
		}
	}
	if len(at) > 24 {
		at = at[:24]
	}
	for i, a := range at {
		for j, b := range at[:i] {
			for _, c := range at[:j] {
				r := f.byThree(a, b, c)
				for signs := range 8 {
					sign := func(bit int) float64 { return float64(1 - 2*(signs>>bit&1)) }
					if r.k = [3]float64{sign(0), sign(1), sign(2)}; found(&r) {
						return
					}
				}
			}
		}
	}
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
		for i := range p {
			w := weight[k] * row[i]
			b[i] += w * x(k)
			for j := range i + 1 {
				a[i][j] += w * row[j]
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

// dependence reports whether x is constant in the groups of a category, of several categories, or of a
// grouping that the intruder knows, or is in most records what the most others of its group have.
func (f *Frame) dependence(s *sought) *exact {
	rows := s.tried()
	if len(rows) < 20 {
		return nil
	}
	for _, g := range slices.Concat(f.groups, f.crossings()) {
		if slices.Contains(g.columns, s.own) {
			continue
		}
		constant, size, judged := s.constant(&g, rows, s.x)
		only := f.columns[g.columns[0]].GroupOnly
		switch {
		case judged < leastRows:
		case !only && 2*judged >= len(rows) && constant >= 0.9 && size >= leastOthers:
			return &exact{tells: f.names(g.columns)}
		case !f.complete && constant >= 0.5 && !s.alike(&g, rows, constant):
			return &exact{tells: f.names(g.columns), open: true}
		}
	}
	parts, order := samples(rows), s.byValue()
	found := s.totalled()
	s.eachOfSeveral(func(g *grouping) {
		if found != nil {
			return
		}
		if at := s.often(g, order); s.majority(parts, false, at) {
			found = &exact{tells: f.names(g.columns), at: at}
		}
	})
	return found
}

// alike reports whether what leaves is the same in a group as often as the originals are (one draw for all
// of them, whose mean tells no more than one value), and no other column goes with x, whose mean might.
func (s *sought) alike(g *grouping, rows []int, constant float64) bool {
	share, _, judged := s.constant(g, rows, s.y)
	if judged < leastRows || share < constant-0.01 {
		return false
	}
	for c := range s.columns {
		if c == s.own || s.columns[c].GroupOnly {
			continue
		}
		if z := s.columns[c].numbers; z != nil && s.goesWith(z, rows) || z == nil && s.differsBy(s.columns[c].Values, g) {
			return false
		}
	}
	return true
}

// differsBy reports whether a category that differs within the groups tells of x: whether the means by category have
// more than 0.01 of its variance, which is a correlation of 0.1, beyond what as many categories have by chance.
func (s *sought) differsBy(category []float64, g *grouping) bool {
	type level struct{ n, sum float64 }
	var levels []level
	place, first, differs := map[float64]int{}, map[int32]float64{}, false
	var n, sum, square float64
	for _, i := range s.rows {
		x, v := s.x[i]-s.x[s.rows[0]], category[i]
		if x != x || v != v {
			continue
		}
		at, seen := place[v]
		if !seen {
			at, levels = len(levels), append(levels, level{})
			place[v] = at
		}
		levels[at].n, levels[at].sum = levels[at].n+1, levels[at].sum+x
		n, sum, square = n+1, sum+x, square+x*x
		if at := g.of[i]; at >= 0 {
			if before, seen := first[at]; !seen {
				first[at] = v
			} else if before != v {
				differs = true
			}
		}
	}
	between, degrees := -sum*sum/n, float64(len(levels)-1)
	for _, l := range levels {
		between += l.sum * l.sum / l.n
	}
	total := square - sum*sum/n
	return differs && n > degrees+1 && between-degrees*(total-between)/(n-degrees-1) > 0.01*total
}

// goesWith reports whether numbers are correlated with x by more than 0.1.
func (s *sought) goesWith(z []float64, rows []int) bool {
	var n, sx, sz, sxx, szz, sxz float64
	for _, i := range rows {
		if x, v := s.x[i]-s.x[rows[0]], z[i]; v == v && x == x {
			n, sx, sz = n+1, sx+x, sz+v
			sxx, szz, sxz = sxx+x*x, szz+v*v, sxz+x*v
		}
	}
	c := sxz - sx*sz/n
	return c*c > 0.01*(sxx-sx*sx/n)*(szz-sz*sz/n)
}

// constant returns the share of rows in groups of two or more whose value x is that of all the group,
// the mean size of the groups of such rows, and their number.
func (s *sought) constant(g *grouping, rows []int, x []float64) (share, size float64, judged int) {
	low, high := make([]float64, g.groups), make([]float64, g.groups)
	count := make([]int, g.groups)
	for _, i := range s.rows {
		at := g.of[i]
		if at < 0 {
			continue
		}
		if count[at] == 0 {
			low[at], high[at] = x[i], x[i]
		}
		count[at]++
		low[at], high[at] = min(low[at], x[i]), max(high[at], x[i])
	}
	same := 0
	for _, i := range rows {
		at := g.of[i]
		if at < 0 || count[at] < 2 {
			continue
		}
		judged++
		size += float64(count[at])
		if high[at]-low[at] <= s.tolerance(high[at], false) {
			same++
		}
	}
	if judged == 0 || !s.different(rows) {
		return 0, 0, 0
	}
	return float64(same) / float64(judged), size / float64(judged), judged
}
