package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// holdMetadata checks that a file's footer describes its row groups, chunks and pages correctly.
func holdMetadata(t testing.TB, file []byte) *footer {
	t.Helper()
	f, err := footerOf(file)
	if err != nil {
		t.Fatal(err)
	}
	at, all := int64(4), int64(0)
	for g := range f.RowGroups {
		rg := &f.RowGroups[g]
		if rg.FileOffset.V != at || !rg.FileOffset.Valid || rg.Ordinal.V != int16(g) || !rg.Ordinal.Valid {
			t.Errorf("row group %d begins at %d: %+v, number %+v", g, at, rg.FileOffset, rg.Ordinal)
		}
		var packed, whole int64
		for i := range rg.Columns {
			c := &rg.Columns[i]
			m := &c.MetaData.V
			from, to := m.extent()
			if from != at || c.FileOffset != 0 || c.OffsetIndexOffset.Valid || c.ColumnIndexOffset.Valid ||
				m.BloomFilterOffset.Valid || c.FilePath != "" {
				t.Errorf("%s begins at %d, want %d: %+v", place(g, f.leaves[i]), from, at, c)
			}
			p := newPages(bytes.NewReader(file), "f", g, f.leaves[i], m)
			var values, bytes, nulls, firstData int64
			firstData = -1
			counted := map[format.PageEncodingStats]int32{}
			for p.at < p.end {
				start := p.at
				pg, err := p.read()
				if err != nil {
					t.Fatal(err)
				}
				n, data := pg.values()
				enc := pg.header.DictionaryPage.V.Encoding
				if data {
					if firstData < 0 {
						firstData = start
					}
					enc = pg.header.DataPage.V.Encoding
					if pg.header.Type == format.DataPageV2 {
						enc = pg.header.DataPageV2.V.Encoding
					}
				} else if !m.DictionaryPageOffset.Valid || m.DictionaryPageOffset.V != start {
					t.Errorf("%s: a dictionary at %d: %+v", place(g, f.leaves[i]), start, m.DictionaryPageOffset)
				}
				values += int64(n)
				bytes += int64(len(p.head)) + int64(pg.header.UncompressedSize)
				counted[format.PageEncodingStats{PageType: pg.header.Type, Encoding: enc}]++
			}
			if values != m.NumValues || bytes != m.TotalUncompressedSize || firstData != m.DataPageOffset ||
				nulls > m.NumValues {
				t.Errorf("%s: %d values, %d bytes, pages from %d: %+v", place(g, f.leaves[i]), values, bytes, firstData, m)
			}
			for _, s := range m.EncodingStats {
				n := s.Count
				s.Count = 0
				if counted[s] != n {
					t.Errorf("%s: %d pages %+v, want %d", place(g, f.leaves[i]), n, s, counted[s])
				}
				delete(counted, s)
			}
			if len(counted) != 0 {
				t.Errorf("%s: pages that are not counted: %v", place(g, f.leaves[i]), counted)
			}
			if l := f.leaves[i]; slices.Contains(m.Encoding, format.RLE) != (l.maxDef > 0 || l.maxRep > 0) &&
				!slices.ContainsFunc(m.EncodingStats, func(s format.PageEncodingStats) bool { return s.Encoding == format.RLE }) {
				t.Errorf("%s: encodings %v", place(g, l), m.Encoding)
			}
			at, packed, whole = to, packed+m.TotalCompressedSize, whole+m.TotalUncompressedSize
		}
		if rg.TotalCompressedSize.V != packed || rg.TotalByteSize != whole {
			t.Errorf("row group %d: %d bytes of %d, want %d of %d", g, rg.TotalCompressedSize.V, rg.TotalByteSize, packed, whole)
		}
		all += rg.NumRows
	}
	if f.NumRows != all || len(f.ColumnOrders) != len(f.leaves) || !strings.HasPrefix(f.CreatedBy, "sdlfilter version ") ||
		f.Version != 2 || at != f.size-8-f.length {
		t.Errorf("%d rows, %d orders, by %s, data to %d of %d", f.NumRows, len(f.ColumnOrders), f.CreatedBy, at, f.size)
	}
	return f
}

// memoryFile counts its syncs and fails on demand.
type memoryFile struct {
	bytes.Buffer
	syncs int
	fail  error
	short bool
}

