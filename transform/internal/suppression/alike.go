package suppression

import "slices"

// bunching hides cells if a missing cell is no value. The candidates of a respondent that count are then
// the complete records that agree with what is known, and the released records that are equal to the
// respondent's own, missing cells included: these are as likely as the own record, whatever a missing
// cell weighs. So a complete combination stays complete in k records or in none; and a combination
// with missing cells is that of k records, unless k complete ones agree with what is known.
//
// Records that are released alike are a bunch. Records that are not safe where they are join
// bunches of records that miss the same set of cells: with one another, and with donors, safe
// records of which there are more than k in their bunch, or with a whole bunch. Sets and bunches are
// taken in the order of cost for each record that is made safe. Then donors go back that are not needed,
// records move to bunches that cost less, and bunches are broken up and made again.
type bunching struct {
	*Search
	within      uint16 // the keys that the snooper knows
	sets        []uint16
	tuples      []packed // by kind of respondent: the known keys
	lacks       []uint16 // likewise: the keys that are not known
	bunches     []bunch
	index       []*tupleTable // by set: the place of each bunch + 1
	agreeing    []*tupleTable // by set of keys that are not known: the number of safe complete bunches
	left        []leftover    // records that are not safe where they are
	least       float64       // the cost of the cheapest cell
	solids      []solid       // the bunches whose records are all safe
	turnedSince bool          // a bunch has changed since solids were collected
	tabu        int32         // a bunch that no record may join; −1: none
}

// bunch holds the records that are released alike.
type bunch struct {
	set     uint16
	rest    packed
	n       int32
	members []member
}

// member are records of a kind of respondent that had missing cells before: their home is the bunch
// without further missing cells.
type member struct {
	kind int32
	from uint16
	n    int32
}

// leftover are records of a bunch that are not safe there.
type leftover struct {
	at int32
	member
}

// newBunching prepares the search for members where they are, by kinds of respondents.
func (s *Search) newBunching(within uint16, tuples []packed, lacks []uint16, members []member) *bunching {
	a := &bunching{Search: s, within: within, tuples: tuples, lacks: lacks, tabu: -1, least: slices.Min(s.Weights)}
	for _, set := range s.sets {
		if set&^within == 0 {
			a.sets = append(a.sets, set)
		}
	}
	a.index, a.agreeing = make([]*tupleTable, len(s.keep)), make([]*tupleTable, len(s.keep))
	for _, m := range members {
		a.put(a.bunchOf(m.from, a.rest(m.kind, m.from)), m)
	}
	for _, set := range lacks {
		if a.agreeing[set] == nil {
			a.agreeing[set] = &tupleTable{}
		}
	}
	for at := range a.bunches {
		if b := &a.bunches[at]; b.set == 0 && int(b.n) >= s.K {
			a.agree(b.rest, 1)
		}
	}
	return a
}

// rest returns what is known of a kind of respondent, without the keys of a set.
func (a *bunching) rest(kind int32, set uint16) packed { return a.tuples[kind].and(a.keep[set]) }

// agree notes that complete bunches of k records or more with a tuple are there (n = 1), or no more.
func (a *bunching) agree(tuple packed, n int32) {
	for set, table := range a.agreeing {
		if table != nil {
			table.add(tuple.and(a.keep[set]), n)
		}
	}
}

// find returns the place of the bunch of a tuple without the keys of a set, −1 if there is none.
func (a *bunching) find(set uint16, rest packed) int32 {
	if t := a.index[set]; t != nil {
		if i := t.find(rest); i >= 0 {
			return t.counts[i] - 1
		}
	}
	return -1
}

// bunchOf is find of a bunch that is made if there is none.
func (a *bunching) bunchOf(set uint16, rest packed) int32 {
	if at := a.find(set, rest); at >= 0 {
		return at
	}
	if a.index[set] == nil {
		a.index[set] = &tupleTable{}
	}
	a.bunches = append(a.bunches, bunch{set: set, rest: rest})
	a.index[set].add(rest, int32(len(a.bunches)))
	return int32(len(a.bunches)) - 1
}

// put adds members to a bunch.
func (a *bunching) put(at int32, m member) {
	b := &a.bunches[at]
	was := b.n
	b.n += m.n
	a.turned(b, was)
	for i := range b.members {
		if o := &b.members[i]; o.kind == m.kind && o.from == m.from {
			o.n += m.n
			return
		}
	}
	b.members = append(b.members, m)
}

// takeOut takes n records of the member i out of a bunch.
func (a *bunching) takeOut(at int32, i int, n int32) {
	b := &a.bunches[at]
	was := b.n
	b.n -= n
	if b.members[i].n -= n; b.members[i].n == 0 {
		b.members = slices.Delete(b.members, i, i+1)
	}
	a.turned(b, was)
}

// turned updates agreeing after a bunch had another number of records.
func (a *bunching) turned(b *bunch, was int32) {
	a.turnedSince = true
	if b.set != 0 {
		return
	}
	if before, now := int(was) >= a.K, int(b.n) >= a.K; before != now {
		if now {
			a.agree(b.rest, 1)
		} else {
			a.agree(b.rest, -1)
		}
	}
}

// covered reports whether k complete records agree with what is known of a kind of respondent: its
// records are then safe with any missing cells.
func (a *bunching) covered(kind int32) bool {
	t := a.agreeing[a.lacks[kind]]
	i := t.find(a.tuples[kind])
	return i >= 0 && t.counts[i] > 0
}

// safe reports whether a member is safe in a bunch.
func (a *bunching) safe(b *bunch, kind int32) bool {
	return int(b.n) >= a.K || b.set != 0 && a.covered(kind)
}

// price returns the cost of the cells that records lose in a bunch.
func (a *bunching) price(m member, set uint16) float64 {
	return float64(m.n) * (a.cost[set] - a.cost[m.from])
}

// total returns the cost of all cells that are hidden.
func (a *bunching) total() (cost float64) {
	for at := range a.bunches {
		for _, m := range a.bunches[at].members {
			cost += a.price(m, a.bunches[at].set)
		}
	}
	return cost
}

// unsafe collects the records that are not safe where they are.
func (a *bunching) unsafe() {
	a.left = a.left[:0]
	for at := range a.bunches {
		b := &a.bunches[at]
		if int(b.n) >= a.K {
			continue
		}
		for _, m := range b.members {
			if !a.safe(b, m.kind) {
				a.left = append(a.left, leftover{int32(at), m})
			}
		}
	}
}

// spare returns how many records may leave a bunch while the others stay safe.
func (a *bunching) spare(b *bunch) int32 {
	if b.set != 0 && a.allCovered(b) {
		return b.n
	}
	return max(0, b.n-int32(a.K))
}

func (a *bunching) allCovered(b *bunch) bool {
	for _, m := range b.members {
		if !a.covered(m.kind) {
			return false
		}
	}
	return true
}

// solid reports whether all records of a bunch are safe.
func (a *bunching) solid(b *bunch) bool { return int(b.n) >= a.K || b.set != 0 && a.allCovered(b) }
