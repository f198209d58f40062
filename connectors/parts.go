package connectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Stored is an open file, or object, as it is stored.
type Stored struct {
	io.ReaderAt
	io.Closer
	Size int64
	ETag string // of an object, which differs where its content does; "" of a file
}

// ErrIndivisible is the error of a source that cannot be read in parts.
var ErrIndivisible = errors.New("the source cannot be read in parts")

// DivisibleOf returns the source as one that can be read in parts, nil where it is none.
func DivisibleOf(src Source) Divisible {
	d, _ := src.(Divisible)
	return d
}

// Placed is the configuration of a sink of files whose path can be replaced.
type Placed interface {
	// At is the same sink with a path of its own, which is one file, and what the name
	// of such a file ends in, where the sink's own path does not say.
	At(path string) SinkConfig
	Extension() string
}

// PlacedOf returns the sink as one whose path can be replaced; nil where it is none.
func PlacedOf(config SinkConfig) Placed {
	p, _ := config.(Placed)
	return p
}

// Held is a sink whose finished output, an object, can get its name from another process.
type Held interface {
	// Hold takes the place of Commit: it returns what the other process needs to know.
	// Nobody sees the output until then.
	Hold() (json.RawMessage, error)
}

// Hold leaves the output of a sink finished and without its name, for another process.
func Hold(sink Sink) (json.RawMessage, error) {
	if h, ok := sink.(Held); ok {
		return h.Hold()
	}
	return nil, fmt.Errorf("%w: its output can get its name from no other process", ErrIndivisible)
}
