package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// entry is one entry of a leaf: its levels, and its value if it has one.
type entry struct {
	rep, def uint8
	value    any
}

func leafCount(t arrow.DataType) int {
	switch t := t.(type) {
	case *arrow.StructType:
		n := 0
		for _, f := range t.Fields() {
			n += leafCount(f.Type)
		}
		return n
	case *arrow.MapType:
		return leafCount(t.KeyType()) + leafCount(t.ItemType())
	case arrow.ListLikeType:
		return leafCount(t.Elem())
	}
	return 1
}

// dissect splits a value into entries (Melnik et al. 2010, section 4.1): the repetition level is
// that of the outermost list that continues, and the definition level is the number of optional or
// repeated levels that are present.
func dissect(f arrow.Field, v any, rep, lists, def uint8, to [][]entry) {
	if f.Nullable {
		if v == nil {
			for i := range to {
				to[i] = append(to[i], entry{rep, def, nil})
			}
			return
		}
		def++
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		at := 0
		for _, c := range t.Fields() {
			n := leafCount(c.Type)
			dissect(c, v.(map[string]any)[c.Name], rep, lists, def, to[at:at+n])
			at += n
		}
	case *arrow.MapType:
		entries := arrow.StructOf(arrow.Field{Name: "key", Type: t.KeyType()},
			arrow.Field{Name: "value", Type: t.ItemType(), Nullable: t.ItemField().Nullable})
		elements(arrow.Field{Type: entries}, v.([]any), rep, lists, def, to)
	case arrow.ListLikeType:
		elements(t.ElemField(), v.([]any), rep, lists, def, to)
	default:
		to[0] = append(to[0], entry{rep, def, v})
	}
}

func elements(f arrow.Field, vs []any, rep, lists, def uint8, to [][]entry) {
	if len(vs) == 0 {
		for i := range to {
			to[i] = append(to[i], entry{rep, def, nil})
		}
	}
	for i, v := range vs {
		if i > 0 {
			rep = lists + 1
		}
		dissect(f, v, rep, lists+1, def+1, to)
	}
}

// invent returns a random value of a type.
func invent(r *rand.Rand, f arrow.Field) any {
	if f.Nullable && r.IntN(4) == 0 {
		return nil
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		m := map[string]any{}
		for _, c := range t.Fields() {
			m[c.Name] = invent(r, c)
		}
		return m
	case *arrow.MapType:
		vs := []any{}
		for k := range r.IntN(4) {
			vs = append(vs, map[string]any{"key": fmt.Sprintf("k%d", k), "value": invent(r, t.ItemField())})
		}
		return vs
	case *arrow.FixedSizeListType:
		vs := []any{}
		for range t.Len() {
			vs = append(vs, invent(r, t.ElemField()))
		}
		return vs
	case arrow.ListLikeType:
		vs := []any{}
		for range r.IntN(4) {
			vs = append(vs, invent(r, t.ElemField()))
		}
		return vs
	case *arrow.StringType:
		return fmt.Sprintf("t%d", r.IntN(100))
	}
	return float64(r.IntN(1000))
}

func nestedTypes() []arrow.Field {
	f := func(name string, t arrow.DataType, null bool) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: null}
	}
	text, whole := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	list := func(t arrow.DataType, null bool) arrow.DataType {
		return arrow.ListOfField(f("element", t, null))
	}
	var all []arrow.Field
	for _, null := range []bool{false, true} {
		for _, inner := range []bool{false, true} {
			m := arrow.MapOf(text, whole)
			m.SetItemNullable(inner)
			nested := arrow.MapOf(text, list(whole, inner))
			nested.SetItemNullable(null)
			sub := arrow.StructOf(f("a", text, inner), f("b", whole, null))
			all = append(all,
				f("list", list(whole, inner), null), f("lists", list(list(text, inner), null), inner), f("struct", sub, null),
				f("structs", list(sub, inner), null),
				f("deep",
					arrow.StructOf(f("l", list(arrow.StructOf(f("x", list(text, inner), null), f("y", whole, true)), null), inner),
						f("s", sub, inner)), null),
				f("map", m, null), f("maps", nested, inner), f("three", list(list(list(whole, null), inner), null), null))
		}
	}
	return append(all,
		f("optional structs in structs",
			arrow.StructOf(f("a", arrow.StructOf(f("b", arrow.StructOf(f("c", whole, true)), true)), true)), true))
}

