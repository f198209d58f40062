package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/verify/papers"
)

// paperTables writes tables 1 to 5 of Duncan et al. (2001) and the bounds of its section 4 as
// the program computes them, with the paper's figures if they differ.
func paperTables() (file, error) {
	d := &tablesPage{}
	d.line("<!-- made by `make figures` -->")
	d.line("# Tables 1 to 5 of Duncan, Fienberg, Krishnan, Padman and Roehrig (2001)")
	d.line(
		"As the program computes them. Where the paper prints another number, it stands behind in brackets; [what does not agree, and why](../ru-map.md#what-does-not-agree-and-why).")
	d.line("## Table 1: the three two-way margins")
	d.line("The inner cells are not legible in our copy. All three margins add up to 581.")
	for _, m := range []struct {
		name   string
		inner  [][]float64
		across int
	}{{"IJ+", marginIJ, 4}, {"+JK", marginJK, 3}, {"I+K", marginIK, 3}} {
		d.table(m.name, heads(m.across, "total"), rows(withTotals(m.inner), nil, whole))
	}
	if err := d.roundedTable(); err != nil {
		return file{}, err
	}
	if err := d.beliefs(); err != nil {
		return file{}, err
	}
	d.bounds()
	return file{"duncan2001-tables.md", d.Bytes()}, nil
}

// tablesPage is a Markdown page that is being written.
type tablesPage struct{ bytes.Buffer }

func (d *tablesPage) line(s string) { d.WriteString(s + "\n\n") }

func (d *tablesPage) table(corner string, head []string, rows [][]string) {
	fmt.Fprintf(d, "| %s | %s |\n|%s\n", corner, strings.Join(head, " | "), strings.Repeat("---|", len(head)+1))
	for _, r := range rows {
		fmt.Fprintf(d, "| %s |\n", strings.Join(r, " | "))
	}
	d.WriteString("\n")
}

func heads(n int, last string) (head []string) {
	for i := range n {
		head = append(head, strconv.Itoa(i+1))
	}
	if last != "" {
		head = append(head, last)
	}
	return head
}

