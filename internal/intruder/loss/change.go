package loss

import "math"

// Change measures the changes of the cells of a column or of all columns. x is an
// original value, y the released one.
type Change struct {
	// IL1 is Σ 100·|x−y|/|x| over the cells with x ≠ 0, in percent: sdcMicro's IL1.
	// It does not see damage to zeros; see Relative.
	IL1 float64 `json:"il1" doc:"sum of 100·|x−y|/|x| over the cells with x ≠ 0"`
	// IL1s is Σ |x−y|/(√2·S_x) over the cells with both values, S_x with divisor
	// n−1 (Yancey, Winkler & Creecy 2002; Mateo-Sanz, Sebé & Domingo-Ferrer 2004).
	// It is a sum and grows in proportion to the number of records.
	IL1s float64 `json:"il1s"`
	// PerCell is IL1s divided by the number n·p of all cells, as sdcMicro's IL1old: a
	// cell that is missing on one side counts as unchanged. A completely suppressed
	// column has PerCell 0; see PerComparedCell and Cells.Lost.
	PerCell float64 `json:"il1s_per_cell"`
	// PerComparedCell is IL1s divided by the number of the cells that it sums.
	PerComparedCell float64 `json:"il1s_per_compared_cell"`
	// Relative is the mean over the cells with both values of |x−y|/max(|x|, |y|),
	// and 0 where both are 0. A zero that changed counts 1, and so does a value that
	// became 0. A value that changed its sign counts up to 2. A small change of x
	// counts about |x−y|/|x|, as in IL1. No compared cell is omitted, and no cell
	// counts more than 2.
	Relative float64 `json:"relative" doc:"mean of |x−y|/max(|x|, |y|) over the cells, 0 where both are 0"`
	Cells    Cells   `json:"cells"`

	relative float64
}

// Cells counts the cells behind a Change.
type Cells struct {
	All         int64 `json:"all"`
	Compared    int64 `json:"compared"`     // with both values
	Lost        int64 `json:"lost"`         // with an original value only
	Gained      int64 `json:"gained"`       // with a released value only
	Moved       int64 `json:"moved"`        // x ≠ y
	Zeros       int64 `json:"zeros"`        // compared, x = 0
	ZerosMoved  int64 `json:"zeros_moved"`  // of these, y ≠ 0
	Unscaled    int64 `json:"unscaled"`     // compared, but S_x is 0 or unknown: not in IL1s
	UnscaledOff int64 `json:"unscaled_off"` // of these, x ≠ y
}

// changeOf compares the two sides of a column. sd is S_x, NaN if it is unknown.
func changeOf(original, released []float64, sd float64) Change {
	var c Change
	var relative, percent, size float64
	cells := Cells{All: int64(len(original))}
	released = released[:len(original)]
	for i, x := range original {
		y := released[i]
		d := math.Abs(x - y)
		if d != d {
			switch {
			case x == x:
				cells.Lost++
			case y == y:
				cells.Gained++
			}
			continue
		}
		cells.Compared++
		if x == 0 {
			cells.Zeros++
		}
		if d == 0 {
			continue
		}
		cells.Moved++
		size += d
		ax := math.Abs(x)
		if ax == 0 {
			cells.ZerosMoved++
		} else {
			percent += 100 * d / ax
		}
		relative += d / max(ax, math.Abs(y))
	}
	c.IL1, c.relative = percent, relative
	if sd > 0 {
		c.IL1s = size / (sd * math.Sqrt2)
	} else {
		cells.Unscaled, cells.UnscaledOff = cells.Compared, cells.Moved
	}
	c.Cells = cells
	c.finish()
	return c
}

func (c *Change) add(o Change) {
	c.IL1 += o.IL1
	c.IL1s += o.IL1s
	c.relative += o.relative
	a, b := &c.Cells, o.Cells
	a.All += b.All
	a.Compared += b.Compared
	a.Lost += b.Lost
	a.Gained += b.Gained
	a.Moved += b.Moved
	a.Zeros += b.Zeros
	a.ZerosMoved += b.ZerosMoved
	a.Unscaled += b.Unscaled
	a.UnscaledOff += b.UnscaledOff
}

func (c *Change) finish() {
	if c.Cells.All > 0 {
		c.PerCell = c.IL1s / float64(c.Cells.All)
	}
	if n := c.Cells.Compared - c.Cells.Unscaled; n > 0 {
		c.PerComparedCell = c.IL1s / float64(n)
	}
	if c.Cells.Compared > 0 {
		c.Relative = c.relative / float64(c.Cells.Compared)
	}
}
