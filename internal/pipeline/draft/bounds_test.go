package draft

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The number of decimals is that of the longest number, up to nine; with ten it is unknown,
// whatever follows.
func TestDecimalsAreCounted(t *testing.T) {
	for _, c := range []struct {
		texts string
		want  int
	}{
		{"1 2 3", 0}, {"1.5 2.25 3", 2}, {"3 2.25 1.5", 2}, {"1.500", 1}, {"0.123456789", 9}, {"0.1234567891", -1},
		{"0.1234567891 1.5", -1}, {"1.5 0.1234567891", -1},
		{"1e-3", 3}, {"1.5E-3", 4}, {"1e5", 0}, {"2.5e1", 0}, {"e 1.5", 1},
	} {
		var column Column
		for text := range strings.FieldsSeq(c.texts) {
			column.countDecimals(text)
		}
		if column.Decimals != c.want {
			t.Errorf("%s: %d decimals, want %d", c.texts, column.Decimals, c.want)
		}
	}
}

// A column is described by its kind, and guesses change exactly at the intended bounds.
func TestGuessesChangeAtTheirBounds(t *testing.T) {
	whole, float, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	column := func(kind arrow.DataType, values, distinct int) *Column {
		return &Column{Field: microdata.Field{Name: "q", Type: kind}, Values: values, Distinct: distinct, most: 1e9,
			shortest: 1, width: 9}
	}
	for _, c := range []struct {
		column *Column
		want   microdata.Role
	}{
		{column(text, 100, 10), microdata.Key}, {column(text, 99, 10), microdata.Identifier}, // 10 records per value
		{column(text, 1000, 100), microdata.Key}, {column(text, 1010, 101), microdata.Identifier}, // 100 values
		{column(whole, 100, 10), microdata.Key}, {column(whole, 99, 10), microdata.Sensitive},
	} {
		if got := new(Look).GuessRole(c.column); got.Role != c.want {
			t.Errorf("%d distinct of %d values of type %s: role %s, want %s", c.column.Distinct, c.column.Values,
				c.column.Field.Type, got.Role, c.want)
		}
	}
	named := func(name string, kind arrow.DataType, values, distinct int) microdata.Role {
		c := column(kind, values, distinct)
		c.Field.Name = name
		return new(Look).GuessRole(c).Role
	}
	for _, c := range []struct {
		got, want microdata.Role
	}{
		// more than 10 records per value
		{named("house", text, 101, 10), microdata.Key}, {named("house", text, 100, 10), microdata.Identifier},
		{named("house", text, 10000, 100), microdata.Key}, {named("house", text, 10000, 101), microdata.Identifier},
		// shares of few records mean little
		{named("zip", text, 50, 48), microdata.Identifier}, {named("zip", text, 49, 48), microdata.Key},
		{named("zip", text, 100, 95), microdata.Identifier}, {named("zip", text, 100, 94), microdata.Key},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	running := column(whole, 1000, 1000)
	for _, c := range []struct {
		least, most     float64
		shortest, width int
		want            bool
	}{{0, 2999, 1, 4, true}, {0, 3000, 1, 4, false}, {5, 3004, 1, 4, true}, {0, 1e6, 6, 6, true}, {0, 1e6, 5, 5, false},
		{0, 1e6, 5, 6, false}} {
		running.least, running.most, running.shortest, running.width = c.least, c.most, c.shortest, c.width
		if running.numbering() != c.want {
			t.Errorf("values %v to %v of %d to %d characters: numbering is %v", c.least, c.most, c.shortest, c.width, !c.want)
		}
	}
	for _, c := range []struct {
		kind     arrow.DataType
		decimals int
		want     string
	}{
		{float, -1, "numbers of full precision"}, {float, 0, "whole numbers"}, {whole, 0, "whole numbers"},
		{float, 1, "numbers with 1 decimal,"}, {float, 2, "numbers with 2 decimals"},
		{arrow.FixedWidthTypes.Boolean, 0, "true or false"}, {arrow.FixedWidthTypes.Date32, 0, "times"}, {text, 0, "text"},
	} {
		d := column(c.kind, 10, 3)
		d.Decimals = c.decimals
		if got := d.describe(); !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, ", 3 different in 10 records") {
			t.Errorf("description of %s with %d decimals: %s", c.kind, c.decimals, got)
		}
		d.Capped = true
		if got := d.describe(); !strings.HasSuffix(got, ", more than 100000 different in 10 records") {
			t.Errorf("description of a capped column: %s", got)
		}
	}
}

