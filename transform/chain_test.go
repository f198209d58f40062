package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// arithmeticMasks are all masks that work record by record.
func arithmeticMasks() []Spec {
	return []Spec{
		mask(&Bias{Columns: []string{"a"}, Range: ptr(0.05)}),
		mask(&Noise{Columns: []string{"a", "b"}, SD: &Amount{Value: 0.35, Relative: true}, Tiers: []Tier{{Above: ptr(1000.0),
			VarianceFactor: ptr(2.0)}}}),
		mask(&Truncate{Columns: []string{"b"}, Lower: ptr(50.0), Mode: "redraw"}),
		mask(&Truncate{Columns: []string{"a"}, Lower: ptr(50.0)}),
		mask(&Round{Columns: []string{"a"}, Decimals: ptr(1)}),
	}
}

// The release of a record depends neither on the limits of the blocks nor on the goroutines and
// their order.
func TestIndependentOfBlocksAndWorkers(t *testing.T) {
	const n = 20000
	columns := []testColumn{floats(2, incomes(n, 1)...), floats(2, incomes(n, 2)...),
		floats(0, slices.Repeat([]float64{1, 2, 3, 4, 5}, n/5)...)}
	columns[0].Null = []int{0, 17, 4096, n - 1}
	for _, identity := range [][]int{nil, {2}} {
		setup := testSetup(t, columns...)
		setup.Identity = identity
		c := chain(t, setup, arithmeticMasks()...)
		whole := apply(t, c, block(0, n, columns...))
		for _, size := range []int{1, 63, 1000, 4097} {
			if size == 1 && testing.Short() {
				continue
			}
			var wg sync.WaitGroup
			gate := make(chan bool, 4)
			for from := 0; from < n; from += size {
				wg.Add(1)
				gate <- true
				go func() {
					defer wg.Done()
					defer func() { <-gate }()
					b := block(from, min(from+size, n), columns...)
					if err := c.Apply(b); err != nil {
						t.Error(err)
						return
					}
					for k := range 2 {
						got, want := b.Columns[k].Out(), whole.Columns[k].Out()
						for i, y := range got.Values {
							if math.Float64bits(y) != math.Float64bits(want.Values[from+i]) || got.Valid.Has(i) != want.Valid.Has(from+i) {
								t.Errorf("blocks of %d: column %d, record %d differs", size, k, from+i)
								return
							}
						}
					}
				}()
			}
			wg.Wait()
		}
	}
}

func TestTouched(t *testing.T) {
	// The last record is rejected and does not count.
	columns := []testColumn{floats(0, 1, 5, 100, 200, math.NaN()), floats(0, 7, 7, 7, 7, 7)}
	columns[0].Null = []int{3}
	c := chain(t, testSetup(t, columns...),
		mask(&Truncate{Columns: []string{"a"}, Upper: ptr(4.0)}),
		Spec{Name: "tens", Params: &Round{Columns: []string{"a", "b"}, Base: ptr(10.0)}},
		mask(&Noise{Columns: []string{"b"}, SD: &Amount{Value: 1e6, Relative: false}}))
	apply(t, c, block(0, 5, columns...))
	got := c.Touched()
	for i, want := range []struct {
		label, kind string
		records     int64
	}{{"truncate#1", "truncate", 2}, {"tens", "round", 4}, {"noise#1", "noise", 4}} {
		if got[i].Label != want.label || got[i].Kind != want.kind || got[i].Records != want.records {
			t.Errorf("mask %d: got %+v, want %+v", i, got[i], want)
		}
	}
}

// A record counts as changed if a mask has changed one of its columns, even if other columns have
// no value there: of six records, the first and the last have a value of a, the second and the last
// a value of b.
func TestTouchedWhereAnotherColumnIsMissing(t *testing.T) {
	columns := []testColumn{floats(1, 51.7, 52.7, 53.7, 54.7, 55.7, 56.7), floats(1, 61.7, 62.7, 63.7, 64.7, 65.7, 66.7)}
	columns[0].Null, columns[1].Null = []int{1, 2, 3, 4}, []int{0, 2, 3, 4}
	for _, names := range [][]string{{"a", "b"}, {"b", "a"}} {
		for kind, masks := range map[string][]Spec{
			"noise": {mask(&Noise{Columns: names, SD: &Amount{Value: 1e6, Relative: false}})},
			"redraw": {mask(&Noise{Columns: names, SD: &Amount{Value: 1e6, Relative: false}}),
				mask(&Truncate{Columns: names, Lower: ptr(0.0), Upper: ptr(1e9), Mode: "redraw"})},
			"bias":     {mask(&Bias{Columns: names, Phi: ptr(0.9)})},
			"round":    {mask(&Round{Columns: names, Base: ptr(10.0)})},
			"truncate": {mask(&Truncate{Columns: names, Upper: ptr(5.0)})},
			"topcode":  {mask(&Topcode{Columns: names, Upper: ptr(5.0)})},
		} {
			c := chain(t, testSetup(t, columns...), masks...)
			apply(t, c, block(0, 6, columns...))
			for i, touch := range c.Touched() {
				if touch.Records != 3 {
					t.Errorf("%s of %v: mask %d has changed %d records, want 3", kind, names, i, touch.Records)
				}
			}
		}
	}
}

