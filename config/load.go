package config

import (
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
)

// Options say what a configuration is read with besides its file.
type Options = form.Options

// Error is one thing wrong with a configuration: it reads
// "masks[1].noise.sd: must be at least 0, got -3 (pipeline.yaml:17:9)".
type Error = form.Error

// Errors is everything that is wrong with a configuration, in the order of the file; errors
// about the environment and the command line come last.
type Errors = form.Errors

// Load reads a configuration: decodes the file, puts environment and --set over
// it, expands ${…} and checks everything that can be known without the network
// and without data. The error is of type Errors and holds everything that is
// wrong.
func Load(path string, opts Options) (*Pipeline, error) {
	name, text, err := ReadFile(path, opts)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, opts)
}

// ReadFile reads the text of a configuration of either kind, and the name that errors give
// it. The error is of type Errors.
func ReadFile(path string, opts Options) (name string, text []byte, err error) {
	text, name, err = form.ReadFile(path, opts.Stdin)
	if err != nil {
		return name, nil, Errors{{Text: "the configuration " + form.Reason(err), File: name}}
	}
	return name, text, nil
}

// Parse is Load of a text; file is the name that errors give it.
func Parse(file string, text []byte, opts Options) (*Pipeline, error) {
	return parse(file, text, root(), opts)
}

func parse(file string, text []byte, of *form.Form, opts Options) (*Pipeline, error) {
	p := &Pipeline{}
	r, err := dialect().Read(file, text, of, p, opts)
	if err != nil {
		return nil, err
	}
	l := &loader{r}
	p.loaded, p.Warnings = l, r.Warnings()
	p.Key.lookup = r.Lookup
	if p.Lineage != nil {
		p.Lineage.Token.Lookup = r.Lookup
	}
	p.Name = l.named(p.Name)
	l.tellConnectors(p)
	l.fillStream(p)
	l.fillKeys(p)
	l.validate(p)
	if err := l.Err(); err != nil {
		return nil, err
	}
	p.Loosened = l.loosened(p)
	return p, nil
}

// tellConnectors gives a source and a sink the settings that are not among their own fields:
// the function that reads passwords, and the pipeline's name.
func (l *loader) tellConnectors(p *Pipeline) {
	for _, can := range []connectors.ConfigAbilities{p.Source.Abilities().ConfigAbilities,
		p.Sink.Abilities().ConfigAbilities} {
		if can.SetLookup != nil {
			can.SetLookup(l.Lookup)
		}
		if can.SetPipeline != nil {
			can.SetPipeline(p.Name)
		}
	}
}

// loader judges a configuration that has been read: what its fields mean together.
type loader struct{ *form.Reading }
