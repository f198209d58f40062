package explore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// accuracy is the relative accuracy of the boundary that a search finds.
const accuracy = 0.01

// probes is the greatest number of values of an axis that a search tries first.
const probes = 9

// bracket is an interval of one strategy's first axis, with the other axes fixed, which has an
// admissible and an inadmissible end.
type bracket struct {
	strategy                 int
	rest                     []float64
	admissible, inadmissible float64
}

// search adds to the map the places that lead to the boundary of what the rules allow: first a
// few values of every strategy's first axis, then by bisection between neighbours of which one
// is admissible and the other is not, until they differ by at most 1 %. The other axes form a
// grid. The rounds of all strategies are tried together, so that they share their draws.
func (g *grid) search(ctx context.Context, m *rumap.Map) error {
	if len(m.Rules) == 0 {
		return config.Errors{
			g.config.Errorf("map.search",
				"finds the boundary of what the gate's rules allow, but gate.rules has no rule about %s", g.column)}
	}
	first, lines := g.lines()
	if err := g.try(ctx, m, first); err != nil {
		return err
	}
	m.Judge()
	for open := g.brackets(m, lines); ; {
		open = slices.DeleteFunc(open, func(b bracket) bool {
			_, further := g.middle(b)
			return !further
		})
		if len(open) == 0 {
			g.sort(m)
			return nil
		}
		var round []place
		for _, b := range open {
			v, _ := g.middle(b)
			round = append(round, place{b.strategy, append([]float64{v}, b.rest...)})
		}
		if err := g.try(ctx, m, round); err != nil {
			return err
		}
		m.Judge()
		for i := range open {
			if v := round[i].values[0]; g.admissible(m, round[i]) {
				open[i].admissible = v
			} else {
				open[i].inadmissible = v
			}
		}
	}
}

// lines returns the places with which a search begins, and for each line along a strategy's
// first axis its places in ascending order.
func (g *grid) lines() (first []place, lines [][]place) {
	for s, strategy := range g.strategies {
		if len(strategy.Axes) == 0 {
			first = append(first, place{strategy: s})
			continue
		}
		axis := strategy.Axes[0]
		for _, rest := range crossed(s, strategy.Axes[1:], nil) {
			var line []place
			for _, v := range thinned(axis.Values, probes) {
				line = append(line, place{s, append([]float64{v}, rest.values...)})
			}
			first, lines = append(first, line...), append(lines, line)
		}
	}
	return first, lines
}

// brackets returns the neighbours on lines of which one is admissible and the other is not.
func (g *grid) brackets(m *rumap.Map, lines [][]place) (open []bracket) {
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			switch before, after := g.admissible(m, a), g.admissible(m, b); {
			case before && !after:
				open = append(open, bracket{a.strategy, a.values[1:], a.values[0], b.values[0]})
			case !before && after:
				open = append(open, bracket{a.strategy, a.values[1:], b.values[0], a.values[0]})
			}
		}
	}
	return open
}

// admissible reports whether a place that was tried is admissible.
func (g *grid) admissible(m *rumap.Map, at place) bool {
	i := slices.IndexFunc(g.places, func(p place) bool {
		return p.strategy == at.strategy && slices.Equal(p.values, at.values)
	})
	return m.Points[i].Admissible
}

// sort brings the points into the order of a grid: by strategy, by the other axes, and along
// each line by the first axis.
func (g *grid) sort(m *rumap.Map) {
	order := make([]int, len(g.places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := g.places[i], g.places[j]
		if a.strategy != b.strategy || len(a.values) == 0 {
			return a.strategy - b.strategy
		}
		return cmp.Or(slices.Compare(a.values[1:], b.values[1:]), cmp.Compare(a.values[0], b.values[0]))
	})
	points, places := make([]rumap.Point, len(order)), make([]place, len(order))
	for to, from := range order {
		points[to], places[to] = m.Points[from], g.places[from]
	}
	m.Points, g.places = points, places
}

// middle returns the next value to be tried in a bracket; further is false if its ends are near
// enough.
func (g *grid) middle(b bracket) (v float64, further bool) {
	axis := g.strategies[b.strategy].Axes[0]
	lo, hi := min(b.admissible, b.inadmissible), max(b.admissible, b.inadmissible)
	if hi-lo <= accuracy*max(math.Abs(lo), math.Abs(hi)) {
		return 0, false
	}
	v = between(axis, lo, hi)
	if axis.Whole {
		v = math.Round(v)
	} else if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64); err == nil &&
		short > lo && short < hi {
		v = short // fewer digits, as in a configuration written by hand
	}
	return v, v > lo && v < hi
}

// thinned returns at most n of the values, the first and the last among them.
func thinned(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[i*(len(values)-1)/(n-1)]
	}
	return out
}
