package kafka

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func arrayOf(t *testing.T, dt arrow.DataType, values ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	for _, v := range values {
		if v == "null!" {
			b.AppendNull()
		} else if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// keyBlock returns a block of two records with columns of several kinds, and its layout.
func keyBlock(t *testing.T) (*microdata.Block, *microdata.Layout) {
	t.Helper()
	fields := []microdata.Field{
		{Name: "wage", Type: arrow.PrimitiveTypes.Float64},
		{Name: "age", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "number", Type: arrow.BinaryTypes.String},
		{Name: "union", Type: arrow.DenseUnionOf(nil, nil)},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "word",
			Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "carried", Type: arrow.BinaryTypes.String},
	}
	var b microdata.Block
	b.Reset(0, 0, 2, len(fields)-1)
	v := b.Columns[0].Alloc(2, true)
	v.Values[0], v.Values[1] = 612.5, 0
	v.Valid.Clear(1)
	b.Columns[0].Mutable().Values[0] = 700.25
	v = b.Columns[1].Alloc(2, false)
	v.Values[0], v.Values[1] = 43, 44
	b.Columns[2].Array = arrayOf(t, arrow.BinaryTypes.String, "Ada \"A\"", "null!")
	b.Columns[3].Array = arrayOf(t, arrow.BinaryTypes.String, `"Z\u00fcrich"`, "null!")
	b.Columns[4].Array = arrayOf(t, arrow.BinaryTypes.String, "12.50", "null")
	union, err := array.NewDenseUnionFromArraysWithFieldCodes(
		arrayOf(t, arrow.PrimitiveTypes.Int8, "0", "1"), arrayOf(t, arrow.PrimitiveTypes.Int32, "0", "0"),
		[]arrow.Array{arrayOf(t, arrow.BinaryTypes.String, "P-7"), arrayOf(t, arrow.PrimitiveTypes.Float64, "17")},
		[]string{"string", "number"}, []arrow.UnionTypeCode{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	b.Columns[5].Array = union
	b.Columns[6].Array = arrayOf(t, arrow.FixedWidthTypes.Date32, "2026-01-31", "null!")
	b.Columns[7].Array = arrayOf(t, fields[7].Type, "north", "null!")
	l := &microdata.Layout{Schema: &microdata.Schema{Fields: fields}}
	for i, f := range fields {
		o := microdata.Output{Field: f, Source: i, Column: i, Decimals: -1}
		if f.Name == "carried" {
			o.Column = -1
		}
		if f.Name == "wage" {
			o.Masked, o.Decimals = true, 2
		}
		l.Release = append(l.Release, o)
	}
	return &b, l
}

func TestPolicyOfKeys(t *testing.T) {
	key, err := keystream.ParseKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	b, layout := keyBlock(t)
	const none = "none"
	for _, test := range []struct{ word, in, first, second string }{
		{"", "respondent-17", none, none},
		{drop, "respondent-17", none, none},
		{pass, "respondent-17", "respondent-17", "respondent-17"},
		{pass, none, none, none},
		{hash, "respondent-17", "cJqDaBcdvSjaLFd8oEOAbw", "cJqDaBcdvSjaLFd8oEOAbw"}, // docs/keystream.md §10
		{hash, "", "KEoQCRcJzayIxXd_4ITrbw", "KEoQCRcJzayIxXd_4ITrbw"},
		{hash, none, none, none},
		{"wage", "respondent-17", "700.25", none}, // the released value
		{"age", "respondent-17", "43", "44"},
		{"name", none, `Ada "A"`, none},
		{"text", none, "Zürich", none},
		{"number", none, "12.50", none},
		{"union", none, "P-7", "17"},
		{"day", none, "2026-01-31", none},
		{"word", none, "north", none},
	} {
		p, err := newPolicy(&SinkConfig{Key: test.word}, layout, func(column int) bool {
			return column == 3 || column == 4
		}, key)
		if err != nil {
			t.Fatal(err)
		}
		src := &kgo.Record{Value: []byte("v")}
		if test.in != none {
			src.Key = []byte(test.in)
		}
		for row, want := range []string{test.first, test.second} {
			dst := &kgo.Record{Value: []byte("released")}
			p.apply(dst, src, b, row)
			got := none
			if dst.Key != nil {
				got = string(dst.Key)
			}
			if got != want || string(dst.Value) != "released" {
				t.Errorf("%s of %q, record %d: %q, want %q", test.word, test.in, row, got, want)
			}
		}
		if got, want := p.keepsTombstones(), test.word == pass || test.word == hash; got != want {
			t.Errorf("%s: keeps tombstones %v", test.word, got)
		}
	}
	for word, want := range map[string]string{"nowhere": "a column that is released", "carried": "not decoded"} {
		if _, err := newPolicy(&SinkConfig{Key: word}, layout, nil, key); !Final(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
	if _, err := newPolicy(&SinkConfig{Key: hash}, layout, nil, keystream.Key{}); !Final(err) {
		t.Errorf("hash without a key: %v", err)
	}
}

// Headers and timestamps of the original message are dropped unless the policy passes them.
func TestPolicyOfHeadersAndTimestamps(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	for _, test := range []struct {
		config             SinkConfig
		headers, timestamp bool
	}{
		{SinkConfig{}, false, true},
		{SinkConfig{Headers: drop, Timestamp: pass}, false, true},
		{SinkConfig{Headers: pass, Timestamp: drop}, true, false},
	} {
		p, err := newPolicy(&test.config, &microdata.Layout{}, nil, keystream.Key{})
		if err != nil {
			t.Fatal(err)
		}
		m := &kgo.Record{
			Key: []byte("k"), Value: []byte("v"), Topic: "in", Partition: 3, Offset: 17, ProducerID: 4, LeaderEpoch: 2,
			Timestamp: at, Context: t.Context(),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}},
			Attrs:   kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true}),
		}
		p.apply(m, m, nil, 0)
		if m.Key != nil || (len(m.Headers) > 0) != test.headers || m.Timestamp.Equal(at) != test.timestamp ||
			!test.timestamp && !m.Timestamp.IsZero() {
			t.Errorf("%+v: %+v", test.config, m)
		}
		if m.Topic != "in" || m.Partition != 3 || m.Offset != 0 || m.ProducerID != 0 || m.Context != nil ||
			m.Attrs.IsTransactional() {
			t.Errorf("%+v: left over: %+v", test.config, m)
		}
	}
}

func TestPolicyOfTombstones(t *testing.T) {
	p, err := newPolicy(&SinkConfig{Key: pass}, &microdata.Layout{}, nil, keystream.Key{})
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for i := range 6 {
		m := &kgo.Record{Topic: "a", Offset: int64(i), Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v")}
		if i == 1 || i == 4 {
			m.Value = nil
		}
		records = append(records, m)
	}
	r := newRaw(records, nil, true)
	r.split()
	if got := offsetsOf(r.Messages()); got != "[0 2 3 5]" {
		t.Errorf("messages %s", got)
	}
	if got := offsetsOf(r.Tombstones()); got != "[1 4]" {
		t.Errorf("tombstones %s", got)
	}
	all := newRaw(records, nil, false)
	all.split()
	if got := offsetsOf(all.Messages()); got != "[0 1 2 3 4 5]" || len(all.Tombstones()) > 0 {
		t.Errorf("messages %s, tombstones %d", got, len(all.Tombstones()))
	}
	m := r.Tombstones()[0]
	p.tombstone(m, m)
	if string(m.Key) != "k1" || m.Value != nil {
		t.Errorf("released %+v", m)
	}
	other := &kgo.Record{Key: []byte("other"), Value: []byte("v"), Topic: "to", Partition: 2}
	if p.tombstone(other, r.Tombstones()[1]); string(other.Key) != "k4" || other.Value != nil || other.Topic != "to" ||
		other.Partition != 2 || string(r.Tombstones()[1].Key) != "k4" {
		t.Errorf("released into a reused record %+v", other)
	}
}

func offsetsOf(records []*kgo.Record) string {
	var at []int64
	for _, m := range records {
		at = append(at, m.Offset)
	}
	return fmt.Sprint(at)
}

// Generated keys share memory: one key must not overwrite the next.
func TestPolicyKeysDoNotOverlap(t *testing.T) {
	p, err := newPolicy(&SinkConfig{Key: hash}, &microdata.Layout{}, nil, keytest.Key(1))
	if err != nil {
		t.Fatal(err)
	}
	var made, copies []string
	var keys [][]byte
	for i := range 10_000 {
		m := &kgo.Record{Key: fmt.Appendf(nil, "k%d", i)}
		p.apply(m, m, nil, 0)
		keys, copies = append(keys, m.Key), append(copies, string(m.Key))
		_ = append(m.Key, "xxxx"...)
	}
	for _, k := range keys {
		made = append(made, string(k))
	}
	if fmt.Sprint(made) != fmt.Sprint(copies) {
		t.Error("keys have changed")
	}
}

// Generated keys are stored one after another in the same memory while there is room. A key that
// does not fit gets its own memory.
func TestArenaHasRoom(t *testing.T) {
	a := new(arena)
	first := a.keep(append(a.room(22), "first"...))
	if cap(a.buf) != arenaSize || string(a.buf) != "first" || &first[0] != &a.buf[0] || cap(first) != 5 {
		t.Errorf("the first: %q of %d bytes", a.buf, cap(a.buf))
	}
	second := a.keep(append(a.room(22), "second"...))
	if string(a.buf) != "firstsecond" || &second[0] != &a.buf[5] || string(first) != "first" {
		t.Errorf("the second: %q, %q", a.buf, second)
	}
	if got := a.room(cap(a.buf) - len(a.buf)); cap(got) != arenaSize-11 || len(got) != 0 {
		t.Errorf("%d bytes remain", cap(got))
	}
	if got := a.room(arenaSize - 10); cap(got) != arenaSize || len(a.buf) != 0 {
		t.Errorf("one byte more than there is: %d bytes", cap(got))
	}
	if got := a.room(arenaSize + 1); cap(got) != arenaSize+1 {
		t.Errorf("more than there ever is: %d bytes", cap(got))
	}
	a.room(arenaSize)
	large := a.keep(append(a.room(3), make([]byte, arenaSize+2)...))
	if len(large) != arenaSize+2 || len(a.buf) != 0 {
		t.Errorf("a key that does not fit: %d bytes, %d are used", len(large), len(a.buf))
	}
}

func TestPolicyDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which runs with -short, makes pools forget")
	}
	b, layout := keyBlock(t)
	for _, word := range []string{drop, pass, hash, "wage", "name"} {
		p, err := newPolicy(&SinkConfig{Key: word}, layout, nil, keytest.Key(1))
		if err != nil {
			t.Fatal(err)
		}
		m, in := new(kgo.Record), []byte("respondent-17")
		// One arena of 64 KiB holds 2978 pseudonyms, so allocations per key round to zero.
		if n := testing.AllocsPerRun(10_000, func() {
			m.Key = in
			p.apply(m, m, b, 0)
		}); n > 0 {
			t.Errorf("%s: %v allocations a record", word, n)
		}
	}
}

