package parquet

import (
	"bytes"
	"context"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// allocated returns how many megabytes f allocates, including memory freed in between.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

type longRow struct {
	ID    int64       `parquet:"id"`
	Text  string      `parquet:"text,dict"`
	List  []string    `parquet:"list,dict"`
	Fixed [30000]byte `parquet:"fixed,dict"`
}

// longFile returns a file of a few kilobytes in which n records have the same values; the values of
// one column are long.
func longFile(t *testing.T, column string, n int) []byte {
	t.Helper()
	row := longRow{Text: "short"}
	long := strings.Repeat("long", 1<<18)
	switch column {
	case "text":
		row.Text = long
	case "list":
		row.List = []string{"short", long}
	}
	var file bytes.Buffer
	w := pqgo.NewGenericWriter[longRow](&file, pqgo.Compression(&pqgo.Zstd), pqgo.DataPageStatistics(false))
	for i := range n {
		row.ID = int64(i)
		if _, err := w.Write([]longRow{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A long dictionary value that every record has must not expand to gigabytes: a block of such
// values is refused before it is allocated, and the error names the limit.
func TestLongValuesInABlock(t *testing.T) {
	racetest.Further(t)
	for column, n := range map[string]int{"text": 300, "list": 300, "fixed": 9200} {
		file := longFile(t, column, n)
		path := t.TempDir() + "/in.parquet"
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		most := uint64(600) // twice the limit for looked-up values, once for the array, plus the values of the page
		if mb := allocated(func() { err = decodeColumn(path, column, n) }); mb > most {
			t.Errorf("%s: reading %d bytes used %d MB", column, len(file), mb)
		}
		if err == nil || !strings.Contains(err.Error(), "256 MB") || !strings.Contains(err.Error(), "in.parquet") {
			t.Errorf("%s: %v", column, err)
		}
		if err := decodeColumn(path, column, 100); err != nil {
			t.Errorf("%s, in short blocks: %v", column, err)
		}
	}
}

// decodeColumn reads a column in blocks of n records.
func decodeColumn(path, column string, n int) error {
	ctx := context.Background()
	src, err := (&SourceConfig{Path: path}).Open(ctx)
	if err != nil {
		return err
	}
	r, err := src.Read(ctx, layoutOf([]string{column}, nil)(src.Schema()), connectors.Cut{Records: n, Exact: true})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		raw, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := raw.Decode(new(microdata.Block)); err != nil {
			return err
		}
	}
}

// If a record of such a file is rejected, its columns are rewritten without expanding the values.
func TestLongValuesRewritten(t *testing.T) {
	racetest.Further(t)
	for _, column := range []string{"text", "list"} {
		file := longFile(t, column, 400)
		r := release{layout: layoutOf([]string{"id"}, []string{"fixed"}), mask: func(b *microdata.Block) {
			if b.First == 0 {
				b.Reject(0, "id", "a test")
			}
		}}
		var out []byte
		var err error
		if mb := allocated(func() { out, err = carryAll(t, file, r) }); err != nil || mb > 200 ||
			len(out) > 2*len(file)+1<<20 {
			t.Errorf("%s: %d bytes take %d MB and make %d bytes: %v", column, len(file), mb, len(out), err)
			continue
		}
		type released struct {
			ID   int64    `parquet:"id"`
			Text string   `parquet:"text,dict"`
			List []string `parquet:"list,dict"`
		}
		in, err := pqgo.Read[longRow](bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := pqgo.Read[released](bytes.NewReader(out), int64(len(out)))
		if err != nil || len(got) != len(in)-1 {
			t.Fatalf("%s: %d records: %v", column, len(got), err)
		}
		for i, g := range got {
			if w := in[i+1]; g.ID != w.ID || g.Text != w.Text || !reflect.DeepEqual(g.List, w.List) {
				t.Fatalf("%s: record %d differs", column, i)
			}
		}
	}
}
