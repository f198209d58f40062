package iceberg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
)

// table is a state of a table's metadata.
type table struct {
	metadata
	location string                     // of these metadata
	raw      map[string]json.RawMessage // all of it
}

// metadata is the part of table metadata that is used here.
type metadata struct {
	FormatVersion      int                  `json:"format-version"`
	UUID               string               `json:"table-uuid"`
	Location           string               `json:"location"`
	LastSequenceNumber int64                `json:"last-sequence-number"`
	LastUpdated        int64                `json:"last-updated-ms"`
	CurrentSchema      int                  `json:"current-schema-id"`
	Schemas            []*meta.Schema       `json:"schemas"`
	DefaultSpec        int                  `json:"default-spec-id"`
	Specs              []meta.PartitionSpec `json:"partition-specs"`
	CurrentSnapshot    *int64               `json:"current-snapshot-id"`
	Snapshots          []snapshot           `json:"snapshots"`
	SnapshotLog        []logged             `json:"snapshot-log"`
	Refs               map[string]ref       `json:"refs"`
	Properties         map[string]string    `json:"properties"`
	EncryptionKeys     []json.RawMessage    `json:"encryption-keys"`
}

type snapshot struct {
	ID        int64             `json:"snapshot-id"`
	Parent    *int64            `json:"parent-snapshot-id,omitempty"`
	Sequence  int64             `json:"sequence-number"`
	Timestamp int64             `json:"timestamp-ms"`
	Manifests string            `json:"manifest-list"`
	Summary   map[string]string `json:"summary"`
	Schema    *int              `json:"schema-id,omitempty"`
	Key       *string           `json:"key-id,omitempty"`
}

type logged struct {
	Timestamp int64 `json:"timestamp-ms"`
	ID        int64 `json:"snapshot-id"`
}

type ref struct {
	ID   int64  `json:"snapshot-id"`
	Type string `json:"type"`
}

const mainBranch = "main"

