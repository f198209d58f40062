package tabulate

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Cells returns the cells of the set, each the sum over its leaves.
func (a *Accumulator) Cells() (*tables.Cells, error) {
	c := tables.NewCells(a.set, a.options.Decimals, a.options.Most)
	c.Counts, c.Absolute = a.options.Counts, a.options.Absolute
	c.Identify(a.options.Identities)
	if a.options.Keys {
		c.Keys = make([]uint64, a.set.Cells())
	}
	if a.options.Samples != nil {
		c.Sampled = make([][]int64, len(a.options.Samples.OneIn))
		for k := range c.Sampled {
			c.Sampled[k] = make([]int64, a.set.Cells())
		}
	}
	w, s := newWalk(a), newSums(a.set.Cells())
	for i, e := range a.entries {
		if e.overflow {
			return nil, ErrTooLarge
		}
		most := a.options.Most
		largest := a.largest[i*most : (i+1)*most]
		w.above(e.key, func(cell int32) {
			s.units[cell] += e.units
			s.gross[cell] += e.gross
			s.negative[cell] += e.negative
			s.requested[cell] = max(s.requested[cell], e.requested)
			if c.Keys != nil {
				c.Keys[cell] += e.keys
			}
			for k, sampled := range c.Sampled {
				sampled[cell] += a.sampled[i*len(c.Sampled)+k]
			}
			if a.options.Holdings {
				return
			}
			c.Contribute(int(cell), e.records, e.known())
			for _, x := range largest {
				if x.Weight > 0 {
					c.Keep(int(cell), x)
				}
			}
		})
		if s.gross[w.grand] > largestUnits || s.gross[w.grand] < 0 {
			return nil, ErrTooLarge
		}
	}
	if a.options.Holdings {
		a.byHolding(c, w, s.negative, s.requested)
	}
	s.into(c)
	return c, nil
}

// Onto returns the cells of another set of the same variables, which have no identities of contributors.
func (a *Accumulator) Onto(set *tables.Set) (*tables.Cells, error) {
	b := *a
	b.set = set
	b.options.Identities, b.options.Keys, b.options.Samples = 0, false, nil
	return b.Cells()
}

// sums holds sums by cell, in whole units.
type sums struct {
	units, gross []int64 // values, and their absolute values
	negative     []int64 // number of contributions below 0
	requested    []int64 // 1 + the greatest contribution for which protection was requested; 0: none
}

func newSums(cells int) *sums {
	return &sums{make([]int64, cells), make([]int64, cells), make([]int64, cells), make([]int64, cells)}
}

// into writes the sums to cells; arrays that would be 0 in all cells remain nil.
func (s *sums) into(c *tables.Cells) {
	anyNegative, anyRequested := false, false
	for i := range s.units {
		c.Value[i] = float64(s.units[i])
		anyNegative = anyNegative || s.negative[i] > 0
		anyRequested = anyRequested || s.requested[i] > 0
	}
	if anyRequested {
		c.Requested = make([]float64, len(s.requested))
		for i, r := range s.requested {
			c.Requested[i] = float64(max(r-1, 0))
		}
	}
	if anyNegative {
		c.Negative = s.negative
		c.Gross = make([]float64, len(s.gross))
		for i := range s.gross {
			c.Gross[i] = float64(s.gross[i])
		}
	}
}

// byHolding counts each holding once in every cell, with the sum of its contributions
// there.
func (a *Accumulator) byHolding(c *tables.Cells, w *walk, negative, requested []int64) {
	type line struct {
		share
		total
	}
	clear(negative)
	lines := make([]line, 0, len(a.shares))
	for s, t := range a.shares {
		lines = append(lines, line{s, t})
	}
	slices.SortFunc(lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(x.holder, y.holder), cmp.Compare(x.key, y.key))
	})
	own := map[int32]int64{}
	isRequested := false
	for i, l := range lines {
		w.above(l.key, func(cell int32) { own[cell] += l.units })
		isRequested = isRequested || l.requested
		if i+1 < len(lines) && lines[i+1].holder == l.holder {
			continue
		}
		who := []uint64{tables.IdentityOf(a.holders[l.holder])}
		for cell, v := range own {
			x := float64(v)
			if v < 0 {
				negative[cell]++
			}
			if a.options.Absolute {
				x = math.Abs(x)
			}
			if isRequested {
				requested[cell] = max(requested[cell], 1+max(v, -v))
			}
			c.Contribute(int(cell), 1, who)
			c.Keep(int(cell), tables.Contribution{Value: x, Weight: 1, Who: who[0]})
		}
		clear(own)
		isRequested = false
	}
}

// walk visits each cell above a base cell once.
type walk struct {
	a      *Accumulator
	tables []tableWalk
	grand  int32
	leaf   []int32
}

type tableWalk struct {
	variable  []int       // of a dimension
	ancestors [][][]int32 // of a dimension, of a leaf number
	size      []int
}

func newWalk(a *Accumulator) *walk {
	w := &walk{a: a, leaf: make([]int32, len(a.variables))}
	for _, t := range a.set.Tables {
		var tw tableWalk
		for _, d := range t.Dimensions {
			v := slices.IndexFunc(a.variables, func(o *tables.Dimension) bool { return o.Name == d.Name })
			up := make([][]int32, len(a.nodes[v]))
			for i, n := range a.nodes[v] {
				leaf, _ := d.Node(a.variables[v].Codes[n]) // NewSet ensures the same leaves in all tables
				for node := range d.Codes {
					if _, found := slices.BinarySearch(d.Leaves(node), int32(leaf)); found {
						up[i] = append(up[i], int32(node))
					}
				}
			}
			tw.variable, tw.ancestors, tw.size = append(tw.variable, v), append(tw.ancestors, up), append(tw.size, len(d.Codes))
		}
		w.tables = append(w.tables, tw)
	}
	w.grand = a.set.Cell(0, 0)
	return w
}

func (w *walk) above(key uint64, visit func(cell int32)) {
	for v := len(w.leaf) - 1; v >= 0; v-- {
		n := uint64(len(w.a.nodes[v]))
		w.leaf[v], key = int32(key%n), key/n
	}
	for t := range w.tables {
		w.descend(t, 0, 0, visit)
	}
}

func (w *walk) descend(t, dimension, at int, visit func(cell int32)) {
	tw := &w.tables[t]
	if dimension == len(tw.size) {
		if w.a.set.IsHome(t, at) {
			visit(w.a.set.Cell(t, at))
		}
		return
	}
	for _, node := range tw.ancestors[dimension][w.leaf[tw.variable[dimension]]] {
		w.descend(t, dimension+1, at*tw.size[dimension]+int(node), visit)
	}
}
