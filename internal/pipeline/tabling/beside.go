package tabling

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// mostEntered is the number of cells of a table up to which a ledger says how they add up.
const mostEntered = 100_000

// adding returns how the cells of a table add up, and which of them are held back, for a ledger; none of a large one.
func (p *protected) adding(t *tabulation.Config, table int) (variables []ledger.Variable, hidden []int64) {
	if p.size(table) > mostEntered {
		return nil, nil
	}
	for _, d := range p.set.Tables[table].Dimensions {
		v := ledger.Variable{Column: t.Variable(d.Name).Leaf()}
		leaf := map[int32]int32{}
		for _, node := range d.Leaves(0) {
			leaf[node] = int32(len(v.Leaves))
			v.Leaves = append(v.Leaves, d.Codes[node])
		}
		for node := range d.Codes {
			var below []int32
			for _, n := range d.Leaves(node) {
				below = append(below, leaf[n])
			}
			slices.Sort(below)
			v.Nodes = append(v.Nodes, below)
		}
		variables = append(variables, v)
	}
	for at := range p.size(table) {
		if p.hidden(p.set.Cell(table, at)) {
			hidden = append(hidden, int64(at))
		}
	}
	return variables, hidden
}
