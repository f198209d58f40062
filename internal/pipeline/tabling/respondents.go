package tabling

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// auditRespondents finds those of the cells, unsafe counts published changed, whose true count is certain for some
// respondent. A respondent knows that each count that she is in is at least her own part. A
// count needs no protection from a respondent who is alone in it.
//
// A respondent is in one inner cell, and so in all of its totals. If contributors are holdings, which can be in
// several inner cells, or if the inner cells are in several tables, it is not known who is in which of them
// together: then the respondents of each cell are tried, and somebody who knows what all respondents know.
func (p *protected) auditRespondents(joint *tablerisk.Joint, parts []tablerisk.Part, cells []int32) error {
	knower := tables.SoleContributors(p.cells)
	sure, err := joint.Sure(parts, cells, certain, func(part, about int32) bool {
		return knower[about] >= 0 && knower[part] == knower[about]
	})
	if err != nil {
		return err
	}
	if _, ok := p.inner(); !ok || p.options.Holdings {
		more, err := p.auditTogether(joint, parts, cells, knower)
		if err != nil {
			return err
		}
		sure = append(sure, more...)
	}
	slices.Sort(sure)
	for _, cell := range slices.Compact(sure) {
		p.insiders = append(p.insiders, audit.Insider{Infers: cell, Disclosed: true})
	}
	return nil
}

// mostAlone is the greatest number of cells that are audited again without the respondent who is alone in them. Beyond
// it the knowledge of all respondents together counts.
const mostAlone = 20

// auditTogether finds those of the cells that are certain for somebody who knows all parts, without those of
// the respondent who is alone in the cell.
func (p *protected) auditTogether(joint *tablerisk.Joint, parts []tablerisk.Part, cells, knower []int32) (sure []int32,
	err error) {
	together, err := joint.Together(parts, cells, certain)
	if err != nil {
		return nil, err
	}
	again := 0
	for _, cell := range together {
		if knower[cell] >= 0 && again < mostAlone {
			again++
			others := slices.DeleteFunc(slices.Clone(parts), func(part tablerisk.Part) bool {
				return knower[part.Cell] == knower[cell]
			})
			still, err := joint.Together(others, []int32{cell}, certain)
			if err != nil {
				return nil, err
			}
			if len(still) == 0 {
				continue
			}
		}
		sure = append(sure, cell)
	}
	return sure, nil
}

// ownParts returns, for each inner cell, the greatest part that one contributor knows to be her own, one record or
// the records of the largest holding, if everybody else thinks that the count may be less.
func (p *protected) ownParts(likelihood func(cell int32) (first int64, l []float64)) (parts []tablerisk.Part) {
	total := make([]bool, len(p.question.Value))
	for i := range p.set.Sums() {
		total[p.set.Sum(i).Total] = true
	}
	for cell, n := range p.cells.Contributors {
		if n == 0 || total[cell] {
			continue
		}
		own := int64(1)
		if largest := p.cells.Largest(cell); p.options.Holdings && len(largest) > 0 {
			own = int64(min(largest[0].Value, p.question.Value[cell]))
		}
		if first, l := likelihood(int32(cell)); l == nil || first < own {
			parts = append(parts, tablerisk.Part{Cell: int32(cell), Least: own})
		}
	}
	return parts
}
