package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	pqgo "github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/microdata"
)

type person struct {
	Name   string  `parquet:"respondent_name,dict"`
	Wage   float64 `parquet:"wage,dict"`
	Age    int64   `parquet:"age,delta"`
	Region string  `parquet:"region,dict"`
}

func writePeople(t testing.TB, path string, n int, options ...pqgo.WriterOption) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	rows := make([]person, n)
	for i := range rows {
		rows[i] = person{fmt.Sprintf("canary-name-%d", i), 123456.75 + float64(i), 987654 + int64(i),
			[]string{"north", "south"}[i%2]}
	}
	if n > 3 {
		rows[3].Region = "canary-region" // of a rejected record
	}
	if err := pqgo.WriteFile(path, rows, options...); err != nil {
		t.Fatal(err)
	}
}

func mask(b *microdata.Block) {
	for i := range b.Columns {
		if b.Columns[i].Array == nil {
			v := b.Columns[i].Mutable().Values
			for k := range v {
				v[k] = math.Round(v[k]*3 + 17)
			}
		}
	}
}

// The release contains no byte of a dropped or masked column or of a rejected record: not in pages,
// dictionaries, statistics, indexes, filters or metadata.
func TestNoTrace(t *testing.T) {
	fields := []arrow.Field{}
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64,
		arrow.BinaryTypes.String}
	for i, n := range []string{"respondent_name", "wage", "age", "region"} {
		fields = append(fields,
			arrow.Field{Name: n, Type: types[i], Metadata: arrow.NewMetadata([]string{"k"}, []string{"canary-meta"})})
	}
	meta := arrow.NewMetadata([]string{"canary-key"}, []string{"canary-meta"})
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(arrow.NewSchema(fields, &meta))).Close(); err != nil {
		t.Fatal(err)
	}
	pandas :=
		`{"index_columns": [{"kind": "range", "start": 0, "stop": 987654321, "step": 1}, "respondent_name", "region"], "column_indexes": [{"name": "canary-ci"}],
		"columns": [{"name": "respondent_name", "field_name": "respondent_name", "pandas_type": "unicode", "numpy_type": "object", "metadata": null},
		{"name": "region", "field_name": "region", "pandas_type": "categorical", "numpy_type": "int8", "metadata": {"num_categories": 77777}}],
		"creator": {"library": "pyarrow", "version": "canary-version"}, "attributes": {"a": "canary-attr"}, "pandas_version": "2.2.0"}`
	path := filepath.Join(t.TempDir(), "canary-file.parquet")
	writePeople(t, path, 500, pqgo.PageBufferSize(512), pqgo.DataPageStatistics(true),
		pqgo.BloomFilters(pqgo.SplitBlockFilter(10, "respondent_name"), pqgo.SplitBlockFilter(10, "wage")),
		pqgo.KeyValueMetadata("ARROW:schema", base64.StdEncoding.EncodeToString(buf.Bytes())),
		pqgo.KeyValueMetadata("pandas", pandas),
		pqgo.KeyValueMetadata("canary-unknown", "canary-value"), pqgo.KeyValueMetadata("wanted", "kept as it is"),
		pqgo.CreatedBy("canary-creator", "1", "2"),
		pqgo.SortingWriterConfig(pqgo.SortingColumns(pqgo.Ascending("age"))))
	out := filepath.Join(t.TempDir(), "out.parquet")
	r := release{
		from: SourceConfig{Path: path, KeepMetadata: []string{"wanted"}}, to: SinkConfig{Path: out, Compression: "none"},
		layout: layoutOf([]string{"wage", "age"}, []string{"respondent_name"}),
		mask: func(b *microdata.Block) {
			mask(b)
			for i := range b.N {
				if b.First+int64(i) == 3 {
					b.Reject(i, "wage", "a test")
				}
			}
		},
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, ft := openFooter(t, out)
	for _, trace := range []string{"canary", "respondent_name", "987654321", "77777"} {
		if bytes.Contains(b, []byte(trace)) {
			t.Errorf("the release holds %q", trace)
		}
	}
	for i := range 500 {
		if bytes.Contains(b, binary.LittleEndian.AppendUint64(nil, math.Float64bits(123456.75+float64(i)))) {
			t.Fatalf("the release holds the original wage of record %d", i)
		}
	}
	kv := map[string]string{}
	for _, k := range ft.KeyValueMetadata {
		kv[k.Key] = k.Value
	}
	if len(kv) != 3 || kv["wanted"] != "kept as it is" {
		t.Errorf("metadata %v", kv)
	}
	raw, err := base64.StdEncoding.DecodeString(kv[arrowKey])
	if err != nil {
		t.Fatal(err)
	}
	s, err := ipc.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if s.Schema().NumFields() != 3 || s.Schema().HasMetadata() || s.Schema().Field(0).HasMetadata() {
		t.Errorf("Arrow schema %s", s.Schema())
	}
	var p pandasMetadata
	if err := json.Unmarshal([]byte(kv[pandasKey]), &p); err != nil || len(p.Columns) != 1 || len(p.IndexColumns) != 1 ||
		string(p.IndexColumns[0]) != `"region"` {
		t.Errorf("pandas metadata %s, %v", kv[pandasKey], err)
	}
	if !strings.HasPrefix(ft.CreatedBy, "sdlfilter version ") {
		t.Errorf("created by %q", ft.CreatedBy)
	}
	rows, err := pqgo.ReadFile[person](out)
	if err != nil || len(rows) != 499 || rows[3].Wage != math.Round((123456.75+4)*3+17) || rows[0].Region != "north" {
		t.Errorf("the release cannot be read back: %v, %d rows", err, len(rows))
	}
}

