package tables

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
)

// Given is a finished cell, as another tool or office tabulated it.
type Given struct {
	Cell    int
	Value   float64   // in the unit of the table; that of a count is Count
	Count   float64   // number of contributors
	Largest []float64 // the largest contributions, descending; NaN for none
	Who     []string  // names of the contributors in the order of Largest, or of a count in any order; "" for none
}

// GivenOptions say what is given of cells.
type GivenOptions struct {
	Decimals   int
	Counts     bool // the value is the number of contributors
	Largest    int  // how many of the largest contributions are given, at least as many as Identities; of counts none
	Named      bool // contributors have names
	Most       int  // of counts: how many contributions are kept
	Identities int  // how many contributors' identities are kept
}

// FromGiven makes cells of finished ones. A cell that is not given has no contributor. It returns a problem for each
// cell that contradicts itself, and for each total that contradicts its parts. They name cells, and have no values.
//
// Contributors without names are recognised in several cells only where sums show it: a total of one contributor has
// him in its parts, and a contribution that is in a total and in one part of it alone, and that nobody else can have,
// is of one contributor.
func FromGiven(set *Set, o GivenOptions, list []Given) (*Cells, check.Problems) {
	if o.Counts {
		o.Largest = o.Most
	}
	g := &given{set: set, GivenOptions: o, cells: NewCells(set, o.Decimals, o.Largest), names: map[int][]string{},
		seen: map[int]Given{}, entry: make([]int, set.Cells()+1)}
	g.cells.Counts = o.Counts
	for _, cell := range list {
		g.enter(cell)
	}
	for i := range set.Sums() {
		g.sum(set.Sum(i))
	}
	if len(g.problems) > 0 {
		return nil, g.problems
	}
	g.identify()
	return g.cells, nil
}

// given is what is known of finished cells while they are read.
type given struct {
	GivenOptions
	set      *Set
	cells    *Cells
	seen     map[int]Given
	names    map[int][]string
	rounded  bool // some value or contribution is not a whole number of units
	problems check.Problems

	entry  []int // of a cell: the number of its first contributor; each contributor of a cell that is kept has one
	leader []int // of a contributor of a cell: one that is the same, or itself
}

func (g *given) wrong(cell int, format string, args ...any) {
	g.problems.Addf(g.set.Name(cell), format, args...)
}

// same reports whether two rows say the same of a cell.
func (c Given) same(o Given) bool {
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return equal(c.Value, o.Value) && equal(c.Count, o.Count) && slices.EqualFunc(c.Largest, o.Largest, equal) &&
		slices.Equal(c.Who, o.Who)
}

// enter checks a cell by itself, and keeps it.
func (g *given) enter(c Given) {
	if before, again := g.seen[c.Cell]; again { // as in two tables that share it
		if !before.same(c) {
			g.wrong(c.Cell, "is there twice, and not the same")
		}
		return
	}
	g.seen[c.Cell] = c
	if g.Counts {
		c.Value = c.Count
	}
	units := g.units(c.Value)
	switch {
	case !(c.Count >= 0) || c.Count != math.Trunc(c.Count) || c.Count > 1<<53:
		g.wrong(c.Cell, "must have a whole number of contributors")
		return
	case math.IsNaN(c.Value):
		g.wrong(c.Cell, "must have a value")
		return
	case c.Value < 0:
		g.wrong(c.Cell, "must not have a negative value: of negative contributions the largest ones alone do not tell enough")
		return
	case units > 1<<53:
		g.wrong(c.Cell, "has a value that is too large for its decimals")
		return
	case c.Count == 0 && units != 0:
		g.wrong(c.Cell, "has a value, and no contributor")
		return
	}
	n := int64(c.Count)
	g.cells.Value[c.Cell], g.cells.Contributors[c.Cell] = units, n
	k := int(min(n, int64(g.Largest)))
	if !g.Counts && !g.largest(c, units, k) {
		return
	}
	for i := range k {
		x := 1.0
		if !g.Counts {
			x = g.units(c.Largest[i])
		}
		g.cells.largest[c.Cell*g.Largest+i] = Contribution{Value: x, Weight: 1}
	}
	g.name(c, k)
}

