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

// Masked is what masks have taken from columns of categories, and what is left to find
// respondents by.
type Masked struct {
	Loss              *loss.Categories // of the columns that were asked for
	MaxRisk, MeanRisk float64          // probability of re-identification by all categorical keys: the greatest, and that of any record
}

// Categories measures pairs that masks have made of a sample: what was taken from the
// named categorical keys, and by all of them the individual risk of the configuration's estimator.
func Categories(ctx context.Context, pl *pipeline.Plan, p assess.Pairs, names []string) (*Masked, error) {
	d := dataOf(pl, p)
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
			columns = append(columns, loss.CategoryPair{Name: c.Name, Original: c.Original, Released: c.Released})
		}
	}
	m.Loss, err = loss.CategoriesOf(columns)
	return m, err
}
