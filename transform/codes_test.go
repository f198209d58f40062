package transform

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// After a mask, a label stays if its code still means the same.
func TestLabelsFollowMasks(t *testing.T) {
	labels := map[float64]string{-9: "refused", 0: "none", 1: "one", 2: "two", 85: "eighty-five", 90: "ninety"}
	field := microdata.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64,
		Described: &microdata.Description{Label: "of the variable", Missing: []microdata.MissingCodes{{From: -9, To: -9}}}}
	for x, label := range labels {
		field.Described.Values = append(field.Described.Values,
			microdata.ValueLabel{Value: microdata.Code{Number: x}, Label: label})
	}
	tag := microdata.ValueLabel{Value: microdata.Code{Tag: 'a'}, Label: "tagged"}
	field.Described.Values = append(field.Described.Values, tag)
	columns := []string{"a"}
	for name, c := range map[string]struct {
		mask   Params
		kept   []float64
		tagged bool
	}{
		"noise":    {&Noise{Columns: columns, SD: new(Amount)}, nil, false},
		"round":    {&Round{Columns: columns}, nil, false},
		"swap":     {&Swap{Columns: columns}, []float64{-9, 0, 1, 2, 85, 90}, true},
		"shuffle":  {&Shuffle{Columns: columns}, []float64{-9, 0, 1, 2, 85, 90}, true},
		"suppress": {&Suppress{Keys: columns}, []float64{-9, 0, 1, 2, 85, 90}, true},
		"pram": {&PRAM{Columns: columns, Keep: new(.9), Categories: []string{"1", "2"}},
			[]float64{-9, 0, 1, 2, 85, 90}, true},
		"pram, other": {&PRAM{Columns: columns, Keep: new(.9), Categories: []string{"1", "2"}, Other: new("2")},
			[]float64{-9, 0, 1, 85, 90}, true},
		"topcode":       {&Topcode{Columns: columns, Upper: new(85.0), Lower: new(0.0)}, []float64{1, 2}, true},
		"topcode, mean": {&Topcode{Columns: columns, Upper: new(85.0), Replace: "mean"}, nil, false},
		"topcode, data": {&Topcode{Columns: columns, UpperPercentile: new(95.0)}, nil, false},
		"recode": {
			&Recode{Columns: columns, Map: map[string]string{"0": "0", "1": "2", "2": "2", "85": "90", "90": "85"}},
			[]float64{0}, true},
		"recode, other": {&Recode{Columns: columns, Map: map[string]string{"0": "0", "1": "1"}, Other: new("1")},
			[]float64{0}, true},
		"recode to a class": {&Recode{Columns: columns, Breaks: []float64{0, 1, 90}, Labels: []string{"1", "2"}}, nil, true},
	} {
		f, _ := FieldAfter([]Spec{{Params: c.mask}}, field)
		want := map[float64]bool{}
		for _, x := range c.kept {
			want[x] = true
		}
		got, tagged := map[float64]bool{}, false
		for _, v := range f.Described.Values {
			if v == tag {
				tagged = true
				continue
			}
			got[v.Value.Number] = true
			if v.Label != labels[v.Value.Number] || !want[v.Value.Number] {
				t.Errorf("%s: %v is still called %q", name, v.Value.Number, v.Label)
			}
		}
		if len(got) != len(want) || tagged != c.tagged || (len(f.Described.Missing) == 1) != want[-9] ||
			f.Described.Label == "" {
			t.Errorf("%s: kept %v, tagged %v, %v", name, got, tagged, f.Described.Missing)
		}
	}
	// A code that is declared as missing is out of every mask's reach, unless it is released as null.
	for _, null := range []bool{false, true} {
		missing := field
		missing.Missing = &microdata.Missing{Codes: []string{"-9"}, Null: null}
		f, _ := FieldAfter([]Spec{{Params: &Noise{Columns: columns, SD: new(Amount)}}}, missing)
		if got := f.Described.LabelOf(microdata.Code{Number: -9}); (got == "refused") == null ||
			len(f.Described.Values) > 1 || (len(f.Described.Missing) == 1) == null {
			t.Errorf("a declared code, as null %v: %q of %v", null, got, f.Described.Values)
		}
	}
	if len(field.Described.Values) != 7 {
		t.Error("the source's description has changed")
	}
	if f, _ := FieldAfter([]Spec{{Params: &Noise{Columns: []string{"b"}}}}, field); f.Described != field.Described {
		t.Error("a mask of another column has taken labels away")
	}
}
