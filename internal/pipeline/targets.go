package pipeline

import (
	"context"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// findTargets reads and masks the source once more, to find the records that hold percentiles of columns whose masks
// have no law, where the assessment has kept a sample of the records. Of a source that can be read only once it finds
// nothing.
func (pl *Plan) findTargets(ctx context.Context, chain *transform.Chain, measured *assess.Accumulator,
	progress *Progress) error {
	finder := measured.Finder()
	if finder == nil || !pl.Source.Rewindable() {
		return nil
	}
	again := chain.Again()
	progress.Start("locate", pl.Source.Records())
	pass := Flow{
		Source: pl.Source, Layout: pl.passLayout(), Cut: pl.Cut,
		Work: func(p *Parcel) error { return again.Apply(p.Block) },
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			finder.Add(p.Block)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	measured.SetFound(finder)
	return nil
}
