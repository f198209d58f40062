package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

// makeTableMap maps the tables of a configuration of sdlfilter tables; name is that of
// the file in messages.
func (s *state) makeTableMap(cmd *cobra.Command, path, name string, text []byte, o *mapOptions) error {
	t, err := tabling.Parse(name, text, config.Options{Set: s.set})
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
	made := madeMap{
		files: []mapFile{
			{"map.csv", m.WriteCSV},
			{"map.svg", m.WriteSVG},
			{"map.png", m.WritePNG},
			{"map.html", m.WriteHTML},
		},
		json:    m.WriteJSON,
		summary: func(to *os.File) error { return m.Summary(to, colored(to), width(to)) },
		reason:  m.Reason,
	}
	if m.Recommended != nil {
		made.applied = func() ([]byte, string, error) {
			candidates, _, err := t.Candidates()
			if err != nil {
				return nil, "", err
			}
			choice := &candidates[*m.Recommended]
			text, err := t.Protected(choice)
			return text, choice.String(), err
		}
	}
	return s.handOver(&made, path, o)
}
