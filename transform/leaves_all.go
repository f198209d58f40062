package transform

// LeavingAll is implemented by masks whose parameters can be such that they leave every value of
// every column as it is. Such a mask protects nothing: a sensitive column needs another one.
type LeavingAll interface{ LeavesAll() bool }

// LeavesAll reports whether a mask leaves every value as it is, whatever the data are. It is
// false for a mask that is not LeavingAll.
func LeavesAll(p Params) bool {
	m, ok := p.(LeavingAll)
	return ok && m.LeavesAll()
}

// LeavesAll implements LeavingAll: each category is kept with probability 1, or is the only one
// of an invariant matrix.
func (m *PRAM) LeavesAll() bool {
	if m.Invariant && m.Frequencies != nil {
		there := 0
		for _, n := range m.Frequencies {
			if n > 0 {
				there++
			}
		}
		if there < 2 {
			return true
		}
	}
	if m.Keep != nil {
		return *m.Keep >= 1
	}
	for from, row := range m.Matrix {
		if !(row[from] >= 1) {
			return false
		}
	}
	return true
}

// LeavesAll implements LeavingAll: each category that is listed becomes itself, and one that is
// not goes to quarantine.
func (m *Recode) LeavesAll() bool {
	if m.Other != nil || m.Breaks != nil {
		return false
	}
	for _, table := range []map[string]string{m.Map, m.Table} {
		for from, to := range table {
			if from != to {
				return false
			}
		}
	}
	return true
}

// LeavesAll implements LeavingAll: no record is drawn.
func (m *Swap) LeavesAll() bool { return m.Rate != nil && *m.Rate == 0 }
