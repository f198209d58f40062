package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// privacyView is what differential privacy says of a release.
type privacyView struct {
	Rows       []privacyRow
	Sentences  []string // by distance
	NotCounted []string
}

// privacyRow is a column, or several together.
type privacyRow struct {
	Name                        string
	Column                      bool
	Epsilon, Delta, Rho, Metric cell
	Why                         string // why there is no figure
}

// viewPrivacy returns nil if nothing is stated.
func viewPrivacy(p *assess.Privacy) *privacyView {
	if p == nil {
		return nil
	}
	v := &privacyView{NotCounted: p.NotCounted}
	for i := range p.Columns {
		c := &p.Columns[i]
		path := fmt.Sprintf("/privacy/columns/%d", i)
		row := lossRow(c.Column, path, c.PrivacyLoss)
		row.Column, row.Metric = true, number(path+"/metric_epsilon", c.Metric)
		v.Rows = append(v.Rows, row)
		if words := metricWords(c); words != "" {
			v.Sentences = append(v.Sentences, words)
		}
	}
	v.Rows = append(v.Rows, lossRow("columns with a figure together", "/privacy/masked", p.Masked),
		lossRow("all columns of a record", "/privacy/record", p.Record))
	if p.Records > 1 || p.Members > 0 {
		v.Rows = append(v.Rows, lossRow(personWords(p), "/privacy/person", p.Person))
	}
	return v
}

func lossRow(name, path string, l assess.PrivacyLoss) privacyRow {
	return privacyRow{Name: name, Epsilon: number(path+"/epsilon", l.Epsilon), Delta: number(path+"/delta", l.Delta),
		Rho: number(path+"/rho", l.Rho), Why: l.Not}
}

func personWords(p *assess.Privacy) string {
	words := "all records of a " + p.Unit
	if p.Members > 0 {
		words += fmt.Sprintf(", %d members", p.Members)
	}
	if p.Records > 1 {
		words += fmt.Sprintf(", up to %d records of each", p.Records)
	}
	return words
}

// metricWords says in a sentence what ε by distance means; "" if there is none.
func metricWords(c *assess.ColumnPrivacy) string {
	if c.MetricNot != "" {
		return ""
	}
	epsilon := float64(c.Metric) * float64(c.Distance)
	return fmt.Sprintf(
		"%s: of two values that are %s apart, whatever may be released is at most e^%.2f = %.1f times as likely for one as for the other.",
		c.Column, trimmed(float64(c.Distance))+unitAfter(c.Unit), math.Ceil(epsilon*100)/100,
		math.Ceil(math.Exp(epsilon)*10)/10)
}

// privacyWords says ε of the columns that have one, of a record and of a person in a sentence; "" if there is none.
func privacyWords(p *assess.Privacy) string {
	v := viewPrivacy(p)
	if v == nil {
		return ""
	}
	var parts []string
	stated := false
	for _, row := range v.Rows {
		switch e := valueOf(row.Epsilon); {
		case e == e && row.Why == "":
			parts, stated = append(parts, row.Name+" "+row.Epsilon.Text), true
		case !row.Column:
			parts = append(parts, row.Name+" none")
		}
	}
	if !stated {
		return ""
	}
	return "ε of differential privacy, by the masks alone: " + strings.Join(parts, ", ") + "."
}

// privacy writes what differential privacy says.
func (s *summary) privacy(p *assess.Privacy) {
	v := viewPrivacy(p)
	if v == nil {
		return
	}
	s.Line(s.bold("Differential privacy of one record, by the parameters of the masks"))
	for _, row := range v.Rows {
		text := row.Name + ": "
		switch {
		case math.IsNaN(valueOf(row.Epsilon)):
			text += "no ε"
		default:
			text += "ε " + row.Epsilon.Text
			if !math.IsNaN(valueOf(row.Delta)) {
				text += ", δ " + row.Delta.Text
			}
		}
		if !math.IsNaN(valueOf(row.Rho)) {
			text += ", ρ " + row.Rho.Text
		}
		if row.Column && !math.IsNaN(valueOf(row.Metric)) {
			text += "; ε " + row.Metric.Text + " per unit of distance"
		}
		if row.Why != "" {
			text += "; " + row.Why
		}
		s.hanging(s.terminalText(text))
	}
	for _, words := range v.Sentences {
		s.hanging(s.terminalText(words))
	}
	s.Line("")
}

// valueOf is the number of a cell, NaN for null.
func valueOf(c cell) float64 {
	var f assess.Float
	if f.UnmarshalJSON([]byte(c.Value)) != nil {
		return math.NaN()
	}
	return float64(f)
}

// publicPrivacy returns the figures of the columns of whose masks all parameters are published: an ε tells λ to
// whoever knows the bounds.
func (r *Report) publicPrivacy(publish []string) (list []assess.ColumnPrivacy) {
	if r.Privacy == nil {
		return nil
	}
	for _, c := range r.Privacy.Columns {
		masked, told := false, true
		for _, m := range r.Masks {
			on := slices.Contains(m.Columns, c.Column)
			masked = masked || on
			for _, parameter := range m.Parameters {
				// A mask without columns is a sample, whose rate is in δ.
				told = told && (!on && len(m.Columns) > 0 || slices.Contains(publish, parameter.Name))
			}
		}
		if masked && told && (c.Not == "" || c.MetricNot == "") {
			list = append(list, c)
		}
	}
	return list
}
