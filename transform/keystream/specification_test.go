package keystream

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestSpecificationListsConstants: every number with a fraction of ten digits and
// more in the source of the functions stands in docs/keystream.md, written the
// same but for zeros, so that the document stays enough to write the functions from.
func TestSpecificationListsConstants(t *testing.T) {
	literal := regexp.MustCompile(`\d+\.\d+(?:e[+-]?\d+)?`)
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	listed := map[float64]bool{}
	for _, s := range literal.FindAllString(read("../../docs/keystream.md"), -1) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		listed[v] = true
	}
	found := 0
	for _, name := range []string{"elementary.go", "quantile.go", "distribution.go"} {
		for _, s := range literal.FindAllString(read(name), -1) {
			if v, err := strconv.ParseFloat(s, 64); len(s) >= 10 && err == nil {
				found++
				if !listed[v] {
					t.Errorf("%s: %s is not in docs/keystream.md", name, s)
				}
			}
		}
	}
	if found < 90 {
		t.Errorf("%d constants found, want at least 90: the test reads nothing", found)
	}
}