// A drafted swap exchanges the first key, and partners share the next two, if there are so many.
func TestSwapsAreDrafted(t *testing.T) {
	for keys, want := range []string{"", "", "keys: [k1],\n#       attribute: k0,",
		"keys: [k1, k2],\n#       attribute: k0,", "keys: [k1, k2],\n#       attribute: k0,"} {
		d := &Draft{
			Name: "n",
			Listed: []Listed{
				{&Column{Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, Values: 10},
					Guess{Role: microdata.Sensitive}}}}
		for k := range keys {
			d.Listed = append(d.Listed,
				Listed{&Column{Field: microdata.Field{Name: fmt.Sprintf("k%d", k), Type: arrow.BinaryTypes.String}, Values: 10},
					Guess{Role: microdata.Key}})
		}
		text := d.Write()
		if strings.Contains(text, "- swap:") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%d keys: swap is missing, or not wanted, in\n%s", keys, text)
		}
	}
}

// The share of distinct values refers to the records with a value. Without values, a column is not
// an identifier.
func TestShareOfDifferentValues(t *testing.T) {
	for want, c := range map[float64]Column{0: {}, 1: {Values: 4, Distinct: 4}, 0.25: {Values: 4, Distinct: 1}} {
		if got := c.share(); got != want {
			t.Errorf("share of %d distinct in %d values is %v, want %v", c.Distinct, c.Values, got, want)
		}
	}
}

// A draft is named after its file, without characters that are not allowed in file names, and its
// release does not overwrite an existing file.
func TestNamesOfDrafts(t *testing.T) {
	for base, want := range map[string]string{"data/wages": "wages", "*": "release", "": "release", "wages-*": "wages",
		"in/[ab]x?": "abx", "$x\\y": "xy", " .x-": "x", "a\x1fb": "ab", "a b": "a b"} {
		if got := nameOf(base); got != want {
			t.Errorf("%q is named %q, want %q", base, got, want)
		}
	}
	for path, want := range map[string]string{"data/in.csv": "release/in.csv", "in.csv.gz": "release/in.csv.gz",
		"data/*.csv": "release/n", "a?.csv": "release/n", "[ab].csv": "release/n", "folder/": "release/n"} {
		if got := released(path, "n"); got != want {
			t.Errorf("the release of %q goes to %q, want %q", path, got, want)
		}
	}
}

// Settings that a source needs besides its path are written where they apply, in quotes.
func TestOptionsOfDrafts(t *testing.T) {
	text, none, words, empty := ";", "", []string{"NA", `"`}, []string{}
	got := optionsOf([]connectors.Option{{Name: "delimiter", Text: &text}, {Name: "quote", Text: &none},
		{Name: "null", Words: &words}, {Name: "no", Words: &empty}, {Name: "nothing"}})
	if want := `, delimiter: ";", null: ["NA", "\""]`; got != want {
		t.Errorf("options are %s, want %s", got, want)
	}
}

// An invalid role is asked for again. An empty answer keeps the guess, and the end of the input
// keeps all remaining guesses.
func TestAnswersToADraft(t *testing.T) {
	columns := func() *Draft {
		d := new(Draft)
		for i, name := range []string{"a", "b", "c", "d"} {
			c := Listed{Column: new(Column)}
			c.Field.Type = arrow.BinaryTypes.String
			c.Field.Name, c.Role, c.Unsure = name, microdata.Other, i != 1
			d.Listed = append(d.Listed, c)
		}
		return d
	}
	roles := func(d *Draft) (out string) {
		for _, c := range d.Listed {
			out += fmt.Sprint(c.Role, c.Unsure, " ")
		}
		return out
	}
	for in, want := range map[string]string{
		"":                         "othertrue otherfalse othertrue othertrue ",
		"key\n\nsensitive\n":       "keyfalse otherfalse otherfalse sensitivefalse ",
		" Identifier \nwrong\nkey": "identifierfalse otherfalse keyfalse othertrue ",
	} {
		d := columns()
		var out strings.Builder
		if err := d.Ask(strings.NewReader(in), &out); err != nil || roles(d) != want {
			t.Errorf("answers %q: roles %s, want %s (error %v)", in, roles(d), want, err)
		}
		if strings.Contains(out.String(), `"b"`) || !strings.Contains(out.String(), `"a"`) ||
			strings.Contains(in, "wrong") != strings.Contains(out.String(), `there is no role "wrong"`) {
			t.Errorf("answers %q: the questions are\n%s", in, out.String())
		}
	}
}
