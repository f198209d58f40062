package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestCarriedBytes(t *testing.T) {
	for _, c := range []struct {
		name, in      string
		mask, release []string
		types         map[string]string
		fill          bool
		want          string // "": as in the input
	}{
		{name: "untouched", in: `{"a": 1.50,  "b":"x\u00e9\/", "c":[1, {"d":null}]}` + "\n" + ` { "b" : "y" , "a" : -0.0 } ` +
			"\n", want: `{"a":1.50,"b":"x\u00e9\/","c":[1, {"d":null}]}` + "\n" + `{"a":-0.0,"b":"y"}` + "\n"},
		{name: "masked", in: `{"a": 1.5 ,"b":2}` + "\n" + `{"b":4,"a":3e0}` + "\n", mask: []string{"a"},
			want: `{"a":2.5,"b":2}` + "\n" + `{"a":4,"b":4}` + "\n"},
		{name: "null and missing", in: `{"a":1,"b":2}` + "\n" + `{"a": null ,"b":2}` + "\n" + `{"b":2}` + "\n" + "{}\n",
			mask: []string{"a"}, want: `{"a":2,"b":2}` + "\n" + `{"a":null,"b":2}` + "\n" + `{"a":null,"b":2}` + "\n" +
				`{"a":null}` + "\n"},
		{name: "null and missing, not masked", in: `{"a":1, "b":null}` + "\n" + `{ "a":1 }` + "\n", mask: []string{"a"},
			want: `{"a":2,"b":null}` + "\n" + `{"a":2}` + "\n"},
		{name: "CRLF and no line end", in: "{\"a\":1}\r\n{\"a\":2}", mask: []string{"a"}, want: "{\"a\":2}\r\n{\"a\":3}\n"},
		{name: "BOM and blank lines", in: "\xef\xbb\xbf{\"a\":1}\n\n  \n{\"a\":2}\n\r\n", want: "{\"a\":1}\n{\"a\":2}\n"},
		{name: "nested", in: `{"p":{"n":"canary","x":1},"q":{"x":2}}` + "\n", mask: []string{"p.x"},
			release: []string{"p.x", "q.x"}, want: `{"p":{"x":2},"q":{"x":2}}` + "\n"},
		{name: "nested and null", in: `{"p":{"x":1}}` + "\n" + `{"p": null}` + "\n", mask: []string{"p.x"},
			want: `{"p":{"x":2}}` + "\n" + `{"p":{"x":null}}` + "\n"},
		{name: "in turn", in: `{"p":{"x":1},"b":1,"p2":{"x":1}}` + "\n" + `{"p2":{},"p":{"x":1}}` + "\n" + `{}` + "\n",
			mask: []string{"p.x", "p2.x"},
			want: `{"p":{"x":2},"b":1,"p2":{"x":2}}` + "\n" + `{"p":{"x":2},"p2":{"x":null}}` + "\n" +
				`{"p":{"x":null},"p2":{"x":null}}` + "\n"},
		{name: "dropped first", in: `{ "id":"canary" , "a":1 }` + "\n", release: []string{"a"}, want: `{"a":1}` + "\n"},
		{name: "dropped last", in: `{"a":1 , "id":"canary" }` + "\n", release: []string{"a"}, want: `{"a":1}` + "\n"},
		{name: "dropped around", in: `{"i":"canary","j":[{"canary":1}],"a":1,"k":{"canary":2},"b":2,"l":"canary"}` + "\n",
			release: []string{"a", "b"}, want: `{"a":1,"b":2}` + "\n"},
		{name: "dropped all", in: `{"i":"canary"}` + "\n" + `{"a":1}` + "\n", release: []string{"a"},
			want: `{}` + "\n" + `{"a":1}` + "\n"},
		{name: "dropped object", in: `{"p":{"i":"canary","j":2},"a":1}` + "\n", release: []string{"a"},
			want: `{"a":1}` + "\n"},
		{name: "kept object", in: `{"p":{"i":"canary","j":2},"a":1}` + "\n", release: []string{"p.j"},
			want: `{"p":{"j":2}}` + "\n"},
		{name: "escaped name", in: `{"\u0061":1,"b\"":2}` + "\n", mask: []string{"a"}, want: `{"a":2,"b\"":2}` + "\n"},
		{name: "json", in: `{"p":{"x":1},"a":1}` + "\n" + `{"p":[1],"a":2}` + "\n", types: map[string]string{"p": "json"},
			mask: []string{"a"}, want: `{"p":{"x":1},"a":2}` + "\n" + `{"p":[1],"a":3}` + "\n"},
		{name: "filled", in: `{"a":1,"b":2}` + "\n" + `{"b":2}` + "\n" + `{"a":null}` + "\n" + `{}` + "\n",
			mask: []string{"a"}, fill: true, want: `{"a":2,"b":2}` + "\n" + `{"a":7,"b":2}` + "\n" + `{"a":7}` + "\n" +
				`{"a":7}` + "\n"},
		{name: "filled nested", in: `{"p":{"x":1,"y":{"z":1}},"b":2}` + "\n" + `{"b":2}` + "\n" + `{"p":{}}` + "\n" +
			`{"p":null}` + "\n" + `{"p":{"x":1}}` + "\n", mask: []string{"p.x", "p.y.z"}, fill: true,
			want: `{"p":{"x":2,"y":{"z":2}},"b":2}` + "\n" + `{"p":{"x":7,"y":{"z":7}},"b":2}` + "\n" +
				`{"p":{"x":7,"y":{"z":7}}}` + "\n" + `{"p":{"x":7,"y":{"z":7}}}` + "\n" + `{"p":{"x":2,"y":{"z":7}}}` + "\n"},
		{name: "filled where something is dropped", in: `{"a":1,"i":"canary"}` + "\n" + `{"i":"canary"}` + "\n",
			mask: []string{"a"}, release: []string{"a"}, fill: true, want: `{"a":2}` + "\n" + `{"a":7}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.in
			}
			for _, cut := range []connectors.Cut{{}, {Records: 1, Exact: true}} {
				res, err := job{source: SourceConfig{Types: c.types}, mask: c.mask, release: c.release, fill: c.fill,
					cut: cut}.run(t, c.in)
				if err != nil || res.out != want {
					t.Errorf("%v: got %q, %v; want %q", cut, res.out, err, want)
				}
				for line := range strings.Lines(res.out) {
					if !json.Valid([]byte(line)) {
						t.Errorf("not JSON: %q", line)
					}
				}
			}
		})
	}
}

func TestColumns(t *testing.T) {
	res, err := job{source: SourceConfig{Types: map[string]string{"day": "date", "zip": "string"}}}.run(t,
		`{"i":1,"f":1,"s":"x","b":true,"l":[1],"mixed":1,"big":9223372036854775808,"day":"2024-01-01","zip":"01","n":null,"p":{"x":1,"q":{"y":"z"}}}`+"\n"+
			`{"late":1,"f":2.5,"mixed":"x"}`+"\n")
	want := []string{"i int64", "f float64", "s utf8", "b bool", "l utf8", "mixed utf8", "big utf8", "day date32",
		"zip utf8", "n utf8", "p.x int64", "p.q.y utf8", "late int64"}
	if err != nil || !slices.Equal(res.columns, want) {
		t.Errorf("got %q, %v", res.columns, err)
	}
}

// Columns have the order of the file, however the work is divided.
func TestColumnOrder(t *testing.T) {
	var in strings.Builder
	in.WriteString(`{"z":1,"y":1}` + "\n")
	for range 300_000 {
		in.WriteString(`{"m":1,"z":1,"a":2}` + "\n")
	}
	in.WriteString(`{"b":1}` + "\n")
	for range 3 {
		res, err := job{}.run(t, in.String())
		out := strings.ReplaceAll(in.String(), `"m":1,"z":1`, `"z":1,"m":1`)
		if want := []string{"z int64", "y int64", "m int64", "a int64", "b int64"}; err != nil ||
			!slices.Equal(res.columns, want) || res.out != out {
			t.Fatalf("got %q, %v", res.columns, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	types := map[string]string{"a": "float64", "p.x": "int64", "s": "string", "d": "date"}
	good := `{"a":1,"p":{"x":1},"s":"t","d":"2024-01-01"}`
	for _, c := range []struct{ line, reject string }{
		{`{"a":1`, members.NotJSON}, {`{"a":canary}`, members.NotJSON}, {`{"a":1,}`, members.NotJSON},
		{`{"a":01}`, members.NotJSON}, {`{"a":1} x`, members.NotJSON}, {`{a:1}`, members.NotJSON},
		{`{"a":"\x"}`, members.NotJSON}, {"{\"a\":\"\t\"}", members.NotJSON}, {`{"a":tru}`, members.NotJSON},
		{`{"a":1}}`, members.NotJSON}, {`{"a":.5}`, members.NotJSON}, {`canary`, members.NotJSON},
		{`[1]`, members.NotObject}, {`"canary"`, members.NotObject}, {`1`, members.NotObject}, {`null`, members.NotObject},
		{`{"a":1,"a":2}`, "a: " + members.Twice}, {`{"a":1,"\u0061":2}`, "a: " + members.Twice},
		{`{"p":{"x":1,"x":2}}`, "p.x: " + members.Twice}, {`{"p":{},"p":{}}`, "p: " + members.Twice},
		{`{"a":{"canary":1}}`, "a: " + members.Nested}, {`{"a":[1]}`, "a: " + members.Nested},
		{`{"p":1}`, "p: " + members.NotNested}, {`{"p":"canary"}`, "p: " + members.NotNested},
		{`{"a":"canary"}`, "a: not a value of type float64"}, {`{"a":true}`, "a: not a value of type float64"},
		{`{"a":1e999}`, "a: not a value of type float64"},
		{`{"p":{"x":1.5}}`, "p.x: not a value of type int64"},
		{`{"p":{"x":9007199254740993}}`, "p.x: integer beyond 2^53, which a float64 would change"},
		{"{\"s\":\"\xff\"}", "invalid UTF-8"},
	} {
		in := good + "\n" + c.line + "\n" + good + "\n"
		res, err := job{source: SourceConfig{Types: types}, mask: []string{"a", "p.x"}}.run(t, in)
		masked := strings.ReplaceAll(good, ":1", ":2") + "\n"
		masked = strings.ReplaceAll(masked, `"2024-02-02"`, `"2024-01-01"`)
		if err != nil || res.n != 3 || len(res.rejects) != 1 ||
			strings.TrimPrefix(res.rejects[0], "2 ") != strings.TrimPrefix(": "+c.reject,
				map[bool]string{true: ": "}[strings.Contains(c.reject, ": ")]) {
			t.Errorf("%s: got %d records, %q, %v; want %q", c.line, res.n, res.rejects, err, c.reject)
			continue
		}
		if res.out != masked+masked || strings.Contains(res.rejects[0], "canary") {
			t.Errorf("%s: got %q, %q", c.line, res.out, res.rejects)
		}
	}
}

func TestTruncated(t *testing.T) {
	for _, in := range []string{"{\"a\":1}\n{\"a\":", "{\"a\":1}\n{\"a\":\"x", "{\"a\":1}\n{"} {
		_, err := job{}.run(t, in)
		var at *connectors.RecordError
		if !errors.As(err, &at) || at.Record != 2 || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%q: got %v", in, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		in, want string
		types    map[string]string
	}{
		{"{\"a\":1}\n{\"a\":{\"b\":1}}\n", "member 1 is an object in some records and not in others", nil},
		{"{\"a.b\":1,\"a\":{\"b\":1}}\n", "two members have the same path", nil},
		{"{\"a\":1}\n", "types.b: no record has such a member", map[string]string{"b": "int64"}},
		{"{\"a\":{\"b\":1}}\n", "types: a is declared, and so is a member that lies within it",
			map[string]string{"a": "json", "a.b": "int64"}},
	} {
		if _, err := (job{source: SourceConfig{Types: c.types}}).run(t, c.in); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v", c.in, err)
		}
	}
	if ps := (&SourceConfig{Path: "x", Types: map[string]string{"a": "text"}}).Check(); len(ps) != 1 {
		t.Errorf("got %v", ps)
	}
	if ps := (&SinkConfig{Compression: "x"}).Check(); len(ps) != 2 {
		t.Errorf("got %v", ps)
	}
}

func TestEmpty(t *testing.T) {
	for _, in := range []string{"", "\n\n", "\xef\xbb\xbf"} {
		res, err := job{}.run(t, in)
		if err != nil || res.n != 0 || res.out != "" {
			t.Errorf("%q: got %q, %v", in, res.out, err)
		}
	}
}

// A member that was not present when the columns were detected is never released, and neither is
// data nested in a column of single values.
func TestStdin(t *testing.T) {
	in := strings.Repeat(`{"a":1,"b":"x"}`+"\n", 1<<16+5) + `{"a":1,"new":"canary"}` + "\n" + `{"b":{"new":"canary"}}` +
		"\n" + `{"b":["canary"]}` + "\n"
	res, err := job{source: SourceConfig{Path: "-", Stdin: strings.NewReader(in)}, mask: []string{"a"}}.run(t, "")
	if err != nil || strings.Contains(res.out, "canary") || !strings.HasSuffix(res.out, "{\"a\":2}\n") ||
		len(res.rejects) != 2 {
		t.Errorf("got %q, %v, … %q", res.rejects, err, res.out[max(0, len(res.out)-100):])
	}
}

func TestCompressed(t *testing.T) {
	in := strings.Repeat(`{"a":1,"b":"x"}`+"\n", 2000)
	for _, codec := range []compress.Codec{compress.Gzip, compress.Zstd} {
		dir := t.TempDir()
		first := filepath.Join(dir, "a.jsonl"+codec.Extension())
		if _, err := (job{sink: SinkConfig{Path: first}}).run(t, in); err != nil {
			t.Fatal(err)
		}
		res, err := job{source: SourceConfig{Path: first}}.run(t, "")
		if err != nil || res.out != in {
			t.Errorf("%s: %v", codec, err)
		}
		packed, err := os.ReadFile(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(first, packed[:len(packed)-3], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (job{source: SourceConfig{Path: first}}).run(t, ""); !errors.Is(err, compress.ErrTruncated) {
			t.Errorf("%s cut off: got %v", codec, err)
		}
	}
}

// Values of other formats become valid JSON with the same meaning.
func TestFromArrow(t *testing.T) {
	mem := memory.DefaultAllocator
	fields := []struct {
		typ  arrow.DataType
		json string // of the values
		want string
	}{
		{arrow.PrimitiveTypes.Int8, `[-5, null]`, `-5 null`},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615, 0]`, `18446744073709551615 0`},
		{arrow.PrimitiveTypes.Float32, `[0.1, 1e30]`, `0.1 1e+30`},
		{arrow.BinaryTypes.String, `["a\"\u0001\n", "ü\\"]`, `"a\"\u0001\n" "ü\\"`},
		{arrow.BinaryTypes.Binary, `["AAH/", null]`, `"AAH/" null`},
		{arrow.FixedWidthTypes.Boolean, `[true, false]`, `true false`},
		{arrow.FixedWidthTypes.Date32, `["2024-02-29", "1969-12-31"]`, `"2024-02-29" "1969-12-31"`},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, `["2024-02-29T10:00:00.5Z", null]`,
			`"2024-02-29T10:00:00.5Z" null`},
		{&arrow.Decimal128Type{Precision: 6, Scale: 2}, `["1.50", "-0.05"]`, `1.50 -0.05`},
		{arrow.ListOf(arrow.PrimitiveTypes.Int64), `[[1,2], null]`, `[1,2] null`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["x", "x"]`,
			`"x" "x"`},
	}
	layout := &microdata.Layout{Schema: &microdata.Schema{}}
	var b microdata.Block
	b.Reset(0, 0, 2, len(fields))
	var want [2][]string
	for i, f := range fields {
		a, _, err := array.FromJSON(mem, f.typ, strings.NewReader(f.json))
		if err != nil {
			t.Fatal(err)
		}
		b.Columns[i].Array = a
		name := string(rune('a' + i))
		field := microdata.Field{Name: name, Type: f.typ}
		layout.Schema.Fields = append(layout.Schema.Fields, field)
		layout.Release = append(layout.Release, microdata.Output{Field: field, Source: i, Column: i})
		for r, v := range strings.Split(f.want, " ") {
			want[r] = append(want[r], `"`+name+`":`+v)
		}
	}
	snk, err := (&SinkConfig{Path: filepath.Join(t.TempDir(), "x.jsonl")}).Create(context.Background(),
		connectors.Plan{Source: other{}, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	defer snk.Abort()
	e, err := snk.Encode(&b)
	if err != nil {
		t.Fatal(err)
	}
	got := string(e.(*encoded).Buf)
	if w := "{" + strings.Join(want[0], ",") + "}\n{" + strings.Join(want[1], ",") + "}\n"; got != w {
		t.Errorf("got  %s\nwant %s", got, w)
	}
	for line := range bytes.Lines([]byte(got)) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// other is a source of another format.
type other struct{ connectors.Source }

func (other) Streams() []string { return []string{"other"} }
func (other) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: connectors.NoFiles}
}

// JSON text of another source stays JSON.
func TestFromJSONText(t *testing.T) {
	a, _, err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["[1, 2]", null]`))
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	b.Reset(0, 0, 2, 1)
	b.Columns[0].Array = a
	layout := &microdata.Layout{Schema: &microdata.Schema{}}
	for i, name := range []string{"json", "text"} {
		layout.Release = append(layout.Release,
			microdata.Output{Field: microdata.Field{Name: name, Type: arrow.BinaryTypes.String}, Source: i})
	}
	snk, err := (&SinkConfig{Path: filepath.Join(t.TempDir(), "x.jsonl")}).Create(context.Background(),
		connectors.Plan{Source: texts{}, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	defer snk.Abort()
	e, err := snk.Encode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(e.(*encoded).Buf), `{"json":[1, 2],"text":"[1, 2]"}`+"\n"+`{"json":null,"text":null}`+
		"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// texts is a source with JSON text in its first column.
type texts struct{ other }

func (texts) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: connectors.NoFiles, JSONText: func(column int) bool { return column == 0 }}
}
