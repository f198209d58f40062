package iceberg

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
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

func columnOf(m map[string]any, i int) map[string]any {
	return m["schemas"].([]any)[0].(map[string]any)["fields"].([]any)[i].(map[string]any)
}

// A table of version 3 without what came with it is read; deletion vectors are refused, and so is a release into it.
func TestVersion3(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 5), &SinkConfig{Place: at(path)})
	rewritten(t, path, func(m map[string]any) {
		m["format-version"], m["next-row-id"] = 3, 5
		m["snapshots"].([]any)[0].(map[string]any)["first-row-id"] = 0
	})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(5)...))
	_, _, _, err := started(t, records(t, 1), &SinkConfig{Place: at(path)})
	if err == nil || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("a release into it: %v", err)
	}
	deleting(t, path, deletion{columns: []column{{"file_path", deletedPathID, []any{dataPath(t, path, 5)}},
		{"pos", deletedPosID, []any{3}}}})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(5, 3)...))
	list, err := manifestsOf(t.Context(), present(t, path).current())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if !list[i].Deletes {
			continue
		}
		entries, err := liveEntries(t.Context(), &list[i])
		if err != nil {
			t.Fatal(err)
		}
		entries[0].File.Format = meta.Puffin
		text, _, err := meta.Write(1, 9, present(t, path).spec(), present(t, path).schema(), true, entries)
		if err == nil {
			err = os.WriteFile(list[i].Path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused(t, &SourceConfig{Place: at(path)}, "deletion vectors")
}

// unnumbered makes a table whose one file has no ids of fields, as files that were added to it.
func unnumbered(t *testing.T, n int, names string) string {
	t.Helper()
	path, plain := filepath.Join(t.TempDir(), "table"), filepath.Join(t.TempDir(), "plain.parquet")
	release(t, records(t, n), &SinkConfig{Place: at(path)})
	release(t, records(t, n), &parquet.SinkConfig{Path: plain})
	if err := os.Rename(plain, dataPath(t, path, int64(n))); err != nil {
		t.Fatal(err)
	}
	if names != "" {
		rewritten(t, path, func(m map[string]any) { m["properties"] = map[string]any{nameMapping: names} })
	}
	return path
}

// Files without ids of fields are read by the table's names for them, and by no others: a name that the table does not
// have is no column.
func TestNames(t *testing.T) {
	const all = `[{"field-id": 1, "names": ["older", "masked"]}, {"field-id": 2, "names": ["secret"]},
{"field-id": 3, "names": ["c0"]}, {"field-id": 4, "names": ["c1"], "fields": []}, {"names": ["none"]}]`
	refused(t, &SourceConfig{Place: at(unnumbered(t, 5, ""))}, "without the ids of their fields")
	expectRows(t, &SourceConfig{Place: at(unnumbered(t, 5, all))}, masked(upTo(5)...))
	path := unnumbered(t, 5, strings.Replace(all, `"masked"`, `"c0"`, 1))
	refused(t, &SourceConfig{Place: at(path)}, "have a name twice")
	path = unnumbered(t, 5, strings.Replace(strings.Replace(all, `["c0"]`, "[]", 1), `"masked"`, `"c0"`, 1))
	refused(t, &SourceConfig{Place: at(path)}, "column masked is int64 in the file")
	path = unnumbered(t, 5, strings.Replace(all, "c0", "x", 1))
	if got := values(t, &SourceConfig{Place: at(path)}, "c0"); !slices.Equal(got, []string{"-", "-", "-", "-", "-"}) {
		t.Errorf("a column that the file has by no name: %q", got)
	}
	path = unnumbered(t, 5, all)
	rewritten(t, path, func(m map[string]any) { columnOf(m, 0)["name"], columnOf(m, 1)["name"] = "wage", "masked" })
	if got := values(t, &SourceConfig{Place: at(path)}, "wage"); got[1] != "1007.5" {
		t.Errorf("a column that was renamed: %q", got)
	}
	if got := values(t, &SourceConfig{Place: at(path)}, "masked"); got[1] != "canary-000001" {
		t.Errorf("a column that has the name of another one: %q", got)
	}
	release(t, records(t, 3), &SinkConfig{Place: at(unnumbered(t, 5, all)), Mode: "append"})
	// A value that is in the partition alone is not taken for a missing one.
	path = unnumbered(t, 5, strings.Replace(all, "c0", "x", 1))
	rewritten(t, path, func(m map[string]any) {
		m["partition-specs"] = []any{map[string]any{"spec-id": 0, "fields": []any{map[string]any{
			"source-id": 3, "field-id": 1000, "name": "c0", "transform": "identity"}}}}
	})
	tab := present(t, path)
	list, err := manifestsOf(t.Context(), tab.current())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := liveEntries(t.Context(), &list[0])
	if err != nil {
		t.Fatal(err)
	}
	for value, words := range map[any]string{int64(7): "lacks column c0, whose values the table's partitions have", nil: ""} {
		entries[0].File.Partition = map[int]any{1000: value}
		text, _, err := meta.Write(1, 1, tab.spec(), tab.schema(), false, entries)
		if err == nil {
			err = os.WriteFile(list[0].Path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if words != "" {
			refused(t, &SourceConfig{Place: at(path)}, words)
		} else {
			expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(5)...))
		}
	}
}

// What cannot be read as it is meant is refused.
func TestTablesRefused(t *testing.T) {
	for words, change := range map[string]func(m map[string]any){
		"version 4 of the format":           func(m map[string]any) { m["format-version"] = 4 },
		"initial-default":                   func(m map[string]any) { columnOf(m, 1)["initial-default"] = 5 },
		"column secret: is of type variant": func(m map[string]any) { columnOf(m, 1)["type"] = "variant" },
		"column secret: is of type geography(srid:4326)": func(m map[string]any) {
			columnOf(m, 1)["type"] = "geography(srid:4326)"
		},
		"column secret: is of type timestamp_ns": func(m map[string]any) {
			columnOf(m, 1)["type"] = map[string]any{"type": "list", "element-id": 9, "element-required": false, "element": map[string]any{
				"type": "struct", "fields": []any{field(10, "within", "timestamp_ns", false)}}}
		},
		"encryption-keys": func(m map[string]any) { m["encryption-keys"] = []any{map[string]any{"key-id": "k"}} },
		"key-id":          func(m map[string]any) { m["snapshots"].([]any)[0].(map[string]any)["key-id"] = "k" },
		"(" + nameMapping + ") are not": func(m map[string]any) {
			m["properties"] = map[string]any{nameMapping: "[{"}
		},
		"(" + nameMapping + ") have a name twice": func(m map[string]any) {
			m["properties"] = map[string]any{nameMapping: `[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["a"]}]`}
		},
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
