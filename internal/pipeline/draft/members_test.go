package draft

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// statisticsOf returns the statistics of the members of some objects.
func statisticsOf(t *testing.T, objects ...string) *member {
	t.Helper()
	root := new(member)
	for _, o := range objects {
		if err := root.addObject([]byte(o)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A member is a column of numbers if it has only numbers and nulls. The members of an object are
// separate columns if it has only objects. A member with several kinds is one column of text.
func TestMembersBecomeColumns(t *testing.T) {
	column := func(name string, number bool) connectors.DeclaredColumn {
		return connectors.DeclaredColumn{Name: name, Number: number}
	}
	for _, c := range []struct {
		objects []string
		want    []connectors.DeclaredColumn
	}{
		{[]string{`{"a":1}`, `{"a":-2.5}`, `{"a":null}`}, []connectors.DeclaredColumn{column("a", true)}},
		{[]string{`{"a":0}`, `{"b":9}`}, []connectors.DeclaredColumn{column("a", true), column("b", true)}},
		{[]string{`{"a":null}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":"1"}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":[1]}`, `{"a":true}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":1}`, `{"a":"x"}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":1}`, `{"a":true}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":1}`, `{"a":{"b":1}}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":"x"}`, `{"a":{"b":1}}`}, []connectors.DeclaredColumn{column("a", false)}},
		{[]string{`{"a":{"b":1,"c":{"d":"x"}}}`, `{"a":null}`, `{"e":2}`},
			[]connectors.DeclaredColumn{column("a.b", true), column("a.c.d", false), column("e", true)}},
		{[]string{`{}`}, nil},
	} {
		if got := statisticsOf(t, c.objects...).columns(nil); !slices.Equal(got, c.want) {
			t.Errorf("columns of %q are %+v, want %+v", c.objects, got, c.want)
		}
	}
	for _, broken := range []string{"", "[1]", "3", `{"a"`, `{"a":`, `{"a":1,`, `{"a":1,"b":}`} {
		if new(member).addObject([]byte(broken)) == nil {
			t.Errorf("%q is accepted as an object", broken)
		}
	}
}

// An object has data as its keys if it has more than 50 members, or a member (first or last) in
// fewer than one in 20 objects: it becomes a column of text, and no member is named.
func TestMembersThatAreData(t *testing.T) {
	object := func(members int) string {
		var b strings.Builder
		for i := range members {
			fmt.Fprintf(&b, `,"m%d":1`, i)
		}
		return `{"a":{` + strings.TrimPrefix(b.String(), ",") + `}}`
	}
	for members, want := range map[int]int{1: 1, 50: 50, 51: 1} {
		if got := statisticsOf(t, object(members)).columns(nil); len(got) != want || (members == 51) != (got[0].Name == "a") {
			t.Errorf("an object of %d members gives %d columns, the first %s", members, len(got), got[0].Name)
		}
	}
	for n, keyed := range map[int]bool{19: false, 20: false, 21: true} {
		for _, first := range []bool{true, false} {
			objects := slices.Repeat([]string{`{"a":{"b":1}}`}, n-1)
			if rare := `{"a":{"rare":1,"b":2}}`; first {
				objects = append([]string{rare}, objects...)
			} else {
				objects = append(objects, rare)
			}
			if got := statisticsOf(t, objects...).columns(nil); (len(got) == 1) != keyed {
				t.Errorf("%d objects, one with another member (the first: %v): columns are %+v", n, first, got)
			}
		}
	}
}

func listed(name string, kind arrow.DataType, role microdata.Role, values, distinct int) Listed {
	return Listed{&Column{Field: microdata.Field{Name: name, Type: kind}, Values: values, Distinct: distinct},
		Guess{Role: role}}
}

// The identity is the first certain identifier with a value in every record and almost no
// duplicates. For columns with fewer values, the draft says how many are missing.
func TestIdentitiesAreDrafted(t *testing.T) {
	text := arrow.BinaryTypes.String
	for _, c := range []struct {
		name   string
		change func(c *Column, g *Guess)
		want   string
	}{
		{"a sure guess", nil, "id"},
		{"an unsure guess", func(_ *Column, g *Guess) { g.Unsure = true }, ""},
		{"a key", func(_ *Column, g *Guess) { g.Role = microdata.Key }, ""},
		{"with a value missing", func(c *Column, _ *Guess) { c.Values = 99 }, ""},
		{"with few values", func(c *Column, _ *Guess) { c.Distinct = 50 }, ""},
		{"with more values than are counted", func(c *Column, _ *Guess) { c.Distinct, c.Capped = 50, true }, "id"},
		{"that needs quotes", func(c *Column, _ *Guess) { c.Field.Name = "a: b" }, `"a: b"`},
	} {
		d := &Draft{
			Listed: []Listed{listed("first", text, microdata.Other, 100, 100),
				listed("id", text, microdata.Identifier, 100, 100), listed("id2", text, microdata.Other, 7, 7)}}
		if c.change != nil {
			c.change(d.Listed[1].Column, &d.Listed[1].Guess)
		}
		if got := strings.Trim(d.identity(), "'"); strings.Trim(got, `"`) != strings.Trim(c.want, `"`) {
			t.Errorf("%s: identity is %q, want %q", c.name, got, c.want)
		}
		if d.records() != 100 {
			t.Errorf("the draft counts %d records, want 100", d.records())
		}
	}
	for at := range 3 {
		d := &Draft{
			Listed: []Listed{listed("a", text, microdata.Other, 5, 5), listed("b", text, microdata.Other, 5, 5),
				listed("c", text, microdata.Other, 5, 5)}}
		if d.Listed[at].Values = 9; d.records() != 9 {
			t.Errorf("column %d has 9 values: the draft counts %d records, want 9", at, d.records())
		}
	}
	for values, want := range map[int]string{100: "", 0: "", 99: "; 1 % without a value", 1: "; 99 % without a value"} {
		if got := missing(&Column{Values: values}, 100); got != want {
			t.Errorf("%d values in 100 records: %q, want %q", values, got, want)
		}
	}
}

// The draft contains the options that a valid configuration needs: decimals for numbers of a
// stream, and the permission to release a sensitive column unmasked.
func TestOptionsOfColumns(t *testing.T) {
	number, text := arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	for _, c := range []struct {
		kind     arrow.DataType
		role     microdata.Role
		decimals int
		stream   bool
		want     string
	}{
		{number, microdata.Key, 2, true, ", decimals: 2"}, {number, microdata.Key, 0, true, ", decimals: 0"},
		{number, microdata.Key, -1, true, ""}, {number, microdata.Key, 2, false, ""},
		{text, microdata.Key, 0, true, ""}, {number, microdata.Sensitive, 1, true, ", decimals: 1, unmasked: true"},
		{text, microdata.Sensitive, 1, true, ", unmasked: true"}, {number, microdata.Sensitive, 1, false, ", unmasked: true"},
	} {
		l := listed("x", c.kind, c.role, 1, 1)
		l.Decimals = c.decimals
		if got := l.options(c.stream); got != c.want {
			t.Errorf("options of %+v are %q", c, got)
		}
	}
}

// Names are aligned, and names that contain a line end or mean something else in YAML are quoted.
func TestColumnsAreWrittenInLine(t *testing.T) {
	d := &Draft{
		Name: "n",
		Listed: []Listed{listed("a", arrow.BinaryTypes.String, microdata.Key, 1, 1),
			listed("long name", arrow.BinaryTypes.String, microdata.Other, 1, 1)}}
	d.Listed[1].Why, d.Listed[1].Unsure = "why\nnot", true
	text := d.Write()
	for _, want := range []string{"\n  a:         {role: key}\n", "\n  long name: {role: other}\n",
		"\n  # PLEASE CHECK: why not"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for name, want := range map[string]string{"a": "a", "a b": "a b", "a{": `"a{"`, "a:": `"a:"`, "a#": `"a#"`,
		"a,b": `"a,b"`, "[": `"["`, "x\ny": `"x\ny"`, "}": `"}"`, "]": `"]"`} {
		if got := scalar(name); got != want {
			t.Errorf("%q is written %s, want %s", name, got, want)
		}
	}
}

// Rules of a draft refer to sensitive numbers and to keys that are numbers, and are omitted without
// them. A stream has no rules about respondents.
func TestGatesAreDrafted(t *testing.T) {
	wage, age := listed("wage", arrow.PrimitiveTypes.Float64, microdata.Sensitive, 9, 9),
		listed("age", arrow.PrimitiveTypes.Int64, microdata.Key, 9, 3)
	text := listed("note", arrow.BinaryTypes.String, microdata.Sensitive, 9, 9)
	for _, c := range []struct {
		name      string
		columns   []Listed
		stream    bool
		has, lack []string
	}{
		{"neither", []Listed{text}, false, []string{"\n# gate:\n#   rules:\n"}, []string{"\nassess:", "\ngate:"}},
		{"numbers", []Listed{text, wage}, false,
			[]string{"\ngate:\n  rules:\n", "{column: wage, max_unchanged: 0.05}", "min_k: 3"},
			[]string{"\nassess:", "max_linked", "column: note"}},
		{"keys", []Listed{age}, false, []string{"\nassess: {keys: [age]}", "    - {max_linked: 0.05}", "min_k: 3"},
			[]string{"max_unchanged"}},
		{"both", []Listed{wage, age}, false,
			[]string{"\nassess: {keys: [age]}", "    - {max_linked: 0.05}", "{column: wage, min_efficiency: 0.8}"},
			[]string{"a stream releases before"}},
		{"both of a stream", []Listed{wage, age}, true,
			[]string{"\nassess: {keys: [age]}", "a stream releases before", "sd: AMOUNT}"},
			[]string{"max_linked", "min_k", "sd: 20%"}},
	} {
		d := &Draft{Name: "n", Listed: c.columns, Stream: c.stream}
		got := d.Write()
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", c.name, want, got)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(got, lack) {
				t.Errorf("%s: %q is not wanted in\n%s", c.name, lack, got)
			}
		}
	}
	l := &Look{Records: 7, All: true}
	for want, change := range map[string]func(){
		"all 7 records of x":                          func() { l.All, l.Broken = true, 0 },
		"the first 7 records of x":                    func() { l.All, l.Broken = false, 0 },
		"all 7 records of x, 1 of which cannot be re": func() { l.All, l.Broken = true, 1 },
	} {
		if change(); !strings.HasPrefix(l.Seen(" of x"), want) || l.Broken == 0 && l.Seen(" of x") != want {
			t.Errorf("Seen returns %q, want %q", l.Seen(" of x"), want)
		}
	}
}
