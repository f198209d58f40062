package transform

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// pairing says how often the records of a group of equal keys are exchanged with
// each other. It depends on the sizes of the group's combinations (of keys and
// attribute) alone, since a swap does not look at what it moves.
//
// Combinations of one size are alike, so that there is one rate for each pair of
// sizes: the probability that a given record is exchanged with another given one of
// another combination. Competition for partners is in it: of three mutually unique
// records each is exchanged with 2/3 of π.
type pairing struct {
	sizes []int32     // distinct, descending
	rates [][]float64 // by batch, [s·len(sizes)+t]; one batch where the rates are exact
}

// batches is how many independent estimates are made of what has no closed form:
// between them they show its error.
const batches = 8

// rate returns the rates of one batch.
func (p *pairing) rate(batch int) []float64 { return p.rates[batch%len(p.rates)] }

// class returns which size a combination has.
func (p *pairing) class(size int32) int {
	return slices.IndexFunc(p.sizes, func(s int32) bool { return s == size })
}

// pairer makes the pairings of one swap.
type pairer struct {
	rate            float64
	unique, dataset bool

	known sync.Map     // sizes → *pairing
	kept  atomic.Int64 // numbers in known
}

// keptRates bounds what is remembered, in numbers: groups of a few records, of which
// there are many, have few different sizes.
const keptRates = 1 << 20

// of returns the pairing of a group with combinations of these sizes, in any order.
// What it returns is a function of the sizes: where it is simulated, they are the
// seed.
func (p *pairer) of(sizes []int32) *pairing {
	sorted := slices.Clone(sizes)
	slices.SortFunc(sorted, func(a, b int32) int { return int(b - a) })
	var name []byte
	for _, s := range sorted {
		name = binary.AppendUvarint(name, uint64(s))
	}
	if found, ok := p.known.Load(string(name)); ok {
		return found.(*pairing)
	}
	g := newCohort(sorted, name)
	var made *pairing
	if p.unique {
		made = p.ofUnique(g)
	} else {
		made = p.ofAny(g)
	}
	if size := int64(len(name) + len(made.rates)*len(made.sizes)*len(made.sizes) + 16); p.kept.Load()+size <= keptRates {
		p.kept.Add(size)
		p.known.Store(string(name), made)
	}
	return made
}

// cohort is the combinations of one group, those of equal size side by side.
type cohort struct {
	sizes    []int32 // by combination, descending
	class    []int   // by combination: its index in distinct
	distinct []int32
	count    []float64 // by class: combinations
	records  []float64 // by class
	total    int
	random   *rand.Rand
}

func newCohort(sorted []int32, name []byte) *cohort {
	g := &cohort{sizes: sorted, class: make([]int, len(sorted))}
	for i, s := range sorted {
		if i == 0 || s != sorted[i-1] {
			g.distinct = append(g.distinct, s)
			g.count, g.records = append(g.count, 0), append(g.records, 0)
		}
		c := len(g.distinct) - 1
		g.class[i] = c
		g.count[c]++
		g.records[c] += float64(s)
		g.total += int(s)
	}
	seed := uint64(14695981039346656037)
	for _, b := range name {
		seed = (seed ^ uint64(b)) * 1099511628211
	}
	g.random = rand.New(rand.NewPCG(seed, uint64(g.total)))
	return g
}

// couples returns how many unordered pairs of records of two classes there are that
// differ in the attribute.
func (g *cohort) couples(s, t int) float64 {
	if s != t {
		return g.records[s] * g.records[t]
	}
	a := float64(g.distinct[s])
	return a * a * g.count[s] * (g.count[s] - 1) / 2
}

// pairing makes rates of the expected numbers of exchanges between classes, of
// which found is the sum of both triangles, by batch.
func (g *cohort) pairing(rate float64, found [][]float64) *pairing {
	n := len(g.distinct)
	p := &pairing{sizes: g.distinct}
	for _, pairs := range found {
		rates := make([]float64, n*n)
		for s := range n {
			for t := range n {
				number := pairs[s*n+t]
				if s != t {
					number += pairs[t*n+s]
				}
				if k := g.couples(s, t); k > 0 {
					rates[s*n+t] = rate * number / k
				}
			}
		}
		p.rates = append(p.rates, rates)
	}
	return p
}

