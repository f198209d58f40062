package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Carries implements connectors.SinkConfig: unchanged fields of a CSV source are copied
// unless the sink's configuration requires a different form.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	s, ok := src.(*source)
	if !ok || c.Quoting == "all" || s.dialect.quote != '"' {
		return false
	}
	d, _ := oneByte(c.Delimiter, s.dialect.delimiter)
	return d == s.dialect.delimiter && (c.Nulls == nil || *c.Nulls == s.null()) && c.point(s) == s.numbers.point
}

// point returns the decimal mark that the sink writes; from is nil if the source has
// another format.
func (c *SinkConfig) point(from *source) byte {
	switch {
	case c.Decimal != "":
		return c.Decimal[0]
	case from != nil:
		return from.numbers.point
	}
	return '.'
}

// null returns the text with which the source's nulls are written.
func (s *source) null() string {
	if n := s.config.nulls(); len(n) > 0 {
		return n[0]
	}
	return ""
}

type sink struct {
	config *SinkConfig
	*text.Output
	layout    *microdata.Layout
	src       *source // nil: the source has another format, or is not carried
	delimiter byte
	style     text.Style
	lineEnd   []byte                  // nil: each record keeps its own
	needs     func(field string) bool // whether a field must be in quotes
	order     *rearranged             // nil: the records keep the order of the source
	ops       []op
	inPlace   bool // every field of the source is released at its place
	book      *codebook
}

// op is a part of the output between two delimiters: a run of the source's fields, or
// one output column.
type op struct {
	first, last int // fields of the source, where output < 0
	output      int // index in Layout.Release
	field       int // of the source, for an output that replaces it
	fixed       bool
	decimals    int
	pad         bool
	// Whether a run of fields is copied with the delimiter before or after it, which it has in
	// the source too.
	before, behind bool
	parted         bool // a delimiter must be written before the op
}

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	s, err := c.create(ctx, plan, nil)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *SinkConfig) create(ctx context.Context, plan connectors.Plan, order *rearranged) (*sink, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	from, _ := plan.Source.(*source)
	streams := len(plan.Source.Streams())
	s := &sink{config: c, layout: plan.Layout, order: order}
	byDefault := byte(',')
	null, header := "", true
	var heads []head
	if from != nil {
		byDefault, null, header = from.dialect.delimiter, from.null(), from.config.header()
		heads = from.heads
		// Files of several hands may spell alike values otherwise, which would tell them apart in another order.
		if c.Carries(plan.Source) && (order == nil || streams == 1) {
			s.src = from
			from.carried.Store(true)
		}
	}
	s.delimiter, _ = oneByte(c.Delimiter, byDefault)
	if c.Nulls != nil {
		null = *c.Nulls
	}
	if c.Header != nil {
		header = *c.Header
	}
	s.setStyle(null, from)
	switch {
	case c.LineEnding == "crlf":
		s.lineEnd = []byte("\r\n")
	case c.LineEnding == "lf", (s.src == nil || order != nil) && (heads == nil || !heads[0].crlf):
		s.lineEnd = []byte("\n")
	case s.src == nil || order != nil:
		s.lineEnd = []byte("\r\n")
	}
	s.plan()
	for _, o := range s.ops {
		if o.output < 0 && s.src == nil {
			return nil,
				fmt.Errorf("column %s: is not decoded, and this output cannot carry it", plan.Layout.Schema.Fields[o.first].Name)
		}
	}
	if order != nil {
		streams = 1
	}
	book, err := c.newCodebook(plan)
	if err != nil {
		return nil, err
	}
	s.book = book
	out, err := text.CreateOutput(text.OutputConfig{
		Path: c.Path, Extensions: Kind.Extensions, Codec: c.codec(), Stdout: c.Stdout,
		Streams: streams, Folder: connectors.Folder(plan.Source),
		Begin: func(stream int) []byte {
			var h head
			if heads != nil {
				h = heads[stream]
			}
			return s.begin(h, header)
		},
	})
	if err != nil {
		if book != nil {
			err = errors.Join(err, book.file.Abort())
		}
		return nil, err
	}
	s.Output = out
	return s, nil
}

