package figure

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 5, ""}, {"a b c", 3, "a b|c"}, {"abcdefg", 3, "abc|def|g"}, {"列列列", 4, "列列|列"}, {"one  two", 20, "one two"},
	} {
		if got := strings.Join(Wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("wrap(%q, %d) = %s, want %s", c.text, c.width, got, c.want)
		}
	}
}

// TestIsolated: a name in right-to-left letters does not reorder the text around it and
// takes no additional cells; other names do not change.
func TestIsolated(t *testing.T) {
	for in, want := range map[string]string{"wage": "wage", "收入": "收入", "שכר": "\u2068שכר\u2069",
		"دخل 2": "\u2068دخل 2\u2069", "": ""} {
		got := Isolated(in)
		if got != want || Cells(got) != Cells(in) {
			t.Errorf("Isolated(%q) = %q of %d cells", in, got, Cells(got))
		}
	}
}
