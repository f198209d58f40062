package connectortest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Spelling is a part of the contract, to be run also with a Write that spells the same values and
// nulls in several ways: the bytes of a release depend on the released values alone, whatever a masked column
// was before. Two sources differ in columns of every type: the one has the values that are
// released; the other has values where those are missing, misses values that are released, and has
// others, and masks make the former of them. The two releases must be the same bytes. So none
// shows which cells a mask has set missing or changed: not by the text of a cell, the bytes under a
// null, statistics, or a dictionary.
func Spelling(t *testing.T, c Contract) {
	if !c.Nulls {
		t.Skip("the format has no missing values: there is no spelling of them")
	}
	const n = 200
	want := NewTable(t, c, n)
	other := disguised(t, c, want)
	masks := map[string]func(*microdata.Block, *microdata.Column){}
	for i, f := range want.Schema.Fields {
		if f.Nullable && i < 2+2*len(c.Types) {
			masks[f.Name] = become(want.Columns[i])
		}
	}
	idle := map[string]func(*microdata.Block, *microdata.Column){}
	for name := range masks {
		idle[name] = func(*microdata.Block, *microdata.Column) {}
	}
	release := func(from *Table, masks map[string]func(*microdata.Block, *microdata.Column), v job) []byte {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"+c.Ext), filepath.Join(dir, "out"+c.Ext)
		write(t, c, in, from)
		v.masks, v.drop = masks, []string{secretName}
		if err := v.run(t.Context(), c.Source(in), c.Sink(out)); err != nil {
			t.Fatal(err)
		}
		return bytesOf(t, out, "")
	}
	for _, v := range variants {
		same := release(want, idle, v.job)
		for name, got := range map[string][]byte{
			"masks that set the values which are there": release(want, masks, v.job),
			"masks that change values":                  release(other, masks, v.job),
		} {
			if !bytes.Equal(got, same) {
				at := 0
				for at < min(len(got), len(same)) && got[at] == same[at] {
					at++
				}
				t.Fatalf("%s: %s give other bytes from %d on: %q, and without them %q", v.name, name, at, around(got, at),
					around(same, at))
			}
		}
	}
}

func around(p []byte, at int) []byte { return p[max(at-40, 0):min(at+40, len(p))] }

// disguised returns a copy of a table in which some of the cells that may be missing are different.
func disguised(t *testing.T, c Contract, tab *Table) *Table {
	t.Helper()
	out := &Table{Schema: tab.Schema, N: tab.N, Columns: append([]arrow.Array(nil), tab.Columns...)}
	for i, dt := range c.Types {
		k := tab.Schema.Index(fmt.Sprintf("c%d", i))
		b, value := array.NewBuilder(memory.DefaultAllocator, dt), cell(dt)
		for row := range tab.N {
			switch missing := row%5 == 3; {
			case row%7 == 4 && !missing, missing && row%2 == 0:
				b.AppendNull()
			case row%11 == 2:
				if err := b.AppendValueFromString(value(row + 1)); err != nil {
					t.Fatal(err)
				}
			default:
				if err := b.AppendValueFromString(value(row)); err != nil {
					t.Fatal(err)
				}
			}
		}
		out.Columns[k] = b.NewArray()
	}
	return out
}

// become is a mask that gives a column the values of another one.
func become(to arrow.Array) func(*microdata.Block, *microdata.Column) {
	return func(b *microdata.Block, c *microdata.Column) {
		part := array.NewSlice(to, b.First, b.First+int64(b.N))
		if c.Array != nil {
			c.ReleasedArray = part
			return
		}
		var numbers microdata.Column
		microdata.NumbersOf(part, &numbers)
		v := c.Mutable()
		copy(v.Values, numbers.Original.Values)
		v.Valid = append(microdata.Bitmap(nil), numbers.Original.Valid...)
		if numbers.Original.Valid == nil {
			v.Valid = nil
		}
	}
}
