package protobuf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func textField(n protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), v)
}

func varintField(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// One run has messages of older and newer writers; each is released with its own schema.
func TestEvolution(t *testing.T) {
	const (
		latest = `syntax = "proto3"; package p; message M { optional int64 wage = 1; string city = 2; Home home = 3; optional sint32 debt = 5; message Home { string street = 1; } }`
		older  = `syntax = "proto3"; package p; message First { string x = 1; } message M { optional int32 wage = 7; string name = 1; }`
		newer  = `syntax = "proto3"; package p; message M { optional int64 wage = 1; string city = 2; Home home = 3; Extra extra = 4; message Home { string street = 1; string door = 2; oneof more { string door_key = 3; } } message Extra { string canary = 1; } }`
		other  = `syntax = "proto3"; package p; message M { string wage = 1; }`
	)
	columns := []message.Column{{Name: "wage", Number: true}, {Name: "city"}, {Name: "home"}, {Name: "debt", Number: true},
		{Name: "name", Withheld: true}}
	masks := map[string]microdata.Form{"wage": microdata.Numbers, "debt": microdata.Numbers}
	for _, drop := range []bool{true, false} {
		r := registrytest.New(t)
		ids := map[string]uint32{}
		for name, text := range map[string]string{"older": older, "newer": newer, "other": other} {
			ids[name] = r.Register(t, name+"-value", registry.Protobuf, text)
		}
		ids["latest"] = r.Register(t, "survey-value", registry.Protobuf, latest)
		s := &setting{registry: r, client: r.Client(t)}
		s.open(t, columns, drop, masks)
		home := slices.Concat(textField(1, "Lane"), textField(2, "canary door"), textField(3, "canary key"))
		values := [][]byte{
			frameOf(ids["latest"],
				slices.Concat(varintField(1, 100), textField(2, "Ulm"), textField(3, string(textField(1, "Lane"))),
					varintField(5, protowire.EncodeZigZag(-4)))),
			frameOf(ids["older"], slices.Concat(varintField(7, 200), textField(1, "canary")), 1),
			frameOf(ids["newer"], slices.Concat(textField(4, "canary"), varintField(1, 300), textField(3, string(home)))),
			frameOf(ids["other"], textField(1, "canary")),
			frameOf(ids["older"], textField(1, "canary"), 0),
			frameOf(ids["latest"], nil),
		}
		if !drop {
			var u *message.UnlistedError
			err := s.decoder.Decode(t.Context(), new(microdata.Block), runOf(values...))
			if !errors.As(err, &u) || len(u.Places) != 3 || strings.Contains(err.Error(), "extra") ||
				strings.Contains(err.Error(), "door") || !strings.Contains(err.Error(), "of a message in home") ||
				u.Stream != "topic survey, partition 3, offset 14" {
				t.Errorf("an unlisted field: %v", err)
			}
			values[2] = values[0]
		}
		var b microdata.Block
		if err := s.decoder.Decode(t.Context(), &b, runOf(values...)); err != nil {
			t.Fatal(err)
		}
		var rejects []string
		for _, r := range b.Rejects {
			rejects = append(rejects, fmt.Sprint(r.Row, r.Column, r.Reason))
		}
		if want := []string{"3wagethe message's schema has another type in this column", "4" + reasonType}; !slices.Equal(
			rejects, want) {
			t.Errorf("rejects %q, want %q", rejects, want)
		}
		wage, debt := s.column(&b, "wage").Mutable(), s.column(&b, "debt").Mutable()
		if wage.Values[1] != 200 || debt.Values[0] != -4 || debt.Valid.Has(1) || wage.Valid.Has(5) {
			t.Errorf("wage %v, debt %v", wage, debt)
		}
		wage.Values[1] = 1 << 40 // more than the older writer's type holds
		debt.Values[1], debt.Values[0] = -7, 0
		debt.Valid.Set(1) // a mask has moved a value to it
		debt.Valid.Set(0)
		out, err := s.writer.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.Source, []int32{0, 1, 2, 5}) {
			t.Fatalf("messages %v", out.Source)
		}
		var got []string
		for _, v := range out.Values {
			if bytes.Contains(v, []byte("canary")) {
				t.Error("a withheld or unlisted value was released")
			}
			m := s.released(t, v)
			if len(m.GetUnknown()) > 0 {
				t.Error("a field was released that the released schema does not have")
			}
			var row []string
			for _, name := range []protoreflect.Name{"wage", "city", "home", "debt"} {
				if f := m.Descriptor().Fields().ByName(name); f != nil && m.Has(f) {
					row = append(row, fmt.Sprintf("%s=%v", name, m.Get(f)))
				}
			}
			got = append(got, strings.ReplaceAll(strings.Join(row, " "), "  ", " "))
		}
		want := []string{`wage=100 city=Ulm home=street:"Lane" debt=0`, "wage=1099511627776 debt=-7",
			`wage=300 home=street:"Lane"`, ""}
		if !drop {
			want[2] = strings.Replace(want[0], "debt=0", "debt=-4", 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("released\n%q, want\n%q", got, want)
		}
	}
}

// A message contains messages of its own type: a withheld field is withheld at every depth, and so is
// a field that a mask would have to change.
func TestRecursive(t *testing.T) {
	s := set(t,
		`syntax = "proto3"; message Person { string name = 1; double wage = 2; string city = 3; repeated Person children = 4; Other other = 5; message Other { Person boss = 1; } }`,
		[]message.Column{{Name: "name", Withheld: true}, {Name: "wage", Number: true}, {Name: "city"}, {Name: "children"},
			{Name: "other"}}, false, map[string]microdata.Form{"wage": microdata.Numbers})
	// spells canary
	wage := protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), 0x6372616e61632121)
	child := slices.Concat(textField(1, "canary"), wage, textField(3, "Ulm"))
	child = slices.Concat(textField(3, "Bonn"), textField(4, string(child)))
	var b microdata.Block
	if err := s.decoder.Decode(t.Context(), &b,
		runOf(
			frameOf(s.id,
				slices.Concat(textField(1, "canary"), textField(4, string(child)),
					textField(5, string(textField(1, string(child)))))))); err != nil {
		t.Fatal(err)
	}
	out, err := s.writer.Encode(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Values[0], []byte("canary")) || bytes.Contains(out.Values[0], []byte("canarc")) {
		t.Error("a withheld value, or an unmasked one, was released at some depth")
	}
	got := strings.Join(strings.Fields(s.released(t, out.Values[0]).String()), " ")
	if want := `children:{city:"Bonn" children:{city:"Ulm"}} other:{boss:{city:"Bonn" children:{city:"Ulm"}}}`; got !=
		want {
		t.Errorf("released %s, want %s", got, want)
	}
}

