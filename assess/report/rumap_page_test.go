package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/pagecheck"
	"github.com/sdlfilter/sdlfilter/internal/mapexample"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

func mapPage(t *testing.T, m *rumap.Map) (page, text []byte) {
	t.Helper()
	var html, json bytes.Buffer
	if err := report.WriteMapHTML(&html, m); err != nil {
		t.Fatal(err)
	}
	if err := rumap.WriteJSON(&json, m); err != nil {
		t.Fatal(err)
	}
	return html.Bytes(), json.Bytes()
}

// TestMapPageNumbersAreTheJSONs: every number on the page is that of map.json, rounded to the shown
// digits, and the page contains the whole map.
func TestMapPageNumbersAreTheJSONs(t *testing.T) {
	for name, m := range mapexample.All() {
		page, text := mapPage(t, m)
		// For each point: parameters, efficiency, U and its error, bias; for each risk R, its error
		// and the error in the column's unit, and again for the worst.
		least := 3
		for _, p := range m.Points {
			least += 4 + len(p.Parameters) + 3*len(p.Risk)
		}
		compare(t, name, page, text, least)
	}
}

func TestMapPageSaysTheVerdictFirst(t *testing.T) {
	for name, want := range map[string][]string{
		"noise": {"Recommended", "noise.sd 40\u00a0% of SD", "86.2\u00a0%",
			"What binds: R of max at most 4×10⁻⁵ (max, index)"},
		"none":   {"No recommendation", "Nowhere on the map holds"},
		"free":   {"No recommendation", "no rule"},
		"groups": {"Recommended", "region = west"},
		"losses": {"Recommended", "Kolmogorov", "KSpMSEoverlapattribute"},
	} {
		page, _ := mapPage(t, mapexample.All()[name])
		all, err := pagecheck.Elements(page, true)
		if err != nil {
			t.Fatal(err)
		}
		words, marks := "", 0
		for _, e := range all {
			if e.Name == "main" {
				words = strings.Join(strings.Fields(strings.ReplaceAll(e.Text, "\u00a0", "~")), " ")
			}
			if strings.HasPrefix(e.Attr["class"], "pt setting") && e.Attr["tabindex"] == "0" {
				marks++
			}
		}
		words = strings.ReplaceAll(words, "~", "\u00a0")
		at := -1
		for _, w := range want {
			next := strings.Index(words, w)
			if next < 0 {
				t.Errorf("%s: the page does not say %q", name, w)
			} else if at < 0 && next > 5 {
				t.Errorf("%s: the page does not begin with the verdict", name)
			}
			at = next
		}
		if n := len(mapexample.All()[name].Points); marks != 2*n {
			t.Errorf("%s: %d points to reach by keyboard in the two sizes of the map, want %d", name, marks, 2*n)
		}
	}
}

// TestAlternativesOnAReport: the strategies of a map on data are curves in addition to the points
// of a release of the same column, and of no other.
func TestAlternativesOnAReport(t *testing.T) {
	r := example.Released()
	before := bytes.Count(must(t)(r.HTML()), []byte(`class="series`))
	text := must(t)(r.JSON())
	r.Alternatives = []*rumap.Map{mapexample.Noise()}
	page := must(t)(r.HTML())
	// Three protected subjects, in two sizes, and as often in the legends.
	if after := bytes.Count(page, []byte(`class="series`)); after != before+12 {
		t.Errorf("%d series, %d without alternatives", after, before)
	}
	if !bytes.Contains(page, []byte("configured: max, index")) {
		t.Error("the legend does not name the curves")
	}
	if !bytes.Equal(must(t)(r.JSON()), text) {
		t.Error("alternatives changed the JSON")
	}
	r.Alternatives[0].Column = "another"
	if n := bytes.Count(must(t)(r.HTML()), []byte(`class="series`)); n != before {
		t.Error("curves of another column")
	}
}

// TestMapPageShowsWhatCouldNotBeJudged: if rules could not be judged, nothing claims that they
// hold: the verdict, the rule, the rows and the marks are amber, and the legend explains it.
func TestMapPageShowsWhatCouldNotBeJudged(t *testing.T) {
	const words = "Share of respondents found by linkage at most 0.05"
	m := mapexample.Noise()
	m.Rules = append(m.Rules, rumap.Rule{Measure: "max_linked", Words: words})
	m.Recommended, m.Reason, m.Unjudged = nil, "the source can be read only once", []string{words}
	open, held := 0, 0
	for i := range m.Points {
		p := &m.Points[i]
		if i%2 == 0 {
			p.Unjudged = []string{words}
		}
		switch {
		case p.Admissible && i%2 == 0:
			open++
		case p.Admissible:
			held++
		}
	}
	var b bytes.Buffer
	if err := report.WriteMapHTML(&b, m); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for what, want := range map[string]int{
		`<section class="verdict point amber"`:                       1,
		`<li class="unsure">`:                                        1,
		`<span class="spoken">Could not be judged: </span>` + words:  1,
		`<td class="apart unsure"><span aria-hidden="true">?</span>`: open,
		`<td class="apart held"><span aria-hidden="true">✓</span>`:   held,
		`admissible, but a rule could not be judged</text>`:          3, // wide, narrow and printed
		`<td class="apart unsure"><span aria-hidden="true">?</span><span class="spoken">those that could be judged hold; not judged: ` + words: open,
	} {
		if n := strings.Count(page, what); n != want || want == 0 {
			t.Errorf("%q is there %d times, want %d", what, n, want)
		}
	}
	// Three subjects of each such point in three pictures, and those of the legends.
	if n := strings.Count(page, `class="spot unjudged"`); n != 3*(3*open+1) {
		t.Errorf("%d amber marks, want %d", n, 3*(3*open+1))
	}
	m.Points, m.Unjudged = nil, nil
	b.Reset()
	if err := report.WriteMapHTML(&b, m); err != nil || strings.Contains(b.String(), `point amber`) ||
		strings.Contains(b.String(), "could not be judged</text>") {
		t.Errorf("a map without such a rule is amber: %v", err)
	}
}

// If no rule limits the risk, the page says so below its verdict; otherwise it says nothing about
// this.
func TestMapPageSaysThatNoRuleLimitsTheRisk(t *testing.T) {
	const words = "No rule limits how near a snooper comes"
	m := mapexample.Noise()
	if page, _ := mapPage(t, m); strings.Contains(string(page), words) {
		t.Errorf("%s, and the rules limit it", words)
	}
	least := assess.Float(0.1)
	m.Rules, m.Recommended.Binding = []rumap.Rule{{MinEfficiency: &least}}, nil
	if page, _ := mapPage(t, m); !strings.Contains(string(page), words) {
		t.Errorf("the page does not say: %s", words)
	}
}
