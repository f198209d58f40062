package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestSummaryFitsATerminal(t *testing.T) {
	long := strings.Repeat("列名 of a very long column ", 12)
	r := &Report{Name: long, Withheld: strings.Repeat("reason ", 60),
		Records: Records{Counts: microdata.Counts{Read: math.MaxInt64, Released: math.MaxInt64, Quarantined: math.MaxInt64}},
		Columns: Columns{{Name: long, Unit: long, Masked: true,
			Original: assess.Moments{N: math.MaxInt64, Nulls: 10, Mean: 1e-300, SD: 1e300},
			Utility:  assess.Utility{U: 1e-300, U0: 1e300, Efficiency: assess.Float(math.NaN()), Bias: -1e-300},
			Risk: []assess.Risk{{Target: long, Knowledge: "index", R: 1e300, RMSE: 1e-300},
				{Target: "max", Knowledge: "position", R: assess.Float(math.Inf(1))},
				{Target: "typical", Knowledge: "mean", R: 123456789, RMSE: 123456789},
				{Target: "typical", Knowledge: long, R: 1, RMSE: 1}}}},
		Gate: assess.Verdict{Rules: []assess.RuleVerdict{{Rule: long, Advice: long}, {Rule: strings.Repeat("x", 300)}}}}
	r.Records.Reasons = map[string]int64{long: 1, "a": 3, "b": 2, "c": 2, "d": 2, "e": 2, "f": 7}
	many := *r
	for range 60 {
		many.Columns = append(many.Columns, r.Columns[0])
	}
	for i := range 16 {
		color, width, r := i%2 == 0, []int{0, 60, 80, 140}[i/2%4], []*Report{r, &many}[i/8]
		most := width
		if width == 0 {
			most = 100
		}
		var b bytes.Buffer
		r.Summary(&b, color, width, nil)
		for _, line := range strings.Split(b.String(), "\n") {
			plain := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m",
				"", "\x1b[1;31m", "").Replace(line)
			if strings.Contains(plain, "\x1b") {
				t.Errorf("an unknown escape sequence in %q", line)
			}
			if n := cells(plain); n > most {
				t.Errorf("%d columns wide: %s", n, plain)
			}
		}
		if !color && strings.Contains(b.String(), "\x1b") {
			t.Error("colours that were not requested")
		}
	}
}

// Of many columns, those of broken rules come first, then those that are known best, whatever their units; three have a
// table and the others a line, up to a number.
func TestSummaryOfManyColumns(t *testing.T) {
	r := &Report{}
	column := func(name string, sd, rmse float64) {
		r.Columns = append(r.Columns,
			assess.ColumnMeasures{Name: name, Masked: true, Original: assess.Moments{SD: assess.Float(sd)},
				Risk: []assess.Risk{{Target: "typical", Knowledge: "index", R: 1e-9, RMSE: 1e5},
					{Target: "max", Knowledge: "index", R: assess.Float(1 / rmse / rmse), RMSE: assess.Float(rmse)}}})
	}
	for i := range 5 {
		column(fmt.Sprintf("c%d", i), 100, float64(50+i))
	}
	text := func() string {
		var b bytes.Buffer
		r.Summary(&b, false, 80, nil)
		return b.String()
	}
	column("in thousands", 100_000, 20_000) // the greatest share, the smallest R
	if got := text(); strings.Contains(got, "the other columns") || strings.Count(got, "target ") != 6 {
		t.Errorf("six columns are not folded:\n%s", got)
	}
	column("well hidden", 100, 99)
	column("broken", 100, 98)
	r.Columns = append(r.Columns, assess.ColumnMeasures{Name: "untouched"})
	r.Gate.Rules = []assess.RuleVerdict{{Column: "c0", Passed: true, Rule: "x"}, {Column: "broken", Rule: "y"}}
	got := text()
	var order []int
	for _, name := range []string{"broken", "in thousands", "c0", "the other columns", "c1", "c2", "c3", "c4",
		"well hidden"} {
		order = append(order, strings.Index(got, "\n"+strings.Repeat(" ", 2*min(len(order)/3, 1))+name))
	}
	if !slices.IsSorted(order) || order[0] < 0 || strings.Count(got, "target ") != 3 ||
		strings.Contains(got, "untouched") {
		t.Errorf("order %v:\n%s", order, got)
	}
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	whole, others, found := strings.Cut(string(page), `id="folded"`)
	if n := strings.Count(others, `<details class="folded">`); !found || n != 5 ||
		strings.Contains(whole, `<details class="folded">`) || strings.Count(whole, `<section class="column"`) != 3 {
		t.Errorf("%d columns are folded", n)
	}
	if a, b := strings.Index(whole, `<span class="name">broken`), strings.Index(whole,
		`<span class="name">in thousands`); a < 0 || b < a {
		t.Errorf("the column of a broken rule is at %d, the one that is known best at %d", a, b)
	}
	for i := range foldedLines {
		column(fmt.Sprintf("d%d", i), 100, 97)
	}
	if got := text(); !strings.Contains(got, "5 columns more in the report") || strings.Contains(got, "well hidden") {
		t.Errorf("%s", got)
	}
}

// The most frequent reasons come first, and the number of the others is given.
func TestSummaryOfReasons(t *testing.T) {
	r := &Report{Records: Records{Reasons: map[string]int64{"wage: no number": 3, "short": 3, "age: no number": 9}}}
	var b bytes.Buffer
	r.Summary(&b, false, 80, nil)
	if !strings.Contains(b.String(),
		"    9 of them: age: no number\n    3 of them: short\n    3 of them: wage: no number\n") {
		t.Errorf("%s", b.String())
	}
	for i := range 4 {
		r.Records.Reasons[fmt.Sprint("z", i)] = 1
	}
	b.Reset()
	if r.Summary(&b, false, 80, nil); !strings.Contains(b.String(), "z1\n    2 reasons more in the report\n") ||
		strings.Contains(b.String(), "z2") {
		t.Errorf("%s", b.String())
	}
}

