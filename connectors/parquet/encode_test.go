package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// readBack decodes an encoded page: its header, and the page as a reader sees it.
func readBack(t testing.TB, p *encodedPage) *page {
	t.Helper()
	got := &page{}
	n, err := unmarshal(p.stored, &got.header)
	if err != nil {
		t.Fatal(err)
	}
	got.body = bytes.Clone(p.stored[n:])
	h := got.header
	if int(h.CompressedSize) != len(got.body) || int(h.UncompressedSize)+n != p.uncompressed || h.CRC.Valid {
		t.Fatalf("a header of %d bytes and %d in all, %d uncompressed: %+v", n, len(p.stored), p.uncompressed, h)
	}
	return got
}

// An encoded page decodes to its values. It has the most suitable encoding, and its header names
// it.
func TestEncodedPages(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	for _, k := range kinds {
		for turn := range 48 {
			l := &leaf{phys: k.phys, width: k.width, path: []string{"x"}, typ: arrow.BinaryTypes.Binary}
			n := []int{0, 1, 2, 9, 64, 200, 700}[r.IntN(7)]
			comp := compressor{codec: []format.CompressionCodec{format.Uncompressed, format.Zstd, format.Snappy}[turn%3],
				level: zstd.SpeedFastest}
			plain, few := turn/3%2 == 1, turn/6%2 == 1
			vs := someValues(r, k.phys, k.width, n)
			if few {
				for i := range vs {
					vs[i] = vs[i%3]
				}
			}
			v := &values{n: n}
			if k.width == 0 {
				v.offsets = []uint32{0}
			}
			for _, b := range vs {
				v.data = append(v.data, b...)
				if k.width == 0 {
					v.offsets = append(v.offsets, uint32(len(v.data)))
				}
			}
			entries := n
			if turn/12%2 == 1 {
				l.maxDef = 1
				for at := 0; at < n || r.IntN(3) > 0; {
					if at < n && r.IntN(2) == 0 {
						v.def = append(v.def, 1)
						at++
					} else {
						v.def = append(v.def, 0)
					}
				}
				entries = len(v.def)
			}
			what := fmt.Sprintf("%s of %d, %d of %d values, few %v, %s, plain %v", k.phys, k.width, n, entries, few, comp.codec,
				plain)
			pe := &pageEncoder{leaf: l, comp: comp, plain: plain}
			p, err := pe.page(v, entries+1)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			var dict chunkDictionary
			want := format.Plain
			compressed := comp.codec != format.Uncompressed
			switch {
			case k.phys == format.Boolean || plain && k.phys != format.ByteArray || n == 0 && k.phys != format.ByteArray:
			case k.phys == format.Double && compressed && !repeatsMostly(vs), k.phys == format.Float && compressed &&
				!repeatsMostly(vs):
				want = format.ByteStreamSplit
			case k.phys == format.Int32 || k.phys == format.Int64:
				want = format.DeltaBinaryPacked
			case k.phys == format.ByteArray && !plain && distinct(vs) <= n/2+8:
				if p.local == nil || p.stored != nil {
					t.Fatalf("%s: no dictionary", what)
				}
				want = format.RLEDictionary
			}
			if err := dict.settle(pe, p); err != nil {
				t.Fatal(err)
			}
			got := readBack(t, p)
			h := got.header.DataPage.V
			if p.encoding != want || h.Encoding != want || p.values != entries || int(h.NumValues) != entries ||
				p.rows != entries+1 || p.local != nil || got.header.Type != format.DataPage || h.DefinitionEncoding != format.RLE ||
				h.RepetitionEncoding != format.RLE {
				t.Fatalf("%s: %s of %d values: %+v", what, p.encoding, p.values, got.header)
			}
			c := &chunk{file: "f", leaf: l, codec: comp.codec}
			if d, err := dict.page(comp); err != nil {
				t.Fatal(err)
			} else if d != nil {
				c.dict = &dictionary{page: readBack(t, d)}
			} else if want == format.RLEDictionary {
				t.Fatalf("%s: the dictionary is not written", what)
			}
			back := values{dense: true}
			if err := back.page(c, got); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if back.n != n || !bytes.Equal(back.def, v.def) && l.maxDef > 0 {
				t.Fatalf("%s: %d values, levels %v", what, back.n, back.def)
			}
			for i, b := range vs {
				if !bytes.Equal(valueAt(l, &back, i), b) {
					t.Fatalf("%s: value %d is %x, want %x", what, i, valueAt(l, &back, i), b)
				}
			}
			if s := p.stats; s.nulls != int64(entries-n) {
				t.Fatalf("%s: %d nulls", what, s.nulls)
			}
			if p.free(); p.stored != nil || p.buffer != nil {
				t.Fatalf("%s: something is left", what)
			}
		}
	}
	pe := &pageEncoder{leaf: &leaf{}}
	if err := pe.finish(&encodedPage{}, make([]byte, math.MaxInt32/2+1)); err != errPageSize {
		t.Errorf("a page of 1 GB: %v", err)
	}
	if err := pe.finish(&encodedPage{}, nil); err != nil {
		t.Errorf("an empty page: %v", err)
	}
	pe.comp.codec = 99
	if err := pe.finish(&encodedPage{}, nil); err == nil {
		t.Error("a page of an unknown codec")
	}
}

