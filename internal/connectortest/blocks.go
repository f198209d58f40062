package connectortest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// empty: a table without records is read and written.
func empty(t *testing.T, c Contract) {
	in, tab := input(t, c, 0)
	got := mustRead(t, c.Source(in))
	expect(t, got, tab, c.Typed)
	for _, v := range variants {
		out := filepath.Join(t.TempDir(), "out"+c.Ext)
		if err := v.job.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if got := mustRead(t, c.Source(out)); got.n != 0 {
			t.Errorf("%s: %d records came out of none", v.name, got.n)
		}
	}
}

// streams: the files of a folder are streams in the order of their names, and
// their records come out in that order.
func streams(t *testing.T, c Contract) {
	if !c.Folders {
		t.Skip("no folders")
	}
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{"b": 70, "a": 130, "sub/c": 5}
	for name, n := range sizes {
		write(t, c, filepath.Join(dir, name+c.Ext), NewTable(t, c, n))
	}
	src, err := c.Source(dir).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := src.Streams()
	if len(names) != 3 || !strings.Contains(names[0], "a"+c.Ext) || !strings.Contains(names[1], "b"+c.Ext) ||
		!strings.Contains(names[2], "c"+c.Ext) {
		t.Errorf("streams %q, want those of a, b, sub/c", names)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	var want []string
	for _, name := range []string{"a", "b", "sub/c"} {
		for i := range sizes[name] {
			want = append(want, fmt.Sprint(maskedValue(i)))
		}
	}
	got := mustRead(t, c.Source(dir))
	expectCells(t, maskedName, got.column(t, maskedName), want)
	for _, v := range variants {
		out := filepath.Join(t.TempDir(), "out")
		if err := v.job.run(t.Context(), c.Source(dir), c.Sink(out)); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		after := mustRead(t, c.Source(out))
		for i, f := range got.schema.Fields {
			expectCells(t, f.Name, after.column(t, f.Name), got.cells[i])
		}
	}
	expectCutBlocks(t, c, dir, []int{130, 70, 5})
}

// exactCuts: every block ends at a multiple of the cut or at the end of its
// stream, whatever blocks the file was written in.
func exactCuts(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	for _, size := range []int{1, 7, 61, 64, 299, 300, 301, 1000} {
		want := windows(0, tab.N, size)
		got, err := readAll(t.Context(), c.Source(in), connectors.Cut{Records: size, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.blocks, want) {
			t.Errorf("blocks of %d: %q, want %q", size, got.blocks, want)
		}
		expect(t, got, tab, c.Typed)
	}
}

func windows(stream, n, size int) (w []string) {
	for at := 0; at < n; at += size {
		w = append(w, fmt.Sprintf("stream %d, record %d, %d records", stream, at, min(size, n-at)))
	}
	return w
}

// expectCutBlocks: windows begin anew in every stream.
func expectCutBlocks(t *testing.T, c Contract, path string, sizes []int) {
	t.Helper()
	for _, size := range []int{9, 64, 500} {
		got, err := readAll(t.Context(), c.Source(path), connectors.Cut{Records: size, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for stream, n := range sizes {
			want = append(want, windows(stream, n, size)...)
		}
		if !slices.Equal(got.blocks, want) {
			t.Errorf("blocks of %d: %q, want %q", size, got.blocks, want)
		}
	}
}

// cuts: without Exact a block is no larger than requested, and not too small to be efficient.
func cuts(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	for _, size := range []int{0, 1, 64, 1000} {
		got, err := readAll(t.Context(), c.Source(in), connectors.Cut{Records: size})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, tab, c.Typed)
		at := int64(0)
		for _, b := range got.blocks {
			var stream int
			var first, n int64
			if _, err := fmt.Sscanf(b, "stream %d, record %d, %d records", &stream, &first, &n); err != nil {
				t.Fatal(err)
			}
			if first != at || n < 1 || size > 0 && n > int64(size) {
				t.Errorf("blocks of %d: %s, want the block that begins at %d", size, b, at)
			}
			at = first + n
		}
	}
}

// rewind: a second pass gives the same blocks and values.
func rewind(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	src, err := c.Source(in).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if !src.Rewindable() {
		t.Error("a file must be rewindable")
	}
	var blocks []string
	for pass := range 3 {
		got, err := contentOf(t.Context(), src, connectors.Cut{Records: 64})
		if err != nil {
			t.Fatalf("pass %d: %v", pass, err)
		}
		expect(t, got, tab, c.Typed)
		if pass > 0 && !slices.Equal(got.blocks, blocks) {
			t.Errorf("pass %d: blocks %q, want %q", pass, got.blocks, blocks)
		}
		blocks = got.blocks
	}
}
