package argus

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// records calls each with the fields of every line of the data, trimmed, in the order of the variables.
func (in *input) records(each func(fields []string, line int) error) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if in.separator != "" {
		return in.separated(f, each)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	fields := make([]string, len(in.variables))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimRight(lines.Text(), "\r\x1a")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if !utf8.ValidString(text) {
			return unfit("%s:%d: not valid UTF-8", in.path, n)
		}
		runes := []rune(text)
		for i, v := range in.variables {
			from, to := v.from-1, v.from-1+v.wide
			if from >= len(runes) { // editors take the spaces at the end of a line
				fields[i] = ""
				continue
			}
			fields[i] = strings.TrimSpace(string(runes[from:min(to, len(runes))]))
		}
		if err := each(fields, n); err != nil {
			return err
		}
	}
	return lines.Err()
}

// separated reads data whose fields are separated by a character. They have no header.
func (in *input) separated(r io.Reader, each func([]string, int) error) error {
	c := csv.NewReader(r)
	c.Comma, c.FieldsPerRecord, c.ReuseRecord = rune(in.separator[0]), -1, true
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			return unfit("%s:%d: the quotation marks are not in pairs", in.path, wrong.Line)
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		if len(record) != len(in.variables) {
			return unfit("%s:%d: %d fields for %d variables", in.path, line, len(record), len(in.variables))
		}
		for i := range record {
			if !utf8.ValidString(record[i]) {
				return unfit("%s:%d: not valid UTF-8", in.path, line)
			}
			record[i] = strings.TrimSpace(record[i])
		}
		if err := each(record, line); err != nil {
			return err
		}
	}
}

// Unfit says what in the data, or in a hierarchy, does not fit, by file and line, without values of respondents.
type Unfit struct{ text string }

func (u *Unfit) Error() string { return u.text }

func unfit(format string, args ...any) error { return &Unfit{fmt.Sprintf(format, args...)} }

// pointed is a number with a decimal point.
func pointed(s string) string {
	if strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		return strings.Replace(s, ",", ".", 1)
	}
	return s
}

// writeRecords writes the variables that the tables need as CSV with a header.
func (b *batch) writeRecords(w *csv.Writer, need []*variable) error {
	in := b.inputs[0]
	row := make([]string, len(need))
	for i, v := range need {
		row[i] = v.name
	}
	if err := w.Write(row); err != nil {
		return err
	}
	at := make([]int, len(need))
	for i, v := range need {
		at[i] = slices.Index(in.variables, v)
	}
	return in.records(func(fields []string, line int) error {
		for i, v := range need {
			switch row[i] = fields[at[i]]; {
			case v.kind == request:
				row[i] = map[bool]string{true: "yes", false: "no"}[slices.Contains(v.requests, row[i])]
			case v.numeric && v.kind != code, v.kind == weight:
				row[i] = pointed(row[i])
			}
		}
		return w.Write(row)
	})
}

// cells are the columns of finished tables in one file.
type cells struct {
	several bool
	rows    []string // of all tables
	value   string   // "": counts
	largest int
}

// writeCells writes the cells of all finished tables as CSV with a header, and adds what the column of statuses says to
// the a-priori lists.
func (b *batch) writeCells(w *csv.Writer, c cells) error {
	var header []string
	if c.several {
		header = append(header, "table")
	}
	header = append(header, c.rows...)
	if c.value != "" {
		header = append(header, c.value)
	}
	header = append(header, countColumn)
	for i := range c.largest {
		header = append(header, largestColumn(i))
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for i, t := range b.tables {
		if err := t.writeCells(w, c, tableName(i)); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) writeCells(w *csv.Writer, c cells, name string) error {
	at := func(v *variable) int { return slices.Index(t.in.variables, v) }
	tops, statuses := t.in.of(largest), t.in.of(status)
	return t.in.records(func(fields []string, line int) error {
		var row []string
		if c.several {
			row = append(row, name)
		}
		codes := map[string]string{}
		var own []string
		for _, v := range t.rows {
			code := fields[at(v)]
			if code == "" {
				code = v.total
			}
			codes[v.name] = code
			own = append(own, code)
		}
		for _, name := range c.rows {
			row = append(row, codes[name])
		}
		if c.value != "" {
			row = append(row, pointed(fields[at(t.value)]))
		}
		count := fields[at(t.in.of(frequency)[0])]
		row = append(row, count)
		for i := range c.largest {
			top := ""
			if i < len(tops) {
				top = pointed(fields[at(tops[i])])
			}
			if strings.Trim(top, "0.") == "" && shorter(count, i+1) {
				top = "" // of a contributor that the cell does not have
			}
			row = append(row, top)
		}
		if len(statuses) > 0 {
			if err := t.status(fields, own, fields[at(statuses[0])], line); err != nil {
				return err
			}
		}
		return w.Write(row)
	})
}

// status adds what a cell's status says to the a-priori list.
func (t *table) status(fields, codes []string, text string, line int) error {
	s, known := t.in.statuses[strings.ToUpper(text)]
	if !known {
		if s, known = t.in.statuses[text]; !known && text != "" {
			return unfit("%s:%d: the status is none that the metadata know", t.in.path, line)
		}
	}
	if s != 'u' && (s != 'p' || len(t.rules) > 0) { // rules decide which cells must not be published
		return nil
	}
	t.apriori = append(t.apriori, append(slices.Clone(codes), string(s)))
	down, up := t.in.of(lower), t.in.of(upper)
	if s == 'u' && len(down) > 0 && len(up) > 0 {
		t.apriori = append(t.apriori, append(slices.Clone(codes), "pl",
			pointed(fields[slices.Index(t.in.variables, down[0])]), pointed(fields[slices.Index(t.in.variables, up[0])])))
	}
	return nil
}

// shorter reports whether a count is a number below n.
func shorter(count string, n int) bool {
	var c int
	_, err := fmt.Sscan(count, &c)
	return err == nil && c < n
}
