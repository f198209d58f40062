package connectortest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// expect compares what was read with the table, but for the columns left out.
func expect(t *testing.T, got *content, want *Table, typed bool, without ...string) {
	t.Helper()
	cells := want.cells()
	var names []string
	for i, f := range want.Schema.Fields {
		if slices.Contains(without, f.Name) {
			continue
		}
		names = append(names, f.Name)
		k := got.schema.Index(f.Name)
		if k < 0 {
			if want.N == 0 && !typed {
				continue
			}
			t.Fatalf("no column %s among %q", f.Name, got.schema.Names())
		}
		if want.N > 0 || typed {
			expectType(t, got.schema.Fields[k], f, typed)
		}
		expectCells(t, f.Name, got.cells[k], cells[i])
	}
	if want.N > 0 || typed {
		if !slices.Equal(got.schema.Names(), names) {
			t.Errorf("columns %q, want %q", got.schema.Names(), names)
		}
	}
}

func expectType(t *testing.T, got, want microdata.Field, typed bool) {
	t.Helper()
	if typed && !arrow.TypeEqual(got.Type, want.Type) {
		t.Errorf("column %s is of type %s, want %s", want.Name, got.Type, want.Type)
	}
	if got.Numeric() != want.Numeric() {
		t.Errorf("column %s of %s became %s", want.Name, want.Type, got.Type)
	}
}

func expectCells(t *testing.T, column string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Errorf("column %s has %d records, want %d", column, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("column %s, record %d: %q, want %q", column, i, got[i], want[i])
			return
		}
	}
}

func mustRead(t *testing.T, from connectors.SourceConfig) *content {
	t.Helper()
	got, err := readAll(t.Context(), from, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// variants are the ways in which a job can go about a column that is not masked.
var variants = []struct {
	name string
	job  job
}{
	{"carried", job{carry: true}},
	{"carried in blocks", job{carry: true, cut: connectors.Cut{Records: 64}}},
	{"carried in windows", job{carry: true, cut: connectors.Cut{Records: 50, Exact: true}}},
	{"decoded", job{}},
	{"decoded in blocks", job{cut: connectors.Cut{Records: 37}}},
	{"decoded in windows, one worker", job{cut: connectors.Cut{Records: 11, Exact: true}, ordered: true}},
}

// roundTrip: all values and types, in order, come out as they went in.
func roundTrip(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	expect(t, mustRead(t, c.Source(in)), tab, c.Typed)
	for _, v := range variants {
		out := filepath.Join(t.TempDir(), "out"+c.Ext)
		if err := v.job.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		got := mustRead(t, c.Source(out))
		t.Run(v.name, func(t *testing.T) { expect(t, got, tab, c.Typed) })
	}
}

// double is the mask of the checks.
func double(_ *microdata.Block, c *microdata.Column) {
	v := c.Mutable()
	for i := range v.Values {
		v.Values[i] *= 2
	}
}

// masked: the masked column is changed and no other; nothing of a masked
// column's original values or of a dropped column is in the output's bytes.
func masked(t *testing.T, c Contract) {
	in, tab := input(t, c, 300)
	for _, v := range variants {
		out := filepath.Join(t.TempDir(), "out"+c.Ext)
		v.job.mask, v.job.drop = double, []string{secretName}
		if err := v.job.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		got := mustRead(t, c.Source(out))
		for i, s := range got.column(t, maskedName) {
			if want := fmt.Sprint(2 * maskedValue(i)); s != want {
				t.Fatalf("%s: record %d: %s, want %s", v.name, i, s, want)
			}
		}
		expect(t, got.less(maskedName), tab, c.Typed, secretName, maskedName)
		raw := bytesOf(t, out, "")
		for i := range 300 {
			original := binary.LittleEndian.AppendUint64(nil, math.Float64bits(maskedValue(i)))
			if bytes.Contains(raw, original) || bytes.Contains(raw, []byte(fmt.Sprint(maskedValue(i)))) {
				t.Fatalf("%s: the output holds the original value of record %d", v.name, i)
			}
			if bytes.Contains(raw, []byte(secretValue(i))) {
				t.Fatalf("%s: the output holds the withheld value of record %d", v.name, i)
			}
		}
	}
}

// less returns the content without a column.
func (c *content) less(name string) *content {
	i := c.schema.Index(name)
	out := *c
	out.schema = &microdata.Schema{Fields: slices.Delete(slices.Clone(c.schema.Fields), i, i+1)}
	out.cells = slices.Delete(slices.Clone(c.cells), i, i+1)
	return &out
}

// rejected: rejected records are not in the output, in no column, nor in its
// bytes.
func rejected(t *testing.T, c Contract) {
	in, _ := input(t, c, 300)
	all := mustRead(t, c.Source(in))
	for _, bad := range []func(i int64) bool{
		func(i int64) bool { return i == 0 },
		func(i int64) bool { return i%7 == 3 },
		func(i int64) bool { return i >= 40 && i < 140 },
		func(int64) bool { return true },
	} {
		for _, v := range variants {
			out := filepath.Join(t.TempDir(), "out"+c.Ext)
			v.job.mask = func(b *microdata.Block, col *microdata.Column) {
				double(b, col)
				for i := range b.N {
					if bad(b.First + int64(i)) {
						b.Reject(i, maskedName, "is rejected by the test")
						b.Reject(i, "", "is rejected twice")
					}
				}
			}
			if err := v.job.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			expectKept(t, c, v.name, all, out, bad)
		}
	}
}

func expectKept(t *testing.T, c Contract, variant string, all *content, out string, bad func(i int64) bool) {
	t.Helper()
	got := mustRead(t, c.Source(out))
	for k, f := range all.schema.Fields {
		var want []string
		for i, s := range all.cells[k] {
			if bad(int64(i)) {
				continue
			}
			if f.Name == maskedName {
				s = fmt.Sprint(2 * maskedValue(i))
			}
			want = append(want, s)
		}
		if len(want) > 0 {
			expectCells(t, f.Name, got.column(t, f.Name), want)
		} else if got.n > 0 {
			t.Fatalf("%s: %d records are left", variant, got.n)
		}
	}
	raw := bytesOf(t, out, "")
	for i := range all.n {
		if bad(int64(i)) && bytes.Contains(raw, []byte(secretValue(i))) {
			t.Fatalf("%s: the output holds a value of the rejected record %d", variant, i)
		}
	}
}

// fromMemory: a source of another kind can be written, all columns decoded.
func fromMemory(t *testing.T, c Contract) {
	tab := NewTable(t, c, 100)
	out := filepath.Join(t.TempDir(), "out"+c.Ext)
	j := job{carry: true, cut: connectors.Cut{Records: 33}}
	if c.Sink(out).Carries(&memorySource{&memoryConfig{tab, 0}}) {
		t.Fatal("the sink claims to carry the columns of a source that is not its own")
	}
	if err := j.run(t.Context(), tab.Config(0), c.Sink(out)); err != nil {
		t.Fatal(err)
	}
	expect(t, mustRead(t, c.Source(out)), tab, c.Typed)
}
