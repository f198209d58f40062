package csv

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// Numbers with a decimal comma and grouped digits are read, masked and written in the notation of
// the source. Columns without a mask keep their bytes.
func TestNotation(t *testing.T) {
	for _, c := range []struct {
		name, in string
		source   SourceConfig
		sink     SinkConfig
		mask     []string
		types    []string
		want     string
	}{
		{name: "comma", in: "a;b;s\n1,5;2,25;x\n-3;0,5;1.5\n", source: SourceConfig{Delimiter: ";", Decimal: ","},
			mask:  []string{"a"},
			types: []string{"float64", "float64", "utf8"}, want: "a;b;s\n2,5;2,25;x\n-2;0,5;1.5\n"},
		{name: "comma among commas", in: "a,b\n\"1,5\",x\n2,y\n", source: SourceConfig{Decimal: ","}, mask: []string{"a"},
			types: []string{"float64", "utf8"}, want: "a,b\n\"2,5\",x\n3,y\n"},
		{name: "groups", in: "a;b\n1.234.567,5;1.000\n12;999\n",
			source: SourceConfig{Delimiter: ";", Decimal: ",", Thousands: "."}, mask: []string{"a"},
			types: []string{"float64", "int64"}, want: "a;b\n1234568,5;1.000\n13;999\n"},
		{name: "groups of blanks", in: "a;b\n1\u00a0234,5;x\n999;y\n",
			source: SourceConfig{Delimiter: ";", Decimal: ",", Thousands: "\u00a0"}, mask: []string{"a"},
			types: []string{"float64", "utf8"}, want: "a;b\n1235,5;x\n1000;y\n"},
		{name: "groups that are none", in: "a;b\n1.23;1.2345\n.123;1234.567\n",
			source: SourceConfig{Delimiter: ";", Decimal: ",", Thousands: "."},
			types:  []string{"utf8", "utf8"}, want: "a;b\n1.23;1.2345\n.123;1234.567\n"},
		{name: "points where commas are", in: "a;b\n1.5;1\n2;2\n", source: SourceConfig{Delimiter: ";", Decimal: ","},
			mask:  []string{"b"},
			types: []string{"utf8", "int64"}, want: "a;b\n1.5;2\n2;3\n"},
		{name: "to points", in: "a;b\n1,5;2,25\n", source: SourceConfig{Delimiter: ";", Decimal: ","},
			sink: SinkConfig{Decimal: "."}, mask: []string{"a"},
			types: []string{"float64", "float64"}, want: "a;b\n2.5;2.25\n"},
		{name: "to commas", in: "a,b\n1.5,2.25\n", sink: SinkConfig{Decimal: ","}, mask: []string{"a"},
			types: []string{"float64", "float64"}, want: "a,b\n\"2,5\",\"2,25\"\n"},
		{name: "exponents", in: "a;b\n1,5e3;2E-1\n", source: SourceConfig{Delimiter: ";", Decimal: ","},
			mask:  []string{"a", "b"},
			types: []string{"float64", "float64"}, want: "a;b\n1501;1,2\n"},
		{name: "na", in: "a;b\nNA;x\n;y\n1,5;NA\n",
			source: SourceConfig{Delimiter: ";", Decimal: ",", NA: []string{"NA", "-"}}, mask: []string{"a"},
			types: []string{"float64", "utf8"}, want: "a;b\n;x\n;y\n2,5;NA\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []connectors.Cut{{}, {Records: 1, Exact: true}} {
				res, err := job{source: c.source, sink: c.sink, mask: c.mask, cut: cut, decimal: 2}.run(t, c.in)
				if err != nil || res.out != c.want || !slices.Equal(res.types, c.types) || len(res.rejects) > 0 {
					t.Errorf("%v: got %q of types %v, %v, rejects %v; want %q of %v", cut, res.out, res.types, err, res.rejects,
						c.want, c.types)
				}
			}
		})
	}
}

// A number in another notation is not accepted as a number of the column.
func TestNotationRejects(t *testing.T) {
	source := SourceConfig{Delimiter: ";", Decimal: ",", Types: map[string]string{"a": "float64"}}
	res, err := job{source: source, mask: []string{"a"}, decimal: 2}.run(t, "a;b\n1.5;x\n2,5;y\n1,2,3;z\n1e5,5;w\n")
	want := []string{"1 a: not a value of type float64", "3 a: not a value of type float64",
		"4 a: not a value of type float64"}
	if err != nil || !slices.Equal(res.rejects, want) || res.out != "a;b\n3,5;y\n" {
		t.Errorf("got %q, %v, rejects %q", res.out, err, res.rejects)
	}
}

