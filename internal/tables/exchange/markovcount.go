package exchange

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// Count is a count of a perturbed table with the inner cells that it depends on, by components.
type Count struct {
	p      *Perturbed
	value  int64
	shares []*share
}

// share is the part of a count in one component: the sum of some of its cells.
type share struct {
	*component
	cells []int32 // in order
	was   int64   // the true share
	owns  []int32
	tally []*tally // of a chain
}

// Counts returns the counts of cells, with the beliefs about them. respondents says that those of respondents are
// wanted, too. With several passes the squares of different passes overlap. The true tables from which the published
// one can have been made are enumerated for each component of squares that overlap, directly or by others; where these
// are too many, beliefs are estimated by Markov chains. The prior is uniform over all tables with the published
// margins. Counts returns the error of stop.
func (p *Perturbed) Counts(cells []int32, respondents bool, stop func() error) (map[int32]*Count, error) {
	parts := p.components()
	counts := map[int32]*Count{}
	var list []*component
	for _, cell := range cells {
		c := &Count{p: p, value: int64(p.value[cell])}
		rows, columns := p.frame.split(cell)
		shares := map[*component]*share{}
		for _, i := range indices(rows) {
			for _, j := range indices(columns) {
				at := parts.place(i, j)
				part := parts.of[at]
				s := shares[part]
				if s == nil {
					s = &share{component: part}
					shares[part] = s
					c.shares = append(c.shares, s)
				}
				s.cells = append(s.cells, parts.local[at]) // numbered in the order of places
				s.was += part.truth[parts.local[at]]
			}
		}
		c.shares = slices.DeleteFunc(c.shares, func(s *share) bool { return !s.varies() })
		counts[cell] = c
		for _, s := range c.shares {
			if len(s.questions) == 0 {
				list = append(list, s.component)
			}
			s.questions = append(s.questions, s)
		}
	}
	laws := &laws{theta: p.theta}
	for _, part := range list {
		if part.single() || part.enumerate(laws, max(leastStates, mostStates/len(list))) {
			continue
		}
		if err := part.sample(laws, respondents, stop); err != nil {
			return nil, err
		}
	}
	if stop == nil {
		return counts, nil
	}
	return counts, stop()
}

func indices(list []bool) (at []int) {
	for i, is := range list {
		if is {
			at = append(at, i)
		}
	}
	return at
}

// has reports whether a cell of the component is in the share.
func (s *share) has(cell int32) bool {
	_, found := slices.BinarySearch(s.cells, cell)
	return found
}

// varies reports whether a square can change the share.
func (s *share) varies() bool {
	for pass := range s.squares {
		if len(s.changing(pass, true)) > 0 {
			return true
		}
	}
	return false
}

// changing returns the squares of a pass that change the share, or only one of them.
func (s *share) changing(pass int, one bool) (list []int32) {
	seen := map[int32]bool{}
	for _, cell := range s.cells {
		k := s.at[pass][cell]
		if k < 0 || seen[k] {
			continue
		}
		seen[k] = true
		if s.sign(&s.squares[pass][k]) != 0 {
			if list = append(list, k); one {
				break
			}
		}
	}
	return list
}

// sign returns by how much the share grows with the first count of a square.
func (s *share) sign(q *localSquare) (sign int64) {
	for k, cell := range q.cells {
		if s.has(cell) {
			sign += [4]int64{1, -1, -1, 1}[k]
		}
	}
	return sign
}

// Belief returns the posterior distribution of the count for an intruder who knows the
// published table, the squares and theta.
func (c *Count) Belief() *tablerisk.Belief { return c.joined(nil, -1) }

// Respondents calls add with the beliefs of respondents, who know that the cell of their own record is not 0: one
// belief for every such cell in the components of the count, or near the count if the component is large. A respondent
// who is the only one in the count is omitted.
func (c *Count) Respondents(add func(*tablerisk.Belief)) {
	for _, s := range c.shares {
		for _, own := range s.known() {
			if s.truth[own] > 0 && !(s.has(own) && c.value == 1) {
				add(c.joined(s, own))
			}
		}
	}
}

// joined returns the belief in the count of somebody who knows that the cell own of the component of with is not 0.
func (c *Count) joined(with *share, own int32) *tablerisk.Belief {
	sum := &tablerisk.Belief{First: c.value, P: []float64{1}}
	for _, s := range c.shares {
		at := int32(-1)
		if s == with {
			at = own
		}
		b := s.belief(at)
		n := max(len(sum.Chains), len(b.Chains))
		var list [][]float64
		for k := range n {
			one, other := sum.P, b.P
			if sum.Chains != nil {
				one = sum.Chains[k]
			}
			if b.Chains != nil {
				other = b.Chains[k]
			}
			list = append(list, convolved(one, other))
		}
		sum = &tablerisk.Belief{First: sum.First + b.First - s.was, P: convolved(sum.P, b.P), Chains: list}
	}
	return sum
}

// known returns the cells whose respondents are tried.
func (s *share) known() []int32 {
	if s.tally != nil {
		return s.owns
	}
	list := make([]int32, len(s.component.cells))
	for k := range list {
		list[k] = int32(k)
	}
	return list
}

// belief returns the belief in the share of somebody who knows that a cell is not 0; of an outsider if own is −1.
func (s *share) belief(own int32) *tablerisk.Belief {
	switch {
	case s.single():
		return s.ofSquare(own)
	case s.tally != nil:
		return s.estimated(own)
	}
	sums := map[int64]float64{}
	low, high, total := int64(1<<62), int64(-1), 0.0
	for k, table := range s.tables {
		if own >= 0 && table[own] == 0 {
			continue
		}
		n := int64(0)
		for _, cell := range s.cells {
			n += table[cell]
		}
		sums[n] += s.weights[k]
		total += s.weights[k]
		low, high = min(low, n), max(high, n)
	}
	b := &tablerisk.Belief{First: low, P: make([]float64, high-low+1)}
	for n, w := range sums {
		b.P[n-low] = w / total
	}
	return b
}

// ofSquare returns the belief in the share of a component that is one square.
func (s *share) ofSquare(own int32) *tablerisk.Belief {
	q := &s.squares[0][0]
	a, b, c, d := q.counts(s.published)
	l := law{max(0, a-d), a + min(b, c), s.theta}
	least, most := l.low, l.high
	if own >= 0 {
		switch slices.Index(q.cells[:], own) {
		case 0:
			least = 1
		case 1:
			most = a + b - 1
		case 2:
			most = a + c - 1
		case 3:
			least = 1 + a - d
		}
	}
	first, p := l.belief(a, least, most)
	first -= a // of changes back
	if s.sign(q) < 0 {
		slices.Reverse(p)
		first = -(first + int64(len(p)) - 1)
	}
	for _, cell := range s.cells {
		first += s.published[cell]
	}
	return &tablerisk.Belief{First: first, P: p}
}

func convolved(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		for j, q := range b {
			sum[i+j] += p * q
		}
	}
	return sum
}
