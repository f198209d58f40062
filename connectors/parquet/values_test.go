package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Pages of every type, encoding and version, with and without nulls, compressed and uncompressed,
// return the stored value at each record's place, and no old content of a buffer.
func TestPagesOfEveryKind(t *testing.T) {
	racetest.Further(t)
	r := rand.New(rand.NewPCG(32, 1))
	for _, k := range kinds {
		for _, enc := range k.encs {
			for turn := range 60 {
				n := []int{1, 2, 7, 8, 9, 31, 64, 65, 130}[r.IntN(9)]
				optional := turn%3 > 0
				version, codec := 1+turn%2, []format.CompressionCodec{format.Uncompressed, format.Snappy}[turn/2%2]
				levels := make([]uint32, n)
				for i := range levels {
					levels[i] = 1
					if optional && turn%6 != 1 && r.IntN(3) == 0 {
						levels[i] = 0
					}
					if turn == 59 {
						levels[i] = 0 // only nulls
					}
				}
				present := 0
				for _, d := range levels {
					present += int(d)
				}
				vs := someValues(r, k.phys, k.width, present)
				data, dict := encodedAs(t, enc, k.phys, k.width, vs)
				var def []byte
				l := &leaf{phys: k.phys, width: k.width, path: []string{"x"}, typ: arrow.BinaryTypes.Binary}
				if optional {
					l.maxDef, def = 1, packedIndex(levels, 1)
					if turn%6 == 1 { // one run, the form of most writers
						def = append(binary.AppendUvarint(nil, uint64(n)<<1), 1)
					}
				}
				c := &chunk{file: "f", leaf: l, codec: codec}
				if dict != nil {
					if codec == format.Snappy {
						dict.body = snappy.Encode(nil, dict.body)
					}
					c.dict = &dictionary{page: dict}
				}
				what := fmt.Sprintf("%s of %d in %s, version %d, %s, %d of %d there", k.phys, k.width, enc, version, codec, present,
					n)
				p := pageOf(version, enc, n, n-present, n, nil, def, data, codec)
				dirty()
				var v values
				if err := v.page(c, p.clone()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				overwrite()
				if v.n != n || (v.valid == nil) != (present == n) {
					t.Fatalf("%s: %d values, valid %x", what, v.n, v.valid)
				}
				at := 0
				for i, d := range levels {
					want := make([]byte, k.width)
					if v.valid.Has(i) != (d == 1) {
						t.Fatalf("%s: record %d is null or not", what, i)
					}
					if d == 1 {
						want = vs[at]
						at++
					} else if v.index != nil {
						continue
					}
					if got := valueAt(l, &v, i); !bytes.Equal(got, want) {
						t.Fatalf("%s: record %d is %x, want %x", what, i, got, want)
					}
				}
				v.free()
				if !reflect.DeepEqual(v, values{}) {
					t.Fatalf("%s: something is left", what)
				}
				codedPage(t, what, c, p.clone(), levels, vs)
				if optional { // the same for rewriting: only the present values, next to their levels
					v := values{dense: true}
					if err := v.page(c, p.clone()); err != nil {
						t.Fatalf("%s, dense: %v", what, err)
					}
					for i, d := range v.def {
						if uint32(d) != levels[i] {
							t.Fatalf("%s, dense: level %d", what, i)
						}
					}
					if v.n != present || len(v.def) != n || v.valid != nil || v.rep != nil {
						t.Fatalf("%s, dense: %d values, %d levels", what, v.n, len(v.def))
					}
					for i, want := range vs {
						if got := valueAt(l, &v, i); !bytes.Equal(got, want) {
							t.Fatalf("%s, dense: value %d is %x, want %x", what, i, got, want)
						}
					}
				}
				shorter(t, what, c, enc, present, data, vs)
				p.header.CRC = some(p.header.CRC.V + 1)
				if err := new(values).page(c, p.clone()); err == nil || !strings.Contains(err.Error(), "checksum") {
					t.Fatalf("%s, a wrong checksum: %v", what, err)
				}
			}
		}
	}
}

// codedPage checks pages with fixed-width values that are looked up later, from any record on: they
// keep only the indexes.
func codedPage(t *testing.T, what string, c *chunk, p *page, levels []uint32, vs [][]byte) {
	t.Helper()
	l := c.leaf
	v := values{coded: true}
	defer v.free()
	if err := v.page(c, p); err != nil {
		t.Fatalf("%s, coded: %v", what, err)
	}
	overwrite()
	if v.packed == nil {
		return
	}
	if v.data != nil || v.index != nil || len(v.buffers) != 1 {
		t.Fatalf("%s, coded: %d bytes of values, %d indexes, %d buffers", what, len(v.data), len(v.index), len(v.buffers))
	}
	for from := range levels {
		for _, n := range []int{1, len(levels) - from, (len(levels) - from + 1) / 2} {
			for _, numbers := range []bool{false, true} {
				holdPart(t, fmt.Sprintf("%s, coded, %d from %d, numbers %v", what, n, from, numbers), &v, l, from, n, numbers,
					levels, vs)
			}
		}
	}
}

// holdPart checks that n records of a page, starting at from, have their values. vs contains the
// present values only.
func holdPart(t *testing.T, what string, v *values, l *leaf, from, n int, numbers bool, levels []uint32, vs [][]byte) {
	t.Helper()
	var got values
	defer got.free()
	if err := v.part(&got, l, from, n, numbers); err != nil || got.n != n {
		t.Fatalf("%s: %d values, %v", what, got.n, err)
	}
	at := 0
	for i, d := range levels[:from+n] {
		if i >= from && got.valid.Has(i-from) != (d == 1) {
			t.Fatalf("%s: record %d is null or not", what, i)
		}
		if d == 0 {
			continue
		}
		if i >= from && !bytes.Equal(valueAt(l, &got, i-from), vs[at]) {
			t.Fatalf("%s: record %d is %x, want %x", what, i, valueAt(l, &got, i-from), vs[at])
		}
		at++
	}
}

func valueAt(l *leaf, v *values, i int) []byte {
	if l.width > 0 && v.index != nil {
		i = int(v.index[i])
		return v.dict.data[i*l.width : (i+1)*l.width]
	}
	if l.width > 0 {
		return v.data[i*l.width : (i+1)*l.width]
	}
	return v.bytes(i)
}

// shorter checks every prefix of a page's values: it is an error, or gives the same values if only
// padding is missing.
func shorter(t *testing.T, what string, c *chunk, enc format.Encoding, n int, data []byte, vs [][]byte) {
	t.Helper()
	for k := range data {
		v := values{n: n}
		err := v.decodeData(c, enc, bytes.Clone(data[:k:k]))
		if err != nil {
			continue
		}
		if n > 0 && k < len(data)/2 {
			t.Fatalf("%s: the first %d of %d bytes are taken for the whole", what, k, len(data))
		}
		for i, want := range vs {
			if got := valueAt(c.leaf, &v, i); !bytes.Equal(got, want) {
				t.Fatalf("%s: of the first %d bytes value %d is %x, want %x", what, k, i, got, want)
			}
		}
	}
}

// Invalid contents of a page are refused, with the reason.
func TestPagesThatAreRefused(t *testing.T) {
	numbers := &leaf{phys: format.Int32, width: 4, path: []string{"x"}, typ: arrow.PrimitiveTypes.Int32}
	optional := &leaf{phys: format.Int32, width: 4, path: []string{"x"}, maxDef: 1, typ: arrow.PrimitiveTypes.Int32}
	nested := &leaf{phys: format.Int32, width: 4, path: []string{"l", "list", "x"}, maxDef: 2, maxRep: 1,
		typ: arrow.PrimitiveTypes.Int32}
	texts := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.Binary}
	two := []byte{1, 0, 0, 0, 2, 0, 0, 0}
	_, dict := encodedAs(t, format.RLEDictionary, format.Int32, 4, [][]byte{two[:4], two[4:]})
	v1 := func(enc format.Encoding, n int, rep, def, data []byte) *page {
		return pageOf(1, enc, n, 0, n, rep, def, data, format.Uncompressed)
	}
	edited := func(p *page, edit func(h *pageHeader)) *page {
		edit(&p.header)
		return p
	}
	v2 := func(rep, def []byte, edit func(h *pageHeader)) *page {
		return edited(pageOf(2, format.Plain, 2, 0, 2, rep, def, two, format.Uncompressed), edit)
	}
	runs := func(v ...byte) (b []byte) { // each level once
		for _, x := range v {
			b = append(b, 2, x)
		}
		return b
	}
	for _, c := range []struct {
		name string
		l    *leaf
		p    *page
		dict *page
		want string // "": no error
	}{
		{"two numbers", numbers, v1(format.Plain, 2, nil, nil, two), nil, ""},
		{"a header of another length", numbers, edited(v1(format.Plain, 2, nil, nil, two), func(h *pageHeader) {
			h.UncompressedSize++
		}), nil, errSize.Error()},
		{"more values than can be", numbers, v1(format.Plain, (1<<30)/8+1, nil, nil, two), nil, "a page of 134217729 values"},
		{"as many as can be", numbers, v1(format.Plain, (1<<30)/8, nil, nil, two), nil, errShort.Error()},
		{"an unknown encoding", numbers, v1(77, 2, nil, nil, two), nil, "is not supported"},
		{"differences of texts", texts, v1(format.DeltaBinaryPacked, 2, nil, nil, two), nil, "is not supported"},
		{"lengths of numbers", numbers, v1(format.DeltaLengthByteArray, 2, nil, nil, two), nil, "is not supported"},
		{"prefixes of numbers", numbers, v1(format.DeltaByteArray, 2, nil, nil, two), nil, "is not supported"},
		{"streams of texts", texts, v1(format.ByteStreamSplit, 2, nil, nil, two), nil, "is not supported"},
		{"runs of numbers", numbers, v1(format.RLE, 2, nil, nil, two), nil, "is not supported"},
		{"no dictionary", numbers, v1(format.RLEDictionary, 2, nil, nil, []byte{1, 4, 0}), nil, "dictionary is missing"},
		{"indexes", numbers, v1(format.RLEDictionary, 2, nil, nil, []byte{1, 4, 1}), dict, ""},
		{"an index beyond", numbers, v1(format.RLEDictionary, 2, nil, nil, []byte{2, 4, 2}), dict, "beyond the dictionary"},
		{"an index far beyond", numbers, v1(format.RLEDictionary, 2, nil, nil, []byte{32, 4, 255, 255, 255, 255}), dict,
			"beyond the dictionary"},
		{"too wide an index", numbers, v1(format.RLEDictionary, 2, nil, nil, []byte{33, 4, 0, 0, 0, 0, 0}), dict,
			"a bit width of 33"},
		{"no indexes", numbers, v1(format.RLEDictionary, 0, nil, nil, nil), dict, ""},
		{"a dictionary in another encoding", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.DictionaryPage.V.Encoding = format.RLE }), "a dictionary in encoding"},
		{"a dictionary of old", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.DictionaryPage.V.Encoding = plainDictionary }), ""},
		{"a dictionary of fewer than none", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.DictionaryPage.V.NumValues = -1 }), errShort.Error()},
		{"a dictionary of more than bytes", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.DictionaryPage.V.NumValues = 9 }), errShort.Error()},
		{"a dictionary of more than it has", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.DictionaryPage.V.NumValues = 3 }), errShort.Error()},
		{"a dictionary of another length", numbers, v1(format.RLEDictionary, 1, nil, nil, []byte{1, 2, 0}),
			edited(dict.clone(), func(h *pageHeader) { h.UncompressedSize-- }), errSize.Error()},
		{"levels in another encoding", optional, edited(v1(format.Plain, 2, nil, runs(1, 1), two), func(h *pageHeader) {
			h.DataPage.V.DefinitionEncoding = 4
		}), nil, "levels in encoding BIT_PACKED"},
		{"unused levels in another encoding", numbers, edited(v1(format.Plain, 2, nil, nil, two), func(h *pageHeader) {
			h.DataPage.V.DefinitionEncoding, h.DataPage.V.RepetitionEncoding = 4, 4
		}), nil, ""},
		{"repetitions in another encoding", nested,
			edited(v1(format.Plain, 2, runs(0, 0), runs(2, 2), two), func(h *pageHeader) {
				h.DataPage.V.RepetitionEncoding = 4
			}), nil, "levels in encoding BIT_PACKED"},
		{"repetitions that end too early", nested, v1(format.Plain, 2, nil, nil, []byte{1, 0, 0}), nil, errShort.Error()},
		{"levels that end too early", nested, v1(format.Plain, 2, runs(0, 0), nil, []byte{9, 0, 0, 0, 1}), nil,
			errShort.Error()},
		{"too few repetitions", nested, v1(format.Plain, 2, runs(0), runs(2, 2), two), nil, errShort.Error()},
		{"too few levels", nested, v1(format.Plain, 2, runs(0, 0), runs(2), two), nil, errShort.Error()},
		{"too few levels of a flat column", optional, v1(format.Plain, 2, nil, runs(1), two), nil, errShort.Error()},
		{"too high a repetition", &leaf{phys: format.Int32, width: 4, path: []string{"a", "b", "c"}, maxDef: 2, maxRep: 2},
			v1(format.Plain, 2, runs(0, 3), runs(2, 2), two), nil, errLevel.Error()},
		{"too high a level", &leaf{phys: format.Int32, width: 4, path: []string{"a", "b", "c"}, maxDef: 2, maxRep: 1},
			v1(format.Plain, 2, runs(0, 0), runs(3, 2), two), nil, errLevel.Error()},
		{"levels of version 2", nested, v2(runs(0, 0), runs(2, 2), func(*pageHeader) {}), nil, ""},
		{"a length below 0", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.RepetitionsLength = -1
		}), nil, errShort.Error()},
		{"another length below 0", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.DefinitionsLength = -1
		}), nil, errShort.Error()},
		{"repetitions longer than the page", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.RepetitionsLength = 17
		}), nil, errShort.Error()},
		{"levels longer than the page", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.DefinitionsLength = 13
		}), nil, errShort.Error()},
		{"levels longer than the page, which is said to be long", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.DefinitionsLength, h.UncompressedSize = 13, 100
		}), nil, errShort.Error()},
		{"levels longer than the page unpacked", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.UncompressedSize = 7
		}), nil, errShort.Error()},
		{"levels as long as the page", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) { h.UncompressedSize = 8 }),
			nil, errSize.Error()},
		{"unpacked though a codec is set", nested, v2(runs(0, 0), runs(2, 2), func(h *pageHeader) {
			h.DataPageV2.V.IsCompressed = some(false)
		}), nil, ""},
		{"a text of 4 GB", texts, v1(format.Plain, 1, nil, nil, []byte{255, 255, 255, 255, 'a'}), nil, errShort.Error()},
		{"a text longer than the page", texts, v1(format.Plain, 1, nil, nil, []byte{2, 0, 0, 0, 'a'}), nil, errShort.Error()},
		{"a text's length that ends too early", texts, v1(format.Plain, 1, nil, nil, []byte{0, 0, 0}), nil, errShort.Error()},
	} {
		for _, codec := range []format.CompressionCodec{format.Uncompressed, format.Snappy} {
			ch := &chunk{file: "f", leaf: c.l, codec: codec}
			p := c.p.clone()
			p.header.CRC.Valid = false
			if codec == format.Snappy {
				if c.name != "unpacked though a codec is set" {
					continue
				}
			}
			if c.dict != nil {
				ch.dict = &dictionary{page: c.dict.clone()}
			}
			err := new(values).page(ch, p)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		}
	}
}

