// Package message says what a format of messages is: how the values of a
// topic's messages become blocks of columns, and released columns values again.
// Each format has a folder of its own below this one. Nothing here knows a
// broker: connectors/kafka moves the messages, a format reads and writes them.
package message

import (
	"context"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Config is the configuration of a format, decoded from YAML by its field tags.
type Config interface {
	// Check reports what is wrong with the parameters, without the network.
	Check() check.Problems
	// Reader learns the columns of the topics' messages.
	Reader(ctx context.Context, r Request) (Reader, error)
	// Writer prepares values of the released columns for one topic; a format with
	// a registry registers the released schema there.
	Writer(ctx context.Context, r WriteRequest) (Writer, error)
}

// Column is a listed column, as the configuration knows it before any message
// is seen.
type Column = connectors.DeclaredColumn

// Request is what a reader is told of the run.
type Request struct {
	Topics       []string // of the source
	Columns      []Column // that are listed
	DropUnlisted bool     // false: a field that is not listed is an *UnlistedError
	// Plain says that the release goes where JSON text is no value: a format that
	// would hand out its columns as JSON hands out plain strings.
	Plain    bool
	Registry *registry.Client
}

// Reader knows the messages' columns.
type Reader interface {
	// Schema are the columns; a format without schemas of its own has the listed
	// ones.
	Schema() *microdata.Schema
	// Decoder prepares a pass. carry asks for Block.Carried, from which a writer
	// of the same format takes untouched columns as the bytes they are.
	Decoder(layout *microdata.Layout, carry bool) (Decoder, error)
}

// Decoder turns messages into blocks.
type Decoder interface {
	// Decode resets b and fills it with the records of a run of messages: Stream,
	// Scope, First, Places, N, one column for each Want of the layout, Carried
	// where the decoder carries, Rejects for records that are malformed or whose
	// wanted value cannot be represented (all records of a malformed message, at
	// least one; a value that is nil or empty is malformed). Safe for concurrent
	// use on different blocks. b may refer to the run's memory until it is Reset.
	//
	// An error ends the stream before anything of the run is released: an
	// *UnlistedError, or a registry that does not answer.
	Decode(ctx context.Context, b *microdata.Block, run *Run) error
}

// Run is a run of messages of one partition, in ascending order of offset.
type Run struct {
	Scope   string // the topic
	Stream  int    // as Block.Stream
	Offsets []int64
	Values  [][]byte
}

// RowBits is how many bits of a place number the records of one message, in a
// format whose messages hold several: place = offset << RowBits | row. In the
// others place is the offset.
const RowBits = 20

// WriteRequest is what a writer is told of the run.
type WriteRequest struct {
	Topic    string // of the sink
	Layout   *microdata.Layout
	Reader   Reader // of the source, nil where that is no topic
	Registry *registry.Client
}

// Writer makes values of released columns.
type Writer interface {
	// Encode makes the messages of a block, without its rejected records. Safe for
	// concurrent use. What it returns is fresh memory: a producer holds on to it.
	Encode(ctx context.Context, b *microdata.Block) (Released, error)
	// Carries reports whether the writer takes untouched columns as the bytes that
	// a block of this reader carries.
	Carries() bool
}

// Released are the messages made of a block, in order.
type Released struct {
	Values [][]byte
	// Source[k] is the message of the run (index in Run.Values) that value k comes
	// from, ascending, for the key, headers and timestamp. Where the source is no
	// topic it is the index of the record.
	Source []int32
}

// UnlistedError says that messages have a field that the configuration does not
// list while unlisted is fail. Names are those of a schema or of members, never
// values.
type UnlistedError struct {
	Stream string // "topic survey" or "topic survey, partition 3, offset 17"
	Names  []string
}

func (e *UnlistedError) Error() string {
	return e.Stream + ": fields that are not listed: " + strings.Join(e.Names, ", ") + "; list them under columns, or say `unlisted: drop`"
}
