package iceberg

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
)

// snapshot writes the manifests of the release, and of what stays of the table, and their list. A try has files of its
// own.
func (s *sink) snapshot(ctx context.Context, t *table, try int) (*snapshot, error) {
	next := &snapshot{ID: s.number(t), Sequence: t.LastSequenceNumber + 1, Timestamp: t.stamp(time.Now()),
		Schema: &t.CurrentSchema}
	m := &manifests{sink: s, table: t, try: try, next: next, keys: map[string]bool{}}
	for _, v := range s.values {
		m.keys[s.spec.Key(v)] = true
	}
	if err := m.added(); err != nil {
		return nil, err
	}
	before := t.current()
	if before != nil {
		next.Parent = &before.ID
		if err := m.carried(ctx, before); err != nil {
			return nil, err
		}
	}
	text, err := meta.WriteList(next.ID, next.Parent, next.Sequence, m.list)
	if err != nil {
		return nil, err
	}
	if next.Manifests, err = m.write("snap", text); err != nil {
		return nil, err
	}
	next.Summary = m.summary(before)
	return next, nil
}

// number is a new snapshot's: random, as those of other writers.
func (s *sink) number(t *table) int64 {
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails
		if id := int64(binary.LittleEndian.Uint64(b[:]) >> 1); id > 0 && t.snapshot(id) == nil {
			return id
		}
	}
}

// manifests are those of one try.
type manifests struct {
	*sink
	table *table
	try   int
	next  *snapshot
	list  []meta.Manifest
	keys  map[string]bool // of the partitions of the release

	count struct{ files, records, bytes, removed, removedRecords int64 }
}

// write writes a file of metadata and returns its location.
func (m *manifests) write(name string, text []byte) (string, error) {
	name = m.run.tried(m.try) + name + ".avro"
	if err := m.run.write(name, text); err != nil {
		return "", err
	}
	return m.table.Location + "/" + metadataFolder + "/" + name, nil
}

// manifest writes one manifest.
func (m *manifests) manifest(spec *meta.PartitionSpec, entries []meta.Entry) error {
	text, of, err := meta.Write(m.next.ID, m.next.Sequence, spec, m.table.schema(), false, entries)
	if err == nil {
		of.Path, err = m.write(fmt.Sprintf("m%d", len(m.list)), text)
	}
	m.list = append(m.list, of)
	return err
}

// added writes the manifest of the release's files.
func (m *manifests) added() error {
	if len(m.written) == 0 {
		return nil
	}
	var entries []meta.Entry
	for i := range m.written {
		f := m.file(i)
		entries = append(entries, meta.Entry{Status: meta.Added, Snapshot: m.next.ID, File: f})
		m.count.files++
		m.count.records += f.Records
		m.count.bytes += f.Bytes
	}
	return m.manifest(m.spec, entries)
}

// file describes a file of the release. All that it says of columns is of released values.
func (m *manifests) file(i int) meta.File {
	of := &m.written[i]
	f := meta.File{
		Path:   m.table.Location + "/" + dataFolder + "/" + m.run.mark + "/" + filepath.ToSlash(of.Name),
		Format: meta.Parquet, Spec: m.spec.ID, Partition: m.values[i], Records: of.Records, Bytes: of.Bytes,
		Sizes: map[int]int64{}, Values: map[int]int64{}, Nulls: map[int]int64{}, Lower: map[int][]byte{},
		Upper: map[int][]byte{},
	}
	for id, c := range of.Columns {
		id := int(id)
		f.Sizes[id], f.Values[id], f.Nulls[id] = c.Bytes, c.Values, c.Nulls
		if column, ok := m.schema.ByID(id); ok && c.Min != nil && c.Max != nil && storedAlike[column.Type] {
			f.Lower[id], f.Upper[id] = c.Min, c.Max
		}
	}
	return f
}

// storedAlike are the types of which bounds are stored as Parquet stores its values.
var storedAlike = map[meta.Type]bool{
	meta.Int: true, meta.Long: true, meta.Float: true, meta.Double: true, meta.Date: true, meta.Time: true,
	meta.Timestamp: true, meta.TimestampTZ: true, meta.String: true,
}

// carried adds the manifests of what stays in the table. Files that the release takes the place of are marked as
// removed, so that they are deleted when their snapshots expire.
func (m *manifests) carried(ctx context.Context, before *snapshot) error {
	list, err := manifestsOf(ctx, before)
	if err != nil {
		return err
	}
	for i := range list {
		of := &list[i]
		if m.mode == appendMode || of.Deletes {
			m.list = append(m.list, *of)
			continue
		}
		entries, err := liveEntries(ctx, of)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			continue
		}
		spec, err := m.specOf(of.Spec)
		if err != nil {
			return err
		}
		some := false
		for i := range entries {
			e := &entries[i]
			if e.Status = meta.Kept; m.replaces(&e.File) {
				e.Status, e.Snapshot, some = meta.Removed, m.next.ID, true
				m.count.removed++
				m.count.removedRecords += e.File.Records
			}
		}
		if !some {
			m.list = append(m.list, *of)
			continue
		}
		if err := m.manifest(spec, entries); err != nil {
			return err
		}
	}
	return nil
}

func (m *manifests) specOf(id int) (*meta.PartitionSpec, error) {
	for i := range m.table.Specs {
		if spec := &m.table.Specs[i]; spec.ID == id && (m.mode != partitionsMode || id == m.spec.ID) {
			return spec, nil
		}
	}
	return nil,
		errors.New(
			"has files of another partitioning than its present one, so that partitions cannot be told apart; rewrite them first (rewrite_data_files)")
}

// replaces reports whether the release takes the place of a file.
func (m *manifests) replaces(f *meta.File) bool {
	return m.mode == overwriteMode || m.keys[m.spec.Key(f.Partition)]
}

// summary is what the snapshot says of itself: numbers of files, records and bytes of releases.
func (m *manifests) summary(before *snapshot) map[string]string {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	summary := map[string]string{
		"operation": "append", "added-data-files": text(m.count.files), "added-records": text(m.count.records),
		"added-files-size": text(m.count.bytes),
	}
	if m.mode != appendMode {
		summary["operation"] = "overwrite"
		summary["deleted-data-files"], summary["deleted-records"] = text(m.count.removed), text(m.count.removedRecords)
	}
	for total, change := range map[string]int64{"total-data-files": m.count.files - m.count.removed,
		"total-records": m.count.records - m.count.removedRecords} {
		last := int64(0)
		if before != nil {
			var err error
			if last, err = strconv.ParseInt(before.Summary[total], 10, 64); err != nil {
				continue // nobody has counted
			}
		}
		summary[total] = text(last + change)
	}
	return summary
}
