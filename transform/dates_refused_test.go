package transform

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestDatesThatAreRefused(t *testing.T) {
	at := "2024-01-01"
	for _, c := range []struct {
		m    *Date
		want string
	}{
		{&Date{}, "must have one of round, shift and age, got 0"}, {&Date{Round: "month", Age: &at}, "got 2 of them"},
		{&Date{Round: "decade"}, "round"},
		{&Date{Shift: ptr(0), By: "b", Scope: "p"}, "between 1 and 36525 days, got 0"},
		{&Date{Shift: ptr(5), Scope: "p"}, "by: must be given"}, {&Date{Shift: ptr(5), By: "b"}, "scope: must be given"},
		{&Date{Shift: ptr(5), By: "a", Scope: "p"}, "by: must be another column"},
		{&Date{Round: "year", By: "b"}, "by: must be left out"}, {&Date{Round: "year", Top: ptr(80)}, "top: needs age"},
		{&Date{Round: "year", Breaks: []float64{0, 1}}, "breaks: needs age"},
		{&Date{Age: ptr("2023-02-29")}, "age: must be a date"}, {&Date{Age: ptr("2023-02")}, "age: must be a date"},
		{&Date{Age: &at, Top: ptr(0)}, "top: must be between"},
		{&Date{Age: &at, Top: ptr(80), Breaks: []float64{0, 1}}, "top: must be left out"},
		{&Date{Age: &at, Breaks: []float64{1}}, "breaks: must have at least 2"},
		{&Date{Round: "year", Zone: "Europe/Nowhere"}, "zone: must be the name"},
		{&Date{Round: "year", Unit: "hours"}, "unit"},
	} {
		c.m.Columns = []string{"a"}
		var all []string
		for _, p := range c.m.Check() {
			all = append(all, p.Path+": "+p.Text)
		}
		if !strings.Contains(strings.Join(all, "; "), c.want) {
			t.Errorf("%+v: %v, want %s", c.m, all, c.want)
		}
	}
	for _, c := range []struct {
		m    *Date
		of   arrow.DataType
		want string
	}{
		{toMiddle("year"), arrow.PrimitiveTypes.Int64, "give their unit"},
		{&Date{Round: "year", Unit: "days"}, arrow.FixedWidthTypes.Date32, "must have no unit"},
		{toMiddle("year"), arrow.FixedWidthTypes.Boolean, "must hold dates, moments or whole numbers with a unit, or text"},
		{&Date{Shift: ptr(4), By: "b", Scope: "p"}, text64,
			"must hold dates, moments or whole numbers with a unit, got string"},
	} {
		c.m.Columns = []string{"a"}
		f := microdata.Field{Name: "a", Type: c.of}
		_,
			err := NewChain([]Spec{mask(c.m)},
			Setup{
				Key: testKey(t, 5),
				Columns: []ColumnInfo{{Name: "a", Field: f, Days: InDays([]Spec{mask(c.m)}, f)},
					{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: text64}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v of %s: %v", c.m, c.of, err)
		}
	}
	shift := &Date{Columns: []string{"a"}, Shift: ptr(4), By: "b", Scope: "p"}
	if !ReadsHidden(shift) || Warnings([]Spec{mask(shift)}, "a") == nil || ReadsHidden(toMiddle("year")) ||
		Warnings([]Spec{mask(toMiddle("year"))}, "a") != nil || Warnings([]Spec{mask(shift)}, "b") != nil {
		t.Error("what a shift declares")
	}
	if ps := CheckSpecs([]Spec{mask(toMiddle("year")), mask(shift)}); len(ps) != 1 ||
		!strings.Contains(ps[0].Text, "must not be changed before the shift") {
		t.Errorf("rounded before: %v", ps)
	}
	if ps := CheckSpecs([]Spec{mask(shift), mask(toMiddle("year"))}); len(ps) != 0 {
		t.Errorf("rounded behind: %v", ps)
	}
	day := microdata.Field{Name: "a", Type: arrow.FixedWidthTypes.Date32}
	recode := &Recode{Columns: []string{"a"}, Map: map[string]string{"x": "y"}}
	if InDays([]Spec{mask(toMiddle("year")), mask(recode)}, day) || InDays(nil, day) ||
		InDays([]Spec{mask(&Noise{Columns: []string{"a"}, SD: percent(5)})}, day) {
		t.Error("a mask that does not compute with dates takes them for days")
	}
}