// setStyle sets the functions that put text in quotes. A field that is not null is put
// in quotes if it could be read as a null, by the source's configuration or by the
// sink's.
func (s *sink) setStyle(null string, from *source) {
	words := []string{null}
	if from != nil {
		words = append(words, from.config.nulls()...)
	}
	var special [256]bool
	for _, b := range []byte{s.delimiter, '"', '\n', '\r'} {
		special[b] = true
	}
	all := s.config.Quoting == "all"
	needs := func(p string) bool {
		if all || p == "" || p[0] == ' ' || p[len(p)-1] == ' ' || slices.Contains(words, p) {
			return true
		}
		for i := range len(p) {
			if special[p[i]] {
				return true
			}
		}
		return false
	}
	s.needs = needs
	s.style = text.Style{Null: null, String: func(dst []byte, p string) []byte {
		if !needs(p) {
			return append(dst, p...)
		}
		dst = append(dst, '"')
		for i := range len(p) {
			if p[i] == '"' {
				dst = append(dst, '"')
			}
			dst = append(dst, p[i])
		}
		return append(dst, '"')
	}}
	point := s.config.point(from)
	// A number needs quotes if it could be read as a null, or contains the delimiter.
	if all || point == ',' || slices.ContainsFunc(words, func(w string) bool { return w != "" }) {
		s.style.Bare = func(dst []byte, start int) []byte {
			parted := false
			if point == ',' {
				if at := bytes.IndexByte(dst[start:], '.'); at >= 0 {
					dst[start+at] = ','
					parted = s.delimiter == ','
				}
			}
			if !all && !parted && !slices.Contains(words, string(dst[start:])) {
				return dst
			}
			dst = append(dst, '"', '"')
			copy(dst[start+1:], dst[start:len(dst)-2])
			dst[start] = '"'
			return dst
		}
	}
}

// plan divides the release into runs of fields and single columns.
func (s *sink) plan() {
	s.inPlace = s.src != nil && len(s.layout.Release) == len(s.layout.Schema.Fields)
	for i, o := range s.layout.Release {
		s.inPlace = s.inPlace && o.Source == i
		if o.Column < 0 || s.src != nil && !o.Masked {
			if k := len(s.ops) - 1; k >= 0 && s.ops[k].output < 0 && s.ops[k].last == o.Source-1 {
				s.ops[k].last++
				continue
			}
			s.ops = append(s.ops, op{first: o.Source, last: o.Source, output: -1})
			continue
		}
		p := op{output: i, field: o.Source}
		if o.Masked && o.Decimals >= 0 && s.style.Bare == nil && o.Field.Type.ID() != arrow.FLOAT32 {
			p.fixed, p.decimals = true, o.Decimals
			d, ok := o.Field.Decimals()
			p.pad = ok && d == o.Decimals
		}
		s.ops = append(s.ops, p)
	}
	s.part()
}

// part decides which delimiters are copied with a run of fields.
func (s *sink) part() {
	runs := func(i int) bool { return i >= 0 && i < len(s.ops) && s.ops[i].output < 0 }
	for i := range s.ops {
		o := &s.ops[i]
		if runs(i) {
			o.before = i > 0 && o.first > 0
			follows := i+1 < len(s.ops) && !(runs(i+1) && s.ops[i+1].first > 0)
			o.behind = follows && o.last < len(s.layout.Schema.Fields)-1
		}
		o.parted = i > 0 && !o.before && !s.ops[i-1].behind
	}
}