// runs is how many runs make a batch: so many steps in all, few of a large group,
// where one is near the expectation.
func (g *cohort) runs(steps int) int { return max(1, min(steps/g.total, 64)) }

// ofAny is the pairing of policy random.
func (p *pairer) ofAny(g *cohort) *pairing {
	n := len(g.distinct)
	if p.dataset {
		return g.pairing(1, g.datasetPairs(p.rate))
	}
	pairs := make([]float64, n*n)
	switch {
	case len(g.sizes) == 2: // each of the fewer has a partner
		pairs[n-1] = float64(g.sizes[1])
	case g.distinct[0] == 1:
		pairs[0] = float64(len(g.sizes) / 2)
	case g.states() <= 4096:
		g.exactPairs(pairs)
	default:
		return g.pairing(p.rate, g.windowPairs())
	}
	return g.pairing(p.rate, [][]float64{pairs})
}

// states is the number of states that a group of up to eight combinations can be in.
func (g *cohort) states() int {
	if len(g.sizes) > few {
		return math.MaxInt
	}
	n := 1
	for _, s := range g.sizes {
		if n *= int(s) + 1; n > 1<<20 {
			return math.MaxInt
		}
	}
	return n
}

// exactPairs sums over all the ways in which a small group can be paired: a record
// out of all that are free takes one of those in other combinations.
func (g *cohort) exactPairs(pairs []float64) {
	k, n := len(g.sizes), len(g.distinct)
	probability := make([]float64, g.states())
	step := make([]int, k)
	at := 0
	for c, s := 0, 1; c < k; c++ {
		step[c] = s
		at += s * int(g.sizes[c])
		s *= int(g.sizes[c]) + 1
	}
	probability[at] = 1
	free := make([]float64, k)
	for ; at > 0; at-- { // a pair leads to a lower index
		prob := probability[at]
		if prob == 0 {
			continue
		}
		all := 0.0
		for c := range k {
			free[c] = float64(at / step[c] % (int(g.sizes[c]) + 1))
			all += free[c]
		}
		for a := range k {
			if free[a] == 0 || free[a] == all {
				continue
			}
			for b := range k {
				if b != a && free[b] > 0 {
					p := prob * free[a] / all * free[b] / (all - free[a])
					pairs[g.class[a]*n+g.class[b]] += p
					probability[at-step[a]-step[b]] += p
				}
			}
		}
	}
}

// few is up to how many combinations the probabilities of a step are added up
// instead of what it came to, which takes most of the noise away.
const few = 8

// windowPairs simulates the pairing of policy random within a window.
func (g *cohort) windowPairs() [][]float64 {
	n := len(g.distinct)
	found := make([][]float64, batches)
	free := make([]int32, len(g.sizes))
	for b := range found {
		found[b] = make([]float64, n*n)
		runs := g.runs(150)
		if len(g.sizes) > few {
			runs = g.runs(1500)
		}
		for range runs {
			copy(free, g.sizes)
			g.meet(free, found[b], 1/float64(runs))
		}
	}
	return found
}

// meet pairs the free records of a group in random order until those that are left
// are of one combination, and adds the pairs, each with a weight, by class.
func (g *cohort) meet(free []int32, pairs []float64, weight float64) {
	if len(free) > few {
		g.meetMany(free, pairs, weight)
		return
	}
	if len(free) == len(g.distinct) {
		g.meetDistinct(free, pairs, weight)
		return
	}
	g.meetFew(free, pairs, weight)
}