// units returns a contribution in units.
func (g *given) units(x float64) float64 {
	exact := x * math.Pow10(g.Decimals)
	units := math.Round(exact)
	g.rounded = g.rounded || math.Abs(exact-units) > 1e-6
	return units
}

// largest checks the k largest contributions of a cell against its value and its number of contributors.
func (g *given) largest(c Given, value float64, k int) bool {
	sum := 0.0
	for i, x := range c.Largest {
		switch {
		case i >= k && !(x == 0 || math.IsNaN(x)):
			g.wrong(c.Cell, "has more contributions than contributors")
		case i >= k:
			continue
		case math.IsNaN(x):
			g.wrong(c.Cell, "must have its %d largest contributions", k)
		case x < 0:
			g.wrong(c.Cell, "must not have a negative contribution")
		case i > 0 && x > c.Largest[i-1]:
			g.wrong(c.Cell, "must have its largest contributions in descending order")
		default:
			sum += g.units(x)
			continue
		}
		return false
	}
	others := float64(int64(c.Count) - int64(k))
	last := 0.0
	if k > 0 {
		last = g.units(c.Largest[k-1])
	}
	slack := g.slack(k + 1)
	switch {
	case sum > value+slack:
		g.wrong(c.Cell, "has largest contributions that are more than its value")
	case others == 0 && sum < value-slack:
		g.wrong(c.Cell, "has contributions that are not its value, and no other contributor")
	case k > 0 && value-sum > others*last+slack*(1+others):
		g.wrong(c.Cell, "has other contributors who would have to contribute more than its largest ones")
	default:
		return true
	}
	return false
}

// slack is how much sums of n numbers can differ where numbers are rounded.
func (g *given) slack(n int) float64 {
	if g.rounded {
		return float64(n) / 2
	}
	return 0
}

// name checks and keeps the names of the contributors of a cell.
func (g *given) name(c Given, k int) {
	if !g.Named {
		return
	}
	names := c.Who[:min(len(c.Who), k)]
	if g.Counts {
		names = c.Who[:min(int64(len(c.Who)), int64(c.Count))]
		if c.Count > float64(len(c.Who)) {
			return // they are too many to be named
		}
	}
	for i, name := range names {
		switch {
		case name == "":
			g.wrong(c.Cell, "must have the names of its %d largest contributors", len(names))
			return
		case slices.Contains(names[:i], name):
			g.wrong(c.Cell, "must not name a contributor twice")
			return
		}
	}
	g.names[c.Cell] = names
}

// sum checks a total against its parts.
func (g *given) sum(s Sum) {
	total := int(s.Total)
	var value, most, first float64
	var n, largest int64
	var all []float64
	for _, p := range s.Parts {
		value += g.cells.Value[p]
		n += g.cells.Contributors[p]
		largest = max(largest, g.cells.Contributors[p])
		for i, x := range g.cells.Largest(int(p)) {
			all = append(all, x.Value)
			if i == 0 {
				first += x.Value
				most = max(most, x.Value)
			}
		}
	}
	from := g.set.Name(int(s.Parts[0]))
	own := g.cells.Largest(total)
	switch have := g.cells.Contributors[total]; {
	case value != g.cells.Value[total]:
		g.wrong(total, "is not the sum of its parts from %s on", from)
	case have > n || have < largest:
		g.wrong(total, "has more contributors than its parts from %s on have, or fewer than one of them", from)
	case g.Counts:
	case len(own) > 0 && (own[0].Value < most || own[0].Value > first+g.slack(len(s.Parts)+1)):
		g.wrong(total, "has a largest contribution that those of its parts from %s on contradict", from)
	case have == n:
		slices.Sort(all)
		slices.Reverse(all)
		for i, x := range own {
			if i >= len(all) || all[i] != x.Value {
				g.wrong(total, "has other largest contributions than its parts from %s on", from)
				break
			}
		}
	}
	if g.Named && g.cells.Contributors[total] == 1 {
		for _, p := range s.Parts {
			if name := g.names[int(p)]; g.cells.Contributors[p] == 1 && len(name) > 0 && len(g.names[total]) > 0 &&
				name[0] != g.names[total][0] {
				g.wrong(total, "has another contributor than its part %s", g.set.Name(int(p)))
			}
		}
	}
}

