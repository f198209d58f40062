package jsonl

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// FuzzJSONL: a line is accepted if and only if encoding/json calls it valid, it is an object in
// UTF-8, and no member that is a column occurs twice or has the wrong shape. The released line is
// valid and contains released members only.
func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"id":"x","p":{"x":2,"y":3}}`, `{"a":1.5e3,"b":[1,{"c":null}],"d":"\u00e9\n\ud83d\ude00"}`, `{}`,
		` { "a" : null } `, `[]`, `{"a":1,"a":2}`,
		`{"p":null}`, `{"p":1}`, `{"a":{"b":1}}`, `{"a":-0.0,"":{}}`, `{"id":{"a":[[]]},"a":tru}`, "{\"a\":\"\xff\"}",
		`{"\u0061":1}`, `{"i":1,"j":2}`, `{"p":{"y":1},"q":[]}`,
	} {
		f.Add([]byte(s))
	}
	root := &node{}
	for _, path := range []string{"a", "id", "p.x", "p.y"} {
		n := root.at(path)
		n.kinds, n.declared = text.SeenReal, arrow.PrimitiveTypes.Float64
	}
	tr, schema, err := root.settle()
	if err != nil {
		f.Fatal(err)
	}
	src := &source{tree: tr, schema: schema}
	layout := &microdata.Layout{Schema: schema, Read: []microdata.Want{{Field: 0, As: microdata.Numbers}},
		Release: []microdata.Output{
			{Field: schema.Fields[0], Source: 0, Column: 0, Masked: true, Decimals: 2},
			{Field: schema.Fields[3], Source: 3, Column: -1},
		}}
	plan := tr.Plan(layout, true, false)
	writer, err := members.NewWriter(layout, tr, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if strings.ContainsRune(string(line), '\n') || blank(line) {
			return
		}
		c := &text.Chunk{Data: line, Records: 1}
		b := microdata.Block{}
		// A reader at another position of the stream; Decode needs only these fields.
		w := &raw{reader: &reader{source: src, layout: layout, plan: plan}, chunk: c}
		if err := w.Decode(&b); err != nil {
			t.Fatal(err)
		}
		reason := ""
		if len(b.Rejects) > 0 {
			reason = b.Rejects[0].Reason
		}
		valid := json.Valid(line)
		var content map[string]json.RawMessage
		object := json.Unmarshal(line, &content) == nil && content != nil
		switch reason {
		case "":
			if !valid || !object || !utf8.Valid(line) {
				t.Fatalf("%q is accepted", line)
			}
		case text.NotUTF8:
			if utf8.Valid(line) {
				t.Fatalf("%q: %s", line, reason)
			}
		case members.NotJSON:
			if valid {
				t.Fatalf("%q: %s", line, reason)
			}
		default:
			if !valid {
				t.Fatalf("%q: %s, and it is not valid JSON", line, reason)
			}
		}
		if reason != "" {
			return
		}
		v := b.Columns[0].Mutable()
		if v.Valid.Has(0) {
			v.Values[0] = 42.25
		}
		snk := &sink{config: &SinkConfig{}, writer: writer, carried: true}
		e, err := snk.Encode(&b)
		if err != nil {
			t.Fatal(err)
		}
		out := e.(*encoded).Buf
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q becomes %q: %v", line, out, err)
		}
		for name, value := range got {
			switch name {
			case "a":
				if value != nil && value != 42.25 {
					t.Fatalf("%q becomes %q", line, out)
				}
			case "p":
				for name := range inner(value) {
					if name != "y" {
						t.Fatalf("%q becomes %q", line, out)
					}
				}
			default:
				t.Fatalf("%q becomes %q", line, out)
			}
		}
	})
}

func inner(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
