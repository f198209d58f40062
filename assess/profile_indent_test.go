package assess

import (
	"strings"
	"testing"
)

// People read saved profiles too: each level is indented by two spaces, as in all files of the
// program.
func TestSavedProfilesAreIndented(t *testing.T) {
	text, err := SaveProfile(&Profile{Columns: []ColumnProfile{{Name: "wage"}, {Name: "age"}}})
	must(t, err)
	lists := 0
	for line := range strings.Lines(string(text)) {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		if depth%2 != 0 {
			t.Errorf("%q begins in column %d", strings.TrimSpace(line), depth)
		}
		if depth == 2 && strings.HasPrefix(line, "  - name: ") {
			lists++
		}
	}
	if lists != 2 {
		t.Errorf("%d columns in\n%s", lists, text)
	}
}
