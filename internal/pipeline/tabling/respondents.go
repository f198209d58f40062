package tabling

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// auditRespondents finds the unsafe counts, published changed, whose value is certain for some
// respondent. A respondent knows that each count that she is in is at least her own part. A
// count needs no protection from a respondent who is alone in it.
//
// All respondents together know more than each of them: fewer counts are possible for them, the
// true one always is, and the likelihoods are the same, so the true count is no less probable.
// So a count of which all together are not certain is certain for none of them. The others are
// audited without the respondent who is alone in them, and then for one respondent after another,
// if it is known in which cells she is: that is, if contributors are records, and the inner cells
// are in one table.
func (p *protected) auditRespondents(q audit.Question, c change) error {
	own := p.ownParts()
	knower := tables.SoleContributors(p.cells)
	together, err := p.certainOf(q, c, own, p.uncertain())
	if err != nil {
		return err
	}
	var left []int32
	for _, cell := range together {
		if knower[cell] >= 0 {
			still, err := p.certainOf(q, c, withoutRespondent(own, knower, knower[cell]), []int32{cell})
			if err != nil {
				return err
			}
			if len(still) == 0 {
				continue
			}
		}
		left = append(left, cell)
	}
	if len(left) == 0 {
		return nil
	}
	respondents, known := p.respondents(q, own)
	for _, cell := range left {
		found := !known || len(left)*len(respondents) > mostInferences
		for _, r := range respondents {
			if found {
				break
			}
			if knower[cell] >= 0 && knower[cell] == knower[r.inner] {
				continue
			}
			still, err := p.certainOf(q, c, r.own, []int32{cell})
			if err != nil {
				return err
			}
			found = len(still) > 0
		}
		if found {
			p.insiders = append(p.insiders, audit.Insider{Infers: cell, Disclosed: true})
		}
	}
	return nil
}

// mostInferences bounds the number of audits of one cell for one respondent. Beyond it the
// knowledge of all respondents together counts: more cells then count as inferable, never fewer.
const mostInferences = 5000

// uncertain returns the unsafe cells whose values are not certain for outsiders.
func (p *protected) uncertain() (list []int32) {
	for cell, status := range p.status {
		if status == tables.Primary && !slices.Contains(p.verdict.Disclosed, int32(cell)) {
			list = append(list, int32(cell))
		}
	}
	return list
}

// ownParts returns, for each cell, the greatest part that one contributor knows to be her own:
// one record, or the records of the largest holding.
func (p *protected) ownParts() []float64 {
	own := make([]float64, len(p.question.Value))
	for cell, n := range p.cells.Contributors {
		if n == 0 {
			continue
		}
		own[cell] = 1
		if largest := p.cells.Largest(cell); p.options.Holdings && len(largest) > 0 {
			own[cell] = min(largest[0].Value, p.question.Value[cell])
		}
	}
	return own
}

// withoutRespondent returns the own parts without those of the respondent with the given number, who is the
// only contributor of the cells that knower has for her.
func withoutRespondent(own []float64, knower []int32, number int32) []float64 {
	rest := slices.Clone(own)
	for cell, k := range knower {
		if k == number {
			rest[cell] = 0
		}
	}
	return rest
}

// respondent is somebody with a record in an inner cell, and therefore in every total of that
// cell.
type respondent struct {
	inner int32
	own   []float64
}

// respondents returns those who know more than everybody, one for each inner cell. known is
// false if contributors are holdings, which can be in several inner cells, or if no table has
// all inner cells.
func (p *protected) respondents(q audit.Question, own []float64) (list []respondent, known bool) {
	inner, ok := p.inner()
	if !ok || p.options.Holdings {
		return nil, false
	}
	above := make(map[int32][]int32)
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		for _, part := range s.Parts {
			above[part] = append(above[part], s.Total)
		}
	}
	for cell, is := range inner {
		if !is || own[cell] == 0 {
			continue
		}
		r := respondent{int32(cell), make([]float64, len(own))}
		more := false
		for queue := []int32{int32(cell)}; len(queue) > 0; queue = queue[1:] {
			at := queue[0]
			if r.own[at] > 0 {
				continue
			}
			r.own[at] = 1
			more = more || q.Lower[at] < 1
			queue = append(queue, above[at]...)
		}
		if more {
			list = append(list, r)
		}
	}
	return list, true
}

// certainOf returns those of the wanted cells whose true count is certain for somebody who knows
// that each cell is at least own.
func (p *protected) certainOf(q audit.Question, c change, own []float64, wanted []int32) (list []int32, err error) {
	q.Lower, q.Hidden = slices.Clone(q.Lower), slices.Clone(q.Hidden)
	more := false
	for cell, v := range own {
		if v > q.Lower[cell] {
			q.Lower[cell], more = v, true
			q.Hidden[cell] = q.Upper[cell] > v
		}
	}
	if !more { // knows no more than everybody
		return nil, nil
	}
	marked := make([]bool, len(q.Value))
	for _, cell := range wanted {
		marked[cell] = true
	}
	possible, _, err := audit.Values(q, marked)
	if err != nil {
		return nil, err
	}
	for _, cell := range wanted {
		b := p.belief(cell, possible[cell], c)
		if at := int(int64(q.Value[cell]) - possible[cell].Low); len(b) == 1 || b[at] > certain {
			list = append(list, cell)
		}
	}
	return list, nil
}
