package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/project"
)

// loadAny reads a configuration that records are released by: of one pipeline, or of a project of several tables; the
// other one is nil.
func (s *state) loadAny(path string) (*config.Pipeline, *project.Config, error) {
	opts := config.Options{Set: s.set}
	name, text, err := config.ReadFile(path, opts)
	if err != nil {
		return nil, nil, err
	}
	if !project.Is(text) {
		p, err := s.parsedToMeasure(config.Parse(name, text, opts))
		if err != nil {
			return nil, nil, err
		}
		return p, nil, p.LooseningAllowed(s.loosen)
	}
	c, err := project.Parse(name, text, opts)
	if err != nil {
		return nil, nil, err
	}
	log := s.logger()
	for _, p := range c.Pipelines() {
		if _, err := s.parsedToMeasure(p, nil); err != nil {
			return nil, nil, err
		}
	}
	for _, w := range c.Warnings {
		log.Warn().Msg(w)
	}
	logLoosened(log, c.Loosened)
	return nil, c, c.LooseningAllowed(s.loosen)
}

// runProject releases the tables of a project, sets the exit status and says how it ended.
func (s *state) runProject(ctx context.Context, c *project.Config, o *runOptions) error {
	if o.listen != "" || o.metrics != "" {
		return usageError{
			errors.New(
				"--listen and --metrics-file are of one pipeline, and this is a project of several tables: its report is in the file that report.json names")}
	}
	stopProfile, err := profileCPU(o.cpuProfile)
	if err != nil {
		return err
	}
	defer stopProfile()
	options := pipeline.Options{Version: version(), Log: s.logger(), Progress: &pipeline.Progress{},
		AllowLoosening: s.loosen}
	stop, err := s.watch(options.Progress)
	if err != nil {
		return err
	}
	result, err := s.recordedProject(ctx, c, options)
	stop()
	if err != nil {
		return err
	}
	switch {
	case result.Refused():
		s.status = exitRefused
	case result.Quarantined() > 0:
		s.status = exitQuarantined
	}
	switch {
	case o.summary == "json":
		return result.Brief(os.Stdout, s.status)
	case !s.quiet:
		result.Summary(os.Stdout)
	case result.Refused():
		sayWithheld(result.Report.Withheld)
	}
	return nil
}

// validateProject checks a project as validate does a pipeline.
func (s *state) validateProject(ctx context.Context, path string, c *project.Config, connect bool) error {
	if err := project.Check(ctx, c, connect); err != nil {
		return err
	}
	if !s.quiet {
		fmt.Printf("%s: valid\n", path)
	}
	return nil
}
