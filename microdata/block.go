package microdata

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Bitmap has one bit a record, bit i%64 of word i/64; nil stands for all ones.
type Bitmap []uint64

// NewBitmap returns a bitmap of n bits, all set, reusing buf where it is large
// enough. Bits beyond n are zero.
func NewBitmap(n int, buf Bitmap) Bitmap {
	words := (n + 63) / 64
	if cap(buf) < words {
		buf = make(Bitmap, words)
	}
	buf = buf[:words]
	for i := range buf {
		buf[i] = ^uint64(0)
	}
	if n%64 != 0 {
		buf[words-1] = 1<<(n%64) - 1
	}
	return buf
}

// Has reports bit i.
func (b Bitmap) Has(i int) bool { return b == nil || b[i>>6]>>(i&63)&1 == 1 }

// Set sets bit i; the bitmap must not be nil.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Clear clears bit i; the bitmap must not be nil.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Count returns how many of the first n bits are set.
func (b Bitmap) Count(n int) int {
	if b == nil {
		return n
	}
	c := 0
	for _, w := range b {
		c += bits.OnesCount64(w)
	}
	return c
}

// Vector is a numeric column: one float64 a record. Where Valid is not nil and
// its bit is clear the record has no value (null) and Values holds 0.
type Vector struct {
	Values []float64
	Valid  Bitmap
}

// Column is one decoded column of a block.
type Column struct {
	// Numbers form. Original is filled by the source (Alloc gives it buffers; it
	// may also alias memory of the source that stays unchanged while the block
	// lives). Released is what leaves: masks fill it by way of Mutable; it is
	// empty where no mask touches the column, and what leaves is then Original.
	Original, Released Vector

	// Array form. Array is filled by the source; ReleasedArray is set by a mask
	// that moves values between records, nil where none does.
	Array, ReleasedArray arrow.Array

	Moved Moved // where values move between records, what is expected of that

	Coded Coded // the records that have a declared code for a missing value, which is null here

	values, released     []float64 // buffers kept between uses
	valid, releasedValid Bitmap
	moved                Moved
}

// Alloc gives Original n values, of undefined content, from the column's own
// buffers, and where nulls is true a bitmap with every bit set.
func (c *Column) Alloc(n int, nulls bool) *Vector {
	if cap(c.values) < n {
		c.values = make([]float64, n)
	}
	c.Original.Values = c.values[:n]
	c.Original.Valid = nil
	if nulls {
		c.valid = NewBitmap(n, c.valid)
		c.Original.Valid = c.valid
	}
	return &c.Original
}

// Mutable returns Released, first made a copy of Original where it is empty.
func (c *Column) Mutable() *Vector {
	to, from := c.Rewritten()
	if len(from) > 0 && &from[0] != &to.Values[0] {
		copy(to.Values, from)
	}
	return to
}

// Rewritten returns Released for a mask that writes each of its values, and the values to make
// them of: its own, or those of Original where it was empty. It then has the nulls of Original,
// and values of undefined content.
func (c *Column) Rewritten() (to *Vector, from []float64) {
	if c.Released.Values != nil {
		return &c.Released, c.Released.Values
	}
	n := len(c.Original.Values)
	if c.released == nil || cap(c.released) < n {
		c.released = make([]float64, max(n, 1))
	}
	c.Released.Values = c.released[:n]
	if v := c.Original.Valid; v != nil {
		c.releasedValid = append(c.releasedValid[:0], v...)
		c.Released.Valid = c.releasedValid
	}
	return &c.Released, c.Original.Values
}

// Out returns the released numbers: Released where a mask has filled it, else
// Original.
func (c *Column) Out() Vector {
	if c.Released.Values != nil {
		return c.Released
	}
	return c.Original
}

// OutArray returns the released array.
func (c *Column) OutArray() arrow.Array {
	if c.ReleasedArray != nil {
		return c.ReleasedArray
	}
	return c.Array
}

// Digest is a keyed hash of the identifying values of a record.
type Digest [16]byte

// Reject gives the reason why a record of a block cannot be released.
type Reject struct {
	Row    int    // index in the block
	Column string // "" where the whole record is malformed
	Reason string // never a value
}

// Block is a run of consecutive records of one stream. The goroutine that
// holds it owns it and everything in it. Buffers are kept between uses: Reset
// empties a block for the next run of records.
type Block struct {
	Stream  int   // index of the stream in its source
	First   int64 // index of the block's first record in the stream, from 0
	N       int   // records, rejected ones included
	Columns []Column

	// Scope names what the streams belong to where their numbers alone do not
	// tell them apart: a topic, whose partitions are the streams. "": a file job.
	Scope string

	// Places are the records' places in their stream, ascending, where they do
	// not follow one another: offsets of a topic have gaps. nil: record i is at
	// First+i. Where it is set, Places[0] is First.
	Places []int64

	// Digests identify the records where identity columns are configured; nil
	// where a record's identity is its place (Stream, First+i), and the zero Digest
	// where it is that because all its identity columns are null or empty.
	Digests []Digest

	// Carried is what the source keeps of columns that were not decoded, for a
	// sink of the same format.
	Carried any

	// Touched are the numbers of records that each mask of the chain has changed in this block; nil
	// before it is masked.
	Touched []int64

	// Listed has a bit for each category that the chain's recodings list, set where some record of this block has it
	// (transform.Chain.Unmatched); nil before it is masked.
	Listed Bitmap

	Rejects  []Reject // at most one a record, in the order in which they were found
	rejected Bitmap   // here a set bit is a record that is not to be released; nil where all are
	leftOut  int      // of these, how many a sample leaves out
}

