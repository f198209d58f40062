package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Old LZ4 pages consist of one or more frames, or of one bare block. Anything else is an error.
func TestFramesOfOldLZ4(t *testing.T) {
	block := func(src []byte) []byte {
		b, err := new(lz4.Codec).Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	frame := func(size int, b []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(size))
		return append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	one, two := bytes.Repeat([]byte("ab"), 40), bytes.Repeat([]byte("xyz"), 30)
	both := slices.Concat(one, two)
	for _, c := range []struct {
		name string
		src  []byte
		want []byte // nil: an error
	}{
		{"a frame", frame(len(one), block(one)), one},
		{"two frames", slices.Concat(frame(len(one), block(one)), frame(len(two), block(two))), both},
		{"a block", block(both), both},
		{"an empty frame and another", slices.Concat(frame(0, []byte{0}), frame(len(one), block(one))), one},
		{"a frame said to be longer", frame(len(one)+1, block(one)), nil},
		{"a frame said to be shorter", frame(len(one)-1, block(one)), nil},
		{"a frame of more than there is", frame(len(one), block(one))[:20], nil},
		{"a frame and a byte", append(frame(len(one), block(one)), 0), nil}, {"nothing", nil, nil},
		{"a block of another length", block(one[1:]), nil},
	} {
		n := len(c.want)
		if c.want == nil {
			n = len(one)
		}
		dst := bytes.Repeat([]byte{0xa5}, n)
		err := unhadoop(dst, c.src)
		if (err == nil) != (c.want != nil) || err == nil && !bytes.Equal(dst, c.want) {
			t.Errorf("%s: %q, %v", c.name, dst, err)
		}
	}
	if err := unhadoop(nil, nil); err != nil {
		t.Errorf("an empty read: %v", err)
	}
	if err := filled([]byte{1, 2}, []byte{3, 4, 5}); err != errSize {
		t.Errorf("%v", err)
	}
	dst := []byte{1, 2}
	if err := filled(dst, []byte{3, 4}); err != nil || !bytes.Equal(dst, []byte{3, 4}) {
		t.Errorf("a page at another place is not copied: %v, %v", dst, err)
	}
	if err := readAll(&failingReader{}, make([]byte, 3)); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	if err := readAll(&failingReader{[]byte("abc")}, make([]byte, 3)); !errors.Is(err, errBroken) {
		t.Errorf("after the end: %v", err)
	}
	if b := grow([]byte("abc"), 5); string(b) != "abc" || cap(b) < 8 {
		t.Errorf("%q of %d", b, cap(b))
	}
	room := make([]byte, 3, 8)
	if b := grow(room, 5); &b[0] != &room[0] || len(b) != 3 {
		t.Error("there was room enough")
	}
	if b := grow(room, 6); cap(b) < 9 || len(b) != 3 {
		t.Errorf("room for %d", cap(b))
	}
}

// failingReader returns its bytes and then an error.
type failingReader struct{ b []byte }

func (r *failingReader) Read(b []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, errBroken
	}
	n := copy(b, r.b)
	r.b = r.b[n:]
	return n, nil
}