// A Hive folder is released as a folder. Partition columns that are not released leave no trace in
// its names.
func TestFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "in")
	writePeople(t, filepath.Join(dir, "year=2023", "sex=canary f%2Fm", "canary-a.parquet"), 20)
	writePeople(t, filepath.Join(dir, "year=2024", "sex=__HIVE_DEFAULT_PARTITION__", "canary-b.parquet"), 0)
	writePeople(t, filepath.Join(dir, "year=2024", "sex=m", "canary-c.parquet"), 30)
	for _, c := range []struct {
		path string
		drop []string
		want []string
	}{
		{"", []string{"sex", "respondent_name"},
			[]string{"year=2023/part-00000.parquet", "year=2024/part-00001.parquet", "year=2024/part-00002.parquet"}},
		{"*/*/*.parquet", []string{"sex", "year"},
			[]string{"part-00000.parquet", "part-00001.parquet", "part-00002.parquet"}},
		{
			"", nil,
			[]string{"year=2023/sex=canary%20f%2Fm/part-00000.parquet",
				"year=2024/sex=__HIVE_DEFAULT_PARTITION__/part-00001.parquet", "year=2024/sex=m/part-00002.parquet"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		r := release{from: SourceConfig{Path: filepath.Join(dir, c.path)}, to: SinkConfig{Path: out},
			layout: layoutOf([]string{"wage"}, c.drop), mask: mask}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := filepath.WalkDir(out, func(p string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				rel, _ := filepath.Rel(out, p)
				got = append(got, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q (%v)", c.drop, got, c.want, err)
		}
		src, err := (&SourceConfig{Path: out}).Open(t.Context())
		if err != nil || src.Records() != 50 {
			t.Errorf("the release is not a source: %v", err)
		}
	}
}

// Partition columns are read as constants, or as null if the folder name says so.
func TestPartitionColumns(t *testing.T) {
	dir := t.TempDir()
	writePeople(t, filepath.Join(dir, "k=a", "x.parquet"), 3)
	writePeople(t, filepath.Join(dir, "k=__HIVE_DEFAULT_PARTITION__", "x.parquet"), 2)
	src, err := (&SourceConfig{Path: dir}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 4, As: microdata.Array}}}
	r, err := src.Read(t.Context(), l, cutAny)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for {
		raw, err := r.Next(t.Context())
		if err != nil {
			break
		}
		b := new(microdata.Block)
		if err := raw.Decode(b); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			got = append(got, b.Columns[0].Array.ValueStr(i))
		}
	}
	if want := []string{"(null)", "(null)", "a", "a", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSchemasMustAgree(t *testing.T) {
	dir := t.TempDir()
	writePeople(t, filepath.Join(dir, "a.parquet"), 3)
	if err := pqgo.WriteFile(filepath.Join(dir, "b.parquet"), []struct {
		Name string `parquet:"respondent_name"`
	}{{"x"}}); err != nil {
		t.Fatal(err)
	}
	_, err := (&SourceConfig{Path: dir}).Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "b.parquet") || !strings.Contains(err.Error(), "columns") {
		t.Errorf("got %v", err)
	}
}

// fullDisk accepts some bytes and then fails.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.left {
		n := d.left
		d.left = 0
		return n, errFull
	}
	d.left -= len(b)
	return len(b), nil
}
func (d *fullDisk) Sync() error  { return nil }
func (d *fullDisk) Close() error { return nil }

func TestFullDisk(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	path, _ := variedFile(t)
	whole := 0
	for k := 0; ; k = k*5/4 + 1 {
		d := &fullDisk{left: k}
		r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: "out.parquet", create: func(string) (file, error) {
			return d, nil
		}}, layout: layoutOf([]string{"f64"}, nil), mask: mask}
		err := r.run(t.Context())
		if err == nil {
			whole = k
			break
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("after %d bytes: %v", k, err)
		}
	}
	if whole < 10_000 {
		t.Errorf("a release of %d bytes", whole)
	}
}
