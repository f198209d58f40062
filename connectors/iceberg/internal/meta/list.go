package meta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Manifest is an entry of a snapshot's list: a file that names data files, or files of deleted records.
type Manifest struct {
	Path                                string
	Bytes                               int64
	Spec                                int
	Deletes                             bool // names files of deleted records
	Sequence, MinSequence               int64
	Snapshot                            int64 // that added it
	Added, Existing, Removed            int64 // files
	AddedRows, ExistingRows, RemovedRow int64
	partitions, key                     any // as they were read
}

const listSchema = `{"type": "record", "name": "manifest_file", "fields": [
 {"name": "manifest_path", "type": "string", "field-id": 500},
 {"name": "manifest_length", "type": "long", "field-id": 501},
 {"name": "partition_spec_id", "type": "int", "field-id": 502},
 {"name": "content", "type": "int", "field-id": 517},
 {"name": "sequence_number", "type": "long", "field-id": 515},
 {"name": "min_sequence_number", "type": "long", "field-id": 516},
 {"name": "added_snapshot_id", "type": "long", "field-id": 503},
 {"name": "added_files_count", "type": "int", "field-id": 504},
 {"name": "existing_files_count", "type": "int", "field-id": 505},
 {"name": "deleted_files_count", "type": "int", "field-id": 506},
 {"name": "added_rows_count", "type": "long", "field-id": 512},
 {"name": "existing_rows_count", "type": "long", "field-id": 513},
 {"name": "deleted_rows_count", "type": "long", "field-id": 514},
 {"name": "partitions", "type": ["null", {"type": "array", "element-id": 508, "items": {"type": "record", "name": "r508", "fields": [
  {"name": "contains_null", "type": "boolean", "field-id": 509},
  {"name": "contains_nan", "type": ["null", "boolean"], "default": null, "field-id": 518},
  {"name": "lower_bound", "type": ["null", "bytes"], "default": null, "field-id": 510},
  {"name": "upper_bound", "type": ["null", "bytes"], "default": null, "field-id": 511}]}}], "default": null, "field-id": 507},
 {"name": "key_metadata", "type": ["null", "bytes"], "default": null, "field-id": 519}]}`

// mostBlock bounds a block of an Avro file after it was unpacked, in bytes.
const mostBlock = 1 << 30

var errDamaged = errors.New("is damaged")

// records reads the records of an Avro file.
func records(text []byte, take func(schema *avro.Schema, record map[string]any) error) (err error) {
	r, err := ocf.NewReader(bytes.NewReader(text), ocf.WithMaxDecompressedBlockBytes(mostBlock))
	if err != nil {
		return errDamaged
	}
	defer r.Close()
	for {
		var v any
		if err := r.Decode(&v); err == io.EOF {
			return nil
		} else if err != nil {
			return errDamaged
		}
		record, ok := v.(map[string]any)
		if !ok {
			return errDamaged
		}
		if err := take(r.Schema(), record); err != nil {
			return err
		}
	}
}

// whole is an integer of a record, of whatever width; missing where there is none.
func whole(v any, missing int64) int64 {
	switch v := v.(type) {
	case int32:
		return int64(v)
	case int64:
		return v
	}
	return missing
}

// first is the first of some names that a record has.
func first(record map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := record[name]; ok {
			return v
		}
	}
	return nil
}

// ReadList reads the list of a snapshot's manifests.
func ReadList(text []byte) (all []Manifest, err error) {
	err = records(text, func(_ *avro.Schema, r map[string]any) error {
		path, _ := r["manifest_path"].(string)
		content := whole(r["content"], 0)
		if path == "" || content != 0 && content != 1 {
			return errDamaged
		}
		all = append(all, Manifest{
			Path: path, Bytes: whole(r["manifest_length"], 0), Spec: int(whole(r["partition_spec_id"], 0)),
			Deletes:  content == 1,
			Sequence: whole(r["sequence_number"], 0), MinSequence: whole(r["min_sequence_number"], 0),
			Snapshot:  whole(r["added_snapshot_id"], 0),
			Added:     whole(first(r, "added_files_count", "added_data_files_count"), 0),
			Existing:  whole(first(r, "existing_files_count", "existing_data_files_count"), 0),
			Removed:   whole(first(r, "deleted_files_count", "deleted_data_files_count"), 0),
			AddedRows: whole(r["added_rows_count"], 0), ExistingRows: whole(r["existing_rows_count"], 0),
			RemovedRow: whole(r["deleted_rows_count"], 0),
			partitions: r["partitions"], key: r["key_metadata"],
		})
		return nil
	})
	return all, err
}

// WriteList writes the list of a snapshot's manifests. parent is that of the snapshot before it, nil if there is none.
func WriteList(snapshot int64, parent *int64, sequence int64, all []Manifest) ([]byte, error) {
	before := "null"
	if parent != nil {
		before = strconv.FormatInt(*parent, 10)
	}
	return written(listSchema, map[string]string{
		"format-version": "2", "snapshot-id": strconv.FormatInt(snapshot, 10), "parent-snapshot-id": before,
		"sequence-number": strconv.FormatInt(sequence, 10),
	}, len(all), func(i int) map[string]any {
		m := &all[i]
		content := int32(0)
		if m.Deletes {
			content = 1
		}
		return map[string]any{
			"manifest_path": m.Path, "manifest_length": m.Bytes, "partition_spec_id": int32(m.Spec), "content": content,
			"sequence_number": m.Sequence, "min_sequence_number": m.MinSequence, "added_snapshot_id": m.Snapshot,
			"added_files_count": int32(m.Added), "existing_files_count": int32(m.Existing),
			"deleted_files_count": int32(m.Removed),
			"added_rows_count":    m.AddedRows, "existing_rows_count": m.ExistingRows, "deleted_rows_count": m.RemovedRow,
			"partitions": m.partitions, "key_metadata": m.key,
		}
	})
}

// written writes an Avro file of n records.
func written(schema string, says map[string]string, n int, record func(i int) map[string]any) ([]byte, error) {
	s, err := avro.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of metadata: %w", err)
	}
	header := map[string][]byte{}
	for key, v := range says {
		header[key] = []byte(v)
	}
	var text bytes.Buffer
	w,
		err := ocf.NewWriter(&text, s, ocf.WithSchema(schema), ocf.WithMetadata(header), ocf.WithCodec(ocf.DeflateCodec(-1)))
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := w.Encode(record(i)); err != nil {
			return nil, errors.New("metadata cannot be written as they are") // the error could hold a value of a partition
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
