package json

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// columns reads a list such as "a# b c! p.x#": # holds numbers, ! is an
// identifier, @ identifies.
func columns(list string) (out []message.Column) {
	for word := range strings.FieldsSeq(list) {
		c := message.Column{Name: strings.TrimRight(word, "#!@")}
		for _, mark := range word[len(c.Name):] {
			switch mark {
			case '#':
				c.Number = true
			case '!':
				c.Withheld = true
			case '@':
				c.Identity = true
			}
		}
		out = append(out, c)
	}
	return out
}

// job is a pass from JSON to JSON. Columns of numbers are masked unless they are in fixed.
type job struct {
	columns  string
	drop     bool // unlisted members
	fixed    []string
	moved    []string // text columns with values moved down by one record
	fill     bool     // masked columns without a value get 7
	decimals int
	measured bool
}

func (j job) layout(s *microdata.Schema) *microdata.Layout {
	l := &microdata.Layout{Schema: s}
	for i, c := range columns(j.columns) {
		o := microdata.Output{Field: s.Fields[i], Source: i, Column: -1, Decimals: j.decimals}
		switch {
		case c.Number && j.measured:
			l.Read = append(l.Read, microdata.Want{Field: i, Measured: true})
		case c.Number && !slices.Contains(j.fixed, c.Name):
			o.Masked, o.Column = true, len(l.Read)
			l.Read = append(l.Read, microdata.Want{Field: i})
		case c.Identity || slices.Contains(j.moved, c.Name):
			o.Masked = slices.Contains(j.moved, c.Name)
			o.Column = len(l.Read)
			l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Array})
		}
		if !c.Withheld {
			l.Release = append(l.Release, o)
		}
	}
	return l
}

type pass struct {
	job
	layout  *microdata.Layout
	decoder message.Decoder
	writer  message.Writer
	block   microdata.Block
}

