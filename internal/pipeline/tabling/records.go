package tabling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// records is what is tabulated: the records of a source, as they are or after the masks of a
// pipeline.
type records struct {
	config   *tabulation.Config
	source   connectors.Source
	masks    *pipeline.Plan // nil if the source is tabulated as it is
	chain    *transform.Chain
	key      keystream.Key
	ledger   *entered.Ledger  // of the pipeline, in which the tables are entered; nil: none
	pipeline *config.Pipeline // from which the records come; nil: none
	keyID    string
	keys     *perturb.Keys // of records and cells, if tables need them

	loosened []config.Loosening // the settings that loosen the pipeline

	windowed    bool          // the records are those of a window: everybody knows their number
	recordCount *atomic.Int64 // of all passes
	vintage     int           // 0: today's records; else those of an earlier release
	identity    []int         // the columns that tell contributors, in a block, if records are compared with others

	layout   microdata.Layout
	index    map[microdata.Want]int
	problems config.Errors

	before *earlier // earlier releases; nil if there are none
}

// open opens the source and the masks, if there are any. want collects errors about the
// columns; check returns them.
func open(ctx context.Context, t *tabulation.Config, o pipeline.Options) (*records, error) {
	return openSpans(ctx, t, o, nil)
}

// beyondLedger is said where the records come from a pipeline with a ledger, and enteredInLedger where the tables are
// entered in it.
const (
	enteredInLedger = "the tables are entered in the ledger of the pipeline, and judged together with its releases of records (allow_records leaves one out; releases of tables, not a ledger, join tables)"
)

// warn warns once of a run.
func (r *records) warn(o pipeline.Options, text string) {
	if t := r.config; !slices.Contains(t.Warnings, text) {
		t.Warnings = append(t.Warnings, text)
		o.Log.Warn().Msg(text)
	}
}

// hold takes the ledger of the pipeline, if there is one, until close.
func (r *records) hold(ctx context.Context, o pipeline.Options) (err error) {
	if r.pipeline == nil || r.pipeline.Ledger == "" {
		return nil
	}
	r.warn(o, enteredInLedger)
	r.ledger, err = entered.Open(ctx, r.pipeline, r.key, o.Log)
	return err
}

// openSpans is open for some stretches of topics; without stretches it is open.
func openSpans(ctx context.Context, t *tabulation.Config, o pipeline.Options, spans []connectors.Span) (*records,
	error) {
	r := &records{config: t, windowed: spans != nil, recordCount: new(atomic.Int64), index: map[microdata.Want]int{}}
	var err error
	if t.Pipeline == "" {
		if r.source, err = pipeline.OpenSource(ctx, &config.Pipeline{Name: t.Name, Source: t.Source}); err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		r.layout.Schema = r.source.Schema()
		if err := r.declareMissing(); err != nil {
			return nil, errors.Join(err, r.source.Close())
		}
		if err := r.resolve(o); err != nil {
			r.source.Close()
			return nil, err
		}
		return r, nil
	}
	p, err := config.Load(t.Pipeline, config.Options{})
	if err != nil {
		return nil, err
	}
	r.loosened = p.Loosened
	if p.Ledger != "" && spans != nil {
		return nil,
			config.Errors{
				t.Errorf("pipeline",
					"must have no ledger with window: tables of windows are not entered in it, so that releases of records after them would be judged as if nobody had them")}
	}
	r.pipeline = p
	switch spanned := p.Source.Abilities().WithSpans; {
	case spans == nil && (p.Stream() || p.Streaming()):
		return nil,
			config.Errors{
				t.Errorf("pipeline",
					"must be a file job: the tables of a topic need windows; for sdlfilter tables give window: {records: N, folder: PATH}")}
	case spans != nil && spanned == nil:
		return nil, config.Errors{t.Errorf("window", needsTopics)}
	case spans != nil:
		p.Source.Config = spanned(spans)
	}
	if len(p.Masks) > 0 && transform.LeavesOut(p.Masks[0].Params) {
		return nil,
			config.Errors{
				t.Errorf("pipeline",
					"must not leave records out by a mask (sample): the cells would be sums of those that were drawn, and tables are not weighted for it; make them of all records")}
	}
	if err := r.identified(p); err != nil {
		return nil, err
	}
	key, err := pipeline.Admit(p, o)
	if err != nil {
		return nil, err
	}
	r.key, r.keyID = key, key.ID()
	if r.source, err = pipeline.OpenPlain(ctx, p); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	job := pipeline.Job{Config: p, Source: r.source, Carries: true, Key: key, Log: o.Log, Progress: o.Progress}
	front, err := job.Masks(ctx)
	if err != nil {
		r.source.Close()
		return nil, err
	}
	r.masks, r.chain = front.Plan, front.Chain
	r.layout = *r.masks.SurveyLayout()
	return r, nil
}

// declareMissing gives the fields of the source the declared codes for missing values.
func (r *records) declareMissing() error {
	for _, name := range slices.Sorted(maps.Keys(r.config.Missing)) {
		at := r.source.Schema().Index(name)
		if at < 0 {
			r.wrong("missing."+name, "the source has no such column%s", check.SuggestPlace(name, r.source.Schema().Names()))
			continue
		}
		m := r.config.Missing[name]
		f := &r.source.Schema().Fields[at]
		for _, p := range m.Fits(*f) {
			r.wrong("missing."+name+"."+p.Path, "%s", p.Text)
		}
		f.Missing = m.Declared()
	}
	return r.check()
}

