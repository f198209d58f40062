package transform

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestRecode(t *testing.T) {
	a := []string{"a"}
	regions := map[string]string{"Graz": "South", "Linz": "North", "": "nowhere"}
	up := map[string]string{"Graz": "Styria", "Styria": "Austria", "Linz": "Upper Austria", "Upper Austria": "Austria",
		"Austria": "Austria"}
	text := arrow.BinaryTypes.String
	coded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}
	for name, c := range map[string]struct {
		m    *Recode
		of   arrow.DataType
		json string
		want []string
	}{
		"a map": {&Recode{Map: regions}, text, `["Graz", null, "Linz", "", "Wien"]`,
			[]string{"South", "null", "North", "nowhere", "rejected"}},
		"with other": {&Recode{Map: regions, Other: ptr("rest")}, text, `["Wien", null, "Graz"]`,
			[]string{"rest", "null", "South"}},
		"a dictionary": {&Recode{Map: regions}, coded, `["Linz", null, "Graz", "Linz", "Wien"]`,
			[]string{"North", "null", "South", "North", "rejected"}},
		"large text": {&Recode{Map: regions}, arrow.BinaryTypes.LargeString, `["Graz", null]`,
			[]string{"South", "null"}},
		"views": {&Recode{Map: regions}, arrow.BinaryTypes.StringView, `["Graz", "Wien"]`,
			[]string{"South", "rejected"}},
		"no level": {&Recode{Map: up}, text, `["Graz", "Styria", "Linz"]`,
			[]string{"Styria", "Austria", "Upper Austria"}},
		"one step up": {&Recode{Map: up, Level: ptr(1)}, text, `["Graz", "Styria", "Austria"]`,
			[]string{"Styria", "Austria", "Austria"}},
		"two steps up": {&Recode{Map: up, Level: ptr(2)}, text, `["Graz", "Styria", "Linz"]`,
			[]string{"Austria", "Austria", "Austria"}},
		"beyond the root": {&Recode{Map: up, Level: ptr(9)}, text, `["Graz"]`, []string{"Austria"}},
		"truth": {&Recode{Map: map[string]string{"true": "yes", "false": "no"}}, arrow.FixedWidthTypes.Boolean,
			`[true, null, false]`, []string{"yes", "null", "no"}},
		"days": {&Recode{Map: map[string]string{"2020-02-01": "2020"}}, arrow.FixedWidthTypes.Date32,
			`["2020-02-01", "2020-02-02"]`, []string{"2020", "rejected"}},
		"numbers to text": {&Recode{Map: map[string]string{"1": "North", "2.0": "South"}}, arrow.PrimitiveTypes.Int16,
			`[2, 1, null, 3]`, []string{"South", "North", "null", "rejected"}},
		"decimals to text": {&Recode{Map: map[string]string{"1.50": "low"}}, &arrow.Decimal128Type{Precision: 9, Scale: 2},
			`["1.50", "1.51"]`, []string{"low", "rejected"}},
		"intervals": {&Recode{Breaks: []float64{0, 18, 65}}, arrow.PrimitiveTypes.Int8,
			`[0, 17, 18, 64, 65, 66, -1, null]`,
			[]string{"[0,18)", "[0,18)", "[18,65]", "[18,65]", "[18,65]", "rejected", "rejected", "null"}},
		"labels": {&Recode{Breaks: []float64{0, 18, 65}, Labels: []string{"minor", "adult"}, Other: ptr("else")},
			arrow.PrimitiveTypes.Float64, `[0, 17.99, 18, 65, 65.01, -0.5]`,
			[]string{"minor", "minor", "adult", "adult", "else", "else"}},
		"open at both ends": {&Recode{Breaks: []float64{18, 65}, Labels: []string{"minor", "adult", "old"}},
			arrow.PrimitiveTypes.Float64, `[-5, 17.99, 18, 64, 65, 1e300]`,
			[]string{"minor", "minor", "adult", "adult", "old", "old"}},
	} {
		c.m.Columns = a
		got, b := categories(t, []Spec{mask(c.m)}, c.of, c.json)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, r := range b.Rejects {
			if strings.ContainsAny(r.Reason, "0123456789") || strings.Contains(r.Reason, "Wien") {
				t.Errorf("%s: the reason contains a value: %q", name, r.Reason)
			}
		}
	}
}