// The reason of a rejected record names the place and the fault, and contains no value.
func TestRejects(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	columns := []testColumn{
		floats(2, 1, nan, 3, inf, -inf, 6, 1e300),
		{Values: []float64{1, 2, 1 << 54, 4, 5, -(1 << 53), 7}, Type: arrow.PrimitiveTypes.Int64},
		floats(2, nan, nan, nan, nan, nan, nan, nan), // not masked
	}
	c := chain(t, Setup{Key: testKey(t, 1), Columns: testSetup(t, columns...).Columns},
		mask(&Noise{Columns: []string{"a", "b"}, SD: &Amount{Value: 1, Relative: false}}))
	b := apply(t, c, block(0, 7, columns...))
	if len(b.Rejects) != 4 || b.Kept() != 3 {
		t.Fatalf("got rejects %v", b.Rejects)
	}
	for _, want := range []microdata.Reject{{Row: 1, Column: "a", Reason: "NaN"},
		{Row: 3, Column: "a", Reason: "infinite"}, {Row: 4, Column: "a", Reason: "infinite"},
		{Row: 2, Column: "b", Reason: "beyond"}} {
		if !slices.ContainsFunc(b.Rejects, func(r microdata.Reject) bool {
			return r.Row == want.Row && r.Column == want.Column && strings.Contains(r.Reason, want.Reason)
		}) {
			t.Errorf("no reject like %v in %v", want, b.Rejects)
		}
	}
	if y := b.Columns[0].Out().Values[6]; y != 1e300 {
		t.Errorf("a value beyond the grid's exact integers with noise far below its last bit: got %v, want it as it is", y)
	}
	if y := b.Columns[1].Out().Values[5]; y < -(1<<53) || y != math.Trunc(y) {
		t.Errorf("got %v, want an integer that is held exactly", y)
	}
}

// Released values keep their type: integers stay integers in range, decimals keep their scale,
// float32 stays float32, nulls stay null with the number 0.
func TestTypesAreKept(t *testing.T) {
	const n = 4000
	r := rand.New(rand.NewPCG(3, 3))
	for _, typ := range []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal128Type{Precision: 5, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 20},
		&arrow.Decimal128Type{Precision: 6, Scale: -2},
	} {
		t.Run(typ.String(), func(t *testing.T) {
			field := microdata.Field{Type: typ}
			lo, hi := field.Range()
			lo, hi = max(lo, -1e6), min(hi, 1e6)
			d, fixed := field.Decimals()
			step := math.Pow10(-d)
			if !fixed {
				step = 0.01
			}
			column := testColumn{Values: make([]float64, n), Null: []int{5, 77}, Type: typ, Decimals: max(d, 0)}
			for i := range column.Values {
				k := math.RoundToEven((lo + (hi-lo)*r.Float64()) / step)
				column.Values[i] = k / math.Round(1/step)
				if step >= 1 {
					column.Values[i] = k * step
				}
				if typ.ID() == arrow.FLOAT32 {
					column.Values[i] = float64(float32(column.Values[i]))
				}
			}
			if !fixed {
				column.Decimals = 2
			}
			setup := testSetup(t, column)
			b := apply(t, chain(t, setup,
				mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.3)}),
				mask(&Noise{Columns: []string{"a"}, SD: &Amount{Value: 0.5, Relative: true}})), block(0, n, column))
			y := b.Columns[0].Out()
			lo, hi = field.Range()
			changed := 0
			for i, v := range y.Values {
				if !y.Valid.Has(i) {
					if v != 0 {
						t.Fatalf("record %d: the value below the null is %v", i, v)
					}
					continue
				}
				if v != column.Values[i] {
					changed++
				}
				if !(v >= lo && v <= hi) {
					t.Fatalf("record %d: %v is outside [%v, %v]", i, v, lo, hi)
				}
				switch {
				case typ.ID() == arrow.FLOAT32:
					if float64(float32(v)) != v {
						t.Fatalf("record %d: %v is no float32", i, v)
					}
				case step >= 1:
					if math.Mod(v, step) != 0 {
						t.Fatalf("record %d: %v is no multiple of %v", i, v, step)
					}
				default:
					// Above 2^51 the product with 10^d does not always round to k.
					mult := math.Pow10(column.Decimals)
					if k := math.RoundToEven(v * mult); k/mult != v && math.Abs(k) < 1<<51 {
						t.Fatalf("record %d: %v is not nearest to a number of the scale", i, v)
					}
				}
				if math.Signbit(v) && v == 0 {
					t.Fatalf("record %d: negative zero", i)
				}
			}
			if y.Valid.Has(5) || y.Valid.Has(77) || y.Valid.Count(n) != n-2 {
				t.Error("nulls did not stay")
			}
			if changed < n/2 {
				t.Errorf("only %d of %d values changed", changed, n)
			}
		})
	}
}

