// Package message defines the interfaces of a message format: it decodes the values of
// a topic's messages into blocks of columns and encodes released columns as values.
// Each format is in a subfolder. The package does not use a broker: connectors/kafka
// transports the messages, a format decodes and encodes them.
package message

import (
	"context"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Config is the configuration of a format, decoded from YAML by its field tags.
type Config interface {
	// Check reports what is wrong with the parameters, without the network.
	Check() check.Problems
	// Reader determines the columns of the topics' messages.
	Reader(ctx context.Context, r Request) (Reader, error)
	// Writer returns an encoder of the released columns for one topic. A format with a
	// schema registry registers the released schema there.
	Writer(ctx context.Context, r WriteRequest) (Writer, error)
}

// Column is a listed column, as the configuration knows it before any message
// is seen.
type Column = connectors.DeclaredColumn

// Request holds the parameters of the run for a reader.
type Request struct {
	Topics       []string // of the source
	Columns      []Column // the listed columns
	DropUnlisted bool     // false: a field that is not listed causes an *UnlistedError
	// Plain is true if the sink does not support JSON text as a value. A format that
	// otherwise returns columns as JSON then returns plain strings.
	Plain    bool
	Registry *registry.Client
}

// Reader knows the messages' columns.
type Reader interface {
	// Schema returns the columns; for a format without schemas these are the listed
	// ones.
	Schema() *microdata.Schema
	// Decoder returns a decoder for one pass. carry requests Block.Carried, from which
	// a writer of the same format copies unchanged columns as bytes.
	Decoder(layout *microdata.Layout, carry bool) (Decoder, error)
}

// JSONText returns connectors.SourceAbilities.JSONText of a reader's columns; nil if its format has no such texts.
func JSONText(r Reader) func(column int) bool {
	if texts, ok := r.(interface{ JSONText(column int) bool }); ok {
		return texts.JSONText
	}
	return nil
}

// Decoder turns messages into blocks.
type Decoder interface {
	// Decode resets b and fills it with the records of a run of messages: Stream,
	// Scope, First, Places, N, one column for each Want of the layout, Carried
	// if the decoder carries, Rejects for records that are malformed or whose wanted
	// value cannot be represented (all records of a malformed message, at least one; a
	// value that is nil or empty is malformed). It is safe for concurrent use on
	// different blocks. b may refer to the run's memory until it is Reset.
	//
	// An error ends the stream before any record of the run is released. It is an
	// *UnlistedError, or the error of a registry that does not respond.
	Decode(ctx context.Context, b *microdata.Block, run *Run) error
}

// Run is a run of messages of one partition, in ascending order of offset.
type Run struct {
	Scope   string // the topic
	Stream  int    // as Block.Stream
	Offsets []int64
	Values  [][]byte
}

// RowBits is the number of bits of a place for the record's row within its message, in
// formats with several records per message: place = offset << RowBits | row. In other
// formats the place is the offset.
const RowBits = 20

// WriteRequest holds the parameters of the run for a writer.
type WriteRequest struct {
	Topic    string // of the sink
	Layout   *microdata.Layout
	Reader   Reader // of the source, nil if the source is not a topic
	Registry *registry.Client
}

// Writer encodes released columns as values of messages.
type Writer interface {
	// Encode returns the messages of a block without its rejected records. It is safe
	// for concurrent use. The result is newly allocated, because a producer keeps it.
	Encode(ctx context.Context, b *microdata.Block) (Released, error)
	// Carries reports whether the writer copies unchanged columns from the bytes that a
	// block of this reader carries.
	Carries() bool
}

// Released holds the encoded messages of a block, in order.
type Released struct {
	Values [][]byte
	// Source[k] is the message of the run (index in Run.Values) that value k comes
	// from, ascending, for the key, headers and timestamp. If the source is not a
	// topic, it is the index of the record.
	Source []int32
}

// UnlistedError reports that messages have fields that the configuration does not list,
// with unlisted set to fail. Their names may be data; Places are where they are.
type UnlistedError struct {
	Stream string   // "topic survey" or "topic survey, partition 3, offset 17"
	Places []string // "field 3", "member 2 of address"
}

func (e *UnlistedError) Error() string {
	return e.Stream + ": fields that are not listed: " + check.Places(e.Places) +
		"; list them under columns, or say `unlisted: drop`"
}