func TestSummarySteersNoTerminal(t *testing.T) {
	const bad = "x\x1b]0;owned\x07\r\n\u202e\x9b31m"
	r := &Report{Name: bad, Withheld: bad,
		Columns: Columns{{Name: bad, Unit: bad, Masked: true, Risk: []assess.Risk{{Target: bad, Knowledge: bad}}}},
		Gate:    assess.Verdict{Rules: []assess.RuleVerdict{{Rule: bad, Advice: bad, Column: bad, Measure: "min_rmse"}}}}
	var b bytes.Buffer
	r.Summary(&b, false, 0, []string{bad})
	for _, c := range []string{"\x1b", "\x07", "\r", "\u202e", "\x9b"} {
		if strings.Contains(b.String(), c) {
			t.Errorf("%q reaches the terminal", c)
		}
	}
}

func TestVerdict(t *testing.T) {
	held, broken := assess.RuleVerdict{Passed: true}, assess.RuleVerdict{Rule: "too risky"}
	for _, c := range []struct {
		what     string
		r        Report
		word, in string
		good     bool
	}{
		{"no rules", Report{Gate: assess.Verdict{Passed: true}}, "Released, nothing was demanded", "No gate rule", true},
		{"one holds", Report{Gate: assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{held}}}, "Released",
			"one rule holds", true},
		{"all hold", Report{Gate: assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{held, held}}}, "Released", "All 2",
			true},
		{"refused", Report{Withheld: "x", Gate: assess.Verdict{Rules: []assess.RuleVerdict{held, broken}}}, "Withheld",
			"1 of the gate’s 2 rules does not hold", false},
		{"refused by two", Report{Withheld: "x", Gate: assess.Verdict{Rules: []assess.RuleVerdict{broken, broken, held}}},
			"Withheld", "2 of the gate’s 3 rules do not hold", false},
		{"withheld for another reason", Report{Withheld: "x", Gate: assess.Verdict{Passed: true}}, "Withheld",
			"Nothing was published.", false},
		{"alert only", Report{Gate: assess.Verdict{Rules: []assess.RuleVerdict{broken}}}, "Gate failed",
			"lets the output go on", false},
	} {
		v := c.r.verdict()
		if v.Word != c.word || v.Good != c.good || !strings.Contains(v.Line, c.in) {
			t.Errorf("%s: %+v", c.what, v)
		}
	}
}

// The colour shows whether there were rules, and whether records were lost.
func TestTone(t *testing.T) {
	held, broken := assess.RuleVerdict{Passed: true}, assess.RuleVerdict{Rule: "too risky"}
	for _, c := range []struct {
		what string
		r    Report
		want headline.Tone
	}{
		{"no rules", Report{Gate: assess.Verdict{Passed: true}}, headline.Neutral},
		{"all hold", Report{Gate: assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{held}}}, headline.Good},
		{"no rules, records lost",
			Report{Gate: assess.Verdict{Passed: true}, Records: Records{Counts: microdata.Counts{Quarantined: 1}}},
			headline.Amber},
		{
			"records lost",
			Report{Gate: assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{held}},
				Records: Records{Counts: microdata.Counts{Quarantined: 1}}}, headline.Amber},
		{"refused, records lost",
			Report{Withheld: "x", Gate: assess.Verdict{Rules: []assess.RuleVerdict{held, broken}},
				Records: Records{Counts: microdata.Counts{Quarantined: 1}}}, headline.Bad},
		{"alert only", Report{Gate: assess.Verdict{Rules: []assess.RuleVerdict{broken}}}, headline.Bad},
	} {
		if got := c.r.verdict().Tone; got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for public, want := range map[*Public]headline.Tone{
		{Gate: PublicGate{Passed: true, Demanded: true}}: headline.Good, {Gate: PublicGate{Passed: true}}: headline.Neutral,
		{Gate: PublicGate{Demanded: true}}: headline.Bad, {}: headline.Bad, {Measured: true}: headline.Neutral,
		{Gate: PublicGate{Passed: true, Demanded: true},
			Records: Records{Counts: microdata.Counts{Read: 9, Quarantined: 1}}}: headline.Amber,
		{Gate: PublicGate{Demanded: true},
			Records: Records{Counts: microdata.Counts{Read: 9, Quarantined: 1}}}: headline.Bad,
	} {
		if got := public.Headline().Tone; got != want {
			t.Errorf("%+v: %s, want %s", public.Gate, got, want)
		}
	}
}

func TestVerdictSaysAReasonOnce(t *testing.T) {
	rules := assess.Verdict{Rules: []assess.RuleVerdict{{Rule: "too risky"}}}
	if v := (&Report{Withheld: "does not hold: too risky", Gate: rules}).verdict(); v.Reason != "" {
		t.Errorf("repeats %q", v.Reason)
	}
	if v := (&Report{Withheld: "the disk is full", Gate: rules}).verdict(); v.Reason != "the disk is full" {
		t.Errorf("the reason is %q", v.Reason)
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "", -time.Second: "", 840 * time.Millisecond: "0.84 s",
		59 * time.Second:  "59 s",
		200 * time.Second: "3 min 20 s", 26*time.Hour + 61*time.Second: "26 h 1 min"} {
		if got := took(d); got != want {
			t.Errorf("took(%v) = %q, want %q", d, got, want)
		}
	}
}