// A schema refers to types of other schemas; in another registry, these are registered too.
func TestReferences(t *testing.T) {
	const (
		place   = `syntax = "proto3"; package geo; message Place { double lat = 1; }`
		address = `syntax = "proto3"; package geo; import "place.proto"; message Address { string street = 1; Place place = 2; }`
		text    = `syntax = "proto3"; import "address.proto"; import "unused.proto"; import "confluent/meta.proto"; message M { string city = 1 [(confluent.field_meta).doc = "canary"]; geo.Address home = 2; geo.Unused secret = 3; }`
		unused  = `syntax = "proto3"; package geo; message Unused { string canary = 1; }`
	)
	r := registrytest.New(t)
	r.Register(t, "place", registry.Protobuf, place)
	r.Register(t, "address", registry.Protobuf, address,
		registry.Reference{Name: "place.proto", Subject: "place", Version: 1})
	r.Register(t, "unused", registry.Protobuf, unused)
	id := r.Register(t, "survey-value", registry.Protobuf, text,
		registry.Reference{Name: "address.proto", Subject: "address", Version: 1},
		registry.Reference{Name: "unused.proto", Subject: "unused", Version: 1})
	s := &setting{registry: r, client: r.Client(t)}
	s.open(t, []message.Column{{Name: "city"}, {Name: "home"}, {Name: "secret", Withheld: true}}, false, nil)
	run := runOf(
		frameOf(id,
			slices.Concat(textField(1, "Ulm"), textField(2, string(textField(1, "Lane"))),
				textField(3, string(textField(1, "canary"))))))
	for _, target := range []*registrytest.Registry{r, registrytest.New(t)} {
		client := s.client
		if target != r {
			client = target.Client(t)
		}
		w,
			err := (&Config{}).Writer(t.Context(),
			message.WriteRequest{Topic: "out", Layout: s.layout, Reader: s.reader, Registry: client})
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := s.decoder.Decode(t.Context(), &b, run); err != nil {
			t.Fatal(err)
		}
		out, err := w.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		m := (&setting{client: client}).released(t, out.Values[0])
		if got := strings.Join(strings.Fields(m.String()), " "); got != `city:"Ulm" home:{street:"Lane"}` {
			t.Errorf("released %s", got)
		}
		if text, ok := target.Text("out-value", 1); !ok || strings.Contains(text, "canary") ||
			strings.Contains(text, "unused.proto") {
			t.Errorf("released schema\n%s", text)
		}
	}
}

// A record without a required field of proto2 is malformed. Records of a topic that did not exist at
// the start are released with the type of a topic that did.
func TestRequired(t *testing.T) {
	s := set(t,
		`syntax = "proto2"; message M { required int32 wage = 1; required string name = 2; optional group Home = 3 { optional string street = 4; } extensions 100 to 200; }`,
		[]message.Column{{Name: "wage", Number: true}, {Name: "name", Withheld: true}, {Name: "home"}}, false,
		map[string]microdata.Form{"wage": microdata.Numbers})
	group := slices.Concat(protowire.AppendTag(nil, 3, protowire.StartGroupType), textField(4, "Lane"),
		textField(5, "canary"), protowire.AppendTag(nil, 3, protowire.EndGroupType))
	run := runOf(frameOf(s.id, slices.Concat(varintField(1, 5), group, textField(100, "canary"))),
		frameOf(s.id, textField(2, "canary")))
	run.Scope = "another"
	var b microdata.Block
	if err := s.decoder.Decode(t.Context(), &b, run); err != nil {
		t.Fatal(err)
	}
	if len(b.Rejects) != 1 || b.Rejects[0] != (microdata.Reject{Row: 1, Column: "wage", Reason: reasonRequired}) {
		t.Errorf("rejects %v", b.Rejects)
	}
	out, err := s.writer.Encode(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(s.released(t, out.Values[0]).String()), " "); got !=
		`wage:5 Home:{street:"Lane"}` && got != `wage:5 home:{street:"Lane"}` ||
		bytes.Contains(out.Values[0], []byte("canary")) {
		t.Errorf("released %s", got)
	}
}

