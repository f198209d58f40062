package assess

import (
	"context"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The number of records in the sample of a snapshot's window, and of those between two snapshots.
const (
	windowSample = 20_000
	defaultEvery = 100_000
)

// Snapshots keeps two assessments of a stream: of the window since the last snapshot, and of the
// whole. It has no clock; the caller decides when to call Take.
type Snapshots struct {
	every         int64
	window, total *Accumulator
	taken         int
}

// NewSnapshots returns an empty pair of window and whole. A snapshot is due
// after `every` records (0: 100,000). The whole has the sample given by o, the
// window a smaller one.
func NewSnapshots(o Options, every int64) (*Snapshots, error) {
	total, err := New(o)
	if err != nil {
		return nil, err
	}
	if every <= 0 {
		every = defaultEvery
	}
	if o.Sample == 0 || o.Sample > windowSample || o.Sample < 0 {
		o.Sample = windowSample
	}
	window, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Snapshots{every: every, window: window, total: total}, nil
}

// Add adds the pairs of a masked block, as Accumulator.Add does.
func (s *Snapshots) Add(b *microdata.Block) { s.window.add(b, &s.total.sample) }

// Due reports whether the window has reached its number of records.
func (s *Snapshots) Due() bool { return s.window.records >= s.every }

// Pending returns the number of records in the window.
func (s *Snapshots) Pending() int64 { return s.window.records }

// Taken returns how many snapshots have been taken.
func (s *Snapshots) Taken() int { return s.taken }

// Take measures the window and the whole, the window included, and begins a new
// window. Replicates are made of a few thousand records each, so the risks of a
// snapshot are coarser than those of Total().Measure.
func (s *Snapshots) Take(ctx context.Context) (window, total *Measures, err error) {
	if window, err = s.window.MeasureQuick(ctx); err != nil {
		return nil, nil, err
	}
	if err = s.turn(); err != nil {
		return nil, nil, err
	}
	if total, err = s.total.MeasureQuick(ctx); err != nil {
		return nil, nil, err
	}
	s.taken++
	return window, total, nil
}

// Total ends the window and returns the whole, for the final Measure or to be
// encoded. It stays part of s: adding more is possible.
func (s *Snapshots) Total() (*Accumulator, error) {
	if err := s.turn(); err != nil {
		return nil, err
	}
	return s.total, nil
}

// turn merges the window into the whole, except for the sample: records have been
// offered to the whole's sample, which is larger than the window's, when they were added.
func (s *Snapshots) turn() error {
	s.total.mergeExact(s.window)
	window, err := New(s.window.opts)
	if err != nil {
		return err
	}
	window.work = s.window.work // scratch
	s.window = window
	return nil
}
