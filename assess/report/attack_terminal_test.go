package report_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/pagecheck"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

func alone(a *attack.Result) *report.Attack {
	return &report.Attack{Result: a, Name: "attack", Version: "0.3.0",
		Finished: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)}
}

func terminal(a *report.Attack, color bool, width int) string {
	var b strings.Builder
	a.Summary(&b, color, width)
	return b.String()
}

var paint = regexp.MustCompile("\x1b\\[[0-9;]+m")

// TestAttackFitsATerminal: the text fits a terminal of any width, is ASCII without colours, and no
// column's name controls the terminal.
func TestAttackFitsATerminal(t *testing.T) {
	long := "a column with a name that is longer than any terminal \x1b[31mis wide, by far " + strings.Repeat("x", 200)
	named := example.Attack()
	named.Keys[0], named.Uniqueness.Keys[0], named.Utility.Columns[0].Name, named.Inversion.Columns[0].Name = long, long,
		long, long
	named.Averaging.Columns[0].Name, named.Utility.KS[long] = long, 0.5
	for _, result := range []*attack.Result{example.Attack(), example.Broken(), named, {Records: 10}} {
		a := alone(result)
		a.Name, a.Warnings = long, []string{strings.Repeat("left out ", 40)}
		for _, width := range []int{0, 10, 60, 79, 80, 91, 92, 100, 140, 300} {
			most := max(width, 60)
			if width == 0 {
				most = 100
			}
			for _, color := range []bool{false, true} {
				text := terminal(a, color, width)
				for _, l := range strings.Split(paint.ReplaceAllString(text, ""), "\n") {
					if figure.Cells(l) > most || strings.HasSuffix(l, " ") || strings.Contains(l, "\x1b") {
						t.Errorf("width %d: %q", width, l)
					}
					for _, c := range l {
						if !color && c > 126 {
							t.Errorf("%q is not ASCII", l)
							break
						}
					}
				}
				if painted := strings.Contains(text, "\x1b"); painted != color {
					t.Errorf("colour %v: %v", color, painted)
				}
			}
		}
	}
}

// flat returns a text without its line breaks.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestAttackAtATerminal: every part reports its results.
func TestAttackAtATerminal(t *testing.T) {
	text := flat(terminal(alone(example.Attack()), false, 140))
	for _, want := range []string{
		"Measured attack Of 1,000 respondents sought, 41 are found (4.1 %) by assigning",
		"share linked 2.4 % of those sought", "smallest k 1 record",
		"greatest individual risk 0.152 no rule; by all records of a person together; of single records it is less; without sampling weights (uniqueness.weight) the file is taken as the whole population",
		"found by the nearest record 23.5 of 1,000 respondents sought, by distance in SDs", "found one to one 41",
		"links made 67", "right by his reckoning", "own record is the first 38.5 targets", "among the first ten 160 targets",
		"Easiest to find: records",
		"records alone 1,903", "k below 2", "By all records together 2,211 of 9,120 persons are alone (24.3 %)",
		"joined k 1 fewest persons", "joined k below 5 6,890 persons, 75.6 % of all", "l of union",
		"within 0.05 SD 0.040 % of the records", "a small share is no sign of safety",
		"wage +/- 93.3 known by the mean; by one release +/- 161; endless releases would leave +/- 10.0",
		"hours +/- 3.50 known by the mean; by one release +/- 3.50; nothing more",
		"wage 0 nothing is given away", "IL1s per cell", "KS of wage",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Released") || strings.Contains(text, "gate") {
		t.Error("the text of an attack mentions a release that was made, or a gate")
	}
	broken := flat(terminal(alone(example.Broken()), false, 140))
	for _, want := range []string{
		"Measured attack Whoever knows the list of masks computes 20,110 values of hours back.",
		"no: computed back 20,110 values",
		"in the whole release, linkage and posterior find at most that share",
		"hours 20,110 72.5 % of its values: its tier has too little noise",
	} {
		if !strings.Contains(broken, want) {
			t.Errorf("does not say %q in\n%s", want, broken)
		}
	}
	// If linkage finds more than interval disclosure, this is said next to interval disclosure.
	blind := example.Attack()
	blind.Linkage.ExpectedCorrect, blind.Linkage.CorrectShare = 500, 0.5
	if text := flat(terminal(alone(blind), false, 100)); !strings.Contains(text,
		"So it is here: it goes down to 0 %, and 50.0 % of the respondents sought are found.") {
		t.Errorf("the blind spot is not stated:\n%s", text)
	}
	constant := example.Attack()
	constant.Linkage.Constant = []int{1}
	if text := flat(terminal(alone(constant), false, 100)); !strings.Contains(text,
		"Left out, since no two records differ in it: hours.") {
		t.Error("a key that distinguishes no records is not reported as left out")
	}
	none := example.Attack()
	none.Averaging.Columns[0].AveragedColumn = linkage.AveragedColumn{}
	if text := flat(terminal(alone(none), false, 140)); !strings.Contains(text,
		"no record has a value in the original and in every release") {
		t.Error("the text does not say that nothing can be compared")
	}
}

// TestAttackPage: the page of an attack follows the common layout, its numbers are those of its
// JSON, and all three views give the same verdict and figures.
func TestAttackPage(t *testing.T) {
	for name, result := range map[string]*attack.Result{"all": example.Attack(), "broken": example.Broken(),
		"nothing": {Records: 10, Keys: []string{}}} {
		a := alone(result)
		a.Warnings = []string{"3 released records have no original record and are left out"}
		page, text := must(t)(a.HTML()), must(t)(a.JSON())
		compare(t, name, page, text, 5)
		var document struct {
			Schema  string
			Verdict struct {
				Word, Line string
				Figures    []struct{ Label, Text string }
			}
		}
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		if document.Schema != attack.Schema || document.Verdict.Word != "Measured" || len(document.Verdict.Figures) < 4 {
			t.Errorf("%s: %+v", name, document)
		}
		all, err := pagecheck.Elements(page, true)
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		for _, e := range all {
			if e.Name == "main" {
				shown = flat(strings.ReplaceAll(e.Text, "\u00a0", " "))
			}
		}
		screen := flat(terminal(a, false, 100))
		for _, f := range document.Verdict.Figures {
			if !strings.Contains(shown, f.Label+strings.ReplaceAll(f.Text, "\u00a0", " ")) {
				t.Errorf("%s: the page does not show %s as %s", name, f.Label, f.Text)
			}
			if !strings.Contains(screen, strings.ReplaceAll(f.Label, "’", "'")) {
				t.Errorf("%s: the terminal does not show %s", name, f.Label)
			}
		}
		if !strings.Contains(shown, strings.ReplaceAll(document.Verdict.Line, "\u00a0", " ")) ||
			!strings.Contains(shown, "3 released records have no original record") {
			t.Errorf("%s: the page lacks the verdict or the warning", name)
		}
		if bytes.Contains(page, []byte("Released,")) {
			t.Errorf("%s: claims that something was released", name)
		}
		if result.Verdict != nil {
			t.Errorf("%s: the result was changed", name)
		}
	}
}
