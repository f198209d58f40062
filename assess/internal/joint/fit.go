package joint

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// A linear estimator is fitted by modified Gram–Schmidt: features are taken one after another, the
// released column itself first, then the one that explains most of what is left. If all can be
// taken, the result is that of least squares.

// fit fits the linear estimator from all features.
func (s *sought) fit() {
	s.features = slices.Clone(s.Frame.features)
	if s.own < 0 || !slices.ContainsFunc(s.features, func(f feature) bool { return f.column == s.own && f.whole }) {
		s.own = -1
	}
	if s.complete {
		s.features = append(s.features, s.averages()...)
	}
	s.base = len(s.features)
	s.refit()
	s.byUnits()
	s.alone = s.leftByOwn()
	first := *s
	first.steps = steps{}
	s.plain = first.predict
}

// parameters is the number of features that the records suffice for.
func (s *sought) parameters() int { return min(mostFit, max(1, (len(s.rows)-s.used+1)/10)) }

// leastDivided is the number of values of features from which on all cores fit.
const leastDivided = 1 << 18

// refit fits the estimator with the present features.
func (s *sought) refit() {
	n := len(s.rows)
	s.centred()
	p := len(s.features)
	z, centre, size := make([][]float64, p), make([][]float64, p), make([]float64, p)
	open, along := make([]bool, p), make([]float64, p)
	each := func(do func(j int)) { // features, which do not depend on one another
		if n*p >= leastDivided {
			cores.Each(p, do)
			return
		}
		for j := range p {
			do(j)
		}
	}
	each(func(j int) {
		z[j] = make([]float64, n)
		v := s.features[j].values
		centre[j] = s.means(v)
		for k, i := range s.rows {
			z[j][k] = v[i] - s.centreOf(centre[j], i)
		}
		size[j], along[j] = dot(z[j], z[j]), dot(z[j], s.left)
		open[j] = size[j] > 0 && !s.collinear(z[j], centre[j])
	})
	s.chosen, s.beta, s.gains, s.steps = nil, nil, nil, steps{}
	square := slices.Clone(size)
	for len(s.chosen) < s.parameters() {
		best, most := -1, -1.0
		for j := range z {
			if !open[j] {
				continue
			}
			if square[j] <= 1e-20*size[j] || square[j] <= 1e-13*size[j] && s.collinear(z[j], centre[j]) {
				open[j] = false // given by those taken
				continue
			}
			gain := along[j]
			gain *= gain / square[j]
			if len(s.chosen) == 0 && s.features[j].column == s.own && s.features[j].whole {
				gain = math.Inf(1)
			}
			if gain > most {
				best, most = j, gain
			}
		}
		if best < 0 {
			break
		}
		open[best] = false
		row := make([]float64, p)
		s.towards(best, z[best], square[best], row)
		direction := z[best]
		each(func(j int) {
			if open[j] {
				row[j] = dot(direction, z[j])
				square[j], along[j] = reduced(z[j], direction, s.left, row[j])
			}
		})
	}
	s.solve()
	s.centre = centre
}

// steps are the directions that a fit has taken, by step; the coefficients of features on each; and what x has along
// it.
type steps struct {
	q, r  [][]float64
	along []float64
}

// towards takes a feature of which the directions taken leave z, with a sum of squares.
func (s *sought) towards(feature int, z []float64, square float64, row []float64) {
	length := math.Sqrt(square)
	row[feature] = length
	for k := range z {
		z[k] /= length
	}
	// Once more against the directions taken, so that rounding does not add up.
	t := &s.steps
	s.without(z, func(int, float64) {})
	c := dot(z, s.left)
	for k := range z {
		s.left[k] -= c * z[k]
	}
	t.q, t.r, t.along = append(t.q, z), append(t.r, row), append(t.along, c)
	s.gains = append(slices.Clip(s.gains), c*c)
	s.chosen = append(s.chosen, feature)
}

