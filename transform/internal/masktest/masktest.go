// Package masktest has data, blocks and chains for the tests of masks.
package masktest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Key returns a fixed key; different seeds give unrelated keys.
func Key(tb testing.TB, seed byte) keystream.Key {
	tb.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = seed + byte(i)*7
	}
	k, err := keystream.NewKey(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// Text64 and Coded64 are types of texts, the second with codes for them.
var (
	Text64  = arrow.BinaryTypes.String
	Coded64 = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: Text64}
)

// Column describes a column of a test. The columns have the names "a", "b", … in order.
type Column struct {
	Values   []float64
	Null     []int // records without a value
	Type     arrow.DataType
	Decimals int
}

// Floats is a column of doubles.
func Floats(decimals int, values ...float64) Column {
	return Column{Values: values, Type: arrow.PrimitiveTypes.Float64, Decimals: decimals}
}

// Typed is a column of a type, with the records that have no value.
func Typed(values []float64, null []int, of arrow.DataType, decimals int) Column {
	return Column{Values: values, Null: null, Type: of, Decimals: decimals}
}

// Names are the names of n columns.
func Names(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = string(rune('a' + i))
	}
	return s
}

// Setup computes mean and SD from the data.
func Setup(tb testing.TB, columns ...Column) core.Setup {
	s := core.Setup{Key: Key(tb, 1), Window: 1 << 20}
	for i, name := range Names(len(columns)) {
		c := columns[i]
		mean, sd := MeanSD(c.Values)
		s.Columns = append(s.Columns,
			core.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: c.Type, Nullable: true},
				Decimals: c.Decimals, SD: sd, Mean: mean, Days: false})
	}
	s.Correlations = core.Correlations{}
	for i, a := range s.Columns {
		for k, b := range s.Columns[:i] {
			if x, y := columns[k].Values, columns[i].Values; len(x) == len(y) {
				s.Correlations[[2]string{b.Name, a.Name}] = Correlation(x, y)
			}
		}
	}
	return s
}

// MeanSD are the mean and the standard deviation of a sample.
func MeanSD(v []float64) (mean, sd float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(len(v)-1))
}

// Block makes a block of records [from, to) of the columns.
func Block(from, to int, columns ...Column) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, int64(from), to-from, len(columns))
	for i, c := range columns {
		v := b.Columns[i].Alloc(to-from, len(c.Null) > 0)
		copy(v.Values, c.Values[from:to])
		for _, row := range c.Null {
			if row >= from && row < to {
				v.Valid.Clear(row - from)
				v.Values[row-from] = 0
			}
		}
	}
	return b
}

// Chain is a chain that there is without an error.
func Chain(tb testing.TB, setup core.Setup, masks ...core.Spec) *core.Chain {
	tb.Helper()
	c, err := core.NewChain(masks, setup)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Apply masks a block; what the chain counts for the block must be what the block says of it.
func Apply(tb testing.TB, c *core.Chain, b *microdata.Block) *microdata.Block {
	tb.Helper()
	before := c.Touched()
	if err := c.Apply(b); err != nil {
		tb.Fatal(err)
	}
	for i, touch := range c.Touched() {
		if n := touch.Records - before[i].Records; len(b.Touched) != len(before) || n != b.Touched[i] {
			tb.Errorf("%s has changed %d records; those of the block: %v", touch.Label, n, b.Touched)
		}
	}
	return b
}

// Release masks the columns in one block and returns the released numbers of
// the first.
func Release(tb testing.TB, setup core.Setup, columns []Column, masks ...core.Spec) []float64 {
	tb.Helper()
	b := Apply(tb, Chain(tb, setup, masks...), Block(0, len(columns[0].Values), columns...))
	return slices.Clone(b.Columns[0].Out().Values)
}

// Mask is a mask without a name.
func Mask(p core.Params) core.Spec { return core.Spec{Params: p} }

// Incomes returns n numbers with two decimals, long-tailed as incomes are.
func Incomes(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = math.RoundToEven(100*math.Exp(6+r.NormFloat64())) / 100
	}
	return v
}

// Correlation is Pearson's of two columns.
func Correlation(x, y []float64) float64 {
	mx, sx := MeanSD(x)
	my, sy := MeanSD(y)
	sum := 0.0
	for i := range x {
		sum += (x[i] - mx) * (y[i] - my)
	}
	return sum / (float64(len(x)-1) * sx * sy)
}

// Amount is a number.
func Amount(v float64) *core.Amount { return &core.Amount{Value: v} }

// Percent is a percentage of the standard deviation.
func Percent(v float64) *core.Amount { return &core.Amount{Value: v / 100, Relative: true} }

