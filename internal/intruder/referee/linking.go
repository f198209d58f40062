package referee

import (
	"context"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// searchKeys are what a search for the nearest records needs.
type searchKeys struct {
	targets, candidates linkage.Keys
	ranges              []float64
}

func (k searchKeys) search() (*linkage.Nearest, error) {
	return linkage.NewNearest(k.targets, k.candidates, k.ranges)
}

// mostTied is the number of equally near records of which each is looked at; of more, this many evenly spaced ones.
const mostTied = 10_000

// linkability links each target's two groups of columns to the nearest released records: a link is right where both
// are the same record. Of tied records the intruder takes one at random for each group, so that a target counts
// |A∩B|/(|A|·|B|) for sets A and B of nearest records. At random both are the same with probability 1/n.
func (r *run) linkability(ctx context.Context) error {
	if r.aux == nil {
		r.r.Linkability = &Outcome{Not: "two groups of columns that two data sets of an intruder hold (aux) were not given"}
		return nil
	}
	for _, j := range r.aux[0] {
		if slices.Contains(r.aux[1], j) {
			r.r.Linkability = &Outcome{
				Not: "the two groups of columns share one, by which the two data sets join without the release"}
			return nil
		}
	}
	a, err := r.targetKeys(r.aux[0]).search()
	if err != nil {
		return err
	}
	n := len(r.targets[0]) + len(r.targets[1])
	nearest, tied := make([]float64, n), make([]int, n)
	if err := a.Visit(ctx, func(i int, found *linkage.Neighbours) {
		nearest[i], tied[i] = found.Distance, len(found.Records)
	}); err != nil {
		return err
	}
	b, err := r.targetKeys(r.aux[1]).search()
	if err != nil {
		return err
	}
	credit := make([]float64, n)
	if err := b.Visit(ctx, func(i int, found *linkage.Neighbours) {
		looked := min(len(found.Records), mostTied)
		common := 0
		for k := range looked {
			if a.Between(i, found.Records[k*len(found.Records)/looked]) == nearest[i] {
				common++
			}
		}
		credit[i] = float64(common) / float64(looked) / float64(tied[i])
	}); err != nil {
		return err
	}
	attack, control := r.rates(credit)
	targets := len(r.targets[0])
	r.r.Linkability = r.outcome(attack, rate(targets, float64(targets)/float64(r.d.Len(Released)), r.z), control)
	return nil
}

// tolerance is the share of a guess by which a number may differ from it (Giomi et al. 2023, section 4.3).
const tolerance = 0.05

// right reports whether a guess of a column is right. Two missing values are equal.
func right(numeric bool, guess, is float64) bool {
	if guess != guess || is != is {
		return guess != guess && is != is
	}
	if numeric {
		return math.Abs(guess-is) <= tolerance*math.Abs(guess)
	}
	return guess == is
}

// guesser tells how often a random released value is right.
type guesser struct {
	numeric bool
	n       float64
	sorted  []float64
	counts  map[float64]int // of categories
	missing int
}

func newGuesser(c *Column) *guesser {
	v := c.Sides[Released]
	g := &guesser{numeric: c.Numeric, n: float64(v.len()), counts: map[float64]int{}}
	for i := range int32(v.len()) {
		switch x := v.at(i); {
		case x != x:
			g.missing++
		case c.Numeric:
			g.sorted = append(g.sorted, x)
		default:
			g.counts[x]++
		}
	}
	slices.Sort(g.sorted)
	return g
}

// share returns the share of released values that would be a right guess of a value.
func (g *guesser) share(is float64) float64 {
	switch {
	case is != is:
		return float64(g.missing) / g.n
	case !g.numeric:
		return float64(g.counts[is]) / g.n
	}
	low, high := is/(1+tolerance), is/(1-tolerance)
	from, _ := slices.BinarySearch(g.sorted, min(low, high))
	to, _ := slices.BinarySearch(g.sorted, math.Nextafter(max(low, high), math.Inf(1)))
	return float64(to-from) / g.n
}

// inference guesses each secret column of each target as that of the nearest released record by the other known
// columns; of tied records each counts its share.
func (r *run) inference(ctx context.Context) error {
	for _, j := range r.secrets {
		c := &r.d.Columns[j]
		others := slices.DeleteFunc(slices.Clone(r.known), func(k int) bool { return k == j })
		if len(others) == 0 {
			r.r.Inference = append(r.r.Inference, Secret{c.Name, Outcome{Not: "the intruder knows no other column"}})
			continue
		}
		near, err := r.targetKeys(others).search()
		if err != nil {
			return err
		}
		credit := make([]float64, len(r.targets[0])+len(r.targets[1]))
		if err := near.Visit(ctx, func(i int, found *linkage.Neighbours) {
			_, s, record := r.side(i)
			is := c.Sides[s].at(record)
			looked, hits := min(len(found.Records), mostTied), 0
			for k := range looked {
				if right(c.Numeric, c.Sides[Released].at(found.Records[k*len(found.Records)/looked]), is) {
					hits++
				}
			}
			credit[i] = float64(hits) / float64(looked)
		}); err != nil {
			return err
		}
		r.r.Inference = append(r.r.Inference, Secret{c.Name, *r.guessed(c, credit)})
	}
	return nil
}

// guessed returns the outcome of guesses of a column; the baseline is a random released value for the same targets.
func (r *run) guessed(c *Column, credit []float64) *Outcome {
	attack, control := r.rates(credit)
	g := newGuesser(c)
	attempts, chance := 0, 0.0
	for i, k := range r.targets[0] {
		if credit[i] == credit[i] {
			attempts++
			chance += g.share(c.Sides[Original].at(k))
		}
	}
	return r.outcome(attack, rate(attempts, chance, r.z), control)
}

// moreTargets is how many times as many targets are looked at for combinations, since few of them are rare.
const moreTargets = 50

// rarest guesses each secret column of those targets whose combination of the other known categories occurs once in
// the release, as that of the released record that has it.
func (r *run) rarest(ctx context.Context) error {
	fewer := r.targets
	defer func() { r.targets = fewer }()
	for k, s := range []Side{Original, Control} {
		r.targets[k] = sample(r.d.Len(s), moreTargets*r.o.Attempts, r.draws(20+uint64(k)))
	}
	for _, j := range r.secrets {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &r.d.Columns[j]
		others := slices.DeleteFunc(slices.Clone(r.known), func(k int) bool { return k == j || r.d.Columns[k].Numeric })
		if len(others) == 0 {
			r.r.Rarest = append(r.r.Rarest, Secret{c.Name, Outcome{Not: "the intruder knows no column of categories beside it"}})
			continue
		}
		o := r.guessed(c, r.once(c, others))
		if o.Attack == nil {
			o = &Outcome{Not: "no original record has a combination of the other categories that occurs once in the release"}
		}
		r.r.Rarest = append(r.r.Rarest, Secret{c.Name, *o})
	}
	return nil
}

// once returns the credit of each target by the released record that alone has its combination; NaN if none has, or
// several have it.
func (r *run) once(c *Column, others []int) []float64 {
	type place struct {
		times  int32
		record int32
	}
	n := len(r.targets[0]) + len(r.targets[1])
	hashes, seen := make([]uint64, n), make(map[uint64]place, n)
	for i := range hashes {
		_, s, record := r.side(i)
		hashes[i] = r.d.hash(others, s, record)
		seen[hashes[i]] = place{}
	}
	for k := range int32(r.d.Len(Released)) {
		h := r.d.hash(others, Released, k)
		if p, sought := seen[h]; sought && p.times < 2 {
			seen[h] = place{p.times + 1, k}
		}
	}
	credit := make([]float64, n)
	for i, h := range hashes {
		_, s, record := r.side(i)
		switch p := seen[h]; {
		case p.times != 1:
			credit[i] = math.NaN()
		case right(c.Numeric, c.Sides[Released].at(p.record), c.Sides[s].at(record)):
			credit[i] = 1
		}
	}
	return credit
}
