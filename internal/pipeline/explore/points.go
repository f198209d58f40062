package explore

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/transform"
)

// together is the number of points that share their draws: the data of all their replicates
// take some megabytes.
const together = 256

// explored is the result for a place: that of the columns, or why a mask cannot be used so.
type explored struct {
	columns    []assess.Explored
	categories *categoryPoint // of a map of categories
	impossible string
}

// explore tries the masks of places on the replicates from to from+n−1.
func (g *grid) explore(ctx context.Context, places []place, from, n int) ([]explored, error) {
	if g.ofCategories() {
		return g.exploreCategories(ctx, places, from, n)
	}
	var list []explored
	for part := range slices.Chunk(places, together) {
		chains := make([]*transform.Chain, len(part))
		for i, at := range part {
			var err error
			if chains[i], err = g.chain(at, g.alone); err != nil {
				return nil, err
			}
		}
		exchanges, err := g.exchanges(part)
		if err != nil {
			return nil, err
		}
		what := assess.Exploration{
			Points: len(part), From: from, Replicates: n, By: g.by, Exchange: exchanges,
			Replicate: func(m int) []assess.Masker {
				maskers := make([]assess.Masker, len(chains))
				for i, c := range transform.Replicates(chains, m) {
					maskers[i] = c
				}
				return maskers
			},
			Law:  func(point int, column string) assess.Law { return pipeline.LawOf(chains[point])(column) },
			Done: g.progress.Add,
		}
		found, err := g.data.Explore(ctx, what)
		var refused *transform.SurveyError
		switch {
		case errors.As(err, &refused) && len(part) == 1:
			list = append(list, explored{impossible: refused.Error()})
			continue
		case errors.As(err, &refused):
			// At least one place is impossible; trying each alone shows which.
			for _, at := range part {
				one, err := g.explore(ctx, []place{at}, from, n)
				if err != nil {
					return nil, err
				}
				list = append(list, one...)
			}
			continue
		}
		if errors.Is(err, assess.ErrGroups) {
			return nil,
				config.Errors{
					g.config.Errorf("map.by",
						"must form at most %d groups; leave out a column of many values, or group them in the source", assess.MaxGroups)}
		}
		if err != nil {
			return nil, err
		}
		for _, of := range found {
			list = append(list, explored{columns: of})
		}
	}
	return list, nil
}

// exchanges returns the expected changes by the swaps of each place; nil if no strategy swaps.
func (g *grid) exchanges(places []place) ([]assess.Exchange, error) {
	if !g.mixes {
		return nil, nil
	}
	list := make([]assess.Exchange, len(places))
	for i, at := range places {
		masks, err := g.strategies[at.strategy].Masks(at.values)
		if err != nil {
			return nil, err
		}
		chain, err := g.chainOf(at, masks, false)
		if err != nil {
			return nil, err
		}
		x, err := pipeline.NewExchange(chain, chain.Displacer(), g.plan.Assessed, -1)
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue // a strategy without a swap
		}
		if err := x.Replay(g.data, g.config.Window.Records); err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

// try adds places to the map as points.
func (g *grid) try(ctx context.Context, m *rumap.Map, places []place) error {
	g.progress.Start("map", int64(len(places)*m.Replicates))
	found, err := g.explore(ctx, places, 1, m.Replicates)
	if err != nil {
		return err
	}
	for i, at := range places {
		p, err := g.point(ctx, at, found[i], 1)
		if err != nil {
			return err
		}
		if c := found[i].categories; c != nil {
			m.U0 = assess.Float(c.all)
		} else if p.Impossible == "" {
			m.U0 = g.of(found[i].columns).Utility.U0
		}
		m.Points = append(m.Points, p)
		g.places = append(g.places, at)
	}
	return nil
}

// of returns the result for the map's column.
func (g *grid) of(list []assess.Explored) assess.Explored {
	return list[slices.IndexFunc(list, func(e assess.Explored) bool { return e.Column == g.column })]
}

// point makes the point of a place from the result; replicate is the one on which rules about
// respondents are judged.
func (g *grid) point(ctx context.Context, at place, found explored, replicate int) (rumap.Point, error) {
	s, list := g.strategies[at.strategy], found.columns
	p := rumap.Point{Impossible: found.impossible, Risk: []rumap.Risk{}}
	var e assess.Explored
	switch {
	case found.categories != nil:
		found.categories.put(&p, g.sample() > 0 && g.data.Records() > int64(g.sample()))
	case found.impossible == "":
		e = g.of(list)
		p = pointOf(e)
	default:
		nan := assess.Float(math.NaN())
		p.U, p.USE, p.Bias, p.Efficiency, p.EfficiencyGate = nan, nan, nan, nan, nan
	}
	p.Strategy, p.Parameters = s.Name, map[string]float64{}
	for i, a := range s.Axes {
		p.Parameters[a.Path] = at.values[i]
	}
	if p.Impossible != "" {
		return p, nil
	}
	for _, group := range e.Groups {
		named := rumap.Group{Records: group.Records, Efficiency: group.Utility.Efficiency, Risk: risksOf(group.Risk)}
		for k, code := range group.Codes {
			label, known := g.labels[k][code]
			if !known {
				label = strconv.FormatFloat(code, 'g', -1, 64)
			}
			named.Values = append(named.Values, label)
		}
		p.Groups = append(p.Groups, named)
	}
	for _, other := range list {
		if other.Column != g.column {
			if p.Beside == nil {
				p.Beside = map[string]*rumap.Point{}
			}
			q := pointOf(other)
			p.Beside[other.Column] = &q
		}
	}
	if err := g.takePrivacy(at, &p); err != nil {
		return p, err
	}
	err := g.judgePairs(ctx, at, &p, replicate)
	var refused *transform.SurveyError
	if errors.As(err, &refused) {
		return g.point(ctx, at, explored{impossible: refused.Error()}, replicate)
	}
	return p, err
}

// pointOf returns a point with R and U of one column.
func pointOf(e assess.Explored) rumap.Point {
	return rumap.Point{
		U: e.Utility.U, USE: e.Utility.SE, Efficiency: e.Utility.Efficiency, EfficiencyGate: e.Utility.EfficiencyGate,
		Sampled: e.Utility.Sampled, Approximate: e.Utility.Approximate, Errs: e.Utility.Errs, Bias: e.Utility.Bias,
		Risk: risksOf(e.Risk),
	}
}

func risksOf(list []assess.Risk) []rumap.Risk {
	risks := make([]rumap.Risk, len(list))
	for i, r := range list {
		risks[i] = rumap.Risk{Target: r.Target, Knowledge: r.Knowledge, R: r.R, RSE: r.SE, RMSE: r.RMSE, Sampled: r.Sampled,
			Approximate: r.Approximate, Errs: r.Errs, Bound: r.Bound}
	}
	return risks
}

// between returns the middle of two values on the scale of an axis.
func between(a config.MapAxis, lo, hi float64) float64 {
	switch a.Scale {
	case config.Log:
		return math.Sqrt(lo) * math.Sqrt(hi)
	case config.Variance:
		return math.Hypot(lo, hi) / math.Sqrt2
	}
	return lo + (hi-lo)/2
}
