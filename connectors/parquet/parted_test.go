package parquet

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// parts has pages decoded in parts if those of a row group have more than some bytes.
func parts(t *testing.T, bytes int64) {
	before, shrunk := partedBytes, shrunkBytes
	partedBytes, shrunkBytes = bytes, bytes
	t.Cleanup(func() { partedBytes, shrunkBytes = before, shrunk })
}

// Any part of packed indexes, cut out, reads as it did, and takes no more than its share.
func TestCutsOfPackedIndexes(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 9))
	room := new(partRoom)
	for range 20_000 {
		width, n := r.IntN(33), r.IntN(60)
		src := hybrid(r, width, n)
		want := make([]uint32, n)
		p, err := packedIndexes(slices.Clip(src), width, n)
		if err != nil {
			continue
		}
		if err := p.read(want, 0); err != nil {
			t.Fatal(err)
		}
		from := r.IntN(n + 1)
		k := r.IntN(n - from + 1)
		part, err := p.cut(room, from, k)
		if err != nil {
			t.Fatal(err)
		}
		at := r.IntN(k + 1)
		holdRead(t, part, 0, want[from:from+k])
		holdRead(t, part, at, want[from+at:from+k])
		clear(p.src) // the part has its own memory
		holdRead(t, part, 0, want[from:from+k])
		room.put(part.src)
	}
	const n, width = 1 << 16, 13
	index := make([]uint32, n)
	for i := range index {
		index[i] = r.Uint32N(1 << width)
	}
	p, err := packedIndexes(packedIndex(index, width), width, n) // one run
	if err != nil {
		t.Fatal(err)
	}
	part, err := p.cut(room, n/4+3, n/4)
	if err != nil {
		t.Fatal(err)
	}
	holdRead(t, part, n/4-9, index[n/2-6:n/2+3])
	if most := n/4*width/8 + n/4/256 + 64; cap(part.src) > most {
		t.Errorf("a quarter takes %d bytes of %d", cap(part.src), len(p.src))
	}
}

// Memory of parts is used again for those of a similar size, and not without end.
func TestRoomOfParts(t *testing.T) {
	var r partRoom
	b := r.get(1000)
	r.put(b[:10])
	if c := r.get(880); cap(c) != 880 {
		t.Errorf("%d bytes for 880: an eighth would be wasted", cap(c))
	}
	if c := r.get(1001); cap(c) != 1001 {
		t.Errorf("%d bytes for 1001", cap(c))
	}
	if c := r.get(900); cap(c) != 1000 || len(c) != 0 || &c[:1][0] != &b[:1][0] {
		t.Errorf("new memory: %d bytes", cap(c))
	}
	for range 2 * mostSpare {
		r.put(make([]byte, 5))
	}
	if len(r.spare) != mostSpare {
		t.Errorf("%d are held", len(r.spare))
	}
}

