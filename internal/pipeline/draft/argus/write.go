package argus

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Converted is a batch file in the form of a configuration.
type Converted struct {
	Notes  []Note
	Config string   // the path of the configuration; "" if there is an error
	Files  []string // all that was written, the configuration first
}

// Wrong reports whether a line has no equivalent without which the tables would be less protected.
func (c *Converted) Wrong() bool {
	return slices.ContainsFunc(c.Notes, func(n Note) bool { return n.Wrong })
}

const countColumn = "contributors"

func largestColumn(i int) string { return fmt.Sprintf("largest%d", i+1) }

func tableName(i int) string { return fmt.Sprintf("table-%d", i+1) }

// Convert reads a batch file and writes its configuration, tables.yaml, into a new folder, with the data, hierarchies
// and a-priori lists that it needs. With an error among the notes nothing is written. check judges the configuration
// before.
func Convert(path, folder string, check func(text []byte) error) (*Converted, error) {
	done := &Converted{}
	b, err := readBatch(path, &done.Notes)
	if err != nil {
		return nil, err
	}
	w := &writer{batch: b, folder: folder}
	if !done.Wrong() {
		w.judge()
	}
	if done.Wrong() {
		return done, nil
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("%s is there already; the configuration and the data get a folder of their own", folder)
		}
		return nil, err
	}
	if err := w.all(check); err != nil || done.Wrong() {
		return done, errors.Join(err, os.RemoveAll(folder))
	}
	done.Config, done.Files = w.path("tables.yaml"), w.files
	return done, nil
}

type writer struct {
	*batch
	folder string
	files  []string
	text   strings.Builder
	lists  map[*table]string // a-priori lists that are written
}

func (w *writer) path(name string) string { return filepath.Join(w.folder, name) }

