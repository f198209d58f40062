package inversion

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/transform"
)

// CategoryColumn is a categorical column before and after masking, with a record at the
// same index on both sides. Both sides have the same codes; −1 is a missing value. Code
// returns the code of a category from its text, false if neither side has the category.
type CategoryColumn struct {
	Name               string
	Original, Released []int32
	Code               func(text string) (int32, bool)
}

// CategoryResult measures what an intruder who knows the masks and the release can
// infer on the original categories of a column.
type CategoryResult struct {
	Name    string `json:"name"`
	Records int    `json:"records" doc:"number of records with a released category"`
	// Guess is the share of records that have the most frequent original category.
	Guess float64 `json:"guess" doc:"share of records with the most frequent original category: the success rate of always guessing it"`
	// Posterior is the greatest probability of an original category given a released one.
	// For post-randomisation it is computed by Bayes' rule, with the prior frequencies that
	// follow from the released frequencies and the matrix. For a recoding it is the share of
	// the most frequent category among the joined ones, which an intruder may know from
	// other sources.
	Posterior *float64 `json:"posterior,omitempty" doc:"greatest probability of an original category of a record, given its released category and all other released columns; absent if no mask recodes or randomises the column"`
	// Rarest, for post-randomisation only, is the probability that the rarest category
	// by these frequencies is the original category of a record for which it is
	// released.
	Rarest *float64 `json:"posterior_rarest,omitempty" doc:"with post-randomisation: the probability that the rarest category is the original one of a record for which it is released"`
	// Certain counts the records whose original category follows with certainty.
	Certain int `json:"certain" doc:"number of records whose original category follows with certainty from the released one"`
	// Hidden counts the cells that are missing in the release but not in the original.
	// Claims counts those whose value follows from k and the other records. Recovered
	// counts the correct claims.
	Hidden    int `json:"hidden,omitempty" doc:"number of cells that are missing in the release but not in the original"`
	Claims    int `json:"claims,omitempty" doc:"number of missing cells for which only one value makes the combination rare"`
	Recovered int `json:"recovered" doc:"number of values computed back by the inversion that fails the column"`
	// Tells are the other released columns that tell of the category.
	Tells []string `json:"tells,omitempty" doc:"other released columns that tell of the original category, beginning with the one that tells most"`
	// By is the inversion that recovered values, "" if the column passes.
	By     Kind `json:"by" doc:"the inversion that computed values back; empty if the column passed"`
	Passed bool `json:"passed"`
}

// The inversions of masks of categories.
const (
	Bayes      Kind = "bayes"      // a category of post-randomisation that can come from one original category only
	Renaming   Kind = "renaming"   // a recoding that joins no categories
	Minimality Kind = "minimality" // a missing cell for which only one value makes the combination rare
)

// certain is the probability from which an original category counts as certain.
const certain = 1 - 1e-9

