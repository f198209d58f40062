package models

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Tree is a classification or regression tree (Breiman, Friedman, Olshen and Stone 1984): binary
// splits of predictors, each the one that most reduces the variance of numbers or the Gini index
// of categories. It is not pruned.
type Tree struct {
	Nodes []TreeNode
	Rows  []int32 // the records of the leaves, one leaf after another
}

// TreeNode is a split or, where right is 0, a leaf.
type TreeNode struct {
	Predictor int
	cut       float64 // records whose predictor is greater go to the right
	left      int
	Right     int
	From, To  int // its records in rows
}

// leastSpread is the least share of the stratum's variance, or Gini index, that either side of a
// split must have: for numbers 5 % of the standard deviation, for categories leastFree. A leaf with
// one value only would disclose it for all records that fall into the leaf.
const (
	leastSpread = 0.05 * 0.05
	leastGini   = LeastFree
)

// leastGain is the least share of the stratum's variance or index by which a split must reduce it:
// smaller gains may be rounding.
const leastGain = 1e-9

// Response is the explained variable of a tree: it computes the impurity of some records.
type Response interface {
	// own returns a response of the same records that is used beside this one.
	own() Response
	// begin starts a node, with all records on the right.
	begin(rows []int32)
	// move takes a record from the right to the left.
	move(row int32)
	// gain returns by how much the split into parts lowers the impurity of the node, as a share of
	// that of the stratum; false if a part has too little spread.
	gain() (float64, bool)
	// scan moves the records of a node to the left in ascending order of x, and calls try where a
	// split may have a greater gain than most; try returns the new value of most.
	scan(order []int32, x []float64, leaf int, most float64, try func(cut float64) (most float64))
}

// Nodes of so many records and more have their predictors tried on several cores; of smaller ones as many as have so
// many records together are one core's. The tree is the same on any number of cores.
const manyRecords = 1 << 15

// Grow makes the tree of records, with at least leaf of them in each leaf.
func Grow(x []Predictor, y Response, records []int32, leaf int, stop decision.Stop) *Tree {
	return grow(x, y, records, leaf, manyRecords, stop)
}

// grow is Grow where nodes have many records from so many on.
func grow(x []Predictor, y Response, records []int32, leaf, many int, stop decision.Stop) *Tree {
	t := &Tree{Rows: slices.Clone(records), Nodes: []TreeNode{{From: 0, To: len(records)}}}
	if len(records) == 0 {
		return t
	}
	g := &growing{x: x, y: y, leaf: leaf, many: many, stop: cores.Asked(stop), rows: t.Rows,
		orders: make([][]int32, len(x)),
		left:   make([]uint8, 1+int(slices.Max(records))), buffer: make([]int32, len(records))}
	ascending := slices.Sorted(slices.Values(records))
	for k := range x {
		if x[k].Of == nil {
			g.orders[k] = slices.Clone(ascending)
			rank.Order(g.orders[k], x[k].Values, g.stop)
		}
	}
	for from := 0; from < len(t.Nodes); { // a level at a time
		to := len(t.Nodes)
		if g.divide(t.Nodes[from:to]); g.stop() {
			return t
		}
		for ; from < to; from++ {
			n := t.Nodes[from]
			if n.Right == 0 {
				continue
			}
			middle := n.From + n.left
			n.left, n.Right = len(t.Nodes), len(t.Nodes)+1
			t.Nodes[from] = n
			t.Nodes = append(t.Nodes, TreeNode{From: n.From, To: middle}, TreeNode{From: middle, To: n.To})
		}
	}
	return t
}

// growing is a tree in the making.
type growing struct {
	x      []Predictor
	y      Response
	leaf   int
	many   int
	stop   func() bool
	rows   []int32   // the tree's
	orders [][]int32 // the same in the order of each predictor that is a number; an indicator needs no order
	left   []uint8   // by record: 1 if it goes to the left, else 0
	buffer []int32
}

// split is a division of a node's records by a predictor.
type split struct {
	predictor int
	cut, gain float64
}

