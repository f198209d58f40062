package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
)

// The page and the summary have each declared code and how often it occurs; what is public has the kept codes, which
// everybody sees in the release, and no number of records.
func TestDeclaredCodesAreShown(t *testing.T) {
	r := example.Released()
	r.MissingCodes = []assess.MissingCodes{
		{Column: "wage", As: "keep",
			Codes: []assess.MissingCode{{Code: "-9", Records: 4713}, {Code: "97 to 99", Records: 0}}},
		{Column: "age", As: "null", Codes: []assess.MissingCode{{Code: "-8888", Records: 5291}}},
	}
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	var summary strings.Builder
	r.Summary(&summary, false, 0, nil)
	for _, want := range []string{"4,713", "5,291", "97 to 99"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
		if !strings.Contains(summary.String(), want) {
			t.Errorf("the summary lacks %s:\n%s", want, summary.String())
		}
	}
	public := r.Public(nil)
	text, err := json.Marshal(public)
	if err != nil {
		t.Fatal(err)
	}
	html, err := public.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(text), string(html)} {
		if !strings.Contains(s, "wage: -9, 97 to 99.") {
			t.Error("what is public does not say which values mean that there is none")
		}
		for _, no := range []string{"4713", "4,713", "5291", "5,291", "-8888"} {
			if strings.Contains(s, no) {
				t.Errorf("what is public has %s", no)
			}
		}
	}
	if public = example.Released().Public(nil); strings.Contains(strings.Join(public.Note.General, " "),
		"mean that there is none") {
		t.Error("a release without codes speaks of them")
	}
}
