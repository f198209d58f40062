package lp

// Begin makes the columns of a list, one for each row, the basis; where one of them depends on
// the others its place stays with an artificial variable. A problem whose rows each have a column
// of their own begins well with these.
func (s *System) Begin(columns []int) {
	for j := range s.place {
		s.place[j] = -1
	}
	for i, j := range columns {
		s.basis[i], s.place[j] = int32(j), int32(i)
	}
	s.factorise()
}

// Multipliers returns, for the terms of an objective, one number for each row: those of the
// present basis, at an optimum the dual solution. What is concluded with Combine holds for any
// numbers, by weak duality; these are the ones that say most.
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

// Combine adds up the rows, each times its number, and returns the sums by column.
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
