package tabulate

import (
	"hash/fnv"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Columns holds indices of columns of a block: those with the codes of the variables,
// in the order of Accumulator.Variables, and the others that the options need. The
// index of a column that is not needed is negative. The columns Value and Weight must
// be numeric.
type Columns struct {
	Variables              []int
	Value, Weight, Holding int
	Request                int // column of respondents who requested protection: true, yes, y, 1 or t

	// Digests and Key compute the keys of the records of a block, if the options require
	// keys: Digests the digest of each record's identity, zero if it has none, and Key the
	// key of a digest.
	Digests func(*microdata.Block) []microdata.Digest
	Key     func(microdata.Digest) uint64
	Draw    func(microdata.Digest) uint64 // the draw of a record, if the options require samples

	// Who computes the identity of each of the given rows, the same in all sources. nil: its place in the source.
	Who func(b *microdata.Block, rows []int) []uint64
}

// AddBlock tabulates the released form of the columns of a block, without the rejected
// records. Its errors are those of Add.
func (a *Accumulator) AddBlock(b *microdata.Block, c Columns) error {
	return a.AddRows(b, c, Kept(b))
}

// Kept returns the rows of a block that are not rejected.
func Kept(b *microdata.Block) []int {
	keep := make([]int, 0, b.N)
	for i := range b.N {
		if !b.Rejected(i) {
			keep = append(keep, i)
		}
	}
	return keep
}

// AddRows is AddBlock for some rows, none of which is rejected.
func (a *Accumulator) AddRows(b *microdata.Block, c Columns, keep []int) error {
	r := Records{Codes: make([][]int32, len(c.Variables))}
	for v, column := range c.Variables {
		r.Codes[v] = codes(&b.Columns[column], a.variables[v], keep)
	}
	if !a.options.Counts {
		at := &b.Columns[c.Value]
		if r.Values = numbers(at.Out(), keep); len(at.Coded.Rows) > 0 {
			r.Absent = make([]bool, len(keep))
			for i, row := range keep {
				r.Absent[i] = at.Coded.Has(row)
			}
		}
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
	if a.options.Identities > 0 && !a.options.Holdings {
		who := PlacesOf
		if c.Who != nil {
			who = c.Who
		}
		r.Who = who(b, keep)
	}
	if c.Request >= 0 {
		r.Request = make([]bool, len(keep))
		text := Texts(&b.Columns[c.Request])
		for i, row := range keep {
			s, _ := text(row)
			r.Request[i] = isYes(s)
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

// PlacesOf returns the place of each row in its source as its identity.
func PlacesOf(b *microdata.Block, keep []int) []uint64 {
	scope := fnv.New64a() // a topic
	scope.Write([]byte(b.Scope))
	stream := scope.Sum64() ^ uint64(b.Stream)<<48
	who := make([]uint64, len(keep))
	for i, row := range keep {
		who[i] = stream ^ uint64(b.Place(row))
	}
	return who
}

func isYes(s string) bool {
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

// codes returns the leaf of each record; -1 if the code is unknown or that of a total.
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
