package stream

import (
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"reflect"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// blockOf is a block of ten records from a place, some of them rejected, of which the last has no
// identity.
func blockOf(first int64, rejected ...int) *microdata.Block {
	b := &microdata.Block{First: first, N: 10, Touched: []int64{7, 0}, Digests: make([]microdata.Digest, 10)}
	for i := range 9 {
		b.Digests[i] = microdata.Digest{1}
	}
	for _, r := range rejected {
		b.Reject(r, "wage", "null")
	}
	return b
}

// Counts of an aborted transaction are dropped, records counted before are not counted again, and
// kept counts of other masks or another version, and damaged ones, are not used.
func TestTotals(t *testing.T) {
	for _, records := range []bool{false, true} {
		r := totals{records: records}
		r.add(blockOf(0, 1, 2), 0, false)
		r.rollback()
		if kept, err := r.keep("masks", 0); kept != nil || err != nil {
			t.Errorf("an aborted transaction keeps the counts %s (error %v)", kept, err)
		}
		r.add(blockOf(0, 1, 2), 0, false)
		if _, err := r.keep("masks", 10); err != nil {
			t.Fatal(err)
		}
		r.commit()
		r.add(blockOf(0, 1, 2, 5), 10, false) // all of it is counted
		if r.add(blockOf(5, 1, 2, 5), 10, true); len(r.delta.records.Reasons) != 1 {
			t.Errorf("reasons of the open transaction are %v", r.delta.records.Reasons)
		}
		kept, err := r.keep("masks", 15)
		if err != nil {
			t.Fatal(err)
		}
		r.commit()
		var want counted
		want.records.Reasons = map[string]int64{"wage: null": 3}
		want.effect = account.Effect{Changed: []int64{14, 0}, Unidentified: 2}
		next := int64(0)
		if records {
			want.records.Read, want.records.Quarantined, want.records.Released, want.records.Held, next = 15, 3, 8, 4, 15
		}
		if !reflect.DeepEqual(r.whole, want) || r.next != next {
			t.Errorf("the counts are %+v up to %d, want %+v up to %d", r.whole, r.next, want, next)
		}
		if kept, err := r.keep("masks", 15); kept != nil || err != nil {
			t.Errorf("an empty transaction keeps the counts %s (error %v)", kept, err)
		}
		again, other := totals{records: records}, totals{records: records}
		if stale, err := again.take(kept, "masks"); err != nil || stale || !reflect.DeepEqual(again.whole, want) ||
			again.next != next {
			t.Errorf("the loaded counts are %+v up to %d, stale %v (error %v)", again.whole, again.next, stale, err)
		}
		if stale, err := other.take(kept, "other masks"); err != nil || !stale ||
			!reflect.DeepEqual(other, totals{records: records}) {
			t.Errorf("counts of other masks are loaded: %+v, stale %v (error %v)", other, stale, err)
		}
		if stale, err := other.take(nil, "masks"); err != nil || stale ||
			!reflect.DeepEqual(other, totals{records: records}) {
			t.Errorf("a state without counts gives %+v, stale %v (error %v)", other, stale, err)
		}
		for text, want := range map[string]string{`{"version":2,"canary":1}`: "have version 2, this program reads version 1",
			`canary`: "damaged"} {
			if _, err := other.take([]byte(text), "masks"); err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: take returns %v", text, err)
			}
		}
	}
	// One without identity that is rejected is not released, and not counted as such.
	var lost totals
	if lost.add(blockOf(0, 9), 0, false); lost.delta.effect.Unidentified != 0 {
		t.Errorf("%d records without identity, want none", lost.delta.effect.Unidentified)
	}
}

// Where there is nothing to assess, a partition that only moves on keeps its place too.
func TestTotalsKeepTheirPlace(t *testing.T) {
	r := totals{records: true}
	kept, err := r.keep("masks", 4)
	if err != nil || kept == nil {
		t.Fatalf("the place is not kept (error %v)", err)
	}
	if r.rollback(); r.next != 0 {
		t.Errorf("after an abort the next place is %d", r.next)
	}
	if r.commit(); r.next != 0 {
		t.Errorf("a commit takes the place of an aborted transaction: %d", r.next)
	}
	var again = totals{records: true}
	if _, err := again.take(kept, "masks"); err != nil || again.next != 4 {
		t.Errorf("the loaded place is %d (error %v)", again.next, err)
	}
	// Offsets that were set back by hand do not lower it.
	again.add(blockOf(0), again.next, false)
	if kept, err = again.keep("masks", 2); err != nil {
		t.Fatal(err)
	}
	if again.commit(); again.next != 4 || again.whole.records.Read != 6 {
		t.Errorf("the next place is %d after %d records, want 4 after 6", again.next, again.whole.records.Read)
	}
	again.rollback()
	if again.commit(); again.next != 4 {
		t.Errorf("after an empty transaction the next place is %d, want 4", again.next)
	}
	third, assessed := totals{records: true}, totals{}
	if _, err := third.take(kept, "masks"); err != nil || third.next != 4 {
		t.Errorf("the loaded place is %d (error %v), want 4", third.next, err)
	}
	// Where there is an assessment, that counts the records.
	if _, err := assessed.take(kept, "masks"); err != nil || assessed.whole.records.Read != 0 ||
		assessed.whole.effect.Changed[0] != 7 {
		t.Errorf("beside an assessment the counts are %+v (error %v)", assessed.whole, err)
	}
	// Without one, the kept place says what is counted already.
	k := keptStanding{totals: totals{records: true, next: 4}}
	if err := k.add(blockOf(0), false); err != nil || k.counts().Read != 6 {
		t.Errorf("%d records are counted (error %v), want 6", k.counts().Read, err)
	}
}

// What the masks did counts with the open transaction, and not after it was aborted. A stored
// assessment of other masks is not taken up, and the log says so.
func TestEffectOfAStream(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40)
	b.feed(1, 60)
	if n := b.effect().Changed[0]; n < 95 || n > 100 {
		t.Errorf("%d of 100 records are changed", n)
	}
	kept := keptOf(b, 1)
	b.standings[part(0)].rollback()
	if n := b.effect().Changed[0]; n < 55 || n > 60 {
		t.Errorf("%d of 60 records are changed", n)
	}
	delete(kept, totalsEntry)
	b.fingerprint = "another"
	b.failing()
	b.logText()
	if err := b.enter(part(1), kafka.Arrival{Next: 60, End: 60}, kept); err != nil ||
		b.standings[part(1)].counts().Read != 0 {
		t.Errorf("state of other masks: error %v, counts %+v", err, b.standings[part(1)].counts())
	}
	if log := b.logText(); !strings.Contains(log, "start again from here") || !strings.Contains(log, `"partition":1`) {
		t.Errorf("state of other masks: the log is %s", log)
	}
}