func distinct(vs [][]byte) int {
	seen := map[string]bool{}
	for _, b := range vs {
		seen[string(b)] = true
	}
	return len(seen)
}

// repeatsMostly counts the distinct values other than zero; the encoder does not know this number.
func repeatsMostly(vs [][]byte) bool {
	step := max(len(vs)/512, 1)
	var sample [][]byte
	for i := 0; i < len(vs) && len(sample) < 512; i += step {
		sample = append(sample, vs[i])
	}
	seen := map[string]bool{}
	for _, b := range sample {
		if slices.Max(b) > 0 {
			seen[string(b)] = true
		}
	}
	return 2*len(seen) < len(sample)
}

// Whether values repeat is determined exactly, from at most 512 values spread over the page.
func TestRepetitive(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 2))
	// The search for these values begins at the last slot and continues at the first.
	var last []uint64
	for x := uint64(1); len(last) < 40; x++ {
		if x*0x9e3779b97f4a7c15>>54 == 1023 {
			last = append(last, x)
		}
	}
	pool := make([]uint64, 700)
	for i := range pool {
		pool[i] = r.Uint64() | 1
	}
	for _, from := range [][]uint64{pool, last} {
		for _, n := range []int{1, 2, 3, 4, 5, 39, 40, 79, 80, 81, 511, 512, 513, 600, 1023, 1024, 1025, 1536, 5000} {
			for _, kinds := range []int{1, 2, 3, 20, 39, 40, 254, 255, 256, 257, 511, 512, 513} {
				if kinds > min(len(from), n) {
					continue
				}
				for _, late := range []bool{false, true} {
					v := make([]uint64, n)
					for i := range v {
						v[i] = from[i%kinds]
						if late { // the first value is repeated, the others stand at the end
							v[i] = from[max(0, kinds-(n-i))]
						}
					}
					step := max(n/512, 1)
					seen := map[uint64]bool{}
					count := 0
					for i := 0; i < n && count < 512; i += step {
						seen[v[i]] = true
						count++
					}
					if got, want := repetitive(v), 2*len(seen) < count; got != want {
						t.Errorf("%d values of %d kinds, late %v: %v, want %v", n, kinds, late, got, want)
					}
				}
			}
		}
	}
	if !repetitive([]uint32{0, 0, 7, 7, 7}) || repetitive([]uint32{1, 2, 3}) {
		t.Error("numbers of 32 bits")
	}
}