// parseTable reads table metadata of versions 1 to 3 of the format. What is new in version 3, by which a record is
// another than its file says, is refused where it is met.
func parseTable(text []byte, location string) (*table, error) {
	t := &table{location: location}
	var version struct {
		FormatVersion int `json:"format-version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, errors.New("the table's metadata are not the JSON that they should be")
	}
	if version.FormatVersion < 1 || version.FormatVersion > 3 {
		return nil,
			fmt.Errorf("the table is of version %d of the format, and this program reads 1 to 3", version.FormatVersion)
	}
	if json.Unmarshal(text, &t.metadata) != nil || json.Unmarshal(text, &t.raw) != nil {
		return nil, errors.New("the table's metadata are not what the format's specification says")
	}
	if t.schema() == nil || t.Location == "" {
		return nil, errors.New("the table's metadata have no current schema")
	}
	if len(t.EncryptionKeys) > 0 {
		return nil, errors.New("the table is encrypted (encryption-keys), and such tables are neither read nor written")
	}
	t.Location = strings.TrimRight(t.Location, "/")
	return t, nil
}

// nameMapping is the property that says by which names columns are found in files without the ids of fields.
const nameMapping = "schema.name-mapping.default"

// namesOf are the names of columns in files without ids, by the columns' ids; nil if the table has none.
func (m *metadata) namesOf() (map[int][]string, error) {
	text, has := m.Properties[nameMapping]
	if !has {
		return nil, nil
	}
	var list []struct {
		ID    *int     `json:"field-id"`
		Names []string `json:"names"`
	}
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil, errors.New("the table's names of columns (" + nameMapping + ") are not what the format's specification says")
	}
	names, seen := map[int][]string{}, map[string]bool{}
	for _, one := range list {
		for _, name := range one.Names {
			if seen[name] {
				return nil, errors.New("the table's names of columns (" + nameMapping + ") have a name twice")
			}
			seen[name] = true
		}
		if one.ID != nil {
			names[*one.ID] = append(names[*one.ID], one.Names...)
		}
	}
	return names, nil
}

// columnsOf are the columns of a schema, for the files of the table.
func (t *table) columnsOf(schema *meta.Schema) ([]parquet.Column, error) {
	if err := schema.Beyond(); err != nil {
		return nil, err
	}
	names, err := t.namesOf()
	if err != nil {
		return nil, err
	}
	var columns []parquet.Column
	for _, f := range schema.Fields {
		if f.ID < 1 || f.ID > math.MaxInt32 {
			return nil, errors.New("a column's id is none")
		}
		c := parquet.Column{ID: int32(f.ID), Name: f.Name}
		if names != nil {
			c.Names = append([]string{}, names[f.ID]...)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// schema is the current one; nil if it is not there.
func (m *metadata) schema() *meta.Schema { return m.schemaOf(m.CurrentSchema) }

func (m *metadata) schemaOf(id int) *meta.Schema {
	for _, s := range m.Schemas {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// spec is how new files are partitioned.
func (m *metadata) spec() *meta.PartitionSpec {
	for i := range m.Specs {
		if m.Specs[i].ID == m.DefaultSpec {
			return &m.Specs[i]
		}
	}
	return &meta.PartitionSpec{}
}

func (m *metadata) snapshot(id int64) *snapshot {
	for i := range m.Snapshots {
		if m.Snapshots[i].ID == id {
			return &m.Snapshots[i]
		}
	}
	return nil
}

// current is the newest snapshot of the main branch; nil if there is none.
func (m *metadata) current() *snapshot {
	if r, ok := m.Refs[mainBranch]; ok {
		return m.snapshot(r.ID)
	}
	if m.CurrentSnapshot == nil {
		return nil
	}
	return m.snapshot(*m.CurrentSnapshot)
}

// at is the snapshot that was the current one at a time, nil if there was none: by the log, which says when each became
// it.
func (m *metadata) at(when time.Time) *snapshot {
	var found *snapshot
	for _, l := range m.SnapshotLog { // in order of time
		if l.Timestamp <= when.UnixMilli() {
			found = m.snapshot(l.ID)
		}
	}
	return found
}

// stamp is the time of a new snapshot: no earlier than any before it.
func (m *metadata) stamp(now time.Time) int64 {
	at := max(now.UnixMilli(), m.LastUpdated)
	for _, l := range m.SnapshotLog {
		at = max(at, l.Timestamp)
	}
	return at
}

// with returns the metadata with a further snapshot of the main branch, everything else as it was.
func (t *table) with(s *snapshot) ([]byte, error) {
	raw := maps.Clone(t.raw)
	var failed error
	set := func(key string, v any) {
		text, err := json.Marshal(v)
		failed = errors.Join(failed, err)
		raw[key] = text
	}
	// What is not understood is kept, so that lists and objects are extended as they are.
	extend := func(key string, v any) {
		var list []json.RawMessage
		if old, ok := raw[key]; ok {
			failed = errors.Join(failed, json.Unmarshal(old, &list))
		}
		text, err := json.Marshal(v)
		failed = errors.Join(failed, err)
		set(key, append(list, text))
	}
	extend("snapshots", s)
	extend("snapshot-log", logged{s.Timestamp, s.ID})
	if t.location != "" {
		extend("metadata-log", map[string]any{"timestamp-ms": t.LastUpdated, "metadata-file": t.location})
	}
	refs := map[string]json.RawMessage{}
	if old, ok := raw["refs"]; ok {
		failed = errors.Join(failed, json.Unmarshal(old, &refs))
	}
	branch := map[string]any{}
	if old, ok := refs[mainBranch]; ok {
		failed = errors.Join(failed, json.Unmarshal(old, &branch))
	}
	branch["snapshot-id"], branch["type"] = s.ID, "branch"
	text, err := json.Marshal(branch)
	refs[mainBranch] = text
	set("refs", refs)
	set("current-snapshot-id", s.ID)
	set("last-sequence-number", s.Sequence)
	set("last-updated-ms", s.Timestamp)
	if failed = errors.Join(failed, err); failed != nil {
		return nil, errors.New("the table's metadata are not what the format's specification says")
	}
	return json.MarshalIndent(raw, "", "  ")
}

// highest is the greatest id of a schema of columns that consist of no others.
func highest(schema *meta.Schema) (id int) {
	for _, f := range schema.Fields {
		id = max(id, f.ID)
	}
	return id
}

// begin is the metadata of a table that has no snapshot yet.
func begin(uuid, location string, schema *meta.Schema, now time.Time) (*table, error) {
	text, err := json.Marshal(map[string]any{
		"format-version": 2, "table-uuid": uuid, "location": location, "last-sequence-number": 0,
		"last-updated-ms": now.UnixMilli(),
		"last-column-id":  highest(schema), "current-schema-id": schema.ID, "schemas": []any{schema},
		"default-spec-id": 0, "partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{}}},
		"last-partition-id":     999,
		"default-sort-order-id": 0, "sort-orders": []any{map[string]any{"order-id": 0, "fields": []any{}}},
		"properties": map[string]string{}, "snapshots": []any{}, "snapshot-log": []any{}, "metadata-log": []any{},
		"refs": map[string]any{},
	})
	if err != nil {
		return nil, err
	}
	return parseTable(text, "")
}
