package audit

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// Near searches for a table in which column j deviates by d (for values by at least d) and only
// columns near it deviate, at most most columns in all. It solves linear programs over
// neighbourhoods of column j, each several times as large as the one before. The time of a
// program grows much faster than its number of columns, so this is faster whenever a component
// is much larger. It returns the columns that deviate and their deviations, or nil if no table
// was found; there may be one with more distant columns.
func (p *Component) Near(j int, d float64, most int) (columns []int32, by []float64) {
	if p.fixed != nil && p.fixed[j] || d < p.Low[j]-rounding(d) || d > p.High[j]+rounding(d) {
		return nil, nil
	}
	g := p.neighbourhood()
	defer g.clear()
	g.add(int32(j))
	for size, members := nearFirst, nearMembers; ; size, members = size*nearGrowth, members*2 {
		more := g.grow(min(size, most), members)
		if columns, by = g.solve(j, d); columns != nil || size >= most || !more {
			return columns, by
		}
	}
}

const (
	nearFirst   = 35 // columns of the first neighbourhood
	nearGrowth  = 3  // how many times as many the next one has
	nearMembers = 2  // number of columns of each sum that the first neighbourhood includes
)

// neighbourhood is a set of columns that grows around one.
type neighbourhood struct {
	p       *Component
	columns []int32
	local   []int32 // of a column: 1 + its index in columns; 0 outside
	rows    []int32 // rows of these columns, in the order of discovery
	members []int32 // of a row: number of its columns in the neighbourhood
	outside []int32 // of a column: minus the number of its rows in rows
	seen    []int32 // columns with outside not 0
	pick    []int32
}

func (p *Component) neighbourhood() *neighbourhood {
	if p.around == nil {
		n := len(p.Cells)
		p.around = &neighbourhood{p: p, local: make([]int32, n), outside: make([]int32, n),
			members: make([]int32, len(p.rows))}
	}
	return p.around
}

func (g *neighbourhood) clear() {
	for _, c := range g.columns {
		g.local[c] = 0
	}
	for _, i := range g.rows {
		g.members[i] = 0
	}
	for _, c := range g.seen {
		g.outside[c] = 0
	}
	g.columns, g.rows, g.seen = g.columns[:0], g.rows[:0], g.seen[:0]
}

// add adds column c to the neighbourhood.
func (g *neighbourhood) add(c int32) {
	g.columns = append(g.columns, c)
	g.local[c] = int32(len(g.columns))
	for _, i := range g.p.rowsOf(int(c)) {
		if g.members[i]++; g.members[i] > 1 {
			continue
		}
		g.rows = append(g.rows, i)
		for _, x := range g.p.rows[i] {
			if g.outside[x.Column] == 0 {
				g.seen = append(g.seen, int32(x.Column))
			}
			g.outside[x.Column]--
		}
	}
}

// grow visits the sums in the order of discovery and adds columns until the neighbourhood has
// size columns and members columns of each sum. It prefers columns with the fewest undiscovered
// sums and, among these, the ones with the most room. It returns whether more columns could be
// added.
func (g *neighbourhood) grow(size, members int) (more bool) {
	for n := 0; n < len(g.rows); n++ {
		i := g.rows[n]
		if len(g.columns) >= size {
			return true
		}
		if int(g.members[i]) >= members {
			more = more || int(g.members[i]) < len(g.p.rows[i])
			continue
		}
		g.pick = g.pick[:0]
		for _, x := range g.p.rows[i] {
			if c := int32(x.Column); g.local[c] == 0 && !(g.p.fixed != nil && g.p.fixed[c]) {
				g.pick = append(g.pick, c)
			}
		}
		slices.SortFunc(g.pick, func(a, b int32) int {
			return cmp.Or(cmp.Compare(g.unmet(a), g.unmet(b)), cmp.Compare(g.room(b), g.room(a)), cmp.Compare(a, b))
		})
		for _, c := range g.pick[:min(len(g.pick), members-int(g.members[i]), size-len(g.columns))] {
			g.add(c)
		}
		more = more || int(g.members[i]) < len(g.p.rows[i])
	}
	return more
}

func (g *neighbourhood) unmet(c int32) int { return len(g.p.rowsOf(int(c))) + int(g.outside[c]) }

func (g *neighbourhood) room(c int32) float64 { return min(-g.p.Low[c], g.p.High[c]) }

// solve maximises the deviation of column j up to d, or minimises it for d below 0, with all
// columns outside the neighbourhood fixed. It returns the columns that deviate and their
// deviations, nil if d is not reached.
func (g *neighbourhood) solve(j int, d float64) (columns []int32, by []float64) {
	in, rows := g.tied()
	at := slices.Index(in, int32(j))
	if at < 0 {
		return nil, nil
	}
	lower, upper := make([]float64, len(in)), make([]float64, len(in))
	for k, c := range in {
		lower[k], upper[k] = g.p.Low[c], g.p.High[c]
	}
	a, err := lp.NewMatrix(len(in), rows)
	if err != nil {
		return nil, nil
	}
	s, err := lp.New(a, lower, upper)
	if err != nil {
		return nil, nil
	}
	s.Stop = g.p.q.Stop
	s.ToVertex = g.p.counts
	v, err := optimize(s, at, d > 0, math.Abs(d))
	if err != nil && !errors.Is(err, lp.ErrStalled) || !(math.Abs(v) >= math.Abs(d)-rounding(d)) || v*d < 0 {
		return nil, nil
	}
	z := s.Point()
	if g.p.counts && !whole(z) {
		return nil, nil
	}
	for k, c := range in {
		if v := z[k]; g.p.counts && math.Round(v) != 0 || !g.p.counts && math.Abs(v) > 1e-9 {
			columns, by = append(columns, c), append(by, v)
		}
	}
	return columns, by
}

// tied returns the columns that can deviate if no column outside does, and their sums.
func (g *neighbourhood) tied() (in []int32, rows [][]lp.Entry) {
	still, left := g.free()
	number := make([]int32, len(g.columns))
	for k, c := range g.columns {
		if still[k] {
			number[k] = int32(len(in))
			in = append(in, c)
		}
	}
	for k, i := range g.rows {
		if left[k] == 0 {
			continue
		}
		var row []lp.Entry
		for _, x := range g.p.rows[i] {
			if m := g.local[x.Column] - 1; m >= 0 && still[m] {
				row = append(row, lp.Entry{Column: int(number[m]), Value: x.Value})
			}
		}
		rows = append(rows, row)
	}
	return in, rows
}

// free reports which columns can deviate if no column outside does, and how many of them each
// row has. If only one column of a row could deviate, it cannot; this is applied repeatedly,
// because it can leave one column in other rows.
func (g *neighbourhood) free() (still []bool, left []int32) {
	left = make([]int32, len(g.rows))
	place := make(map[int32]int32, len(g.rows))
	for k, i := range g.rows {
		left[k], place[i] = g.members[i], int32(k)
	}
	still = make([]bool, len(g.columns))
	for k := range still {
		still[k] = true
	}
	var queue []int32
	for k := range g.rows {
		if left[k] == 1 {
			queue = append(queue, int32(k))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, x := range g.p.rows[g.rows[queue[0]]] {
			k := g.local[x.Column] - 1
			if k < 0 || !still[k] {
				continue
			}
			still[k] = false
			for _, i := range g.p.rowsOf(x.Column) {
				if r := place[i]; left[r] > 0 {
					if left[r]--; left[r] == 1 {
						queue = append(queue, r)
					}
				}
			}
		}
	}
	return still, left
}
