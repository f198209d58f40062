// Package faulty gives tests sources and sinks of which any one call fails, or is where
// the context of what is tested ends. What could pass by the calls that are
// counted is not said of the connector beneath.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// ErrCall is the error of the call that fails.
var ErrCall = errors.New("the call has failed")

// Calls counts the calls to a source and to a sink by name. The Nth call of one name
// fails, or is where a context ends. It is to be used by one run.
type Calls struct {
	Name   string             // of the call; "": none fails
	N      int                // from 1
	Cancel context.CancelFunc // in place of a failure
	Panic  string             // every call to decode panics with it
	Wraps  bool               // the end of the records is an error that wraps io.EOF

	mu     sync.Mutex
	counts map[string]int
}

// Counts are how many calls of each name there were.
func (c *Calls) Counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

func (c *Calls) call(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[name]++
	if name != c.Name || c.counts[name] != c.N {
		return nil
	}
	if c.Cancel != nil {
		c.Cancel()
		return nil
	}
	return ErrCall
}

// Each yields the calls that were counted, by name and number: of each name the first six
// and the last two, as those between are like those beside them.
func Each(counts map[string]int) func(yield func(name string, n int) bool) {
	return func(yield func(name string, n int) bool) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			for n := 1; n <= counts[name]; n++ {
				if n > 6 && n < counts[name]-1 {
					continue
				}
				if !yield(name, n) {
					return
				}
			}
		}
	}
}

// Config is the configuration of a source whose calls are counted, from open on.
func (c *Calls) Config(of connectors.SourceConfig) connectors.SourceConfig {
	return &sourceConfig{of, c}
}

type sourceConfig struct {
	connectors.SourceConfig
	calls *Calls
}

// Abilities are none: another configuration would pass by Open.
func (s *sourceConfig) Abilities() (none connectors.SourceConfigAbilities) { return none }

func (s *sourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	if err := s.calls.call("open"); err != nil {
		return nil, err
	}
	src, err := s.SourceConfig.Open(ctx)
	if err != nil {
		return nil, err
	}
	return s.calls.Source(src), nil
}

// Source is an open source whose calls are counted.
func (c *Calls) Source(of connectors.Source) connectors.Source { return &source{of, c} }

type source struct {
	connectors.Source
	calls *Calls
}

func (s *source) unchanged() error {
	if err := s.calls.call("unchanged"); err != nil {
		return err
	}
	return connectors.Unchanged(s.Source)
}

// Abilities leaves out what would pass by the calls that are counted.
func (s *source) Abilities() connectors.SourceAbilities {
	from := s.Source.Abilities()
	return connectors.SourceAbilities{
		Unchanged: s.unchanged, Changed: from.Changed, InfersTypes: from.InfersTypes, At: from.At,
		Acknowledge: func(context.Context) error { return s.calls.call("acknowledge") },
	}
}

func (s *source) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if err := s.calls.call("read"); err != nil {
		return nil, err
	}
	r, err := s.Source.Read(ctx, layout, cut)
	if err != nil {
		return nil, err
	}
	return &reader{r, s.calls}, nil
}

type reader struct {
	connectors.Reader
	calls *Calls
}

func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := r.calls.call("next"); err != nil {
		return nil, err
	}
	next, err := r.Reader.Next(ctx)
	if r.calls.Wraps && errors.Is(err, io.EOF) {
		err = fmt.Errorf("no more records: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return &raw{next, r.calls}, nil
}

func (r *reader) Close() error {
	return errors.Join(r.calls.call("close the reader"), r.Reader.Close())
}

type raw struct {
	connectors.Raw
	calls *Calls
}

func (r *raw) Decode(b *microdata.Block) error {
	if err := r.calls.call("decode"); err != nil {
		return err
	}
	if r.calls.Panic != "" {
		panic(r.calls.Panic)
	}
	return r.Raw.Decode(b)
}

// Sink is the configuration of a sink whose calls are counted.
func (c *Calls) Sink(of connectors.SinkConfig) connectors.SinkConfig { return sinkConfig{of, c} }

type sinkConfig struct {
	connectors.SinkConfig
	calls *Calls
}

// Abilities are none: a release would pass by Create.
func (s sinkConfig) Abilities() (none connectors.SinkConfigAbilities) { return none }

func (s sinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if err := s.calls.call("create"); err != nil {
		return nil, err
	}
	made, err := s.SinkConfig.Create(ctx, plan)
	if err != nil {
		return nil, err
	}
	return &sink{made, s.calls}, nil
}

type sink struct {
	connectors.Sink
	calls *Calls
}

// Abilities are none, as of sinkConfig.
func (s *sink) Abilities() (none connectors.SinkAbilities) { return none }

func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	if err := s.calls.call("encode"); err != nil {
		return nil, err
	}
	return s.Sink.Encode(b)
}

func (s *sink) Write(ctx context.Context, e connectors.Encoded) error {
	if err := s.calls.call("write"); err != nil {
		return err
	}
	return s.Sink.Write(ctx, e)
}

func (s *sink) Finish(ctx context.Context) error {
	if err := s.calls.call("finish"); err != nil {
		return err
	}
	return s.Sink.Finish(ctx)
}

func (s *sink) Commit() error {
	if err := s.calls.call("commit"); err != nil {
		return err
	}
	return s.Sink.Commit()
}

func (s *sink) Abort() error {
	return errors.Join(s.calls.call("abort"), s.Sink.Abort())
}
