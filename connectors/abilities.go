package connectors

import (
	"context"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The interfaces below are optional: a connector has those of its abilities. A connector that
// lacks an interface counts as unable (internal/abilities looks for them).
//
// A type that wraps a connector does not have the abilities of the wrapped one by itself: it
// must declare them again.

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

// Partitioned is a source that knows by which columns its records are grouped into streams.
type Partitioned interface {
	// PartitionKeys returns the columns that have one value in all records of a stream, as the
	// key=value folders of Hive give them; nil if there are none.
	PartitionKeys() []string
}

// Foldered is a source that knows whether its path is a folder of files.
type Foldered interface {
	// Folder reports whether the path is a folder or a glob, so that a release of
	// files is a folder, also where there is one file in it.
	Folder() bool
}

// Located is a source that knows which files it reads.
type Located interface {
	// At reports whether the path is a file that is read, or the folder in which it was found.
	// Links are followed.
	At(path string) (bool, error)
}

// Separated is a source whose fields are separated by a character.
type Separated interface {
	// Missplit returns a separator that cuts the first records into more fields than the
	// configured one; "" if there is none.
	Missplit() string
}

// Inferring is a source that finds the types of its columns from their values, where
// its field `types` declares none.
type Inferring interface {
	InfersTypes() bool
}

// JSONTexts is a source, or a reader of messages, whose columns of type string may hold JSON
// text: objects, lists, or the values of a column with several types.
type JSONTexts interface {
	JSONText(column int) bool
}

// StreamNamed is a source whose blocks number their streams in another way than the indexes of
// Streams.
type StreamNamed interface {
	StreamName(stream int) string
}

// Relocated is a source whose blocks belong to other streams than those in which they are
// stored.
type Relocated interface {
	// StoredIn returns the index, in Streams, of the stream from which a block was read.
	StoredIn(b *microdata.Block) int
	// NameOf returns the name of a block's stream, for messages.
	NameOf(b *microdata.Block) string
}

// Acknowledged is a source that stores from run to run which records have been released.
type Acknowledged interface {
	// Acknowledge stores that the records read are released. It is called after Sink.Commit.
	Acknowledge(ctx context.Context) error
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

// Described is the configuration of a source or sink that consists neither of files nor of
// topics, such as a database table.
type Described interface {
	// Describe returns a name for messages, without secrets. For such a sink, Paths returns
	// names for messages too, and no paths of files.
	Describe() string
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

// StreamTaking is the configuration of a sink that can take a stream without end, one
// transaction after another.
type StreamTaking interface {
	TakesStream() bool
}

// KeyedByColumn is the configuration of a sink whose messages have a key.
type KeyedByColumn interface {
	// KeyColumn returns the released column that becomes the key; "" if there is none.
	KeyColumn() string
}

// JSONWriting is the configuration of a sink that can write JSON text as a JSON value and not
// as a string.
type JSONWriting interface {
	// WritesJSON reports whether the sink does so with a source of this configuration.
	WritesJSON(src SourceConfig) bool
}

// MissingNaming is the configuration of a sink that can spell a missing value in several ways.
type MissingNaming interface {
	// NamesMissing says how the missing values of masked columns are written, if a source of this
	// configuration has other spellings too; "" if it has none.
	NamesMissing(src SourceConfig) string
}

// Labelling is a sink whose release says what its columns and codes stand for.
type Labelling interface {
	// Labels returns what the release says, once its last record is written: of codes, those that occur in it.
	Labels() []microdata.Said
}

// VariableLabelling is the configuration of a sink that can release the labels of variables.
type VariableLabelling interface {
	ReleasesVariableLabels() bool
}

// Noting is a sink whose release can hold messages for other topics, so that they
// appear with it or not at all.
type Noting interface {
	Note(ctx context.Context, topic string, value []byte) error
}

// Numbered is a source of topics, whose blocks are of a partition each.
type Numbered interface {
	PartitionOf(b *microdata.Block) Partition
	// Rows reports whether a message may hold several records.
	Rows() bool
}

// Rearranging is the configuration of a sink whose records are texts, one after another: they can be
// written in another order than that of their source, as the bytes that they would be in it.
type Rearranging interface {
	// CreateRearranged is Create for such a release. It has one stream, whatever the source has.
	CreateRearranged(ctx context.Context, plan Plan) (Rearranged, error)
}

// Rearranged is a sink for records in any order: Write takes what Gather has returned.
type Rearranged interface {
	Sink
	// Texts appends the texts of an encoded block's records, in their order.
	Texts(dst [][]byte, e Encoded) [][]byte
	// Gather returns the form of texts for Write. It is called after the last Encode.
	Gather(texts [][]byte) Encoded
}

// PassingMore is the configuration of a sink that may release something of a record besides its columns.
type PassingMore interface {
	// PassesMore says what that is, in the singular; "" if it is nothing.
	PassesMore() string
}
