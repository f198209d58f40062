package tabling

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// Audit judges published tables that any tool made of the same records: a CSV file with
// a column for each variable, value, and table if the configuration has several, or one
// in SDMX-CSV 2.0, with OBS_VALUE and TABLE, or one in the format JJ. A cell whose value is
// empty or a mark counts as suppressed, as does one that is not in the file; any other text that
// is not a number is an error, and so is a file without a published cell. Nothing is
// written. An error of type *pipeline.DataError says that the file is not of these records; it
// has codes and lines, never a value.
func Audit(ctx context.Context, t *tabulation.Config, file Foreign, o pipeline.Options) (*Report, error) {
	ctx, o = o.Ready(ctx)
	started := time.Now()
	if err := file.check(); err != nil {
		return nil, err
	}
	for i := range t.Tables {
		if p := &t.Tables[i].Protect; p.Perturbs() {
			return nil,
				config.Errors{
					t.Errorf(fmt.Sprintf("tables[%d].protect", i),
						"must be suppress or none, got %s: of tables of other tools only what is held back is judged", p.Name())}
		}
	}
	r, err := open(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	families, tally, err := r.cellsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	groups, err := r.groups(families, tally.relations)
	if err != nil {
		return nil, err
	}
	if r.before, err = r.earlier(ctx, families, o); err != nil {
		return nil, err
	}
	if groups, err = r.extend(groups, families); err != nil {
		return nil, err
	}
	var list []*protected
	for _, f := range families {
		p, err := r.unsafe(ctx, f)
		if err != nil {
			return nil, err
		}
		for cell := range p.question.Hidden {
			p.question.Hidden[cell] = true
		}
		list = append(list, p)
	}
	if err := r.readTable(file, list); err != nil {
		return nil, err
	}
	for _, g := range groups {
		var together []*protected
		for _, f := range g.today() {
			together = append(together, list[slices.Index(families, f)])
		}
		if err := r.auditGroup(ctx, g, together); err != nil {
			return nil, err
		}
	}
	rep := r.account(list, tally)
	rep.Version, rep.Started, rep.Finished = o.Version, started, time.Now()
	return rep, nil
}

// Foreign is a file with published tables.
type Foreign struct {
	Path     string
	HeldBack []string // marks of suppressed cells, besides Marks
}

// Marks are the texts that stand for the value of a suppressed cell, besides an empty field: those
// of statistical offices (c: confidential, x or s: suppressed, the others: not available).
var Marks = []string{"c", "x", "s", ".", ":", "-", ".."}

// check returns an error if a mark tells something about the value that it stands for.
func (f Foreign) check() error {
	for _, mark := range f.HeldBack {
		if strings.ContainsFunc(mark, unicode.IsNumber) {
			return pipeline.DataErrorf("held-back: a mark must have no digit, which would tell something about the value")
		}
	}
	return nil
}

// holds reports whether a text stands for the value of a suppressed cell.
func (f Foreign) holds(text string) bool {
	return text == "" || slices.Contains(Marks, text) || slices.ContainsFunc(f.HeldBack, func(mark string) bool {
		return strings.TrimSpace(mark) == text
	})
}

// foreignTable is a published file while it is read.
type foreignTable struct {
	*records
	Foreign
	path         string
	list         []*protected
	head         []string
	sdmx         []string // of SDMX-CSV, the names of the columns that must be the same in each line
	constants    []string // the values of these columns
	problems     []string // texts of the first problems
	moreProblems int
}

// readTable reads which cells are published, and demands that at least one is.
func (r *records) readTable(from Foreign, list []*protected) error {
	f := &foreignTable{records: r, Foreign: from, path: from.Path, list: list}
	if strings.HasSuffix(strings.ToLower(f.path), ".xlsx") {
		return pipeline.DataErrorf(
			"table: %s must be CSV, SDMX-CSV or JJ: of a workbook, save the cells as CSV with a column for each variable",
			f.path)
	}
	read := f.readCSV
	if isJJ(f.path) {
		read = f.readJJ
	}
	if err := read(); err != nil {
		return err
	}
	for _, p := range list {
		if slices.Contains(p.question.Hidden, false) {
			return nil
		}
	}
	return pipeline.DataErrorf("table: %s publishes no cell: there is nothing to audit", f.path)
}

func (f *foreignTable) readCSV() error {
	r, path := f.records, f.path
	file, err := os.Open(path)
	if err != nil {
		return pipeline.DataErrorf("table: %s %s", path, form.Reason(err))
	}
	defer file.Close()
	in := csv.NewReader(file)
	in.TrimLeadingSpace = true
	if f.head, err = in.Read(); err != nil {
		return pipeline.DataErrorf("table: %s must be CSV with a header", path)
	}
	for i := range f.head {
		f.head[i] = strings.TrimSpace(strings.TrimPrefix(f.head[i], "\ufeff"))
	}
	f.recognise()
	needed := append([]string{f.valueColumn()}, r.variables()...)
	if len(r.config.Tables) > 1 {
		needed = append(needed, f.tableColumn())
	}
	for _, name := range needed {
		switch first := slices.Index(f.head, name); {
		case first < 0:
			f.say("%s must have a column %s", path, name)
		case slices.Contains(f.head[first+1:], name):
			f.say("%s must have one column %s, not several", path, name)
		}
	}
	if len(f.problems) > 0 {
		return f.problem()
	}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line := lineOf(in, err)
		if err != nil {
			f.say("%s:%d: must have as many fields as the header", path, line)
			break
		}
		f.row(record, line)
	}
	return f.problem()
}

