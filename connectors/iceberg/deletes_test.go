package iceberg

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// column is a column of a table in memory, with its id.
type column struct {
	name   string
	id     int32
	values []any // strings or integers, nil for null
}

// deletion is a file of deleted records.
type deletion struct {
	columns  []column
	equality []int // ids of the columns; nil: by position
	sequence int64 // 0: that of its snapshot
	of       any   // the value of its partition, by the first field; nil: there is none
}

// deleting adds a snapshot with files of deleted records to a table.
func deleting(t *testing.T, path string, all ...deletion) {
	t.Helper()
	tab := present(t, path)
	id := int64(1000) + int64(len(tab.Snapshots))
	before := tab.current()
	list, err := manifestsOf(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	sequence := tab.LastSequenceNumber + 1
	var entries []meta.Entry
	for i, d := range all {
		name := fmt.Sprintf("%s/data/deletes-%d-%d", path, id, i)
		rows := fileOf(t, name, d.columns)
		info, err := os.Stat(name + "/part-00000.parquet")
		if err != nil {
			t.Fatal(err)
		}
		f := meta.File{Content: meta.DeletesPositions, Path: name + "/part-00000.parquet", Format: meta.Parquet,
			Records: int64(rows), Bytes: info.Size()}
		if d.equality != nil {
			f.Content, f.Equality = meta.DeletesValues, d.equality
		}
		if d.of != nil {
			f.Partition = map[int]any{tab.spec().Fields[0].ID: d.of}
		}
		entries = append(entries, meta.Entry{Status: meta.Added, Snapshot: id, Sequence: d.sequence, File: f})
	}
	text, m, err := meta.Write(id, sequence, tab.spec(), tab.schema(), true, entries)
	if err != nil {
		t.Fatal(err)
	}
	m.Path = fmt.Sprintf("%s/metadata/d-%d.avro", path, id)
	s := &snapshot{ID: id, Parent: &before.ID, Sequence: sequence, Timestamp: tab.stamp(time.Now()),
		Manifests: fmt.Sprintf("%s/metadata/l-%d.avro", path, id), Schema: &tab.CurrentSchema,
		Summary: map[string]string{"operation": "delete"}}
	names, err := meta.WriteList(id, s.Parent, sequence, append(list, m))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{m.Path: text, s.Manifests: names} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&folder{path: path}).commit(t.Context(), tab, s); err != nil {
		t.Fatal(err)
	}
}

