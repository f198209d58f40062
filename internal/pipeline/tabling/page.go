package tabling

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/tables"
)

//go:embed page.html.tmpl
var pageTemplate string

var page = template.Must(template.New("tables").Funcs(template.FuncMap{
	"join":  func(names []string) string { return strings.Join(names, ", ") },
	"short": func(v assess.Float) string { return figure.Plain(float64(v), 4) },
}).Parse(pageTemplate))

// pageCells is the greatest number of cells of a table that a page shows.
const pageCells = 20_000

// pageView is the content of a page. A public page has nothing about the suppressed cells.
type pageView struct {
	Title        string
	Confidential bool
	Report       *Report // nil for a public page
	Tables       []pageTable
}

type pageTable struct {
	Name, Caption, Note string
	Head                []string
	Rows                []pageRow
	Picture             *picture
}

type pageRow struct {
	Names []string
	Cells []pageCell
}

type pageCell struct {
	Text, Class string
	Lines       []string
}

// html returns the page of all tables in the usual form: the last variable in columns, the others in rows.
func (r *records) html(list []*protected, rep *Report, confidential bool) ([]byte, error) {
	view := pageView{Title: rep.Name, Confidential: confidential}
	if confidential {
		view.Report = rep
	}
	for i := range r.config.Tables {
		p, t := tableOf(list, i)
		view.Tables = append(view.Tables, p.page(t, r.config.Tables[i].Value, confidential))
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (p *protected) page(t int, value string, confidential bool) pageTable {
	v := pageTable{Name: p.set.Tables[t].Name, Caption: p.caption(value), Picture: p.picture(t, confidential)}
	if n := p.size(t); n > pageCells {
		v.Note = fmt.Sprintf("The table has %d cells, more than a page shows; they are in the file of the tables.", n)
		return v
	}
	dimensions := p.set.Tables[t].Dimensions
	last := dimensions[len(dimensions)-1]
	for _, d := range dimensions[:len(dimensions)-1] {
		v.Head = append(v.Head, d.Name)
	}
	if len(dimensions) == 1 {
		v.Head = append(v.Head, "")
	}
	order := readingOrder(last)
	for _, node := range order {
		v.Head = append(v.Head, last.Codes[node])
	}
	for _, nodes := range rowsOf(dimensions[:len(dimensions)-1]) {
		row := pageRow{}
		at := 0
		for k, node := range nodes {
			d := dimensions[k]
			row.Names = append(row.Names, strings.Repeat("  ", d.Depth(node))+d.Codes[node])
			at = at*len(d.Codes) + node
		}
		if len(dimensions) == 1 {
			row.Names = []string{last.Name}
		}
		for _, node := range order {
			row.Cells = append(row.Cells, p.pageCell(p.set.Cell(t, at*len(last.Codes)+node), confidential))
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// caption says what the cells of a table contain, and how they were changed. value is the summed
// column; "" for counts.
func (p *protected) caption(value string) string {
	caption := "Number of records"
	if p.options.Holdings {
		caption = "Number of records (contributors are holdings)"
	}
	if value != "" {
		caption = value
	}
	if c := p.table.Protect.Round; c != nil {
		caption += map[string]string{
			"controlled": fmt.Sprintf(", rounded to base %d", c.Base),
			"small":      fmt.Sprintf(", counts below %d made 0 or %d and totals added up anew", c.Base, c.Base),
			"random":     fmt.Sprintf(", each rounded to base %d at random; totals need not be the sums of their parts", c.Base),
			"nearest":    fmt.Sprintf(", each rounded to base %d; totals need not be the sums of their parts", c.Base),
		}[c.Mode]
	}
	if p.table.Protect.Adjust != nil {
		caption += ", adjusted: " + p.within()
	}
	if c := p.noise; c != nil {
		caption += fmt.Sprintf(", each changed by at most %d; totals need not be the sums of their parts", c.Max)
	}
	if c := p.table.Protect.CellKey; c != nil && c.Values != nil {
		caption += fmt.Sprintf(
			", each changed at random by up to %v of its largest contributions; totals need not be the sums of their parts",
			c.Values.Most)
	}
	if c := p.table.Protect.Sample; c != nil {
		caption += fmt.Sprintf(
			", estimated from a sample in which each is with probability 1/%d: %d times the count of the sample", c.OneIn,
			c.OneIn)
	}
	if e := &p.table.Protect; e.Exchanges() {
		words := "perturbed at random"
		switch {
		case e.Simulate != nil:
			words = "drawn anew"
		case e.Swap != nil:
			words = "swapped at random"
		}
		if names := e.Matched(); len(names) > 0 {
			words = fmt.Sprintf("%s between records alike in %s, by which and %s together counts are true, too", words,
				strings.Join(names, ", "), p.exchangedVariable())
		}
		caption += fmt.Sprintf(", with the true counts by %s, and by all other variables together; all else is %s",
			p.exchangedVariable(), words)
	}
	return caption
}

// readingOrder returns a dimension's nodes in the usual order of a table: a total, then its parts.
func readingOrder(d *tables.Dimension) (order []int) {
	parts := map[int32][]int32{}
	for _, s := range d.Sums {
		if parts[s.Total] == nil {
			parts[s.Total] = s.Parts
		}
	}
	seen := make([]bool, len(d.Codes))
	var visit func(n int32)
	visit = func(n int32) {
		if seen[n] {
			return
		}
		seen[n] = true
		order = append(order, int(n))
		for _, p := range parts[n] {
			visit(p)
		}
	}
	visit(0)
	for n := range d.Codes { // nodes of further hierarchies
		visit(int32(n))
	}
	return order
}

// rowsOf returns all combinations of nodes, the first variable slowest.
func rowsOf(dimensions []*tables.Dimension) [][]int {
	rows := [][]int{nil}
	for _, d := range dimensions {
		var longer [][]int
		for _, r := range rows {
			for _, n := range readingOrder(d) {
				longer = append(longer, append(append([]int(nil), r...), n))
			}
		}
		rows = longer
	}
	return rows
}

// class returns how a page shows a cell; "" for a published one. A public page does not distinguish why cells are held
// back.
func (p *protected) class(cell int32, confidential bool) string {
	if !confidential {
		if status := p.publicStatus(cell); status == suppressed || status == empty {
			return status
		}
		return ""
	}
	switch {
	case p.status[cell] == tables.Primary:
		return "primary"
	case p.hidden(cell):
		return "secondary"
	case p.isEmpty(cell):
		return "empty"
	}
	return ""
}

func (p *protected) pageCell(cell int32, confidential bool) pageCell {
	c := pageCell{Class: p.class(cell, confidential)}
	if !confidential {
		switch c.Class {
		case suppressed:
			c.Text = "×"
		case empty:
			c.Text = "–"
		default:
			c.Text = p.text(p.publishedValue(cell))
		}
		return c
	}
	c.Text = p.text(p.question.Value[cell])
	if c.Class == "primary" {
		c.Lines = append(c.Lines, p.ruleName(cell))
	}
	if p.published != nil {
		c.Lines = append(c.Lines, "published "+p.text(p.published[cell]))
	}
	if p.ranged(cell) {
		low, high := p.inferred(cell)
		c.Lines = append(c.Lines, p.text(low)+" to "+p.text(high))
	}
	return c
}

// text formats a value in the unit of its table; ∞ for an open end of a range.
func (p *protected) text(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	return strconv.FormatFloat(p.number(v), 'f', p.options.Decimals, 64)
}
