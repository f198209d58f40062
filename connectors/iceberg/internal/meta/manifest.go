package meta

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/avro"
)

// Status is what a snapshot has done with a file.
type Status int

// The states of files in a manifest.
const (
	Kept    Status = 0
	Added   Status = 1
	Removed Status = 2
)

// Content is what a file has.
type Content int

// The contents of files.
const (
	Data             Content = 0
	DeletesPositions Content = 1
	DeletesValues    Content = 2
)

// Entry is an entry of a manifest.
type Entry struct {
	Status       Status
	Snapshot     int64 // that did this
	Sequence     int64 // of its data: what deletes records is of earlier data
	FileSequence int64
	File         File
}

// File describes a data file, or one of deleted records. Maps are by the ids of columns.
type File struct {
	Content              Content
	Path, Format         string
	Spec                 int
	Partition            map[int]any // by the ids of the partition's fields
	Records, Bytes       int64
	Sizes, Values, Nulls map[int]int64
	Lower, Upper         map[int][]byte
	Equality             []int // the columns whose values tell what is deleted

	nans, key, splits, sort any // as they were read
}

// The formats of files.
const (
	Parquet = "PARQUET"
	Puffin  = "PUFFIN" // deletion vectors
)

// counts is the schema of a map from columns' ids.
func counts(name, value string, id, key, of int) string {
	return fmt.Sprintf(
		`{"name": %q, "type": ["null", {"type": "array", "logicalType": "map", "items": {"type": "record", "name": "k%d_v%d", "fields": [
  {"name": "key", "type": "int", "field-id": %d}, {"name": "value", "type": %q, "field-id": %d}]}}], "default": null, "field-id": %d}`, name, key, of, key, value, of, id)
}

// entrySchema is the schema of a manifest's entries, for records of a partition.
func entrySchema(partition string) string {
	return `{"type": "record", "name": "manifest_entry", "fields": [
 {"name": "status", "type": "int", "field-id": 0},
 {"name": "snapshot_id", "type": ["null", "long"], "default": null, "field-id": 1},
 {"name": "sequence_number", "type": ["null", "long"], "default": null, "field-id": 3},
 {"name": "file_sequence_number", "type": ["null", "long"], "default": null, "field-id": 4},
 {"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
 {"name": "content", "type": "int", "field-id": 134},
 {"name": "file_path", "type": "string", "field-id": 100},
 {"name": "file_format", "type": "string", "field-id": 101},
 {"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [` + partition + `]}},
 {"name": "record_count", "type": "long", "field-id": 103},
 {"name": "file_size_in_bytes", "type": "long", "field-id": 104},
 ` + strings.Join([]string{
		counts("column_sizes", "long", 108, 117, 118), counts("value_counts", "long", 109, 119, 120),
		counts("null_value_counts", "long", 110, 121, 122),
		counts("nan_value_counts", "long", 137, 138, 139), counts("lower_bounds", "bytes", 125, 126, 127),
		counts("upper_bounds", "bytes", 128, 129, 130),
	}, ",\n ") + `,
 {"name": "key_metadata", "type": ["null", "bytes"], "default": null, "field-id": 131},
 {"name": "split_offsets", "type": ["null", {"type": "array", "items": "long", "element-id": 133}], "default": null, "field-id": 132},
 {"name": "equality_ids", "type": ["null", {"type": "array", "items": "int", "element-id": 136}], "default": null, "field-id": 135},
 {"name": "sort_order_id", "type": ["null", "int"], "default": null, "field-id": 140}]}}]}`
}

// partitionTypes are Avro's types of values of partitions.
var partitionTypes = map[Type]string{
	Boolean: `"boolean"`, Int: `"int"`, Long: `"long"`, Float: `"float"`, Double: `"double"`, String: `"string"`,
	Binary: `"bytes"`,
	Date:   `{"type": "int", "logicalType": "date"}`, Time: `{"type": "long", "logicalType": "time-micros"}`,
	Timestamp:   `{"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": false}`,
	TimestampTZ: `{"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": true}`,
}

var avroName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// avroField is the name of a partition's field in a manifest, which readers know by its id.
func avroField(f PartitionField) string {
	if avroName.MatchString(f.Name) {
		return f.Name
	}
	return "f" + strconv.Itoa(f.ID)
}

