package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/draft/argus"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

// fromBatch writes the configuration that a batch file of τ-ARGUS stands for into a new folder.
func (s *state) fromBatch(batch, folder string) error {
	name := filepath.Join(folder, "tables.yaml")
	var warnings []string
	done, err := argus.Convert(batch, folder, func(text []byte) error {
		t, err := tabling.Parse(name, text, config.Options{})
		if err == nil {
			warnings = t.Warnings
		}
		return err
	})
	if err != nil && done == nil {
		return err
	}
	var wrong []string
	log := s.logger()
	for _, n := range done.Notes {
		if n.Wrong {
			wrong = append(wrong, n.String())
		} else {
			log.Warn().Msg(n.String())
		}
	}
	if len(wrong) > 0 {
		return usageError{errors.New(strings.Join(wrong, "\n"))}
	}
	var unfit *argus.Unfit
	if errors.As(err, &unfit) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
	if !s.quiet {
		fmt.Printf("Written: %s\nThe next command makes the tables: sdlfilter tables %s\n", strings.Join(done.Files, ", "),
			done.Config)
	}
	return nil
}