// extend adds a feature to a fit, as its last: a fit that could take all features need not be done again.
func (s *sought) extend(f feature) {
	at, centre := len(s.features), s.means(f.values)
	s.features, s.centre = append(s.features[:at:at], f), append(s.centre[:at:at], centre)
	z := make([]float64, len(s.rows))
	for k, i := range s.rows {
		z[k] = f.values[i] - s.centreOf(centre, i)
	}
	size, t := dot(z, z), &s.steps
	if size == 0 || s.collinear(z, centre) {
		return
	}
	r := make([][]float64, len(t.r)) // with places also for features that were added and not taken
	s.without(z, func(i int, c float64) {
		r[i] = make([]float64, at+1)
		copy(r[i], t.r[i])
		r[i][at] = c
	})
	square := dot(z, z)
	if square <= 1e-20*size || square <= 1e-13*size && s.collinear(z, centre) {
		return
	}
	t.q, t.r, t.along = slices.Clip(t.q), r, slices.Clip(t.along)
	s.left, s.chosen = slices.Clone(s.left), slices.Clip(s.chosen)
	s.towards(at, z, square, make([]float64, at+1))
	s.solve()
}

// without takes from z what it has along each direction taken, and tells of it.
func (s *sought) without(z []float64, along func(i int, c float64)) {
	q := s.steps.q
	if len(q) == 0 {
		return
	}
	c := dot(q[0], z)
	for i, d := range q {
		along(i, c)
		_, c = reduced(z, d, q[min(i+1, len(q)-1)], c)
	}
}

// reduced takes c times a direction from z, and returns what dot then gives of z with itself and with left.
func reduced(z, direction, left []float64, c float64) (square, along float64) {
	var s0, s1, s2, s3, a0, a1, a2, a3 float64
	direction, left = direction[:len(z)], left[:len(z)]
	i := 0
	for ; i+4 <= len(z); i += 4 {
		z0, z1, z2, z3 := z[i]-c*direction[i], z[i+1]-c*direction[i+1], z[i+2]-c*direction[i+2], z[i+3]-c*direction[i+3]
		z[i], z[i+1], z[i+2], z[i+3] = z0, z1, z2, z3
		s0, s1, s2, s3 = s0+z0*z0, s1+z1*z1, s2+z2*z2, s3+z3*z3
		a0, a1, a2, a3 = a0+z0*left[i], a1+z1*left[i+1], a2+z2*left[i+2], a3+z3*left[i+3]
	}
	for ; i < len(z); i++ {
		z[i] -= c * direction[i]
		s0, a0 = s0+z[i]*z[i], a0+z[i]*left[i]
	}
	return s0 + s1 + (s2 + s3), a0 + a1 + (a2 + a3)
}

// centred sets what is left of x without features.
func (s *sought) centred() {
	s.mean, s.total = s.means(s.x), 0
	s.left = make([]float64, len(s.rows))
	for k, i := range s.rows {
		s.left[k] = s.x[i] - s.centreOf(s.mean, i)
		d := s.x[i] - s.mean[0]
		s.total += d * d
	}
}

// means returns the mean of values over all rows and then, if the fit is within groups, over the rows of each.
func (s *sought) means(values []float64) []float64 {
	groups := 0
	if s.within != nil {
		groups = s.within.groups
	}
	mean, n := make([]float64, 1+groups), make([]float64, 1+groups)
	for _, i := range s.rows {
		mean[0] += values[i]
		n[0]++
		if g := s.groupOf(i); g > 0 {
			mean[g] += values[i]
			n[g]++
		}
	}
	for g := range mean {
		if n[g] == 0 {
			mean[g] = mean[0]
			continue
		}
		mean[g] /= n[g]
	}
	return mean
}

// groupOf is the place of a row's group among means; 0: none.
func (s *sought) groupOf(row int) int32 {
	if s.within == nil {
		return 0
	}
	return s.within.of[row] + 1
}

func (s *sought) centreOf(means []float64, row int) float64 { return means[s.groupOf(row)] }

// collinear reports whether what is left of a feature is only what rounding of its values leaves.
func (s *sought) collinear(left, centre []float64) bool {
	most := 0.0
	for _, v := range centre {
		most = max(most, math.Abs(v))
	}
	for _, v := range left {
		most = max(most, math.Abs(v))
	}
	return dot(left, left) <= float64(len(left))*most*most*1e-26
}