// Reset empties the block for n records in the given number of columns, keeping
// buffers.
func (b *Block) Reset(stream int, first int64, n, columns int) {
	b.Stream, b.First, b.N = stream, first, n
	if cap(b.Columns) < columns {
		b.Columns = append(b.Columns[:cap(b.Columns)], make([]Column, columns-cap(b.Columns))...)
	}
	b.Columns = b.Columns[:columns]
	for i := range b.Columns {
		c := &b.Columns[i]
		c.Original, c.Released = Vector{}, Vector{}
		c.Array, c.ReleasedArray = nil, nil
		c.Moved, c.Coded = Moved{}, Coded{}
	}
	b.Digests, b.Carried = nil, nil
	b.Scope, b.Places, b.Touched, b.Listed = "", nil, b.Touched[:0], b.Listed[:0]
	b.Rejects, b.rejected, b.leftOut = b.Rejects[:0], nil, 0
}

// Reject marks record row as not to be released. The first reason given for a
// record stays. reason must not hold any value of the record.
func (b *Block) Reject(row int, column, reason string) {
	if b.Rejected(row) {
		return
	}
	b.drop(row)
	b.Rejects = append(b.Rejects, Reject{Row: row, Column: column, Reason: reason})
}

func (b *Block) drop(row int) {
	if b.rejected == nil {
		b.rejected = make(Bitmap, (b.N+63)/64)
	}
	b.rejected.Set(row)
}

// LeaveOut marks record row as not drawn by a sample, and so not released. A rejected record
// stays rejected, and a record that is left out is not rejected later.
func (b *Block) LeaveOut(row int) {
	if !b.Rejected(row) {
		b.drop(row)
		b.leftOut++
	}
}

// LeftOut returns how many records LeaveOut has marked.
func (b *Block) LeftOut() int { return b.leftOut }

// Whole reports whether every record is to be released.
func (b *Block) Whole() bool { return b.rejected == nil }

// Rejected reports whether record row must not be released: it was rejected or left out.
func (b *Block) Rejected(row int) bool {
	return b.rejected != nil && b.rejected[row>>6]>>(row&63)&1 == 1
}

// Place returns the place of record i in its stream.
func (b *Block) Place(i int) int64 {
	if b.Places != nil {
		return b.Places[i]
	}
	return b.First + int64(i)
}

// Kept returns how many records are to be released.
func (b *Block) Kept() int { return b.N - len(b.Rejects) - b.leftOut }

// Part makes dst a read-only view of the records from ≤ i < to of b. It shares the values of b
// and is valid as long as b; Carried is left out.
func (b *Block) Part(dst *Block, from, to int) {
	n := to - from
	dst.Reset(b.Stream, b.First+int64(from), n, len(b.Columns))
	for i := range b.Columns {
		c, d := &b.Columns[i], &dst.Columns[i]
		d.Original, d.Released = c.Original.part(from, n), c.Released.part(from, n)
		d.Moved, d.Coded = c.Moved.part(from, n), c.Coded.part(from, n)
		if c.Array != nil {
			d.Array = array.NewSlice(c.Array, int64(from), int64(to))
		}
		if c.ReleasedArray != nil {
			d.ReleasedArray = array.NewSlice(c.ReleasedArray, int64(from), int64(to))
		}
	}
	dst.Scope = b.Scope
	if b.Places != nil && n > 0 {
		dst.Places = b.Places[from:to]
		dst.First = dst.Places[0]
	}
	if b.Digests != nil {
		dst.Digests = b.Digests[from:to]
	}
	for _, r := range b.Rejects {
		if r.Row >= from && r.Row < to {
			dst.Reject(r.Row-from, r.Column, r.Reason)
		}
	}
	if b.leftOut > 0 {
		for i := range n {
			if b.Rejected(from + i) {
				dst.LeaveOut(i) // those that Rejects tells of stay rejected
			}
		}
	}
}

func (v Vector) part(from, n int) Vector {
	if v.Values == nil {
		return Vector{}
	}
	p := Vector{Values: v.Values[from : from+n]}
	if v.Valid != nil {
		p.Valid = NewBitmap(n, nil)
		for i := range n {
			if !v.Valid.Has(from + i) {
				p.Valid.Clear(i)
			}
		}
	}
	return p
}
