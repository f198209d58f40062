package inversion

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Column is a numeric column before and after masking, with a record at the same index
// on both sides and NaN for a missing value. Grid is the step of the original's values,
// 10^−decimals. If the data have no such step, Grid is the distance within which a
// value counts as found; for the program's own releases it is λ/2²⁰.
type Column struct {
	Name               string
	Grid               float64
	Original, Released []float64
}

// Key is a released column that is not numeric, coded as a swap compares it: records
// with equal values have equal codes, and missing values have a code of their own.
type Key struct {
	Name  string
	Codes []int32
}

// Release holds the released data and the originals that the attack's claims are
// compared with. Keys are used for swaps only; numeric keys are among Columns. The
// records that can have been swapped are determined from all records of a window; leave
// Keys empty if Columns are a sample.
type Release struct {
	Columns []Column
	Keys    []Key
	// Told holds, by name of a column, what all released columns together tell of its originals: lists of
	// statements by record, NaN in records that were not looked at.
	Told map[string][][]float64
}

// Moments holds mean and SD (divisor n−1) of an original column, NaN if not published.
type Moments struct{ Mean, SD float64 }

// Extremes holds the minimum and the maximum of an original column.
type Extremes struct{ Min, Max float64 }

// Published holds what the intruder knows besides the masks and the release.
type Published struct {
	N        int                 // records of the whole release; 0: as many as the columns have
	Moments  map[string]Moments  // of the columns for which a moment is published
	Extremes map[string]Extremes // of the columns for which they are published
	Window   int                 // records in a swap window; 0: unknown, or all records
}

// Options are the parameters of the verdict. The zero value stands for the defaults.
type Options struct {
	// Confidence is the probability from which a claim counts as deterministic; 0
	// stands for DefaultConfidence.
	Confidence float64
	// Within holds, by column, distances within which values are stated (ColumnResult.Exact).
	Within map[string][]float64
}

// DefaultConfidence is just above P(|ε| < g/2) of normal noise with λ = g/2.
const DefaultConfidence = 0.6827

// Result is the outcome of an attack.
type Result struct {
	Passed     bool           `json:"passed" doc:"whether no original value could be computed back"` // every column passed
	Confidence float64        `json:"confidence" doc:"probability from which a claim counts as deterministic"`
	Columns    []ColumnResult `json:"columns"`
	// Unknown are columns that were not attacked, because a mask does not say what it does to them.
	Unknown []string `json:"unknown,omitempty" doc:"columns that were not attacked, because a mask does not say what it does to them; the gate refuses them"`
	// Categories holds the results of the categorical keys that masks change.
	Categories []CategoryResult `json:"categories,omitempty" doc:"results for the categorical keys that masks change"`
}

// ColumnResult counts the recovered values of a column.
type ColumnResult struct {
	Name    string  `json:"name"`
	Masked  bool    `json:"masked" doc:"whether a mask names the column"` // a mask names the column
	Grid    float64 `json:"grid" doc:"grid step of the values, in the column's unit; a value counts as recovered if it is found to within half a step"`
	Records int     `json:"records" doc:"number of records with an original value"`
	// Guess is the share of records that have the most frequent original value:
	// the success rate of always guessing this value.
	Guess float64 `json:"guess" doc:"share of records with the most frequent original value: the success rate of always guessing it"`
	// Recovered counts the records that were recovered by inversions that fail the
	// column, each record once. Share is Recovered/Records. BeyondGuess is Share minus
	// the expected share from guessing with as many claims, at least 0.
	Recovered   int     `json:"recovered" doc:"number of records recovered by inversions that fail the column"`
	Share       float64 `json:"share"`
	BeyondGuess float64 `json:"beyond_guess" doc:"share minus the share expected from guessing with as many claims, at least 0"`
	// By is the inversion that recovered the most records, "" if the column passes.
	By         Kind        `json:"by" doc:"the inversion that recovered the most records; empty if the column passed"`
	Passed     bool        `json:"passed"`
	Inversions []Inversion `json:"inversions"`
	// Lattice holds at least 90 % of the original values, nil if only the grid does.
	Lattice *Lattice `json:"lattice,omitempty" doc:"where at least 90 % of the original values lie, if this is coarser than the grid"`
	// Exact holds the shares of values that are stated within a distance, that of the default limit
	// first.
	Exact []Exact `json:"exact,omitempty" doc:"shares of the values that the best snooper states within a distance; the first is that of the default limit"`
}

// Kind names an inversion.
type Kind string

