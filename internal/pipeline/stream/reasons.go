package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reasonsEntry is the entry of a partition's state that counts its records in
// quarantine by reason.
const reasonsEntry = "reasons"

// reasonsVersion is the version of the entry's format.
const reasonsVersion = 1

// keptReasons is the content of the entry. It names columns and what is wrong with them, never a value.
type keptReasons struct {
	Version int              `json:"version"`
	Of      string           `json:"of"` // the fingerprint of the assessment to which these counts belong
	Reasons map[string]int64 `json:"reasons"`
}

// reasons counts a partition's records in quarantine by "column: reason".
type reasons struct {
	whole, delta map[string]int64
}

// add counts the rejected records from offset next on. Earlier ones were counted already.
func (r *reasons) add(b *microdata.Block, next int64) {
	for _, x := range b.Rejects {
		if b.Place(x.Row) < next {
			continue
		}
		if r.delta == nil {
			r.delta = map[string]int64{}
		}
		r.delta[account.ReasonOf(x)]++
	}
}

func (r *reasons) commit()   { r.whole, r.delta = plus(r.whole, r.delta), nil }
func (r *reasons) rollback() { r.delta = nil }

// keep returns the entry to be stored with the transaction; nil if nothing was added.
func (r *reasons) keep(of string) ([]byte, error) {
	if len(r.delta) == 0 {
		return nil, nil
	}
	return json.Marshal(keptReasons{reasonsVersion, of, plus(r.whole, r.delta)})
}

// take reads the stored counts, if they have the same fingerprint. States of earlier versions have none.
func (r *reasons) take(text []byte, of string) error {
	if len(text) == 0 {
		return nil
	}
	var k keptReasons
	if err := json.Unmarshal(text, &k); err != nil {
		return errors.New("the reasons of the quarantine that are kept are damaged")
	}
	if k.Version != reasonsVersion {
		return fmt.Errorf("the reasons of the quarantine that are kept have version %d, this program reads version %d", k.Version, reasonsVersion)
	}
	if k.Of == of {
		r.whole = k.Reasons
	}
	return nil
}

// plus returns the sum of counts, and changes neither of them.
func plus(a, b map[string]int64) map[string]int64 {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]int64, len(b))
	}
	for reason, n := range b {
		out[reason] += n
	}
	return out
}
