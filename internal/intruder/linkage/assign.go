package linkage

import (
	"context"
	"math"
)

// assign finds the assignment of rows to distinct columns that has the smallest sum of
// costs. It uses shortest augmenting paths after the reductions of Jonker and Volgenant
// (1987), "A shortest augmenting path algorithm for dense and sparse linear assignment
// problems", Computing 38, 325-340. cost holds rows × columns finite values, row by
// row, with rows ≤ columns.
//
// It returns the column of each row and the dual prices of the columns. If u of a row
// is the least of cost − price over the columns, the duals are feasible, and tight at
// the assignment, up to rounding; this proves that the assignment is optimal. The time
// is of the order rows²·columns at worst and far less on distances. The only error is
// that of ctx.
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
	// The reduction of columns may leave a positive price on a column without a row.
	// This is correct for square problems only: in other problems a column without a
	// row must have price 0, and no other price may exceed 0.
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
	columnOf      []int32   // of a row; −1: not assigned yet
	rowOf         []int32   // of a column; −1: not assigned yet
}

func (s *assignment) row(i int32) []float64 {
	return s.cost[int(i)*s.columns:][:s.columns]
}

// reduceColumns sets the price of each column to its least cost and assigns the column
// to a row with this cost, if that row has no column yet. For a row that was least in
// one column only it then subtracts the row's slack from the price of that column. It
// appends the rows without a column to free and returns free.
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

// reduceRows assigns to each free row the column that is best for it at the current
// prices, and lowers the price of this column until the second best column is equally
// good. A row that had the column before becomes free. It returns the rows that are
// still free.
func (s *assignment) reduceRows(free []int32) []int32 {
	if s.columns < 2 {
		if len(free) > 0 && s.rowOf[0] < 0 {
			s.columnOf[free[0]], s.rowOf[0] = 0, free[0]
			return free[1:]
		}
		return free
	}
	var left []int32
	// Bids that lower prices by almost nothing may continue for very long (note to the
	// algorithm's published code), so their number is limited; the caller passes the
	// rows that are still free to augment.
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
	distance []float64 // from the free row to a column, in reduced costs; +Inf once it is final
	price    []float64 // of a column; −Inf once its distance is final, so that the search does not select it again
	from     []int32   // for each column, the row before it on the path
	final    []int32   // columns whose distance is final
	at       []float64 // the distances of the columns in final
}

func newPath(columns int) *path {
	return &path{distance: make([]float64, columns), price: make([]float64, columns), from: make([]int32, columns)}
}

// augment assigns a column to the free row along a shortest path in reduced costs
// (Dijkstra's algorithm) and lowers the prices of the columns with a final distance so
// that the duals stay feasible. It reads each row from end to end, because this is
// faster than to skip the final columns.
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
			// Among equal distances, a free column is preferred, because it ends the
			// search.
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
