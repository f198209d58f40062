package jsonl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

var style = text.Style{Null: "null", String: quote, Literals: true}

type sink struct {
	config *SinkConfig
	out    *text.Output
	layout *microdata.Layout
	tree   *tree    // of a source whose records are carried, else nil
	json   []bool   // by output: text that is JSON already
	frame  []string // what stands before each output where nothing is carried, and after the last
}

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &sink{config: c, layout: plan.Layout, json: make([]bool, len(plan.Layout.Release))}
	if from, ok := plan.Source.(*source); ok {
		s.tree = from.tree
		from.carried.Store(true)
		for i, o := range plan.Layout.Release {
			s.json[i] = from.tree.leaves[o.Source].raw
		}
	}
	for _, o := range plan.Layout.Release {
		if o.Column < 0 && s.tree == nil {
			return nil, fmt.Errorf("column %s: is not decoded, and this output cannot carry it", o.Field.Name)
		}
	}
	s.frame = frame(plan.Layout.Release)
	out, err := text.CreateOutput(text.OutputConfig{
		Path: c.Path, Extension: ".jsonl", Extensions: []string{".ndjson", ".json"}, Codec: c.codec(), Stdout: c.Stdout,
		Streams: len(plan.Source.Streams()), Folder: text.IsFolder(plan.Source),
		Begin: func(int) []byte { return nil },
	})
	if err != nil {
		return nil, err
	}
	s.out = out
	return s, nil
}

// frame returns the text around the values of a record. A dotted name is a path
// into nested objects; where that cannot be, since one name is the beginning of
// another or columns of one object do not follow one another, all names stay
// whole.
func frame(release []microdata.Output) []string {
	if !nestable(release) {
		out := make([]string, 0, len(release)+1)
		for i, o := range release {
			lead := ","
			if i == 0 {
				lead = "{"
			}
			out = append(out, lead+string(quote(nil, o.Field.Name))+":")
		}
		if len(release) == 0 {
			return []string{"{}"}
		}
		return append(out, "}")
	}
	var out []string
	var open []string
	for i, o := range release {
		path := strings.Split(o.Field.Name, ".")
		inside := path[:len(path)-1]
		k := shared(open, inside)
		var b strings.Builder
		b.WriteString(strings.Repeat("}", len(open)-k))
		if i == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		for _, name := range inside[k:] {
			b.Write(quote(nil, name))
			b.WriteString(":{")
		}
		b.Write(quote(nil, path[len(path)-1]))
		b.WriteByte(':')
		out = append(out, b.String())
		open = inside
	}
	if len(release) == 0 {
		return []string{"{}"}
	}
	return append(out, strings.Repeat("}", len(open)+1))
}

func shared(a, b []string) int {
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return k
}

func nestable(release []microdata.Output) bool {
	closed, values := map[string]bool{}, map[string]bool{}
	var open []string
	for _, o := range release {
		path := strings.Split(o.Field.Name, ".")
		inside := path[:len(path)-1]
		for k := shared(open, inside); k < len(open); k++ {
			closed[strings.Join(open[:k+1], ".")] = true
		}
		for k := range inside {
			if object := strings.Join(inside[:k+1], "."); closed[object] || values[object] {
				return false
			}
		}
		name := o.Field.Name
		if slices.Contains(path, "") || closed[name] {
			return false
		}
		values[name] = true
		open = inside
	}
	return true
}

// encoded is a block as text.
type encoded struct {
	stream int
	buf    []byte
	cells  []text.Cells
}

var encodedPool = sync.Pool{New: func() any { return new(encoded) }}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	e := encodedPool.Get().(*encoded)
	e.stream, e.buf = b.Stream, e.buf[:0]
	if len(e.cells) < len(s.layout.Release) {
		e.cells = make([]text.Cells, len(s.layout.Release))
	}
	c, _ := b.Carried.(*carried)
	if s.tree == nil {
		c = nil
	}
	for i, o := range s.layout.Release {
		if c != nil && !o.Masked {
			continue
		}
		if o.Column < 0 {
			return nil, fmt.Errorf("%s: the block carries no text of the source", s.config.Path)
		}
		st := style
		if s.json[i] {
			st.String = func(dst []byte, v string) []byte { return append(dst, v...) }
		}
		if err := e.cells[i].Fill(&b.Columns[o.Column], o, &st); err != nil {
			return nil, err
		}
	}
	if c != nil {
		s.patch(e, b, c)
	} else {
		s.rows(e, b)
	}
	return e, nil
}

