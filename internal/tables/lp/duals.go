package lp

// Begin makes the given columns, one for each row, the basis. If a column depends linearly on the
// others, an artificial variable takes its place. It gives a good start to problems in which each
// row has a column of its own.
func (s *System) Begin(columns []int) {
	for j := range s.place {
		s.place[j] = -1
	}
	for i, j := range columns {
		s.basis[i], s.place[j] = int32(j), int32(i)
	}
	s.factorise()
}

// Multipliers returns, for the terms of an objective, the multiplier of each row at the
// present basis; at an optimum this is the dual solution. By weak duality, bounds from Combine
// are valid for all multipliers; these give the best bound.
func (s *System) Multipliers(terms []Term) []float64 {
	for _, t := range terms {
		if p := s.place[t.Column]; p >= 0 {
			s.byPlace[p] += t.Weight
		}
	}
	s.Work += s.f.size()
	s.f.backward(s.byPlace, s.y)
	return append([]float64(nil), s.y...)
}

// Combine returns, by column, the sum of the rows, each times its multiplier.
func (s *System) Combine(y []float64) []float64 {
	sums := make([]float64, s.a.columns)
	for i, v := range y {
		if v == 0 {
			continue
		}
		for p := s.a.rowStart[i]; p < s.a.rowStart[i+1]; p++ {
			sums[s.a.columnOf[p]] += v * s.a.byRow[p]
		}
	}
	return sums
}