// Texts get a dictionary if it has at most 8 entries more than half as many as there are values,
// and at most 1 MiB of text.
func TestLocalDictionaries(t *testing.T) {
	of := func(texts ...string) *values {
		v := &values{offsets: []uint32{0}}
		for _, s := range texts {
			v.data = append(v.data, s...)
			v.offsets = append(v.offsets, uint32(len(v.data)))
			v.n++
		}
		return v
	}
	for _, n := range []int{1, 8, 16, 17, 20, 21, 101} {
		for _, kinds := range []int{n/2 + 7, n/2 + 8, n/2 + 9} {
			var texts []string
			for i := range n {
				texts = append(texts, fmt.Sprint("value ", i%kinds))
			}
			d := localDictionaryOf(of(texts...))
			if want := min(kinds, n) <= n/2+8; (d != nil) != want {
				t.Errorf("%d kinds of %d: %v", kinds, n, d != nil)
			} else if d != nil {
				for i, s := range texts {
					if string(d.value(d.index[i])) != s {
						t.Errorf("value %d of %d is %s, want %s", i, n, d.value(d.index[i]), s)
					}
				}
				if len(d.offsets)-1 != min(kinds, n) {
					t.Errorf("%d entries of %d kinds", len(d.offsets)-1, kinds)
				}
			}
		}
	}
	for more, want := range map[int]bool{-1: true, 0: true, 1: false} {
		if d := localDictionaryOf(of("a", strings.Repeat("x", (1<<20)-1+more), "a")); (d != nil) != want {
			t.Errorf("a megabyte and %d bytes: %v", more, d != nil)
		}
	}
	// A column with a dictionary keeps it, reduced to the values that occur.
	v := &values{n: 3, index: []uint32{2, 0, 2},
		dict: &dictionary{n: 3, data: []byte("abbccc"), offs: []uint32{0, 1, 3, 6}}}
	if d := localDictionaryOf(v); d == nil || string(d.data) != "ccca" || !slices.Equal(d.index, []int32{0, 1, 0}) ||
		!slices.Equal(d.offsets, []uint32{0, 3, 4}) {
		t.Errorf("%+v", d)
	}
}

