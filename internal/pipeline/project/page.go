package project

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed public.html.tmpl
	publicText string

	writePage       = report.Page("project", pageText)
	writePublicPage = report.Page("public report of a project", publicText)
)

// pageView is what the page shows beside the report itself.
type pageView struct {
	Report     *Report
	Tone       headline.Tone
	Word, Line string
	Finished   string
	Rules      []ruleView
	Persons    []report.Figure
	Earlier    []report.Figure // the persons with all releases of the ledgers
	Tables     []tableView
	Amounts    []amountView
}

type ruleView struct {
	Rule, Found, Advice string
	Passed              bool
}

type tableView struct {
	*TableReport
	Counts []report.Figure
	Left   []string
}

// amountView is a masked number by the target that is known best with all tables; Not says why there is none.
type amountView struct {
	Table, Column, Unit, Target, Not string
	Alone, Joined                    report.Figure
	Tells                            []string
}

// page is the report as a page that loads nothing from elsewhere. It is as confidential as the JSON.
func (c *Config) page(rep *Report) ([]byte, error) {
	v := pageView{Report: rep, Tone: headline.Good, Word: "Released", Finished: report.Moment(rep.Finished),
		Line: fmt.Sprintf("All %d tables are published: each passes its own gate, and what they tell together keeps the rules.",
			len(rep.Tables))}
	if rep.Withheld != "" {
		v.Tone, v.Word, v.Line = headline.Bad, "Withheld", "No table is published."
	}
	for _, rule := range rep.Gate.Rules {
		one := ruleView{Rule: rule.Rule, Advice: rule.Advice, Passed: rule.Passed}
		if rule.Measure != "table" {
			one.Found = report.Number(float64(rule.Found))
		}
		v.Rules = append(v.Rules, one)
	}
	v.Persons = personFigures(rep.Persons, "/persons")
	if rep.Ledgers != nil {
		v.Earlier = personFigures(rep.Ledgers.Persons, "/ledgers/persons")
	}
	for i := range rep.Tables {
		v.Tables = append(v.Tables, viewTable(&rep.Tables[i], fmt.Sprintf("/tables/%d/records", i)))
	}
	for i := range rep.Amounts {
		v.Amounts = append(v.Amounts, viewAmount(&rep.Amounts[i], fmt.Sprintf("/amounts/%d", i)))
	}
	return writePage(v)
}

// publicPage is the public report as a page.
func (c *Config) publicPage(rep *Report) ([]byte, error) { return writePublicPage(c.public(rep)) }

func personFigures(p *uniqueness.Persons, at string) []report.Figure {
	if p == nil {
		return nil
	}
	number := func(label, name string, x float64) report.Figure {
		return report.Figure{Label: label, Path: at + "/" + name, Value: strconv.FormatFloat(x, 'g', -1, 64),
			Text: report.Number(x)}
	}
	return []report.Figure{
		number("persons", "persons", float64(p.Persons)), number("least k", "min_k", p.MinFrequency),
		number("that nobody else can be", "uniques", float64(p.Uniques)),
		number("share expected to be found", "found", p.Found),
		number("greatest probability of one", "max_individual_risk", p.MaxIndividualRisk),
	}
}

func viewTable(t *TableReport, at string) tableView {
	v := tableView{TableReport: t}
	for _, n := range []struct {
		name string
		of   int64
	}{
		{"read", t.Records.Read}, {"released", t.Records.Released}, {"quarantined", t.Records.Quarantined},
		{"left_out", t.Records.LeftOut},
	} {
		one := report.Figure{Text: report.Number(float64(n.of))}
		if n.of != 0 { // what is absent in the JSON is zero
			one.Path, one.Value = at+"/"+n.name, strconv.FormatInt(n.of, 10)
		}
		v.Counts = append(v.Counts, one)
	}
	for _, l := range t.Left {
		v.Left = append(v.Left, l.words())
	}
	return v
}

func viewAmount(a *Amount, at string) amountView {
	v := amountView{Table: a.Table, Column: a.Column, Unit: a.Unit, Not: a.Not}
	best := -1
	for i, r := range a.Risk {
		if best < 0 || !(float64(r.Joined.R) <= float64(a.Risk[best].Joined.R)) {
			best = i
		}
	}
	if best < 0 {
		if v.Not == "" {
			v.Not = "not measured"
		}
		return v
	}
	r := &a.Risk[best]
	known := func(k Known, name string) report.Figure {
		return report.Figure{Path: fmt.Sprintf("%s/risk/%d/%s/rmse", at, best, name), Value: textOf(k.RMSE),
			Text: report.Number(float64(k.RMSE))}
	}
	v.Target, v.Alone, v.Joined, v.Tells = r.Target, known(r.Alone, "alone"), known(r.Joined, "joined"), r.Tells
	return v
}

// textOf is a number as the JSON has it.
func textOf(x assess.Float) string { return strconv.FormatFloat(float64(x), 'g', -1, 64) }
