package tablerisk

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Release is what everybody knows about published tables of counts whose method changes every
// count on its own: the published counts, and for each cell the probability of the published count
// given each true count. The counts are those of one set, and their sums hold for the true counts.
type Release struct {
	Set       *tables.Set
	Published []int64
	// Likelihood returns, for each true count of a cell, the probability that it is published as it
	// is: p[0] is the probability for the count first. For other counts it is 0. With p nil it is the
	// same for all.
	Likelihood func(cell int32) (first int64, p []float64)
	// Same says that cells with the same records have the same change: a total whose parts are
	// all 0 but one says nothing new, except that it is published as this part is.
	Same bool
	// Truth has the true counts. Chains start there, and they are the values that respondents must not infer.
	Truth []int64
	// Limit, if not 0, is the probability above which a count counts as disclosed: chains end as soon as one is beyond
	// doubt.
	Limit float64
	// Stop, if not nil, is called regularly; its error ends the computation.
	Stop func() error
}

// Joint is the posterior distribution of the counts of a release given all published counts
// together, if every table of counts that adds up is equally likely beforehand. For small tables it
// is exact; for others it is estimated by Markov chains.
type Joint struct {
	release Release
	cells   []knownCell
	sums    [][]int32 // of a total: its sums
	in      [][]int32 // of a cell: the sums that it is a part of
	single  []bool    // of a cell: it is a total whose records may all be in one part
	linked  bool      // cells of different tables may have the same records without a cell of one table below both
	edges   int       // greatest number of steps of an exact computation

	wanted  []int32
	place   []int32 // of a cell: its index in wanted, −1 if it is not wanted
	beliefs []*Belief
	Exact   bool
	Sweeps  int  // of every chain, if not exact
	Short   bool // chains ended early, because a count is disclosed beyond doubt
	chains  []*chain
}

// knownCell is what a published count tells of its cell: the counts from low to high are possible.
type knownCell struct {
	low, high int64
	p         []float64 // likelihood from low on; nil: the same for all
	log       []float64
}

// unbounded is the greatest count that is considered where nothing bounds a cell.
const unbounded = 1 << 50

// NewJoint computes the beliefs about the wanted cells. It returns the error of r.Stop.
func NewJoint(r Release, wanted []int32) (*Joint, error) {
	return newJoint(r, wanted, nil, mostEdges)
}

// Exactly computes the beliefs about the wanted cells if that takes few steps; else it returns nil. It returns the
// error of r.Stop.
func Exactly(r Release, wanted []int32) (*Joint, error) {
	j := prepared(r, wanted, nil, mostEdges)
	if j.Exact = j.exact(); j.Exact {
		return j, r.stopped()
	}
	return nil, r.stopped()
}

// newJoint computes the beliefs of somebody who knows that some cells have at least the given counts, exactly
// if it takes at most edges steps.
func newJoint(r Release, wanted []int32, least map[int32]int64, edges int) (*Joint, error) {
	j := prepared(r, wanted, least, edges)
	if j.Exact = j.exact(); j.Exact {
		return j, r.stopped()
	}
	return j, j.sample()
}

// prepared returns a posterior whose beliefs are not computed yet.
func prepared(r Release, wanted []int32, least map[int32]int64, edges int) *Joint {
	n := r.Set.Cells()
	j := &Joint{release: r, edges: edges, cells: make([]knownCell, n), sums: make([][]int32, n), in: make([][]int32, n),
		single: make([]bool, n), wanted: wanted, place: make([]int32, n)}
	for i := range r.Set.Sums() {
		s := r.Set.Sum(i)
		j.sums[s.Total] = append(j.sums[s.Total], int32(i))
		for _, part := range s.Parts {
			j.in[part] = append(j.in[part], int32(i))
		}
	}
	for c := range n {
		j.place[c] = -1
		j.cells[c] = knownOf(r.Likelihood(int32(c)))
		if v, known := least[int32(c)]; known {
			j.cells[c].low = max(j.cells[c].low, v)
		}
	}
	for k, c := range wanted {
		j.place[c] = int32(k)
	}
	j.bound()
	for c := range n {
		j.cells[c].cut()
		j.single[c] = r.Same && slices.ContainsFunc(j.sums[c], j.canBeOne)
	}
	j.linked = r.Same && !common(r.Set)
	return j
}

func (r *Release) stopped() error {
	if r.Stop == nil {
		return nil
	}
	return r.Stop()
}

func knownOf(first int64, p []float64) knownCell {
	if p == nil {
		return knownCell{low: 0, high: unbounded}
	}
	log := make([]float64, len(p))
	for i, q := range p {
		log[i] = math.Log(q)
	}
	return knownCell{first, first + int64(len(p)) - 1, p, log}
}

// cut removes the likelihoods of counts that are impossible because of the sums. knownOf's first count
// is kept in the offset of the slices.
func (k *knownCell) cut() {
	if k.p == nil {
		return
	}
	size := k.high - k.low + 1
	from := int64(len(k.p)) - size
	k.p, k.log = k.p[from:], k.log[from:]
}

