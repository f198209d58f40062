package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// crowded returns a report with n of everything that a sheet lists.
func crowded(n int, word string) *Report {
	r := &Report{Name: word, Withheld: word, Records: Records{Counts: microdata.Counts{Read: 9}},
		Release: &Release{Path: word, SHA256: strings.Repeat("f", 64)}}
	for i := range n {
		r.Gate.Rules = append(r.Gate.Rules,
			assess.RuleVerdict{Rule: fmt.Sprintf("held %d %s", i, word), Measure: fmt.Sprintf("m%d", i), Passed: true},
			assess.RuleVerdict{Rule: fmt.Sprintf("broken %d %s", i, word), Measure: fmt.Sprintf("b%d", i),
				Found: assess.Float(math.NaN())})
		r.Masks = append(r.Masks, Mask{Mask: "noise", Columns: []string{word}})
		r.Warnings = append(r.Warnings, word+" warning")
	}
	return r
}

// TestBoardFitsItsSheet: the content never exceeds the height of the sheet. Rules that do not hold
// come before those that hold and are the last to be left out, and the number of omitted rules is
// given.
func TestBoardFitsItsSheet(t *testing.T) {
	for _, word := range []string{"w", strings.Repeat("WWWW ", 60), strings.Repeat("x", 300), strings.Repeat("列名", 90),
		""} {
		for _, n := range []int{0, 1, 3, 5, 8, 13, 40} {
			r := crowded(n, word)
			b := r.board()
			if h := b.height(); h > boardRoom {
				t.Errorf("%d of everything, %.10q: %.0f points high, room for %.0f", n, word, h, boardRoom)
			}
			broken := 0
			for i, rule := range b.Rules {
				if !rule.Passed {
					broken++
				}
				if i > 0 && !rule.Passed && b.Rules[i-1].Passed {
					t.Errorf("%d of everything: a rule that holds comes before one that does not", n)
				}
			}
			if want := min(n, 3); broken < want {
				t.Errorf("%d of everything, %.10q: %d rules that do not hold are shown", n, word, broken)
			}
			if len(b.Rules) > broken && broken < n {
				t.Errorf("%d of everything: a rule that holds is shown while one that does not is left out", n)
			}
			for _, left := range []struct {
				n    int
				what string
			}{{2*n - len(b.Rules), "rule"}, {n - len(b.Masks), "mask"}, {len(r.Headline().Figures) - len(b.Figures), "figure"}} {
				if left.n > 0 != strings.Contains(b.Left(), left.what) || left.n > 0 &&
					!strings.Contains(strings.ToLower(b.Left()), plural(int64(left.n), left.what, left.what+"s")) {
					t.Errorf("%d of everything: %d %ss are left out, and the sheet says %q", n, left.n, left.what, b.Left())
				}
			}
		}
	}
}

// TestBoardSaysWhatDecides: the sheet contains verdict, figures, rules, masks, remaining risks,
// digest and room for signatures, and identifies its release.
func TestBoardSaysWhatDecides(t *testing.T) {
	r := crowded(1, "survey")
	r.Loosened = []Loosened{{Path: "gate.rules", Origin: "--set"}}
	page, err := r.Board()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Withheld", "1 of the gate’s 2 rules does not hold", "share linked", "records lost",
		"broken 0 survey", "held 0 survey", "noise of survey", "survey warning",
		"Loosened: gate.rules by --set.", "Not measured: share linked", strings.Repeat("f", 64), "Data steward",
		"Release board", "signature", "Confidential"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the sheet lacks %q", want)
		}
	}
	id, err := ReadRelease(page)
	if err != nil || id.Release == nil || id.Release.SHA256 != r.Release.SHA256 || !id.Withheld {
		t.Errorf("the sheet is about %+v, %v", id, err)
	}
	if page, err = (&Report{}).Board(); err != nil || !strings.Contains(string(page), "Nothing was demanded.") ||
		!strings.Contains(string(page), "no files") {
		t.Errorf("of an empty report: %v", err)
	}
}
