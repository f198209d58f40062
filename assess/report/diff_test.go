package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// month is a report with two columns, a rule and two masks.
func month() *Report {
	column := func(name string, rmse float64) assess.ColumnMeasures {
		return assess.ColumnMeasures{Name: name, Masked: true, Unit: "EUR", Original: assess.Moments{SD: 100},
			Utility: assess.Utility{Efficiency: 0.9},
			Risk:    []assess.Risk{{Target: "typical", Knowledge: "index", RMSE: assess.Float(rmse)}}}
	}
	return &Report{
		Name: "survey", Version: "1", KeyID: "k",
		Records: Records{Counts: microdata.Counts{Read: 10, Released: 9, Quarantined: 1},
			Reasons: map[string]int64{"short": 1}},
		Columns: Columns{column("wage", 20), column("rent", 30)},
		Gate: assess.Verdict{
			Passed: true,
			Rules: []assess.RuleVerdict{
				{Rule: "wage: x", Column: "wage", Measure: "min_efficiency", Limit: 0.8, Found: 0.9, Passed: true}}},
		Masks: []Mask{{Mask: "noise", Columns: []string{"wage"}, Parameters: Ordered[any]{{"sd", 90.0}}},
			{Mask: "bias", Columns: []string{"rent"}}},
	}
}

// Each thing that changes is said, with its direction, in both orders; a report does not differ from itself.
func TestDifference(t *testing.T) {
	if d := Compare(month(), month()); len(d.Changes) != 0 {
		t.Errorf("of one report: %+v", d.Changes)
	}
	const good, bad, neutral = headline.Good, headline.Bad, headline.Neutral
	for what, c := range map[string]struct {
		change func(*Report)
		about  string
		name   string
		there  headline.Tone // from month to the changed one
		back   headline.Tone
	}{
		"a rule breaks": {func(r *Report) { r.Gate.Rules[0].Passed, r.Gate.Rules[0].Found = false, 0.7 }, "rule",
			"wage: x", bad, good},
		"the verdict": {func(r *Report) { r.Withheld, r.Gate.Rules[0].Passed = "x", false }, "verdict", "verdict", bad,
			good},
		"a rule more": {func(r *Report) {
			r.Gate.Rules = append(r.Gate.Rules, assess.RuleVerdict{Rule: "y", Passed: true})
		}, "rule", "y", good, bad},
		"a broken rule more": {func(r *Report) { r.Gate.Rules = append(r.Gate.Rules, assess.RuleVerdict{Rule: "y"}) }, "rule",
			"y", bad, bad},
		"the first column": {func(r *Report) { r.Columns[0].Risk[0].RMSE = 10 }, "column", "wage, best known to", bad,
			good},
		"the last column": {func(r *Report) { r.Columns[1].Risk[0].RMSE = 31 }, "column", "rent, best known to", good,
			bad},
		"efficiency": {func(r *Report) { r.Columns[1].Utility.Efficiency = 0.8 }, "column", "rent, efficiency", bad,
			good},
		"a figure": {func(r *Report) { r.Columns[0].Risk[0].RMSE = 10 }, "figure", "known best to", bad, good},
		"a column more": {func(r *Report) { r.Columns = append(r.Columns, assess.ColumnMeasures{Name: "sex"}) },
			"column", "sex", bad, neutral},
		"a column unmasked": {func(r *Report) { r.Columns[1] = assess.ColumnMeasures{Name: "rent"} }, "column", "rent", bad,
			good},
		"a parameter": {func(r *Report) { r.Masks[0].Parameters[0].Value = 91.0 }, "mask", "noise of wage, sd",
			neutral, neutral},
		"a list": {func(r *Report) { r.Masks[0].Parameters[0].Value = strings.Repeat("category ", 9) }, "mask",
			"noise of wage, sd", neutral, neutral},
		"a mask less": {func(r *Report) { r.Masks = r.Masks[:1] }, "mask", "bias of rent", bad, neutral},
		"one of two masks": {func(r *Report) { r.Masks = append(r.Masks, r.Masks[0]) }, "mask", "noise of wage again",
			neutral, bad},
		"the order of masks": {func(r *Report) { slices.Reverse(r.Masks) }, "mask", "order of the masks", neutral, neutral},
		"records": {func(r *Report) { r.Records.Read, r.Records.Released = 11, 10 }, "records", "records read",
			neutral, neutral},
		"a reason": {func(r *Report) { r.Records.Reasons = map[string]int64{"short": 1, "wage: no number": 2} },
			"records", "in quarantine: wage: no number", bad, good},
		"a missing code": {func(r *Report) {
			r.MissingCodes = []assess.MissingCodes{{Column: "wage", Codes: []assess.MissingCode{{Code: "-9", Records: 3}}}}
		}, "records", "wage, missing -9", neutral, neutral},
		"the key": {func(r *Report) { r.KeyID = "l" }, "setting", "key", neutral, neutral},
		"a loosening": {func(r *Report) { r.Loosened = []Loosened{{Path: "gate", Origin: "--set"}} }, "setting",
			"loosened: gate by --set", bad, neutral},
		"a warning": {func(r *Report) { r.Warnings = []string{"careful"} }, "warning", "careful", bad, neutral},
		"what is not computed": {func(r *Report) { r.Columns[0].Risk[0].RMSE = assess.Float(math.NaN()) }, "column",
			"wage, best known to", neutral, neutral},
	} {
		t.Run(what, func(t *testing.T) {
			r := month()
			c.change(r)
			for _, side := range []struct {
				d    *Difference
				tone headline.Tone
			}{{Compare(month(), r), c.there}, {Compare(r, month()), c.back}} {
				i := slices.IndexFunc(side.d.Changes, func(x Change) bool { return x.About == c.about && x.Name == c.name })
				if i < 0 || side.d.Changes[i].Tone != side.tone || side.d.Changes[i].Before == side.d.Changes[i].After {
					t.Errorf("want %s %q, %s: %+v", c.about, c.name, side.tone, side.d.Changes)
				}
				if !slices.IsSortedFunc(side.d.Changes, func(x, y Change) int { return urgency(x) - urgency(y) }) {
					t.Errorf("in another order: %+v", side.d.Changes)
				}
				if text := fmt.Sprint(side.d.Changes); strings.Contains(text, "category category") {
					t.Errorf("a long list is shown: %s", text)
				}
			}
		})
	}
}

