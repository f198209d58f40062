package exchange

import (
	"encoding/binary"
	"slices"
)

// Prior is the prior distribution of a count.
type Prior uint8

// Under both priors the rest of the table is distributed as under independence of rows
// and columns given their totals.
const (
	Even        Prior = iota // uniform over the counts that the rows that exchange with each other allow
	Independent              // the count, too, is distributed as under independence
)

// SwappedCount is a count of a swapped table with the groups of rows that its published value
// depends on.
type SwappedCount struct {
	table *Swapped
	value int64
	parts []part
}

// part is the share of a group in a count: the count of the group's records in some of its rows and columns.
type part struct {
	*group
	in        []bool  // of a row of the group: it is in the count
	inside    []bool  // of a column of the group
	published []int64 // of a row: its records in the count's columns
	was       int64   // the true share
	from, to  int     // rows whose trades concern the count, and rows that exchange with them
	traces    *traces
	ways      [2]map[int]map[int][]float64 // of a record beside or in the columns, and its published row: by its true row
	plain     []float64
}

// Count returns the count of a cell with its groups.
func (s *Swapped) Count(cell int32) *SwappedCount {
	c := &SwappedCount{table: s, value: int64(s.value[cell])}
	rows, columns := s.frame.split(cell)
	last := s.matrices[len(s.matrices)-1]
	for k := range s.groups {
		g := &s.groups[k]
		p := part{group: g}
		var set []int
		for _, j := range g.columns {
			p.inside = append(p.inside, columns[j])
			if columns[j] {
				set = append(set, j)
			}
		}
		if len(set) == 0 || len(set) == len(g.columns) {
			continue // rows keep their sizes
		}
		all := int64(0)
		for _, row := range g.rows {
			p.in = append(p.in, rows[row])
			p.published = append(p.published, sum(last[row], set))
			all += p.published[len(p.published)-1]
			if rows[row] {
				p.was += sum(s.matrices[0][row], set)
			}
		}
		if p.concerned() && all > 0 {
			c.parts = append(c.parts, p)
		}
	}
	return c
}

// concerned finds the rows whose trades change the count, with the rows that exchange with them; false if there are
// none.
func (p *part) concerned() bool {
	first, last := -1, -1
	for i := range len(p.rows) - 1 {
		if _, trade := p.trade(i); trade && p.in[i] != p.in[i+1] {
			if first < 0 {
				first = i
			}
			last = i + 1
		}
	}
	if first < 0 {
		return false
	}
	// Whole pairs of the first pass, and one more on each side, which exchanges with them in the second.
	p.from, p.to = max(0, first/2*2-2), min(len(p.rows)-1, last/2*2+3)
	return true
}

// Belief returns the posterior distribution of the count for an intruder who knows the whole published
// table, the pairs of rows and the rate: p[0] is the probability of the count first. With tables weighted by
// their probability under independence, a swap from one table to another is as likely as the reverse
// swap; so the true table is distributed like one that is made of the published one by the swaps in reverse
// order. Where a group of several pairs has very many records, only the first pass that could change the count
// is used, and the intruder is assumed to know the changes of the other one.
func (c *SwappedCount) Belief(prior Prior) (first int64, belief []float64) {
	return c.joined(-1, nil, func(p *part) (int64, []float64) { return c.outsider(p, prior) })
}

// joined returns the distribution of the count: of the share of the part at, if any, it is own.
func (c *SwappedCount) joined(at int, own func() (int64, []float64), others func(p *part) (int64, []float64)) (
	first int64, belief []float64) {
	first, belief = c.value, []float64{1}
	for k := range c.parts {
		p := &c.parts[k]
		var low int64
		var share []float64
		if k == at {
			low, share = own()
		} else {
			low, share = others(p)
		}
		first, belief = first+low-p.was, convolved(belief, share)
	}
	return first, belief
}

// outsider returns the belief about the share of a group.
func (c *SwappedCount) outsider(p *part, prior Prior) (first int64, belief []float64) {
	if !p.small() {
		return p.byTrades(c.trades(p), prior, -1, -1)
	}
	return p.posterior(p.unmarked(), prior, -1)
}

// Respondents calls add with the beliefs of respondents, who know more about the count than outsiders: each
// knows the place of her own record in the true table, and the whole published table. A respondent who is the
// only one in the count is omitted. Of groups with very many records she uses the published count only.
func (c *SwappedCount) Respondents(prior Prior, add func(first int64, belief []float64)) {
	outside := func(p *part) (int64, []float64) { return c.outsider(p, prior) }
	for k := range c.parts {
		p := &c.parts[k]
		if !p.small() {
			trades := c.trades(p)
			for at, t := range trades {
				for place, n := range [4]int64{t.before, t.inside - t.before, t.both - t.before, t.outside - t.both + t.before} {
					if n > 0 && !(place == 0 && c.value == 1) {
						add(c.joined(k, func() (int64, []float64) { return p.byTrades(trades, prior, at, place) }, outside))
					}
				}
			}
			continue
		}
		c.known(p, prior, func(first int64, own []float64) {
			add(c.joined(k, func() (int64, []float64) { return first, own }, outside))
		})
	}
}

