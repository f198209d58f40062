package pipeline

import (
	"errors"

	"github.com/sdlfilter/sdlfilter/transform"
)

// errWhole says that the masks of an earlier release go by all records.
var errWhole = errors.New("its masks go by all records, which shards do not see: make the release in one run")

// SettleEarlierInParts is SettleEarlier for a process that sees a part of the records: it makes no pass over them.
func (pl *Plan) SettleEarlierInParts() {
	pl.settleEarlier(func(e *EarlierRelease) error { return e.settleWith(pl, e.settleInParts) })
}

// settleInParts makes masks ready that need to know nothing of other records but what the ledger has.
func (e *EarlierRelease) settleInParts() (err error) {
	for _, m := range e.Config.Masks {
		p := m.Params
		if transform.ScopeOf(p) != transform.ScopeRecord || transform.NeedsValues(p) != "" || transform.NeedsPeople(p) != nil ||
			transform.NeedsFrequencies(p) != "" || len(transform.NeedsCorrelations(p)) > 0 {
			return errWhole
		}
	}
	if open := e.plan.settleFrom(e.Amounts); len(open) > 0 {
		return errWhole
	}
	if e.chain, err = e.plan.BuildChain(e.Key); err == nil && e.chain.NeedsSurvey() {
		return errWhole
	}
	return err
}