func (f *memoryFile) Sync() error {
	f.syncs++
	return f.fail
}
func (f *memoryFile) Close() error { return nil }
func (f *memoryFile) Write(b []byte) (int, error) {
	if f.short {
		return len(b) - 1, nil
	}
	return f.Buffer.Write(b)
}

type contentRow struct {
	X *float64 `parquet:"x,optional"`
	S string   `parquet:"s"`
	L []int64  `parquet:"l,list"`
}

func contentLayout() *microdata.Layout {
	s := &microdata.Schema{Fields: []microdata.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int64})},
	}}
	l := &microdata.Layout{Schema: s}
	for i, f := range s.Fields {
		l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Array})
		l.Release = append(l.Release, microdata.Output{Field: f, Source: i, Column: i, Masked: true, Decimals: -1})
	}
	return l
}

// contentBlock returns n records, numbered from first.
func contentBlock(t testing.TB, first, n int) (*microdata.Block, []contentRow) {
	t.Helper()
	b := new(microdata.Block)
	b.Reset(0, int64(first), n, 3)
	v := b.Columns[0].Alloc(n, true)
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	lists := array.NewListBuilderWithField(memory.DefaultAllocator,
		arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int64})
	var rows []contentRow
	for i := range n {
		r := contentRow{S: fmt.Sprintf("text %d", (first+i)%7)}
		x := float64(first+i) / 3
		v.Values[i] = x
		if (first+i)%5 == 2 {
			v.Valid.Clear(i)
		} else {
			r.X = &x
		}
		texts.Append(r.S)
		lists.Append(true)
		r.L = []int64{}
		for k := range (first + i) % 3 {
			lists.ValueBuilder().(*array.Int64Builder).Append(int64(first + k))
			r.L = append(r.L, int64(first+k))
		}
		rows = append(rows, r)
	}
	b.Columns[1].Array, b.Columns[2].Array = texts.NewArray(), lists.NewArray()
	return b, rows
}