// solve computes the coefficients, and how much the sum of squares grows without each feature:
// β_j²/((Z'Z)⁻¹)_jj.
func (s *sought) solve() {
	m, r, along := len(s.chosen), s.steps.r, s.steps.along
	at := func(i, j int) float64 { return r[i][s.chosen[j]] }
	s.beta = make([]float64, m)
	for i := m - 1; i >= 0; i-- {
		v := along[i]
		for j := i + 1; j < m; j++ {
			v -= at(i, j) * s.beta[j]
		}
		s.beta[i] = v / at(i, i)
	}
	// Column c of the inverse of R; its squares over columns add up to the diagonal of (R'R)⁻¹.
	diagonal := make([]float64, m)
	inverse := make([]float64, m)
	for c := range m {
		for i := c; i >= 0; i-- {
			v := 0.0
			if i == c {
				v = 1
			}
			for j := i + 1; j <= c; j++ {
				v -= at(i, j) * inverse[j]
			}
			inverse[i] = v / at(i, i)
			diagonal[i] += inverse[i] * inverse[i]
		}
	}
	s.drop = make([]float64, m)
	for i := range s.drop {
		s.drop[i] = s.beta[i] * s.beta[i] / diagonal[i]
	}
}

func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// factor corrects the mean of squares for the fitted coefficients and means: n/(n − m − 1).
func (s *sought) factor() float64 {
	if s.settled {
		return 1
	}
	n := float64(len(s.rows))
	return n / max(1, n-float64(len(s.chosen))-float64(s.used))
}

// square is the mean squared error of the linear estimator.
func (s *sought) square() float64 {
	return dot(s.left, s.left) / float64(len(s.left)) * s.factor()
}

// noise is the variance of the mean of squares.
func (s *sought) noise() float64 {
	var mean, q float64
	for k, v := range s.left {
		d := v*v - mean
		mean += d / float64(k+1)
		q += d * (v*v - mean)
	}
	n := float64(len(s.left))
	return q / max(1, n-1) / n * s.factor() * s.factor()
}

// leftByOwn is what the released value alone, with the mean, leaves of the sum of squares.
func (s *sought) leftByOwn() float64 {
	if s.own < 0 {
		return s.total
	}
	j := slices.IndexFunc(s.features, func(f feature) bool { return f.column == s.own && f.whole })
	v, n := s.features[j].values, float64(len(s.rows))
	m := 0.0
	for _, i := range s.rows {
		m += v[i] / n
	}
	var vv, vx float64
	for _, i := range s.rows {
		d := v[i] - m
		vv += d * d
		vx += d * (s.x[i] - s.mean[0])
	}
	if !(vv > 0) {
		return s.total
	}
	return s.total - vx*vx/vv
}

// predict returns the linear estimate of a row.
func (s *sought) predict(row int) float64 {
	v := s.centreOf(s.mean, row)
	for k, j := range s.chosen {
		v += s.beta[k] * (s.features[j].values[row] - s.centreOf(s.centre[j], row))
	}
	return v
}

// tells returns the columns, other than the one sought, without which the error would be greater by
// at least a hundredth and beyond chance.
func (s *sought) tells() []string {
	rss := dot(s.left, s.left)
	grows := map[int]float64{}
	for k, j := range s.chosen {
		from := s.features[j].from
		if from == nil {
			from = []int{s.features[j].column}
		}
		of := s.drop[k]
		if s.features[j].others {
			of = s.gains[k] // what it tells, others of the same unit tell as well
		}
		for _, c := range from {
			grows[c] += of
		}
	}
	n := float64(len(s.rows))
	if s.within != nil {
		for _, c := range s.within.columns {
			grows[c] = math.Inf(1)
		}
	}
	var names []string
	for c := range s.columns {
		if c != s.own && grows[c] > max(0.01, 16/n)*rss && grows[c] > 1e-6*s.total {
			names = append(names, s.columns[c].Name)
		}
	}
	if grows[byOrder] > max(0.01, 16/n)*rss && grows[byOrder] > 1e-6*s.total {
		names = append(names, OrderOfRecords)
	}
	return names
}

