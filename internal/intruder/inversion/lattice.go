package inversion

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Lattice is the set of values Offset + k·Step, k whole: multiples of 1,000, or prices that end
// in .99. An intruder knows it from ordinary life.
type Lattice struct {
	Step   float64 `json:"step" doc:"distance of the values that are usual in this column, in its unit"`
	Offset float64 `json:"offset" doc:"least such value that is not negative"`
	Share  float64 `json:"share" doc:"share of the original values on these"`
}

// on reports whether x is a point of the lattice, up to a quarter of the grid.
func (l *Lattice) on(x, grid float64) bool {
	d := math.Mod(x-l.Offset, l.Step)
	d = math.Abs(d)
	return min(d, l.Step-d) <= grid/4+1e-12*math.Abs(x)
}

// nearest returns the point of the lattice that is nearest to y.
func (l *Lattice) nearest(y float64) float64 {
	return l.Offset + l.Step*math.RoundToEven((y-l.Offset)/l.Step)
}

const (
	latticeShare = 0.9 // share of the values from which a lattice is the column's, whatever the excess
	halfShare    = 0.5 // share from which the noise must blur it by default
	classExcess  = 0.2 // share beyond chance from which a lattice is one of several
	classValues  = 5   // number of different values that it needs
	latticeLook  = 2048
	// chanceOfLattice is the greatest probability with which values of a finer lattice may lie on a coarser one by
	// chance: two values always lie on that of their difference, and no snooper knows it.
	chanceOfLattice = 0.001
)

// usualSteps are tried on every column, in steps of the grid; others follow from the values.
var usualSteps = []int64{2, 4, 5, 6, 7, 8, 10, 12, 15, 20, 24, 25, 30, 50, 60, 100, 120, 200, 250, 365, 500, 1000, 2500,
	5000,
	10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 10_000_000, 100_000_000}

// points are values in steps of the grid, among which lattices are sought.
type points struct {
	q, other []int64 // other: without the most frequent value, on every lattice by itself
}

// pointsOf returns up to latticeLook of the values; nil if they do not lie on the grid.
func pointsOf(values []float64, grid float64) *points {
	p := &points{}
	count := map[int64]int{}
	n := len(values)
	for i := range min(n, latticeLook) {
		x := values[int64(i)*int64(n)/int64(min(n, latticeLook))]
		k := x / grid
		if x != x {
			continue
		}
		if math.Abs(k) > 1<<51 || math.Abs(k-math.RoundToEven(k)) > 0.01+1e-9*math.Abs(k) {
			return nil
		}
		p.q = append(p.q, int64(math.RoundToEven(k)))
		count[p.q[len(p.q)-1]]++
	}
	var mode int64
	for v, c := range count {
		if c > count[mode] || c == count[mode] && v < mode {
			mode = v
		}
	}
	slices.Sort(p.q)
	for _, v := range p.q {
		if v != mode {
			p.other = append(p.other, v)
		}
	}
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		return -a
	}
	return a
}

// steps returns the steps to try: greatest common divisors of differences of few values, which
// with 90 % of the values on a lattice are its step (or a multiple) in most tries. The choice
// of values is fixed, so that results are reproducible.
func (p *points) steps() []int64 {
	found := map[int64]int{}
	r := rand.New(rand.NewPCG(1, 2))
	if n := len(p.other); n > 1 {
		for try := range 800 {
			g := int64(0)
			at := p.q[r.IntN(len(p.q))]
			for range 2 + try%3 {
				g = gcd(p.other[r.IntN(n)]-at, g)
			}
			if g > 1 {
				found[g]++
			}
		}
	}
	list := make([]int64, 0, len(found))
	for g := range found {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b int64) int {
		if found[a] != found[b] {
			return found[b] - found[a]
		}
		return int(min(max(a-b, -1), 1))
	})
	if len(list) > 30 {
		list = list[:30]
	}
	for _, s := range usualSteps {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list
}

