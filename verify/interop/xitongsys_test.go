package interop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xitongsys/parquet-go-source/local"
	"github.com/xitongsys/parquet-go/parquet"
	"github.com/xitongsys/parquet-go/reader"
	"github.com/xitongsys/parquet-go/writer"
)

// The same record with four choices of encodings.
type recordPlain struct {
	Name   string   `parquet:"name=name, type=BYTE_ARRAY, convertedtype=UTF8"`
	Wage   float64  `parquet:"name=wage, type=DOUBLE"`
	Debt   *int64   `parquet:"name=debt, type=INT64"`
	Amount *int64   `parquet:"name=amount, type=INT64, convertedtype=DECIMAL, scale=2, precision=15"`
	Age    int32    `parquet:"name=age, type=INT32, convertedtype=UINT_8"`
	Weight *float32 `parquet:"name=weight, type=FLOAT"`
	Region *string  `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8"`
	Code   string   `parquet:"name=code, type=FIXED_LEN_BYTE_ARRAY, length=5"`
	Rented bool     `parquet:"name=rented, type=BOOLEAN"`
	Born   *int32   `parquet:"name=born, type=INT32, convertedtype=DATE"`
	Asked  int64    `parquet:"name=asked, type=INT64, convertedtype=TIMESTAMP_MICROS"`
	Visits []int32  `parquet:"name=visits, type=LIST, valuetype=INT32"`
}

type recordDictionary struct {
	Name   string   `parquet:"name=name, type=BYTE_ARRAY, convertedtype=UTF8, encoding=PLAIN_DICTIONARY"`
	Wage   float64  `parquet:"name=wage, type=DOUBLE, encoding=PLAIN_DICTIONARY"`
	Debt   *int64   `parquet:"name=debt, type=INT64, encoding=PLAIN_DICTIONARY"`
	Amount *int64   `parquet:"name=amount, type=INT64, convertedtype=DECIMAL, scale=2, precision=15, encoding=PLAIN_DICTIONARY"`
	Age    int32    `parquet:"name=age, type=INT32, convertedtype=UINT_8, encoding=PLAIN_DICTIONARY"`
	Weight *float32 `parquet:"name=weight, type=FLOAT, encoding=PLAIN_DICTIONARY"`
	Region *string  `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8, encoding=PLAIN_DICTIONARY"`
	Code   string   `parquet:"name=code, type=FIXED_LEN_BYTE_ARRAY, length=5, encoding=PLAIN_DICTIONARY"`
	Rented bool     `parquet:"name=rented, type=BOOLEAN"`
	Born   *int32   `parquet:"name=born, type=INT32, convertedtype=DATE, encoding=PLAIN_DICTIONARY"`
	Asked  int64    `parquet:"name=asked, type=INT64, convertedtype=TIMESTAMP_MICROS, encoding=PLAIN_DICTIONARY"`
	Visits []int32  `parquet:"name=visits, type=LIST, valuetype=INT32"`
}

type recordDelta struct {
	Name   string   `parquet:"name=name, type=BYTE_ARRAY, convertedtype=UTF8, encoding=DELTA_BYTE_ARRAY"`
	Wage   float64  `parquet:"name=wage, type=DOUBLE"`
	Debt   *int64   `parquet:"name=debt, type=INT64, encoding=DELTA_BINARY_PACKED"`
	Amount *int64   `parquet:"name=amount, type=INT64, convertedtype=DECIMAL, scale=2, precision=15, encoding=DELTA_BINARY_PACKED"`
	Age    int32    `parquet:"name=age, type=INT32, convertedtype=UINT_8, encoding=DELTA_BINARY_PACKED"`
	Weight *float32 `parquet:"name=weight, type=FLOAT"`
	Region *string  `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8, encoding=DELTA_LENGTH_BYTE_ARRAY"`
	Code   string   `parquet:"name=code, type=FIXED_LEN_BYTE_ARRAY, length=5"`
	Rented bool     `parquet:"name=rented, type=BOOLEAN"`
	Born   *int32   `parquet:"name=born, type=INT32, convertedtype=DATE, encoding=DELTA_BINARY_PACKED"`
	Asked  int64    `parquet:"name=asked, type=INT64, convertedtype=TIMESTAMP_MICROS, encoding=DELTA_BINARY_PACKED"`
	Visits []int32  `parquet:"name=visits, type=LIST, valuetype=INT32"`
}

