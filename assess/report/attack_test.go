package report_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/pagecheck"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// section returns the text of the page's section about intruders, and its elements.
func section(t *testing.T, page []byte) (text string, below []*pagecheck.Element) {
	t.Helper()
	_, rest, found := bytes.Cut(page, []byte(`<section class="column intruder"`))
	if !found {
		return "", nil
	}
	inner, _, _ := bytes.Cut(rest, []byte("</section>"))
	below, err := pagecheck.Elements(slices.Concat([]byte("<section"), inner, []byte("</section>")), true)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(below[0].Text, "\u00a0", "~")), " "), below
}

// shownFindings are the places in the JSON of an attack with numbers that the page shows directly;
// others appear in sentences and notes.
var shownFindings = regexp.MustCompile(`^/attack/(` + strings.Join([]string{
	`linkage/(expected_correct|correct_share|one_to_one_correct)`,
	`bayes/(links|correct|expected_correct|expected_outside|posterior_of_correct/mean)`,
	`bayes/ranks/\d+/(number|cumulative|posterior/(mean|sd)|top_ten/mean)`, `bayes/curve/\d+/.*`,
	`bayes/worst/\d+/(record|rank|posterior)`,
	`uniqueness/(min_k|sample_uniques|violations/.*|expected_reidentifications|max_individual_risk|household/.*)`,
	`uniqueness/(suda2/(max|mean|msus_by_size/\d+|contribution/.*)|l_diversity.*|combinations/.*)`,
	`interval(_sound)?/.*`, `averaging/columns/\d+/(compared|R/[02])`,
	`inversion/columns/\d+/(recovered|share|beyond_guess|inversions/\d+/(claims|recovered|chance))`,
	`utility/(il1s|il1s_per_cell|eigen|pmse|change/relative|ks/.*|wasserstein/.*|columns/\d+/change/(il1s_per_compared_cell|relative))`,
	`categories/(pmse|columns/\d+/(changed|missing|entropy|entropy_released|entropy_lost|distance))`,
	`utility/(structure/(correlation|covariance)/max|regressions/\d+/coefficients/\d+/((original|released)/value|overlap))`,
}, "|") + `)$`)

func TestEveryFindingIsOnThePage(t *testing.T) {
	r := example.Released()
	_, below := section(t, must(t)(r.HTML()))
	shown := map[string]bool{}
	for _, e := range below {
		shown[e.Attr["data-path"]] = true
	}
	var document map[string]any
	if err := json.Unmarshal(must(t)(r.JSON()), &document); err != nil {
		t.Fatal(err)
	}
	findings := 0
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for name, x := range v {
				walk(x, path+"/"+name)
			}
		case []any:
			for i, x := range v {
				walk(x, path+"/"+strconv.Itoa(i))
			}
		case float64:
			if shownFindings.MatchString(path) {
				findings++
				if !shown[path] {
					t.Errorf("%s is not on the page", path)
				}
			}
		}
	}
	walk(document["attack"], "/attack")
	// 43 thresholds of six numbers, ranks of five, …
	if findings < 300 {
		t.Errorf("only %d findings in the example", findings)
	}
}

// TestPartsOfAnAttackThatAreAbsent: each part alone has its own heading and no other.
func TestPartsOfAnAttackThatAreAbsent(t *testing.T) {
	full := example.Attack()
	parts := map[string]func(a *attack.Result){
		"By distance":               func(a *attack.Result) { a.Linkage = full.Linkage },
		"By Bayes’ rule":            func(a *attack.Result) { a.Bayes = full.Bayes },
		"By standing out":           func(a *attack.Result) { a.Uniqueness = full.Uniqueness },
		"By undoing the masks":      func(a *attack.Result) { a.Inversion = full.Inversion },
		"By averaging 3 releases":   func(a *attack.Result) { a.Averaging = full.Averaging },
		"By interval":               func(a *attack.Result) { a.Interval = full.Interval },
		"What the masking has cost": func(a *attack.Result) { a.Utility = full.Utility },
	}
	for want, put := range parts {
		r := example.Released()
		r.Attack = &attack.Result{Targets: full.Targets, Records: full.Records, Keys: full.Keys}
		put(r.Attack)
		page := must(t)(r.HTML())
		text, below := section(t, page)
		for heading := range parts {
			if has := slices.ContainsFunc(below, func(e *pagecheck.Element) bool {
				return e.Name == "h3" && strings.HasPrefix(e.Text, heading)
			}); has != (heading == want) {
				t.Errorf("only %q was asked for: %q is there: %v", want, heading, has)
			}
		}
		if strings.Contains(text, "NaN") {
			t.Errorf("%q: NaN on the page", want)
		}
		compare(t, want, page, must(t)(r.JSON()), 3)
		r.Summary(&bytes.Buffer{}, false, 0, nil)
	}
	r := example.Released()
	r.Attack = nil
	page := must(t)(r.HTML())
	if text, _ := section(t, page); text != "" || bytes.Contains(page, []byte("intruder\"")) ||
		bytes.Contains(page, []byte(".intruder")) {
		t.Error("a report without an attack speaks of intruders")
	}
	if bytes.Contains(must(t)(r.JSON()), []byte(`"attack"`)) {
		t.Error("a report without an attack has one in its JSON")
	}
}

