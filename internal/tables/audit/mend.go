package audit

import "math"

// Mend searches for a table in which column j deviates by d, a whole number, and every other
// column by a whole number. It starts with the given deviations, as far as they are possible,
// and changes one column of a violated sum after the other, at most steps times: of a drawn
// sum the column that corrects the most sums and violates the fewest. The draws are the same
// for the same question. It returns nil if it has found no table; there may be one.
func (p *Component) Mend(j int, d float64, columns []int32, by []float64, steps int) ([]int32, []float64) {
	m := p.mending()
	defer m.forget()
	if low, high := m.ends(int32(j)); d < low || d > high || d != math.Trunc(d) {
		return nil, nil
	}
	m.change(int32(j), d)
	for k, c := range columns {
		if low, high := m.ends(c); int(c) != j && m.when[c] == 0 {
			m.change(c, min(max(math.Round(by[k]), low), high))
		}
	}
	m.draw = uint64(j)*0x9e3779b97f4a7c15 ^ math.Float64bits(d)
	for m.now = mendRest + 1; len(m.wrong) > 0; m.now++ {
		if int(m.now-mendRest) > steps {
			return nil, nil
		}
		if c, step := m.choose(int32(j)); c >= 0 {
			m.change(c, step)
		}
	}
	return m.changes()
}

const (
	mendRest  = 3  // steps for which a changed column is not changed back
	mendBlind = 60 // one in so many steps takes any column
)

// mending is a table whose sums do not all hold.
type mending struct {
	p       *Component
	at      []float64 // deviations
	when    []int32   // of a column: the step of its last change, 0 if it has not changed
	touched []int32   // columns that have changed
	off     []float64 // of a row: its sum
	wrong   []int32   // rows whose sum is not 0
	place   []int32   // of a row: 1 + its place in wrong, 0 if its sum is 0
	now     int32
	draw    uint64
	work    int64 // entries processed, roughly
}

func (p *Component) mending() *mending {
	if p.mend == nil {
		n := len(p.Cells)
		p.rowsOf(0)
		p.mend = &mending{p: p, at: make([]float64, n), when: make([]int32, n), off: make([]float64, len(p.rows)), place: make([]int32, len(p.rows))}
	}
	return p.mend
}

func (m *mending) forget() {
	for _, c := range m.touched {
		m.at[c], m.when[c] = 0, 0
		for _, i := range m.p.of[c] {
			m.off[i], m.place[i] = 0, 0
		}
	}
	m.touched, m.wrong, m.now = m.touched[:0], m.wrong[:0], 1
}

// ends returns the least and the greatest whole deviation of a column.
func (m *mending) ends(c int32) (low, high float64) {
	if p := m.p; p.fixed == nil || !p.fixed[c] {
		return math.Ceil(p.Low[c] - 1e-6), math.Floor(p.High[c] + 1e-6)
	}
	return 0, 0
}

func (m *mending) change(c int32, step float64) {
	if step == 0 {
		return
	}
	if m.when[c] == 0 {
		m.touched = append(m.touched, c)
	}
	m.at[c] += step
	m.when[c] = max(m.now, 1)
	for k, i := range m.p.of[c] {
		m.off[i] += m.p.signs[c][k] * step
		switch was := m.place[i]; {
		case m.off[i] != 0 && was == 0:
			m.wrong = append(m.wrong, i)
			m.place[i] = int32(len(m.wrong))
		case m.off[i] == 0 && was != 0:
			last := m.wrong[len(m.wrong)-1]
			m.wrong[was-1], m.place[last] = last, was
			m.wrong, m.place[i] = m.wrong[:len(m.wrong)-1], 0
		}
	}
}

// choose returns the column of a drawn violated row to change, and by how much; -1 if there is none.
func (m *mending) choose(j int32) (column int32, step float64) {
	i := m.wrong[m.below(len(m.wrong))]
	column = -1
	best, ties := 0, 0
	blind := m.below(mendBlind) == 0
	m.work += int64(len(m.p.rows[i]))
	for _, x := range m.p.rows[i] {
		c := int32(x.Column)
		if c == j || m.when[c] > 1 && m.now-m.when[c] < mendRest {
			continue
		}
		low, high := m.ends(c)
		at := m.at[c]
		by := min(max(-x.Value*m.off[i], low-at), high-at)
		if by == 0 {
			continue
		}
		score := 0
		if !blind {
			score = m.score(c, by)
		}
		switch {
		case column < 0 || score > best:
			column, step, best, ties = c, by, score, 1
		case score == best:
			if ties++; m.below(ties) == 0 {
				column, step = c, by
			}
		}
	}
	return column, step
}

func (m *mending) score(c int32, by float64) (score int) {
	switch at := m.at[c]; {
	case at == 0:
		score--
	case at+by == 0:
		score++
	}
	m.work += int64(len(m.p.of[c]))
	for k, i := range m.p.of[c] {
		switch was, is := m.off[i], m.off[i]+m.p.signs[c][k]*by; {
		case is == 0:
			score += 4
		case was == 0:
			score -= 3
		case math.Abs(is) < math.Abs(was):
			score++
		default:
			score -= 2
		}
	}
	return score
}

// below draws a number from 0 to n−1 (splitmix64).
func (m *mending) below(n int) int {
	m.draw += 0x9e3779b97f4a7c15
	z := m.draw
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 33 % uint64(n))
}

func (m *mending) changes() (columns []int32, by []float64) {
	columns = []int32{}
	for _, c := range m.touched {
		if v := m.at[c]; v != 0 {
			columns, by = append(columns, c), append(by, v)
		}
	}
	return columns, by
}
