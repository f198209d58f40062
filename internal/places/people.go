package places

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// People are points with the number of people who live there: a tree of boxes, each of which knows how many people are
// in it, and where they are on average.
type People struct {
	unit   Unit
	places []place
	count  []float64 // of people
	of     []int     // the index of each among the points that were given
	points []Point   // that were given
	boxes  []box     // the root first

	known    sync.Map // radii → [2]float64: replicates ask for the same again
	remember atomic.Int64
}

type box struct {
	lo, hi      place
	people      float64
	moment      place // Σ people × place
	from, to    int   // in places
	left, right int   // in boxes; 0 of a leaf
}

// leafSize is the number of points up to which a box is not divided.
const leafSize = 8

// NewPeople returns the people at points; count nil: one at each. Points without people do not count.
func NewPeople(u Unit, points []Point, count []float64) *People {
	p := &People{unit: u, points: points}
	for i, at := range points {
		n := 1.0
		if count != nil {
			n = count[i]
		}
		if n > 0 {
			p.places, p.count, p.of = append(p.places, u.place(at)), append(p.count, n), append(p.of, i)
		}
	}
	if len(p.places) > 0 {
		p.divide(0, len(p.places))
	}
	return p
}

// Len is the number of points with people.
func (p *People) Len() int { return len(p.places) }

// At is point i of Nearest.
func (p *People) At(i int) Point { return p.points[p.of[i]] }

// Total is the number of people.
func (p *People) Total() float64 {
	if len(p.boxes) == 0 {
		return 0
	}
	return p.boxes[0].people
}

// divide makes the box of the places from, …, to−1 and those in it.
func (p *People) divide(from, to int) int {
	b := box{lo: p.places[from], hi: p.places[from], from: from, to: to}
	for i := from; i < to; i++ {
		b.people += p.count[i]
		for k, v := range p.places[i] {
			b.lo[k], b.hi[k] = min(b.lo[k], v), max(b.hi[k], v)
			b.moment[k] += float64(p.count[i] * v)
		}
	}
	at := len(p.boxes)
	p.boxes = append(p.boxes, b)
	if to-from <= leafSize {
		return at
	}
	axis := 0
	for k := range b.lo {
		if b.hi[k]-b.lo[k] > b.hi[axis]-b.lo[axis] {
			axis = k
		}
	}
	if b.hi[axis] == b.lo[axis] {
		return at // one place
	}
	p.sort(from, to, axis)
	middle := (from + to) / 2
	left := p.divide(from, middle)
	right := p.divide(middle, to)
	p.boxes[at].left, p.boxes[at].right = left, right
	return at
}

func (p *People) sort(from, to, axis int) {
	order := make([]int, to-from)
	for i := range order {
		order[i] = from + i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.places[a][axis], p.places[b][axis]), cmp.Compare(p.of[a], p.of[b]))
	})
	places, count, of := make([]place, len(order)), make([]float64, len(order)), make([]int, len(order))
	for i, j := range order {
		places[i], count[i], of[i] = p.places[j], p.count[j], p.of[j]
	}
	copy(p.places[from:], places)
	copy(p.count[from:], count)
	copy(p.of[from:], of)
}

// near and far are bounds of the squares of the distances from a place to those in a box.
func (b *box) near(q place) (sum float64) {
	for k, v := range q {
		d := max(b.lo[k]-v, v-b.hi[k], 0)
		sum += float64(d * d)
	}
	return sum
}

func (b *box) far(q place) (sum float64) {
	for k, v := range q {
		d := max(math.Abs(v-b.lo[k]), math.Abs(v-b.hi[k]))
		sum += float64(d * d)
	}
	return sum
}

// rounding is how far, relatively, the bounds of a box may be off the squares of its places.
const rounding = 1e-12

// within adds the people of box i at squares from least to most of the distance from a place.
func (p *People) within(i int, q place, least, most float64, people *float64, moment *place) {
	b := &p.boxes[i]
	near, far := b.near(q)*(1-rounding), b.far(q)*(1+rounding)
	switch {
	case near > most || far < least:
	case near >= least && far <= most:
		*people += b.people
		for k, v := range b.moment {
			moment[k] += v
		}
	case b.left == 0:
		for j := b.from; j < b.to; j++ {
			if d := square(q, p.places[j]); d >= least && d <= most {
				*people += p.count[j]
				for k, v := range p.places[j] {
					moment[k] += float64(p.count[j] * v)
				}
			}
		}
	default:
		p.within(b.left, q, least, most, people, moment)
		p.within(b.right, q, least, most, people, moment)
	}
}

