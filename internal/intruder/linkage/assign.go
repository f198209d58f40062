package linkage

import (
	"context"
	"math"
)

// assign finds the assignment of rows to columns that has the smallest sum of
// costs, every row to a column of its own, by shortest augmenting paths after
// the reductions of Jonker and Volgenant (1987), "A shortest augmenting path
// algorithm for dense and sparse linear assignment problems", Computing 38,
// 325-340. cost holds rows × columns values row by row, finite, rows ≤ columns.
//
// It returns the column of each row, and the dual prices of the columns. With
// u of a row the least of cost − price over the columns, the duals are feasible
// and tight at the assignment up to rounding, which proves it optimal. The time
// is of the order rows²·columns at worst and far less on distances.
func assign(ctx context.Context, cost []float64, rows, columns int) (columnOf []int32, price []float64, err error) {
	s := assignment{
		cost: cost, rows: rows, columns: columns,
		price: make([]float64, columns), columnOf: make([]int32, rows), rowOf: make([]int32, columns),
	}
	for i := range s.columnOf {
		s.columnOf[i] = -1
	}
	for j := range s.rowOf {
		s.rowOf[j] = -1
	}
	free := make([]int32, 0, rows)
	// The reduction of columns gives every column a row, or prices that stay
	// positive on a column without one. It is right for square problems only:
	// in others a column without a row must have price 0 and no other less.
	if rows == columns {
		free = s.reduceColumns(free)
	} else {
		for i := range rows {
			free = append(free, int32(i))
		}
	}
	for range 2 {
		if len(free) == 0 {
			break
		}
		free = s.reduceRows(free)
	}
	search := newPath(columns)
	for _, i := range free {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		s.augment(search, i)
	}
	return s.columnOf, s.price, nil
}

type assignment struct {
	cost          []float64
	rows, columns int
	price         []float64 // of a column, the dual variable v
	columnOf      []int32   // of a row, −1: none yet
	rowOf         []int32   // of a column, −1: none yet
}

func (s *assignment) row(i int32) []float64 {
	return s.cost[int(i)*s.columns:][:s.columns]
}

// reduceColumns prices each column at its least cost and gives it to a row for
// which it is least, if that row has none; then the row's slack moves into the
// price. It appends the rows without a column to free.
func (s *assignment) reduceColumns(free []int32) []int32 {
	least := make([]int32, s.columns)
	copy(s.price, s.row(0))
	for i := int32(1); i < int32(s.rows); i++ {
		for j, c := range s.row(i) {
			if c < s.price[j] {
				s.price[j], least[j] = c, i
			}
		}
	}
	matches := make([]int32, s.rows)
	for j := s.columns - 1; j >= 0; j-- {
		i := least[j]
		if matches[i]++; matches[i] == 1 {
			s.columnOf[i], s.rowOf[j] = int32(j), i
		}
	}
	for i := range int32(s.rows) {
		switch matches[i] {
		case 0:
			free = append(free, i)
		case 1:
			own := s.columnOf[i]
			slack := math.Inf(1)
			for j, c := range s.row(i) {
				if int32(j) != own {
					slack = min(slack, c-s.price[j])
				}
			}
			if !math.IsInf(slack, 1) {
				s.price[own] -= slack
			}
		}
	}
	return free
}

// reduceRows gives each free row the column that is best for it at the current
// prices, at the price at which the second best would be as good; the row that
// had the column is free in turn. It returns the rows that are still free.
func (s *assignment) reduceRows(free []int32) []int32 {
	if s.columns < 2 {
		if len(free) > 0 && s.rowOf[0] < 0 {
			s.columnOf[free[0]], s.rowOf[0] = 0, free[0]
			return free[1:]
		}
		return free
	}
	var left []int32
	// Bids that lower prices by next to nothing may go on for ever (the note to
	// the algorithm's published code); what is free then goes to augment.
	bids := 8 * len(free)
	for k := 0; k < len(free); {
		i := free[k]
		k++
		best, second := math.Inf(1), math.Inf(1)
		bestAt, secondAt := int32(-1), int32(-1)
		for j, c := range s.row(i) {
			if h := c - s.price[j]; h < second {
				if h < best {
					second, secondAt = best, bestAt
					best, bestAt = h, int32(j)
				} else {
					second, secondAt = h, int32(j)
				}
			}
		}
		at := bestAt
		price := s.price[at] - (second - best)
		lowers := price < s.price[at]
		evicted := s.rowOf[at]
		if lowers {
			s.price[at] = price
		} else if evicted >= 0 {
			at = secondAt
			evicted = s.rowOf[at]
		}
		s.columnOf[i], s.rowOf[at] = at, i
		if evicted < 0 {
			continue
		}
		s.columnOf[evicted] = -1
		if bids--; lowers && bids > 0 {
			k--
			free[k] = evicted
		} else {
			left = append(left, evicted)
		}
	}
	return left
}

// path is the working memory of a search for a shortest augmenting path.
type path struct {
	distance []float64 // of a column from the free row, in reduced costs; +Inf once it is final
	price    []float64 // of a column, −Inf once its distance is final, so that it is found no more
	from     []int32   // of a column, the row before it on the path
	final    []int32   // columns whose distance is final
	at       []float64 // the distances of those
}

func newPath(columns int) *path {
	return &path{distance: make([]float64, columns), price: make([]float64, columns), from: make([]int32, columns)}
}

// augment gives the free row a column along a shortest path in reduced costs,
// by Dijkstra's algorithm, and lowers the prices of the columns passed so that
// the duals stay feasible. Rows are read from end to end: to pass over the
// columns that are final costs less than to jump between the rest.
func (s *assignment) augment(p *path, free int32) {
	copy(p.price, s.price)
	p.final, p.at = p.final[:0], p.at[:0]
	for j := range p.distance {
		p.distance[j] = math.Inf(1)
	}
	i, base := free, 0.0
	var end int32
	var reach float64
	for {
		row := s.row(i)
		least, at := math.Inf(1), int32(-1)
		price, distance, from := p.price[:len(row)], p.distance[:len(row)], p.from[:len(row)]
		for j, c := range row {
			d := distance[j]
			if by := c - price[j] - base; by < d {
				d = by
				distance[j], from[j] = d, i
			}
			// Of equals, a column that is free ends the search.
			if d <= least && (d < least || s.rowOf[j] < 0) {
				least, at = d, int32(j)
			}
		}
		if s.rowOf[at] < 0 {
			end, reach = at, least
			break
		}
		p.final, p.at = append(p.final, at), append(p.at, least)
		p.price[at], p.distance[at] = math.Inf(-1), math.Inf(1)
		i = s.rowOf[at]
		base = s.cost[int(i)*s.columns+int(at)] - s.price[at] - least
	}
	for k, j := range p.final {
		s.price[j] += p.at[k] - reach
	}
	for j := end; ; {
		i := p.from[j]
		s.rowOf[j] = i
		s.columnOf[i], j = j, s.columnOf[i]
		if i == free {
			return
		}
	}
}
