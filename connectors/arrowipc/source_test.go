package arrowipc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func numbersBatch(t testing.TB, values string) arrow.RecordBatch {
	return batchOf(jsonArray(t, arrow.PrimitiveTypes.Int64, values),
		jsonArray(t, arrow.BinaryTypes.String, strings.NewReplacer("[", `["w`, ",", `","w`, "]", `"]`).Replace(values)))
}

// From a pipe to a pipe: the output is written when the release is committed, and otherwise not at
// all.
func TestPipe(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var in bytes.Buffer
	w := ipc.NewWriter(&in, ipc.WithSchema(numbersBatch(t, "[1]").Schema()))
	for _, v := range []string{"[1,2,3]", "[4]"} {
		if err := w.Write(numbersBatch(t, v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stored := in.Bytes()
	var out bytes.Buffer
	r := release{from: &SourceConfig{Path: "-", stdin: bytes.NewReader(stored)}, to: &SinkConfig{Path: "-", stdout: &out},
		cut: connectors.Cut{Records: 2, Exact: true}}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.arrows")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, batches := load(t, path); fmt.Sprint(valuesOf(batches, "a")) != "[1 2 3 4]" {
		t.Errorf("the released values are %v", valuesOf(batches, "a"))
	}

	out.Reset()
	r = release{from: &SourceConfig{Path: "-", stdin: bytes.NewReader(stored[:len(stored)-20])},
		to: &SinkConfig{Path: "-", stdout: &out}}
	if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("a stream that is cut off: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written before the release was complete", out.Len())
	}
}

func TestPipeOnce(t *testing.T) {
	var in bytes.Buffer
	w := ipc.NewWriter(&in, ipc.WithSchema(numbersBatch(t, "[1]").Schema()))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := (&SourceConfig{Path: "-", stdin: &in}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if src.Rewindable() || src.Records() != -1 {
		t.Errorf("rewindable %v, records %d; want a pipe", src.Rewindable(), src.Records())
	}
	for pass := range 2 {
		if _, err := src.Read(t.Context(), &microdata.Layout{Schema: src.Schema()}, connectors.Cut{}); (err == nil) !=
			(pass == 0) {
			t.Errorf("pass %d: %v", pass, err)
		}
	}
}

// Waiting for a pipe without data ends when the context does.
func TestPipeCancelled(t *testing.T) {
	silent, other := io.Pipe()
	defer other.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (&SourceConfig{Path: "-", stdin: silent}).Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// Hive folders are columns. Released ones stay folders; values of withheld ones appear nowhere.
func TestPartitions(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"canary1", "canary2"} {
		if err := os.MkdirAll(filepath.Join(dir, "in", "region="+v), 0o777); err != nil {
			t.Fatal(err)
		}
		store(t, filepath.Join(dir, "in", "region="+v, "p.arrow"), []arrow.RecordBatch{numbersBatch(t, "[1,2]")})
	}
	from := &SourceConfig{Path: filepath.Join(dir, "in")}
	kept := filepath.Join(dir, "kept")
	if err := (release{from: from, to: &SinkConfig{Path: kept}}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	src, err := (&SourceConfig{Path: kept}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if names := src.Schema().Names(); !slices.Equal(names, []string{"a", "b", "region"}) {
		t.Errorf("columns %q", names)
	}
	if s := fmt.Sprint(src.Streams()); strings.Contains(s, "canary") {
		t.Errorf("the streams' names hold values: %s", s)
	}
	withheld := filepath.Join(dir, "withheld")
	if err := (release{from: from, to: &SinkConfig{Path: withheld, Compression: "none"}, drop: []string{"region"}}).run(
		t.Context()); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(withheld, func(p string, d os.DirEntry, err error) error {
		if strings.Contains(p, "canary") {
			t.Errorf("%s contains a withheld value", p)
		}
		if err == nil && !d.IsDir() {
			expectNo(t, p, "canary")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// If one of two keys is withheld, the other becomes a column of the files.
	two := filepath.Join(dir, "two")
	if err := os.MkdirAll(filepath.Join(two, "person=canary3", "year=2024"), 0o777); err != nil {
		t.Fatal(err)
	}
	store(t, filepath.Join(two, "person=canary3", "year=2024", "p.arrow"), []arrow.RecordBatch{numbersBatch(t, "[1,2]")})
	flat := filepath.Join(dir, "flat")
	if err := (release{from: &SourceConfig{Path: two}, to: &SinkConfig{Path: flat, Compression: "none"},
		drop: []string{"person"}}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, batches := load(t, filepath.Join(flat, "part-00000.arrow"))
	if got := fmt.Sprint(valuesOf(batches, "year")); got != "[2024 2024]" {
		t.Errorf("the partition column is %s", got)
	}
	expectNo(t, filepath.Join(flat, "part-00000.arrow"), "canary")
	// If a single file of a folder is opened, it has no partitions.
	one := filepath.Join(dir, "one.arrow")
	r := release{from: &SourceConfig{Path: filepath.Join(dir, "in", "region=canary1", "p.arrow")},
		to: &SinkConfig{Path: one}}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if schema, _ := load(t, one); schema.NumFields() != 2 {
		t.Errorf("a file of a folder has columns %v", schema)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	store(t, put("mixed/a.arrow", ""), []arrow.RecordBatch{numbersBatch(t, "[1]")})
	store(t, put("mixed/b.arrow", ""),
		[]arrow.RecordBatch{
			batchOf(jsonArray(t, arrow.BinaryTypes.String, `["x"]`), jsonArray(t, arrow.BinaryTypes.String, `["x"]`))})
	twice := array.NewRecordBatch(
		arrow.NewSchema(
			[]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "a", Type: arrow.BinaryTypes.String}}, nil),
		[]arrow.Array{jsonArray(t, arrow.BinaryTypes.String, `["x"]`), jsonArray(t, arrow.BinaryTypes.String, `["x"]`)}, 1)
	store(t, put("twice.arrow", ""), []arrow.RecordBatch{twice})
	for _, c := range []struct{ path, want string }{
		{put("empty.arrow", ""), "the file is empty"},
		{put("v1.feather", "FEA1xxxxxxxxxxxxxxxxFEA1"), "Feather version 1"},
		{put("text.arrow", "id,wage\n1,canary\n"), "text.arrow: not readable as Arrow IPC"},
		{put("magic.arrow", "ARROW1\x00\x00canarycanarycanary"), "does not end as an Arrow file"},
		{put("huge.arrows", "\xff\xff\xff\xff\xff\xff\xff\x7f canary"), "impossible length"},
		{put("stopped.arrows", "\xff\xff\xff\xff\x00\x10\x00\x00 canary"), "before its end mark"},
		{filepath.Join(dir, "mixed"), "b.arrow: column 1 has another type than in"},
		{filepath.Join(dir, "twice.arrow"), "columns 1 and 2 have the same name"},
		{filepath.Join(dir, "absent.arrow"), "absent.arrow"},
	} {
		_, err := (&SourceConfig{Path: c.path}).Open(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", filepath.Base(c.path), err, c.want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error shows content: %v", err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		problems fmt.Stringer
		n        int
	}{
		{text{(&SourceConfig{}).Check()}, 1},
		{text{(&SourceConfig{Path: "-"}).Check()}, 0},
		{text{(&SourceConfig{Path: "-", Format: "file"}).Check()}, 1},
		{text{(&SourceConfig{Path: "a", Format: "fiel"}).Check()}, 1},
		{text{(&SinkConfig{}).Check()}, 1},
		{text{(&SinkConfig{Path: "-", Format: "file", Compression: "zip"}).Check()}, 2},
		{text{(&SinkConfig{Path: "a", Compression: "lz4"}).Check()}, 0},
	} {
		if got := strings.Count(c.problems.String(), "must"); got != c.n {
			t.Errorf("%d problems, want %d: %v", got, c.n, c.problems)
		}
	}
}

type text struct{ v any }

func (t text) String() string { return fmt.Sprint(t.v) }

// The release must not replace the folder that is being read.
func TestOverwritesSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "p.arrow")
	store(t, path, []arrow.RecordBatch{numbersBatch(t, "[1]")})
	for _, c := range []struct{ from, to string }{{dir, dir}, {path, path}} {
		err := (release{from: &SourceConfig{Path: c.from}, to: &SinkConfig{Path: c.to}}).run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "take the place of its own source") {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}

// Integers that a float64 cannot represent reject their record, if the column is read as numbers.
func TestWideIntegers(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.arrow")
	store(t, in, []arrow.RecordBatch{batchOf(jsonArray(t, arrow.PrimitiveTypes.Int64, "[1, 9007199254740993, null]"))})
	src, err := (&SourceConfig{Path: in}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pass,
		err := src.Read(t.Context(),
		&microdata.Layout{Schema: src.Schema(),
			Read: []microdata.Want{{Field: 0, As: microdata.Numbers}, {Field: 0, As: microdata.Array}}}, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pass.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	if err := errors.Join(raw.Decode(&b), pass.Close()); err != nil {
		t.Fatal(err)
	}
	if len(b.Rejects) != 1 || b.Rejects[0].Row != 1 || b.Rejects[0].Column != "a" ||
		strings.Contains(b.Rejects[0].Reason, "9007") {
		t.Errorf("rejects %+v", b.Rejects)
	}
	if b.Columns[0].Original.Valid.Has(2) || b.Columns[1].Array.ValueStr(1) != "9007199254740993" {
		t.Errorf("columns %+v", b.Columns)
	}
}

// If a table has an odd size, the library reads one field beyond its even part. The content of that
// field must have been checked.
func TestOddTable(t *testing.T) {
	meta := make([]byte, 64)
	copy(meta[8:], []byte{5, 0}) // a vtable of 5 bytes at 8
	f := flat(meta)
	meta[16] = 8    // the table at 16, with its vtable 8 bytes before it
	meta[8+4] = 4   // the first field; its size covers the first byte
	meta[20] = 20   // it refers to offset 40, and there
	meta[40+3] = 99 // a vector claims a huge number of elements
	if _, _, ok := f.vector(16, 0, 4); ok {
		t.Error("a vector that is longer than its buffer passed")
	}
}
