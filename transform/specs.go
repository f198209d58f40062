package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
)

// CheckSpecs reports what is wrong across masks, with paths such as
// "[1].truncate.mode". What is wrong within one mask is told by its own Check.
//
//   - A truncate of mode redraw needs, on each of its columns, a noise mask
//     with no other mask on that column between the two.
//   - Labels are distinct: they name a mask in messages and in the keystream.
//   - A swap of scope dataset does not see a column that an earlier swap of
//     that scope has changed: both are decided in one survey of the data, in
//     which the outcome of the earlier one is not known yet.
func CheckSpecs(masks []Spec) check.Problems {
	var ps check.Problems
	labels := make(map[string]int)
	for i, m := range masks {
		label := Label(masks, i)
		if first, taken := labels[label]; taken {
			ps.Addf(fmt.Sprintf("[%d].name", i), "must differ from the name of mask [%d], got %q", first, label)
		} else {
			labels[label] = i
		}
		if t, ok := m.Params.(*Truncate); ok && t.Mode == "redraw" {
			for k, name := range t.Columns {
				if j := lastMaskOn(masks[:i], name); j < 0 || !isNoise(masks[j]) {
					ps.Addf(fmt.Sprintf("[%d].truncate.mode", i),
						"redraw needs a noise mask just before it on %s, got %s (columns[%d])", strconv.Quote(name), describe(masks, j), k)
				}
			}
		}
	}
	ps = append(ps, checkDatasetSwaps(masks)...)
	return ps
}

func describe(masks []Spec, i int) string {
	if i < 0 {
		return "no mask"
	}
	return fmt.Sprintf("%s ([%d])", masks[i].Kind(), i)
}

// lastMaskOn returns the index of the last mask that changes the column, or -1.
func lastMaskOn(masks []Spec, column string) int {
	for i := len(masks) - 1; i >= 0; i-- {
		if slices.Contains(masks[i].Params.Masks(), column) {
			return i
		}
	}
	return -1
}

func isNoise(s Spec) bool {
	_, ok := s.Params.(*Noise)
	return ok
}

// checkDatasetSwaps follows what depends on the outcome of a swap of scope
// dataset: its protected columns, and those of a later swap within windows
// whose keys or attribute depend on it.
func checkDatasetSwaps(masks []Spec) check.Problems {
	var ps check.Problems
	unknown := make(map[string]int) // column → the swap of scope dataset that it depends on
	for i, m := range masks {
		s, ok := m.Params.(*Swap)
		if !ok {
			continue
		}
		from, depends := i, s.dataset()
		for _, name := range append(s.Reads(), s.Columns...) {
			if j, ok := unknown[name]; ok && s.dataset() {
				ps.Addf(fmt.Sprintf("[%d].swap.scope", i), "must be window, got %q: %q depends on mask [%d], a swap of the same scope", s.Scope, name, j)
			} else if ok {
				from, depends = j, true
			}
		}
		if depends {
			for _, name := range s.Columns {
				unknown[name] = from
			}
		}
	}
	return ps
}

// NeedsSD returns the columns whose noise is given as a percentage of their
// standard deviation, each once, in the order of the masks.
func NeedsSD(masks []Spec) []string {
	var names []string
	for _, m := range masks {
		_, columns := RelativeTo(m.Params)
		for _, name := range columns {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// NeedsWindow reports whether some mask moves values within windows.
func NeedsWindow(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool { return ScopeOf(m.Params) == ScopeWindow })
}

// Label is the name of mask i in messages and in the keystream: its own, or its
// kind with its ordinal among the unnamed masks of that kind, from 1: "noise#2".
// A draw depends on it, so giving a mask a name makes other draws.
func Label(masks []Spec, i int) string {
	if masks[i].Name != "" {
		return masks[i].Name
	}
	kind, ordinal := masks[i].Kind(), 0
	for _, m := range masks[:i+1] {
		if m.Name == "" && m.Kind() == kind {
			ordinal++
		}
	}
	return kind + "#" + strconv.Itoa(ordinal)
}

// checkColumns demands at least one column, each named once.
func checkColumns(ps *check.Problems, path string, columns []string, what string) {
	ps.NotEmpty(path, len(columns), what)
	for i, name := range columns {
		at := fmt.Sprintf("%s[%d]", path, i)
		if name == "" {
			ps.Addf(at, "must be the name of a column, got %q", name)
		} else if slices.Contains(columns[:i], name) {
			ps.Addf(at, "must not repeat a column, got %q again", name)
		}
	}
}

// checkWord demands one of the words, or none, which stands for the first.
func checkWord(ps *check.Problems, path, word string, words ...string) {
	if word != "" {
		ps.OneOf(path, word, words...)
	}
}

// checkFinite demands a number that is neither NaN nor infinite.
func checkFinite(ps *check.Problems, path string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		ps.Addf(path, "must be a finite number, got %v", v)
	}
}
