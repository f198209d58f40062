package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
)

// makeTableMap maps the tables of a configuration of sdlfilter tables; name is that of
// the file in messages.
func (s *state) makeTableMap(cmd *cobra.Command, path, name string, text []byte, o *mapOptions) error {
	t, err := config.ParseTabulation(name, text, config.Options{Set: s.set})
	if err != nil {
		return err
	}
	log := s.logger()
	for _, w := range t.Warnings {
		log.Warn().Msg(w)
	}
	watch := &pipeline.Progress{}
	stop, err := s.watch(watch)
	if err != nil {
		return err
	}
	m, err := tabling.Map(cmd.Context(), t, pipeline.Options{Version: version(), Log: log, Progress: watch})
	stop()
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := writeTableMap(o.out, m); err != nil {
			return err
		}
	}
	switch {
	case o.asJSON:
		err = tablemap.WriteJSON(os.Stdout, m)
	case !s.quiet:
		to := os.Stdout
		if o.dryRun {
			to = os.Stderr
		}
		err = tablemap.Summary(to, m, colored(to), width(to))
	}
	if err != nil || o.apply == "" {
		return err
	}
	if m.Recommended == nil {
		s.status = exitRefused
		fmt.Fprintf(os.Stderr, "sdlfilter: nothing is applied: %s\n", m.Reason)
		return nil
	}
	return applyToTables(t, m, path, o)
}

// writeTableMap writes the files of a map into a folder, readable by their owner alone.
func writeTableMap(folder string, m *tablemap.Map) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer, *tablemap.Map) error
	}{
		{"map.csv", tablemap.WriteCSV}, {"map.svg", tablemap.WriteSVG}, {"map.png", tablemap.WritePNG},
		{"map.html", tablemap.WriteHTML}, {"map.json", tablemap.WriteJSON},
	} {
		var text bytes.Buffer
		if err := f.write(&text, m); err != nil {
			return err
		}
		if err := publish.WriteFile(filepath.Join(folder, f.name), publish.Confidential, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// applyToTables writes the recommended protection into a configuration.
func applyToTables(t *config.Tabulation, m *tablemap.Map, path string, o *mapOptions) error {
	candidates, _, err := t.Candidates()
	if err != nil {
		return err
	}
	choice := &candidates[*m.Recommended]
	text, err := t.Protected(choice)
	if err != nil {
		return err
	}
	if o.dryRun {
		_, err = os.Stdout.Write(text)
		return err
	}
	to := o.apply
	if to == inPlace {
		to = path
	}
	if err := rewrite(to, path, text); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "sdlfilter: written to %s: %s\n", to, choice)
	return nil
}
