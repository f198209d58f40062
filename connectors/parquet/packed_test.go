package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Any part of packed indexes equals the same part of all indexes. Unreadable indexes are detected
// before any part is returned.
func TestPackedIndexes(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 1))
	read, failed := 0, 0
	for range 20_000 {
		width, n := r.IntN(33), r.IntN(60)
		src := hybrid(r, width, n)
		want := make([]uint32, n)
		wanted := decodeHybrid(want, slices.Clip(src), width)
		p, err := packedIndexes(slices.Clip(src), width, n)
		if fmt.Sprint(err) != fmt.Sprint(wanted) {
			t.Fatalf("%d of %d bits in %x: %v, want %v", n, width, src, err, wanted)
		}
		if err != nil {
			failed++
			continue
		}
		read++
		for from := range n + 1 {
			k := r.IntN(n - from + 1)
			holdRead(t, p, from, want[from:from+k])
		}
	}
	if min(read, failed) < 1000 {
		t.Errorf("%d read, %d failed", read, failed)
	}
	for _, width := range []int{-1, 33} {
		if _, err := packedIndexes(nil, width, 1); err == nil {
			t.Errorf("numbers of %d bits are read", width)
		}
	}
	if p, err := packedIndexes(nil, 7, 0); err != nil {
		t.Error(err)
	} else {
		holdRead(t, p, 0, nil)
	}
}

func holdRead(t *testing.T, p *packed, from int, want []uint32) {
	t.Helper()
	got := make([]uint32, len(want))
	for i := range got {
		got[i] = 0xdeadbeef
	}
	if err := p.read(got, from); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d of %d numbers of %d bits from %d: %v, %v; want %v", len(want), p.n, p.width, from, got, err, want)
	}
}

// Pages with many marks: one long run, short runs, and empty runs in between.
func TestMarksOfPackedIndexes(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 2))
	for _, what := range []string{"one run", "short runs", "equal numbers", "empty runs"} {
		const n, width = 3*markEach + 77, 11
		want := make([]uint32, n)
		for i := range want {
			want[i] = r.Uint32N(1 << width)
		}
		var src []byte
		switch what {
		case "one run":
			src = packedIndex(want, width)
		case "equal numbers":
			src = binary.LittleEndian.AppendUint16(binary.AppendUvarint(nil, n<<1), 1234)
			for i := range want {
				want[i] = 1234
			}
		default:
			for at := 0; at < n; {
				if r.IntN(3) == 0 {
					k := min(1+r.IntN(70), n-at)
					fill(want[at:at+k], want[at])
					src = binary.LittleEndian.AppendUint16(binary.AppendUvarint(src, uint64(k)<<1), uint16(want[at]))
					at += k
				} else {
					k := min(8*(1+r.IntN(9)), n-at)
					src = append(src, packedIndex(want[at:at+k], width)...)
					at += k
				}
				if what == "empty runs" {
					for range r.IntN(300) {
						src = append(src, 0, 0, 0)
					}
				}
			}
		}
		p, err := packedIndexes(src, width, n)
		if err != nil {
			t.Fatal(err)
		}
		if few := what == "one run" || what == "equal numbers"; (len(p.marks) == 1) != few ||
			len(p.marks) > len(src)/markBytes+n/markEach+1 {
			t.Errorf("%s: %d marks in %d bytes", what, len(p.marks), len(src))
		}
		for _, k := range []int{1, 7, 8, 9, 1000, markEach, n} {
			for from := 0; from+k <= n; from += max(1, (n-k)/37) {
				holdRead(t, p, from, want[from:from+k])
			}
		}
	}
}

// The records with a value are counted from the nearest marks to the start of a part, and the bits
// are shifted to that start.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 3))
	for _, n := range []int{1, 63, 64, 65, rankEach - 1, rankEach, rankEach + 1, 2 * rankEach, 2*rankEach + 100} {
		valid := microdata.NewBitmap(n, nil)
		before := make([]int, n+1)
		for i := range n {
			before[i+1] = before[i] + 1
			if r.IntN(3) == 0 {
				valid.Clear(i)
				before[i+1]--
			}
		}
		v := values{n: n, valid: valid, ranks: ranksOf(valid), packed: &packed{n: before[n]}}
		for i, want := range before {
			if got := v.rank(i); got != want {
				t.Fatalf("%d of %d: %d, want %d", i, n, got, want)
			}
		}
		for range 50 {
			from := r.IntN(n)
			k := 1 + r.IntN(n-from)
			got := bitsBetween(valid, from, k)
			for i := range 64 * len(got) {
				if got.Has(i) != (i < k && valid.Has(from+i)) {
					t.Fatalf("%d bits of %d from %d: bit %d", k, n, from, i)
				}
			}
		}
	}
	if (&values{}).rank(17) != 17 {
		t.Error("without nulls")
	}
}

