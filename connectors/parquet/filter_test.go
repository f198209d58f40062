package parquet

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// filtered applies a filter to decoded pages and returns the values of the resulting pages, by row.
func filtered(t *testing.T, l *leaf, dropped []int64, pages ...*values) (rows []int, got []string, rep, def []uint8,
	f *rowFilter, err error) {
	t.Helper()
	f = &rowFilter{pe: &pageEncoder{leaf: l, comp: compressor{codec: format.Uncompressed}}, dict: &chunkDictionary{},
		dropped: dropped, row: -1}
	f.clear()
	for _, v := range pages {
		if err := f.take(l, v); err != nil {
			return nil, nil, nil, nil, f, err
		}
	}
	if err := f.flush(); err != nil {
		t.Fatal(err)
	}
	c := &chunk{file: "f", leaf: l}
	if d, err := f.dict.page(f.pe.comp); err != nil {
		t.Fatal(err)
	} else if d != nil {
		c.dict = &dictionary{page: readBack(t, d)}
	}
	for _, p := range f.pages {
		rows = append(rows, p.rows)
		v := values{dense: true}
		if err := v.page(c, readBack(t, p)); err != nil {
			t.Fatal(err)
		}
		for i := range v.n {
			got = append(got, string(valueAt(l, &v, i)))
		}
		rep, def = append(rep, v.rep...), append(def, v.def...)
		if p.values != max(len(v.def), v.n) || p.stats.nulls != int64(len(v.def)-v.n)*int64(min(l.maxDef, 1)) {
			t.Errorf("a page of %d values with %d nulls: %d and levels %v", p.values, p.stats.nulls, v.n, v.def)
		}
	}
	return rows, got, rep, def, f, nil
}

func textsOf(s string) *values {
	v := &values{offsets: []uint32{0}}
	for _, w := range strings.Fields(s) {
		v.data = append(v.data, w...)
		v.n++
		v.offsets = append(v.offsets, uint32(len(v.data)))
	}
	v.def = make([]uint8, v.n)
	return v
}

func indexed(dict string, index ...uint32) *values {
	d := textsOf(dict)
	return &values{n: len(index), index: index, def: make([]uint8, len(index)),
		dict: &dictionary{n: d.n, data: d.data, offs: d.offsets}}
}

// All records that are not dropped remain, in any position, with and without a dictionary, together
// with their levels.
func TestRowsAreFiltered(t *testing.T) {
	texts := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
	for _, c := range []struct {
		dropped []int64
		want    string
	}{{nil, "a b c b c d e"}, {[]int64{0}, "b c b c d e"}, {[]int64{6}, "a b c b c d"}, {[]int64{2, 3, 5}, "a b c e"},
		{[]int64{0, 1, 2, 3, 4, 5, 6}, ""}, {[]int64{0, 1, 2, 3}, "c d e"}} {
		for name, pages := range map[string][]*values{
			"plain":      {textsOf("a b c"), textsOf("b c"), textsOf("d e")},
			"dictionary": {indexed("e d c b a", 4, 3, 2), indexed("e d c b a", 3, 2), indexed("e d c b a", 1, 0)},
			"first":      {indexed("c b a", 2, 1, 0), textsOf("b c"), textsOf("d e")},
			"last":       {textsOf("a b c"), textsOf("b c"), indexed("d e", 0, 1)},
			"both":       {indexed("c b a d e", 2, 1, 0), textsOf("b c"), indexed("c b a d e", 3, 4)},
		} {
			rows, got, _, _, f, err := filtered(t, texts, slices.Clone(c.dropped), pages...)
			if err != nil || strings.Join(got, " ") != c.want || f.row != 6 || len(f.dropped) != 0 {
				t.Errorf("%s without %v: %v in %v, at %d, %v", name, c.dropped, got, rows, f.row, err)
			}
			if n := len(strings.Fields(c.want)); n > 0 && (len(rows) != 1 || rows[0] != n) || n == 0 && len(rows) != 0 {
				t.Errorf("%s without %v: pages of %v rows", name, c.dropped, rows)
			}
		}
	}
	// Lists of numbers; one list continues in the next page.
	lists := &leaf{phys: format.Int32, width: 4, path: []string{"l", "list", "x"}, maxRep: 1, maxDef: 2,
		typ: arrow.PrimitiveTypes.Int32}
	pages := func() []*values {
		return []*values{
			{n: 3, data: []byte("aaaabbbbcccc"), rep: []uint8{0, 1, 0, 0}, def: []uint8{2, 2, 0, 2}},
			{n: 2, data: []byte("ddddeeee"), rep: []uint8{1, 1, 0}, def: []uint8{1, 2, 2}},
		}
	}
	for _, c := range []struct {
		dropped  []int64
		want     string
		rep, def []uint8
		rows     int
	}{
		{nil, "aaaa bbbb cccc dddd eeee", []uint8{0, 1, 0, 0, 1, 1, 0}, []uint8{2, 2, 0, 2, 1, 2, 2}, 4},
		{[]int64{0}, "cccc dddd eeee", []uint8{0, 0, 1, 1, 0}, []uint8{0, 2, 1, 2, 2}, 3},
		{[]int64{1}, "aaaa bbbb cccc dddd eeee", []uint8{0, 1, 0, 1, 1, 0}, []uint8{2, 2, 2, 1, 2, 2}, 3},
		{[]int64{2}, "aaaa bbbb eeee", []uint8{0, 1, 0, 0}, []uint8{2, 2, 0, 2}, 3},
		{[]int64{3}, "aaaa bbbb cccc dddd", []uint8{0, 1, 0, 0, 1, 1}, []uint8{2, 2, 0, 2, 1, 2}, 3},
	} {
		rows, got, rep, def, f, err := filtered(t, lists, c.dropped, pages()...)
		if err != nil || strings.Join(got, " ") != c.want || !bytes.Equal(rep, c.rep) || !bytes.Equal(def, c.def) ||
			f.row != 3 || !slices.Equal(rows, []int{c.rows}) {
			t.Errorf("without %v: %v %v %v in %v, at %d, %v", c.dropped, got, rep, def, rows, f.row, err)
		}
	}
	if _, _, _, _, _, err := filtered(t, lists, nil, pages()[1]); err != errMiddle {
		t.Errorf("a column that begins in the middle of a record: %v", err)
	}
}

