package microdata

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// NumbersOf fills dst.Original with the values of a, an array of integers,
// floats (float16 too) or decimals, or a dictionary of them. It returns the rows
// whose value a float64 cannot hold: integers beyond ±MaxExact, decimals that
// would not come back the same; they are 0 in dst, and the caller rejects them.
// NaN and infinities are passed on. A float64 array without nulls is not copied:
// its memory must stay unchanged while the column is used.
func NumbersOf(a arrow.Array, dst *Column) (bad []int) {
	n := a.Len()
	if f, ok := a.(*array.Float64); ok && a.NullN() == 0 {
		dst.Original = Vector{Values: f.Float64Values()}
		return nil
	}
	v := dst.Alloc(n, a.NullN() > 0)
	switch a := a.(type) {
	case *array.Float64:
		copy(v.Values, a.Float64Values())
	case *array.Float32:
		widen(v.Values, a.Float32Values())
	case *array.Float16:
		for i, x := range a.Values() {
			v.Values[i] = float64(x.Float32())
		}
	case *array.Int8:
		widen(v.Values, a.Int8Values())
	case *array.Int16:
		widen(v.Values, a.Int16Values())
	case *array.Int32:
		widen(v.Values, a.Int32Values())
	case *array.Uint8:
		widen(v.Values, a.Uint8Values())
	case *array.Uint16:
		widen(v.Values, a.Uint16Values())
	case *array.Uint32:
		widen(v.Values, a.Uint32Values())
	case *array.Int64:
		for i, x := range a.Int64Values() {
			if v.Values[i] = float64(x); x < -MaxExact || x > MaxExact {
				bad = beyond(bad, a, v, i)
			}
		}
	case *array.Uint64:
		for i, x := range a.Uint64Values() {
			if v.Values[i] = float64(x); x > MaxExact {
				bad = beyond(bad, a, v, i)
			}
		}
	case *array.Dictionary:
		return numbersOfDictionary(a, v)
	default:
		bad = decimalsOf(a, v)
	}
	clearNulls(a, v)
	return bad
}

// decimalsOf is NumbersOf for decimals. It panics on another type.
func decimalsOf(a arrow.Array, v *Vector) (bad []int) {
	switch a := a.(type) {
	case *array.Decimal32:
		g := newGrid(a.DataType())
		for i, x := range a.Values() {
			bad = g.read(bad, a, v, i, int64(x))
		}
	case *array.Decimal64:
		g := newGrid(a.DataType())
		for i, x := range a.Values() {
			bad = g.read(bad, a, v, i, int64(x))
		}
	case *array.Decimal128:
		g := newGrid(a.DataType())
		for i, x := range a.Values() {
			if lo := int64(x.LowBits()); x.HighBits() == lo>>63 {
				bad = g.read(bad, a, v, i, lo)
			} else {
				bad = g.readWide(bad, a, v, i, x.BigInt())
			}
		}
	case *array.Decimal256:
		g := newGrid(a.DataType())
		for i, x := range a.Values() {
			if u := x.BigInt(); u.IsInt64() {
				bad = g.read(bad, a, v, i, u.Int64())
			} else {
				bad = g.readWide(bad, a, v, i, u)
			}
		}
	default:
		panic(fmt.Sprintf("microdata: NumbersOf %s, which is not numeric", a.DataType()))
	}
	return bad
}

func widen[T float32 | int8 | int16 | int32 | uint8 | uint16 | uint32](dst []float64, src []T) {
	for i, x := range src {
		dst[i] = float64(x)
	}
}

// beyond notes row i as bad unless it is null: the content of a null's slot is not a value.
func beyond(bad []int, a arrow.Array, v *Vector, i int) []int {
	v.Values[i] = 0
	if a.IsNull(i) {
		return bad
	}
	return append(bad, i)
}

func clearNulls(a arrow.Array, v *Vector) {
	if a.NullN() == 0 {
		return
	}
	for i := range v.Values {
		if a.IsNull(i) {
			v.Values[i] = 0
			v.Valid.Clear(i)
		}
	}
}

func numbersOfDictionary(a *array.Dictionary, v *Vector) (bad []int) {
	var entries Column
	unfit := make(map[int]bool)
	for _, i := range NumbersOf(a.Dictionary(), &entries) {
		unfit[i] = true
	}
	for i := range v.Values {
		if a.IsNull(i) {
			v.Values[i] = 0
			v.Valid.Clear(i)
			continue
		}
		k := a.GetValueIndex(i)
		v.Values[i] = entries.Original.Values[k]
		if unfit[k] {
			bad = append(bad, i)
		}
		if !entries.Original.Valid.Has(k) {
			// A null may also stand in the dictionary itself.
			if v.Valid == nil {
				v.Valid = NewBitmap(len(v.Values), nil)
			}
			v.Valid.Clear(i)
		}
	}
	return bad
}

