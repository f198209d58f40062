package pipeline

import (
	"context"
	"errors"

	"github.com/sdlfilter/sdlfilter/transform"
)

// errWhole says that the masks of an earlier release go by all records.
var errWhole = errors.New("its masks go by all records, which shards do not see: make the release in one run")

// readyEarlierInParts is readyEarlier for a process that sees a part of the records: it makes no pass over them, so
// that the masks of earlier releases may need to know nothing of other records but what the ledger has.
func (pl *Plan) readyEarlierInParts() {
	pl.settleEarlier(func(e *EarlierRelease) error {
		err := e.settle(context.Background(), pl, Job{Parts: true, Found: e.foundInLedger})
		if err == nil && e.chain.NeedsSurvey() {
			return errWhole
		}
		return err
	})
}

// foundInLedger gives the plan of an earlier release what the ledger has of the data.
func (e *EarlierRelease) foundInLedger(pl *Plan) error {
	for _, m := range e.Config.Masks {
		p := m.Params
		if transform.ScopeOf(p) != transform.ScopeRecord || transform.NeedsValues(p) != "" ||
			transform.NeedsPeople(p) != nil ||
			transform.NeedsFrequencies(p) != "" || len(transform.NeedsCorrelations(p)) > 0 {
			return errWhole
		}
	}
	if open := pl.settleFrom(e.Amounts); len(open) > 0 {
		return errWhole
	}
	return nil
}