// bound narrows the ends of all cells by the sums until nothing changes, or for a fixed number of
// rounds.
func (j *Joint) bound() {
	set := j.release.Set
	narrow := func(c int32, low, high int64) (changed bool) {
		k := &j.cells[c]
		if high < k.high {
			if k.p != nil {
				k.p, k.log = k.p[:int64(len(k.p))-(k.high-high)], k.log[:int64(len(k.log))-(k.high-high)]
			}
			k.high, changed = high, true
		}
		if low > k.low {
			k.low, changed = low, true
		}
		return changed
	}
	for range 50 {
		changed := false
		for i := range set.Sums() {
			s := set.Sum(i)
			low, high := int64(0), int64(0)
			for _, part := range s.Parts {
				low += j.cells[part].low
				high = min(high+j.cells[part].high, 2*unbounded)
			}
			changed = narrow(s.Total, low, high) || changed
			t := j.cells[s.Total]
			for _, part := range s.Parts {
				k := j.cells[part]
				rest := t.low - (high - k.high)
				if high >= unbounded {
					rest = 0
				}
				changed = narrow(part, rest, t.high-(low-k.low)) || changed
			}
		}
		if !changed {
			return
		}
	}
}

// canBeOne reports whether all parts of a sum but one can be 0.
func (j *Joint) canBeOne(sum int32) bool {
	others := 0
	for _, part := range j.release.Set.Sum(int(sum)).Parts {
		if j.cells[part].low > 0 {
			others++
		}
	}
	return others <= 1
}

// Belief returns the belief about a wanted cell.
func (j *Joint) Belief(cell int32) *Belief { return j.beliefs[j.place[cell]] }

// Part is what a respondent knows about a cell: that it is at least Least.
type Part struct {
	Cell  int32
	Least int64
}

// Sure returns those of the wanted cells about whose true count somebody who knows one of the parts can be
// more certain than limit. skip says that a part is not to be tried for a cell. All cells of parts must be wanted.
// If these are very many (mostPairs), only parts near a cell are tried: of the cell itself, and of cells in one sum
// with it. What a part tells of other cells goes through at least two totals that are changed themselves.
func (j *Joint) Sure(parts []Part, about []int32, limit float64, skip func(part, about int32) bool) ([]int32, error) {
	sure := map[int32]bool{}
	var pairs []pair
	for _, part := range parts {
		b := j.Belief(part.Cell)
		knows := b.from(part.Least)
		if knows >= 1-1e-12 {
			continue // as everybody does
		}
		var list []int32
		for _, c := range about {
			if sure[c] || skip(part.Cell, c) {
				continue
			}
			if j.Exact || c == part.Cell {
				list = append(list, c)
			} else if j.Belief(c).UpTo(j.release.Truth[c]) > limit*knows { // P(count | part) <= P(count) / P(part)
				list = append(list, c)
			}
		}
		if !j.Exact {
			for _, c := range list {
				pairs = append(pairs, pair{part, c})
			}
			if len(pairs) > 2*mostPairs {
				pairs = j.near(pairs)
			}
			continue
		}
		if len(list) == 0 {
			continue
		}
		given, err := newJoint(j.release, list, map[int32]int64{part.Cell: part.Least}, j.edges)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if given.Belief(c).UpTo(j.release.Truth[c]) > limit {
				sure[c] = true
			}
		}
	}
	if len(pairs) > mostPairs {
		pairs = j.near(pairs)
	}
	if len(pairs) > 0 {
		if err := j.given(pairs, limit, sure); err != nil {
			return nil, err
		}
	}
	var list []int32
	for _, c := range about {
		if sure[c] {
			list = append(list, c)
		}
	}
	return list, nil
}

// Together returns those of the wanted cells about whose true count somebody who knows all parts together
// can be more certain than limit.
func (j *Joint) Together(parts []Part, about []int32, limit float64) ([]int32, error) {
	least, more := map[int32]int64{}, false
	for _, p := range parts {
		least[p.Cell] = max(least[p.Cell], p.Least)
		more = more || j.Belief(p.Cell).from(p.Least) < 1-1e-12
	}
	if !more || len(about) == 0 {
		return nil, nil
	}
	given, err := newJoint(j.release, about, least, j.edges)
	if err != nil {
		return nil, err
	}
	var list []int32
	for _, c := range about {
		if given.Belief(c).UpTo(j.release.Truth[c]) > limit {
			list = append(list, c)
		}
	}
	return list, nil
}

// pair is a question: how certain of the true count of a cell is somebody who knows a part.
type pair struct {
	Part
	about int32
}

// mostPairs is the greatest number of pairs that are all tried.
const mostPairs = 100_000

// near returns the pairs whose cell is one that the part is in, or in one sum with such a cell.
func (j *Joint) near(pairs []pair) (near []pair) {
	here, of := map[int32]bool{}, int32(-1)
	for _, p := range pairs {
		if p.Cell != of {
			of = p.Cell
			clear(here)
			here[of] = true
			for queue := []int32{of}; len(queue) > 0; queue = queue[1:] {
				for _, i := range j.in[queue[0]] {
					s := j.release.Set.Sum(int(i))
					for _, c := range s.Parts {
						here[c] = true
					}
					if !here[s.Total] {
						queue = append(queue, s.Total)
					}
					here[s.Total] = true
				}
			}
		}
		if here[p.about] {
			near = append(near, p)
		}
	}
	return near
}
