package inversion

import (
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Exact is the share of a column's values that the best snooper states within a distance. For each
// released value he computes the posterior of the original, from the law of the masks and the
// frequencies of the original values, and states the middle of the most probable interval (for the
// default distance: the most probable value). If the law is not known, he states the released value,
// the nearest usual value, or the most frequent one.
type Exact struct {
	Within float64 `json:"within" doc:"the distance, in the column's unit"`
	// Expected is the mean posterior of the claims, nil if the law is not known.
	Expected *float64 `json:"expected,omitempty" doc:"expected share of values that the best snooper states within this distance, from the law of the masks; absent if the masks have no law in closed form"`
	Realised float64  `json:"realised" doc:"share in this release"`
	SE       float64  `json:"se" doc:"standard error of the expected share; 0 if it was computed from all records"`
	// Found is what a rule is compared with.
	Found float64 `json:"found" doc:"the share that the gate judges: the expected one plus two standard errors, or the realised one if it is significantly greater"`
	Guess float64 `json:"guess" doc:"share that a constant guess states, without the release"`
	// Limit is the default limit, for the default distance only.
	Limit *float64 `json:"limit,omitempty" doc:"the share that the gate permits by default: what normal noise of one step of the column's usual values would leave (or the constant guess), plus 0.05; only for the default distance, half that step"`
}

const (
	// exactSlack is what the default limit adds.
	exactSlack = 0.05
	// fewClaims is the share of records up to which claims that a lattice makes certain do not fail a
	// column: errors of the approximation.
	fewClaims = 0.005
	// A value is told apart from all others if its posterior is at least nearlySure and its odds are
	// strongEvidence times those of the prior (Kass & Raftery 1995, section 3.2). Up to fewTold of the
	// records may be told apart: values at the ends of the data, where even strong noise tells a few.
	nearlySure     = 0.95
	strongEvidence = 20
	fewTold        = 0.02
	// mostRecords is the number of records from which shares and priors are computed.
	mostRecords = 25_000
	// evaluations of the law for one column, and records of the noise of the default limit
	evaluations = 60_000
	leastLooks  = 400
	reference   = 400
)

// believed is the prior of the column and what follows from it.
type believed struct {
	prior  *prior
	usual  *Lattice // nil: the grid
	gap    float64
	sorted []float64
	law    law
	stay   []float64 // by record: probability that no exchange moved it; nil: 1
}

// believe sets up the attack with the usual values. It returns nil if there are no values.
func (a *attacker) believe(masks []transform.Spec) *believed {
	b := a.expects()
	if b == nil {
		return nil
	}
	b.law = lawOf(masks, a.column.Name, a.grid, a.sd())
	for _, l := range a.links {
		if l.kind == Unswapped && l.certain != nil {
			if b.stay == nil {
				b.stay = ones(len(a.column.Released))
			}
			l.certain(a.column.Released, b.stay)
		}
	}
	return b
}

// expects is what is known of the column before a value is seen; nil if there are no values.
func (a *attacker) expects() *believed {
	x := make([]float64, 0, min(a.original.n, mostRecords))
	for i := range a.spread() {
		if v := a.column.Original[i]; v == v {
			x = append(x, v)
		}
	}
	if len(x) == 0 {
		return nil
	}
	b := &believed{}
	list := lattices(x, a.grid)
	for i := range list[1:] {
		if list[i+1].Share >= halfShare {
			b.usual = &list[i+1]
		}
	}
	rank.Sort(x)
	b.sorted = x
	b.prior = newPrior(x, a.grid, list)
	b.gap = b.prior.usualGap(len(x))
	return b
}

// spread yields the indexes of mostRecords records, spread evenly, or of all if there are not more.
func (a *attacker) spread() iter.Seq[int] {
	n := len(a.column.Original)
	m := min(n, mostRecords)
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(int(int64(k) * int64(n) / int64(m))) {
				return
			}
		}
	}
}

