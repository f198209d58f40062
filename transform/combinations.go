package transform

import "github.com/sdlfilter/sdlfilter/microdata"

// combinations numbers the combinations of values that the records of a block have in some
// columns, so that a property of a combination is computed once for all of its records.
type combinations struct {
	of    []int32 // by record: its combination, from 0
	first []int32 // by combination: the first record that has it, −1 where none has it

	columns []coder
	pairs   []wordTable
	codes   []int32
}

// find numbers the combinations of columns, given as indexes in Block.Columns. Without columns
// all records have the same combination. It returns an error if the values of a column cannot be
// compared.
func (c *combinations) find(b *microdata.Block, columns []int) error {
	c.reset(b.N, len(columns))
	for k, index := range columns {
		dst := c.codes
		if k == 0 {
			dst = c.of
		}
		if err := c.columns[k].code(dst, &b.Columns[index], 0); err != nil {
			return err
		}
		if k == 0 {
			continue
		}
		pairs := &c.pairs[k]
		for i, code := range c.codes {
			c.of[i] = pairs.code(uint64(uint32(c.of[i]))<<32 | uint64(uint32(code)))
		}
	}
	for i, k := range c.of {
		for int(k) >= len(c.first) {
			c.first = append(c.first, -1)
		}
		if c.first[k] < 0 {
			c.first[k] = int32(i)
		}
	}
	return nil
}

// reset makes room for n records and forgets what was found.
func (c *combinations) reset(n, columns int) {
	if cap(c.of) < n {
		c.of, c.codes = make([]int32, n), make([]int32, n)
	}
	c.of, c.codes, c.first = c.of[:n], c.codes[:n], c.first[:0]
	clear(c.of)
	if len(c.columns) < columns {
		c.columns, c.pairs = make([]coder, columns), make([]wordTable, columns)
	}
	for k := range c.columns {
		c.columns[k].reset()
		c.pairs[k].reset()
	}
}
