// Package outcome measures and judges a release, whatever has carried its records. account.Publication names it then,
// or withholds it.
package outcome

import (
	"context"
	"runtime"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
)

// Judge completes and computes the measures of a release whose records are all masked, runs the intruder if the
// configuration asks for one, and returns the report of who with the gate's verdict. It logs the warnings of the
// report. The ledger may be nil.
func Judge(ctx context.Context, r *pipeline.Release, who account.Reporter, records report.Records,
	ledger *entered.Ledger, log zerolog.Logger) (*report.Report, error) {
	r.Progress.Measuring()
	if err := r.Join(ctx); err != nil {
		return nil, err
	}
	if err := who.Check(); err != nil {
		return nil, err
	}
	measures := &assess.Measures{Records: records.Released}
	if r.Measured != nil {
		// What the pass over the records has used is garbage, and measuring needs memory at once.
		runtime.GC()
		r.Plan.CompareEarlier(r.Measured.Pairs(), records.Read, records.Released, who.Unidentified())
		r.Plan.FindCopies(r.Measured.Pairs())
		var err error
		if measures, err = r.Measured.Measure(ctx); err != nil {
			return nil, err
		}
	}
	found, err := attack.Identify(ctx, r.Plan, r.Chain, r.Measured, measures)
	if err != nil {
		return nil, err
	}
	rep := who.Judged(records, measures)
	r.Judged = measures
	account.Attacked(rep, found)
	if r.Measured != nil {
		rep.Weighted = r.Plan.Weighted(r.Measured.Pairs())
	}
	ledger.Describe(rep)
	for _, warning := range rep.Warnings {
		log.Warn().Msg(warning)
	}
	return rep, nil
}
