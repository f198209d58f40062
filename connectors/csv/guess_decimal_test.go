package csv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The decimal mark is that of a column of numbers alone, in quotes and without: where the comma also separates fields,
// of numbers that it cannot group. A number with a point, in whatever column, speaks against it, and broken records for
// nothing.
func TestDecimalMarks(t *testing.T) {
	for _, c := range []struct {
		name, text         string
		delimiter          byte
		decimal, thousands string
	}{
		{"commas", "a;b\n1;2,5\n2;3,25\n", ';', ",", ""},
		{"in quotes", "a;b\n\"1\";\"2,5\"\n", ';', ",", ""},
		{"grouped", "a;b\n1;2.345,5\n", ';', ",", "."},
		{"three digits, behind semicolons", "a;b\n1;2,500\n", ';', ",", ""},
		{"three digits, between commas", "a,b\n1,\"2,500\"\n2,\"3,750\"\n", ',', "", ""},
		{"other digits, between commas", "a,b\n1,\"2,500\"\n2,\"3,75\"\n", ',', ",", ""},
		{"a point elsewhere", "a;b\n1.5;2,5\n", ';', "", ""},
		{"no number too", "a;b\n1;2,5\n2;x\n", ';', "", ""},
		{"broken: too few fields", "a;b;c\n1;2,5;3\n4.5\n1;7.5\n", ';', ",", ""},
		{"broken: too many fields", "a;b\n1;2,5\n1;2;3.5\n", ';', ",", ""},
		{"whole numbers", "a;b\n1;2\n", ';', "", ""},
		{"nothing", "", ';', "", ""},
		{"a header", "a;b\n", ';', "", ""},
	} {
		if d, th := guessDecimal([]byte(c.text), c.delimiter); d != c.decimal || th != c.thousands {
			t.Errorf("%s: %q and %q, want %q and %q", c.name, d, th, c.decimal, c.thousands)
		}
	}
	long := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf("%d;%d\n", i, i)
		}
		return s
	}
	for _, c := range []struct {
		name, text string
		want       string // records of fields
	}{
		{"two", "a;b\nc;d\n", "a|b/c|d"}, {"the last one may be cut", "a;b\nc;d\ne;", "a|b/c|d"}, {"one alone", "a;b", "a|b"},
		{"empty lines", "\na;b\n\n\nc;d\n", "a|b/c|d"},
		{"carriage returns", "a;b\r\nc;d\r\n\r\n", "a|b/c|d"}, {"in quotes", "\"a\";\"b;c\"\n\"d\ne\";\"\"\n", "a|b;c/d\ne|"},
		{"empty fields", ";\na;\n;b\n", "|/a|/|b"},
		{"an empty field in quotes", "\"\"\nx\n", "/x"}, {"nothing", "", ""}, {"a line end", "\n", ""},
	} {
		var got []string
		for _, fields := range firstFields([]byte(c.text), ';') {
			got = append(got, strings.Join(fields, "|"))
		}
		if strings.Join(got, "/") != c.want {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
	for n, want := range map[int]int{99: 99, 100: 100, 101: 100} {
		records := firstFields([]byte(long(n)), ';')
		if len(records) != want || !slices.Equal(records[want-1], []string{fmt.Sprint(want - 1), fmt.Sprint(want - 1)}) {
			t.Errorf("of %d records %d are looked at, want %d", n, len(records), want)
		}
	}
}
