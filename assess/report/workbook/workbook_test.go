package workbook_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/workbook"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Each table of the report is on its sheet, with numbers as numbers; text is never a formula; the bytes follow from the
// report.
func TestWorkbook(t *testing.T) {
	r := &report.Report{
		Name: "=1+1", Version: "1", Withheld: strings.Repeat("é", 40_000), Warnings: []string{"first", "last"},
		Records: report.Records{Counts: microdata.Counts{Read: 12, Released: 9, Quarantined: 3},
			Reasons: map[string]int64{"short": 1, "wage: no number": 2}},
		Columns: report.Columns{
			{Name: "wage", Masked: true, Original: assess.Moments{N: 9, Mean: 1234.5}, Risk: []assess.Risk{
				{Target: "max", Knowledge: "index", R: assess.Float(math.Inf(1))},
				{Target: "typical", Knowledge: "record", R: 0.25, RMSE: 2, SE: assess.Float(math.NaN())}}}},
		Gate: assess.Verdict{
			Rules: []assess.RuleVerdict{{Rule: "wage: x", Passed: true, Found: 0.9, Limit: 0.8}, {Rule: "y", Advice: "less"}}},
		Masks: []report.Mask{
			{Mask: "noise", Columns: []string{"wage"}, Records: 9, Parameters: report.Ordered[any]{{Name: "sd", Value: 90.0}}}},
		Privacy: &assess.Privacy{Unit: "person", Records: 2,
			Columns: []assess.ColumnPrivacy{
				{Column: "wage", PrivacyLoss: assess.PrivacyLoss{Epsilon: 1.5, Delta: assess.Float(math.NaN()), Rho: 0.25},
					Metric: 0.125}},
			Record: assess.NoLoss("age has no bounds"), Person: assess.PrivacyLoss{Epsilon: assess.Float(math.Inf(1))}},
		MissingCodes: []assess.MissingCodes{{Column: "wage", Codes: []assess.MissingCode{{Code: "-9", Records: 4}}}},
	}
	text, err := workbook.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := workbook.Of(r); err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v: the bytes differ", err)
	}
	f, err := excelize.OpenReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := strings.Join(f.GetSheetList(), " "); got != "Verdict Figures Rules Columns Risks Privacy Masks Records" {
		t.Errorf("sheets %s", got)
	}
	for _, c := range []struct {
		sheet, cell, want string
		kind              excelize.CellType
	}{
		{"Verdict", "B2", "=1+1", excelize.CellTypeSharedString},
		{"Verdict", "B11", "last", excelize.CellTypeSharedString},
		{"Rules", "A2", "wage: x", excelize.CellTypeSharedString},
		{"Rules", "C2", "TRUE", excelize.CellTypeBool},
		{"Rules", "D2", "0.9", excelize.CellTypeUnset},
		{"Rules", "C3", "FALSE", excelize.CellTypeBool},
		{"Rules", "F3", "less", excelize.CellTypeSharedString},
		{"Columns", "F2", "1234.5", excelize.CellTypeUnset},
		{"Risks", "E2", "infinite", excelize.CellTypeSharedString},
		{"Risks", "E3", "0.25", excelize.CellTypeUnset},
		{"Risks", "F3", "", excelize.CellTypeUnset},
		{"Masks", "E2", "sd: 90", excelize.CellTypeSharedString},
		{"Privacy", "B2", "1.5", excelize.CellTypeUnset},
		{"Privacy", "C2", "", excelize.CellTypeUnset},
		{"Privacy", "D2", "0.25", excelize.CellTypeUnset},
		{"Privacy", "E2", "0.125", excelize.CellTypeUnset},
		{"Privacy", "F4", "age has no bounds", excelize.CellTypeSharedString},
		{"Privacy", "A5", "all records of a person", excelize.CellTypeSharedString},
		{"Privacy", "B5", "infinite", excelize.CellTypeSharedString},
		{"Records", "B2", "12", excelize.CellTypeUnset},
		{"Records", "A6", "in quarantine: wage: no number", excelize.CellTypeSharedString},
		{"Records", "A7", "in quarantine: short", excelize.CellTypeSharedString},
		{"Records", "B8", "4", excelize.CellTypeUnset},
	} {
		got, err := f.GetCellValue(c.sheet, c.cell)
		kind, err2 := f.GetCellType(c.sheet, c.cell)
		if err != nil || err2 != nil || got != c.want || kind != c.kind {
			t.Errorf("%s %s is %q of type %v, want %q of type %v: %v %v", c.sheet, c.cell, got, kind, c.want, c.kind, err, err2)
		}
	}
	if formula, err := f.GetCellFormula("Verdict", "B2"); err != nil || formula != "" {
		t.Errorf("a formula %q, %v", formula, err)
	}
	if long, err := f.GetCellValue("Verdict", "B5"); err != nil || len(long) < 30_000 || len(long) > 32_767 {
		t.Errorf("a cell of %d bytes, %v", len(long), err)
	}
}
