package tabulate

// coincidence is the number of records that must agree, besides the first record of each
// code, before a dependence between the codes of two variables counts as not due to
// chance.
const coincidence = 20

// Determined returns pairs of variables, by their indices in Variables, that no table
// has together, and for which in all records the code of the second variable determines
// that of the first, which has several codes. Cells of the first variable are then sums
// of cells of the second, although these are not among the sums of the set.
func (a *Accumulator) Determined() (pairs [][2]int) {
	for first := range a.variables {
		for second := range a.variables {
			if first != second && !a.crossed(first, second) && a.determines(second, first) {
				pairs = append(pairs, [2]int{first, second})
			}
		}
	}
	return pairs
}

// crossed reports whether a table has both variables; their sums are then known.
func (a *Accumulator) crossed(first, second int) bool {
	for _, t := range a.set.Tables {
		n := 0
		for _, d := range t.Dimensions {
			if d.Name == a.variables[first].Name || d.Name == a.variables[second].Name {
				n++
			}
		}
		if n == 2 {
			return true
		}
	}
	return false
}

func (a *Accumulator) determines(by, what int) bool {
	leafSeen := make([]uint64, len(a.nodes[by])) // 1 + the leaf; 0: not seen yet
	seen, several := uint64(0), false
	agreed := int64(0)
	for i := range a.entries {
		var leaf [2]uint64
		key := a.entries[i].key
		for v := len(a.variables) - 1; v >= 0; v-- {
			n := uint64(len(a.nodes[v]))
			switch v {
			case by:
				leaf[0] = key % n
			case what:
				leaf[1] = 1 + key%n
			}
			key /= n
		}
		agreed += a.entries[i].records
		switch leafSeen[leaf[0]] {
		case 0:
			leafSeen[leaf[0]] = leaf[1]
			agreed--
		case leaf[1]:
		default:
			return false
		}
		several = several || seen != 0 && seen != leaf[1]
		seen = leaf[1]
	}
	return several && agreed >= coincidence
}
