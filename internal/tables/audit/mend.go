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
	if k := &m.columns[j]; d < float64(k.low) || d > float64(k.high) || d != math.Trunc(d) {
		return nil, nil
	}
	m.change(int32(j), int64(d))
	for i, c := range columns {
		if k := &m.columns[c]; int(c) != j && k.when == 0 {
			m.change(c, int64(min(max(math.Round(by[i]), float64(k.low)), float64(k.high))))
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

// mending is a table whose sums do not all hold. What a step reads of a column, or of a row, lies together.
type mending struct {
	p       *Component
	columns []mendColumn
	rows    []mendRow
	of      []mendEntry // the rows of all columns, one after another
	in      []mendEntry // the columns of all rows
	touched []int32     // columns that have changed
	wrong   []int32     // rows whose sum is not 0
	now     int32
	draw    uint64
	work    int64 // entries processed, roughly
}

type mendColumn struct {
	at        int64 // deviation
	low, high int64
	when      int32 // the step of its last change, 0 if it has not changed
	from, to  int32 // its rows in of
}

type mendRow struct {
	off      int64 // its sum
	place    int32 // 1 + its place in wrong, 0 if its sum is 0
	from, to int32 // its columns in in
}

// mendEntry is a column in a row, or a row of a column.
type mendEntry struct {
	at   int32
	sign int32 // 1 or −1
}

func (p *Component) mending() *mending {
	if p.mend != nil {
		return p.mend
	}
	p.rowsOf(0)
	m := &mending{p: p, columns: make([]mendColumn, len(p.Cells)), rows: make([]mendRow, len(p.rows))}
	for c := range m.columns {
		k := &m.columns[c]
		k.from = int32(len(m.of))
		for i, row := range p.of[c] {
			m.of = append(m.of, mendEntry{row, int32(p.signs[c][i])})
		}
		k.to = int32(len(m.of))
		m.bound(c)
	}
	for i, row := range p.rows {
		m.rows[i].from = int32(len(m.in))
		for _, x := range row {
			m.in = append(m.in, mendEntry{int32(x.Column), int32(x.Value)})
		}
		m.rows[i].to = int32(len(m.in))
	}
	p.mend = m
	return m
}

// mostDeviation is the greatest deviation that is tried: up to it, floats are whole numbers, and sums do not overflow.
const mostDeviation = 1 << 50

// bound takes over the ends of a column from the component.
func (m *mending) bound(c int) {
	k := &m.columns[c]
	k.low, k.high = 0, 0
	if p := m.p; p.fixed == nil || !p.fixed[c] {
		k.low, k.high = int64(max(math.Ceil(p.Low[c]-1e-6), -mostDeviation)),
			int64(min(math.Floor(p.High[c]+1e-6), mostDeviation))
	}
}

func (m *mending) forget() {
	for _, c := range m.touched {
		k := &m.columns[c]
		k.at, k.when = 0, 0
		for _, x := range m.of[k.from:k.to] {
			m.rows[x.at].off, m.rows[x.at].place = 0, 0
		}
	}
	m.touched, m.wrong, m.now = m.touched[:0], m.wrong[:0], 1
}

func (m *mending) change(c int32, step int64) {
	if step == 0 {
		return
	}
	k := &m.columns[c]
	if k.when == 0 {
		m.touched = append(m.touched, c)
	}
	k.at += step
	k.when = max(m.now, 1)
	for _, x := range m.of[k.from:k.to] {
		r := &m.rows[x.at]
		r.off += int64(x.sign) * step
		switch was := r.place; {
		case r.off != 0 && was == 0:
			m.wrong = append(m.wrong, x.at)
			r.place = int32(len(m.wrong))
		case r.off == 0 && was != 0:
			last := m.wrong[len(m.wrong)-1]
			m.wrong[was-1], m.rows[last].place = last, was
			m.wrong, r.place = m.wrong[:len(m.wrong)-1], 0
		}
	}
}

// choose returns the column of a drawn violated row to change, and by how much; -1 if there is none.
func (m *mending) choose(j int32) (column int32, step int64) {
	row := &m.rows[m.wrong[m.below(len(m.wrong))]]
	column = -1
	best, ties := 0, 0
	blind := m.below(mendBlind) == 0
	m.work += int64(row.to - row.from)
	for _, x := range m.in[row.from:row.to] {
		k := &m.columns[x.at]
		if x.at == j || k.when > 1 && m.now-k.when < mendRest {
			continue
		}
		by := min(max(-int64(x.sign)*row.off, k.low-k.at), k.high-k.at)
		if by == 0 {
			continue
		}
		score := 0
		if !blind {
			score = m.score(k, by)
		}
		switch {
		case column < 0 || score > best:
			column, step, best, ties = x.at, by, score, 1
		case score == best:
			if ties++; m.below(ties) == 0 {
				column, step = x.at, by
			}
		}
	}
	return column, step
}

func (m *mending) score(k *mendColumn, by int64) (score int) {
	switch at := k.at; {
	case at == 0:
		score--
	case at+by == 0:
		score++
	}
	m.work += int64(k.to - k.from)
	for _, x := range m.of[k.from:k.to] {
		was := m.rows[x.at].off
		switch is := was + int64(x.sign)*by; {
		case is == 0:
			score += 4
		case was == 0:
			score -= 3
		case max(is, -is) < max(was, -was):
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
		if v := m.columns[c].at; v != 0 {
			columns, by = append(columns, c), append(by, float64(v))
		}
	}
	return columns, by
}
