// Package comoment computes sizes, means and centred sums of columns and of pairs of columns.
package comoment

import (
	"math"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/microdata"
	"gonum.org/v1/gonum/floats"
)

// Pair holds size, means and centred sums of two columns over the records
// in which both have a value. Means have a second part for what float64 rounds off:
// otherwise merging many small parts would lose the digits of a column whose mean
// is many SDs away from 0 (times, identifiers).
type Pair struct {
	N        float64
	Mi, Mj   float64
	Li, Lj   float64 // the means are Mi+Li and Mj+Lj
	Cii, Cjj float64 // Σ(u−ū)², Σ(v−v̄)²
	Cij      float64 // Σ(u−ū)(v−v̄)
}

// merge adds o by the formula of Chan, Golub and LeVeque (1983).
func (c *Pair) merge(o Pair) {
	if o.N == 0 {
		return
	}
	if c.N == 0 {
		*c = o
		return
	}
	n := c.N + o.N
	di, dj := (o.Mi-c.Mi)+(o.Li-c.Li), (o.Mj-c.Mj)+(o.Lj-c.Lj)
	w := c.N * o.N / n
	c.Mi, c.Li = exactSum(c.Mi, c.Li, di*o.N/n)
	c.Mj, c.Lj = exactSum(c.Mj, c.Lj, dj*o.N/n)
	c.Cii += o.Cii + di*di*w
	c.Cjj += o.Cjj + dj*dj*w
	c.Cij += o.Cij + di*dj*w
	c.N = n
}

// exactSum returns high+low+d as a rounded sum and the rounding error (Knuth).
func exactSum(high, low, d float64) (sum, rest float64) {
	s := high + d
	v := s - high
	low += (high - (s - v)) + (d - v)
	sum = s + low
	return sum, low - (sum - s)
}

// Above returns the mean of c minus that of o, both of the first column.
func (c *Pair) Above(o *Pair) float64 {
	if c.N == 0 || o.N == 0 {
		return math.NaN()
	}
	return (c.Mi - o.Mi) + (c.Li - o.Li)
}

// Correlation returns Pearson's correlation; NaN if a column is constant or has no values.
func (c *Pair) Correlation() float64 {
	if c.Cii == 0 || c.Cjj == 0 {
		return math.NaN()
	}
	return max(-1, min(1, c.Cij/math.Sqrt(c.Cii)/math.Sqrt(c.Cjj)))
}

// Variance returns the variance of the first column, with divisor n−1; NaN for fewer than two
// values.
func (c *Pair) Variance() float64 {
	if c.N < 2 {
		return math.NaN()
	}
	return max(0, c.Cii) / (c.N - 1)
}

// sums are uncorrected sums about the columns' centres over part of a block.
type sums struct{ n, si, sj, sii, sjj, sij float64 }

func (a sums) plus(b sums) sums {
	return sums{a.n + b.n, a.si + b.si, a.sj + b.sj, a.sii + b.sii, a.sjj + b.sjj, a.sij + b.sij}
}

// Gram holds the co-moments of all pairs of k columns of one side (original or
// released), row by row of the lower triangle.
//
// Within a block, sums are taken about a centre, the running mean at the beginning
// of the block: subtracting the block's own mean then loses fewer digits than adding
// the block to the total, so no precision is lost. At the end of the block the sums
// are added to the total. If the mean lies within 30 SDs of 0 the centre is 0, which
// saves a pass and costs three of sixteen digits.
type Gram struct {
	K     int
	Pairs []Pair

	Centre []float64
	n      float64   // records of clean runs in this block
	s      []float64 // per column, clean runs
	q      []float64 // per pair, clean runs
	part   []sums    // per pair, runs with nulls
	parted bool
}

// New returns the empty co-moments of k columns.
func New(k int) Gram {
	p := k * (k + 1) / 2
	return Gram{K: k, Pairs: make([]Pair, p), Centre: make([]float64, k), s: make([]float64, k), q: make([]float64, p),
		part: make([]sums, p)}
}

// At returns the pair of columns i ≥ j.
func (g *Gram) At(i, j int) *Pair { return &g.Pairs[i*(i+1)/2+j] }

// Between returns the pair's co-moments with i and j in the order given.
func (g *Gram) Between(i, j int) Pair {
	if i >= j {
		return *g.At(i, j)
	}
	c := *g.At(j, i)
	c.Mi, c.Mj, c.Li, c.Lj, c.Cii, c.Cjj = c.Mj, c.Mi, c.Lj, c.Li, c.Cjj, c.Cii
	return c
}

