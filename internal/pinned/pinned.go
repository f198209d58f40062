// Package pinned holds figures of a package against those that a file of its testdata
// has, so that a change of any of them is seen where it is made. Whether the figures are
// right is for tests against definitions and simulations to say; these say that they are
// still the same. It is for tests.
package pinned

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("figures", false, "write the pinned figures anew")

// Figures are named rows of numbers, in the order in which they were added.
type Figures struct {
	names  []string
	values map[string][]float64
}

// Add adds a row; the name must be new and hold no tab.
func (f *Figures) Add(name string, values ...float64) {
	if f.values == nil {
		f.values = map[string][]float64{}
	}
	if _, twice := f.values[name]; twice || strings.ContainsAny(name, "\t\n") {
		panic(fmt.Sprintf("pinned: row %q", name))
	}
	f.names = append(f.names, name)
	f.values[name] = values
}

// tolerance is relative, and absolute below 1: processors that fuse a multiplication with
// an addition round sums otherwise, which differences of near values make visible.
const tolerance = 1e-7

func same(got, want float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return got == want || math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= tolerance*max(1e-6, math.Abs(want))
}

// Check compares the rows with those of a file, which -figures writes.
func (f *Figures) Check(t *testing.T, path string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, f.text(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range f.differences(string(text)) {
		t.Error(difference)
	}
}

func (f *Figures) text() []byte {
	var b []byte
	for _, name := range f.names {
		b = append(b, name...)
		for _, v := range f.values[name] {
			b = strconv.AppendFloat(append(b, '\t'), v, 'g', 10, 64)
		}
		b = append(b, '\n')
	}
	return b
}

// differences says what differs, of at most ten rows.
func (f *Figures) differences(text string) (list []string) {
	there := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		name, fields := fields[0], fields[1:]
		got, ok := f.values[name]
		switch there[name] = true; {
		case !ok:
			list = append(list, fmt.Sprintf("%s: is no longer there", name))
		case len(got) != len(fields):
			list = append(list, fmt.Sprintf("%s: %d numbers, want %d", name, len(got), len(fields)))
		default:
			for i, field := range fields {
				if want, err := strconv.ParseFloat(field, 64); err != nil || !same(got[i], want) {
					list = append(list, fmt.Sprintf("%s: number %d is %v, want %s", name, i, got[i], field))
					break
				}
			}
		}
	}
	for _, name := range f.names {
		if !there[name] {
			list = append(list, fmt.Sprintf("%s: is new", name))
		}
	}
	if len(list) > 10 {
		list = append(list[:10], fmt.Sprintf("and %d more", len(list)-10))
	}
	return list
}
