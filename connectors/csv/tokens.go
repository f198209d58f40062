package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/internal/text"
)

// dialect has the characters that separate fields and records.
type dialect struct {
	delimiter, quote byte
	fields           int // that a record must have
}

// blank reports whether a line is not a record.
func (d *dialect) blank(line []byte) bool { return len(line) == 0 && d.fields != 1 }

// split implements text.Split. A quote opens a quoted field only at the field's
// start; a record with a quote anywhere else is malformed and ends with its
// line, so that the records after it are read.
func (d *dialect) split(p []byte, max int, final bool) (n, records int) {
	quote := bytes.IndexByte(p, d.quote)
	if quote < 0 {
		return text.SplitLines(p, max, final, d.blank)
	}
	for n < len(p) && (max == 0 || records < max) {
		end, ok := d.recordEnd(p, n, &quote, final)
		if !ok {
			break
		}
		if !d.blank(text.Chomp(p[n:end])) {
			records++
		}
		n = end
	}
	return n, records
}

// recordEnd returns the place after the line end of the record at p[at:]. quote is the
// place of the first quote at or after an earlier place, kept from record to record;
// len(p) if there is none. ok is false if p ends before the record does.
func (d *dialect) recordEnd(p []byte, at int, quote *int, final bool) (end int, ok bool) {
	line := lineEnd(p, at)
	for from := at; ; {
		if *quote < from {
			*quote = find(p, from, d.quote)
		}
		q := *quote
		if q >= line {
			break // no further quote in this line
		}
		if q != at && p[q-1] != d.delimiter {
			break // a bare quote: the rest of the line belongs to the record
		}
		after := d.closing(p, q)
		if after > len(p) {
			return len(p), final // never closed
		}
		if after > line {
			line = lineEnd(p, after)
		}
		if after >= len(p) || p[after] != d.delimiter {
			break // the record's last field, or text after the closing quote
		}
		from = after + 1
	}
	if line < len(p) {
		return line + 1, true
	}
	return len(p), final
}

// closing returns the place after the quote that closes the field opened at p[q];
// len(p)+1 if none does.
func (d *dialect) closing(p []byte, q int) int {
	for i := q + 1; ; i += 2 {
		i = find(p, i, d.quote)
		if i >= len(p) {
			return len(p) + 1
		}
		if i+1 >= len(p) || p[i+1] != d.quote {
			return i + 1
		}
	}
}

func lineEnd(p []byte, at int) int { return find(p, at, '\n') }

// find returns the place of b at or after at; len(p) if there is none.
func find(p []byte, at int, b byte) int {
	if at >= len(p) {
		return len(p)
	}
	if i := bytes.IndexByte(p[at:], b); i >= 0 {
		return at + i
	}
	return len(p)
}

// bounds has the places of the fields of a run of records. Field f of record r is
// data[start : ends[r*fields+f]], where start is starts[r] for the first field and
// one more than the end of the previous field for the others.
type bounds struct {
	starts, ends []uint32
	fields       int
	malformed    []malformed
	truncated    bool // the last record is incomplete, because the file is truncated
}

type malformed struct {
	row    int
	reason string
}

func (b *bounds) field(r, f int) (start, end uint32) {
	k := r*b.fields + f
	if f == 0 {
		return b.starts[r], b.ends[k]
	}
	// The fields of a malformed record all end where it starts.
	return min(b.ends[k-1]+1, b.ends[k]), b.ends[k]
}

// tokenise finds the fields of a chunk. The number of records is that of split.
func (d *dialect) tokenise(b *bounds, p []byte, records int, final bool) {
	b.reset(d, records)
	if d.fields > 1 && bytes.IndexByte(p, d.quote) < 0 && d.flat(b, p, records) {
		b.ends = b.ends[:records*d.fields]
		return
	}
	b.ends = b.ends[:records*d.fields]
	d.walk(b, p, records, final)
}

// reset makes room for the fields of records, and for the ends that flat writes beyond them.
func (b *bounds) reset(d *dialect, records int) {
	b.fields, b.malformed, b.truncated = d.fields, b.malformed[:0], false
	b.starts = sized(b.starts, records)
	b.ends = sized(b.ends, records*d.fields+spare)
}

