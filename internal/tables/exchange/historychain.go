package exchange

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// The sizes of an estimate.
const (
	nChains    = 8
	firstBatch = 64
	mostSweeps = 512
	countEvery = 4    // sweeps
	enough     = 0.01 // standard error of a probability at which chains end
	mostSteps  = 10e6 // of all chains of a component together
	mostOwns   = 40   // cells near a count whose respondents are tried
	mostJoint  = 4    // squares of a count whose changes are joined exactly in each sweep
)

// chain is a Markov chain over the tables before all passes but the first; the first is summed over. A step draws what
// one square was before its pass, and what the squares of earlier passes were that overlap it, from their laws given
// their results, and accepts it by the sums of these laws.
type chain struct {
	c     *component
	laws  *laws
	rng   *rand.Rand
	level [][]int64 // of a pass: the table before it; and the published one
	saved []int64
	tally []*tally // of a question
}

// reach is what a step changes: of each pass from that of its square down, the cells of the table before it; and of
// each earlier pass the squares that overlap.
type reach struct {
	cells   [][]int32 // of passes p, p−1, …, 1
	squares [][]int32 // of passes p−1, …, 0
}

// tally is what a chain has counted for a share: of outsiders, and of each of owns, the sum of the probabilities of its
// counts.
type tally struct {
	weights [][]float64
	knows   []float64
	squares []int32 // of the first pass that change the share
}

// sample estimates the beliefs in all questions.
func (c *component) sample(l *laws, respondents bool, stop func() error) error {
	passes := len(c.squares)
	reaches := make([][]reach, passes)
	steps := 0
	for pass := 1; pass < passes; pass++ {
		for k := range c.squares[pass] {
			reaches[pass] = append(reaches[pass], c.reach(pass, k))
		}
		steps += len(c.squares[pass])
	}
	var chains []*chain
	for k := range nChains {
		h := &chain{c: c, laws: l, rng: rand.New(rand.NewPCG(1999, uint64(k))), level: make([][]int64, passes+1)}
		h.level[passes] = c.published
		for pass := passes - 1; pass >= 0; pass-- {
			h.level[pass] = slices.Clone(h.level[pass+1])
			for i := range c.squares[pass] {
				c.squares[pass][i].add(h.level[pass], c.squares[pass][i].back)
			}
		}
		chains = append(chains, h)
	}
	for _, s := range c.questions {
		if respondents {
			s.owns = s.near()
		}
		first := s.changing(0, false)
		for _, h := range chains {
			t := &tally{squares: first, weights: make([][]float64, 1+len(s.owns)), knows: make([]float64, 1+len(s.owns))}
			h.tally, s.tally = append(h.tally, t), append(s.tally, t)
		}
	}
	most := max(firstBatch, min(mostSweeps, int(mostSteps)/nChains/max(1, steps)))
	run := func(sweeps int, count bool) error {
		var wait sync.WaitGroup
		for _, h := range chains {
			wait.Go(func() {
				defer bug.Guard()
				for k := range sweeps {
					h.sweep(reaches)
					if count && k%countEvery == 0 {
						h.count()
					}
				}
			})
		}
		wait.Wait()
		if stop == nil {
			return nil
		}
		return stop()
	}
	err := run(firstBatch, false)
	for done := 0; err == nil && done < most; {
		batch := min(max(firstBatch, done), most-done)
		err = run(batch, true)
		if done += batch; c.error() < enough {
			break
		}
	}
	return err
}

// error returns the greatest standard error of the most probable count of a question.
func (c *component) error() (most float64) {
	for _, s := range c.questions {
		b := s.estimated(-1)
		top := slices.Index(b.P, slices.Max(b.P))
		most = max(most, b.Error(b.First+int64(top)))
	}
	return most
}

// reach finds what a step for a square changes.
func (c *component) reach(pass, k int) (r reach) {
	cells := slices.Clone(c.squares[pass][k].cells[:])
	r.cells = append(r.cells, slices.Clone(cells))
	for q := pass - 1; q >= 0; q-- {
		var squares []int32
		for _, cell := range cells {
			if s := c.at[q][cell]; s >= 0 && !slices.Contains(squares, s) {
				squares = append(squares, s)
			}
		}
		for _, s := range squares {
			for _, cell := range c.squares[q][s].cells {
				if !slices.Contains(cells, cell) {
					cells = append(cells, cell)
				}
			}
		}
		r.squares = append(r.squares, squares)
		if q > 0 {
			r.cells = append(r.cells, slices.Clone(cells))
		}
	}
	return r
}

