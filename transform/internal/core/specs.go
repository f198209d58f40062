package core

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
)

// CheckSpecs reports errors that involve several masks, with paths such as "[1].truncate.mode".
// Labels, which name a mask in messages and in the keystream, must be distinct, and the
// conditions of each mask on those before it must hold. The Check of a mask reports errors
// within that mask.
func CheckSpecs(masks []Spec) check.Problems {
	var ps check.Problems
	labels := make(map[string]int)
	for i := range masks {
		label := Label(masks, i)
		if first, taken := labels[label]; taken {
			ps.Addf(fmt.Sprintf("[%d].name", i), "must differ from the name of mask [%d], got %q", first, label)
		} else {
			labels[label] = i
		}
	}
	for i, m := range masks {
		if among := Declared(m.Params).Among; among != nil {
			ps = append(ps, among(masks, i)...)
		}
	}
	return ps
}

// Describe names mask i in a message; "no mask" for an index below 0.
func Describe(masks []Spec, i int) string {
	if i < 0 {
		return "no mask"
	}
	return fmt.Sprintf("%s ([%d])", masks[i].Kind(), i)
}

// LastMaskOn returns the index of the last mask that changes the column, or -1.
func LastMaskOn(masks []Spec, column string) int {
	for i := len(masks) - 1; i >= 0; i-- {
		if slices.Contains(masks[i].Params.Masks(), column) {
			return i
		}
	}
	return -1
}

// NeedsWindow reports whether some mask moves values within windows.
func NeedsWindow(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool { return ScopeOf(m.Params) == ScopeWindow })
}

// Label is the name of mask i in messages and in the keystream: its own, or its
// kind with its ordinal among the unnamed masks of that kind, from 1: "noise#2".
// Draws depend on it, so giving a mask a name changes its draws.
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
	return nameOf(kind, ordinal)
}

func nameOf(kind string, ordinal int) string { return kind + "#" + strconv.Itoa(ordinal) }

// labels returns the Labels of all masks.
func labels(masks []Spec) []string {
	list, ordinals := make([]string, len(masks)), map[string]int{}
	for i, m := range masks {
		if list[i] = m.Name; m.Name == "" {
			kind := m.Kind()
			ordinals[kind]++
			list[i] = nameOf(kind, ordinals[kind])
		}
	}
	return list
}

// CheckColumns requires at least one column, each named once.
func CheckColumns(ps *check.Problems, path string, columns []string, what string) {
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

// CheckWord requires one of the words, or "", which means the first one.
func CheckWord(ps *check.Problems, path, word string, words ...string) {
	if word != "" {
		ps.OneOf(path, word, words...)
	}
}

// CheckFinite requires a number that is neither NaN nor infinite.
func CheckFinite(ps *check.Problems, path string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		ps.Addf(path, "must be a finite number, got %v", v)
	}
}

// CheckStrata requires that the columns of by are distinct and not changed by the mask.
func CheckStrata(ps *check.Problems, by, columns []string) {
	if len(by) > 0 {
		CheckColumns(ps, "by", by, "stratum")
	}
	for i, name := range by {
		if k := slices.Index(columns, name); k >= 0 && name != "" {
			ps.Addf(fmt.Sprintf("by[%d]", i), "must not be one of the columns that are masked, got %q, which is columns[%d]",
				name, k)
		}
	}
}

// StrataRead returns the columns that strata are made of, for Description.Reads.
func StrataRead(by []string) []ReadColumn {
	var list []ReadColumn
	for i, name := range by {
		list = append(list, ReadColumn{fmt.Sprintf("by[%d]", i), name, "a stratum"})
	}
	return list
}

// GreatestColumns is the greatest number of columns that one mask may group records by: the
// bits of one word mark which of them are missing.
const GreatestColumns = 64
