package tables

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/check"
)

// Edge says that a code belongs to a parent, at a line of a file (0 if there is no
// file). An empty parent stands for the grand total.
type Edge struct {
	Child, Parent string
	Line          int
}

// Hierarchy is one classification of the codes of a variable into totals and their
// parts.
type Hierarchy struct {
	Name  string
	Edges []Edge
}

// DefaultTotal is the code of the grand total if no other code is given.
const DefaultTotal = "total"

// Sum says that a node is the sum of its parts. The indices are nodes of a dimension or
// cells of a set.
type Sum struct {
	Total int32
	Parts []int32
}

// Dimension is a variable of a table: all codes of all its hierarchies, and their sums.
// Node 0 is the grand total. All other nodes are in the order of their first
// appearance.
type Dimension struct {
	Name  string
	Codes []string
	Sums  []Sum

	node   map[string]int32
	leaves [][]int32 // leaves under a node, ascending; a leaf has itself
	depth  []int32   // depth of a node in the first hierarchy that has it
}

// NewDimension builds a dimension of one or more hierarchies over the same leaves.
// It returns all problems at once: a code with two parents in one hierarchy, a cycle, a
// leaf of one hierarchy that is a total in another or missing in another, a code with
// different leaves in two hierarchies.
func NewDimension(name, total string, hierarchies ...Hierarchy) (*Dimension, check.Problems) {
	if total == "" {
		total = DefaultTotal
	}
	d := &Dimension{Name: name, Codes: []string{total}, node: map[string]int32{total: 0}, depth: []int32{0}}
	var problems check.Problems
	problems.NotEmpty("", len(hierarchies), "hierarchy")
	parents := make([]map[int32]int32, len(hierarchies))
	for i, h := range hierarchies {
		parents[i] = d.enter(h, path(hierarchies, i), &problems)
	}
	for i := range hierarchies {
		d.cycles(parents[i], path(hierarchies, i), &problems)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	d.leaves = make([][]int32, len(d.Codes))
	for i := range hierarchies {
		d.addUp(parents[i], hierarchies, i, &problems)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return d, nil
}

func path(hierarchies []Hierarchy, i int) string {
	if hierarchies[i].Name != "" {
		return hierarchies[i].Name
	}
	return fmt.Sprintf("[%d]", i)
}

func at(path string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", path, line)
	}
	return path
}

// enter adds the codes of a hierarchy as nodes and returns the parent of each child.
func (d *Dimension) enter(h Hierarchy, path string, problems *check.Problems) map[int32]int32 {
	parent := make(map[int32]int32, len(h.Edges))
	problems.NotEmpty(path, len(h.Edges), "code")
	for _, e := range h.Edges {
		switch {
		case e.Child == "":
			problems.Addf(at(path, e.Line), "a code is empty")
			continue
		case e.Child == d.Codes[0]:
			problems.Addf(at(path, e.Line), "code %q is the total of all, and cannot have a parent", e.Child)
			continue
		}
		up := int32(0)
		if e.Parent != "" {
			up = d.number(e.Parent)
		}
		c := d.number(e.Child)
		if old, known := parent[c]; known && old != up {
			problems.Addf(at(path, e.Line), "code %q has two parents, %q and %q", e.Child, d.Codes[old], d.Codes[up])
			continue
		}
		parent[c] = up
	}
	for _, e := range h.Edges { // a parent without a parent of its own is below the grand total
		if e.Parent == "" || e.Parent == d.Codes[0] {
			continue
		}
		if p := d.node[e.Parent]; p != 0 {
			if _, known := parent[p]; !known {
				parent[p] = 0
			}
		}
	}
	return parent
}

func (d *Dimension) number(code string) int32 {
	n, known := d.node[code]
	if !known {
		n = int32(len(d.Codes))
		d.node[code] = n
		d.Codes = append(d.Codes, code)
		d.depth = append(d.depth, -1)
	}
	return n
}

// cycles adds a problem for each code without a path to the grand total.
func (d *Dimension) cycles(parent map[int32]int32, path string, problems *check.Problems) {
	safe := map[int32]bool{0: true}
	for c := range int32(len(d.Codes)) {
		var way []int32
		n, in := c, true
		for in && !safe[n] && len(way) <= len(parent) {
			way = append(way, n)
			n, in = parent[n]
		}
		if !in {
			continue // not a code of this hierarchy
		}
		if !safe[n] {
			problems.Addf(path, "code %q is its own ancestor (a cycle)", d.Codes[c])
			continue
		}
		for _, w := range way {
			safe[w] = true
		}
	}
}

// addUp adds the sums of hierarchy i and the leaves of its nodes, and a problem for
// each contradiction to an earlier hierarchy.
func (d *Dimension) addUp(parent map[int32]int32, hierarchies []Hierarchy, i int, problems *check.Problems) {
	children := make([][]int32, len(d.Codes))
	for c := range int32(len(d.Codes)) {
		if p, in := parent[c]; in {
			children[p] = append(children[p], c)
		}
	}
	leaves := make([][]int32, len(d.Codes))
	var walk func(n, depth int32)
	walk = func(n, depth int32) {
		if d.depth[n] < 0 {
			d.depth[n] = depth
		}
		if len(children[n]) == 0 {
			leaves[n] = []int32{n}
			return
		}
		for _, c := range children[n] {
			walk(c, depth+1)
			leaves[n] = append(leaves[n], leaves[c]...)
		}
		sort.Slice(leaves[n], func(a, b int) bool { return leaves[n][a] < leaves[n][b] })
		d.enterSum(Sum{n, children[n]})
	}
	walk(0, 0)
	for n := range d.Codes {
		switch {
		case leaves[n] == nil:
		case d.leaves[n] == nil && i > 0 && len(children[n]) == 0:
			problems.Addf(path(hierarchies, i), "leaf %q is not in %s", d.Codes[n], path(hierarchies, 0))
		case d.leaves[n] == nil:
			d.leaves[n] = leaves[n]
		case slices.Equal(d.leaves[n], leaves[n]):
		case n == 0:
			d.missing(leaves[0], hierarchies, i, problems)
		case (len(d.leaves[n]) == 1 && d.leaves[n][0] == int32(n)) != (len(children[n]) == 0):
			problems.Addf(path(hierarchies, i), "code %q is a leaf in one hierarchy and a total in another", d.Codes[n])
		default:
			problems.Addf(path(hierarchies, i), "code %q has other leaves than in another hierarchy", d.Codes[n])
		}
	}
}

// missing adds a problem for each leaf of the first hierarchy that hierarchy i does not
// have.
func (d *Dimension) missing(have []int32, hierarchies []Hierarchy, i int, problems *check.Problems) {
	for _, n := range d.leaves[0] {
		if _, found := slices.BinarySearch(have, n); !found {
			problems.Addf(path(hierarchies, i), "leaf %q of %s is missing", d.Codes[n], path(hierarchies, 0))
		}
	}
}

func (d *Dimension) enterSum(s Sum) {
	for _, o := range d.Sums {
		if o.Total == s.Total && slices.Equal(o.Parts, s.Parts) {
			return
		}
	}
	d.Sums = append(d.Sums, s)
}

// Node returns the node of a code, false if there is none.
func (d *Dimension) Node(code string) (int, bool) {
	n, ok := d.node[code]
	return int(n), ok
}

// Leaves returns the leaves under a node, ascending; a leaf is under itself.
func (d *Dimension) Leaves(node int) []int32 { return d.leaves[node] }

// IsLeaf reports whether a node is a leaf.
func (d *Dimension) IsLeaf(node int) bool {
	return len(d.leaves[node]) == 1 && d.leaves[node][0] == int32(node)
}

// Depth returns the number of levels between a node and the grand total, in the first
// hierarchy that has the node.
func (d *Dimension) Depth(node int) int { return int(d.depth[node]) }