// problem returns an error with the first problems of the file.
func (f *foreignTable) problem() error {
	if len(f.problems) == 0 {
		return nil
	}
	problems := f.problems
	if f.moreProblems > 0 {
		problems = append(slices.Clip(problems), "and "+strconv.Itoa(f.moreProblems)+" lines more")
	}
	return pipeline.DataErrorf("table: %s", strings.Join(problems, "\ntable: "))
}

// mostWrong is the greatest number of problems that are named.
const mostWrong = 10

func (f *foreignTable) say(format string, args ...any) {
	if len(f.problems) == mostWrong {
		f.moreProblems++
		return
	}
	f.problems = append(f.problems, pipeline.DataErrorf(format, args...).Error())
}

func (f *foreignTable) field(record []string, name string) string {
	if i := slices.Index(f.head, name); i >= 0 {
		return strings.TrimSpace(record[i])
	}
	return ""
}

// recognise finds out whether a file is SDMX-CSV, whose first column is STRUCTURE.
func (f *foreignTable) recognise() {
	if f.head[0] != "STRUCTURE" {
		return
	}
	f.sdmx = []string{"STRUCTURE", "STRUCTURE_ID", "FREQ", "TIME_PERIOD"}
	f.constants = make([]string, len(f.sdmx))
	if s := f.config.SDMX; s != nil {
		copy(f.constants, []string{"dataflow", s.Structure, s.Freq, s.TimePeriod})
	}
}

func (f *foreignTable) valueColumn() string {
	if f.sdmx != nil {
		return "OBS_VALUE"
	}
	return "value"
}

func (f *foreignTable) tableColumn() string {
	if f.sdmx != nil {
		return "TABLE"
	}
	return "table"
}

// together reports whether a line of SDMX-CSV is an observation, and has the structure, frequency
// and time of the configuration or, if it has none, of the lines before.
func (f *foreignTable) together(record []string, line int) bool {
	for k, name := range f.sdmx {
		found := f.field(record, name)
		if f.constants[k] == "" {
			f.constants[k] = found
		}
		if found != f.constants[k] && slices.Contains(f.head, name) {
			f.say("%s:%d: %s must be %q: the file must be of one structure and time", f.path, line, name, f.constants[k])
			return false
		}
	}
	if action := f.field(record, "ACTION"); f.sdmx != nil && action == "D" {
		f.say("%s:%d: ACTION must not be D: of what is taken back it is not known who has seen it", f.path, line)
		return false
	}
	return true
}

// row enters a line: its cell, and whether that is published.
func (f *foreignTable) row(record []string, line int) {
	table := 0
	if !f.together(record, line) {
		return
	}
	if len(f.config.Tables) > 1 {
		name := f.field(record, f.tableColumn())
		table = slices.IndexFunc(f.config.Tables, func(t tabulation.Table) bool { return t.Name == name })
		if table < 0 {
			f.say("%s:%d: the configuration has no table %q", f.path, line, name)
			return
		}
	}
	p, at := tableOf(f.list, table)
	var codes []string
	for _, d := range p.set.Tables[at].Dimensions {
		codes = append(codes, f.field(record, d.Name))
	}
	cell, err := p.set.At(at, codes...)
	if err != nil {
		f.say("%s:%d: %v", f.path, line, err)
		return
	}
	text := f.field(record, f.valueColumn())
	if f.holds(text) {
		return
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v-v != 0 {
		f.say(
			"%s:%d: %s of cell %s must be a number with a decimal point and no more, or for a cell that is held back empty or one of %s (--held-back names other marks)",
			f.path, line, f.valueColumn(), p.set.Name(cell), strings.Join(Marks, " "))
		return
	}
	if math.Abs(v*math.Pow10(p.options.Decimals)-p.question.Value[cell]) > 0.5+1e-9 {
		f.say(
			"%s:%d: cell %s has another value than the records give; only cells that are held back are audited, no other protection", f.path, line, p.set.Name(cell))
		return
	}
	p.question.Hidden[cell] = false
}

// foreignBounds sets the statuses of the cells that a file holds back, and what everybody knows of them.
func (p *protected) foreignBounds() {
	p.status = slices.Clone(p.rules.Status)
	zeros := p.hidesZeros() || p.table.Protect.Suppress != nil && p.table.Protect.Suppress.Zeros != "never"
	for cell, hidden := range p.question.Hidden {
		zeros = zeros || hidden && p.question.Value[cell] == 0
		if hidden && p.status[cell] != tables.Primary {
			p.status[cell] = tables.Secondary
		}
	}
	p.setBounds(zeros)
}

// auditForeign computes what can be inferred about the suppressed cells, and judges it.
func (p *protected) auditForeign() error {
	pattern, err := suppress.Audit(p.question, p.rules, p.knowers)
	if err != nil {
		return err
	}
	p.ranges, p.verdict, p.insiders = pattern.Ranges, pattern.Verdict, pattern.Insiders
	return nil
}
