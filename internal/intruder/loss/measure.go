package loss

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Pair is an original and its release, by columns. Original[j][i] and
// Released[j][i] are the two values of record i in column Names[j], NaN if missing. No
// function changes the slices.
type Pair struct {
	Names              []string
	Original, Released [][]float64
}

// Records returns n.
func (p *Pair) Records() int {
	if len(p.Original) == 0 {
		return 0
	}
	return len(p.Original[0])
}

// maxMagnitude bounds values so that sums of their squares are finite.
const maxMagnitude = 1e145

// Check returns an error if the pair has no column or record, a repeated name, columns of
// different lengths, or a value above 1e145 in magnitude (its square might be infinite).
func (p *Pair) Check() error {
	if len(p.Names) == 0 {
		return fmt.Errorf("columns: must be at least 1, got 0")
	}
	if len(p.Original) != len(p.Names) || len(p.Released) != len(p.Names) {
		return fmt.Errorf("columns: must be as many as names (%d), got %d original and %d released", len(p.Names),
			len(p.Original), len(p.Released))
	}
	n := p.Records()
	if n == 0 {
		return fmt.Errorf("records: must be at least 1, got 0")
	}
	for j, name := range p.Names {
		if slices.Contains(p.Names[:j], name) {
			return fmt.Errorf("columns: must have distinct names, got %s twice", strconv.Quote(name))
		}
		for side, v := range [2][]float64{p.Original[j], p.Released[j]} {
			if len(v) != n {
				return fmt.Errorf("column %s: must have %d records like the others, got %d", strconv.Quote(name), n, len(v))
			}
			for i, x := range v {
				if math.Abs(x) > maxMagnitude {
					return fmt.Errorf("column %s, record %d: must be finite and at most %v in magnitude, which the %s value is not",
						strconv.Quote(name), i+1, maxMagnitude, [2]string{"original", "released"}[side])
				}
			}
		}
	}
	return nil
}

// index returns the index of a column, or an error if the pair does not have it.
func (p *Pair) index(name string) (int, error) {
	j := slices.Index(p.Names, name)
	if j < 0 {
		return 0, fmt.Errorf("there is no numeric column %s", strconv.Quote(name))
	}
	return j, nil
}

func (p *Pair) indexes(names []string) ([]int, error) {
	js := make([]int, len(names))
	for i, name := range names {
		j, err := p.index(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(js[:i], j) {
			return nil, fmt.Errorf("column %s is named twice", strconv.Quote(name))
		}
		js[i] = j
	}
	return js, nil
}

// Options select further measures. The zero value selects neither propensity nor
// regressions.
type Options struct {
	Propensity  *PropensityOptions // nil: no pMSE
	Regressions []Regression
	// RankTolerance is the limit, as a share of the greatest eigenvalue, up to which an
	// eigenvalue of the original's correlation matrix is taken as 0. 0 stands for
	// DefaultRankTolerance.
	RankTolerance float64
}

// Utility is the member "utility" of the attack's result. IL1s is the sum over cells,
// IL1sPerCell the sum divided by all n·p cells; Change has both, with the numbers of
// cells.
type Utility struct {
	IL1s        float64 `json:"il1s" doc:"sum over the cells of |x−y|/(√2·S)"`
	IL1sPerCell float64 `json:"il1s_per_cell" doc:"il1s divided by the number of cells"`
	// nil where no eigenvalue can be compared
	Eigen *float64 `json:"eigen" doc:"sum of the relative differences of the eigenvalues of the correlation matrix; null if no eigenvalue can be compared"`
	PMSE  *float64 `json:"pmse,omitempty" doc:"propensity score mean squared error of a logistic regression on the values: 0 if it distinguishes no released record from an original one, 0.25 if it distinguishes all; detects shifts of means and lost values, but no change of spread"`
	// omits columns that have no value on one side
	KS map[string]float64 `json:"ks" doc:"Kolmogorov-Smirnov distance, by column"`
	// W1, in the column's unit
	Wasserstein map[string]float64 `json:"wasserstein" doc:"Wasserstein distance in the column's unit, by column"`

	Change      Change       `json:"change"`
	Structure   Structure    `json:"structure"`
	Propensity  *Propensity  `json:"propensity,omitempty"`
	Regressions []Overlap    `json:"regressions,omitempty" doc:"overlap of the confidence intervals of regressions"`
	Columns     []ColumnLoss `json:"columns"`
}

// ColumnLoss describes one column on both sides.
type ColumnLoss struct {
	Name     string  `json:"name"`
	Original Moments `json:"original"`
	Released Moments `json:"released"`
	Change   Change  `json:"change" doc:"size of the changes of the column's cells"`
}

// Measure computes the information loss of a pair. It returns an error if the pair or
// an option is not valid, or if the context ends. The result does not depend on the
// number of processors. It needs memory for two copies of a column per processor.
func Measure(ctx context.Context, p Pair, o Options) (*Utility, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	k := len(p.Names)
	u := &Utility{KS: map[string]float64{}, Wasserstein: map[string]float64{}, Columns: make([]ColumnLoss, k)}
	distances := make([]Distance, k)
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for j := range p.Names {
		g.Go(func() error {
			defer bug.Guard()
			if err := within.Err(); err != nil {
				return err
			}
			c := &u.Columns[j]
			c.Name = p.Names[j]
			c.Original, c.Released = MomentsOf(p.Original[j]), MomentsOf(p.Released[j])
			c.Change = changeOf(p.Original[j], p.Released[j], c.Original.sd())
			distances[j] = DistanceOf(p.Original[j], p.Released[j])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for j, name := range p.Names {
		u.Change.add(u.Columns[j].Change)
		if d := distances[j]; d.Measured {
			u.KS[name], u.Wasserstein[name] = d.KS, d.Wasserstein
		}
	}
	u.Change.finish()
	u.IL1s, u.IL1sPerCell = u.Change.IL1s, u.Change.PerCell
	var err error
	if u.Structure, err = StructureOf(ctx, p, o.RankTolerance); err != nil {
		return nil, err
	}
	u.Eigen = u.Structure.Eigen
	if o.Propensity != nil {
		if u.Propensity, err = PropensityOf(ctx, p, *o.Propensity); err != nil {
			return nil, err
		}
		u.PMSE = &u.Propensity.PMSE
	}
	for i, r := range o.Regressions {
		overlap, err := OverlapOf(ctx, p, r)
		if err != nil {
			return nil, fmt.Errorf("regressions[%d]: %w", i, err)
		}
		u.Regressions = append(u.Regressions, *overlap)
	}
	return u, nil
}