// An index outside the dictionary is refused by the part that contains it, with the place of its
// column.
func TestIndexesBeyondTheDictionary(t *testing.T) {
	l := &leaf{phys: 1, width: 4, path: []string{"x"}, typ: arrow.PrimitiveTypes.Int32}
	p, err := packedIndexes(packedIndex([]uint32{0, 1, 2, 1}, 2), 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	u := &unit{chunk: &chunk{file: "f.parquet", group: 2, leaf: l},
		v: values{n: 4, packed: p, dict: &dictionary{n: 2, data: make([]byte, 8)}}}
	if _, err := (segment{u, 0, 2}).unpacked(false); err != nil {
		t.Error(err)
	}
	_, err = (segment{u, 1, 2}).unpacked(true)
	if c := (*corrupt)(nil); !errors.As(err, &c) ||
		err.Error() != "f.parquet: row group 2, column x: an index beyond the dictionary" {
		t.Errorf("%v", err)
	}
}

// coded has columns with dictionaries and columns without.
type coded struct {
	Number float64  `parquet:"number,dict"`
	Gaps   *int64   `parquet:"gaps,optional,dict"`
	Text   string   `parquet:"text,dict"`
	Words  *string  `parquet:"words,optional,dict"`
	Fixed  [5]byte  `parquet:"fixed,dict"`
	Same   int32    `parquet:"same,dict"`
	Void   *float64 `parquet:"void,optional,dict"`
	Plain  float64  `parquet:"plain"`
	List   []string `parquet:"list,dict"`
	Sub    struct {
		A *int64 `parquet:"a,optional,dict"`
	} `parquet:"sub"`
}

func codedRow(r *rand.Rand, i int) (c coded) {
	c = coded{Number: float64(r.IntN(3000)) / 4, Text: fmt.Sprint("t", r.IntN(700)), Fixed: [5]byte{byte(r.IntN(90))},
		Same: 7, Plain: r.Float64()}
	if i/200%3 > 0 || r.IntN(4) == 0 { // runs of values and of nulls
		n, s := r.Int64N(500), fmt.Sprint("word ", r.IntN(9))
		c.Gaps, c.Words = &n, &s
	}
	for range r.IntN(3) {
		c.List = append(c.List, fmt.Sprint(r.IntN(5)))
	}
	if r.IntN(2) == 0 {
		n := r.Int64N(50)
		c.Sub.A = &n
	}
	return c
}

// A page of many blocks returns to each block its records, wherever blocks and pages end: decoded
// as numbers or as arrays, with and without rejected records.
func TestPagesOfManyBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 4))
	for _, pageSize := range []int{256 << 10, 3000, 256<<10 + 1} {
		if pageSize%2 == 1 { // and with pages that are decoded in parts
			parts(t, 100<<10)
		}
		path := filepath.Join(t.TempDir(), "in.parquet")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w := pqgo.NewGenericWriter[coded](f, pqgo.PageBufferSize(pageSize), pqgo.Compression(&pqgo.Zstd))
		n := 0
		for _, k := range []int{9001, 1, 4096 + 64} {
			rows := make([]coded, k)
			for i := range rows {
				rows[i] = codedRow(r, n+i)
			}
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			n += k
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := pqgo.ReadFile[coded](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			numbers, reject bool
			cut             connectors.Cut
		}{{true, false, connectors.Cut{Records: 100}}, {true, true, connectors.Cut{Records: 137, Exact: true}},
			{false, true, connectors.Cut{Records: 4099}}, {false, false, connectors.Cut{Records: 1000, Exact: true}},
			{true, false, connectors.Cut{}}} {
			out := filepath.Join(t.TempDir(), "out.parquet")
			want := rows
			var mask func(b *microdata.Block)
			if c.reject {
				want = nil
				for i, row := range rows {
					if i%9 != 4 {
						want = append(want, row)
					}
				}
				mask = rejectNinths
			}
			run := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: out}, layout: decodeAll(c.numbers), cut: c.cut,
				mask: mask}
			if err := run.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := pqgo.ReadFile[coded](out)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%+v: %d rows, want %d: %v", c, len(got), len(want), err)
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("%+v, pages of %d bytes: row %d is %+v, want %+v", c, pageSize, i, got[i], want[i])
				}
			}
		}
	}
}

// rejectNinths rejects the records with number % 9 == 4.
func rejectNinths(b *microdata.Block) {
	for i := range b.N {
		if (b.First+int64(i))%9 == 4 {
			b.Reject(i, "f64", "a test")
		}
	}
}

// If a late record's value is missing in the dictionary, the file is refused, with its name and the
// place.
func TestLateIndexBeyondTheDictionary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	writeVaried(t, path, pqgo.Compression(&pqgo.Uncompressed), pqgo.DataPageVersion(1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = editColumn(t, b, "dictnum", func(_ *columnMetaData, pages []forgedPage) []forgedPage {
		p := last(pages)
		index := make([]uint32, p.header.DataPage.V.NumValues)
		index[len(index)-1] = 15
		p.body, p.head = append([]byte{4}, packedIndex(index, 4)...), nil
		p.header.CompressedSize, p.header.UncompressedSize = int32(len(p.body)), int32(len(p.body))
		return pages
	})
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: path + ".out"},
		layout: layoutOf([]string{"dictnum"}, nil), cut: connectors.Cut{Records: 50}}
	err = r.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "column dictnum: an index beyond the dictionary") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path + ".out"); err == nil {
		t.Error("something is released")
	}
}
