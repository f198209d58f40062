package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// carriedRow has one column for every layout of a page.
type carriedRow struct {
	N    int64   `parquet:"n"`
	F    float64 `parquet:"f"`
	Text string  `parquet:"text"`
	Dict string  `parquet:"dict,dict"`
	Opt  *int64  `parquet:"opt,optional"`
	B    bool    `parquet:"b"`
	Dlt  int64   `parquet:"dlt,delta"`
	DL   string  `parquet:"dl,delta"`
	List []int64 `parquet:"list,list"`
	Last string  `parquet:"last"`
}

const carriedRows = 300

func carriedFile(t testing.TB, options ...pqgo.WriterOption) ([]byte, []carriedRow) {
	t.Helper()
	rows := make([]carriedRow, carriedRows)
	for i := range rows {
		k := int64(i)
		rows[i] = carriedRow{N: k * 7, F: float64(i) / 3, Text: fmt.Sprintf("text %d", i),
			Dict: fmt.Sprintf("village %d", i%17), B: i%3 == 0, Dlt: k * k, DL: fmt.Sprintf("dl %d", i/3), List: []int64{k},
			Last: fmt.Sprintf("last %d", i)}
		if i%5 != 0 {
			rows[i].Opt = &k
		}
	}
	var buf bytes.Buffer
	w := pqgo.NewGenericWriter[carriedRow](&buf,
		append([]pqgo.WriterOption{pqgo.PageBufferSize(1000), pqgo.DataPageVersion(1)}, options...)...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), rows
}

// marker is the hidden text. apart is the same text with a zero before each byte.
var (
	marker = []byte("canary-4711-hidden")
	apart  = func() (b []byte) {
		for _, c := range marker {
			b = append(b, 0, c)
		}
		return b
	}()
)