func sized(s []uint32, n int) []uint32 {
	if cap(s) < n {
		return make([]uint32, n, n+n/8)
	}
	return s[:n]
}

const unclosed = "a quoted field is not closed"

// settled notes where the records of a flat chunk begin, and removes the carriage return from the
// end of their last fields; false if a line end is not the end of a record.
func (d *dialect) settled(b *bounds, p []byte, records int) bool {
	// There are as many line ends as records. So if each record's last field ends at a
	// line end, no other field does.
	start := uint32(0)
	for r := range records {
		last := &b.ends[r*d.fields+d.fields-1]
		e := *last
		if int(e) < len(p) && p[e] != '\n' {
			return false
		}
		b.starts[r] = start
		start = e + 1
		if e > 0 && p[e-1] == '\r' {
			*last = e - 1
		}
	}
	return true
}

// walk tokenises any chunk, record by record.
func (d *dialect) walk(b *bounds, p []byte, records int, final bool) {
	quote := -1
	for r, at := 0, 0; r < records; {
		end, _ := d.recordEnd(p, at, &quote, true)
		line := text.Chomp(p[at:end])
		if d.blank(line) {
			at = end
			continue
		}
		reason, open := d.record(b, p[:at+len(line)], r, at)
		if reason != "" {
			b.malformed = append(b.malformed, malformed{r, reason})
			// An unfinished last line is how a file that was cut off ends.
			b.truncated = final && end == len(p) && open && (reason == unclosed || p[end-1] != '\n')
		}
		at = end
		r++
	}
}

// record finds the fields of the record p[at:]. If it is malformed, all of its fields
// are left empty. open says that it ends before it is complete.
func (d *dialect) record(b *bounds, p []byte, r, at int) (reason string, open bool) {
	b.starts[r] = uint32(at)
	ends := b.ends[r*d.fields : (r+1)*d.fields]
	reason, n := d.fieldEnds(ends, p, at)
	if reason == "" && n == d.fields {
		return "", false
	}
	for i := range ends {
		ends[i] = uint32(at)
	}
	if reason != "" {
		return reason, reason == unclosed
	}
	return fmt.Sprintf("must have %d fields, got %d", d.fields, n), n < d.fields
}

// fieldEnds finds the ends of the fields of the record p[i:], as many as ends has room
// for, and returns the number of fields.
func (d *dialect) fieldEnds(ends []uint32, p []byte, i int) (reason string, n int) {
	for {
		if i < len(p) && p[i] == d.quote {
			i = d.closing(p, i)
			if i > len(p) {
				return unclosed, n
			}
			if i < len(p) && p[i] != d.delimiter {
				return "text after a closing quote", n
			}
		} else {
			i = d.fieldEnd(p, i)
			if i < len(p) && p[i] == d.quote {
				return "a quote within a field that is not in quotes", n
			}
		}
		if n < len(ends) {
			ends[n] = uint32(i)
		}
		n++
		if i >= len(p) {
			return "", n
		}
		i++
	}
}

// fieldEnd returns the place of the next delimiter or quote.
func (d *dialect) fieldEnd(p []byte, i int) int {
	delimiters, quotes := ones*uint64(d.delimiter), ones*uint64(d.quote)
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		x, y := w^delimiters, w^quotes
		m := ^((((x & low7) + low7) | x) & (((y & low7) + low7) | y)) &^ low7
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(p) && p[i] != d.delimiter && p[i] != d.quote; i++ {
	}
	return i
}

// bare returns the content of a field: without its quotes, and with doubled quotes
// replaced by single ones.
func (d *dialect) bare(field []byte) (content []byte, quoted bool) {
	if len(field) == 0 || field[0] != d.quote {
		return field, false
	}
	inner := field[1 : len(field)-1]
	q := bytes.IndexByte(inner, d.quote)
	if q < 0 {
		return inner, true
	}
	buf := make([]byte, 0, len(inner))
	for q >= 0 {
		buf = append(buf, inner[:q+1]...)
		inner = inner[q+2:]
		q = bytes.IndexByte(inner, d.quote)
	}
	return append(buf, inner...), true
}
