package json

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

type object map[string]json.RawMessage

func parse(p []byte) object {
	var o object
	if json.Unmarshal(p, &o) != nil {
		return nil
	}
	return o
}

// FuzzDecode checks that each accepted message is an object of valid JSON in UTF-8. The released
// message must be valid and contain every listed member unchanged, except the masked ones, which are
// always there, and nothing else. If nothing is masked or cut out, it must have the same members, and
// its own bytes must stay as they are.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"id":"x","p":{"x":2,"s":3},"s":"t","k":true}`,
		"{\n  \"a\": 1.5e3,\n  \"s\": [1,{\"c\":null}],\r\n  \"k\": \"\\u00e9\\n\\ud83d\\ude00\"\n}\n", `{}`,
		` { "a" : null } `, `[]`, `{"a":1,"a":2}`,
		`{"p":null}`, `{"p":1}`, `{"a":{"b":1}}`, `{"a":-0.0,"":{}}`, `{"id":{"a":[[]]},"a":tru}`, "{\"a\":\"\xff\"}",
		`{"\u0061":1}`, `{"i":1,"j":2}`, `{"p":{"s":1},"q":[]}`, `{"k":9007199254740993}`, `{"k":"\ud800"}`,
		`{"a":9007199254740993}`, `{"a":1e999}`, `{"p":{"x":1,"id":1,"q":{}},"s":{}}`,
	} {
		f.Add([]byte(s))
	}
	released := job{columns: "a# id! p.x# p.s s k@ p.id!", drop: true, decimals: 2}.open(f)
	whole := job{columns: "a p s k id"}.open(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		if err := whole.decode(string(p)); err == nil && len(whole.block.Rejects) == 0 {
			out, _ := whole.encode(t)
			if in := parse(p); in == nil || !maps.EqualFunc(in, parse([]byte(out[0])), func(a, b json.RawMessage) bool {
				return string(a) == string(b)
			}) {
				t.Fatalf("%q becomes %q", p, out)
			}
			if err := whole.decode(out[0]); err != nil {
				t.Fatal(err)
			}
			if again, _ := whole.encode(t); again[0] != out[0] {
				t.Fatalf("%q becomes %q", out, again)
			}
		} else if unlisted := (*message.UnlistedError)(nil); err != nil && !errors.As(err, &unlisted) {
			t.Fatal(err)
		}

		if err := released.decode(string(p)); err != nil {
			t.Fatal(err)
		}
		if rejects := released.block.Rejects; len(rejects) > 0 {
			valid := json.Valid(p)
			switch rejects[0].Reason {
			case members.NotJSON:
				if valid {
					t.Fatalf("%q: %v", p, rejects)
				}
			case text.NotUTF8:
				if utf8.Valid(p) {
					t.Fatalf("%q: %v", p, rejects)
				}
			case noValue:
				if len(p) > 0 {
					t.Fatalf("%q: %v", p, rejects)
				}
			default:
				if !valid {
					t.Fatalf("%q: %v, and it is not valid JSON", p, rejects)
				}
			}
			return
		}
		in := parse(p)
		if !utf8.Valid(p) || in == nil {
			t.Fatalf("%q is accepted", p)
		}
		for _, col := range []int{0, 1} {
			if v := released.block.Columns[col].Mutable(); v.Valid.Has(0) {
				v.Values[0] = 42.25
			}
		}
		values, _ := released.encode(t)
		out := parse([]byte(values[0]))
		if out == nil {
			t.Fatalf("%q becomes %q", p, values)
		}
		same := func(in, out object, listed, masked string) {
			t.Helper()
			for name, v := range in {
				got, kept := out[name]
				switch {
				case name == masked:
					continue
				case name != masked && !strings.Contains(listed, "|"+name+"|"):
					if kept {
						t.Fatalf("%q becomes %q", p, values)
					}
					continue
				}
				if name != "p" && (!kept || string(got) != string(v)) {
					t.Fatalf("%q becomes %q", p, values)
				}
			}
			want := "null"
			if v, ok := in[masked]; ok && string(v) != "null" {
				want = "42.25"
			}
			if string(out[masked]) != want {
				t.Fatalf("%q becomes %q", p, values)
			}
			for name := range out {
				if _, ok := in[name]; !ok && name != masked && name != "p" {
					t.Fatalf("%q becomes %q", p, values)
				}
			}
		}
		same(in, out, "|s|k|p|", "a")
		same(parse(in["p"]), parse(out["p"]), "|s|", "x")
	})
}

// FuzzNumbers checks that a number is released as text that is read back as the same number.
func FuzzNumbers(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1.005, 0.1, 1e21, 1 << 53, 123456789.125, math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e-7} {
		f.Add(x, 2)
	}
	passes := map[int]*pass{}
	for d := -1; d < 23; d++ {
		passes[d] = job{columns: "a#", decimals: d}.open(f)
	}
	f.Fuzz(func(t *testing.T, x float64, decimals int) {
		p := passes[decimals]
		if p == nil {
			return
		}
		if err := p.decode(`{"a":1}`); err != nil {
			t.Fatal(err)
		}
		p.block.Columns[0].Mutable().Values[0] = x
		out, err := p.writer.Encode(context.Background(), &p.block)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ A *float64 }
		if err := json.Unmarshal(out.Values[0], &got); err != nil {
			t.Fatalf("%v becomes %s: %v", x, out.Values[0], err)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			if got.A != nil {
				t.Fatalf("%v becomes %s", x, out.Values[0])
			}
			return
		}
		if got.A == nil || *got.A != x {
			t.Fatalf("%v becomes %s", x, out.Values[0])
		}
		if x == math.Trunc(x) && math.Abs(x) < 1e21 && strings.ContainsAny(string(out.Values[0][len(`{"a":`):]), ".e") {
			t.Fatalf("the integer %v becomes %s", x, out.Values[0])
		}
		// This reader must also read the same number, if it accepts the text.
		if err := p.decode(string(out.Values[0])); err != nil {
			t.Fatal(err)
		}
		if len(p.block.Rejects) == 0 && p.block.Columns[0].Original.Values[0] != x {
			t.Fatalf("%s is read as %v", out.Values[0], p.block.Columns[0].Original.Values[0])
		}
		if len(p.block.Rejects) > 0 && math.Abs(x) <= 1<<53 {
			t.Fatalf("%s: %v", out.Values[0], p.block.Rejects)
		}
	})
}
