package connectors_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// told is a source of some streams that has only the abilities it is given.
type told struct {
	connectors.Source
	streams []string
	can     connectors.SourceAbilities
}

func (s told) Streams() []string                     { return s.streams }
func (s told) Abilities() connectors.SourceAbilities { return s.can }

type mute struct{ connectors.Sink }

func (mute) Abilities() (none connectors.SinkAbilities) { return none }

// What nobody has declared is refused where silence could disclose or destroy something, and hidden otherwise.
func TestUnableByDefault(t *testing.T) {
	one, two := told{streams: []string{"a"}}, told{streams: []string{"a", "b"}}
	if err := connectors.Unchanged(one); err == nil ||
		!strings.Contains(err.Error(), "does not say whether its data change") {
		t.Errorf("a source that detects no changes: %v", err)
	}
	if err := connectors.Spare(one, "out.csv"); err == nil ||
		!strings.Contains(err.Error(), "does not say which files it reads") {
		t.Errorf("a source that does not say what it reads: %v", err)
	}
	if _, err := connectors.Hold(mute{}); !errors.Is(err, connectors.ErrIndivisible) {
		t.Errorf("a sink whose output no other process can publish: %v", err)
	}
	if c, err := connectors.ContentOf(t.Context(), mute{}); c != nil || err != nil {
		t.Errorf("a digest of a sink that computes none: %v, %v", c, err)
	}
	if _, known := connectors.PartitionKeys(two); known {
		t.Error("the columns that group two streams are not known")
	}
	if keys, known := connectors.PartitionKeys(one); len(keys) != 0 || !known {
		t.Errorf("one stream: %v, known %v", keys, known)
	}
	if connectors.Folder(one) || !connectors.Folder(two) {
		t.Error("a source is a folder if it has several streams")
	}
	for stream, want := range map[int]string{0: "a", 1: "b", 2: "the source", -1: "the source"} {
		b := &microdata.Block{Stream: stream}
		if got := connectors.StreamName(two, stream); got != want || connectors.NameOf(two, b) != want ||
			connectors.StoredIn(two, b) != stream {
			t.Errorf("stream %d: %q and %q, stored in %d, want %q", stream, got, connectors.NameOf(two, b),
				connectors.StoredIn(two, b), want)
		}
	}
}

// What is declared is what is answered.
func TestDeclaredAbilities(t *testing.T) {
	gone := errors.New("the file is another one")
	src := told{streams: []string{"a", "b"}, can: connectors.SourceAbilities{
		Unchanged:     func() error { return gone },
		At:            func(path string) (bool, error) { return path == "a.csv" || path == "-", nil },
		Folder:        func() bool { return false },
		PartitionKeys: func() []string { return nil },
		StreamName:    func(int) string { return "c" },
	}}
	if err := connectors.Unchanged(src); !errors.Is(err, gone) {
		t.Errorf("a source that has changed: %v", err)
	}
	// standard output overwrites nothing
	for path, spared := range map[string]bool{"a.csv": false, "b.csv": true, "-": true} {
		if err := connectors.Spare(src, path); (err == nil) != spared {
			t.Errorf("%s: %v", path, err)
		}
	}
	keys, known := connectors.PartitionKeys(src)
	if connectors.Folder(src) || keys != nil || !known || connectors.StreamName(src, 0) != "c" ||
		connectors.NameOf(src, new(microdata.Block)) != "c" {
		t.Errorf("folder %v, keys %v, %v, stream %q", connectors.Folder(src), keys, known, connectors.StreamName(src, 0))
	}
}