func (j job) open(t testing.TB) *pass {
	t.Helper()
	ctx := context.Background()
	c := &Config{}
	if ps := c.Check(); len(ps) > 0 {
		t.Fatal(ps)
	}
	r, err := c.Reader(ctx, message.Request{Topics: []string{"survey"}, Columns: columns(j.columns), DropUnlisted: j.drop})
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{job: j, layout: j.layout(r.Schema())}
	if p.writer, err = c.Writer(ctx, message.WriteRequest{Topic: "released", Layout: p.layout, Reader: r}); err != nil {
		t.Fatal(err)
	}
	if p.decoder, err = r.Decoder(p.layout, p.writer.Carries()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pass) decode(values ...string) error {
	run := &message.Run{Scope: "survey", Stream: 1<<16 | 3}
	for i, v := range values {
		run.Offsets = append(run.Offsets, int64(100+10*i))
		if v == "" {
			run.Values = append(run.Values, nil)
		} else {
			run.Values = append(run.Values, []byte(v))
		}
	}
	return p.decoder.Decode(context.Background(), &p.block, run)
}

// mask adds 1 to numbers and moves the values of the columns in moved.
func (p *pass) mask() {
	for _, o := range p.layout.Release {
		if !o.Masked {
			continue
		}
		col := &p.block.Columns[o.Column]
		if a := col.Array; a != nil {
			n := int64(a.Len())
			moved, err := array.Concatenate([]arrow.Array{array.NewSlice(a, n-1, n), array.NewSlice(a, 0, n-1)},
				memory.DefaultAllocator)
			if err != nil {
				panic(err)
			}
			col.ReleasedArray = moved
			continue
		}
		v := col.Mutable()
		for i := range v.Values {
			if v.Valid.Has(i) {
				v.Values[i]++
			} else if p.fill {
				v.Values[i] = 7
			}
		}
		if p.fill {
			v.Valid = nil
		}
	}
}

func (p *pass) encode(t testing.TB) (out []string, source []int32) {
	t.Helper()
	rel, err := p.writer.Encode(context.Background(), &p.block)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range rel.Values {
		if len(v) != cap(v) {
			t.Errorf("value %d has room for %d bytes more: a producer that appends would write into the next", i, cap(v)-len(v))
		}
		out = append(out, string(v))
	}
	return out, rel.Source
}

func TestCarry(t *testing.T) {
	for _, c := range []struct {
		name string
		job
		in, want []string // want nil: equal to in
	}{
		{name: "untouched", job: job{columns: "a b c", decimals: 2},
			in:   []string{`{"a": 1.50,  "b":"x\u00e9\/", "c":[1, {"d":null}]}`, " \n{ \"b\" : \"y\" ,\n\t\"a\" : -0.0 }\r\n"},
			want: []string{`{"a":1.50,"b":"x\u00e9\/","c":[1, {"d":null}]}`, `{"a":-0.0,"b":"y"}`}},
		{name: "masked", job: job{columns: "a# b", decimals: 2},
			in:   []string{"{\n  \"a\": 1.5 ,\n  \"b\": 2\n}", `{"b":4,"a":3e0}`, `{"a": null ,"b":2}`, `{"b":2}`, `{}`},
			want: []string{`{"a":2.5,"b":2}`, `{"a":4,"b":4}`, `{"a":null,"b":2}`, `{"a":null,"b":2}`, `{"a":null}`}},
		{name: "integers stay integers", job: job{columns: "a#"},
			in:   []string{`{"a":1}`, `{"a":1e3}`, `{"a":9007199254740990}`, `{"a":-1}`, `{"a":2.0}`},
			want: []string{`{"a":2}`, `{"a":1001}`, `{"a":9007199254740991}`, `{"a":0}`, `{"a":3}`}},
		{name: "withheld", job: job{columns: "id! a p.n! p.x"},
			in:   []string{`{"id":"canary" , "a":1,"p":{"n":{"canary":1},"x":2}}`, `{"a":1,"id":[]}`, `{"id":1}`},
			want: []string{`{"a":1,"p":{"x":2}}`, `{"a":1}`, `{}`}},
		{name: "unlisted", job: job{columns: "a p.x", drop: true},
			in:   []string{`{"canary":1,"a":1,"p":{"canary":{"x":1},"x":[2]},"q":{"canary":2}}`},
			want: []string{`{"a":1,"p":{"x":[2]}}`}},
		{name: "below a listed one", job: job{columns: "p"}, in: []string{`{"p":{"x":{"y":[1]}}}`, `{"p":7}`}},
		{name: "nested and masked", job: job{columns: "p.x# p.y b"},
			in:   []string{`{"p": {"y":"u" , "x":1},"b":2}`, `{"p":null}`},
			want: []string{`{"p":{"x":2,"y":"u"},"b":2}`, `{"p":{"x":null}}`}},
		{name: "escaped name", job: job{columns: `a# b"`}, in: []string{`{"\u0061":1,"b\"":2}`},
			want: []string{`{"a":2,"b\"":2}`}},
		{name: "other orders", job: job{columns: "a# b c# d"},
			in: []string{`{"d":1,"c":2,"b":3,"a":4}`, `{"d":1,"c":2,"b":3,"a":4}`, `{"a":4,"d":1}`, `{"c":1,"b":2}`},
			want: []string{`{"a":5,"b":3,"c":3,"d":1}`, `{"a":5,"b":3,"c":3,"d":1}`, `{"a":5,"c":null,"d":1}`,
				`{"a":null,"b":2,"c":2}`}},
		{name: "filled", job: job{columns: "p.x# a# b", fill: true},
			in:   []string{`{"b":2 }`, `{"p":null,"a": null}`, `{"p":{}}`},
			want: []string{`{"p":{"x":7},"a":7,"b":2}`, `{"p":{"x":7},"a":7}`, `{"p":{"x":7},"a":7}`}},
		{name: "moved", job: job{columns: "a b", moved: []string{"b"}},
			in: []string{`{"a":1,"b":"x\u0041"}`, `{"a":2,"b": [1, 2] }`, `{"a":3}`, `{"a":4,"b":null}`, `{"a":5,"b":1.50}`},
			want: []string{`{"a":1,"b":1.50}`, `{"a":2,"b":"x\u0041"}`, `{"a":3,"b":[1, 2]}`, `{"a":4,"b":null}`,
				`{"a":5,"b":null}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == nil {
				want = c.in
			}
			p := c.open(t)
			for range 2 { // the block and its carried values are reused
				if err := p.decode(c.in...); err != nil {
					t.Fatal(err)
				}
				b := &p.block
				if b.N != len(c.in) || len(b.Rejects) > 0 || b.Scope != "survey" || b.Stream != 1<<16|3 || b.First != 100 ||
					b.Place(b.N-1) != int64(90+10*b.N) {
					t.Fatalf("got %+v", b)
				}
				p.mask()
				got, source := p.encode(t)
				if !slices.Equal(got, want) {
					t.Errorf("got  %q\nwant %q", got, want)
				}
				for i, s := range source {
					if int(s) != i {
						t.Errorf("value %d is said to be of message %d", i, s)
					}
				}
			}
		})
	}
}

func TestRejects(t *testing.T) {
	deep := strings.Repeat(`[`, 10_001) + strings.Repeat(`]`, 10_001)
	p := job{columns: "a# id! p.x# p.id! s k@", drop: true, decimals: 2}.open(t)
	good := `{"a":1,"id":"i","p":{"x":1},"s":"t"}`
	for _, c := range []struct{ value, column, reason string }{
		{``, "", noValue},
		{` `, "", members.NotJSON}, {`{"a":1`, "", members.NotJSON}, {`{"a":canary}`, "", members.NotJSON},
		{`{"a":1,}`, "", members.NotJSON}, {`{"a":01}`, "", members.NotJSON},
		{`{"a":1} canary`, "", members.NotJSON}, {`{a:1}`, "", members.NotJSON}, {`{"a":"\x"}`, "", members.NotJSON},
		{"{\"a\":\"canary\t\"}", "", members.NotJSON}, {`{"a":NaN}`, "", members.NotJSON},
		{`{"a":-Infinity}`, "", members.NotJSON}, {`{"a":1}{"a":2}`, "", members.NotJSON},
		{"{\"a\":1}\n{\"a\":2}", "", members.NotJSON}, {`{"s":` + deep + `}`, "", members.NotJSON},
		{`{"other":` + deep + `}`, "", members.NotJSON},
		{"\xef\xbb\xbf{}", "", members.NotJSON}, {"{\"a\":1}\x00", "", members.NotJSON},
		{`["canary"]`, "", members.NotObject}, {` "canary" `, "", members.NotObject}, {`1`, "", members.NotObject},
		{`null`, "", members.NotObject},
		{"{\"s\":\"\xffcanary\"}", "", text.NotUTF8}, {"{\"canary\xc3\":1}", "", text.NotUTF8},
		{"{\"other\":\"\xed\xa0\x80\"}", "", text.NotUTF8}, {"{\"a\":1}\xc3", "", text.NotUTF8},
		{"\xa9{\"a\":1}", "", text.NotUTF8},
		{`{"a":1,"a":2}`, "a", members.Twice}, {`{"a":1,"\u0061":2}`, "a", members.Twice},
		{`{"id":"canary","a":1,"id":"canary"}`, "id", members.Twice},
		{`{"p":{"id":"canary","i\u0064":1}}`, "p.id", members.Twice},
		{`{"p":{},"p":{}}`, "p", members.Twice}, {`{"p":null,"p":{"x":1}}`, "p", members.Twice},
		{`{"s":1,"other":2,"s":1}`, "s", members.Twice},
		{`{"a":{"canary":1}}`, "a", members.Nested}, {`{"a":["canary"]}`, "a", members.Nested},
		{`{"k":["canary"]}`, "k", members.Nested}, {`{"p":"canary"}`, "p", members.NotNested},
		{`{"p":[1]}`, "p", members.NotNested},
		{`{"a":"12345"}`, "a", "not a value of type float64"}, {`{"a":true}`, "a", "not a value of type float64"},
		{`{"p":{"x":"canary"}}`, "p.x", "not a value of type float64"},
		{`{"a":1e999}`, "a", members.TooBig}, {`{"a":-1` + strings.Repeat("0", 400) + `}`, "a", members.TooBig},
		{`{"a":9007199254740993}`, "a", text.TooWide}, {`{"a":-9223372036854775809}`, "a", text.TooWide},
		{`{"k":1e999}`, "k", members.TooBig}, {`{"k":"\ud800canary"}`, "k", halfCharacter},
		{`{"k":` + strings.Repeat("9", 77) + `}`, "k", tooLong},
	} {
		if err := p.decode(good, c.value, good); err != nil {
			t.Errorf("%.80q: %v", c.value, err)
			continue
		}
		want := []microdata.Reject{{Row: 1, Column: c.column, Reason: c.reason}}
		if p.block.N != 3 || !slices.Equal(p.block.Rejects, want) {
			t.Errorf("%.80q: got %v, want %v", c.value, p.block.Rejects, want)
			continue
		}
		p.mask()
		got, source := p.encode(t)
		const out = `{"a":2,"p":{"x":2},"s":"t"}`
		if !slices.Equal(got, []string{out, out}) || !slices.Equal(source, []int32{0, 2}) ||
			strings.Contains(fmt.Sprint(p.block.Rejects), "canary") {
			t.Errorf("%.80q: got %q, %v, %v", c.value, got, source, p.block.Rejects)
		}
	}
	if err := p.decode("", "[]"); err != nil || p.block.Kept() != 0 {
		t.Errorf("got %v, %v", p.block.Rejects, err)
	}
	if got, source := p.encode(t); len(got)+len(source) > 0 {
		t.Errorf("of nothing that may leave: %q", got)
	}
	if err := p.decode(); err != nil || p.block.N != 0 {
		t.Errorf("no messages: %v", err)
	}
}

// Half of a character at the end of one message and the other half at the beginning of the next
// message must not become one character.
func TestSplitCharacter(t *testing.T) {
	p := job{columns: "a"}.open(t)
	if err := p.decode("{\"a\":1} \xc3", "\xa9 {\"a\":1}", `{"a":"é"}`); err != nil || len(p.block.Rejects) != 2 ||
		p.block.Rejects[0].Reason != text.NotUTF8 {
		t.Errorf("got %v, %v", p.block.Rejects, err)
	}
}

func TestMeasured(t *testing.T) {
	p := job{columns: "a#", measured: true}.open(t)
	if err := p.decode(`{"a":9007199254740993}`, `{"a":1e400}`, `{"a":null}`, `{"a":2.5}`); err != nil {
		t.Fatal(err)
	}
	v := p.block.Columns[0].Original
	if !slices.Equal(v.Values, []float64{1 << 53, 0, 0, 2.5}) || v.Valid.Has(2) || len(p.block.Rejects) != 1 ||
		p.block.Rejects[0].Reason != members.TooBig {
		t.Errorf("got %v, %v", v, p.block.Rejects)
	}
}

func TestUnlisted(t *testing.T) {
	for _, c := range []struct {
		columns string
		values  []string
		want    string // "": no error
	}{
		{"a p.x", []string{`{"a":1,"p":{"x":1}}`}, ""},
		{"a p.x", []string{`{"a":1}`, `{"a":1,"new":"canary"}`},
			"topic survey, partition 3, offset 110: fields that are not listed: member 2;"},
		{"a p.x", []string{`{"p":{"x":1,"name":{"y":"canary"}},"n\u0065w":1,"a":1}`},
			"topic survey, partition 3, offset 100: fields that are not listed: member 2 of p, member 2;"},
		{"p.x! a", []string{`{"p":{"x":1,"name":"canary"}}`},
			"topic survey, partition 3, offset 100: fields that are not listed: member 2 of p;"},
		{"p", []string{`{"p":{"x":{"y":1}}}`}, ""},
		{"a.b", []string{`{"a.b":"canary"}`}, `offset 100: fields that are not listed: member 1;`},
		{"a", []string{"{\"x\\u000ay\":1,\"\":2,\"" + strings.Repeat("n", 200) + "\":3}"},
			`not listed: member 1, member 2, member 3;`},
		{"a", []string{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"canary":7,"h":8}`},
			`not listed: member 2, member 3, member 4, member 5, member 6 and 2 more;`},
		// Unlisted members of a malformed message do not end the stream.
		{"a", []string{`{"new":"canary","a":1`, `{"new":1,"a":1,"a":2}`}, ""},
	} {
		p := job{columns: c.columns}.open(t)
		err := p.decode(c.values...)
		var unlisted *message.UnlistedError
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.values, err)
			}
			continue
		}
		if !errors.As(err, &unlisted) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %v, want %s", c.values, err, c.want)
		}
		p = job{columns: c.columns, drop: true}.open(t)
		if err := p.decode(c.values...); err != nil || len(p.block.Rejects) > 0 {
			t.Errorf("%s: %v, %v", c.values, p.block.Rejects, err)
		}
		if got, _ := p.encode(t); strings.Contains(strings.Join(got, ""), "canary") {
			t.Errorf("%s: %q leaves", c.values, got)
		}
	}
}

