package pipeline

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Job is a configuration that is to be applied to a source, by whatever carries the records: memory, files, shards,
// topics. Its methods know the order of the steps; the fields have what differs.
type Job struct {
	Config   *config.Pipeline
	Paths    []string // of the masks in the configuration, if they are not those of its list "masks"; else nil
	Source   connectors.Source
	Carries  bool // whether columns that no mask changes leave as they were read, and need not be decoded
	Key      keystream.Key
	Check    func(*Plan) error // what this carrier cannot do is an error; nil: it can do all
	Tell     func(*Plan)       // tells a plan of earlier releases; nil: there are none
	Parts    bool              // one process sees a part of the records only: none surveys them as it starts
	Found    func(*Plan) error // gives a plan what another process has found about the data; nil: Masks finds it
	Log      zerolog.Logger
	Progress *Progress
}

// Plan decides what the configuration means for the source, of which it reads only the schema.
func (j *Job) Plan() (*Plan, error) {
	pl, err := newPlan(j.Config, j.Paths, j.Source, j.Carries)
	if err != nil {
		return nil, err
	}
	if j.Check != nil {
		if err := j.Check(pl); err != nil {
			return nil, err
		}
	}
	if j.Tell != nil {
		j.Tell(pl)
	}
	return pl, nil
}

// Masks plans, finds what the masks must know about the data, and builds them, with those of earlier releases. Nothing
// is measured yet.
func (j *Job) Masks(ctx context.Context) (*Release, error) {
	pl, err := j.Plan()
	if err != nil {
		return nil, err
	}
	r := &Release{Plan: pl, Key: j.Key, Progress: j.Progress, parts: j.Parts}
	if j.Found != nil {
		err = j.Found(pl)
	} else if err = pl.Settle(ctx, j.Progress); err == nil {
		pl.warnOfConstant(j.Log)
	}
	if err != nil {
		return nil, err
	}
	if j.Parts {
		if r.Chain, err = pl.BuildChain(j.Key); err == nil {
			pl.readyEarlierInParts()
		}
	} else if r.Chain, err = pl.newChain(ctx, j.Key, j.Progress); err == nil {
		err = pl.readyEarlier(ctx, j.Progress)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Open is Masks for a release that is measured.
func (j *Job) Open(ctx context.Context) (*Release, error) {
	r, err := j.Masks(ctx)
	if err == nil {
		err = r.Measure()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Release has the masks of a release and its assessment.
type Release struct {
	Plan     *Plan
	Key      keystream.Key
	Chain    *transform.Chain
	Options  assess.Options      // of what is measured, after Assess
	Measured *assess.Accumulator // after Measure; nil if there is nothing to measure
	Judged   *assess.Measures    // what the gate has judged, after that
	Exchange *Exchange           // nil if no mask moves measured values between records

	// Total gives Measured once all records are masked, where another than Add has added them; nil: Add has.
	Total func(ctx context.Context) (*assess.Accumulator, error)

	Progress *Progress

	parts bool // it is of a job in parts
}

// Assess decides what is measured; nothing if the plan has nothing to measure.
func (r *Release) Assess() (err error) {
	if r.Plan.Measures() {
		r.Options, err = r.Plan.assessOptions(r.Key, r.Chain)
	}
	return err
}

// Measure is Assess, and makes ready the assessment of the records.
func (r *Release) Measure() (err error) {
	if err = r.Assess(); err != nil || !r.Plan.Measures() {
		return err
	}
	if r.Exchange, err = r.NewExchange(); err != nil {
		return err
	}
	r.Exchange.expect(r.Plan)
	r.Measured, err = assess.New(r.Options)
	return err
}

// NewExchange returns the expected change of the records whose numbers masks move; nil if there are none.
func (r *Release) NewExchange() (*Exchange, error) {
	return NewExchange(r.Chain, r.Plan.Displacer, r.Plan.Assessed, int(r.Plan.Config.Assess.Sample))
}

// Mask masks a block. Several may be masked at once.
func (r *Release) Mask(b *microdata.Block) error {
	if err := r.Chain.Apply(b); err != nil {
		return err
	}
	if err := r.Plan.replayEarlier(b); err != nil {
		return err
	}
	return r.Exchange.displace(b)
}

// Add adds a masked block to the assessment. The blocks must come in the order of their records.
func (r *Release) Add(b *microdata.Block) {
	r.Exchange.Add(b)
	if r.Measured != nil {
		r.Measured.Add(b)
	}
}

// Join completes the assessment, once all records are added, with what is not in the sample. It may read and mask the
// source once more. That of a job in parts is complete when they are merged.
func (r *Release) Join(ctx context.Context) (err error) {
	if r.Total != nil {
		if r.Measured, err = r.Total(ctx); err != nil {
			return err
		}
	}
	if r.Measured == nil || r.parts {
		return nil
	}
	if err := r.Exchange.Join(ctx, r.Plan, r.Chain, r.Measured, r.Key, r.Progress); err != nil {
		return err
	}
	return r.Plan.findTargets(ctx, r.Chain, r.Measured, r.Progress)
}