type recordStreams struct {
	Name   string   `parquet:"name=name, type=BYTE_ARRAY, convertedtype=UTF8, encoding=DELTA_LENGTH_BYTE_ARRAY"`
	Wage   float64  `parquet:"name=wage, type=DOUBLE, encoding=BYTE_STREAM_SPLIT"`
	Debt   *int64   `parquet:"name=debt, type=INT64"`
	Amount *int64   `parquet:"name=amount, type=INT64, convertedtype=DECIMAL, scale=2, precision=15"`
	Age    int32    `parquet:"name=age, type=INT32, convertedtype=UINT_8"`
	Weight *float32 `parquet:"name=weight, type=FLOAT, encoding=BYTE_STREAM_SPLIT"`
	Region *string  `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8, encoding=DELTA_BYTE_ARRAY"`
	Code   string   `parquet:"name=code, type=FIXED_LEN_BYTE_ARRAY, length=5"`
	Rented bool     `parquet:"name=rented, type=BOOLEAN"`
	Born   *int32   `parquet:"name=born, type=INT32, convertedtype=DATE"`
	Asked  int64    `parquet:"name=asked, type=INT64, convertedtype=TIMESTAMP_MICROS"`
	Visits []int32  `parquet:"name=visits, type=LIST, valuetype=INT32"`
}

// released is a record without the name.
type released struct {
	Wage   float64  `parquet:"name=wage, type=DOUBLE"`
	Debt   *int64   `parquet:"name=debt, type=INT64"`
	Amount *int64   `parquet:"name=amount, type=INT64, convertedtype=DECIMAL, scale=2, precision=15"`
	Age    int32    `parquet:"name=age, type=INT32, convertedtype=UINT_8"`
	Weight *float32 `parquet:"name=weight, type=FLOAT"`
	Region *string  `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8"`
	Code   string   `parquet:"name=code, type=FIXED_LEN_BYTE_ARRAY, length=5"`
	Rented bool     `parquet:"name=rented, type=BOOLEAN"`
	Born   *int32   `parquet:"name=born, type=INT32, convertedtype=DATE"`
	Asked  int64    `parquet:"name=asked, type=INT64, convertedtype=TIMESTAMP_MICROS"`
	Visits []int32  `parquet:"name=visits, type=LIST, valuetype=INT32"`
}

var releasedColumns = []string{"wage", "debt", "amount", "age", "weight", "region", "code", "rented", "born", "asked",
	"visits"}

func optional[T any](rng *rand.Rand, v T) *T {
	if rng.IntN(8) == 0 {
		return nil
	}
	return &v
}

func records(n int) []recordPlain {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([]recordPlain, n)
	for i := range rows {
		rows[i] = recordPlain{
			Name:   fmt.Sprintf("Respondent-%05d", i),
			Wage:   float64(rng.IntN(900_000)) / 100,
			Debt:   optional(rng, int64(rng.IntN(1_000_000))-2000),
			Amount: optional(rng, int64(rng.IntN(100_000_000))),
			Age:    int32(rng.IntN(256)),
			Weight: optional(rng, float32(rng.NormFloat64())),
			Region: optional(rng, []string{"north", "south", "éast", ""}[rng.IntN(4)]),
			Code:   fmt.Sprintf("%05d", rng.IntN(100_000)),
			Rented: rng.IntN(3) == 0,
			Born:   optional(rng, int32(rng.IntN(30_000))-10_000),
			Asked:  rng.Int64N(2e15),
		}
		for range rng.IntN(4) {
			rows[i].Visits = append(rows[i].Visits, rng.Int32())
		}
	}
	return rows
}