// untouched reports whether no mask changes a value of the column.
func (a *attacker) untouched() bool {
	for _, l := range a.links {
		if !l.trivial {
			return false
		}
	}
	return true
}

// guessWithin returns the value with the greatest share of values within a distance of it, and this
// share; with between it may be a place between values that is nearer to them than the distance.
func guessWithin(sorted []float64, within float64, between bool) (constant, share float64) {
	constant, most := mostWithin(sorted, within*(1+1e-6), 0)
	if nearer := within * (1 - 1e-6); between {
		if c, n := mostWithin(sorted, nearer*(1+1e-9), nearer); n > most {
			constant, most = c, n
		}
	}
	return constant, float64(most) / float64(len(sorted))
}

// mostWithin returns the value, moved by a shift, with the most values within a distance of it, and their number.
func mostWithin(sorted []float64, within, shift float64) (constant float64, most int) {
	from, to := 0, 0
	for _, v := range sorted {
		v += shift
		d := within + 1e-12*math.Abs(v)
		for sorted[from] < v-d {
			from++
		}
		for to < len(sorted) && sorted[to] <= v+d {
			to++
		}
		if to-from > most {
			most, constant = to-from, v
		}
	}
	return constant, most
}

// within reports whether a claim is within a distance of the original.
func within(claim, x, distance float64) bool {
	return math.Abs(claim-x) <= distance*(1+1e-6)+1e-12*math.Abs(x)
}

// looked is a released value with the records that have it.
type looked struct {
	y       float64
	records []int32
}

// ordered returns the records with an original and a released value, in ascending order of the latter.
func (a *attacker) ordered() []int32 {
	x, y := a.column.Original, a.column.Released
	order := make([]int32, 0, min(len(y), mostRecords))
	for i := range a.spread() {
		if y[i] == y[i] && x[i] == x[i] {
			order = append(order, int32(i))
		}
	}
	rank.Order(order, y, nil)
	return order
}

// looks returns the distinct released values of ordered records, in ascending order; those of not more
// than a number of records if there are more of them, spread evenly over the records.
func (a *attacker) looks(order []int32, most int) (list []looked, all bool) {
	y := a.column.Released
	distinct := 0
	for i := range order {
		if i == 0 || y[order[i]] != y[order[i-1]] {
			distinct++
		}
	}
	all = distinct <= most
	take := len(order)
	if !all {
		take = min(most, take)
	}
	for k := range take {
		i := order[int64(2*k+1)*int64(len(order))/int64(2*take)]
		if n := len(list); n > 0 && list[n-1].y == y[i] {
			list[n-1].records = append(list[n-1].records, i)
			continue
		}
		list = append(list, looked{y[i], []int32{i}})
	}
	return list, all
}

// affordable returns how many released values can be evaluated.
func (a *attacker) affordable(b *believer, order []int32) int {
	few, _ := a.looks(order, 16)
	cost := 1
	for _, l := range few {
		b.at(l.y)
		cost = max(cost, 2*len(b.list))
	}
	return max(leastLooks, evaluations/cost)
}

// exact attacks with the usual values: it adds to c the claims that they make certain, and the
// shares of values that are stated within the given distances.
func (a *attacker) exact(c *ColumnResult, masks []transform.Spec, distances []float64) {
	b := a.believe(masks)
	if b == nil {
		return
	}
	c.Lattice = b.usual
	distances = slices.Insert(slices.Clone(distances), 0, b.gap/2)
	var found []Exact
	for k, d := range distances {
		e := Exact{Within: d}
		var constant float64
		constant, e.Guess = guessWithin(b.sorted, d, k > 0)
		e.Realised = max(a.simply(b, d, constant), a.beside(b, d))
		found = append(found, e)
	}
	switch {
	case !a.masked || a.untouched():
		for i := range found {
			one := 1.0
			found[i].Expected, found[i].Found = &one, 1
		}
	case b.law != nil:
		a.posteriors(c, b, found)
	case a.exchanges(b, found):
	default:
		for i := range found {
			e := &found[i]
			e.SE = a.ofSample(e.Realised, len(b.sorted))
			e.Found = min(1, e.Realised+2*e.SE)
		}
	}
	limit := a.limit(b, &found[0])
	found[0].Limit = &limit
	c.Exact = found
}