// A footer is refused if a column's extent covers bytes outside the column. Otherwise the chunk
// would copy the page indexes into the release, with the minimum and maximum of withheld columns.
func TestEnlargedChunk(t *testing.T) {
	for _, indexed := range []bool{true, false} {
		file, _ := carriedFile(t)
		for name, edit := range map[string]func(f *footer, data int64){
			"the last chunk to the footer": func(f *footer, data int64) {
				m := &f.RowGroups[0].Columns[len(f.leaves)-1].MetaData.V
				from, _ := m.extent()
				m.TotalCompressedSize = data - from
			},
			"a chunk over the next": func(f *footer, _ int64) {
				f.RowGroups[0].Columns[1].MetaData.V.TotalCompressedSize += 30
			},
			"a chunk that ends early": func(f *footer, _ int64) {
				f.RowGroups[0].Columns[1].MetaData.V.TotalCompressedSize -= 30
			},
			"a chunk that begins early": func(f *footer, _ int64) {
				m := &f.RowGroups[0].Columns[2].MetaData.V
				m.DataPageOffset -= 30
				m.TotalCompressedSize += 30
			},
			"fewer values": func(f *footer, _ int64) { f.RowGroups[0].Columns[8].MetaData.V.NumValues-- },
			"more values":  func(f *footer, _ int64) { f.RowGroups[0].Columns[8].MetaData.V.NumValues++ },
		} {
			f, err := readFooter(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			data := f.size - 8 - int64(binary.LittleEndian.Uint32(file[len(file)-8:]))
			edit(f, data)
			if !indexed { // without the offsets of the indexes
				for i := range f.RowGroups[0].Columns {
					c := &f.RowGroups[0].Columns[i]
					*c = columnChunk{MetaData: c.MetaData}
				}
			}
			out := bytes.NewBuffer(bytes.Clone(file[:data]))
			if err := writeFooter(out, &f.fileMetaData); err != nil {
				t.Fatal(err)
			}
			if _, err := carryAll(t, out.Bytes(), release{}); err == nil || !strings.Contains(err.Error(), "in.parquet") {
				t.Errorf("%s, indexed %v: %v", name, indexed, err)
			}
		}
	}
}

// repack applies f to the uncompressed body of a page and compresses the result.
func repack(t testing.TB, codec format.CompressionCodec, p *forgedPage, f func(b []byte) []byte) {
	t.Helper()
	levels := 0 // the levels of version 2, which are not compressed
	if v2 := p.header.DataPageV2; v2.Valid {
		levels = int(v2.V.RepetitionsLength + v2.V.DefinitionsLength)
	}
	b := make([]byte, int(p.header.UncompressedSize)-levels)
	if _, err := decompress(codec, b, p.body[levels:]); err != nil {
		t.Fatal(err)
	}
	b = f(b)
	packed, err := (compressor{codec: codec, level: 1}).compress(bytes.Clone(p.body[:levels]), b)
	if err != nil {
		t.Fatal(err)
	}
	p.body, p.head = packed, nil
	p.header.UncompressedSize, p.header.CompressedSize = int32(levels+len(b)), int32(len(packed))
}

// addMarker appends the marker and its length to an uncompressed page.
func addMarker(b []byte) []byte { return append(bytes.Clone(b), marker...) }

func last(pages []forgedPage) *forgedPage { return &pages[len(pages)-1] }

// hide is a way to hide bytes in a column at a place that readers ignore.
type hide struct {
	name   string
	codec  compress.Codec
	column string
	v1     bool // only for pages of version 1
	edit   func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage
}

func hides() []hide {
	trailing := func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
		repack(t, m.Codec, last(pages), addMarker)
		return pages
	}
	var all []hide
	for _, c := range []string{"n", "f", "text", "dict", "opt", "b", "dlt", "dl", "list.list.element", "last"} {
		all = append(all, hide{"bytes behind the values of " + c, &pqgo.Uncompressed, c, false, trailing})
	}
	// A file with codec zstd or gzip; f edits the stored page.
	packed := func(f func(b []byte) []byte) func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
		return func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
			p := last(pages)
			p.body, p.head = f(p.body), nil
			p.header.CompressedSize = int32(len(p.body))
			return pages
		}
	}
	skippable := func() []byte {
		b := binary.LittleEndian.AppendUint32(nil, 0x184D2A57)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(marker))), marker...)
	}
	member := func(b []byte) []byte {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		w.Comment = string(marker)
		w.Write(b)
		w.Close()
		return buf.Bytes()
	}
	return append(all,
		hide{"a skippable frame before", &pqgo.Zstd, "n", true,
			packed(func(b []byte) []byte { return append(skippable(), b...) })},
		hide{"a skippable frame behind", &pqgo.Zstd, "text", true,
			packed(func(b []byte) []byte { return append(bytes.Clone(b), skippable()...) })},
		hide{"a comment", &pqgo.Gzip, "text", true, func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
			p := last(pages)
			b := make([]byte, p.header.UncompressedSize)
			if _, err := decompress(m.Codec, b, p.body); err != nil {
				t.Fatal(err)
			}
			p.body, p.head = member(b), nil
			p.header.CompressedSize = int32(len(p.body))
			return pages
		}},
		hide{"an empty member with a comment", &pqgo.Gzip, "n", true,
			packed(func(b []byte) []byte { return append(bytes.Clone(b), member(nil)...) })},
		hide{"statistics of other records", &pqgo.Uncompressed, "n", true,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				for i := range pages {
					var buf bytes.Buffer
					if err := marshal(&buf, &format.PageHeader{
						Type: format.DataPage, UncompressedPageSize: pages[i].header.UncompressedSize,
						CompressedPageSize: pages[i].header.CompressedSize,
						DataPageHeader: some(format.DataPageHeader{NumValues: pages[i].header.DataPage.V.NumValues,
							DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
							Statistics: format.Statistics{MaxValue: marker, MinValue: marker, Max: marker, Min: marker}}),
					}); err != nil {
						t.Fatal(err)
					}
					pages[i].head = buf.Bytes()
				}
				return pages
			}},
		hide{"an unknown field of a header", &pqgo.Snappy, "text", false,
			func(t testing.TB, _ *columnMetaData, pages []forgedPage) []forgedPage {
				p := last(pages)
				p.head = append(p.head[:len(p.head)-1], 8<<4|8, byte(len(marker))) // an unknown string field, 8 field numbers later
				p.head = append(append(p.head, marker...), 0)
				return pages
			}},
		hide{"an index page", &pqgo.Uncompressed, "n", false,
			func(_ testing.TB, _ *columnMetaData, pages []forgedPage) []forgedPage {
				h := pageHeader{Type: format.IndexPage, UncompressedSize: int32(len(marker)), CompressedSize: int32(len(marker))}
				return append(pages[:1:1], append([]forgedPage{{header: h, body: marker}}, pages[1:]...)...)
			}},
		hide{"a page of no values", &pqgo.Uncompressed, "text", true,
			func(_ testing.TB, _ *columnMetaData, pages []forgedPage) []forgedPage {
				h := last(pages).header
				h.DataPage.V.NumValues = 0
				h.UncompressedSize, h.CompressedSize = int32(len(marker)), int32(len(marker))
				return append(pages, forgedPage{header: h, body: marker})
			}},
		hide{"an entry of the dictionary that no record has", &pqgo.Zstd, "dict", false,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				repack(t, m.Codec, &pages[0], func(b []byte) []byte {
					b = binary.LittleEndian.AppendUint32(bytes.Clone(b), uint32(len(marker)))
					return append(b, marker...)
				})
				pages[0].header.DictionaryPage.V.NumValues++
				return pages
			}},
		hide{"bytes behind the dictionary", &pqgo.Uncompressed, "dict", false,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				repack(t, m.Codec, &pages[0], addMarker)
				return pages
			}},
		hide{"runs of no levels", &pqgo.Uncompressed, "opt", true,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				repack(t, m.Codec, last(pages), func(b []byte) []byte {
					levels, rest, err := levelsOf(b)
					if err != nil {
						t.Fatal(err)
					}
					levels = append(bytes.Clone(apart), levels...)
					return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...), rest...)
				})
				return pages
			}},
		hide{"levels behind the last", &pqgo.Uncompressed, "opt", true,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				repack(t, m.Codec, last(pages), func(b []byte) []byte {
					levels, rest, err := levelsOf(b)
					if err != nil {
						t.Fatal(err)
					}
					levels = append(append(bytes.Clone(levels), byte(len(marker)<<1|1)), marker...)
					return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...), rest...)
				})
				return pages
			}},
		hide{"padding of the indexes", &pqgo.Uncompressed, "dict", true,
			func(t testing.TB, m *columnMetaData, pages []forgedPage) []forgedPage {
				p := last(pages)
				n := int(p.header.DataPage.V.NumValues)
				repack(t, m.Codec, p, func(b []byte) []byte {
					index := make([]int32, n)
					if err := decodeHybrid(words[uint32](raw(index)), b[1:], int(b[0])); err != nil {
						t.Fatal(err)
					}
					bits := make([]byte, (n+7)/8+len(marker)) // one byte each
					for i, k := range index {
						bits = append(bits[:i], byte(k))
					}
					for len(bits)%8 != 0 {
						bits = append(bits, 0)
					}
					bits = append(bits, marker...)
					for len(bits)%8 != 0 {
						bits = append(bits, 0)
					}
					out := binary.AppendUvarint([]byte{8}, uint64(len(bits)/8)<<1|1)
					return append(out, bits...)
				})
				return pages
			}},
	)
}

