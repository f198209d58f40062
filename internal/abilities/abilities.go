package abilities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// ErrUnwatched is the error of a source that does not know whether its data change.
var ErrUnwatched = errors.New("the source does not say whether its data change while they are read, so a release from it cannot be guaranteed to be safe")

// Acknowledge tells the source that the records read from it are released, if the source stores
// this (Acknowledged). The error is that of the source.
func Acknowledge(ctx context.Context, src connectors.Source) error {
	if a, ok := src.(connectors.Acknowledged); ok {
		return a.Acknowledge(ctx)
	}
	return nil
}

// At reports whether a source reads the file or folder of this path; false if the source is not
// Located.
func At(src connectors.Source, path string) (bool, error) {
	if l, ok := src.(connectors.Located); ok {
		return l.At(path)
	}
	return false, nil
}

// Changed returns the time of the last change of the data, the zero time if it is not known.
func Changed(src connectors.Source) time.Time {
	if w, ok := src.(connectors.Watched); ok {
		return w.Changed()
	}
	return time.Time{}
}

// Folder reports whether a source is a folder of files. A source that is not Foldered counts as
// a folder if it has several streams.
func Folder(src connectors.Source) bool {
	if f, ok := src.(connectors.Foldered); ok {
		return f.Folder()
	}
	return len(src.Streams()) > 1
}

// InfersTypes reports whether types can be declared to a source.
func InfersTypes(src connectors.Source) bool {
	i, ok := src.(connectors.Inferring)
	return ok && i.InfersTypes()
}

// Missplit returns the separator that fits the source better than the configured one; "" if
// there is none.
func Missplit(src connectors.Source) string {
	if s, ok := src.(connectors.Separated); ok {
		return s.Missplit()
	}
	return ""
}

// NameOf returns the name of the stream that a block belongs to, for messages.
func NameOf(src connectors.Source, b *microdata.Block) string {
	if r, ok := src.(connectors.Relocated); ok {
		return r.NameOf(b)
	}
	return StreamName(src, b.Stream)
}

// PartitionKeys returns the columns that have one value in all records of a stream. known is
// false if the source has several streams and is not Partitioned.
func PartitionKeys(src connectors.Source) (keys []string, known bool) {
	if p, ok := src.(connectors.Partitioned); ok {
		return p.PartitionKeys(), true
	}
	return nil, len(src.Streams()) < 2
}

// Spare returns an error if a release with this path would overwrite its own source: a file
// that is read, or a folder that contains one. The path - is standard output. A source that is
// not Located is taken to have no files.
func Spare(src connectors.Source, path string) error {
	if path == "-" {
		return nil
	}
	at, err := At(src, path)
	if err == nil && at {
		err = fmt.Errorf("%s: the release would take the place of its own source; name another path", path)
	}
	return err
}

// StoredIn returns the index of the stream that a block of a source was read from.
func StoredIn(src connectors.Source, b *microdata.Block) int {
	if r, ok := src.(connectors.Relocated); ok {
		return r.StoredIn(b)
	}
	return b.Stream
}

// StreamName names the stream of a block in messages.
func StreamName(src connectors.Source, stream int) string {
	if s, ok := src.(connectors.StreamNamed); ok {
		return s.StreamName(stream)
	}
	if names := src.Streams(); stream >= 0 && stream < len(names) {
		return names[stream]
	}
	return "the source"
}

// Unchanged returns an error if the data of a source have changed since it was opened, and
// ErrUnwatched if the source cannot detect changes.
func Unchanged(src connectors.Source) error {
	if w, ok := src.(connectors.Watched); ok {
		return w.Unchanged()
	}
	return ErrUnwatched
}

// JSONTextsOf returns the source or reader as a JSONTexts; nil if it is none.
func JSONTextsOf(of any) connectors.JSONTexts {
	texts, _ := of.(connectors.JSONTexts)
	return texts
}

// NotesOf returns the sink as one that takes messages for other topics, nil where it
// is none.
func NotesOf(sink connectors.Sink) connectors.Noting {
	n, _ := sink.(connectors.Noting)
	return n
}

// NumberedOf returns the source as a Numbered; nil if it is not a source of topics.
func NumberedOf(src connectors.Source) connectors.Numbered {
	n, _ := src.(connectors.Numbered)
	return n
}

// LabelsOf returns what a release says of its columns, once its last record is written; nil if it says nothing.
func LabelsOf(sink connectors.Sink) []microdata.Said {
	if s, ok := sink.(connectors.Labelling); ok {
		return s.Labels()
	}
	return nil
}

// ContentOf computes the digests of the finished release of a sink; nil if the release has no
// files or the sink is not Digested.
func ContentOf(ctx context.Context, sink connectors.Sink) (*connectors.Content, error) {
	if d, ok := sink.(connectors.Digested); ok {
		return d.Content(ctx)
	}
	return nil, nil
}
