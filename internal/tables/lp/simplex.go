package lp

import "math"

const (
	tieBreak      = 1e-9 // reduced costs up to this size count as 0
	updatesAtMost = 64   // greatest number of updates before a new factorisation
	stepsBetween  = 64   // steps between two calls of Stop
)

// Term is one summand of an objective.
type Term struct {
	Column int
	Weight float64
}

// Maximize moves the present point to one with the greatest value of column j, or to
// the first one where it reaches enough. It returns this value, +Inf if there is no
// greatest one. The error is ErrStalled, with the value reached until then, or that of
// Stop.
func (s *System) Maximize(j int, enough float64) (float64, error) {
	v, err := s.minimize([]Term{{j, -1}}, -enough)
	return -v, err
}

// Minimize is Maximize for the least value.
func (s *System) Minimize(j int, enough float64) (float64, error) {
	return s.minimize([]Term{{j, 1}}, enough)
}

// MinimizeSum moves the present point to one with the least sum of the terms. It
// returns the sum, -Inf if it has no least value. The errors are those of Maximize.
func (s *System) MinimizeSum(terms []Term) (float64, error) {
	return s.minimize(terms, math.Inf(-1))
}

// minimize runs the simplex until the point is optimal or the objective is at or below
// enough, then checks the point against the matrix. If the point is infeasible because
// of rounding errors, it starts again from 0 with new factors, at most twice.
func (s *System) minimize(terms []Term, enough float64) (float64, error) {
	s.keptLow, s.keptHigh = append(s.keptLow[:0], s.Low...), append(s.keptHigh[:0], s.High...)
	for attempt := 0; ; attempt++ {
		unbounded, err := s.descend(terms, enough)
		if s.feasible() {
			if unbounded {
				return math.Inf(-1), nil
			}
			return objective(terms, s.z), err
		}
		s.Reset()
		copy(s.Low, s.keptLow)
		copy(s.High, s.keptHigh)
		s.factorise()
		if attempt == 2 {
			return 0, ErrStalled
		}
	}
}

func objective(terms []Term, z []float64) float64 {
	sum := 0.0
	for _, t := range terms {
		sum += t.Weight * z[t.Column]
	}
	return sum
}

func (s *System) descend(terms []Term, enough float64) (unbounded bool, err error) {
	limit := 1000 + 50*(s.a.rows+s.a.columns)
	stuck := 0
	for s.steps = 0; s.steps < limit; s.steps++ {
		if s.Stop != nil && s.steps%stepsBetween == stepsBetween-1 {
			if err := s.Stop(); err != nil {
				return false, err
			}
		}
		if s.Limit > 0 && s.Work > s.Limit {
			return false, ErrStalled
		}
		value := objective(terms, s.z)
		if value <= enough {
			return false, nil
		}
		s.bland = stuck > 50+s.a.rows
		j, slope := s.price(terms)
		if j < 0 {
			if s.fresh || s.astray < tieBreak {
				return false, nil
			}
			s.factorise() // report an optimum only with accurate factors
			continue
		}
		room := math.Inf(1)
		if !math.IsInf(enough, -1) {
			room = (value - enough) / math.Abs(slope)
		}
		step, again := s.move(j, -math.Copysign(1, slope), room)
		if again {
			continue
		}
		if math.IsInf(step, 1) {
			return true, nil
		}
		s.Total++
		if stuck++; step > s.tolerance {
			stuck = 0
		}
	}
	return false, ErrStalled
}

// price returns the column to enter and its reduced cost: the greatest one or, by
// Bland's rule, which cannot cycle, the one of the lowest column. The column is -1 at
// an optimum.
func (s *System) price(terms []Term) (int, float64) {
	inBasis := false
	for _, t := range terms {
		if p := s.place[t.Column]; p >= 0 {
			s.byPlace[p] += t.Weight
			inBasis = true
		}
		s.touch(int32(t.Column), t.Weight)
	}
	s.Work += int64(len(terms))
	if inBasis {
		s.Work += s.f.size()
		s.f.backward(s.byPlace, s.y)
		for i, y := range s.y {
			if math.Abs(y) < 1e-12 {
				continue
			}
			s.Work += int64(s.a.rowStart[i+1] - s.a.rowStart[i])
			for p := s.a.rowStart[i]; p < s.a.rowStart[i+1]; p++ {
				s.touch(s.a.columnOf[p], -y*s.a.byRow[p])
			}
		}
	}
	best, slope := -1, 0.0
	s.astray = 0
	for _, j := range s.priced {
		d := s.reduced[j]
		s.reduced[j], s.seen[j] = 0, false
		if s.place[j] >= 0 {
			s.astray = max(s.astray, math.Abs(d))
			continue
		}
		if math.Abs(d) < tieBreak || s.lower[j] == s.upper[j] ||
			d < 0 && s.z[j] >= s.upper[j] || d > 0 && s.z[j] <= s.lower[j] {
			continue
		}
		better := math.Abs(d) > math.Abs(slope)+tieBreak || math.Abs(d) > math.Abs(slope)-tieBreak && int(j) < best
		if s.bland {
			better = int(j) < best
		}
		if best < 0 || better {
			best, slope = int(j), d
		}
	}
	s.priced = s.priced[:0]
	return best, slope
}

