package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// attend is what goes on beside a stream: SIGHUP reads the configuration again,
// and where an address is given, metrics, health and the live page are served.
// The function it returns ends both.
func (s *state) attend(ctx context.Context, path string, p *config.Pipeline, listen string, o *pipeline.Options) (
	end func(), err error) {
	s.streaming = true
	// A stream keeps little and makes garbage as fast as records come, so it is
	// collected less early than in a file job.
	if os.Getenv("GOGC") == "" {
		collector.leave(200)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if listen != "" {
		o.Monitor = monitor.New(monitor.Info{
			Name: p.Name, Version: version(), Source: pipeline.DescribeSource(p.Source), Sink: pipeline.DescribeSink(p.Sink),
			Interval: stream.CommitInterval(p), Quarantine: p.Quarantine.Kafka != nil || p.Quarantine.JSONL != "",
		})
		address, err := o.Monitor.Serve(ctx, listen)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("--listen: %w", err)
		}
		if monitor.Exposed(listen) {
			o.Log.Warn().Str("address",
				address).Msg("--listen is no loopback address: whoever reaches it sees the confidential measures of the stream")
		}
		o.Log.Info().Str("address", "http://"+address).Msg("serving metrics, health and the live page")
	}
	changed := make(chan pipeline.Changed, 1)
	o.Reload = changed
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer bug.Guard()
		for {
			select {
			case <-hangups:
			case <-ctx.Done():
				return
			}
			var c pipeline.Changed
			if path == "-" {
				c.Err = errors.New("the configuration came from standard input, which cannot be read again")
			} else {
				c.Config, c.Err = s.load(path)
			}
			select {
			case <-changed: // an earlier change that has not been taken yet
			default:
			}
			changed <- c
		}
	}()
	return func() {
		signal.Stop(hangups)
		cancel()
		o.Monitor.Close()
	}, nil
}