// Prefixes longer than the previous value, and values of the wrong length, are refused.
func TestPrefixes(t *testing.T) {
	l := &leaf{phys: format.FixedLenByteArray, width: 2, path: []string{"x"}}
	for _, c := range []struct {
		prefixes, suffixes []int64
		text               string
		ok, fixed          bool
	}{
		{[]int64{0, 1}, []int64{2, 1}, "abc", true, true}, {[]int64{0, 2}, []int64{2, 0}, "ab", true, true},
		{[]int64{0, 3}, []int64{2, 0}, "ab", false, false},
		{[]int64{1, 0}, []int64{1, 2}, "abc", false, false}, {[]int64{0, -1}, []int64{2, 3}, "abcde", false, false},
		{[]int64{0, 0}, []int64{1, 3}, "abcd", true, false},
		{[]int64{0, 1}, []int64{2, 2}, "abcd", true, false}, {[]int64{0, 0}, []int64{2, 3}, "abcd", false, false},
	} {
		src := slices.Concat(deltaOf(c.prefixes...), deltaOf(c.suffixes...), []byte(c.text))
		if _, _, err := decodeDeltaByteArrays(2, src); (err == nil) != c.ok {
			t.Errorf("%v %v: %v", c.prefixes, c.suffixes, err)
		}
		v := values{n: 2}
		if err := v.decodeData(&chunk{leaf: l}, format.DeltaByteArray, src); (err == nil) != c.fixed {
			t.Errorf("%v %v of two bytes: %v", c.prefixes, c.suffixes, err)
		}
	}
	for _, n := range []int{1, 3} {
		if _, _, err := decodeDeltaByteArrays(n, slices.Concat(deltaOf(0, 0), deltaOf(1, 1), []byte("ab"))); err == nil {
			t.Errorf("2 values are taken for %d", n)
		}
	}
}

