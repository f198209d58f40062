package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func labelled() *report.Report {
	r := example.Released()
	first := r.Columns[0].Name
	r.Labels = []microdata.Said{
		{Name: first, Label: "Label of the first & greatest",
			Values: []microdata.SaidOfCode{{Code: "-9", Label: "Refused <twice>"}, {Code: "-8", Label: "Not asked"}}},
		{Name: "region", Values: []microdata.SaidOfCode{{Code: "N", Label: "The north"}}},
	}
	r.MissingCodes = []assess.MissingCodes{
		{Column: first, As: "keep", Codes: []assess.MissingCode{{Code: "-9", Records: 7}, {Code: "-7", Records: 0}}}}
	r.Pictures = []picture.Pair{{Column: first}}
	return r
}

// Every page and the summary show what the release says of its columns, where it is about them.
func TestLabelsAreShown(t *testing.T) {
	r := labelled()
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	board, err := r.Board()
	if err != nil {
		t.Fatal(err)
	}
	open := r.Public(nil)
	public, err := open.HTML()
	if err != nil {
		t.Fatal(err)
	}
	json, err := open.JSON()
	if err != nil {
		t.Fatal(err)
	}
	const label, code, area = "Label of the first &amp; greatest", "Refused &lt;twice&gt;", "The north"
	for _, c := range []struct {
		name, text, find string
		times            int
	}{
		{"page", string(page), label, 3}, // its section, its picture, the codes
		{"page", string(page), code, 2},  // the codes, the missing codes
		{"page", string(page), area, 1},
		{"page", string(page), "Not asked", 1},
		{"board", string(board), label, 1},
		{"public page", string(public), label, 2}, // the columns, the codes
		{"public page", string(public), code, 2},  // the codes, the note
		{"public page", string(public), area, 1},
		{"public JSON", string(json), "The north", 1},
	} {
		if n := strings.Count(c.text, c.find); n != c.times {
			t.Errorf("%s: %q is there %d times, want %d", c.name, c.find, n, c.times)
		}
	}
	for _, width := range []int{80, 40} {
		var summary strings.Builder
		r.Summary(&summary, false, width, nil)
		for _, find := range []string{"Label of the first & greatest", "-9 (Refused <twice>) in 7 records"} {
			if width == 80 && !strings.Contains(strings.Join(strings.Fields(summary.String()), " "), find) {
				t.Errorf("the summary of %d columns lacks %q:\n%s", width, find, summary.String())
			}
		}
		for _, line := range strings.Split(summary.String(), "\n") {
			if strings.Contains(line, "Label of") && utf8.RuneCountInString(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
	r.Labels = nil
	if page, err = r.HTML(); err != nil || strings.Contains(string(page), "What the codes stand for") {
		t.Errorf("a release without labels speaks of them, %v", err)
	}
}

// What is public has no labels of a release that there is not.
func TestLabelsOfAWithheldRelease(t *testing.T) {
	for _, c := range []struct {
		withheld string
		passed   bool
	}{{"", true}, {"does not hold", true}, {"", false}} {
		r := labelled()
		r.Withheld, r.Gate.Passed = c.withheld, c.passed
		public := r.Public(nil)
		if want := c.withheld == "" && c.passed; (public.Labels != nil) != want ||
			strings.Contains(strings.Join(public.Note.General, " "), "Refused") != want {
			t.Errorf("%+v: %v", c, public.Labels)
		}
	}
}

// A page has so many codes and says how many others there are.
func TestManyCodes(t *testing.T) {
	for _, n := range []int{299, 300, 301, 1000} {
		r := example.Released()
		said := microdata.Said{Name: "occupation"}
		for i := range n {
			said.Values = append(said.Values, microdata.SaidOfCode{Code: fmt.Sprint(i), Label: fmt.Sprintf("meaning %d.", i)})
		}
		r.Labels = []microdata.Said{said}
		page, err := r.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(page), "meaning "); got != min(n, 300) ||
			strings.Contains(string(page), fmt.Sprintf("<p>%d others", n-300)) != (n > 300) {
			t.Errorf("%d codes: %d are shown", n, got)
		}
	}
}
