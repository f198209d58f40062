package rolling

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// layout returns a layout with a masked number and a text; the number of a record is its offset.
func layout() *microdata.Layout {
	schema := &microdata.Schema{Fields: []microdata.Field{
		{Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}}
	return &microdata.Layout{
		Schema: schema, Read: []microdata.Want{{Field: 0}, {Field: 1, As: microdata.Array}},
		Release: []microdata.Output{
			{Field: schema.Fields[0], Source: 0, Column: 0, Masked: true, Decimals: 2},
			{Field: schema.Fields[1], Source: 1, Column: 1, Decimals: -1},
		},
	}
}

// clock is a time set by tests.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func files(t *testing.T, root string, roll *parquet.Roll) (*Files, *clock) {
	t.Helper()
	if d := parquet.DefaultRoll(); roll != nil {
		roll = &parquet.Roll{Records: cmp.Or(roll.Records, d.Records), Size: cmp.Or(roll.Size, d.Size),
			Interval: cmp.Or(roll.Interval, d.Interval)}
	}
	f, err := New(&parquet.SinkConfig{Path: root, Compression: "none", Roll: roll}, layout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)}
	f.now = c.now
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, c
}

// block returns the records with the offsets from first to last; those in rejected are rejected.
func block(first, last int64, rejected ...int64) *microdata.Block {
	b := new(microdata.Block)
	n := int(last - first + 1)
	b.Reset(0, first, n, 2)
	v := b.Columns[0].Alloc(n, false)
	names := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		v.Values[i] = float64(first + int64(i))
		names.Append("x")
	}
	b.Columns[0].Mutable()
	b.Columns[1].Array = names.NewArray()
	for _, r := range rejected {
		b.Reject(int(r-first), "wage", "is no number")
	}
	return b
}

func put(t *testing.T, f *Files, topic string, partition int32, first, last int64, rejected ...int64) {
	t.Helper()
	if err := tryPut(t, f, topic, partition, first, last, rejected...); err != nil {
		t.Fatal(err)
	}
}

func tryPut(t *testing.T, f *Files, topic string, partition int32, first, last int64, rejected ...int64) error {
	t.Helper()
	e, err := f.Encode(block(first, last, rejected...))
	if err != nil {
		t.Fatal(err)
	}
	return f.Write(t.Context(), topic, partition, first, last, e)
}

func finish(t *testing.T, f *Files) Manifest {
	t.Helper()
	m, err := f.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The content of a transaction is JSON.
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Manifest
	if err := json.Unmarshal(text, &back); err != nil || len(m) > 0 && !reflect.DeepEqual(back, m) {
		t.Fatalf("%+v became %+v (%v)", m, back, err)
	}
	return back
}

