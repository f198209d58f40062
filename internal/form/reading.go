package form

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/check"
)

// Options say what a configuration is read with besides its file.
type Options struct {
	// Set are settings of the command line, each path.to.field=value. They win
	// over the environment, which wins over the file.
	Set []string
	// LookupEnv finds an environment variable, for ${NAME} and for keys. nil:
	// os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
	// Environ lists the environment's NAME=value, for settings. nil: os.Environ, or
	// nothing where LookupEnv is given.
	Environ func() []string
	// Stdin is read where the path is "-". nil: os.Stdin.
	Stdin io.Reader
}

// complete gives what is left out its default.
func (o Options) complete() Options {
	switch {
	case o.LookupEnv == nil && o.Environ == nil:
		o.LookupEnv, o.Environ = os.LookupEnv, os.Environ
	case o.LookupEnv == nil:
		o.LookupEnv = os.LookupEnv
	case o.Environ == nil:
		o.Environ = func() []string { return nil }
	}
	return o
}

// ReadFile returns the text of a configuration, "-" being standard input, and the
// name that messages give it. The error says what is wrong, without the name.
func ReadFile(path string, stdin io.Reader) (text []byte, name string, err error) {
	if path == "-" {
		if stdin == nil {
			stdin = os.Stdin
		}
		text, err = ReadLimited(stdin)
		return text, "standard input", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, path, err
	}
	defer f.Close()
	text, err = ReadLimited(f)
	return text, path, err
}

// Read decodes a text along a form into the value that v points to, puts the settings
// of the environment and the command line over it, and expands ${…}. file is the name
// that errors give the text. The error, of type Errors, is of a text that is no YAML;
// everything else that is wrong is in the Reading.
func (d *Dialect) Read(file string, text []byte, f *Form, v any, opts Options) (*Reading, error) {
	document, errs := d.parse(file, text)
	if len(errs) > 0 {
		return nil, errs.Sorted()
	}
	opts = opts.complete()
	r := newReading(d, file, opts.LookupEnv)
	r.form, r.source, r.options = f, text, opts
	if document.Kind == yaml.MappingNode {
		r.settings(document)
	}
	r.expand(document, "")
	r.decode(f, document, "", reflect.ValueOf(v).Elem(), allowed{})
	return r, nil
}

// settings puts those of the environment and of the command line over the document.
func (r *Reading) settings(document *yaml.Node) {
	for _, s := range r.dialect.environment(r.options.Environ(), string(r.source)) {
		if wrong := r.set(document, s); wrong != "" {
			r.warnings = append(r.warnings, fmt.Sprintf("%s is not a setting: %s", s.origin, wrong))
		}
	}
	for _, flag := range r.options.Set {
		s, unfit := flagSetting(flag)
		if unfit != nil {
			r.errs = append(r.errs, *unfit)
		} else if wrong := r.set(document, s); wrong != "" {
			r.errs = append(r.errs, Error{Text: wrong, File: s.origin})
		}
	}
}

// Reading is one configuration that has been read: its problems so far, and where
// everything stands.
type Reading struct {
	dialect  *Dialect
	form     *Form
	file     string
	source   []byte  // the text of the file
	options  Options // what it is read with
	lookup   func(string) (string, bool)
	errs     Errors
	warnings []string
	values   map[string]*yaml.Node // by path, everything given
	keys     map[string]*yaml.Node // by path, the names of fields
	origin   map[*yaml.Node]string // nodes that are not from the file
	written  map[*yaml.Node]string // expanded scalars as they stand in the file
	failed   map[*yaml.Node]bool   // scalars that could not be expanded
	broken   map[string]bool       // by path, values that could not be read: what is below them is unknown
	strange  map[string][]string   // by path of a mapping, the names in it that are no fields
	grown    map[string]bool       // by path, elements of lists that settings have added
	changes  []Change              // what settings have made of the file
}

func newReading(d *Dialect, file string, lookup func(string) (string, bool)) *Reading {
	return &Reading{
		dialect: d, file: file, lookup: lookup,
		values: map[string]*yaml.Node{}, keys: map[string]*yaml.Node{},
		origin: map[*yaml.Node]string{}, written: map[*yaml.Node]string{},
		failed: map[*yaml.Node]bool{}, broken: map[string]bool{}, strange: map[string][]string{}, grown: map[string]bool{},
	}
}

// File is the name that errors give the text.
func (r *Reading) File() string { return r.file }

// Text is the text that was read, without the settings.
func (r *Reading) Text() []byte { return r.source }