func whole(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func fixed(digits int) func(float64) string {
	return func(v float64) string { return strings.TrimPrefix(strconv.FormatFloat(v, 'f', digits, 64), "0") }
}

// rows returns numbered rows, the last of which is the total. A figure that differs in the paper
// follows after the computed one.
func rows(values, printed [][]float64, text func(float64) string) (out [][]string) {
	for i, row := range values {
		name := strconv.Itoa(i + 1)
		if i == len(values)-1 {
			name = "total"
		}
		out = append(out, append([]string{name}, besidePrinted(row, at(printed, i), text)...))
	}
	return out
}

func at(list [][]float64, i int) []float64 {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func besidePrinted(row, printed []float64, text func(float64) string) (cells []string) {
	for j, v := range row {
		cell := text(v)
		if j < len(printed) && text(printed[j]) != cell {
			cell += " (" + text(printed[j]) + ")"
		}
		cells = append(cells, cell)
	}
	return cells
}

// roundedTable writes table 2.
func (d *tablesPage) roundedTable() error {
	found, err := rounded()
	if err != nil {
		return err
	}
	full := withTotals(marginIJ)
	d.line("## Table 2: IJ+ rounded to base 3")
	d.line(
		fmt.Sprintf(
			"Every count becomes one of the two multiples of 3 next to it, sums hold, and all changes add up to the least: %v, as in the paper's own table, %v, which is another such rounding where it differs.", changes(found, full), changes(printedTable2, full)))
	d.table("I \\ J", heads(4, "total"), rows(found, printedTable2, whole))
	return nil
}

// beliefs writes tables 3 to 5.
func (d *tablesPage) beliefs() error {
	likelihoods, posteriors := [][]string{}, [][]string{}
	for i, theta := range thetas {
		square := dataSquare
		square.Theta = theta
		l, err := square.Likelihood(3)
		if err != nil {
			return err
		}
		post, err := papers.CellPosterior(table4, l)
		if err != nil {
			return err
		}
		name := strconv.FormatFloat(theta, 'f', -1, 64)
		likelihoods = append(likelihoods, append([]string{name}, besidePrinted(l[1:11], printedTable3[i], fixed(4))...))
		posteriors = append(posteriors, append([]string{name}, besidePrinted(post[1:], printedTable5[i], fixed(3))...))
	}
	d.line("## Table 3: likelihood of ω where 3 is published of the square [1 14; 17 83]")
	d.line("That of ω = 0 and of ω above 10 is 0 to four digits.")
	d.table("θ \\ ω", heads(10, ""), likelihoods)
	d.line("## Table 4: the snooper's prior")
	d.table("ω", heads(9, ""), [][]string{append([]string{"P(ω)"}, besidePrinted(table4[1:], nil, fixed(2))...)})
	d.line("## Table 5: the posterior, by Bayes from tables 3 and 4")
	d.table("θ \\ ω", heads(9, ""), posteriors)
	return nil
}

// bounds writes the bounds of I+K from IJ+ and +JK.
func (d *tablesPage) bounds() {
	lower, upper := papers.Frechet(marginIJ, marginJK)
	d.line("## Section 4: what IJ+ and +JK tell of I+K")
	d.line(
		"Each cell: its value, the greatest that is to remain possible (20 % more), and what the two margins leave possible. Bold: a disclosure.")
	var out [][]string
	for i := range upper {
		row := []string{strconv.Itoa(i + 1)}
		for k, u := range upper[i] {
			s := fmt.Sprintf("%v, to %v: %v to %v", marginIK[i][k], desired(i, k), lower[i][k], u)
			if u < desired(i, k) {
				s = "**" + s + "**"
			}
			row = append(row, s)
		}
		out = append(out, row)
	}
	d.table("I \\ K", heads(3, ""), out)
}

// desired returns the upper end that the range of a cell of I+K must reach.
func desired(i, k int) float64 { return math.Ceil(1.2*marginIK[i][k] - 1e-9) }

// graph draws figure 2 of Duncan et al. (2001), the graph of the published margins, with
// the bounds of the third margin that can be inferred from it.
func graph() file {
	lower, upper := papers.Frechet(marginIJ, marginJK)
	var b bytes.Buffer
	text := func(x, y float64, anchor, style, s string) {
		fmt.Fprintf(&b, "<text x=\"%v\" y=\"%v\" text-anchor=\"%s\" style=\"%s\">%s</text>\n", x, y, anchor, style,
			html.EscapeString(s))
	}
	const title = "Figure 2: the graph of the published margins"
	fmt.Fprintf(&b,
		"<svg role=\"img\" aria-labelledby=\"title desc\" xmlns=\"http://www.w3.org/2000/svg\" width=\"560\" height=\"300\" viewBox=\"0 0 560 300\" font-family=\"'Liberation Sans',Arial,Helvetica,sans-serif\" font-size=\"12\">\n<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<rect width=\"560\" height=\"300\" fill=\"#fff\"/>\n", title,
		"Nodes I, J and K in a row, joined by the margins IJ+ and +JK: J separates I from K. Below, the bounds that follow for I+K; those of (1,1), (2,2) and (4,3) end below what is to remain possible.")
	text(14, 22, "start", "font-size:13px;font-weight:bold", title)
	text(14, 40, "start", "fill:#5f5f5f",
		"Duncan et al. (2001), section 4: J separates I from K, which gives bounds of I+K")
	for i, x := range []float64{130, 280, 430} {
		if i > 0 {
			fmt.Fprintf(&b, "<line x1=\"%v\" y1=\"84\" x2=\"%v\" y2=\"84\" stroke=\"#1e1e1e\" stroke-width=\"1.8\"/>\n", x-130,
				x-20)
			text(x-75, 76, "middle", "fill:#5f5f5f", []string{"", "IJ+", "+JK"}[i])
		}
		fmt.Fprintf(&b, "<circle cx=\"%v\" cy=\"84\" r=\"20\" fill=\"#fff\" stroke=\"#0072b2\" stroke-width=\"1.8\"/>\n", x)
		text(x, 88, "middle", "font-weight:bold", []string{"I", "J", "K"}[i])
	}
	text(14, 140, "start", "", "I+K, each value and what can be inferred of it; orange: less than 20 % more is possible")
	for k := range 3 {
		text(180+130*float64(k), 168, "middle", "font-weight:bold", fmt.Sprintf("K = %d", k+1))
	}
	for i := range upper {
		y := 194 + 26*float64(i)
		text(60, y, "start", "font-weight:bold", fmt.Sprintf("I = %d", i+1))
		for k, u := range upper[i] {
			style := ""
			if u < desired(i, k) {
				style = "fill:#b84a00;font-weight:bold"
			}
			text(180+130*float64(k), y, "middle", style, fmt.Sprintf("%v: %v to %v", marginIK[i][k], lower[i][k], u))
		}
	}
	b.WriteString("</svg>\n")
	return file{"duncan2001-figure2.svg", b.Bytes()}
}
