// Package pinned holds figures of a package against those that a file of its testdata
// has, so that a change of any of them is seen where it is made. Whether the figures are
// right is for tests against definitions and simulations to say; these say that they are
// still the same. It is for tests.
package pinned

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("figures", false, "write the pinned figures anew")

// Figures are named rows of numbers, in the order in which they were added.
type Figures struct {
	names  []string
	values map[string][]float64
	fields map[string]bool // rows of AddTree: new ones are no difference
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

// AddTree adds a row for every number, text and truth of a value as JSON has it, under its
// path, and one for the length of every list. A text, or a truth, is part of the row's name,
// so that another one is another row. What leave says of a path is not added. Members that
// a type gets later are no difference.
func (f *Figures) AddTree(name string, v any, leave func(path string) bool) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("pinned: " + err.Error())
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic("pinned: " + err.Error())
	}
	if f.fields == nil {
		f.fields = map[string]bool{}
	}
	f.tree(name, tree, leave)
}

func (f *Figures) tree(path string, tree any, leave func(path string) bool) {
	if leave != nil && leave(path) {
		return
	}
	add := func(name string, values ...float64) {
		f.Add(name, values...)
		f.fields[name] = true
	}
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f.tree(path+"."+key, v[key], leave)
		}
	case []any:
		add(path+" has", float64(len(v)))
		for i, one := range v {
			f.tree(fmt.Sprintf("%s[%d]", path, i), one, leave)
		}
	case float64:
		add(path, v)
	default:
		add(path + " = " + strings.Join(strings.Fields(fmt.Sprint(v)), " "))
	}
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
		if !there[name] && !f.fields[name] {
			list = append(list, fmt.Sprintf("%s: is new", name))
		}
	}
	if len(list) > 10 {
		list = append(list[:10], fmt.Sprintf("and %d more", len(list)-10))
	}
	return list
}
