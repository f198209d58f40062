package explore

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/transform"
)

// A map of categories has other measures than one of numbers: U is what the released
// categories tell about the original ones, and R the probability that a record is
// re-identified by its keys. Both are measured on the release itself, so a point masks the
// sample, or all records if masks look at all records.

// mostReplicates bounds the replicates of a point: each counts all combinations again, and
// shares of thousands of records differ little between replicates.
const mostReplicates = 20

// ofCategories reports whether the map is one of categories.
func (g *grid) ofCategories() bool { return len(g.config.Map.Categories) > 0 }

// replicates returns the number of masked replicates of a point.
func (g *grid) replicates() int {
	if g.ofCategories() {
		return min(g.config.Assess.Replicates, mostReplicates)
	}
	return g.config.Assess.Replicates
}

// chooseCategories returns an error unless the columns are masked categorical keys, whose
// released values the sample holds.
func (g *grid) chooseCategories() error {
	at := &g.plan.Intruder
	for i, name := range g.config.Map.Categories {
		if !slices.Contains(at.Counted, name) || !slices.Contains(at.Released, at.Index[name]) {
			return config.Errors{
				g.config.Errorf("map.categories",
					"must name categorical keys that are masked, but element %d, %q, is not one: give it the role key, and list it in assess.intruder.categorical if it contains numbers", i, name)}
		}
	}
	g.column = strings.Join(g.config.Map.Categories, ", ")
	return nil
}

// unit returns the unit of the map's column; categories have none.
func (g *grid) unit() string {
	if g.ofCategories() {
		return ""
	}
	return g.plan.Unit(g.column)
}

// variable is the label of the map's variable, if the release would have it.
func (g *grid) variable() string {
	if g.ofCategories() || !g.whole.Sink.Abilities().VariableLabels {
		return ""
	}
	schema := g.plan.Source.Schema()
	if i := schema.Index(g.column); i >= 0 && schema.Fields[i].Described != nil {
		return schema.Fields[i].Described.Label
	}
	return ""
}

// categoryPoint has U and R of a point of a map of categories.
type categoryPoint struct {
	bits, squaredBits float64 // sums over replicates: bits, and their squares
	all               float64 // bits of the original categories
	risk              [2]sums // the greatest risk of any record, and the mean risk
	replicates        int
}

// sums are the sums of a figure and of its square.
type sums struct{ total, squares float64 }

func (s *sums) add(v float64) { s.total, s.squares = s.total+v, s.squares+v*v }

// mean returns the mean of n figures with its standard error, which is NaN for fewer than two.
func (s sums) mean(n int) (mean, se assess.Float) {
	m := s.total / float64(n)
	if n < 2 {
		return assess.Float(m), assess.Float(math.NaN())
	}
	variance := max(0, s.squares/float64(n)-m*m) * float64(n) / float64(n-1)
	return assess.Float(m), assess.Float(math.Sqrt(variance / float64(n)))
}

// exploreCategories masks the sample at places. If the masks draw nothing, one replicate
// suffices.
func (g *grid) exploreCategories(ctx context.Context, places []place, from, n int) ([]explored, error) {
	list := make([]explored, len(places))
	for i, at := range places {
		found, err := g.categoriesAt(ctx, at, from, n)
		var refused *transform.SurveyError
		switch {
		case errors.As(err, &refused):
			list[i].impossible = refused.Error()
		case err != nil:
			return nil, err
		default:
			list[i].categories = found
		}
		g.progress.Add(n)
	}
	return list, nil
}

func (g *grid) categoriesAt(ctx context.Context, at place, from, n int) (*categoryPoint, error) {
	masks, err := g.strategies[at.strategy].Masks(at.values)
	if err != nil {
		return nil, err
	}
	chain, err := g.chainOf(at, masks, false)
	if err != nil {
		return nil, err
	}
	if !chain.Draws() {
		n = 1
	}
	of, settings := *g.plan, *g.config
	settings.Masks, of.Config = masks, &settings
	p := &categoryPoint{replicates: n}
	for m := from; m < from+n; m++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pairs, err := g.masked(ctx, chain.Replicate(m))
		if err != nil {
			return nil, err
		}
		found, err := attack.Categories(ctx, &of, pairs, g.config.Map.Categories)
		if err != nil {
			return nil, err
		}
		bits, all := found.Loss.Bits()
		p.bits, p.squaredBits, p.all = p.bits+bits, p.squaredBits+bits*bits, all
		p.risk[0].add(found.MaxRisk)
		p.risk[1].add(found.MeanRisk)
	}
	return p, nil
}

// put sets the figures of a point. U is in bits; if the original categories have no
// information, the efficiency is 1.
func (c *categoryPoint) put(p *rumap.Point, sampled bool) {
	p.U, p.USE = sums{c.bits, c.squaredBits}.mean(c.replicates)
	p.Efficiency, p.Bias, p.Sampled = 1, assess.Float(math.NaN()), sampled
	if c.all > 0 {
		p.Efficiency = min(1, p.U/assess.Float(c.all))
	}
	p.EfficiencyGate = p.Efficiency
	for i, target := range []string{rumap.TargetMax, assess.TargetTypical} {
		k := rumap.Risk{Target: target, Knowledge: rumap.KnowledgeKeys, RMSE: assess.Float(math.NaN()), Sampled: sampled}
		k.R, k.RSE = c.risk[i].mean(c.replicates)
		if sampled && target == rumap.TargetMax {
			// The record of greatest risk need not be in the sample, and records of the sample
			// may share their combination with records outside it.
			k.R, k.RSE = assess.Float(math.NaN()), assess.Float(math.NaN())
		}
		p.Risk = append(p.Risk, k)
	}
}
