package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// TestRemark: the effect of chance on this release is stated at the column on the confidential
// page, in its JSON and on the terminal, and nowhere in public.
func TestRemark(t *testing.T) {
	const words = "came out worse than a rule"
	r := &Report{Name: "x", Gate: assess.Verdict{Passed: true}}
	c := column("wage", assess.Risk{Target: "max", Knowledge: assess.KnowledgeIndex, R: 1, RMSE: 1})
	c.Remark = "In this release the draws " + words
	r.SetMeasures(&assess.Measures{Columns: []assess.ColumnMeasures{c}})
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var terminal bytes.Buffer
	r.Summary(&terminal, false, 0, nil)
	for name, shown := range map[string]string{"page": string(page), "JSON": string(text),
		"terminal": strings.Join(strings.Fields(terminal.String()), " ")} {
		if strings.Count(shown, words) != 1 {
			t.Errorf("the %s contains it %d times", name, strings.Count(shown, words))
		}
	}
	public := r.Public(nil)
	page, err = public.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = public.JSON(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page)+string(text), words) {
		t.Error("it is public")
	}
}
