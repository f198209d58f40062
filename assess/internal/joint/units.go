package joint

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// What the records of one group or unit tell of each other, as features of the linear estimator.

// byUnits adds what the records of one unit, or next to one another, tell of each other.
func (s *sought) byUnits() {
	s.beyond = 1
	switch {
	case s.complete:
		var plain []float64
		if s.square() < toldBeside*s.ownSquare() {
			plain = s.predicted()
		}
		s.offer(s.alongCourses(s.y))
		s.acrossUnits()
		s.offer(s.byTotals())
		s.offer(s.inARow())
		if plain != nil {
			s.offer(s.alongCourses(plain))
		}
	case s.Share > 0:
		before := s.square()
		s.offer(s.averages())
		s.offer(s.alongCourses(s.y))
		s.beyond = s.beyondSample(before)
	}
}

// toldBeside is the share of the mean square by the released value alone from which on what the other columns tell of
// the others of a unit is used as well: where each year has two draws, the line goes through both.
const toldBeside = 0.9

// ownSquare is the mean square that a linear estimator from the released value alone leaves.
func (s *sought) ownSquare() float64 { return s.leftByOwn() / float64(len(s.rows)) }

// offer adds features if they explain more than as many do that are chosen by chance, which in small data is much, and
// not in a few records alone, and reports whether they do.
func (s *sought) offer(list []feature) (taken bool) {
	if len(list) == 0 {
		return false
	}
	before, n := *s, float64(len(s.rows))
	s.features = slices.Concat(s.features, list)
	s.refit()
	chance := (chosenBy*float64(len(list)) + beyondChance) / n
	if taken = s.square()*(1+chance) < before.square() && before.better(s.left); !taken {
		*s = before
	}
	s.base = len(s.features)
	return taken
}

// chosenBy is how much more than one feature's share of chance each of those that are the best of many explains.
const chosenBy = 3

// beyondSample returns by which factor the mean squared error would be less if all records of each unit were in the
// sample, of which without the others of its unit a mean square was left before; 1 if they tell nothing. Of n times as
// many records, of which each tells as much, the precision that they add is n times as great; along a course they are
// nearer as well, so that it is taken to be n² times as great, which is rather too much.
func (s *sought) beyondSample(before float64) float64 {
	if after := s.square(); after < before {
		return 1 / (after/before + (1-after/before)*math.Pow(s.Share, -2))
	}
	return 1
}

// beyondChance over the number of rows is a squared correlation of four standard errors.
const beyondChance = 16

// averages returns the means of y over the groups of columns, and those of other numbers over the groups of categories:
// of the couple in which a column was exchanged, its mean tells what the own record had. Of many they are those that
// tell most of x beside y.
func (s *sought) averages() []feature {
	type candidate struct {
		feature
		means *groupMeans
		tells float64
	}
	var list []candidate
	beside := s.beside(s.y)
	add := func(means *groupMeans, least float64, of ...int) {
		if tells := beside(means.at); tells >= least {
			at := means.of.columns
			list = append(list, candidate{feature{column: at[0], from: slices.Concat(at, of)}, means, tells})
		}
	}
	for g := range s.groups {
		if at := &s.groups[g]; at.identifies && at.columns[0] != s.own && at.groups < s.Frame.rows {
			add(s.averaged(at, s.y), 0)
		}
	}
	var whole []int
	for _, f := range s.Frame.features {
		if f.whole && f.column != s.own && len(whole) < mostAveraged {
			whole = append(whole, f.column)
		}
	}
	for _, at := range s.small() {
		for _, c := range whole {
			add(s.ofOthers(at, s.columns[c].numbers), beyondChance/float64(len(s.rows)), c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.tells, a.tells) })
	var features []feature
	for _, c := range list[:min(len(list), mostGroups)] {
		c.values = c.means.all()
		features = append(features, c.feature)
	}
	return features
}

// mostAveraged is the number of columns of which means of the others of a group are tried.
const mostAveraged = 24

// small returns up to mostGroups groupings, by one column or by several, of which most records have a few others in
// their group: exchanges within them have few partners.
func (s *sought) small() (list []*grouping) {
	share := map[*grouping]float64{}
	see := func(groups []grouping) {
		for g := range groups {
			at := &groups[g]
			if slices.Contains(at.columns, s.own) {
				continue
			}
			count := make([]int32, at.groups)
			for _, i := range s.rows {
				if of := at.of[i]; of >= 0 {
					count[of]++
				}
			}
			few := 0
			for _, n := range count {
				if n >= 2 && n <= fewMembers {
					few += int(n)
				}
			}
			if share[at] = float64(few) / float64(len(s.rows)); share[at] >= leastInFew {
				list = append(list, at)
			}
		}
	}
	see(s.groups)
	see(s.crossings())
	slices.SortStableFunc(list, func(a, b *grouping) int { return cmp.Compare(share[b], share[a]) })
	return list[:min(len(list), mostGroups)]
}

// leastInFew is the share of records with a few others in their groups from which a grouping is looked at.
const leastInFew = 0.05

// beside returns a function that returns the squared partial correlation of x and z given y. It may be called from
// several goroutines.
func (s *sought) beside(given []float64) func(z func(row int) float64) float64 {
	var rows []int
	for _, i := range s.rows {
		if given[i] == given[i] {
			rows = append(rows, i)
		}
	}
	centred := func(v func(row int) float64, to []float64) {
		mean := 0.0
		for k, i := range rows {
			to[k] = v(i)
			mean += (to[k] - mean) / float64(k+1)
		}
		for k := range to {
			to[k] -= mean
		}
	}
	x, y := make([]float64, len(rows)), make([]float64, len(rows))
	centred(func(i int) float64 { return s.x[i] }, x)
	centred(func(i int) float64 { return given[i] }, y)
	mxx, mxy, myy := dot(x, x), dot(x, y), dot(y, y)
	scratch := sync.Pool{New: func() any { return new(make([]float64, len(rows))) }}
	return func(of func(row int) float64) float64 {
		if !(myy > 0) {
			return 0
		}
		buf := scratch.Get().(*[]float64)
		defer scratch.Put(buf)
		z := *buf
		centred(of, z)
		mxz, myz, mzz := dot(x, z), dot(y, z), dot(z, z)
		xz := mxz - mxy*myz/myy
		xx, zz := mxx-mxy*mxy/myy, mzz-myz*myz/myy
		if !(xx > 1e-12*mxx && zz > 1e-12*mzz) {
			return 0
		}
		return xz * xz / (xx * zz)
	}
}
