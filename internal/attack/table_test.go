package attack_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

func summary(r *attack.Result, color bool, width int) string {
	var b strings.Builder
	attack.Summary(&b, r, color, width)
	return b.String()
}

var paint = regexp.MustCompile("\x1b\\[[0-9;]+m")

// TestSummaryFits any terminal: within its width, ASCII where it has no colours, and
// no column's name steers it.
func TestSummaryFits(t *testing.T) {
	d, o := mixed(t)
	d.Numeric[2].Name = "a column with a name that is longer than any terminal \x1b[31mis wide, by far " + strings.Repeat("x", 200)
	d.Records = 12_345_678
	o.Loss.Regressions = nil
	for _, asked := range []attack.Options{o, {}} {
		r := run(t, d, asked)
		for _, width := range []int{0, 10, 60, 79, 80, 91, 92, 100, 140, 300} {
			most := max(width, 60)
			if width == 0 {
				most = 100
			}
			for _, color := range []bool{false, true} {
				text := summary(r, color, width)
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

// flat is a text without the breaks of its lines.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestSummarySaysWhatWasFound(t *testing.T) {
	d, o := few()
	text := flat(summary(run(t, d, o), false, 140))
	for _, want := range []string{
		"4 records. Knows of every respondent the original a, and seeks their records.",
		"found 2 of 4 whose nearest", "share 50.0 % who guesses blindly finds 25.0 %", "one to one 2",
		"correct links 2 of 4 links made, where the posterior exceeds 0", "own record first 2 of 4", "among the ten first 4", "records 3; 0 (from 0)",
		"k 2 records", "below 2 0 records", "below 3 4 records", "greatest risk 0.500", "expected to be found 2.000", "with their households 2.500", "l of s 1",
		"within 0.2 SD 50.0 % of the records; in SDs of the original 50.0 %",
		"a +/- 0.707 -> 0", "found by linkage 2 -> 4",
		"ok: Nothing is computed back", "a 0 of 4",
		"change per cell (IL1s) 0.08660", "KS of a 0",
	} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.Replace(want, "3; 0", "0; 3", 1)) {
			t.Errorf("does not say %q", want)
		}
	}
	if strings.Contains(text, "Not to be relied on") {
		t.Error("interval disclosure, which finds more than linkage, is said to be blind")
	}
	d.Records = 1000
	if text := flat(summary(run(t, d, o), false, 140)); !strings.Contains(text, "1,000 records, of which a sample of 4 was attacked") ||
		!strings.Contains(text, "Counted within the sample") {
		t.Error("a sample is not said to be one")
	}
}

// TestBlindSpot: where linkage finds more than interval disclosure does, the table
// says so beside it; and that it says nothing of identity where linkage is missing.
func TestBlindSpot(t *testing.T) {
	d := masked(t, respondents(300), 1, noise(0.2, "wage", "education", "experience"))
	o := attack.Options{Intervals: []float64{0.01}, Linkage: &attack.Linkage{}}
	r := run(t, d, o)
	if !(r.Linkage.CorrectShare > 2*r.Interval["0.01"]) {
		t.Fatalf("linkage finds %v, interval %v", r.Linkage.CorrectShare, r.Interval)
	}
	if text := flat(summary(r, false, 100)); !strings.Contains(text, "Not to be relied on here: linkage finds "+
		strings.ReplaceAll(figure.Percent(r.Linkage.CorrectShare), "\u00a0", " ")+" of the respondents. It counts a record only where all numeric columns lie") {
		t.Errorf("the blind spot is not stated:\n%s", text)
	}
	o.Linkage = nil
	if text := flat(summary(run(t, d, o), false, 100)); !strings.Contains(text, "says nothing of whether respondents are found") {
		t.Error("interval disclosure stands alone without a word")
	}
}

// TestSummaryOfInversion names what undid the mask.
func TestSummaryOfInversion(t *testing.T) {
	mask := noise(0, "wage")
	mask.Name = "lazy"
	d := masked(t, respondents(300), 1, mask)
	o := everything(nil, 0)
	o.Inversion.Masks = append(o.Inversion.Masks, mask)
	text := flat(summary(run(t, d, attack.Options{Inversion: o.Inversion}), false, 100))
	for _, want := range []string{"no: 300 values are computed back.", "wage 300 of 300 by identity"} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q:\n%s", want, text)
		}
	}
}