// identify gives contributors identities: those of their names or, without names, the same to those that sums show to
// be the same.
func (g *given) identify() {
	kept := max(g.Largest, g.Identities)
	for cell, n := range g.cells.Contributors {
		g.entry[cell+1] = g.entry[cell] + int(min(n, int64(kept)))
	}
	g.leader = make([]int, g.entry[g.set.Cells()])
	for i := range g.leader {
		g.leader[i] = i
	}
	if !g.Named {
		for i := range g.set.Sums() {
			g.recognise(g.set.Sum(i))
		}
	}
	g.cells.Identify(g.Identities)
	for cell := range g.cells.Contributors {
		who := make([]uint64, g.entry[cell+1]-g.entry[cell])
		for i := range who {
			if names := g.names[cell]; i < len(names) {
				who[i] = IdentityOf(names[i])
			} else {
				who[i] = uint64(g.first(g.entry[cell]+i)) + 1
			}
		}
		for i := range g.cells.Largest(cell) {
			g.cells.largest[cell*g.Largest+i].Who = who[i]
		}
		n := g.cells.Contributors[cell]
		g.cells.Contributors[cell] = 0
		g.cells.Contribute(cell, n, who)
	}
}

// recognise finds contributors of a total among those of its parts.
func (g *given) recognise(s Sum) {
	total := int(s.Total)
	if g.cells.Contributors[total] == 1 {
		for _, p := range s.Parts {
			if g.cells.Contributors[p] == 1 {
				g.unite(g.entry[total], g.entry[p])
			}
		}
		return
	}
	n, hidden := int64(0), g.hidden(total)
	found := map[float64][]int{} // the contributors with a contribution
	for _, p := range s.Parts {
		n += g.cells.Contributors[p]
		hidden = max(hidden, g.hidden(int(p)))
		for i, x := range g.cells.Largest(int(p)) {
			found[x.Value] = append(found[x.Value], g.entry[p]+i)
		}
	}
	if n != g.cells.Contributors[total] { // contributors of several parts
		return
	}
	own := g.cells.Largest(total)
	for i, x := range own {
		alone := (i == 0 || own[i-1].Value != x.Value) && (i+1 == len(own) || own[i+1].Value != x.Value)
		if same := found[x.Value]; alone && len(same) == 1 && x.Value > hidden {
			g.unite(g.entry[total]+i, same[0])
		}
	}
}

// hidden returns the most that a contributor of a cell who is not among its largest ones can contribute; -1 if there is
// none.
func (g *given) hidden(cell int) float64 {
	l := g.cells.Largest(cell)
	if len(l) == 0 || int64(len(l)) == g.cells.Contributors[cell] {
		return -1
	}
	return l[len(l)-1].Value
}

func (g *given) first(i int) int {
	for g.leader[i] != i {
		g.leader[i] = g.leader[g.leader[i]]
		i = g.leader[i]
	}
	return i
}

func (g *given) unite(i, k int) {
	i, k = g.first(i), g.first(k)
	g.leader[max(i, k)] = min(i, k)
}

// IdentityOf returns the identity of a contributor of a name, the same in all tabulations. Of a million names, two
// have the same identity with probability 3e-8.
func IdentityOf(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}
