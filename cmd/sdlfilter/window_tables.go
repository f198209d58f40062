package main

import (
	"context"
	"fmt"
	"os"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

// makeWindows makes the tables of the windows of topics, says of each window how it ended, and
// sets the exit status.
func (s *state) makeWindows(ctx context.Context, t *tabling.Config, watched *watchedTables) error {
	o := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{}, AllowLoosening: s.loosen}
	stop, err := s.watch(o.Progress)
	if err != nil {
		return err
	}
	result, err := tabling.RunWindows(ctx, t, o, tabling.Observer{
		Looked: watched.state.Looked,
		Begun:  func(int) { watched.state.Begun() },
		Done: func(w *tabling.WindowResult) {
			s.sayWindow(w)
			watched.windowDone(s, w)
		},
	})
	stop()
	if result != nil {
		s.streaming = result.Windows+result.Withheld+result.Empty > 0
	}
	if err != nil {
		return err
	}
	s.cut = result.Cut
	switch {
	case result.Withheld > 0:
		s.status = exitRefused
	case result.Lost > 0:
		s.status = exitQuarantined
	}
	if !s.quiet {
		fmt.Printf("%d windows published, %d withheld\n", result.Windows, result.Withheld)
		switch {
		case result.Left > 0 && t.Window.Every > 0:
			fmt.Printf("Offsets after the last window: %d; their records are in no table until their window has ended\n",
				result.Left)
		case result.Left > 0:
			fmt.Printf(
				"Offsets after the last window: %d, fewer than the %d of a window; their records are in no table until it is complete\n", result.Left, t.Window.Records)
		}
	}
	return nil
}

// sayWindow prints how a window ended.
func (s *state) sayWindow(w *tabling.WindowResult) {
	switch {
	case w.Empty && !s.quiet:
		fmt.Printf("Window %d has no records, and no tables\n", w.Number)
	case w.Empty:
	case !s.quiet:
		fmt.Println(windowTitle(&w.Window))
		summariseTables(os.Stdout, w.Result)
	case w.Withheld:
		sayWithheld(fmt.Sprintf("window %d: %s", w.Number, w.Report.Withheld))
	}
}

// windowTitle names a window, and says when it ends.
func windowTitle(w *tabling.Window) string {
	if w.Until == "" {
		return fmt.Sprintf("Window %d", w.Number)
	}
	return fmt.Sprintf("Window %d, until %s", w.Number, w.Until)
}
