package figure

// legendItem is one entry below the map.
type legendItem struct {
	draw func(x, y float64)
	text string
}

func (f *ruFrame) legendItems() []legendItem {
	var items []legendItem
	meaning := []struct{ knowledge, text string }{
		{"index", "index: which record is the target’s"},
		{"position", "position: the target’s rank"},
		{"mean", "mean: only that it is in the data"},
		{"order", "order: the records in the source’s order"},
	}
	for _, k := range meaning {
		for _, p := range f.m.Points {
			if p.Knowledge == k.knowledge {
				items = append(items, legendItem{func(x, y float64) { f.marker(k.knowledge, x+9, y, 5) }, k.text})
				break
			}
		}
	}
	if len(f.m.Lines) > 0 || f.m.MinEfficiency > 0 {
		admissible := "admissible to every rule"
		if f.panel {
			admissible = "admissible to the rules drawn"
		}
		items = append(items, legendItem{func(x, y float64) { f.rect("admissible swatch", x, y-6, 18, 12) }, admissible})
	}
	for _, c := range f.m.Curves {
		if c.Style.Colour == 0 {
			items = append(items, legendItem{func(x, y float64) { f.line("curve", x, y, x+18, y) }, c.Label})
		}
	}
	return append(items, f.keys()...)
}

// rowHeight is the height of a row of a legend.
const rowHeight = 20.0

// legendPlaces returns the x and the row of each entry. It fills rows of the given
// width in order.
func legendPlaces(items []legendItem, width float64) (xs []float64, rows []int) {
	x, row := 0.0, 0
	limit := width - 8
	for _, item := range items {
		w := 26 + 6.1*float64(Cells(item.text)) + 18
		if x > 0 && x+w-18 > limit {
			x, row = 0, row+1
		}
		xs, rows = append(xs, 6+x), append(rows, row)
		x += w
	}
	return xs, rows
}

func legendRows(items []legendItem, width float64) int {
	_, rows := legendPlaces(items, width)
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1] + 1
}

// legend writes the entries below y.
func (d *drawing) legend(items []legendItem, width, y float64) {
	xs, rows := legendPlaces(items, width)
	for i, item := range items {
		y := y + rowHeight*float64(rows[i])
		item.draw(xs[i], y-4)
		d.text("legend", "start", xs[i]+26, y, Cut(item.text, max(8, int((width-38)/6.1))))
	}
}
