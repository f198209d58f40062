package displacement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// A snooper who knows keys, attribute, policy and rate knows with which probability each record of a released group
// holds the original value of a given one: that of the pairing, which does not depend on the values. Beside the
// released value itself, he can state the value of the record that most probably holds the original, or the mean of
// the released values by these probabilities. undoing has the expected squared errors of the two.
type undoing struct {
	known     bool     // false: the released value is all there is
	moves     bool     // whether another record holds the original more probably than the record itself does
	likeliest estimate // if it moves
	mean      estimate
}

// estimate is the expected square of x − τ̂, for a record with original value x: a polynomial in u = x − centre, and
// in m = E(y) − centre and s = E(y − centre)², where y is the value that the masks other than the swap make of x.
type estimate struct{ uu, um, u, s, m, mm, one float64 }

func (e *estimate) square(u, m, s float64) float64 {
	v := u*(e.uu*u+e.um*m+e.u) + e.s*s + m*(e.m+e.mm*m) + e.one
	if v <= 1e-13*(u*u+s+math.Abs(e.one)) { // a difference that is rounding
		return 0
	}
	return v
}

func (e *estimate) add(o *estimate, f float64) {
	e.uu += f * o.uu
	e.um += f * o.um
	e.u += f * o.u
	e.s += f * o.s
	e.m += f * o.m
	e.mm += f * o.mm
	e.one += f * o.one
}

// squares returns the expected squared errors of both estimates, given that the released value is there. released is
// that of the released value.
func (o *undoing) squares(u, m, s, released float64) (likeliest, mean float64) {
	likeliest, mean = released, released
	if o.moves {
		likeliest = o.likeliest.square(u, m, s)
	}
	if o.known {
		mean = o.mean.square(u, m, s)
	}
	return likeliest, mean
}

// Tied is a difference of probabilities that may be rounding.
const Tied = 1e-9

// received is what the records of combinations hold after a swap: sums over the combinations of a class, and how many
// records they are.
type received struct {
	sums    []moment
	records []float64
}

// hold returns the sum over the records of a combination of what they hold after a swap.
func hold(p float64, receives moment, size int32, own moment) (m moment) {
	m.add(own, 1-p)
	m.add(receives, float64(size))
	return m
}

// undo returns the errors for a combination from the probability p that a record of it is exchanged, what it receives,
// and what the combinations of its group hold after the swap.
//
// Where exact is nil, the values that the snooper averages count as independent of the record's own released value, and
// their mean as its expectation. In a group of n records this changes the error by some 1/n of it, mostly upwards
// (TestUndoingInLargerGroups), so that it is lowered by 2/n.
func undo(p float64, receives moment, rates []float64, class int, size int32, own moment, after received,
	exact *averaged) (o undoing) {
	stay := 1 - p
	there := stay + receives[0] // probability that the released value is not null
	if there <= 0 {
		return o
	}
	if p == 0 {
		o.mean, o.known = estimate{uu: 1, um: -2, s: 1}, true
		return o
	}
	var others moment // Σ r·(what the record holds), over the possible partners
	best, holds := 0.0, moment{}
	held := hold(p, receives, size, own)
	for t, rate := range rates {
		if rate == 0 {
			continue
		}
		sum, n := after.sums[t], after.records[t]
		if t == class {
			sum.add(held, -1)
			n -= float64(size)
		}
		if n <= 0 {
			continue
		}
		others.add(sum, rate)
		switch {
		case rate > best+Tied:
			best, holds = rate, sum
		case rate > best-Tied:
			holds.add(sum, 1)
		}
	}
	if best > stay+Tied && holds[0] > 0 {
		o.moves = true
		o.likeliest = estimate{uu: 1, u: -2 * holds[1] / holds[0], one: holds[2] / holds[0]}
	}
	a, z := stay, averaged{mean: others[1], square: others[1] * others[1], zero: receives[1] * others[1] / there,
		one: stay * others[1] / there}
	if exact != nil {
		z = *exact
		z.mean = others[1]
	} else if all := stay + others[0]; all > 0 {
		a, z.mean, z.square = a/all, z.mean/all, z.square/all/all
		z.zero, z.one = z.zero/all, z.one/all
	}
	mean := estimate{
		uu: 1, um: -2 * a * stay / there, u: -2*a*receives[1]/there - 2*z.mean,
		s: a * a * stay / there, m: 2 * a * z.one, mm: 2 * a * z.two,
		one: a*a*receives[2]/there + 2*a*z.zero + z.square,
	}
	least := 1.0
	if exact == nil {
		records := 0.0
		for _, n := range after.records {
			records += n
		}
		least = 1 - 2/records
	}
	o.mean.add(&mean, least)
	o.known = true
	return o
}

