package coding

import "github.com/sdlfilter/sdlfilter/microdata"

// Combinations numbers the combinations of values that the records of a block have in some
// columns, so that a property of a combination is computed once for all of its records.
type Combinations struct {
	Of    []int32 // by record: its combination, from 0
	First []int32 // by combination: the first record that has it, −1 where none has it

	columns []Coder
	pairs   []wordTable
	codes   []int32
}

// Find numbers the combinations of columns, given as indexes in Block.Columns. Without columns
// all records have the same combination. It returns an error if the values of a column cannot be
// compared.
func (c *Combinations) Find(b *microdata.Block, columns []int) error {
	c.reset(b.N, len(columns))
	for k, index := range columns {
		dst := c.codes
		if k == 0 {
			dst = c.Of
		}
		if err := c.columns[k].Code(dst, &b.Columns[index], 0); err != nil {
			return err
		}
		if k == 0 {
			continue
		}
		pairs := &c.pairs[k]
		for i, code := range c.codes {
			c.Of[i] = pairs.code(uint64(uint32(c.Of[i]))<<32 | uint64(uint32(code)))
		}
	}
	for i, k := range c.Of {
		for int(k) >= len(c.First) {
			c.First = append(c.First, -1)
		}
		if c.First[k] < 0 {
			c.First[k] = int32(i)
		}
	}
	return nil
}

// reset makes room for n records and forgets what was found.
func (c *Combinations) reset(n, columns int) {
	if cap(c.Of) < n {
		c.Of, c.codes = make([]int32, n), make([]int32, n)
	}
	c.Of, c.codes, c.First = c.Of[:n], c.codes[:n], c.First[:0]
	clear(c.Of)
	if len(c.columns) < columns {
		c.columns, c.pairs = make([]Coder, columns), make([]wordTable, columns)
	}
	for k := range c.columns {
		c.columns[k].reset()
		c.pairs[k].reset()
	}
}
