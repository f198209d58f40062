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
	// Unchanged returns an error where the data are not what they were when Open
	// looked at them: a file was written to, or files of a folder have come or gone.
	// What was read is then no one state of the data. It is asked before and after
	// every pass, and before what was made of the records is published.
	Unchanged() error
	// Changed returns when the last change of the data was, as Open found them; zero
	// where that is not known.
	Changed() time.Time
}

// ErrUnwatched is the error of a source that does not know whether its data change.
var ErrUnwatched = errors.New("the source does not say whether its data change while they are read, and a release of it cannot be answered for")

// Unchanged returns an error where the data of a source have changed since it was
// opened, and ErrUnwatched where it cannot say.
func Unchanged(src Source) error {
	if w, ok := src.(Watched); ok {
		return w.Unchanged()
	}
	return ErrUnwatched
}

// Changed returns when the last change of the data was, zero where that is not known.
func Changed(src Source) time.Time {
	if w, ok := src.(Watched); ok {
		return w.Changed()
	}
	return time.Time{}
}

// Partitioned is a source that knows by what its records are grouped into streams.
type Partitioned interface {
	// PartitionKeys returns the columns whose values all records of one stream share,
	// as those of a file in Hive folders key=value; nil where there are none.
	PartitionKeys() []string
}

// PartitionKeys returns the columns whose values the records of a stream share.
// known is false where the source has several streams and does not say.
func PartitionKeys(src Source) (keys []string, known bool) {
	if p, ok := src.(Partitioned); ok {
		return p.PartitionKeys(), true
	}
	return nil, len(src.Streams()) < 2
}

// Foldered is a source that knows whether its path stands for a folder of files.
type Foldered interface {
	// Folder reports whether the path is a folder or a glob, so that a release of
	// files is a folder, also where there is one file in it.
	Folder() bool
}

// Folder reports whether a source is a folder of files: one that does not say is
// where it has several streams.
func Folder(src Source) bool {
	if f, ok := src.(Foldered); ok {
		return f.Folder()
	}
	return len(src.Streams()) > 1
}

// Located is a source that knows which files it reads.
type Located interface {
	// At reports whether the path is that of a file which is read, or of a folder
	// that it was found in; links are followed.
	At(path string) (bool, error)
}

// At reports whether a source reads the file or the folder under a path; not where it
// does not say.
func At(src Source, path string) (bool, error) {
	if l, ok := src.(Located); ok {
		return l.At(path)
	}
	return false, nil
}

// Spare returns an error where a release under the path would take the place of its
// own source: a file that is read, or a folder that holds one.
// The path - is standard output. A source that does not say is none of files.
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

// Separated is a source whose records are cut into fields at a character.
type Separated interface {
	// Missplit returns the character at which the first records fall into more fields
	// than at the configured one, "" where there is none such.
	Missplit() string
}

// Missplit returns the character at which a source should rather be cut into fields,
// "" where there is none.
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

// JSONTexts is a source, or a reader of messages, of which columns of type string may
// hold JSON text: objects, lists, or the values of a column of several types.
type JSONTexts interface {
	JSONText(column int) bool
}

// JSONTextsOf returns who says which columns hold JSON text, nil where nobody does.
func JSONTextsOf(of any) JSONTexts {
	texts, _ := of.(JSONTexts)
	return texts
}

// StreamNamed is a source whose blocks have other numbers of streams than the indexes
// of Streams.
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

// Relocated is a source whose blocks are of other streams than those that they are stored
// in.
type Relocated interface {
	// StoredIn is the index, in Streams, of the stream that a block was read from.
	StoredIn(b *microdata.Block) int
	// NameOf names the stream of a block as messages should.
	NameOf(b *microdata.Block) string
}

// StoredIn returns the index of the stream that a block of a source was read from.
func StoredIn(src Source, b *microdata.Block) int {
	if r, ok := src.(Relocated); ok {
		return r.StoredIn(b)
	}
	return b.Stream
}

// NameOf names the stream of a block of a source.
func NameOf(src Source, b *microdata.Block) string {
	if r, ok := src.(Relocated); ok {
		return r.NameOf(b)
	}
	return StreamName(src, b.Stream)
}

// Acknowledged is a source that remembers, from run to run, what has been released.
type Acknowledged interface {
	// Acknowledge says that what was read is released. It comes after Sink.Commit.
	Acknowledge(ctx context.Context) error
}

// Acknowledge tells a source that remembers it that what was read is released.
func Acknowledge(ctx context.Context, src Source) error {
	if a, ok := src.(Acknowledged); ok {
		return a.Acknowledge(ctx)
	}
	return nil
}

// DeclaredColumn is a listed column, as the configuration knows it before any
// message is seen.
type DeclaredColumn struct {
	Name     string // dotted for a member of a nested object
	Withheld bool   // an identifier: never released
	Number   bool   // masks compute with it or it is measured: it holds numbers
	Identity bool   // its values identify the respondent
}

// Declarable is the configuration of a source that has no schema of its own: its
// columns are those that it is told of.
type Declarable interface {
	// Declare tells the listed columns, what becomes of others, and with plain that
	// the release goes where JSON text is no value. It comes before Open.
	Declare(columns []DeclaredColumn, dropUnlisted, plain bool)
}

// DeclarableOf returns the configuration as one of a source that is told its columns,
// nil where it is none.
func DeclarableOf(config SourceConfig) Declarable {
	d, _ := config.(Declarable)
	return d
}

// Described is the configuration of a source or sink that is neither files nor topics.
type Described interface {
	// Describe names it for people, without what is secret. What Paths says of such a
	// sink are names for messages too, no files.
	Describe() string
}

// Description names a source or sink that is neither files nor topics, "" where it is
// one of them.
func Description(config any) string {
	if d, ok := config.(Described); ok {
		return d.Describe()
	}
	return ""
}

// PipelineNamed is the configuration of a connector that goes by the pipeline's name.
type PipelineNamed interface {
	SetPipeline(name string)
}

// SecretHolding is the configuration of a connector that has passwords.
type SecretHolding interface {
	// SetLookup says how environment variables are found.
	SetLookup(lookup func(name string) (string, bool))
}

// Tell gives the configuration of a connector, where it has use for them, what is not
// among its own fields: the pipeline's name, and how environment variables are found.
func Tell(config any, pipeline string, lookup func(name string) (string, bool)) {
	if c, ok := config.(SecretHolding); ok && lookup != nil {
		c.SetLookup(lookup)
	}
	if c, ok := config.(PipelineNamed); ok {
		c.SetPipeline(pipeline)
	}
}

// StreamTaking is the configuration of a sink that can be released into without end,
// one transaction after another.
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
	// KeyColumn is the released column that becomes the key; "" where none does.
	KeyColumn() string
}

// KeyColumn is the released column that a sink has to have decoded because it becomes
// the messages' key, "" where there is none.
func KeyColumn(config SinkConfig) string {
	if k, ok := config.(KeyedByColumn); ok {
		return k.KeyColumn()
	}
	return ""
}

// JSONWriting is the configuration of a sink that can write JSON text as the value
// that it is.
type JSONWriting interface {
	// WritesJSON reports whether it does, where the source is configured so.
	WritesJSON(src SourceConfig) bool
}

// WritesJSON reports whether a sink writes JSON text as the value that it is. To one
// that does not say, columns of several types are refused.
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

// NumberedOf returns the source as one of topics, nil where it is none.
func NumberedOf(src Source) Numbered {
	n, _ := src.(Numbered)
	return n
}