// Text in another encoding is decoded correctly and written as UTF-8.
func TestEncodings(t *testing.T) {
	for _, c := range []struct{ name, encoding, in string }{
		{"windows-1252", "windows-1252", "n\xe4me,v\nZ\xfcrich \x80,1\n"},
		{"latin-1", "iso-8859-1", "n\xe4me,v\nZ\xfcrich \x80,1\n"},
		{"latin-9", "ISO-8859-15", "n\xe4me,v\nZ\xfcrich \xa4,1\n"},
		{"utf-16 with mark", "utf-16", "\xff\xfe" + utf16le("näme,v\nZürich €,1\n")},
		{"utf-16 big", "utf-16be", utf16be("näme,v\nZürich €,1\n")},
		{"utf-8", "utf-8", "näme,v\nZürich €,1\n"},
	} {
		res, err := job{source: SourceConfig{Encoding: c.encoding}, mask: []string{"v"}, decimal: 2}.run(t, c.in)
		if want := "näme,v\nZürich €,2\n"; err != nil || strings.TrimPrefix(res.out, "\ufeff") != want {
			t.Errorf("%s: got %q, %v; want %q", c.name, res.out, err, want)
		}
		// The same through a pipe, where the first bytes are examined before the rest.
		pipe := job{source: SourceConfig{Encoding: c.encoding, Path: "-", Stdin: strings.NewReader(c.in)},
			mask: []string{"v"}, decimal: 2}
		if res, err := pipe.run(t, ""); err != nil || strings.TrimPrefix(res.out, "\ufeff") != "näme,v\nZürich €,2\n" {
			t.Errorf("%s from stdin: got %q, %v", c.name, res.out, err)
		}
	}
}

func utf16le(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return string(b)
}

func utf16be(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r>>8), byte(r))
	}
	return string(b)
}

func TestCheckNotation(t *testing.T) {
	for _, c := range []struct {
		source SourceConfig
		want   string
	}{
		{SourceConfig{Path: "a", Decimal: ";"}, `decimal: must be a point or a comma, got ";"`},
		{SourceConfig{Path: "a", Thousands: ".."}, `thousands: must be one character that is no part of a number, got ".."`},
		{SourceConfig{Path: "a", Thousands: "."}, `thousands: must not be the decimal sign, got "."`},
		{SourceConfig{Path: "a", Decimal: ",", Thousands: ","}, `thousands: must not be the decimal sign, got ","`},
		{SourceConfig{Path: "a", Encoding: "klingon"},
			`encoding: must be the name of a character encoding, such as utf-8, windows-1252, iso-8859-15 or utf-16, got "klingon"`},
		{SourceConfig{Path: "a", Nulls: []string{"x"}, NA: []string{"y"}},
			`na: must be left out where nulls is given: they say the same`},
		{SourceConfig{Path: "a", NA: []string{"a,b"}}, `na[0]: must not hold the delimiter, a quote or a line end`},
		{SourceConfig{Path: "a", Delimiter: "tab"}, ""},
	} {
		got := ""
		if ps := c.source.Check(); len(ps) > 0 {
			got = ps[0].Error()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// If a file was split at the wrong delimiter, the error suggests the right one, also if the text is
// quoted. A file with only one column gives no such hint.
func TestMissplit(t *testing.T) {
	for _, c := range []struct {
		in, delimiter, want string
	}{
		{"a;b;c\n1;2;3\n", "", ";"},
		{"a\tb\n1\t2\n", "", "\t"},
		{"a|b\n\"x,y\"|2\n", "", "|"},
		{"a;b\n\"x;;;\ny\";2\n", "", ";"},
		{"a,b\n1,2\n", ";", ","},
		{"a,b\n1,2\n", "", ""},
		{"a\nx;y\nz\n", "", ""},
		{"a,b;c\n1,2\n", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := (&SourceConfig{Path: path, Delimiter: c.delimiter}).Open(context.Background())
		if err != nil {
			t.Fatalf("%q: %v", c.in, err)
		}
		if got := src.(*source).missplit(); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
