package workbook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/internal/workbooks"
)

// write writes the workbook of the sheets with their cells. The same cells give the same bytes.
func write(ctx context.Context, to io.Writer, sheets []Sheet, cells [][]cell) (err error) {
	f := excelize.NewFile()
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.SetDocProps(&excelize.DocProperties{Creator: "sdlfilter"}); err != nil {
		return err
	}
	w := &writer{File: f, styles: map[style]int{}}
	names := sheetNames(sheets)
	for i, s := range sheets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.newSheet(i, names[i]); err != nil {
			return err
		}
		if err := w.table(names[i], s, cells[i]); err != nil {
			return fmt.Errorf("sheet %d: %w", i+1, err)
		}
	}
	if err := w.newSheet(len(sheets), names[len(sheets)]); err != nil {
		return err
	}
	if err := w.legend(names, sheets); err != nil {
		return err
	}
	workbooks.InOrder(f)
	return f.Write(to)
}

// sheetNames returns the names of the sheets of the tables and, last, of the legend: those of the tables as far as
// Excel allows, which takes 31 characters, not all of them, and no two names that differ in case alone.
func sheetNames(sheets []Sheet) (names []string) {
	seen := map[string]bool{"history": true} // the name that Excel keeps for itself
	for _, s := range append(slices.Clone(sheets), Sheet{Name: "Legend"}) {
		base := strings.Trim(strings.Map(func(r rune) rune {
			if strings.ContainsRune(`:\/?*[]`, r) || r < ' ' {
				return '_'
			}
			return r
		}, strings.ToValidUTF8(s.Name, "_")), "' ")
		if base == "" {
			base = "Table"
		}
		name := shortened(base, "")
		for n := 2; seen[strings.ToLower(name)]; n++ {
			name = shortened(base, fmt.Sprintf(" (%d)", n))
		}
		seen[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// shortened returns a name of at most 31 characters of UTF-16 that ends in end.
func shortened(base, end string) string {
	runes := []rune(base)
	for len(utf16.Encode(runes))+len(end) > excelize.MaxSheetNameLength {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), "' ") + end
}

type writer struct {
	*excelize.File
	styles map[style]int
}

// style is how a cell looks.
type style struct {
	status   string // of a cell with a value; "" for a text
	decimals int
	depth    int
	head     bool
}

// newSheet adds a sheet; the first one is there already, with another name.
func (w *writer) newSheet(i int, name string) error {
	if i == 0 {
		return w.SetSheetName(w.GetSheetName(0), name)
	}
	_, err := w.NewSheet(name)
	return err
}

// heldBack is what stands in the place of a value.
const heldBack = "×"

// textFormat is Excel's number format for text. A text in it stays a text when somebody edits it, also if it begins
// like a formula.
const textFormat = 49

// of returns the number of a style.
func (w *writer) of(s style) (int, error) {
	if id, known := w.styles[s]; known {
		return id, nil
	}
	e := &excelize.Style{NumFmt: textFormat, Alignment: &excelize.Alignment{Indent: s.depth}}
	if s.head {
		e.Font = &excelize.Font{Bold: true}
	}
	if s.status != "" {
		format := "0"
		if s.decimals > 0 {
			format += "." + strings.Repeat("0", s.decimals)
		}
		e.Alignment = &excelize.Alignment{Horizontal: "right"}
		switch s.status {
		case "suppressed":
			e.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"D0D7DE"}}
			e.Alignment.Horizontal = "center"
		case "empty":
			format += ";-" + format + `;"–"` // the cell has the value 0, so that sums can be computed
			e.NumFmt, e.CustomNumFmt = 0, &format
			e.Font = &excelize.Font{Color: "6E7781"}
		default:
			e.NumFmt, e.CustomNumFmt = 0, &format
		}
	}
	id, err := w.NewStyle(e)
	w.styles[s] = id
	return id, err
}

// text returns a cell with a text. Control characters, which XML does not have, are replaced.
func (w *writer) text(text string, s style) (excelize.Cell, error) {
	id, err := w.of(s)
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return 0xFFFD
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return excelize.Cell{StyleID: id, Value: clean}, err
}

