package tablerisk

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// A chain is a Markov chain over the tables of counts that add up. Its stationary distribution is
// the posterior. A step chooses a combination of codes, one of each variable, and adds records with
// these codes, or replaces codes of records, or exchanges codes between records; how many is drawn
// from the posterior given everything that the step does not change (heat bath).
type chain struct {
	j     *Joint
	moves *moves
	rng   *rand.Rand
	heat  float64 // factor of the logarithm of the likelihood: below 1 the chain moves further

	value []int64
	parts []int32 // of a sum: how many parts are not 0
	which []int64 // of a sum: the sum of the numbers of these parts

	counts [][]float64 // of a wanted cell: summed probability of its counts from cells[c].low on
	visits []float64   // of a wanted cell

	cells  []int32 // of the present step: the cells that change, and by how much per unit
	signs  []int64
	still  []int32 // totals of which only parts change
	class  *classes
	joint  []int32 // cells whose classes the present step may change
	joined map[int32]bool
	same   []bool // of the cells that change: totals with all records in one part
	coef   []int64
	met    []int64 // of a cell: the last step in which coef was set
	now    int64
	list   []int32 // of cells of records with the same codes
	first  []int32
	second []int32
	weight []float64
	codes  []int
	other  []int
	more   []int
}

// The sizes of a computation.
const (
	nChains     = 8
	heated      = 0.15 // of heat, while chains leave their common start
	firstBatch  = 64   // sweeps of a chain after which the error is judged for the first time, of tables
	smallSize   = 1000 // of so many inner cells; of larger ones fewer,
	leastBatch  = 16   // but so many. Chains begin at the true counts, so haste errs to the unsafe side
	mostSweeps  = 512  // of a chain
	enough      = 0.01 // standard error of a probability at which a chain ends
	beyondDoubt = 3    // standard errors
	mostMoves   = 24e6 // of all chains together
	// above it, less than leastMoves: chains end after some minutes, with errors that show the unsafe side
	endMoves   = 250e6
	window     = 16     // numbers of records among which a step chooses
	square     = 8      // numbers of records of each kind among which a step of two kinds chooses
	bothEvery  = 16     // of so many steps one is of two kinds
	leastMoves = 96 * 8 // per inner cell
)

// sample estimates the beliefs.
func (j *Joint) sample() error {
	m := newMoves(j.release.Set)
	for k := range nChains {
		j.chains = append(j.chains, newChain(j, m, uint64(k)))
	}
	sweeps := sweepsOf(m.size)
	first := max(leastBatch, min(firstBatch, firstBatch*smallSize/m.size))
	err := j.each(func(c *chain) {
		c.heat = heated
		for range first / 4 {
			c.sweep()
		}
		c.heat = 1
		for range first / 2 {
			c.sweep()
		}
		c.forget()
	})
	for batch := min(first, sweeps); err == nil; batch = min(2*batch, sweeps-j.Sweeps) {
		err = j.each(func(c *chain) {
			for range batch {
				c.sweep()
			}
		})
		j.Sweeps += batch
		j.collect()
		if j.Short = j.disclosed(); j.Short || j.Sweeps >= sweeps || j.error() < enough {
			break
		}
	}
	return err
}

// sweepsOf is the number of sweeps of each chain, for so many inner cells.
func sweepsOf(cells int) int {
	steps := float64(nChains * 2 * cells) // of a sweep of all chains
	most := max(leastBatch, int(endMoves/steps))
	return min(mostSweeps, max(leastMoves/nChains, int(mostMoves/steps)), most)
}

// each runs all chains. It returns the error of Stop.
func (j *Joint) each(do func(c *chain)) error {
	var wait sync.WaitGroup
	for _, c := range j.chains {
		wait.Go(func() {
			defer bug.Guard()
			do(c)
		})
	}
	wait.Wait()
	return j.release.stopped()
}

// collect computes the beliefs from what the chains have counted.
func (j *Joint) collect() {
	j.beliefs = j.beliefs[:0]
	for k, cell := range j.wanted {
		b := &Belief{First: j.cells[cell].low}
		size := 0
		for _, c := range j.chains {
			size = max(size, len(c.counts[k]))
		}
		b.P = make([]float64, size)
		for _, c := range j.chains {
			p := make([]float64, size)
			for i, v := range c.counts[k] {
				p[i] = v / c.visits[k]
				b.P[i] += p[i] / nChains
			}
			b.Chains = append(b.Chains, p)
		}
		j.beliefs = append(j.beliefs, trimmed(b))
	}
}