// known calls add with the beliefs about the share of a group that respondents of its records have: the probability
// that the true table has her record at her place, and the share a value, is that of the reverse way of one of the
// records that are published in her columns, summed over these records.
func (c *SwappedCount) known(p *part, prior Prior, add func(first int64, belief []float64)) {
	before, after := c.table.matrices[0], c.table.matrices[len(c.table.matrices)-1]
	p.prepare()
	ways := &p.ways
	seen := map[string]bool{}
	var code []byte
	var weights []int64
	for i, row := range p.rows {
		for k, j := range p.columns {
			if before[row][j] == 0 || p.in[i] && p.inside[k] && c.value == 1 {
				continue
			}
			side := 0
			if p.inside[k] {
				side = 1
			}
			far := i < p.from || i > p.to // her record says nothing about the trades of the count
			weights = weights[:0]
			for q := max(0, p.from-1); q <= min(len(p.rows)-1, p.to+1) && !far; q++ {
				n := int64(0)
				if ways[side][q][i] != nil {
					n = after[p.rows[q]][j]
				}
				weights = append(weights, n)
			}
			alike := int64(i)
			if far {
				alike = int64(-1 - place(p.in[i], p.inside[k]))
			}
			code = binary.AppendVarint(binary.AppendVarint(code[:0], alike), int64(side))
			for _, n := range weights {
				code = binary.AppendVarint(code, n)
			}
			key := string(code)
			if seen[key] {
				continue
			}
			seen[key] = true
			var total []float64
			if far {
				total = p.unmarked()
			}
			for q, n := range weights {
				for m, v := range ways[side][max(0, p.from-1)+q][i] {
					if total == nil {
						total = make([]float64, p.sizeOfShare())
					}
					total[m] += v * float64(n)
				}
			}
			add(p.posterior(total, prior, place(p.in[i], p.inside[k])))
		}
	}
}

// prepare makes the ways to the sums of a part that are not made yet.
func (p *part) prepare() {
	for side := range p.ways {
		if p.ways[side] != nil {
			continue
		}
		p.ways[side] = map[int]map[int][]float64{}
		for q := max(0, p.from-1); q <= min(len(p.rows)-1, p.to+1); q++ {
			if n := p.published[q]; side == 1 && n > 0 || side == 0 && n < p.size[q] {
				p.ways[side][q] = p.walk(q, side == 1)
			}
		}
	}
}

// sizeOfShare returns how many values the share of the concerned rows can have.
func (p *part) sizeOfShare() int64 {
	size := int64(1)
	for i := p.from; i <= p.to; i++ {
		size += p.published[i]
	}
	return size
}

// unmarked returns the distribution of the share without a record.
func (p *part) unmarked() []float64 {
	if p.plain == nil {
		p.plain = p.walk(everywhere, false)[everywhere]
	}
	return p.plain
}

// place numbers where a record is, as swapLaw does.
func place(row, column bool) int {
	switch {
	case row && column:
		return 0
	case row:
		return 1
	case column:
		return 2
	}
	return 3
}

// posterior makes a distribution of weights under independence by the share of the concerned rows. Under the even prior
// they are divided by the prior under independence.
func (p *part) posterior(weights []float64, prior Prior, place int) (first int64, belief []float64) {
	rest, all, marked, drawn := int64(0), int64(0), int64(0), int64(0)
	for i, n := range p.published {
		all, marked = all+p.size[i], marked+n
		if p.in[i] {
			drawn += p.size[i]
			if i < p.from || i > p.to {
				rest += n
			}
		}
	}
	own := int64(0) // her record in the share
	if place >= 0 {
		all--
		if place == 0 || place == 1 {
			drawn--
		}
		if place == 0 || place == 2 {
			marked--
		}
		if place == 0 {
			own = 1
		}
	}
	belief = slices.Clone(weights)
	if prior == Even {
		for n := range belief {
			if belief[n] > 0 {
				belief[n] /= hypergeometric(all, marked, drawn, rest+int64(n)-own)
			}
		}
	}
	total := 0.0
	for _, v := range belief {
		total += v
	}
	from, to := 0, len(belief)
	for from < to && belief[from] <= 1e-15*total {
		from++
	}
	for to > from && belief[to-1] <= 1e-15*total {
		to--
	}
	belief = belief[from:to]
	for n := range belief {
		belief[n] /= total
	}
	return rest + int64(from), belief
}

// trades returns the trades of the first pass that can change the count, for somebody who knows the other pass.
func (c *SwappedCount) trades(p *part) (list []lone) {
	var set []int
	for k, j := range p.columns {
		if p.inside[k] {
			set = append(set, j)
		}
	}
	for pass := range p.each {
		for k, each := range p.each[pass] {
			in, out := 2*k+pass, 2*k+pass+1
			if p.in[in] == p.in[out] {
				continue
			}
			if p.in[out] {
				in, out = out, in
			}
			before, after := c.table.matrices[pass], c.table.matrices[pass+1]
			was := sum(before[p.rows[in]], set)
			t := lone{
				swapLaw: swapLaw{inside: p.size[in], outside: p.size[out], each: each, both: was + sum(before[p.rows[out]], set)},
				before:  was, after: sum(after[p.rows[in]], set),
			}
			if low, high := t.ends(); low < high {
				list = append(list, t)
			}
		}
		if len(list) > 0 {
			break
		}
	}
	return list
}

// lone is a trade with the count of its first row before and after.
type lone struct {
	swapLaw
	before, after int64
}

// byTrades returns the belief about the share, each trade by itself, of a respondent at a place of one of them.
func (p *part) byTrades(trades []lone, prior Prior, at, place int) (first int64, belief []float64) {
	first, belief = p.was, []float64{1}
	for k, t := range trades {
		where := -1
		if k == at {
			where = place
		}
		low, share := t.belief(t.after, prior, where)
		first, belief = first+low-t.before, convolved(belief, share)
	}
	return first, belief
}