// fieldOf returns the tree of a column of an Arrow type.
func fieldOf(t testing.TB, f arrow.Field) *node {
	t.Helper()
	elements, err := elementsOf(f.Name, f.Type, f.Nullable)
	if err != nil {
		t.Fatal(err)
	}
	root := schemaElement{Name: "schema", NumChildren: some[int32](1)}
	roots, _, err := treeOf(append([]schemaElement{root}, elements...))
	if err != nil {
		t.Fatal(err)
	}
	return roots[0]
}

// Nested columns are split into the levels that the paper defines, for all records or some, and are
// reassembled from any pages to the original values.
func TestNestedColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 1))
	for _, f := range nestedTypes() {
		root := fieldOf(t, f)
		if !arrow.TypeEqual(root.typ, f.Type) || root.nullable != f.Nullable || root.flat() {
			t.Fatalf("%v becomes %s", f, root.typ)
		}
		for turn := range 30 {
			n := 1 + r.IntN(20)
			vs := make([]any, n)
			for i := range vs {
				vs[i] = invent(r, f)
			}
			text, err := json.Marshal(vs)
			if err != nil {
				t.Fatal(err)
			}
			arr, _, err := array.FromJSON(memory.DefaultAllocator, f.Type, strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			from, rows := r.IntN(n), 0
			rows = 1 + r.IntN(n-from)
			var keep []int32
			var picked []any
			for i := from; i < from+rows; i++ {
				if turn%2 == 0 || r.IntN(2) == 0 {
					keep, picked = append(keep, int32(i)), append(picked, vs[i])
				}
			}
			if turn%2 == 0 {
				keep = nil
			}
			if len(picked) == 0 {
				continue
			}
			want := make([][]entry, leafCount(f.Type))
			for _, v := range picked {
				dissect(f, v, 0, 0, 0, want)
			}
			got, err := arrayValues(root, arr, from, rows, keep)
			if err != nil {
				t.Fatal(err)
			}
			holdEntries(t, f, root, got, want)
			again := assembled(t, r, root, got, len(picked))
			wantText, err := json.Marshal(picked)
			if err != nil {
				t.Fatal(err)
			}
			expected, _, err := array.FromJSON(memory.DefaultAllocator, f.Type, strings.NewReader(string(wantText)))
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(again, expected) || again.NullN() != expected.NullN() {
				t.Fatalf("%v: %v, want %v", f, again, expected)
			}
		}
	}
}

func holdEntries(t *testing.T, f arrow.Field, root *node, got []*values, want [][]entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%v: %d leaves", f, len(got))
	}
	for k, v := range got {
		l := root.leaves[k]
		var rep, def []uint8
		var stored [][]byte
		for _, e := range want[k] {
			rep, def = append(rep, e.rep), append(def, e.def)
			switch x := e.value.(type) {
			case string:
				stored = append(stored, []byte(x))
			case float64:
				stored = append(stored, binary.LittleEndian.AppendUint64(nil, uint64(x)))
			}
		}
		if l.maxRep == 0 {
			rep = nil
		}
		if l.maxDef == 0 {
			def = nil
		}
		if !slices.Equal(v.rep, rep) || !slices.Equal(v.def, def) || v.n != len(stored) {
			t.Fatalf("%v, leaf %v: levels %v %v of %d values, want %v %v of %d", f, l.path, v.rep, v.def, v.n, rep, def,
				len(stored))
		}
		for i, b := range stored {
			if !bytes.Equal(valueAt(l, v, i), b) {
				t.Fatalf("%v, leaf %v: value %d is %x, want %x", f, l.path, i, valueAt(l, v, i), b)
			}
		}
	}
}

