// Package json reads and writes messages that are JSON objects (RFC 8259), one a
// message, over as many lines as it likes.
//
// JSON has no schema: the listed columns are it. A column is a member, or by a
// dotted path a member of a nested object; what lies below a listed member
// belongs to it. A column that masks compute with, or of which decimals are
// given, is float64. One that identifies the respondent is a dense union of
// string, number, boolean and decimal (integers that no float64 is), so that its
// digest is that of the same value in a file with types. Every other column is
// JSON text, as it came. Null and missing are null.
//
// From JSON to JSON a message stays as it came, white space included: values of
// masked columns are replaced in their place, members that are not released are
// cut out with their comma. From other formats columns with dotted names become
// nested objects.
//
// A message is rejected that is no object of valid JSON in UTF-8, that has a
// listed member twice, an object or array where the column has single values, or
// a value in a decoded number column that no float64 can be.
package json

import (
	"context"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors/members"
	"github.com/sdlfilter/sdlfilter/connectors/message"
)

// Config is the format's configuration: there is nothing to be said.
type Config struct{}

// Check implements message.Config.
func (c *Config) Check() check.Problems { return nil }

// Reader implements message.Config.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newReader(r)
}

// Writer implements message.Config.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var tree *members.Tree
	if from, ok := r.Reader.(*reader); ok {
		tree = from.tree
	}
	texts, _ := r.Reader.(members.Texts)
	w, err := members.NewWriter(r.Layout, tree, texts)
	if err != nil {
		return nil, err
	}
	return &writer{members: w, carries: tree != nil}, nil
}
