package transform

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// computingMasks returns masks of each kind that computes, for the given columns.
func computingMasks(columns ...string) map[string][]Spec {
	noise := mask(&Noise{Columns: columns, SD: amount(2)})
	return map[string][]Spec{
		"noise":  {noise},
		"redraw": {noise, mask(&Truncate{Columns: columns, Lower: ptr(0.0), Mode: "redraw"})},
		"clip":   {mask(&Truncate{Columns: columns, Lower: ptr(0.0)})},
		"round":  {mask(&Round{Columns: columns, Base: ptr(5.0)})},
		"bias":   {mask(&Bias{Columns: columns, Phi: ptr(0.1)})},
	}
}

// A column that does not exist or is not numeric is refused by every mask that computes, at any
// place of its list.
func TestColumnsThatCannotBeMasked(t *testing.T) {
	for _, columns := range [][]string{{"z"}, {"z", "a"}, {"a", "z"}, {"text", "a"}, {"a", "text"}} {
		for name, masks := range computingMasks(columns...) {
			setup := testSetup(t, floats(0, 1, 2, 3))
			setup.Columns = append(setup.Columns,
				ColumnInfo{Name: "text", Index: 1, Field: microdata.Field{Name: "text", Type: arrow.BinaryTypes.String}})
			want := `there is no column "z"`
			if slices.Contains(columns, "text") {
				want = `column "text" must be numeric, got type string`
			}
			_, err := NewChain(masks, setup)
			wants(t, name, err, want)
		}
	}
}

// absent returns a block of ten records in which one column has no values.
func absent(t *testing.T, index int) (Setup, func() *microdata.Block) {
	columns := swapData(10, 4, 2, 3)
	return testSetup(t, columns...), func() *microdata.Block {
		b := block(0, 10, columns...)
		b.Columns[index].Original = microdata.Vector{}
		return b
	}
}

// A block without the numbers of a column is refused by every step that computes with them, at any
// place of the chain, and in a survey too.
func TestBlocksWithoutNumbers(t *testing.T) {
	const want = `column "a": must be in Numbers form to be masked`
	setup, blocks := absent(t, 0)
	for name, masks := range computingMasks("a") {
		wants(t, name, chain(t, setup, masks...).Apply(blocks()), want)
		// After a mask of another column.
		other := mask(&Round{Columns: []string{"b"}, Base: ptr(7.0)})
		other.Name = "first"
		behind := append([]Spec{other}, masks...)
		wants(t, name+" behind another", chain(t, setup, behind...).Apply(blocks()), want)
		// In replicates with shared leading masks, these masks are applied once.
		pair := []*Chain{chain(t, setup, masks...), chain(t, setup, append(slices.Clone(masks), other)...)}
		for i, r := range Replicates(pair, 1) {
			wants(t, name+" of replicates", r.Apply(blocks()), want)
			if i == 0 && r.Common != len(masks) {
				t.Errorf("%s: %d masks are shared", name, r.Common)
			}
		}
		// In the survey of a later swap that moves the column. If the swap does not use the column,
		// its survey ignores these masks.
		swap := func(column string) *Chain {
			m := mask(&Swap{Keys: []string{"b"}, Attribute: "d", Columns: []string{column}, Rate: ptr(0.5), Scope: "dataset"})
			return chain(t, setup, append(slices.Clone(masks), m)...)
		}
		wants(t, name+" in a survey", swap("a").Survey(blocks()), want)
		if err := swap("c").Survey(blocks()); err != nil {
			t.Errorf("%s in the survey of another column: %v", name, err)
		}
	}
}

// A block without a column that a swap reads is refused: keys and attribute, by the swap and by the
// steps after it, within windows and over the data.
func TestBlocksWithoutKeys(t *testing.T) {
	const want = "the block does not hold a column that the swap reads"
	for index := 1; index <= 3; index++ {
		setup, blocks := absent(t, index)
		window, dataset := chain(t, setup, mask(swapMask("random", "", 1))),
			chain(t, setup, mask(swapMask("random", "dataset", 1)))
		wants(t, "window", window.Apply(blocks()), "masks[0].swap: "+want)
		wants(t, "survey", dataset.Survey(blocks()), "masks[0].swap: "+want)
		wants(t, "displacement in windows", window.Displacer().Apply(blocks()), want)
		d := dataset.Displacer()
		wants(t, "survey of displacement", d.Survey(blocks()), want)
		wants(t, "displacement", d.Apply(blocks()), want)
	}
}

