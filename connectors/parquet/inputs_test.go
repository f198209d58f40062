package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/deprecated"
)

// varied has a required and an optional column for every type that parquet-go writes. That library
// writes the test files, so our reader is not tested against our own sink.
type varied struct {
	F64   float64   `parquet:"f64"`
	F32   float32   `parquet:"f32"`
	I8    int8      `parquet:"i8"`
	I16   int16     `parquet:"i16"`
	I32   int32     `parquet:"i32"`
	I64   int64     `parquet:"i64"`
	U8    uint8     `parquet:"u8"`
	U16   uint16    `parquet:"u16"`
	U32   uint32    `parquet:"u32"`
	U64   uint64    `parquet:"u64"`
	S     string    `parquet:"s"`
	Low   string    `parquet:"low,dict"`
	B     bool      `parquet:"b"`
	Bin   []byte    `parquet:"bin"`
	D32   int32     `parquet:"d32,decimal(2:9)"`
	D64   int64     `parquet:"d64,decimal(3:18)"`
	Day   int32     `parquet:"day,date"`
	Ms    int64     `parquet:"ms,timestamp(millisecond)"`
	Us    time.Time `parquet:"us,timestamp(microsecond)"`
	Ns    time.Time `parquet:"ns,timestamp(nanosecond)"`
	Fixed [5]byte   `parquet:"fixed"`
	OF64  *float64  `parquet:"of64,optional"`
	OI64  *int64    `parquet:"oi64,optional"`
	OS    *string   `parquet:"os,optional,dict"`
	OB    *bool     `parquet:"ob,optional"`
	Split float64   `parquet:"split,split"`
	Delta int64     `parquet:"delta,delta"`
	DI32  int32     `parquet:"di32,delta"`
	DS    string    `parquet:"ds,delta"`
	Dict  float64   `parquet:"dictnum,dict"`
	List  []int64   `parquet:"list,list"`
	Words []string  `parquet:"words"`
	Sub   struct {
		A *int64 `parquet:"a,optional"`
		B string `parquet:"b"`
	} `parquet:"sub"`
	Map map[string]int64 `parquet:"map"`
	I96 deprecated.Int96 `parquet:"i96"`
}

func variedRow(i int) varied {
	r := varied{
		F64: float64(i)*1.37 - 500, F32: float32(i) / 3, I8: int8(i), I16: int16(i * 7), I32: int32(i * 1000),
		I64: int64(i) << 30,
		U8:  uint8(i), U16: uint16(i * 9), U32: uint32(i) << 20, U64: uint64(i) << 40, S: fmt.Sprintf("text %d", i),
		Low: fmt.Sprintf("low %d", i%5),
		B:   i%3 == 0, Bin: []byte{byte(i), 0, 255}[:i%4], D32: int32(i*7 - 900), D64: int64(i) * 123456789,
		Day: int32(i * 3), Ms: int64(i) * 86_400_001, Us: time.UnixMicro(int64(i) * 999_999_937).UTC(),
		Ns:    time.Unix(0, int64(i)*1_000_000_007).UTC(),
		Fixed: [5]byte{byte(i), 1, 2, 3, byte(i >> 8)}, Split: float64(i) / 7, Delta: int64(i*i) - 90000, DI32: int32(-i),
		DS:   fmt.Sprintf("prefix/%d", i/10),
		Dict: float64(i % 11),
		I96:  deprecated.Int96{uint32(i), 0, julian + uint32(i)},
	}
	if i%4 != 1 {
		f, n, s, b := float64(i)+0.5, int64(i)*3, fmt.Sprintf("opt %d", i%7), i%2 == 0
		r.OF64, r.OI64, r.OS, r.OB = &f, &n, &s, &b
		r.Sub.A = &n
	}
	for k := range i % 4 {
		r.List = append(r.List, int64(i+k))
		r.Words = append(r.Words, fmt.Sprintf("w%d", k))
		if r.Map == nil {
			r.Map = map[string]int64{}
		}
	}
	if r.Map != nil {
		r.Map["one"] = int64(i) // one entry: several have no defined order
	}
	r.Sub.B = fmt.Sprintf("sub %d", i%13)
	return r
}

// input is one way to store the same rows.
type input struct {
	name    string
	options []pqgo.WriterOption
}

func inputs() []input {
	var all []input
	codecs := []struct {
		name  string
		codec compress.Codec
	}{{"none", &pqgo.Uncompressed}, {"snappy", &pqgo.Snappy}, {"gzip", &pqgo.Gzip}, {"zstd", &pqgo.Zstd},
		{"lz4", &lz4.Codec{Level: lz4.Fastest}}, {"brotli", &pqgo.Brotli}}
	for _, c := range codecs {
		for version := 1; version <= 2; version++ {
			all = append(all, input{fmt.Sprintf("%s-v%d", c.name, version), []pqgo.WriterOption{
				pqgo.Compression(c.codec), pqgo.DataPageVersion(version), pqgo.PageBufferSize(700),
				pqgo.DataPageStatistics(version == 1),
			}})
		}
	}
	return all
}

// groupSizes are the numbers of rows in the row groups of an input.
var groupSizes = []int{257, 1, 400, 142}

// writeVaried writes an input file and returns its rows.
func writeVaried(t testing.TB, path string, options ...pqgo.WriterOption) []varied {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := pqgo.NewGenericWriter[varied](f, options...)
	var rows []varied
	for _, n := range groupSizes {
		for range n {
			rows = append(rows, variedRow(len(rows)))
		}
		if _, err := w.Write(rows[len(rows)-n:]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// readVaried reads a file with parquet-go.
func readVaried(t testing.TB, path string) []varied {
	t.Helper()
	rows, err := pqgo.ReadFile[varied](path)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func variedFile(t testing.TB, options ...pqgo.WriterOption) (path string, rows []varied) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in.parquet")
	return path, writeVaried(t, path, options...)
}
