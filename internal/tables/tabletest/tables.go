// Package tabletest provides small tables for tests, and enumerates all tables of whole
// numbers that agree with the published cells, by brute force that shares no code with
// what it checks.
package tabletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// Dimension returns a dimension; a problem ends the test.
func Dimension(t testing.TB, name string, h ...tables.Hierarchy) *tables.Dimension {
	t.Helper()
	d, problems := tables.NewDimension(name, "", h...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

// Flat returns a dimension of the codes 1 to n and their total.
func Flat(t testing.TB, name string, n int) *tables.Dimension {
	var codes []string
	for i := range n {
		codes = append(codes, fmt.Sprint(i+1))
	}
	return Dimension(t, name, tables.Flat("", codes))
}

// Set returns the set of the tables; a problem ends the test.
func Set(t testing.TB, ts ...tables.Table) *tables.Set {
	t.Helper()
	set, problems := tables.NewSet(ts...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

// Leaves returns, for every cell, the inner cells whose sum it is, from the codes
// only.
func Leaves(set *tables.Set) (inner []int, of [][]int) {
	of = make([][]int, set.Cells())
	for at := range set.Cells() {
		table, nodes := set.Home(at)
		leaf := table == 0
		for k, n := range nodes {
			leaf = leaf && set.Tables[table].Dimensions[k].IsLeaf(n)
		}
		if leaf {
			inner = append(inner, at)
		}
	}
	for cell := range set.Cells() {
		table, nodes := set.Home(cell)
		for _, leaf := range inner {
			_, at := set.Home(leaf)
			under := true
			for k, n := range nodes {
				d := set.Tables[table].Dimensions[k]
				for m, o := range set.Tables[0].Dimensions {
					if o.Name == d.Name {
						code, _ := d.Node(o.Codes[at[m]])
						under = under && slices.Contains(d.Leaves(n), int32(code))
					}
				}
			}
			if under {
				of[cell] = append(of[cell], leaf)
			}
		}
	}
	return inner, of
}

// Enumerated enumerates all tables of whole numbers that agree with the published
// cells, and returns the least and the greatest value of each cell, and all its values.
func Enumerated(q audit.Question) (low, high []float64, taken []map[float64]bool) {
	e := enumeration{q: q, x: make([]float64, len(q.Value)), last: make([]int, len(q.Value)),
		fixed: make([][]int, len(q.Value))}
	e.inner, e.of = Leaves(q.Set)
	e.low, e.high, e.values = make([]float64, len(q.Value)), make([]float64, len(q.Value)),
		make([]map[float64]bool, len(q.Value))
	for c := range e.low {
		e.low[c], e.high[c] = math.Inf(1), math.Inf(-1)
	}
	for c, leaves := range e.of {
		e.last[c], e.values[c] = leaves[len(leaves)-1], map[float64]bool{}
		for _, l := range leaves {
			if !q.Hidden[c] {
				e.fixed[l] = append(e.fixed[l], c)
			}
		}
	}
	e.fill(0)
	return e.low, e.high, e.values
}

// enumeration enumerates the tables that agree with the published cells.
type enumeration struct {
	q         audit.Question
	inner     []int     // inner cells
	of        [][]int   // inner cells of a cell
	last      []int     // the last inner cell of a cell
	fixed     [][]int   // published cells of an inner cell
	x         []float64 // of inner cells: the present table
	low, high []float64
	values    []map[float64]bool
}

// fill assigns every possible value to the inner cells from the i-th on.
func (e *enumeration) fill(i int) {
	if i == len(e.inner) {
		e.take()
		return
	}
	cell := e.inner[i]
	from, to := 0.0, e.q.Value[0]
	if !e.q.Hidden[cell] {
		from, to = e.q.Value[cell], e.q.Value[cell]
	}
	if e.q.Upper != nil {
		to = min(to, e.q.Upper[cell])
	}
	for v := from; v <= to; v++ {
		if e.x[cell] = v; e.agrees(cell) {
			e.fill(i + 1)
		}
	}
}

// agrees reports whether the published cells above an inner cell can still have their
// values.
func (e *enumeration) agrees(inner int) bool {
	for _, c := range e.fixed[inner] {
		sum := 0.0
		for _, l := range e.of[c] {
			if l <= inner {
				sum += e.x[l]
			}
		}
		if sum > e.q.Value[c] || e.last[c] == inner && sum != e.q.Value[c] {
			return false
		}
	}
	return true
}

// take records the values of the present table.
func (e *enumeration) take() {
	for c, leaves := range e.of {
		sum := 0.0
		for _, l := range leaves {
			sum += e.x[l]
		}
		e.low[c], e.high[c] = min(e.low[c], sum), max(e.high[c], sum)
		e.values[c][sum] = true
	}
}

// Random returns a small table of counts with randomly hidden cells, but never the
// total.
func Random(t testing.TB, rng *rand.Rand, set *tables.Set, most int, share float64) audit.Question {
	inner, of := Leaves(set)
	q := audit.Question{Set: set, Value: make([]float64, set.Cells()), Hidden: make([]bool, set.Cells()), Counts: true}
	x := map[int]float64{}
	for _, l := range inner {
		x[l] = float64(rng.IntN(most) * rng.IntN(2))
	}
	for c, leaves := range of {
		for _, l := range leaves {
			q.Value[c] += x[l]
		}
		q.Hidden[c] = c > 0 && rng.Float64() < share
	}
	if p := set.CheckSums(q.Value, 0); len(p) > 0 {
		t.Fatal(p)
	}
	return q
}

// Small returns sets small enough for Enumerated, by name.
func Small(t testing.TB) map[string]*tables.Set {
	a, b, c := Flat(t, "a", 3), Flat(t, "b", 3), Flat(t, "c", 2)
	two := Flat(t, "d", 2)
	h := Dimension(t, "h", tables.FromLevels("", [][]string{{"X", "x1"}, {"X", "x2"}, {"Y", "y1"}, {"Y", "y2"}}),
		tables.FromLevels("other", [][]string{{"u", "x1"}, {"u", "y1"}, {"v", "x2"}, {"v", "y2"}}))
	return map[string]*tables.Set{
		"line":  Set(t, tables.Table{Name: "a", Dimensions: []*tables.Dimension{Flat(t, "a", 4)}}),
		"3x3":   Set(t, tables.Table{Name: "ab", Dimensions: []*tables.Dimension{a, b}}),
		"2x2x2": Set(t, tables.Table{Name: "cde", Dimensions: []*tables.Dimension{c, two, Flat(t, "e", 2)}}),
		"4x2":   Set(t, tables.Table{Name: "hc", Dimensions: []*tables.Dimension{h, c}}),
		"linked": Set(t,
			tables.Table{
				Name: "hc", Dimensions: []*tables.Dimension{Dimension(t, "h", tables.Flat("", []string{"x1", "x2", "y1", "y2"})),
					c}}, tables.Table{Name: "h", Dimensions: []*tables.Dimension{h}}),
	}
}
