package lineage

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// Run sends the events of one run, one after another, beside it. A nil Run sends nothing.
type Run struct {
	job      Job
	id       string
	version  string
	log      zerolog.Logger
	sinks    []sink
	patience time.Duration
	queue    chan []byte // events as JSON
	done     chan struct{}
}

// sink is one place that events go to. The error of send says what is wrong in words of its own, and holds nothing of
// an answer; send is called with one event at a time, and may not return.
type sink interface {
	send(line []byte, patience time.Duration) error
	String() string
}

// Start sends the event that a run begins; it waits for nothing. The result is nil, and the run has no events, where
// the configuration wants none.
func Start(j Job, version string, log zerolog.Logger) *Run {
	if j.Lineage == nil {
		return nil
	}
	r := &Run{
		job: j, version: version, log: log, patience: time.Duration(j.Lineage.Patience),
		queue: make(chan []byte, 2), done: make(chan struct{}),
	}
	id, err := uuid.NewV7()
	if err != nil {
		log.Warn().Msg("lineage: no events: this machine gives no random numbers")
		return nil
	}
	r.id = id.String()
	if j.Lineage.File != "" {
		r.sinks = append(r.sinks, file(j.Lineage.File))
	}
	if j.Lineage.URL != "" {
		if s, err := newServer(*j.Lineage); err != nil {
			r.warn(err)
		} else {
			r.sinks = append(r.sinks, s)
		}
	}
	go r.work()
	r.say(func(now time.Time) *Event { return r.event(begun, now) })
	return r
}

// End sends the event that the run has ended, and waits at most twice the patience of one event, and a second, for all
// that is on its way.
func (r *Run) End(e Ending) {
	if r == nil {
		return
	}
	r.say(func(now time.Time) *Event { return r.ended(e, now) })
	close(r.queue)
	most := 2*r.patience + time.Second // so that what has its own end comes to it
	patience := time.NewTimer(most)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-patience.C:
		r.log.Warn().Msgf("lineage: not all events have arrived after %s; the release is not affected", most)
	}
}

// say puts an event into the queue. A mistake in making one costs the event, not the run.
func (r *Run) say(build func(now time.Time) *Event) {
	var line []byte
	err := func() (err error) {
		defer bug.Catch(&err)
		line, err = json.Marshal(build(time.Now()))
		return err
	}()
	if err != nil {
		r.warn(err)
		return
	}
	r.queue <- line
}

func (r *Run) work() {
	defer close(r.done)
	defer bug.Guard()
	for line := range r.queue {
		for _, s := range r.sinks {
			err := func() (err error) {
				defer bug.Catch(&err)
				return s.send(line, r.patience)
			}()
			if err != nil {
				r.warn(fmt.Errorf("%s: %w", s, err))
			}
		}
	}
}

func (r *Run) warn(err error) {
	r.log.Warn().Msgf("lineage: an event was not sent: %v; the release is not affected", err)
}
