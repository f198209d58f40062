package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Options say what a configuration is read with besides its file.
type Options struct {
	// Set are settings of the command line, each path.to.field=value. They win
	// over the environment, which wins over the file.
	Set []string
	// LookupEnv finds an environment variable, for ${NAME} and for keys. nil:
	// os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
	// Environ lists the environment's NAME=value, for SDLFILTER_… settings. nil:
	// os.Environ, or nothing where LookupEnv is given.
	Environ func() []string
	// Stdin is read where the path is "-". nil: os.Stdin.
	Stdin io.Reader
}

// Load reads a configuration: decodes the file, puts environment and --set over
// it, expands ${…} and checks everything that can be known without the network
// and without data. The error is of type Errors and holds everything that is
// wrong.
func Load(path string, opts Options) (*Pipeline, error) {
	text, name, err := readFile(path, opts.Stdin)
	if err != nil {
		return nil, Errors{{Text: "the configuration " + reason(err), File: name}}
	}
	return Parse(name, text, opts)
}

func readFile(path string, stdin io.Reader) (text []byte, name string, err error) {
	if path == "-" {
		if stdin == nil {
			stdin = os.Stdin
		}
		text, err = readLimited(stdin)
		return text, "standard input", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, path, err
	}
	defer f.Close()
	text, err = readLimited(f)
	return text, path, err
}

// Parse is Load of a text; file is the name that errors give it.
func Parse(file string, text []byte, opts Options) (*Pipeline, error) {
	lookup, environ := opts.LookupEnv, opts.Environ
	switch {
	case lookup == nil && environ == nil:
		lookup, environ = os.LookupEnv, os.Environ
	case lookup == nil:
		lookup = os.LookupEnv
	case environ == nil:
		environ = func() []string { return nil }
	}
	document, errs := parse(file, text)
	if len(errs) > 0 {
		return nil, errs.sorted()
	}
	l := newLoader(file, lookup)
	l.source, l.options = text, Options{Set: opts.Set, LookupEnv: lookup, Environ: environ}
	p := &Pipeline{loaded: l}
	if document.Kind == yaml.MappingNode {
		for _, s := range environmentSettings(environ(), string(text)) {
			if wrong := l.set(document, s); wrong != "" {
				p.Warnings = append(p.Warnings, fmt.Sprintf("%s is not a setting: %s", s.origin, wrong))
			}
		}
		for _, flag := range opts.Set {
			s, err := flagSetting(flag)
			if err != nil {
				l.errs = append(l.errs, err.(Error))
			} else if wrong := l.set(document, s); wrong != "" {
				l.errs = append(l.errs, Error{Text: wrong, File: s.origin})
			}
		}
	}
	l.expand(document, "")
	l.decode(root(), document, "", reflect.ValueOf(p).Elem(), allowed{})
	p.Key.lookup = lookup
	if p.Name == "" && l.values["name"] == nil {
		base := filepath.Base(file)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	l.tellConnectors(p)
	l.fillStream(p)
	l.validate(p)
	if len(l.errs) > 0 {
		return nil, l.errs.sorted()
	}
	p.Loosened = l.loosened()
	return p, nil
}

// tellConnectors gives a source and a sink what is not among their own fields:
// where passwords are looked up, and the pipeline's name.
func (l *loader) tellConnectors(p *Pipeline) {
	for _, connector := range []any{p.Source.Config, p.Sink.Config} {
		if c, ok := connector.(interface {
			SetLookup(func(string) (string, bool))
		}); ok {
			c.SetLookup(l.lookup)
		}
		if c, ok := connector.(interface{ SetPipeline(name string) }); ok {
			c.SetPipeline(p.Name)
		}
	}
}

// loader is one configuration being read: its problems so far, and where
// everything stands.
type loader struct {
	file    string
	source  []byte  // the text of the file
	options Options // what it is read with
	lookup  func(string) (string, bool)
	errs    Errors
	values  map[string]*yaml.Node // by path, everything given
	keys    map[string]*yaml.Node // by path, the names of fields
	origin  map[*yaml.Node]string // nodes that are not from the file
	written map[*yaml.Node]string // expanded scalars as they stand in the file
	failed  map[*yaml.Node]bool   // scalars that could not be expanded
	broken  map[string]bool       // by path, values that could not be read: what is below them is unknown
	strange map[string][]string   // by path of a mapping, the names in it that are no fields
	grown   map[string]bool       // by path, elements of lists that settings have added
	changes []change              // what settings have made of the file
}

func newLoader(file string, lookup func(string) (string, bool)) *loader {
	return &loader{
		file: file, lookup: lookup,
		values: map[string]*yaml.Node{}, keys: map[string]*yaml.Node{},
		origin: map[*yaml.Node]string{}, written: map[*yaml.Node]string{},
		failed: map[*yaml.Node]bool{}, broken: map[string]bool{}, strange: map[string][]string{}, grown: map[string]bool{},
	}
}

// given reports whether the field at path stands in the file or was set.
func (l *loader) given(path string) bool { return l.values[path] != nil }

// at is the place of a node.
func (l *loader) at(n *yaml.Node) place {
	if origin, set := l.origin[n]; set {
		return place{file: origin}
	}
	return place{l.file, n.Line, n.Column}
}

// nearest returns the node at path or, where there is none, of what holds it.
func (l *loader) nearest(path string) *yaml.Node {
	for {
		if n := l.values[path]; n != nil {
			return n
		}
		if path == "" {
			return nil
		}
		path = parent(path)
	}
}

// problem is an error about the field at path that stands at the place of where.
func (l *loader) problem(where, path, text string) Error {
	n := l.nearest(where)
	if n == nil {
		return place{l.file, 1, 1}.error(path, text)
	}
	if written, expanded := l.written[n]; expanded && n.Value != "" {
		// What an expansion brought in may be secret.
		text = strings.ReplaceAll(text, fmt.Sprintf("%q", n.Value), fmt.Sprintf("%q", written))
		text = strings.ReplaceAll(text, "got "+n.Value, "got "+written)
		if len(n.Value) >= 8 {
			text = strings.ReplaceAll(text, n.Value, written)
		}
	}
	return l.at(n).error(path, text)
}

func (l *loader) wrong(path, format string, args ...any) { l.wrongAt(path, path, format, args...) }

func (l *loader) wrongAt(where, path, format string, args ...any) {
	l.errs = append(l.errs, l.problem(where, path, fmt.Sprintf(format, args...)))
}

// unreadable is wrong for a value that is then unknown.
func (l *loader) unreadable(path, format string, args ...any) {
	l.broken[path] = true
	l.wrong(path, format, args...)
}

// known reports whether the value at path could be read, and all that holds it.
func (l *loader) known(path string) bool {
	for ; path != ""; path = parent(path) {
		if l.broken[path] {
			return false
		}
	}
	return !l.broken[""]
}

// sound reports whether nothing is wrong at path or below it, so that what
// depends on it can be judged.
func (l *loader) sound(paths ...string) bool {
	for _, e := range l.errs {
		for _, path := range paths {
			if e.Path == path || strings.HasPrefix(e.Path, path+".") || strings.HasPrefix(e.Path, path+"[") {
				return false
			}
		}
	}
	return true
}