// 32-bit numbers wrap around when the sum of their differences does.
func TestDifferencesWrapAround(t *testing.T) {
	l := &leaf{phys: format.Int32, width: 4, path: []string{"x"}}
	v := values{n: 3}
	b := append([]byte{0x80, 1, 4, 3}, binary.AppendVarint(nil, 1<<31-1)...)
	b = append(binary.AppendVarint(b, 1), 1, 0, 0, 0, 0b10, 0, 0, 0) // one number more, two more
	if err := v.decodeData(&chunk{leaf: l}, format.DeltaBinaryPacked, b); err != nil ||
		!slices.Equal(words[int32](v.data), []int32{1<<31 - 1, -1 << 31, -1<<31 + 2}) {
		t.Errorf("%v, %v", words[int32](v.data), err)
	}
	for _, n := range []int{2, 4} {
		v := values{n: n}
		if err := v.decodeData(&chunk{leaf: l}, format.DeltaBinaryPacked, b); err == nil {
			t.Errorf("3 numbers are taken for %d", n)
		}
	}
}

// The pages of a repeated column become one run of records with the positions of their levels and
// values, whether pages have a dictionary or not.
func TestPagesBecomeRecords(t *testing.T) {
	// Three pages with lists of texts: levels and values.
	type part struct {
		rep, def []byte
		values   []string
		enc      format.Encoding
	}
	words := func(s string) (out [][]byte) {
		for _, w := range strings.Fields(s) {
			out = append(out, []byte(w))
		}
		return out
	}
	dictionaryOf := []string{"one", "two", "three"}
	_, dict := encodedAs(t, format.RLEDictionary, format.ByteArray, 0, words("one two three"))
	for _, encs := range [][]format.Encoding{
		{format.Plain, format.Plain, format.Plain}, {format.RLEDictionary, format.RLEDictionary, format.RLEDictionary},
		{format.RLEDictionary, format.Plain, format.RLEDictionary},
		{format.Plain, format.RLEDictionary, format.RLEDictionary},
		{format.RLEDictionary, format.RLEDictionary, format.Plain},
	} {
		l := &leaf{phys: format.ByteArray, path: []string{"l", "list", "x"}, maxRep: 1, maxDef: 3,
			typ: arrow.BinaryTypes.String}
		parts := []part{
			{[]byte{0, 1, 0, 0}, []byte{3, 3, 0, 1}, []string{"one", "two"}, encs[0]},
			{[]byte{1, 0}, []byte{2, 2}, nil, format.Plain}, // the record continues without a value
			{[]byte{1, 1, 0}, []byte{3, 3, 3}, []string{"two", "three", "one"}, encs[1]},
			{[]byte{0, 0}, []byte{1, 3}, []string{"three"}, encs[2]},
		}
		var pages []*page
		var rep, def []uint8
		var want []string
		for _, p := range parts {
			var levels [2][]uint32
			for i := range p.rep {
				levels[0], levels[1] = append(levels[0], uint32(p.rep[i])), append(levels[1], uint32(p.def[i]))
			}
			rep, def, want = append(rep, p.rep...), append(def, p.def...), append(want, p.values...)
			var data []byte
			if p.enc == format.Plain {
				data, _ = encodedAs(t, p.enc, l.phys, 0, words(strings.Join(p.values, " ")))
			} else {
				var index []uint32
				for _, s := range p.values {
					index = append(index, uint32(slices.Index(dictionaryOf, s)))
				}
				data = append([]byte{2}, packedIndex(index, 2)...)
			}
			pages = append(pages, pageOf(1, p.enc, len(p.rep), 0, 0, packedIndex(levels[0], 1), packedIndex(levels[1], 2), data,
				format.Uncompressed))
		}
		decoded := func(rows int) (values, error) {
			var clones []*page
			for _, p := range pages {
				clones = append(clones, p.clone())
			}
			dirty()
			var v values
			return v, v.decode(&chunk{file: "f", leaf: l, dict: &dictionary{page: dict.clone()}}, clones, rows)
		}
		v, err := decoded(7)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v.rep, rep) || !slices.Equal(v.def, def) || v.n != len(want) {
			t.Fatalf("%v: levels %v %v, %d values", encs, v.rep, v.def, v.n)
		}
		for i, s := range want {
			if string(v.bytes(i)) != s {
				t.Errorf("%v: value %d is %s, want %s", encs, i, v.bytes(i), s)
			}
		}
		// Records: [one two], null, [] and its continuation, [null two three]…
		if !slices.Equal(v.rowLevels, []int32{0, 2, 3, 5, 8, 9, 10, 11}) ||
			!slices.Equal(v.rowValues, []int32{0, 2, 2, 2, 4, 5, 5, 6}) {
			t.Errorf("%v: levels of records %v, values %v", encs, v.rowLevels, v.rowValues)
		}
		if all := (encs[0] != format.Plain && encs[1] != format.Plain && encs[2] != format.Plain); all != (v.index != nil) {
			t.Errorf("%v: indexes %v", encs, v.index)
		}
		for _, rows := range []int{6, 8} {
			if _, err := decoded(rows); err == nil ||
				!strings.Contains(err.Error(), fmt.Sprintf("holds 7 records where the row group has %d", rows)) {
				t.Errorf("%v: %d rows: %v", encs, rows, err)
			}
		}
	}
	v := values{rep: []uint8{1, 0}, def: []uint8{1, 1}}
	if err := v.finishLevels(&leaf{maxRep: 1, maxDef: 1}, 1); err != errMiddle {
		t.Errorf("a column that begins in the middle of a record: %v", err)
	}
}

