package formats_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/postgres"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Abilities that most formats do not have.
const (
	untyped  = " Missplit InfersTypes JSONText Survey"
	ofTopics = " StreamName Acknowledge Numbered Holding"
	others   = "Description Dataset Topics SetPipeline SetLookup"
	streamed = " TakesStream RollByDefault KeyColumn WritesJSON"
)

// lacks are the abilities that each format does not declare, by its open source, its sink and their configurations. The
// source and the sink of topics and the sink of PostgreSQL are tested in their packages.
var lacks = map[string]struct{ source, sink, from, to string }{
	"parquet": {untyped + ofTopics + " Relocated", "Note", others + " Options Guess Declare WithSurvey WithSpans",
		others + " KeyColumn WritesJSON NamesMissing Rearranged"},
	"csv": {"JSONText Relocated" + ofTopics, "Note", others + " Declare WithSpans", others + streamed},
	"jsonl": {"Missplit Relocated" + ofTopics, "Labels Note", others + " Options Guess WithSpans",
		others + " TakesStream RollByDefault KeyColumn NamesMissing VariableLabels"},
	"arrow": {untyped + ofTopics + " Relocated Divisible", "Hold Labels Note",
		others + " Options Guess Declare WithStreams WithSurvey WithSpans",
		others + streamed + " NamesMissing VariableLabels Placed Rearranged"},
	"kafka": {"", "", "Description Dataset Options Guess WithStreams WithSurvey",
		"Description Dataset RollByDefault NamesMissing VariableLabels Placed Rearranged"},
	"postgres": {"Changed PartitionKeys Folder Relocated Divisible" + untyped + ofTopics, "",
		"Topics Options Guess Declare WithStreams WithSurvey WithSpans",
		"Topics NamesMissing VariableLabels Placed Rearranged" + streamed},
	"iceberg": {untyped + ofTopics + " Relocated Divisible", "Hold Note",
		"Topics Options Guess Declare WithStreams WithSurvey WithSpans",
		"Topics NamesMissing VariableLabels Placed Rearranged" + streamed},
	"xlsx": {"Missplit JSONText Survey Relocated Divisible" + ofTopics, "Hold Note", others + serial,
		others + streamed + " NamesMissing Placed Rearranged"},
	"spss": {untyped + " Relocated Divisible" + ofTopics, "Hold Note", others + serial,
		others + streamed + " NamesMissing Placed Rearranged"},
	"stata": {untyped + " Relocated Divisible" + ofTopics, "Hold Note", others + serial,
		others + streamed + " NamesMissing Placed Rearranged"},
	"sas": {untyped + " Relocated Divisible" + ofTopics, "", others + serial, ""},
}

const serial = " Guess Declare WithStreams WithSurvey WithSpans"

// TestEveryAbilityIsDecided: of each ability, each format says that it has it, or is listed in lacks as one that does
// not. A new ability is one or the other.
func TestEveryAbilityIsDecided(t *testing.T) {
	dir, plan := t.TempDir(), planOf(t)
	for _, f := range formats.All {
		want, known := lacks[f.Name]
		if toy := f.Name == "toy" || f.Name == "mute"; toy != !known {
			t.Errorf("%s: nobody has said what it lacks", f.Name)
		}
		if !known {
			continue
		}
		if f.Name != "postgres" { // no other is a database
			want.source, want.from, want.to = want.source+" Snapshot", want.from+" OpenTogether", want.to+" Together"
		}
		t.Run(f.Name, func(t *testing.T) {
			connectortest.Lacks(t, f.NewSource().Abilities(), want.from)
			if f.NewSink != nil {
				connectortest.Lacks(t, full(f.NewSink()).Abilities(), want.to+" PassesMore") // which is a choice, of messages
			}
			switch f.Name {
			case "kafka": // see the tests of its package: it needs a broker
				return
			case "postgres":
				connectortest.Lacks(t, new(postgres.Source).Abilities(), want.source)
				return
			}
			in := "../../connectors/statfile/testdata/made8.xpt"
			if f.Name == "iceberg" {
				in = filepath.Join(dir, "table")
				connectortest.Lacks(t, written(t, f.NewSink(), in, plan).Abilities(), want.sink)
				source := f.NewSource()
				reflect.ValueOf(source).Elem().FieldByName("Path").SetString(in)
				connectortest.Lacks(t, open(t, source).Abilities(), want.source)
				return
			}
			if f.NewSink != nil {
				in = filepath.Join(dir, "out"+f.Extensions[0])
				sink := written(t, f.NewSink(), in, plan)
				connectortest.Lacks(t, sink.Abilities(), want.sink)
			}
			connectortest.Lacks(t, open(t, f.At(in)).Abilities(), want.source)
		})
	}
}

// planOf is a release of one column of one file.
func planOf(t *testing.T) connectors.Plan {
	t.Helper()
	text := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(text, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := open(t, &csv.SourceConfig{Path: text})
	fields := src.Schema().Fields
	return connectors.Plan{Source: src, Layout: &microdata.Layout{
		Schema: src.Schema(), Read: []microdata.Want{{As: microdata.Array}}, Release: []microdata.Output{{Field: fields[0]}},
	}}
}

// full gives a configuration the settings on which abilities depend.
func full(c connectors.SinkConfig) connectors.SinkConfig {
	for name, value := range map[string]any{"Labels": []string{"variables"}, "Codebook": "c.csv", "Key": "id"} {
		if f := reflect.ValueOf(c).Elem().FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
	return c
}

func open(t *testing.T, c connectors.SourceConfig) connectors.Source {
	t.Helper()
	src, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// written is the sink of a release without records.
func written(t *testing.T, c connectors.SinkConfig, path string, plan connectors.Plan) connectors.Sink {
	t.Helper()
	reflect.ValueOf(c).Elem().FieldByName("Path").SetString(path)
	sink, err := c.Create(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sink.Commit(); err != nil {
		t.Fatal(err)
	}
	return sink
}

// A release of a part of a folder is one file, whatever the format.
func TestPartsAreNoFolders(t *testing.T) {
	parted := 0
	for _, f := range formats.All {
		if f.NewSink == nil || len(f.Extensions) == 0 || strings.HasPrefix(f.Name, "toy") || f.Name == "mute" {
			continue
		}
		dir := t.TempDir()
		written(t, f.NewSink(), filepath.Join(dir, "a"+f.Extensions[0]), planOf(t))
		whole := open(t, f.At(dir))
		divisible := whole.Abilities().Divisible
		if divisible == nil {
			continue
		}
		parts, err := divisible.Divide(t.Context(), 1, connectors.Cut{})
		if err != nil || len(parts) != 1 {
			t.Fatalf("%s: parts %v, error %v", f.Name, parts, err)
		}
		part, err := divisible.Part(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		if parted++; !connectors.Folder(whole) || connectors.Folder(part) {
			t.Errorf("%s: the whole is a folder: %v, a part is one: %v", f.Name, connectors.Folder(whole),
				connectors.Folder(part))
		}
	}
	if parted != 3 {
		t.Errorf("%d formats are read in parts, want 3", parted)
	}
}