func commit(t *testing.T, f *Files) Manifest {
	t.Helper()
	m := finish(t, f)
	if err := f.Publish(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// tree returns the files below root: those with final names, and those without.
func tree(t *testing.T, root string) (final, temp []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch {
		case publish.IsTemp(e.Name()):
			temp = append(temp, rel)
		case strings.HasSuffix(rel, extension):
			final = append(final, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return final, temp
}

// offsets returns the records of all files of a topic's partition, in the order of the files'
// names.
func offsets(t *testing.T, root, topic string) []int64 {
	t.Helper()
	final, _ := tree(t, root)
	var got []int64
	for _, name := range final {
		if strings.HasPrefix(name, topic+"/") {
			got = append(got, read(t, filepath.Join(root, name))...)
		}
	}
	return got
}

func read(t *testing.T, path string) []int64 {
	t.Helper()
	src, err := (&parquet.SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r,
		err := src.Read(t.Context(),
		&microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: src.Schema().Index("wage")}}},
		connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []int64
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		for _, v := range b.Columns[0].Original.Values {
			got = append(got, int64(v))
		}
	}
}

func span(first, last int64, without ...int64) []int64 {
	var all []int64
	for i := first; i <= last; i++ {
		if !slices.Contains(without, i) {
			all = append(all, i)
		}
	}
	return all
}

func TestFilesAppearWithTheCommit(t *testing.T) {
	root := filepath.Join(t.TempDir(), "out", "release")
	f, c := files(t, root, nil)
	put(t, f, "survey", 3, 0, 99, 7, 8)
	put(t, f, "survey", 3, 100, 199)
	put(t, f, "survey", 12, 5, 9)
	put(t, f, "census", 0, 1000, 1001, 1000)
	if final, temp := tree(t, root); len(final) != 0 || len(temp) != 3 {
		t.Fatalf("before the end there are %v and %v", final, temp)
	}
	m := finish(t, f)
	c.t = c.t.Add(2 * time.Hour)
	put(t, f, "survey", 3, 200, 210) // of the next transaction, begun before this one has its names
	if err := f.Publish(m); err != nil {
		t.Fatal(err)
	}
	if err := f.Publish(m); err != nil {
		t.Errorf("a second time: %v", err)
	}
	commit(t, f)
	final, temp := tree(t, root)
	want := []string{
		"census/date=2026-01-31/part-00000-0000000000000001000-0000000000000001001.parquet",
		"survey/date=2026-01-31/part-00003-0000000000000000000-0000000000000000199.parquet",
		"survey/date=2026-01-31/part-00012-0000000000000000005-0000000000000000009.parquet",
		"survey/date=2026-02-01/part-00003-0000000000000000200-0000000000000000210.parquet",
	}
	if !slices.Equal(final, want) || len(temp) != 0 {
		t.Errorf("there are %q and %q", final, temp)
	}
	if got, want := offsets(t, root, "survey"), slices.Concat(span(0, 199, 7, 8), span(5, 9),
		span(200, 210)); !slices.Equal(got, want) {
		t.Errorf("records %v", got)
	}
	if m[1].Records != 198 || m[0].Records != 1 || len(m.ByPartition()[Partition{"survey", 12}]) != 1 {
		t.Errorf("the manifest says %+v", m)
	}
	// The folder is a source: files without final names are hidden.
	src, err := (&parquet.SourceConfig{Path: filepath.Join(root, "survey")}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if src.Records() != 198+5+11 {
		t.Errorf("a reader of the folder finds %d records", src.Records())
	}
	if info, err := os.Stat(filepath.Join(root, want[0])); err != nil || info.Mode().Perm()&0o044 == 0 {
		t.Errorf("a released file has mode %v (%v)", info.Mode(), err)
	}
}

func TestDue(t *testing.T) {
	for _, c := range []struct {
		name string
		roll parquet.Roll
		wait time.Duration
		want bool
	}{
		{"nothing is reached", parquet.Roll{Records: 101}, time.Second, false},
		{"records", parquet.Roll{Records: 100}, 0, true},
		{"size", parquet.Roll{Size: 500}, 0, true},
		{"not size", parquet.Roll{Size: 5000}, 0, false},
		{"interval", parquet.Roll{Interval: connectors.Duration(time.Minute)}, time.Minute, true},
		{"not interval", parquet.Roll{Interval: connectors.Duration(time.Minute)}, time.Minute - 1, false},
	} {
		f, clock := files(t, t.TempDir(), &c.roll)
		clock.t = clock.t.Add(time.Hour)
		if f.Due() {
			t.Errorf("%s: due before the first record", c.name)
		}
		put(t, f, "survey", 0, 0, 99)
		put(t, f, "survey", 1, 0, 9)
		clock.t = clock.t.Add(c.wait)
		if f.Due() != c.want {
			t.Errorf("%s: due is %v", c.name, f.Due())
		}
		if commit(t, f); f.Due() {
			t.Errorf("%s: due after the commit", c.name)
		}
	}
}

// If all records are in quarantine no file is made, and their offsets are committed in time all the
// same.
func TestBlockWithoutRecords(t *testing.T) {
	root := t.TempDir()
	f, c := files(t, root, nil)
	put(t, f, "survey", 0, 0, 1, 0, 1)
	if _, temp := tree(t, root); len(temp) != 0 {
		t.Errorf("there is %v", temp)
	}
	if c.t = c.t.Add(5 * time.Minute); !f.Due() {
		t.Error("not due after the interval")
	}
	if m := commit(t, f); len(m) != 0 || f.Due() {
		t.Errorf("got %+v", m)
	}
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name        string
		topic       string
		partition   int32
		first, last int64
	}{
		{"again", "survey", 0, 5, 9},
		{"overlapping", "survey", 0, 9, 12},
		{"backwards", "survey", 0, 20, 19},
		{"a topic that leads out", "..", 0, 10, 11},
		{"a topic that is a path", "a/b", 0, 10, 11},
		{"no partition", "survey", -1, 10, 11},
	} {
		f, _ := files(t, t.TempDir(), nil)
		put(t, f, "survey", 0, 5, 9)
		e, err := f.Encode(block(0, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(t.Context(), c.topic, c.partition, c.first, c.last, e); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if _, err := f.Finish(t.Context()); err == nil {
			t.Errorf("%s: Finish goes on after an error", c.name)
		}
	}
}

// The memory for many files is bounded: row groups are written early.
func TestMemoryIsBounded(t *testing.T) {
	root := t.TempDir()
	f, _ := files(t, root, nil)
	f.budget = 64 << 10
	const partitions, blocks, n = 20, 10, 500
	for k := range blocks {
		for p := range partitions {
			put(t, f, "survey", int32(p), int64(k*n), int64(k*n+n-1))
			if f.pending > f.budget {
				t.Fatalf("%d bytes are held", f.pending)
			}
		}
	}
	commit(t, f)
	if got := offsets(t, root, "survey"); len(got) != partitions*blocks*n {
		t.Errorf("%d records", len(got))
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	root := t.TempDir()
	f, _ := files(t, root, nil)
	put(t, f, "survey", 0, 0, 9)
	commit(t, f)
	put(t, f, "survey", 0, 10, 19)
	finish(t, f)
	put(t, f, "survey", 0, 20, 29)
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if final, temp := tree(t, root); len(final) != 1 || len(temp) != 0 {
		t.Fatalf("there are %q and %q", final, temp)
	}
	put(t, f, "survey", 0, 10, 14) // read again
	commit(t, f)
	if got := offsets(t, root, "survey"); !slices.Equal(got, span(0, 14)) {
		t.Errorf("records %v", got)
	}
}

// disk has room for a number of bytes.
type disk struct {
	sync.Mutex
	room int
}

// full is a file on a disk.
type full struct {
	parquet.File
	disk *disk
}

func (d full) Write(b []byte) (int, error) {
	d.disk.Lock()
	defer d.disk.Unlock()
	n := min(len(b), d.disk.room)
	d.disk.room -= n
	if n, err := d.File.Write(b[:n]); err != nil || n < len(b) {
		return n, &fs.PathError{Op: "write", Path: "some file", Err: syscall.ENOSPC}
	}
	return n, nil
}

// A full disk at any byte is an error before anything is committed, and no files remain.
func TestFullDisk(t *testing.T) {
	fill := func(root string, room int) (left int, err error) {
		f, _ := files(t, root, nil)
		disk := &disk{room: room}
		f.budget = 1 << 10 // row groups are written on the way
		f.sink = func(p *publish.Pending) parquet.File { return full{p.File, disk} }
		err = func() error {
			for k := range int64(4) {
				for p := range int32(2) {
					if err := tryPut(t, f, "survey", p, k*50, k*50+49); err != nil {
						return err
					}
				}
			}
			_, err := f.Finish(t.Context())
			return err
		}()
		if aerr := f.Abort(); aerr != nil {
			t.Errorf("Abort: %v", aerr)
		}
		return disk.room, err
	}
	left, err := fill(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	need := 1<<20 - left
	for _, room := range []int{0, 3, 4, 5, need / 4, need / 2, need - 100, need - 1} {
		root := t.TempDir()
		left, err := fill(root, room)
		// The pools of the encoders, which a garbage collection empties, change the size of files
		// by some bytes: if the files become smaller, the room does too.
		for err == nil {
			root, room = t.TempDir(), room-left-1
			left, err = fill(root, room)
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(root, "survey")) {
			t.Errorf("room for %d of %d: %v", room, need, err)
		}
		if final, temp := tree(t, root); len(final)+len(temp) != 0 {
			t.Errorf("room for %d of %d: left are %q %q", room, need, final, temp)
		}
	}
}

func TestNewSaysWhatCannotBeStored(t *testing.T) {
	l := layout()
	l.Release[1].Field.Type = arrow.DenseUnionOf([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}},
		[]arrow.UnionTypeCode{0})
	if _, err := New(&parquet.SinkConfig{Path: t.TempDir()}, l, nil); err == nil ||
		!strings.Contains(err.Error(), "name") {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(&parquet.SinkConfig{Path: file}, layout(), nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
