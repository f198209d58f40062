package tabulate

import (
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Columns says which columns of a block hold what: the codes of every variable,
// in the order of Accumulator.Variables, and what else the options need. A column
// that is not needed is negative. Value and Weight must be held as numbers.
type Columns struct {
	Variables              []int
	Value, Weight, Holding int
	Request                int // who has asked for protection: true, yes, y, 1 or t

	// Digests and Key give the keys of the records of a block, where the options ask for
	// them: a digest of what identifies each, the zero one where nothing does, and its key.
	Digests func(*microdata.Block) []microdata.Digest
	Key     func(microdata.Digest) uint64
	Draw    func(microdata.Digest) uint64 // the draw of a record, where samples are asked for
}

// AddBlock tabulates what a block releases: the released form of each column, and
// no record that was rejected.
func (a *Accumulator) AddBlock(b *microdata.Block, c Columns) error {
	keep := make([]int, 0, b.N)
	for i := range b.N {
		if !b.Rejected(i) {
			keep = append(keep, i)
		}
	}
	r := Records{Codes: make([][]int32, len(c.Variables))}
	for v, column := range c.Variables {
		r.Codes[v] = codes(&b.Columns[column], a.variables[v], keep)
	}
	if !a.options.Counts {
		r.Values = numbers(b.Columns[c.Value].Out(), keep)
	}
	if c.Weight >= 0 {
		r.Weights = numbers(b.Columns[c.Weight].Out(), keep)
	}
	if a.options.Holdings {
		r.Holding = make([]string, len(keep))
		text := Texts(&b.Columns[c.Holding])
		for i, row := range keep {
			r.Holding[i], _ = text(row)
		}
	}
	if c.Request >= 0 {
		r.Request = make([]bool, len(keep))
		text := Texts(&b.Columns[c.Request])
		for i, row := range keep {
			s, _ := text(row)
			r.Request[i] = asks(s)
		}
	}
	if a.options.Keys {
		digests := c.Digests(b)
		r.Keys, r.Unknown = make([]uint64, len(keep)), make([]bool, len(keep))
		for i, row := range keep {
			if r.Unknown[i] = digests[row] == (microdata.Digest{}); !r.Unknown[i] {
				r.Keys[i] = c.Key(digests[row])
			}
		}
		if a.options.Samples != nil {
			r.Draws = make([]uint64, len(keep))
			for i, row := range keep {
				r.Draws[i] = c.Draw(digests[row])
			}
		}
	}
	return a.Add(r)
}

func asks(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "y", "t", "1":
		return true
	}
	return false
}

func numbers(v microdata.Vector, keep []int) []float64 {
	out := make([]float64, len(keep))
	for i, row := range keep {
		if out[i] = v.Values[row]; !v.Valid.Has(row) {
			out[i] = math.NaN()
		}
	}
	return out
}

// codes looks up the leaf of each record; a code that is a total is none.
func codes(c *microdata.Column, d *tables.Dimension, keep []int) []int32 {
	words := WordsOf(c)
	leaf := make([]int32, len(words.Texts))
	for k, s := range words.Texts {
		leaf[k] = -1
		if n, known := d.Node(s); known && d.IsLeaf(n) {
			leaf[k] = int32(n)
		}
	}
	out := make([]int32, len(keep))
	for i, row := range keep {
		if out[i] = -1; words.Places[row] >= 0 {
			out[i] = leaf[words.Places[row]]
		}
	}
	return out
}
