package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// stream is the execution of a pipeline on topics: one transaction after another, until it is
// stopped or, if it is bounded, has reached its end.
//
// A transaction is: read, mask and release for a while; judge the gate; add the
// quarantine, the assessment and a snapshot; commit. What is not committed is
// not released, and is read again.
type stream struct {
	inForce
	options       pipeline.Options
	key           keystream.Key
	started       time.Time
	kafka         *kafka.Stream
	stock         chan *microdata.Block
	quarantine    streamQuarantine
	verdict       judgement
	inverted      inverted
	holding       bool            // masked records go to the restricted topic
	inTransaction bool            // a transaction is open
	entered       bool            // a partition was assigned since the live page was last updated
	saidVain      bool            // the patterns that match no value were logged
	refused       int64           // masked records of the transaction at which the gate ended the stream
	ending        <-chan struct{} // closed when the stream is told to end

	mu        sync.Mutex
	standings map[kafka.Partition]*keptStanding // of this member's partitions
}

// inForce has all that follows from a configuration. A reload makes a new one.
type inForce struct {
	config      *config.Pipeline
	source      *kafka.StreamSource
	masked      *pipeline.Release
	outlet      outlet
	snapshots   *streamSnapshots
	measures    bool // there is something to assess
	fingerprint string
}

// interruption is an error of the connection, after which the stream joins the group again.
type interruption struct{ error }

func (e interruption) Unwrap() error { return e.error }

// errRefused ends a stream whose gate failed, with on_fail: stop.
var errRefused = errors.New("the gate refused the release")

