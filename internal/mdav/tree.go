package mdav

import (
	"math"
	"slices"
)

// leafSize is the greatest number of records of a leaf.
const leafSize = 12

// tree is a k-d tree over records that are taken out one by one.
type tree struct {
	d       int
	points  []float64 // n×d, in the tree's order
	index   []int32   // of the record, by place in the tree
	where   []int32   // place in the tree, by record
	nodes   []node
	boxes   []float64 // by node: the least value of each column, then the greatest, of live records
	leaf    []int32   // by place
	grouped []bool    // by place
	stack   []visit
	stop    func() bool // nil: never. The tree is of no use then
}

type node struct {
	from, to            int32 // places
	left, right, parent int32 // −1: none
	first               int32 // least index of a live record; none: math.MaxInt32
}

// visit is a node that a search has not looked into yet, with the bound on the squared
// distances to its records.
type visit struct {
	node  int32
	bound float64
}

const nobody = math.MaxInt32

func newTree(points []float64, d int, stop func() bool) *tree {
	n := len(points) / d
	t := &tree{d: d, points: make([]float64, n*d), index: make([]int32, n), where: make([]int32, n),
		leaf: make([]int32, n), grouped: make([]bool, n), stop: stop}
	for i := range t.index {
		t.index[i] = int32(i)
	}
	t.grow(points, 0, n, -1)
	for at, i := range t.index {
		t.where[i] = int32(at)
		copy(t.points[at*d:(at+1)*d], points[int(i)*d:(int(i)+1)*d])
	}
	for v := len(t.nodes) - 1; v >= 0; v-- { // children come behind their parents
		t.tighten(int32(v))
	}
	return t
}

// stopCheckSize is the smallest size of a node at which stop is called.
const stopCheckSize = 1 << 12

// grow makes the node of the records at [from, to), which it orders, and those below.
func (t *tree) grow(points []float64, from, to int, parent int32) int32 {
	v := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{int32(from), int32(to), -1, -1, parent, nobody})
	t.boxes = append(t.boxes, make([]float64, 2*t.d)...)
	if t.stop != nil && to-from > stopCheckSize && t.stop() {
		return v
	}
	if to-from <= leafSize {
		slices.Sort(t.index[from:to]) // so that the first of equal records is met first
		for at := from; at < to; at++ {
			t.leaf[at] = v
		}
		return v
	}
	widest, width := 0, -1.0
	for j := range t.d {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range t.index[from:to] {
			x := points[int(i)*t.d+j]
			low, high = min(low, x), max(high, x)
		}
		if high-low > width {
			widest, width = j, high-low
		}
	}
	// Equal values are ordered by index, so that both halves have the same size for any data.
	middle := (from + to) / 2
	split(t.index[from:to], middle-from, func(a, b int32) bool {
		x, y := points[int(a)*t.d+widest], points[int(b)*t.d+widest]
		return x < y || x == y && a < b
	})
	left := t.grow(points, from, middle, v)
	right := t.grow(points, middle, to, v)
	t.nodes[v].left, t.nodes[v].right = left, right
	return v
}

