package filter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/outcome"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// ErrClosed is returned by the methods of a filter after Close.
var ErrClosed = errors.New("the filter is closed")

// Rejected is a record that cannot be masked and is in no batch that is returned.
type Rejected struct {
	Record int64  // from 1, over all batches
	Column string // "" where it is the record as a whole
	Reason string // never a value
}

// Options are settings of a filter beside its configuration.
type Options struct {
	Version  string         // of the embedding program, for the report
	Rejected func(Rejected) // is told of every rejected record, within Batch; may be nil
}

// Filter masks batches and assesses the masked records. Its methods may be called from several
// goroutines and run one at a time. The records have the order of the calls to Batch; without
// identity columns their draws depend on this order.
type Filter struct {
	options Options
	config  *config.Pipeline
	key     keystream.Key
	started time.Time

	mu      sync.Mutex
	source  *batches // nil before the first batch
	plan    *pipeline.Plan
	masked  *pipeline.Release
	release *arrow.Schema
	block   microdata.Block
	short   bool // a batch was not a whole window: it was the last
	counts  report.Records
	err     error // that the filter has ended with
}

// Open makes a filter from a configuration of config.LoadEmbedded. It reads the key; the
// columns are compared with the configuration when the first batch comes. Errors with a place
// in the configuration are of type config.Errors.
func Open(p *config.Pipeline, options ...Options) (*Filter, error) {
	f := &Filter{config: p, started: time.Now()}
	if len(options) > 0 {
		f.options = options[0]
	}
	switch {
	case p.Source.Config != nil || p.Sink.Config != nil:
		return nil,
			config.Errors{p.Errorf("source", "is the embedding program's: load the configuration with config.LoadEmbedded")}
	case len(p.Assess.Emit) > 0:
		return nil, config.Errors{p.Errorf("assess.emit", "is for runs of the command: the report comes with Close")}
	}
	key, err := pipeline.Admit(p, pipeline.Options{Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	f.key = key
	return f, nil
}

// Batch masks the records of a batch and returns those that are released, in their order:
// the listed columns that are no identifiers, in the order of the batch, with their types
// and without metadata. All batches must have the same schema. The caller keeps what it
// has passed, whose memory must stay as it is until Batch returns, and owns what it gets,
// which it releases; columns that no mask changes share the memory of the batch.
//
// Records that cannot be masked are left out and counted. After an error the filter is
// of no further use; an error never holds a value.
func (f *Filter) Batch(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	return f.BatchContext(context.Background(), rec)
}

// BatchContext is Batch with a context that may end while other calls have their turn: the
// batch is then not touched, the error is the context's, and the filter goes on as if the
// call had not been made. A batch that has been begun is masked to its end.
func (f *Filter) BatchContext(ctx context.Context, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out, err := f.batch(context.WithoutCancel(ctx), rec)
	if err != nil {
		f.err = err
	}
	return out, err
}

func (f *Filter) batch(ctx context.Context, rec arrow.RecordBatch) (out arrow.RecordBatch, err error) {
	defer func() {
		if r := recover(); r != nil { // its text could hold a value
			out, err = nil, fmt.Errorf("internal error while working on records from %d: %T", f.counts.Read+1, r)
		}
	}()
	if f.source == nil {
		if err := f.begin(ctx, rec.Schema()); err != nil {
			return nil, err
		}
	}
	if err := f.source.same(rec.Schema()); err != nil {
		return nil, err
	}
	if err := f.window(int(rec.NumRows())); err != nil {
		return nil, err
	}
	b := &f.block
	f.source.decode(b, rec, f.plan.Layout, f.counts.Read)
	f.plan.Layout.Fill(b)
	if err := f.masked.Mask(b); err != nil {
		return nil, err
	}
	if out, err = pipeline.Restored(b, func() (arrow.RecordBatch, error) {
		return f.source.encode(b, rec, f.plan.Layout, f.release)
	}); err != nil {
		return nil, err
	}
	f.masked.Add(b)
	f.count(b)
	return out, nil
}

// begin plans for the schema of the first batch.
func (f *Filter) begin(ctx context.Context, schema *arrow.Schema) error {
	src, err := newBatches(schema)
	if err != nil {
		return err
	}
	job := pipeline.Job{Config: f.config, Source: src, Carries: true, Key: f.key, Log: zerolog.Nop(),
		Progress: new(pipeline.Progress)}
	if f.masked, err = job.Open(ctx); err != nil {
		return err
	}
	f.plan = f.masked.Plan
	if f.release, err = src.released(f.plan.Layout); err != nil {
		return err
	}
	f.source = src
	return nil
}

// window demands that a batch is a window where masks swap within windows.
func (f *Filter) window(n int) error {
	size := f.plan.Cut.Records
	if !f.plan.Cut.Exact || n == 0 {
		return nil
	}
	if n > size || f.short {
		return config.Errors{
			f.config.Errorf("window.records",
				"is %d, so every batch must have this number of records, and the last one at most this number: a mask swaps within windows", size)}
	}
	f.short = n < size
	return nil
}

// count takes in which records left.
func (f *Filter) count(b *microdata.Block) {
	account.Count(&f.counts, b)
	for _, r := range b.Rejects {
		if f.options.Rejected != nil {
			f.options.Rejected(Rejected{Record: b.Place(r.Row) + 1, Column: r.Column, Reason: r.Reason})
		}
	}
}

// Close measures what was released, lets the intruder at it where the configuration asks
// for one, and returns the report with the gate's verdict. Where the gate refuses, that is
// no error: Report.Withheld says why, and nothing that Batch returned may leave. An error
// is that of a Batch before it, or of the assessment; then there is no verdict, and
// nothing may leave either. A second call returns ErrClosed.
func (f *Filter) Close() (*report.Report, error) { return f.CloseContext(context.Background()) }

// CloseContext is Close with a context that ends the assessment, which may take seconds:
// the error is then the context's, there is no verdict, nothing may leave, and the filter
// is closed.
func (f *Filter) CloseContext(ctx context.Context) (*report.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.err = ErrClosed
	if f.source == nil {
		return nil, errors.New("the filter has seen no batch: there is nothing to judge")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return outcome.Judge(ctx, f.masked, account.ReporterOf(f.masked, f.options.Version, f.started), f.counts, nil,
		zerolog.Nop())
}