// assembled reassembles leaves from segments of any length. Pages of a leaf that does not repeat
// end anywhere.
func assembled(t *testing.T, r *rand.Rand, root *node, leaves []*values, rows int) arrow.Array {
	t.Helper()
	var segs [][]segment
	for k, v := range leaves {
		l := root.leaves[k]
		def := v.def
		if def == nil {
			def = make([]uint8, v.n)
		}
		u := &unit{rows: rows, v: values{n: v.n, data: v.data, offsets: v.offsets, rep: v.rep, def: def}}
		if err := u.v.finishLevels(l, rows); err != nil {
			t.Fatal(err)
		}
		var of []segment
		for at := 0; at < rows; {
			n := 1 + r.IntN(rows-at)
			of = append(of, segment{u, at, n})
			at += n
		}
		segs = append(segs, of)
	}
	out, err := nestedArray(root, rows, segs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Leaves that contradict each other or their levels are refused.
func TestNestedColumnsDisagree(t *testing.T) {
	f := func(name string, t arrow.DataType, null bool) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: null}
	}
	whole := arrow.PrimitiveTypes.Int64
	sub := arrow.StructOf(f("a", whole, true), f("b", whole, true))
	segmentOf := func(l *leaf, rows int, rep, def []uint8, n int) []segment {
		u := &unit{v: values{n: n, data: make([]byte, 8*n), rep: rep, def: def}}
		if err := u.v.finishLevels(l, rows); err != nil {
			t.Fatal(err)
		}
		return []segment{{u, 0, rows}}
	}
	lists := fieldOf(t, f("l", arrow.ListOfField(f("element", sub, false)), false))
	record := fieldOf(t, f("s", sub, true))
	single := fieldOf(t, f("s", arrow.StructOf(f("a", whole, true)), true))
	for _, c := range []struct {
		name string
		root *node
		segs func() [][]segment
		rows int
		want string
	}{
		{"as they should be", lists, func() [][]segment {
			return [][]segment{segmentOf(lists.leaves[0], 2, []uint8{0, 1, 0}, []uint8{2, 1, 0}, 1),
				segmentOf(lists.leaves[1], 2, []uint8{0, 1, 0}, []uint8{1, 2, 0}, 1)}
		}, 2, ""},
		{"a longer list", lists, func() [][]segment {
			return [][]segment{segmentOf(lists.leaves[0], 2, []uint8{0, 1, 0}, []uint8{2, 1, 0}, 1),
				segmentOf(lists.leaves[1], 2, []uint8{0, 1, 1, 0}, []uint8{1, 2, 2, 0}, 2)}
		}, 2, "the fields of column element do not have the same records"},
		{"fewer values", lists, func() [][]segment {
			s := [][]segment{segmentOf(lists.leaves[0], 2, []uint8{0, 1, 0}, []uint8{2, 2, 0}, 2),
				segmentOf(lists.leaves[1], 2, []uint8{0, 1, 0}, []uint8{1, 2, 0}, 1)}
			s[0][0].u.v.rowValues[2] = 1
			return s
		}, 2, "column l.list.element.a has fewer values than its levels say"},
		{"fewer records", record, func() [][]segment {
			return [][]segment{segmentOf(record.leaves[0], 2, nil, []uint8{2, 1}, 1),
				segmentOf(record.leaves[1], 2, nil, []uint8{2, 1}, 1)}
		}, 3, "column s has 2 records of 3"},
		{"one field with fewer", record, func() [][]segment {
			return [][]segment{segmentOf(record.leaves[0], 2, nil, []uint8{2, 1}, 1),
				segmentOf(record.leaves[1], 1, nil, []uint8{2}, 1)}
		}, 2, "the fields of column s do not have the same records"},
		{"one field", single, func() [][]segment {
			return [][]segment{segmentOf(single.leaves[0], 2, nil, []uint8{2, 0}, 1)}
		}, 2, ""},
	} {
		_, err := nestedArray(c.root, c.rows, c.segs())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// The first leaf of a list counts its elements. An element that starts outside a list is an
	// error.
	inner := fieldOf(t, f("l", arrow.ListOfField(f("element", arrow.ListOfField(f("element", whole, true)), true)), true))
	bad := segmentOf(inner.leaves[0], 1, []uint8{0, 2}, []uint8{1, 5}, 1)
	if got, err := nestedArray(inner, 1, [][]segment{bad}); err == nil && got.Len() != 1 {
		t.Errorf("%v", got)
	}
	a := assembler{
		first: 0, leaves: []levels{{def: []uint8{1, 1}, parts: []part{{&values{n: 2, data: make([]byte, 16)}, 0, 2}}}}}
	one := fieldOf(t, f("s", arrow.StructOf(f("a", whole, true)), false))
	if _, err := a.children(one, 0, 0, 3); err == nil || !strings.Contains(err.Error(), "do not have the same records") {
		t.Errorf("%v", err)
	}
	one.kind = listKind
	if _, err := a.children(one, 0, 0, 3); err == nil || !strings.Contains(err.Error(), "do not fit its records") {
		t.Errorf("%v", err)
	}
}
