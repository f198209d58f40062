package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// Kind is a kind of configuration beside a pipeline's, such as that of tables. Its types are in a package beside
// what they configure; this package knows none of them. They may have a pipeline's Source, Sink, Secret, Missing and
// Duration.
type Kind struct {
	title, doc string
	dialect    func() *form.Dialect
	root       func() *form.Form
}

// NewKind returns the kind of the configurations of type T. records are its types whose members are not their Go
// fields, beside those of a pipeline.
func NewKind[T any](title, doc string, records map[reflect.Type]func(*form.Dialect) []form.Member) Kind {
	own := sync.OnceValue(func() *form.Dialect { return dialectWith(records) })
	return Kind{title, doc, own, sync.OnceValue(func() *form.Form { return own().Of(reflect.TypeFor[T]()) })}
}

// Schema is the JSON Schema (draft 2020-12) of the configuration file.
func (k Kind) Schema() ([]byte, error) { return k.dialect().Schema(k.root(), k.title, k.doc) }

// Canonical is a configuration that is in force as JSON, from which equal ones are known. Nothing secret is in it.
func (k Kind) Canonical(value any) []byte { return form.Canonical(k.root(), value) }

// Read decodes a text into value, a pointer to the kind's type. The error is of type Errors.
func (k Kind) Read(file string, text []byte, value any, opts Options) (*Loader, error) {
	r, err := k.dialect().Read(file, text, k.root(), value, opts)
	if err != nil {
		return nil, err
	}
	return &Loader{&loader{r}}, nil
}

// Loader judges a configuration of such a kind that has been read: what a form.Reading says of its fields, and what
// holds of a pipeline's wherever it stands.
type Loader struct{ *loader }

// Name is a configuration's name: the given one or, where the file is silent, the file's name without its extension.
func (l *Loader) Name(given string) string { return l.named(given) }

func (l *loader) named(given string) string {
	if given != "" || l.Given("name") {
		return given
	}
	base := filepath.Base(l.File())
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Tell gives a key, a source and a sink what is not among their own fields.
func (l *Loader) Tell(name string, key *Secret, source Source, sink Sink) {
	key.lookup = l.Lookup
	l.tellConnectors(&Pipeline{Name: name, Source: source, Sink: sink})
}

// Extension refuses a sink's file whose name is that of a file of another format.
func (l *Loader) Extension(s Sink) { l.validateExtension(s) }

// Path refuses a path that only a shell would read, and one of an object where only files of this machine can be.
func (l *Loader) Path(field, file string) { l.shellPath(field, file) }

// Files are the files that a configuration names.
type Files struct {
	l               *loader
	inputs, outputs []located
}

// Files returns an empty list, but for the configuration itself.
func (l *Loader) Files() *Files {
	f := &Files{l: l.loader}
	if l.File() != "-" {
		f.Input("", l.File(), "the configuration")
	}
	return f
}

// Input adds a file that is read; words say what it is: "the source".
func (f *Files) Input(field, file, words string) { f.add(&f.inputs, field, file, words) }

// Output adds a file that is written.
func (f *Files) Output(field, file, words string) {
	if file == "-" && f.l.Sound(field) {
		f.l.Wrong(field, "must be a file, got -")
		return
	}
	f.add(&f.outputs, field, file, words)
}

func (f *Files) add(to *[]located, field, file, words string) {
	f.l.shellPath(field, file)
	if file != "" && file != "-" && f.l.Sound(field) {
		*to = append(*to, located{field, file, words})
	}
}

// Apart demands that no output is an input or another output.
func (f *Files) Apart() {
	for i, o := range f.outputs {
		for _, in := range f.inputs {
			f.l.outputBesideInput(o, in)
		}
		for _, before := range f.outputs[:i] {
			if f.l.Sound(o.field) && same(o.file, before.file) {
				f.l.Wrong(o.field, "must not be the file of %s (%s), got %q for %s",
					before.words, before.field, o.file, o.words)
			}
		}
	}
}

// PathOf returns the path of a source's or a sink's configuration, "" where it has none.
func PathOf(connector any) string { return pathOf(connector) }

// SameFile reports whether two paths name one file. Links are not followed.
func SameFile(a, b string) bool { return same(a, b) }

// SinkMembers are the members of a Sink, and one more format, in place of that of its name.
func SinkMembers(d *form.Dialect, name, doc string, fresh func() any) []form.Member {
	others := slices.DeleteFunc(sinks(), func(k kind) bool { return k.name == name })
	return append(kindMembers(d, append(others, kind{name, doc, fresh})), d.Fields(reflect.TypeFor[Sink]())...)
}

// Change is what settings have made of one scalar of a file.
type Change struct{ change }

// OfSource reports whether a change of a field below source loosens.
func (c *Change) OfSource() bool { return c.loosensSource(c.Names) }

// OfSink reports whether a change of a field below sink loosens.
func (c *Change) OfSink() bool { return c.loosensSink(c.Names) }

// Tighter reports whether a limit is at least as strict as that of the file.
func (c *Change) Tighter(field string) bool { return c.tighter(field) }

// Loosened lists the settings that loosen a configuration with this source and sink.
func (l *Loader) Loosened(source Source, sink Sink, loosens func(c *Change) bool) []Loosening {
	p := &Pipeline{Source: source, Sink: sink}
	return l.loosenedBy(func(c form.Change) bool { return loosens(&Change{change{c, p}}) })
}

// LooseningAllowed returns an error for each setting that loosens, unless that is allowed.
func LooseningAllowed(list []Loosening, allowed bool) error { return looseningAllowed(list, allowed) }
