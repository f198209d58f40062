package joint

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// The records of one unit, such as the years of a person, tell of one another: a wage that grows goes along a line, or
// is near that of the year before. What a record's neighbours in its unit leave of a draw is a feature beside the mean.

const (
	mostUnits     = 4   // groupings whose courses are looked at
	mostAlong     = 12  // columns along which
	bestCourses   = 2   // of which all ways are features
	leastMembers  = 3   // records of a unit that has a course
	leastCourse   = 0.5 // share of the records that are in such units
	orders        = 5   // in which records that stand anywhere are tried
	anywhereTells = 2   // times what records that stand anywhere tell must those next to one another
	apartAlike    = 2.5 // errors by which values of one unit that are next to each other may differ
	mostPlaces    = 4   // on either side, of the records that tell of the one between them
)

// OrderOfRecords stands among the names of what tells of a value for the order in which the records are released.
const OrderOfRecords = "order of the records"

// byOrder is the column of a course in the order of the records.
const byOrder = -1

// course is the records of the sample by unit, and those of each in the order of a column, or of the file.
type course struct {
	unit   *grouping
	column int // or byOrder
	rows   []int32
	ends   []int // of each unit among rows
	at     []float64
}

// units returns the groupings whose records may be those of one unit: of a column that identifies, and of one with a
// category beside it, as a person in a household has; and, in the order of the release, stretches in which a column
// grows, or falls: the years of a person whose number is withheld. Most records must be in groups of a few.
func (f *Frame) units() []*grouping {
	f.uniting.Do(func() { f.united = f.findUnits() })
	return f.united
}