// Bytes that readers ignore are not copied; the values are copied.
func TestHidden(t *testing.T) {
	for _, h := range hides() {
		for turn := range 4 {
			rejects, version := turn%2 == 1, 1+turn/2
			if version == 2 && h.v1 {
				continue
			}
			file, rows := carriedFile(t, pqgo.Compression(h.codec), pqgo.DataPageVersion(version))
			found := false
			forged := forge(t, file, func(_ int, l *leaf, m *columnMetaData, pages []forgedPage) []forgedPage {
				if joinPath(l.path) == h.column {
					found = true
					return h.edit(t, m, pages)
				}
				return pages
			})
			if !found || !holds(t, forged, marker) && !holds(t, forged, apart) {
				t.Fatalf("%s: nothing was hidden", h.name)
			}
			r := release{}
			if rejects {
				rows = rows[1:]
				r.layout = layoutOf([]string{"f"}, nil)
				r.mask = func(b *microdata.Block) {
					if b.First == 0 {
						b.Reject(0, "f", "a test")
					}
				}
			}
			out, err := carryAll(t, forged, r)
			if err != nil {
				t.Errorf("%s: %v", h.name, err)
				continue
			}
			if holds(t, out, marker) || holds(t, out, apart) {
				t.Errorf("%s: the release has it (rejects: %v)", h.name, rejects)
			}
			got, err := pqgo.Read[carriedRow](bytes.NewReader(out), int64(len(out)))
			if err != nil || !reflect.DeepEqual(got, rows) {
				t.Errorf("%s: the values are not those of the source: %v", h.name, err)
			}
		}
	}
}