// The pages of a chunk share one dictionary until it is full. Later pages contain their values
// directly.
func TestChunkDictionaries(t *testing.T) {
	l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
	pe := &pageEncoder{leaf: l, comp: compressor{codec: format.Uncompressed}}
	long := strings.Repeat("x", 400<<10)
	for _, c := range []struct {
		name  string
		pages [][]string
		most  int
		encs  []format.Encoding
		plain int // bytes of the dictionary
		width []byte
	}{
		{"one value", [][]string{{"a", "a"}}, 0, []format.Encoding{format.RLEDictionary}, 5, []byte{1}},
		{"two, three and five", [][]string{{"a", "b"}, {"c", "a"}, {"e", "d", "c", "b", "a"}}, 0,
			[]format.Encoding{format.RLEDictionary, format.RLEDictionary, format.RLEDictionary}, 25, []byte{1, 2, 3}},
		{"full at the third", [][]string{{"a" + long, "b"}, {"b", "c" + long}, {"b", "d" + long, "e"}, {"b"}}, 0,
			[]format.Encoding{format.RLEDictionary, format.RLEDictionary, format.Plain, format.Plain}, 2*(400<<10) + 15,
			[]byte{1, 2}},
		{"as many as it may have", [][]string{{"a" + long, "b"}, {"b", "c" + long}, {"b", "d" + long, "e"}, {"b"}},
			2*(400<<10) + 15 + 400<<10 + 1,
			[]format.Encoding{format.RLEDictionary, format.RLEDictionary, format.Plain, format.Plain}, 3*(400<<10) + 20,
			[]byte{1, 2}},
		{"a little more", [][]string{{"a" + long, "b"}, {"b", "c" + long}, {"b", "d" + long, "e"}, {"b"}}, 3*(400<<10) + 21,
			[]format.Encoding{format.RLEDictionary, format.RLEDictionary, format.RLEDictionary, format.RLEDictionary},
			3*(400<<10) + 25, []byte{1, 2, 3, 3}},
		{"full at once", [][]string{{"b"}}, 0, []format.Encoding{format.RLEDictionary}, 5, []byte{1}},
	} {
		d := chunkDictionary{most: c.most}
		var stored []*encodedPage
		for i, texts := range c.pages {
			v := &values{offsets: []uint32{0}}
			for _, s := range texts {
				v.data, v.n = append(v.data, s...), v.n+1
				v.offsets = append(v.offsets, uint32(len(v.data)))
			}
			p, err := pe.page(v, len(texts))
			if err != nil {
				t.Fatal(err)
			}
			if p.local == nil {
				t.Fatalf("%s: page %d has no dictionary of its own", c.name, i)
			}
			if err := d.settle(pe, p); err != nil {
				t.Fatal(err)
			}
			if p.encoding != c.encs[i] {
				t.Errorf("%s: page %d is %s", c.name, i, p.encoding)
			}
			stored = append(stored, p)
		}
		dict, err := d.page(pe.comp)
		if err != nil || dict == nil || len(d.plain) != c.plain {
			t.Fatalf("%s: a dictionary of %d bytes, %v", c.name, len(d.plain), err)
		}
		dp := readBack(t, dict)
		if h := dp.header; h.Type != format.DictionaryPage || int(h.DictionaryPage.V.NumValues) != len(d.index) ||
			h.DictionaryPage.V.Encoding != format.Plain || int(h.UncompressedSize) != c.plain || dict.encoding != format.Plain ||
			dict.values != 0 {
			t.Errorf("%s: %+v", c.name, h)
		}
		ch := &chunk{file: "f", leaf: l, dict: &dictionary{page: dp}}
		for i, p := range stored {
			got := readBack(t, p)
			if p.encoding == format.RLEDictionary && got.body[0] != c.width[i] {
				t.Errorf("%s: indexes of page %d have %d bits, want %d", c.name, i, got.body[0], c.width[i])
			}
			var v values
			if err := v.page(ch, got); err != nil {
				t.Fatal(err)
			}
			for k, s := range c.pages[i] {
				if string(v.bytes(k)) != s {
					t.Errorf("%s: page %d, value %d differs", c.name, i, k)
				}
			}
		}
	}
	var none chunkDictionary
	if p, err := none.page(pe.comp); p != nil || err != nil {
		t.Errorf("a dictionary of no page: %v, %v", p, err)
	}
}