// partitionFields are the fields of a partition's record.
func partitionFields(spec *PartitionSpec, schema *Schema) (string, error) {
	var fields []string
	for _, f := range spec.Fields {
		of, ok := schema.ByID(f.Source)
		if !ok && f.Transform != Void {
			return "", fmt.Errorf("partition field %s: its column is no more in the table", f.Name)
		}
		t, ok := partitionTypes[f.Transform.Result(of.Type)]
		if !ok && f.Transform == Void {
			t, ok = `"int"`, true // it has no value
		}
		if !ok {
			return "", fmt.Errorf("partition field %s: is of type %s, which is not written", f.Name, f.Transform.Result(of.Type))
		}
		fields = append(fields,
			fmt.Sprintf(`{"name": %q, "type": ["null", %s], "default": null, "field-id": %d}`, avroField(f), t, f.ID))
	}
	return strings.Join(fields, ", "), nil
}

// Write writes a manifest of a snapshot: its bytes, and what the list of manifests says of it but for its path. Entries
// that the snapshot adds get its sequence number from there. deletes: the files are of deleted records.
func Write(snapshot, sequence int64, spec *PartitionSpec, schema *Schema, deletes bool, entries []Entry) ([]byte,
	Manifest, error) {
	m := Manifest{Spec: spec.ID, Sequence: sequence, MinSequence: sequence, Snapshot: snapshot, Deletes: deletes}
	partition, err := partitionFields(spec, schema)
	if err != nil {
		return nil, m, err
	}
	columns, err1 := json.Marshal(schema)
	fields, err2 := json.Marshal(append([]PartitionField{}, spec.Fields...))
	if err := errors.Join(err1, err2); err != nil {
		return nil, m, err
	}
	content := "data"
	if deletes {
		content = "deletes"
	}
	text, err := written(entrySchema(partition), map[string]string{
		"schema": string(columns), "schema-id": strconv.Itoa(schema.ID), "partition-spec": string(fields),
		"partition-spec-id": strconv.Itoa(spec.ID),
		"format-version":    "2", "content": content,
	}, len(entries), func(i int) map[string]any {
		e := &entries[i]
		record := map[string]any{"status": int32(e.Status), "snapshot_id": e.Snapshot, "sequence_number": nil,
			"file_sequence_number": nil, "data_file": e.File.record(spec)}
		switch e.Status {
		case Added:
			m.Added++
			m.AddedRows += e.File.Records
		case Kept:
			m.Existing++
			m.ExistingRows += e.File.Records
		case Removed:
			m.Removed++
			m.RemovedRow += e.File.Records
		}
		if e.Status != Added || e.Sequence > 0 { // added data may be older than the snapshot
			record["sequence_number"] = e.Sequence
			if e.Status != Removed {
				m.MinSequence = min(m.MinSequence, e.Sequence)
			}
		}
		if e.Status != Added {
			record["file_sequence_number"] = e.FileSequence
		}
		return record
	})
	m.Bytes = int64(len(text))
	return text, m, err
}

// record is a file's record in a manifest.
func (f *File) record(spec *PartitionSpec) map[string]any {
	partition := map[string]any{}
	for _, p := range spec.Fields {
		partition[avroField(p)] = f.Partition[p.ID]
	}
	var equality any
	if f.Equality != nil {
		var ids []any
		for _, id := range f.Equality {
			ids = append(ids, int32(id))
		}
		equality = ids
	}
	return map[string]any{
		"content": int32(f.Content), "file_path": f.Path, "file_format": f.Format, "partition": partition,
		"record_count": f.Records, "file_size_in_bytes": f.Bytes,
		"column_sizes": pairs(f.Sizes), "value_counts": pairs(f.Values), "null_value_counts": pairs(f.Nulls),
		"nan_value_counts": f.nans,
		"lower_bounds":     pairs(f.Lower), "upper_bounds": pairs(f.Upper),
		"key_metadata": f.key, "split_offsets": f.splits, "equality_ids": equality, "sort_order_id": f.sort,
	}
}

// pairs is a map in the form of a manifest.
func pairs[V any](m map[int]V) any {
	if m == nil {
		return nil
	}
	list := []any{}
	for key, v := range m {
		list = append(list, map[string]any{"key": int32(key), "value": v})
	}
	return list
}

