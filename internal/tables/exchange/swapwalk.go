package exchange

// everywhere is the place of no record.
const everywhere = -1

// The greatest numbers of records in the columns of a count, in two rows together, for which swaps are
// traced back exactly: in one pass, and in two.
const (
	mostInOne = 400
	mostInTwo = 48
)

// small reports whether the swaps of the concerned rows are traced back.
func (p *part) small() bool {
	most := int64(mostInOne)
	if len(p.each[1]) > 0 {
		most = mostInTwo
	}
	for i := p.from; i < p.to; i++ {
		if p.published[i]+p.published[i+1] > most {
			return false
		}
	}
	return true
}

// walk computes the distribution of the share of the concerned rows in the true table, by swaps in reverse order from
// the published one. With tag >= 0 it follows one record of this row, in the columns of the count (inside) or in
// others, and returns for each row the probability of the share together with the record being in this row; without,
// for everywhere.
func (p *part) walk(tag int, inside bool) map[int][]float64 {
	if p.traces == nil {
		p.traces = &traces{leaves: map[[2]int64][]float64{}, trades: map[traded]*outcome{}}
	}
	w := walk{part: p, tag: tag, inside: inside}
	size := p.sizeOfShare()
	now := map[position][]float64{}
	start := make([]float64, size)
	start[0] = 1
	w.size = int(size)
	y := p.published[p.from]
	at := w.crossing(p.from-1, p.from)
	for where, q := range at {
		if q > 0 {
			now[position{y, where}] = scaled(start, q)
		}
	}
	for i := p.from; i <= p.to; i += 2 {
		now = w.pair(i, now)
	}
	result := map[int][]float64{}
	for state, v := range now {
		row := everywhere
		if tag >= 0 {
			if state.record < 0 {
				continue // it left the concerned rows
			}
			row = state.record
		}
		result[row] = added(result[row], v)
	}
	return result
}

// walk is the way back through the trades, pair after pair of the first pass.
type walk struct {
	*part
	tag    int
	inside bool
	size   int
}

// position is what is known between two pairs: the records of the next row in the count's columns after the first pass,
// and where the record is: its row, if the first pass is already traced back; or one of the following.
type position struct {
	y      int64
	record int
}

const (
	notYet = -1 // in a row that is still to come
	there  = -2 // in the next row, after the first pass
)

// crossing returns where the record is after the trade of the second pass at an end of the concerned rows, by the
// unconditional probability: i and i+1 are the rows of this trade, and row is the one that is concerned.
func (w *walk) crossing(i, row int) map[int]float64 {
	other := 2*i + 1 - row
	each, trade := w.trade(i)
	switch {
	case trade && w.tag == row:
		return map[int]float64{there: 1 - float64(each)/float64(w.part.size[row])}
	case trade && w.tag == other:
		return map[int]float64{there: float64(each) / float64(w.part.size[other])}
	case w.tag == row:
		return map[int]float64{there: 1}
	}
	return map[int]float64{notYet: 1}
}

// pair traces a pair of the first pass back, whose rows are i and i+1; the last row of a group may have no partner.
func (w *walk) pair(i int, now map[position][]float64) map[position][]float64 {
	next := map[position][]float64{}
	last := i+1 >= w.to
	for state, v := range now {
		if i == w.to { // no partner
			here := state.record
			if here == there {
				here = i
			}
			n := int64(0)
			if w.in[i] {
				n = state.y
			}
			w.put(next, position{0, here}, v, n, 1)
			continue
		}
		if last {
			for record, q := range w.crossing(i+1, i+1) {
				w.first(next, i, state, v, w.published[i+1], 0, record, notYet, q)
			}
			continue
		}
		side := -1
		if w.tag == i+1 || w.tag == i+2 {
			side = w.tag - i - 1
		}
		t := traded{i + 1, w.published[i+1], w.published[i+2]}
		o := w.outcome(t)
		for k, p := range o.p {
			y := o.low + int64(k)
			rest := t.first + t.other - y
			if side < 0 {
				w.first(next, i, state, v, y, rest, notYet, notYet, p)
				continue
			}
			here, beyond := w.record(t, o, k, side)
			if side == 1 {
				here, beyond = beyond, here
			}
			w.first(next, i, state, v, y, rest, there, notYet, here)
			w.first(next, i, state, v, y, rest, notYet, there, beyond)
		}
	}
	return next
}