// fileOf writes a folder with one Parquet file, whose columns have ids.
func fileOf(t *testing.T, path string, columns []column) (rows int) {
	t.Helper()
	tab := &connectortest.Table{Schema: &microdata.Schema{}, N: len(columns[0].values)}
	ids := map[string]int32{}
	for _, c := range columns {
		ids[c.name] = c.id
		var a arrow.Array
		if _, text := c.values[0].(string); text {
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for _, v := range c.values {
				b.Append(v.(string))
			}
			a = b.NewArray()
		} else {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for _, v := range c.values {
				if v == nil {
					b.AppendNull()
				} else {
					b.Append(int64(v.(int)))
				}
			}
			a = b.NewArray()
		}
		tab.Columns = append(tab.Columns, a)
		tab.Schema.Fields = append(tab.Schema.Fields, microdata.Field{Name: c.name, Type: a.DataType(), Nullable: true})
	}
	dir, err := publish.CreateDir(path, ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	within := (&parquet.SinkConfig{Path: path}).Within(
		&parquet.Table{Dir: dir, IDs: ids, Written: func(parquet.Written) {}})
	src, err := tab.Config(0).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layout := &microdata.Layout{Schema: tab.Schema}
	for i, f := range tab.Schema.Fields {
		layout.Release = append(layout.Release, microdata.Output{Source: i, Column: i, Field: f})
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
	}
	sink, err := within.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	pass, err := src.Read(t.Context(), layout, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pass.Next(t.Context())
	var b microdata.Block
	var e connectors.Encoded
	if err == nil {
		err = raw.Decode(&b)
	}
	if err == nil {
		e, err = sink.Encode(&b)
	}
	if err == nil {
		err = sink.Write(t.Context(), e)
	}
	if err == nil {
		err = sink.Finish(t.Context())
	}
	if err == nil {
		err = sink.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return tab.N
}

// masked are the values of column masked of records i of records().
func masked(rows ...int) (all []string) {
	for _, i := range rows {
		all = append(all, fmt.Sprint(1000.5+7*float64(i)))
	}
	return all
}

func upTo(n int, without ...int) (rows []int) {
	for i := range n {
		if !slices.Contains(without, i) {
			rows = append(rows, i)
		}
	}
	return rows
}

func dataPath(t *testing.T, path string, rows int64) string {
	t.Helper()
	for _, e := range entries(t, path) {
		if e.File.Content == meta.Data && e.File.Records == rows {
			return e.File.Path
		}
	}
	t.Fatalf("no file of %d records", rows)
	return ""
}

// sorted compares without an order of files, whose names are random.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func expectRows(t *testing.T, from *SourceConfig, want ...[]string) {
	t.Helper()
	all := sorted(slices.Concat(want...))
	if got := sorted(values(t, from, "masked")); !slices.Equal(got, all) {
		t.Errorf("read %d records, want %d: %q, want %q", len(got), len(all), got, all)
	}
}

// A deleted record is not read: the first, the last, one that is named twice, by whatever form of the file's location,
// and all of a file.
func TestDeletedByPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 50), &SinkConfig{Place: at(path)})
	release(t, records(t, 20), &SinkConfig{Place: at(path), Mode: "append"})
	release(t, records(t, 4), &SinkConfig{Place: at(path), Mode: "append"})
	before := present(t, path).current().ID
	a, b, c := dataPath(t, path, 50), dataPath(t, path, 20), dataPath(t, path, 4)
	gone := func(paths []any, rows []any) deletion {
		return deletion{columns: []column{{"file_path", deletedPathID, paths}, {"pos", deletedPosID, rows}}}
	}
	late := gone([]any{b, b}, []any{5, 6})
	late.sequence = 1 // is older than the file of 20 records
	deleting(t, path, gone([]any{a, a, a, "file://" + a, "file:" + a}, []any{0, 49, 7, 7, 8}), late)
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50, 0, 7, 8, 49)...), masked(upTo(20)...),
		masked(upTo(4)...))
	deleting(t, path, gone([]any{c, c, c, c, "/elsewhere"}, []any{3, 2, 1, 0, 0}), gone([]any{b}, []any{19}))
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50, 0, 7, 8, 49)...), masked(upTo(19)...))
	expectRows(t, &SourceConfig{Place: at(path), Snapshot: before}, masked(upTo(50)...), masked(upTo(20)...),
		masked(upTo(4)...))
	blocks(t, path)

	// Released, no more of them is in a file.
	to := filepath.Join(t.TempDir(), "released")
	release(t, &SourceConfig{Place: at(path)}, &SinkConfig{Place: at(to)})
	expectRows(t, &SourceConfig{Place: at(to)}, masked(upTo(50, 0, 7, 8, 49)...), masked(upTo(19)...))

	// A table with such deletes takes no release in the place of its records.
	_, _, _, err := started(t, records(t, 1), &SinkConfig{Place: at(path)})
	if err == nil {
		t.Error("files are replaced whose records are partly deleted")
	}
	release(t, records(t, 2), &SinkConfig{Place: at(path), Mode: "append"})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50, 0, 7, 8, 49)...), masked(upTo(19)...), masked(0, 1))

	deleting(t, path, gone([]any{a}, []any{50}))
	refused(t, &SourceConfig{Place: at(path)}, "a record that its data file does not have")
}

// blocks checks that blocks of any cut have the same records in the same order, as numbers and as they are, and that
// exact ones are windows of the records that are left.
func blocks(t *testing.T, path string) {
	t.Helper()
	src, err := (&SourceConfig{Place: at(path)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	want := values(t, &SourceConfig{Place: at(path)}, "masked")
	if src.Records() != int64(len(want)) {
		t.Errorf("says that it has %d records, and has %d", src.Records(), len(want))
	}
	field := src.Schema().Index("masked")
	layout := &microdata.Layout{Schema: src.Schema(),
		Read: []microdata.Want{{Field: field, As: microdata.Numbers}, {Field: field, As: microdata.Array}}}
	for _, cut := range []connectors.Cut{{}, {Records: 1}, {Records: 1, Exact: true}, {Records: 7},
		{Records: 7, Exact: true}, {Records: 19, Exact: true}, {Records: 46, Exact: true}, {Records: 500, Exact: true}} {
		pass, err := src.Read(t.Context(), layout, cut)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		stream, next, open := -1, int64(0), false
		for {
			raw, err := pass.Next(t.Context())
			if err == io.EOF {
				break
			}
			var b microdata.Block
			if err == nil {
				err = raw.Decode(&b)
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.Stream != stream {
				stream, next, open = b.Stream, 0, false
			}
			if b.First != next || b.N < 1 || cut.Records > 0 && b.N > cut.Records || open {
				t.Errorf("cut %+v: a block of %d records from %d on, want the one from %d on; an earlier one was short: %v", cut,
					b.N, b.First, next, open)
			}
			next += int64(b.N)
			open = cut.Exact && b.N < cut.Records
			for i := range b.N {
				text := b.Columns[1].Array.ValueStr(i)
				if n := fmt.Sprint(b.Columns[0].Original.Values[i]); n != text || !b.Columns[0].Original.Valid.Has(i) {
					t.Fatalf("cut %+v: the number %s of %s", cut, n, text)
				}
				got = append(got, text)
			}
		}
		if err := pass.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut %+v: %d records, want %d", cut, len(got), len(want))
		}
	}
}

// Records that have certain values are deleted in files that are older, and in no others. c0 is i − 100.
func TestDeletedByValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 50), &SinkConfig{Place: at(path)})
	id := present(t, path).schema()
	c0, _ := id.Named("c0")
	c1, _ := id.Named("c1")
	texts := values(t, &SourceConfig{Place: at(path)}, "c1")
	deleting(t, path,
		deletion{columns: []column{{"c0", int32(c0.ID), []any{-100, -98, nil, 7}}}, equality: []int{c0.ID}},
		deletion{columns: []column{{"c0", int32(c0.ID), []any{-51, -60}}, {"c1", int32(c1.ID), []any{texts[49], "other"}}},
			equality: []int{c0.ID, c1.ID}},
		// is not newer than the file
		deletion{columns: []column{{"c0", int32(c0.ID), []any{-90}}}, equality: []int{c0.ID}, sequence: 1})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50, 0, 2, 49)...))
	release(t, records(t, 3), &SinkConfig{Place: at(path), Mode: "append"})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(50, 0, 2, 49)...), masked(0, 1, 2))
	blocks(t, path)
}

