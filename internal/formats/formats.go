// Package formats is the list of the formats that the program reads and writes; who
// imports it can name them in a configuration. A new
// one is a folder in connectors and a line here: the configuration and its schema, the
// files of a command line, and the first configuration that init writes follow.
package formats

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/connectors/postgres"
	"github.com/sdlfilter/sdlfilter/connectors/statfile"
	"github.com/sdlfilter/sdlfilter/connectors/xlsx"
)

// All are the formats, in the order in which messages and the schema list them.
var All = append([]connectors.Format{parquet.Kind, csv.Kind, jsonl.Kind, arrowipc.Kind, kafka.Kind, postgres.Kind,
	iceberg.Kind, xlsx.Kind}, statfile.Kinds...)

func init() { connectors.Register(All...) }

// Of returns the format that a path has by its name: that of a file, of a folder named
// after its format (data.parquet/), or of a glob (data/*.parquet). base is the path
// without the extension, and without that of a compression.
func Of(path string) (f connectors.Format, base string, err error) {
	var known []string
	for _, f := range All {
		if base, ok := f.Takes(path); ok {
			return f, base, nil
		}
		known = append(known, f.Extensions...)
	}
	last := len(known) - 1
	return connectors.Format{}, path,
		fmt.Errorf("%s: the format is not known by its name; must end in %s or %s", path, strings.Join(known[:last], ", "),
			known[last])
}

// SourceOf is the source that a path stands for, by its name.
func SourceOf(path string) (connectors.SourceConfig, error) {
	f, _, err := Of(path)
	if err != nil {
		return nil, err
	}
	return f.At(path), nil
}

// Option is an option that the sources of some formats have.
type Option struct {
	connectors.Option
	Format string // the first of the formats that has it
}

// Options are the options of the sources of files, each name once.
func Options() []Option {
	var all []Option
	seen := map[string]bool{}
	for _, f := range All {
		if f.At == nil {
			continue
		}
		for _, o := range f.At("").Abilities().Options {
			if !seen[o.Name] {
				seen[o.Name] = true
				all = append(all, Option{o, f.Name})
			}
		}
	}
	return all
}
