package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Result is how a run ended.
type Result struct {
	Report *Report
	Files  []string // what has its final name, the release first
	// Tables are the results of the tables, in the order of the configuration.
	Tables []*account.Result
}

// Refused reports whether the tables were withheld.
func (r *Result) Refused() bool { return r.Report.Withheld != "" }

// Quarantined returns how many records of all tables could not be masked.
func (r *Result) Quarantined() (n int64) {
	for _, t := range r.Report.Tables {
		n += t.Records.Quarantined
	}
	return n
}

// run is one execution of a project.
type run struct {
	config  *Config
	options pipeline.Options
	key     keystream.Key
	started time.Time
	joint   connectors.Together // where all tables are until they are published
	members map[string]*member
	order   []*member // each after those to whose records its own refer
	rounds  int
	refer   map[int][]int32  // by key, see parents
	ledger  *entered.Project // nil: the tables have none
	checks  bool             // nothing is released: the ledgers stay as they are
	silent  bool             // nothing is written, and the ledgers are only read

	warnings []string
	dates    []assess.RuleVerdict // on dates beside shifted ones

	reports []projectReport // those that are asked for
}

// member is a table in a run.
type member struct {
	table  *Table
	joins  []string // its columns in keys
	source connectors.Source
	fates  []fates       // of joins, by what was written last
	part   *filejob.Part // what was written last; nil: nothing
	left   map[int]*Left // by key of the configuration
	every  bool          // whether own has what earlier releases had, too
}

// Run masks all tables of a project, judges each of them and the persons of whom they tell together, and publishes all
// in one step, or none. On an error, or when ctx ends, nothing is left behind. An error of type config.Errors or
// *pipeline.DataError means that the configuration does not fit the data.
func Run(ctx context.Context, c *Config, o pipeline.Options) (*Result, error) {
	ctx, o = o.Ready(ctx)
	r := &run{config: c, options: o, started: time.Now(), members: map[string]*member{}}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	defer r.close()
	result, err := r.release(ctx)
	if err != nil {
		return nil, account.AndAborted(err, r.abort)
	}
	return result, nil
}

// admit demands that all tables may be released.
func (r *run) admit(ctx context.Context) error {
	if err := r.config.LooseningAllowed(r.options.AllowLoosening); err != nil {
		return err
	}
	for i, t := range r.config.order() {
		key, err := pipeline.Admit(t.pipeline, r.options)
		if err != nil {
			return err
		}
		if i > 0 && key.ID() != r.key.ID() {
			return pipeline.DataErrorf("the release key was changed while the project began")
		}
		if r.key = key; r.silent {
			continue
		}
		if err := account.Probe(ctx, t.pipeline); err != nil {
			return err
		}
	}
	return nil
}

// hold takes the ledgers of the tables, until close.
func (r *run) hold(ctx context.Context) (err error) {
	if r.checks {
		return nil
	}
	tables := map[string]*config.Pipeline{}
	for i := range r.config.Tables {
		tables[r.config.Tables[i].Name] = r.config.Tables[i].pipeline
	}
	if !r.silent {
		r.ledger, err = entered.OpenProject(ctx, r.config.Name, tables, r.key, r.options.Log)
		return err
	}
	r.ledger, err = entered.LookProject(ctx, r.config.Name, tables, r.key, r.options.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Errors{r.config.Tables[0].pipeline.Errorf("ledger",
			"is not there, nor is that of any other table: no release was entered in them")}
	}
	return err
}

