package tabling

// picture is the pattern of a table: which cells are published, held back and empty.
type picture struct {
	Columns, Rows int
	Width, Height int // in pixels
	Runs          []stretch
	Unsafe        bool // shows which cells are unsafe
}

// stretch is cells of one class beside each other.
type stretch struct {
	X, Y, Width int
	Class       string
}

const (
	pictureCell = 12      // greatest width and height of a cell, in pixels
	pictureMost = 720     // greatest width and height of a picture
	pictureRuns = 100_000 // greatest number of runs
)

// picture returns the pattern of a table in the usual form; nil if nothing is held back, or if there is too much of it.
func (p *protected) picture(t int, confidential bool) *picture {
	rows, last := divide(p.set.Tables[t].Dimensions)
	if last == nil {
		rows, last = nil, rows[0]
	}
	order := readingOrder(last)
	v := &picture{Columns: len(order), Unsafe: confidential}
	held := false
	for _, nodes := range rowsOf(rows) {
		at := 0
		for k, node := range nodes {
			at = at*len(rows[k].Codes) + node
		}
		before := ""
		for x, node := range order {
			class := p.class(p.set.Cell(t, at*len(last.Codes)+node), confidential)
			held = held || class != "" && class != empty
			switch {
			case class == "":
			case class == before:
				v.Runs[len(v.Runs)-1].Width++
			case len(v.Runs) == pictureRuns:
				return nil
			default:
				v.Runs = append(v.Runs, stretch{x, v.Rows, 1, class})
			}
			before = class
		}
		v.Rows++
	}
	v.Width, v.Height = min(v.Columns*pictureCell, pictureMost), min(v.Rows*pictureCell, pictureMost)
	if !held {
		return nil
	}
	return v
}
