package parquet

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Many decoded columns make shorter blocks, according to the number of leaves read. Few columns
// change nothing, and exact blocks keep their length.
func TestBlocksOfManyColumns(t *testing.T) {
	for leaves, want := range map[int]int64{1: 65536, 16: 65536, 17: 61680, 25: 41943, 100: 10485, 128: 8192, 129: 8192,
		5000: 8192} {
		st := &stream{footer: &footer{}}
		st.NumRows, st.RowGroups = 1_000_000, []rowGroup{{NumRows: 1_000_000, Columns: make([]columnChunk, leaves)}}
		layout := &microdata.Layout{}
		for i := range leaves { // every third leaf belongs to the same column as the one before it
			l := &leaf{index: i, width: 8}
			if k := len(st.roots) - 1; i%3 == 2 {
				st.roots[k].leaves = append(st.roots[k].leaves, l)
				continue
			}
			layout.Read = append(layout.Read, microdata.Want{Field: len(st.roots)})
			st.roots = append(st.roots, &node{leaves: []*leaf{l}})
		}
		r := &reader{source: &source{streams: []*stream{st}}, layout: layout, until: -1}
		if got := r.fitting(st, &st.RowGroups[0], defaultRecords); got != want {
			t.Errorf("%d leaves: %d records, want %d", leaves, got, want)
		}
		parts := (1_000_000 + want - 1) / want
		if got := r.length(st); got != 1_000_000/parts {
			t.Errorf("%d leaves: a block of %d records in %d parts", leaves, got, parts)
		}
		if r.cut.Records = 500; r.length(st) != 500 {
			t.Errorf("%d leaves: %d records where 500 are asked for", leaves, r.length(st))
		}
		if r.cut = (connectors.Cut{Records: 50_000, Exact: true}); r.length(st) != 50_000 {
			t.Errorf("%d leaves: %d records where exactly 50,000 are asked for", leaves, r.length(st))
		}
	}
}

// small limits row groups to a number of bytes.
func small(t *testing.T, bytes int) {
	before := groupBytes
	groupBytes = bytes
	t.Cleanup(func() { groupBytes = before })
}

// groupsOf returns the numbers of rows in a file's row groups.
func groupsOf(t *testing.T, path string) (rows []int) {
	t.Helper()
	_, f := openFooter(t, path)
	for _, g := range f.RowGroups {
		rows = append(rows, int(g.NumRows))
	}
	return rows
}

// If a release has many columns and copies none, its row groups end when they have enough pages, or
// at the end of a source's row group. It contains the same records, and two attempts give the same
// bytes. If a release has few columns, or copies any, it has the source's row groups.
func TestRowGroupsOfManyColumns(t *testing.T) {
	small(t, 12<<10)
	path, _ := variedFile(t, pqgo.PageBufferSize(700))
	rows := readVaried(t, path)
	var kept []varied
	for i, r := range rows {
		if i%9 != 4 {
			kept = append(kept, r)
		}
	}
	whole := func(n int) (all []int) { // the source's row groups, without every ninth record
		at := 0
		for _, k := range groupSizes {
			left := 0
			for i := at; i < at+k; i++ {
				if n == 0 || i%9 != 4 {
					left++
				}
			}
			at += k
			all = append(all, left)
		}
		return all
	}
	for _, c := range []struct {
		name   string
		layout func(*microdata.Schema) *microdata.Layout
		cut    connectors.Cut
		mask   func(*microdata.Block)
		splits bool
	}{
		{"all decoded", decodeAll(true), connectors.Cut{Records: 20}, nil, true},
		{"exact blocks over row groups", decodeAll(false), connectors.Cut{Records: 33, Exact: true}, nil, true},
		{"without rejected records", decodeAll(true), connectors.Cut{Records: 20}, rejectNinths, true},
		{"some carried", layoutOf([]string{"f64", "i64", "list", "os", "low", "ds"}, nil), connectors.Cut{Records: 20}, nil,
			false},
		{"some carried, rejects", layoutOf([]string{"f64", "i64", "list", "os", "low", "ds"}, nil),
			connectors.Cut{Records: 20}, rejectNinths, false},
	} {
		want := rows
		sizes := whole(0)
		if c.mask != nil {
			want, sizes = kept, whole(9)
		}
		var before []byte
		for attempt := range 2 {
			out := filepath.Join(t.TempDir(), "out.parquet")
			r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: out}, layout: c.layout, cut: c.cut, mask: c.mask,
				workers: 2 + 3*attempt}
			if err := r.run(t.Context()); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if attempt > 0 && !bytes.Equal(b, before) {
				t.Errorf("%s: two attempts are not the same", c.name)
			}
			before = b
			got := readVaried(t, out)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the records are not the same", c.name)
			}
			groups := groupsOf(t, out)
			if slices.Equal(groups, sizes) == c.splits {
				t.Errorf("%s: row groups of %v where the source has %v", c.name, groups, sizes)
			}
			for _, end := range sizes { // the end of a source's row group always ends a row group of the release
				for end > 0 && len(groups) > 0 {
					end, groups = end-groups[0], groups[1:]
				}
				if end != 0 {
					t.Errorf("%s: a row group continues beyond the end of the source's", c.name)
				}
			}
		}
	}
}