// The expansion of dictionary values stops exactly at the limit on bytes decoded at once.
func TestValuesExpand(t *testing.T) {
	five := &values{n: 2, index: []uint32{0, 0}, dict: &dictionary{n: 1, data: []byte("12345"), offs: []uint32{0, 5}}}
	for more, want := range map[int]error{0: nil, 1: errExpanded} {
		v := values{expanded: (1 << 30) - 10 + more}
		if err := v.add(five, 2); err != want {
			t.Errorf("ten bytes, of which %d too many: %v", more, err)
		}
		v = values{n: 1, data: []byte("x"), offsets: []uint32{0, 1}, expanded: (1 << 30) - 10 + more}
		if err := v.append(&leaf{}, five); err != want || want == nil &&
			(string(v.data) != "x1234512345" || v.n != 3 || !slices.Equal(v.offsets, []uint32{0, 1, 6, 11})) {
			t.Errorf("ten bytes after others, %d too many: %v, %s", more, err, v.data)
		}
		v = values{n: 2, index: five.index, dict: five.dict, expanded: (1 << 30) - 10 + more}
		if err := v.append(&leaf{}, &values{n: 1, data: []byte("x"), offsets: []uint32{0, 1}}); err != want || want == nil &&
			(string(v.data) != "1234512345x" || v.n != 3 || v.index != nil) {
			t.Errorf("ten bytes that become values, of which %d too many: %v, %s", more, err, v.data)
		}
		v = values{n: 1, data: []byte{9}, expanded: (1 << 30) - 1 + more}
		if err := v.append(&leaf{width: 1}, &values{n: 1, data: []byte{7}, expanded: 1}); err != want || want == nil &&
			(!bytes.Equal(v.data, []byte{9, 7}) || v.n != 2) {
			t.Errorf("a byte, of which %d too many: %v, %x", more, err, v.data)
		}
	}
	var v values // values without a dictionary are not counted
	if err := v.append(&leaf{}, &values{n: 1, data: []byte("x"), offsets: []uint32{0, 1}}); err != nil || v.expanded != 0 {
		t.Errorf("%d bytes, %v", v.expanded, err)
	}
	if err := v.append(&leaf{maxDef: 1, maxRep: 1}, &values{rep: []uint8{0}, def: []uint8{0}}); err != nil || v.n != 1 ||
		len(v.rep) != 1 || len(v.def) != 1 {
		t.Errorf("a null at the end: %+v, %v", v, err)
	}
}

