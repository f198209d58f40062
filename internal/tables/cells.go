package tables

// Contribution is what one contributor adds to a cell: Value in the units of the
// table, as of Weight contributors of the population.
type Contribution struct{ Value, Weight float64 }

// Cells is the content of a set: arrays with one element a cell. Values are whole
// numbers of units of 10^-Decimals, so that sums hold exactly.
type Cells struct {
	Set      *Set
	Decimals int
	Counts   bool // the value is the number of contributors itself
	Absolute bool // the largest contributions are without their signs, and rules look at Gross

	Value        []float64 // weighted total
	Gross        []float64 // weighted total of absolute contributions; Value itself where none is negative
	Contributors []int64   // respondents or holdings, unweighted
	Negative     []int64   // how many contributions below 0; nil for none
	Requested    []float64 // the largest contribution of who has asked for protection; nil where nobody has

	Keys []uint64 // sum of the keys of the records, modulo 2⁶⁴; nil where they have none

	Sampled [][]int64 // of each sample that was drawn, how many of the records; nil for none

	Most    int            // how many of the largest contributions are kept
	largest []Contribution // Most a cell, descending by value; weight 0 where there is none
}

// NewCells returns cells of value 0 without contributors that keep the given
// number of largest contributions.
func NewCells(set *Set, decimals, most int) *Cells {
	n := set.Cells()
	c := &Cells{
		Set: set, Decimals: decimals, Value: make([]float64, n), Contributors: make([]int64, n),
		Most: most, largest: make([]Contribution, n*most),
	}
	c.Gross = c.Value
	return c
}

// Largest returns the largest contributions of a cell, descending; at most Most.
func (c *Cells) Largest(cell int) []Contribution {
	l := c.largest[cell*c.Most : (cell+1)*c.Most]
	for i := range l {
		if l[i].Weight == 0 {
			return l[:i]
		}
	}
	return l
}

// Keep enters a contribution among the largest of a cell where it belongs there.
func (c *Cells) Keep(cell int, x Contribution) {
	Keep(c.largest[cell*c.Most:(cell+1)*c.Most], x)
}

// Keep enters x into a list of the largest contributions, descending, where it
// belongs there; weight 0 marks what is not yet filled.
func Keep(largest []Contribution, x Contribution) {
	for i := range largest {
		l := largest[i]
		if l.Weight == 0 || x.Value > l.Value || x.Value == l.Value && x.Weight > l.Weight {
			largest[i], x = x, l
			if x.Weight == 0 {
				return
			}
		}
	}
}

// Slots returns the k largest contributions of the population: one of weight 2.5
// fills two slots and half of a third (Value is then the sum of both parts).
// Slots that nobody fills are 0. It is how tau-Argus and the R packages apply
// dominance rules to samples: a unit stands for as many of its kind.
func (c *Cells) Slots(cell, k int) []float64 {
	slots := make([]float64, k)
	i, room := 0, 1.0
	for _, x := range c.Largest(cell) {
		for w := x.Weight; w > 1e-12 && i < k; {
			part := min(w, room)
			slots[i] += part * x.Value
			w -= part
			if room -= part; room < 1e-12 {
				i, room = i+1, 1
			}
		}
	}
	return slots
}

// SoleContributors numbers the respondents who are alone in a cell, and so know it: for
// each cell her number, -1 where there is none. Who is alone in a total is alone in
// the part that is not empty: cells of one respondent have one number, that of the
// first of them.
func SoleContributors(c *Cells) []int32 {
	knower := make([]int32, c.Set.Cells())
	for cell := range knower {
		if knower[cell] = -1; c.Contributors[cell] == 1 {
			knower[cell] = int32(cell)
		}
	}
	find := func(cell int32) int32 {
		for knower[cell] != cell {
			knower[cell] = knower[knower[cell]]
			cell = knower[cell]
		}
		return cell
	}
	for i := range c.Set.Sums() {
		s := c.Set.Sum(i)
		if c.Contributors[s.Total] != 1 {
			continue
		}
		for _, p := range s.Parts {
			if c.Contributors[p] == 1 {
				a, b := find(s.Total), find(p)
				knower[max(a, b)] = min(a, b)
			}
		}
	}
	for cell := range knower {
		if knower[cell] >= 0 {
			knower[cell] = find(int32(cell))
		}
	}
	return knower
}

// Status says what becomes of a cell.
type Status uint8

// The statuses, in the order in which they outweigh each other.
const (
	Free      Status = iota // published
	Empty                   // no contributor: published as such
	Secondary               // held back so that others cannot be computed
	Primary                 // may not be published by itself
)

func (s Status) String() string {
	return [...]string{"free", "empty", "secondary", "primary"}[s]
}
