package shard

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/outcome"
	"github.com/sdlfilter/sdlfilter/internal/placed"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Commit joins the shards of a plan. It merges their assessments and judges them like that of
// one run, and publishes their files as one release, all or none. It can be killed at any
// moment and run again.
func Commit(ctx context.Context, p *config.Pipeline, m *Manifest, states string, o pipeline.Options) (*account.Result,
	error) {
	ctx, o = o.Ready(ctx)
	c := &commit{manifest: m, options: o, started: time.Now()}
	if err := account.Probe(ctx, p); err != nil {
		return nil, err
	}
	all, err := m.states(ctx, states, len(p.Masks))
	if err != nil {
		return nil, err
	}
	j, err := resume(ctx, p, m, every, every, o)
	if err != nil {
		return nil, err
	}
	defer j.source.Close()
	c.job = j
	if err := c.hold(ctx, all); err != nil {
		return nil, err
	}
	defer c.ledger.Close()
	if err := c.merge(ctx, all); err != nil {
		return nil, err
	}
	result, err := c.release(ctx, all)
	if err != nil {
		return nil, account.AndAborted(err, c.abort)
	}
	return result, nil
}

type commit struct {
	*job
	manifest *Manifest
	options  pipeline.Options
	started  time.Time
	records  report.Records

	dir        *publish.Dir
	quarantine *publish.File // nil if none is requested
	reports    account.Files
}

// hold takes the ledger, with the respondents of all shards.
func (c *commit) hold(ctx context.Context, all []*State) error {
	var sketch *ledger.Sketch
	for _, s := range all {
		sketch = sketch.Union(s.Sketch)
	}
	return c.ledger.Hold(ctx, c.manifest.id, sketch)
}

// merge merges what the shards have counted and measured.
func (c *commit) merge(ctx context.Context, all []*State) error {
	var effect account.Effect
	if err := c.mergeMeasured(ctx, all); err != nil {
		return err
	}
	var taken placed.Places
	if err := agreeOnPairs(c.manifest, all); err != nil {
		return err
	}
	for i, s := range all {
		if err := taken.Join(s.Places); err != nil {
			return fmt.Errorf("shard %d: %w: one of the second is in this shard (%s)", i, err, c.config.Place)
		}
		s.Places = nil
		c.records = account.Sum(c.records, report.Records{Counts: s.Counts, Reasons: s.Reasons})
		effect = effect.Plus(account.Effect{Changed: s.Touched, Unidentified: s.Unidentified, Listed: s.Listed})
		c.masked.Chain.ResumeVerified(s.Verified)
	}
	c.masked.Chain.Resume(effect.Changed, effect.Unidentified, effect.Listed)
	return nil
}