func (s *System) touch(j int32, d float64) {
	if !s.seen[j] {
		s.seen[j] = true
		s.priced = append(s.priced, j)
	}
	s.reduced[j] += d
}

// move changes column j in a direction (1 or -1) until it reaches its own bound or a
// basic variable reaches a bound and leaves the basis, but by at most room. It returns
// the length. again reports that the pivot was too small and that move factorised the
// basis instead.
func (s *System) move(j int, direction, room float64) (length float64, again bool) {
	alpha := s.solution(j)
	leaving, length := s.ratio(alpha, direction)
	own := s.upper[j] - s.z[j]
	if direction < 0 {
		own = s.z[j] - s.lower[j]
	}
	if own <= length {
		length, leaving = own, -1
	}
	if room < length && (!s.ToVertex || math.IsInf(length, 1)) {
		length, leaving = room, -1
	}
	if math.IsInf(length, 1) {
		s.wipe()
		return length, false
	}
	if leaving >= 0 && math.Abs(alpha[leaving]) < 1e-5 && !s.fresh {
		s.wipe()
		s.factorise()
		return 0, true
	}
	s.shift(j, direction*length)
	if length == own {
		s.z[j] = s.upper[j]
		if direction < 0 {
			s.z[j] = s.lower[j]
		}
	}
	if leaving >= 0 {
		s.exchange(j, leaving, direction)
	}
	s.wipe()
	if len(s.f.updates) >= updatesAtMost {
		s.factorise()
	}
	return length, false
}

// solution solves B α = A_j, writes α to byPlace and lists its nonzero places.
func (s *System) solution(j int) []float64 {
	for p := s.a.columnStart[j]; p < s.a.columnStart[j+1]; p++ {
		s.rows[s.a.rowOf[p]] = s.a.byColumn[p]
	}
	s.Work += s.f.size()
	s.f.forward(s.rows, s.byPlace)
	s.nonzero = s.nonzero[:0]
	for p, v := range s.byPlace {
		if v == 0 {
			continue
		}
		if math.Abs(v) < 1e-13 {
			s.byPlace[p] = 0
			continue
		}
		s.nonzero = append(s.nonzero, int32(p))
	}
	return s.byPlace
}

func (s *System) wipe() {
	for _, p := range s.nonzero {
		s.byPlace[p] = 0
	}
}

// ratio returns the place of the basic variable that reaches a bound first, and the
// length of the step. Among ties it prefers the greatest pivot, then an artificial
// variable, then the variable with the lowest index.
func (s *System) ratio(alpha []float64, direction float64) (leaving int, length float64) {
	leaving, length = -1, math.Inf(1)
	for _, p := range s.nonzero {
		rate := -direction * alpha[p] // change of the variable at p per unit of length
		if math.Abs(rate) < smallestPivot {
			continue
		}
		j := s.basis[p]
		space := s.upper[j] - s.z[j]
		if rate < 0 {
			space = s.z[j] - s.lower[j]
		}
		t := max(space, 0) / math.Abs(rate)
		if t > length+s.tolerance {
			continue
		}
		if leaving < 0 || t < length-s.tolerance || s.leavesBefore(p, int32(leaving), alpha) {
			leaving = int(p)
			length = min(length, t)
		}
	}
	return leaving, length
}

func (s *System) leavesBefore(p, q int32, alpha []float64) bool {
	a, b := math.Abs(alpha[p]), math.Abs(alpha[q])
	if !s.bland && math.Abs(a-b) > 1e-7 {
		return a > b
	}
	return s.basis[p] > s.basis[q] == (int(s.basis[p]) >= s.a.columns)
}

// shift changes column j by d and the basic variables accordingly, and updates Low and
// High.
func (s *System) shift(j int, d float64) {
	if d == 0 {
		return
	}
	s.z[j] += d
	s.note(int32(j))
	for _, p := range s.nonzero {
		k := s.basis[p]
		s.z[k] = min(max(s.z[k]-d*s.byPlace[p], s.lower[k]), s.upper[k])
		s.note(k)
	}
}

func (s *System) note(j int32) {
	if int(j) < s.a.columns {
		s.Low[j], s.High[j] = min(s.Low[j], s.z[j]), max(s.High[j], s.z[j])
	}
}

// exchange replaces the leaving variable by column j in the basis and sets the leaving
// variable to the bound that it reached.
func (s *System) exchange(j, leaving int, direction float64) {
	out := s.basis[leaving]
	if direction*s.byPlace[leaving] > 0 {
		s.z[out] = s.lower[out]
	} else {
		s.z[out] = s.upper[out]
	}
	s.f.replace(int32(leaving), s.byPlace, s.nonzero)
	s.place[out], s.place[j], s.basis[leaving] = -1, int32(leaving), int32(j)
	s.fresh = false
}