func (f *Frame) findUnits() (list []*grouping) {
	share := map[*grouping]float64{}
	see := func(g *grouping) {
		n := make([]int, g.groups)
		for _, at := range g.of[:f.rows] {
			if at >= 0 {
				n[at]++
			}
		}
		several := 0
		for _, m := range n {
			if m >= leastMembers {
				several += m
			}
		}
		if share[g] = float64(several) / float64(f.rows); share[g] >= leastCourse {
			list = append(list, g)
		}
	}
	for i := range f.groups {
		if g := &f.groups[i]; g.identifies && g.groups <= f.rows/2 {
			see(g)
			crossed := 0
			for j := range f.groups {
				if by := &f.groups[j]; !by.identifies && by.groups <= mostLevels && crossed < mostAlong {
					pair := f.cross(g, by)
					see(&pair)
					crossed++
				}
			}
		}
	}
	if f.InOrder && f.complete {
		tried := 0
		for _, w := range f.features {
			if w.whole && tried < mostAlong {
				grows, falls := f.runs(w.column, 1), f.runs(w.column, -1)
				see(&grows)
				see(&falls)
				tried++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *grouping) int { return cmp.Compare(share[b], share[a]) })
	return list[:min(len(list), mostUnits)]
}

// runs returns the stretches of rows in which a column grows, or with sign −1 falls.
func (f *Frame) runs(column int, sign float64) grouping {
	g := grouping{columns: []int{column, byOrder}, of: make([]int32, f.all)}
	z := f.columns[column].numbers
	for i := range f.rows {
		if i == 0 || !(sign*z[i] > sign*z[i-1]) {
			g.groups++
		}
		g.of[i] = int32(g.groups - 1)
	}
	for i := f.rows; i < f.all; i++ { // a record that the sample has as well
		g.of[i] = -1
		for k := range f.rows {
			if !slices.ContainsFunc(f.columns, func(c Column) bool {
				return math.Float64bits(c.Values[i]) != math.Float64bits(c.Values[k])
			}) {
				g.of[i] = g.of[k]
				break
			}
		}
	}
	return g
}

// courses returns the courses along each column that differs within units.
func (f *Frame) courses() []course {
	f.coursing.Do(func() {
		places := make([]float64, f.rows)
		for i := range places {
			places[i] = float64(i)
		}
		var list []course
		for _, unit := range f.units() {
			if f.InOrder {
				list = append(list, course{unit: unit, column: byOrder, at: places})
			}
			n := 0
			for _, feature := range f.features {
				if c := feature.column; feature.whole && n < mostAlong && !slices.Contains(unit.columns, c) {
					n++
					list = append(list, course{unit: unit, column: c, at: f.columns[c].numbers})
				}
			}
		}
		differs := make([]bool, len(list))
		cores.Each(len(list), func(k int) { differs[k] = f.order(&list[k]) })
		for k, c := range list {
			if differs[k] {
				f.coursed = append(f.coursed, c)
			}
		}
	})
	return f.coursed
}

// order finds the records of a course, and reports whether enough neighbours in it differ in its column.
func (f *Frame) order(c *course) bool {
	unit := c.unit
	for i := range f.rows {
		if unit.of[i] >= 0 && c.at[i] == c.at[i] {
			c.rows = append(c.rows, int32(i))
		}
	}
	rank.Order(c.rows, c.at, nil)
	first := make([]int, unit.groups+1)
	for _, i := range c.rows {
		first[unit.of[i]+1]++
	}
	for g := range unit.groups {
		first[g+1] += first[g]
	}
	c.ends = slices.Clone(first[1:])
	sorted := make([]int32, len(c.rows))
	for _, i := range c.rows {
		at := &first[unit.of[i]]
		sorted[*at] = i
		*at++
	}
	c.rows = sorted
	differ := 0
	c.each(func(rows []int32) {
		for k := 1; k < len(rows); k++ {
			if c.at[rows[k]] != c.at[rows[k-1]] {
				differ++
			}
		}
	})
	return float64(differ) >= leastCourse/2*float64(f.rows)
}

// each visits the records of each unit, in the order of the course.
func (c *course) each(visit func(rows []int32)) {
	from := 0
	for _, to := range c.ends {
		if to > from {
			visit(c.rows[from:to])
		}
		from = to
	}
}

// line is a straight line through values.
type line struct{ from, mean, slope float64 }

func (l line) at(t float64) float64 { return l.mean + l.slope*(t-l.from) }

// through returns the line through the values of some records by where they are; ok is false if there are fewer than
// three, or all are at one place.
func (c *course) through(rows []int32, y []float64) (l line, ok bool) {
	var n, st, sy, stt, sty float64
	from := c.at[rows[0]]
	for _, i := range rows {
		if t, v := c.at[i]-from, y[i]; v == v {
			n, st, sy = n+1, st+t, sy+v
			stt, sty = stt+t*t, sty+t*v
		}
	}
	tt := stt - st*st/n
	return line{from + st/n, sy / n, (sty - st*sy/n) / tt}, n >= leastMembers && tt > 1e-9*stt
}

// beside returns, by row, the mean of the value and those of the records next to it in its unit.
func (c *course) beside(f *Frame, y []float64) []float64 {
	out := slices.Clone(y)
	c.each(func(rows []int32) {
		for k, i := range rows {
			sum, n := 0.0, 0.0
			for _, j := range rows[max(0, k-1):min(len(rows), k+2)] {
				if v := y[j]; v == v {
					sum, n = sum+v, n+1
				}
			}
			out[i] = sum / n
		}
	})
	c.complete(f, y, out)
	return out
}

// smoothed returns, by row, the line through the values of a unit's records up to so many places before and behind.
// Where there is none it is the value itself.
func (c *course) smoothed(f *Frame, y []float64, places int) []float64 {
	out := slices.Clone(y)
	c.each(func(rows []int32) {
		for k, i := range rows {
			if l, ok := c.through(rows[max(0, k-places):min(len(rows), k+places+1)], y); ok {
				out[i] = l.at(c.at[i])
			}
		}
	})
	c.complete(f, y, out)
	return out
}

// straight returns, by row, the line through the values of all records of a unit.
func (c *course) straight(f *Frame, y []float64) []float64 {
	out := slices.Clone(y)
	c.each(func(rows []int32) {
		if l, ok := c.through(rows, y); ok {
			for _, i := range rows {
				out[i] = l.at(c.at[i])
			}
		}
	})
	c.complete(f, y, out)
	return out
}

// complete gives records of no unit the mean of all values, and further rows what the record of their unit with the
// same value has.
func (c *course) complete(f *Frame, y, out []float64) {
	mean, n := 0.0, 0.0
	for _, i := range c.rows {
		if v := y[i]; v == v {
			mean, n = mean+v, n+1
		}
	}
	mean /= max(n, 1)
	has := make([]bool, f.rows)
	for _, i := range c.rows {
		has[i] = out[i] == out[i]
	}
	for i := range out {
		if i < f.rows && has[i] {
			continue
		}
		out[i] = mean
		if g := c.unit.of[i]; i >= f.rows && g >= 0 {
			from := 0
			if g > 0 {
				from = c.ends[g-1]
			}
			for _, k := range c.rows[from:c.ends[g]] {
				if has[k] && y[k] == y[i] {
					out[i] = out[k]
				}
			}
		}
	}
}

// ways are the features of a course: the line of the unit, of the values and of their logarithms, the mean of a value
// and those next to it, and lines through the nearest four and eight.
func (c *course) ways(f *Frame, y []float64) (list []func() []float64) {
	list = append(list, func() []float64 { return c.straight(f, y) }, func() []float64 { return c.beside(f, y) })
	for places := 2; places <= mostPlaces; places *= 2 {
		list = append(list, func() []float64 { return c.smoothed(f, y, places) })
	}
	if !slices.ContainsFunc(c.rows, func(i int32) bool { return y[i] <= 0 }) {
		list = append(list, func() []float64 {
			logs := slices.Clone(y)
			for i, v := range logs {
				logs[i] = math.Log(v)
			}
			out := c.straight(f, logs)
			for i, v := range out {
				out[i] = math.Exp(v)
			}
			return out
		})
	}
	return list
}

// besideOf returns beside for values by row.
func (s *sought) besideOf(y []float64) func(z []float64) float64 {
	beside := s.beside(y)
	return func(z []float64) float64 { return beside(func(row int) float64 { return z[row] }) }
}

// alongCourses returns the features of courses of values, the released ones or estimates, that tell most of x beside
// them. Of each course the line and what the neighbours have are tried, and of the best two all.
func (s *sought) alongCourses(y []float64) []feature {
	type candidate struct {
		course *course
		tells  float64
	}
	chance := beyondChance / float64(len(s.rows))
	var list []candidate
	courses, tell := s.courses(), s.besideOf(y)
	for k := range courses {
		if c := &courses[k]; (c.column != s.own || s.own < 0) && !slices.Contains(c.unit.columns, s.own) {
			list = append(list, candidate{course: c})
		}
	}
	cores.Each(len(list), func(k int) {
		c := list[k].course
		list[k].tells = max(tell(c.straight(s.Frame, y)), tell(c.beside(s.Frame, y)))
	})
	list = slices.DeleteFunc(list, func(c candidate) bool { return !(c.tells >= chance) })
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.tells, a.tells) })
	var features []feature
	for _, best := range list[:min(len(list), bestCourses)] {
		from := append(slices.Clone(best.course.unit.columns), best.course.column)
		ways := best.course.ways(s.Frame, y)
		values := make([][]float64, len(ways))
		cores.Each(len(ways), func(k int) { values[k] = ways[k]() })
		for _, v := range values {
			features = append(features, feature{column: from[0], from: from, values: v, others: true})
		}
	}
	return features
}