// Workers share a decoder and a writer and find new schemas at the same time.
func TestConcurrent(t *testing.T) {
	s := set(t, `syntax = "proto3"; message M { double wage = 1; string name = 2; }`,
		[]message.Column{{Name: "wage"}, {Name: "name", Withheld: true}}, true,
		map[string]microdata.Form{"wage": microdata.Numbers})
	var values [][]byte
	for i := range 6 {
		id := s.registry.Register(t, fmt.Sprint("newer", i), registry.Protobuf,
			fmt.Sprintf(`syntax = "proto3"; message M { double wage = 1; string name = 2; string more = %d; }`, i+3))
		values = append(values, frameOf(id, textField(protowire.Number(i+3), "canary")), frameOf(s.id, nil))
	}
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error {
			var b microdata.Block
			for range 5 {
				if err := s.decoder.Decode(ctx, &b, runOf(values...)); err != nil {
					return err
				}
				out, err := s.writer.Encode(ctx, &b)
				if err != nil {
					return err
				}
				if len(out.Values) != len(values) || bytes.Contains(bytes.Join(out.Values, nil), []byte("canary")) {
					return fmt.Errorf("released %q", out.Values)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// Columns of another format.
func TestCompose(t *testing.T) {
	s := &microdata.Schema{Fields: []microdata.Field{
		{Name: "wage", Type: arrow.PrimitiveTypes.Float64},
		{Name: "person.age", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "person_age", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "paid", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
		{Name: "2nd", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "sum", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}}
	l := &microdata.Layout{Schema: s}
	for i, f := range s.Fields {
		form := microdata.Numbers
		if i == 2 || i == 4 {
			form = microdata.Array
		}
		l.Read = append(l.Read, microdata.Want{Field: i, As: form})
		l.Release = append(l.Release, microdata.Output{Field: f, Source: i, Column: i})
	}
	var b microdata.Block
	b.Reset(0, 0, 3, len(l.Read))
	for i, values := range map[int][]float64{0: {1.5, 0, -2}, 1: {-3, 4, 5}, 3: {1.25, 3, 0}, 5: {1 << 53, -1, 0}} {
		copy(b.Columns[i].Alloc(3, true).Values, values)
	}
	b.Columns[1].Original.Valid.Clear(2)
	b.Columns[2].Array = jsonArray(t, arrow.BinaryTypes.String, `["x", null, ""]`)
	b.Columns[4].Array = jsonArray(t, arrow.PrimitiveTypes.Uint64, `[18446744073709551615, 0, 7]`)
	b.Reject(1, "", "for the test")
	r := registrytest.New(t)
	set := &setting{client: r.Client(t)}
	for _, c := range []struct {
		reader message.Reader
		config Config
		source []int32
		name   protoreflect.FullName
	}{{nil, Config{}, []int32{0, 2}, "SurveyMasked"},
		{several{}, Config{Message: "survey.Person"}, []int32{0, 1}, "survey.Person"}} {
		w,
			err := c.config.Writer(t.Context(),
			message.WriteRequest{Topic: "survey-masked", Layout: l, Reader: c.reader, Registry: set.client})
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.Source, c.source) || w.Carries() {
			t.Errorf("messages of %v, want %v", out.Source, c.source)
		}
		var got []string
		for _, v := range out.Values {
			m := set.released(t, v)
			if m.Descriptor().FullName() != c.name {
				t.Errorf("message type %s, want %s", m.Descriptor().FullName(), c.name)
			}
			got = append(got, strings.Join(strings.Fields(m.String()), " "))
		}
		want := []string{
			`wage:1.5 person_age:-3 person_age_2:"x" paid:"1.25" column_2nd:18446744073709551615 sum:9007199254740992`,
			`wage:-2 person_age_2:"" paid:"0" column_2nd:7 sum:0`}
		if !slices.Equal(got, want) {
			t.Errorf("released\n%q, want\n%q", got, want)
		}
	}
	nested := &microdata.Layout{Schema: s,
		Release: []microdata.Output{{Field: microdata.Field{Name: "x", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)}}}}
	if _, err := (&Config{}).Writer(t.Context(),
		message.WriteRequest{Topic: "out", Layout: nested, Registry: set.client}); err == nil || !strings.Contains(err.Error(), "column x") {
		t.Errorf("a nested column of another format: %v", err)
	}
}

type several struct{ message.Reader }

func (several) MessageOf(b *microdata.Block) []int32 { return []int32{0, 0, 1} }
