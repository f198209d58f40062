package iceberg

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
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
		fields[0].(map[string]any)["name"], fields[2].(map[string]any)["name"] = "c0", "masked" // each has the name of the other
		return []any{fields[2], fields[0]}                                                      // secret and c1 are dropped
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
	if !slices.Equal(names, []string{"masked int64", "c0 double"}) && !slices.Equal(names, []string{"masked int64", "c0 float64"}) {
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
	if got, want := values(t, &SourceConfig{Place: at(to)}, "masked"), values(t, &SourceConfig{Place: at(path)}, "masked"); !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
}