// holds reports whether a file, as stored or with one of its pages uncompressed, contains bytes.
func holds(t testing.TB, file, what []byte) (found bool) {
	t.Helper()
	if bytes.Contains(file, what) {
		return true
	}
	forge(t, file, func(_ int, _ *leaf, m *columnMetaData, pages []forgedPage) []forgedPage {
		for _, p := range pages {
			s, err := (&page{header: p.header, body: bytes.Clone(p.body)}).uncompressed(m.Codec)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(s.buffer, what)
		}
		return pages
	})
	return found
}

// If a file is filtered, its dictionary keeps no values of dropped records, wherever in the
// dictionary they stand.
func TestUnusedEntries(t *testing.T) {
	file, _ := carriedFile(t, pqgo.Compression(&pqgo.Zstd), pqgo.PageBufferSize(1<<20))
	for _, absent := range []uint32{0, 8, 16} {
		forged := forge(t, file, func(_ int, l *leaf, m *columnMetaData, pages []forgedPage) []forgedPage {
			if l.path[0] != "dict" {
				return pages
			}
			p := last(pages)
			repack(t, m.Codec, p, func(b []byte) []byte {
				index := make([]int32, p.header.DataPage.V.NumValues)
				if err := decodeHybrid(words[uint32](raw(index)), b[1:], int(b[0])); err != nil {
					t.Fatal(err)
				}
				for i, k := range index {
					if uint32(k) == absent {
						index[i] = (k + 1) % 17
					}
				}
				out, err := (&rle.Encoding{BitWidth: 5}).EncodeInt32(nil, index)
				if err != nil {
					t.Fatal(err)
				}
				return append([]byte{5}, out...)
			})
			return pages
		})
		want, err := pqgo.Read[carriedRow](bytes.NewReader(forged), int64(len(forged)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := carryAll(t, forged, release{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 17 {
			village := fmt.Appendf(nil, "village %d", k)
			used := bytes.Contains(fmt.Append(nil, want), append(village, ' '))
			if has := holds(t, out, append(binary.LittleEndian.AppendUint32(nil, uint32(len(village))), village...)); has !=
				used {
				t.Errorf("entry %d absent: %s in the release: %v, in the records: %v", absent, village, has, used)
			}
		}
		got, err := pqgo.Read[carriedRow](bytes.NewReader(out), int64(len(out)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("entry %d absent: the values are not those of the source: %v", absent, err)
		}
	}
}

// If the fields of a group disagree about the records in which the group is null, they are refused.
// If they agree, they are accepted.
func TestFieldsDisagree(t *testing.T) {
	type inner struct {
		A *int64 `parquet:"a,optional"`
		B *int64 `parquet:"b,optional"`
	}
	type row struct {
		S *inner  `parquet:"s,optional"`
		L []inner `parquet:"l,list"`
	}
	one := int64(1)
	full := []row{{S: &inner{A: &one, B: &one}, L: []inner{{A: &one}, {B: &one}}},
		{S: &inner{A: &one, B: &one}, L: []inner{{A: &one, B: &one}}}}
	for name, other := range map[string]row{
		"no structure":  {L: []inner{{A: &one}, {B: &one}}},
		"a longer list": {S: &inner{A: &one, B: &one}, L: []inner{{A: &one}, {A: &one, B: &one}, {}}},
		"null fields":   {S: &inner{}, L: []inner{{}, {}}},
	} {
		var a, b bytes.Buffer
		for _, w := range []struct {
			to   *bytes.Buffer
			rows []row
		}{{&a, full}, {&b, []row{other, full[1]}}} {
			if err := pqgo.Write(w.to, w.rows, pqgo.DataPageVersion(1)); err != nil {
				t.Fatal(err)
			}
		}
		// The first field of both columns comes from one file, the second from the other.
		pages := map[string][]forgedPage{}
		values := map[string]int64{}
		forge(t, b.Bytes(), func(_ int, l *leaf, m *columnMetaData, p []forgedPage) []forgedPage {
			pages[joinPath(l.path)], values[joinPath(l.path)] = p, m.NumValues
			return p
		})
		file := forge(t, a.Bytes(), func(_ int, l *leaf, m *columnMetaData, p []forgedPage) []forgedPage {
			if k := joinPath(l.path); l.path[len(l.path)-1] == "b" {
				m.NumValues = values[k]
				return pages[k]
			}
			return p
		})
		_, err := carryAll(t, file, release{})
		if refused := err != nil && strings.Contains(err.Error(), "same records"); refused != (name != "null fields") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
