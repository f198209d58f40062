package filejob

import (
	"cmp"
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
	"github.com/sdlfilter/sdlfilter/internal/pipeline/outcome"
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

	masked     *pipeline.Release
	sink       connectors.Sink
	quarantine *quarantine
	notes      *kafka.Notes // nil if nothing but the release goes to topics
	snapshots  *snapshots
	reports    account.Files
	copy       int // the number of this release if the run makes several; 0: it is the only one
	// that of all copies, or with the outputs that a part or a rehearsal has elsewhere or not; nil: config
	whole   *config.Pipeline
	records report.Records
	observe func(*microdata.Block) // sees each masked block, in order; may be nil
}

// prepare does everything that comes before the first record is written.
func (r *run) prepare(ctx context.Context) (err error) {
	job := r.job()
	if r.masked, err = job.Open(ctx); err != nil || r.masked.Measured == nil {
		return err
	}
	r.snapshots, err = newSnapshots(r, r.masked.Options)
	return err
}

// job is what is done to the records.
func (r *run) job() pipeline.Job {
	return pipeline.Job{
		Config: r.config, Source: r.source, Carries: carries(r.config, r.source), Key: r.key,
		Check: checkPartitions, Tell: r.ledger.Tell, Log: r.options.Log, Progress: r.options.Progress,
	}
}

// release masks the records, and publishes or refuses the release.
func (r *run) release(ctx context.Context) (*account.Result, error) {
	rep, content, err := r.written(ctx)
	if err != nil {
		return nil, err
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
		Source: r.source, Layout: r.masked.Plan.Layout, Cut: r.masked.Plan.Cut,
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
	if r.sink, err = r.createSink(ctx); err != nil {
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
	return outcome.Judge(ctx, r.masked, r.reporter(), r.records, r.ledger, r.options.Log)
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
		account.Count(&r.records, p.Block)
		r.options.Progress.Add(p.Block.N)
		return nil
	}
}

// assess is the assessor. It comes before the writer, because the writer waits for the disk at the
// end of a row group: the assessor can then process the blocks that are masked meanwhile.
func (r *run) assess(ctx context.Context) func(*pipeline.Parcel) error {
	return func(p *pipeline.Parcel) error {
		r.masked.Add(p.Block)
		r.ledger.Add(p.Block)
		if r.observe != nil {
			r.observe(p.Block)
		}
		if r.snapshots != nil {
			return r.snapshots.add(ctx, p.Block)
		}
		return nil
	}
}

// publish gives the release its name, and the report last. A refused release is withheld, and
// only the quarantine and the confidential report appear. A source that stores its progress is
// told last, and only if there is a release: records that were withheld, or not completely
// published, are read again.
func (r *run) publish(ctx context.Context, rep *report.Report, content *publish.Content) (*account.Result, error) {
	released := r.config.Sink.Config.Paths()
	p := account.Publication{
		Released: rep.Gate.Passed, Paths: released, Rest: r.rest(ctx), Log: r.options.Log,
		Complete: func() error {
			if err := r.reports.Write(rep, content, r.config.Report.Publish); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			if err := r.flushNotes(ctx); err != nil {
				return fmt.Errorf("assess.emit: %w", err)
			}
			return nil
		},
		Unchanged: unchanged(r.source),
		Withhold:  account.Saying("sink", r.sink.Abort),
		Before:    func() error { return r.ledger.Enter(rep, r.masked.Plan, content) },
		Name:      func() error { return account.Commit("sink", r.sink, released, &r.reports) },
		Settle:    r.ledger.Settle,
	}
	files, err := p.Publish(ctx)
	if err != nil {
		return nil, err
	}
	if rep.Gate.Passed {
		if err := r.acknowledge(ctx); err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
	}
	r.closeNotes()
	return &account.Result{Report: rep, Files: files, Schema: r.masked.Plan.Layout.Released()},
		errors.Join(r.quarantine.abort(), r.snapshots.close())
}

// rest gives the quarantine and the reports their names, the report last.
func (r *run) rest(ctx context.Context) account.Rest {
	return account.Rest{account.Appears("quarantine", r.quarantine.file, false), r.noteAfterwards(ctx), r.reports.Appear}
}

// unchanged demands that the data have not changed since the beginning of the run, up to this moment.
func unchanged(src connectors.Source) func() error {
	return account.Saying("source", func() error { return connectors.Unchanged(src) })
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

// reporter returns what makes the report of a file job.
func (r *run) reporter() account.Reporter {
	who := account.ReporterOf(r.masked, r.options.Version, r.started)
	who.Config = cmp.Or(r.whole, r.config)
	return who
}
