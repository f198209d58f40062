package connectors

import (
	"context"
	"errors"
	"io"
)

// Part is a run of consecutive records of one stream that can be read alone. Only the
// source that cut it knows what From and To count.
type Part struct {
	Stream   int   `json:"stream"`
	First    int64 `json:"first"` // of its records, from 0, as the whole counts them
	Records  int64 `json:"records"`
	From, To int64 // where it is stored
}

// Divisible is a source that can be read in parts, by several processes at once.
type Divisible interface {
	// Divide cuts every stream into runs of consecutive records, in order: together
	// they are all records. A run has about so many bytes as stored, or more where the
	// stream cannot be cut more finely; with a cut that is exact it begins at a multiple
	// of cut.Records. Streams without records have a run without any.
	Divide(ctx context.Context, bytes int64, cut Cut) ([]Part, error)
	// Part is the source of one run alone. Its records have the places that they have
	// in the whole, its streams are those of the whole, and a release of it is one file.
	// It is closed with the source that it is a part of.
	Part(p Part) (Source, error)
	// Stored opens the file that a stream is stored in, to tell it from others.
	Stored(stream int) (Stored, error)
}

// Stored is an open file or object with its stored size.
type Stored struct {
	io.ReaderAt
	io.Closer
	Size int64
	ETag string // of an object, which differs where its content does; "" of a file
}

// ErrIndivisible is the error of a source that cannot be read in parts.
var ErrIndivisible = errors.New("the source cannot be read in parts")

// Placed is the configuration of a sink of files whose path can be replaced.
type Placed interface {
	// At returns the same sink with another path, that of one file. Extension is the ending of
	// such a file's name if the sink's own path has none.
	At(path string) SinkConfig
	Extension() string
}