// near returns the cells whose respondents are tried: those of squares of the first pass that change the share, and of
// the later squares that overlap these.
func (s *share) near() (list []int32) {
	add := func(cells []int32) {
		for _, cell := range cells {
			if s.truth[cell] > 0 && !slices.Contains(list, cell) && len(list) < mostOwns {
				list = append(list, cell)
			}
		}
	}
	var squares []*localSquare
	for pass := range s.squares {
		for _, k := range s.changing(pass, false) {
			q := &s.squares[pass][k]
			squares = append(squares, q)
			add(q.cells[:])
		}
	}
	for _, q := range squares {
		for pass := range s.squares {
			for _, cell := range q.cells {
				if k := s.at[pass][cell]; k >= 0 {
					add(s.squares[pass][k].cells[:])
				}
			}
		}
	}
	return list
}

func (h *chain) sweep(reaches [][]reach) {
	for pass := len(h.c.squares) - 1; pass > 0; pass-- {
		for k := range h.c.squares[pass] {
			h.step(pass, k, &reaches[pass][k])
		}
	}
}

// step draws what a square was before its pass.
func (h *chain) step(pass, k int, r *reach) {
	before := h.sums(pass, r)
	h.saved = h.saved[:0]
	for i, cells := range r.cells {
		for _, cell := range cells {
			h.saved = append(h.saved, h.level[pass-i][cell])
		}
	}
	possible := h.draw(pass, &h.c.squares[pass][k])
	for i := 1; possible && i < len(r.cells); i++ {
		for _, cell := range r.cells[i] {
			h.level[pass-i][cell] = h.level[pass-i+1][cell]
		}
		for _, s := range r.squares[i-1] {
			possible = possible && h.draw(pass-i, &h.c.squares[pass-i][s])
		}
	}
	if possible {
		if after := h.sums(pass, r); after >= before || h.rng.Float64() < math.Exp(after-before) {
			return
		}
	}
	at := 0
	for i, cells := range r.cells {
		for _, cell := range cells {
			h.level[pass-i][cell] = h.saved[at]
			at++
		}
	}
}

// draw draws the counts of a square before its pass, given those after it.
func (h *chain) draw(pass int, q *localSquare) bool {
	from, to := h.level[pass+1], h.level[pass]
	for _, cell := range q.cells {
		to[cell] = from[cell]
	}
	if q.fixed {
		return q.moved(to)
	}
	b, at := h.laws.back(q, from)
	if b == nil {
		return false
	}
	u := h.rng.Float64() * b.sum[at]
	x := at
	for k, w := range b.weights[at] {
		if w > 0 {
			x = int64(k)
		}
		if u -= w; u < 0 && w > 0 {
			break
		}
	}
	q.add(to, x-at)
	return true
}

// sums returns the logarithm of the product of the sums of the laws of all squares of a reach.
func (h *chain) sums(pass int, r *reach) (sum float64) {
	for i, squares := range r.squares {
		for _, s := range squares {
			q := &h.c.squares[pass-1-i][s]
			table := h.level[pass-i]
			if q.fixed {
				for k, cell := range q.cells {
					if table[cell]+[4]int64{1, -1, -1, 1}[k]*q.back < 0 {
						return math.Inf(-1)
					}
				}
				continue
			}
			b, at := h.laws.back(q, table)
			if b == nil {
				return math.Inf(-1)
			}
			sum += b.log[at]
		}
	}
	return sum
}

// count adds the distributions of the shares, given the tables after the first pass.
func (h *chain) count() {
	for i, s := range h.c.questions {
		t := h.tally[i]
		h.countShare(s, t)
	}
}

func (h *chain) countShare(s *share, t *tally) {
	table := h.level[1]
	base := int64(0)
	for _, cell := range s.cells {
		base += table[cell]
	}
	squares := t.squares
	change := &tablerisk.Belief{P: []float64{1}}
	parts := make([]*tablerisk.Belief, len(squares))
	for i, k := range squares {
		parts[i] = h.changes(s, k, -1)
		if i >= mostJoint {
			parts[i] = drawn(h.rng, parts[i])
		}
		change = plus(change, parts[i])
	}
	t.add(0, base, change, 1)
	for n, own := range s.owns {
		k := s.at[0][own]
		i := slices.Index(squares, k)
		switch {
		case k < 0:
			if table[own] > 0 {
				t.add(1+n, base, change, 1)
			}
		case i < 0: // her square does not change the share
			t.add(1+n, base, change, h.notEmpty(&s.squares[0][k], own))
		default:
			with := &tablerisk.Belief{P: []float64{1}}
			for m := range squares {
				if m == i {
					with = plus(with, h.changes(s, k, own))
				} else {
					with = plus(with, parts[m])
				}
			}
			t.add(1+n, base, with, 1)
		}
	}
}

