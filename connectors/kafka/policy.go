package kafka

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// policy decides which parts of a message other than its value (key, headers, time) leave:
// they can identify a respondent too.
type policy struct {
	key        string                // drop, pass, hash or "" for a column
	pseudonyms *keystream.Pseudonyms // of hash
	output     microdata.Output      // the column
	json       bool                  // the column holds JSON text
	headers    bool
	timestamp  bool

	arenas sync.Pool // of *arena: keys are short, and producers hold on to them
}

// pseudonymLabel is the label of keys' pseudonyms, of docs/keystream.md.
const pseudonymLabel = "kafka-key"

// keyColumn is the released column that becomes the key of messages, and so must be decoded; "" if
// the key is not a column.
func (c *SinkConfig) keyColumn() string {
	switch c.Key {
	case "", drop, pass, hash:
		return ""
	}
	return c.Key
}

// passesMore is of connectors.SinkConfigAbilities: of a timestamp, which is the moment of the message, it says nothing.
func (c *SinkConfig) passesMore() string {
	switch {
	case c.Key == pass, c.Key == hash:
		return "the messages' key (key: " + c.Key + ")"
	case c.Headers == pass:
		return "the messages' headers (headers: pass)"
	}
	return ""
}

// newPolicy prepares the policy of a run. texts, which may be nil, says which
// columns of the source hold JSON text. The release key is needed for hash alone.
func newPolicy(c *SinkConfig, layout *microdata.Layout, texts func(column int) bool, key keystream.Key) (*policy,
	error) {
	p := &policy{key: c.Key, headers: c.Headers == pass, timestamp: c.Timestamp != drop}
	p.arenas.New = func() any { return new(arena) }
	switch c.Key {
	case "":
		p.key = drop
	case drop, pass:
	case hash:
		if key.IsZero() {
			return nil, &FinalError{Text: "key: hash needs the release key"}
		}
		p.pseudonyms = key.Pseudonyms(pseudonymLabel)
	default:
		i := slices.IndexFunc(layout.Release, func(o microdata.Output) bool { return o.Field.Name == c.Key })
		if i < 0 {
			return nil,
				&FinalError{Text: fmt.Sprintf("key: must be drop, pass, hash or a column that is released, got %q", c.Key)}
		}
		p.key, p.output = "", layout.Release[i]
		if p.output.Column < 0 {
			return nil, &FinalError{Text: fmt.Sprintf("key: the column %q is not decoded", c.Key)}
		}
		p.json = texts != nil && texts(p.output.Source)
	}
	return p, nil
}

// keepsTombstones reports whether messages without a value pass unchanged, so that a deletion
// reaches the released topic. They do if keys pass unchanged. Otherwise a tombstone would
// delete nothing; it goes to quarantine.
func (p *policy) keepsTombstones() bool { return p.key == pass || p.key == hash }

// apply fills dst, but for value, topic and partition, for the released record
// `row` of a block whose message is src: nil where the source is no topic. dst may
// be src, so that nothing is allocated but keys that are made here. With a row
// below 0 src is a tombstone.
func (p *policy) apply(dst, src *kgo.Record, b *microdata.Block, row int) {
	var key []byte
	var headers []kgo.RecordHeader
	var timestamp time.Time
	if src != nil {
		switch {
		case p.key == pass:
			key = src.Key
		case p.key == hash && src.Key != nil:
			key = p.pseudonym(src.Key)
		}
		if p.headers {
			headers = src.Headers
		}
		if p.timestamp {
			timestamp = src.Timestamp
		}
	}
	if p.key == "" && row >= 0 {
		key = p.value(&b.Columns[p.output.Column], row)
	}
	// One field after the other: a record is large, and a stream makes millions a second.
	dst.Key, dst.Headers, dst.Timestamp = key, headers, timestamp
	dst.Attrs, dst.ProducerEpoch, dst.ProducerID, dst.LeaderEpoch, dst.Offset, dst.Context = kgo.RecordAttrs{}, 0, 0, 0, 0,
		nil
}

// tombstone makes dst the released tombstone of src.
func (p *policy) tombstone(dst, src *kgo.Record) {
	dst.Value = nil
	p.apply(dst, src, nil, -1)
}