// mergeMeasured merges the assessments of all shards, in their order. One for each core is decoded at a time, and
// states that are not held in memory are read only then.
func (c *commit) mergeMeasured(ctx context.Context, all []*State) (err error) {
	if err := c.masked.Assess(); err != nil || !c.masked.Plan.Measures() {
		return err
	}
	exchange, err := c.masked.NewExchange()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var limit atomic.Uint32 // of the merged sample, or what it was shortly before: it only falls
	limit.Store(math.MaxUint32)
	pending := make(chan chan decoded, runtime.GOMAXPROCS(0)-1)
	go func() {
		defer close(pending)
		defer bug.Guard()
		for i, s := range all {
			one := make(chan decoded, 1)
			select {
			case pending <- one:
			case <-ctx.Done():
				return
			}
			into, err := assess.New(c.masked.Options)
			go func() {
				defer bug.Guard()
				d := decoded{measured: into, err: err}
				d.read(ctx, i, s, limit.Load)
				one <- d
			}()
		}
	}()
	i := 0
	for one := range pending {
		d := <-one
		if err := d.err; err != nil {
			return err
		}
		all[i].release()
		if i == 0 {
			c.masked.Measured = d.measured
		} else if err := c.masked.Measured.Merge(d.measured); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		if err := exchange.Merge(d.exchanged, c.manifest.Shards[i].stretches()); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		limit.Store(c.masked.Measured.Limit())
		i++
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return exchange.JoinMerged(c.masked.Plan, c.masked.Measured, c.key)
}

// decoded is the decoded measurement of a shard.
type decoded struct {
	measured  *assess.Accumulator
	exchanged []byte
	err       error
}

// read decodes the state of shard i, unless there was an error before, and of its sample what has priorities up to
// limit.
func (d *decoded) read(ctx context.Context, i int, s *State, limit func() uint32) {
	if d.err != nil {
		return
	}
	var assessment []byte
	if assessment, d.exchanged, d.err = s.measured(ctx); d.err != nil {
		return
	}
	if err := d.measured.UnmarshalExact(assessment); err != nil {
		d.err = fmt.Errorf("shard %d: %w", i, err)
	} else if err := s.sample(ctx, limit, d.measured.AddPiece); err != nil {
		d.err = fmt.Errorf("shard %d: %w", i, err)
	} else if d.measured.Records() != s.Released {
		d.err = fmt.Errorf("shard %d: its assessment is of other records than it has released: run it again", i)
	}
}

// agreeOnPairs returns an error unless all shards have used the decisions of the same run of
// Pair, each those for itself: a swap moves values between two shards.
func agreeOnPairs(m *Manifest, all []*State) error {
	for i, s := range all {
		if s.Pairing != all[0].Pairing || (s.Pairing != "") != m.Pairs {
			return fmt.Errorf(
				"shard %d: was run with other pairs than shard 0, or with none: run both with those that `sdlfilter shard pair` has written last", i)
		}
	}
	if !m.Pairs {
		return nil
	}
	digests := make([][sha256.Size]byte, len(all))
	for i, s := range all {
		copy(digests[i][:], s.Pairs)
	}
	if m.pairingOf(digests) != all[0].Pairing {
		return errors.New(
			"a shard was run with pairs that were changed after `sdlfilter shard pair` wrote them: pair again, and run all shards with the new pairs")
	}
	return nil
}

// release measures, judges and publishes.
func (c *commit) release(ctx context.Context, all []*State) (*account.Result, error) {
	if err := c.open(all); err != nil {
		return nil, err
	}
	content, err := c.assemble(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	rep, err := outcome.Judge(ctx, c.masked, account.ReporterOf(c.masked, c.options.Version, c.started), c.records,
		c.ledger, c.options.Log)
	if err != nil {
		return nil, err
	}
	return c.publish(ctx, rep, content, all)
}

// open opens the files of a release other than its records, under temporary names.
func (c *commit) open(all []*State) (err error) {
	if path := c.config.Quarantine.JSONL; path != "" {
		if c.quarantine, err = publish.Create(path, publish.Confidential); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		if err := errors.Join(writeEntries(c.quarantine, all), c.quarantine.Stage()); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	if err := c.reports.Create(c.config.Report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// writeEntries writes the quarantine entries of the shards, in their order, a line of JSON
// each.
func writeEntries(to io.Writer, all []*State) error {
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	for _, s := range all {
		for _, e := range s.Entries {
			if err := lines.Encode(e); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// assemble links the parts into a folder that has no name yet, and compares them with what the
// shards recorded: unchanged files by their stamps, others by their digests. The parts of a
// plan that was committed already, except for its reports, are taken from the release.
func (c *commit) assemble(ctx context.Context, all []*State) (*connectors.Content, error) {
	release := c.config.Sink.Config.Paths()[0]
	extension := c.config.Sink.Abilities().Placed.Extension()
	var err error
	if c.dir, err = publish.CreateDir(release, extension); err != nil {
		return nil, err
	}
	for i, s := range all {
		for k, f := range s.Files {
			err := c.adopt(ctx, f, c.manifest.partName(i, k, extension))
			if errors.Is(err, errOtherFiles) {
				return nil, fmt.Errorf("shard %d: %w", i, err)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("shard %d: %s, which it wrote, is not there: run it again", i, f.Name)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	content, err := c.dir.Content(ctx)
	if err != nil {
		return nil, err
	}
	return content, agree(all, content)
}

var errOtherFiles = errors.New("its state names other files than the plan: run it again")

// adopt makes a part of what a shard has written.
func (c *commit) adopt(ctx context.Context, f StateFile, planned string) error {
	release := c.config.Sink.Config.Paths()[0]
	if objectpath.Is(release) {
		if !publish.IsPartName(f.Name, planned) {
			return errOtherFiles
		}
		return c.dir.Take(ctx, f.Name, f.Upload)
	}
	if f.Name != planned {
		return errOtherFiles
	}
	content := connectors.FileContent{Bytes: f.Bytes, SHA256: f.SHA256}
	err := c.dir.AdoptStamped(filepath.Join(c.manifest.hidden(release), f.Name), f.Name, f.Stamp, content)
	if errors.Is(err, fs.ErrNotExist) {
		err = c.dir.Adopt(filepath.Join(release, f.Name), f.Name)
	}
	return err
}

// agree compares the files with the shards' states.
func agree(all []*State, content *connectors.Content) error {
	there := map[string]connectors.FileContent{}
	for _, f := range content.Files {
		there[f.Name] = f
	}
	for i, s := range all {
		for _, f := range s.Files {
			if got := there[f.Name]; got.Bytes != f.Bytes || got.SHA256 != f.SHA256 {
				return fmt.Errorf("shard %d: %s is not what it wrote: run it again", i, f.Name)
			}
		}
	}
	return nil
}

// publish gives the release its name, and writes the report last. The parts are removed when
// everything has its name: until then a killed commit can be run again. A refused release is
// removed with its parts.
func (c *commit) publish(ctx context.Context, rep *report.Report, content *connectors.Content,
	all []*State) (*account.Result, error) {
	release := c.config.Sink.Config.Paths()[0]
	p := account.Publication{
		Released: rep.Gate.Passed, Paths: []string{release}, Log: c.options.Log,
		Complete:  account.Saying("report", func() error { return c.reports.Write(rep, content, c.config.Report.Publish) }),
		Unchanged: account.Saying("source", func() error { return c.manifest.same(ctx, c.source, every) }),
		Withhold:  account.Saying("sink", c.dir.Abort),
		Before:    func() error { return c.ledger.Enter(rep, c.masked.Plan, content) },
		Name:      func() error { return account.Commit("sink", c.dir, []string{release}, &c.reports) },
		Settle:    c.ledger.Settle,
		Rest:      account.Rest{account.Appears("quarantine", c.quarantine, false), c.reports.Appear},
	}
	files, err := p.Publish(ctx)
	if err != nil {
		return nil, err
	}
	c.tidy(release, rep.Gate.Passed, all)
	return &account.Result{Report: rep, Files: files, Schema: c.masked.Plan.Layout.Released()}, nil
}

// tidy removes the files of the shards, once everything has its name. Uploads that were not
// completed are invisible, but they cost storage.
func (c *commit) tidy(release string, passed bool, all []*State) {
	if !objectpath.Is(release) {
		if err := os.RemoveAll(c.manifest.hidden(release)); err != nil {
			c.options.Log.Warn().Str("path", c.manifest.hidden(release)).Msg(
				"the shards' files could not be removed; remove them: they are the release, or what was withheld")
		}
		return
	}
	if passed {
		return
	}
	for _, s := range all {
		if err := discard(release, s.Files); err != nil {
			c.options.Log.Warn().Str("path",
				release).Msg(
				"uploads of what was withheld could not be given up: nobody sees them, and a rule of the bucket's lifecycle removes them")
			return
		}
	}
}

// abort removes what has no final name. The shards' files and states stay.
func (c *commit) abort() error {
	errs := []error{c.reports.Abort()}
	if c.dir != nil {
		errs = append(errs, c.dir.Abort())
	}
	if c.quarantine != nil {
		errs = append(errs, c.quarantine.Abort())
	}
	return errors.Join(errs...)
}
