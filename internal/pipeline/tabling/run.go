package tabling

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// Result is how a run ended.
type Result struct {
	Report *Report
	Files  []string // the files that have their final names, the tables first
}

// Run makes the tables, protects and audits them, and publishes all of them or none. Nothing has
// its final name before the gate has passed; on an error, or when ctx ends, nothing is left
// behind. An error of type config.Errors or *pipeline.DataError means that the configuration
// does not fit the data.
func Run(ctx context.Context, t *tabulation.Config, o pipeline.Options) (*Result, error) {
	ctx, o = o.Ready(ctx)
	started := time.Now()
	if err := t.LooseningAllowed(o.AllowLoosening); err != nil {
		return nil, err
	}
	r, err := open(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.hold(ctx, o); err != nil {
		return nil, err
	}
	if err := r.alone(); err != nil { // checked early, because the work may take hours
		return nil, err
	}
	return r.publish(ctx, o, started)
}

// publish makes the tables, judges them, and publishes them or withholds them.
func (r *records) publish(ctx context.Context, o pipeline.Options, started time.Time) (*Result, error) {
	list, tally, err := r.tabulate(ctx, o)
	if err != nil {
		return nil, err
	}
	rep := r.account(list, tally)
	if err := r.judgeRecords(ctx, rep, list); err != nil {
		return nil, err
	}
	rep.Version, rep.Started = o.Version, started
	rep.Finished = time.Now()
	out := &outputs{records: r, options: o, list: list, report: rep}
	result, err := out.release(ctx)
	if err != nil {
		return nil, account.AndAborted(err, out.abort)
	}
	return result, nil
}

// account returns the report of the tables with the gate's verdict.
func (r *records) account(list []*protected, tally *tally) *Report {
	t := r.config
	rep := &Report{Schema: ReportSchema, Name: t.Name, ConfigSHA256: t.SHA256(), KeyID: r.keyID, Coalition: t.Coalition,
		Records: tally.records(), Warnings: t.Warnings,
		Loosened: slices.Concat(t.Loosened, r.loosened)}
	if r.before != nil {
		rep.Earlier, rep.Unaudited = r.before.reports(list), r.before.unaudited
	}
	for _, p := range list {
		rep.Families = append(rep.Families, p.report())
	}
	for i := range t.Tables {
		p, at := tableOf(list, i)
		rep.Tables = append(rep.Tables, p.tableReport(at, &t.Tables[i]))
	}
	rep.Gate = judge(t, list, rep.Tables)
	if !rep.Gate.Passed {
		rep.Withheld = withheldBecause(rep.Gate)
	}
	return rep
}

// cellsOf finds the codes and computes the cells, without applying any rule.
func (r *records) cellsOf(ctx context.Context, o pipeline.Options) ([]*family, *tally, error) {
	s, err := r.look(ctx, o.Progress)
	if err != nil {
		return nil, nil, err
	}
	if r.windowed && s.passes() && r.recordCount.Load() == 0 {
		return nil, nil, errNoRecords
	}
	dimensions, err := r.dimensions(s)
	if err != nil {
		return nil, nil, err
	}
	families, err := r.families(dimensions, s)
	if err != nil {
		return nil, nil, err
	}
	add := r.add
	if r.config.Finished != nil {
		add = r.finished
	}
	t, err := add(ctx, families, o.Progress)
	return families, t, err
}

// tabulate does everything that precedes writing.
func (r *records) tabulate(ctx context.Context, o pipeline.Options) (list []*protected, t *tally, err error) {
	families, t, err := r.cellsOf(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	o.Progress.Measuring()
	groups, err := r.groups(families, t.relations)
	if err != nil {
		return nil, nil, err
	}
	if r.before, err = r.earlier(ctx, families, o); err != nil {
		return nil, nil, err
	}
	if groups, err = r.extend(groups, families); err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		if err := ctx.Err(); err != nil {
			return nil, nil, context.Cause(ctx)
		}
		together, err := r.protectGroup(ctx, g)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, together...)
	}
	slices.SortFunc(list, func(a, b *protected) int { return a.of[0] - b.of[0] })
	return list, t, nil
}

func (t *tally) records() Records {
	unknown := map[string]int64{}
	for name, n := range t.unknown {
		if n > 0 {
			unknown[name] = n
		}
	}
	return Records{
		Read: t.read, Tabulated: t.read - t.lostRecords(), Malformed: t.malformed, NoCode: t.refused.Code,
		NoValue:  t.refused.Value,
		NoWeight: t.refused.Weight, NoHolding: t.refused.Holder, NoIdentity: t.refused.Nobody, Unknown: unknown,
	}
}

// outputs is everything that a run writes. It has temporary names until the gate has passed.
type outputs struct {
	records *records
	options pipeline.Options
	list    []*protected
	report  *Report

	sink                   connectors.Sink
	content                *connectors.Content // of sink; nil: not known
	cells, jj, html, json  *publish.File
	publicHTML, publicJSON *publish.File
}