// AsNear returns how many people live as near to a point as another point is, or nearer: with a released point and the
// true one, this is the spatial k (Allshouse et al. 2010).
func (p *People) AsNear(to, other Point) (people float64) {
	if len(p.boxes) > 0 {
		q := p.unit.place(to)
		p.within(0, q, 0, square(q, p.unit.place(other)), &people, new(place))
	}
	return people
}

// Ring returns how many people live at distances from inner to outer of a point, and the point that is their centre.
func (p *People) Ring(at Point, inner, outer float64) (people float64, centre Point) {
	var moment place
	if len(p.boxes) > 0 {
		p.within(0, p.unit.place(at), p.unit.chord(inner), p.unit.chord(outer), &people, &moment)
	}
	return people, p.centre(people, moment)
}

func (p *People) centre(people float64, moment place) Point {
	m := Mean{unit: p.unit, weight: people, moment: moment}
	return m.Point(Point{})
}

// Mean is the weighted mean of points; on the sphere, the point below that of their places.
type Mean struct {
	unit   Unit
	weight float64
	moment place
}

// NewMean returns the mean of no points.
func NewMean(u Unit) *Mean { return &Mean{unit: u} }

// Add adds a point.
func (m *Mean) Add(p Point, weight float64) {
	m.weight += weight
	for k, v := range m.unit.place(p) {
		m.moment[k] += float64(weight * v)
	}
}

// Point is the mean; other, if there are no points.
func (m *Mean) Point(other Point) Point {
	if m.weight == 0 {
		return other
	}
	at := m.moment
	for k := range at {
		at[k] /= m.weight
	}
	return m.unit.point(at)
}

// Nearest calls f with the points in ascending order of distance from one, and their people, until it returns false.
func (p *People) Nearest(at Point, f func(i int, distance, people float64) bool) {
	if len(p.boxes) == 0 {
		return
	}
	p.nearest(p.unit.place(at), func(j int, chord float64) bool { return f(j, p.unit.distance(chord), p.count[j]) })
}

func (p *People) nearest(q place, f func(j int, chord float64) bool) {
	h := &ahead{{p.boxes[0].near(q) * (1 - rounding), 0, -1}}
	for h.Len() > 0 {
		next := heap.Pop(h).(waiting)
		if next.place >= 0 {
			if !f(next.place, next.chord) {
				return
			}
			continue
		}
		b := &p.boxes[next.box]
		if b.left == 0 {
			for j := b.from; j < b.to; j++ {
				heap.Push(h, waiting{square(q, p.places[j]), next.box, j})
			}
			continue
		}
		for _, i := range []int{b.left, b.right} {
			heap.Push(h, waiting{p.boxes[i].near(q) * (1 - rounding), i, -1})
		}
	}
}

// Radii returns the least radii about a point within which at least so many people live; infinite where there are not
// so many.
func (p *People) Radii(at Point, least, most float64) (inner, outer float64) {
	of := radii{at, least, most}
	if r, ok := p.known.Load(of); ok {
		both := r.([2]float64)
		return both[0], both[1]
	}
	inner, outer = p.radii(at, least, most)
	if p.remember.Add(1) <= mostRemembered {
		p.known.Store(of, [2]float64{inner, outer})
	}
	return inner, outer
}

// radii names what Radii was asked.
type radii struct {
	at          Point
	least, most float64
}

// mostRemembered bounds the memory of Radii, some 200 bytes each.
const mostRemembered = 1 << 19

func (p *People) radii(at Point, least, most float64) (inner, outer float64) {
	inner, outer = math.Inf(1), math.Inf(1)
	sum := 0.0
	p.Nearest(at, func(_ int, distance, people float64) bool {
		sum += people
		if sum >= least {
			inner = min(inner, distance)
		}
		if sum >= most {
			outer = distance
		}
		return sum < most
	})
	return inner, outer
}

// waiting is a box, or a place if that is not −1, in the order of distance.
type waiting struct {
	chord      float64
	box, place int
}

type ahead []waiting

func (a ahead) Len() int { return len(a) }
func (a ahead) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].chord, a[j].chord), cmp.Compare(a[i].place, a[j].place),
		cmp.Compare(a[i].box, a[j].box)) < 0
}
func (a ahead) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *ahead) Push(x any)   { *a = append(*a, x.(waiting)) }
func (a *ahead) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