// close closes the source.
func (r *records) close() error { return errors.Join(r.ledger.Close(), r.source.Close()) }

// check returns all errors about the wanted columns.
func (r *records) check() error {
	if len(r.problems) > 0 {
		return r.problems
	}
	return nil
}

func (r *records) wrong(path, format string, args ...any) {
	r.problems = append(r.problems, r.config.Errorf(path, format, args...))
}

// want asks for a column, which path names, and returns its index in a block; -1 if there is
// an error. A withheld column does not leave with the tables: it only tells contributors
// apart, and may be an identifier of a pipeline.
func (r *records) want(path, name string, as microdata.Form, withheld bool) int {
	return r.wantAs(path, name, as, withheld, false)
}

// wantAs is want; with asTyped, a numeric column of a file without types stays numeric, while
// codes are read as text.
func (r *records) wantAs(path, name string, as microdata.Form, withheld, asTyped bool) int {
	schema := r.source.Schema()
	at := schema.Index(name)
	if at < 0 {
		r.wrong(path, "the source has no column %q%s", name, check.SuggestPlace(name, schema.Names()))
		return -1
	}
	f := &schema.Fields[at]
	switch {
	case as == microdata.Numbers && !f.Numeric() && !f.Unseen:
		r.wrong(path, "must be a numeric column, got %s, which is %s", name, microdata.TypeName(f.Type))
		return -1
	case as == microdata.Numbers && f.Unseen:
		f.Type = arrow.PrimitiveTypes.Float64
	case f.Nested():
		r.wrong(path, "must be a column of single values, got %s, which is %s", name, microdata.TypeName(f.Type))
		return -1
	}
	if r.masks != nil {
		if i, done := r.masked(path, name, as, withheld); done {
			return i
		}
	} else if !asTyped && as == microdata.Array && r.source.Abilities().InfersTypes && f.Numeric() && !r.isNumber(name) {
		f.Type = arrow.BinaryTypes.String // 10.10 is another code than 10.1
	}
	w := microdata.Want{Field: at, As: as, Measured: as == microdata.Numbers}
	if i, ok := r.index[w]; ok {
		return i
	}
	r.layout.Read = append(r.layout.Read, w)
	r.index[w] = len(r.layout.Read) - 1
	return r.index[w]
}

// isNumber reports whether a table sums a column or weights records with it. Its type cannot be
// text then.
func (r *records) isNumber(name string) bool {
	for _, t := range r.config.Tables {
		if t.Value == name || t.Weight == name {
			return true
		}
	}
	return false
}

// masked finds a column that a mask may change, and refuses one that the pipeline does not
// release. done is false for any other column.
func (r *records) masked(path, name string, as microdata.Form, withheld bool) (index int, done bool) {
	c := r.masks.Config.Columns.Named(name)
	switch {
	case c == nil:
		r.wrong(path, "must be a column that the pipeline lists, got %q%s", name,
			check.Suggest(name, r.masks.Config.Columns.Names()))
		return -1, true
	case c.Role == microdata.Identifier && !withheld:
		r.wrong(path, "must be a column that the pipeline releases, got %q, an identifier", name)
		return -1, true
	}
	for _, m := range r.masks.Columns {
		if m.Name == name {
			if held := r.masks.Layout.Read[m.Index].As; as == microdata.Numbers && held != microdata.Numbers {
				r.wrong(path, "must be a column of numbers, got %q", name)
				return -1, true
			}
			return m.Index, true
		}
	}
	return 0, false
}

// restoreCodes puts the declared codes for missing values that are kept back into the variables of tables: there they
// are codes like any other. A value or a weight has none.
func (r *records) restoreCodes(b *microdata.Block) error {
	for i, w := range r.layout.Read {
		f := &r.layout.Schema.Fields[w.Field]
		if f.Missing == nil || !slices.ContainsFunc(r.config.Tables, func(t tabulation.Table) bool {
			return slices.ContainsFunc(t.Rows, func(name string) bool {
				v := r.config.Variable(name)
				return v.Leaf() == f.Name || slices.Contains(v.Columns, f.Name)
			})
		}) {
			continue
		}
		if err := transform.RestoreColumn(&b.Columns[i]); err != nil {
			return err
		}
	}
	return nil
}

// pass reads all records once. It calls work in any order, from several goroutines at once.
func (r *records) pass(ctx context.Context, name string, progress *pipeline.Progress,
	work func(b *microdata.Block) error) error {
	progress.Start(name, r.source.Records())
	flow := pipeline.Flow{
		Source: r.source, Layout: &r.layout,
		Work: func(p *pipeline.Parcel) error {
			if r.chain != nil {
				if err := r.chain.Apply(p.Block); err != nil {
					return err
				}
			}
			if err := r.restoreCodes(p.Block); err != nil {
				return err
			}
			return work(p.Block)
		},
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			r.recordCount.Add(int64(p.Block.N))
			progress.Add(p.Block.N)
			return nil
		}},
	}
	if r.masks != nil {
		flow.Cut = r.masks.Cut
	}
	return flow.Run(ctx)
}