// divide splits the nodes of a level, and divides their records: left is then the number of those that go there, and
// Right is not 0. It leaves leaves as they are.
func (g *growing) divide(level []TreeNode) {
	var work []func()
	var many []*TreeNode
	for from := 0; from < len(level); {
		to, size := from, 0
		for ; to < len(level) && size < g.many && level[to].To-level[to].From < g.many; to++ {
			size += level[to].To - level[to].From
		}
		if to == from {
			many = append(many, &level[from])
			from++
			continue
		}
		few := level[from:to]
		work = append(work, func() { g.divideFew(few) })
		from = to
	}
	tried := make([][][]split, len(many)) // by node and predictor
	for i, n := range many {
		tried[i] = make([][]split, len(g.x))
		for k := range g.x {
			work = append(work, func() { g.try(g.y.own(), k, n, leastGain, &tried[i][k]) })
		}
	}
	cores.Each(len(work), func(i int) { work[i]() })
	for i, n := range many {
		if best, found := g.bestOf(n, tried[i]); found {
			g.divideMany(n, best)
		}
	}
}

func (g *growing) divideFew(nodes []TreeNode) {
	y := g.y.own()
	for i := range nodes {
		n := &nodes[i]
		best, found := split{gain: leastGain}, false
		for k := range g.x {
			if s, better := g.try(y, k, n, best.gain, nil); better {
				best, found = s, true
			}
		}
		if !found {
			continue
		}
		g.mark(g.rows[n.From:n.To], best)
		middle := g.part(g.rows[n.From:n.To], g.buffer[n.From:n.To])
		for j, order := range g.orders {
			if order != nil && j != best.predictor { // the order of the split's own predictor is divided already
				g.part(order[n.From:n.To], g.buffer[n.From:n.To])
			}
		}
		n.Predictor, n.cut, n.left, n.Right = best.predictor, best.cut, middle, 1
	}
}

func (g *growing) divideMany(n *TreeNode, best split) {
	cores.Parts(n.To-n.From, g.many, func(from, to int) { g.mark(g.rows[n.From+from:n.From+to], best) })
	lists := [][]int32{g.rows[n.From:n.To]}
	for j, order := range g.orders {
		if order != nil && j != best.predictor {
			lists = append(lists, order[n.From:n.To])
		}
	}
	middle := make([]int, len(lists))
	cores.Each(len(lists), func(i int) {
		buffer := g.buffer[n.From:n.To]
		if i > 0 {
			buffer = make([]int32, n.To-n.From)
		}
		middle[i] = g.part(lists[i], buffer)
	})
	n.Predictor, n.cut, n.left, n.Right = best.predictor, best.cut, middle[0], 1
}

// exceeds reports whether a gain is greater than most: equal gains may differ by rounding.
func exceeds(gain, most float64) bool { return gain > most*(1+leastGain) }

// try finds the split of a node by predictor k with the greatest gain above most; among equal ones the lowest cut. All
// that were the greatest for a time are added to passed, if it is not nil.
func (g *growing) try(y Response, k int, n *TreeNode, most float64, passed *[]split) (best split, found bool) {
	if n.To-n.From < 2*g.leaf || g.stop() {
		return best, false
	}
	take := func(cut float64) float64 {
		if gain, may := y.gain(); may && exceeds(gain, most) {
			best, found, most = split{k, cut, gain}, true, gain
			if passed != nil {
				*passed = append(*passed, best)
			}
		}
		return most
	}
	if g.x[k].Of == nil {
		order := g.orders[k][n.From:n.To]
		y.begin(order)
		y.scan(order, g.x[k].Values, g.leaf, most, take)
		return best, found
	}
	of := g.rows[n.From:n.To]
	y.begin(of)
	moved := 0
	for _, r := range of {
		if g.x[k].At(r) == 0 {
			y.move(r)
			moved++
		}
	}
	if moved >= g.leaf && len(of)-moved >= g.leaf {
		take(0.5)
	}
	return best, found
}