// averaged are moments of Z = Σ_j r_j y_j over the possible partners j of a record with released value y: E(Z), E(Z²)
// and E(yZ) = zero + one·m + two·m², with m as in estimate.
type averaged struct{ mean, square, zero, one, two float64 }

// smallUndoing has the coefficients of averaged for a combination o of a small group, for sums over the records of
// combinations c and d. ω_l is the weight in Z of the original value of record l.
type smallUndoing struct {
	pairs   [smallGroup][smallGroup]float64 // E(ω_l ω_k), of different records l of c and k of d
	squares [smallGroup]float64             // E(ω_l²)
	stays   [smallGroup]float64             // E(ω_l; the record keeps its value), l not of o
	alike   float64                         // the same for another record l of o
	moved   [smallGroup][smallGroup]float64 // E(ω_l; the record is exchanged with j), j of c, l of d, not of o
	further [smallGroup]float64             // the same for another record l of o
	back    [smallGroup]float64             // the same for the record itself
}

// undoing computes the coefficients for a combination from the law.
func (g *smallPairing) undoing(o int) (u smallUndoing) {
	n := len(g.combo)
	var weight [smallGroup]float64
	size := func(c int) float64 { return float64(g.sizes[c]) }
	ways := func(c, d int) float64 { // ordered pairs of different records
		if c == d {
			return size(c) * (size(c) - 1)
		}
		return size(c) * size(d)
	}
	for _, e := range slices.Sorted(maps.Keys(g.law)) {
		prob := g.law[e]
		for l := range n {
			weight[l] = 0
			if c := g.combo[e.of(l)]; c != o {
				weight[l] = g.rates[o][c]
			}
		}
		for l := range n {
			c := g.combo[l]
			u.squares[c] += prob * weight[l] * weight[l] / size(c)
			for k := range n {
				if k != l {
					u.pairs[c][g.combo[k]] += prob * weight[l] * weight[k] / ways(c, g.combo[k])
				}
			}
		}
		for t := range n {
			if g.combo[t] != o {
				continue
			}
			j := e.of(t)
			for l := range n {
				p, d := prob*weight[l], g.combo[l]
				switch {
				case l == t && j != t:
					u.back[g.combo[j]] += p / size(o) / size(g.combo[j])
				case l == t || l == j:
				case j == t && d == o:
					u.alike += p / ways(o, o)
				case j == t:
					u.stays[d] += p / size(o) / size(d)
				case d == o:
					u.further[g.combo[j]] += p / ways(o, o) / size(g.combo[j])
				default:
					u.moved[g.combo[j]][d] += p / size(o) / ways(g.combo[j], d)
				}
			}
		}
	}
	return u
}

// averaged returns the moments for combination o from what the combinations hold before the swap.
func (g *smallPairing) averaged(o int, sums []moment) (z averaged) {
	u := &g.undo[o]
	var stays, further, back float64
	for c := range sums {
		s := &sums[c]
		apart := s[1]*s[1] - s[3] // Σ m_l m_k over different records
		z.square += u.squares[c]*s[2] + u.pairs[c][c]*apart
		for d := range sums {
			if d != c {
				z.square += u.pairs[c][d] * s[1] * sums[d][1]
			}
		}
		if c == o {
			continue
		}
		stays += u.stays[c] * s[1]
		further += u.further[c] * s[1]
		back += u.back[c] * s[1]
		z.zero += u.moved[c][c] * apart
		for d := range sums {
			if d != c && d != o {
				z.zero += u.moved[c][d] * s[1] * sums[d][1]
			}
		}
	}
	z.zero += further * sums[o][1]
	z.one = stays + u.alike*sums[o][1] + back - further
	z.two = -u.alike
	return z
}

// row returns the rates of the records of a class in one batch, by the class of the partner.
func (p *Pairing) row(batch, class int) []float64 {
	n := len(p.Sizes)
	return p.rate(batch)[class*n : (class+1)*n]
}