// rows writes a block of which nothing is carried.
func (s *sink) rows(e *encoded, b *microdata.Block) {
	last := len(s.layout.Release)
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		for i := range last {
			e.buf = append(e.buf, s.frame[i]...)
			e.buf = append(e.buf, e.cells[i].At(r)...)
		}
		e.buf = append(e.buf, s.frame[last]...)
		e.buf = append(e.buf, '\n')
	}
}

// patch copies the records with their edits.
func (s *sink) patch(e *encoded, b *microdata.Block, c *carried) {
	data, dst := c.chunk.Data, slices.Grow(e.buf, len(c.chunk.Data)+len(c.chunk.Data)/4)
	edits := uint32(0)
	for r := range b.N {
		mine := c.edits[edits:c.last[r]]
		edits = c.last[r]
		if b.Rejected(r) {
			continue
		}
		line := c.lines[r]
		at := line.start
		for k := 0; k < len(mine); k++ {
			ed := &mine[k]
			dst = append(dst, data[at:ed.start]...)
			at = ed.end
			switch {
			case ed.out == cutOut:
			case ed.into == nil:
				if value := e.cells[ed.out].At(r); string(value) != "null" || !isNull(data[ed.start:ed.end]) {
					dst = append(dst, value...)
				} else {
					dst = append(dst, data[ed.start:ed.end]...)
				}
			default:
				n := 1
				for k+n < len(mine) && mine[k+n].into == ed.into {
					n++
				}
				dst = s.fill(dst, e, data, mine[k:k+n], r)
				k += n - 1
			}
		}
		dst = append(dst, data[at:line.end]...)
		// The line end as it came, without white space before it.
		end := int(line.end)
		for end < len(data) && data[end] != '\n' {
			end++
		}
		if end < len(data) && end > int(line.end) && data[end-1] == '\r' {
			dst = append(dst, '\r')
		}
		dst = append(dst, '\n')
	}
	e.buf = dst
}

func isNull(p []byte) bool { return len(p) > 0 && p[0] == 'n' }

// fill writes the members that an object lacked and that a mask has given a
// value.
func (s *sink) fill(dst []byte, e *encoded, data []byte, edits []edit, r int) []byte {
	var filled []edit
	for _, ed := range edits {
		if string(e.cells[ed.out].At(r)) != "null" {
			filled = append(filled, ed)
		}
	}
	first := edits[0]
	if len(filled) == 0 {
		return append(dst, data[first.start:first.end]...)
	}
	if first.whole {
		dst = append(dst, '{')
	}
	comma := first.comma
	var open []*node
	for _, ed := range filled {
		leaf := s.tree.leaves[s.layout.Release[ed.out].Source]
		var inside []*node
		for n := leaf.parent; n != first.into; n = n.parent {
			inside = append(inside, n)
		}
		slices.Reverse(inside)
		k := 0
		for k < len(open) && k < len(inside) && open[k] == inside[k] {
			k++
		}
		for range open[k:] {
			dst = append(dst, '}')
		}
		if comma {
			dst = append(dst, ',')
		}
		for _, n := range inside[k:] {
			dst = append(quote(dst, n.name), ':', '{')
		}
		dst = append(quote(dst, leaf.name), ':')
		dst = append(dst, e.cells[ed.out].At(r)...)
		open, comma = inside, true
	}
	for range open {
		dst = append(dst, '}')
	}
	if first.whole {
		dst = append(dst, '}')
	}
	return dst
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, enc connectors.Encoded) error {
	e := enc.(*encoded)
	if err := s.out.Write(ctx, e.stream, e.buf); err != nil {
		return err
	}
	encodedPool.Put(e)
	return nil
}

// Finish implements connectors.Sink.
func (s *sink) Finish(ctx context.Context) error { return s.out.Finish(ctx) }

// Commit implements connectors.Sink.
func (s *sink) Commit() error { return s.out.Commit() }

// Abort implements connectors.Sink.
func (s *sink) Abort() error { return s.out.Abort() }
