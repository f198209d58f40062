package parquet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// decodeAll reads every column, in Numbers form on request.
func decodeAll(numbers bool) func(*microdata.Schema) *microdata.Layout {
	return func(s *microdata.Schema) *microdata.Layout {
		l := &microdata.Layout{Schema: s}
		for i, f := range s.Fields {
			as := microdata.Array
			if numbers && f.Numeric() {
				as = microdata.Numbers
			}
			l.Read = append(l.Read, microdata.Want{Field: i, As: as})
			l.Release = append(l.Release, microdata.Output{Field: f, Source: i, Column: i, Masked: true, Decimals: -1})
		}
		return l
	}
}

// Every type, required and optional, in every encoding, codec and page version that parquet-go
// writes, keeps its values, whether it is copied, decoded as an array or decoded as a number. The
// same holds without rejected records.
func TestRoundTrip(t *testing.T) {
	racetest.Further(t)
	reject := func(b *microdata.Block) {
		for i := range b.N {
			if (b.First+int64(i))%9 == 4 {
				b.Reject(i, "f64", "a test")
			}
		}
	}
	for _, in := range inputs() {
		t.Run(in.name, func(t *testing.T) {
			path, _ := variedFile(t, in.options...)
			rows := readVaried(t, path) // empty lists and time zones in the form in which the library reads them
			var kept []varied
			for i, r := range rows {
				if i%9 != 4 {
					kept = append(kept, r)
				}
			}
			for _, c := range []struct {
				name   string
				layout func(*microdata.Schema) *microdata.Layout
				cut    connectors.Cut
				mask   func(*microdata.Block)
				sink   SinkConfig
				want   []varied
			}{
				{"carried", layoutOf(nil, nil), connectors.Cut{}, nil, SinkConfig{}, rows},
				{"arrays", decodeAll(false), connectors.Cut{Records: 100}, nil, SinkConfig{}, rows},
				{"numbers", decodeAll(true), connectors.Cut{Records: 129, Exact: true}, nil, SinkConfig{Compression: "zstd"}, rows},
				{"plain", decodeAll(true), connectors.Cut{Records: 129, Exact: true}, nil,
					SinkConfig{Compression: "none", Encoding: "plain"}, rows},
				{"carried, rejects", layoutOf([]string{"f64", "oi64"}, nil), connectors.Cut{Records: 77, Exact: true}, reject,
					SinkConfig{}, kept},
				{"arrays, rejects", decodeAll(false), connectors.Cut{Records: 77, Exact: true}, reject, SinkConfig{}, kept},
			} {
				c.sink.Path = filepath.Join(t.TempDir(), "out.parquet")
				r := release{from: SourceConfig{Path: path}, to: c.sink, layout: c.layout, cut: c.cut, mask: c.mask}
				if err := r.run(t.Context()); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				got := readVaried(t, c.sink.Path)
				if len(got) != len(c.want) {
					t.Fatalf("%s: %d rows, want %d", c.name, len(got), len(c.want))
				}
				for i := range got {
					if strings.HasPrefix(in.name, "lz4") {
						// parquet-go reads some well-compressed LZ4 pages of fixed length as zeros;
						// pyarrow reads them correctly. TestCodecs checks the codec.
						got[i].I96, c.want[i].I96 = deprecated.Int96{}, deprecated.Int96{}
						got[i].Fixed, c.want[i].Fixed = [5]byte{}, [5]byte{}
					}
					if !reflect.DeepEqual(got[i], c.want[i]) {
						t.Fatalf("%s: row %d: %s", c.name, i, difference(got[i], c.want[i]))
					}
				}
			}
		})
	}
}

// difference names the fields that differ between two rows.
func difference(got, want varied) string {
	s := ""
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			s += fmt.Sprintf("%s is %v, want %v; ", a.Type().Field(i).Name, x, y)
		}
	}
	return s
}

