package connectors

import "strings"

// Format describes a format of files, or a kind of connection, to the rest of the program.
// internal/formats has the list.
type Format struct {
	Name string // the word that a configuration uses: "parquet"

	// NewSource gives a configuration of its own each time, a pointer to the struct
	// that the fields are decoded into; nil where the format cannot be read.
	NewSource func() SourceConfig
	SourceDoc string
	// NewSink is the same of sinks.
	NewSink func() SinkConfig
	SinkDoc string
	// Labelled: the sink has the field labels, which says what it releases of a source's labels.
	Labelled bool

	// Extensions are the ends of the names of the format's files, with the dot, in lower case;
	// releases use the first one. There are none if the format has no files, or if a path does not
	// determine it.
	Extensions []string
	// Compressed are extensions that may follow (".gz").
	Compressed []string
	// At is the source of a path that ends in one of the extensions, where nothing
	// else is known; nil where Extensions is empty.
	At func(path string) SourceConfig
}

// Takes reports whether a path is, by its name, that of a file of the format, of a
// folder named after it (data.parquet/), or a glob of them (*.parquet). base is the
// path without that extension, as it stands, and without that of a compression.
func (f Format) Takes(path string) (base string, ok bool) {
	base = strings.TrimRight(path, "/")
	for _, c := range f.Compressed {
		if rest, compressed := cutSuffixFold(base, c); compressed {
			base = rest
			break
		}
	}
	for _, ext := range f.Extensions {
		if rest, has := cutSuffixFold(base, ext); has {
			return rest, true
		}
	}
	return path, false
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if at := len(s) - len(suffix); at >= 0 && strings.EqualFold(s[at:], suffix) {
		return s[:at], true
	}
	return s, false
}

// Option is a setting of a source, besides its path, that a command line can give without a
// configuration.
type Option struct {
	Name string // as in a configuration
	Doc  string
	// Text or Words is the field of the configuration that it sets.
	Text  *string
	Words *[]string
}

var registered []Format

// Register adds formats that a configuration can name, in the order in which messages
// and the schema list them. It is for the init functions of packages: a program has just
// the formats that it is built with.
func Register(formats ...Format) { registered = append(registered, formats...) }

// Formats returns the formats of this program, in the order of Register.
func Formats() []Format { return registered }
