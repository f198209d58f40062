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
