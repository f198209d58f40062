package labels

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A codebook has the labels of codes that released records have, in both forms of a column, and no others; labels of
// variables only where they are asked for.
func TestCodebook(t *testing.T) {
	number := func(x float64, label string) microdata.ValueLabel {
		return microdata.ValueLabel{Value: microdata.Code{Number: x}, Label: label}
	}
	sex := &microdata.Description{Label: "Sex", Measure: "nominal",
		Values:  []microdata.ValueLabel{number(-9, "refused"), number(1, "female"), number(2, "male")},
		Missing: []microdata.MissingCodes{{From: -9, To: -9}, {From: 90, To: 99}, {From: 5, To: 6}}}
	region := &microdata.Description{Label: "Region", Values: []microdata.ValueLabel{
		{Value: microdata.Code{Text: "N", IsText: true}, Label: "north"},
		{Value: microdata.Code{Text: "S", IsText: true}, Label: "south"}}}
	layout := &microdata.Layout{Release: []microdata.Output{
		{Field: microdata.Field{Name: "sex", Type: arrow.PrimitiveTypes.Float64, Described: sex}, Column: 0},
		{Field: microdata.Field{Name: "region", Type: arrow.BinaryTypes.String, Described: region}, Column: 1},
		{Field: microdata.Field{Name: "plain", Type: arrow.PrimitiveTypes.Float64}, Column: 0},
	}}
	c := Collect(layout)
	for _, values := range [][]float64{{1, 2, 95}, {-9, 7, 1}} {
		var b microdata.Block
		b.Reset(0, 0, 3, 2)
		b.Columns[0].Original = microdata.Vector{Values: values}
		texts := array.NewStringBuilder(memory.DefaultAllocator)
		texts.AppendValues([]string{"S", "N", "S"}, nil)
		b.Columns[1].Array = texts.NewArray()
		b.Reject(1, "", "dropped") // code 2, and north
		c.Add(&b)
	}
	for _, test := range []struct {
		choice Choice
		want   string
	}{
		{
			nil,
			"column,label,measure,code,meaning,missing\nsex,,nominal,,,\nsex,,,-9,refused,yes\nsex,,,1,female,\nsex,,,90 to 99,,yes\nregion,,,,,\nregion,,,S,south,\n"},
		{Choice{Variables}, "column,label,measure,code,meaning,missing\nsex,Sex,nominal,,,\nregion,Region,,,,\n"},
		{Choice{}, "column,label,measure,code,meaning,missing\nsex,,nominal,,,\n"},
	} {
		got, err := Codebook(c.Released(test.choice))
		if err != nil || string(got) != test.want {
			t.Errorf("%q: %v\n%s", test.choice, err, got)
		}
	}
	text, err := JSON(c.Released(nil))
	if want := `[{"name":"sex","measure":"nominal","values":[{"code":"-9","label":"refused"},{"code":"1","label":"female"}],"missing":["-9","90 to 99"]},{"name":"region","values":[{"code":"S","label":"south"}]}]`; err != nil || text != want {
		t.Errorf("%v\n%s", err, text)
	}
	layout.Release = layout.Release[2:]
	if none := Collect(layout); none != nil || none.Released(nil) != nil {
		t.Error("there is something to say of a column of which the source says nothing")
	}
}

// The codes of the last record and of the last column count like all others, and a column has labels of codes that it
// can have alone.
func TestLastCodes(t *testing.T) {
	text := func(code, label string) microdata.ValueLabel {
		return microdata.ValueLabel{Value: microdata.Code{Text: code, IsText: true}, Label: label}
	}
	number := func(x float64, label string) microdata.ValueLabel {
		return microdata.ValueLabel{Value: microdata.Code{Number: x}, Label: label}
	}
	tag := microdata.ValueLabel{Value: microdata.Code{Tag: 'a'}, Label: "refused"}
	layout := &microdata.Layout{Release: []microdata.Output{
		{
			Field: microdata.Field{Name: "n", Type: arrow.PrimitiveTypes.Float64,
				Described: &microdata.Description{
					Values: []microdata.ValueLabel{number(1, "one"), number(2, "two"), tag, text("x", "a text")}}}, Column: 0},
		{
			Field: microdata.Field{Name: "t", Type: arrow.BinaryTypes.String,
				Described: &microdata.Description{
					Values: []microdata.ValueLabel{number(1, "a number"), text("x", "ex"), text("y", "why"), text("z", "zed")}}},
			Column: 1},
	}}
	var b microdata.Block
	b.Reset(0, 0, 2, 2)
	b.Columns[0].Original = microdata.Vector{Values: []float64{1, 2}}
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	texts.AppendValues([]string{"x", "y"}, nil)
	b.Columns[1].Array = texts.NewArray()
	c := Collect(layout)
	none := c.Fresh()
	c.Add(&b)
	// Codes that the columns cannot have, as if they had occurred.
	c.codes[0].Add(tag.Value)
	c.codes[0].Add(microdata.Code{Text: "x", IsText: true})
	c.codes[1].AddNumber(1)
	got, err := Codebook(c.Released(nil))
	if want := "column,label,measure,code,meaning,missing\nn,,,,,\nn,,,1,one,\nn,,,2,two,\nt,,,,,\nt,,,x,ex,\nt,,,y,why,\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if list := none.Released(nil); list != nil {
		t.Errorf("a fresh collector has %v", list)
	}
	var nobody *Collector
	nobody.Add(&b)
	if nobody.Fresh() != nil || nobody.Look(&b) != nil || nobody.Released(nil) != nil {
		t.Error("what collects nothing has something")
	}
	tagged := Append(nil, nil, layout.Release[0].Field, c.codes[0], func(microdata.Code) bool { return true })
	if len(tagged) != 1 || len(tagged[0].Values) != 4 || tagged[0].Values[2].Code != ".a" {
		t.Errorf("%+v", tagged)
	}
}

// Codes of arrays: integers count by their numbers, other types have none.
func TestCodesOfArrays(t *testing.T) {
	d := &microdata.Description{
		Values: []microdata.ValueLabel{{Value: microdata.Code{Number: 0}, Label: "zero"},
			{Value: microdata.Code{Number: 1}, Label: "one"}, {Value: microdata.Code{Number: 2}, Label: "two"}}}
	layout := &microdata.Layout{Release: []microdata.Output{
		{Field: microdata.Field{Name: "i", Type: arrow.PrimitiveTypes.Int64, Described: d}, Column: 0},
		{Field: microdata.Field{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Described: d}, Column: 1},
		{Field: microdata.Field{Name: "carried", Type: arrow.PrimitiveTypes.Int64, Described: d}, Column: -1},
	}}
	var b microdata.Block
	b.Reset(0, 0, 3, 2)
	integers := array.NewInt64Builder(memory.DefaultAllocator)
	integers.AppendValues([]int64{2, 1, 0}, []bool{true, true, false})
	b.Columns[0].Array = integers.NewArray()
	truths := array.NewBooleanBuilder(memory.DefaultAllocator)
	truths.AppendValues([]bool{true, false, true}, nil)
	b.Columns[1].Array = truths.NewArray()
	b.Reject(1, "", "dropped")
	c := Collect(layout)
	c.Add(&b)
	got := c.Released(nil)
	if len(got) != 1 || got[0].Name != "i" || len(got[0].Values) != 1 ||
		got[0].Values[0] != (Value{Code: "2", Label: "two"}) {
		t.Errorf("%+v", got)
	}
}
