package config

import (
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// notEmbedded are the parts that a program which reads and writes itself has no use for.
var notEmbedded = []string{"source", "place", "shard", "sink", "quarantine", "report", "map", "ledger"}

var embedded = sync.OnceValue(func() *form.Form {
	f := *root()
	f.Members = slices.DeleteFunc(slices.Clone(f.Members), func(m form.Member) bool {
		return slices.Contains(notEmbedded, m.Name)
	})
	return &f
})

// ParseEmbedded is Parse of a configuration for package filter: one without source,
// sink, quarantine, report and map, which are the embedding program's own.
func ParseEmbedded(file string, text []byte, opts Options) (*Pipeline, error) {
	return parse(file, text, embedded(), opts)
}

// LoadEmbedded is Load of a configuration for package filter.
func LoadEmbedded(path string, opts Options) (*Pipeline, error) {
	text, name, err := form.ReadFile(path, opts.Stdin)
	if err != nil {
		return nil, Errors{{Text: "the configuration " + form.Reason(err), File: name}}
	}
	return ParseEmbedded(name, text, opts)
}
