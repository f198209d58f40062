package keystream

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestSpecificationListsConstants: every constant with ten or more decimals in the source of the
// functions is also in docs/keystream.md, in the same notation up to zeros, so that the functions
// can be implemented from the document.
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
		t.Errorf("%d constants found, want at least 90", found)
	}
}