// placed is a lattice in steps of the grid, with its share of all values and of those that are not
// the most frequent one.
type placed struct {
	step, offset  int64
	share, others float64
	distinct      int // number of different values on it
	on, of        int // number of the others that are on it, and of all others
}

// evident reports whether more of the values are on the lattice than by chance, if each is with probability part: by
// Chernoff's bound. A step that is not a usual one is read off one of the values. One value is no evidence.
func (l *placed) evident(part float64) bool {
	n, on := float64(l.of), float64(l.on)
	if !slices.Contains(usualSteps, l.step) {
		n, on = n-1, on-1
	}
	if n < 2 || on <= n*part {
		return false
	}
	divergence := on * math.Log(on/(n*part))
	if on < n {
		divergence += (n - on) * math.Log((n-on)/(n*(1-part)))
	}
	return divergence >= -math.Log(chanceOfLattice)
}

func mod(a, m int64) int64 { return ((a % m) + m) % m }

// place returns the lattice of a step with the most values.
func (p *points) place(step int64) placed {
	count := map[int64]int{}
	best := placed{step: step}
	most := 0
	from := p.other
	if len(from) == 0 {
		from = p.q
	}
	for _, v := range from {
		o := mod(v, step)
		count[o]++
		if c := count[o]; c > most || c == most && o < best.offset {
			most, best.offset = c, o
		}
	}
	best.on, best.of = most, len(from)
	best.others = float64(most) / float64(len(from))
	all := 0
	for i, v := range p.q { // ascending
		if mod(v, step) == best.offset {
			all++
			if i == 0 || v != p.q[i-1] {
				best.distinct++
			}
		}
	}
	best.share = float64(all) / float64(len(p.q))
	return best
}

// ofNearlyAll returns the coarsest lattice that nearly all values are on, and not by chance. Powers of ten come
// first, as the usual ones: that values on multiples of 100 are on those of 200 must be evident of these.
func ofNearlyAll(all []placed) placed {
	best := placed{step: 1, share: 1, others: 1}
	held := []int64{1}
	for _, tens := range []bool{true, false} {
		for _, l := range all { // ascending
			if powerOfTen(l.step) != tens || l.share < latticeShare || l.others < max(0.5, 2/float64(l.step)) ||
				slices.ContainsFunc(held, func(h int64) bool { return !l.evident(float64(gcd(l.step, h)) / float64(l.step)) }) {
				continue
			}
			held = append(held, l.step)
			if l.step > best.step {
				best = l
			}
		}
	}
	return best
}

func powerOfTen(n int64) bool {
	for n%10 == 0 && n > 0 {
		n /= 10
	}
	return n == 1
}

// lattices returns the lattices of the values, each a part of the one before it. The first is
// the grid itself.
func lattices(values []float64, grid float64) []Lattice {
	list := []Lattice{{Step: grid, Share: 1}}
	p := pointsOf(values, grid)
	if p == nil || len(p.other) == 0 {
		return list
	}
	var all []placed
	for _, s := range p.steps() {
		all = append(all, p.place(s))
	}
	last := placed{step: 1, share: 1, others: 1}
	add := func(l placed) {
		last = l
		list = append(list, Lattice{Step: float64(l.step) * grid, Offset: float64(l.offset) * grid, Share: l.share})
	}
	best := ofNearlyAll(all)
	if best.step > 1 {
		add(best)
	}
	for len(list) < 4 {
		var next placed
		gain := classExcess
		for _, l := range all { // ascending
			if l.distinct < classValues || l.step <= last.step || l.step%last.step != 0 ||
				mod(l.offset-last.offset, last.step) != 0 {
				continue
			}
			part := float64(last.step) / float64(l.step)
			if excess := min(l.others-last.others*part, l.share-last.share*part); excess >= classExcess && excess >= gain-0.02 &&
				l.evident(last.others*part) {
				next, gain = l, max(gain, excess)
			}
		}
		if next.step == 0 {
			break
		}
		add(next)
	}
	return list
}
