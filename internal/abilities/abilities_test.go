package abilities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/abilities"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// bare are a source, a sink and their configurations without any declared ability.
type (
	bareSource struct {
		connectors.Source
		streams []string
	}
	bareSink struct{ connectors.Sink }
	bareFrom struct{ connectors.SourceConfig }
	bareTo   struct{ connectors.SinkConfig }
)

func (s bareSource) Streams() []string { return s.streams }

// watched declares that it detects changes.
type watched struct {
	bareSource
	err error
}

func (w watched) Unchanged() error   { return w.err }
func (w watched) Changed() time.Time { return time.Unix(1, 0) }

func TestUnableByDefault(t *testing.T) {
	one, two := bareSource{streams: []string{"a"}}, bareSource{streams: []string{"a", "b"}}
	if err := abilities.Unchanged(one); !errors.Is(err, abilities.ErrUnwatched) {
		t.Errorf("a source that detects no changes: %v", err)
	}
	if !abilities.Changed(one).IsZero() {
		t.Error("a time of change that nobody has declared")
	}
	if _, known := abilities.PartitionKeys(two); known {
		t.Error("the columns that group two streams are not known")
	}
	if keys, known := abilities.PartitionKeys(one); len(keys) != 0 || !known {
		t.Errorf("one stream: %v, known %v", keys, known)
	}
	if abilities.Folder(one) || !abilities.Folder(two) {
		t.Error("a source is a folder if it has several streams")
	}
	if _, err := abilities.Hold(bareSink{}); !errors.Is(err, connectors.ErrIndivisible) {
		t.Errorf("a sink whose output no other process can publish: %v", err)
	}
	if abilities.DivisibleOf(one) != nil || abilities.NumberedOf(one) != nil || abilities.NotesOf(bareSink{}) != nil ||
		abilities.DeclarableOf(bareFrom{}) != nil || abilities.PlacedOf(bareTo{}) != nil || abilities.TopicsOf(bareTo{}) != nil || abilities.JSONTextsOf(one) != nil ||
		abilities.SpannedOf(bareFrom{}) != nil || abilities.HoldingOf(one) != nil {
		t.Error("an ability that is not declared")
	}
	if abilities.TakesStream(bareTo{}) || abilities.WritesJSON(bareTo{}, bareFrom{}) || abilities.InfersTypes(one) || abilities.KeyColumn(bareTo{}) != "" {
		t.Error("a sink or source is able to do what it does not declare")
	}
	if c, err := abilities.ContentOf(t.Context(), bareSink{}); c != nil || err != nil {
		t.Errorf("a digest of a sink that computes none: %v, %v", c, err)
	}
	for stream, want := range map[int]string{0: "a", 1: "b", 2: "the source", -1: "the source"} {
		if got := abilities.StreamName(two, stream); got != want {
			t.Errorf("stream %d: %q, want %q", stream, got, want)
		}
		if got := abilities.NameOf(two, &microdata.Block{Stream: stream}); got != want {
			t.Errorf("a block of stream %d: %q, want %q", stream, got, want)
		}
	}
}

// located reads one file.
type located struct {
	bareSource
	path string
}

func (l located) At(path string) (bool, error) { return path == l.path, nil }

func TestSpare(t *testing.T) {
	src := located{path: "a.csv"}
	for path, spared := range map[string]bool{"a.csv": false, "b.csv": true, "-": true} {
		if err := abilities.Spare(src, path); (err == nil) != spared {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := abilities.Spare(located{path: "-"}, "-"); err != nil {
		t.Errorf("standard output overwrites nothing: %v", err)
	}
}

func TestChangesOfASource(t *testing.T) {
	gone := errors.New("the file is another one")
	if err := abilities.Unchanged(watched{err: gone}); !errors.Is(err, gone) {
		t.Errorf("a source that has changed: %v", err)
	}
	if err := abilities.Unchanged(watched{}); err != nil {
		t.Errorf("a source that has not changed: %v", err)
	}
	if !abilities.Changed(watched{}).Equal(time.Unix(1, 0)) {
		t.Error("another time of the last change")
	}
}
