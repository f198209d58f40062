package attack

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Masked has the information loss of masked columns of categories, and the remaining risk of
// re-identification.
type Masked struct {
	Loss *loss.Categories // of the requested columns
	// probability of re-identification by all categorical keys: maximum and mean over the records
	MaxRisk, MeanRisk float64
}

// Categories measures pairs that masks have made of a sample: the information loss of the named
// categorical keys, and the individual risk by all categorical keys, with the configured estimator.
func Categories(ctx context.Context, pl *pipeline.Plan, p assess.Pairs, names []string) (*Masked, error) {
	d := dataOf(pl, nil, p)
	o, err := optionsOf(pl, &d)
	if err != nil {
		return nil, err
	}
	only := attack.Options{Uniqueness: counting(o.Uniqueness)}
	if only.Uniqueness == nil {
		only.Uniqueness = counting(defaultUniqueness())
	}
	d.Sensitive, d.Household = nil, nil
	r, err := attack.Run(ctx, d, only)
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	u := r.Uniqueness
	m := &Masked{MaxRisk: u.MaxIndividualRisk, MeanRisk: u.ExpectedReidentifications / float64(u.Records)}
	var columns []loss.CategoryPair
	for _, c := range d.Categorical {
		if slices.Contains(names, c.Name) {
			columns = append(columns, c.Pair())
		}
	}
	m.Loss, err = loss.CategoriesOf(columns)
	return m, err
}
