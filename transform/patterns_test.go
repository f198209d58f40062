package transform

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Patterns in map and file: what is listed itself comes first, then the pattern with the most characters of its own.
func TestRecodeByPatterns(t *testing.T) {
	a, day := []string{"a"}, arrow.FixedWidthTypes.Date32
	codes := map[string]string{"01*": "Dresden", "010?7": "near Dresden", "01067": "Altstadt", "*": "elsewhere",
		"é?*": "accent"}
	for name, c := range map[string]struct {
		m    *Recode
		of   arrow.DataType
		json string
		want []string
	}{
		"postcodes": {&Recode{Map: codes}, text64, `["01067", "01097", "01099", "99999", "", null, "01", "éé", "é"]`,
			[]string{"Altstadt", "near Dresden", "Dresden", "elsewhere", "elsewhere", "null", "Dresden", "accent", "elsewhere"}},
		"a dictionary": {&Recode{Map: codes}, coded64, `["01097", "01097", null, "2"]`,
			[]string{"near Dresden", "near Dresden", "null", "elsewhere"}},
		"other": {&Recode{Map: map[string]string{"01*": "x"}, Other: ptr("rest")}, text64, `["01", "10", "001"]`,
			[]string{"x", "rest", "rest"}},
		"none":   {&Recode{Map: map[string]string{"01*": "x"}}, text64, `["01", "10"]`, []string{"x", "rejected"}},
		"a star": {&Recode{Map: map[string]string{"*": "x"}}, text64, `["*", "y"]`, []string{"x", "x"}},
		"days": {&Recode{Map: map[string]string{"2020-*": "2020"}}, day, `["2020-02-01", "2021-02-01"]`,
			[]string{"2020", "rejected"}},
		"up": {&Recode{Map: map[string]string{"01*": "Saxony", "Saxony": "East"}, Level: ptr(2)}, text64,
			`["01067", "Saxony"]`, []string{"East", "East"}},
		"prefix": {&Recode{Prefix: ptr(2)}, text64, `["01067", "0", "", null, "äöü"]`,
			[]string{"01", "0", "", "null", "äö"}},
		"prefix coded": {&Recode{Prefix: ptr(1)}, coded64, `["01067", "1"]`, []string{"0", "1"}},
	} {
		c.m.Columns = a
		got, _ := categories(t, []Spec{mask(c.m)}, c.of, c.json)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, c := range []struct {
		m    *Recode
		want string
	}{{&Recode{Map: codes}, "a pattern is of texts: give the column the type string"},
		{&Recode{Prefix: ptr(2)}, "must be text to have first characters"}} {
		c.m.Columns = a
		_,
			err := NewChain([]Spec{mask(c.m)},
			Setup{Key: testKey(t, 5),
				Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, c := range []struct {
		m    *Recode
		want string
	}{
		{&Recode{Prefix: ptr(0)}, "between 1 and 100"}, {&Recode{Prefix: ptr(101)}, "between 1 and 100"},
		{&Recode{Prefix: ptr(2), Map: codes}, "got 2 of them"},
		{&Recode{Prefix: ptr(2), Level: ptr(1)}, "must be left out with breaks and prefix"},
		{&Recode{Prefix: ptr(2), Other: ptr("x")}, "must be left out with prefix"},
	} {
		c.m.Columns = a
		if ps := c.m.Check(); len(ps) != 1 || !strings.Contains(ps[0].Text, c.want) {
			t.Errorf("%+v: %v", c.m, ps)
		}
	}
	if LeavesAll(&Recode{Map: map[string]string{"1*": "1*"}}) || LeavesAll(&Recode{Prefix: ptr(3)}) ||
		!LeavesAll(&Recode{Map: map[string]string{"x": "x"}}) {
		t.Error("whether a recoding leaves all")
	}
	if got := ActionOf(&Recode{Map: codes}, "a", 1).(Recoding); got.From != nil || got.Other != nil {
		t.Errorf("the list of a pattern is taken for that of categories: %+v", got)
	}
}

// matches is path.Match, of texts without its other characters.
func FuzzMatches(f *testing.F) {
	for _, s := range [][2]string{{"01*", "01067"}, {"*a*b", "aabab"}, {"?", "ö"}, {"**", ""}, {"a*", "b"}, {"*", "*"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.ContainsAny(pattern+text, `[]\/`) || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return
		}
		if want, err := path.Match(pattern, text); err == nil && core.Matches(pattern, text) != want {
			t.Errorf("%q and %q: %v", pattern, text, !want)
		}
	})
}

func TestPatternsInVain(t *testing.T) {
	m := &Recode{Columns: []string{"a"}, Map: map[string]string{"01*": "x", "02*": "y", "03": "z", "04": "z"},
		Other: ptr("rest")}
	c,
		err := NewChain([]Spec{mask(m)},
		Setup{Key: testKey(t, 5), Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: text64}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Unmatched(c.Listed()); got != nil || c.Unmatched(nil) != nil {
		t.Errorf("before any value: %+v", got)
	}
	for _, text := range []string{"011", "03", "9"} {
		b := new(microdata.Block)
		b.Reset(0, 0, 1, 1)
		b.Columns[0].Array = textsIn([]string{text}, nil, 0, 1)
		apply(t, c, b)
	}
	want := []Unmatched{{Mask: 0, Column: "a", Category: "02*", Pattern: true, File: false}, {Mask: 0, Column: "a",
		Category: "04", Pattern: false, File: false}}
	if got := c.Unmatched(c.Listed()); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestHierarchiesFromFiles(t *testing.T) {
	const file = "\ufeff01067;010**;01***;*\n01097;010**;01***;*\n10115;101**;10***;*\n"
	for level, want := range map[int]string{1: "010** 010** 101** rejected", 2: "01*** 01*** 10*** rejected",
		3: "* * * rejected"} {
		m := &Recode{Columns: []string{"a"}, File: "f", Level: ptr(level)}
		if err := m.ReadTable([]byte(file)); err != nil || len(m.Check()) != 0 {
			t.Fatal(err, m.Check())
		}
		got, _ := categories(t, []Spec{mask(m)}, text64, `["01067", "01097", "10115", "01999"]`)
		if strings.Join(got, " ") != want {
			t.Errorf("level %d: %v, want %s", level, got, want)
		}
	}
	m := &Recode{Columns: []string{"a"}, File: "f", Level: ptr(4)}
	if err := m.ReadTable([]byte(file)); err != nil || len(m.Check()) != 1 ||
		!strings.Contains(m.Check()[0].Text, "at most 3") {
		t.Errorf("%v, %v", err, m.Check())
	}
	for text, want := range map[string]string{
		"a;b;c\nd;e\n":   "line 2: must have a value and as many levels",
		"a;b;c\nd;b;e\n": `line 2: "b" of level 1 has two categories of level 2 above it`,
		"a;b\na;c\n":     "line 2: \"a\" has another category of level 1",
		"x,y\n":          "must begin with the line from,to, or be a hierarchy",
	} {
		if err := m.ReadTable([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