// table writes one table: name, caption, heads, and a row for each combination of the variables in rows.
func (w *writer) table(name string, s Sheet, cells []cell) error {
	out, err := w.NewStreamWriter(name)
	if err != nil {
		return err
	}
	labels := len(s.Variables)
	if err := out.SetColWidth(1, labels, 22); err != nil {
		return err
	}
	corner, err := excelize.CoordinatesToCellName(labels+1, above+1)
	if err != nil {
		return err
	}
	if err := out.SetPanes(&excelize.Panes{Freeze: true, XSplit: labels, YSplit: above, TopLeftCell: corner,
		ActivePane: "bottomRight"}); err != nil {
		return err
	}
	if err := w.lines(out, 1, []string{s.Name}, style{head: true}); err != nil {
		return err
	}
	if err := w.lines(out, 2, []string{s.Caption}, style{}); err != nil {
		return err
	}
	if err := w.lines(out, above, slices.Concat(s.Variables, s.Columns), style{head: true}); err != nil {
		return err
	}
	for i, row := range s.Rows {
		if err := w.row(out, above+1+i, row, cells[i*len(s.Columns):][:len(s.Columns)], s.Decimals); err != nil {
			return err
		}
	}
	return out.Flush()
}

// lines writes texts into a row.
func (w *writer) lines(out *excelize.StreamWriter, row int, texts []string, s style) error {
	var line []any
	for _, t := range texts {
		c, err := w.text(t, s)
		if err != nil {
			return err
		}
		line = append(line, c)
	}
	return out.SetRow(fmt.Sprintf("A%d", row), line)
}

func (w *writer) row(out *excelize.StreamWriter, row int, labels []Label, cells []cell, decimals int) error {
	var line []any
	for _, l := range labels {
		c, err := w.text(l.Code, style{depth: l.Depth, head: l.Depth == 0})
		if err != nil {
			return err
		}
		line = append(line, c)
	}
	for _, c := range cells {
		id, err := w.of(style{status: c.status, decimals: decimals})
		if err != nil {
			return err
		}
		if c.value == nil {
			c.value = heldBack
		}
		line = append(line, excelize.Cell{StyleID: id, Value: c.value})
	}
	return out.SetRow(fmt.Sprintf("A%d", row), line)
}

// meanings are what the legend says of each status.
var meanings = []struct{ status, mark, text string }{
	{"suppressed", heldBack,
		"not published. What can be inferred of these cells from everything that is published was computed over all tables together before publication"},
	{"empty", "–", "no contributor: the value is 0"},
	{"published", "", "published as it is"},
	{"perturbed", "", "changed at random; the caption says how much"},
	{"rounded", "", "rounded; the caption says to which base"},
	{"adjusted", "", "changed so that unsafe values are protected and sums hold; the caption says by how much at most"},
	{"simulated", "", "drawn anew"},
	{"swapped", "", "of records that were swapped at random"},
	{"sampled", "", "estimated from a sample"},
}

// legend writes what the marks mean, and which sheet has which table.
func (w *writer) legend(names []string, sheets []Sheet) error {
	out, err := w.NewStreamWriter(names[len(names)-1])
	if err != nil {
		return err
	}
	if err := out.SetColWidth(1, 2, 34); err != nil {
		return err
	}
	row := 1
	add := func(s style, texts ...string) error {
		row++
		return w.lines(out, row-1, texts, s)
	}
	if err := add(style{head: true}, "mark", "status", "meaning"); err != nil {
		return err
	}
	for _, m := range meanings {
		id, err := w.of(style{status: m.status})
		if err != nil {
			return err
		}
		var line []any
		for _, t := range []string{m.mark, m.status, m.text} {
			c, err := w.text(t, style{})
			if err != nil {
				return err
			}
			if t == m.mark && m.status == "suppressed" {
				c.StyleID = id
			}
			line = append(line, c)
		}
		if err := out.SetRow(fmt.Sprintf("A%d", row), line); err != nil {
			return err
		}
		row++
	}
	row++
	if err := add(style{head: true}, "sheet", "table", "contents"); err != nil {
		return err
	}
	for i, s := range sheets {
		if err := add(style{}, names[i], s.Name, s.Caption); err != nil {
			return err
		}
	}
	return out.Flush()
}
