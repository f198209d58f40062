package joint

import (
	"math"
	"slices"
)

// bent are relations of one column that are no straight lines: what undoes a logarithm, a power or a reciprocal.
var bent = []func(a float64) float64{
	math.Exp, math.Expm1, func(a float64) float64 { return math.Pow(10, a) }, math.Sqrt, func(a float64) float64 {
		return a * a
	},
	math.Log, math.Log1p, math.Log10, func(a float64) float64 { return 1 / a }, func(a float64) float64 { return 100 / a },
}

// multiplied are relations of two columns that are no sums: products and quotients, and what a share, a rate of
// growth or of tax makes of an amount, as a fraction or in percent.
var multiplied = func() (list []func(a, b float64) float64) {
	for _, k := range []float64{1, 100} {
		list = append(list,
			func(a, b float64) float64 { return a * b / k },
			func(a, b float64) float64 { return k * a / b },
			func(a, b float64) float64 { return a * (k + b) / k },
			func(a, b float64) float64 { return a * k / (k + b) },
			func(a, b float64) float64 { return a * (k - b) / k },
			func(a, b float64) float64 { return a * k / (k - b) },
			func(a, b float64) float64 { return a * b / (k - b) },
			func(a, b float64) float64 { return a * (k - b) / b },
			func(a, b float64) float64 { return k * (a/b - 1) },
			func(a, b float64) float64 { return k * (1 - a/b) },
			func(a, b float64) float64 { return k * a / (a + b) })
	}
	return list
}()

// relation is a function of up to three columns: a multiple of one, a curve of one, a sum of two or three with whole
// coefficients, or what is made of two by multiplication.
type relation struct {
	rounded bool         // whether it gives values after rounding to their grid
	n       int          // columns
	column  [3]int       // their places
	z       [3][]float64 // their numbers
	k       [3]float64   // coefficients, unless there is a function:
	one     func(a float64) float64
	two     func(a, b float64) float64
}

// columns returns the places of the columns in their order.
func (r *relation) columns() []int {
	list := slices.Clone(r.column[:r.n])
	slices.Sort(list)
	return list
}

// kept returns a copy: what is visited is used again.
func (r *relation) kept() *relation {
	kept := *r
	return &kept
}

// at returns the value in a row.
func (r *relation) at(i int) float64 {
	switch {
	case r.one != nil:
		return r.one(r.z[0][i])
	case r.two != nil:
		return r.two(r.z[0][i], r.z[1][i])
	case r.n == 1:
		return r.k[0] * r.z[0][i]
	case r.n == 2:
		return r.k[0]*r.z[0][i] + r.k[1]*r.z[1][i]
	}
	return r.k[0]*r.z[0][i] + r.k[1]*r.z[1][i] + r.k[2]*r.z[2][i]
}

// of returns the values in some rows, in the memory given.
func (r *relation) of(rows []int, values []float64) []float64 {
	a, b, c, k := r.z[0], r.z[1], r.z[2], r.k
	values = values[:len(rows)]
	switch {
	case r.one != nil:
		for at, i := range rows {
			values[at] = r.one(a[i])
		}
	case r.two != nil:
		for at, i := range rows {
			values[at] = r.two(a[i], b[i])
		}
	case r.n == 1:
		for at, i := range rows {
			values[at] = k[0] * a[i]
		}
	case r.n == 2:
		for at, i := range rows {
			values[at] = k[0]*a[i] + k[1]*b[i]
		}
	default:
		for at, i := range rows {
			values[at] = k[0]*a[i] + k[1]*b[i] + k[2]*c[i]
		}
	}
	return values
}

// byOne, byTwo and byThree return relations of columns without coefficients or functions.
func (f *Frame) byOne(a int) relation {
	return relation{n: 1, column: [3]int{a}, z: [3][]float64{f.columns[a].numbers}}
}

func (f *Frame) byTwo(a, b int) relation {
	return relation{n: 2, column: [3]int{a, b}, z: [3][]float64{f.columns[a].numbers, f.columns[b].numbers}}
}

func (f *Frame) byThree(a, b, c int) relation {
	return relation{n: 3, column: [3]int{a, b, c},
		z: [3][]float64{f.columns[a].numbers, f.columns[b].numbers, f.columns[c].numbers}}
}

// others returns the numeric columns beside one.
func (f *Frame) others(own int) (at []int) {
	for _, w := range f.features {
		if w.whole && w.column != own {
			at = append(at, w.column)
		}
	}
	return at
}

var (
	factors = []float64{1, -1, 2, 0.5, 3, 4, 10, 12, 100, 1000, 1.0 / 3, 0.25, 0.1, 1.0 / 12, 0.01, 0.001}
	pairs   = [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {2, -1}, {-1, 2}, {1, -2}, {-2, 1}, {1, 2}, {2, 1},
		{0.5, 0.5}, {0.5, -0.5}, {-0.5, 0.5}}
)

// relations visits relations of up to three columns with small whole coefficients, relations of two that are
// multiplied or divided, and what totals of a unit leave, until a visit returns true. What is visited is used again:
// kept copies it.
func (f *Frame) relations(s *sought, found func(r *relation) bool) {
	at := f.others(s.own)
	for _, a := range at {
		r := f.byOne(a)
		for _, k := range factors {
			if r.k[0], r.rounded = k, k < 1 && k > 0; found(&r) {
				return
			}
		}
		r.rounded = true
		for _, r.one = range bent {
			if found(&r) {
				return
			}
		}
	}
	for _, rest := range slices.Concat(s.rests(), s.across()) { // by the column and the unit
		r := relation{n: 2, column: [3]int{rest.column, rest.unit.columns[0]},
			z: [3][]float64{rest.values, rest.values}, k: [3]float64{1, 0}}
		if found(&r) {
			return
		}
	}
	if len(at) > 60 {
		at = at[:60]
	}
	for i, a := range at {
		for _, b := range at[:i] {
			r, turned := f.byTwo(a, b), f.byTwo(b, a)
			for _, k := range pairs {
				if r.k[0], r.k[1] = k[0], k[1]; found(&r) {
					return
				}
			}
			r.rounded, turned.rounded = true, true
			for _, of := range multiplied {
				if r.two, turned.two = of, of; found(&r) || found(&turned) {
					return
				}
			}
		}
	}
	if len(at) > 24 {
		at = at[:24]
	}
	for i, a := range at {
		for j, b := range at[:i] {
			for _, c := range at[:j] {
				r := f.byThree(a, b, c)
				for signs := range 8 {
					sign := func(bit int) float64 { return float64(1 - 2*(signs>>bit&1)) }
					if r.k = [3]float64{sign(0), sign(1), sign(2)}; found(&r) {
						return
					}
				}
			}
		}
	}
}
