package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/draft"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// missingFlags declare codes for missing values of files that a command gets without a configuration.
type missingFlags []string

func (m *missingFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar((*[]string)(m), "missing", nil,
		"values of a column that mean that there is none, COLUMN=CODE,FROM..TO; may be repeated")
}

// declared returns the declarations by column.
func (m missingFlags) declared() (map[string]*microdata.Missing, error) {
	list := map[string]*microdata.Missing{}
	for _, text := range m {
		name, codes, found := strings.Cut(text, "=")
		if !found || name == "" || codes == "" || list[name] != nil {
			return nil, usageError{fmt.Errorf("--missing must be COLUMN=CODE,FROM..TO, once for each column, got %q", text)}
		}
		var declared config.Missing
		for _, code := range strings.Split(codes, ",") {
			from, to, isRange := strings.Cut(code, "..")
			low, ok1 := microdata.NumberOf(from)
			high, ok2 := microdata.NumberOf(to)
			switch {
			case isRange && ok1 && ok2:
				declared.Codes = append(declared.Codes, config.MissingCode{From: &low, To: &high})
			case code == "":
				return nil, usageError{fmt.Errorf("--missing must have no empty code, got %q", text)}
			default:
				declared.Codes = append(declared.Codes, config.MissingCode{Code: config.MissingValue(code)})
			}
		}
		if ps := declared.Check(); len(ps) > 0 {
			return nil, usageError{fmt.Errorf("--missing %s: %s", name, ps[0].Text)}
		}
		list[name] = declared.Declared()
	}
	return list, nil
}

// propose says on standard error which values of a source look like codes for missing values, in columns without
// declared ones. A source that can be read only once is left alone.
func propose(ctx context.Context, source connectors.SourceConfig, declared func(column string) bool) error {
	src, err := source.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	if !src.Rewindable() {
		return nil
	}
	look, err := draft.Source(ctx, src)
	if err != nil {
		return nil // it has no records
	}
	for i := range look.Columns {
		c := &look.Columns[i]
		if words := c.Proposal(); words != "" && c.Field.Numeric() && !declared(c.Field.Name) {
			fmt.Fprintf(os.Stderr, "sdlfilter: %s: %s\n", c.Field.Name, words)
		}
	}
	return ctx.Err()
}

var errNoCodes = errors.New("--missing is for a data file; a configuration declares codes by columns.X.missing")