// arena is memory for keys. It is only appended to and never reused.
type arena struct {
	buf     []byte
	scratch [keystream.PseudonymSize]byte
}

const arenaSize = 64 << 10

// room makes at least n bytes free.
func (a *arena) room(n int) []byte {
	if cap(a.buf)-len(a.buf) < n {
		a.buf = make([]byte, 0, max(arenaSize, n))
	}
	return a.buf[len(a.buf):]
}

// keep takes what was appended to room's result; where that has outgrown the
// arena it has memory of its own.
func (a *arena) keep(key []byte) []byte {
	if n := len(key); n <= cap(a.buf)-len(a.buf) {
		a.buf = a.buf[:len(a.buf)+n]
	}
	return key[:len(key):len(key)]
}

func (p *policy) pseudonym(key []byte) []byte {
	a := p.arenas.Get().(*arena)
	defer p.arenas.Put(a)
	sum := p.pseudonyms.Append(a.scratch[:0], key)
	return a.keep(base64.RawURLEncoding.AppendEncode(a.room(22), sum))
}

// value is the released value of a record as text; nil for a null.
func (p *policy) value(c *microdata.Column, row int) []byte {
	a := p.arenas.Get().(*arena)
	defer p.arenas.Put(a)
	if v := c.OutArray(); v != nil {
		if key, ok := p.appendValue(a.room(64), v, row); ok {
			return a.keep(key)
		}
		return nil
	}
	v := c.Out()
	if !v.Valid.Has(row) {
		return nil
	}
	return a.keep(p.appendNumber(a.room(32), v.Values[row]))
}

func (p *policy) appendNumber(dst []byte, x float64) []byte {
	if p.output.Decimals >= 0 && p.output.Masked {
		return text.AppendFixed(dst, x, p.output.Decimals, false)
	}
	if p.output.Field.Type.ID() == arrow.FLOAT32 {
		return text.AppendShortest32(dst, float32(x))
	}
	return text.AppendShortest(dst, x)
}

// appendValue appends a value of an array; not ok where it is null.
func (p *policy) appendValue(dst []byte, v arrow.Array, i int) ([]byte, bool) {
	switch u := v.(type) {
	case *array.DenseUnion:
		return p.appendValue(dst, u.Field(u.ChildID(i)), int(u.ValueOffset(i)))
	case *array.Dictionary:
		if u.IsNull(i) {
			return dst, false
		}
		return p.appendValue(dst, u.Dictionary(), u.GetValueIndex(i))
	case array.ExtensionArray:
		return p.appendValue(dst, u.Storage(), i)
	}
	if v.IsNull(i) {
		return dst, false
	}
	switch v := v.(type) {
	case *array.String:
		if p.json {
			return appendText(dst, v.Value(i))
		}
		return append(dst, v.Value(i)...), true
	case *array.LargeString:
		return append(dst, v.Value(i)...), true
	case *array.StringView:
		return append(dst, v.Value(i)...), true
	case *array.Binary:
		return append(dst, v.Value(i)...), true
	case *array.LargeBinary:
		return append(dst, v.Value(i)...), true
	case *array.BinaryView:
		return append(dst, v.Value(i)...), true
	case *array.FixedSizeBinary:
		return append(dst, v.Value(i)...), true
	case *array.Float64:
		return text.AppendShortest(dst, v.Value(i)), true
	case *array.Float32:
		return text.AppendShortest32(dst, v.Value(i)), true
	case *array.Int64:
		return strconv.AppendInt(dst, v.Value(i), 10), true
	case *array.Int32:
		return strconv.AppendInt(dst, int64(v.Value(i)), 10), true
	case *array.Boolean:
		return strconv.AppendBool(dst, v.Value(i)), true
	}
	return append(dst, v.ValueStr(i)...), true
}

// appendText appends a JSON value as text: strings without their quotes.
func appendText(dst []byte, value string) ([]byte, bool) {
	switch {
	case value == "" || value == "null":
		return dst, false
	case value[0] != '"':
		return append(dst, value...), true
	}
	dst, _ = members.Unquote(dst, []byte(value)) // half a character becomes U+FFFD
	return dst, true
}