// SwapData returns random data for swaps: a protected column of distinct values, two keys and an
// attribute.
func SwapData(n int, seed uint64, keys, regions int) []Column {
	r := rand.New(rand.NewPCG(seed, 2))
	columns := []Column{Floats(0, make([]float64, n)...), Floats(0, make([]float64, n)...),
		Floats(0, make([]float64, n)...), Floats(0, make([]float64, n)...)}
	for i := range n {
		columns[0].Values[i] = float64(i + 1)
		columns[1].Values[i] = float64(r.IntN(keys))
		columns[2].Values[i] = float64(r.IntN(3))
		columns[3].Values[i] = float64(r.IntN(regions))
	}
	return columns
}

// Surveyed returns the chain after a first pass over the columns in blocks.
func Surveyed(t *testing.T, c *core.Chain, size int, columns ...Column) *core.Chain {
	t.Helper()
	n := len(columns[0].Values)
	for from := 0; from < n; from += size {
		if err := c.Survey(Block(from, min(from+size, n), columns...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whole masks columns after a survey, in blocks of a size, and returns the release of each column,
// with NaN for missing values.
func Whole(t *testing.T, c *core.Chain, size int, columns ...Column) [][]float64 {
	t.Helper()
	Surveyed(t, c, size, columns...)
	n := len(columns[0].Values)
	out := make([][]float64, len(columns))
	for from := 0; from < n; from += size {
		b := Apply(t, c, Block(from, min(from+size, n), columns...))
		for k := range columns {
			v := b.Columns[k].Out()
			for i, y := range v.Values {
				if !v.Valid.Has(i) {
					y = math.NaN()
				}
				out[k] = append(out[k], y)
			}
		}
	}
	return out
}

// Repeat is x, n times.
func Repeat(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }

// Kolmogorov returns the greatest distance between the distribution of the sample and F, times √n.
// It exceeds 2.5 with probability 2·exp(−2·2.5²) = 7e-6.
func Kolmogorov(sample []float64, F func(float64) float64) float64 {
	s := slices.Sorted(slices.Values(sample))
	d, n := 0.0, float64(len(s))
	for i, x := range s {
		p := F(x)
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	return d * math.Sqrt(n)
}

// Categories returns a block with one column a in Array form, and the result of a chain for it.
func Categories(t *testing.T, masks []core.Spec, of arrow.DataType, json string) (
	released []string, b *microdata.Block,
) {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, of, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	c,
		err := core.NewChain(masks,
		core.Setup{Key: Key(t, 5),
			Columns: []core.ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: of, Nullable: true}, Decimals: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	b = &microdata.Block{}
	b.Reset(0, 0, a.Len(), 1)
	b.Columns[0].Array = a
	if err := c.Apply(b); err != nil {
		t.Fatal(err)
	}
	out := b.Columns[0].OutArray()
	for i := range out.Len() {
		switch {
		case b.Rejected(i):
			released = append(released, "rejected")
		case out.IsNull(i):
			released = append(released, "null")
		default:
			released = append(released, out.ValueStr(i))
		}
	}
	return released, b
}

// Wants checks that an error contains a text.
func Wants(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %q", what, err, text)
	}
}

// Reordered returns the columns with their records in another order.
func Reordered(columns []Column, order []int) []Column {
	to := make([]Column, len(columns))
	for k, c := range columns {
		null := make(map[int]bool, len(c.Null))
		for _, i := range c.Null {
			null[i] = true
		}
		to[k] = Column{Values: make([]float64, len(order)), Type: c.Type, Decimals: c.Decimals}
		for at, i := range order {
			if to[k].Values[at] = c.Values[i]; null[i] {
				to[k].Null = append(to[k].Null, at)
			}
		}
	}
	return to
}

// TiedData returns three columns, each depending on the previous ones, and a stratum in which the
// third has another slope.
func TiedData(n int, seed uint64) []Column {
	r := rand.New(rand.NewPCG(seed, 15))
	columns := make([]Column, 4)
	for k := range columns {
		columns[k] = Floats(-1, make([]float64, n)...)
	}
	for i := range n {
		s := float64(i % 2)
		a := math.Exp(0.5 * r.NormFloat64())
		b := 5 - 2*a + r.ExpFloat64()
		columns[0].Values[i], columns[1].Values[i] = a, b
		columns[2].Values[i] = (1+2*s)*a + 0.5*b + 0.7*r.NormFloat64()
		columns[3].Values[i] = s
	}
	return columns
}

// ShuffleData returns two skewed columns to shuffle and two columns to condition on, one of them
// binary; all four are correlated.
func ShuffleData(n int, seed uint64) []Column {
	r := rand.New(rand.NewPCG(seed, 4))
	columns := make([]Column, 4)
	for k := range columns {
		columns[k] = Floats(3, make([]float64, n)...)
	}
	for i := range n {
		u, v, w := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		columns[0].Values[i] = math.Round(1000*math.Exp(3+u)) / 1000
		columns[1].Values[i] = math.Round(1000*(-math.Exp(0.6*u+0.8*v))) / 1000
		columns[2].Values[i] = math.Round(1000*(0.7*u-0.3*v+0.6*w)) / 1000
		if 0.6*v+0.8*r.NormFloat64() > 0.4 {
			columns[3].Values[i] = 1
		}
	}
	return columns
}

// Onward is the number of checks from one that cancels to the next: a share of those so far, if short as many.
func Onward(short bool, at, share int) int {
	if short {
		return 1 + at
	}
	return 1 + at/share
}

// CodedData returns a number a, categories b (1, 2, 3) that depend on a, a number c that depends on
// both, coded c with two values, d, and strata e in which all dependencies are reversed.
func CodedData(n int, seed uint64) []Column {
	r := rand.New(rand.NewPCG(seed, 16))
	columns := make([]Column, 5)
	for k, decimals := range []int{-1, 0, -1, 0, 0} {
		columns[k] = Floats(decimals, make([]float64, n)...)
	}
	for i := range n {
		s := float64(i % 2)
		a := r.NormFloat64() + 0.5*r.ExpFloat64()
		w := []float64{1, math.Exp(0.3 + (1-2*s)*a), math.Exp(-1 + 0.5*a)}
		u, b := r.Float64()*(w[0]+w[1]+w[2]), 0
		for u -= w[0]; u >= 0 && b < 2; u -= w[b] {
			b++
		}
		c := 3*float64(b%2) + 0.5*a + r.NormFloat64()
		columns[0].Values[i], columns[1].Values[i], columns[2].Values[i], columns[4].Values[i] = a, float64(b+1), c, s
		if r.Float64() < 1/(1+math.Exp(-(c-1)-2*float64(b/2))) {
			columns[3].Values[i] = 1
		}
	}
	return columns
}

// Gappy returns n ascending places: mostly consecutive, some with gaps.
func Gappy(n int, first int64, seed uint64) []int64 {
	r := rand.New(rand.NewPCG(seed, 9))
	places := make([]int64, n)
	for i := range places {
		places[i] = first
		if first++; r.IntN(20) == 0 || i > n/2 && i < n/2+50 {
			first += 1 + r.Int64N(1000)
		}
	}
	return places
}

// StreamBlock makes a block of a topic with the records [from, to) of the columns.
func StreamBlock(scope string, stream int, places []int64, from, to int, columns ...Column) *microdata.Block {
	b := Block(from, to, columns...)
	b.Stream, b.Scope = stream, scope
	b.Places = places[from:to]
	b.First = places[from]
	return b
}

// DisplacementData returns keys shared by many, few or no records, an attribute with uneven
// frequencies, and a skewed protected column with nulls.
func DisplacementData(n int, seed uint64, sigma float64, nulls bool) []Column {
	r := rand.New(rand.NewPCG(seed, 77))
	columns := SwapData(n, seed, max(2, n/12), 3)
	for i := range n {
		columns[0].Values[i] = math.Round(math.Exp(8 + sigma*r.NormFloat64()))
		columns[3].Values[i] = float64(min(r.IntN(5), r.IntN(5), 3))
		columns[2].Values[i] = float64(r.IntN(2))
		if r.IntN(3) == 0 { // a few groups have many records
			columns[1].Values[i] = float64(r.IntN(3))
		}
		if nulls && r.IntN(6) == 0 {
			columns[0].Null = append(columns[0].Null, i)
			columns[0].Values[i] = 0
		}
	}
	return columns
}

// Published returns the published part of a mask's parameters.
func Published(p core.Params, sd float64, names ...string) core.Published {
	list := core.ParametersOf(p)
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(q core.Parameter) bool { return q.Name == name })
	}
	named := func(name string) bool { return slices.Contains(names, name) }
	return core.Published{
		Parameters: func(name string) (any, bool) {
			for _, q := range list {
				if q.Name == name && named(name) {
					return q.Value, true
				}
			}
			return nil, false
		},
		SD: func(column string) (float64, bool) {
			a, ok := core.ActionOf(p, column, sd).(core.Addition)
			return a.SD, ok && named("sd")
		},
		Named: named, Has: has, Number: func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) },
	}
}