// Options are what the text was read with; the environment's functions are not nil.
func (r *Reading) Options() Options { return r.options }

// Lookup finds an environment variable.
func (r *Reading) Lookup(name string) (value string, set bool) { return r.lookup(name) }

// Warnings are the variables of the environment that look like settings but are none.
func (r *Reading) Warnings() []string { return r.warnings }

// Err is all that is wrong, of type Errors and in the order of the file; nil where
// nothing is.
func (r *Reading) Err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs.Sorted()
}

// Add adds an error that has a place already.
func (r *Reading) Add(e Error) { r.errs = append(r.errs, e) }

// Given reports whether the field at path stands in the file or was set.
func (r *Reading) Given(path string) bool { return r.values[path] != nil }

// Literal reports whether the value at path is given, and is not what an expansion
// of ${…} brought in.
func (r *Reading) Literal(path string) bool {
	n := r.values[path]
	return n != nil && r.written[n] == ""
}

// at is the place of a node.
func (r *Reading) at(n *yaml.Node) place {
	if origin, set := r.origin[n]; set {
		return place{file: origin}
	}
	return place{r.file, n.Line, n.Column}
}

// nearest returns the node at path or, where there is none, of what holds it.
func (r *Reading) nearest(path string) *yaml.Node {
	for {
		if n := r.values[path]; n != nil {
			return n
		}
		if path == "" {
			return nil
		}
		path = Parent(path)
	}
}

// Problem is an error about the field at path that stands at the place of where.
func (r *Reading) Problem(where, path, text string) Error {
	n := r.nearest(where)
	if n == nil {
		return place{r.file, 1, 1}.error(path, text)
	}
	if written, expanded := r.written[n]; expanded && n.Value != "" {
		// What an expansion brought in may be secret.
		text = strings.ReplaceAll(text, fmt.Sprintf("%q", n.Value), fmt.Sprintf("%q", written))
		text = strings.ReplaceAll(text, "got "+n.Value, "got "+written)
		if len(n.Value) >= 8 {
			text = strings.ReplaceAll(text, n.Value, written)
		}
	}
	return r.at(n).error(path, text)
}

// Wrong reports what is wrong with the field at path: what must hold and what was found.
func (r *Reading) Wrong(path, format string, args ...any) { r.WrongAt(path, path, format, args...) }

// WrongAt is Wrong of a field that is not there, at the place of what should hold it. Of a value
// that could not be read nothing more is said.
func (r *Reading) WrongAt(where, path, format string, args ...any) {
	if !r.Known(path) {
		return
	}
	r.errs = append(r.errs, r.Problem(where, path, fmt.Sprintf(format, args...)))
}

// unreadable is wrong for a value that is then unknown.
func (r *Reading) unreadable(path, format string, args ...any) {
	r.Wrong(path, format, args...)
	r.broken[path] = true
}

// Known reports whether the value at path could be read, and all that holds it.
func (r *Reading) Known(path string) bool {
	for ; path != ""; path = Parent(path) {
		if r.broken[path] {
			return false
		}
	}
	return !r.broken[""]
}

// Sound reports whether nothing is wrong at path or below it, so that what
// depends on it can be judged.
func (r *Reading) Sound(paths ...string) bool {
	for _, e := range r.errs {
		for _, path := range paths {
			if e.Path == path || strings.HasPrefix(e.Path, path+".") || strings.HasPrefix(e.Path, path+"[") {
				return false
			}
		}
	}
	return true
}

// WrongName reports what is wrong with the name of the field at path.
func (r *Reading) WrongName(path, format string, args ...any) {
	at := place{r.file, 1, 1}
	if key := r.keys[path]; key != nil {
		at = r.at(key)
	}
	r.errs = append(r.errs, at.error(path, fmt.Sprintf(format, args...)))
}

// Within adds the problems of a value at path, except where something is wrong
// already.
func (r *Reading) Within(path string, problems check.Problems) {
	var ps check.Problems
	ps.Within(path, problems)
	for _, problem := range ps {
		holder := Parent(problem.Path)
		field := strings.TrimPrefix(problem.Path[len(holder):], ".")
		if r.Known(problem.Path) && r.Sound(problem.Path) && !r.Misspelt(holder, field) {
			r.Wrong(problem.Path, "%s", problem.Text)
		}
	}
}

// NamesRead reports whether the names in the mapping at path are known: it is given,
// and nothing is wrong with it as a whole.
func (r *Reading) NamesRead(path string) bool {
	return r.Given(path) && !slices.ContainsFunc(r.errs, func(e Error) bool { return e.Path == path })
}
