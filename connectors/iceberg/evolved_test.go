package iceberg

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// evolved makes a table whose columns are then others.
func evolved(t *testing.T, change func(fields []any) []any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 50), &SinkConfig{Place: at(path)})
	rewritten(t, path, func(m map[string]any) {
		s := other(m)
		var fields []any
		for _, f := range s["fields"].([]any) {
			fields = append(fields, maps.Clone(f.(map[string]any)))
		}
		s["fields"] = change(fields)
		m["schemas"], m["current-schema-id"] = append(m["schemas"].([]any), s), 1
	})
	return path
}

// Columns are those with the ids of the table's present ones, whatever they were called and wherever they stood.
func TestColumnsByID(t *testing.T) {
	path := evolved(t, func(fields []any) []any {
		// each has the name of the other
		fields[0].(map[string]any)["name"], fields[2].(map[string]any)["name"] = "c0", "masked"
		return []any{fields[2], fields[0]} // secret and c1 are dropped
	})
	src, err := (&SourceConfig{Place: at(path)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var names []string
	for _, f := range src.Schema().Fields {
		names = append(names, f.Name+" "+f.Type.String())
	}
	if !slices.Equal(names, []string{"masked int64", "c0 double"}) &&
		!slices.Equal(names, []string{"masked int64", "c0 float64"}) {
		t.Errorf("columns %q", names)
	}
	if got := values(t, &SourceConfig{Place: at(path)}, "c0")[1]; got != "1007.5" {
		t.Errorf("the second record has %s, want 1007.5", got)
	}
	// The snapshot by its number is read with the columns of its time.
	first := present(t, path).Snapshots[0].ID
	if got := values(t, &SourceConfig{Place: at(path), Snapshot: first}, "secret")[1]; got != "canary-000001" {
		t.Errorf("the second record had %s", got)
	}
	// A release of it by splice has the new names and the ids of its own table.
	to := filepath.Join(t.TempDir(), "released")
	release(t, &SourceConfig{Place: at(path)}, &SinkConfig{Place: at(to)})
	if got, want := values(t, &SourceConfig{Place: at(to)}, "masked"), values(t, &SourceConfig{Place: at(path)},
		"masked"); !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
}

// field is one of the table's schema.
func field(id int, name, typ string, required bool) map[string]any {
	return map[string]any{"id": id, "name": name, "type": typ, "required": required}
}

// Files of different columns are read together: what a file lacks is null, and a type that became wider is that.
func TestFilesOfEarlierColumns(t *testing.T) {
	path := evolved(t, func(fields []any) []any { return []any{fields[0], fields[2], field(9, "added", "string", false)} })
	if got := values(t, &SourceConfig{Place: at(path)}, "added"); len(got) != 50 || got[0] != "-" || got[49] != "-" {
		t.Errorf("a column that was added later has %q", got)
	}
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50)...))
	newer := connectortest.NewTable(t,
		connectortest.Contract{Types: []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}}, 3)
	newer.Schema.Fields[3].Name = "added"
	release(t, newer.Config(0), &SinkConfig{Place: at(path), Mode: "append"}, "secret")
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50)...), masked(0, 1, 2))
	nulls := 0
	for _, v := range values(t, &SourceConfig{Place: at(path)}, "added") {
		if v == "-" {
			nulls++
		}
	}
	if nulls != 50 {
		t.Errorf("%d records lack the added column, want 50", nulls)
	}
	blocks(t, path)
}

func TestPromotedColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	narrow := connectortest.NewTable(t,
		connectortest.Contract{Types: []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32},
			Nulls: true}, 20)
	release(t, narrow.Config(0), &SinkConfig{Place: at(path)})
	want, wantFloat := values(t, &SourceConfig{Place: at(path)}, "c0"), values(t, &SourceConfig{Place: at(path)}, "c1")
	retype := func(to map[string]string) {
		rewritten(t, path, func(m map[string]any) {
			for _, f := range m["schemas"].([]any)[0].(map[string]any)["fields"].([]any) {
				if typ, ok := to[f.(map[string]any)["name"].(string)]; ok {
					f.(map[string]any)["type"] = typ
				}
			}
		})
	}
	retype(map[string]string{"c0": "long", "c1": "double"})
	src, err := (&SourceConfig{Place: at(path)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for name, typ := range map[string]arrow.DataType{"c0": arrow.PrimitiveTypes.Int64,
		"c1": arrow.PrimitiveTypes.Float64} {
		if f := src.Schema().Fields[src.Schema().Index(name)]; !arrow.TypeEqual(f.Type, typ) || !f.Nullable {
			t.Errorf("column %s is %s", name, f.Type)
		}
	}
	if got := values(t, &SourceConfig{Place: at(path)}, "c0"); !slices.Equal(got, want) {
		t.Errorf("as long: %q, want %q", got, want)
	}
	if got := values(t, &SourceConfig{Place: at(path)}, "c1"); !slices.Equal(got, wantFloat) {
		t.Errorf("as double: %q, want %q", got, wantFloat)
	}
	blocks(t, path)
	retype(map[string]string{"c0": "string"})
	refused(t, &SourceConfig{Place: at(path)}, "column c0 is int32 in the file and utf8 in the table")
	retype(map[string]string{"c0": "int", "c1": "int"})
	refused(t, &SourceConfig{Place: at(path)}, "column c1")
}

// What cannot be read as it is meant is refused.
func TestTablesRefused(t *testing.T) {
	for words, change := range map[string]func(m map[string]any){
		"version 3 of the format": func(m map[string]any) { m["format-version"] = 3 },
		"every record of the table must have": func(m map[string]any) {
			s := m["schemas"].([]any)[0].(map[string]any)
			s["fields"] = append(s["fields"].([]any), field(9, "more", "long", true))
		},
		"no snapshot: nothing": func(m map[string]any) { m["refs"], m["current-snapshot-id"] = map[string]any{}, nil },
		"no current schema":    func(m map[string]any) { m["current-schema-id"] = 7 },
		"no such file": func(m map[string]any) {
			m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = "/none/snap.avro"
		},
		"is not known": func(m map[string]any) {
			m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = "hdfs://a/snap.avro"
		},
		"no absolute path": func(m map[string]any) { m["location"] = "table" },
		"is damaged": func(m map[string]any) {
			m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = m["damaged"]
		},
		"of another machine":    func(m map[string]any) { m["location"] = "file://host/table" },
		"no list of manifests":  func(m map[string]any) { m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = "" },
		"lies at another place": func(m map[string]any) { m["location"] = "/elsewhere" },
	} {
		path := filepath.Join(t.TempDir(), "table")
		release(t, records(t, 5), &SinkConfig{Place: at(path)})
		damaged := filepath.Join(path, "damaged.avro")
		if err := os.WriteFile(damaged, []byte("Obj\x01 no more"), 0o600); err != nil {
			t.Fatal(err)
		}
		rewritten(t, path, func(m map[string]any) { m["damaged"] = damaged; change(m) })
		refused(t, &SourceConfig{Place: at(path)}, words)
	}
	// A file that two manifests name would be read twice.
	twice := filepath.Join(t.TempDir(), "twice")
	release(t, records(t, 5), &SinkConfig{Place: at(twice)})
	tab := present(t, twice)
	list, err := manifestsOf(t.Context(), tab.current())
	if err != nil {
		t.Fatal(err)
	}
	doubled, err := meta.WriteList(1, nil, 1, append(list, list...))
	if err == nil {
		err = os.WriteFile(tab.current().Manifests, doubled, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, &SourceConfig{Place: at(twice)}, "a data file twice")
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 5), &SinkConfig{Place: at(path)})
	file := dataPath(t, path, 5)
	other := filepath.Join(t.TempDir(), "other")
	release(t, records(t, 6), &SinkConfig{Place: at(other)})
	text, err := os.ReadFile(dataPath(t, other, 6))
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, &SourceConfig{Place: at(path)}, "another number of records than the table's metadata say")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	refused(t, &SourceConfig{Place: at(path)}, "no such file")
	refused(t, &SourceConfig{Place: at(filepath.Join(t.TempDir(), "none"))}, "no such table")
}
