package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// csvFlags are how CSV files are written that a command is given by name, where
// there is no configuration to say it.
type csvFlags struct {
	delimiter, encoding, decimal, thousands string
	na                                      []string
}

func (c *csvFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.delimiter, "delimiter", "", "CSV: what separates fields, one character or tab")
	flags.StringVar(&c.encoding, "encoding", "", "CSV: the text's encoding, such as windows-1252; default UTF-8")
	flags.StringVar(&c.decimal, "decimal", "", "CSV: what stands before decimals, a point (default) or a comma")
	flags.StringVar(&c.thousands, "thousands", "", "CSV: what stands between groups of three digits")
	flags.StringSliceVar(&c.na, "na", nil, "CSV: what stands for no value besides the empty field")
}

// source is the source that a path stands for; the flags hold where it is CSV.
func (c *csvFlags) source(path string) (connectors.SourceConfig, error) {
	source, err := pipeline.SourceOf(path)
	if err != nil {
		return nil, usageError{err}
	}
	of, ok := source.(*csv.SourceConfig)
	if !ok {
		return source, nil
	}
	if c.delimiter != "" {
		of.Delimiter = c.delimiter
	}
	of.Encoding, of.Decimal, of.Thousands, of.NA = c.encoding, c.decimal, c.thousands, c.na
	var errs []error
	for _, p := range of.Check() {
		errs = append(errs, usageError{errors.New("--" + p.Error())})
	}
	return source, errors.Join(errs...)
}
