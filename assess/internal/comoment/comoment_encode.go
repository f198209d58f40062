package comoment

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// pairOf returns the co-moments of two columns, without Cij, if every record has either both of
// them or none.
func (g *Gram) pairOf(i, j int) Pair {
	a, b := g.At(i, i), g.At(j, j)
	return Pair{N: a.N, Mi: a.Mi, Mj: b.Mi, Li: a.Li, Lj: b.Li, Cii: a.Cii, Cjj: b.Cii}
}

// sameAs reports whether all fields except Cij are the same to the bit.
func (c Pair) sameAs(o Pair) bool {
	for _, p := range [][2]float64{{c.N, o.N}, {c.Mi, o.Mi}, {c.Mj, o.Mj}, {c.Li, o.Li}, {c.Lj, o.Lj}, {c.Cii, o.Cii},
		{c.Cjj, o.Cjj}} {
		if math.Float64bits(p[0]) != math.Float64bits(p[1]) {
			return false
		}
	}
	return true
}

// complete fills in the fields of a pair that follow from its columns.
func (g *Gram) complete(i, j int) {
	q := g.At(i, j)
	own := g.pairOf(i, j)
	own.Cij = q.Cij
	*q = own
}

// Encode writes the co-moments of each column with itself, and of each pair only the fields
// that do not follow from these: if no value is missing, that is Cij alone.
func (g *Gram) Encode(e *wire.Encoder) {
	for i := range g.K {
		for j := range i + 1 {
			p := g.At(i, j)
			switch own := g.pairOf(i, j); {
			case i == j:
				e.Floats(p.N, p.Mi, p.Li, p.Cii, p.Cij)
			case p.sameAs(own):
				*e = append(*e, pairFollows)
				e.Floats(p.Cij)
			default:
				*e = append(*e, pairOwn)
				e.Floats(p.N, p.Mi, p.Mj, p.Li, p.Lj, p.Cii, p.Cjj, p.Cij)
			}
		}
	}
}

// Decode reads what Encode wrote.
func (g *Gram) Decode(d *wire.Decoder) {
	var follow [][2]int
	for i := range g.K {
		p := g.At(i, i)
		for j := range i {
			q := g.At(i, j)
			switch kind := d.Bytes(1); {
			case kind == nil:
				return
			case kind[0] == pairFollows:
				q.Cij = d.Float()
				follow = append(follow, [2]int{i, j})
			case kind[0] == pairOwn:
				for _, to := range []*float64{&q.N, &q.Mi, &q.Mj, &q.Li, &q.Lj, &q.Cii, &q.Cjj, &q.Cij} {
					*to = d.Float()
				}
			default:
				d.Fail()
				return
			}
		}
		p.N, p.Mi, p.Li, p.Cii, p.Cij = d.Float(), d.Float(), d.Float(), d.Float(), d.Float()
		p.Mj, p.Lj, p.Cjj = p.Mi, p.Li, p.Cii
	}
	for _, f := range follow {
		g.complete(f[0], f[1])
	}
}

const (
	pairFollows = 1
	pairOwn     = 2
)
