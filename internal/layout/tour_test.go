package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Each row of docs/tour.md names a file and a function of it.
func TestTourLeadsThroughWhatThereIs(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "tour.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| \\d \\| `([^`]+)` \\| `([^`]+)` \\|").FindAllSubmatch(text, -1)
	if len(rows) != 16 {
		t.Errorf("%d places", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(string(row[1]))))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + string(row[2]) + `\(`).Match(source) {
			t.Errorf("docs/tour.md: %s has no function %s", row[1], row[2])
		}
	}
}