// Numbers can be viewed as bytes, and bytes as numbers at any alignment.
func TestWordsAndBytes(t *testing.T) {
	b := make([]byte, 40)
	for i := range b {
		b[i] = byte(i)
	}
	for _, width := range []int{3, 4, 8, 12} {
		for from := range 9 {
			v := values{data: b[from : from+24]}
			v.align(&leaf{width: width})
			if !bytes.Equal(v.data, b[from:from+24]) {
				t.Errorf("from %d of width %d: %x", from, width, v.data)
			}
			if moved := len(v.buffers) > 0; moved != ((width == 4 || width == 8) && from%width != 0) {
				t.Errorf("from %d of width %d is moved: %v", from, width, moved)
			}
		}
	}
	v := values{}
	v.align(&leaf{width: 8})
	if len(v.buffers) != 0 {
		t.Error("nothing is moved")
	}
	for n, want := range map[int]int{0: 0, 3: 0, 4: 1, 7: 1, 8: 2} {
		if got := words[uint32](make([]byte, n)); len(got) != want {
			t.Errorf("%d numbers in %d bytes", len(got), n)
		}
	}
	if got := raw([]uint16{1, 2}); !bytes.Equal(got, []byte{1, 0, 2, 0}) || raw([]uint16{}) != nil {
		t.Errorf("%x", got)
	}
}