func (o *outputs) release(ctx context.Context) (*Result, error) {
	if err := o.create(); err != nil {
		return nil, err
	}
	var err error
	if o.report.Gate.Passed {
		if o.sink, err = o.records.write(ctx, o.list); err != nil {
			return nil, err
		}
		// The sink's name is this run's now, but another run may have published under it meanwhile.
		if err := o.records.alone(); err != nil {
			return nil, err
		}
		content, err := connectors.ContentOf(ctx, o.sink)
		if err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
		o.content = content
		o.besideTables()
		if content != nil && content.Path != "" {
			o.report.Release = &Release{filepath.Base(content.Path), content.Bytes(), content.SHA256()}
			o.replaces(content.Path)
		}
	}
	return o.publish(ctx)
}

// besideTables names the tables of the ledger that the tables were not audited with: those that are no earlier release
// of the configuration, unless they are the same.
func (o *outputs) besideTables() {
	for _, e := range o.records.ledger.Tables() {
		if slices.ContainsFunc(e.Contents(), func(p ledger.Published) bool {
			return o.content != nil && p.SHA256 == o.content.SHA256() || o.records.before.has(p.SHA256)
		}) {
			continue
		}
		o.report.Unaudited = append(o.report.Unaudited,
			fmt.Sprintf("the tables of entry %d of the ledger (%s)", e.Number, e.Name()))
		o.options.Log.Warn().Int64("entry", e.Number).Str("name",
			e.Name()).Msg(
			"what the tables tell together with others of the ledger was not audited: name their report (releases)")
	}
}

