package parquet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// el returns an element of a schema. Its name has the suffix ? if it is optional and * if it is
// repeated. fields is the number of its fields, or −1 for an INT64.
func el(name string, fields int32, edit ...func(e *schemaElement)) schemaElement {
	e := schemaElement{Name: strings.TrimRight(name, "?*"), RepetitionType: some(format.Required)}
	switch name[len(name)-1] {
	case '?':
		e.RepetitionType = some(format.Optional)
	case '*':
		e.RepetitionType = some(format.Repeated)
	}
	if fields >= 0 {
		e.NumChildren = some(fields)
	} else {
		e.Type = some(format.Int64)
	}
	for _, f := range edit {
		f(&e)
	}
	return e
}

func asList(e *schemaElement)    { e.LogicalType.Value = &format.ListType{} }
func asOldList(e *schemaElement) { e.ConvertedType = some[int32](convertedList) }
func asMap(e *schemaElement)     { e.LogicalType.Value = &format.MapType{} }
func asOldMap(e *schemaElement)  { e.ConvertedType = some[int32](convertedMap) }
func asKeyValue(e *schemaElement) {
	e.ConvertedType = some[int32](convertedMapKeyValue)
}

// treeText describes a tree as text: kinds and levels.
func treeText(n *node) string {
	kind := map[kind]string{leafKind: "leaf", structKind: "struct", listKind: "list", mapKind: "map"}[n.kind]
	s := fmt.Sprintf("%s:%s(%d", n.name, kind, n.def)
	if n.nullable {
		s = "?" + s
	}
	if n.kind == listKind || n.kind == mapKind {
		s += fmt.Sprintf(" %d.%d", n.elemDef, n.elemRep)
	}
	for _, c := range n.children {
		s += " " + treeText(c)
	}
	return fmt.Sprintf("%s)%d", s, len(n.elements))
}

