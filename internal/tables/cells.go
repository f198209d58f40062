package tables

// Contribution is the contribution of one contributor to a cell: Value in the units of
// the table, and the sampling weight Weight, the number of contributors of the
// population that it represents. Who is the identity of the contributor, 0 if cells keep none.
type Contribution struct {
	Value, Weight float64
	Who           uint64
}

// Cells is the content of a set: arrays with one element per cell. Values are whole
// numbers of units of 10^-Decimals, so that sums are exact.
type Cells struct {
	Set      *Set
	Decimals int
	Counts   bool // the value is the number of contributors itself
	Absolute bool // the largest contributions are absolute values, and rules use Gross

	Value        []float64 // weighted total
	Gross        []float64 // weighted total of absolute contributions; the slice Value itself if none is negative
	Contributors []int64   // respondents or holdings, unweighted
	Negative     []int64   // number of contributions below 0; nil if there are none
	Requested    []float64 // the largest contribution of a respondent who requested protection; nil if none did

	Keys []uint64 // sum of the keys of the records, modulo 2⁶⁴; nil if records have no keys

	Sampled [][]int64 // for each drawn sample, its number of records by cell; nil if there are no samples

	Most    int            // number of largest contributions that are kept
	largest []Contribution // Most per cell, descending by value; weight 0 for an unused entry

	identities int      // number of identities that are kept per cell; see Identify
	who        []uint64 // identities per cell, of its first contributors
}

// NewCells returns cells with value 0 and without contributors, which keep the given
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

// Keep inserts a contribution into the largest ones of a cell if it belongs to them.
func (c *Cells) Keep(cell int, x Contribution) {
	Keep(c.largest[cell*c.Most:(cell+1)*c.Most], x)
}

// Keep inserts x into a descending list of the largest contributions if it belongs to
// them. Entries with weight 0 are unused.
func Keep(largest []Contribution, x Contribution) {
	for i := range largest {
		l := largest[i]
		if l.Weight == 0 || x.Value > l.Value || x.Value == l.Value &&
			(x.Weight > l.Weight || x.Weight == l.Weight && x.Who > l.Who) {
			largest[i], x = x, l
			if x.Weight == 0 {
				return
			}
		}
	}
}

// Slots returns the k largest contributions of the population: a contribution of weight
// 2.5 fills two slots and half of a third one, whose value is the sum of its parts.
// Unused slots are 0. tau-Argus and the R packages apply dominance rules to samples in
// this way: a unit represents as many units of its kind as its weight says.
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

// Status says whether a cell is published and, if not, why.
type Status uint8

// The statuses; a later one takes precedence over an earlier one.
const (
	Free      Status = iota // published
	Empty                   // no contributor: published as empty
	Secondary               // suppressed so that other cells cannot be computed
	Primary                 // not safe to publish
)

func (s Status) String() string {
	return [...]string{"free", "empty", "secondary", "primary"}[s]
}
