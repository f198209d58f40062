package inversion

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/transform"
)

// HeldCategories is what a release has of a column of categories, with its masks. Codes are those of this release. Name
// is that of what it shows among other columns.
type HeldCategories struct {
	Name   string
	Masks  []transform.Spec
	Column CategoryColumn
}

// ErrNoLaw is returned for a column that a release changed in a way of which no law of single values is known.
var ErrNoLaw = errors.New("its masks have no law of a single value that is known")

// errManyCells is returned where the law of all releases together has too many entries.
var errManyCells = errors.New("all releases together have too many combinations of its categories")

// PosteriorTogether returns the greatest probability of an original category of a record for an intruder who has
// several releases of a column (at least one), whose draws are independent given the original, and all other columns,
// as Told has it for one: the probability of what was released of a record is the product of those of each release, and
// that of a missing value is 1. nil if no record has a released category. keys holds the original codes of the columns
// that define strata.
func PosteriorTogether(ctx context.Context, held []HeldCategories, keys map[string][]int32, beside []Key,
	whole bool) (*float64, error) {
	n := len(held[0].Column.Original)
	kernels := make([]*kernel, len(held))
	for j, h := range held {
		k, err := h.kernel(keys)
		if err != nil {
			return nil, err
		}
		kernels[j] = k
	}
	cell, code := make([]int32, n), make([]int32, n)
	for j, k := range kernels {
		cell, _ = joined(cell, k.cell)
		code, _ = joined(code, held[j].Column.Released)
	}
	all := &kernel{cell: cell, places: map[int32]int{}}
	at, of := map[int32]int{}, map[int32]int{} // a record of each cell, and of each code
	for i := range n {
		if _, known := at[cell[i]]; !known {
			at[cell[i]] = i
		}
		if _, known := of[code[i]]; !known {
			of[code[i]] = i
		}
	}
	if len(at)*len(of) > mostOfKernel {
		return nil, errManyCells
	}
	all.law, all.of = rows(len(at), len(of)), make([]int32, len(at))
	for c, i := range at {
		all.of[c] = held[0].Column.Original[i]
		for y, r := range of {
			p := 1.0
			for j, k := range kernels {
				if released := held[j].Column.Released[r]; released >= 0 && k.cell[i] >= 0 {
					p *= k.law[k.cell[i]][k.places[released]]
				}
			}
			all.law[c][y] = p
		}
	}
	column := CategoryColumn{Name: held[0].Column.Name, Original: held[0].Column.Original, Released: code}
	for y := range of {
		all.places[y] = int(y)
	}
	for i, x := range column.Original {
		if x < 0 {
			cell[i] = -1
		}
	}
	t := &teller{c: &column, k: all, whole: whole, beside: beside}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	r := CategoryResult{Passed: true}
	t.judge(&r)
	if r.Posterior != nil && math.IsNaN(*r.Posterior) {
		return nil, fmt.Errorf("column %q: its posterior is not known", column.Name)
	}
	return r.Posterior, nil
}

// kernel returns what the masks of a release do to a column.
func (h *HeldCategories) kernel(keys map[string][]int32) (*kernel, error) {
	if err := checkMasks(h.Masks); err != nil {
		return nil, err
	}
	changed := false
	for _, m := range h.Masks {
		if !containsName(m.Params.Masks(), h.Column.Name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, h.Column.Name, 0).(type) {
		case transform.Suppression, transform.Sampling:
		case transform.Randomising:
			changed = true
			for _, by := range a.By {
				if len(keys[by]) != len(h.Column.Original) {
					return nil, ErrNoLaw
				}
			}
		default:
			changed = true
		}
	}
	if !changed {
		return plainKernel(&h.Column), nil
	}
	k, ok := kernelOf(h.Masks, &h.Column, keys)
	if !ok || k.guessed {
		return nil, ErrNoLaw
	}
	return k, nil
}
