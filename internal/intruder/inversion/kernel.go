package inversion

import (
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform"
)

// kernel is what the masks on a column do to its categories, all of them together: the probability
// with which each original category is released as each other one. Where the matrix differs by
// strata, a category has a cell for each of them.
type kernel struct {
	cell   []int32     // of each record; −1 where it has no original category
	of     []int32     // by cell: the original code
	law    [][]float64 // by cell and place: probability of the released code
	places map[int32]int
	// guessed says that the law of masks that draw is not known, and that the shares of the release take its place.
	guessed bool
}

// mostOfKernel bounds the cells of a kernel's law.
const mostOfKernel = 1 << 24

// kernelOf returns the kernel of a column, false if a mask on it does something else than recode,
// randomise or suppress. Matrices in a row are multiplied, with the maps of recodings between
// them. Where the steps are not all known (intervals after a matrix, frequencies counted behind
// another mask), the shares of the release take the place of the law.
func kernelOf(masks []transform.Spec, c *CategoryColumn, keys map[string][]int32) (*kernel, bool) {
	var steps []transform.Action
	random := false
	for _, m := range masks {
		if !containsName(m.Params.Masks(), c.Name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, c.Name, 0).(type) {
		case transform.Randomising:
			steps, random = append(steps, a), true
		case transform.Recoding:
			steps = append(steps, a)
		case transform.Suppression, transform.Sampling:
		default:
			return nil, false
		}
	}
	if len(steps) == 0 {
		return nil, false
	}
	k := &kernel{places: map[int32]int{}}
	for _, y := range c.Released {
		if _, known := k.places[y]; y >= 0 && !known {
			k.places[y] = len(k.places)
		}
	}
	group := groupsOf(steps, keys, len(c.Original))
	type cellOf struct{ x, group int32 }
	cells := map[cellOf]int32{}
	k.cell = make([]int32, len(c.Original))
	for i, x := range c.Original {
		at, g := cellOf{x, 0}, int32(0)
		if group != nil {
			g = group[i]
		}
		at.group = g
		if x < 0 {
			k.cell[i] = -1
			continue
		}
		id, known := cells[at]
		if !known {
			id = int32(len(cells))
			cells[at], k.of = id, append(k.of, x)
		}
		k.cell[i] = id
	}
	if len(k.of) == 0 || len(k.of)*len(k.places) > mostOfKernel {
		return nil, false
	}
	if random {
		groupAt := make([]int32, len(cells))
		for at, id := range cells {
			groupAt[id] = at.group
		}
		if k.byLaw(steps, c, groupAt) {
			return k, true
		}
		k.guessed = true
	}
	k.byShares(c)
	return k, true
}

// plainKernel is the kernel of a column that is released as it is.
func plainKernel(c *CategoryColumn) *kernel {
	k := &kernel{places: map[int32]int{}, cell: c.Original}
	for i, y := range c.Released {
		if _, known := k.places[y]; y >= 0 && !known {
			k.places[y] = len(k.places)
		}
		for x := c.Original[i]; int(x) >= len(k.of); {
			k.of = append(k.of, int32(len(k.of)))
		}
	}
	k.byShares(c)
	return k
}

// groupsOf returns the stratum of each record in which the first step counts frequencies; nil if
// it does not.
func groupsOf(steps []transform.Action, keys map[string][]int32, n int) []int32 {
	a, ok := steps[0].(transform.Randomising)
	if !ok || !a.Counted {
		return nil
	}
	group := make([]int32, n)
	for _, name := range a.By {
		if codes := keys[name]; len(codes) == n {
			group, _ = joined(group, codes)
		}
	}
	return group
}

// joined returns dense codes of the pairs of two columns, and how many there are.
func joined(a, b []int32) (codes []int32, n int) {
	ids := make(map[int64]int32, 1024)
	codes = make([]int32, len(a))
	for i := range a {
		at := int64(a[i])<<32 | int64(uint32(b[i]))
		id, known := ids[at]
		if !known {
			id = int32(len(ids))
			ids[at] = id
		}
		codes[i] = id
	}
	return codes, len(ids)
}

// byShares sets the law to the shares of the release.
func (k *kernel) byShares(c *CategoryColumn) {
	k.law = rows(len(k.of), len(k.places))
	for i, y := range c.Released {
		if id := k.cell[i]; id >= 0 && y >= 0 {
			k.law[id][k.places[y]]++
		}
	}
	for _, row := range k.law {
		total := 0.0
		for _, n := range row {
			total += n
		}
		for l := range row {
			row[l] /= max(total, 1)
		}
	}
}

func rows(n, m int) [][]float64 {
	list, all := make([][]float64, n), make([]float64, n*m)
	for i := range list {
		list[i] = all[i*m : (i+1)*m : (i+1)*m]
	}
	return list
}