// grid converts between the numbers of a decimal type and their unscaled
// integers.
type grid struct {
	scale int32
	pow   float64 // 10^scale, exact where fine
	fine  bool    // 0 ≤ scale ≤ 22
	top   float64 // greatest unscaled value of the type
	limit *big.Int
}

func newGrid(t arrow.DataType) grid {
	d := t.(arrow.DecimalType)
	g := grid{scale: d.GetScale(), fine: d.GetScale() >= 0 && d.GetScale() <= 22}
	g.pow = math.Pow10(int(g.scale))
	g.limit = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.GetPrecision())), nil)
	g.limit.Sub(g.limit, big.NewInt(1))
	g.top, _ = new(big.Float).SetInt(g.limit).Float64()
	return g
}

// roundTrip is the magnitude below which every integer u gives back u from the
// float64 nearest to u/10^scale: 15 digits always do.
const roundTrip = 1e15

// fast returns the integer nearest to x·10^scale where it is below roundTrip
// and within the type's precision. The product's rounding error, which fused
// multiply-add yields, decides where the rounded product is half way.
func (g *grid) fast(x float64) (u float64, ok bool) {
	p := x * g.pow
	if !g.fine || !(math.Abs(p) < roundTrip) || math.Abs(p) > g.top {
		return 0, false
	}
	u = math.RoundToEven(p)
	switch d := (p - u) + math.FMA(x, g.pow, -p); {
	case d > 0.5:
		u++
	case d < -0.5:
		u--
	}
	return u, math.Abs(u) <= g.top
}

// wide returns the unscaled integer for values that fast does not take, kept
// within the type's precision.
func (g *grid) wide(x float64) *big.Int {
	switch {
	case math.IsNaN(x):
		return new(big.Int)
	case math.IsInf(x, 1):
		return new(big.Int).Set(g.limit)
	case math.IsInf(x, -1):
		return new(big.Int).Neg(g.limit)
	}
	u := g.unscaled(x)
	switch {
	case u.Cmp(g.limit) > 0:
		return u.Set(g.limit)
	case u.CmpAbs(g.limit) > 0:
		return u.Neg(g.limit)
	}
	return u
}

// unscaled returns the integer of x's shortest decimal form, rounded half away
// from zero where it has more decimals than the type.
func (g *grid) unscaled(x float64) *big.Int {
	u, exponent := shortest(x)
	if shift := exponent + int(g.scale); shift >= 0 {
		// Beyond 10^330 every value but 0 exceeds every precision.
		u.Mul(u, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(shift, 330))), nil))
	} else {
		half := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-shift)), nil)
		unit := new(big.Int).Set(half)
		half.Rsh(half, 1)
		if u.Sign() < 0 {
			half.Neg(half)
		}
		u.Quo(u.Add(u, half), unit)
	}
	return u
}

// shortest returns x as u·10^exponent with the fewest digits that name it.
func shortest(x float64) (u *big.Int, exponent int) {
	s := strconv.AppendFloat(nil, x, 'e', -1, 64)
	var digits []byte
	i := 0
	for ; s[i] != 'e'; i++ {
		if s[i] != '.' {
			digits = append(digits, s[i])
		}
	}
	exponent, _ = strconv.Atoi(string(s[i+1:]))
	u, _ = new(big.Int).SetString(string(digits), 10)
	n := len(digits)
	if x < 0 || math.Signbit(x) {
		n--
	}
	return u, exponent - (n - 1)
}

// small is the unscaled integer for decimals of at most 64 bits.
func (g *grid) small(x float64) int64 {
	if u, ok := g.fast(x); ok {
		return int64(u)
	}
	return g.wide(x).Int64()
}

func (g *grid) read(bad []int, a arrow.Array, v *Vector, i int, u int64) []int {
	if g.fine && u > -roundTrip && u < roundTrip {
		v.Values[i] = float64(u) / g.pow
		return bad
	}
	return g.readWide(bad, a, v, i, big.NewInt(u))
}

func (g *grid) readWide(bad []int, a arrow.Array, v *Vector, i int, u *big.Int) []int {
	// The error says that the value overflows, which the comparison finds too.
	x, _ := strconv.ParseFloat(u.String()+"e"+strconv.Itoa(-int(g.scale)), 64)
	if math.IsInf(x, 0) || g.unscaled(x).Cmp(u) != 0 {
		return beyond(bad, a, v, i)
	}
	v.Values[i] = x
	return bad
}
