package standing

import (
	"sort"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// AddHeld counts the records of a block that was masked and kept back by the
// gate. They are not assessed: R and U are those of what has been released.
func (l *Standing) AddHeld(b *microdata.Block) {
	from := sort.Search(b.N, func(i int) bool { return b.Place(i) >= l.next })
	if from == b.N {
		return
	}
	b.Part(&l.part, from, b.N)
	l.pending = nil
	l.last = max(l.last, b.Place(b.N-1))
	l.deltaCounts = l.deltaCounts.Plus(l.part.Counts().HeldBack())
}
