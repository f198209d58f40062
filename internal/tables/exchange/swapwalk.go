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

// walk computes the distribution of the share of the concerned rows in the true table, by swaps in reverse order from the
// published one. With tag >= 0 it follows one record of this row, in the columns of the count (inside) or in others, and
// returns for each row the probability of the share together with the record being in this row; without, for
// everywhere.
func (p *part) walk(tag int, inside bool) map[int][]float64 {
	w := walk{part: p, tag: tag, inside: inside, trades: map[traded]*outcome{}}
	size := int64(1)
	for i := p.from; i <= p.to; i++ {
		size += p.published[i]
	}
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
	trades map[traded]*outcome
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
		each, _ := w.trade(i + 1)
		side := -1
		if w.tag == i+1 || w.tag == i+2 {
			side = w.tag - i - 1
		}
		o := w.outcome(traded{i + 1, each, w.published[i+1], w.published[i+2], side})
		for k := range o.stay {
			y := o.low + int64(k)
			rest := w.published[i+1] + w.published[i+2] - y
			switch side {
			case -1:
				w.first(next, i, state, v, y, rest, notYet, notYet, o.stay[k])
			case 0:
				w.first(next, i, state, v, y, rest, there, notYet, o.stay[k])
				w.first(next, i, state, v, y, rest, notYet, there, o.move[k])
			case 1:
				w.first(next, i, state, v, y, rest, notYet, there, o.stay[k])
				w.first(next, i, state, v, y, rest, there, notYet, o.move[k])
			}
		}
	}
	return next
}

// first traces the trade of the first pass of rows i and i+1 back, with y records of the second row in the count's
// columns. record says whether the record is in this row, and later whether it is in the next.
func (w *walk) first(next map[position][]float64, i int, state position, v []float64, y, rest int64, record, later int, q float64) {
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
	o := w.outcome(traded{i, each, state.y, y, side})
	for k := range o.stay {
		n := o.low + int64(k)
		if w.in[i+1] {
			n = both - n
		}
		if side < 0 {
			w.put(next, position{rest, then}, v, n, q*o.stay[k])
			continue
		}
		w.put(next, position{rest, i + side}, v, n, q*o.stay[k])
		w.put(next, position{rest, i + 1 - side}, v, n, q*o.move[k])
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

// traded is a trade of two rows, row and row+1, with their records in the count's columns, and on which side the record is.
type traded struct {
	row          int
	each         int64
	first, other int64
	side         int
}

// outcome is the distribution of the first row's records after the trade, together with the record staying in its row
// or moving; without a record, all is in stay.
type outcome struct {
	low        int64
	stay, move []float64
}

func (w *walk) outcome(t traded) *outcome {
	if o := w.trades[t]; o != nil {
		return o
	}
	sizes := [2]int64{w.part.size[t.row], w.part.size[t.row+1]}
	counts := [2]int64{t.first, t.other}
	var leaves [2][]float64 // of a row: the probability that so many of its records in the columns leave
	for s := range 2 {
		for k := int64(0); k <= min(counts[s], t.each); k++ {
			leaves[s] = append(leaves[s], hypergeometric(sizes[s], counts[s], t.each, k))
		}
	}
	both := t.first + t.other
	o := &outcome{low: max(0, both-sizes[1])}
	o.stay = make([]float64, min(both, sizes[0])-o.low+1)
	o.move = make([]float64, len(o.stay))
	for l, p := range leaves[0] {
		for e, q := range leaves[1] {
			if p*q == 0 {
				continue
			}
			leave := 0.0
			if t.side >= 0 {
				out := float64([2]int{l, e}[t.side])
				if n := float64(counts[t.side]); w.inside {
					leave = out / n
				} else {
					leave = (float64(t.each) - out) / (float64(sizes[t.side]) - n)
				}
			}
			at := t.first - int64(l) + int64(e) - o.low
			o.stay[at] += p * q * (1 - leave)
			o.move[at] += p * q * leave
		}
	}
	w.trades[t] = o
	return o
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