// Pages that wait in a spool file give the same release as pages that wait in memory. The same
// holds if the spool file cannot be created.
func TestSpooledPages(t *testing.T) {
	path, _ := variedFile(t, pqgo.PageBufferSize(700))
	run := func(name string) []byte {
		out := filepath.Join(t.TempDir(), "out.parquet")
		r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: out}, cut: connectors.Cut{Records: 20},
			mask:   rejectNinths,
			layout: layoutOf([]string{"f64", "i64", "list", "os", "low", "ds", "oi64"}, nil)}
		if err := r.run(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	want := run("in memory")
	for _, size := range []int{1, 500, 3000} {
		small(t, size)
		if !bytes.Equal(run("in a file"), want) {
			t.Errorf("with a spool file beyond %d bytes, the release differs", size)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
	t.Setenv("TMPDIR", filepath.Join(temp, "none"))
	if !bytes.Equal(run("without a disk"), want) {
		t.Error("without a disk, the release differs")
	}
}

// If the disk is full, pages that it does not accept stay in memory. If a spooled page is lost, the
// release fails.
func TestSpoolThatFails(t *testing.T) {
	page := func(text string) *encodedPage { return &encodedPage{stored: []byte(text), buffer: []byte(text)} }
	readOnly, err := os.Open(filepath.Join(t.TempDir(), "..")) // accepts no bytes
	if err != nil {
		t.Fatal(err)
	}
	s := spool{file: readOnly}
	p := page("abc")
	g := &pendingGroup{pages: [][]*encodedPage{{p}}}
	for range 2 {
		if s.keep(g); !s.full || string(p.stored) != "abc" || p.spooled.n > 0 {
			t.Errorf("full %v, %q is kept", s.full, p.stored)
		}
	}
	if err := s.fetch(p); err != nil || string(p.stored) != "abc" {
		t.Errorf("%q, %v", p.stored, err)
	}
	if err := s.close(); err != nil || s.close() != nil {
		t.Errorf("%v", err)
	}
	one, two := page("one"), page("twice")
	g = &pendingGroup{held: 8, pages: [][]*encodedPage{{one}, nil, {two}}}
	if s.keep(g); s.full || g.held != 0 || one.stored != nil || two.spooled != (spooled{3, 5}) {
		t.Errorf("full %v, %d bytes in memory, %+v, %+v", s.full, g.held, one, two)
	}
	if err := s.fetch(two); err != nil || string(two.stored) != "twice" {
		t.Errorf("%q, %v", two.stored, err)
	}
	if err := s.file.Truncate(1); err != nil {
		t.Fatal(err)
	}
	if err := s.fetch(one); err == nil {
		t.Error("a lost page is found")
	}
	s.close()
}
