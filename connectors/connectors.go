// Package connectors defines the interfaces of sources and sinks of microdata. Each format has
// a folder of its own below this one. internal/connectortest holds the contract test that every
// format passes; internal/publish writes files that get their name only when they are complete.
//
// A source is read in three steps so that the expensive one can run on many
// goroutines: Reader.Next finds where the next run of records lies and is called
// by one goroutine, Raw.Decode turns it into columns and is called by a worker,
// and the blocks are put back into order before Sink.Write. A sink mirrors this:
// Encode by a worker, Write in order by one goroutine.
//
// What a connector is able to do beyond this, it says in one struct (abilities.go). A field that is not set is an
// ability that it lacks, and a release that needs the ability is refused. A Format is all that the rest of the program
// knows about a format.
package connectors

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// SourceConfig is the configuration of a source, decoded from YAML by its
// field tags.
type SourceConfig interface {
	// Check reports what is wrong with the parameters, without touching data.
	Check() check.Problems
	// Open finds the source's streams and its schema. The error is final and
	// names the place; nothing has been written yet.
	Open(ctx context.Context) (Source, error)
	Abilities() SourceConfigAbilities
}

// SinkConfig is the configuration of a sink.
type SinkConfig interface {
	Check() check.Problems
	// Carries reports whether the sink takes untouched columns of src as the
	// bytes they are (Block.Carried), so that they need not be decoded.
	Carries(src Source) bool
	// Create prepares the output under temporary names. Nothing appears under
	// its final name before Sink.Commit.
	Create(ctx context.Context, plan Plan) (Sink, error)
	// Paths returns the final names that Commit gives, for messages.
	Paths() []string
	Abilities() SinkConfigAbilities
}

// Plan is what a sink knows about the run.
type Plan struct {
	Source Source
	Layout *microdata.Layout
}

// Source is one or several streams of records (files, partitions) in a fixed
// order, all of one schema.
type Source interface {
	Schema() *microdata.Schema
	// Streams returns the streams' names in order, as they appear in messages
	// and quarantine entries: a path, without any value of a record in it.
	Streams() []string
	// Records returns the number of records, or -1 where it is not known
	// without reading them all.
	Records() int64
	// Rewindable reports whether Read can be called again from the start.
	Rewindable() bool
	// Read starts a pass over all records. Only one pass is open at a time.
	Read(ctx context.Context, layout *microdata.Layout, cut Cut) (Reader, error)
	// Close releases what Open took. It is called after the sink is done with
	// everything carried.
	Close() error
	Abilities() SourceAbilities
}

// Cut says where a reader ends its blocks.
type Cut struct {
	// Records is the number of records a block has. 0: as the reader likes.
	Records int
	// Exact demands that every block ends at a multiple of Records of its
	// stream, or at the stream's end: blocks are windows for swapping, and must
	// not depend on how the stream is stored.
	Exact bool
}

// Reader is one pass over a source.
type Reader interface {
	// Next returns the next run of records, io.EOF after the last one. Records
	// that are malformed are still part of a run (Raw.Decode rejects them); an
	// error means that the source cannot be read on, and is final. A truncated
	// or corrupt file is an error that names the file and the place.
	Next(ctx context.Context) (Raw, error)
	Close() error
}

// Raw is a run of consecutive records of one stream, not yet decoded.
type Raw interface {
	// Decode resets b and fills it: Stream, First, N, one column for each Want
	// of the layout, Carried where the layout carries columns, and Rejects for
	// records that are malformed or whose wanted value cannot be represented.
	// It is called once, by any goroutine, concurrently with Decode of others.
	// The run's memory may be referenced by b until b is Reset.
	Decode(b *microdata.Block) error
	// Bytes is the run's size as stored, for progress and for bounding memory.
	Bytes() int64
}

// Sink takes the released records.
type Sink interface {
	// Encode turns the released columns of a block, without its rejected
	// records, into what Write needs. Safe for concurrent use. The block is not
	// touched after Encode has returned, except for what Carried refers to.
	Encode(b *microdata.Block) (Encoded, error)
	// Write appends an encoded block. Blocks come in the order of their source.
	Write(ctx context.Context, e Encoded) error
	// Finish completes and syncs the output under its temporary names, after
	// the last Write.
	Finish(ctx context.Context) error
	// Commit gives the finished output its final names, replacing what was
	// there. It comes after Finish.
	Commit() error
	// Abort removes everything that has no final name yet. After Commit, and
	// when called again, it does nothing.
	Abort() error
	Abilities() SinkAbilities
}

// Encoded is a block in the form in which a sink writes it. Only the sink that made it knows
// its content.
type Encoded any

// RecordError is an error at a place of a stream. It never holds a value.
type RecordError struct {
	Stream string
	Record int64  // from 1; 0 where the place is not a record
	Column string // "" where it concerns the whole record
	Reason string
	Err    error // the cause, nil where Reason says it all; must not print a value
}

func (e *RecordError) Error() string {
	s := e.Stream
	if e.Record > 0 {
		s = fmt.Sprintf("%s: record %d", s, e.Record)
	}
	if e.Column != "" {
		s = fmt.Sprintf("%s, column %s", s, e.Column)
	}
	s += ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RecordError) Unwrap() error { return e.Err }