// byLaw sets the law to the product of the steps; false if one of them is not known.
func (k *kernel) byLaw(steps []transform.Action, c *CategoryColumn, groupOf []int32) bool {
	name := func(text string) string { // of a category between two steps
		if code, ok := c.Code(text); ok {
			return strconv.Itoa(int(code))
		}
		return "text " + text
	}
	k.law = rows(len(k.of), len(k.places))
	rest := map[string][]float64{} // by category in front of the steps behind the first: the law of the release
	var behind func(category string, steps []transform.Action) ([]float64, bool)
	behind = func(category string, steps []transform.Action) ([]float64, bool) {
		law := make([]float64, len(k.places))
		if len(steps) == 0 {
			if code, err := strconv.Atoi(category); err == nil {
				if l, there := k.places[int32(code)]; there {
					law[l] = 1
				}
			}
			return law, true
		}
		next, ok := stepFrom(steps[0], category, name, nil)
		for _, to := range next {
			from, known := to.category, false
			var row []float64
			if row, known = behind(from, steps[1:]); !known {
				return nil, false
			}
			for l, p := range row {
				law[l] += to.p * p
			}
		}
		return law, ok
	}
	behindFirst := func(category string) ([]float64, bool) {
		if row, known := rest[category]; known {
			return row, row != nil
		}
		row, ok := behind(category, steps[1:])
		if !ok {
			row = nil
		}
		rest[category] = row
		return row, ok
	}
	if first, ok := steps[0].(transform.Recoding); ok && first.From == nil {
		return first.Breaks != nil && k.likeliest(steps[1], c, name, behindFirst)
	}
	matrices := matricesOf(steps[0], c, k, groupOf)
	for id, x := range k.of {
		var matrix [][]float64
		if matrices != nil {
			matrix = matrices[groupOf[id]]
		}
		next, ok := stepFrom(steps[0], strconv.Itoa(int(x)), name, matrix)
		if !ok {
			return false
		}
		for _, to := range next {
			row, ok := behindFirst(to.category)
			if !ok {
				return false
			}
			for l, p := range row {
				k.law[id][l] += to.p * p
			}
		}
	}
	return true
}

// moved is a category that a step makes of another one, with its probability.
type moved struct {
	category string
	p        float64
}

// stepFrom returns what a step makes of a category; false if this is not known. matrix takes the
// place of the step's own where frequencies were counted.
func stepFrom(step transform.Action, category string, name func(string) string, matrix [][]float64) ([]moved, bool) {
	switch a := step.(type) {
	case transform.Recoding:
		if a.From == nil {
			return nil, false
		}
		for i, from := range a.From {
			if name(from) == category {
				return []moved{{name(a.To[i]), 1}}, true
			}
		}
		if a.Other == nil {
			return nil, false
		}
		return []moved{{name(*a.Other), 1}}, true
	case transform.Randomising:
		if matrix == nil {
			if matrix = a.Matrix; a.Counted {
				return nil, false // counted behind another mask
			}
		}
		at := slices.IndexFunc(a.Categories, func(text string) bool { return name(text) == category })
		if at < 0 && a.Other != nil {
			at = slices.Index(a.Categories, *a.Other)
		}
		if at < 0 {
			return nil, false
		}
		var list []moved
		for l, p := range matrix[at] {
			if p > 0 {
				list = append(list, moved{name(a.Categories[l]), p})
			}
		}
		return list, true
	}
	return nil, false
}

// matricesOf returns the invariant matrix of each stratum if the step counts frequencies, else nil.
func matricesOf(step transform.Action, c *CategoryColumn, k *kernel, groupOf []int32) map[int32][][]float64 {
	a, ok := step.(transform.Randomising)
	if !ok || !a.Counted {
		return nil
	}
	place := map[int32]int{}
	for l, text := range a.Categories {
		if code, ok := c.Code(text); ok {
			place[code] = l
		}
	}
	counts := map[int32][]float64{}
	for i := range c.Original {
		id := k.cell[i]
		if id < 0 {
			continue
		}
		of := counts[groupOf[id]]
		if of == nil {
			of = make([]float64, len(a.Categories))
			counts[groupOf[id]] = of
		}
		if l, listed := place[c.Original[i]]; listed {
			of[l]++
		} else if a.Other != nil {
			of[slices.Index(a.Categories, *a.Other)]++
		}
	}
	list := map[int32][][]float64{}
	for g, of := range counts {
		list[g] = transform.InvariantMatrix(a.Matrix, of)
	}
	return list
}

// likeliest sets the law of each number that a recoding has put into an interval: that of the
// interval from which its released categories are likeliest. next is the step behind it.
func (k *kernel) likeliest(next transform.Action, c *CategoryColumn, name func(string) string,
	behind func(string) ([]float64, bool)) bool {
	var labels []string
	switch a := next.(type) {
	case transform.Randomising:
		labels = a.Categories
	case transform.Recoding:
		labels = a.From
	}
	shares := kernel{cell: k.cell, of: k.of, places: k.places}
	shares.byShares(c)
	for id := range k.of {
		best := math.Inf(-1)
		for _, label := range labels {
			row, ok := behind(name(label))
			if !ok {
				return false
			}
			fit := 0.0
			for l, share := range shares.law[id] {
				if share > 0 {
					fit += share * math.Log(row[l])
				}
			}
			if fit > best {
				best, k.law[id] = fit, row
			}
		}
		if math.IsInf(best, -1) {
			return false
		}
	}
	return true
}