// The parts of a page have all of its records once, and mostly as many as there are between two
// cuts; columns are cut at different records.
func TestPartsOfPages(t *testing.T) {
	for _, c := range []struct {
		each, ahead int
		pages       []int
		want        []int
	}{
		{0, 0, []int{1000}, []int{1000}},
		{100, 0, []int{100}, []int{100}},
		{100, 0, []int{149}, []int{149}},
		{100, 0, []int{150}, []int{100, 50}},
		{100, 40, []int{300}, []int{60, 100, 140}},
		{100, 60, []int{300}, []int{140, 100, 60}},
		{100, 0, []int{30, 30, 30, 30, 200}, []int{30, 30, 30, 30, 80, 120}},
	} {
		cur := &cursor{cuts: cuts{least: c.each, ahead: c.ahead}}
		var got []int
		for _, n := range c.pages {
			got = append(got, cur.cut(new(page), n))
			for cur.cuts.left > 0 {
				k := cur.cuts.next()
				got = append(got, k)
				cur.cuts.row, cur.cuts.left = cur.cuts.row+k, cur.cuts.left-k
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d, %d ahead, pages %v: parts %v, want %v", c.each, c.ahead, c.pages, got, c.want)
		}
	}
}

// A page that is smaller by more than a fiftieth when it is compressed has fewer parts than another one.
func TestPartsOfCompressedPages(t *testing.T) {
	for _, c := range []struct{ compressed, want int32 }{{1000, 100}, {980, 100}, {979, 400}, {1, 400}, {1100, 100}} {
		cur := &cursor{cuts: cuts{least: 100, most: 400}}
		p := &page{header: pageHeader{CompressedSize: c.compressed, UncompressedSize: 1000}}
		if got := cur.cut(p, 1000); got != int(c.want) {
			t.Errorf("%d of 1,000 bytes: the first part has %d records, want %d", c.compressed, got, c.want)
		}
		if got := cur.cut(&page{header: pageHeader{CompressedSize: 5, UncompressedSize: 5}}, 1000); got != 100 {
			t.Errorf("%d of 1,000 bytes: the next page, not smaller when compressed, begins with %d records", c.compressed, got)
		}
	}
}

// Which columns are cut, and where: those with values of a fixed width that are neither nested nor
// repeated, of a local file, if the row group is large. A false size in the footer leads to no more
// than mostParts parts.
func TestWhichPagesAreParted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	writeVaried(t, path)
	open := func() (*reader, []*cursor, *rowGroup) {
		src, f, err := openedSource(t, must(os.ReadFile(path)))
		if err != nil {
			t.Fatal(err)
		}
		rg := &f.RowGroups[0]
		var cursors []*cursor
		for _, root := range src.streams[0].roots {
			for _, l := range root.leaves {
				cursors = append(cursors, &cursor{pages: newPages(nil, "", 0, l, &rg.Columns[l.index].MetaData.V)})
			}
		}
		return &reader{source: src, file: must(os.Open(path))}, cursors, rg
	}
	for _, c := range []struct {
		bytes  int64
		exceed int64
		rows   int64 // if not 0, what the footer says
		object bool
		parts  [2]int64 // of pages that are not smaller when compressed, and of others; 0: not cut
	}{
		{bytes: 1 << 30},
		{bytes: 4 << 10, object: true},
		{bytes: 1, parts: [2]int64{mostParts, mostShrunk}},
		{bytes: 1 << 40, exceed: 1 << 50, parts: [2]int64{mostParts, mostShrunk}},
		// no overflow
		{bytes: 1, rows: math.MaxInt64, parts: [2]int64{math.MaxInt64 / math.MaxInt32, math.MaxInt64 / math.MaxInt32}},
	} {
		parts(t, c.bytes)
		r, cursors, rg := open()
		rg.Columns[0].MetaData.V.TotalUncompressedSize += c.exceed
		if c.rows > 0 {
			rg.NumRows = c.rows
		}
		if c.object {
			r.file = struct{ files.Handle }{r.file}
		}
		r.divide(cursors, rg)
		ahead := map[int]bool{}
		for _, cur := range cursors {
			var want [2]int
			if c.parts[0] > 0 && cur.leaf.flat() && cur.leaf.width > 0 {
				want = [2]int{int(min(math.MaxInt32, rg.NumRows/c.parts[0])), int(min(math.MaxInt32, rg.NumRows/c.parts[1]))}
			}
			if got := [2]int{cur.cuts.least, cur.cuts.most}; got != want {
				t.Errorf("%+v: column %v is cut each %d records, want %d", c, cur.leaf.path, got, want)
			}
			if want[0] > 0 {
				ahead[cur.cuts.ahead] = true
			}
		}
		if c.parts[0] > 0 && len(ahead) < 3 {
			t.Errorf("%+v: cuts at %v", c, ahead)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// If a page's bytes change between two of its parts, the run fails there.
func TestPageThatChangesBetweenParts(t *testing.T) {
	parts(t, 1)
	defer func(n int64) { nearBytes = n }(nearBytes)
	nearBytes = 0 // a small row group is otherwise read from the file once
	type row struct {
		X float64 `parquet:"x,plain"`
	}
	var file bytes.Buffer
	w := pqgo.NewGenericWriter[row](&file, pqgo.Compression(&pqgo.Uncompressed), pqgo.PageBufferSize(1<<20))
	rows := make([]row, 4000)
	for i := range rows {
		rows[i].X = float64(i)
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, changes := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "in.parquet")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var changed atomic.Bool
		run := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: path + ".out"}, layout: decodeAll(true),
			cut: connectors.Cut{Records: 100},
			mask: func(b *microdata.Block) {
				// From here on the release has opened the file, and compares no stamps.
				if changes && b.First >= 1000 && changed.CompareAndSwap(false, true) {
					at := int64(bytes.Index(file.Bytes(), raw([]float64{3998, 3999})))
					f := must(os.OpenFile(path, os.O_RDWR, 0))
					defer f.Close()
					must(f.WriteAt(raw([]float64{1, 2}), at))
				}
			}}
		err := run.run(t.Context())
		if changes != errors.Is(err, files.ErrChanged) || changes != (err != nil) {
			t.Errorf("the file changes: %v; error %v", changes, err)
		}
		if changes && err != nil && !strings.Contains(err.Error(), path+": row group 0, column x: ") {
			t.Errorf("%v does not name the file and the column", err)
		}
	}
}

// A dictionary of one of many columns holds decimals as whole numbers. Its values come back bit by
// bit, and others stay as they are.
func TestShortDictionaries(t *testing.T) {
	l := &leaf{phys: format.Double, width: 8}
	for name, c := range map[string]struct {
		n     int
		per   float64
		odd   float64 // one of the values
		wide  bool
		short bool
	}{
		"decimals":          {leastShortened, 100, 5, true, true},
		"whole":             {leastShortened, 1, 5, true, true},
		"of few columns":    {leastShortened, 100, 5, false, false},
		"few":               {leastShortened - 1, 100, 5, true, false},
		"doubles":           {leastShortened, math.Pi, 5, true, false},
		"one of many":       {leastShortened, 100, 0.001, true, false},
		"nothing":           {leastShortened, 100, math.NaN(), true, false},
		"minus zero":        {leastShortened, 100, math.Copysign(0, -1), true, false},
		"infinite":          {leastShortened, 100, math.Inf(1), true, false},
		"greatest":          {leastShortened, 1, math.MaxInt32, true, true},
		"too great":         {leastShortened, 1, math.MaxInt32 + 1, true, false},
		"one bit different": {leastShortened, 10, math.Nextafter(0.3, 1), true, false},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64(i) / c.per
		}
		values[7] = c.odd
		data := getBuffer(8 * c.n)
		copy(data, raw(values))
		d := &dictionary{n: c.n, data: data, wide: c.wide}
		index, got := []uint32{0, 7, uint32(c.n - 1), 7}, make([]float64, 4)
		if bad := d.numbers(l, got, index); bad {
			t.Errorf("%s: bad", name)
		}
		for i, k := range index {
			if math.Float64bits(got[i]) != math.Float64bits(values[k]) {
				t.Errorf("%s: value %d is %v, want %v", name, k, got[i], values[k])
			}
		}
		if short := d.counts != nil; short != c.short || short == (d.data != nil) {
			t.Errorf("%s: held as whole numbers: %v", name, short)
		}
	}
}