// smallSums are the sums over the combinations of a group whose exchanges are enumerated.
type smallSums struct {
	law   *smallPairing
	sums  []moment // in the order of its sizes
	place []int    // of each combination in sums
}

// sumsOf sorts the sums of combinations of the given sizes. The result is nil if the exchanges of the group are not
// enumerated, or a record has no value: those of averaged do not tell with which of the others it was exchanged.
func (p *Pairing) sumsOf(sizes []int32, sums []moment) *smallSums {
	if p.small == nil {
		return nil
	}
	s := &smallSums{law: p.small, place: make([]int, len(sizes))}
	by := make([]int, len(sizes))
	for i, size := range sizes {
		if sums[i][0] != float64(size) {
			return nil
		}
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, j int) int { return cmp.Compare(sizes[j], sizes[i]) })
	for at, i := range by {
		s.place[i] = at
		s.sums = append(s.sums, sums[i])
	}
	return s
}

// of returns the moments for the i-th combination; nil if there are none.
func (s *smallSums) of(i int) *averaged {
	if s == nil {
		return nil
	}
	z := s.law.averaged(s.place[i], s.sums)
	return &z
}

// add adds f times the errors of another batch. moves is true only if it is in all batches.
func (o *undoing) add(one *undoing, f float64) {
	o.moves = one.moves && (o.moves || !o.known)
	o.known = one.known
	o.likeliest.add(&one.likeliest, f)
	o.mean.add(&one.mean, f)
}

// numbers are all numbers of o, in a fixed order.
func (o *undoing) numbers() []*float64 {
	var list []*float64
	for _, e := range []*estimate{&o.likeliest, &o.mean} {
		list = append(list, &e.uu, &e.um, &e.u, &e.s, &e.m, &e.mm, &e.one)
	}
	return list
}

// packedUndoing is how many numbers pack writes.
const packedUndoing = 14

// pack writes the errors. If another record does not hold the original more probably in all batches, what has been
// added of those in which it does is no error of anything, and is left out: take would see that it moves.
func (o *undoing) pack(p *coding.Packer) {
	packed := *o
	if !o.moves {
		packed.likeliest = estimate{}
	}
	for _, v := range packed.numbers() {
		p.Word(math.Float64bits(*v))
	}
}

// unpackUndoing reads what pack wrote, and appends it to a list.
func unpackUndoing(u *coding.Unpacker, list []float64) []float64 {
	for range packedUndoing {
		list = append(list, math.Float64frombits(u.Word()))
	}
	return list
}

// take takes what unpackUndoing has appended, and returns the rest of the list.
func (o *undoing) take(list []float64) []float64 {
	for i, v := range o.numbers() {
		*v = list[i]
	}
	o.known, o.moves = true, o.likeliest.uu > 0
	return list[packedUndoing:]
}

// undo notes the errors that a swap leaves for record r of batch k, whose own values settle has not changed yet. If
// several swaps move the column, the snooper is taken to know what all but one of them did: the errors are those of
// the swap for which the least is greatest. That is at most what he has without that knowledge.
func (w *displacing) undo(k, r int, p float64, receives *moment, undo *undoing, several bool) {
	own := &w.own[k%len(w.own)][r]
	there := 1 - p + receives[0]
	if own[0] == 0 || there <= 0 {
		return
	}
	u := w.from[r]
	released := ((1-p)*own[2] + max(0, u*u*receives[0]-2*u*receives[1]+receives[2])) / there
	likeliest, mean := undo.squares(u, u+own[1], own[2]+2*u*own[1]+u*u, released)
	to := &w.undone[k][r]
	switch {
	case several:
		least := max(to[0], min(released, likeliest, mean))
		*to = [2]float64{least, least}
	case undo.moves:
		*to = [2]float64{likeliest, mean}
	case undo.known:
		to[1] = mean
	}
}

// meanUndone is the mean of undone over the batches for one of the estimates. Equal numbers have exactly themselves as
// their mean.
func (w *displacing) meanUndone(r, estimate int) float64 {
	first, sum := w.undone[0][r][estimate], 0.0
	for k := range w.batches {
		sum += w.undone[k][r][estimate] - first
	}
	return first + sum/float64(w.batches)
}