// A respondent's value has the same release at every place. Another value of the same respondent
// gets other noise, and so does the same value of another respondent.
func TestIdentity(t *testing.T) {
	ids := []float64{7, 7, 8, 9, 7, 8}
	values := []float64{100, 200, 100, 100, 100, 100}
	columns := []testColumn{floats(6, values...), floats(0, ids...)}
	setup := testSetup(t, columns...)
	setup.Identity = []int{1}
	y := release(t, setup, columns, mask(&Noise{Columns: []string{"a"}, SD: &Amount{Value: 10, Relative: false}}))
	if y[0] != y[4] || y[2] != y[5] {
		t.Errorf("the same value of the same respondent is released differently: %v", y)
	}
	if y[0]-100 == y[1]-200 {
		t.Error("two values of one respondent have the same noise")
	}
	if y[0] == y[2] || y[2] == y[3] || y[0] == y[3] {
		t.Error("two respondents carry the same noise")
	}
	setup.Identity = nil
	if z := release(t, setup, columns, mask(&Noise{Columns: []string{"a"}, SD: &Amount{Value: 10,
		Relative: false}})); z[0] == z[4] {
		t.Error("with place as identity, two places carry the same noise")
	}
}

// Draws of two columns, two masks or two replicates are uncorrelated, and each has no
// autocorrelation. For independent draws √n·ρ is approximately standard normal; with 6 pairs, |z| <
// 5 fails once in 3 million runs.
func TestDrawsAreUncorrelated(t *testing.T) {
	n := 100000
	if testing.Short() {
		n = 20000
	}
	zero := floats(9, make([]float64, n)...)
	setup := testSetup(t, zero, zero)
	noise := func(column string) Params {
		return &Noise{Columns: []string{column}, SD: &Amount{Value: 1, Relative: false}}
	}
	both := chain(t, setup, mask(&Noise{Columns: []string{"a", "b"}, SD: &Amount{Value: 1, Relative: false}}))
	b := apply(t, both, block(0, n, zero, zero))
	draws := map[string][]float64{"a": b.Columns[0].Out().Values, "b": b.Columns[1].Out().Values}
	draws["other mask"] = release(t, setup, []testColumn{zero, zero}, Spec{Name: "second", Params: noise("a")})
	for _, m := range []int{1, 2} {
		r := both.Replicate(m)
		draws[fmt.Sprint("replicate ", m)] = apply(t, r, block(0, n, zero, zero)).Columns[0].Out().Values
	}
	for _, pair := range [][2]string{{"a", "b"}, {"a", "other mask"}, {"a", "replicate 1"}, {"a", "replicate 2"},
		{"replicate 1", "replicate 2"}} {
		if z := math.Sqrt(float64(n)) * correlation(draws[pair[0]], draws[pair[1]]); !(math.Abs(z) <= 5) {
			t.Errorf("%v: correlation of %.1f standard errors", pair, z)
		}
	}
	if z := math.Sqrt(float64(n)) * correlation(draws["a"][1:], draws["a"][:n-1]); !(math.Abs(z) <= 5) {
		t.Errorf("autocorrelation of %.1f standard errors", z)
	}
	if !slices.Equal(apply(t, both.Replicate(1), block(0, n, zero, zero)).Columns[0].Out().Values, draws["replicate 1"]) {
		t.Error("a replicate is not reproducible")
	}
}

// A float32 column on a decimal grid gets other values than a column of doubles, even for integers,
// so its draws have other names.
func TestNamesOfSinglePrecision(t *testing.T) {
	for decimals, want := range map[int]string{-1: "", 0: core.Part("decimals", 0), 2: core.Part("decimals", 2)} {
		for _, of := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
			c := core.NewColumn(ColumnInfo{Name: "a", Field: microdata.Field{Name: "a", Type: of}, Decimals: decimals})
			if got := c.Done.Text; of == arrow.PrimitiveTypes.Float32 && got != want || of == arrow.PrimitiveTypes.Float64 &&
				got != "" {
				t.Errorf("%s of %d decimals: %q, want %q", of, decimals, got, want)
			}
		}
	}
}