func TestReader(t *testing.T) {
	ctx := context.Background()
	for list, want := range map[string]string{
		"a b a":       "column a: is listed twice",
		"p p.x":       "column p.x: lies within p, which is listed too",
		"p.x.y p.x":   "column p.x: is listed, and so is a column that lies within it",
		"p.q p.q.x.y": "column p.q.x.y: lies within p.q, which",
	} {
		if _, err := (&Config{}).Reader(ctx, message.Request{Columns: columns(list)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", list, err)
		}
	}
	r, err := (&Config{}).Reader(ctx, message.Request{Columns: columns("a# b@ c! d#@")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, f := range r.Schema().Fields {
		got = append(got, fmt.Sprint(f.Name, " ", f.Type.ID(), " ", f.Nullable, " ", message.JSONText(r)(i)))
	}
	if want := []string{"a FLOAT64 true false", "b DENSE_UNION true false", "c STRING true true",
		"d FLOAT64 true false"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := r.Decoder(&microdata.Layout{Schema: r.Schema(), Read: []microdata.Want{{Field: 2}}}, true); err == nil ||
		!strings.Contains(err.Error(), "column c: ") {
		t.Errorf("got %v", err)
	}
	layout := &microdata.Layout{Schema: r.Schema(), Release: []microdata.Output{{Field: r.Schema().Fields[0], Column: -1}}}
	if _, err := (&Config{}).Writer(ctx, message.WriteRequest{Layout: layout}); err == nil {
		t.Error("a column that is neither decoded nor carried is taken")
	}
}

func TestIdentity(t *testing.T) {
	p := job{columns: "k@ n#@", fixed: []string{"n"}}.open(t)
	values := []string{`"x\u0041"`, `42`, `42.0`, `true`, `null`, `9007199254740993`, `"42"`, `false`,
		`-` + strings.Repeat("9", 76), `0.1`, `""`, `18446744073709551616`}
	var in []string
	for _, v := range values {
		in = append(in, `{"k":`+v+`,"n":3}`)
	}
	if err := p.decode(append(in, `{}`)...); err != nil || len(p.block.Rejects) > 0 {
		t.Fatal(err, p.block.Rejects)
	}
	a := p.block.Columns[0].Array.(*array.DenseUnion)
	if err := a.ValidateFull(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range a.Len() {
		child := a.Field(a.ChildID(i))
		got = append(got, fmt.Sprint(a.UnionType().Fields()[a.ChildID(i)].Name, " ", child.ValueStr(int(a.ValueOffset(i)))))
	}
	want := []string{"string xA", "number 42", "number 42", "boolean true", "string (null)", "decimal 9007199254740993",
		"string 42", "boolean false", "decimal -" + strings.Repeat("9", 76), "number 0.1", "string ",
		"decimal 18446744073709551616", "string (null)"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := p.block.Columns[1].Array.(*array.Float64); n.Value(0) != 3 || !n.IsNull(12) {
		t.Errorf("got %v", n)
	}
}

// A value gives the same identity as the equal value in a file whose columns have types.
func TestDigests(t *testing.T) {
	key, err := keystream.NewKey([]byte("0123456789abcdefghijklmnopqrstuv"))
	if err != nil {
		t.Fatal(err)
	}
	digest := func(a arrow.Array) microdata.Digest {
		return key.Digests(nil, []*microdata.Column{{Array: a}}, 1)[0]
	}
	p := job{columns: "k@"}.open(t)
	for _, c := range []struct {
		value string
		typ   arrow.DataType
		typed string
	}{
		{`"\u00e9"`, arrow.BinaryTypes.String, `["é"]`}, {`"42"`, arrow.BinaryTypes.LargeString, `["42"]`},
		{`42`, arrow.PrimitiveTypes.Int64, `[42]`}, {`-0`, arrow.PrimitiveTypes.Int8, `[0]`},
		{`4.2e1`, arrow.PrimitiveTypes.Uint8, `[42]`}, {`0.1`, arrow.PrimitiveTypes.Float64, `[0.1]`},
		{`0.10`, &arrow.Decimal128Type{Precision: 5, Scale: 2}, `["0.10"]`},
		{`true`, arrow.FixedWidthTypes.Boolean, `[true]`}, {`null`, arrow.PrimitiveTypes.Int64, `[null]`},
		{`9007199254740992`, arrow.PrimitiveTypes.Int64, `[9007199254740992]`},
		{`9007199254740993`, arrow.PrimitiveTypes.Int64, `[9007199254740993]`},
		{`18446744073709551615`, arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`},
		{`18446744073709551616`, arrow.PrimitiveTypes.Float64, `[18446744073709551616]`},
		{`-99999999999999999999999999999999999999`, &arrow.Decimal128Type{Precision: 38},
			`["-99999999999999999999999999999999999999"]`},
	} {
		typed, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.typed))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.decode(`{"k": ` + c.value + `}`); err != nil || len(p.block.Rejects) > 0 {
			t.Fatal(err, p.block.Rejects)
		}
		if digest(p.block.Columns[0].Array) != digest(typed) {
			t.Errorf("%s has another digest than %s of type %s", c.value, c.typed, c.typ)
		}
	}
}

// Values of other formats become JSON with the same meaning.
func TestFromColumns(t *testing.T) {
	strs, _,
		err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["x\"", null, "z"]`))
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	b.Reset(0, 0, 3, 2)
	v := b.Columns[0].Alloc(3, true)
	copy(v.Values, []float64{1.25, 2, 0})
	v.Valid.Clear(2)
	b.Columns[1].Array = strs
	layout := &microdata.Layout{Schema: &microdata.Schema{}, Release: []microdata.Output{
		{Field: microdata.Field{Name: "p.x", Type: arrow.PrimitiveTypes.Float64}, Masked: true, Decimals: 2},
		{Field: microdata.Field{Name: "p.s", Type: arrow.BinaryTypes.String}, Column: 1},
	}}
	w, err := (&Config{}).Writer(context.Background(), message.WriteRequest{Layout: layout})
	if err != nil || w.Carries() {
		t.Fatal(err)
	}
	b.Reject(1, "", "broken")
	out, err := w.Encode(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	got := string(bytes.Join(out.Values, []byte("|")))
	if want := `{"p":{"x":1.25,"s":"x\""}}|{"p":{"x":null,"s":"z"}}`; got != want ||
		!slices.Equal(out.Source, []int32{0, 2}) {
		t.Errorf("got %s of %v, want %s", got, out.Source, want)
	}
	for _, v := range out.Values {
		if !json.Valid(v) {
			t.Errorf("not JSON: %s", v)
		}
	}
}

// If nothing is carried, JSON text and identities are written as JSON again.
func TestRows(t *testing.T) {
	ctx := context.Background()
	r, err := (&Config{}).Reader(ctx, message.Request{Columns: columns("p.t k@ n# b")})
	if err != nil {
		t.Fatal(err)
	}
	layout := &microdata.Layout{Schema: r.Schema()}
	for i, f := range r.Schema().Fields {
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		layout.Release = append(layout.Release, microdata.Output{Field: f, Source: i, Column: i, Decimals: -1})
	}
	d, err := r.Decoder(layout, false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := (&Config{}).Writer(ctx, message.WriteRequest{Layout: layout, Reader: r})
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	run := &message.Run{Offsets: []int64{1, 2, 3, 4}, Values: [][]byte{
		[]byte(`{"k":null}`), []byte(`{"p":{"t":[1, "x"]},"k":"\u0041","n":1.5,"b":"\u0042"}`),
		[]byte(`{"k":true,"p":{"t":null}}`), []byte(`{"k":9007199254740993,"n":0,"b":false}`),
	}}
	if err := d.Decode(ctx, &b, run); err != nil || len(b.Rejects) > 0 || b.Carried != nil {
		t.Fatal(err, b.Rejects)
	}
	want := []string{`{"p":{"t":null},"k":null,"n":null,"b":null}`, `{"p":{"t":[1, "x"]},"k":"A","n":1.5,"b":"\u0042"}`,
		`{"p":{"t":null},"k":true,"n":null,"b":null}`, `{"p":{"t":null},"k":9007199254740993,"n":0,"b":false}`}
	var part microdata.Block
	for from := range 3 {
		b.Part(&part, from, 4)
		out, err := w.Encode(ctx, &part)
		if got := string(bytes.Join(out.Values, []byte("|"))); err != nil || got != strings.Join(want[from:], "|") {
			t.Errorf("from %d: got %s, %v", from, got, err)
		}
	}
}

// Many goroutines decode and encode blocks at the same time.
func TestConcurrent(t *testing.T) {
	shared := job{columns: "a# b", decimals: 2}.open(t)
	done := make(chan string)
	for g := range 4 {
		go func() {
			p := &pass{job: shared.job, layout: shared.layout, decoder: shared.decoder, writer: shared.writer}
			for i := range 200 {
				in, want := fmt.Sprintf(`{"b":"%d","a":%d}`, g, i), fmt.Sprintf(`{"a":%d,"b":"%d"}`, i+1, g)
				if err := p.decode(in, in); err != nil {
					done <- err.Error()
					return
				}
				p.mask()
				out, err := p.writer.Encode(context.Background(), &p.block)
				if err != nil || string(out.Values[1]) != want {
					done <- fmt.Sprintf("got %s, %v, want %s", out.Values, err, want)
					return
				}
			}
			done <- ""
		}()
	}
	for range 4 {
		if s := <-done; s != "" {
			t.Error(s)
		}
	}
}
