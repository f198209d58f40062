package transform

// LeavesAll reports whether a mask leaves every value as it is, whatever the data are. It is
// false for a mask that does not say so. A sensitive column needs another mask.
func LeavesAll(p Params) bool {
	leaves := declared(p).LeavesAll
	return leaves != nil && leaves()
}

// leavesAll: each category is kept with probability 1, or is the only one
// of an invariant matrix.
func (m *PRAM) leavesAll() bool {
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

// leavesAll: each category that is listed becomes itself, and one that is
// not goes to quarantine.
func (m *Recode) leavesAll() bool {
	if m.Other != nil || m.Breaks != nil || m.Prefix != nil {
		return false
	}
	for _, table := range []map[string]string{m.list()} {
		for from, to := range table {
			if from != to || isPattern(from) {
				return false
			}
		}
	}
	return true
}