// By values, records are deleted in the files of one partition.
func TestDeletedByValuesInAPartition(t *testing.T) {
	path := divided(t, by(4, 1000, "c1", "identity"))
	release(t, records(t, 20), &SinkConfig{Place: at(path), Mode: "append"})
	texts, numbers := values(t, &SourceConfig{Place: at(path)}, "c1"), values(t, &SourceConfig{Place: at(path)}, "masked")
	ages := values(t, &SourceConfig{Place: at(path)}, "c0")
	var age int
	if _, err := fmt.Sscan(ages[4], &age); err != nil {
		t.Fatal(err)
	}
	one := column{"c0", 3, []any{age}}
	deleting(t, path, deletion{columns: []column{one}, equality: []int{3}, of: texts[5]})
	expectRows(t, &SourceConfig{Place: at(path)}, numbers)
	deleting(t, path, deletion{columns: []column{one}, equality: []int{3}, of: texts[4]})
	expectRows(t, &SourceConfig{Place: at(path)}, numbers[:4], numbers[5:])
}

// Deletes that cannot be understood are refused, and never passed over.
func TestDeletesRefused(t *testing.T) {
	for words, d := range map[string]deletion{
		"no more":      {columns: []column{{"x", 99, []any{1}}}, equality: []int{99}},
		"not defined":  {columns: []column{{"masked", 1, []any{1}}}, equality: []int{1}},
		"of no column": {columns: []column{{"c0", 3, []any{1}}}, equality: []int{}},
		"is utf8 in the file and int64 in the table": {columns: []column{{"c0", 3, []any{"-0100"}}}, equality: []int{3}},
		"is int64 in the file and utf8 in the table": {columns: []column{{"c1", 4, []any{1}}}, equality: []int{4}},
		"what the format's": {
			columns: []column{{"file_path", deletedPathID, []any{1}}, {"pos", deletedPosID, []any{1}}}},
		"had other columns": {columns: []column{{"c0", 3, []any{1}}}, equality: []int{4}},
		"does not have": {
			columns: []column{{"file_path", deletedPathID, []any{"SELF"}}, {"pos", deletedPosID, []any{-1}}}},
	} {
		path := filepath.Join(t.TempDir(), "table")
		release(t, records(t, 5), &SinkConfig{Place: at(path)})
		if d.columns[0].values[0] == "SELF" {
			d.columns[0].values[0] = dataPath(t, path, 5)
		}
		deleting(t, path, d)
		refused(t, &SourceConfig{Place: at(path)}, words)
	}
	// A delete file that is not there, and data files that are not those of the metadata.
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 5), &SinkConfig{Place: at(path)})
	deleting(t, path,
		deletion{
			columns: []column{{"file_path", deletedPathID, []any{dataPath(t, path, 5)}}, {"pos", deletedPosID, []any{1}}}})
	if err := os.RemoveAll(fmt.Sprintf("%s/data/deletes-%d-0", path, present(t, path).current().ID)); err != nil {
		t.Fatal(err)
	}
	refused(t, &SourceConfig{Place: at(path)}, "no such file")
}
