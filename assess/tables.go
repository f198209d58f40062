package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// Whole reports whether the sample holds all records.
func (a *Accumulator) Whole() bool { return int64(a.sample.Len()) == a.records }

// WithTables returns columns that were measured by Measure with the risks, in the place of those by the whole record,
// of an intruder who also has what other tables release of each record: lists of columns by record in the order of
// Pairs, each of which he tries. No risk is below that of the table by itself, since he can leave the others aside. The
// sample must hold all records.
func (a *Accumulator) WithTables(columns []ColumnMeasures, lists [][]Seen) []ColumnMeasures {
	all := slices.Clone(columns)
	for c := range all {
		all[c].Risk = slices.Clone(all[c].Risk)
	}
	for _, more := range lists {
		f := a.reckon(false).recordFrame(nil, 0, false, more)
		if f == nil {
			return all
		}
		cores.Each(len(all), func(c int) {
			if !a.opts.Columns[c].Masked {
				return
			}
			rows := slices.DeleteFunc(slices.Clone(columns[c].Risk), func(k Risk) bool { return k.Knowledge == KnowledgeRecord })
			f.add(c, &rows)
			for i := range all[c].Risk {
				row := &all[c].Risk[i]
				at := slices.IndexFunc(rows, func(k Risk) bool { return k.Target == row.Target && k.Knowledge == KnowledgeRecord })
				if row.Knowledge == KnowledgeRecord && at >= 0 {
					*row = worse(rows[at], *row)
				}
			}
		})
	}
	return all
}

// worse returns the greater of a risk with more columns and one with fewer; one that could not be measured counts as
// greater. What is fitted to columns that tell nothing is not greater.
func worse(more, fewer Risk) Risk {
	const noise = 1.001
	switch {
	case fewer.R != fewer.R:
		return fewer
	case more.R != more.R, float64(more.R) > noise*float64(fewer.R) && more.Upper() >= fewer.Upper():
		return more
	}
	return fewer
}

// further returns columns of other tables for the rows of the frame, of which those that hold targets stand behind.
func (f *recordFrame) further(more []Seen, holders []*sample.Extreme) (list []joint.Column) {
	if len(more) == 0 {
		return nil
	}
	rows := slices.Clone(f.rows)
	for _, h := range holders {
		rows = append(rows, f.rowOf(h))
	}
	for _, column := range more {
		values := make([]float64, len(rows))
		for k, i := range rows {
			if values[k] = math.NaN(); i >= 0 {
				values[k] = column.Values[i]
			}
		}
		list = append(list, joint.Column{Name: column.Name, Values: cell.KnownValues(values)})
	}
	return list
}

// rowOf returns the place in the sample of a record; −1 if it is not there.
func (f *recordFrame) rowOf(e *sample.Extreme) int32 {
	for i, row := range f.data.Row {
		if row == e.Row && f.data.From[i].Compare(e.From) == 0 {
			return int32(i)
		}
	}
	return -1
}
