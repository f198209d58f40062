package filejob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/masked"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Run masks the files, or the bounded topics, of a source into the sink, assesses the pairs
// meanwhile, applies the gate and writes the report. Nothing has its final name before the gate
// has passed; on an error, or when ctx ends, nothing is left behind. An error that is a
// *pipeline.DataError means that the configuration does not fit the data.
func Run(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*account.Result, error) {
	ctx, o = o.Ready(ctx)
	started := time.Now()
	key, err := pipeline.Admit(p, o)
	if err != nil {
		return nil, err
	}
	if err := account.Probe(ctx, p); err != nil {
		return nil, err
	}
	book, err := entered.Open(ctx, p, key, o.Log)
	if err != nil {
		return nil, err
	}
	defer book.Close()
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if p.Copies() > 1 {
		return runCopies(ctx, p, o, key, src, started)
	}
	r := &run{config: p, options: o, key: key, ledger: book, source: src, streams: src.Streams(), started: started}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	result, err := r.release(ctx)
	if err != nil {
		return nil, account.AndAborted(err, r.abort)
	}
	return result, nil
}

// run is one execution of a pipeline.
type run struct {
	config  *config.Pipeline
	options pipeline.Options
	key     keystream.Key
	ledger  *entered.Ledger
	source  connectors.Source
	streams []string // of the source
	started time.Time

	plan       *pipeline.Plan
	masked     *masked.Release
	sink       connectors.Sink
	quarantine *quarantine
	notes      *kafka.Notes // nil if nothing but the release goes to topics
	snapshots  *snapshots
	reports    account.Files
	copy       int              // the number of this release if the run makes several; 0: it is the only one
	whole      *config.Pipeline // that of all copies; nil if there is only one release
	counts     microdata.Counts
	observe    func(*microdata.Block) // sees each masked block, in order; may be nil
}

// prepare does everything that comes before the first record is written.
func (r *run) prepare(ctx context.Context) (err error) {
	p := r.config
	if r.plan, err = pipeline.NewPlan(p, r.source, carries(p, r.source)); err != nil {
		return err
	}
	if err := checkPartitions(r.plan); err != nil {
		return err
	}
	r.ledger.Tell(r.plan)
	if err := r.settle(ctx); err != nil || r.masked.Measured == nil {
		return err
	}
	r.snapshots, err = newSnapshots(r, r.masked.Options)
	return err
}

// settle makes ready the masks and the assessment of the records.
func (r *run) settle(ctx context.Context) (err error) {
	r.masked, err = masked.Settle(ctx, r.plan, r.key, r.options.Log, r.options.Progress)
	return err
}

