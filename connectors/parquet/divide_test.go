package parquet

import (
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// countIn reads a source and returns the number of records and the index of the first.
func countIn(t *testing.T, src connectors.Source) (first, n int64) {
	t.Helper()
	r, err := src.Read(t.Context(), layoutOf(nil, nil)(src.Schema()), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first = -1
	for {
		raw, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return first, n
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		if first < 0 {
			first = b.First
		}
		n += int64(b.N)
	}
}

// The parts of a file contain each of its records once and in order, whatever part size is asked
// for. A part that does not belong to the file is refused.
func TestPartsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.parquet")
	rows := writeVaried(t, path, pqgo.MaxRowsPerRowGroup(60))
	src, err := (&SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s := src.(*source)
	groups := int64(len(s.streams[0].RowGroups))
	for _, c := range []struct {
		bytes int64
		cut   connectors.Cut
		parts int64
	}{
		{1, connectors.Cut{}, groups}, {1 << 40, connectors.Cut{}, 1},
		{stored(&s.streams[0].RowGroups[0]), connectors.Cut{}, 0},
		{1, connectors.Cut{Records: 120, Exact: true}, 0}, {1, connectors.Cut{Records: 60, Exact: true}, 0},
		{1, connectors.Cut{Records: 7}, groups},
	} {
		parts, err := s.Divide(t.Context(), c.bytes, c.cut)
		if err != nil || c.parts > 0 && int64(len(parts)) != c.parts {
			t.Fatalf("%+v: %d parts of %d row groups, %v", c, len(parts), groups, err)
		}
		at := int64(0)
		for i, p := range parts {
			part, err := s.Part(p)
			if err != nil {
				t.Fatal(err)
			}
			first, n := countIn(t, part)
			if c.cut.Exact && p.First%int64(c.cut.Records) != 0 {
				t.Errorf("%+v: part %d begins at record %d", c, i, p.First)
			}
			if first != at || n != p.Records || n != part.Records() || p.First != at {
				t.Errorf("%+v, part %d: records %d and %d more, want %+v", c, i, first, n, p)
			}
			at += n
		}
		if at != int64(len(rows)) {
			t.Errorf("%+v: %d of %d records", c, at, len(rows))
		}
	}
	whole := connectors.Part{To: groups, Records: int64(len(rows))}
	if _, err := s.Part(whole); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(p *connectors.Part){
		"before the first stream": func(p *connectors.Part) {
			p.Stream = -1
		}, "behind the last stream": func(p *connectors.Part) { p.Stream = 1 },
		"before the first": func(p *connectors.Part) { p.From = -1 }, "behind the last": func(p *connectors.Part) {
			p.To = groups + 1
		}, "backwards": func(p *connectors.Part) { p.From, p.To = 2, 1 },
		"too many records": func(p *connectors.Part) { p.Records++ }, "too few": func(p *connectors.Part) {
			p.Records--
		}, "another beginning": func(p *connectors.Part) { p.First = 1 },
	} {
		p := whole
		change(&p)
		if got, err := s.Part(p); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got, err := s.Part(connectors.Part{From: 1, To: 1, First: s.streams[0].RowGroups[0].NumRows}); err != nil ||
		got.Records() != 0 {
		t.Errorf("a part of no row group: %v", err)
	}
}

// Lengths of texts and the texts after them are exact if no byte stands before, between or after
// them. They can be read if their number is the number of values.
func TestExactDeltaLengths(t *testing.T) {
	var lengths []int32
	text := ""
	for i := range 40 {
		lengths = append(lengths, int32(i%5))
		text += strings.Repeat("x", i%5)
	}
	head, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, lengths)
	if err != nil {
		t.Fatal(err)
	}
	src := append(head, text...)
	for what, c := range map[string]struct {
		src  []byte
		n    int
		want bool
	}{
		"as it should be": {src, 40, true}, "a byte behind": {append(src[:len(src):len(src)], 'c'), 40, false},
		"a byte less":  {src[:len(src)-1], 40, false},
		"fewer values": {src, 39, false}, "more values": {src, 41, false}, "nothing": {nil, 1, false},
		"the lengths alone": {head[:len(head):len(head)], 40, false},
	} {
		if got := exactDeltaLengths(c.src, c.n); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	offsets, rest, err := decodeDeltaLengths(40, append(src[:len(src):len(src)], "behind"...))
	if err != nil || string(rest) != text || len(offsets) != 41 || offsets[0] != 0 || offsets[4] != 6 ||
		int(offsets[40]) != len(text) {
		t.Errorf("%v, %q, %v", offsets, rest, err)
	}
	negative, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, []int32{1, -1})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		src []byte
		n   int
	}{"one length less than values": {src, 41}, "a text that ends too early": {src[:len(src)-1], 40},
		"a length below 0": {append(negative, "xxx"...), 2}, "nothing": {nil, 1}} {
		if _, _, err := decodeDeltaLengths(c.n, c.src); err == nil {
			t.Errorf("%s is read", what)
		}
	}
}

// A zstd frame is exact if it ends with its last block, or with the checksum after it, and has no
// field that readers ignore.
func TestExactFrame(t *testing.T) {
	frame := func(descriptor byte, more ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, 0xFD2FB528), append([]byte{descriptor}, more...)...)
	}
	raw := []byte{1 | 2<<3, 0, 0, 'a', 'b'} // the last block, of two bytes
	for i, c := range []struct {
		src  []byte
		want bool
	}{
		{frame(0x20, append([]byte{2}, raw...)...), true},
		{frame(0x20, append([]byte{2}, append(raw[:5:5], 'c')...)...), false},
		{frame(0x20, append([]byte{2}, raw[:4]...)...), false},
		{frame(0x24, append([]byte{2}, append(raw[:5:5], 1, 2, 3, 4)...)...), true},
		{frame(0x24, append([]byte{2}, append(raw[:5:5], 1, 2, 3)...)...), false},
		{frame(0x24, append([]byte{2}, append(raw[:5:5], 1, 2, 3, 4, 5)...)...), false},
		{frame(0x24, append([]byte{2}, raw...)...), false},
		{frame(0x00, append([]byte{0x40}, raw...)...), true},           // with a window
		{frame(0x40, append([]byte{0x40, 0, 0}, raw...)...), true},     // with a window and a size of two bytes
		{frame(0xa0, append([]byte{2, 0, 0, 0}, raw...)...), true},     // with a size of four bytes
		{frame(0x20, 2, 0|1<<3, 0, 0, 'a', 1|1<<3, 0, 0, 'b'), true},   // two blocks
		{frame(0x20, 2, 0|1<<3, 0, 0, 'a'), false},                     // the last block is missing
		{frame(0x20, 2, 1|1<<1|2<<3, 0, 0, 'a'), true},                 // one byte, repeated twice
		{frame(0x20, 0, 1|1<<1, 0, 0, 'a'), false},                     // repeated zero times
		{frame(0x20, 2, 1|3<<1|1<<3, 0, 0, 'a'), false},                // a block of an unknown type
		{frame(0x21, append([]byte{2, 7}, raw...)...), false},          // with a dictionary ID
		{frame(0x28, append([]byte{2}, raw...)...), false},             // with a reserved bit
		{frame(0x30, append([]byte{2}, raw...)...), false},             // with an unused bit
		{append([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, 1), false}, // a skippable frame
		{frame(0x20), false}, {nil, false},
	} {
		if got := exactZstd(c.src); got != c.want {
			t.Errorf("frame %d, %x: %v", i, c.src, got)
		}
	}
}

// Blocks of delta encoding hold a multiple of 128 values, up to 2²⁰, in parts of a multiple of 32.
func TestBlocksOfDeltaEncoding(t *testing.T) {
	for _, c := range []struct {
		block, parts uint64
		ok           bool
	}{
		{128, 1, true}, {128, 4, true}, {256, 8, true}, {1 << 20, 1, true}, {1 << 20, 1 << 15, true},
		{0, 1, false}, {64, 1, false}, {192, 1, false}, {1<<20 + 128, 1, false}, {1 << 21, 4, false},
		{128, 0, false}, {128, 3, false}, {128, 8, false}, {384, 8, false},
	} {
		src := binary.AppendUvarint(binary.AppendUvarint(nil, c.block), c.parts)
		src = binary.AppendVarint(append(src, 0), -7) // of no values; the first is there all the same
		n, rest, err := decodeDelta(make([]int64, 9), append(src, "rest"...))
		if (err == nil) != c.ok || n != 0 || c.ok && string(rest) != "rest" {
			t.Errorf("blocks of %d in %d parts: %d values, %q behind them, %v", c.block, c.parts, n, rest, err)
		}
	}
}
