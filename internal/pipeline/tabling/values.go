package tabling

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
)

// valuesByCellKey changes every sum of values by the key of its cell, and audits the result.
func (r *records) valuesByCellKey(p *protected) error {
	at := fmt.Sprintf("tables[%d].protect.cell_key.values", p.of[0])
	if p.cells.Negative != nil {
		r.wrong(at, "must be another method: some contributions are below 0")
	}
	if !p.crossed() {
		r.wrong(at,
			"must be another method, or one of the tables must have all variables of the tables of its value: otherwise it is not known in which cells a contributor is")
	}
	if err := r.check(); err != nil {
		return err
	}
	v, keys := p.table.Protect.CellKey.Values.Units(p.options.Decimals), r.recordKeys()
	p.published = make([]float64, len(p.question.Value))
	for cell, value := range p.question.Value {
		if value == 0 {
			continue
		}
		p.published[cell] = perturb.Change(value, v.Scale(value, contributions(p.cells.Largest(cell), 0)),
			keys.Value(v, p.table.Value, p.cells.Keys[cell]))
	}
	return p.auditContributors(v)
}

// crossed reports whether one of the tables has all variables.
func (p *protected) crossed() bool {
	has := map[string]bool{}
	most := 0
	for _, t := range p.set.Tables {
		most = max(most, len(t.Dimensions))
		for _, d := range t.Dimensions {
			has[d.Name] = true
		}
	}
	return most == len(has)
}

// contributions returns contributions without those of somebody; 0: nobody.
func contributions(list []tables.Contribution, without uint64) (values []float64) {
	for _, c := range list {
		if without == 0 || c.Who != without {
			values = append(values, c.Value)
		}
	}
	return values
}

// contributorBelief measures what is believed about a contribution: 1/entropy, and the expected squared error.
type contributorBelief struct{ risk, square float64 }

// auditContributors computes for each unsafe cell what somebody believes about its largest contribution who knows the
// method and all other contributions to all tables of the value: nobody knows more, so no other cells, respondents or
// coalitions need to be examined. Beforehand every contribution is equally likely. A cell is disclosed if some value is
// within the distance that its rule forbids with a probability above 0.9.
func (p *protected) auditContributors(v *perturb.Values) error {
	p.status = p.rules.Status
	q := p.question
	p.ranges = &audit.Ranges{Low: slices.Clone(q.Value), High: slices.Clone(q.Value)}
	p.ranges.ShownLow, p.ranges.ShownHigh = p.ranges.Low, p.ranges.High
	p.contributors = map[int32]contributorBelief{}
	seen := p.newSightings()
	for _, cell := range p.unsafeCounts() {
		if err := q.Stopped(); err != nil {
			return err
		}
		first := p.cells.Largest(int(cell))
		if len(first) == 0 || first[0].Value == 0 { // published as 0
			p.contributors[cell] = contributorBelief{risk: math.Inf(1)}
			p.verdict.Disclosed = append(p.verdict.Disclosed, cell)
			continue
		}
		b := believe(v, seen.of(cell), first[0].Value)
		p.contributors[cell] = b.measure(first[0].Value)
		x := q.Value[cell]
		p.ranges.Low[cell], p.ranges.High[cell] = x+b.at(0)-first[0].Value, x+b.at(len(b.p)-1)-first[0].Value
		switch {
		case !(b.within(p.forbidden(cell)) <= certain): // also if it is not a number
			p.verdict.Disclosed = append(p.verdict.Disclosed, cell)
		case p.ranges.Low[cell] > x-p.rules.Down[cell] || p.ranges.High[cell] < x+p.rules.Up[cell]:
			p.verdict.Narrow = append(p.verdict.Narrow, cell)
		}
	}
	return q.Stopped()
}

// forbidden returns how near nobody may come to the largest contribution of an unsafe cell. The required range of a
// rule is less where other contributors hide the largest one; here they are known, so they hide nothing.
func (p *protected) forbidden(cell int32) float64 {
	w := max(p.rules.Up[cell], p.rules.Down[cell])
	for _, u := range p.table.Unsafe {
		share := u.PPercent
		if len(u.PQ) == 2 {
			share = u.PQ[0]
		}
		w = max(w, share/100*p.cells.Largest(int(cell))[0].Value)
		if len(u.Dominance) == 2 {
			sum := 0.0
			for _, s := range p.cells.Slots(int(cell), int(u.Dominance[0])) {
				sum += s
			}
			if up := 100/u.Dominance[1]*sum - p.question.Value[cell]; up > 0 {
				w = max(w, (100/u.Dominance[1]-1)*sum)
			}
		}
	}
	return w
}

// sighting is a published cell with a contributor: its value is rest + share times the contribution in question.
type sighting struct {
	published, rest, share float64
	others                 []float64 // the largest other contributions
}

// sightings finds the cells that a contributor is in.
type sightings struct {
	*protected
	in    map[uint64][]int32 // cells that keep a contributor among their largest
	above map[int32][]int32
}