// release masks the records, and publishes or refuses the release.
func (r *run) release(ctx context.Context) (*account.Result, error) {
	rep, content, err := r.written(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.reports.Write(rep, content, r.config.Report.Publish); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := r.flushNotes(ctx); err != nil {
		return nil, fmt.Errorf("assess.emit: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	// The data must not have changed since the beginning of the run, up to this moment.
	if err := connectors.Unchanged(r.source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return r.publish(ctx, rep, content)
}

// written masks the records, writes the release under its temporary names, and returns its
// report and its content.
func (r *run) written(ctx context.Context) (*report.Report, *publish.Content, error) {
	if err := r.open(ctx); err != nil {
		return nil, nil, err
	}
	r.options.Progress.Start("mask", r.source.Records())
	pass := pipeline.Flow{
		Source: r.source, Layout: r.plan.Layout, Cut: r.plan.Cut,
		Work: r.mask, Stages: []func(*pipeline.Parcel) error{r.assess(ctx), r.write(ctx)},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.quarantine.finish(); err != nil {
		return nil, nil, fmt.Errorf("quarantine: %w", err)
	}
	if err := r.noteInRelease(ctx); err != nil {
		return nil, nil, fmt.Errorf("quarantine: %w", err)
	}
	completed, stop := r.complete(ctx)
	defer stop()
	rep, unjudged := r.judged(ctx)
	content, err := completed()
	if err == nil {
		err = unjudged
	}
	if rep != nil {
		if said := r.sink.Abilities().Labels; said != nil {
			rep.Labels = said() // the last record is written
		}
	}
	return rep, content, err
}

// open opens everything that the run writes, under temporary names.
func (r *run) open(ctx context.Context) (err error) {
	if r.sink, err = createSink(ctx, r.plan, r.key, r.masked.Chain.Done(), r.copy); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if r.quarantine, err = newQuarantine(r.config.Quarantine, r.source); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	if r.notes, err = openNotes(ctx, r.config); err != nil {
		return err
	}
	if err := createReports(ctx, &r.reports, r.config.Report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := r.snapshots.open(); err != nil {
		return fmt.Errorf("assess.emit: %w", err)
	}
	return nil
}

// judged measures the release and lets the gate judge it.
func (r *run) judged(ctx context.Context) (*report.Report, error) {
	r.options.Progress.Measuring()
	var err error
	if r.snapshots != nil {
		if r.masked.Measured, err = r.snapshots.total(ctx); err != nil {
			return nil, err
		}
	}
	rep, err := r.masked.Judged(ctx, r.reporter(false), report.Records{Counts: r.counts, Reasons: r.quarantine.reasons})
	if err != nil {
		return nil, err
	}
	r.ledger.Describe(rep)
	for _, warning := range rep.Warnings {
		r.options.Log.Warn().Msg(warning)
	}
	return rep, nil
}

// mask is the workers' part: apply the masks and encode what is released.
func (r *run) mask(p *pipeline.Parcel) error {
	if err := r.masked.Mask(p.Block); err != nil {
		return err
	}
	var err error
	if p.Encoded, err = r.encode(p.Block); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// encode passes a block to the sink, which identifies a stream by its index in the source's list
// of streams. The block's own stream number, which is part of the names of draws, may be another:
// that of its partition, or the one that a column of places has. So it is replaced by the index
// while the sink encodes.
func (r *run) encode(b *microdata.Block) (connectors.Encoded, error) {
	number := b.Stream
	defer func() { b.Stream = number }()
	if topics := r.source.Abilities().Numbered; topics != nil {
		b.Stream = slices.Index(r.streams, topics.PartitionOf(b).String())
	} else {
		b.Stream = connectors.StoredIn(r.source, b)
	}
	return pipeline.Restored(b, func() (connectors.Encoded, error) { return r.sink.Encode(b) })
}

// write is the ordered writer.
func (r *run) write(ctx context.Context) func(*pipeline.Parcel) error {
	return func(p *pipeline.Parcel) error {
		if err := r.sink.Write(ctx, p.Encoded); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		p.Encoded, p.Raw = nil, nil
		if err := r.quarantine.add(p.Block); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		r.counts = r.counts.Plus(p.Block.Counts())
		r.options.Progress.Add(p.Block.N)
		return nil
	}
}

// assess is the assessor. It comes before the writer, because the writer waits for the disk at the
// end of a row group: the assessor can then process the blocks that are masked meanwhile.
func (r *run) assess(ctx context.Context) func(*pipeline.Parcel) error {
	return func(p *pipeline.Parcel) error {
		r.masked.Moved(p.Block)
		r.ledger.Add(p.Block)
		if r.observe != nil {
			r.observe(p.Block)
		}
		switch {
		case r.snapshots != nil:
			return r.snapshots.add(ctx, p.Block)
		case r.masked.Measured != nil:
			r.masked.Measured.Add(p.Block)
		}
		return nil
	}
}

// publish gives the release its name, and the report last. A refused release is withheld, and
// only the quarantine and the confidential report appear. A source that stores its progress is
// told last, and only if there is a release: records that were withheld, or not completely
// published, are read again.
func (r *run) publish(ctx context.Context, rep *report.Report, content *publish.Content) (*account.Result, error) {
	res := &account.Result{Report: rep, Schema: r.plan.Layout.Released()}
	if !rep.Gate.Passed {
		if err := r.withhold(ctx); err != nil {
			return nil, err
		}
		if err := r.appear(ctx, res, false); err != nil {
			return nil, err
		}
		r.closeNotes()
		return res, errors.Join(r.quarantine.abort(), r.snapshots.close())
	}
	released := r.config.Sink.Config.Paths()
	if err := r.ledger.Enter(rep, r.plan, content); err != nil {
		return nil, err
	}
	err := account.Commit(r.sink, r.sink.Abort, released)
	r.ledger.Settle(err)
	if err != nil && !account.Named(err) {
		return nil, account.Unpublished("sink", err, &r.reports)
	}
	// From here on there is a release: nothing that fails takes it back, or keeps the rest from its names.
	res.Files = append(res.Files, released...)
	if err = errors.Join(err, r.appear(ctx, res, true)); err != nil {
		return nil, account.Unreported(released, err)
	}
	if err := r.acknowledge(ctx); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	r.closeNotes()
	return res, errors.Join(r.quarantine.abort(), r.snapshots.close())
}

// appear gives the quarantine and the reports their names, the report last. With a release one that
// fails does not keep the others from theirs.
func (r *run) appear(ctx context.Context, res *account.Result, released bool) error {
	err := r.keepQuarantine(res)
	if account.Ends(err, released) {
		return err
	}
	if noted := r.noteAfterwards(ctx, released); noted != nil {
		err = errors.Join(err, fmt.Errorf("quarantine: %w", noted))
		if !released {
			return err
		}
	}
	files, reported := r.reports.Commit(released)
	res.Files = append(res.Files, files...)
	if reported != nil {
		err = errors.Join(err, fmt.Errorf("report: %w", reported))
	}
	return err
}

// withhold removes the release.
func (r *run) withhold(ctx context.Context) error {
	if err := r.sink.Abort(); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	for _, path := range r.config.Sink.Config.Paths() {
		if publish.Exists(ctx, path) {
			r.options.Log.Warn().Str("path", path).Msg("withheld: what is under this name is an earlier release, left as it was")
		}
	}
	return nil
}

// keepQuarantine gives the quarantine its name.
func (r *run) keepQuarantine(res *account.Result) error {
	if err := r.quarantine.commit(); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	if r.quarantine.file != nil {
		res.Files = append(res.Files, r.quarantine.file.Path())
	}
	return nil
}

// abort removes everything that has no final name.
func (r *run) abort() error {
	var errs []error
	if r.sink != nil {
		errs = append(errs, r.sink.Abort())
	}
	if r.quarantine != nil {
		errs = append(errs, r.quarantine.abort())
	}
	errs = append(errs, r.reports.Abort(), r.snapshots.close())
	r.closeNotes()
	return errors.Join(errs...)
}

// reporter returns what makes the report of a file job or, with interim, a snapshot before its
// end.
func (r *run) reporter(interim bool) account.Reporter {
	configured := r.config
	if r.whole != nil {
		configured = r.whole
	}
	return account.Reporter{
		Config: configured, Version: r.options.Version, KeyID: r.key.ID(), Started: r.started, Plan: r.plan, Chain: r.masked.Chain, Interim: interim,
	}
}