// unpaired is a map of that form.
func unpaired[V any](v any) map[int]V {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	m := map[int]V{}
	for _, one := range list {
		if pair, ok := one.(map[string]any); ok {
			if value, ok := pair["value"].(V); ok {
				m[int(whole(pair["key"], 0))] = value
			}
		}
	}
	return m
}

// Read reads the entries of a manifest, without those of files that were removed.
func (m *Manifest) Read(text []byte) (all []Entry, err error) {
	err = records(text, func(schema *avro.Schema, r map[string]any) error {
		status := Status(whole(r["status"], -1))
		if status == Removed {
			return nil
		}
		file, ok := r["data_file"].(map[string]any)
		if !ok || status != Kept && status != Added {
			return errDamaged
		}
		e := Entry{Status: status, Snapshot: whole(r["snapshot_id"], m.Snapshot)}
		inherited := int64(-1)
		if status == Added || m.Sequence == 0 { // of tables of version 1, which count none
			inherited = m.Sequence
		}
		e.Sequence = whole(r["sequence_number"], inherited)
		e.FileSequence = whole(r["file_sequence_number"], inherited)
		if e.Sequence < 0 {
			return errDamaged
		}
		if e.File, err = fileOf(file, m.Spec); err != nil {
			return err
		}
		if (e.File.Content != Data) != m.Deletes {
			return errDamaged
		}
		e.File.Partition = partitionOf(schema, file)
		all = append(all, e)
		return nil
	})
	return all, err
}

func fileOf(r map[string]any, spec int) (f File, err error) {
	f = File{
		Content: Content(whole(r["content"], 0)), Spec: spec, Records: whole(r["record_count"], -1),
		Bytes: whole(r["file_size_in_bytes"], -1),
		Sizes: unpaired[int64](r["column_sizes"]), Values: unpaired[int64](r["value_counts"]),
		Nulls: unpaired[int64](r["null_value_counts"]),
		Lower: unpaired[[]byte](r["lower_bounds"]), Upper: unpaired[[]byte](r["upper_bounds"]),
		nans: r["nan_value_counts"], key: r["key_metadata"], splits: r["split_offsets"], sort: r["sort_order_id"],
	}
	f.Path, _ = r["file_path"].(string)
	f.Format, _ = r["file_format"].(string)
	f.Format = strings.ToUpper(f.Format)
	if ids, ok := r["equality_ids"].([]any); ok {
		f.Equality = []int{}
		for _, id := range ids {
			f.Equality = append(f.Equality, int(whole(id, 0)))
		}
	}
	if f.Path == "" || f.Records < 0 || f.Content < Data || f.Content > DeletesValues {
		return f, errDamaged
	}
	if f.key != nil {
		return f, errors.New("names files that are encrypted, which are not read")
	}
	return f, nil
}

// partitionOf is the values of a file's partition, by the ids of the fields, which the manifest's schema has.
func partitionOf(schema *avro.Schema, file map[string]any) map[int]any {
	values, ok := file["partition"].(map[string]any)
	if !ok {
		return nil
	}
	partition := map[int]any{}
	for _, f := range fieldsOf(fieldsOf(schema.Root().Fields, "data_file"), "partition") {
		id, ok := number(f.Props["field-id"])
		if !ok {
			continue
		}
		v := values[f.Name]
		switch t := v.(type) {
		case time.Time:
			if v = t.UnixMicro(); logical(f.Type) == "date" {
				v = int32(floorDiv(t.Unix(), secondsOfDay))
			}
		case time.Duration:
			v = t.Microseconds()
		}
		partition[id] = v
	}
	return partition
}

// fieldsOf are the fields of the record that a field is.
func fieldsOf(fields []avro.SchemaField, name string) []avro.SchemaField {
	for _, f := range fields {
		if f.Name == name {
			return f.Type.Fields
		}
	}
	return nil
}

// logical is the logical type of a value, or of the branch of a union that has one.
func logical(n avro.SchemaNode) string {
	for _, b := range n.Branches {
		if b.LogicalType != "" {
			return b.LogicalType
		}
	}
	return n.LogicalType
}

func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(v), true
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil
	}
	return 0, false
}
