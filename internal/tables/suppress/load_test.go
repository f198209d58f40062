package suppress

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// load reads a test problem: the parents of the nodes of each dimension, then the counts of the inner
// cells. A count of 1 or 2 is primary and needs a protection of ± around.
func load(t testing.TB, name string, around float64) (audit.Question, *primary.Result) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var dims []*tables.Dimension
	var inner []float64
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		fields := strings.Fields(line)
		if fields[0] != "parents" {
			for _, f := range fields {
				v, err := strconv.ParseFloat(f, 64)
				if err != nil {
					t.Fatal(err)
				}
				inner = append(inner, v)
			}
			continue
		}
		var h tables.Hierarchy
		for i, p := range fields[1:] {
			e := tables.Edge{Child: fmt.Sprint("n", i+1)}
			if p != "0" {
				e.Parent = "n" + p
			}
			h.Edges = append(h.Edges, e)
		}
		d, problems := tables.NewDimension(fmt.Sprint("d", len(dims)), "n0", h)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		dims = append(dims, d)
	}
	set, problems := tables.NewSet(tables.Table{Name: name, Dimensions: dims})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return fill(set, inner, around)
}

// fill computes all cells from the inner cells, which are given in the order of the table.
func fill(set *tables.Set, inner []float64, around float64) (audit.Question, *primary.Result) {
	n := set.Cells()
	q := audit.Question{Set: set, Value: make([]float64, n), Hidden: make([]bool, n), Counts: true}
	p := &primary.Result{Status: make([]tables.Status, n), Up: make([]float64, n), Down: make([]float64, n)}
	for i, above := range cellsAbove(set) {
		for _, c := range above {
			q.Value[c] += inner[i]
		}
	}
	for cell, v := range q.Value {
		if v == 1 || v == 2 {
			p.Status[cell], p.Up[cell], p.Down[cell] = tables.Primary, around, min(around, v)
		}
	}
	return q, p
}

// respondents returns who knows the counts of a table in which each unit of an inner cell is a
// respondent.
func respondents(q audit.Question, coalition int) *tables.Knowers {
	cells := tables.NewCells(q.Set, 0, 0)
	cells.Identify(coalition)
	next := uint64(0)
	for _, above := range cellsAbove(q.Set) {
		inner := q.Value[0]
		for _, c := range above {
			inner = min(inner, q.Value[c])
		}
		var who []uint64
		for range int(inner) {
			who = append(who, next)
			next++
		}
		for _, c := range above {
			cells.Contribute(c, int64(len(who)), who)
		}
	}
	return tables.NewKnowers(coalition, cells)
}
