package tabulate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// record is one respondent in the form that the reference uses.
type record struct {
	region, nace string
	x, w         float64
	holding      string
	requested    bool
}

var (
	regions = tables.FromLevels("nuts", [][]string{{"N", "n1"}, {"N", "n2"}, {"S", "s1"}, {"S", "s2"}, {"S", "s3"}})
	tourism = tables.FromLevels("tourism",
		[][]string{{"coast", "n1"}, {"coast", "s3"}, {"inland", "n2"}, {"inland", "s1"}, {"inland", "s2"}})
	naces = tables.FromLevels("nace", [][]string{{"A", "A1", "A11"}, {"A", "A1", "A12"}, {"A", "A2"}, {"B", "B1"}})
)

// members are the leaves of every code, written out by hand.
var members = map[string][]string{
	"total": {"n1", "n2", "s1", "s2", "s3", "A11", "A12", "A2", "B1"},
	"N":     {"n1", "n2"}, "S": {"s1", "s2", "s3"}, "coast": {"n1", "s3"}, "inland": {"n2", "s1", "s2"},
	"A": {"A11", "A12", "A2"}, "A1": {"A11", "A12"}, "B": {"B1"},
}

func in(code, leaf string) bool { return code == leaf || slices.Contains(members[code], leaf) }

func linked(t *testing.T) *tables.Set {
	t.Helper()
	region, p1 := tables.NewDimension("region", "", regions, tourism)
	nace, p2 := tables.NewDimension("nace", "", naces)
	onlyRegion, p3 := tables.NewDimension("region", "", tourism)
	set, p4 := tables.NewSet(
		tables.Table{Name: "both", Dimensions: []*tables.Dimension{region, nace}},
		tables.Table{Name: "region", Dimensions: []*tables.Dimension{onlyRegion}},
		tables.Table{Name: "nace", Dimensions: []*tables.Dimension{nace}})
	if n := len(p1) + len(p2) + len(p3) + len(p4); n > 0 {
		t.Fatal(p1, p2, p3, p4)
	}
	return set
}

func draw(rng *rand.Rand, n int, negative bool) []record {
	regionLeaves, naceLeaves := []string{"n1", "n2", "s1", "s2", "s3"}, []string{"A11", "A12", "A2", "B1"}
	out := make([]record, n)
	for i := range out {
		x := math.Round(100*math.Exp(3*rng.NormFloat64())) / 100
		if negative && rng.IntN(4) == 0 {
			x = -x
		}
		out[i] = record{regionLeaves[rng.IntN(5)], naceLeaves[rng.IntN(4)], x, 1 + float64(rng.IntN(30))/10,
			fmt.Sprint("h", rng.IntN(25)), rng.IntN(9) == 0}
	}
	return out
}

func columns(a *Accumulator, records []record, o Options, weighted bool) Records {
	r := Records{Codes: make([][]int32, len(a.Variables()))}
	for _, x := range records {
		for v, d := range a.Variables() {
			n, _ := d.Node(map[string]string{"region": x.region, "nace": x.nace}[d.Name])
			r.Codes[v] = append(r.Codes[v], int32(n))
		}
		r.Request = append(r.Request, x.requested)
		if !o.Counts {
			r.Values = append(r.Values, x.x)
		}
		if weighted {
			r.Weights = append(r.Weights, x.w)
		}
		if o.Holdings {
			r.Holding = append(r.Holding, x.holding)
		}
	}
	return r
}

