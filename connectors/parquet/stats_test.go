package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/microdata"
)

type orderedRow struct {
	S   string  `parquet:"s"`
	D   string  `parquet:"d,dict"`
	O   *string `parquet:"o,optional"`
	I   int64   `parquet:"i"`
	I8  int8    `parquet:"i8"`
	U   uint64  `parquet:"u"`
	U32 uint32  `parquet:"u32"`
	F   float64 `parquet:"f"`
	G   float32 `parquet:"g"`
}

// Statistics equal the minimum and maximum of the released values, computed here from the values:
// at the first or last place in the chunk, in the first or last page, with rejected records, and
// for copied, rewritten and encoded chunks.
func TestStatistics(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for turn := range 24 {
		rows := make([]orderedRow, 40+r.IntN(200))
		for i := range rows {
			text := fmt.Sprintf("%c%d\xff", 'a'+r.IntN(26), r.IntN(1000))
			rows[i] = orderedRow{S: text, D: text[:1], I: r.Int64() - 1<<62, I8: int8(r.IntN(256) - 128), U: r.Uint64(),
				U32: r.Uint32(), F: r.NormFloat64(), G: float32(r.NormFloat64())}
			if i%3 != 0 {
				rows[i].O = &text
			}
		}
		// The maximum at one end, the minimum at the other, or both in the middle.
		at, other := []int{0, len(rows) - 1, len(rows) / 2}[turn%3], []int{len(rows) - 1, 0, len(rows)/2 + 1}[turn%3]
		high, low := "\xfe high", "0 low"
		rows[at] = orderedRow{S: high, D: high, O: &high, I: math.MaxInt64, I8: 127, U: math.MaxUint64, U32: math.MaxUint32,
			F: math.Inf(1), G: 1e30}
		rows[other] = orderedRow{S: low, D: low, O: &low, I: math.MinInt64, I8: -128, F: -1e300, G: -1e30}
		var file bytes.Buffer
		if err := pqgo.Write(&file, rows, pqgo.PageBufferSize(300), pqgo.DataPageVersion(1+turn%2)); err != nil {
			t.Fatal(err)
		}
		var rel release
		kept := rows
		switch turn / 3 % 3 {
		case 0:
			rel.layout = layoutOf(nil, nil)
		case 1: // the record with the maximum is rejected
			rel.layout = layoutOf([]string{"f"}, nil)
			kept = append(slices.Clone(rows[:at]), rows[at+1:]...)
			rel.mask = func(b *microdata.Block) {
				if k := int64(at) - b.First; k >= 0 && k < int64(b.N) {
					b.Reject(int(k), "f", "a test")
				}
			}
		case 2:
			rel.layout, rel.cut.Records = decodeAll(false), 17
		}
		out, err := carryAll(t, file.Bytes(), rel)
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFooter(bytes.NewReader(out), int64(len(out)))
		if err != nil {
			t.Fatal(err)
		}
		check := func(name string, lo, hi []byte, nulls int64) {
			t.Helper()
			i := slices.IndexFunc(f.leaves, func(l *leaf) bool { return l.path[0] == name })
			s := f.RowGroups[0].Columns[i].MetaData.V.Statistics.V
			if !bytes.Equal(s.MinValue, lo) || !bytes.Equal(s.MaxValue, hi) || s.NullCount.V != nulls || s.Min != nil ||
				s.Max != nil {
				t.Errorf("turn %d, column %s: %x … %x with %d nulls, want %x … %x with %d", turn, name, s.MinValue, s.MaxValue,
					s.NullCount.V, lo, hi, nulls)
			}
		}
		text := func(of func(r orderedRow) *string) (lo, hi []byte, nulls int64) {
			var all []string
			for _, r := range kept {
				if s := of(r); s != nil {
					all = append(all, *s)
				} else {
					nulls++
				}
			}
			return []byte(slices.Min(all)), []byte(slices.Max(all)), nulls
		}
		for name, of := range map[string]func(r orderedRow) *string{
			"s": func(r orderedRow) *string { return &r.S }, "d": func(r orderedRow) *string {
				return &r.D
			}, "o": func(r orderedRow) *string { return r.O },
		} {
			lo, hi, nulls := text(of)
			check(name, lo, hi, nulls)
		}
		n32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
		n64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
		checkNumbers(check, "i", kept, func(r orderedRow) int64 { return r.I }, func(v int64) []byte {
			return n64(uint64(v))
		})
		checkNumbers(check, "i8", kept, func(r orderedRow) int8 { return r.I8 }, func(v int8) []byte {
			return n32(uint32(int32(v)))
		})
		checkNumbers(check, "u", kept, func(r orderedRow) uint64 { return r.U }, n64)
		checkNumbers(check, "u32", kept, func(r orderedRow) uint32 { return r.U32 }, n32)
		checkNumbers(check, "f", kept, func(r orderedRow) float64 { return r.F }, func(v float64) []byte {
			return n64(math.Float64bits(v))
		})
		checkNumbers(check, "g", kept, func(r orderedRow) float32 { return r.G }, func(v float32) []byte {
			return n32(math.Float32bits(v))
		})
	}
}

func checkNumbers[T cmp.Ordered](check func(name string, lo, hi []byte, nulls int64), name string, rows []orderedRow,
	of func(orderedRow) T, stored func(T) []byte) {
	lo, hi := of(rows[0]), of(rows[0])
	for _, r := range rows {
		lo, hi = min(lo, of(r)), max(hi, of(r))
	}
	check(name, stored(lo), stored(hi), 0)
}

// A copied INT32 column of a shorter integer type has no high bits that readers drop.
func TestOutOfType(t *testing.T) {
	type row struct {
		V int32 `parquet:"v"`
	}
	for _, c := range []struct {
		annotation any
		value      int32
		ok         bool
	}{
		{struct {
			V int8 `parquet:"v"`
		}{}, 127, true}, {struct {
			V int8 `parquet:"v"`
		}{}, 128, false}, {struct {
			V int8 `parquet:"v"`
		}{}, -129, false},
		{struct {
			V int16 `parquet:"v"`
		}{}, -32768, true}, {struct {
			V int16 `parquet:"v"`
		}{}, 1 << 20, false},
		{struct {
			V uint8 `parquet:"v"`
		}{}, 255, true}, {struct {
			V uint8 `parquet:"v"`
		}{}, 256, false}, {struct {
			V uint8 `parquet:"v"`
		}{}, -1, false},
		{struct {
			V uint16 `parquet:"v"`
		}{}, 65536, false},
	} {
		var plain, typed bytes.Buffer
		if err := pqgo.Write(&plain, []row{{1}, {c.value}, {2}}); err != nil {
			t.Fatal(err)
		}
		if err := pqgo.NewWriter(&typed, pqgo.SchemaOf(c.annotation)).Close(); err != nil {
			t.Fatal(err)
		}
		as, err := readFooter(bytes.NewReader(typed.Bytes()), int64(typed.Len()))
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFooter(bytes.NewReader(plain.Bytes()), int64(plain.Len()))
		if err != nil {
			t.Fatal(err)
		}
		f.Schema = as.Schema
		file := bytes.NewBuffer(plain.Bytes()[:plain.Len()-8-int(binary.LittleEndian.Uint32(plain.Bytes()[plain.Len()-8:]))])
		if err := writeFooter(file, &f.fileMetaData); err != nil {
			t.Fatal(err)
		}
		if _, err := carryAll(t, file.Bytes(), release{}); (err == nil) != c.ok {
			t.Errorf("%d as %s: %v", c.value, as.leaves[0].typ, err)
		}
	}
}
