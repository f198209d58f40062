package ledger

import (
	"sort"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// AddHeld counts the records of a block that was masked and kept back by the
// gate. They are not assessed: R and U are those of what has been released.
func (l *Ledger) AddHeld(b *microdata.Block) {
	from := sort.Search(b.N, func(i int) bool { return b.Place(i) >= l.next })
	if from == b.N {
		return
	}
	c := Counts{Read: int64(b.N - from)}
	for _, r := range b.Rejects {
		if r.Row >= from {
			c.Quarantined++
		}
	}
	for i := from; i < b.N; i++ {
		if !b.Rejected(i) {
			c.Held++
		}
	}
	l.pending = nil
	l.last = max(l.last, b.Place(b.N-1))
	l.deltaCounts = l.deltaCounts.plus(c)
}
