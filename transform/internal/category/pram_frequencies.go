package category

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

func (m *PRAM) needsFrequencies() string {
	if m.Invariant && m.Frequencies == nil {
		return "invariant"
	}
	return ""
}

func (m *PRAM) checkStrata(ps *check.Problems) {
	core.CheckStrata(ps, m.By, m.Columns)
	switch {
	case m.By == nil:
	case !m.Invariant:
		ps.Addf("by", "must be left out without invariant: the matrix is the same in all strata")
	case m.Frequencies != nil:
		ps.Addf("by",
			"must be left out with frequencies, which are those of all records; without frequencies they are counted in each stratum")
	}
}

// CheckAmong: no earlier mask may change the columns whose frequencies are
// counted, because these are counted in the source.
func (m *PRAM) CheckAmong(masks []core.Spec, i int) check.Problems {
	var ps check.Problems
	if m.needsFrequencies() == "" {
		return nil
	}
	for k, before := range masks[:i] {
		if before.Params == nil {
			continue
		}
		at := fmt.Sprintf("[%d].pram", i)
		if core.LeavesOut(before.Params) && len(before.Params.Reads()) > 0 {
			ps.Addf(at,
				"must have frequencies after %s, whose rates differ between records: without them the frequencies of all records would be counted", core.Describe(masks, k))
		}
		for _, name := range append(slices.Clone(m.Columns), m.By...) {
			if slices.Contains(before.Params.Masks(), name) {
				ps.Addf(at,
					"must come before %s, which changes column %q: the frequencies are counted in the original; or give frequencies",
					core.Describe(masks, k), name)
			}
		}
	}
	return ps
}

func (m *PRAM) newFrequencies(columns []core.ColumnInfo) (map[string]*core.Frequencies, error) {
	info := func(name string) *core.ColumnInfo {
		for i := range columns {
			if columns[i].Name == name {
				return &columns[i]
			}
		}
		return nil
	}
	list := map[string]*core.Frequencies{}
	for _, name := range m.Columns {
		f := &core.Frequencies{Categories: map[float64]int32{}, Other: core.Unlisted, StratumOf: map[string]int32{},
			ColumnName: name}
		of := info(name)
		if of == nil {
			return nil, fmt.Errorf("columns: there is no column %s", strconv.Quote(name))
		}
		f.Column = of.Index
		for k, text := range m.Listed() {
			code, err := core.CodeOf(text, of.Field.Numeric())
			if err != nil {
				return nil,
					fmt.Errorf("categories: column %s holds numbers, and %s is none", strconv.Quote(name), strconv.Quote(text))
			}
			f.Categories[code] = int32(k)
			if m.Other != nil && text == *m.Other {
				f.Other = int32(k)
			}
		}
		for i, name := range m.By {
			by := info(name)
			if by == nil {
				return nil, fmt.Errorf("by[%d]: there is no column %s", i, strconv.Quote(name))
			}
			if !coding.Movable(by.Field.Type) {
				return nil, fmt.Errorf("by[%d]: column %s must have a scalar type to be compared, got %s", i, strconv.Quote(name),
					microdata.TypeName(by.Field.Type))
			}
			f.By = append(f.By, by.Index)
		}
		list[frequenciesName(m, name)] = f
	}
	return list, nil
}

// frequenciesName returns the key of a column's counts in Setup.Frequencies. It depends on all
// parameters that change the counts.
func frequenciesName(m *PRAM, column string) string {
	other := ""
	if m.Other != nil {
		other = "other " + strconv.Quote(*m.Other)
	}
	return fmt.Sprintf("%q by %q of %q %s", column, m.By, m.Listed(), other)
}
