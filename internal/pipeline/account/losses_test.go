package account

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestJudgeLosses(t *testing.T) {
	share := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name        string
		limit       *float64
		read, lost  int64
		before      bool // whether the other rules hold
		passed      bool
		rule, found string
	}{
		{name: "none", read: 1000, before: true, passed: true},
		{name: "the default limit", read: 1000, lost: 10, before: true, passed: true},
		{name: "one more than the default limit", read: 1000, lost: 11, before: true,
			rule: "share of records in quarantine at most 1 %"},
		{name: "stated limit, not exceeded", limit: share(0.5), read: 1000, lost: 500, before: true, passed: true,
			rule: "share of records in quarantine at most 50 %"},
		{name: "stated limit, exceeded", limit: share(0.5), read: 1000, lost: 501, before: true,
			rule: "share of records in quarantine at most 50 %"},
		{name: "none allowed", limit: share(0), read: 1000000, lost: 1, before: true,
			rule: "share of records in quarantine at most 0 %"},
		{name: "all lost", limit: share(1), read: 3, lost: 3, before: true, rule: "at least one record is released"},
		{name: "no records", before: true, passed: true},
		{name: "another rule failed", read: 1000, before: false},
		{name: "another rule failed, stated limit not exceeded", limit: share(0.5), read: 1000, before: false,
			rule: "share of records in quarantine at most 50 %"},
	} {
		v := assess.Verdict{Passed: c.before}
		judgeLosses(&v, config.Gate{MaxQuarantined: c.limit},
			report.Records{Counts: microdata.Counts{Read: c.read, Released: c.read - c.lost, Quarantined: c.lost}})
		if v.Rules != nil && c.lost == c.read &&
			(v.Rules[0].Measure != "min_released" || v.Rules[0].Found >= v.Rules[0].Limit) {
			t.Errorf("%s: the verdict has the rule %+v, want min_released with a figure below its limit", c.name, v.Rules[0])
		}
		rule := ""
		if len(v.Rules) > 0 {
			rule = v.Rules[0].Rule
			if got := v.Rules[0].Passed; got != (c.passed || !c.before && c.lost == 0) {
				t.Errorf("%s: the rule has Passed %v", c.name, got)
			}
			if !v.Rules[0].Passed && v.Rules[0].Advice == "" {
				t.Errorf("%s: the failed rule has no advice", c.name)
			}
		}
		if v.Passed != c.passed || rule != c.rule {
			t.Errorf("%s: the verdict has Passed %v and the rule %q, want %v and %q", c.name, v.Passed, rule, c.passed, c.rule)
		}
	}
}

// Lost records are counted by column and reason, and withhold the release.
func TestLostRecordsWithhold(t *testing.T) {
	v := assess.Verdict{Passed: true}
	judgeLosses(&v, config.Gate{}, report.Records{Counts: microdata.Counts{Read: 2, Released: 1, Quarantined: 1}})
	if why := WithheldBecause(v); !strings.Contains(why, "quarantine") {
		t.Errorf("the release is withheld because: %q; want the quarantine named", why)
	}
}