// first traces the trade of the first pass of rows i and i+1 back, with y records of the second row in the count's
// columns. record says whether the record is in this row, and later whether it is in the next.
func (w *walk) first(next map[position][]float64, i int, state position, v []float64, y, rest int64, record, later int,
	q float64) {
	if q == 0 {
		return
	}
	each, _ := w.trade(i)
	side, then := -1, state.record
	switch {
	case state.record == there:
		side = 0
	case record == there:
		side = 1
	case later == there:
		then = there
	}
	both := state.y + y
	if w.in[i] == w.in[i+1] {
		n := int64(0)
		if w.in[i] {
			n = both
		}
		if side < 0 {
			w.put(next, position{rest, then}, v, n, q)
			return
		}
		leaves := float64(each) / float64(w.part.size[i+side])
		w.put(next, position{rest, i + side}, v, n, q*(1-leaves))
		w.put(next, position{rest, i + 1 - side}, v, n, q*leaves)
		return
	}
	t := traded{i, state.y, y}
	o := w.outcome(t)
	for k, p := range o.p {
		n := o.low + int64(k)
		if w.in[i+1] {
			n = both - n
		}
		if side < 0 {
			w.put(next, position{rest, then}, v, n, q*p)
			continue
		}
		stay, move := w.record(t, o, k, side)
		w.put(next, position{rest, i + side}, v, n, q*stay)
		w.put(next, position{rest, i + 1 - side}, v, n, q*move)
	}
}

// put adds a distribution of the share, increased by n.
func (w *walk) put(next map[position][]float64, at position, v []float64, n int64, q float64) {
	if q == 0 {
		return
	}
	to := next[at]
	if to == nil {
		to = make([]float64, w.size)
		next[at] = to
	}
	for k, p := range v {
		if p > 0 {
			to[k+int(n)] += p * q
		}
	}
}

// traded is a trade of two rows, row and row+1, with their records in the count's columns.
type traded struct {
	row          int
	first, other int64
}

// outcome is the distribution of the first row's records after a trade: the probability of each number from low on,
// alone and multiplied by the expected numbers of records of either row that stay in it and that move, of those in the
// columns (1) and of the others (0). All are sums of numbers that are not below 0, so that what cannot be is exactly 0.
type outcome struct {
	low        int64
	p          []float64
	stay, move [2][2][]float64 // of a row, and of 0 or 1
}

// traces are the distributions of the trades of a count, computed once.
type traces struct {
	leaves map[[2]int64][]float64 // of a row, and of its records in the columns, for its trade of a pass (2·row + pass)
	trades map[traded]*outcome
}

// outcome returns the distribution after the trade of row and row+1.
func (w *walk) outcome(t traded) *outcome {
	if o := w.traces.trades[t]; o != nil {
		return o
	}
	each, _ := w.trade(t.row)
	counts := [2]int64{t.first, t.other}
	var leaves [2][]float64 // of a row: the probability that so many of its records in the columns leave
	for s, count := range counts {
		key := [2]int64{int64(2*(t.row+s) + t.row%2), count}
		if leaves[s] = w.traces.leaves[key]; leaves[s] != nil {
			continue
		}
		for k := int64(0); k <= min(count, each); k++ {
			leaves[s] = append(leaves[s], hypergeometric(w.part.size[t.row+s], count, each, k))
		}
		w.traces.leaves[key] = leaves[s]
	}
	both := t.first + t.other
	o := &outcome{low: max(0, both-w.part.size[t.row+1])}
	n := min(both, w.part.size[t.row]) - o.low + 1
	o.p = make([]float64, n)
	for s := range 2 {
		for in := range 2 {
			o.stay[s][in], o.move[s][in] = make([]float64, n), make([]float64, n)
		}
	}
	for l, p := range leaves[0] {
		for e, q := range leaves[1] {
			if p*q == 0 {
				continue
			}
			at := t.first - int64(l) + int64(e) - o.low
			o.p[at] += p * q
			for s, out := range [2]int64{int64(l), int64(e)} {
				o.move[s][1][at] += p * q * float64(out)
				o.stay[s][1][at] += p * q * float64(counts[s]-out)
				o.move[s][0][at] += p * q * float64(each-out)
				o.stay[s][0][at] += p * q * float64(w.part.size[t.row+s]-counts[s]-each+out)
			}
		}
	}
	w.traces.trades[t] = o
	return o
}

// record returns the probability of the k-th number together with the record, which is on a side of the trade, staying
// in its row, and moving.
func (w *walk) record(t traded, o *outcome, k, side int) (stay, move float64) {
	n, in := [2]int64{t.first, t.other}[side], 1
	if !w.inside {
		n, in = w.part.size[t.row+side]-n, 0
	}
	return o.stay[side][in][k] / float64(n), o.move[side][in][k] / float64(n)
}

func scaled(v []float64, by float64) []float64 {
	list := make([]float64, len(v))
	for k, p := range v {
		list[k] = p * by
	}
	return list
}

func added(to, v []float64) []float64 {
	if to == nil {
		return v
	}
	for k, p := range v {
		to[k] += p
	}
	return to
}
