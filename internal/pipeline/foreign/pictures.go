package foreign

import (
	"math"

	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostValues bounds the number of values that are kept for pictures: 32 MB.
const mostValues = 4 << 20

// drawer keeps records for the pictures of their columns: all if they are few, otherwise a
// sample that depends only on their numbers in the file. A nil drawer keeps none.
type drawer struct {
	names  []string
	most   int         // records
	limit  uint64      // a record is kept whose hash does not exceed it
	hashes []uint64    // of the kept records
	values [][]float64 // original and released of each column
}

func newDrawer(names []string) *drawer {
	return &drawer{names: names, most: max(1000, mostValues/(2*len(names))), limit: math.MaxUint64,
		values: make([][]float64, 2*len(names))}
}

// add adds the records of a block that are not rejected.
func (d *drawer) add(b *microdata.Block) {
	if d == nil {
		return
	}
	for i := range b.N {
		hash := mixed(uint64(b.First) + uint64(i))
		if hash > d.limit || b.Rejected(i) {
			continue
		}
		d.hashes = append(d.hashes, hash)
		for j := range d.names {
			c := &b.Columns[j]
			d.values[2*j] = append(d.values[2*j], valueOrNaN(c.Original, i))
			d.values[2*j+1] = append(d.values[2*j+1], valueOrNaN(c.Out(), i))
		}
		if len(d.hashes) > d.most {
			d.halve()
		}
	}
}

// halve halves the limit and keeps the records whose hashes do not exceed it.
func (d *drawer) halve() {
	d.limit /= 2
	kept := 0
	for i, hash := range d.hashes {
		if hash > d.limit {
			continue
		}
		d.hashes[kept] = hash
		for _, column := range d.values {
			column[kept] = column[i]
		}
		kept++
	}
	d.hashes = d.hashes[:kept]
	for j := range d.values {
		d.values[j] = d.values[j][:kept]
	}
}

// mixed hashes the number of a record to 64 bits (the finaliser of SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pictures returns the pictures of the columns.
func (d *drawer) pictures() (pairs []picture.Pair) {
	if d == nil {
		return nil
	}
	for j, name := range d.names {
		pairs = append(pairs, picture.Of(name, "", d.values[2*j], d.values[2*j+1]))
	}
	return pairs
}
