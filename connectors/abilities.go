package connectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The structs below say what a connector is able to do beyond its interface. A field that is not set is an ability
// that it lacks, and what needs the ability is refused; where silence could disclose or destroy something, the answer
// is an error (Unchanged, Spare, Hold). Unset fields are to be checked before they are called.
//
// A type that wraps a connector has a method Abilities of its own, which says what is true of the wrapper.

// SourceAbilities are the abilities of an open source.
type SourceAbilities struct {
	// Unchanged returns an error if the data have changed since Open: a file was written to, or
	// files of a folder were added or removed. The records read are then not one state of the
	// data. It is called before and after every pass, and before results are published.
	Unchanged func() error
	// Changed returns the time of the last change of the data before Open; the zero time if it
	// is not known.
	Changed func() time.Time
	// At reports whether the path is a file that is read, or the folder in which it was found.
	// Links are followed. NoFiles is that of a source without files.
	At func(path string) (bool, error)
	// PartitionKeys returns the columns that have one value in all records of a stream, as the
	// key=value folders of Hive give them; nil if there are none.
	PartitionKeys func() []string
	// Folder reports whether the path is a folder or a glob, so that a release of
	// files is a folder, also where there is one file in it.
	Folder func() bool
	// Missplit returns a separator that cuts the first records into more fields than the
	// configured one; "" if there is none.
	Missplit func() string
	// InfersTypes: the types of columns are found from their values, where the source's field `types` declares none.
	InfersTypes bool
	// JSONText reports whether a column of type string may hold JSON text: objects, lists, or the
	// values of a column with several types.
	JSONText func(column int) bool
	// StreamName names the stream of a number, if blocks number their streams in another way than the indexes of Streams.
	StreamName func(stream int) string
	Relocated  Relocated // blocks belong to other streams than those in which they are stored
	// Acknowledge stores, from run to run, that the records read are released. It is called after Sink.Commit.
	Acknowledge func(ctx context.Context) error
	Divisible   Divisible // can be read in parts
	// Survey returns, as JSON, what a source of an untyped format has learnt about its data by reading all values, for
	// WithSurvey; nil if no value had to be read.
	Survey   func() (json.RawMessage, error)
	Numbered Numbered // reads topics
	Holding  Holding  // finds out what its topics hold
	Snapshot Snapshot // reads a state of a database
}

// Snapshot is a state of a database that a source reads.
type Snapshot interface {
	// State is the same of two sources that read one state (SourceConfigAbilities.OpenTogether).
	State() string
	// Reads reports whether a relation of a database of a server is read, by the connector's own names of both.
	Reads(server, relation string) bool
}

// Relocated is a source whose blocks belong to other streams than those in which they are
// stored.
type Relocated interface {
	// StoredIn returns the index, in Streams, of the stream from which a block was read.
	StoredIn(b *microdata.Block) int
	// NameOf returns the name of a block's stream, for messages.
	NameOf(b *microdata.Block) string
}

// Numbered is a source of topics, whose blocks are of a partition each.
type Numbered interface {
	PartitionOf(b *microdata.Block) Partition
	// Rows reports whether a message may hold several records.
	Rows() bool
}

// SinkAbilities are the abilities of a sink that takes a release.
type SinkAbilities struct {
	// Content computes the digests of the output after Finish and before Commit or Abort.
	Content func(ctx context.Context) (*Content, error)
	// Hold is called in place of Commit, of an object. It returns what another process needs to publish the
	// output, which stays invisible until then.
	Hold func() (json.RawMessage, error)
	// Labels returns what the release says of its columns and codes, once its last record is written: of codes, those
	// that occur in it.
	Labels func() []microdata.Said
	// Note adds a message for another topic, which appears with the release or not at all.
	Note func(ctx context.Context, topic string, value []byte) error
}

// Dataset is a namespace and a name in it, by OpenLineage's naming: postgres://HOST:PORT and DATABASE.SCHEMA.TABLE.
type Dataset struct{ Namespace, Name string }