// split orders list so that its k least entries come first (Hoare's selection).
func split(list []int32, k int, less func(a, b int32) bool) {
	low, high := 0, len(list)-1
	for low < high {
		// The median of three, so that sorted data are no trouble.
		a, b, c := list[low], list[(low+high)/2], list[high]
		if less(b, a) {
			a, b = b, a
		}
		if less(c, b) {
			if b = c; less(b, a) {
				b = a
			}
		}
		i, j := low, high
		for i <= j {
			for less(list[i], b) {
				i++
			}
			for less(b, list[j]) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

// tighten finds a node's box and its first record anew and reports whether either is
// another one now.
func (t *tree) tighten(v int32) bool {
	n := &t.nodes[v]
	box := t.boxes[2*t.d*int(v) : 2*t.d*(int(v)+1)]
	first, changed := int32(nobody), false
	set := func(j int, x float64) {
		if box[j] != x {
			box[j], changed = x, true
		}
	}
	if n.left >= 0 {
		first = min(t.nodes[n.left].first, t.nodes[n.right].first)
		l, r := t.boxes[2*t.d*int(n.left):], t.boxes[2*t.d*int(n.right):]
		for j := range t.d {
			set(j, min(l[j], r[j]))
			set(t.d+j, max(l[t.d+j], r[t.d+j]))
		}
	} else {
		for j := range t.d {
			low, high := math.Inf(1), math.Inf(-1)
			for at := int(n.from); at < int(n.to); at++ {
				if x := t.points[at*t.d+j]; !t.grouped[at] {
					low, high = min(low, x), max(high, x)
				}
			}
			set(j, low)
			set(t.d+j, high)
		}
		for at := n.from; at < n.to; at++ {
			if !t.grouped[at] {
				first = min(first, t.index[at])
			}
		}
	}
	if n.first != first {
		n.first, changed = first, true
	}
	return changed
}

// take takes a record out.
func (t *tree) take(record int32) {
	at := t.where[record]
	t.grouped[at] = true
	for v := t.leaf[at]; v >= 0 && t.tighten(v); v = t.nodes[v].parent {
	}
}

func (t *tree) point(record int32) []float64 {
	at := int(t.where[record])
	return t.points[at*t.d : (at+1)*t.d]
}

// square is the squared distance of two points. Products are wrapped so that no fused
// multiply-add makes a choice depend on the machine.
func square(p, q []float64) float64 {
	var s float64
	for j, x := range p {
		e := x - q[j]
		s += float64(e * e)
	}
	return s
}

// box is what the records of a node lie within: least and greatest coordinate of each of
// d dimensions.
func (t *tree) box(v int32, d int) (low, high []float64) {
	box := t.boxes[2*t.d*int(v) : 2*t.d*(int(v)+1)]
	return box[:d], box[d:][:d]
}

// least and most bound the squared distances of q to the records of a node: as each
// operation rounds monotonically, so are the bounds of the rounded distances.
func (t *tree) least(v int32, q []float64) float64 {
	low, high := t.box(v, len(q))
	var s float64
	for j, x := range q {
		e := max(low[j]-x, x-high[j], 0)
		s += float64(e * e)
	}
	return s
}

func (t *tree) most(v int32, q []float64) float64 {
	low, high := t.box(v, len(q))
	var s float64
	for j, x := range q {
		e := max(x-low[j], high[j]-x)
		s += float64(e * e)
	}
	return s
}

// farthest returns the live record that is farthest from q, of several the first one.
func (t *tree) farthest(q []float64) int32 {
	best, distance := int32(nobody), math.Inf(-1)
	worse := func(bound float64, first int32) bool {
		return first == nobody || bound < distance || bound == distance && first > best
	}
	t.stack = append(t.stack[:0], visit{0, math.Inf(1)})
	for len(t.stack) > 0 {
		top := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		n := &t.nodes[top.node]
		if worse(top.bound, n.first) {
			continue
		}
		if n.left < 0 {
			for at := int(n.from); at < int(n.to); at++ {
				if t.grouped[at] {
					continue
				}
				if s := square(t.points[at*t.d:(at+1)*t.d], q); s > distance || s == distance && t.index[at] < best {
					best, distance = t.index[at], s
				}
			}
			continue
		}
		l, r := visit{n.left, t.most(n.left, q)}, visit{n.right, t.most(n.right, q)}
		if t.nodes[n.left].first == nobody {
			l.bound = math.Inf(-1)
		}
		if t.nodes[n.right].first == nobody {
			r.bound = math.Inf(-1)
		}
		if l.bound > r.bound || l.bound == r.bound && t.nodes[l.node].first < t.nodes[r.node].first {
			l, r = r, l
		}
		if !worse(l.bound, t.nodes[l.node].first) {
			t.stack = append(t.stack, l)
		}
		t.stack = append(t.stack, r) // looked into next
	}
	return best
}

// near is a record with its squared distance.
type near struct {
	square float64
	record int32
}

func (a near) before(b near) bool {
	return a.square < b.square || a.square == b.square && a.record < b.record
}

// nearestOf puts the live records of a leaf among the k nearest found so far.
func (t *tree) nearestOf(leaf *node, q []float64, k int, found []near) []near {
	for at := int(leaf.from); at < int(leaf.to); at++ {
		if t.grouped[at] {
			continue
		}
		c := near{square(t.points[at*t.d:(at+1)*t.d], q), t.index[at]}
		if len(found) == k {
			if !c.before(found[k-1]) {
				continue
			}
			found = found[:k-1]
		}
		i := len(found)
		found = append(found, c)
		for ; i > 0 && c.before(found[i-1]); i-- {
			found[i] = found[i-1]
		}
		found[i] = c
	}
	return found
}

// nearest writes the k live records nearest to q, of equally near ones the first, in
// that order. There must be k.
func (t *tree) nearest(q []float64, k int, found []near) []near {
	found = found[:0]
	worse := func(bound float64, first int32) bool {
		return first == nobody || len(found) == k && !(near{bound, first}).before(found[k-1])
	}
	t.stack = append(t.stack[:0], visit{0, 0})
	for len(t.stack) > 0 {
		top := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		n := &t.nodes[top.node]
		if worse(top.bound, n.first) {
			continue
		}
		if n.left < 0 {
			found = t.nearestOf(n, q, k, found)
			continue
		}
		l, r := visit{n.left, math.Inf(1)}, visit{n.right, math.Inf(1)}
		if t.nodes[n.left].first != nobody {
			l.bound = t.least(n.left, q)
		}
		if t.nodes[n.right].first != nobody {
			r.bound = t.least(n.right, q)
		}
		if l.bound < r.bound || l.bound == r.bound && t.nodes[l.node].first < t.nodes[r.node].first {
			l, r = r, l
		}
		if !worse(l.bound, t.nodes[l.node].first) {
			t.stack = append(t.stack, l)
		}
		t.stack = append(t.stack, r)
	}
	return found
}