// The terminal and the JSON show the same; lines fit, and a name steers no terminal.
func TestDifferenceIsShown(t *testing.T) {
	a, b := month(), month()
	b.Name = "x\x1b]0;owned\x07\u202e" + strings.Repeat("列名 ", 60)
	b.KeyID = "other"
	b.Warnings = []string{b.Name}
	for i := range diffLines {
		b.Records.Reasons[fmt.Sprint("reason ", i)] = 1
	}
	d := Compare(a, b)
	for _, width := range []int{60, 80, 0} {
		var text bytes.Buffer
		d.Summary(&text, false, width)
		for _, line := range strings.Split(text.String(), "\n") {
			if n := cells(line); n > max(width, 60) && width > 0 || strings.ContainsAny(line, "\x1b\x07\u202e") {
				t.Errorf("%d columns wide: %q", n, line)
			}
		}
		if want := fmt.Sprintf("%d changes more", len(d.Changes)-diffLines); !strings.Contains(text.String(), want) {
			t.Errorf("want %q in %s", want, text.String())
		}
	}
	text, err := d.JSON()
	var back Difference
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || len(back.Changes) != len(d.Changes) || back.Schema != DifferenceSchemaName {
		t.Errorf("%v: %s", err, text)
	}
	var none bytes.Buffer
	if Compare(a, a).Summary(&none, true, 80); !strings.Contains(none.String(), "Nothing has changed") {
		t.Errorf("%s", none.String())
	}
}