// ConfigAbilities are those of a source's or a sink's configuration.
type ConfigAbilities struct {
	// Description names, without secrets, a source or sink that consists neither of files nor of topics, such as a
	// database table. For such a sink, Paths returns names for messages too, and no paths of files.
	Description string
	// Dataset names, without secrets, what Description does, for events of lineage.
	Dataset Dataset
	Topics  *Topics // what is read or written is topics
	// SetPipeline sets the name of the pipeline, SetLookup the function that looks up environment variables, for
	// passwords.
	SetPipeline func(name string)
	SetLookup   func(lookup func(name string) (string, bool))
}

// SourceConfigAbilities are the abilities of a source's configuration.
type SourceConfigAbilities struct {
	ConfigAbilities
	// Options are the settings, besides the path, that a command line can give.
	Options []Option
	// Guess sets the fields that can be determined from the data, for a first configuration, which a person then checks.
	Guess func(ctx context.Context) error
	// Declare sets the columns of a source without a schema to the listed ones. dropUnlisted says that other columns are
	// left out, plain that the sink cannot write JSON text as a value. It is called before Open.
	Declare func(columns []DeclaredColumn, dropUnlisted, plain bool)
	// WithStreams is the same configuration, whose source opens the streams that are needed
	// and the first one, whose schema is that of all. The others have their names: they
	// cannot be read, nor are they watched, but Stored opens them. A source that looks at all
	// values for its types must be told them (WithSurvey).
	WithStreams func(needed func(stream int) bool) SourceConfig
	// WithSurvey is the same configuration with the Survey of another process that has
	// read the same data, so that Open need not read them again. Open refuses the survey of
	// other columns.
	WithSurvey func(survey json.RawMessage) SourceConfig
	// WithSpans is the same source of topics, which reads these stretches of its partitions and
	// nothing else, and asks no consumer group where to begin. With no stretches it reads
	// nothing.
	WithSpans func(spans []Span) SourceConfig
	// OpenTogether is Open of several sources of this kind: those of one database read one state of it. After an error
	// none is open, and the list is as long as the index of the source that the error is about.
	OpenTogether func(ctx context.Context, all []SourceConfig) ([]Source, error)
}

// SinkConfigAbilities are the abilities of a sink's configuration.
type SinkConfigAbilities struct {
	ConfigAbilities
	// TakesStream: takes a stream without end, one transaction after another.
	TakesStream bool
	// RollByDefault is of a sink that writes a stream into files: it sets the default limits of a file's size and age if
	// the configuration has none.
	RollByDefault func()
	KeyColumn     string // the released column that becomes the key of messages, and must be decoded
	// ColumnsAlone: of a record nothing leaves but its columns. PassesMore says, in the singular, what else does.
	ColumnsAlone bool
	PassesMore   string
	// WritesJSON reports whether JSON text of a source of this configuration is written as a JSON value and not as a
	// string.
	WritesJSON func(src SourceConfig) bool
	// NamesMissing says how the missing values of masked columns are written, if a source of this
	// configuration has other spellings too; "" if it has none.
	NamesMissing   func(src SourceConfig) string
	VariableLabels bool   // the labels of variables are released
	Placed         Placed // the sink is of files, and its path can be replaced
	// Rearranged is Create for a release in another order than that of its source, of a sink whose records are texts, one
	// after another, as the bytes that they would be in it. It has one stream, whatever the source has.
	Rearranged func(ctx context.Context, plan Plan) (Rearranged, error)
	// Together publishes the releases of several sinks of this kind in one step. sources are all that are read, whose
	// place no release takes. An error says why the sinks cannot have a step in common; nothing is opened yet.
	Together func(sinks []SinkConfig, sources []Source) (Together, error)
}