// disclosed reports whether a wanted count is above the limit beyond doubt.
func (j *Joint) disclosed() bool {
	return j.release.Limit > 0 && slices.ContainsFunc(j.beliefs, func(b *Belief) bool {
		top := slices.Index(b.P, slices.Max(b.P))
		return b.P[top]-beyondDoubt*b.Error(b.First+int64(top)) > j.release.Limit
	})
}

// error returns the greatest standard error of the most probable count of a wanted cell.
func (j *Joint) error() (most float64) {
	for _, b := range j.beliefs {
		top := slices.Index(b.P, slices.Max(b.P))
		most = max(most, b.standardError(func(p []float64) float64 { return p[top] }))
	}
	return most
}

func newChain(j *Joint, m *moves, seed uint64) *chain {
	c := &chain{
		j: j, moves: m, rng: rand.New(rand.NewPCG(2001, seed)), heat: 1, value: slices.Clone(j.release.Truth),
		parts: make([]int32, j.release.Set.Sums()), which: make([]int64, j.release.Set.Sums()),
		coef: make([]int64, len(j.cells)), met: make([]int64, len(j.cells)),
		codes: make([]int, len(m.leaves)), other: make([]int, len(m.leaves)), more: make([]int, len(m.leaves)),
	}
	c.class, c.joined = c.newClasses(), map[int32]bool{}
	for cell, v := range c.value {
		if v > 0 {
			c.occupy(int32(cell), 1)
		}
	}
	c.forget()
	return c
}

// forget begins counting anew.
func (c *chain) forget() {
	c.counts, c.visits = make([][]float64, len(c.j.wanted)), make([]float64, len(c.j.wanted))
}

// occupy notes that a cell is no longer 0 (1), or that it is 0 again (−1).
func (c *chain) occupy(cell int32, by int32) {
	for _, i := range c.j.in[cell] {
		c.parts[i] += by
		c.which[i] += int64(by) * int64(cell)
	}
}

// sweep makes two steps for each inner cell: one that adds records, and one that replaces or
// exchanges codes.
func (c *chain) sweep() {
	for t := range c.moves.tables {
		for at := range c.moves.inner(t) {
			c.moves.choose(c.rng, t, at, c.codes)
			c.begin()
			c.add(c.codes, 1)
			c.step()
			c.begin()
			c.add(c.codes, 1)
			c.alter(c.other, c.codes, -1)
			if len(c.codes) > 1 && c.rng.IntN(2) == 0 {
				c.alter(c.more, c.codes, -1)
				c.add(c.across(), 1)
			}
			c.step()
			if c.rng.IntN(bothEvery) == 0 {
				c.alterAll()
				c.both()
			}
		}
	}
}

// alterAll chooses other codes, at random as many.
func (c *chain) alterAll() {
	copy(c.other, c.codes)
	for range 1 + c.rng.IntN(len(c.other)) {
		k := c.rng.IntN(len(c.other))
		c.other[k] = c.rng.IntN(len(c.moves.leaves[k]))
	}
}

// both draws how many records with the codes of c.codes and with those of c.other are added, both at once: some
// tables are reached from others only so, because a total with one part is published as this part is.
func (c *chain) both() {
	c.first, c.second = c.moves.list(c.codes, c.first[:0]), c.moves.list(c.other, c.second[:0])
	c.begin()
	c.add(c.codes, 1)
	c.add(c.other, 1)
	from, to := -c.rng.Int64N(square), -c.rng.Int64N(square)
	c.weighTwo(from, to)
	total, top := 0.0, slices.Max(c.weight)
	for i, w := range c.weight {
		c.weight[i] = math.Exp((w - top) * c.heat)
		total += c.weight[i]
	}
	at := c.pick(total)
	c.shift(c.first, from+int64(at/square))
	c.shift(c.second, to+int64(at%square))
}

