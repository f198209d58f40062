package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

var nan = math.NaN()

// Options are what a run needs beside its configuration.
type Options struct {
	Version  string // of the program, for the report
	Log      zerolog.Logger
	Progress *Progress // may be nil

	// AllowLoosening lets settings of the environment and the command line let out
	// more than the configuration file does. The report names them.
	AllowLoosening bool

	Monitor *monitor.Monitor // of a stream; may be nil
	Reload  <-chan Changed   // of a stream: configurations to go on with; may be nil

	drain time.Duration // of tests: what a stream has to end in; 0: as ever
}

// Result is how a run ended.
type Result struct {
	Report *report.Report
	Files  []string // what has been given its final name, the release first

	// Drained says that this was a stream without end that has ended as it was
	// told to.
	Drained bool
	// Cut says that this was a stream with an end that was told to stop before it
	// had come to it.
	Cut bool
	// Held says that this was a stream with an end, at which records were held back.
	Held bool
}

// Refused reports whether the gate withheld the release, or what was read last of
// a stream with an end. A stream that alerts, and one without end that holds
// records back, has done what it was told to.
func (r *Result) Refused() bool { return r.Report.Withheld != "" || r.Held }

// Quarantined returns how many records could not be masked.
func (r *Result) Quarantined() int64 { return r.Report.Records.Quarantined }

// Run masks the source into the sink, assesses the pairs beside it, applies the
// gate and writes the report. Nothing has its final name before the gate has
// passed; on an error, or when ctx ends, nothing is left behind. An error that
// is a *DataError means that the configuration does not fit the data.
func Run(ctx context.Context, p *config.Pipeline, o Options) (*Result, error) {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	ctx = o.Log.WithContext(ctx)
	if err := p.LooseningAllowed(o.AllowLoosening); err != nil {
		return nil, err
	}
	if p.Streaming() {
		return runStream(ctx, p, o)
	}
	if err := p.CheckRelease(); err != nil {
		return nil, err
	}
	started := time.Now()
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, dataErrorf("%v", err)
	}
	for _, warning := range p.Key.Warnings(key) {
		o.Log.Warn().Msg(warning)
	}
	src, err := openSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	r := &run{config: p, options: o, key: key, source: src, streams: src.Streams(), started: started}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	result, err := r.release(ctx)
	if err != nil {
		return nil, errors.Join(err, r.abort())
	}
	return result, nil
}

// run is one execution of a pipeline.
type run struct {
	config  *config.Pipeline
	options Options
	key     keystream.Key
	source  connectors.Source
	streams []string // of the source
	started time.Time

	plan       *plan
	chain      *transform.Chain
	sink       connectors.Sink
	quarantine *quarantine
	notes      *kafka.Notes // nil where nothing goes to topics beside the release
	measured   *assess.Accumulator
	exchange   *exchange // nil where no mask moves values between records
	snapshots  *snapshots
	reports    reportFiles
	read       int64
}

// prepare does everything that comes before the first record is written.
func (r *run) prepare(ctx context.Context) (err error) {
	p := r.config
	if r.plan, err = newPlan(p, r.source, carries(p, r.source)); err != nil {
		return err
	}
	if err := r.plan.checkPartitions(); err != nil {
		return err
	}
	if err := r.plan.settle(ctx, r.options.Progress); err != nil {
		return err
	}
	for _, name := range r.plan.constant {
		r.options.Log.Warn().Str("column", name).Msg("all values are the same, so noise of a percentage of their standard deviation masks nothing; give sd in the column's unit")
	}
	if r.chain, err = r.plan.newChain(ctx, r.key, r.options.Progress); err != nil {
		return err
	}
	r.plan.setDecimals()
	if len(r.plan.assessed) == 0 {
		return nil // nothing numeric is masked, sensitive or a key: there is nothing to measure
	}
	options, err := r.plan.assessOptions(r.key, r.chain)
	if err != nil {
		return err
	}
	if r.exchange, err = newExchange(r.chain, r.plan.displacer, r.plan.assessed, int(r.config.Assess.Sample)); err != nil {
		return err
	}
	if r.measured, err = assess.New(options); err != nil {
		return err
	}
	r.snapshots, err = newSnapshots(r, options)
	return err
}

// assessOptions says what is measured beside the masking.
func (pl *plan) assessOptions(key keystream.Key, chain *transform.Chain) (assess.Options, error) {
	replicate, err := pl.newReplicate(pl.config.Masks, key)
	if err != nil {
		return assess.Options{}, err
	}
	a := pl.config.Assess
	o := assess.Options{
		Columns: pl.assessed, Carry: append(pl.carry[:len(pl.carry):len(pl.carry)], pl.intruder.carried...), Key: key,
		Sample: int(a.Sample), Replicates: a.Replicates, Targets: a.Targets,
		Replicate: replicate, Law: lawOf(chain), Keeping: keepingOf(chain, !pl.config.Streaming()),
		Gated: pl.config.Gate.Judges(), AllowUnchanged: pl.config.Gate.AllowUnchanged,
		Shuffled: pl.config.Sink.Shuffled(),
	}
	o.Mixes = transform.AnyMixesRecords(pl.config.Masks)
	if pl.config.Streaming() {
		o.OrderBins = streamOrderBins
	}
	return o, nil
}

// setDecimals tells the sink how the masked numbers are written.
func (pl *plan) setDecimals() {
	for i := range pl.layout.Release {
		out := &pl.layout.Release[i]
		for _, c := range pl.columns {
			if out.Masked && c.Name == out.Field.Name && pl.arithmetic(&c) {
				out.Decimals = c.Decimals
			}
		}
	}
}

