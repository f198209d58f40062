package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// totalsEntry is the entry of a partition's state with its totals. Earlier versions kept only the
// reasons there.
const totalsEntry = "reasons"

// totalsVersion is the version of the entry's format.
const totalsVersion = 1

// ownEntries are the entries of a partition's state that are not its assessment's.
var ownEntries = []string{manifestEntry, totalsEntry, liveEntry, placeEntry}

// keptTotals is the content of the entry. It names columns and what is wrong with them, never a value.
type keptTotals struct {
	Version int              `json:"version"`
	Of      string           `json:"of"` // the fingerprint of the assessment to which these counts belong
	Reasons map[string]int64 `json:"reasons"`
	Effect  account.Effect   `json:"effect"`
	Records *keptRecords     `json:"records,omitempty"` // if nothing is assessed
}

// keptRecords are the numbers of records where no assessment counts them.
type keptRecords struct {
	Next int64 `json:"next"` // first place that is not counted
	microdata.Counts
}

// totals counts what the assessment of a partition does not: reasons of the quarantine, what the
// masks did, and the records themselves if nothing is assessed.
type totals struct {
	records      bool  // the records are counted here
	next         int64 // then: first place that is not in whole
	pending      int64 // then: what next is after the commit
	whole, delta counted
}

type counted struct {
	records report.Records // without an assessment; with one, the reasons only
	effect  account.Effect
}

func (c counted) plus(d counted) counted {
	return counted{account.Sum(c.records, d.records), c.effect.Plus(d.effect)}
}

// add counts a masked block from place next on. Earlier records were counted already.
func (t *totals) add(b *microdata.Block, next int64, holding bool) {
	from := sort.Search(b.N, func(i int) bool { return b.Place(i) >= next })
	if from == b.N {
		return
	}
	if from > 0 {
		// This is after a crash, without transactions. What the masks did is known of the whole block only.
		part := microdata.Block{}
		b.Part(&part, from, b.N)
		part.Touched, part.Listed = b.Touched, b.Listed
		b = &part
	}
	d := counted{effect: account.Effect{Changed: b.Touched, Listed: b.Listed}}
	for i := range b.Digests {
		if b.Digests[i] == (microdata.Digest{}) && !b.Rejected(i) {
			d.effect.Unidentified++
		}
	}
	account.Count(&d.records, b)
	switch {
	case !t.records:
		d.records.Counts = microdata.Counts{}
	case holding:
		d.records.Counts = d.records.HeldBack()
	}
	t.delta = t.delta.plus(d)
}

func (t *totals) commit() {
	t.whole, t.delta = t.whole.plus(t.delta), counted{}
	t.next = max(t.next, t.pending)
}

func (t *totals) rollback() { t.delta, t.pending = counted{}, 0 }

// keep returns the entry to be stored with the transaction that reaches up to place next; nil if
// it adds nothing.
func (t *totals) keep(of string, next int64) ([]byte, error) {
	d := t.delta
	if d.effect.None() && len(d.records.Reasons) == 0 && (!t.records || next == t.next && d.records.Read == 0) {
		return nil, nil
	}
	all := t.whole.plus(d)
	k := keptTotals{Version: totalsVersion, Of: of, Reasons: all.records.Reasons, Effect: all.effect}
	if t.records {
		t.pending = max(t.next, next)
		k.Records = &keptRecords{t.pending, all.records.Counts}
	}
	return json.Marshal(k)
}

// take reads the stored counts. If they have another fingerprint they are left out, and stale is
// true. States of earlier versions may have none.
func (t *totals) take(text []byte, of string) (stale bool, err error) {
	if len(text) == 0 {
		return false, nil
	}
	var k keptTotals
	if err := json.Unmarshal(text, &k); err != nil {
		return false, errors.New("the counts that are kept are damaged")
	}
	if k.Version != totalsVersion {
		return false,
			fmt.Errorf("the counts that are kept have version %d, this program reads version %d", k.Version, totalsVersion)
	}
	if k.Of != of {
		return true, nil
	}
	t.whole = counted{report.Records{Reasons: k.Reasons}, k.Effect}
	if r := k.Records; r != nil && t.records {
		t.next = r.Next
		t.whole.records.Counts = r.Counts
	}
	return false, nil
}