// Schemas of every shape, including those of old writers, become the tree that the format
// (LogicalTypes.md) defines.
func TestSchemaTrees(t *testing.T) {
	for _, c := range []struct {
		name     string
		elements []schemaElement
		want     string // the columns
		leaves   string // path, levels, levels at which lists begin, groups
		typ      string // of the first column
	}{
		{"flat", []schemaElement{el("a", -1), el("b?", -1)}, "a:leaf(0)1 ?b:leaf(1)1", "a 0/0 [] []; b 0/1 [] []", "int64"},
		{"a field that repeats", []schemaElement{el("a*", -1)}, "a:list(0 1.1 a:leaf(1)1)1", "a 1/1 [1] []",
			"list<element: int64>"},
		{"a list", []schemaElement{el("l?", 1, asList), el("list*", 1), el("element?", -1)},
			"?l:list(1 2.1 ?element:leaf(3)1)3", "l.list.element 1/3 [2] [{1 0 1} {2 1 2}]", "list<element: int64, nullable>"},
		{"a list of old", []schemaElement{el("l", 1, asOldList), el("bag*", 1), el("x", -1)}, "l:list(0 1.1 x:leaf(1)1)3",
			"l.bag.x 1/1 [1] [{1 0 0} {2 1 1}]", "list<element: int64>"},
		{"a list without a group", []schemaElement{el("l?", 1, asList), el("element*", -1)},
			"?l:list(1 2.1 element:leaf(2)1)2", "l.element 1/2 [2] [{1 0 1}]", "list<element: int64>"},
		{"a list named array", []schemaElement{el("l?", 1, asList), el("array*", 1), el("x", -1)},
			"?l:list(1 2.1 array:struct(2 x:leaf(2)1)2)3", "l.array.x 1/2 [2] [{1 0 1} {2 1 2}]",
			"list<element: struct<x: int64>>"},
		{"a list named tuple", []schemaElement{el("l?", 1, asList), el("l_tuple*", 1), el("x", -1)},
			"?l:list(1 2.1 l_tuple:struct(2 x:leaf(2)1)2)3", "l.l_tuple.x 1/2 [2] [{1 0 1} {2 1 2}]",
			"list<element: struct<x: int64>>"},
		{"a list of pairs", []schemaElement{el("l?", 1, asList), el("pair*", 2), el("x", -1), el("y?", -1)},
			"?l:list(1 2.1 pair:struct(2 x:leaf(2)1 ?y:leaf(3)1)3)4",
			"l.pair.x 1/2 [2] [{1 0 1} {2 1 2}]; l.pair.y 1/3 [2] [{1 0 1} {2 1 2}]",
			"list<element: struct<x: int64, y: int64 nullable>>"},
		{"a list of what does not repeat", []schemaElement{el("l?", 1, asList), el("x", -1)}, "?l:struct(1 x:leaf(1)1)2",
			"l.x 0/1 [] [{1 0 1}]", "struct<x: int64>"},
		{"a list of two", []schemaElement{el("l", 2, asList), el("x", -1), el("y", -1)}, "l:struct(0 x:leaf(0)1 y:leaf(0)1)3",
			"l.x 0/0 [] [{1 0 0}]; l.y 0/0 [] [{1 0 0}]", "struct<x: int64, y: int64>"},
		{
			"lists of lists",
			[]schemaElement{el("l?", 1, asList), el("list*", 1), el("element?", 1, asList), el("list*", 1), el("element?", -1)},
			"?l:list(1 2.1 ?element:list(3 4.2 ?element:leaf(5)1)3)5",
			"l.list.element.list.element 2/5 [2 4] [{1 0 1} {2 1 2} {3 1 3} {4 2 4}]",
			"list<element: list<element: int64, nullable>, nullable>"},
		{"a map", []schemaElement{el("m?", 1, asMap), el("key_value*", 2), el("key", -1), el("value?", -1)},
			"?m:map(1 2.1 key:leaf(2)1 ?value:leaf(3)1)4",
			"m.key_value.key 1/2 [2] [{1 0 1} {2 1 2}]; m.key_value.value 1/3 [2] [{1 0 1} {2 1 2}]",
			"map<int64, int64, items_nullable>"},
		{"a map of old", []schemaElement{el("m", 1, asOldMap), el("map*", 2), el("key", -1), el("value", -1)},
			"m:map(0 1.1 key:leaf(1)1 value:leaf(1)1)4",
			"m.map.key 1/1 [1] [{1 0 0} {2 1 1}]; m.map.value 1/1 [1] [{1 0 0} {2 1 1}]",
			"map<int64, int64, items_non_nullable>"},
		{"a map of older", []schemaElement{el("m", 1, asKeyValue), el("map*", 2), el("key", -1), el("value", -1)},
			"m:map(0 1.1 key:leaf(1)1 value:leaf(1)1)4",
			"m.map.key 1/1 [1] [{1 0 0} {2 1 1}]; m.map.value 1/1 [1] [{1 0 0} {2 1 1}]",
			"map<int64, int64, items_non_nullable>"},
		{"a map of keys alone", []schemaElement{el("m", 1, asMap), el("keys*", 1), el("key", -1)},
			"m:struct(0 keys:list(0 1.1 keys:struct(1 key:leaf(1)1)2)2)3", "m.keys.key 1/1 [1] [{1 0 0} {2 1 1}]",
			"struct<keys: list<element: struct<key: int64>>>"},
		{"a map that does not repeat", []schemaElement{el("m", 1, asMap), el("kv", 2), el("key", -1), el("value", -1)},
			"m:struct(0 kv:struct(0 key:leaf(0)1 value:leaf(0)1)3)4",
			"m.kv.key 0/0 [] [{1 0 0} {2 0 0}]; m.kv.value 0/0 [] [{1 0 0} {2 0 0}]",
			"struct<kv: struct<key: int64, value: int64>>"},
		{"a group that repeats", []schemaElement{el("g*", 2), el("a?", -1), el("b*", -1)},
			"g:list(0 1.1 g:struct(1 ?a:leaf(2)1 b:list(1 2.2 b:leaf(2)1)1)3)3",
			"g.a 1/2 [1] [{1 1 1}]; g.b 2/2 [1 2] [{1 1 1}]",
			"list<element: struct<a: int64 nullable, b: list<element: int64>>>"},
		{"a leaf that says it has no fields",
			[]schemaElement{el("a", 0, func(e *schemaElement) { e.Type = some(format.Int64) }), el("b", -1)},
			"a:leaf(0)1 b:leaf(0)1", "a 0/0 [] []; b 0/0 [] []", "int64"},
		{"structures within structures", []schemaElement{el("s?", 2), el("t?", 1), el("x?", -1), el("y", -1)},
			"?s:struct(1 ?t:struct(2 ?x:leaf(3)1)2 y:leaf(1)1)4", "s.t.x 0/3 [] [{1 0 1} {2 0 2}]; s.y 0/1 [] [{1 0 1}]",
			"struct<t: struct<x: int64 nullable> nullable, y: int64>"},
	} {
		var roots []*node
		var leaves []*leaf
		var err error
		for columns := int32(1); columns <= int32(len(c.elements)); columns++ {
			root := schemaElement{Name: "schema", NumChildren: some(columns)}
			if roots, leaves, err = treeOf(append([]schemaElement{root}, c.elements...)); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var trees, words []string
		for _, r := range roots {
			trees = append(trees, treeText(r))
		}
		for i, l := range leaves {
			words = append(words, fmt.Sprintf("%s %d/%d %v %v", joinPath(l.path), l.maxRep, l.maxDef, l.starts, l.groups))
			if l.index != i || l.phys != format.Int64 || l.width != 8 {
				t.Errorf("%s: leaf %d: %+v", c.name, i, l)
			}
		}
		if got := strings.Join(trees, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := strings.Join(words, "; "); got != c.leaves {
			t.Errorf("%s: leaves %s, want %s", c.name, got, c.leaves)
		}
		if got := roots[0].typ.String(); got != c.typ {
			t.Errorf("%s: %s, want %s", c.name, got, c.typ)
		}
		at := 1
		for _, r := range roots {
			if len(r.elements) == 0 || !reflect.DeepEqual(r.elements, c.elements[at-1:at-1+len(r.elements)]) {
				t.Errorf("%s: column %s has different elements", c.name, r.name)
			}
			at += len(r.elements)
			if len(r.leaves) == 0 || r.flat() != (r.kind == leafKind) {
				t.Errorf("%s: column %s has no leaves", c.name, r.name)
			}
			if f := r.field(); f.Name != r.name || f.Nullable != r.nullable || !arrow.TypeEqual(f.Type, r.typ) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// Invalid schemas are refused, wherever they are truncated.
func TestSchemasThatAreNone(t *testing.T) {
	nest := func(n int) []schemaElement {
		out := []schemaElement{{NumChildren: some[int32](1)}}
		for range n {
			out = append(out, el("s", 1))
		}
		return append(out, el("x", -1))
	}
	fixed := func(n int32) []schemaElement {
		return []schemaElement{{NumChildren: some[int32](1)},
			el("x", -1, func(e *schemaElement) { e.Type, e.TypeLength = some(format.FixedLenByteArray), some(n) })}
	}
	root := func(n int32, more ...schemaElement) []schemaElement {
		return append([]schemaElement{{Name: "r", NumChildren: some(n)}}, more...)
	}
	for _, c := range []struct {
		name     string
		elements []schemaElement
		want     string
	}{
		{"nothing", nil, "the schema is empty"},
		{"a root of fewer than none", root(-1, el("a", -1)), "more fields than the schema"},
		{"a root of more", root(2, el("a", -1)), "more fields than the schema"},
		{"a root of less", root(1, el("a", -1), el("b", -1)), "outside its root"},
		{"a group of more", root(1, el("s", 2), el("a", -1)), "more fields than the schema"},
		{"a group of fewer than none", root(1, el("s", -7), el("a", -1)), ""},
		{"a group of none", root(2, el("s", 0), el("a", -1)), "a group without fields"},
		{"neither", root(1, schemaElement{Name: "x"}), "neither a type nor fields"},
		{"a group that ends too early", root(2, el("a", 1), el("s", 1)), "more fields than the schema"},
		{"a second column that is missing", root(2, el("s", 1), el("a", -1)), "ends in the middle of a group"},
		{"a list that ends too early", root(1, el("l", 1, asList), el("list*", 1)), "the schema"},
		{"a map that ends too early", root(1, el("m", 1, asMap), el("kv*", 2), el("k", -1)), "ends in the middle of a group"},
		{"a list of what is none", root(1, el("l", 1, asList), el("list*", 1), schemaElement{Name: "x"}),
			"neither a type nor fields"},
		{"a list of what has no type",
			root(1, el("l", 1, asList), schemaElement{Name: "x", RepetitionType: some(format.Repeated)}),
			"neither a type nor fields"},
		{"what repeats and is none", root(1, schemaElement{Name: "x", RepetitionType: some(format.Repeated)}),
			"neither a type nor fields"},
		{"a map of what is none", root(1, el("m", 1, asMap), el("kv*", 2), el("k", -1), schemaElement{Name: "x"}),
			"neither a type nor fields"},
		{"a structure of what is none", root(1, el("s", 1), schemaElement{Name: "x"}), "neither a type nor fields"},
		{"as deep as may be", nest(64), "-"},
		{"too deep", nest(65), "nested more than 64 deep"},
		{"no length", fixed(0), "must be between 1 and 65536, got 0"},
		{"one byte", fixed(1), "-"},
		{"as many bytes as may be", fixed(1 << 16), "-"},
		{"too many bytes", fixed(1<<16 + 1), "must be between 1 and 65536, got 65537"},
		{"a type that is none", root(1, el("x", -1, func(e *schemaElement) { e.Type = some(format.Type(8)) })),
			"unknown physical type 8"},
	} {
		if c.name == "a group of fewer than none" {
			c.elements[1] = schemaElement{Name: "s", NumChildren: some[int32](-7)}
			c.want = "more fields than the schema"
		}
		_, _, err := treeOf(c.elements)
		if c.want == "-" && err != nil || c.want != "-" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// Lists and maps count towards the maximum depth.
	for _, f := range []func(n int) []schemaElement{
		func(n int) (out []schemaElement) {
			for range n {
				out = append(out, el("l", 1, asList), el("list*", 1))
			}
			return append(out, el("x", -1))
		},
		func(n int) (out []schemaElement) {
			for range n {
				out = append(out, el("m", 1, asMap), el("kv*", 2), el("k", -1))
			}
			return append(out, el("x", -1))
		},
		func(n int) (out []schemaElement) { // lists without a group, with lists as elements
			out = append(out, el("l", 1, asList))
			for range n - 1 {
				out = append(out, el("array*", 1, asList))
			}
			return append(out, el("x*", -1))
		},
	} {
		if _, _, err := treeOf(root(1, f(64)...)); err != nil {
			t.Errorf("64 deep: %v", err)
		}
		if _, _, err := treeOf(root(1, f(200)...)); err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
			t.Errorf("200 deep: %v", err)
		}
	}
}

// Every physical type with every annotation becomes the Arrow type that the format defines. An
// annotation that does not fit the type is ignored.
func TestTypesOfLeaves(t *testing.T) {
	millis, micros, nanos := format.TimeUnit{Value: &format.MilliSeconds{}},
		format.TimeUnit{Value: &format.MicroSeconds{}}, format.TimeUnit{Value: &format.NanoSeconds{}}
	dec := func(p, s int32) format.LogicalTypeValue { return &format.DecimalType{Precision: p, Scale: s} }
	whole := func(bits int8, signed bool) format.LogicalTypeValue {
		return &format.IntType{BitWidth: bits, IsSigned: signed}
	}
	ts := func(unit format.TimeUnit, utc bool) format.LogicalTypeValue {
		return &format.TimestampType{Unit: unit, IsAdjustedToUTC: utc}
	}
	for _, c := range []struct {
		phys   format.Type
		length int32
		lt     format.LogicalTypeValue
		width  int
		want   string // begins with ! if it is an error
	}{
		{format.Boolean, 0, nil, 1, "bool"}, {format.Boolean, 0, &format.StringType{}, 1, "bool"},
		{format.Float, 0, nil, 4, "float32"}, {format.Double, 0, nil, 8, "float64"},
		{format.Int96, 0, nil, 12, "timestamp[ns, tz=UTC]"},
		{format.Int32, 0, nil, 4, "int32"}, {format.Int32, 0, whole(8, true), 4, "int8"},
		{format.Int32, 0, whole(16, true), 4, "int16"}, {format.Int32, 0, whole(32, true), 4, "int32"},
		{format.Int32, 0, whole(8, false), 4, "uint8"}, {format.Int32, 0, whole(16, false), 4, "uint16"},
		{format.Int32, 0, whole(32, false), 4, "uint32"}, {format.Int32, 0, whole(64, false), 4, "int32"},
		{format.Int32, 0, &format.DateType{}, 4, "date32"},
		{format.Int32, 0, &format.TimeType{Unit: millis}, 4, "time32[ms]"},
		{format.Int32, 0, &format.StringType{}, 4, "int32"},
		{format.Int32, 0, dec(9, 2), 4, "decimal(9, 2)"}, {format.Int32, 0, dec(10, 2), 4, "!precision 10"},
		{format.Int32, 0, dec(1, 1), 4, "decimal(1, 1)"}, {format.Int32, 0, dec(0, 0), 4, "!precision 0"},
		{format.Int32, 0, dec(3, -1), 4, "!scale -1"}, {format.Int32, 0, dec(3, 4), 4, "!scale 4"},
		{format.Int32, 0, dec(3, 0), 4, "decimal(3, 0)"},
		{format.Int64, 0, nil, 8, "int64"}, {format.Int64, 0, whole(64, true), 8, "int64"},
		{format.Int64, 0, whole(64, false), 8, "uint64"}, {format.Int64, 0, dec(18, 3), 8, "decimal(18, 3)"},
		{format.Int64, 0, dec(19, 3), 8, "!precision 19"},
		{format.Int64, 0, &format.TimeType{Unit: micros}, 8, "time64[us]"},
		{format.Int64, 0, &format.TimeType{Unit: nanos}, 8, "time64[ns]"},
		{format.Int64, 0, ts(millis, true), 8, "timestamp[ms, tz=UTC]"},
		{format.Int64, 0, ts(micros, false), 8, "timestamp[us]"},
		{format.Int64, 0, ts(nanos, true), 8, "timestamp[ns, tz=UTC]"},
		{format.ByteArray, 0, nil, 0, "binary"}, {format.ByteArray, 0, &format.StringType{}, 0, "utf8"},
		{format.ByteArray, 0, &format.EnumType{}, 0, "utf8"}, {format.ByteArray, 0, &format.JsonType{}, 0, "utf8"},
		{format.ByteArray, 0, &format.BsonType{}, 0, "binary"},
		{format.ByteArray, 0, dec(38, 2), 0, "decimal(38, 2)"}, {format.ByteArray, 0, dec(39, 2), 0, "decimal256(39, 2)"},
		{format.ByteArray, 0, dec(76, 76), 0, "decimal256(76, 76)"}, {format.ByteArray, 0, dec(77, 2), 0, "!precision 77"},
		{format.FixedLenByteArray, 5, nil, 5, "fixed_size_binary[5]"},
		{format.FixedLenByteArray, 2, &format.Float16Type{}, 2, "float16"},
		{format.FixedLenByteArray, 3, &format.Float16Type{}, 3, "fixed_size_binary[3]"},
		{format.FixedLenByteArray, 16, &format.UUIDType{}, 16, "fixed_size_binary[16]"},
		{format.FixedLenByteArray, 8, dec(18, 2), 8, "decimal(18, 2)"},
		{format.FixedLenByteArray, 32, dec(76, 0), 32, "decimal256(76, 0)"},
		{format.FixedLenByteArray, 33, dec(77, 0), 33, "!precision 77"},
	} {
		e := schemaElement{Name: "x", Type: some(c.phys), TypeLength: some(c.length)}
		e.LogicalType.Value = c.lt
		l, err := newLeaf(e, []string{"x"}, 1, 2)
		switch {
		case c.want[0] == '!':
			if err == nil || !strings.Contains(err.Error(), c.want[1:]) {
				t.Errorf("%s as %T: %v, want %s", c.phys, c.lt, err, c.want[1:])
			}
		case err != nil || l.width != c.width || l.maxRep != 1 || l.maxDef != 2 || typeName(l.typ) != c.want:
			t.Errorf("%s as %T: %v, %v, want %s", c.phys, c.lt, l, err, c.want)
		}
	}
}

func typeName(t arrow.DataType) string {
	if t.ID() == arrow.DECIMAL256 {
		return strings.Replace(t.String(), "decimal(", "decimal256(", 1)
	}
	return t.String()
}

// annotation is one that a future version of the format may have.
type annotation struct{}

func (annotation) FieldID() int16 { return 99 }
func (annotation) String() string { return "NEWER" }

// Of the annotations of an element, those that fit its type are kept.
func TestTidyElements(t *testing.T) {
	group := format.Type(-1)
	all := []format.Type{format.Boolean, format.Int32, format.Int64, format.Int96, format.Float, format.Double,
		format.ByteArray, format.FixedLenByteArray, group}
	unit := format.TimeUnit{Value: &format.MicroSeconds{}}
	for _, c := range []struct {
		lt     format.LogicalTypeValue
		length int32
		with   []format.Type
	}{
		{&format.StringType{}, 0, []format.Type{format.ByteArray}}, {&format.EnumType{}, 0, []format.Type{format.ByteArray}},
		{&format.JsonType{}, 0, []format.Type{format.ByteArray}}, {&format.BsonType{}, 0, []format.Type{format.ByteArray}},
		{&format.GeometryType{CRS: "OGC:CRS84"}, 0, []format.Type{format.ByteArray}},
		{&format.GeometryType{CRS: "the wage of N. N."}, 0, nil},
		{&format.GeographyType{CRS: ""}, 0, []format.Type{format.ByteArray}},
		{&format.GeographyType{CRS: strings.Repeat("x", 65)}, 0, nil},
		{&format.ListType{}, 0, []format.Type{group}}, {&format.MapType{}, 0, []format.Type{group}},
		{&format.VariantType{}, 0, []format.Type{group}},
		{&format.DecimalType{Precision: 3}, 0,
			[]format.Type{format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray}},
		{&format.DateType{}, 0, []format.Type{format.Int32}},
		{&format.TimeType{Unit: unit}, 0, []format.Type{format.Int32, format.Int64}}, {&format.TimeType{}, 0, nil},
		{&format.TimestampType{Unit: unit}, 0, []format.Type{format.Int64}}, {&format.TimestampType{}, 0, nil},
		{&format.IntType{BitWidth: 64}, 0, []format.Type{format.Int64}},
		{&format.IntType{BitWidth: 32}, 0, []format.Type{format.Int32}},
		{&format.IntType{BitWidth: 16}, 0, []format.Type{format.Int32}},
		{&format.IntType{BitWidth: 8}, 0, []format.Type{format.Int32}}, {&format.IntType{BitWidth: 9}, 0, nil},
		{&format.NullType{}, 0, all[:8]}, {&format.UUIDType{}, 16, []format.Type{format.FixedLenByteArray}},
		{&format.UUIDType{}, 15, nil}, {&format.Float16Type{}, 2, []format.Type{format.FixedLenByteArray}},
		{&format.Float16Type{}, 3, nil},
		{nil, 0, nil},
	} {
		for _, p := range all {
			e := schemaElement{Name: "x", TypeLength: some(c.length)}
			if p != group {
				e.Type = some(p)
			}
			e.LogicalType.Value = c.lt
			e.tidy()
			if kept := e.LogicalType.Value != nil; kept != (c.lt != nil && slices.Contains(c.with, p)) || kept &&
				!reflect.DeepEqual(e.LogicalType.Value, c.lt) {
				t.Errorf("%#v on %v: kept %v", c.lt, p, kept)
			}
		}
	}
	newer := schemaElement{Name: "x", Type: some(format.ByteArray)}
	newer.LogicalType.Value = annotation{}
	if newer.tidy(); newer.LogicalType.Value != nil {
		t.Error("an unknown annotation is kept")
	}
	for converted := int32(-1); converted <= 23; converted++ {
		for _, typed := range []bool{true, false} {
			e := schemaElement{ConvertedType: some(converted)}
			if typed {
				e.Type = some(format.Int32)
			}
			e.tidy()
			ofGroup := converted >= 1 && converted <= 3
			want := converted >= 0 && converted <= 21 && ofGroup != typed
			if e.ConvertedType.Valid != want || want && e.ConvertedType.V != converted {
				t.Errorf("converted type %d, typed %v: %+v", converted, typed, e.ConvertedType)
			}
		}
	}
	e := schemaElement{}
	if e.tidy(); e.ConvertedType != (thrift.Null[int32]{}) {
		t.Errorf("%+v", e)
	}
}

// A column is flat if each record has at most one value of it: a top-level column that is neither
// repeated nor inside an optional group.
func TestFlatLeaves(t *testing.T) {
	for _, c := range []struct {
		rep, def uint8
		path     []string
		want     bool
	}{
		{0, 0, []string{"x"}, true}, {0, 1, []string{"x"}, true},
		{0, 2, []string{"x"}, false}, {1, 1, []string{"x"}, false}, {0, 1, []string{"s", "x"}, false},
		{0, 0, []string{"s", "x"}, false}, {1, 2, []string{"l", "list", "x"}, false}, {0, 2, []string{"s", "x"}, false},
	} {
		if got := (&leaf{maxRep: c.rep, maxDef: c.def, path: c.path}).flat(); got != c.want {
			t.Errorf("levels up to %d, %d at %q: %v", c.rep, c.def, c.path, got)
		}
	}
}