// bestOf finds the split of a node with the greatest gain; among equal ones that of the first predictor. Each predictor
// was tried by itself: those that passed are the ones that would have if it had been tried after those before it,
// unless the gain of one exceeds theirs by no more than rounding.
func (g *growing) bestOf(n *TreeNode, tried [][]split) (best split, found bool) {
	best.gain = leastGain
	for k, passed := range tried {
		if slices.ContainsFunc(passed, func(s split) bool { return s.gain > best.gain && !exceeds(s.gain, best.gain) }) {
			if s, better := g.try(g.y.own(), k, n, best.gain, nil); better {
				best, found = s, true
			}
		} else if last := len(passed) - 1; last >= 0 && exceeds(passed[last].gain, best.gain) {
			best, found = passed[last], true
		}
	}
	return best, found
}

// mark notes which records go to the left.
func (g *growing) mark(rows []int32, by split) {
	for _, r := range rows {
		if g.left[r] = 0; g.x[by.predictor].At(r) <= by.cut {
			g.left[r] = 1
		}
	}
}

// cutBetween returns the cut between two successive values.
func cutBetween(low, high float64) float64 {
	middle := low + (high-low)/2
	if !(middle < high) { // no float64 between the two, or overflow
		return low
	}
	return middle
}

// part puts the records that go to the left first, keeping the order within both parts, and
// returns where the second part begins.
func (g *growing) part(rows, buffer []int32) int {
	n, m := 0, 0
	for _, r := range rows {
		left := int(g.left[r])
		rows[n], buffer[m] = r, r // one of the two is overwritten by the next record
		n += left
		m += 1 - left
	}
	copy(rows[n:], buffer[:m])
	return n
}

// LeafOf returns the records of the leaf for the predictors x of record r.
func (t *Tree) LeafOf(x []Predictor, r int32) []int32 { return t.Records(t.NodeOf(x, r)) }

// Records returns the records of a node.
func (t *Tree) Records(node int) []int32 { return t.Rows[t.Nodes[node].From:t.Nodes[node].To] }

// NodeOf returns the leaf for the predictors x of record r. With a missing predictor it goes to the side
// with more records.
func (t *Tree) NodeOf(x []Predictor, r int32) int {
	at := 0
	for {
		n := &t.Nodes[at]
		if n.Right == 0 {
			return at
		}
		v := x[n.Predictor].At(r)
		left := v <= n.cut
		if v != v {
			a, b := &t.Nodes[n.left], &t.Nodes[n.Right]
			left = a.To-a.From >= b.To-b.From
		}
		if at = n.Right; left {
			at = n.left
		}
	}
}

// numbersOf is a response of numbers; the impurity is their variance. Values are standardised to
// mean 0 and variance 1, so that squares are precise.
type numbersOf struct {
	z           []float64 // by record
	total       float64   // records of the stratum
	left, right moments
}

type moments struct{ n, sum, square float64 }

func (m *moments) variance() float64 {
	mean := m.sum / m.n
	return m.square/m.n - float64(mean*mean)
}

// Numbers is the response of a regression tree: its values are those of rows, which must not all be the same.
func Numbers(values []float64, rows []int32) Response {
	y := &numbersOf{z: make([]float64, len(values)), total: float64(len(rows))}
	own, centre := make([]float64, len(rows)), 0.0
	for i, r := range rows {
		own[i] = values[r]
		centre += values[r] / y.total
	}
	unit := Deviation(own)
	for _, r := range rows {
		y.z[r] = (values[r] - centre) / unit
	}
	return y
}

func (y *numbersOf) own() Response { return &numbersOf{z: y.z, total: y.total} }

func (y *numbersOf) begin(rows []int32) {
	y.left, y.right = moments{}, moments{n: float64(len(rows))}
	for _, r := range rows {
		v := y.z[r]
		y.right.sum += v
		y.right.square += float64(v * v)
	}
}

func (y *numbersOf) move(r int32) {
	v := y.z[r]
	y.left.n++
	y.left.sum += v
	y.left.square += float64(v * v)
	y.right.n--
	y.right.sum -= v
	y.right.square -= float64(v * v)
}