// release runs the records through and ends in a commit or a refusal.
func (r *run) release(ctx context.Context) (*Result, error) {
	var err error
	if r.sink, err = r.plan.createSink(ctx, r.key); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	if r.quarantine, err = newQuarantine(r.config.Quarantine, r.source); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	if r.notes, err = openNotes(ctx, r.config); err != nil {
		return nil, err
	}
	if err := r.reports.create(r.config.Report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := r.snapshots.open(); err != nil {
		return nil, fmt.Errorf("assess.emit: %w", err)
	}
	r.options.Progress.start("mask", r.source.Records())
	pass := flow{
		source: r.source, layout: r.plan.layout, cut: r.plan.cut,
		work: r.mask, stages: []func(*parcel) error{r.write(ctx), r.assess(ctx)},
	}
	if err := pass.run(ctx); err != nil {
		return nil, err
	}
	if err := r.quarantine.finish(); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	if err := r.noteInRelease(ctx); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	if err := r.sink.Finish(ctx); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	digested, stop := r.digest(ctx)
	defer stop()
	r.options.Progress.measuring()
	if r.snapshots != nil {
		if r.measured, err = r.snapshots.total(ctx); err != nil {
			return nil, err
		}
	}
	measures := &assess.Measures{Records: r.read - r.quarantine.count}
	if r.measured != nil {
		if err := r.exchange.join(ctx, r); err != nil {
			return nil, err
		}
		if measures, err = r.measured.Measure(ctx); err != nil {
			return nil, err
		}
	}
	found, err := r.plan.identify(ctx, r.measured, measures)
	if err != nil {
		return nil, err
	}
	rep := r.newReport(report.Records{
		Read: r.read, Released: r.read - r.quarantine.count, Quarantined: r.quarantine.count, Reasons: r.quarantine.reasons,
	}, measures, false)
	rep.Attack = found
	for _, warning := range rep.Warnings {
		r.options.Log.Warn().Msg(warning)
	}
	content, err := digested()
	if err != nil {
		return nil, err
	}
	if err := r.reports.write(rep, content, r.config.Report.Publish); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := r.flushNotes(ctx); err != nil {
		return nil, fmt.Errorf("assess.emit: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	// What was read must be one state of the data, up to the last moment.
	if err := connectors.Unchanged(r.source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return r.publish(ctx, rep)
}

// mask is the workers' part: apply the masks and encode what is released.
func (r *run) mask(p *parcel) error {
	if err := r.chain.Apply(p.block); err != nil {
		return err
	}
	if err := r.exchange.displace(p.block); err != nil {
		return err
	}
	var err error
	if p.encoded, err = r.encode(p.block); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// encode hands a block to the sink, for which the streams of a source are those
// of its list. A partition's number in its block, which draws depend on, is no
// place in it.
func (r *run) encode(b *microdata.Block) (connectors.Encoded, error) {
	if topics, ok := r.source.(ofTopics); ok {
		number := b.Stream
		defer func() { b.Stream = number }()
		b.Stream = slices.Index(r.streams, topics.PartitionOf(b).String())
	}
	return r.sink.Encode(b)
}

// write is the ordered writer.
func (r *run) write(ctx context.Context) func(*parcel) error {
	return func(p *parcel) error {
		if err := r.sink.Write(ctx, p.encoded); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		p.encoded, p.raw = nil, nil
		if err := r.quarantine.add(p.block); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		r.read += int64(p.block.N)
		r.options.Progress.add(p.block.N)
		return nil
	}
}

// assess is the assessor, beside the masking and behind the writer.
func (r *run) assess(ctx context.Context) func(*parcel) error {
	return func(p *parcel) error {
		r.exchange.add(p.block)
		switch {
		case r.snapshots != nil:
			return r.snapshots.add(ctx, p.block)
		case r.measured != nil:
			r.measured.Add(p.block)
		}
		return nil
	}
}

// publish gives the release its name, the report last; a refused release is
// withheld, and only the quarantine and the confidential report appear. A source
// that remembers what has been read is told last, and of a release alone: what
// was withheld, or not published to the end, is read again.
func (r *run) publish(ctx context.Context, rep *report.Report) (*Result, error) {
	res := &Result{Report: rep}
	if rep.Gate.Passed {
		if err := r.sink.Commit(); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
		res.Files = append(res.Files, r.config.Sink.Config.Paths()...)
	} else {
		if err := r.sink.Abort(); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
		for _, path := range r.config.Sink.Config.Paths() {
			if _, err := os.Stat(path); err == nil {
				r.options.Log.Warn().Str("path", path).Msg("withheld: what is under this name is an earlier release, left as it was")
			}
		}
	}
	if err := r.quarantine.commit(); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	if r.quarantine.file != nil {
		res.Files = append(res.Files, r.quarantine.file.Path())
	}
	if err := r.noteAfterwards(ctx, rep.Gate.Passed); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	files, err := r.reports.commit(rep.Gate.Passed)
	res.Files = append(res.Files, files...)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if rep.Gate.Passed {
		if err := r.acknowledge(ctx); err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
	}
	r.closeNotes()
	return res, errors.Join(r.quarantine.abort(), r.snapshots.close())
}

// abort removes whatever has no final name.
func (r *run) abort() error {
	var errs []error
	if r.sink != nil {
		errs = append(errs, r.sink.Abort())
	}
	if r.quarantine != nil {
		errs = append(errs, r.quarantine.abort())
	}
	errs = append(errs, r.reports.abort(), r.snapshots.close())
	r.closeNotes()
	return errors.Join(errs...)
}
