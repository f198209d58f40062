package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

// watchedTables is what the flags --metrics-file and --listen of tables ask for.
type watchedTables struct {
	metrics, listen string
	state           *monitor.Tables // nil: not requested
}

// prepare begins to note how the command goes, of which path is the configuration.
func (w *watchedTables) prepare(path string) {
	if w.metrics != "" || w.listen != "" {
		w.state = monitor.NewTables(monitor.Info{Name: path, Version: version()})
	}
}

// begin holds the flags against the configuration, and begins to serve.
func (w *watchedTables) begin(ctx context.Context, s *state, t *tabling.Config) error {
	if w.listen != "" && t.Window == nil {
		return usageError{
			fmt.Errorf(
				"--listen shows the windows of a topic while they are made, and this configuration has no window: --metrics-file tells how a run ended")}
	}
	source := t.Pipeline
	if source == "" {
		source = pipeline.DescribeSource(t.Source)
	}
	w.state.Loaded(
		monitor.Info{Name: t.Name, Version: version(), Source: source, Sink: pipeline.DescribeSink(config.Sink(t.Sink))},
		t.Window != nil)
	if w.listen == "" {
		return nil
	}
	address, err := w.state.Serve(context.WithoutCancel(ctx), w.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	log := s.logger()
	if monitor.Exposed(w.listen) {
		log.Warn().Str("address",
			address).Msg(
			"--listen is no loopback address: whoever reaches it sees how many windows were withheld and how many cells were held back")
	}
	log.Info().Str("address", "http://"+address).Msg("serving metrics and health")
	return nil
}

// judged notes what became of tables.
func (w *watchedTables) judged(r *tabling.Report) {
	var cells []monitor.TableCells
	for _, t := range r.Public().Tables {
		cells = append(cells, monitor.TableCells{Name: t.Name, Published: t.Published, Held: t.Suppressed, Empty: t.Empty})
	}
	w.state.Judged(r.Gate, r.Withheld == "", cells)
}

// windowDone notes how a window ended, and writes the metrics.
func (w *watchedTables) windowDone(s *state, made *tabling.WindowResult) {
	if w.state == nil {
		return
	}
	result := monitor.WindowPublished
	switch {
	case made.Empty:
		result = monitor.WindowEmpty
	case made.Withheld:
		result = monitor.WindowWithheld
	}
	end, err := made.End()
	if err != nil {
		end = time.Time{}
	}
	w.state.Made(result, made.Number, end)
	if made.Result != nil {
		w.judged(made.Report)
	}
	if err := w.write(); err != nil {
		log := s.logger()
		log.Warn().Err(err).Msg("the metrics of this window are not written")
	}
}

// end notes how the command ended, and writes the metrics.
func (w *watchedTables) end(s *state, err error) error {
	if w.state == nil {
		return err
	}
	defer w.state.Close()
	status := s.status
	if err != nil {
		status = statusOf(err)
	}
	w.state.Ended(status)
	return errors.Join(err, w.write())
}

func (w *watchedTables) write() error {
	if w.metrics == "" {
		return nil
	}
	if err := w.state.Write(w.metrics); err != nil {
		return fmt.Errorf("--metrics-file: %w", err)
	}
	return nil
}
