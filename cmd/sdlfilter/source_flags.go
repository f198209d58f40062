package main

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/formats"
)

// sourceFlags are the options of files that a command gets by name, without a configuration.
type sourceFlags struct {
	text  map[string]*string
	words map[string]*[]string
}

func (s *sourceFlags) add(flags *pflag.FlagSet) {
	s.text, s.words = map[string]*string{}, map[string]*[]string{}
	for _, o := range formats.Options() {
		doc := strings.ToUpper(o.Format) + ": " + o.Doc
		if o.Words != nil {
			s.words[o.Name] = flags.StringSlice(o.Name, nil, doc)
		} else {
			s.text[o.Name] = flags.String(o.Name, "", doc)
		}
	}
}

// source is the source that a path stands for; the flags hold where its format has
// such options.
func (s *sourceFlags) source(path string) (connectors.SourceConfig, error) {
	source, err := formats.SourceOf(path)
	if err != nil {
		return nil, usageError{err}
	}
	options := source.Abilities().Options
	for _, o := range options {
		if text := s.text[o.Name]; o.Text != nil && text != nil && *text != "" {
			*o.Text = *text
		}
		if words := s.words[o.Name]; o.Words != nil && words != nil && *words != nil {
			*o.Words = *words
		}
	}
	if len(options) == 0 {
		return source, nil
	}
	var errs []error
	for _, p := range source.Check() {
		errs = append(errs, usageError{errors.New("--" + p.Error())})
	}
	return source, errors.Join(errs...)
}