// Several files are written at the same time from the blocks of a stream, without rejected records.
// Progress is reported on the way.
func TestContentOfAStream(t *testing.T) {
	ctx := t.Context()
	k, err := (&SinkConfig{Path: "out", Compression: "zstd"}).Content(contentLayout())
	if err != nil {
		t.Fatal(err)
	}
	var files [2]memoryFile
	var outs [2]*Output
	var want [2][]contentRow
	for i := range outs {
		if outs[i], err = k.Begin(&files[i]); err != nil {
			t.Fatal(err)
		}
		if outs[i].Bytes() != 4 || outs[i].Pending() != 0 || outs[i].Records() != 0 {
			t.Errorf("at the beginning: %d bytes, %d pending, %d records", outs[i].Bytes(), outs[i].Pending(), outs[i].Records())
		}
	}
	for turn := range 6 {
		i := turn % 2
		b, rows := contentBlock(t, 100*turn, 40)
		for k, r := range rows {
			if turn == 4 || k == 0 && turn == 2 || k == 39 && turn == 1 {
				b.Reject(k, "x", "a test")
			} else {
				want[i] = append(want[i], r)
			}
		}
		e, err := k.Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Records(e); got != int64(b.Kept()) {
			t.Errorf("block %d has %d records, want %d", turn, got, b.Kept())
		}
		if err := outs[i].Append(ctx, e); err != nil {
			t.Fatal(err)
		}
		if outs[i].Records() != int64(len(want[i])) {
			t.Errorf("%d records, want %d", outs[i].Records(), len(want[i]))
		}
		stored := 0
		for _, pages := range outs[i].to.group.pages {
			for _, p := range pages {
				stored += len(p.stored)
			}
		}
		if got := outs[i].Bytes(); got != int64(files[i].Len()+stored) || stored == 0 {
			t.Errorf("%d bytes, want %d and %d", got, files[i].Len(), stored)
		}
		if got := outs[i].Pending(); got != int64(stored)+4*3*outs[i].to.group.rows || outs[i].to.group.rows == 0 {
			t.Errorf("%d bytes are pending, want %d", got, stored)
		}
		if turn == 3 {
			if err := outs[i].Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if outs[i].Pending() != 0 || outs[i].Bytes() != int64(files[i].Len()) {
				t.Errorf("after a flush: %d pending, %d bytes of %d", outs[i].Pending(), outs[i].Bytes(), files[i].Len())
			}
		}
	}
	for i := range outs {
		if err := outs[i].Finish(ctx); err != nil || files[i].syncs != 1 {
			t.Fatalf("%v, %d syncs", err, files[i].syncs)
		}
		f := holdMetadata(t, files[i].Bytes())
		if n := len(f.RowGroups); n != 1+i {
			t.Errorf("file %d has %d row groups", i, n)
		}
		got, err := pqgo.Read[contentRow](bytes.NewReader(files[i].Bytes()), int64(files[i].Len()))
		if err != nil || len(got) != len(want[i]) {
			t.Fatalf("file %d: %d records, %v", i, len(got), err)
		}
		for k, r := range got {
			w := want[i][k]
			if (r.X == nil) != (w.X == nil) || r.X != nil && *r.X != *w.X || r.S != w.S || fmt.Sprint(r.L) != fmt.Sprint(w.L) {
				t.Fatalf("file %d, record %d: %+v, want %+v", i, k, r, w)
			}
		}
	}
	// A block of another kind, an invalid configuration and a layout that cannot be stored are
	// errors.
	o, err := k.Begin(&memoryFile{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Append(ctx, 7); err == nil || !strings.Contains(err.Error(), "not encoded for Parquet but as int") ||
		k.Records(7) != 0 {
		t.Errorf("%v", err)
	}
	if _, err := (&SinkConfig{}).Content(contentLayout()); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("%v", err)
	}
	bad := contentLayout()
	bad.Release[1].Field.Type = arrow.FixedWidthTypes.MonthInterval
	if _, err := (&SinkConfig{Path: "x"}).Content(bad); err == nil ||
		!strings.Contains(err.Error(), "Parquet cannot store") {
		t.Errorf("%v", err)
	}
	// If a file returns an error, writing the content returns it, at every step.
	if _, err := k.Begin(&memoryFile{short: true}); err != io.ErrShortWrite {
		t.Errorf("a short write: %v", err)
	}
	full := &memoryFile{}
	if o, err = k.Begin(full); err != nil {
		t.Fatal(err)
	}
	b, _ := contentBlock(t, 0, 10)
	e, err := k.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Append(ctx, e); err != nil {
		t.Fatal(err)
	}
	full.short = true
	if err := o.Flush(ctx); err != io.ErrShortWrite {
		t.Errorf("a short write of a row group: %v", err)
	}
	if o, err = k.Begin(&memoryFile{fail: errFull}); err != nil {
		t.Fatal(err)
	}
	if err := o.Finish(ctx); !errors.Is(err, errFull) {
		t.Errorf("a sync that fails: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if o, err = k.Begin(&memoryFile{}); err != nil {
		t.Fatal(err)
	}
	if e, err = k.Encode(b); err != nil {
		t.Fatal(err)
	}
	if err := o.Append(ctx, e); err != nil {
		t.Fatal(err)
	}
	if err := o.Finish(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled row group: %v", err)
	}
}

// Without a source to follow, a row group ends at a maximum number of rows or bytes, and not
// before.
func TestGroupsOfARelease(t *testing.T) {
	k, err := (&SinkConfig{Path: "out", Compression: "none"}).Content(contentLayout())
	if err != nil {
		t.Fatal(err)
	}
	part := func(rows, bytes int) *encoded {
		e := &encoded{
			parts: []encodedPart{{span: span{group: -1, n: int64(rows)}, kept: rows, pages: make([][]*encodedPage, 3)}}}
		for i := range 3 {
			p := &encodedPage{values: rows, rows: rows}
			if i == 1 {
				p.stored = make([]byte, bytes)
			}
			e.parts[0].pages[i] = []*encodedPage{p}
		}
		return e
	}
	for _, c := range []struct {
		rows, bytes []int
		groups      []int // after each part
	}{
		{[]int{1<<20 - 1, 1, 1}, []int{1, 1, 1}, []int{0, 1, 1}}, {[]int{1 << 20, 1}, []int{1, 1}, []int{1, 1}},
		{[]int{1, 1, 1}, []int{48<<20 - 1, 1, 1}, []int{0, 1, 1}}, {[]int{1, 1}, []int{48 << 20, 1}, []int{1, 1}},
	} {
		o, err := k.Begin(&memoryFile{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.rows {
			if err := o.Append(t.Context(), part(c.rows[i], c.bytes[i])); err != nil {
				t.Fatal(err)
			}
			if got := len(o.to.out.meta.RowGroups); got != c.groups[i] {
				t.Errorf("%v, %v: %d row groups after block %d, want %d", c.rows, c.bytes, got, i, c.groups[i])
			}
		}
	}
	// A part of another row group ends the previous one.
	next := part(1, 1)
	next.parts[0].group = -2
	first, err := k.Begin(&memoryFile{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []*encoded{part(1, 1), next} {
		if err := first.Append(t.Context(), e); err != nil || len(first.to.out.meta.RowGroups) != i {
			t.Errorf("part %d: %d row groups, %v", i, len(first.to.out.meta.RowGroups), err)
		}
	}
	broken := &memoryFile{}
	if first, err = k.Begin(broken); err != nil {
		t.Fatal(err)
	}
	if err := first.Append(t.Context(), part(1, 1)); err != nil {
		t.Fatal(err)
	}
	broken.short = true
	if err := first.Append(t.Context(), next); err != io.ErrShortWrite {
		t.Errorf("a short write of the row group before: %v", err)
	}
	// The ordinal of a row group has 16 bits. Later row groups have no ordinal.
	o, err := k.Begin(&memoryFile{})
	if err != nil {
		t.Fatal(err)
	}
	o.to.out.meta.RowGroups = make([]rowGroup, 1<<15-1)
	for range 2 {
		if err := o.Append(t.Context(), part(1, 1)); err != nil {
			t.Fatal(err)
		}
		if err := o.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if g := o.to.out.meta.RowGroups; g[1<<15-1].Ordinal != some[int16](math.MaxInt16) || g[1<<15].Ordinal.Valid {
		t.Errorf("row groups %+v and %+v", g[1<<15-1].Ordinal, g[1<<15].Ordinal)
	}
}

// stuck is an original that returns an error when it is closed.
type stuck struct{ readable }

func (stuck) Close() error { return errBroken }

// If the original cannot be closed, the release fails.
func TestOriginalThatCannotBeClosed(t *testing.T) {
	for what, end := range map[string]func(o *output) error{"another": func(o *output) error {
		return o.from(nil, 0)
	}, "the end": (*output).finish, "an abort": (*output).abandon} {
		o := &output{file: &memoryFile{}, meta: &fileMetaData{}, in: stuck{}}
		if err := end(o); !errors.Is(err, errBroken) || o.in != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The release names the version of the program that wrote it.
func TestVersion(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v7": "7", "v": "0.0.0", "": "0.0.0",
		"(devel)": "0.0.0"} {
		if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: version}}); got != want {
			t.Errorf("%s becomes %s", version, got)
		}
	}
	if got := versionOf(nil); got != "0.0.0" {
		t.Error(got)
	}
}

// The format that a configuration describes.
func TestFormat(t *testing.T) {
	if c, ok := Kind.NewSource().(*SourceConfig); !ok || c.Path != "" {
		t.Errorf("%v", c)
	}
	if c, ok := Kind.NewSink().(*SinkConfig); !ok || c.Path != "" {
		t.Errorf("%v", c)
	}
	if c, ok := Kind.At("a.pq").(*SourceConfig); !ok || c.Path != "a.pq" {
		t.Errorf("%v", c)
	}
	c := &SinkConfig{Path: "a", Compression: "gzip"}
	at := c.At("b").(*SinkConfig)
	if at.Path != "b" || at.Compression != "gzip" || c.Path != "a" || c.Extension() != ".parquet" ||
		!c.Abilities().TakesStream {
		t.Errorf("%+v from %+v", at, c)
	}
	if c.rollByDefault(); c.Roll == nil || *c.Roll != *DefaultRoll() {
		t.Errorf("%+v", c.Roll)
	}
	mine := &Roll{Records: 7}
	c.Roll = mine
	if c.rollByDefault(); c.Roll != mine {
		t.Errorf("%+v", c.Roll)
	}
	if d := DefaultRoll(); d.Records != 1_000_000 || d.Size != 128_000_000 || int64(d.Interval) != 300e9 {
		t.Errorf("%+v", d)
	}
	for _, ps := range []check.Problems{(&SourceConfig{Path: "s3://"}).Check(), (&SinkConfig{Path: "s3://"}).Check()} {
		if len(ps) != 1 || ps[0].Path != "path" {
			t.Errorf("an object without a name: %v", ps)
		}
	}
	if _, err := (&SourceConfig{}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "path: must name") {
		t.Errorf("%v", err)
	}
	if _, err := (&SinkConfig{}).Create(t.Context(), connectors.Plan{}); err == nil ||
		!strings.Contains(err.Error(), "path: must name") {
		t.Errorf("%v", err)
	}
}
