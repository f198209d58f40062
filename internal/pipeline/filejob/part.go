package filejob

import (
	"context"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Part is a file job that is published together with others or not at all: its records are masked, written and judged,
// and whether its release gets its name is decided elsewhere.
type Part struct {
	Report *report.Report // its own verdict
	Joined *attack.Joined
	Judged *assess.Measures // what its own verdict rests on
	Entry  *ledger.Release  // what its ledger is to have of it; nil without one

	run     *run
	content *publish.Content
	schema  *microdata.Schema // of the release
}

// PartOf is what a file job does as a part of a whole.
type PartOf struct {
	Source connectors.Source     // the caller closes it
	Sink   connectors.SinkConfig // where the release is written and synced; the caller gives it its name
	Silent bool                  // nothing is written, and Sink not used: the release is judged and no more
	Ledger *entered.Ledger       // the earlier releases with which it is judged, for this pass; nil: none
	// Observe sees each masked block, in order, with the configuration's Joins, of which it reads the original values.
	Observe func(joins []*microdata.Column, b *microdata.Block)
}

// WritePart does what Run does up to the verdict. After an error nothing is left behind.
func WritePart(ctx context.Context, p *config.Pipeline, o pipeline.Options, key keystream.Key, of PartOf) (*Part,
	error) {
	moved := *p
	if moved.Sink.Config = of.Sink; of.Silent {
		moved = *silent(p)
	}
	r := &run{config: &moved, whole: p, options: o, key: key, source: of.Source, streams: of.Source.Streams(),
		started: time.Now(), ledger: of.Ledger}
	part := &Part{run: r}
	if err := part.write(ctx, of); err != nil {
		return nil, account.AndAborted(err, r.abort)
	}
	if part.content != nil {
		part.content.Path = p.Sink.Config.Paths()[0]
	}
	return part, nil
}

func (t *Part) write(ctx context.Context, of PartOf) (err error) {
	r := t.run
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.observe = func(b *microdata.Block) {
		var joins []*microdata.Column
		for _, i := range r.masked.Plan.Joins {
			joins = append(joins, &b.Columns[i])
		}
		of.Observe(joins, b)
	}
	if of.Silent {
		t.Report, err = r.rehearsed(ctx)
	} else {
		t.Report, t.content, err = r.written(ctx)
	}
	if err != nil {
		return err
	}
	t.Joined = attack.JoinedOf(r.masked.Plan, r.masked.Chain, r.masked.Measured)
	t.Judged = r.masked.Judged
	if t.Entry, err = r.ledger.Entry(t.Report, r.masked.Plan); err != nil {
		return err
	}
	t.schema = r.masked.Plan.Layout.Released()
	r.masked = nil // masks of all records hold their values
	return nil
}

// Reports completes the reports, which say what has become of the release by now, under their temporary names.
func (t *Part) Reports() error {
	return t.run.reports.Write(t.Report, t.content, t.run.config.Report.Publish)
}

// Name gives the release its name where it was written.
func (t *Part) Name() error { return t.run.sink.Commit() }

// Withhold removes the release.
func (t *Part) Withhold() error { return t.run.sink.Abort() }

// Result is what has become of the part, without the files, which are those of the whole.
func (t *Part) Result() *account.Result { return &account.Result{Report: t.Report, Schema: t.schema} }

// Appear gives the quarantine and the reports their names, and returns these; released says whether there is a release.
func (t *Part) Appear(ctx context.Context, released bool) ([]string, error) {
	return t.run.rest(ctx).Appear(released)
}

// Abort removes everything that has no final name.
func (t *Part) Abort() error { return t.run.abort() }