// ofSample returns the standard error of a share of which n values of a sample of the release are known; 0
// if they are all.
func (a *attacker) ofSample(p float64, n int) float64 {
	if a.n <= min(len(a.column.Released), mostRecords) {
		return 0
	}
	return math.Sqrt(p * (1 - p) / float64(max(n, 1)))
}

// simply returns the share of values that are stated without a posterior: as the released value, as
// the usual value nearest to it, or as a constant.
func (a *attacker) simply(b *believed, d, constant float64) float64 {
	var itself, rounded, guessed, n int
	for i := range a.spread() {
		x, y := a.column.Original[i], a.column.Released[i]
		if x != x {
			continue
		}
		n++
		if within(constant, x, d) {
			guessed++
		}
		if y != y {
			continue
		}
		if within(y, x, d) {
			itself++
		}
		if b.usual != nil && within(b.usual.nearest(y), x, d) {
			rounded++
		}
	}
	return float64(max(itself, rounded, guessed)) / float64(max(n, 1))
}

// beside returns the greatest share of values that all columns together state within a distance, as
// estimated, as the nearest value on the grid, or as the nearest usual value.
func (a *attacker) beside(b *believed, d float64) float64 {
	grid := Lattice{Step: a.grid}
	most := 0.0
	for _, claims := range a.statements {
		var hits [3]int
		n := 0
		for i, v := range claims {
			x := a.column.Original[i]
			if v != v || x != x {
				continue
			}
			n++
			stated := []float64{v, grid.nearest(v)}
			if b.usual != nil {
				stated = append(stated, b.usual.nearest(v))
			}
			for k, claim := range stated {
				if within(claim, x, d) {
					hits[k]++
				}
			}
		}
		most = max(most, float64(slices.Max(hits[:]))/float64(max(n, 1)))
	}
	return most
}

// stays returns the probability that no exchange moved a record.
func (b *believed) stays(i int32) float64 {
	if b.stay == nil {
		return 1
	}
	return b.stay[i]
}

// lessChance returns a share of so many records less two standard errors.
func lessChance(share, of float64) float64 { return share - 2*math.Sqrt(share*(1-share)/of) }

// posteriors computes the shares of found from posteriors, and the claims that are certain.
func (a *attacker) posteriors(c *ColumnResult, b *believed, found []Exact) {
	bel := newBeliever(b.prior, b.law)
	order := a.ordered()
	list, all := a.looks(order, a.affordable(bel, order))
	sure := [...]*sureOf{
		{claims: claims{file: file{0, OnLattice}, certainty: 1, deterministic: true}},
		{claims: claims{file: file{0, ToldApart}, certainty: 1, deterministic: true}},
	}
	expected, realised := make([]float64, len(found)), make([]float64, len(found))
	before, steps := make([]float64, len(found)), make([]float64, len(found))
	n := 0
	for _, l := range list {
		bel.at(l.y)
		for k := range found {
			claim, p := bel.best(bel.full, found[k].Within, k > 0) // the default is of values, not of places between them
			for _, i := range l.records {
				s := b.stays(i)
				p := s*p + (1-s)*found[k].Guess
				expected[k] += p
				if n > 0 {
					steps[k] += (p - before[k]) * (p - before[k])
				}
				before[k] = p
				if within(claim, a.column.Original[i], found[k].Within) {
					realised[k]++
				}
			}
		}
		n += len(l.records)
		a.certain(b, bel, l, sure)
	}
	m := float64(max(n, 1))
	present := float64(len(order)) / float64(len(b.sorted)) // others are guessed
	for k := range found {
		e := &found[k]
		p := present*expected[k]/m + (1-present)*e.Guess
		r := present * realised[k] / m
		least := max(lessChance(r, m), lessChance(e.Realised, float64(len(b.sorted)))) // others are counted in all records
		e.Expected, e.Realised = &p, max(e.Realised, r)
		e.SE = a.ofSample(p, len(b.sorted))
		if !all { // values in their order: the error is that of neighbours (Wolter 2007, section 8.2)
			e.SE = math.Hypot(e.SE, math.Sqrt(steps[k]/2)/m)
		}
		e.Found = min(1, max(p+2*e.SE, least))
	}
	for g, group := range sure {
		few := fewClaims
		if g == 1 {
			few = fewTold
		}
		if float64(group.recovered) <= max(2, few*float64(n)) {
			continue
		}
		if a.judge(c, &group.claims); group.fails {
			for _, h := range group.hits {
				for _, i := range h.records {
					a.disclosed[i] = a.disclosed[i] || a.near(h.claim, a.column.Original[i])
				}
			}
		}
	}
}