// Recentre sets the centre of column i for the next block: its mean so far, or that
// of the given values if there are none yet. Rejected records, for which keep has no
// bit, are ignored: their masked values may be far from the others.
func (g *Gram) Recentre(i int, v microdata.Vector, keep microdata.Bitmap) {
	if c := g.At(i, i); c.N > 0 {
		g.Centre[i] = c.Mi
		if c.N >= cell.Run && c.Mi*c.Mi <= 900*c.Cii/c.N {
			g.Centre[i] = 0
		}
		return
	}
	n, mean := 0.0, 0.0
	for r, x := range v.Values[:min(len(v.Values), cell.Run)] {
		if keep.Has(r) && v.Valid.Has(r) && cell.Finite(x) {
			n++
			mean += (x - mean) / n
		}
	}
	g.Centre[i] = mean
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		g.Centre[i] = 0
	}
}

// Run has the sums of one run of a block, for Add: those of several runs may be computed beside one another, each about
// the Centre of the same Gram.
type Run struct {
	n      float64   // records of a clean run
	s      []float64 // per column, of a clean run
	q      []float64 // per pair, of a clean run
	part   []sums    // per pair, of a run with nulls
	parted bool
}

// Clean sums a run of n records without nulls: u holds the centred columns, s the sum of each.
func (r *Run) Clean(n int, u [][]float64, s []float64) {
	r.n, r.parted = float64(n), false
	r.s, r.q = append(r.s[:0], s...), r.q[:0]
	for i := range u {
		ui := u[i][:n]
		for j := range i + 1 {
			r.q = append(r.q, floats.Dot(ui, u[j][:n]))
		}
	}
}

// Part sums a run of n records some of which have no value: u is 0 there; has is 1 where there
// is a value and 0 elsewhere, and present has the same as bits.
func (r *Run) Part(n int, u, has [][]float64, present []cell.Bits) {
	r.parted, r.part = true, r.part[:0]
	for i := range u {
		ui, hi := u[i][:n], has[i][:n]
		for j := range i {
			s := sharedSums(ui, u[j][:n], hi, has[j][:n])
			a := sums{si: s.i, sj: s.j, sii: s.ii, sjj: s.jj, sij: s.ij}
			for w, word := range present[i] {
				a.n += float64(bits.OnesCount64(word & present[j][w]))
			}
			r.part = append(r.part, a)
		}
		sum, square := floats.Dot(ui, hi), floats.Dot(ui, ui)
		a := sums{si: sum, sj: sum, sii: square, sjj: square, sij: square}
		for _, word := range present[i] {
			a.n += float64(bits.OnesCount64(word))
		}
		r.part = append(r.part, a)
	}
}

// Add adds a run to the block. The sums are rounded in the order of the calls.
func (g *Gram) Add(r *Run) {
	if r.parted {
		g.parted = true
		for p, a := range r.part {
			g.part[p] = g.part[p].plus(a)
		}
		return
	}
	g.n += r.n
	for i, s := range r.s {
		g.s[i] += s
	}
	for p, q := range r.q {
		g.q[p] += q
	}
}

// shared are sums of two columns over the records in which both have a value.
type shared struct {
	i, j, ii, jj float64 // of u and of its squares
	ij           float64 // of products
}

// sharedSums computes sums of u of two columns, which is 0 without a value, over the records in which
// the other column has a value: there hi and hj are 1, otherwise 0.
func sharedSums(ui, uj, hi, hj []float64) (s shared) {
	if n := len(ui); vectors && n > 0 && n%4 == 0 {
		sharedAVX2(&ui[0], &uj[:n][0], &hi[:n][0], &hj[:n][0], n, &s)
		return s
	}
	return sharedLoop(ui, uj, hi, hj)
}

// sharedLoop has four sums of each kind, so that the additions do not depend on one another.
func sharedLoop(ui, uj, hi, hj []float64) shared {
	n := len(ui)
	uj, hi, hj = uj[:n], hi[:n], hj[:n]
	var of [4]shared
	for r, a := range ui {
		s := &of[r&3]
		b := uj[r]
		ah, bh := float64(a*hj[r]), float64(b*hi[r])
		s.i += ah
		s.j += bh
		s.ii += float64(a * ah)
		s.jj += float64(b * bh)
		s.ij += float64(a * b)
	}
	return of[0].plus(of[2]).plus(of[1].plus(of[3]))
}