// TestWorstFindingFirst: the section begins with the worst result.
func TestWorstFindingFirst(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *attack.Result)
		want   []string // in this order
	}{
		"one to one": {func(*attack.Result) {
		}, []string{"Of 1,000 respondents sought, 41 are found (4.1~%) by assigning", "1,903 of 28,152 records are alone",
			"Nothing is computed back"}},
		"bayes": {func(a *attack.Result) {
			a.Bayes.Correct = 300
		}, []string{"300 are found (30.0~%) by the Bayesian intruder", "1,903 of"}},
		"averaging": {func(a *attack.Result) { a.Averaging.Linkage.Averaged.ExpectedCorrect = 900 },
			[]string{"900 are found (90.0~%) by taking the nearest mean of 3 releases"}},
		"computed back": {func(a *attack.Result) {
			*a = *example.Broken()
		}, []string{"Whoever knows the list of masks computes 20,110 values of hours back.", "1,210.3 are found (24.3~%)",
			"871 of 5,000 records"}},
		"nobody found": {func(a *attack.Result) {
			setResults(a, 0)
		}, []string{"1,903 of 28,152 records are alone", "Of 1,000 respondents none is found."}},
		"hardly anybody": {func(a *attack.Result) {
			setResults(a, 0.5)
		}, []string{"1,903 of 28,152 records are alone", "0.5 are found (0.050~%)"}},
		"nobody alone": {func(a *attack.Result) {
			setResults(a, 0)
			a.Uniqueness.SampleUniques, a.Uniqueness.MinFrequency = 0, 7
		},
			[]string{"Of 1,000 respondents none is found.",
				"Whoever knows region, education, ethnicity and experience of a respondent finds at least 7 records that can be theirs"}},
		"as others count": {func(a *attack.Result) {
			setResults(a, 0)
			a.Uniqueness.SampleUniques, a.Uniqueness.MinFrequency, a.Uniqueness.Count = 0, 7, uniqueness.CountReleased
		}, []string{"Of 1,000 respondents none is found.", "is shared by at least 7 records"}},
		"one alone": {func(a *attack.Result) { setResults(a, 0); a.Uniqueness.SampleUniques = 1 },
			[]string{"1 of 28,152 records is alone with its combination of region, education, ethnicity and experience"}},
		"nothing but costs": {func(a *attack.Result) { *a = attack.Result{Records: 10, Utility: a.Utility} },
			[]string{"No respondent was sought; what was measured is below.", "An attack on 10 records."}},
	} {
		r := example.Released()
		c.change(r.Attack)
		text, _ := section(t, must(t)(r.HTML()))
		rest, ok := strings.CutPrefix(text, "Can a respondent be found again? ")
		if !ok {
			t.Fatalf("%s: the section begins %q", name, text[:min(len(text), 100)])
		}
		for i, want := range c.want {
			at := strings.Index(rest, want)
			// The first is the sentence at the beginning of the section.
			if end := strings.Index(rest, "."); at < 0 || i == 0 && at > 60 {
				t.Errorf("%s: %q is not where it belongs in %q", name, want, rest[:max(end, min(len(rest), 400))])
				break
			}
			rest = rest[at:]
		}
	}
}

// setResults sets the result of each kind of attack.
func setResults(a *attack.Result, n float64) {
	a.Linkage.ExpectedCorrect, a.Linkage.CorrectShare, *a.Linkage.OneToOneCorrect = n, n/1000, n
	a.Bayes.Correct, a.Averaging.Linkage.Averaged.ExpectedCorrect = n, n
}