// put writes a file that only its owner can read.
func (w *writer) put(name string, do func(*os.File) error) error {
	f, err := os.OpenFile(w.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w.files = append(w.files, w.path(name))
	return errors.Join(do(f), f.Close())
}

func (w *writer) table() bool { return w.inputs[0].metadata.table }

// judge finds what only all lines together show.
func (w *writer) judge() {
	for i, t := range w.tables {
		if t.protect == "" {
			t.protect, t.protected = "suppress", t.line
			w.warn(t.line, "no <SUPPRESS> protects this table: cells are held back")
		}
		if len(t.rules) == 0 && !t.zeros && len(t.in.of(status)) == 0 {
			w.warn(t.line, "the table has no rule: only cells of an a-priori list are unsafe")
		}
		if h := t.in.of(holding); len(h) > 0 && !t.holdings {
			w.warn(t.line, "no rule of this table is for holdings: contributors are records, unless a rule of another table is")
		}
		for k, before := range w.tables[:i] {
			if before.of() == t.of() && before.kindOfProtection() != t.kindOfProtection() {
				w.wrong(t.line,
					"must have the rules, the cost and the protection of table %d (line %d): both are of the same value, and cells of one can be inferred from the other", k+1, before.line)
			}
		}
		for _, v := range t.rows {
			if slices.Contains([]string{"table", "value", "status"}, v.name) {
				w.wrong(t.line, "variable %q must have another name: it is one of a column of the published file", v.name)
			}
		}
	}
	if !w.table() {
		return
	}
	for _, t := range w.tables {
		switch {
		case len(t.in.of(frequency)) == 0:
			w.wrong(t.in.line, "cells need the number of their contributors (<FREQUENCY>)")
		case t.weighted:
			w.wrong(t.line, "WGT(1) is not possible for finished tables")
		}
		if t.value != nil && len(t.in.of(largest)) == 0 {
			w.wrong(t.in.line,
				"cells of values need their largest contribution (<MAXSCORE>), with which respondents are audited")
		}
	}
}

// of is what a table is of: tables of the same are protected together.
func (t *table) of() string {
	if t.value == nil {
		return fmt.Sprint("counts ", t.weighted)
	}
	return fmt.Sprint(t.value.name, " ", t.weighted)
}

// kindOfProtection is what tables of one value must share.
func (t *table) kindOfProtection() string {
	return fmt.Sprint(t.rules, t.percent, t.absolute, t.zeros, t.protect, t.cost)
}

// variables returns all variables of codes in the tables, in their order.
func (w *writer) variables() (vs []*variable) {
	for _, t := range w.tables {
		for _, v := range t.rows {
			if !slices.ContainsFunc(vs, func(o *variable) bool { return o.name == v.name }) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

// quoted is a text in YAML.
func quoted(s string) string { return strconv.Quote(s) }

func list(of []string) string {
	quotes := make([]string, len(of))
	for i, s := range of {
		quotes[i] = quoted(s)
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}

// all writes the files and at last the configuration.
func (w *writer) all(check func([]byte) error) error {
	w.line("# %s, a batch file of τ-ARGUS, as a configuration. Lines without an equivalent were named when it was made.",
		filepath.Base(w.batch.path))
	w.line("version: 1")
	base := filepath.Base(w.batch.path)
	w.line("name: %s", quoted(strings.TrimSuffix(base, filepath.Ext(base))))
	if err := w.data(); err != nil {
		return err
	}
	if err := w.hierarchies(); err != nil {
		return err
	}
	if err := w.known(); err != nil {
		return err
	}
	w.line("tables:")
	for i, t := range w.tables {
		w.tableOf(t, i)
	}
	out := w.out
	switch out {
	case "":
		out = "protected"
	case "records", "cells", "cells-report": // files that are there already
		out += "-protected"
	}
	w.line("sink: {csv: {path: %s}}", quoted(w.path(out+".csv")))
	report := fmt.Sprintf("json: %s, html: %s, cells: %s", quoted(w.path("report.json")), quoted(w.path("report.html")),
		quoted(w.path("cells-report.csv")))
	if w.jj != "" {
		report += ", jj: " + quoted(w.path(w.jj))
	}
	w.line("report: {%s}", report)
	if err := check([]byte(w.text.String())); err != nil {
		return err
	}
	if err := w.put("tables.yaml", func(f *os.File) error {
		_, err := f.WriteString(w.text.String())
		return err
	}); err != nil {
		return err
	}
	last := len(w.files) - 1
	w.files[0], w.files[last] = w.files[last], w.files[0]
	return nil
}

// data writes the records or cells, and the lines about them.
func (w *writer) data() error {
	if w.table() {
		return w.cells()
	}
	in, need := w.inputs[0], w.variables()
	types := []string{}
	for _, v := range need {
		types = append(types, quoted(v.name)+": string")
	}
	add := func(v *variable) {
		if !slices.Contains(need, v) {
			need = append(need, v)
		}
	}
	weighted, held, asked := false, false, false
	for _, t := range w.tables {
		if t.value != nil {
			add(t.value)
		}
		weighted, held, asked = weighted || t.weighted, held || t.holdings, asked || t.requested
	}
	top := ""
	if held {
		v := in.of(holding)[0]
		add(v)
		types = append(types, quoted(v.name)+": string")
		top += fmt.Sprintf("holding: %s\n", quoted(v.name))
	}
	if asked {
		v := in.of(request)[0]
		add(v)
		types = append(types, quoted(v.name)+": string")
		top += fmt.Sprintf("request: %s\n", quoted(v.name))
	}
	if weighted {
		add(in.of(weight)[0])
	}
	w.line("source: {csv: {path: %s, types: {%s}}}", quoted(w.path("records.csv")), strings.Join(types, ", "))
	w.text.WriteString(top)
	return w.put("records.csv", func(f *os.File) error {
		c := csv.NewWriter(f)
		err := w.writeRecords(c, need)
		c.Flush()
		return errors.Join(err, c.Error())
	})
}

// cells writes finished cells.
func (w *writer) cells() error {
	c := cells{several: len(w.tables) > 1}
	var types []string
	for _, v := range w.variables() {
		c.rows = append(c.rows, v.name)
		types = append(types, quoted(v.name)+": string")
	}
	for _, t := range w.tables {
		if t.value != nil {
			c.value = t.value.name
			c.largest = max(c.largest, len(t.in.of(largest)))
		}
	}
	var tops []string
	for i := range c.largest {
		tops = append(tops, largestColumn(i))
	}
	w.line("source: {csv: {path: %s, types: {%s}}}", quoted(w.path("cells.csv")), strings.Join(types, ", "))
	w.line("finished: {count: %s, largest: %s}", countColumn, list(tops))
	return w.put("cells.csv", func(f *os.File) error {
		out := csv.NewWriter(f)
		err := w.writeCells(out, c)
		out.Flush()
		return errors.Join(err, out.Error())
	})
}

// hierarchies writes the files of hierarchies with one @ for each level, and the lines about all variables. The codes
// of missing values are parts of the total, as in τ-ARGUS.
func (w *writer) hierarchies() error {
	w.line("hierarchies:")
	for i, v := range w.variables() {
		words := []string{"total: " + quoted(v.total)}
		switch {
		case v.hierarchy != "":
			name := fmt.Sprintf("hierarchy-%d.hrc", i+1)
			text, err := w.hierarchy(v)
			if err != nil {
				return err
			}
			if err := w.put(name, func(f *os.File) error { _, err := f.WriteString(text); return err }); err != nil {
				return err
			}
			words = append(words, "file: "+quoted(w.path(name)))
		case len(v.levels) > 1:
			levels := make([]string, len(v.levels))
			for i, n := range v.levels {
				levels[i] = strconv.Itoa(n)
			}
			words = append(words, "prefix: ["+strings.Join(levels, ", ")+"]")
		}
		w.line("  %s: {%s}", quoted(v.name), strings.Join(words, ", "))
	}
	return nil
}

// hierarchy is a file of a hierarchy whose levels are marked by @.
func (w *writer) hierarchy(v *variable) (string, error) {
	text, err := os.ReadFile(v.hierarchy)
	if err != nil {
		return "", fmt.Errorf("the hierarchy of %s cannot be read: %w", v.name, err)
	}
	var out strings.Builder
	seen := map[string]bool{}
	for n, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimRight(line, " \t\r")
		depth := 0
		for v.lead != "" && strings.HasPrefix(line, v.lead) {
			line = line[len(v.lead):]
			depth++
		}
		code := unquoted(line)
		switch {
		case code == "" && depth == 0:
			continue
		case code == "" || code[0] == '@':
			return "", unfit("%s:%d: must be a code behind its marks of the level (%q)", v.hierarchy, n+1, v.lead)
		}
		seen[code] = true
		fmt.Fprintf(&out, "%s%s\n", strings.Repeat("@", depth), code)
	}
	for _, code := range v.missing {
		if !seen[code] && !w.table() {
			fmt.Fprintf(&out, "%s\n", code)
			seen[code] = true
		}
	}
	return out.String(), nil
}

// known writes the a-priori lists.
func (w *writer) known() error {
	w.lists = map[*table]string{}
	for i, t := range w.tables {
		if len(t.apriori) == 0 {
			continue
		}
		name := fmt.Sprintf("apriori-%d.hst", i+1)
		w.lists[t] = w.path(name)
		if err := w.put(name, func(f *os.File) error {
			c := csv.NewWriter(f)
			c.Comma = ';'
			return errors.Join(c.WriteAll(t.apriori), c.Error())
		}); err != nil {
			return err
		}
	}
	return nil
}

// manualMargin is the protection in percent of cells of an a-priori list, if MAN says no other.
const manualMargin = 20

// tableOf writes the lines of one table.
func (w *writer) tableOf(t *table, i int) {
	var rows []string
	for _, v := range t.rows {
		rows = append(rows, v.name)
	}
	w.line("  - name: %s # line %d", tableName(i), t.line)
	w.line("    rows: %s", list(rows))
	if t.value != nil {
		w.line("    value: %s", quoted(t.value.name))
		if t.value.decimals >= 0 {
			w.line("    decimals: %d", t.value.decimals)
		}
	}
	if t.weighted {
		w.line("    weight: %s", quoted(t.in.of(weight)[0].name))
	}
	if len(t.rules) > 0 {
		w.line("    unsafe: [%s]", strings.Join(t.rules, ", "))
	}
	if t.zeros {
		w.line("    zeros: unsafe")
	}
	if len(t.apriori) > 0 && !t.manual {
		t.percent = max(t.percent, manualMargin)
	}
	if t.percent > 0 || t.absolute > 0 {
		w.line("    interval: {absolute: %s, percent: %s}", text(t.absolute), text(t.percent))
	}
	if name := w.lists[t]; name != "" {
		w.line("    apriori: %s", quoted(name))
	}
	method, rest, _ := strings.Cut(t.protect, " ")
	switch method {
	case "suppress":
		w.line("    protect: {suppress: {cost: %s}}", t.cost)
	case "optimal":
		words := "cost: " + t.cost + ", effort: optimal"
		if rest != "" {
			words += ", patience: " + rest + "m"
		}
		w.line("    protect: {suppress: {%s}}", words)
	case "round":
		base, minutes, timed := strings.Cut(rest, " ")
		words := "base: " + base
		if timed {
			words += ", patience: " + minutes + "m"
		}
		w.line("    protect: {round: {%s}}", words)
	case "adjust":
		w.line("    protect: {adjust: {}}")
	}
}