// The minimum and maximum follow the order of each type. They are the same whether they are
// computed by page or at once, and they are stored only if every value has a place in the order.
func TestBoundsOfEveryType(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 3))
	texts := func(typ arrow.DataType) *leaf { return &leaf{phys: format.ByteArray, typ: typ} }
	for _, c := range []struct {
		l    *leaf
		less func(a, b []byte) bool // nil: the type has no order
	}{
		{&leaf{phys: format.Int32, width: 4, typ: arrow.PrimitiveTypes.Int32}, func(a, b []byte) bool {
			return int32(binary.LittleEndian.Uint32(a)) < int32(binary.LittleEndian.Uint32(b))
		}},
		{&leaf{phys: format.Int32, width: 4, typ: arrow.PrimitiveTypes.Uint32}, func(a, b []byte) bool {
			return binary.LittleEndian.Uint32(a) < binary.LittleEndian.Uint32(b)
		}},
		{&leaf{phys: format.Int64, width: 8, typ: arrow.PrimitiveTypes.Int64}, func(a, b []byte) bool {
			return int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
		}},
		{&leaf{phys: format.Int64, width: 8, typ: arrow.PrimitiveTypes.Uint64}, func(a, b []byte) bool {
			return binary.LittleEndian.Uint64(a) < binary.LittleEndian.Uint64(b)
		}},
		{&leaf{phys: format.Int64, width: 8, typ: &arrow.Decimal128Type{Precision: 18}}, func(a, b []byte) bool {
			return int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
		}},
		{&leaf{phys: format.Float, width: 4, typ: arrow.PrimitiveTypes.Float32}, func(a, b []byte) bool {
			return math.Float32frombits(binary.LittleEndian.Uint32(a)) < math.Float32frombits(binary.LittleEndian.Uint32(b))
		}},
		{&leaf{phys: format.Double, width: 8, typ: arrow.PrimitiveTypes.Float64}, func(a, b []byte) bool {
			return math.Float64frombits(binary.LittleEndian.Uint64(a)) < math.Float64frombits(binary.LittleEndian.Uint64(b))
		}},
		{texts(arrow.BinaryTypes.String), func(a, b []byte) bool { return string(a) < string(b) }},
		{texts(arrow.BinaryTypes.Binary), func(a, b []byte) bool { return string(a) < string(b) }},
		{texts(&arrow.Decimal128Type{Precision: 30}), nil},
		{&leaf{phys: format.Boolean, width: 1, typ: arrow.FixedWidthTypes.Boolean}, nil},
		{&leaf{phys: format.Int96, width: 12, typ: arrow.FixedWidthTypes.Timestamp_ns}, nil},
		{&leaf{phys: format.FixedLenByteArray, width: 3, typ: &arrow.FixedSizeBinaryType{ByteWidth: 3}}, nil},
	} {
		for range 80 {
			var all pageStats
			var lo, hi []byte
			nulls := int64(0)
			for range 1 + r.IntN(4) {
				n := 1 + r.IntN(5)
				vs := someValues(r, c.l.phys, c.l.width, n)
				v := &values{n: n}
				if c.l.width == 0 {
					v.offsets = []uint32{0}
				}
				for _, b := range vs {
					if c.l.phys == format.Float || c.l.phys == format.Double {
						b[len(b)-1] &= 0xbf // not NaN
						b[0] |= 1           // and not zero
					}
					v.data = append(v.data, b...)
					if c.l.width == 0 {
						v.offsets = append(v.offsets, uint32(len(v.data)))
					}
					if c.less != nil && (lo == nil || c.less(b, lo)) {
						lo = b
					}
					if c.less != nil && (hi == nil || c.less(hi, b)) {
						hi = b
					}
				}
				s := statsOf(c.l, v)
				s.nulls = int64(r.IntN(5))
				nulls += s.nulls
				all.merge(c.l, s)
				all.merge(c.l, pageStats{}) // a page with nulls only
			}
			st := all.stored()
			if !bytes.Equal(st.MinValue, lo) || !bytes.Equal(st.MaxValue, hi) || (st.MinValue == nil) != (c.less == nil) ||
				st.NullCount != some(nulls) || st.Min != nil || st.Max != nil || st.DistinctCount.Valid {
				t.Fatalf("%s: %x … %x with %d nulls, want %x … %x with %d", c.l.typ, st.MinValue, st.MaxValue, st.NullCount.V, lo,
					hi, nulls)
			}
			if exact := some(true); c.less != nil && (st.MinExact != exact || st.MaxExact != exact) || c.less == nil &&
				(st.MinExact.Valid || st.MaxExact.Valid) {
				t.Fatalf("%s: %+v", c.l.typ, st)
			}
		}
		if s := statsOf(c.l, &values{}); !reflect.DeepEqual(s, pageStats{}) {
			t.Errorf("%s: a page without values has the bounds %+v", c.l.typ, s)
		}
	}
	// Texts longer than 64 bytes have no minimum and maximum.
	l := texts(arrow.BinaryTypes.String)
	for _, c := range []struct {
		a, b string
		want bool
	}{{strings.Repeat("b", 64), strings.Repeat("a", 64), true}, {strings.Repeat("b", 65), "a", false},
		{"b", strings.Repeat("a", 65), false}} {
		s := statsOf(l,
			&values{n: 2, data: []byte(c.a + c.b), offsets: []uint32{0, uint32(len(c.a)), uint32(len(c.a + c.b))}})
		if (s.min != nil) != c.want || s.without == c.want {
			t.Errorf("%d and %d bytes: %+v", len(c.a), len(c.b), s)
		}
		s.merge(l, pageStats{min: []byte("a"), max: []byte("b")})
		if st := s.stored(); (st.MinValue != nil) != c.want {
			t.Errorf("%d and %d bytes, and others: %+v", len(c.a), len(c.b), st)
		}
	}
	// Short integer types stored in INT32: values at the bounds and one beyond.
	for _, c := range []struct {
		typ          arrow.DataType
		lo, hi       int64
		above, below bool
	}{{arrow.PrimitiveTypes.Int8, -128, 127, true, true}, {arrow.PrimitiveTypes.Int16, -32768, 32767, true, true},
		{arrow.PrimitiveTypes.Uint8, 0, 255, true, true}, {arrow.PrimitiveTypes.Uint16, 0, 65535, true, true},
		{arrow.PrimitiveTypes.Int32, math.MinInt32, math.MaxInt32, false, false}} {
		l := &leaf{phys: format.Int32, width: 4, typ: c.typ}
		within := func(lo, hi int64) bool {
			s := statsOf(l, &values{n: 2, data: raw([]int32{int32(lo), int32(hi)})})
			return s.within(l) == nil
		}
		if !within(c.lo, c.hi) || !within(c.hi, c.hi) || !within(c.lo, c.lo) {
			t.Errorf("%s: its own bounds are outside", c.typ)
		}
		if c.above && within(c.lo, c.hi+1) || c.below && within(c.lo-1, c.hi) || c.below && within(c.lo-1, c.lo-1) ||
			c.above && within(c.hi+1, c.hi+1) {
			t.Errorf("%s: a value outside its bounds counts as inside", c.typ)
		}
	}
	if s := (&pageStats{min: []byte{255, 255, 255, 127, 0, 0, 0, 0}, max: []byte{255, 255, 255, 127, 0, 0, 0, 0}}); s.
		within(&leaf{phys: format.Int64, width: 8, typ: arrow.PrimitiveTypes.Int64}) != nil {
		t.Error("a number of 64 bits is outside")
	}
	if s := (&pageStats{}); s.within(&leaf{phys: format.Int32, width: 4, typ: arrow.PrimitiveTypes.Int8}) != nil {
		t.Error("nothing is outside")
	}
}