func (p *protected) newSightings() *sightings {
	s := &sightings{p, map[uint64][]int32{}, p.sumsAbove()}
	for cell := range int32(p.set.Cells()) {
		for _, c := range p.cells.Largest(int(cell)) {
			s.in[c.Who] = append(s.in[c.Who], cell)
		}
	}
	return s
}

// of returns the cells that the largest contributor of a cell is in, the cell itself first. Cells of the same records
// are changed alike, and only one of them is returned. The largest contributor of a cell is also that of her part of
// it; so, with one table of all variables, the cells of her record are those that keep her and all above. A holding is
// seen in the same way; of its contributions to several cells the ratio is taken as known, and where it is not kept, as
// much as the least that is.
func (s *sightings) of(cell int32) (list []sighting) {
	first := s.cells.Largest(int(cell))[0]
	known, keys := map[int32]bool{}, map[uint64]bool{}
	for next := append([]int32{cell}, s.in[first.Who]...); len(next) > 0; next = next[1:] {
		c := next[0]
		if known[c] {
			continue
		}
		known[c] = true
		for _, i := range s.above[c] {
			next = append(next, s.set.Sum(int(i)).Total)
		}
		if key := s.cells.Keys[c]; !keys[key] {
			keys[key] = true
			list = append(list, s.sighting(c, first))
		}
	}
	return list
}

// sighting returns how a contributor is seen in a cell.
func (s *sightings) sighting(cell int32, who tables.Contribution) sighting {
	kept := s.cells.Largest(int(cell))
	own := who.Value
	if s.options.Holdings {
		own = kept[len(kept)-1].Value
	}
	if i := slices.IndexFunc(kept, func(c tables.Contribution) bool { return c.Who == who.Who }); i >= 0 {
		own = kept[i].Value
	}
	return sighting{s.published[cell], s.question.Value[cell] - own, own / who.Value, contributions(kept, who.Who)}
}

// belief is a distribution over contributions: p[i] of low + i step, each for all whole numbers of units around it.
type belief struct {
	low, step float64
	p         []float64
}

// beliefPoints is the greatest number of contributions that are told apart.
const beliefPoints = 1024

// believe returns the belief about a contribution, whose true value is x, from the cells that it is in.
func believe(v *perturb.Values, seen []sighting, x float64) *belief {
	// A cell is at least half of what is published, because no change is more than the cell, and at most what leaves as
	// much after the greatest change.
	y, rest := seen[0].published+0.5, seen[0].rest
	low, high := max(math.Floor(y/2-1-rest), 0), math.Ceil(max(y/(1-v.Most), y+v.Least)-rest)
	for {
		b := newBelief(low, max(high, x), x)
		b.update(v, seen)
		from, to := b.support()
		b.low, b.p = b.at(from), b.p[from:to+1]
		if b.step == 1 || len(b.p) >= beliefPoints/4 {
			return b
		}
		low, high = max(b.low-b.step, 0), b.at(len(b.p)-1)+b.step
	}
}

// newBelief returns a belief in all contributions of a range, of which x is one.
func newBelief(low, high, x float64) *belief {
	step := max(1, math.Ceil((high-low)/(beliefPoints-2)))
	down := math.Floor((x - low) / step)
	return &belief{x - down*step, step, make([]float64, int(down+math.Floor((high-x)/step))+1)}
}

func (b *belief) at(i int) float64 { return b.low + float64(i)*b.step }

// update sets the probabilities to those that the published cells give.
func (b *belief) update(v *perturb.Values, seen []sighting) {
	var largest []float64
	top := math.Inf(-1)
	for i := range b.p {
		log := 0.0
		for _, s := range seen {
			own := s.share * b.at(i)
			largest = perturb.Insert(largest[:0], s.others, own)
			value := s.rest + own
			log += math.Log(perturb.Likelihood(s.published, value, v.Scale(value, largest)))
		}
		b.p[i] = log
		top = max(top, log)
	}
	sum := 0.0
	for i, log := range b.p {
		b.p[i] = math.Exp(log - top)
		sum += b.p[i]
	}
	for i := range b.p {
		b.p[i] /= sum
	}
}

// support returns the first and the last possible contribution.
func (b *belief) support() (from, to int) {
	from, to = 0, len(b.p)-1
	for from < to && b.p[from] == 0 {
		from++
	}
	for to > from && b.p[to] == 0 {
		to--
	}
	return from, to
}

// within returns the greatest probability that a contribution is within a distance of one value.
func (b *belief) within(distance float64) (greatest float64) {
	width, sum := int(min(math.Floor(2*distance/b.step)+1, float64(len(b.p)))), 0.0
	for i, p := range b.p {
		if sum += p; i >= width {
			sum -= b.p[i-width]
		}
		greatest = max(greatest, sum) // not a number if one is
	}
	return greatest
}

// measure measures the belief about a contribution whose true value is x.
func (b *belief) measure(x float64) contributorBelief {
	entropy, square := math.Log(b.step), 0.0
	for i, p := range b.p {
		if p > 0 {
			entropy -= p * math.Log(p)
		}
		square += p * (b.at(i) - x) * (b.at(i) - x)
	}
	return contributorBelief{1 / max(entropy, 0), square}
}