// notEmpty returns the probability that a cell of a square of the first pass is not 0 before it.
func (h *chain) notEmpty(q *localSquare, own int32) float64 {
	// change of the first count after which it is
	n := h.level[1][own] * -[4]int64{1, -1, -1, 1}[slices.Index(q.cells[:], own)]
	if q.fixed {
		return indicator(q.back != n)
	}
	l, at := h.laws.back(q, h.level[1])
	if x := at + n; x >= 0 && x < int64(len(l.weights[at])) {
		return 1 - l.weights[at][x]/l.sum[at]
	}
	return 1
}

// changesOf returns the distribution of the changes back of the first count of a square of the first pass, without
// those after which the cell own is 0.
func (h *chain) changesOf(q *localSquare, own int32) *tablerisk.Belief {
	table := h.level[1]
	keeps := func(change int64) bool {
		k := slices.Index(q.cells[:], own)
		return k < 0 || table[own]+[4]int64{1, -1, -1, 1}[k]*change > 0
	}
	if q.fixed {
		b := &tablerisk.Belief{First: q.back, P: []float64{1}}
		if !keeps(q.back) {
			b.P[0] = 0
		}
		return b
	}
	l, at := h.laws.back(q, table)
	b := &tablerisk.Belief{First: -at, P: make([]float64, len(l.weights[at]))}
	for x, w := range l.weights[at] {
		if keeps(int64(x) - at) {
			b.P[x] = w / l.sum[at]
		}
	}
	return b
}

// changes returns the distribution of the change of a share by a square.
func (h *chain) changes(s *share, k, own int32) *tablerisk.Belief {
	q := &s.squares[0][k]
	b := h.changesOf(q, own)
	if s.sign(q) < 0 {
		slices.Reverse(b.P)
		b.First = -(b.First + int64(len(b.P)) - 1)
	}
	return b
}

func drawn(rng *rand.Rand, b *tablerisk.Belief) *tablerisk.Belief {
	u, at := rng.Float64(), 0
	for k, p := range b.P {
		if p > 0 {
			at = k
		}
		if u -= p; u < 0 && p > 0 {
			break
		}
	}
	return &tablerisk.Belief{First: b.First + int64(at), P: []float64{1}}
}

func plus(a, b *tablerisk.Belief) *tablerisk.Belief {
	return &tablerisk.Belief{First: a.First + b.First, P: convolved(a.P, b.P)}
}

// add adds a distribution of changes of a share, multiplied by a factor.
func (t *tally) add(to int, base int64, change *tablerisk.Belief, factor float64) {
	for k, p := range change.P {
		if p == 0 {
			continue
		}
		n := base + change.First + int64(k)
		for int64(len(t.weights[to])) <= n {
			t.weights[to] = append(t.weights[to], 0)
		}
		t.weights[to][n] += p * factor
		t.knows[to] += p * factor
	}
}

// estimated returns the belief of an outsider (−1), or of somebody who knows that a cell of owns is not 0. The chains'
// figures are such that their mean is the ratio of the sums over chains, and its standard error is that of the ratio.
func (s *share) estimated(own int32) *tablerisk.Belief {
	at := 1 + slices.Index(s.owns, own)
	if own < 0 {
		at = 0
	}
	size, all := 1, 0.0
	for _, t := range s.tally {
		size, all = max(size, len(t.weights[at])), all+t.knows[at]
	}
	if all == 0 { // nothing is known of what she believes
		return &tablerisk.Belief{First: s.was, P: []float64{1}}
	}
	b := &tablerisk.Belief{P: make([]float64, size)}
	for _, t := range s.tally {
		for n, w := range t.weights[at] {
			b.P[n] += w / all
		}
	}
	for _, t := range s.tally {
		list := make([]float64, size)
		for n, p := range b.P {
			w := 0.0
			if n < len(t.weights[at]) {
				w = t.weights[at][n]
			}
			list[n] = p + float64(len(s.tally))*(w-p*t.knows[at])/all
		}
		b.Chains = append(b.Chains, list)
	}
	from, to := 0, size
	for from < to-1 && b.P[from] == 0 {
		from++
	}
	for to > from+1 && b.P[to-1] == 0 {
		to--
	}
	b.First, b.P = int64(from), b.P[from:to]
	for k := range b.Chains {
		b.Chains[k] = b.Chains[k][from:to]
	}
	return b
}
