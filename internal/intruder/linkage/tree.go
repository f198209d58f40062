package linkage

import (
	"math"
	"math/bits"
	"runtime"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// leafSize is the largest number of records in a leaf, unless all of them are equal.
const leafSize = 16

// tree is a k-d tree (Friedman, Bentley and Finkel 1977, "An algorithm for
// finding best matches in logarithmic expected time", ACM TOMS 3) over the records of a
// group, which newTree reorders. Every node has the bounding box of its records. The sum
// of the terms to the near side of a box is computed in the same way as distances. It is
// at most the sum of any record in the box, to the bit, because subtraction,
// multiplication and addition round monotonically; so rounding in a bound never excludes
// a nearest record.
type tree struct {
	s     *space
	rows  []float64
	ids   []int32 // of the records in rows, which are reordered with them; nil: none
	nodes []node
	boxes []float64 // for each node the least coordinates and then the greatest ones
}

type node struct {
	from, to int32 // records
	right    int32 // the second child (the first child is the next node); 0: a leaf
	alike    bool  // all records are equal
}

func newTree(s *space, rows []float64, ids []int32) *tree {
	t := &tree{s: s, rows: rows, ids: ids}
	t.nodes, t.boxes = t.build(0, int32(len(rows)/s.width()), bits.Len(uint(runtime.GOMAXPROCS(0))))
	return t
}

// build builds the subtree of records [from,to), with the indices of its nodes counted
// from its root. It builds the halves of the first few levels in parallel.
func (t *tree) build(from, to int32, parallel int) ([]node, []float64) {
	if parallel <= 0 || to-from < 4096 {
		b := &builder{t: t}
		b.node(from, to)
		return b.nodes, b.boxes
	}
	b := &builder{t: t}
	middle, ok := b.split(from, to)
	if !ok {
		return b.nodes, b.boxes
	}
	var left, right []node
	var leftBoxes, rightBoxes []float64
	var group sync.WaitGroup
	group.Go(func() {
		defer bug.Guard()
		left, leftBoxes = t.build(from, middle, parallel-1)
	})
	right, rightBoxes = t.build(middle, to, parallel-1)
	group.Wait()
	shift := func(nodes []node, by int32) {
		for i := range nodes {
			if nodes[i].right > 0 {
				nodes[i].right += by
			}
		}
	}
	shift(left, 1)
	shift(right, int32(1+len(left)))
	b.nodes[0].right = int32(1 + len(left))
	return append(append(b.nodes, left...), right...), append(append(b.boxes, leftBoxes...), rightBoxes...)
}

type builder struct {
	t     *tree
	nodes []node
	boxes []float64
}

func (b *builder) node(from, to int32) {
	at := len(b.nodes)
	middle, ok := b.split(from, to)
	if !ok {
		return
	}
	b.node(from, middle)
	b.nodes[at].right = int32(len(b.nodes))
	b.node(middle, to)
}

// split adds a node for the records and, unless it is a leaf, reorders them by the
// median of the coordinate with the widest spread. It returns the index of the first
// record of the second half, and false for a leaf.
func (b *builder) split(from, to int32) (middle int32, ok bool) {
	s, p := b.t.s, b.t.s.width()
	start := len(b.boxes)
	rows := b.t.rows[int(from)*p : int(to)*p]
	b.boxes = append(append(b.boxes, rows[:p]...), rows[:p]...)
	low, high := b.boxes[start:start+p], b.boxes[start+p:start+2*p]
	for at := p; at < len(rows); at += p {
		for j, v := range rows[at : at+p] {
			if v < low[j] {
				low[j] = v
			} else if v > high[j] {
				high[j] = v
			}
		}
	}
	widest, by := 0, 0.0
	alike := true
	for j := range p {
		if low[j] == high[j] || math.IsNaN(low[j]) {
			continue
		}
		alike = false
		if w := s.term(j, high[j], low[j]); w >= by {
			widest, by = j, w
		}
	}
	b.nodes = append(b.nodes, node{from: from, to: to, alike: alike})
	if alike || to-from <= leafSize {
		return 0, false
	}
	n := int(to - from)
	var ids []int32
	if b.t.ids != nil {
		ids = b.t.ids[from:to]
	}
	selectRow(rows, ids, p, widest, n/2)
	return from + int32(n/2), true
}

// selectRow reorders rows so that row k is the one that sorting by the coordinate would
// put there: no row before it has a greater coordinate and no row after it a smaller
// one. It uses Hoare's algorithm; the pivot is the median of three pseudo-random rows,
// so that no order of the file makes it slow. ids, unless nil, are reordered with the rows.
func selectRow(rows []float64, ids []int32, p, coordinate, k int) {
	state := uint64(len(rows))
	draw := func(below int) int {
		state = state*6364136223846793005 + 1442695040888963407
		high, _ := bits.Mul64(state, uint64(below))
		return int(high)
	}
	from, to := 0, len(rows)/p-1
	for from < to {
		n := to - from + 1
		x, y, z := rows[(from+draw(n))*p+coordinate], rows[(from+draw(n))*p+coordinate], rows[(from+draw(n))*p+coordinate]
		pivot := max(min(x, y), min(max(x, y), z))
		i, j := from, to
		for i <= j {
			for rows[i*p+coordinate] < pivot {
				i++
			}
			for rows[j*p+coordinate] > pivot {
				j--
			}
			if i <= j {
				a, b := rows[i*p:i*p+p], rows[j*p:j*p+p]
				for c, v := range a {
					a[c], b[c] = b[c], v
				}
				if ids != nil {
					ids[i], ids[j] = ids[j], ids[i]
				}
				i++
				j--
			}
		}
		switch {
		case k <= j:
			to = j
		case k >= i:
			from = i
		default:
			return
		}
	}
}

// nearest calls offer for all records that may be nearest.
func (t *tree) nearest(q *query) { t.nearestBelow(0, t.lower(0, q), q) }

// nearestBelow does the same for the subtree at node k, whose box has the given lower
// bound.
func (t *tree) nearestBelow(k int32, lower float64, q *query) {
	for lower <= q.best {
		n := &t.nodes[k]
		if n.right == 0 {
			p := int32(t.s.width())
			if n.alike {
				q.offer(t.s.sum(t.rows[n.from*p:][:p], q), int64(n.to-n.from))
			} else {
				t.s.scan(t.rows[int(n.from)*int(p):int(n.to)*int(p)], q)
			}
			return
		}
		near, far := k+1, n.right
		lowerNear, lowerFar := t.lower(near, q), t.lower(far, q)
		if lowerFar < lowerNear {
			near, far, lowerNear, lowerFar = far, near, lowerFar, lowerNear
		}
		t.nearestBelow(near, lowerNear, q)
		k, lower = far, lowerFar
	}
}

// within calls visit for all records whose sum is at most the query's best, which visit may lower.
func (t *tree) within(k int32, lower float64, q *query, visit func(sum float64, record int32)) {
	for lower <= q.best {
		n := &t.nodes[k]
		if n.right == 0 {
			p := int32(t.s.width())
			t.s.within(t.rows[int(n.from)*int(p):int(n.to)*int(p)], t.ids[n.from:n.to], q, visit)
			return
		}
		near, far := k+1, n.right
		lowerNear, lowerFar := t.lower(near, q), t.lower(far, q)
		if lowerFar < lowerNear {
			near, far, lowerNear, lowerFar = far, near, lowerFar, lowerNear
		}
		t.within(near, lowerNear, q, visit)
		k, lower = far, lowerFar
	}
}

// rank counts the records that are nearer than the query's own record or as near. It
// counts the records of a box at once if all of them are on one side.
func (t *tree) rank(q *query) { t.rankBelow(0, q) }

func (t *tree) rankBelow(k int32, q *query) {
	n := &t.nodes[k]
	lower, upper := t.lower(k, q), t.upper(k, q)
	switch {
	case lower > q.own:
	case upper < q.own:
		q.nearer += int64(n.to - n.from)
	case lower == upper:
		q.level += int64(n.to - n.from)
	case n.right == 0:
		p := t.s.width()
		t.s.scanRank(t.rows[int(n.from)*p:int(n.to)*p], q)
	default:
		t.rankBelow(k+1, q)
		t.rankBelow(n.right, q)
	}
}

// lower returns a lower bound of the sum of the query and any record of the node.
func (t *tree) lower(k int32, q *query) float64 {
	s := t.s
	p := s.width()
	box := t.boxes[int(k)*2*p:][:2*p]
	low, high := box[:p], box[p:]
	sum := 0.0
	if s.plain && q.complete() {
		weights := s.weights
		for j, v := range q.point {
			gap := 0.0
			if v < low[j] {
				gap = low[j] - v
			} else if v > high[j] {
				gap = v - high[j]
			}
			gap = float64(gap * weights[j])
			sum += float64(gap * gap)
		}
		return sum
	}
	sum = q.start
	for _, j := range q.dims {
		if v := q.point[j]; v < low[j] {
			sum += s.term(int(j), low[j], v)
		} else if v > high[j] {
			sum += s.term(int(j), v, high[j])
		}
	}
	return sum
}

// upper returns an upper bound of the sum of the query and any record of the node.
func (t *tree) upper(k int32, q *query) float64 {
	s := t.s
	p := s.width()
	box := t.boxes[int(k)*2*p:][:2*p]
	sum := q.start
	for _, j := range q.dims {
		v, low, high := q.point[j], box[j], box[p+int(j)]
		sum += math.Max(s.term(int(j), v, low), s.term(int(j), v, high))
	}
	return sum
}