// meetFew is meet for groups of few combinations.
func (g *cohort) meetFew(free []int32, pairs []float64, weight float64) {
	n := len(g.distinct)
	total := int32(0)
	var left [few]float64 // free, as what is computed with
	var class [few]int
	for c, f := range free {
		total += f
		left[c], class[c] = float64(f), g.class[c]
	}
	here := left[:len(free)]
	for {
		// The pair's expectation, given what is free.
		all := float64(total)
		for a, fa := range here {
			if fa == all {
				return // the last combination, or nothing
			}
			if fa == 0 {
				continue
			}
			p := weight * fa / all / (all - fa)
			row := pairs[class[a]*n : class[a]*n+n]
			for b, fb := range here {
				if b != a {
					row[class[b]] += p * fb
				}
			}
		}
		a := draft(free, g.random.Int32N(total), -1)
		b := draft(free, g.random.Int32N(total-free[a]), a)
		free[a]--
		free[b]--
		left[a]--
		left[b]--
		total -= 2
	}
}

// draft returns the combination of the r-th free record, those of one not counted.
func draft(free []int32, r int32, but int) int {
	for c, f := range free {
		if c == but {
			continue
		}
		if r < f {
			return c
		}
		r -= f
	}
	panic("transform: fewer records are free than were counted")
}

// meetMany is meet for groups of many combinations: records are drawn from a list,
// and a partner again where it is of the same combination.
func (g *cohort) meetMany(free []int32, pairs []float64, weight float64) {
	n := len(g.distinct)
	var list []int32
	for c, f := range free {
		for range f {
			list = append(list, int32(c))
		}
	}
	take := func(i int) {
		list[i] = list[len(list)-1]
		list = list[:len(list)-1]
	}
	for len(list) > 1 {
		i := g.random.IntN(len(list))
		a := list[i]
		if int(free[a]) == len(list) {
			return
		}
		j := g.random.IntN(len(list))
		for list[j] == a {
			j = g.random.IntN(len(list))
		}
		b := list[j]
		pairs[g.class[a]*n+g.class[b]] += weight
		free[a]--
		free[b]--
		take(max(i, j))
		take(min(i, j))
	}
}

// datasetPairs simulates policy random over a data set: the records whose coin falls
// heads are paired among themselves; those of one combination that are left take
// one of the others each, of which no more than reserves are known of a
// combination, and are exchanged with probability ½. How many are heads is drawn so
// that over all runs each combination has its distribution (a Latin hypercube).
func (g *cohort) datasetPairs(rate float64) [][]float64 {
	n, k := len(g.distinct), len(g.sizes)
	runs := g.runs(2500)
	all := batches * runs
	heads := make([][]int32, k)
	tables := make([]binomial, n)
	for c, s := range g.distinct {
		tables[c] = newBinomial(int(s), rate)
	}
	for c := range heads {
		heads[c] = make([]int32, all)
		for i, at := range g.random.Perm(all) {
			heads[c][i] = tables[g.class[c]].quantile((float64(at) + g.random.Float64()) / float64(all))
		}
	}
	found := make([][]float64, batches)
	free := make([]int32, k)
	for b := range found {
		found[b] = make([]float64, n*n)
		for r := range runs {
			i := b*runs + r
			for c := range k {
				free[c] = heads[c][i]
			}
			g.meet(free, found[b], 1/float64(runs))
			for c, left := range free {
				if left > 0 {
					g.leftover(c, left, heads, i, found[b], 1/float64(runs))
				}
			}
		}
	}
	return found
}

// leftover lets records of a combination that found no partner among the heads take
// one of the others.
func (g *cohort) leftover(own int, left int32, heads [][]int32, run int, pairs []float64, weight float64) {
	n := len(g.distinct)
	others := make([]int64, len(g.sizes))
	taken := make([]int64, len(g.sizes))
	total := int64(0)
	for c, s := range g.sizes {
		if c != own {
			others[c] = int64(s - heads[c][run])
			total += others[c]
		}
	}
	for ; left > 0 && total > 0; left-- {
		r := g.random.Int64N(total)
		c := 0
		for ; r >= others[c]; c++ {
			r -= others[c]
		}
		pairs[g.class[own]*n+g.class[c]] += weight / 2
		taken[c]++
		gone := int64(1)
		if known := min(reserves, int64(g.sizes[c]-heads[c][run])); taken[c] == known {
			gone = others[c]
		}
		others[c] -= gone
		total -= gone
	}
}
