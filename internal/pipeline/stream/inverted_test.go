package stream

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Ten wages of the bench lie on multiples of 103, which noise of SD 3 leaves nearest to their own; a
// thousand lie on all whole numbers. A transaction whose values can be computed back is refused
// unasked, whichever partition has them, first or last.
func TestATransactionThatIsUndoneIsRefused(t *testing.T) {
	const gate = "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 0.001}]}\n"
	undone := "no value is computed back from the list of masks"
	b := benchOf(t, gate)
	b.feed(1, 10)
	if !b.verdictOf() || !slices.Contains(brokenRules(*b.verdict.last), undone) {
		t.Errorf("ten wages on a lattice: the verdict is %+v", b.verdict.last)
	}
	b.standings[part(1)].commit()
	rep, err := b.wholeReport(t.Context())
	if err != nil || rep.Gate.Passed || rep.Attack == nil || rep.Attack.Inversion == nil {
		t.Errorf("the report of ten wages on a lattice has error %v, the verdict %+v and the attack %+v", err, rep.Gate,
			rep.Attack)
	}

	b = benchOf(t, gate+"assess: {intruder: {inversion: false}}\n")
	b.feed(1, 10)
	if b.verdictOf() || b.inverted.found != nil {
		t.Errorf("without the inversion, the verdict is %+v", b.verdict.last)
	}

	b = benchOf(t, gate)
	b.feed(0, 1000)
	if b.verdictOf() || b.inverted.found == nil {
		t.Errorf("a thousand wages: the verdict is %+v", b.verdict.last)
	}
	b.standings[part(0)].commit()
	rep, err = b.wholeReport(t.Context())
	if err != nil || !rep.Gate.Passed || !strings.HasPrefix(rep.Gate.Rules[len(rep.Gate.Rules)-1].Rule, undone) {
		t.Errorf("the report of a thousand wages has error %v and the verdict %+v", err, rep.Gate)
	}
}

// A rule about values that are stated is judged in the first transaction and in a later one.
func TestStatedValuesOnAStream(t *testing.T) {
	const rule = "gate: {rules: [{column: wage, max_exact: {share: %, within: 1}}]}\n"
	// Noise of SD 3 moves a wage by at most 1.5 with a probability of 0.383.
	for share, passes := range map[string]bool{"0.3": false, "0.45": true} {
		b := benchOf(t, strings.ReplaceAll(rule, "%", share))
		b.feed(0, 1000)
		if b.verdictOf() == passes {
			t.Errorf("at most %s: the verdict is %+v", share, b.verdict.last)
		}
		b.standings[part(0)].commit()
		b.verdict = judgement{}
		b.feed(1, 1000)
		if b.verdictOf() == passes {
			t.Errorf("at most %s, later: the verdict is %+v", share, b.verdict.last)
		}
	}
}

// What was found of some records is forgotten with a transaction that is aborted, and when partitions
// come or go.
func TestTheInversionIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		v     inverted
		pairs int64
		want  bool
	}{
		{inverted{}, 1, true},
		{inverted{records: 1000, at: time.Now(), took: time.Hour}, 1000, false},
		{inverted{records: 1000, at: time.Now(), took: time.Hour}, 1249, false},
		{inverted{records: 1000, at: time.Now(), took: time.Hour}, 1250, true},
		{inverted{records: 1000, at: time.Now().Add(-19 * time.Hour), took: time.Hour}, 1000, false},
		{inverted{records: 1000, at: time.Now().Add(-21 * time.Hour), took: time.Hour}, 1000, true},
	} {
		if got := c.v.due(c.pairs); got != c.want {
			t.Errorf("%+v with %d pairs: due %v, want %v", c.v, c.pairs, got, c.want)
		}
	}
	b := benchOf(t, "gate: {rules: [{column: wage, target: max, knowledge: index, min_rmse: 0.001}]}\n")
	b.feed(0, 1000)
	if b.verdictOf(); b.inverted.at.IsZero() {
		t.Fatal("the inversion was not tried")
	}
	b.failing()
	if err := b.forget(); err != nil || !b.inverted.at.IsZero() {
		t.Errorf("after a transaction that was aborted (%v) the inversion is %+v, want none", err, b.inverted)
	}
}

// What was found of a held transaction does not hold the next one back: its records are not released.
func TestAHeldTransactionIsInvertedAnew(t *testing.T) {
	b := benchOf(t,
		"gate: {on_fail: hold, hold: {topic: held}, rules: [{column: wage, target: max, knowledge: index, min_rmse: 0.001}]}\n")
	b.feed(1, 10)
	if !b.verdictOf() {
		t.Fatalf("ten wages on a lattice: the verdict is %+v", b.verdict.last)
	}
	b.holding, b.inverted.took = true, time.Hour
	b.verdictOf()
	if !b.holding {
		t.Fatalf("the same ten wages: the verdict is %+v", b.verdict.last)
	}
	b.inverted.took = time.Hour
	b.standings[part(1)].rollback()
	b.feed(0, 1000)
	// As many as before do not count as growth.
	b.inverted.records = 1000
	if b.verdictOf(); b.holding {
		t.Errorf("a thousand other wages: the verdict is %+v", b.verdict.last)
	}
}
