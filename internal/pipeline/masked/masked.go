// Package masked masks all records of a release and assesses the result, for runs on files and
// for programs that embed the filter: Settle prepares a release from a plan, Mask and Moved
// process each block, and Judged ends it.
package masked

import (
	"context"
	"runtime"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Release has the masks and the assessment of a release.
type Release struct {
	Chain    *transform.Chain
	Measured *assess.Accumulator // nil if there is nothing to measure
	Options  assess.Options      // of Measured

	plan     *pipeline.Plan
	key      keystream.Key
	exchange *pipeline.Exchange // nil if no mask moves values between records
	progress *pipeline.Progress
}

// Settle prepares a release: it finds what the masks must know about the data, and builds them.
// Its errors are those of Plan.Settle and Plan.NewChain.
func Settle(ctx context.Context, pl *pipeline.Plan, key keystream.Key, log zerolog.Logger, progress *pipeline.Progress) (*Release, error) {
	r := &Release{plan: pl, key: key, progress: progress}
	err := pl.Settle(ctx, progress)
	if err != nil {
		return nil, err
	}
	pl.WarnOfConstant(log)
	if r.Chain, err = pl.NewChain(ctx, key, progress); err != nil {
		return nil, err
	}
	if err := pl.SettleEarlier(ctx, progress); err != nil {
		return nil, err
	}
	if !pl.Measures() {
		return r, nil
	}
	if r.Options, err = pl.AssessOptions(key, r.Chain); err != nil {
		return nil, err
	}
	if r.exchange, err = pipeline.NewExchange(r.Chain, pl.Displacer, pl.Assessed, int(pl.Config.Assess.Sample)); err != nil {
		return nil, err
	}
	r.exchange.Expect(pl)
	r.Measured, err = assess.New(r.Options)
	return r, err
}

// Mask masks a block. Several may be masked at once.
func (r *Release) Mask(b *microdata.Block) error {
	if err := r.Chain.Apply(b); err != nil {
		return err
	}
	if err := r.plan.ReplayEarlier(b); err != nil {
		return err
	}
	return r.exchange.Displace(b)
}

// Moved adds the moves of values between the records of a masked block to the assessment. The
// blocks must come in the order of their records.
func (r *Release) Moved(b *microdata.Block) { r.exchange.Add(b) }

// Judged computes the measures of the pairs in Measured, runs the intruder if the configuration
// asks for one, and returns the report with the gate's verdict.
func (r *Release) Judged(ctx context.Context, who account.Reporter, records report.Records) (*report.Report, error) {
	if r.Measured != nil {
		if err := r.exchange.Join(ctx, r.plan, r.Chain, r.Measured, r.key, r.progress); err != nil {
			return nil, err
		}
		if err := r.plan.FindTargets(ctx, r.Chain, r.Measured, r.progress); err != nil {
			return nil, err
		}
	}
	who.KeyID, who.Plan, who.Chain = r.key.ID(), r.plan, r.Chain
	return Judge(ctx, who, r.Measured, records)
}

// Judge is Judged for an assessment that was made in parts; measured is nil if there is nothing
// to measure.
func Judge(ctx context.Context, who account.Reporter, measured *assess.Accumulator, records report.Records) (*report.Report, error) {
	if err := who.Check(); err != nil {
		return nil, err
	}
	measures := &assess.Measures{Records: records.Released}
	if measured != nil {
		// What the pass over the records has used is garbage, and measuring needs memory at once.
		runtime.GC()
		who.Plan.CompareEarlier(measured.Pairs(), records.Read, who.Unidentified())
		var err error
		if measures, err = measured.Measure(ctx); err != nil {
			return nil, err
		}
	}
	found, err := attack.Identify(ctx, who.Plan, who.Chain, measured, measures)
	if err != nil {
		return nil, err
	}
	rep := who.Judged(records, measures)
	account.Attacked(rep, found)
	if measured != nil {
		rep.Weighted = who.Plan.Weighted(measured.Pairs())
	}
	return rep, nil
}
