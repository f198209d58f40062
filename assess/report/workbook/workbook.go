// Package workbook writes a confidential report as an Excel workbook, for those who compare and sort
// figures there. It has the figures of the report's tables; pictures and explanations are on its page.
package workbook

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/workbooks"
)

// Of returns the workbook of a report: the verdict, the figures that decide, the rules, the masked columns, their
// risks, the masks, and the records. The same report gives the same bytes.
func Of(r *report.Report) ([]byte, error) {
	f := excelize.NewFile()
	defer f.Close()
	if err := f.SetDocProps(&excelize.DocProperties{Creator: "sdlfilter"}); err != nil {
		return nil, err
	}
	bold, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return nil, err
	}
	for i, s := range tables(r) {
		if i == 0 {
			err = f.SetSheetName("Sheet1", s.name)
		} else {
			_, err = f.NewSheet(s.name)
		}
		if err != nil {
			return nil, err
		}
		for k, row := range s.rows {
			cell, err := excelize.CoordinatesToCellName(1, k+1)
			if err == nil {
				err = f.SetSheetRow(s.name, cell, &row)
			}
			if err == nil && k == 0 {
				err = f.SetRowStyle(s.name, 1, 1, bold)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := f.SetColWidth(s.name, "A", "A", 34); err != nil {
			return nil, err
		}
		if err := f.SetPanes(s.name,
			&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
			return nil, err
		}
	}
	workbooks.InOrder(f)
	var b bytes.Buffer
	err = f.Write(&b)
	return b.Bytes(), err
}

// sheet is a table with its header.
type sheet struct {
	name string
	rows [][]any
}

func (s *sheet) add(cells ...any) {
	for i, c := range cells {
		switch v := c.(type) {
		case assess.Float:
			cells[i] = number(float64(v))
		case string:
			cells[i] = text(v)
		}
	}
	s.rows = append(s.rows, cells)
}

// number is a cell: a workbook holds no infinite number.
func number(v float64) any {
	switch {
	case math.IsNaN(v):
		return nil
	case math.IsInf(v, 0):
		return "infinite"
	}
	return v
}

// text is a cell, as much of it as one can hold. It is written as text, and is never a formula.
func text(s string) string {
	const most = 32_000 // UTF-16 units; Excel refuses more than 32,767
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func tables(r *report.Report) []*sheet {
	h := r.Headline()
	verdict := &sheet{name: "Verdict"}
	verdict.add("what", "value")
	verdict.add("name", r.Name)
	verdict.add("verdict", h.Word)
	verdict.add("in words", h.Line)
	verdict.add("withheld", r.Withheld)
	verdict.add("finished (UTC)", r.Finished.UTC().Format(time.DateTime))
	verdict.add("program", "sdlfilter "+r.Version)
	verdict.add("configuration, SHA-256", r.ConfigSHA256)
	verdict.add("key", r.KeyID)
	if r.Release != nil {
		verdict.add("release, SHA-256", r.Release.SHA256)
	}
	for _, w := range r.Warnings {
		verdict.add("warning", w)
	}
	for _, l := range r.Loosened {
		verdict.add("loosened", l.Path+" by "+l.Origin)
	}
	for _, a := range h.Assumptions {
		verdict.add("taken for granted", a)
	}

	figures := &sheet{name: "Figures"}
	figures.add("figure", "column", "value", "in words", "unit", "rule", "state", "about")
	for _, f := range h.Figures {
		figures.add(f.Label, f.Column, f.Value, f.Text, f.Unit, f.Rule, f.Tone.AltText(), f.Note)
	}

	rules := &sheet{name: "Rules"}
	rules.add("rule", "column", "holds", "found", "limit", "to change")
	for _, v := range r.Gate.Rules {
		rules.add(v.Rule, v.Column, v.Passed, v.Found, v.Limit, v.Advice)
	}

	columns, risks := &sheet{name: "Columns"}, &sheet{name: "Risks"}
	columns.add("column", "unit", "masked", "n", "nulls", "mean", "mean released", "SD", "SD released", "U", "U0",
		"efficiency", "bias")
	risks.add("column", "target", "knowledge", "known to", "R", "SE of R")
	for _, c := range r.Columns {
		columns.add(c.Name, c.Unit, c.Masked, c.Original.N, c.Original.Nulls, c.Original.Mean, c.Released.Mean, c.Original.SD,
			c.Released.SD,
			c.Utility.U, c.Utility.U0, c.Utility.Efficiency, c.Utility.Bias)
		for _, k := range c.Risk {
			risks.add(c.Name, k.Target, k.Knowledge, k.RMSE, k.R, k.SE)
		}
	}

	sheets := []*sheet{verdict, figures, rules, columns, risks}
	if r.Privacy != nil {
		sheets = append(sheets, privacy(r.Privacy))
	}
	masks := &sheet{name: "Masks"}
	masks.add("mask", "name", "columns", "records changed", "parameters")
	for _, m := range r.Masks {
		var parameters []string
		for _, p := range m.Parameters {
			value, err := json.Marshal(p.Value)
			if err != nil {
				value = []byte("?")
			}
			parameters = append(parameters, p.Name+": "+string(value))
		}
		masks.add(m.Mask, m.Name, strings.Join(m.Columns, ", "), m.Records, strings.Join(parameters, "; "))
	}

	records := &sheet{name: "Records"}
	records.add("fate or reason", "records")
	records.add("read", r.Records.Read)
	records.add("released", r.Records.Released)
	records.add("in quarantine", r.Records.Quarantined)
	records.add("left out", r.Records.LeftOut)
	for _, reason := range r.Records.ReasonsByNumber() {
		records.add("in quarantine: "+reason, r.Records.Reasons[reason])
	}
	for _, c := range r.MissingCodes {
		for _, k := range c.Codes {
			records.add(c.Column+", missing "+k.Code, k.Records)
		}
	}
	return append(sheets, masks, records)
}

// privacy is what differential privacy says of the columns, of a record and of a person.
func privacy(p *assess.Privacy) *sheet {
	s := &sheet{name: "Privacy"}
	s.add("what", "ε", "δ", "ρ", "ε per unit of distance", "why none", "why none by distance")
	add := func(what string, l assess.PrivacyLoss, metric any, why string) {
		s.add(what, l.Epsilon, l.Delta, l.Rho, metric, l.Not, why)
	}
	for _, c := range p.Columns {
		add(c.Column, c.PrivacyLoss, c.Metric, c.MetricNot)
	}
	add("columns with a figure together", p.Masked, "", "")
	add("all columns of a record", p.Record, "", "")
	if p.Records > 1 || p.Members > 0 {
		add("all records of a "+p.Unit, p.Person, "", "")
	}
	return s
}
