package audit

import (
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Insider is a primary cell that is not protected against a respondent who knows other
// hidden cells exactly.
type Insider struct {
	Knower    int32 // as the caller numbers them
	Infers    int32 // the cell
	Disclosed bool  // exactly
}

// Insiders audits the hidden cells once more for every knower, to whom the cells that
// she knows are published (knower: her number for each cell, -1 for nobody). What she
// infers of her own cells is not asked. For counts a range that was not shown by whole
// tables, and for which none are found, is named as well.
func Insiders(q Question, p *primary.Result, knower []int32) ([]Insider, error) {
	parts, _, err := Components(q)
	if err != nil {
		return nil, err
	}
	var found []Insider
	for i := range parts {
		q.Hidden = make([]bool, len(q.Value))
		asked := &primary.Result{Status: make([]tables.Status, len(q.Value)), Up: p.Up, Down: p.Down}
		own := map[int32][]int32{}
		var knowers []int32
		for _, c := range parts[i].Cells {
			q.Hidden[c], asked.Status[c] = true, p.Status[c]
			if k := knower[c]; k >= 0 {
				if own[k] == nil {
					knowers = append(knowers, k)
				}
				own[k] = append(own[k], c)
			}
		}
		for _, k := range knowers {
			for _, c := range own[k] {
				q.Hidden[c], asked.Status[c] = false, tables.Free
			}
			r, err := Audit(q)
			if err != nil {
				return nil, err
			}
			v, err := Judge(q, r, asked)
			if err != nil {
				return nil, err
			}
			for _, d := range v.Disclosed {
				found = append(found, Insider{k, d, true})
			}
			for _, n := range v.Narrow {
				found = append(found, Insider{k, n, false})
			}
			for _, c := range own[k] {
				q.Hidden[c], asked.Status[c] = true, p.Status[c]
			}
		}
	}
	return found, nil
}