// A survey comes first, once, and contains the records that are masked later.
func TestSurveysOutOfPlace(t *testing.T) {
	columns := swapData(40, 4, 2, 3)
	setup := testSetup(t, columns...)
	masks := []Spec{mask(swapMask("random", "dataset", 1))}
	c := chain(t, setup, masks...)
	wants(t, "before it", c.Apply(block(0, 40, columns...)), "needs a survey of all records first")
	surveyed(t, c, 40, columns...)
	wants(t, "after its end", c.Survey(block(0, 40, columns...)), "survey: has ended already")
	// A record of the survey was exchanged with another and is missing in the second pass.
	released := apply(t, c, block(0, 40, columns...)).Columns[0].Out().Values
	for row := 1; row < 40; row++ {
		if released[row] == columns[0].Values[row] {
			continue
		}
		b := block(0, 40, columns...)
		b.Places = make([]int64, 40)
		for i := range b.Places {
			b.Places[i] = int64(i)
			if i >= row {
				b.Places[i]++
			}
		}
		wants(t, "a record is gone", c.Apply(b),
			fmt.Sprintf("masks[0].swap: record %d of stream 0, which the first pass saw, is gone", row))
	}
	// The expectation of exchanges refuses records with other keys than in the survey.
	d := chain(t, setup, masks...).Displacer()
	if err := d.Survey(block(0, 40, columns...)); err != nil {
		t.Fatal(err)
	}
	d.EndSurvey()
	if err := d.Apply(block(0, 40, columns...)); err != nil {
		t.Error(err)
	}
	for _, row := range []int{0, 39} {
		other := swapData(40, 4, 2, 3)
		other[1].Values[row] = 77
		if err := d.Apply(block(0, 40, other...)); err == nil {
			t.Errorf("record %d with other keys passes", row)
		}
	}
	empty := new(microdata.Block)
	empty.Reset(0, 0, 0, 4)
	if err := d.Apply(empty); err != nil {
		t.Error(err)
	}
	if err := c.Apply(empty); err != nil {
		t.Error(err)
	}
}

// A block of a file starts at a multiple of the window, a block of a stream anywhere.
func TestWindowsStartAtMultiples(t *testing.T) {
	columns := swapData(40, 4, 2, 3)
	setup := testSetup(t, columns...)
	setup.Window = 10
	c := chain(t, setup, mask(swapMask("random", "", 1)))
	wants(t, "a file", c.Apply(block(5, 25, columns...)),
		"a block must start at a multiple of the window of 10 records, got record 5")
	b := block(5, 25, columns...)
	b.Scope = "topic"
	if err := c.Apply(b); err != nil {
		t.Error(err)
	}
	if err := c.Apply(block(30, 40, columns...)); err != nil {
		t.Error(err)
	}
}

// The law of a column without masks is the value itself.
func TestLawOfAnUntouchedColumn(t *testing.T) {
	columns := swapData(3, 4, 2, 3)
	c := chain(t, testSetup(t, columns...), mask(&Noise{Columns: []string{"b"}, SD: amount(2)}))
	law, ok := c.Law("a")
	if !ok || !law.Fixed() {
		t.Fatal("a column without masks must have a law without draws")
	}
	shift, square := law.Moments(5)
	low, high := law.Reach(5)
	least, most, step := law.Support()
	if shift != 0 || square != 0 || low != 5 || high != 5 || !math.IsInf(least, -1) || !math.IsInf(most, 1) || step != 0 {
		t.Error(shift, square, low, high, least, most, step)
	}
	var p [3]float64
	law.BelowEach([]float64{4, 5, 6})(5, p[:])
	if p != [3]float64{1, 1, 0} || law.Below(5, 5) != 1 || law.Below(5.5, 5) != 0 {
		t.Error(p)
	}
	if noisy, _ := c.Law("b"); noisy.Fixed() {
		t.Error("noise is drawn")
	}
	setup := testSetup(t, columns...)
	setup.Columns[0].Field.Type = arrow.BinaryTypes.String
	if _, ok := chain(t, setup, mask(swapMask("random", "", 1))).Law("a"); ok {
		t.Error("a text has no law")
	}
}

