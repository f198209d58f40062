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

// Beside are columns of other tables, by record in the order of Pairs.
type Beside struct {
	Columns []Seen
	// Control returns the same columns with the records of other tables put to other records than theirs, in one of
	// several ways: what they tell is what as many columns tell by chance.
	Control func(way int) []Seen
}

// controls is the number of ways in which columns are put to other records, where these do not tell as much.
const controls = 3

// WithTables returns columns that were measured by Measure with the risks, in the place of those by knowledge, of an
// intruder who also has what other tables release of each record: he tries each of several lists of columns. knowledge
// is KnowledgeRecord, or KnowledgeAllReleases where the lists are of what all releases have. No risk is below that of
// the table by itself, since he can leave the others aside. The sample must hold all records.
func (a *Accumulator) WithTables(columns []ColumnMeasures, lists []Beside, knowledge string) []ColumnMeasures {
	all := slices.Clone(columns)
	for c := range all {
		all[c].Risk = slices.Clone(all[c].Risk)
	}
	for _, list := range lists {
		with := a.withColumns(columns, list.Columns, knowledge)
		more := make([][]bool, len(all))
		var chance [][][]Risk
		for way := 0; ; way++ { // chance matters only where they tell something, and more than an earlier list
			some := false
			for c := range all {
				more[c] = tellMore(&columns[c], list.Columns, with, chance, c, knowledge)
				for i := range more[c] {
					more[c][i] = more[c][i] && isGreater(with[c][i], all[c].Risk[i])
				}
				some = some || slices.Contains(more[c], true)
			}
			if !some || way == controls {
				break
			}
			chance = append(chance, a.withColumns(columns, list.Control(way), knowledge))
		}
		for c := range all {
			for i, is := range more[c] {
				if is {
					all[c].Risk[i] = with[c][i]
				}
			}
		}
	}
	return all
}

// tellMore reports of each risk of column c by knowledge whether more columns tell more than such by chance.
func tellMore(column *ColumnMeasures, columns []Seen, with [][]Risk, chance [][][]Risk, c int,
	knowledge string) []bool {
	if with[c] == nil {
		return nil
	}
	n := float64(column.Original.N)
	more := make([]bool, len(column.Risk))
	whole := tells{n: n, least: unnamedGain}
	for _, row := range with[c] {
		for _, name := range row.Tells {
			if slices.ContainsFunc(columns, func(s Seen) bool { return s.Name == name }) {
				whole.least = leastGain
			}
		}
	}
	add := func(t *tells, i int) {
		alone := float64(column.Risk[i].R)
		t.gain = math.Log(float64(with[c][i].R) / alone)
		for _, control := range chance {
			t.chance = max(t.chance, math.Log(float64(control[c][i].R)/alone))
		}
	}
	for i, k := range column.Risk {
		if k.Knowledge == knowledge && k.Target == TargetTypical {
			add(&whole, i)
		}
	}
	for i, k := range column.Risk {
		one := tells{n: n, chance: whole.chance, least: whole.least + nearGain}
		if add(&one, i); k.Knowledge == knowledge {
			more[i] = whole.more() || one.more()
		}
	}
	return more
}

// withColumns returns the risks of masked columns with more columns, in the places of those by knowledge; nil for
// others, and where what tables of the ledger tell is not known.
func (a *Accumulator) withColumns(columns []ColumnMeasures, more []Seen, knowledge string) [][]Risk {
	list := make([][]Risk, len(columns))
	f := a.reckon(false).recordFrame(nil, 0, knowledge == KnowledgeAllReleases, more)
	if f == nil || f.not != "" {
		return list
	}
	cores.Each(len(columns), func(c int) {
		if !a.opts.Columns[c].Masked {
			return
		}
		rows := slices.DeleteFunc(slices.Clone(columns[c].Risk), func(k Risk) bool { return k.Knowledge == knowledge })
		f.add(c, &rows)
		list[c] = slices.Clone(columns[c].Risk)
		for i, k := range list[c] {
			at := slices.IndexFunc(rows, func(o Risk) bool { return o.Target == k.Target && o.Knowledge == k.Knowledge })
			if at >= 0 {
				list[c][i] = rows[at]
			}
		}
	})
	return list
}

const (
	// leastGain is what is never taken for more than chance: as a logarithm of R, for all values and per record. Of n
	// records one column that tells nothing removes 1/n of the variance by chance, and more than 9/n once in 400 times.
	leastGain     = 0.01
	unnamedGain   = 0.1 // the same if none of the columns is said to tell
	gainByRecords = 12
	nearGain      = 0.4 // of the few records that are near a target, more than of all
)

// tells compares the gain of a snooper by columns with that by columns which tell nothing.
type tells struct {
	n, least     float64
	gain, chance float64 // logarithms of ratios of R
}

// more reports whether the columns tell more than twice as much as such by chance. What is not known counts as that.
func (t *tells) more() bool {
	return !(t.gain <= 2*t.chance+t.least+gainByRecords/t.n) || math.IsInf(t.chance, 1)
}

// NoLess returns columns whose risks by all releases are not below those by the whole record of others, which are the
// same columns by what this release alone has.
func NoLess(columns, alone []ColumnMeasures) []ColumnMeasures {
	all := slices.Clone(columns)
	for c := range all {
		var rows []Risk
		for i, k := range all[c].Risk {
			switch one := alone[c].Risk[i]; k.Knowledge {
			case KnowledgeRecord:
				k = one
			case KnowledgeAllReleases:
				at := slices.IndexFunc(alone[c].Risk, func(o Risk) bool {
					return o.Target == k.Target && o.Knowledge == KnowledgeRecord
				})
				k = atLeast(k, alone[c].Risk[at])
			}
			rows = append(rows, k)
		}
		all[c].Risk = rows
	}
	return all
}

// isGreater reports whether a risk with more columns is greater than one with fewer; one that could not be measured
// counts as greater.
func isGreater(more, fewer Risk) bool {
	return fewer.R == fewer.R && (more.R != more.R || more.R > fewer.R && more.Upper() >= fewer.Upper())
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