// open admits all tables, takes their ledgers and opens their sources, before anything is written.
func (r *run) open(ctx context.Context) error {
	if err := r.admit(ctx); err != nil {
		return err
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	var pipelines []*config.Pipeline
	tables := r.config.order()
	for _, t := range tables {
		t.pipeline.Joins = r.config.joins(t.Name)
		pipelines = append(pipelines, t.pipeline)
	}
	sources, index, err := pipeline.OpenSources(ctx, pipelines)
	if err != nil {
		return fmt.Errorf("table %s: source: %w", strconv.Quote(tables[index].Name), err)
	}
	for i, t := range tables {
		m := &member{table: t, joins: t.pipeline.Joins, source: sources[i], left: map[int]*Left{}}
		r.order, r.members[t.Name] = append(r.order, m), m
	}
	if err := r.checkTypes(); err != nil {
		return err
	}
	var beside []string
	beside, r.dates = r.unshifted()
	r.warnings = slices.Concat(r.apart(), beside, r.config.repeated())
	for _, w := range r.warnings {
		r.options.Log.Warn().Msg(w)
	}
	return nil
}

// apart warns of tables of databases that have no state in common with the others.
func (r *run) apart() []string {
	var states, words []string
	for _, m := range r.order {
		state := ""
		if s := m.source.Abilities().Snapshot; s != nil {
			state = s.State()
		}
		states = append(states, state)
		words = append(words, strconv.Quote(m.table.Name)+" ("+m.table.pipeline.Source.Kind+")")
	}
	if len(slices.Compact(slices.Sorted(slices.Values(states)))) == 1 {
		return nil
	}
	return []string{"the tables " + strings.Join(words, ", ") +
		" are not read in one state, as those of one database are: what others change while the sources are opened is perhaps in some tables only, and a record that refers to none leaves"}
}

// checkTypes demands that columns that join tables are there, and have one type: a number and its text do not identify
// the same record.
func (r *run) checkTypes() error {
	var wrong config.Errors
	for i, k := range r.config.Keys {
		a, err := r.members[k.Table].field(k.Column)
		if err != nil {
			return err
		}
		b, err := r.members[k.Of].field(k.References)
		if err != nil {
			return err
		}
		if !a.Unseen && !b.Unseen && !arrow.TypeEqual(a.Type, b.Type) {
			wrong = append(wrong,
				r.config.Errorf(fmt.Sprintf("keys[%d]", i),
					"joins %s of %s with %s of %s: %s", microdata.TypeName(a.Type),
					strconv.Quote(k.Table), microdata.TypeName(b.Type), strconv.Quote(k.Of), r.members[k.Table].retyped()))
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// retyped says how a column gets another type.
func (m *member) retyped() string {
	if kind := m.table.pipeline.Source.Kind; m.source.Abilities().InfersTypes {
		return "declare one type for both (source." + kind + ".types)"
	}
	return "give both one type, in the data or by a query that converts one of them"
}

func (m *member) field(name string) (*microdata.Field, error) {
	schema := m.source.Schema()
	if i := schema.Index(name); i >= 0 {
		return &schema.Fields[i], nil
	}
	return nil, config.Errors{m.table.pipeline.Errorf("columns."+name, "is no column of the source")}
}

// release writes, judges and publishes.
func (r *run) release(ctx context.Context) (*Result, error) {
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	rep, err := r.judged(ctx)
	if err != nil {
		return nil, err
	}
	return r.publish(ctx, rep)
}

// unchanged demands that no table has changed since the project began, up to this moment.
func (r *run) unchanged() error {
	for _, m := range r.order {
		if err := connectors.Unchanged(m.source); err != nil {
			return fmt.Errorf("table %s: source: %w", strconv.Quote(m.table.Name), err)
		}
	}
	return nil
}

// folder has the tables as files of a folder, which gets its name as a whole.
type folder struct{ *publish.Dir }

// Ready implements connectors.Together: a folder that is made is.
func (f folder) Ready(context.Context) error { return nil }

// Sink implements connectors.Together.
func (f folder) Sink(one connectors.SinkConfig) (connectors.SinkConfig, error) {
	at, err := f.Inside(filepath.Base(one.Paths()[0]))
	if err != nil {
		return nil, err
	}
	return one.Abilities().Placed.At(at), nil
}

// create makes the place of the release, which has no name yet, and opens the project's report.
func (r *run) create(ctx context.Context) (err error) {
	if first := r.config.Tables[0].pipeline.Sink.Abilities(); first.Together != nil {
		var sinks []connectors.SinkConfig
		var sources []connectors.Source
		for _, m := range r.order {
			sinks, sources = append(sinks, m.table.pipeline.Sink.Config), append(sources, m.source)
		}
		r.joint, err = first.Together(sinks, sources)
	} else if dir, failed := publish.CreateDir(r.config.folder(), first.Placed.Extension()); failed == nil {
		r.joint = folder{dir}
	} else {
		err = failed
	}
	if err == nil {
		err = r.joint.Ready(ctx)
	}
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return r.createReports()
}

// most is how often a table is written at most. A second time is usual where persons leave of whom another table has a
// record to which they refer.
const most = 10

// settle writes the tables until no record refers to one that is not released, and none to which persons refer stays
// without a person.
func (r *run) settle(ctx context.Context) error {
	for range most {
		again := false
		for _, m := range r.order {
			if m.part != nil && !r.stale(m) {
				continue
			}
			again = true
			if err := r.write(ctx, m); err != nil {
				return fmt.Errorf("table %s: %w", strconv.Quote(m.table.Name), err)
			}
		}
		if !again {
			return nil
		}
		r.rounds++
	}
	return pipeline.DataErrorf(
		"records leave one table after the other without end: masks that leave out records by what other records are there cannot be in one project")
}

// stale reports whether a table has released a record that must leave with those of another.
func (r *run) stale(m *member) bool {
	return slices.ContainsFunc(r.filters(m), func(f filter) bool {
		column := r.config.Keys[f.key].Column
		if f.nobody {
			column = r.config.Keys[f.key].References
		}
		return m.fatesOf(column).lost(f.of, f.optional)
	})
}

func (m *member) fatesOf(column string) fates {
	if i := slices.Index(m.joins, column); m.fates != nil && i >= 0 {
		return m.fates[i]
	}
	return nil
}

// filters are what leaves records out of a table, by what is known of the others.
func (r *run) filters(m *member) (list []filter) {
	for i := range r.config.Keys {
		k := &r.config.Keys[i]
		f := filter{key: i, optional: k.Optional}
		column := ""
		switch {
		case k.Table == m.table.Name:
			f.of, column = r.members[k.Of].fatesOf(k.References), k.Column
		case k.Of == m.table.Name && !r.config.below(k):
			f.of, column = r.members[k.Table].fatesOf(k.Column), k.References
			f.nobody, f.optional = true, false
		}
		if f.of != nil {
			f.field = m.source.Schema().Index(column)
			list = append(list, f)
		}
	}
	return list
}

// write masks and writes a table.
func (r *run) write(ctx context.Context, m *member) error {
	if m.part != nil {
		if err := m.part.Abort(); err != nil {
			return err
		}
		m.part = nil
	}
	filters := r.filters(m)
	clear(m.left)
	for i := range filters {
		m.left[filters[i].key] = &Left{}
		filters[i].left = m.left[filters[i].key]
	}
	m.fates = make([]fates, len(m.joins))
	for i := range m.fates {
		m.fates[i] = fates{}
	}
	of := filejob.PartOf{Source: m.source, Silent: r.silent, Ledger: r.ledger.Of(m.table.Name)}
	var err error
	if !r.silent {
		if of.Sink, err = r.joint.Sink(m.table.pipeline.Sink.Config); err != nil {
			return err
		}
	}
	if len(filters) > 0 {
		of.Source = &kept{Source: m.source, key: r.key, filters: filters}
	}
	twice := make([]bool, len(m.joins))
	var digests []microdata.Digest
	persons, several := fates{}, false
	of.Observe = func(joins []*microdata.Column, b *microdata.Block) {
		for i, column := range joins {
			digests = r.key.Digests(digests, []*microdata.Column{column}, b.N)
			twice[i] = m.fates[i].add(digests, b) || twice[i]
		}
		if m.table.Name == r.config.Person && b.Digests != nil {
			several = persons.add(b.Digests, b) || several
		}
	}
	if m.part, err = filejob.WritePart(ctx, m.table.pipeline, r.options, r.key, of); err != nil {
		return err
	}
	if err := r.single(m, twice); err != nil {
		return err
	}
	if several {
		return config.Errors{
			r.config.Errorf("person", "must have one record for each person, and several released ones have one identity (%s)",
				strings.Join(m.table.pipeline.Identity, ", "))}
	}
	return nil
}

// single demands that a value to which records of other tables refer is that of one record.
func (r *run) single(m *member, twice []bool) error {
	for i, k := range r.config.Keys {
		if k.Of == m.table.Name && twice[slices.Index(m.joins, k.References)] {
			return config.Errors{
				r.config.Errorf(fmt.Sprintf("keys[%d]", i), "must refer to one record, and several of %s have the same value of %s",
					strconv.Quote(k.Of), strconv.Quote(k.References))}
		}
	}
	if m.table.Name != r.config.Person {
		return nil
	}
	for _, name := range r.config.own() {
		if twice[slices.Index(m.joins, name)] {
			return config.Errors{
				r.config.Errorf("person",
					"must have one record for each person, and several released ones have the same value of %s", strconv.Quote(name))}
		}
	}
	return nil
}

// publish gives all tables their names in one step, then the quarantines and the reports theirs, that of the project
// last. Of tables that are withheld the quarantines and the confidential reports appear.
func (r *run) publish(ctx context.Context, rep *Report) (*Result, error) {
	paths := r.config.paths()
	p := account.Publication{
		Released: rep.Gate.Passed, Paths: paths, Unchanged: r.unchanged, Log: r.options.Log,
		Complete: func() error { return r.complete(rep) },
		Withhold: func() error {
			if err := r.each((*filejob.Part).Withhold); err != nil {
				return err
			}
			return account.Saying("sink", r.joint.Abort)()
		},
		Before: func() error {
			if err := r.each((*filejob.Part).Name); err != nil {
				return err
			}
			return r.enter(ctx)
		},
		Name:   func() error { return account.Commit("sink", r.joint, paths, &account.Files{}) },
		Settle: r.ledger.Settle,
	}
	for _, m := range r.order {
		p.Rest = append(p.Rest, func(released bool) ([]string, error) {
			files, err := m.part.Appear(ctx, released)
			if err != nil {
				err = fmt.Errorf("table %s: %w", strconv.Quote(m.table.Name), err)
			}
			return files, err
		})
	}
	for _, report := range r.reports {
		p.Rest = append(p.Rest, account.Appears("report", report.File, report.public))
	}
	files, err := p.Publish(ctx)
	if err != nil {
		return nil, err
	}
	return r.result(rep, files), nil
}

// result is how a run ended.
func (r *run) result(rep *Report, files []string) *Result {
	result := &Result{Report: rep, Files: files}
	for _, name := range r.config.names() {
		result.Tables = append(result.Tables, r.members[name].part.Result())
	}
	return result
}

// enter enters the releases of all tables, which lie complete under the temporary name of all.
func (r *run) enter(ctx context.Context) (err error) {
	if r.ledger == nil {
		return nil
	}
	entries := map[string]*ledger.Release{}
	for _, m := range r.order {
		entries[m.table.Name] = m.part.Entry
	}
	var content *publish.Content
	if dir, is := r.joint.(folder); is {
		if content, err = dir.Content(ctx); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
	}
	return r.ledger.Enter(entries, content)
}

// each names or withholds all tables within the place of the release.
func (r *run) each(end func(*filejob.Part) error) error {
	for _, m := range r.order {
		if err := end(m.part); err != nil {
			return fmt.Errorf("table %s: sink: %w", strconv.Quote(m.table.Name), err)
		}
	}
	return nil
}

// abort removes everything that has no final name.
func (r *run) abort() error {
	var errs []error
	for _, m := range r.order {
		if m.part != nil {
			errs = append(errs, m.part.Abort())
		}
	}
	for _, report := range r.reports {
		errs = append(errs, report.Abort())
	}
	if r.joint != nil {
		errs = append(errs, r.joint.Abort())
	}
	return errors.Join(errs...)
}

func (r *run) close() error {
	var errs []error
	for _, m := range r.order {
		errs = append(errs, m.source.Close())
	}
	return errors.Join(append(errs, r.ledger.Close())...)
}
