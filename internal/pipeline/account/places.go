package account

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/transform"
)

// places returns what is verified of released points, and enters it into the measures, which a gate judges. Of a stream
// nothing is: its chain masks what is not committed, too.
func (r *Reporter) places(measures *assess.Measures) (list []report.Place) {
	if r.Chain == nil || r.Interim || r.Config.Streaming() {
		return nil
	}
	all, of := r.Chain.Verified()
	return enter(measures, all, of)
}

// enter returns what is verified, and enters the least of it into the measures.
func enter(measures *assess.Measures, all []transform.Verified, of []transform.Place) (list []report.Place) {
	k, rmse, unplaced := math.Inf(1), math.Inf(1), ""
	for i, v := range all {
		if v.Records == 0 {
			continue
		}
		p := placeOf(v, of[i], measures)
		list = append(list, p)
		rmse = min(rmse, float64(p.RMSE))
		switch {
		case p.Lesser == nil:
			k, unplaced = math.NaN(), fmt.Sprintf("the population about the points of %s is not known", of[i])
		case told(p):
			k, unplaced = math.NaN(),
				fmt.Sprintf(
					"%s tell of the place of %s beside the point, so that fewer people come into question than are counted: withhold or recode them", strings.Join(p.Tells, ", "), of[i])
		default:
			k = min(k, float64(p.Lesser.Least))
		}
	}
	if len(list) == 0 {
		return nil
	}
	if measures.Identity == nil {
		measures.Identity = assess.Unmeasured()
	}
	measures.Identity.SpatialK, measures.Identity.PlaceRMSE, measures.Identity.Unplaced = assess.Float(k),
		assess.Float(rmse), unplaced
	return list
}

// narrower is how much smaller than by the point alone the distance of a guess by all columns is if these narrow the
// place down.
const narrower = 0.95

// told reports whether the other columns of the record tell of the place.
func told(p report.Place) bool {
	return p.Record != nil && len(p.Tells) > 0 && float64(*p.Record) < narrower*float64(p.Released)
}

func placeOf(v transform.Verified, of transform.Place, measures *assess.Measures) report.Place {
	p := report.Place{
		Columns: of.Columns[:], Unit: of.Unit, Records: v.Records, RMSE: assess.Float(v.RMSE()),
		Released: assess.Float(math.Sqrt(v.Square.Mean(v.Records))),
		Least:    assess.Float(v.Least), Greatest: assess.Float(v.Greatest), K: spatialK(v.K, of.K),
		Candidates: spatialK(v.Candidates, of.K), Lesser: spatialK(v.Lesser, of.K),
	}
	if v.Guessed {
		population := assess.Float(math.Sqrt(v.SquareGuess.Mean(v.Records)))
		p.Population = &population
	}
	if record, tells := byColumns(of, measures, assess.KnowledgeRecord); record == record {
		p.Record, p.Tells = (*assess.Float)(&record), tells
		p.RMSE = min(p.RMSE, assess.Float(record))
	}
	if order, _ := byColumns(of, measures, assess.KnowledgeOrder); order == order {
		p.Order = (*assess.Float)(&order)
		p.RMSE = min(p.RMSE, assess.Float(order))
	}
	return p
}

// byColumns is the root mean squared distance of the estimates of both coordinates under a knowledge, and which other
// columns tell; NaN if it is measured of neither. A degree of longitude counts as at the latitude that lies a standard
// deviation beyond the mean.
func byColumns(of transform.Place, measures *assess.Measures, knowledge string) (rmse float64, tells []string) {
	sum, any := 0.0, false
	for k, name := range of.Columns {
		c := measures.Column(name)
		if c == nil {
			return math.NaN(), nil
		}
		known := func(by string) int {
			return slices.IndexFunc(c.Risk, func(r assess.Risk) bool {
				return r.Target == assess.TargetTypical && r.Knowledge == by
			})
		}
		at, index := known(knowledge), known(assess.KnowledgeIndex)
		if any = any || at >= 0; at < 0 || index >= 0 && c.Risk[index].RMSE < c.Risk[at].RMSE {
			at = index
		}
		if at < 0 || !(float64(c.Risk[at].RMSE) >= 0) {
			return math.NaN(), nil
		}
		for _, other := range c.Risk[at].Tells {
			if !slices.Contains(of.Columns[:], other) && !slices.Contains(tells, other) {
				tells = append(tells, other)
			}
		}
		metres := float64(c.Risk[at].RMSE)
		if of.Unit == "degrees" {
			metres *= places.EarthRadius * math.Pi / 180
			if first := measures.Column(of.Columns[0]); k == 1 && first != nil {
				metres *= math.Cos(min(89, math.Abs(float64(first.Original.Mean))+float64(first.Original.SD)) * math.Pi / 180)
			}
		}
		sum += metres * metres
	}
	if !any {
		return math.NaN(), nil
	}
	return math.Sqrt(sum), tells
}

func spatialK(counts map[int64]int64, k int) *report.SpatialK {
	if counts == nil {
		return nil
	}
	s := &report.SpatialK{Least: transform.Quantile(counts, 0), P10: transform.Quantile(counts, 0.1),
		Median: transform.Quantile(counts, 0.5)}
	if k > 0 {
		below := assess.Float(transform.Below(counts, int64(k)))
		s.Below = &below
	}
	return s
}

// placeWarnings says where released points tell more than was asked for.
func (r *Reporter) placeWarnings(measures *assess.Measures) (list []string) {
	for _, p := range r.places(measures) {
		name := strings.Join(p.Columns, ", ")
		if told(p) {
			list = append(list,
				fmt.Sprintf(
					"%s: %s tell of the place beside the point: by all columns it is known to ±%.0f metres, by the point alone to ±%.0f; whoever has them counts fewer people about it than the spatial k", name, strings.Join(p.Tells, ", "), float64(*p.Record), float64(p.Released)))
		}
		if p.Lesser != nil && p.Lesser.Below != nil && *p.Lesser.Below > 0 {
			list = append(list,
				fmt.Sprintf(
					"%s: %.2g %% of the released points have a spatial k below k_least, as people are not spread evenly; the least is %d", name, 100*float64(*p.Lesser.Below), p.Lesser.Least))
		}
	}
	return list
}
