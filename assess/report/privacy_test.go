package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

func stated() *assess.Privacy {
	none := assess.Float(math.NaN())
	delta := assess.Float(1e-7)
	return &assess.Privacy{
		Delta: &delta, Records: 3, Unit: "person",
		Columns: []assess.ColumnPrivacy{
			{Column: "wage", Unit: "USD/week", PrivacyLoss: assess.PrivacyLoss{Epsilon: 1.2345678, Delta: 1e-7, Rho: 0.76208},
				Metric: 0.0157134, Distance: 60},
			{Column: "hours", PrivacyLoss: assess.NoLoss("masks[1].noise: λ is a percentage"), Metric: none,
				MetricNot: "masks[1].noise: λ is a percentage", Distance: none},
			{
				Column: "region", PrivacyLoss: assess.PrivacyLoss{Epsilon: assess.Float(math.Inf(1)), Delta: none, Rho: none,
					Not: "leaves as it is"}, Metric: none, MetricNot: "leaves as it is", Distance: none},
		},
		Masked: assess.PrivacyLoss{Epsilon: 1.2345678, Delta: 1e-7, Rho: 0.76208},
		Record: assess.NoLoss("region leaves as it is"), Person: assess.NoLoss("region leaves as it is"),
		NotCounted: []string{"the order of the records"},
	}
}

// Every view has each figure and each reason, and the numbers of the page are those of the JSON.
func TestPrivacyIsShown(t *testing.T) {
	r := example.Released()
	r.Privacy = stated()
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "privacy", page, text, 12)
	again, err := report.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := again.JSON(); err != nil || !bytes.Equal(text, other) {
		t.Errorf("the JSON changes when it is read: %v", err)
	}
	var narrow strings.Builder
	r.Summary(&narrow, false, 80, nil)
	// ε·60 = 0.9428 is rounded up, and e to it, 2.567, too.
	const sentence = "wage: of two values that are 60 USD/week apart, whatever may be released is at most e^0.95 = 2.6 times as likely for one as for the other."
	joined := strings.Join(strings.Fields(narrow.String()), " ")
	for _, want := range []string{"1.235", "0.7621", "0.01571", "masks[1].noise: λ is a percentage", "leaves as it is",
		"all records of a person, up to 3 records of each", sentence} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
		if !strings.Contains(joined, want) {
			t.Errorf("the summary lacks %q:\n%s", want, narrow.String())
		}
	}
	if !strings.Contains(string(page), "Not counted: the order of the records.") ||
		!strings.Contains(joined, "hours: no ε;") || !strings.Contains(joined, "region: ε infinite;") {
		t.Errorf("missing:\n%s", narrow.String())
	}
	board, err := r.Board()
	const onBoard = "ε of differential privacy, by the masks alone: wage 1.235, columns with a figure together 1.235, all columns of a record none, all records of a person, up to 3 records of each none."
	if err != nil || !strings.Contains(string(board), onBoard) {
		t.Errorf("the board does not read %q: %v", onBoard, err)
	}
	for _, line := range strings.Split(narrow.String(), "\n") {
		if figure.Cells(line) > 80 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
	var without strings.Builder
	example.Released().Summary(&without, false, 80, nil)
	if strings.Contains(without.String(), "Differential privacy") {
		t.Error("a report without the section shows it")
	}
}

// ε tells λ to whoever knows the bounds: it is public only if all parameters of all masks on the column are.
func TestPublicPrivacy(t *testing.T) {
	of := func(parameters ...string) report.Ordered[any] {
		var list report.Ordered[any]
		for _, name := range parameters {
			list = append(list, report.Member[any]{Name: name, Value: 1.0})
		}
		return list
	}
	masks := []report.Mask{
		{Mask: "truncate", Columns: []string{"wage", "age"}, Parameters: of("lower", "upper", "mode")},
		{Mask: "noise", Columns: []string{"wage", "hours"}, Parameters: of("sd", "distribution")},
	}
	drawn := append([]report.Mask{{Mask: "sample", Parameters: of("rate")}}, masks...)
	all := []string{"lower", "upper", "mode", "sd", "distribution"}
	for _, c := range []struct {
		what    string
		masks   []report.Mask
		publish []string
		shown   bool
	}{
		{"all", masks, all, true},
		{"nothing", masks, nil, false},
		{"all but the first", masks, all[1:], false},
		{"all but the last", masks, all[:4], false},
		{"a sample whose rate is not public", drawn, all, false},
		{"a sample whose rate is", drawn, append(all, "rate"), true},
	} {
		r := example.Released()
		r.Privacy, r.Masks = stated(), c.masks
		p := r.Public(c.publish)
		text, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := report.ParsePublic(text); err != nil {
			t.Error(err)
		}
		for what, of := range map[string]string{"the JSON": string(text), "the page": string(page)} {
			if strings.Contains(of, "1.234") || strings.Contains(of, "1.235") || strings.Contains(of, "0.01571") {
				if !c.shown {
					t.Errorf("%s: %s has an ε that is not public", c.what, what)
				}
			} else if c.shown {
				t.Errorf("%s: %s has no ε", c.what, what)
			}
			if strings.Contains(of, "is a percentage") {
				t.Errorf("%s: %s has the reason of another column", c.what, what)
			}
		}
	}
}