// writeXitongsys writes rows in the encodings of the kind's tags.
func writeXitongsys(t *testing.T, path string, kind reflect.Type, codec parquet.CompressionCodec, rows []recordPlain) {
	t.Helper()
	f, err := local.NewLocalFileWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := writer.NewParquetWriter(f, reflect.New(kind).Interface(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w.CompressionType = codec
	w.PageSize = 512
	w.RowGroupSize = 32 << 10 // several row groups
	for _, r := range rows {
		if err := w.Write(reflect.ValueOf(r).Convert(kind).Interface()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteStop(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func readXitongsys(t *testing.T, path string) []released {
	t.Helper()
	f, err := local.NewLocalFileReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := reader.NewParquetReader(f, new(released), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.ReadStop()
	rows := make([]released, r.GetNumRows())
	if err := r.Read(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func numbers(rows []released) (wage, debt, amount []float64, always, hasDebt, hasAmount []bool) {
	for _, r := range rows {
		wage, always = append(wage, r.Wage), append(always, true)
		d, a := 0.0, 0.0
		if r.Debt != nil {
			d = float64(*r.Debt)
		}
		if r.Amount != nil {
			a = float64(*r.Amount) / 100
		}
		debt, hasDebt = append(debt, d), append(hasDebt, r.Debt != nil)
		amount, hasAmount = append(amount, a), append(hasAmount, r.Amount != nil)
	}
	return
}

// compare compares a release with the records; with noise, masked columns only have to be close.
func compare(t *testing.T, rows []recordPlain, got []released, noise bool) {
	t.Helper()
	if len(got) != len(rows) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
	want := make([]released, len(rows))
	for i, r := range rows {
		want[i] = released{r.Wage, r.Debt, r.Amount, r.Age, r.Weight, r.Region, r.Code, r.Rented, r.Born, r.Asked, r.Visits}
	}
	if noise {
		w0, d0, a0, always, hd0, ha0 := numbers(want)
		w1, d1, a1, _, hd1, ha1 := numbers(got)
		masked(t, "wage", w0, w1, always, always)
		masked(t, "debt", d0, d1, hd0, hd1)
		masked(t, "amount", a0, a1, ha0, ha1)
	}
	for i := range want {
		w, g := want[i], got[i]
		if noise {
			g.Wage, g.Debt, g.Amount = w.Wage, w.Debt, w.Amount
		}
		if len(w.Visits) == 0 && len(g.Visits) == 0 {
			g.Visits = w.Visits
		}
		if !reflect.DeepEqual(w, g) {
			t.Fatalf("row %d: got %+v, want %+v", i, g, w)
		}
	}
}

var kinds = map[string]reflect.Type{
	"plain":      reflect.TypeFor[recordPlain](),
	"dictionary": reflect.TypeFor[recordDictionary](),
	"delta":      reflect.TypeFor[recordDelta](),
	"streams":    reflect.TypeFor[recordStreams](),
}

// The library's LZ4 uses LZ4 frames, which are not part of the format.
var codecs = []parquet.CompressionCodec{
	parquet.CompressionCodec_UNCOMPRESSED, parquet.CompressionCodec_SNAPPY, parquet.CompressionCodec_GZIP,
	parquet.CompressionCodec_ZSTD,
}

func TestXitongsysRoundTrip(t *testing.T) {
	rows := records(1500)
	for kind, typ := range kinds {
		for _, codec := range codecs {
			t.Run(kind+"/"+strings.ToLower(codec.String()), func(t *testing.T) {
				dir := t.TempDir()
				in, out := filepath.Join(dir, "in.parquet"), filepath.Join(dir, "out.parquet")
				writeXitongsys(t, in, typ, codec, rows)
				for _, noise := range []bool{false, true} {
					j := job{
						source:  fmt.Sprintf("parquet: {path: %q}", in),
						sink:    fmt.Sprintf("parquet: {path: %q, encoding: plain}", out),
						columns: releasedColumns,
					}
					if noise {
						j.masked = []string{"wage", "debt", "amount"}
					}
					run(t, j)
					compare(t, rows, readXitongsys(t, out), noise)
					absent(t, out)
				}
			})
		}
	}
}

// Every codec and encoding of the sink that the library supports.
func TestXitongsysReadsSink(t *testing.T) {
	rows := records(1500)
	dir := t.TempDir()
	in := filepath.Join(dir, "in.parquet")
	writeXitongsys(t, in, kinds["plain"], parquet.CompressionCodec_SNAPPY, rows)
	for _, codec := range []string{"none", "snappy", "gzip", "zstd"} {
		for _, encoding := range []string{"plain", "compact"} {
			t.Run(codec+"/"+encoding, func(t *testing.T) {
				out := filepath.Join(dir, codec+encoding+".parquet")
				run(t, job{
					source:  fmt.Sprintf("parquet: {path: %q}", in),
					sink:    fmt.Sprintf("parquet: {path: %q, compression: %s, encoding: %s}", out, codec, encoding),
					columns: releasedColumns, masked: []string{"wage", "debt", "amount"},
				})
				compare(t, rows, readXitongsys(t, out), true)
			})
		}
	}
}

// A release with all columns encoded again: from CSV.
func TestXitongsysReadsReleaseOfCSV(t *testing.T) {
	// A CSV column without missing values is required in the release, unless it is text.
	type flat struct {
		Wage   float64 `parquet:"name=wage, type=DOUBLE"`
		Debt   *int64  `parquet:"name=debt, type=INT64"`
		Region *string `parquet:"name=region, type=BYTE_ARRAY, convertedtype=UTF8"`
		Rented bool    `parquet:"name=rented, type=BOOLEAN"`
		Born   int32   `parquet:"name=born, type=INT32, convertedtype=DATE"`
	}
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	in := filepath.Join(dir, "in.csv")
	var text strings.Builder
	text.WriteString("name,wage,debt,region,rented,born\n")
	n := 2000
	want := make([]flat, n)
	for i := range want {
		wage, debt, rented, day := float64(rng.IntN(900_000))/100, rng.Int64N(1e6), rng.IntN(2) == 0, int32(rng.IntN(365))
		region := []string{"north", "south", "east", "a, b"}[rng.IntN(4)]
		want[i] = flat{wage, &debt, &region, rented, day}
		debtText := fmt.Sprint(debt)
		if rng.IntN(5) == 0 {
			want[i].Debt, debtText = nil, ""
		}
		fmt.Fprintf(&text, "Respondent-%05d,%.2f,%s,%q,%v,%s\n", i, wage, debtText, region, rented, dayText(day))
	}
	if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []string{"plain", "compact"} {
		for _, noise := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/noise=%v", encoding, noise), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out.parquet")
				j := job{
					source:  fmt.Sprintf("csv: {path: %q}", in),
					sink:    fmt.Sprintf("parquet: {path: %q, encoding: %s}", out, encoding),
					columns: []string{"wage", "debt", "region", "rented", "born"},
				}
				if noise {
					j.masked = []string{"wage", "debt"}
				}
				run(t, j)
				f, err := local.NewLocalFileReader(out)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				r, err := reader.NewParquetReader(f, new(flat), 1)
				if err != nil {
					t.Fatal(err)
				}
				defer r.ReadStop()
				got := make([]flat, r.GetNumRows())
				if err := r.Read(&got); err != nil {
					t.Fatal(err)
				}
				if len(got) != n {
					t.Fatalf("%d rows, want %d", len(got), n)
				}
				var before, after []float64
				var valid []bool
				for i := range want {
					w, g := want[i], got[i]
					if noise {
						before, after, valid = append(before, w.Wage), append(after, g.Wage), append(valid, true)
						if (w.Debt == nil) != (g.Debt == nil) {
							t.Fatalf("row %d: debt's null moved", i)
						}
						g.Wage, g.Debt = w.Wage, w.Debt
					}
					if !reflect.DeepEqual(w, g) {
						t.Fatalf("row %d: got %+v, want %+v", i, g, w)
					}
				}
				if noise {
					masked(t, "wage", before, after, valid, valid)
				}
			})
		}
	}
}
