package tabling

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/workbook"
)

// sheets returns how the cells of all tables lie in the sheets of a workbook: in the usual form, or, with one
// variable, its codes in rows.
func (r *records) sheets(list []*protected) (sheets []workbook.Sheet) {
	for i := range r.config.Tables {
		p, t := tableOf(list, i)
		rows, columns := divide(p.set.Tables[t].Dimensions)
		s := workbook.Sheet{Name: p.set.Tables[t].Name, Caption: p.caption(r.config.Tables[i].Value),
			Decimals: p.options.Decimals}
		for _, d := range rows {
			s.Variables = append(s.Variables, d.Name)
		}
		order := []int{0}
		if columns == nil {
			s.Columns = []string{"value"}
		} else {
			order = readingOrder(columns)
			for _, node := range order {
				s.Columns = append(s.Columns, columns.Codes[node])
			}
		}
		s.Place = make([]int32, p.size(t))
		for i, nodes := range rowsOf(rows) {
			at := 0
			var row []workbook.Label
			for k, node := range nodes {
				row = append(row, workbook.Label{Code: rows[k].Codes[node], Depth: rows[k].Depth(node)})
				at = at*len(rows[k].Codes) + node
			}
			s.Rows = append(s.Rows, row)
			for k, node := range order {
				s.Place[at*len(order)+node] = int32(i*len(order) + k)
			}
		}
		sheets = append(sheets, s)
	}
	return sheets
}

// divide divides the variables of a table into those in rows and the one in columns, nil if there is only one variable.
func divide(dimensions []*tables.Dimension) (rows []*tables.Dimension, columns *tables.Dimension) {
	last := len(dimensions) - 1
	if last == 0 {
		return dimensions, nil
	}
	return dimensions[:last], dimensions[last]
}

// fits demands that the sheets of a workbook have room for the tables of a family.
func (r *records) fits(f *family) {
	if _, is := r.config.Sink.Config.(*workbook.SinkConfig); !is || f.set == nil {
		return
	}
	for t, i := range f.of {
		rows, columns := divide(f.set.Tables[t].Dimensions)
		n, width := 1, 1
		for _, d := range rows {
			n *= len(d.Codes)
		}
		if columns != nil {
			width = len(columns.Codes)
		}
		if why := workbook.TooLarge(n, width, len(rows)); why != "" {
			r.wrong(fmt.Sprintf("tables[%d].rows", i), "%s", why)
		}
	}
}