// begin returns the beginning of a file.
func (s *sink) begin(h head, header bool) []byte {
	var p []byte
	if h.bom {
		p = append(p, text.ByteOrderMark...)
	}
	if !header {
		return p
	}
	names := text.Style{}
	names.String = s.style.String
	for i, o := range s.layout.Release {
		if i > 0 {
			p = append(p, s.delimiter)
		}
		if s.src != nil && s.src.config.header() && o.Field.Name == s.layout.Schema.Fields[o.Source].Name {
			p = append(p, h.fields[o.Source]...)
		} else {
			p = names.String(p, o.Field.Name)
		}
	}
	switch {
	case s.lineEnd != nil:
		return append(p, s.lineEnd...)
	case h.crlf:
		return append(p, "\r\n"...)
	}
	return append(p, '\n')
}

// encoded is a block as text.
type encoded struct {
	text.Records
	stream int
	cells  []text.Cells
	sure   [][]float64 // by op: the values of a column that is written in fixed form and has no null; otherwise nil
}

var encodedPool = sync.Pool{New: func() any { return new(encoded) }}

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	if s.book != nil {
		s.book.codes.Add(b)
	}
	e := encodedPool.Get().(*encoded)
	e.Clear()
	e.stream = b.Stream
	if len(e.cells) < len(s.layout.Release) {
		e.cells = make([]text.Cells, len(s.layout.Release))
	}
	var c *carried
	if s.src != nil {
		c, _ = b.Carried.(*carried)
		if c == nil && slices.ContainsFunc(s.ops, func(o op) bool { return o.output < 0 }) {
			return nil, fmt.Errorf("%s: the block carries no text of the source", s.config.Path)
		}
	}
	for _, o := range s.ops {
		if o.output < 0 || o.fixed && b.Columns[s.layout.Release[o.output].Column].OutArray() == nil {
			continue
		}
		out := s.layout.Release[o.output]
		if err := e.cells[o.output].Fill(&b.Columns[out.Column], out, &s.style); err != nil {
			return nil, err
		}
	}
	s.settle(e, b)
	if s.order != nil && c != nil {
		s.order.observe(s, b, c)
	}
	switch {
	case c == nil:
		s.rows(e, b)
	case s.inPlace:
		s.patch(e, b, c)
	default:
		s.pick(e, b, c)
	}
	clear(e.sure)
	return e, nil
}

// settle finds the columns in which every value is written as a number in fixed form.
func (s *sink) settle(e *encoded, b *microdata.Block) {
	e.sure = e.sure[:0]
	for _, o := range s.ops {
		var values []float64
		if o.output >= 0 && o.fixed {
			col := &b.Columns[s.layout.Release[o.output].Column]
			if out := col.Out(); col.OutArray() == nil && out.Valid == nil {
				values = out.Values
			}
		}
		e.sure = append(e.sure, values)
	}
}

// value appends the text of record r in an op's output column.
func (s *sink) value(dst []byte, e *encoded, b *microdata.Block, op, r int) []byte {
	o := &s.ops[op]
	if v := e.sure[op]; v != nil {
		return text.AppendFixed(dst, v[r], o.decimals, o.pad)
	}
	col := &b.Columns[s.layout.Release[o.output].Column]
	if !o.fixed || col.OutArray() != nil {
		return append(dst, e.cells[o.output].At(r)...)
	}
	v := col.Out()
	if !v.Valid.Has(r) {
		return append(dst, s.style.Null...)
	}
	return text.AppendFixed(dst, v.Values[r], o.decimals, o.pad)
}

// rows writes a block of which nothing is carried.
func (s *sink) rows(e *encoded, b *microdata.Block) {
	end := s.lineEnd
	if end == nil {
		end = s.lastEnd(b.Stream)
	}
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		for i := range s.ops {
			if i > 0 {
				e.Buf = append(e.Buf, s.delimiter)
			}
			e.Buf = s.value(e.Buf, e, b, i, r)
		}
		e.Buf = append(e.Buf, end...)
		e.Ends = append(e.Ends, len(e.Buf))
	}
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, enc connectors.Encoded) error {
	e := enc.(*encoded)
	if err := s.Output.Write(ctx, e.stream, e.Buf); err != nil {
		return err
	}
	encodedPool.Put(e)
	return nil
}