// Numbers recoded to numbers keep the type of the column and its missing values.
func TestRecodeNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		m    *Recode
		want []float64
	}{
		"midpoints": {&Recode{Breaks: []float64{0, 10, 30}, Midpoints: true, Other: ptr("99")},
			[]float64{5, 5, 0, 20, 20, 20, 99, 99}},
		"a map": {&Recode{Map: map[string]string{"0": "0", "9": "1", "10": "2", "30": "3"}, Other: ptr("-1")},
			[]float64{0, 1, 0, 2, -1, 3, -1, -1}},
	} {
		c.m.Columns = []string{"a"}
		of := typed([]float64{0, 9, 7, 10, 29, 30, 31, -1}, []int{2}, arrow.PrimitiveTypes.Int32, 0)
		b := apply(t, chain(t, testSetup(t, of), mask(c.m)), block(0, 8, of))
		v := b.Columns[0].Out()
		if !slices.Equal(v.Values, c.want) || v.Valid.Has(2) || !v.Valid.Has(3) || len(b.Rejects) > 0 {
			t.Errorf("%s: %v (%v), want %v", name, v.Values, b.Rejects, c.want)
		}
	}
	for _, m := range []*Recode{
		{Breaks: []float64{0, 5}, Midpoints: true},     // 2.5 among integers
		{Map: map[string]string{"1": "70000"}},         // beyond the range of the type
		{Map: map[string]string{"1": "2", "1.0": "3"}}, // one value twice
		{Map: map[string]string{"one": "2"}},           // not a number
		{Breaks: []float64{0, 4}, Midpoints: true, Other: ptr("0.5")},
	} {
		m.Columns = []string{"a"}
		of := typed([]float64{1}, nil, arrow.PrimitiveTypes.Int16, 0)
		if _, err := NewChain([]Spec{mask(m)}, testSetup(t, of)); err == nil ||
			!strings.Contains(err.Error(), "masks[0].recode.") {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// In replicates a column consists of codes: the result of a mask for codes must be the codes of its
// result for values.
func TestCodesOfCategories(t *testing.T) {
	a := []string{"a"}
	pram := &PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"y": 1}, "y": {"z": 1}, "z": {"x": 1}}}
	for name, c := range map[string]struct {
		masks []Spec
		of    arrow.DataType
		json  string
	}{
		"a map": {[]Spec{mask(&Recode{Columns: a, Map: map[string]string{"x": "1", "y": "y"}, Other: ptr("o")})},
			arrow.BinaryTypes.String, `["x", "y", "z", null]`},
		"two": {
			[]Spec{mask(pram), mask(&Recode{Columns: a, Map: map[string]string{"x": "1", "y": "2"}, Other: ptr("o")})},
			arrow.BinaryTypes.String, `["x", "y", "z", null]`},
		"pram": {[]Spec{mask(pram)}, arrow.BinaryTypes.String, `["x", "y", "z", null]`},
		"intervals": {[]Spec{mask(&Recode{Columns: a, Breaks: []float64{0, 1.5, 300}})}, arrow.PrimitiveTypes.Int32,
			`[0, 2, null, 300]`},
		"then joined": {
			[]Spec{mask(&Recode{Columns: a, Breaks: []float64{0, 1.5, 3}}),
				mask(&Recode{Columns: a, Map: map[string]string{"[0,1.5)": "few"}, Other: ptr("many")})},
			arrow.PrimitiveTypes.Uint8, `[0, 2, null, 3]`},
		"decimals": {[]Spec{mask(&Recode{Columns: a, Breaks: []float64{0, 1.5, 3}})},
			&arrow.Decimal128Type{Precision: 9, Scale: 2}, `["0.10", "1.50", null, "1.49"]`},
	} {
		_, released := categories(t, c.masks, c.of, c.json)
		original := released.Columns[0].Array
		full,
			err := NewChain(c.masks,
			Setup{Key: testKey(t, 5),
				Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: c.of}, Decimals: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		b.Reset(0, 0, original.Len(), 1)
		v := b.Columns[0].Alloc(original.Len(), true)
		for i := range v.Values {
			if v.Values[i] = microdata.CodeOf(original, i); math.IsNaN(v.Values[i]) {
				v.Values[i] = 0
				v.Valid.Clear(i)
			}
		}
		if err := full.Replicate(1).Apply(&b); err != nil {
			t.Fatal(err)
		}
		if len(b.Rejects) != len(released.Rejects) {
			t.Errorf("%s: %v, want %v", name, b.Rejects, released.Rejects)
		}
		out, want := b.Columns[0].Out(), released.Columns[0].OutArray()
		for i := range out.Values {
			code := microdata.CodeOf(want, i)
			if out.Valid.Has(i) != (code == code) || code == code && out.Values[i] != code {
				t.Errorf("%s: record %d is released as %s and has the code %v in a replicate", name, i, want.ValueStr(i),
					out.Values[i])
			}
		}
	}
}

