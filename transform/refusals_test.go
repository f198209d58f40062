package transform

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Every kind of mask refuses an empty list of columns, a column listed twice at any two places, and
// a column without a name.
func TestEveryKindRefusesWrongColumns(t *testing.T) {
	for _, k := range Kinds() {
		if LeavesOut(k.New()) {
			continue // it applies to whole records
		}
		for _, c := range []struct {
			columns []string
			want    string // "": the columns cause no error
		}{
			{nil, "columns: must name at least one "},
			{[]string{"a"}, ""},
			{[]string{"a", "b", "c"}, ""},
			{[]string{"a", "a", "b"}, `columns[1]: must not repeat a column, got "a" again`},
			{[]string{"b", "a", "a"}, `columns[2]: must not repeat a column, got "a" again`},
			{[]string{"a", "b", "a"}, `columns[2]: must not repeat a column, got "a" again`},
			{[]string{"", "a"}, `columns[0]: must be the name of a column, got ""`},
			{[]string{"a", ""}, `columns[1]: must be the name of a column, got ""`},
		} {
			p := k.New()
			if Weighs(p) && c.want == "" && len(c.columns) > 1 {
				continue // one column of weights
			}
			if k.Name == "donut" && c.want == "" {
				continue // pairs of columns
			}
			field := ColumnsField(p)
			reflect.ValueOf(p).Elem().FieldByName(strings.ToUpper(field[:1]) + field[1:]).Set(reflect.ValueOf(c.columns))
			got := ""
			for _, problem := range p.Check() {
				if strings.HasPrefix(problem.Path, field) {
					got += "columns" + strings.TrimPrefix(problem.Error(), field)
				}
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%s of %q: got %q, want %q", k.Name, c.columns, got, c.want)
			}
		}
	}
}

// The error of a redraw names the mask before it, at any place, including the first.
func TestRedrawSaysWhatStandsBefore(t *testing.T) {
	round := mask(&Round{Columns: []string{"a"}, Decimals: ptr(0)})
	other := mask(&Round{Columns: []string{"b"}, Decimals: ptr(0)})
	for _, c := range []struct {
		masks []Spec
		want  string
	}{
		{[]Spec{redraw("a")}, "got no mask"},
		{[]Spec{other, redraw("a")}, "got no mask"},
		{[]Spec{round, redraw("a")}, "got round ([0])"},
		{[]Spec{other, round, redraw("a")}, "got round ([1])"},
		{[]Spec{round, other, redraw("a")}, "got round ([0])"},
	} {
		if ps := CheckSpecs(c.masks); len(ps) != 1 || !strings.Contains(ps[0].Error(), c.want) {
			t.Errorf("got %v, want %q", ps, c.want)
		}
	}
}

// Bias takes the grid of its released values from the column's decimals, or else from its mean and
// SD. Without either it is refused, unless φ is 0.
func TestBiasNeedsAGrid(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		decimals int
		sd, mean float64
		phi      float64
		refused  bool
	}{
		{"decimals alone", 2, nan, nan, 0.1, false},
		{"mean and SD alone", -1, 3, 10, 0.1, false},
		{"both", 2, 3, 10, 0.1, false},
		{"nothing", -1, nan, nan, 0.1, true},
		{"no mean", -1, 3, nan, 0.1, true},
		{"no SD", -1, nan, 10, 0.1, true},
		{"nothing, and no bias", -1, nan, nan, 0, false},
	} {
		column := ColumnInfo{Name: "wage", Index: 0, Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64},
			Decimals: c.decimals, SD: c.sd,
			Mean: c.mean, Days: false}
		_,
			err := NewChain([]Spec{mask(&Bias{Columns: []string{"wage"}, Phi: &c.phi})},
			Setup{Key: testKey(t, 1), Columns: []ColumnInfo{column}})
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), `column "wage" needs decimals`) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The published text of rounding contains the step if the step is published, and otherwise no
// number.
func TestRoundSaysItsStep(t *testing.T) {
	for _, c := range []struct {
		params *Round
		names  []string
		want   string
	}{
		{&Round{Base: ptr(50.0)}, []string{"base"}, "rounding: to multiples of 50"},
		{&Round{Decimals: ptr(-2)}, []string{"decimals"}, "rounding: to multiples of 100"},
		{&Round{Decimals: ptr(1)}, []string{"decimals"}, "rounding: to multiples of 0.1"},
		{&Round{Base: ptr(50.0)}, nil, "rounding: to a step that is not published"},
		{&Round{Base: ptr(50.0)}, []string{"decimals"}, "rounding: to a step that is not published"},
		{&Round{Decimals: ptr(-2)}, []string{"base"}, "rounding: to a step that is not published"},
	} {
		if got := PublishingKind("round").Words(published(c.params, 0, c.names...), "a"); got != c.want {
			t.Errorf("%+v, %q published: %q, want %q", c.params, c.names, got, c.want)
		}
	}
}
