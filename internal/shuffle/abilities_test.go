package shuffle

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// snapshot is a source that reads a state of a database.
type snapshot struct{ connectors.Source }

func (s snapshot) Abilities() connectors.SourceAbilities {
	can := s.Source.Abilities()
	can.Snapshot = s
	return can
}

func (snapshot) State() string             { return "a state" }
func (snapshot) Reads(string, string) bool { return true }

// Shuffled records are one stream, of one folder where the source is one: of the source's abilities a sink is told what
// does not depend on where a record was. A shuffled release says what it holds, and gets its name from nobody else.
func TestAbilitiesOfShuffledRecords(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte("{\"a\":[1]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := (&jsonl.SourceConfig{Path: dir}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	of := merged{snapshot{from}}
	connectortest.Lacks(t, of.Abilities(),
		"Unchanged Changed PartitionKeys Missplit InfersTypes StreamName Relocated Acknowledge Divisible Survey Numbered Holding")
	if !connectors.Folder(of) || connectors.Spare(of, dir) == nil || !of.Abilities().JSONText(0) {
		t.Error("a sink is not told that the source is a folder, where, and of JSON")
	}
	schema := from.Schema()
	layout := &microdata.Layout{Schema: schema, Read: []microdata.Want{{As: microdata.Array}},
		Release: []microdata.Output{{Field: schema.Fields[0]}}}
	to := &parquet.SinkConfig{Path: filepath.Join(t.TempDir(), "out")}
	made, err := Create(t.Context(), to, connectors.Plan{Source: from, Layout: layout}, hashed(1))
	if err != nil {
		t.Fatal(err)
	}
	defer made.Abort()
	connectortest.Lacks(t, made.Abilities(), "Hold Note")
}
