package displacement

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// Pairing gives how often the records of a group of equal keys are exchanged with
// each other. It depends on the sizes of the group's combinations (of keys and
// attribute) alone, since a swap does not depend on the values that it moves.
//
// Combinations of equal size have equal rates, so there is one rate for each pair of
// sizes: the probability that a given record is exchanged with another given one of
// another combination. The rates account for the competition for partners: each of three
// records that are unique in their group is exchanged with probability 2π/3.
type Pairing struct {
	Sizes []int32       // distinct, descending
	Rates [][]float64   // by batch, [s·len(sizes)+t]; one batch where the rates are exact
	small *smallPairing // of a group of at most smallGroup records; nil: it has more
}

// batches is the number of independent estimates of a rate without a closed form. Their
// differences give its error.
const batches = 8

// rate returns the rates of one batch.
func (p *Pairing) rate(batch int) []float64 { return p.Rates[batch%len(p.Rates)] }

// Class returns the index in sizes of a size.
func (p *Pairing) Class(size int32) int {
	return slices.IndexFunc(p.Sizes, func(s int32) bool { return s == size })
}

// Between returns the probability that a given record of a combination of size own is exchanged with a given one of
// another combination, of size other: the mean over the batches.
func (p *Pairing) Between(own, other int32) float64 {
	sum := 0.0
	for _, rates := range p.Rates {
		sum += rates[p.Class(own)*len(p.Sizes)+p.Class(other)]
	}
	return sum / float64(len(p.Rates))
}

// Pairer makes the pairings of one swap.
type Pairer struct {
	Rate            float64
	Unique, Dataset bool

	known sync.Map     // sizes → *Pairing
	kept  atomic.Int64 // numbers stored in known
}

// keptRates bounds the numbers that are stored for later groups. Groups of a few records, of
// which there are many, have few different sizes.
const keptRates = 1 << 20

// Of returns the pairing of a group with combinations of these sizes, in any order. The result
// is a function of the sizes: in a simulation they are the seed.
func (p *Pairer) Of(sizes []int32) *Pairing {
	sorted := slices.Clone(sizes)
	slices.SortFunc(sorted, func(a, b int32) int { return int(b - a) })
	var name []byte
	for _, s := range sorted {
		name = binary.AppendUvarint(name, uint64(s))
	}
	if found, ok := p.known.Load(string(name)); ok {
		return found.(*Pairing)
	}
	g := newCohort(sorted, name)
	var made *Pairing
	more := 16
	switch {
	case g.total <= smallGroup:
		made = g.enumerated(p.smallOf(sorted))
		more = len(sorted) * int(unsafe.Sizeof(smallUndoing{})/8)
	case p.Unique:
		made = p.ofUnique(g)
	default:
		made = p.ofAny(g)
	}
	if size := int64(len(name) + len(made.Rates)*len(made.Sizes)*len(made.Sizes) + more); p.kept.Load()+size <= keptRates {
		p.kept.Add(size)
		p.known.Store(string(name), made)
	}
	return made
}

// cohort holds the combinations of one group, sorted by size.
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

// pairing computes the rates from the expected numbers of exchanges between classes. found is
// by batch; the number for two classes is the sum of its entries in both triangles.
func (g *cohort) pairing(rate float64, found [][]float64) *Pairing {
	n := len(g.distinct)
	p := &Pairing{Sizes: g.distinct}
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
		p.Rates = append(p.Rates, rates)
	}
	return p
}

// enumerated is the pairing of a group whose exchanges are enumerated.
func (g *cohort) enumerated(from *smallPairing) *Pairing {
	n := len(g.distinct)
	rates := make([]float64, n*n)
	for c, s := range g.class {
		for d, t := range g.class {
			if c != d {
				rates[s*n+t] = from.rates[c][d]
			}
		}
	}
	from.law = nil // rates and undo have what is used of it
	return &Pairing{Sizes: g.distinct, Rates: [][]float64{rates}, small: from}
}

// runs returns the number of simulations in a batch, for a given number of steps in total: a
// large group takes few, since one result is near the expectation.
func (g *cohort) runs(steps int) int { return max(1, min(steps/g.total, 64)) }

// ofAny is the pairing of policy random.
func (p *Pairer) ofAny(g *cohort) *Pairing {
	n := len(g.distinct)
	if p.Dataset {
		return g.pairing(1, g.datasetPairs(p.Rate))
	}
	pairs := make([]float64, n*n)
	switch {
	case len(g.sizes) == 2: // each record of the smaller combination has a partner
		pairs[n-1] = float64(g.sizes[1])
	case g.distinct[0] == 1:
		pairs[0] = float64(len(g.sizes) / 2)
	case g.states() <= 4096:
		g.exactPairs(pairs)
	default:
		return g.pairing(p.Rate, g.windowPairs())
	}
	return g.pairing(p.Rate, [][]float64{pairs})
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

// exactPairs sums over all the ways in which the records of a small group can be paired: each
// time, one of all free records takes one of the free records of other combinations.
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

// few is the number of combinations up to which a simulation adds the probabilities of a step,
// instead of its result: this removes most of the simulation's variance.
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
// belong to one combination, and adds the weight of each pair to pairs, by class.
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
	var left [few]float64 // free, as floating-point numbers
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
				return // only one combination is left, or none
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

// draft returns the combination of the r-th free record, without those of combination but.
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
	panic("displacement: fewer records are free than were counted")
}

// meetMany is meet for groups of many combinations: records are drawn from a list, and a
// partner of the same combination is drawn again.
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

// datasetPairs simulates policy random with scope dataset: the records whose coin falls heads
// are paired among themselves; those that are left, which are of one combination, each take one
// of the other records, and are exchanged with probability ½. Of the other records of a
// combination no more than reserves are available. The numbers of heads are drawn so that over
// all runs that of each combination has its distribution (a Latin hypercube).
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

// leftover pairs records of a combination that found no partner among the heads with the other
// records.
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
		lost := int64(1)
		if available := min(matching.Reserves, int64(g.sizes[c]-heads[c][run])); taken[c] == available {
			lost = others[c]
		}
		others[c] -= lost
		total -= lost
	}
}