// weighTwo computes the logarithms of the posterior weights of the numbers from from on of the first records, and from
// to on of the second.
func (c *chain) weighTwo(from, to int64) {
	c.weight, c.still = c.weight[:0], c.still[:0]
	each := func(do func()) {
		for d := range int64(square) {
			c.shift(c.first, from+d)
			for e := range int64(square) {
				c.shift(c.second, to+e)
				do()
				c.shift(c.second, -to-e)
			}
			c.shift(c.first, -from-d)
		}
	}
	if c.j.linked {
		c.forgetJoins()
		each(c.joins)
	}
	each(func() {
		w := c.posterior()
		if c.j.linked && !math.IsInf(w, -1) {
			w += c.class.correction(c.joint)
		}
		c.weight = append(c.weight, w)
	})
}

// pick draws a place of c.weight, whose sum is total.
func (c *chain) pick(total float64) (at int) {
	draw := c.rng.Float64() * total
	for i, w := range c.weight {
		if w > 0 {
			at = i
		}
		if draw -= w; draw < 0 && w > 0 {
			break
		}
	}
	return at
}

// shift adds d to cells.
func (c *chain) shift(cells []int32, d int64) {
	if d == 0 {
		return
	}
	for _, cell := range cells {
		was := c.value[cell]
		c.value[cell] = was + d
		if was == 0 {
			c.occupy(cell, 1)
		} else if was+d == 0 {
			c.occupy(cell, -1)
		}
	}
}

// posterior returns the logarithm of the likelihood of the cells of the present step.
func (c *chain) posterior() (sum float64) {
	for _, cell := range c.cells {
		if v, k := c.value[cell], &c.j.cells[cell]; v < k.low || v > k.high {
			return math.Inf(-1)
		}
	}
	for _, cell := range c.cells {
		sum += c.logLikelihood(cell)
	}
	return sum
}

// alter adds records with the codes of from but one, which it chooses, and leaves their codes in to.
func (c *chain) alter(to, from []int, sign int64) {
	copy(to, from)
	for range 4 { // a variable may have only one code
		k := c.rng.IntN(len(to))
		if n := len(c.moves.leaves[k]); n > 1 {
			to[k] = (from[k] + 1 + c.rng.IntN(n-1)) % n
			break
		}
	}
	c.add(to, sign)
}

// across returns the codes that differ from c.codes both as c.other and as c.more do.
func (c *chain) across() []int {
	for k := range c.more {
		if c.more[k] == c.codes[k] {
			c.more[k] = c.other[k]
		}
	}
	return c.more
}

// given estimates how certain those are who know parts, and marks the cells of which they are more certain
// than limit.
func (j *Joint) given(pairs []pair, limit float64, sure map[int32]bool) error {
	type tally struct{ knows, both []float64 }
	tallies := make([]tally, len(j.chains))
	sweeps := max(j.Sweeps, 4*firstBatch)
	if float64(sweeps)*float64(j.chains[0].moves.size)*2*nChains > mostMoves {
		sweeps = j.Sweeps
	}
	err := j.each(func(c *chain) {
		t := tally{make([]float64, len(pairs)), make([]float64, len(pairs))}
		for range sweeps {
			c.sweep()
			for k, p := range pairs {
				if c.value[p.Cell] < p.Least {
					continue
				}
				t.knows[k]++
				if c.value[p.about] == j.release.Truth[p.about] {
					t.both[k]++
				}
			}
		}
		tallies[slices.Index(j.chains, c)] = t
	})
	if err != nil {
		return err
	}
	for k, p := range pairs {
		if sure[p.about] {
			continue
		}
		// Of the ratio of two sums over chains: the error of both − ratio · knows.
		knows, both := 0.0, 0.0
		for i := range tallies {
			knows, both = knows+tallies[i].knows[k], both+tallies[i].both[k]
		}
		if knows == 0 {
			sure[p.about] = true // nothing is known of what she believes
			continue
		}
		ratio, square := both/knows, 0.0
		for i := range tallies {
			d := tallies[i].both[k] - ratio*tallies[i].knows[k]
			square += d * d
		}
		n := float64(len(tallies))
		se := math.Sqrt(square*n/(n-1)) / knows
		if ratio+standardErrors*se > limit {
			sure[p.about] = true
		}
	}
	return nil
}
