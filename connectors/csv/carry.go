package csv

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// patch copies the text of the block and replaces the masked fields. The text between
// two of them, including line ends, is copied at once.
func (s *sink) patch(e *encoded, b *microdata.Block, c *carried) {
	data, dst := c.chunk.Data, slices.Grow(e.Buf, len(c.chunk.Data)+len(c.chunk.Data)/4)
	from, to := 0, 0 // the range to be copied next
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		if start := int(c.starts[r]); start != to {
			dst = append(dst, data[from:to]...)
			from = start
		}
		for i := range s.ops {
			o := &s.ops[i]
			if o.output < 0 {
				continue
			}
			start, end := c.field(r, o.field)
			dst = appendRun(dst, data, from, int(start))
			dst = s.value(dst, e, b, i, r)
			from = int(end)
		}
		end := int(c.ends[(r+1)*c.fields-1])
		to = lineEndAt(data, end)
		if s.lineEnd != nil || to == end || to == len(data) && data[to-1] != '\n' {
			dst = append(dst, data[from:end]...)
			dst = s.endLine(dst, data[end:to], b.Stream)
			from = to
			e.Ends = append(e.Ends, len(dst))
		}
	}
	e.Buf = append(dst, data[from:to]...)
}

// lineEndAt returns the place after the line end at data[at:].
func lineEndAt(data []byte, at int) int {
	if at < len(data) && data[at] == '\r' {
		at++
	}
	if at < len(data) && data[at] == '\n' {
		at++
	}
	return at
}

// endLine appends the line end of a record: its own, unless another one is configured
// or it had none.
func (s *sink) endLine(dst, was []byte, stream int) []byte {
	switch {
	case s.lineEnd != nil:
		return append(dst, s.lineEnd...)
	case len(was) > 0 && was[len(was)-1] == '\n':
		return append(dst, was...)
	}
	return append(dst, s.lastEnd(stream)...)
}

// lastEnd returns the line end for a record that has none.
func (s *sink) lastEnd(stream int) []byte {
	if s.src.heads[stream].crlf {
		return []byte("\r\n")
	}
	return []byte("\n")
}

// pick copies the fields that are released, in the order of the release.
func (s *sink) pick(e *encoded, b *microdata.Block, c *carried) {
	data := c.chunk.Data
	dst := slices.Grow(e.Buf, len(data)+len(data)/8)
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		ended := false // the line end came with the last fields
		for i := range s.ops {
			o := &s.ops[i]
			if o.parted {
				dst = append(dst, s.delimiter)
			}
			switch {
			case o.output < 0:
				var start, end int
				start, end, ended = s.run(c, o, r)
				dst = appendRun(dst, data, start, end)
			case e.sure[i] != nil:
				dst = text.AppendFixed(dst, e.sure[i][r], o.decimals, o.pad)
			default:
				dst = s.value(dst, e, b, i, r)
			}
		}
		if !ended {
			end := int(c.ends[(r+1)*c.fields-1])
			dst = s.endLine(dst, data[end:lineEndAt(data, end)], b.Stream)
		}
		e.Ends = append(e.Ends, len(dst))
	}
	e.Buf = dst
}

// run returns the range of the text of an op's run of fields, with the delimiters that are copied
// with it. ended is true if it includes the line end, as for the last op.
func (s *sink) run(c *carried, o *op, r int) (start, end int, ended bool) {
	from, _ := c.field(r, o.first)
	start, end = int(from), int(c.ends[r*c.fields+o.last])
	if o.before {
		start--
	}
	switch {
	case o.behind:
		end++
	case s.lineEnd == nil && o.last == c.fields-1 && o == &s.ops[len(s.ops)-1]:
		if to := lineEndAt(c.chunk.Data, end); to > end && c.chunk.Data[to-1] == '\n' {
			return start, to, true
		}
	}
	return start, end, false
}

// shortRun is the number of bytes that are always copied for a run of at most that length.
const shortRun = 32

// appendRun appends data[from:to]. A short run is copied together with the bytes that follow,
// which the next run overwrites: copying a constant size needs no function call.
func appendRun(dst, data []byte, from, to int) []byte {
	n, size := len(dst), to-from
	if size > shortRun || from+shortRun > len(data) || n+shortRun > cap(dst) {
		return append(dst, data[from:to]...)
	}
	*(*[shortRun]byte)(dst[n : n+shortRun]) = *(*[shortRun]byte)(data[from : from+shortRun])
	return dst[:n+size]
}