func TestRecodeTable(t *testing.T) {
	for text, problem := range map[string]string{
		"":                              "must begin with the line from,to",
		"a,b\nx,y\n":                    "must begin with the line from,to",
		"from,b\nx,y\n":                 "must begin with the line from,to",
		"a,to\nx,y\n":                   "must begin with the line from,to",
		"from,to\nx\n":                  "line 2: must have two fields",
		"from,to\nx,y\nz,y\nx,w\n":      `line 4: "x" becomes "w" here and "y" in line 2`,
		"from,to\n\"x,y\n":              "line 2",
		"\ufefffrom,to\r\nx,y\r\nx,y\n": "",
	} {
		m := &Recode{Columns: []string{"a"}, File: "f"}
		err := m.ReadTable([]byte(text))
		if problem == "" && (err != nil || len(m.Table) != 1) || problem != "" &&
			(err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%q: %v, want %q", text, err, problem)
		}
	}
	// Each wrong line is reported, but only the first 20 of many; the category above stays the
	// first one.
	for lines, want := range map[int]int{1: 1, 3: 3, 20: 20, 21: 21, 5000: 21} {
		m := &Recode{Columns: []string{"a"}, File: "f"}
		err := m.ReadTable([]byte("from,to\nx,y\n" + strings.Repeat("x,w\n", lines) + "z,y\n"))
		if err == nil || m.Table != nil {
			t.Fatalf("%d wrong lines: %v, table %v", lines, err, m.Table)
		}
		reported := strings.Split(err.Error(), "\n")
		if len(reported) != want ||
			reported[0] != `line 3: "x" becomes "w" here and "y" in line 2; a category has one above it` ||
			(lines > 20) != (reported[want-1] == "further lines are wrong: only the first 20 are reported") {
			t.Errorf("%d wrong lines: %d reported, %q", lines, len(reported), reported)
		}
	}
	if _, err := NewChain([]Spec{mask(&Recode{Columns: []string{"a"}, File: "f"})}, testSetup(t, floats(0, 1))); err ==
		nil {
		t.Error("a chain was made without the file being read")
	}
	circles := []map[string]string{{"a": "b", "b": "c", "c": "a", "d": "a"}, {"a": "b", "b": "a"},
		{"x": "y", "y": "z", "z": "y"}, {"a": "a", "b": "c", "c": "d", "d": "b"}}
	for _, circle := range circles {
		for _, loop := range []*Recode{{Map: circle}, {File: "f", Table: circle}} {
			loop.Columns, loop.Level = []string{"a"}, ptr(2)
			field := "map"
			if loop.File != "" {
				field = "file"
			}
			if ps := loop.Check(); len(ps) != 1 || ps[0].Path != field || !strings.Contains(ps[0].Text, "stands above itself") {
				t.Errorf("a circle %v: %v", circle, ps)
			}
			if loop.Level = nil; len(loop.Check()) > 0 {
				t.Errorf("a hierarchy with a circle must be accepted if only one step is taken: %v", loop.Check())
			}
		}
	}
	// A root that is its own parent category, roots that are not listed, and long chains.
	long := map[string]string{}
	for c := 'a'; c < 'z'; c++ {
		long[string(c)] = string(c + 1)
	}
	for _, tree := range []map[string]string{{"a": "b", "b": "b", "c": "b"}, {"a": "a"}, {"b": "a", "c": "a"},
		{"a": "", "b": "a"}, long} {
		if ps := (&Recode{Columns: []string{"a"}, Map: tree, Level: ptr(3)}).Check(); len(ps) > 0 {
			t.Errorf("%v is a hierarchy: %v", tree, ps)
		}
	}
}