// Together is where several releases are until one step gives all of them their names.
type Together interface {
	// Ready demands, before any record is read, that all releases can have their names.
	Ready(ctx context.Context) error
	// Sink returns the configuration of one of the sinks, whose release is written here. The sinks are created and written
	// one after another. Commit of a sink makes its release ready for the step, Abort removes it.
	Sink(one SinkConfig) (SinkConfig, error)
	// Commit is the step, after Commit of every sink. Its errors are those of Sink.Commit.
	Commit() error
	Abort() error
}

// DeclaredColumn is a column that the configuration lists, before any message is read.
type DeclaredColumn struct {
	Name     string // dotted for a member of a nested object
	Withheld bool   // an identifier: never released
	Number   bool   // masks compute with it or it is measured: it holds numbers
	Identity bool   // its values identify the respondent
}

// Rearranged is a sink for records in any order: Write takes what Gather has returned.
type Rearranged interface {
	Sink
	// Texts appends the texts of an encoded block's records, in their order.
	Texts(dst [][]byte, e Encoded) [][]byte
	// Gather returns the form of texts for Write. It is called after the last Encode.
	Gather(texts [][]byte) Encoded
}

var (
	errUnwatched = errors.New(
		"the source does not say whether its data change while they are read, so a release from it cannot be guaranteed to be safe")
	errUnlocated = errors.New(
		"the source does not say which files it reads, so a release could take the place of one of them")
)

// Unchanged returns an error if the data of a source have changed since it was opened, or if the source cannot detect
// changes.
func Unchanged(src Source) error {
	if unchanged := src.Abilities().Unchanged; unchanged != nil {
		return unchanged()
	}
	return errUnwatched
}

// NoFiles is SourceAbilities.At of a source that reads no files.
func NoFiles(string) (bool, error) { return false, nil }

// Spare returns an error if a release with this path would overwrite its own source: a file
// that is read, or a folder that contains one. The path - is standard output.
func Spare(src Source, path string) error {
	if path == "-" {
		return nil
	}
	reads := src.Abilities().At
	if reads == nil {
		return errUnlocated
	}
	at, err := reads(path)
	if err == nil && at {
		err = fmt.Errorf("%s: the release would take the place of its own source; name another path", path)
	}
	return err
}

// PartitionKeys returns the columns that have one value in all records of a stream. known is
// false if the source has several streams and does not say.
func PartitionKeys(src Source) (keys []string, known bool) {
	if of := src.Abilities().PartitionKeys; of != nil {
		return of(), true
	}
	return nil, len(src.Streams()) < 2
}

// Folder reports whether a source is a folder of files; one that does not say counts as one if it has several streams.
func Folder(src Source) bool {
	if folder := src.Abilities().Folder; folder != nil {
		return folder()
	}
	return len(src.Streams()) > 1
}

// StoredIn returns the index of the stream that a block of a source was read from.
func StoredIn(src Source, b *microdata.Block) int {
	if r := src.Abilities().Relocated; r != nil {
		return r.StoredIn(b)
	}
	return b.Stream
}

// NameOf returns the name of the stream that a block belongs to, for messages.
func NameOf(src Source, b *microdata.Block) string {
	if r := src.Abilities().Relocated; r != nil {
		return r.NameOf(b)
	}
	return StreamName(src, b.Stream)
}

// StreamName names the stream of a block in messages.
func StreamName(src Source, stream int) string {
	if name := src.Abilities().StreamName; name != nil {
		return name(stream)
	}
	if names := src.Streams(); stream >= 0 && stream < len(names) {
		return names[stream]
	}
	return "the source"
}

// Hold keeps the finished output of a sink without its final name, so that another process can
// publish it. It returns what that process needs.
func Hold(sink Sink) (json.RawMessage, error) {
	if hold := sink.Abilities().Hold; hold != nil {
		return hold()
	}
	return nil, fmt.Errorf("%w: its output can get its name from no other process", ErrIndivisible)
}

// ContentOf computes the digests of the finished release of a sink; nil if it has no files or does not say.
func ContentOf(ctx context.Context, sink Sink) (*Content, error) {
	if content := sink.Abilities().Content; content != nil {
		return content(ctx)
	}
	return nil, nil
}
