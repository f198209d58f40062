package avro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// splicer writes records from messages of this format: it copies the carried bytes and
// inserts masked values.
type splicer struct {
	reader         *reader
	client         *registry.Client
	topic, subject string
	layout         *microdata.Layout
	outputs        []int // by column of the source, index in Layout.Release; -1: not released

	mu       sync.RWMutex
	releases map[form]*release
}

type form struct {
	written *written
	wide    bool
}

// newSplicer returns a writer. If the source has one schema, it registers the released
// form at once, so that an error of the registry is reported before any message is
// read.
func newSplicer(ctx context.Context, from *reader, r message.WriteRequest) (*splicer, error) {
	s := &splicer{
		reader: from, client: r.Registry, topic: r.Topic, subject: r.Registry.Subject(r.Topic), layout: r.Layout,
		outputs: make([]int, len(from.fields)), releases: make(map[form]*release),
	}
	if s.client == from.client && slices.Contains(from.subjects, s.subject) {
		return nil,
			fmt.Errorf(
				"topic %s: its schemas would be registered under subject %s, which is the source's; name another under the sink's registry", s.topic, s.subject)
	}
	for k := range s.outputs {
		s.outputs[k] = -1
	}
	for o, out := range r.Layout.Release {
		if out.Masked && out.Column < 0 {
			return nil, fmt.Errorf("column %s: is masked and not decoded", out.Field.Name)
		}
		s.outputs[out.Source] = o
	}
	if len(from.latest) == 1 {
		if _, err := s.release(ctx, form{from.latest[0], false}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Carries implements message.Writer.
func (s *splicer) Carries() bool { return true }

// release returns the released form of a schema, which it registers once.
func (s *splicer) release(ctx context.Context, f form) (*release, error) {
	s.mu.RLock()
	rel := s.releases[f]
	s.mu.RUnlock()
	if rel != nil {
		return rel, nil
	}
	rel, err := s.releaseOf(ctx, f.written, f.wide)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.releases[f]; first != nil {
		return first, nil
	}
	s.releases[f] = rel
	return rel, nil
}

var errNotCarried = errors.New(
	"avro: the block carries no messages of the reader that the writer was made for; its decoder must be asked to carry")

// Encode implements message.Writer.
func (s *splicer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	at, ok := b.Carried.(*rows)
	if !ok || at.reader != s.reader {
		return message.Released{}, errNotCarried
	}
	masked := make([]source, len(s.layout.Release))
	for o, out := range s.layout.Release {
		if out.Masked {
			masked[o] = newSource(released(b, s.layout, out))
		}
	}
	kept := b.Kept()
	size := 0
	for row, v := range at.values {
		if at.plans[row] != nil {
			size += len(v) + perMasked*len(masked)
		}
	}
	buf := make([]byte, 0, size)
	res := message.Released{Values: make([][]byte, 0, kept), Source: make([]int32, 0, kept)}
	var (
		exact *release
		of    *written
		err   error
	)
	for row := range at.values {
		if b.Rejected(row) {
			continue
		}
		if w := at.plans[row].written; w != of {
			if exact, err = s.release(ctx, form{w, false}); err != nil {
				return message.Released{}, err
			}
			of = w
		}
		from := len(buf)
		out, fault := exact.append(buf, at, masked, row)
		if fault >= 0 {
			wide, err := s.release(ctx, form{of, true})
			if err != nil {
				return message.Released{}, err
			}
			if out, fault = wide.append(buf, at, masked, row); fault >= 0 {
				return message.Released{},
					fmt.Errorf("topic %s: column %s has a masked value that its type in the released schema cannot hold", s.topic,
						s.layout.Release[fault].Field.Name)
			}
		}
		buf = out
		res.Values = append(res.Values, buf[from:len(buf):len(buf)])
		res.Source = append(res.Source, int32(row))
	}
	return res, nil
}

// perMasked is the greatest number of bytes by which a number can become longer.
const perMasked = 10

// append appends the message of a record. fault is the index in Layout.Release of an
// output whose value the schema cannot hold, else -1.
func (r *release) append(dst []byte, at *rows, masked []source, row int) (_ []byte, fault int) {
	for _, o := range r.absent {
		if !masked[o].null(row) {
			return dst, o
		}
	}
	v, ends := at.values[row], at.ends[at.starts[row]:]
	dst = append(dst, r.header...)
	for i := range r.steps {
		st := &r.steps[i]
		if st.output < 0 {
			dst = append(dst, v[ends[st.from]:ends[st.to]]...)
			continue
		}
		var ok bool
		if dst, ok = st.target.append(dst, &masked[st.output], row); !ok {
			return dst, st.output
		}
	}
	return dst, -1
}

// released returns a released column, with the released type and a value for each
// record of the block.
func released(b *microdata.Block, layout *microdata.Layout, out microdata.Output) arrow.Array {
	c := &b.Columns[out.Column]
	if layout.Read[out.Column].As == microdata.Array {
		return c.OutArray()
	}
	return microdata.ToArray(c.Out(), b.N, out.Field, nil)
}
