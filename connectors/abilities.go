package connectors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The interfaces below are optional: a connector has those of what it is able to do.
// Nobody but this file looks for them: whoever wants to know calls the function
// beside the interface, which gives a connector that says nothing the answer of one
// that is not able. Where that could let something out, the answer is an error.
//
// A type that wraps a connector says nothing of what it wraps, unless it says so.

// Watched is a source that knows whether its data change while they are read.
type Watched interface {
	// Unchanged returns an error if the data have changed since Open: a file was written to, or
	// files of a folder were added or removed. The records read are then not one state of the
	// data. It is called before and after every pass, and before results are published.
	Unchanged() error
	// Changed returns the time of the last change of the data before Open; the zero time if it
	// is not known.
	Changed() time.Time
}

// ErrUnwatched is the error of a source that does not know whether its data change.
var ErrUnwatched = errors.New("the source does not say whether its data change while they are read, and a release of it cannot be answered for")

// Unchanged returns an error if the data of a source have changed since it was opened, and
// ErrUnwatched if the source cannot detect changes.
func Unchanged(src Source) error {
	if w, ok := src.(Watched); ok {
		return w.Unchanged()
	}
	return ErrUnwatched
}

// Changed returns the time of the last change of the data, the zero time if it is not known.
func Changed(src Source) time.Time {
	if w, ok := src.(Watched); ok {
		return w.Changed()
	}
	return time.Time{}
}

// Partitioned is a source that knows by which columns its records are grouped into streams.
type Partitioned interface {
	// PartitionKeys returns the columns that have one value in all records of a stream, as the
	// key=value folders of Hive give them; nil if there are none.
	PartitionKeys() []string
}

// PartitionKeys returns the columns that have one value in all records of a stream. known is
// false if the source has several streams and is not Partitioned.
func PartitionKeys(src Source) (keys []string, known bool) {
	if p, ok := src.(Partitioned); ok {
		return p.PartitionKeys(), true
	}
	return nil, len(src.Streams()) < 2
}

// Foldered is a source that knows whether its path is a folder of files.
type Foldered interface {
	// Folder reports whether the path is a folder or a glob, so that a release of
	// files is a folder, also where there is one file in it.
	Folder() bool
}

// Folder reports whether a source is a folder of files. A source that is not Foldered counts as
// a folder if it has several streams.
func Folder(src Source) bool {
	if f, ok := src.(Foldered); ok {
		return f.Folder()
	}
	return len(src.Streams()) > 1
}

// Located is a source that knows which files it reads.
type Located interface {
	// At reports whether the path is a file that is read, or the folder in which it was found.
	// Links are followed.
	At(path string) (bool, error)
}

// At reports whether a source reads the file or folder of this path; false if the source is not
// Located.
func At(src Source, path string) (bool, error) {
	if l, ok := src.(Located); ok {
		return l.At(path)
	}
	return false, nil
}

// Spare returns an error if a release with this path would overwrite its own source: a file
// that is read, or a folder that contains one. The path - is standard output. A source that is
// not Located is taken to have no files.
func Spare(src Source, path string) error {
	if path == "-" {
		return nil
	}
	at, err := At(src, path)
	if err == nil && at {
		err = fmt.Errorf("%s: the release would take the place of its own source; name another path", path)
	}
	return err
}

// Separated is a source whose fields are separated by a character.
type Separated interface {
	// Missplit returns a separator that cuts the first records into more fields than the
	// configured one; "" if there is none.
	Missplit() string
}

// Missplit returns the separator that fits the source better than the configured one; "" if
// there is none.
func Missplit(src Source) string {
	if s, ok := src.(Separated); ok {
		return s.Missplit()
	}
	return ""
}

// Inferring is a source that finds the types of its columns from their values, where
// its field `types` declares none.
type Inferring interface {
	InfersTypes() bool
}

// InfersTypes reports whether types can be declared to a source.
func InfersTypes(src Source) bool {
	i, ok := src.(Inferring)
	return ok && i.InfersTypes()
}

// JSONTexts is a source, or a reader of messages, whose columns of type string may hold JSON
// text: objects, lists, or the values of a column with several types.
type JSONTexts interface {
	JSONText(column int) bool
}

// JSONTextsOf returns the source or reader as a JSONTexts; nil if it is none.
func JSONTextsOf(of any) JSONTexts {
	texts, _ := of.(JSONTexts)
	return texts
}

// StreamNamed is a source whose blocks number their streams in another way than the indexes of
// Streams.
type StreamNamed interface {
	StreamName(stream int) string
}

// StreamName names the stream of a block in messages.
func StreamName(src Source, stream int) string {
	if s, ok := src.(StreamNamed); ok {
		return s.StreamName(stream)
	}
	if names := src.Streams(); stream >= 0 && stream < len(names) {
		return names[stream]
	}
	return "the source"
}

// Relocated is a source whose blocks belong to other streams than those in which they are
// stored.
type Relocated interface {
	// StoredIn returns the index, in Streams, of the stream from which a block was read.
	StoredIn(b *microdata.Block) int
	// NameOf returns the name of a block's stream, for messages.
	NameOf(b *microdata.Block) string
}