func BenchmarkPolicy(bench *testing.B) {
	for _, word := range []string{drop, hash} {
		bench.Run(word, func(bench *testing.B) {
			p, err := newPolicy(&SinkConfig{Key: word}, &microdata.Layout{}, nil, keytest.Key(1))
			if err != nil {
				bench.Fatal(err)
			}
			m, in := new(kgo.Record), []byte("respondent-17")
			for bench.Loop() {
				m.Key = in
				p.apply(m, m, nil, 0)
			}
		})
	}
}

// Keys keep their bytes while further ones are added to the same memory, also a key that is longer
// than the room that was made for it.
func TestKeysInAnArena(t *testing.T) {
	a := new(arena)
	var keys [][]byte
	for i, n := range []int{3, 0, 100, arenaSize - 50, arenaSize + 1, 7, 3 * arenaSize, 1} {
		room := a.room(min(n, 10))
		keys = append(keys, a.keep(append(room, bytes.Repeat([]byte{byte('a' + i)}, n)...)))
		if len(keys[i]) != n || cap(keys[i]) != n {
			t.Errorf("key %d has %d bytes, and room for %d, want %d", i, len(keys[i]), cap(keys[i]), n)
		}
	}
	for i, key := range keys {
		if want := bytes.Repeat([]byte{byte('a' + i)}, len(key)); !bytes.Equal(key, want) {
			t.Errorf("key %d has been overwritten", i)
		}
	}
}
