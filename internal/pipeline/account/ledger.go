package account

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// ledger says what the plan knows of earlier releases; nil without a ledger.
func (r *Reporter) ledger(measures *assess.Measures) *report.Ledger {
	there, not := r.Plan.FromLedger()
	if !there {
		return nil
	}
	l := &report.Ledger{Not: not, Releases: []report.EarlierRelease{}, Privacy: measures.Together}
	for _, e := range r.Plan.EarlierReleases() {
		l.Releases = append(l.Releases, report.EarlierRelease{
			Number: e.Number, Name: e.Name, Same: e.Key.ID() == r.KeyID, Repeats: e.Repeats, Share: assess.Float(math.NaN()),
		})
	}
	return l
}
