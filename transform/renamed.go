package transform

import (
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Renamed is what pseudonyms leave: how many records each identifier has.
type Renamed struct {
	Column      string
	Identifiers int64 // different ones, without nulls
	Repeated    int64 // those of more than one record
	Singular    int64 // those with a number of records that no other has: whoever knows the number has found them
	Estimated   bool  // from a part of the identifiers; Singular is then not known, and 0
}

// mostCounted is how many identifiers of a column are counted; of more, a part that their hash selects.
const mostCounted = 1 << 18

// renamedCounts counts the records of the identifiers whose hash begins with so many zeros.
type renamedCounts struct {
	mu     sync.Mutex
	counts map[uint64]int64
	zeros  int
}

// add counts the records of a masked block.
func (r *renamedCounts) add(b *microdata.Block, index int) {
	a := b.Columns[index].OutArray()
	own := map[uint64]int64{}
	for i := range b.N {
		if !b.Rejected(i) && !a.IsNull(i) && a.ValueStr(i) != "" {
			own[uint64(microdata.CategoryCode([]byte(a.ValueStr(i))))<<11]++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[uint64]int64{}
	}
	for hash, n := range own {
		if r.counted(hash) {
			r.counts[hash] += n
		}
	}
	for len(r.counts) > mostCounted {
		r.zeros++
		for hash := range r.counts {
			if !r.counted(hash) {
				delete(r.counts, hash)
			}
		}
	}
}

func (r *renamedCounts) counted(hash uint64) bool { return hash>>(64-r.zeros) == 0 }

func (r *renamedCounts) result(column string) Renamed {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := Renamed{Column: column, Estimated: r.zeros > 0}
	alike := map[int64]int64{} // identifiers by their number of records
	for _, n := range r.counts {
		of.Identifiers++
		if alike[n]++; n > 1 {
			of.Repeated++
		}
	}
	for _, n := range alike {
		if n == 1 && !of.Estimated {
			of.Singular++
		}
	}
	of.Identifiers <<= r.zeros
	of.Repeated <<= r.zeros
	return of
}

// Renamed returns what pseudonyms leave in the records that Apply has masked so far, by column. Records of other chains (Resume) do not count.
func (c *Chain) Renamed() (list []Renamed) {
	for _, w := range c.watches {
		if w.renamed != nil {
			list = append(list, w.renamed.result(w.name))
		}
	}
	return list
}