// The inversions.
const (
	Identity     Kind = "identity"      // no mask changes the value
	SmallNoise   Kind = "small_noise"   // rounding to the grid removes the noise
	SmallBias    Kind = "small_bias"    // the value is so small that rounding removes its bias
	Tier         Kind = "tier"          // the value lies in a tier without noise or with too little noise
	InsideBounds Kind = "inside_bounds" // a truncation does not change values within its bounds
	// claim: the value of the record, or rank, with which it was most probably exchanged
	ExchangedBack Kind = "exchanged_back"
	Unswapped     Kind = "unswapped"    // no swap, or almost none, can have changed the record
	GroupValue    Kind = "group_value"  // the value of a group is an extreme, so all its records have this value
	RankWindow    Kind = "rank_window"  // a set of equal values into which few other values can have been swapped
	Rounding      Kind = "rounding"     // claim: the rounded value is the original
	Heap          Kind = "heap"         // claim: the original of a value at a bound is the bound
	HeapMoments   Kind = "heap_moments" // one or two values at bounds, computed from mean and SD
	Shift         Kind = "shift"        // y + (x̄ − ȳ)
	Scale         Kind = "scale"        // y·x̄/ȳ
	Standardise   Kind = "standardise"  // x̄ + (y − ȳ)·S_x/S_y
	Reflect       Kind = "reflect"      // x̄ − (y − ȳ)·S_x/S_y
	// the noise is small against the distance of the values that are usual in the column
	OnLattice Kind = "lattice"
	ToldApart Kind = "told_apart" // the release tells the value from all that are as usual or near it
	// claim: the released value is the original, although the masks may have changed it
	Luck Kind = "luck"
)

// Inversion is one method to compute original values, with its results.
type Inversion struct {
	Kind      Kind   `json:"kind"`
	Mask      string `json:"mask,omitempty"` // label of the mask that it undoes
	Claims    int    `json:"claims" doc:"number of values that the inversion computed"`
	Recovered int    `json:"recovered" doc:"number of claims within half a grid step of the original"`
	// Certainty is the least probability, given the masks, with which a claim is
	// correct; 0 if the masks do not determine it.
	Certainty float64 `json:"certainty" doc:"least probability, given the masks, that a claim is correct; 0 if the masks do not determine it"`
	// Chance is the greatest share of claims that are correct by chance: because the
	// masks left the value unchanged, or by guessing.
	Chance        float64 `json:"chance" doc:"greatest share of claims that are correct by chance"`
	Deterministic bool    `json:"deterministic" doc:"whether the intruder knows that the claims are correct"`
	Fails         bool    `json:"fails" doc:"whether the column fails because of this inversion"`
}

// Attack tries every inversion on every column. It returns an error if the masks, the
// columns or the published values are not valid, if a mask is unknown to it, or if the
// context ends. Pass only columns that are to be protected: a column that no mask names
// is recovered completely.
func Attack(ctx context.Context, masks []transform.Spec, known Published, release Release, o Options) (*Result, error) {
	if o.Confidence == 0 {
		o.Confidence = DefaultConfidence
	}
	if !(o.Confidence > 0 && o.Confidence <= 1) {
		return nil, fmt.Errorf("confidence: must be above 0 and at most 1, got %v", o.Confidence)
	}
	if err := checkMasks(masks); err != nil {
		return nil, err
	}
	n, err := release.check()
	if err != nil {
		return nil, err
	}
	if known.N == 0 {
		known.N = n
	}
	if known.N < n || known.Window < 0 {
		return nil, fmt.Errorf("published: must have n of at least the %d records and a window of at least 0, got %d and %d",
			n, known.N, known.Window)
	}
	r := &Result{Passed: true, Confidence: o.Confidence}
	swaps := swapReach{release: &release, masks: masks, window: known.Window, n: n}
	for i := range release.Columns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := newAttacker(masks, known, &release.Columns[i], &swaps, o.Confidence)
		if err != nil {
			return nil, err
		}
		a.statements = release.Told[a.column.Name]
		c := a.attack(masks, o.Within[a.column.Name])
		r.Passed = r.Passed && c.Passed
		r.Columns = append(r.Columns, c)
	}
	return r, nil
}

func checkMasks(masks []transform.Spec) error {
	for i, m := range masks {
		if ps := m.Params.Check(); len(ps) > 0 {
			return fmt.Errorf("masks[%d].%s: %w", i, m.Kind(), ps[0])
		}
	}
	if ps := transform.CheckSpecs(masks); len(ps) > 0 {
		return fmt.Errorf("masks%w", ps[0])
	}
	return nil
}

func (r *Release) check() (n int, err error) {
	if len(r.Columns) == 0 {
		return 0, fmt.Errorf("columns: must be at least 1, got 0")
	}
	n = len(r.Columns[0].Original)
	var names []string
	name := func(s string, length int) error {
		if slices.Contains(names, s) {
			return fmt.Errorf("columns: must have distinct names, got %s twice", strconv.Quote(s))
		}
		if names = append(names, s); length != n {
			return fmt.Errorf("column %s: must have %d records like the others, got %d", strconv.Quote(s), n, length)
		}
		return nil
	}
	for _, c := range r.Columns {
		if err := name(c.Name, len(c.Original)); err != nil {
			return 0, err
		}
		if len(c.Released) != n {
			return 0, fmt.Errorf("column %s: must have %d released records, got %d", strconv.Quote(c.Name), n, len(c.Released))
		}
		if !(c.Grid > 0) || math.IsInf(c.Grid, 1) {
			return 0, fmt.Errorf("column %s: must have a grid above 0, got %v", strconv.Quote(c.Name), c.Grid)
		}
		for i := range c.Original {
			if math.IsInf(c.Original[i], 0) || math.IsInf(c.Released[i], 0) {
				return 0, fmt.Errorf("column %s, record %d: must be finite", strconv.Quote(c.Name), i+1)
			}
		}
	}
	for _, k := range r.Keys {
		if err := name(k.Name, len(k.Codes)); err != nil {
			return 0, err
		}
	}
	return n, nil
}
