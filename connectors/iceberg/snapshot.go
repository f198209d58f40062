package iceberg

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	iceberg "github.com/apache/iceberg-go"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// snapshot writes the manifests of the release, and of what stays of the table, and their list. A try has files of its own.
func (s *sink) snapshot(ctx context.Context, t *table, try int) (*snapshot, error) {
	next := &snapshot{ID: s.number(t), Sequence: t.LastSequenceNumber + 1, Timestamp: t.stamp(time.Now()), Schema: &t.CurrentSchema}
	m := &manifests{sink: s, table: t, try: try, id: next.ID}
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
	var text bytes.Buffer
	if err := iceberg.WriteManifestList(2, &text, next.ID, next.Parent, &next.Sequence, 0, m.list); err != nil {
		return nil, errors.New("the list of manifests cannot be made")
	}
	var err error
	if next.Manifests, err = m.write("snap", text.Bytes()); err != nil {
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
	id    int64 // of the snapshot
	list  []iceberg.ManifestFile

	count struct{ files, records, bytes, removed, removedRecords int64 }
}

// write writes a file of metadata and returns its location.
func (m *manifests) write(name string, text []byte) (string, error) {
	name = m.run.tried(m.try) + name + ".avro"
	if err := publish.WriteFile(filepath.Join(m.run.root, metadataFolder, name), publish.Public, text); err != nil {
		return "", err
	}
	return m.table.Location + "/" + metadataFolder + "/" + name, nil
}

// manifest writes one manifest.
func (m *manifests) manifest(spec iceberg.PartitionSpec, fill func(w *iceberg.ManifestWriter) error) error {
	var text bytes.Buffer
	w, err := iceberg.NewManifestWriter(2, &text, spec, m.table.schema(), m.id)
	if err == nil {
		err = fill(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return errors.New("a manifest cannot be made") // whose reason could hold a value of a partition
	}
	at, err := m.write(fmt.Sprintf("m%d", len(m.list)), text.Bytes())
	if err != nil {
		return err
	}
	file, err := w.ToManifestFile(at, int64(text.Len()))
	m.list = append(m.list, file)
	return err
}

// added writes the manifest of the release's files.
func (m *manifests) added() error {
	if len(m.written) == 0 {
		return nil
	}
	return m.manifest(*m.spec, func(w *iceberg.ManifestWriter) error {
		for i := range m.written {
			file, err := m.dataFile(i)
			if err != nil {
				return err
			}
			if err := w.Add(iceberg.NewManifestEntryBuilder(iceberg.EntryStatusADDED, &m.id, file).Build()); err != nil {
				return err
			}
			m.count.files++
			m.count.records += file.Count()
			m.count.bytes += file.FileSizeBytes()
		}
		return nil
	})
}

// dataFile describes a file of the release. All that it says of columns is of released values.
func (m *manifests) dataFile(i int) (iceberg.DataFile, error) {
	f := &m.written[i]
	at := m.table.Location + "/" + dataFolder + "/" + m.run.mark + "/" + filepath.ToSlash(f.Name)
	b, err := iceberg.NewDataFileBuilder(*m.spec, iceberg.EntryContentData, at, iceberg.ParquetFile, m.values[i], nil, nil, f.Records, f.Bytes)
	if err != nil {
		return nil, err
	}
	sizes, values, nulls := map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for id, c := range f.Columns {
		sizes[int(id)], values[int(id)], nulls[int(id)] = c.Bytes, c.Values, c.Nulls
		if t, ok := m.schema.FindTypeByID(int(id)); ok && c.Min != nil && c.Max != nil && storedAlike(t) {
			lower[int(id)], upper[int(id)] = c.Min, c.Max
		}
	}
	return b.ColumnSizes(sizes).ValueCounts(values).NullValueCounts(nulls).LowerBoundValues(lower).UpperBoundValues(upper).Build(), nil
}

// storedAlike reports whether the bounds of a type's values are stored as Parquet stores its values.
func storedAlike(t iceberg.Type) bool {
	switch t.(type) {
	case iceberg.Int32Type, iceberg.Int64Type, iceberg.Float32Type, iceberg.Float64Type, iceberg.DateType, iceberg.TimeType,
		iceberg.TimestampType, iceberg.TimestampTzType, iceberg.StringType:
		return true
	}
	return false
}

// carried adds the manifests of what stays in the table. Files that the release takes the place of are marked as removed, so that they are
// deleted when their snapshots expire.
func (m *manifests) carried(ctx context.Context, before *snapshot) error {
	list, err := manifestsOf(ctx, before)
	if err != nil {
		return err
	}
	for _, of := range list {
		if m.mode == appendMode || of.ManifestContent() != iceberg.ManifestContentData {
			m.list = append(m.list, of)
			continue
		}
		entries, err := liveEntries(ctx, of)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			continue
		}
		spec, err := m.specOf(of.PartitionSpecID())
		if err != nil {
			return err
		}
		replaced := make([]bool, len(entries))
		some := false
		for i, e := range entries {
			replaced[i] = m.replaces(e.DataFile())
			some = some || replaced[i]
		}
		if !some {
			m.list = append(m.list, of)
			continue
		}
		if err := m.manifest(spec, func(w *iceberg.ManifestWriter) error {
			for i, e := range entries {
				if !replaced[i] {
					if err := w.Existing(e); err != nil {
						return err
					}
					continue
				}
				if err := w.Delete(e); err != nil {
					return err
				}
				m.count.removed++
				m.count.removedRecords += e.DataFile().Count()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (m *manifests) specOf(id int32) (iceberg.PartitionSpec, error) {
	for i := range m.table.Specs {
		if spec := m.table.Specs[i]; spec.ID() == int(id) {
			if m.mode == partitionsMode && spec.ID() != m.spec.ID() {
				break
			}
			return spec, nil
		}
	}
	return iceberg.PartitionSpec{}, errors.New("has files of another partitioning than its present one, so that partitions cannot be told apart; rewrite them first (rewrite_data_files)")
}

// replaces reports whether the release takes the place of a file.
func (m *manifests) replaces(f iceberg.DataFile) bool {
	if m.mode == overwriteMode {
		return true
	}
	is := keyOf(m.spec, f.Partition())
	for _, v := range m.values {
		if keyOf(m.spec, v) == is {
			return true
		}
	}
	return false
}

// summary is what the snapshot says of itself: numbers of files, records and bytes of releases.
func (m *manifests) summary(before *snapshot) map[string]string {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	summary := map[string]string{
		"operation": "append", "added-data-files": text(m.count.files), "added-records": text(m.count.records), "added-files-size": text(m.count.bytes),
	}
	if m.mode != appendMode {
		summary["operation"] = "overwrite"
		summary["deleted-data-files"], summary["deleted-records"] = text(m.count.removed), text(m.count.removedRecords)
	}
	for total, change := range map[string]int64{"total-data-files": m.count.files - m.count.removed, "total-records": m.count.records - m.count.removedRecords} {
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
