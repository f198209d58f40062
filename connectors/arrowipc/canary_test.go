package arrowipc

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// marked returns metadata in which an attacker has put a canary under every key.
func marked(name, description string) arrow.Metadata {
	return arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata", "pandas", "canary"},
		[]string{name, description, "canary", "canary"})
}

// hostile returns columns of six records with canaries everywhere a schema, a type or a dictionary
// has room for them. The records themselves contain "kept".
func hostile(t *testing.T) []arrow.Field {
	words := arrow.BinaryTypes.String
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true, Metadata: marked("canary.type", "canary")}
	}
	coded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: words}
	return []arrow.Field{
		{Name: "text", Type: words, Nullable: true, Metadata: marked("canary.type", "canary")},
		{Name: "uuid", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Nullable: true,
			Metadata: marked("arrow.uuid", "canary")},
		{Name: "json", Type: words, Nullable: true, Metadata: marked("arrow.json", `{"canary":1}`)},
		{Name: "list", Type: arrow.ListOfField(field("canary", words)), Nullable: true},
		{Name: "large", Type: arrow.LargeListOfField(field("canary", words)), Nullable: true},
		{Name: "sized", Type: arrow.FixedSizeListOfField(1, field("canary", words)), Nullable: true},
		{Name: "map", Type: arrow.MapOfFields(arrow.Field{Name: "canary", Type: words, Metadata: marked("canary", "canary")},
			field("canary", words)), Nullable: true},
		{Name: "struct", Type: arrow.StructOf(field("x", words), field("y", arrow.ListOfField(field("canary", words)))),
			Nullable: true},
		{Name: "coded", Type: coded, Nullable: true, Metadata: marked("canary.type", "canary")},
		{Name: "coded list", Type: arrow.ListOfField(field("canary", coded)), Nullable: true},
		{Name: "coded struct", Type: arrow.StructOf(field("x", coded)), Nullable: true},
	}
}

// hold makes a column of a type. The records selected by keep contain "kept". Every other place
// contains a canary: the other records, unused dictionary entries, and elements outside all lists.
func hold(t *testing.T, typ arrow.DataType, keep func(i int) bool) arrow.Array {
	const n = 6
	switch typ := typ.(type) {
	case *arrow.DictionaryType:
		indexes := "["
		for i := range n {
			k := 1
			if keep(i) {
				k = 2
			}
			indexes += fmt.Sprint(k, ",")
		}
		return dictionary(t, typ.IndexType, strings.TrimSuffix(indexes, ",")+"]",
			`["canary-before", "canary-of-a-record", "kept", "canary-behind", "canary-long-enough-to-be-out-of-line"]`)
	case *arrow.StructType:
		var children []arrow.ArrayData
		for _, f := range typ.Fields() {
			children = append(children, hold(t, f.Type, keep).Data())
		}
		return array.MakeFromData(array.NewData(typ, n, []*memory.Buffer{nil}, children, 0, 0))
	case *arrow.FixedSizeListType:
		return array.MakeFromData(
			array.NewData(typ, n, []*memory.Buffer{nil}, []arrow.ArrayData{hold(t, typ.Elem(), keep).Data()}, 0, 0))
	case *arrow.MapType:
		entries := array.NewData(typ.Elem(), n, []*memory.Buffer{nil},
			[]arrow.ArrayData{hold(t, typ.KeyType(), keep).Data(), hold(t, typ.ItemType(), keep).Data()}, 0, 0)
		return array.MakeFromData(array.NewData(typ, n, []*memory.Buffer{nil, offsets32(keep)}, []arrow.ArrayData{entries}, 0,
			0))
	case *arrow.ListType:
		return array.MakeFromData(
			array.NewData(typ, n, []*memory.Buffer{nil, offsets32(keep)}, []arrow.ArrayData{hold(t, typ.Elem(), keep).Data()}, 0,
				0))
	case *arrow.LargeListType:
		var at []int64
		for i := range n + 1 {
			at = append(at, int64(i))
		}
		return array.MakeFromData(
			array.NewData(typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(at))},
				[]arrow.ArrayData{hold(t, typ.Elem(), keep).Data()}, 0, 0))
	case *arrow.FixedSizeBinaryType:
		b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, typ)
		for i := range n {
			word := "canary-0123456789"
			if keep(i) {
				word = "kept-0123456789abc"
			}
			b.Append([]byte(word)[:typ.ByteWidth])
		}
		return b.NewArray()
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		if keep(i) {
			b.Append("kept")
		} else {
			b.Append("canary-of-a-record")
		}
	}
	return b.NewArray()
}

