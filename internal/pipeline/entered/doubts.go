package entered

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// leastShare is the least share of the respondents of the smaller of two releases under one key that must be in the
// other one too, for equal values of a respondent to be taken to have had equal draws. Below it, respondents may have
// new identities, under which their draws were others.
const leastShare = 0.5

// earlierColumns describes the columns that a release had.
func earlierColumns(r *ledger.Release) (list []pipeline.EarlierColumn) {
	for _, c := range r.Columns {
		guarded := c.Masked && c.Role == string(microdata.Sensitive)
		list = append(list,
			pipeline.EarlierColumn{Name: c.Name, Type: c.Type, Shape: c.Shape, Guarded: guarded, Ordered: c.Ordered})
	}
	return list
}

// sameUnits returns an error if a column had another unit than today.
func (l *Ledger) sameUnits(r *ledger.Release) error {
	for _, c := range r.Columns {
		if today := l.config.Columns.Named(c.Name); today != nil && today.Unit != c.Unit {
			return fmt.Errorf("its column %s had the unit %q, and has %q today", c.Name, c.Unit, today.Unit)
		}
	}
	return nil
}

// sameRespondents reports whether the release with an index had the identities of the first one before it, or of
// itself, with its key and its identity columns.
func (l *Ledger) sameRespondents(index int) bool {
	r := l.releases[index].Release
	for _, first := range l.releases[:index] {
		if f := first.Release; f.KeyID == r.KeyID && identityOf(f.Releasing) == identityOf(r.Releasing) {
			return alike(f.Sketch, r.Sketch)
		}
	}
	return true
}

// alike reports whether two sketches under one key may be of the same respondents.
func alike(a, b *ledger.Sketch) bool {
	return max(ledger.Share(a, b), ledger.Share(b, a)) >= leastShare
}

// identityOf returns the identity columns of a configuration, as JSON.
func identityOf(configuration json.RawMessage) string {
	var of struct {
		Identity json.RawMessage `json:"identity"`
	}
	if json.Unmarshal(configuration, &of) != nil {
		return "unknown"
	}
	return string(of.Identity)
}

// otherwise is the share by which the number of records may differ from what it was, for masks that go by all of them.
const otherwise = 0.1

// doubts says, once all records are masked, why the masks of an earlier release may have given something else; "" if
// there is no reason. read is the number of today's records, and unidentified that of those without identity.
func (l *Ledger) doubts(read, unidentified int64) string {
	own, identity := l.Sketch(), identityOf(l.config.Releasing())
	for i, e := range l.told {
		r := l.releases[i].Release
		same, changed := e.Key.ID() == l.key.ID(), math.Abs(float64(read-r.Read))
		switch {
		case e.Config == nil:
		case r.Read > 0 && decidesByOthers(e.Config) && changed > otherwise*float64(r.Read):
			return fmt.Sprintf("%s had masks that go by all records, of which there were %d, and today there are %d",
				e.At(), r.Read, read)
		case same && unidentified > 0:
			return fmt.Sprintf(
				"%s drew by the identity of each respondent, and today %d records have none: their draws were others",
				e.At(), unidentified)
		case same && identityOf(r.Releasing) == identity && !alike(own, r.Sketch):
			return fmt.Sprintf("fewer than half of the respondents of %s are among today's: those who have another identity "+
				"now had other draws. Other respondents need a ledger of their own", e.At())
		}
	}
	return ""
}