// StoredIn returns the index of the stream that a block of a source was read from.
func StoredIn(src Source, b *microdata.Block) int {
	if r, ok := src.(Relocated); ok {
		return r.StoredIn(b)
	}
	return b.Stream
}

// NameOf returns the name of the stream that a block belongs to, for messages.
func NameOf(src Source, b *microdata.Block) string {
	if r, ok := src.(Relocated); ok {
		return r.NameOf(b)
	}
	return StreamName(src, b.Stream)
}

// Acknowledged is a source that stores from run to run which records have been released.
type Acknowledged interface {
	// Acknowledge stores that the records read are released. It is called after Sink.Commit.
	Acknowledge(ctx context.Context) error
}

// Acknowledge tells the source that the records read from it are released, if the source stores
// this (Acknowledged). The error is that of the source.
func Acknowledge(ctx context.Context, src Source) error {
	if a, ok := src.(Acknowledged); ok {
		return a.Acknowledge(ctx)
	}
	return nil
}

// DeclaredColumn is a column that the configuration lists, before any message is read.
type DeclaredColumn struct {
	Name     string // dotted for a member of a nested object
	Withheld bool   // an identifier: never released
	Number   bool   // masks compute with it or it is measured: it holds numbers
	Identity bool   // its values identify the respondent
}

// Declarable is the configuration of a source without a schema: its columns are the declared
// ones.
type Declarable interface {
	// Declare sets the listed columns. dropUnlisted says that other columns are left out, plain
	// that the sink cannot write JSON text as a value. It is called before Open.
	Declare(columns []DeclaredColumn, dropUnlisted, plain bool)
}

// DeclarableOf returns the configuration as a Declarable; nil if it is none.
func DeclarableOf(config SourceConfig) Declarable {
	d, _ := config.(Declarable)
	return d
}

// Described is the configuration of a source or sink that consists neither of files nor of
// topics, such as a database table.
type Described interface {
	// Describe returns a name for messages, without secrets. For such a sink, Paths returns
	// names for messages too, and no paths of files.
	Describe() string
}

// Description returns the name of a source or sink that consists neither of files nor of
// topics; "" for all others.
func Description(config any) string {
	if d, ok := config.(Described); ok {
		return d.Describe()
	}
	return ""
}

// PipelineNamed is the configuration of a connector that uses the name of the pipeline.
type PipelineNamed interface {
	SetPipeline(name string)
}

// SecretHolding is the configuration of a connector that has passwords.
type SecretHolding interface {
	// SetLookup sets the function that looks up environment variables.
	SetLookup(lookup func(name string) (string, bool))
}

// Tell passes two things to the configuration of a connector that uses them and has no fields
// for them: the name of the pipeline, and the function that looks up environment variables.
func Tell(config any, pipeline string, lookup func(name string) (string, bool)) {
	if c, ok := config.(SecretHolding); ok && lookup != nil {
		c.SetLookup(lookup)
	}
	if c, ok := config.(PipelineNamed); ok {
		c.SetPipeline(pipeline)
	}
}

// StreamTaking is the configuration of a sink that can take a stream without end, one
// transaction after another.
type StreamTaking interface {
	TakesStream() bool
}

// TakesStream reports whether a sink can take a stream without end.
func TakesStream(config SinkConfig) bool {
	s, ok := config.(StreamTaking)
	return ok && s.TakesStream()
}

// KeyedByColumn is the configuration of a sink whose messages have a key.
type KeyedByColumn interface {
	// KeyColumn returns the released column that becomes the key; "" if there is none.
	KeyColumn() string
}

// KeyColumn returns the released column that becomes the key of messages and must therefore be
// decoded; "" if there is none.
func KeyColumn(config SinkConfig) string {
	if k, ok := config.(KeyedByColumn); ok {
		return k.KeyColumn()
	}
	return ""
}

// JSONWriting is the configuration of a sink that can write JSON text as a JSON value and not
// as a string.
type JSONWriting interface {
	// WritesJSON reports whether the sink does so with a source of this configuration.
	WritesJSON(src SourceConfig) bool
}

// WritesJSON reports whether a sink writes JSON text as a JSON value and not as a string. If it
// does not, columns with values of several types are refused.
func WritesJSON(config SinkConfig, src SourceConfig) bool {
	w, ok := config.(JSONWriting)
	return ok && w.WritesJSON(src)
}

// Noting is a sink whose release can hold messages for other topics, so that they
// appear with it or not at all.
type Noting interface {
	Note(ctx context.Context, topic string, value []byte) error
}

// NotesOf returns the sink as one that takes messages for other topics, nil where it
// is none.
func NotesOf(sink Sink) Noting {
	n, _ := sink.(Noting)
	return n
}

// Numbered is a source of topics, whose blocks are of a partition each.
type Numbered interface {
	PartitionOf(b *microdata.Block) Partition
	// Rows reports whether a message may hold several records.
	Rows() bool
}

// NumberedOf returns the source as a Numbered; nil if it is not a source of topics.
func NumberedOf(src Source) Numbered {
	n, _ := src.(Numbered)
	return n
}