// TestFiguresOfAnAttackAreReachable: each bar of the ranks and each tenth of the threshold can get
// the keyboard focus and has its numbers as text, and a table contains the same numbers.
func TestFiguresOfAnAttackAreReachable(t *testing.T) {
	r := example.Released()
	_, below := section(t, must(t)(r.HTML()))
	labels := map[string]int{}
	for _, e := range below {
		if e.Attr["class"] == "pt" && e.Attr["tabindex"] == "0" {
			labels[e.Attr["aria-label"]]++
		}
	}
	for _, want := range []string{
		"Rank 1: 38.5 targets have the true record there, 3.9\u00a0%; mean posterior 0.250",
		"Rank beyond: 840 targets have the true record there, 84.0\u00a0%; mean posterior 0.0227",
		"The intruder’s threshold, t = 0.1: precision 17.2\u00a0%, recall 1.1\u00a0%; 11.5 of 67 links right",
		"t = 0: precision 3.9\u00a0%, recall 3.9\u00a0%; 38.5 of 1,000 links right",
	} {
		if labels[want] != 2 { // in two sizes
			t.Errorf("%q occurs %d times in %q", want, labels[want], slices.Sorted(maps.Keys(labels)))
		}
	}
	if n := len(labels); n < 11+5 {
		t.Errorf("%d stops", n)
	}
}

// TestRulesAboutRespondentsReadWell: rules of the gate without a column, on the page and on the
// terminal.
func TestRulesAboutRespondentsReadWell(t *testing.T) {
	r := example.Withheld()
	var terminal bytes.Buffer
	r.Summary(&terminal, false, 0, nil)
	page := ""
	all, err := pagecheck.Elements(must(t)(r.HTML()), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Attr["class"] == "verdict bad" {
			page = strings.Join(strings.Fields(strings.ReplaceAll(e.Text, "\u00a0", "~")), " ")
		}
	}
	for _, want := range [][2]string{
		{"Share of respondents found by linkage at most 0.05", "found 24.3~% of those sought; limit 5~% of those sought"},
		{"Respondents linked rightly by the Bayesian intruder at most 30", "found –, not measured; limit 30 respondents"},
		{"Released records that fit the keys of every respondent at least 5", "found 1 record; limit 5 records"},
		{"No value is computed back from the list of masks", "found 20,110 values; limit 0 values"},
	} {
		if !strings.Contains(page, want[0]+" "+want[1]) {
			t.Errorf("the page does not say %q in %s", want, page)
		}
		found, _, _ := strings.Cut(want[1], "; limit")
		if line := want[0] + "; " + strings.ReplaceAll(found, "~", " "); !strings.Contains(
			strings.Join(strings.Fields(terminal.String()), " "), line) {
			t.Errorf("the terminal does not say %q", line)
		}
	}
}

// TestSummaryOfAnAttackFitsATerminal: for any names, no line is too long and nothing controls the
// terminal.
func TestSummaryOfAnAttackFitsATerminal(t *testing.T) {
	for _, long := range []string{strings.Repeat("列名 of a very long column ", 12), strings.Repeat("x", 300),
		"x\x1b]0;owned\x07\r\n\u202e\x9b31m"} {
		r := &report.Report{Attack: example.Broken()}
		r.Attack.Bayes = example.Attack().Bayes
		r.Attack.Keys, r.Attack.Uniqueness.Keys, r.Attack.Inversion.Columns[1].Name = []string{long, long}, []string{long},
			long
		var b bytes.Buffer
		r.Summary(&b, false, 0, nil)
		for _, line := range strings.Split(b.String(), "\n") {
			if n := figure.Cells(line); n > 100 {
				t.Errorf("%d columns wide: %s", n, line)
			}
			if strings.ContainsAny(line, "\x1b\x07\r\u202e\u009b") {
				t.Errorf("%q steers the terminal", line)
			}
		}
	}
}

// TestAttackRoundTrip: Parse reads what was written.
func TestAttackRoundTrip(t *testing.T) {
	for _, want := range []*attack.Result{example.Attack(), example.Broken()} {
		r := example.Released()
		r.Attack = want
		got, err := report.Parse(must(t)(r.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		// Empty lists are read as empty, and not as nil.
		again, err := report.Parse(must(t)(got.JSON()))
		if err != nil || !reflect.DeepEqual(got.Attack, again.Attack) {
			t.Errorf("changes on its way through Parse: %v", err)
		}
		a, b := must(t)(json.Marshal(want)), must(t)(json.Marshal(got.Attack))
		if !bytes.Equal(a, b) {
			t.Error("Parse does not give back the attack that JSON wrote")
		}
	}
}
