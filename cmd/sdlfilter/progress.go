package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// watch shows how far a run has come until the function it returns is called.
func (s *state) watch(p *pipeline.Progress) (stop func(), err error) {
	shown := func() {}
	switch s.progress {
	case "json":
		shown = every(time.Second, func(since time.Time) { writeProgress(p, since) })
	case "auto":
		if terminal(os.Stderr) && !s.quiet {
			shown = bar(p)
		}
	case "none":
	default:
		return nil, usageError{fmt.Errorf("--progress must be auto, json or none, got %q", s.progress)}
	}
	followed := s.spans.Follow(p)
	return func() { shown(); followed() }, nil
}

// watched does work, and shows meanwhile how far it is.
func (s *state) watched(p *pipeline.Progress, work func() error) error {
	stop, err := s.watch(p)
	if err != nil {
		return err
	}
	defer stop()
	return work()
}

// every calls show at an interval and once more at the end.
func every(interval time.Duration, show func(since time.Time)) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	start := time.Now()
	wg.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		defer bug.Guard()
		for {
			select {
			case <-ticker.C:
				show(start)
			case <-done:
				show(start)
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// progressLine is one line of `--progress json`.
type progressLine struct {
	Phase          string   `json:"phase"`
	Records        int64    `json:"records"`
	PerSecond      float64  `json:"records_per_second"`
	Share          *float64 `json:"share,omitempty"`
	SecondsLeft    *float64 `json:"seconds_left,omitempty"`
	SecondsElapsed float64  `json:"seconds_elapsed"`
}

func writeProgress(p *pipeline.Progress, since time.Time) {
	elapsed := time.Since(since).Seconds()
	line := progressLine{Phase: p.Phase(), Records: p.Records(), PerSecond: rounded(p.Rate()),
		SecondsElapsed: rounded(elapsed)}
	if total := p.Total(); total > 0 {
		share := min(float64(line.Records)/float64(total), 1)
		line.Share = &share
		if line.PerSecond > 0 {
			left := rounded(max(float64(total-line.Records), 0) / line.PerSecond)
			line.SecondsLeft = &left
		}
	}
	if text, err := json.Marshal(line); err == nil {
		fmt.Fprintln(os.Stderr, string(text))
	}
}

// rounded is a figure of the clock with three digits: further ones would say nothing, and could
// by chance be those of a value.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// bar draws a progress bar on the terminal: phase, records, rate, share, time left.
func bar(p *pipeline.Progress) (stop func()) {
	container := mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(32), mpb.WithAutoRefresh())
	b := container.AddBar(0,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(
			decor.Any(func(decor.Statistics) string { return fmt.Sprintf("%-8s", p.Phase()) }),
			decor.CurrentNoUnit("%d records", decor.WCSyncSpace),
		),
		mpb.AppendDecorators(
			decor.NewPercentage("%d"),
			decor.AverageSpeed(0, "  %.0f/s"),
			decor.AverageETA(decor.ET_STYLE_GO, decor.WCSyncSpace),
		),
	)
	end := every(200*time.Millisecond, func(time.Time) {
		if total := p.Total(); total > 0 {
			b.SetTotal(total, false)
		}
		b.SetCurrent(p.Records())
	})
	return func() {
		end()
		b.Abort(true)
		container.Wait()
	}
}
