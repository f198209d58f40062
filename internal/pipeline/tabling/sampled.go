package tabling

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/sampling"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// sample publishes an estimate of each count from a sample of the records, and computes the
// beliefs about the unsafe counts. Other published counts tell nothing about a count: all of
// them are counts of the sample, which add up, and none is of all records. Nobody, not even a
// respondent, is certain of a count (sampling.Belief).
func (p *protected) sample() error {
	oneIn := p.table.Protect.Sample.OneIn
	drawn := p.cells.Sampled[slices.Index(p.options.Samples.OneIn, oneIn)]
	p.status = p.rules.Status
	p.published = make([]float64, len(drawn))
	for cell, n := range drawn {
		p.published[cell] = float64(n * int64(oneIn))
	}
	value := p.question.Value
	p.ranges = &audit.Ranges{Low: slices.Clone(value), High: slices.Clone(value)}
	p.ranges.ShownLow, p.ranges.ShownHigh = p.ranges.Low, p.ranges.High
	known := map[int64]*tablerisk.Belief{} // by the drawn count: unsafe counts have few different ones
	p.beliefs = func(cell int32) *tablerisk.Belief {
		b := known[drawn[cell]]
		if b == nil {
			b = &tablerisk.Belief{}
			b.First, b.P = sampling.Belief(drawn[cell], oneIn)
			known[drawn[cell]] = b
		}
		return b
	}
	for cell, status := range p.status {
		if status != tables.Primary {
			continue
		}
		p.ranges.Low[cell], p.ranges.High[cell] = float64(p.beliefs(int32(cell)).First), math.Inf(1)
		if p.ranges.Low[cell] > value[cell]-p.rules.Down[cell] {
			p.verdict.Narrow = append(p.verdict.Narrow, int32(cell))
		}
	}
	return p.question.Stopped()
}