// A chunk is filtered up to its end. Damaged data, a missing end or a second dictionary is an error
// with its place; empty pages are skipped.
func TestFilteringThatFails(t *testing.T) {
	l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: arrow.BinaryTypes.String}
	put := func(buf *bytes.Buffer, p *page) {
		p.header.CRC.Valid = false
		if err := marshal(buf, &p.header); err != nil {
			t.Fatal(err)
		}
		buf.Write(p.body)
	}
	texts, dict := encodedAs(t, format.RLEDictionary, format.ByteArray, 0, plainBytes("a", "b", "a"))
	plain, _ := encodedAs(t, format.Plain, format.ByteArray, 0, plainBytes("c"))
	indexes := pageOf(1, format.RLEDictionary, 3, 0, 3, nil, nil, texts, format.Uncompressed)
	single := pageOf(1, format.Plain, 1, 0, 1, nil, nil, plain, format.Uncompressed)
	empty := pageOf(1, format.Plain, 0, 0, 0, nil, nil, nil, format.Uncompressed)
	broken := pageOf(1, format.Plain, 1, 0, 1, nil, nil, plain[:3], format.Uncompressed)
	other := &page{header: pageHeader{Type: format.IndexPage}}
	for _, c := range []struct {
		name    string
		pages   []*page
		rows    int64
		dropped []int64
		want    string // the values, or ! and an error
	}{
		{"all", []*page{dict, indexes, single}, 4, nil, "a b a c"},
		{"some", []*page{dict, indexes, single}, 4, []int64{1, 3}, "a a"},
		{"with empty pages", []*page{empty, dict, other, empty, indexes, empty, single}, 4, []int64{0}, "b a c"},
		{"two dictionaries", []*page{dict, dict, indexes, single}, 4, nil, "!a second dictionary"},
		{"too few", []*page{dict, indexes}, 4, nil, "!end too early"},
		{"a broken page", []*page{dict, indexes, broken}, 4, nil, "!ends too early"},
		{"no dictionary", []*page{indexes, single}, 4, nil, "!the dictionary is missing"},
	} {
		var buf bytes.Buffer
		for _, p := range c.pages {
			put(&buf, p.clone())
		}
		count := int64(0)
		for _, p := range c.pages {
			n, _ := p.values()
			count += int64(n)
		}
		if c.name == "too few" {
			count = 3
		}
		m := columnMetaData{NumValues: count, TotalCompressedSize: int64(buf.Len())}
		ft := &footer{
			fileMetaData: fileMetaData{RowGroups: []rowGroup{{NumRows: c.rows, Columns: []columnChunk{{MetaData: some(m)}}}}}}
		s := &sink{source: &source{streams: []*stream{{footer: ft}}},
			out: &output{in: readable{bytes.NewReader(buf.Bytes())}}}
		s.source.streams[0].file.Label = "in.parquet"
		pe := &pageEncoder{leaf: l}
		var d chunkDictionary
		pages, err := s.filter(t.Context(), &pendingGroup{dropped: c.dropped, near: nearby(s.out.in, nil)}, l, pe, &d)
		if c.want[0] == '!' {
			if err == nil || !strings.Contains(err.Error(), c.want[1:]) ||
				!strings.HasPrefix(err.Error(), "in.parquet: row group 0, column x: ") {
				t.Errorf("%s: %v, want %s", c.name, err, c.want[1:])
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		dp, err := d.page(pe.comp)
		if err != nil {
			t.Fatal(err)
		}
		ch := &chunk{file: "f", leaf: l}
		if dp != nil {
			ch.dict = &dictionary{page: readBack(t, dp)}
		}
		var got []string
		for _, p := range pages {
			var v values
			if err := v.page(ch, readBack(t, p)); err != nil {
				t.Fatal(err)
			}
			for i := range v.n {
				got = append(got, string(v.bytes(i)))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.filter(cancelled, &pendingGroup{near: nearby(s.out.in, nil)}, l, pe, &d); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// A FIFO cannot be read from its end. A release into a folder reports its content, and cannot be
// held for another process.
func TestFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.parquet")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(fifo, os.O_RDWR, 0) // the other end of the FIFO: without it, opening the FIFO would block
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := (&SourceConfig{Path: fifo}).Open(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "a Parquet file is read from its end") {
		t.Errorf("%v", err)
	}
	if _, err := (&SourceConfig{Path: filepath.Join(dir, "missing.parquet")}).Open(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "missing.parquet: no such file") {
		t.Errorf("%v", err)
	}
	in := filepath.Join(dir, "in")
	writePeople(t, filepath.Join(in, "k=a", "x.parquet"), 3)
	writePeople(t, filepath.Join(in, "k=b", "x.parquet"), 4)
	src, err := (&SourceConfig{Path: in}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layout := layoutOf([]string{"wage"}, nil)(src.Schema())
	c := &SinkConfig{Path: filepath.Join(dir, "out")}
	k, err := c.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	if err := (release{mask: mask}).pump(t.Context(), src, k, layout); err != nil {
		t.Fatal(err)
	}
	if err := k.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := k.(*sink)
	if content, err := s.content(t.Context()); err != nil || content == nil {
		t.Errorf("%v, %v", content, err)
	}
	if _, err := s.hold(); err == nil || !strings.Contains(err.Error(), "out: can get its name from no other process") {
		t.Errorf("%v", err)
	}
	if !strings.HasSuffix(s.label(1), "x.parquet (2 of 2)") || (&sink{}).label(2) != "stream 2" {
		t.Errorf("%s, %s", s.label(1), (&sink{}).label(2))
	}
	if err := k.Abort(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
	one, err := (&SourceConfig{Path: filepath.Join(in, "k=a", "x.parquet")}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layout = layoutOf(nil, nil)(one.Schema())
	if k, err = c.Create(t.Context(), connectors.Plan{Source: one, Layout: layout}); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Finish(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := k.Write(cancelled, &encoded{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := k.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Path); err == nil {
		t.Error("an aborted release is there")
	}
}

// An error of the disk while files are created, copied or finished is returned, whichever byte it
// occurs at: for masked and carried columns, kept and dropped records, one file and several files.
func TestDisksThatFillUp(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	writePeople(t, filepath.Join(in, "a.parquet"), 40)
	writePeople(t, filepath.Join(in, "b.parquet"), 20)
	drop := func(b *microdata.Block) {
		mask(b)
		b.Reject(0, "wage", "a test")
	}
	for name, m := range map[string]func(*microdata.Block){"kept": mask, "dropped": drop} {
		for _, compression := range []string{"", "none"} {
			whole, failed := 0, 0
			for k := 0; ; k += 1 + k/6 {
				d := &fullDisk{left: k}
				r := release{from: SourceConfig{Path: in},
					to:     SinkConfig{Path: "out", Compression: compression, create: func(string) (file, error) { return d, nil }},
					layout: layoutOf([]string{"wage", "age"}, nil), mask: m}
				err := r.run(t.Context())
				if err == nil {
					whole = k
					break
				}
				if failed++; !errors.Is(err, errFull) {
					t.Fatalf("%s, after %d bytes: %v", name, k, err)
				}
			}
			if whole < 1000 || failed < 20 {
				t.Errorf("%s: a release of %d bytes, %d failures", name, whole, failed)
			}
		}
	}
	r := release{from: SourceConfig{Path: in}, to: SinkConfig{Path: "out", create: func(string) (file, error) {
		return nil, errBroken
	}}, layout: layoutOf([]string{"wage"}, nil)}
	if err := r.run(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("a file that cannot be made: %v", err)
	}
}
