package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// fixedParts are the parts of a configuration that a running stream cannot change: they say
// where it reads and writes and under which name it stores its state.
var fixedParts = []string{"name", "key", "source", "sink", "quarantine"}

// reload uses a changed configuration from the next transaction on, or keeps the old one and
// logs why.
func (s *stream) reload(ctx context.Context) error {
	select {
	case changed := <-s.options.Reload:
		err := changed.Err
		if err == nil {
			err = s.replace(ctx, changed.Config)
		}
		s.options.Monitor.Reloaded(time.Now(), err)
		if err != nil {
			s.options.Log.Error().Err(err).Msg("the changed configuration is not taken; the old one stays in force")
			return nil
		}
		s.options.Log.Info().Msg("the changed configuration is in force")
	default:
	}
	return nil
}

func (s *stream) replace(ctx context.Context, p *config.Pipeline) error {
	for _, part := range fixedParts {
		if !bytes.Equal(s.config.Part(part), p.Part(part)) {
			return fmt.Errorf("%s has changed, which takes a restart", part)
		}
	}
	if err := pipeline.May(p, s.options); err != nil {
		return err
	}
	f, err := s.prepare(kafka.Started(ctx), p)
	if err != nil {
		return err
	}
	decoder, err := f.source.Decoder(f.masked.Plan.Layout, f.outlet.carries())
	if err != nil {
		return errors.Join(err, f.snapshots.close())
	}
	old := s.inForce
	if f.fingerprint != old.fingerprint {
		standings := map[kafka.Partition]*keptStanding{}
		for at := range s.standings {
			if standings[at], err = f.loadStanding(nil, 0); err != nil {
				return errors.Join(err, f.snapshots.close())
			}
		}
		s.options.Log.Warn().Msg("masks or columns have changed: the measurement of R and U starts again from here")
		s.mu.Lock()
		s.standings = standings
		s.mu.Unlock()
		// The new standings must continue from the stored state; otherwise they would count as newer
		// than it.
		s.kafka.Reenter()
	}
	// The next transaction is judged by the new rules. Records stay held back only if the new
	// gate holds records back.
	s.verdict, s.inverted, s.saidVain = judgement{}, inverted{}, false
	if s.holding && (p.Gate.OnFail != config.Hold || !f.judges()) {
		s.holding = false
		s.options.Monitor.Mode("releasing")
	}
	f.snapshots.follow(old.snapshots)
	s.inForce = f
	s.kafka.Decode(decoder, f.outlet.keepsTombstones())
	return old.snapshots.close()
}