// Categories tries to recover the original categories of columns that masks change.
// whole means that the columns hold all records of the release; without it, local
// suppression is not attacked, because the frequencies of combinations are unknown.
// keys holds the original codes of other columns, which may define strata for
// frequencies. It returns an error if the masks, the columns or the strata are not
// valid, or if the context ends.
func Categories(ctx context.Context, masks []transform.Spec, columns []CategoryColumn, keys map[string][]int32,
	whole bool) ([]CategoryResult, error) {
	if err := checkMasks(masks); err != nil {
		return nil, err
	}
	var list []CategoryResult
	for i := range columns {
		c := &columns[i]
		if len(c.Original) != len(c.Released) || len(c.Original) != len(columns[0].Original) {
			return nil, fmt.Errorf("column %q: must have as many records as the others on both sides", c.Name)
		}
		r, err := category(masks, c, keys)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if !whole {
		return list, nil
	}
	for _, m := range masks {
		if s, ok := transform.ActionOf(m.Params, "", 0).(transform.Suppression); ok {
			if err := minimality(ctx, s, columns, list); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// category tries to recover the categories of one column from its released values alone.
func category(masks []transform.Spec, c *CategoryColumn, keys map[string][]int32) (CategoryResult, error) {
	r := CategoryResult{Name: c.Name, Passed: true, Guess: modalCode(c.Original)}
	for _, y := range c.Released {
		if y >= 0 {
			r.Records++
		}
	}
	var drawn *transform.Randomising
	recoded, mixed := false, false
	for _, m := range masks {
		if !containsName(m.Params.Masks(), c.Name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, c.Name, 0).(type) {
		case transform.Randomising:
			drawn = &a // the last of several, applied to the result of a recoding: it gives at least as much information
		case transform.Recoding:
			recoded, mixed, drawn = true, mixed || drawn != nil, nil
		}
	}
	switch {
	case drawn != nil && drawn.Counted:
		if err := r.countedFirst(c, drawn, keys); err != nil {
			return r, err
		}
	case drawn != nil:
		r.randomised(c, drawn)
	case recoded:
		r.recoded(c)
	}
	if mixed { // the values drawn before the recoding are not released: the shares describe this release only
		r.Certain, r.Recovered, r.By, r.Passed = 0, 0, "", true
	}
	return r, nil
}

// modalCode returns the share of the most frequent code; missing (negative) codes do not
// count.
func modalCode(codes []int32) float64 {
	most, n, count := 0, 0, map[int32]int{}
	for _, x := range codes {
		if x < 0 {
			continue
		}
		n++
		count[x]++
		most = max(most, count[x])
	}
	return float64(most) / float64(max(n, 1))
}

// randomised applies Bayes' rule with the matrix: P(k | l) = π_k P_kl / Σ_m π_m P_ml.
func (r *CategoryResult) randomised(c *CategoryColumn, a *transform.Randomising) {
	count := map[int32]int{}
	for _, y := range c.Released {
		count[y]++
	}
	k := len(a.Categories)
	released := make([]float64, k)
	for l, text := range a.Categories {
		if code, ok := c.Code(text); ok {
			released[l] = float64(count[code])
		}
	}
	prior := Prior(a.Matrix, released)
	if prior == nil {
		return // no record has a category
	}
	r.bayes(a.Matrix, prior, released)
}

// countedFirst applies Bayes' rule in each stratum, with the invariant matrix that follows from
// the original frequencies there. These frequencies are also the prior: an intruder who knows
// the matrix estimates them by the released frequencies, which have the same expectation. It
// returns an error if a column of the strata is not among keys.
func (r *CategoryResult) countedFirst(c *CategoryColumn, a *transform.Randomising, keys map[string][]int32) error {
	var by [][]int32
	for _, name := range a.By {
		codes, ok := keys[name]
		if !ok || len(codes) != len(c.Original) {
			return fmt.Errorf("column %q: its categories were drawn in strata of %q, which is no categorical key", c.Name, name)
		}
		by = append(by, codes)
	}
	place := map[int32]int{}
	for k, text := range a.Categories {
		if code, ok := c.Code(text); ok {
			place[code] = k
		}
	}
	type stratum struct{ original, released []float64 }
	strata, names := map[string]*stratum{}, []string(nil)
	var key []byte
	for i, x := range c.Original {
		key = key[:0]
		for _, codes := range by {
			key = binary.BigEndian.AppendUint32(key, uint32(codes[i]))
		}
		s := strata[string(key)]
		if s == nil {
			s = &stratum{make([]float64, len(a.Categories)), make([]float64, len(a.Categories))}
			strata[string(key)], names = s, append(names, string(key))
		}
		if k, listed := place[x]; listed {
			s.original[k]++
		} else if x >= 0 && a.Other != nil {
			s.original[slices.Index(a.Categories, *a.Other)]++
		}
		if l, listed := place[c.Released[i]]; listed {
			s.released[l]++
		}
	}
	for _, name := range names {
		s := strata[name]
		total := 0.0
		for _, n := range s.original {
			total += n
		}
		if total == 0 {
			continue
		}
		prior := make([]float64, len(s.original))
		for k, n := range s.original {
			prior[k] = n / total
		}
		r.bayes(transform.InvariantMatrix(a.Matrix, s.original), prior, s.released)
	}
	return nil
}

// bayes updates the result with the posteriors under matrix p of the released
// categories. If it is called again for other records, the greatest probabilities are
// kept.
func (r *CategoryResult) bayes(p [][]float64, prior, released []float64) {
	rarest := -1
	greatest := 0.0
	for l, n := range released {
		if n == 0 {
			continue
		}
		total, most := 0.0, 0.0
		for i, share := range prior {
			joint := share * p[i][l]
			total += joint
			most = max(most, joint)
		}
		if total == 0 {
			continue // under the matrix this category cannot have been released
		}
		greatest = max(greatest, most/total)
		if most/total >= certain {
			r.Certain += int(n)
		}
		if rarest < 0 || prior[l] < prior[rarest] {
			rarest = l
		}
	}
	if r.Posterior == nil || *r.Posterior < greatest {
		r.Posterior = &greatest
	}
	if rarest >= 0 {
		own, total := prior[rarest]*p[rarest][rarest], 0.0
		for i, share := range prior {
			total += share * p[i][rarest]
		}
		if share := own / total; r.Rarest == nil || *r.Rarest < share {
			r.Rarest = &share
		}
	}
	if r.Certain > 0 {
		r.Passed, r.By, r.Recovered = false, Bayes, r.Certain
	}
}

// Prior returns the relative frequencies of the original categories, with sum 1, that an
// intruder estimates from the counts n of the released ones. Row k of the matrix P is the
// distribution of the released category given original category k. The estimate is n·P⁻¹,
// divided by the sum of n, if this is a distribution, else the maximum likelihood estimate
// by the EM algorithm. It returns nil if all counts are 0.
func Prior(p [][]float64, released []float64) []float64 {
	k, n := len(released), 0.0
	for _, v := range released {
		n += v
	}
	if n == 0 {
		return nil
	}
	m := mat.NewDense(k, k, nil)
	for i, row := range p {
		m.SetRow(i, row)
	}
	var inverse mat.Dense
	if inverse.Inverse(m) == nil {
		prior := make([]float64, k)
		for j := range k {
			for l, v := range released {
				prior[j] += v / n * inverse.At(l, j)
			}
		}
		if slices.Min(prior) >= -1e-12 {
			for j := range prior {
				prior[j] = max(0, prior[j])
			}
			return prior
		}
	}
	return likeliest(p, released, n)
}

// steps is the greatest number of EM steps; each takes k² operations.
const steps = 2000

func likeliest(p [][]float64, released []float64, n float64) []float64 {
	k := len(released)
	prior := make([]float64, k)
	for i := range prior {
		prior[i] = 1 / float64(k)
	}
	for range steps {
		next, moved := make([]float64, k), 0.0
		for l, v := range released {
			total := 0.0
			for i, q := range prior {
				total += q * p[i][l]
			}
			if v == 0 || total == 0 {
				continue
			}
			for i, q := range prior {
				next[i] += v / n * q * p[i][l] / total
			}
		}
		for i := range prior {
			moved = max(moved, math.Abs(next[i]-prior[i]))
		}
		prior = next
		if moved < 1e-12 {
			break
		}
	}
	return prior
}

// recoded computes the result of a recoding from the original categories that each
// released category joins.
func (r *CategoryResult) recoded(c *CategoryColumn) {
	leaves := map[int32]map[int32]int{} // by released category, the counts of the original categories
	for i, y := range c.Released {
		if x := c.Original[i]; y >= 0 && x >= 0 {
			if leaves[y] == nil {
				leaves[y] = map[int32]int{}
			}
			leaves[y][x]++
		}
	}
	if len(leaves) == 0 {
		return
	}
	greatest, alone, known := 0.0, 0, 0
	for _, of := range leaves {
		n, most := 0, 0
		for _, v := range of {
			n += v
			most = max(most, v)
		}
		greatest = max(greatest, float64(most)/float64(n))
		if len(of) == 1 {
			alone++
			known += n
		}
	}
	r.Posterior, r.Certain = &greatest, known
	if alone == len(leaves) && alone > 1 {
		r.Passed, r.By, r.Recovered = false, Renaming, known
	}
}
