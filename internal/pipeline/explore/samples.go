package explore

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/transform"
)

// A sample decides which records are released, so points of different samples are measured on
// different records. Each sample has a grid of its own, which reads the source for itself. The
// points of all grids make one map.

// mostSamples bounds the number of samples of a map: each is read and kept separately.
const mostSamples = 20

// sampled are the strategies of one sample.
type sampled struct {
	sample     *transform.Spec // nil: all records
	strategies []config.MapStrategy
	order      []int // of each strategy: its place in the configuration
}

// bySample divides strategies into those of each sample. A strategy whose sample an axis varies
// belongs to several, with one value of the axis in each.
func bySample(strategies []config.MapStrategy) (list []sampled, err error) {
	for i, s := range strategies {
		for _, axes := range withOneSample(s.Axes) {
			one := s
			one.Axes = axes
			masks, err := one.Masks(firsts(one))
			if err != nil {
				return nil, err
			}
			sample := transform.SampleOf(masks)
			at := slices.IndexFunc(list, func(o sampled) bool { return reflect.DeepEqual(o.sample, sample) })
			if at < 0 {
				at = len(list)
				list = append(list, sampled{sample: sample})
			}
			list[at].strategies, list[at].order = append(list[at].strategies, one), append(list[at].order, i)
		}
	}
	if len(list) == 0 {
		list = []sampled{{}} // no strategies: the grid returns the error
	}
	return list, nil
}

// withOneSample returns, for each choice of values of the axes that decide which records are released, the
// axes with these values fixed.
func withOneSample(axes []config.MapAxis) [][]config.MapAxis {
	list := [][]config.MapAxis{slices.Clone(axes)}
	for i, a := range axes {
		if !a.Leaves {
			continue
		}
		var next [][]config.MapAxis
		for _, before := range list {
			for _, v := range a.Values {
				one := slices.Clone(before)
				one[i].Values = []float64{v}
				next = append(next, one)
			}
		}
		list = next
	}
	return list
}

// source identifies a point of a map of several samples: its grid, and its number there.
type source struct{ grid, point int }

// merged makes one map of the maps of all grids, of which at least one has records. U₀ and the efficiency refer to
// the greatest sample. from has the source of each of its points.
func merged(grids []*grid, maps []*rumap.Map) (m *rumap.Map, from []source) {
	if len(maps) == 1 {
		for i := range maps[0].Points {
			from = append(from, source{0, i})
		}
		return maps[0], from
	}
	greatest := slices.MaxFunc(maps, func(a, b *rumap.Map) int {
		measured := func(m *rumap.Map) int64 {
			if m.U0 == 0 {
				return -1 // all its points are impossible
			}
			return m.Records
		}
		return cmp.Compare(measured(a), measured(b))
	})
	one := *greatest
	m, one.Points, one.Samples = &one, nil, len(maps)
	for g, part := range maps {
		m.Sampled = max(m.Sampled, part.Sampled)
		for i := range part.Points {
			from = append(from, source{g, i})
		}
	}
	slices.SortStableFunc(from, func(a, b source) int {
		s, t := grids[a.grid].places[a.point], grids[b.grid].places[b.point]
		return cmp.Or(cmp.Compare(grids[a.grid].order[s.strategy], grids[b.grid].order[t.strategy]),
			grids[a.grid].compare(s.values, t.values))
	})
	for _, at := range from {
		p := maps[at.grid].Points[at.point]
		p.Rebase(maps[at.grid], m.U0)
		m.Points = append(m.Points, p)
	}
	return m, from
}

// compare orders the values of two places of a strategy: by the first axis first, or last in a search.
func (g *grid) compare(a, b []float64) int {
	if g.config.Map.Search && len(a) > 0 {
		return cmp.Or(slices.Compare(a[1:], b[1:]), cmp.Compare(a[0], b[0]))
	}
	return slices.Compare(a, b)
}

// empty adds the points of a sample without records to the map: all are impossible.
func (g *grid) empty(ctx context.Context, m *rumap.Map) error {
	found := explored{impossible: "the sample has none of the records: its rate is too small for so few"}
	for _, at := range g.points() {
		p, err := g.point(ctx, at, found, 1)
		if err != nil {
			return err
		}
		m.Points, g.places = append(m.Points, p), append(g.places, at)
	}
	return nil
}

// allAxes lists the axes of all strategies, each once.
func allAxes(strategies []config.MapStrategy) []rumap.Axis {
	list := []rumap.Axis{}
	for _, s := range strategies {
		for _, a := range s.Axes {
			axis := rumap.Axis{Path: a.Path, Relative: a.Relative}
			if !slices.Contains(list, axis) {
				list = append(list, axis)
			}
		}
	}
	return list
}