// reference computes one cell from the records that have its codes.
func reference(records []record, o Options, weighted bool, codes map[string]string) (value, gross float64, contributors,
	negative int64, largest []tables.Contribution, requested float64) {
	scale := math.Pow10(o.Decimals)
	own, requests := map[string]float64{}, map[string]bool{}
	for _, r := range records { // a contributor who requests it in one record has requested it
		requests[r.holding] = requests[r.holding] || r.requested
	}
	for i, r := range records {
		if c, ok := codes["region"]; ok && !in(c, r.region) {
			continue
		}
		if c, ok := codes["nace"]; ok && !in(c, r.nace) {
			continue
		}
		x, w := r.x, 1.0
		if o.Counts {
			x = 1
		}
		if weighted {
			w = r.w
		}
		units := math.RoundToEven(x * w * scale)
		value += units
		gross += math.Abs(units)
		if o.Holdings {
			own[r.holding] += units
			continue
		}
		own[fmt.Sprint(i)] = 0
		if units < 0 {
			negative++
		}
		x = math.RoundToEven(x * scale)
		if r.requested {
			requested = max(requested, math.Abs(x))
		}
		if o.Absolute {
			x = math.Abs(x)
		}
		largest = append(largest, tables.Contribution{Value: x, Weight: w})
	}
	if o.Holdings {
		for h, x := range own {
			if requests[h] {
				requested = max(requested, math.Abs(x))
			}
			if x < 0 {
				negative++
			}
			if o.Absolute {
				x = math.Abs(x)
			}
			largest = append(largest, tables.Contribution{Value: x, Weight: 1, Who: tables.IdentityOf(h)})
		}
	}
	sort.Slice(largest, func(i, j int) bool {
		a, b := largest[i], largest[j]
		return a.Value > b.Value || a.Value == b.Value && (a.Weight > b.Weight || a.Weight == b.Weight && a.Who > b.Who)
	})
	return value, gross, int64(len(own)), negative, largest[:min(len(largest), o.Most)], requested
}

func TestCellsEqualThoseOfTheirRecords(t *testing.T) {
	set := linked(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for trial, o := range []Options{
		{Counts: true, Most: 2}, {Decimals: 2, Most: 3}, {Decimals: 2, Most: 3, Holdings: true},
		{Decimals: 1, Most: 1, Absolute: true}, {Decimals: 1, Most: 4, Absolute: true, Holdings: true},
	} {
		for _, weighted := range []bool{false, true} {
			records := draw(rng, 60, trial >= 1)
			a, problems := New(set, o)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if err := a.Add(columns(a, records, o, weighted)); err != nil {
				t.Fatal(err)
			}
			c, err := a.Cells()
			if err != nil {
				t.Fatal(err)
			}
			for cell := range set.Cells() {
				table, nodes := set.Home(cell)
				codes := map[string]string{}
				for k, n := range nodes {
					d := set.Tables[table].Dimensions[k]
					codes[d.Name] = d.Codes[n]
				}
				value, gross, contributors, negative, largest, requested := reference(records, o, weighted, codes)
				got := []any{c.Value[cell], c.Gross[cell], c.Contributors[cell], c.Requested[cell]}
				if want := []any{value, gross, contributors, requested}; !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, weights %v, %s: got %v, want %v", o, weighted, set.Name(cell), got, want)
				}
				if c.Negative != nil && c.Negative[cell] != negative {
					t.Errorf("%+v, %s: %d negative contributions, want %d", o, set.Name(cell), c.Negative[cell], negative)
				}
				if l := c.Largest(cell); len(l) != len(largest) || len(l) > 0 && !reflect.DeepEqual(l, largest) {
					t.Errorf("%+v, %s: largest %v, want %v", o, set.Name(cell), l, largest)
				}
			}
			if p := set.CheckSums(c.Value, 0); len(p) > 0 {
				t.Error(p)
			}
		}
	}
}

// The cells are identical to the bit, however the records are split, ordered and merged.
func TestMergeIsExact(t *testing.T) {
	set := linked(t)
	rng := rand.New(rand.NewPCG(2, 2))
	for _, o := range []Options{{Decimals: 2, Most: 2}, {Decimals: 2, Most: 2, Holdings: true}} {
		records := draw(rng, 500, true)
		var first *tables.Cells
		for parts := 1; parts < 6; parts++ {
			whole, _ := New(set, o)
			for range parts {
				part, _ := New(set, o)
				n := len(records) / parts
				if err := part.Add(columns(part, records[:n], o, true)); err != nil {
					t.Fatal(err)
				}
				records = append(records[n:], records[:n]...)
				if err := whole.Merge(part); err != nil {
					t.Fatal(err)
				}
			}
			rest := records[:len(records)%parts]
			if err := whole.Add(columns(whole, rest, o, true)); err != nil {
				t.Fatal(err)
			}
			c, err := whole.Cells()
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = c
			} else if !reflect.DeepEqual(c, first) {
				t.Fatalf("%+v: %d parts give other cells than one", o, parts)
			}
			rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		}
	}
}