// told adds to names those of columns that tell beside the linear estimator.
func (s *sought) told(names []string) []string {
	for c := range s.columns {
		within := s.within != nil && slices.Contains(s.within.columns, c)
		if name := s.columns[c].Name; (within || slices.Contains(s.tellers, c)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// thresholds of a product or quotient: how much of what is left it must explain.
const (
	worthwhile = 0.02
	mostMade   = 3  // products and quotients in an estimator
	mostFactor = 12 // columns that are multiplied
)

// enrich adds products and quotients of two columns that explain much of what is left.
func (s *sought) enrich() {
	var whole []int
	for j := range s.Frame.features {
		if s.features[j].whole {
			whole = append(whole, j)
		}
	}
	whole = whole[:min(len(whole), mostFactor)]
	sample := make([]int, 0, 2000)
	for k := 0; k < len(s.rows); k += max(1, len(s.rows)/2000) {
		sample = append(sample, k)
	}
	if len(sample) < 30 {
		return
	}
	var list [][]float64
	for _, j := range whole {
		list = append(list, s.features[j].values)
	}
	basis := s.directions(nil, list, sample)
	for range mostMade {
		best, most := feature{}, 0.0
		left := make([]float64, len(sample))
		for at, k := range sample {
			left[at] = s.left[k]
		}
		left = without(left, basis)
		made := make([]float64, len(sample))
		for _, a := range whole {
			for _, b := range whole {
				for _, quotient := range []bool{false, true} {
					if !quotient && b < a || quotient && a == b {
						continue
					}
					for at, k := range sample {
						made[at] = madeOf(s.features[a].values[s.rows[k]], s.features[b].values[s.rows[k]], quotient)
					}
					if gain := s.explains(left, made, basis); gain > most {
						most = gain
						best = feature{column: s.features[a].column, from: []int{s.features[a].column, s.features[b].column}, values: nil}
						best.make(s.features[a].values, s.features[b].values, quotient)
					}
				}
			}
		}
		if most < max(worthwhile, 40/float64(len(sample))) || len(s.features) >= s.parameters() {
			return
		}
		before := *s
		if s.extend(best); s.square() > before.square()*(1-worthwhile/2) {
			*s = before
			return
		}
		basis = s.directions(basis, [][]float64{best.values}, sample) // what another one says in other words tells no more
	}
}

// directions adds orthonormal vectors to a basis, by place in a sample of the rows, so that it spans a constant and the
// values by row of a list.
func (s *sought) directions(basis, list [][]float64, sample []int) [][]float64 {
	one := slices.Repeat([]float64{1}, s.all)
	for _, values := range slices.Concat([][]float64{one}, list) {
		v := make([]float64, len(sample))
		for at, k := range sample {
			v[at] = values[s.rows[k]]
		}
		size := dot(v, v)
		v = without(without(v, basis), basis)
		if left := dot(v, v); left > 1e-12*size {
			for at := range v {
				v[at] /= math.Sqrt(left)
			}
			basis = append(basis, v)
		}
	}
	return basis
}

// without returns what orthonormal vectors leave of v.
func without(v []float64, basis [][]float64) []float64 {
	v = slices.Clone(v)
	for _, d := range basis {
		c := dot(d, v)
		for at := range v {
			v[at] -= c * d[at]
		}
	}
	return v
}

func madeOf(a, b float64, quotient bool) float64 {
	switch {
	case !quotient:
		return a * b
	case b == 0:
		return 0
	}
	return a / b
}

func (f *feature) make(a, b []float64, quotient bool) {
	f.values = make([]float64, len(a))
	for i := range a {
		f.values[i] = madeOf(a[i], b[i], quotient)
	}
}

// explains returns the share of what is left that a number explains, both over a sample of the rows,
// beyond what it has in common with the directions of a basis.
func (s *sought) explains(left, made []float64, basis [][]float64) float64 {
	own := without(made, basis)
	vv, ve, ee := dot(own, own), dot(own, left), dot(left, left)
	if !(vv > 1e-12*dot(made, made) && ee > 1e-12*s.total*float64(len(left))/float64(len(s.rows))) {
		return 0
	}
	return ve * ve / vv / ee
}