// nearly times the gain required is the limit below which scan skips a split: the margin is far
// greater than rounding errors of gains.
const nearly = 1 - 1e-6

// scan implements response. With the sums S and numbers n of both parts the gain is
// (S₁n₂ − S₂n₁)²/(n₁n₂(n₁ + n₂)·total), which can be compared without a division.
func (y *numbersOf) scan(order []int32, x []float64, leaf int, most float64, try func(cut float64) float64) {
	left, right := y.left, y.right
	scale := (left.n + right.n) * y.total * nearly
	high := x[order[0]]
	for i, r := range order[:len(order)-leaf] {
		v := y.z[r]
		square := float64(v * v)
		left.n++
		left.sum += v
		left.square += square
		right.n--
		right.sum -= v
		right.square -= square
		low := high
		high = x[order[i+1]]
		if i+1 < leaf || low == high {
			continue
		}
		if d := float64(left.sum*right.n) - float64(right.sum*left.n); float64(d*d) < most*scale*left.n*right.n {
			continue
		}
		y.left, y.right = left, right
		most = try(cutBetween(low, high))
	}
}

func (y *numbersOf) gain() (float64, bool) {
	if !(y.left.variance() > leastSpread && y.right.variance() > leastSpread) {
		return 0, false
	}
	between := y.left.sum/y.left.n - y.right.sum/y.right.n
	n := y.left.n + y.right.n
	return float64(y.left.n/n*y.right.n*float64(between*between)) / y.total, true
}

// categoriesOf is a response of categories; the impurity is the Gini index, Σ p(1 − p).
type categoriesOf struct {
	of          []int // by record
	total, gini float64
	left, right []int
	nLeft, n    int
}

// Categories is the response of a classification tree: categories are the values of rows, ascending.
func Categories(values []float64, categories []float64, rows []int32) Response {
	y := &categoriesOf{of: make([]int, len(values)), total: float64(len(rows)), left: make([]int, len(categories)),
		right: make([]int, len(categories))}
	for _, r := range rows {
		y.of[r], _ = slices.BinarySearch(categories, values[r])
	}
	y.begin(rows)
	y.gini = giniOf(y.right, len(rows))
	return y
}

func (y *categoriesOf) own() Response {
	n := len(y.left)
	return &categoriesOf{of: y.of, total: y.total, gini: y.gini, left: make([]int, n), right: make([]int, n)}
}

func giniOf(count []int, n int) float64 {
	square := 0
	for _, c := range count {
		square += c * c
	}
	return 1 - float64(square)/float64(n)/float64(n)
}

func (y *categoriesOf) begin(rows []int32) {
	clear(y.left)
	clear(y.right)
	for _, r := range rows {
		y.right[y.of[r]]++
	}
	y.nLeft, y.n = 0, len(rows)
}

func (y *categoriesOf) move(r int32) {
	y.left[y.of[r]]++
	y.right[y.of[r]]--
	y.nLeft++
}

// scan implements response.
func (y *categoriesOf) scan(order []int32, x []float64, leaf int, _ float64, try func(cut float64) float64) {
	for i, r := range order[:len(order)-leaf] {
		y.move(r)
		if low, high := x[r], x[order[i+1]]; i+1 >= leaf && low != high {
			try(cutBetween(low, high))
		}
	}
}

func (y *categoriesOf) gain() (float64, bool) {
	left, right := giniOf(y.left, y.nLeft), giniOf(y.right, y.n-y.nLeft)
	if !(left > leastGini*y.gini && right > leastGini*y.gini) {
		return 0, false
	}
	whole := 0
	for c := range y.left {
		both := y.left[c] + y.right[c]
		whole += both * both
	}
	n, l := float64(y.n), float64(y.nLeft)
	lost := float64(n*(1-float64(whole)/n/n)) - float64(l*left) - float64((n-l)*right)
	return lost / (y.total * y.gini), true
}

// LeastFree is the least value of Logistic.Free for a model of on: below it the released categories would
// be nearly the original ones. If predictors separate the categories, free is about 1/√n, since
// only records near the border may change.
const LeastFree = 0.05