func TestBlocksAreReadAsReleased(t *testing.T) {
	set := linked(t)
	o := Options{Decimals: 1, Most: 2, Holdings: true}
	a, _ := New(set, o)
	region := array.NewStringBuilder(memory.DefaultAllocator)
	region.AppendValues([]string{"n1", "n1", "s3", "elsewhere", "S", "n1", "n2"}, nil)
	nace := array.NewDictionaryBuilder(memory.DefaultAllocator,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for _, s := range []string{"A2", "A11", "B1", "A2", "A2", "A2", ""} {
		if s == "" {
			nace.AppendNull()
		} else if err := nace.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	var b microdata.Block
	b.Reset(0, 0, 7, 4)
	b.Columns[0].Array, b.Columns[1].Array = region.NewArray(), nace.NewArray()
	b.Columns[2].Original = microdata.Vector{Values: []float64{1, 2, 3, 4, 5, 6, 7}}
	b.Columns[2].Mutable().Values[0] = 10.04 // a mask has changed the values
	b.Columns[3].Original = microdata.Vector{Values: []float64{501, 501, 502, 1, 1, 1, 1}}
	b.Reject(5, "x", "is not to be released")
	if err := a.AddBlock(&b, Columns{Variables: []int{0, 1}, Value: 2, Weight: -1, Holding: 3, Request: -1}); err != nil {
		t.Fatal(err)
	}
	if got, want := a.Refused(), (Refused{Code: 3}); got != want {
		t.Errorf("refused %+v, want %+v: an unknown code, one that is a total, a null", got, want)
	}
	if got, want := a.Unknown(), []int64{2, 1}; !slices.Equal(got, want) {
		t.Errorf("unknown codes by variable %v, want %v", got, want)
	}
	c, err := a.Cells()
	if err != nil {
		t.Fatal(err)
	}
	for codes, want := range map[string][2]float64{"n1 A": {120, 1}, "n1 A2": {100, 1}, "total total": {150, 2},
		"coast B": {30, 1}, "n2 A": {0, 0}} {
		cell, err := set.At(0, strings.Fields(codes)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]float64{c.Value[cell], float64(c.Contributors[cell])}; got != want {
			t.Errorf("%s: value and contributors %v, want %v", codes, got, want)
		}
	}
}

func TestRecordsThatCannotBeTabulated(t *testing.T) {
	set := linked(t)
	a, _ := New(set, Options{Holdings: true, MaxEntries: 3})
	n1, _ := a.Variables()[0].Node("n1")
	a2, _ := a.Variables()[1].Node("A2")
	one := func(x, w float64, holding string) error {
		return a.Add(Records{Codes: [][]int32{{int32(n1)}, {int32(a2)}}, Values: []float64{x}, Weights: []float64{w},
			Holding: []string{holding}})
	}
	for _, bad := range []error{one(math.NaN(), 1, "a"), one(math.Inf(1), 1, "a"), one(1, 0.5, "a"),
		one(1, math.NaN(), "a"), one(1, 1, "")} {
		if bad != nil {
			t.Fatal(bad)
		}
	}
	if got, want := a.Refused(), (Refused{Value: 2, Weight: 2, Holder: 1}); got != want {
		t.Errorf("refused %+v, want %+v", got, want)
	}
	if err := one(1e17, 1, "a"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("1e17: %v", err)
	}
	for _, h := range []string{"a", "b", "c", "a"} {
		if err := one(8e15, 1, h); err != nil {
			t.Fatal(err)
		}
	}
	if err := one(1, 1, "d"); !errors.Is(err, ErrTooMany) {
		t.Errorf("a fourth holding of three: %v", err)
	}
	if _, err := a.Cells(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a sum of 3.2e16: %v", err)
	}
	b, _ := New(set, Options{})
	if err := a.Merge(b); err == nil {
		t.Error("accumulators of different options were merged")
	}
	if _, p := New(set, Options{Decimals: 10, Most: -1}); len(p) != 2 {
		t.Errorf("problems: %v", p)
	}
}

func BenchmarkAdd(b *testing.B) {
	region, _ := tables.NewDimension("region", "", regions, tourism)
	nace, _ := tables.NewDimension("nace", "", naces)
	set, _ := tables.NewSet(tables.Table{Name: "t", Dimensions: []*tables.Dimension{region, nace}})
	o := Options{Decimals: 2, Most: 3}
	a, _ := New(set, o)
	records := columns(a, draw(rand.New(rand.NewPCG(3, 3)), 100_000, false), o, false)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Add(records); err != nil && !errors.Is(err, ErrTooLarge) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/record")
}
