package stream

import (
	"context"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
)

// inverted is what the intruder who knows the masks computed back when he last tried.
type inverted struct {
	found   *assess.Identity
	records int64 // pairs it rested on
	at      time.Time
	took    time.Duration
}

// He tries again once the pairs have grown by a quarter, or earlier if that takes no more than one
// part in invertShare of the time; and if those that he has seen are others now, since a transaction
// was aborted or partitions have moved (then the stream forgets what he found). While records are held
// back he tries at every commit: those of one held transaction are not among the pairs of the next.
const (
	invertGrowth = 0.25
	invertShare  = 20
)

func (v *inverted) due(pairs int64) bool {
	return v.at.IsZero() || float64(pairs) >= (1+invertGrowth)*float64(v.records) ||
		time.Since(v.at) >= invertShare*v.took
}

// invert enters into the measures what an intruder who knows the masks computes back of the pairs so
// far, or what he found last if he need not try again.
func (s *stream) invert(ctx context.Context, whole *assess.Accumulator, m *assess.Measures) error {
	if s.holding || s.inverted.due(whole.Records()) {
		begin := time.Now()
		found, err := s.inversionOf(ctx, whole)
		if err != nil {
			return err
		}
		s.inverted = inverted{found, whole.Records(), time.Now(), time.Since(begin)}
	}
	m.Identity = s.inverted.found
	return nil
}

// inversionOf returns what he computes back; nil if the configuration goes without him or he has
// nothing to try.
func (f *inForce) inversionOf(ctx context.Context, whole *assess.Accumulator) (*assess.Identity, error) {
	if !f.judges() || !f.config.Inverts() || whole.Records() == 0 {
		return nil, nil
	}
	r, err := attack.Some(ctx, f.masked.Plan, f.masked.Chain, whole.Pairs(), []string{"inversion"})
	if r == nil || err != nil {
		return nil, err
	}
	return r.Identity(), nil
}