// The numbers of changes of several chains of one run are added, mask by mask.
func TestResumeAddsUp(t *testing.T) {
	columns := swapData(3, 4, 2, 3)
	c := chain(t, testSetup(t, columns...), mask(&Noise{Columns: []string{"a"}, SD: amount(200)}),
		mask(&Round{Columns: []string{"b"}, Base: ptr(1e6)}))
	c.Resume([]int64{5, 7}, 3, nil)
	c.Resume([]int64{10, 20}, 2, microdata.Bitmap{3})
	if touched := c.Touched(); touched[0].Records != 15 || touched[1].Records != 27 || c.Unidentified() != 5 {
		t.Error(touched, c.Unidentified())
	}
	apply(t, c, block(0, 3, columns...))
	if touched := c.Touched(); touched[0].Records != 18 {
		t.Error(touched)
	}
}

// Which masks of a list mix records does not depend on their order.
func TestMixingAnywhere(t *testing.T) {
	noise, swap := mask(&Noise{Columns: []string{"a"}, SD: amount(2)}), mask(swapMask("random", "", 1))
	for _, c := range []struct {
		masks []Spec
		want  bool
	}{{nil, false}, {[]Spec{noise}, false}, {[]Spec{swap}, true}, {[]Spec{noise, swap}, true},
		{[]Spec{swap, noise}, true}} {
		if got := AnyMixesRecords(c.masks); got != c.want {
			t.Errorf("%v: %v", c.masks, got)
		}
	}
	columns := swapData(200, 4, 2, 3)
	setup := testSetup(t, columns...)
	whole := chain(t, setup, noise, swap)
	rest, err := whole.Unmixed("a")
	if err != nil {
		t.Fatal(err)
	}
	want := apply(t, chain(t, setup, noise), block(0, 200, columns...)).Columns[0].Out().Values
	if got := apply(t, rest, block(0, 200, columns...)).Columns[0].Out().Values; !slices.Equal(got, want) {
		t.Error("without the swap it is the noise")
	}
}

// A Displacer gives results for the numeric columns that a swap moves. If the keys are masked
// before, it reports that the exchanges of these columns are unknown.
func TestWhatADisplacerSpeaksOf(t *testing.T) {
	columns := append(swapData(60, 4, 2, 3), floats(0, repeat(3, 60)...))
	setup := testSetup(t, columns...)
	swap := swapMask("random", "", 1)
	swap.Columns = []string{"a", "e"}
	noise := mask(&Noise{Columns: []string{"b"}, SD: amount(2)})
	other := Spec{
		Name: "other", Params: &Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(1.0)}}
	for _, c := range []struct {
		masks                []Spec
		columns, approximate []int
	}{
		{[]Spec{mask(swap)}, []int{0, 4}, nil},
		{[]Spec{mask(swap), noise}, []int{0, 4}, nil},
		{[]Spec{noise, mask(swap)}, []int{0, 4}, []int{0, 4}},
		{[]Spec{mask(swap), noise, other}, []int{0, 4}, []int{0}},
	} {
		d := chain(t, setup, c.masks...).Displacer()
		if got := d.Columns(); !slices.Equal(got, c.columns) {
			t.Errorf("%v: of columns %v", c.masks, got)
		}
		if got := d.Approximate(); !slices.Equal(got, c.approximate) {
			t.Errorf("%v: not of columns %v", c.masks, got)
		}
	}
	if chain(t, setup, noise).Displacer() != nil {
		t.Error("nothing is moved")
	}
	setup.Columns[0].Field.Type, setup.Columns[4].Field.Type = arrow.BinaryTypes.String, arrow.BinaryTypes.String
	if chain(t, setup, mask(swap)).Displacer() != nil {
		t.Error("texts have no distance")
	}
}

// If a null is moved into numbers without nulls, a bitmap is created; otherwise there is none.
func TestNullsThatComeIn(t *testing.T) {
	numbers := &microdata.Vector{Values: []float64{1, 2, 3}}
	core.PlaceNumbers(numbers, []int32{0}, []coding.Cell{{Number: 9}})
	if numbers.Valid != nil || !slices.Equal(numbers.Values, []float64{9, 2, 3}) {
		t.Error(numbers)
	}
	core.PlaceNumbers(numbers, []int32{2}, []coding.Cell{{Null: true}})
	core.PlaceNumbers(numbers, []int32{1}, []coding.Cell{{Number: 8}})
	for i := range 3 {
		if numbers.Valid.Has(i) != (i < 2) {
			t.Error(numbers)
		}
	}
	core.PlaceNumbers(numbers, []int32{2}, []coding.Cell{{Number: 7}})
	if !numbers.Valid.Has(2) || !slices.Equal(numbers.Values, []float64{9, 8, 7}) {
		t.Error(numbers)
	}
}