// Run masks topics, without end or up to their present end, into the sink, in one transaction
// after another. When ctx ends it drains: what has been read is released and committed. An
// error that is a *pipeline.DataError means that the configuration does not fit the data.
func Run(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*account.Result, error) {
	ctx, o = o.Ready(ctx)
	key, err := pipeline.Admit(p, o)
	if err != nil {
		return nil, err
	}
	s := &stream{
		options: o, key: key, started: time.Now(), stock: pipeline.NewStock(), standings: map[kafka.Partition]*keptStanding{},
	}
	if err := s.open(ctx, p); err != nil {
		if ctx.Err() != nil {
			err = ErrUnopened // any other error follows from the end of ctx
		}
		return nil, errors.Join(err, s.close())
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	s.ending = ctx.Done()
	drained := context.AfterFunc(ctx, func() {
		s.kafka.Drain()
		// A broker that does not answer must not keep the process for ever.
		time.AfterFunc(drainTime(o), func() { cancel(errDrain) })
	})
	defer drained()
	o.Progress.Start("stream", -1)
	if err = s.serve(work); err != nil && work.Err() != nil {
		err = errors.Join(context.Cause(work), err)
	}
	refused := errors.Is(err, errRefused)
	if err != nil && !refused {
		return nil, errors.Join(err, s.close())
	}
	result, err := s.finish(context.WithoutCancel(ctx), refused)
	return result, errors.Join(err, s.close())
}

// ErrUnopened is the error of a stream that was told to end before its topics were open:
// nothing was read and nothing was written.
var ErrUnopened = errors.New("told to end before the topics were open: nothing was read")

// drainTime returns how long the last transaction may take after the stream is told to end.
func drainTime(o pipeline.Options) time.Duration {
	if o.Drain > 0 {
		return o.Drain
	}
	return time.Minute
}

var errDrain = errors.New(
	"the brokers did not answer in time to commit the last transaction; records that are not committed are not released and will be read again")

// open finds the topics and their columns and checks the configuration against them. It reads
// no record.
func (s *stream) open(ctx context.Context, p *config.Pipeline) (err error) {
	if err := s.find(ctx, p, false); err != nil {
		return err
	}
	if s.inForce, err = s.prepare(ctx, p); err != nil {
		return err
	}
	if err := s.quarantine.open(p.Quarantine, s.kafka, s.source.Rows()); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// find finds the topics. With look, the stream will not join the group.
func (s *stream) find(ctx context.Context, p *config.Pipeline, look bool) (err error) {
	cfg := kafka.StreamConfig{
		Name: p.Name, Source: p.Source.Config.(*kafka.SourceConfig), Look: look,
		Watch: s.options.Monitor, Log: s.options.Log, Enter: s.enter,
		Due: func() bool { return s.outlet.due() },
	}
	cfg.Sink, _ = p.Sink.Config.(*kafka.SinkConfig)
	cfg.Commit = streamCommit(p)
	if transform.NeedsWindow(p.Masks) {
		cfg.Window, cfg.Linger = p.Window.Records, time.Duration(p.Window.Linger)
	}
	if s.kafka, err = kafka.OpenStream(ctx, cfg); err != nil {
		return fmt.Errorf("source, sink: %w", err)
	}
	return nil
}

// prepare makes all that follows from a configuration for the given topics.
func (s *stream) prepare(ctx context.Context, p *config.Pipeline) (f inForce, err error) {
	if f, err = s.hold(ctx, p); err != nil {
		return f, err
	}
	if f.snapshots, err = newStreamSnapshots(s, &f); err != nil {
		return f, fmt.Errorf("assess.emit: %w", err)
	}
	return f, nil
}

// hold makes all that follows from a configuration and checks it against the topics. It opens
// no file.
func (s *stream) hold(ctx context.Context, p *config.Pipeline) (f inForce, err error) {
	f.config = p
	if err := pipeline.Declare(p); err != nil {
		return f, err
	}
	if f.source, err = s.kafka.Source(ctx, p.Source.Config.(*kafka.SourceConfig)); err != nil {
		return f, fmt.Errorf("source: %w", err)
	}
	if err := f.settle(ctx, f.source, s.key, s.options.Log, s.options.Progress); err != nil {
		return f, err
	}
	heldTopic := ""
	if p.Gate.Hold != nil {
		heldTopic = p.Gate.Hold.Topic
	}
	if err := s.kafka.Beside(ctx, pipeline.AlsoWritten(p), heldTopic); err != nil {
		return f, fmt.Errorf("quarantine, assess.emit, gate.hold: %w", err)
	}
	if f.outlet, err = s.newOutlet(ctx, &f); err != nil {
		return f, fmt.Errorf("sink: %w", err)
	}
	return f, nil
}

// settle makes plan, masks and assessment for a source.
func (f *inForce) settle(ctx context.Context, src connectors.Source, key keystream.Key, log zerolog.Logger,
	progress *pipeline.Progress) (err error) {
	job := pipeline.Job{Config: f.config, Source: src, Carries: f.config.Sink.Config.Carries(src), Key: key, Log: log,
		Progress: progress}
	if f.masked, err = job.Masks(ctx); err != nil {
		return err
	}
	if err := f.masked.Assess(); err != nil {
		return err
	}
	if f.measures = f.masked.Plan.Measures(); !f.measures {
		if err := f.masked.Plan.PrivacyHolds(); err != nil {
			return err // no transaction would be compared with the rules
		}
	}
	f.fingerprint = fingerprint(f.config, f.masked.Options, key)
	return nil
}

// judges reports whether transactions are compared with the rules of a gate.
func (f *inForce) judges() bool { return f.config.Gate.Judges() && f.measures }

// serve keeps the stream connected: after an interruption it waits, each time longer, and joins
// the group again, any number of times.
func (s *stream) serve(ctx context.Context) error {
	pause, ending := time.Duration(0), s.ending
	for {
		begin := time.Now()
		err := s.member(ctx)
		if !passing(err) && !kafka.NotYet(ctx, err) || ctx.Err() != nil {
			return err
		}
		s.options.Monitor.Broker(err)
		draining := s.kafka.Draining()
		if draining {
			ending = nil // it was received: do not wait for it again
		}
		pause = nextPause(pause, time.Since(begin), draining)
		wait := varied(pause)
		s.options.Log.Warn().Err(err).Dur("again_in", wait).Msg("the stream is interrupted; it joins the group anew")
		if err := awaitPause(ctx, wait, ending); err != nil {
			return err
		}
	}
}

// member is one membership in the group.
func (s *stream) member(ctx context.Context) (err error) {
	decoder, err := s.source.Decoder(s.masked.Plan.Layout, s.outlet.carries())
	if err != nil {
		return err
	}
	if err := s.kafka.Join(decoder, s.outlet.keepsTombstones()); err != nil {
		return interruptionOf(err)
	}
	clear(s.standings) // other members may have continued meanwhile
	s.inTransaction = false
	defer s.kafka.Leave()
	for {
		s.options.Monitor.Heartbeat()
		if err := s.reload(ctx); err != nil {
			return err
		}
		s.leaveOthers()
		if !s.inTransaction {
			if err := s.kafka.Begin(ctx); err != nil {
				return interruptionOf(err)
			}
			s.inTransaction = true
		}
		if err := s.pass(ctx); kafka.Refused(err) && ctx.Err() == nil {
			s.options.Log.Warn().Err(err).Msg("the transaction is aborted and its records are read again")
			if err := s.again(ctx); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return errors.Join(err, s.rollback(ctx))
		}
		if s.kafka.Touched() || s.snapshots.due() {
			if err := s.end(ctx); err != nil {
				return err
			}
			continue // a transaction that was aborted is read again before the stream may end
		}
		// Nothing was read. Ending here without a transaction lets the session learn of changes of
		// the assigned partitions.
		_, err := s.kafka.End(ctx, false)
		s.inTransaction = false
		if err != nil {
			return interruptionOf(err)
		}
		if s.kafka.Drained() || s.kafka.Finished() {
			return nil
		}
		s.present(ctx)
	}
}

// passing reports whether the cause of an error may recover by itself: the connection to the
// brokers, or the schema registry.
func passing(err error) bool {
	var broken interruption
	return errors.As(err, &broken) && !kafka.Final(err) || registry.IsRetriable(err)
}

func interruptionOf(err error) error {
	var own *kafka.EnterError
	if err == nil || kafka.Final(err) || errors.As(err, &own) {
		return err
	}
	return interruption{err}
}

// pass reads, masks and releases until the transaction is to be ended.
func (s *stream) pass(ctx context.Context) error {
	pass := pipeline.Flow{
		Source: s.source, Layout: s.masked.Plan.Layout, Reader: streamReader{s.kafka}, Stock: s.stock,
		Work:   s.mask(ctx),
		Stages: []func(*pipeline.Parcel) error{s.write(ctx), s.assess},
	}
	err := pass.Run(ctx)
	if err != nil {
		s.stock = pipeline.NewStock() // the old stock may lack the blocks in flight
	}
	return err
}

// streamReader makes a stream's open transaction the reader of a pass.
type streamReader struct{ *kafka.Stream }

func (r streamReader) Next(ctx context.Context) (connectors.Raw, error) {
	raw, err := r.Stream.Next(ctx)
	return raw, whileReading(ctx, err)
}

// whileReading returns interruptionOf an error of a read, unless the source or the stream has ended.
func whileReading(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return err
	}
	return interruptionOf(err)
}

func (r streamReader) Close() error { return nil }

// mask is the workers' part.
func (s *stream) mask(ctx context.Context) func(*pipeline.Parcel) error {
	return func(p *pipeline.Parcel) error {
		begin := time.Now()
		if err := s.masked.Mask(p.Block); err != nil {
			return err
		}
		var err error
		if p.Encoded, err = s.outlet.encode(ctx, p.Block); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		s.options.Monitor.Batch(time.Since(begin))
		return nil
	}
}

// write is the ordered writer.
func (s *stream) write(ctx context.Context) func(*pipeline.Parcel) error {
	return func(p *pipeline.Parcel) error {
		if err := s.outlet.write(ctx, p); err != nil {
			return fmt.Errorf("sink: %w", err)
		}
		p.Encoded, p.Raw = nil, nil
		if err := s.quarantine.add(ctx, s.source.PartitionOf(p.Block), p.Block); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		s.options.Progress.Add(p.Block.N)
		return nil
	}
}

// assess is the assessor, behind the writer.
func (s *stream) assess(p *pipeline.Parcel) error {
	kept := s.standingOf(s.source.PartitionOf(p.Block))
	if kept == nil {
		return interruption{errors.New("a partition went to another member while its records were masked")}
	}
	s.snapshots.add(p.Block)
	return kept.add(p.Block, s.holding)
}

// finish ends a stream that has been drained, has reached its end or was refused: it writes the
// report of all that was released.
func (s *stream) finish(ctx context.Context, refused bool) (*account.Result, error) {
	rep, err := s.wholeReport(ctx)
	if err != nil {
		return nil, err
	}
	if own, all := len(s.partitions()), s.kafka.Partitions(); own < all {
		rep.Warnings = append(rep.Warnings,
			fmt.Sprintf(
				"this report is of %d of the source's %d partitions, which this instance had at its end; sdlfilter assess --group shows the whole", own, all))
	}
	if refused {
		rep.Gate = *s.verdict.last
		rep.Withheld = account.WithheldBecause(rep.Gate)
		rep.Stopped = &report.Stopped{Left: rep.Records.Released, NotLeft: s.refused}
	}
	for _, warning := range rep.Warnings {
		s.options.Log.Warn().Msg(warning)
	}
	paths, err := s.publish(rep, refused)
	switch {
	case err != nil && rep.Records.Released > 0:
		return nil,
			&account.PublishedError{
				Err: fmt.Errorf(
					"what was committed stays released, but not all of the report is written: %w; sdlfilter assess --group shows it",
					err)}
	case err != nil:
		return nil, err
	}
	return &account.Result{
		Report: rep, Files: append(s.config.Sink.Config.Paths(), paths...),
		Drained: !s.kafka.Bounded(), Cut: s.kafka.Bounded() && s.kafka.Draining() && !s.kafka.Finished(),
		Held: s.kafka.Bounded() && s.holding, Lost: rep.LostWords(s.config.Gate.MaxLost),
	}, nil
}

// publish writes the report's files. If one fails, those without a final name are removed.
func (s *stream) publish(rep *report.Report, refused bool) (paths []string, err error) {
	var files account.Files
	if err = files.Create(s.config.Report); err == nil {
		err = files.Write(rep, nil, s.config.Report.Publish)
	}
	if err == nil {
		paths, err = files.Commit(!refused)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("report: %w", err), files.Abort())
	}
	return paths, nil
}

