package parquet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

// tableFile writes a file of records, whose fields have ids.
func tableFile[T any](t *testing.T, rows ...T) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	w := parquetgo.NewGenericWriter[T](f)
	_, err = w.Write(rows)
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

type (
	abFile struct {
		A int64  `parquet:"a,id(1)"`
		B string `parquet:"b,id(2)"`
	}
	baFile struct {
		B string `parquet:"b,id(2)"`
		A int64  `parquet:"a,id(1)"`
	}
	twiceFile struct {
		A int64 `parquet:"a,id(1)"`
		B int64 `parquet:"b,id(1)"`
	}
	plainFile struct {
		A int64 `parquet:"a"`
	}
	plainTwo struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"b"`
	}
	halfFile struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"b,id(2)"`
	}
)

// Columns are found by their ids; files that have them at other places are not read as if they had them at the same
// ones.
func TestOpenTable(t *testing.T) {
	ab, ba := tableFile(t, abFile{5, "x"}), tableFile(t, baFile{"y", 6})
	for _, c := range []struct {
		paths   []string
		columns []Column
		names   string
		words   string
	}{
		{[]string{ab}, []Column{{ID: 1, Name: "b"}}, "b", ""},
		{[]string{ab}, []Column{{ID: 2, Name: "x"}, {ID: 1, Name: "y"}}, "x y", ""},
		{[]string{ab}, []Column{{ID: 9, Name: "z", Optional: true}, {ID: 1, Name: "y"}}, "y", ""},
		{[]string{ab, ab}, []Column{{ID: 2, Name: "x"}}, "x", ""},
		{[]string{ab}, []Column{{ID: 9, Name: "z"}}, "", ErrEvolved.Error()},
		{[]string{ab, ba}, []Column{{ID: 1, Name: "a"}}, "", ErrEvolved.Error()},
		{[]string{tableFile(t, twiceFile{1, 2})}, []Column{{ID: 1, Name: "a"}}, "", "two columns with one id"},
		{[]string{tableFile(t, plainFile{1})}, []Column{{ID: 1, Name: "a"}}, "", "without the ids"},
		{[]string{tableFile(t, plainFile{1})}, []Column{{ID: 1, Name: "z", Names: []string{"old", "a"}}}, "z", ""},
		{[]string{tableFile(t, plainFile{1})}, []Column{{ID: 1, Name: "a", Names: []string{}, Optional: true}}, "", ""},
		{[]string{tableFile(t, plainFile{1})}, []Column{{ID: 1, Name: "a", Names: []string{"A"}}}, "", ErrEvolved.Error()},
		{[]string{tableFile(t, plainTwo{1, 2})}, []Column{{ID: 1, Name: "x", Names: []string{"a", "b"}}}, "", "are one of the table"},
		{[]string{tableFile(t, halfFile{1, 2})}, []Column{{ID: 1, Name: "a", Names: []string{"a"}}}, "", "without the ids"},
		{[]string{tableFile(t, abFile{5, "x"})}, []Column{{ID: 1, Name: "z", Names: []string{"b"}}}, "z", ""},
	} {
		set, err := files.Listed(t.Context(), filepath.Dir(c.paths[0]), c.paths)
		if err != nil {
			t.Fatal(err)
		}
		src, err := OpenTable(t.Context(), set, c.columns)
		if err != nil {
			if c.words == "" || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v: %v, want %q", c.columns, err, c.words)
			}
			continue
		}
		var names []string
		for _, f := range src.Schema().Fields {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("%v: columns %q, want %q", c.columns, got, c.names)
		}
	}
}

// A file has bounds only if all of its row groups have them, or nulls alone.
func TestTells(t *testing.T) {
	_, leaves, err := treeOf([]schemaElement{
		{Name: "schema", NumChildren: some[int32](1)},
		{Name: "a", Type: some(format.Int64), RepetitionType: some(format.Optional), FieldID: some[int32](7)},
	})
	if err != nil {
		t.Fatal(err)
	}
	stats := func(lo, hi byte, nulls int64) statistics {
		return statistics{MinValue: []byte{lo, 0, 0, 0, 0, 0, 0, 0}, MaxValue: []byte{hi, 0, 0, 0, 0, 0, 0, 0},
			NullCount: some(nulls)}
	}
	group := func(st statistics) rowGroup {
		var g rowGroup
		g.Columns = append(g.Columns, columnChunk{})
		g.Columns[0].MetaData = some(columnMetaData{NumValues: 4, TotalCompressedSize: 10, Statistics: some(st)})
		return g
	}
	for name, c := range map[string]struct {
		last   statistics
		lo, hi byte
		nulls  int64
		bounds bool
	}{
		"both":        {stats(1, 9, 2), 1, 9, 3, true},
		"nulls alone": {statistics{NullCount: some[int64](4)}, 3, 5, 5, true},
		"none":        {statistics{NullCount: some[int64](3)}, 0, 0, 4, false},
		"no counts":   {statistics{MinValue: stats(4, 4, 0).MinValue, MaxValue: stats(4, 4, 0).MaxValue}, 0, 0, 1, false},
	} {
		for _, order := range []bool{true, false} {
			var got Written
			s := &sink{leaves: leaves, cfg: SinkConfig{table: &Table{Written: func(w Written) { got = w }}}}
			m := &fileMetaData{NumRows: 8}
			m.RowGroups = append(m.RowGroups, group(stats(3, 5, 1)), group(c.last))
			if !order {
				m.RowGroups[0], m.RowGroups[1] = m.RowGroups[1], m.RowGroups[0]
			}
			s.tells("x")(m, 99)
			w := got.Columns[7]
			if got.Name != "x" || got.Records != 8 || got.Bytes != 99 || w.Values != 8 || w.Bytes != 20 || w.Nulls != c.nulls ||
				(w.Min != nil) != c.bounds {
				t.Errorf("%s: %+v", name, got)
			}
			if c.bounds && (w.Min[0] != c.lo || w.Max[0] != c.hi) {
				t.Errorf("%s: from %d to %d, want %d to %d", name, w.Min[0], w.Max[0], c.lo, c.hi)
			}
		}
	}
}
