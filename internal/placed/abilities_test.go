package placed

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// topics is a source that also says what sources of topics say, and that it cannot be divided.
type topics struct{ connectors.Source }

func (s topics) Abilities() connectors.SourceAbilities {
	can := s.Source.Abilities()
	of := new(kafka.Source)
	can.Acknowledge, can.Numbered, can.Holding = func(context.Context) error { return nil }, of, of
	can.Divisible = nil
	return can
}

// Records with places of their own are in streams of their own, and no progress is stored of them. What the source says
// otherwise holds of them, too, and a source that cannot be divided is not divided with them.
func TestAbilitiesOfPlacedRecords(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("place\n1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from, err := (&csv.SourceConfig{Path: dir}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	src, err := On(from, Columns{Record: "place"})
	if err != nil {
		t.Fatal(err)
	}
	connectortest.Lacks(t, src.Abilities(), "JSONText Acknowledge Numbered Holding Snapshot")
	if can := src.Abilities(); can.Divisible != src || can.Relocated != src || can.StreamName(3) != "place 3" ||
		!can.Folder() || !can.InfersTypes {
		t.Errorf("the abilities are %+v", can)
	}
	parts, err := src.Divide(t.Context(), 1<<20, connectors.Cut{})
	if err != nil || len(parts) != 2 {
		t.Fatalf("parts %v, error %v", parts, err)
	}
	part, err := src.Part(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	if connectors.Folder(part) || !slices.Equal(part.Streams(), from.Streams()[1:]) {
		t.Errorf("a part is of one file: folder %v, streams %q", connectors.Folder(part), part.Streams())
	}
	src.Source = topics{from}
	connectortest.Lacks(t, src.Abilities(), "JSONText Acknowledge Numbered Holding Snapshot Divisible")
}
