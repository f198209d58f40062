package microdata

// Fate is what becomes of a record that was read, in the words of metrics and pages.
type Fate string

// The fates.
const (
	Released    Fate = "released"
	Quarantined Fate = "quarantined"
	LeftOut     Fate = "left_out" // not drawn by the sample, or without a record of another table
	Held        Fate = "held"     // masked, and kept in the restricted topic until the rules hold again
)

// Counts are numbers of records by what became of them. Each record that was read has one fate: it is
// released, in quarantine, left out (by a sample, or with records of another table), or held back by the gate of a
// stream.
type Counts struct {
	Read        int64 `json:"read"`
	Released    int64 `json:"released"`
	Quarantined int64 `json:"quarantined"`
	LeftOut     int64 `json:"left_out,omitempty" doc:"number of records that the sample mask did not draw, or that leave a project with records of other tables; absent if there are none"`
	Held        int64 `json:"held,omitempty"` // masked records of a stream that went to the restricted topic
}

// Counts returns the fates of the block's records, of which no gate has judged.
func (b *Block) Counts() Counts {
	return Counts{Read: int64(b.N), Released: int64(b.Kept()), Quarantined: int64(len(b.Rejects)),
		LeftOut: int64(b.leftOut)}
}

// Plus returns the sum of two disjoint sets of records.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.Read + o.Read, c.Released + o.Released, c.Quarantined + o.Quarantined, c.LeftOut + o.LeftOut,
		c.Held + o.Held}
}

// Minus returns the records of c without those of o, which are among them.
func (c Counts) Minus(o Counts) Counts {
	return Counts{c.Read - o.Read, c.Released - o.Released, c.Quarantined - o.Quarantined, c.LeftOut - o.LeftOut,
		c.Held - o.Held}
}

// ByFate returns how many records have each fate.
func (c Counts) ByFate() map[Fate]int64 {
	return map[Fate]int64{Released: c.Released, Quarantined: c.Quarantined, LeftOut: c.LeftOut, Held: c.Held}
}

// HeldBack returns the counts after a gate has held back what was to be released.
func (c Counts) HeldBack() Counts {
	c.Released, c.Held = 0, c.Held+c.Released
	return c
}

// Valid reports whether each record that was read has one fate.
func (c Counts) Valid() bool {
	sum := int64(0)
	for _, n := range c.ByFate() {
		if n < 0 {
			return false
		}
		sum += n
	}
	return c.Read == sum
}