// Blocks have the requested lengths, wherever row groups and pages end.
func TestCuts(t *testing.T) {
	path, rows := variedFile(t, pqgo.PageBufferSize(500))
	for _, cut := range []connectors.Cut{{}, {Records: 1}, {Records: 64}, {Records: 250, Exact: true},
		{Records: 800, Exact: true}, {Records: 5000, Exact: true}} {
		src, err := (&SourceConfig{Path: path}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := src.Read(t.Context(), layoutOf([]string{"f64", "of64", "list"}, nil)(src.Schema()), cut)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for {
			raw, err := r.Next(t.Context())
			if err != nil {
				break
			}
			b := new(microdata.Block)
			if err := raw.Decode(b); err != nil {
				t.Fatal(err)
			}
			if b.First != at || cut.Records > 0 && b.N > cut.Records {
				t.Fatalf("%+v: a block of %d records at %d, want at %d", cut, b.N, b.First, at)
			}
			for i := range b.N {
				if want := rows[at+int64(i)]; b.Columns[0].Original.Values[i] != want.F64 ||
					b.Columns[1].Original.Valid.Has(i) != (want.OF64 != nil) {
					t.Fatalf("%+v: record %d is wrong", cut, at+int64(i))
				}
			}
			at += int64(b.N)
			if cut.Exact && at%int64(cut.Records) != 0 && at != int64(len(rows)) {
				t.Fatalf("%+v: a block ends at %d", cut, at)
			}
		}
		if at != int64(len(rows)) {
			t.Errorf("%+v: %d records of %d", cut, at, len(rows))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The chunks of untouched columns are the source's bytes. The chunks of masked columns contain none
// of them.
func TestSplice(t *testing.T) {
	path, _ := variedFile(t, pqgo.Compression(&pqgo.Zstd), pqgo.BloomFilters(pqgo.SplitBlockFilter(10, "f64")))
	out := filepath.Join(t.TempDir(), "out.parquet")
	r := release{
		from: SourceConfig{Path: path}, to: SinkConfig{Path: out},
		layout: layoutOf([]string{"f64", "oi64"}, []string{"low", "s"}),
		mask: func(b *microdata.Block) {
			for i := range b.Columns {
				v := b.Columns[i].Mutable().Values
				for k := range v {
					v[k] = 1e6 + v[k]
				}
			}
		},
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, fin := openFooter(t, path)
	got, fout := openFooter(t, out)
	if len(fin.RowGroups) != len(fout.RowGroups) {
		t.Fatalf("%d row groups, want %d", len(fout.RowGroups), len(fin.RowGroups))
	}
	spliced := 0
	for g := range fout.RowGroups {
		for i, l := range fout.leaves {
			k := slices.IndexFunc(fin.leaves, func(x *leaf) bool { return slices.Equal(x.path, l.path) })
			a, b := fin.RowGroups[g].Columns[k].MetaData.V, fout.RowGroups[g].Columns[i].MetaData.V
			same := slices.EqualFunc(bodies(t, in, g, fin.leaves[k], &a), bodies(t, got, g, l, &b), bytes.Equal)
			if masked := l.path[0] == "f64" || l.path[0] == "oi64"; same == masked {
				t.Errorf("%s: same bytes: %v", place(g, l), same)
			}
			if same {
				spliced++
				if a.NumValues != b.NumValues || a.Codec != b.Codec || !sameElements(a.Encoding, b.Encoding) ||
					a.Statistics.V.NullCount != b.Statistics.V.NullCount {
					t.Errorf("%s: the metadata differ: %+v and %+v", place(g, l), a, b)
				}
				if v := b.Statistics.V; v.MinValue != nil &&
					(!bytes.Equal(v.MinValue, a.Statistics.V.MinValue) || !bytes.Equal(v.MaxValue, a.Statistics.V.MaxValue)) &&
					l.phys != format.Float && l.phys != format.Double {
					t.Errorf("%s: least and greatest value differ", place(g, l))
				}
			}
			if l.path[0] == "f64" {
				if lo := words[float64](slices.Clone(b.Statistics.V.MinValue)); len(lo) != 1 || lo[0] < 9e5 {
					t.Errorf("%s: the least value is not that of the release: %v", place(g, l), lo)
				}
			}
		}
	}
	if spliced == 0 {
		t.Error("nothing was spliced")
	}
}

// bodies returns the stored bytes of a chunk's pages, without their headers.
func bodies(t *testing.T, file []byte, group int, l *leaf, m *columnMetaData) (all [][]byte) {
	t.Helper()
	p := newPages(bytes.NewReader(file), "", group, l, m)
	for p.at < p.end {
		pg, err := p.read()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pg.body)
	}
	return all
}

func sameElements(a, b []format.Encoding) bool {
	a, b = slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b)))
	return slices.Equal(a, b)
}

func openFooter(t *testing.T, path string) ([]byte, *footer) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := readFooter(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// The release does not depend on the number of workers.
func TestDeterministic(t *testing.T) {
	path, _ := variedFile(t)
	var first []byte
	for _, workers := range []int{1, 2, 7, 7, 7} {
		out := filepath.Join(t.TempDir(), "out.parquet")
		r := release{
			from: SourceConfig{Path: path}, to: SinkConfig{Path: out}, layout: decodeAll(true), cut: connectors.Cut{Records: 37},
			workers: workers,
			mask: func(b *microdata.Block) {
				if b.N > 3 {
					b.Reject(2, "", "a test")
				}
			},
		}
		if err := r.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Fatalf("with %d workers the file differs", workers)
		}
	}
}