// sureOf are the claims of one kind that are all but certain, and the records that they are about.
type sureOf struct {
	claims
	hits []hit
}

// A hit is one claim about the records of one released value.
type hit struct {
	claim   float64
	records []int32
}

// certain adds what is all but certain of the records of a released value: by the law alone, and with the prior.
func (a *attacker) certain(b *believed, bel *believer, l looked, sure [2]*sureOf) {
	near := a.grid / 2
	for g, group := range sure {
		least, sums := a.confidence, bel.even
		if g == 1 {
			least, sums = nearlySure, bel.full
		}
		if bel.most[1-g] < least {
			continue
		}
		claim, p := bel.best(sums, near, false)
		if g == 1 {
			prior := b.frequency(claim, near)
			least = max(least, strongEvidence*prior/(strongEvidence*prior+1-prior))
		}
		var kept []int32
		for _, i := range l.records {
			if q := p * b.stays(i); q >= least {
				group.add(a.near(claim, a.column.Original[i]), q, 0)
				kept = append(kept, i)
			}
		}
		if len(kept) > 0 {
			group.hits = append(group.hits, hit{claim, kept})
		}
	}
}

// frequency returns the share of the original values within a distance of v.
func (b *believed) frequency(v, distance float64) float64 {
	d := distance*(1+1e-6) + 1e-12*math.Abs(v)
	from := sort.SearchFloat64s(b.sorted, v-d)
	to := sort.Search(len(b.sorted), func(i int) bool { return b.sorted[i] > v+d })
	return float64(max(to-from, 0)) / float64(len(b.sorted))
}

// limit returns the default limit: the share that normal noise of SD gap leaves to the best
// snooper, or the constant guess, plus exactSlack. Masks that move values between records leave
// many of them where they were; for them it is at least the confidence.
func (a *attacker) limit(b *believed, e *Exact) float64 {
	least := e.Guess
	if b.law == nil || b.stay != nil {
		least = max(least, a.confidence-exactSlack)
	}
	if e.Found <= least+exactSlack {
		return min(1, least+exactSlack)
	}
	bel := newBeliever(b.prior, ofNoise(b.gap))
	z := standardNormal(reference)
	var sum float64
	for i, v := range z {
		x := b.sorted[int64(2*i+1)*int64(len(b.sorted))/(2*reference)]
		bel.at(x + b.gap*v)
		_, p := bel.best(bel.full, e.Within, false)
		sum += p
	}
	return min(1, max(least, sum/reference)+exactSlack)
}

// distancesOf returns the distances asked for, sorted, each once.
func distancesOf(list []float64) []float64 {
	out := slices.Clone(list)
	sort.Float64s(out)
	return slices.Compact(out)
}