// offsets32 gives each record the element with its own number.
func offsets32(func(int) bool) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1, 2, 3, 4, 5, 6}))
}

// The output contains no bytes of a schema, its types or its dictionaries beyond the released data,
// however a column is released.
func TestHostileSchemas(t *testing.T) {
	for _, f := range hostile(t) {
		for name, keep := range map[string]func(int) bool{
			"all": func(int) bool { return true }, "some": func(i int) bool { return i%2 == 1 }, "the last": func(i int) bool {
				return i == 5
			},
		} {
			a := hold(t, f.Type, keep)
			meta := marked("canary", "canary")
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, &meta), []arrow.Array{a}, 6)
			for _, in := range []string{"in.arrow", "in.arrows"} {
				path := filepath.Join(t.TempDir(), in)
				store(t, path, []arrow.RecordBatch{rec})
				for _, r := range []release{{}, {decode: true}, {cut: connectors.Cut{Records: 2}}} {
					for _, out := range []string{"out.arrow", "out.arrows"} {
						to := filepath.Join(t.TempDir(), out)
						r.from, r.to = &SourceConfig{Path: path}, &SinkConfig{Path: to, Compression: "none"}
						r.reject = func(i int64) bool { return !keep(int(i)) }
						if err := r.run(t.Context()); err != nil {
							t.Fatalf("%s, %s: %v", f.Name, name, err)
						}
						expectNo(t, to, "canary")
						schema, batches := load(t, to)
						if text := fmt.Sprint(valuesOf(batches, f.Name)); !strings.Contains(text, "kept") && f.Name != "uuid" {
							t.Errorf("%s, %s: a kept value is missing: %s", f.Name, name, text)
						}
						want := map[string]string{"uuid": "arrow.uuid", "json": "arrow.json"}[f.Name]
						if got, _ := schema.Field(0).Metadata.GetValue("ARROW:extension:name"); got != want {
							t.Errorf("%s: the extension type is %q, want %q", f.Name, got, want)
						}
					}
				}
			}
		}
	}
}

// The description of a known extension type is released if it is one of those that the format
// defines.
func TestKnownExtensions(t *testing.T) {
	for name, descriptions := range harmless {
		for _, d := range descriptions {
			got := cleanMetadata(
				arrow.MetadataFrom(map[string]string{extensionName: name, extensionMetadata: d, "more": "canary"})).ToMap()
			if want := map[string]string{extensionName: name, extensionMetadata: d}; !maps.Equal(got, want) {
				t.Errorf("%s, %q: %v", name, d, got)
			}
		}
	}
	if keys := slices.Collect(maps.Keys(cleanMetadata(marked("arrow.opaque", "{}")).ToMap())); len(keys) > 0 {
		t.Errorf("metadata %q of an extension type with an unknown description are released", keys)
	}
}

// A time zone is a name or an offset. Other text is refused when it is read and appears in no
// error, wherever in a type it stands.
func TestTimeZones(t *testing.T) {
	zone := func(name string) arrow.DataType { return &arrow.TimestampType{Unit: arrow.Second, TimeZone: name} }
	for _, typ := range []arrow.DataType{
		zone("the canary"), zone("canary@home"), zone(strings.Repeat("canary", 8)), arrow.ListOf(zone("canary!")),
		arrow.StructOf(arrow.Field{Name: "a", Type: zone("canary,")}),
	} {
		for _, name := range []string{"in.arrow", "in.arrows"} {
			path := filepath.Join(t.TempDir(), name)
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: typ}}, nil)
			if name == "in.arrow" {
				w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			} else if err := ipc.NewWriter(f, ipc.WithSchema(schema)).Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = (&SourceConfig{Path: path}).Open(t.Context())
			if err == nil || !strings.Contains(err.Error(), "time zone") || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := FieldsOf("topic", arrow.NewSchema([]arrow.Field{{Name: "a", Type: typ}}, nil)); err == nil ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("a message: %v", err)
		}
	}
	for _, name := range []string{"", "UTC", "+01:30", "America/Argentina/Buenos_Aires", "Etc/GMT-14"} {
		if !zoned(zone(name)) {
			t.Errorf("%q is a time zone", name)
		}
	}
}