func (s *stream) wholeReport(ctx context.Context) (*report.Report, error) {
	measures := &assess.Measures{}
	counts := s.counts()
	whole, err := s.whole(false)
	if err != nil {
		return nil, err
	}
	if whole != nil {
		if measures, err = whole.Measure(ctx); err != nil {
			return nil, err
		}
	}
	measures.Records = counts.Released
	var found assess.Measures
	attacked, err := attack.Identify(ctx, s.masked.Plan, s.masked.Chain, whole, &found)
	if err != nil {
		return nil, err
	}
	if s.judges() {
		// Of what the intruder finds only the inversion is judged: the rules about respondents need all records.
		measures.Identity = found.Identity
	}
	rep := s.report(counts, measures, true)
	account.Attacked(rep, attacked)
	reportGaps(rep, s.begun())
	return rep, nil
}

// report returns the report of the records so far, with the verdict that a commit of as many records
// has: total, or a snapshot.
func (s *stream) report(counts report.Records, measures *assess.Measures, total bool) *report.Report {
	return s.reportOf(s.options.Version, s.started, counts, measures, s.effect(), total)
}

// reportOf is report for records of any instance, to which the masks did what effect says.
func (f *inForce) reportOf(version string, started time.Time, counts report.Records, measures *assess.Measures,
	effect account.Effect, total bool) *report.Report {
	who := account.ReporterOf(f.masked, version, started)
	who.Interim, who.Total, who.Effect = true, total, &effect
	ofFirstRecords(measures, counts.Released)
	rep := who.Report(counts, measures)
	rep.Gate = fromFirstRecords(rep.Gate, counts.Released)
	return rep
}

// close closes everything that is open, without releasing anything more.
func (s *stream) close() error {
	var errs []error
	if s.outlet != nil {
		errs = append(errs, s.outlet.abort())
	}
	errs = append(errs, s.quarantine.close(), s.snapshots.close())
	if s.kafka != nil {
		s.kafka.Close()
	}
	return errors.Join(errs...)
}