// inARow returns what the records next to one another tell where no column says which are of one unit: by row, the
// line through those of the nearest eight whose released values are near its own, within a distance or a share of
// it. It must tell more than what is made in the same way of records that stand anywhere: values near an own one
// tell by themselves where the distribution is not normal.
func (s *sought) inARow() (features []feature) {
	if !s.InOrder {
		return nil
	}
	file := course{unit: &grouping{of: make([]int32, s.all), groups: 1}, at: make([]float64, s.Frame.rows)}
	for i := range file.at {
		file.at[i] = float64(i)
		file.rows = append(file.rows, int32(i))
	}
	file.ends = []int{len(file.rows)}
	anywhere := make([]course, orders)
	rng := rand.New(rand.NewPCG(uint64(len(file.rows)), 1))
	for k := range anywhere {
		anywhere[k] = file
		anywhere[k].rows, anywhere[k].at = slices.Clone(file.rows), make([]float64, len(file.at))
		rng.Shuffle(len(file.rows), func(i, j int) {
			rows := anywhere[k].rows
			rows[i], rows[j] = rows[j], rows[i]
		})
		for at, i := range anywhere[k].rows {
			anywhere[k].at[i] = float64(at)
		}
	}
	tell := s.besideOf(s.y)
	constant, share := apartAlike*math.Sqrt(s.index), apartAlike*s.relative()
	for _, apart := range []func(v float64) float64{
		func(float64) float64 { return constant }, func(v float64) float64 { return share * math.Abs(v) },
	} {
		out := s.nearInARow(&file, apart)
		told := tell(out)
		if told < beyondChance/float64(len(s.rows)) {
			continue
		}
		if !slices.ContainsFunc(anywhere, func(c course) bool {
			return told < beyondChance/float64(len(s.rows))+anywhereTells*tell(s.nearInARow(&c, apart))
		}) {
			features = append(features, feature{column: byOrder, from: []int{byOrder}, values: out, others: true})
		}
	}
	return features
}

// nearInARow returns by row the line through the values next to it in an order that are near its own.
func (s *sought) nearInARow(c *course, apart func(v float64) float64) []float64 {
	out := slices.Clone(s.y)
	var near []int32
	for k, i := range c.rows {
		v := s.y[i]
		most := apart(v)
		near = near[:0]
		for _, j := range c.rows[max(0, k-mostPlaces):min(len(c.rows), k+mostPlaces+1)] {
			if math.Abs(s.y[j]-v) <= most {
				near = append(near, j)
			}
		}
		if len(near) < leastMembers {
			continue
		}
		if l, ok := c.through(near, s.y); ok {
			out[i] = l.at(c.at[i])
		}
	}
	c.complete(s.Frame, s.y, out)
	return out
}