// The statistics of a chunk's pages are counted.
func TestCountedPages(t *testing.T) {
	var m columnMetaData
	m.levels(&leaf{})
	if len(m.Encoding) != 0 {
		t.Errorf("%v", m.Encoding)
	}
	m.levels(&leaf{maxDef: 1})
	m.add(format.DictionaryPage, format.Plain, 30, 20, 0)
	m.add(format.DataPage, format.RLEDictionary, 50, 40, 7)
	m.add(format.DataPage, format.RLEDictionary, 5, 4, 3)
	m.add(format.DataPage, format.Plain, 500, 400, 11)
	m.DictionaryPageOffset = some[int64](0)
	m.DataPageOffset = 20
	m.shift(100)
	want := columnMetaData{Encoding: []format.Encoding{format.RLE, format.Plain, format.RLEDictionary},
		TotalUncompressedSize: 585, TotalCompressedSize: 464, NumValues: 21, DataPageOffset: 120,
		DictionaryPageOffset: some[int64](100),
		EncodingStats: []format.PageEncodingStats{{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1},
			{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: 2},
			{PageType: format.DataPage, Encoding: format.Plain, Count: 1}}}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, want %+v", m, want)
	}
	m = columnMetaData{DataPageOffset: 5}
	m.levels(&leaf{maxRep: 1})
	if m.shift(2); m.DataPageOffset != 7 || m.DictionaryPageOffset.Valid || len(m.Encoding) != 1 {
		t.Errorf("%+v", m)
	}
}