// A unit is decoded once, its error contains its place, and its buffers are returned with the last
// of its segments.
func TestUnits(t *testing.T) {
	l := &leaf{phys: format.Int32, width: 4, path: []string{"a", "b"}, typ: arrow.PrimitiveTypes.Int32}
	p := pageOf(1, format.Plain, 2, 0, 2, nil, nil, []byte{1, 0, 0, 0, 2, 0, 0}, format.Uncompressed)
	u := newUnit(&chunk{file: "f.parquet", group: 3, leaf: l}, 2, p)
	err := u.wait()
	if c := (*corrupt)(nil); !errors.As(err, &c) || err.Error() != "f.parquet: row group 3, column a.b: ends too early" ||
		!errors.Is(err, errShort) {
		t.Errorf("%v", err)
	}
	if again := u.wait(); again != err || u.pages != nil {
		t.Errorf("a second time: %v", again)
	}
	u = newUnit(&chunk{file: "f", leaf: &leaf{phys: format.Int32, width: 4, path: []string{"a"}}}, 2,
		pageOf(1, format.Plain, 2, 0, 2, nil, nil, make([]byte, 8), format.Uncompressed))
	if err := u.wait(); err != nil || u.v.n != 2 {
		t.Fatalf("%v", err)
	}
	u.refs.Add(1)
	u.release()
	if u.v.n != 2 {
		t.Error("given back before the last segment")
	}
	if u.release(); u.v.n != 0 {
		t.Error("not given back")
	}
	// A panic about the input becomes an error that does not quote the input.
	broken := newUnit(&chunk{file: "f", leaf: l}, 2)
	broken.pages = []*page{nil}
	if err := broken.wait(); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("%v", err)
	}
	if got := (&corrupt{file: "f", err: errShort}).Error(); got != "f: ends too early" {
		t.Error(got)
	}
	inner := &corrupt{file: "inner", err: errShort}
	if got := u.fail(fmt.Errorf("wrapped: %w", inner)); !strings.HasPrefix(got.Error(), "wrapped: inner") {
		t.Errorf("%v", got)
	}
}