// A page ends at a maximum number of records or bytes. The dictionary of the source also serves the
// remaining values.
func TestFilteredPagesEnd(t *testing.T) {
	flags := &leaf{phys: format.Boolean, width: 1, path: []string{"x"}, typ: arrow.FixedWidthTypes.Boolean}
	n := 2*65_536 + 3
	rows, got, _, _, _, err := filtered(t, flags, []int64{5}, &values{n: n, data: make([]byte, n), def: make([]uint8, n)})
	if err != nil || !slices.Equal(rows, []int{65_536, 65_536, 2}) || len(got) != n-1 {
		t.Errorf("pages of %v rows, %d in all, %v", rows, len(got), err)
	}
	texts := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
	long := strings.Repeat("x", 2<<20)
	v := indexed("a "+long, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0)
	rows, got, _, _, f, err := filtered(t, texts, nil, v)
	if err != nil || !slices.Equal(rows, []int{4, 6, 1}) || len(got) != 11 || got[3] != long || got[4] != "a" {
		t.Errorf("pages of %v rows, %d in all, %v", rows, len(got), err)
	}
	if f.dict.most != len(v.dict.data)+4*v.dict.n || f.dict.full || !f.dict.used {
		t.Errorf("a dictionary of at most %d bytes, full %v", f.dict.most, f.dict.full)
	}
	wide := &leaf{phys: format.FixedLenByteArray, width: 1 << 16, path: []string{"x"},
		typ: &arrow.FixedSizeBinaryType{ByteWidth: 1 << 16}}
	rows, _, _, _, _, err = filtered(t, wide, nil, &values{n: 130, data: make([]byte, 130<<16), def: make([]uint8, 130)})
	if err != nil || !slices.Equal(rows, []int{128, 2}) {
		t.Errorf("pages of %v rows, %v", rows, err)
	}
}

// Buffers of one class have one size.
func TestClassesOfBuffers(t *testing.T) {
	sizes := map[int]int{}
	for n := 1; n < 1<<32; n += 1 + n/9 {
		class, size := sizeClass(n)
		if s, ok := sizes[class]; ok && s != size {
			t.Fatalf("class %d has %d bytes and %d", class, s, size)
		}
		sizes[class] = size
	}
	for i := 0; i < 60; i++ {
		if _, ok := sizes[i]; !ok {
			t.Errorf("no buffer is of class %d", i)
		}
	}
	for _, n := range []int{0, 1, 4095, 4096, 4097, 5120, 5121, 8192, 8193, 1 << 20} {
		b := getBuffer(n)
		if len(b) != n || cap(b) < max(n, 4096) {
			t.Errorf("%d bytes of %d for %d", len(b), cap(b), n)
		}
		b = bytes.Repeat([]byte{7}, 1)
		putBuffer(b) // too small to keep
		if again := getBuffer(1); cap(again) < 4096 {
			t.Errorf("a buffer of %d bytes was kept", cap(again))
		}
	}
	putBuffer(make([]byte, 5000)) // belongs to no class
	if b := getBuffer(5120); len(b) != 5120 {
		t.Errorf("%d bytes", len(b))
	}
}