func (s shared) plus(o shared) shared {
	return shared{i: s.i + o.i, j: s.j + o.j, ii: s.ii + o.ii, jj: s.jj + o.jj, ij: s.ij + o.ij}
}

// Fold ends a block: it adds the block's sums to the total.
func (g *Gram) Fold() {
	p := 0
	for i := range g.K {
		for j := range i + 1 {
			a := sums{n: g.n, si: g.s[i], sj: g.s[j], sii: g.q[i*(i+1)/2+i], sjj: g.q[j*(j+1)/2+j], sij: g.q[p]}
			if g.parted {
				a = a.plus(g.part[p])
			}
			if a.n > 0 {
				mi, mj := a.si/a.n, a.sj/a.n
				c := Pair{N: a.n, Cii: max(0, a.sii-mi*a.si), Cjj: max(0, a.sjj-mj*a.sj), Cij: a.sij - mi*a.sj}
				c.Mi, c.Li = exactSum(g.Centre[i], 0, mi)
				c.Mj, c.Lj = exactSum(g.Centre[j], 0, mj)
				g.Pairs[p].merge(c)
			}
			p++
		}
	}
	g.n, g.parted = 0, false
	clear(g.s)
	clear(g.q)
	clear(g.part)
}

// Merge adds the co-moments of other records.
func (g *Gram) Merge(o *Gram) {
	for p := range g.Pairs {
		g.Pairs[p].merge(o.Pairs[p])
	}
}

// Centre writes to u and has a centred value and 1, or zeros where there is no value, and to
// present a bit for each value. A null or rejected record may hold NaN, so its value is skipped and
// not multiplied by 0. from is a multiple of 64.
func Centre(v microdata.Vector, from, n int, keep microdata.Bitmap, centre float64, u, has []float64,
	present *cell.Bits) {
	*present = cell.Bits{}
	for at := 0; at < n; at += 64 {
		end := min(at+64, n)
		x := v.Values[from+at : from+end]
		marks := cell.Word(v.Valid, from+at) & cell.Word(keep, from+at)
		present[at/64] = centreWord(x, marks, centre, u[at:end], has[at:end])
	}
}

// centreWord is Centre for up to 64 values, of which marks has a bit for each that is not null. It
// returns the bits of those that are also finite.
func centreWord(x []float64, marks uint64, centre float64, u, has []float64) uint64 {
	marks &= ^uint64(0) >> (64 - len(x))
	u, has = u[:len(x)], has[:len(x)]
	if centreMarked(x, marks, centre, u, has) {
		return marks
	}
	for i, v := range x {
		if marks>>i&1 == 1 && !cell.Finite(v) {
			marks &^= 1 << i
			u[i], has[i] = 0, 0
		}
	}
	return marks
}

// centreMarked writes u and has, and reports whether all marked values are finite.
func centreMarked(x []float64, marks uint64, centre float64, u, has []float64) (finite bool) {
	if vectors && len(x) == 64 {
		return centreAVX2((*[64]float64)(u), (*[64]float64)(has), (*[64]float64)(x), marks, centre)
	}
	return centreLoop(x, marks, centre, u, has)
}

func centreLoop(x []float64, marks uint64, centre float64, u, has []float64) (finite bool) {
	odd := 0.0
	for i, v := range x {
		mark := marks >> i
		d := cell.Where(mark, v-centre)
		odd += d - d // NaN if one is not finite
		u[i], has[i] = d, cell.Where(mark, 1)
	}
	return odd == 0
}

// Rows returns k rows of cell.Run values.
func Rows(k int) [][]float64 {
	rows, all := make([][]float64, k), make([]float64, k*cell.Run)
	for i := range rows {
		rows[i] = all[i*cell.Run : (i+1)*cell.Run : (i+1)*cell.Run]
	}
	return rows
}

// Of returns the moments of values none of which is missing.
func Of(x []float64) Pair {
	c := Pair{N: float64(len(x))}
	for i, v := range x {
		c.Mi += (v - c.Mi) / float64(i+1)
	}
	for _, v := range x {
		c.Cii += (v - c.Mi) * (v - c.Mi)
	}
	return c
}