// replaces says that the release replaces another one, which people may have seen, unless it is the same or one of the
// earlier releases of the configuration.
func (o *outputs) replaces(path string) {
	file, err := os.Open(path)
	if err != nil {
		return // there is none, or the new one cannot get its name
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	if digest == o.report.Release.SHA256 || o.records.before.has(digest) {
		return
	}
	o.report.Unaudited = append(o.report.Unaudited, "the release that was published under the same name before")
	o.options.Log.Warn().Str("path",
		path).Msg("replaces another release, and what both tell together was not audited: name its report (releases)")
}

// create opens every output, so that a path that cannot be written is found first.
func (o *outputs) create() (err error) {
	c := o.records.config.Report
	for _, f := range []struct {
		file **publish.File
		path string
		mode publish.Mode
	}{
		{&o.cells, c.Cells, publish.Confidential}, {&o.jj, c.JJ, publish.Confidential},
		{&o.html, c.HTML, publish.Confidential}, {&o.json, c.JSON, publish.Confidential},
		{&o.publicHTML, config.PublicPath(c.HTML), publish.Public},
		{&o.publicJSON, config.PublicPath(c.JSON), publish.Public},
	} {
		if f.path == "" {
			continue
		}
		if *f.file, err = publish.Create(f.path, f.mode); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// fill completes and syncs every file. A withheld release has no public ones.
func (o *outputs) fill() error {
	public := func(render func() ([]byte, error)) func() ([]byte, error) {
		if !o.report.Gate.Passed {
			return func() ([]byte, error) { return nil, nil }
		}
		return render
	}
	for _, f := range []struct {
		file   *publish.File
		render func() ([]byte, error)
	}{
		{o.cells, o.cellsCSV},
		{o.jj, o.jjFile},
		{o.html, func() ([]byte, error) { return o.records.html(o.list, o.report, true) }},
		{o.json, o.report.JSON},
		{o.publicHTML, public(func() ([]byte, error) { return o.records.html(o.list, o.report, false) })},
		{o.publicJSON, public(func() ([]byte, error) { return o.report.Public().JSON() })},
	} {
		if f.file == nil {
			continue
		}
		text, err := f.render()
		if err == nil {
			_, err = f.file.Write(text)
		}
		if f.file == o.cells {
			o.report.Cells = o.cellsFile(text)
		}
		if err == nil {
			err = f.file.Finish()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publish gives the files their names, the tables first and the report last. A withheld run
// leaves the files of an earlier release as they are, its public report included.
func (o *outputs) publish(ctx context.Context) (*Result, error) {
	paths := o.records.config.Sink.Config.Paths()
	p := account.Publication{
		Released: o.report.Gate.Passed, Paths: paths, Log: o.options.Log,
		Complete:  account.Saying("report", o.fill),
		Unchanged: account.Saying("source", func() error { return connectors.Unchanged(o.records.source) }),
		Withhold:  func() error { return nil }, // nothing was written
		Before:    o.enter,
		Name:      func() error { return account.Commit("sink", o.sink, paths, new(account.Files)) },
		Settle:    o.records.ledger.Settle,
		Rest:      account.Rest{account.Appears("report", o.publicHTML, true), account.Appears("report", o.publicJSON, true)},
	}
	for _, f := range []*publish.File{o.cells, o.jj, o.html, o.json} {
		p.Rest = append(p.Rest, account.Appears("report", f, false))
	}
	files, err := p.Publish(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Report: o.report, Files: files}, nil
}

// enter enters the tables in the ledger of their pipeline.
func (o *outputs) enter() error {
	of := o.records.entry(o.list, o.report)
	of.Version, of.ConfigSHA256 = o.report.Version, o.report.ConfigSHA256
	return o.records.ledger.EnterTables(of, o.content)
}

// entry is what a ledger says of the tables.
func (r *records) entry(list []*protected, rep *Report) *ledger.Tables {
	t := r.config
	of := &ledger.Tables{Name: t.Name, Paths: t.Sink.Config.Paths(), Holding: t.Holding,
		Records: rep.Records.Read - rep.Records.Malformed}
	for i := range t.Tables {
		p, at := tableOf(list, i)
		one := &t.Tables[i]
		table := ledger.Table{Name: one.Name, Rows: one.Rows, Columns: columnsOf(t, one), Value: one.Value,
			Protect: one.Protect.Name(), Cells: int64(p.size(at)), Weight: one.Weight}
		if one.Value != "" {
			table.Percent = closest(one)
		}
		table.Variables, table.Hidden = p.adding(t, at)
		of.Tables = append(of.Tables, table)
	}
	return of
}

// columnsOf returns the columns of the records from which a table is made.
func columnsOf(t *tabulation.Config, one *tabulation.Table) (columns []string) {
	for _, row := range one.Rows {
		v := t.Variable(row)
		columns = append(append(columns, v.Leaf()), v.Columns...)
	}
	for _, name := range []string{one.Value, one.Weight} {
		if name != "" {
			columns = append(columns, name)
		}
	}
	return columns
}

// abort removes everything that has no final name.
func (o *outputs) abort() error {
	var errs []error
	if o.sink != nil {
		errs = append(errs, o.sink.Abort())
	}
	for _, f := range []*publish.File{o.cells, o.jj, o.html, o.json, o.publicHTML, o.publicJSON} {
		if f != nil {
			errs = append(errs, f.Abort())
		}
	}
	return errors.Join(errs...)
}

// cellsFile describes the file of the cells, for later tables that must be safe together with these.
func (o *outputs) cellsFile(text []byte) *Release {
	c := o.records.config.Report
	path, err := filepath.Rel(filepath.Dir(c.JSON), c.Cells)
	if err != nil {
		path = c.Cells
	}
	sum := sha256.Sum256(text)
	return &Release{filepath.ToSlash(path), int64(len(text)), hex.EncodeToString(sum[:])}
}

// cellsCSV returns the confidential file of the tables: every cell with its true value.
func (o *outputs) cellsCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	variables := o.records.variables()
	head := append([]string{"table"}, variables...)
	w.Write(append(head, "value", "contributors", "status", "rule", "need_low", "need_high", "low", "high", "published"))
	for i, c := range o.records.config.Tables {
		p, t := tableOf(o.list, i)
		dimensions := p.set.Tables[t].Dimensions
		for at := range p.size(t) {
			cell := p.set.Cell(t, at)
			codes := make(map[string]string, len(dimensions))
			for k, rest := len(dimensions)-1, at; k >= 0; k-- {
				d := dimensions[k]
				codes[d.Name], rest = d.Codes[rest%len(d.Codes)], rest/len(d.Codes)
			}
			row := []string{c.Name}
			for _, v := range variables {
				code, has := codes[v]
				if !has {
					code = o.records.config.Variable(v).Total
				}
				row = append(row, code)
			}
			w.Write(append(row, p.cellFields(cell)...))
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// inferred returns the range that can be inferred about a cell, in whole units, as it is printed: its ends are rounded
// inward, because a cell has a whole number of units, and a range that looked wider would claim protection that there
// is not.
func (p *protected) inferred(cell int32) (low, high float64) {
	low, high = p.ranges.Low[cell], p.ranges.High[cell]
	return math.Ceil(low-roundoff(low)) + 0, math.Floor(high+roundoff(high)) + 0 // no −0
}

// roundoff is how much an end of a range can be beside its true value, as linear programs compute it.
func roundoff(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return min(1e-6*(1+math.Abs(v)), 0.1)
}

// cellFields returns the value of a cell, and how it is protected.
func (p *protected) cellFields(cell int32) []string {
	number := func(v float64) string {
		if math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(p.number(v), 'f', p.options.Decimals, 64)
	}
	v := p.question.Value[cell]
	public := ""
	if !p.hidden(cell) {
		public = number(p.publishedValue(cell))
	}
	fields := []string{number(v), strconv.FormatInt(p.cells.Contributors[cell], 10), p.status[cell].String(),
		p.ruleName(cell), "", "", "", "", public}
	if p.status[cell] == tables.Primary {
		fields[4], fields[5] = number(math.Floor(v-p.rules.Down[cell])), number(math.Ceil(v+p.rules.Up[cell]))
	}
	if p.ranged(cell) {
		low, high := p.inferred(cell)
		fields[6], fields[7] = number(low), number(high)
	}
	return fields
}
