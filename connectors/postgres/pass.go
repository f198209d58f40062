package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

const (
	runRecords = 4096    // of a run, by default
	runBytes   = 1 << 20 // of a run, from which on it ends, where its number of records is not exact
	runsAhead  = 4       // that are read before they are asked for
)

// pass is one COPY. A goroutine takes what the server sends and cuts it into runs of whole
// rows; Next hands them out.
type pass struct {
	source    *Source
	layout    *microdata.Layout
	requested []int       // columns of the source, in the order of the COPY
	at        map[int]int // their places in it

	ctx    context.Context // of Read
	db     *conn
	cancel context.CancelFunc
	runs   chan *run
	done   chan struct{}
	err    error // when done is closed: why the COPY ended, nil at its end
	first  int64
	closed bool
}

// want asks for a column, once.
func (p *pass) want(column int) {
	if _, known := p.at[column]; !known {
		p.at[column] = len(p.requested)
		p.requested = append(p.requested, column)
	}
}

func (p *pass) start(ctx context.Context, db *conn, cut connectors.Cut) {
	p.ctx, p.db, p.runs, p.done = ctx, db, make(chan *run, runsAhead), make(chan struct{})
	var copying context.Context
	copying, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c := &cutter{pass: p, ctx: copying, records: runRecords, bytes: runBytes, hashes: make([]uint64, len(p.requested))}
	if cut.Records > 0 {
		c.records = cut.Records
	}
	if cut.Exact {
		c.bytes = 0
	}
	sql := p.source.copySQL(p.requested)
	go func() {
		defer close(p.done)
		defer bug.Guard()
		_, err := p.db.CopyTo(copying, c, sql)
		if err == nil {
			err = c.finish()
		}
		p.err = explain(copying, err, p.source.label)
	}()
}

// Next implements connectors.Reader.
func (p *pass) Next(ctx context.Context) (connectors.Raw, error) {
	if p.closed {
		return nil, errors.New("the pass is closed")
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-p.runs:
		return p.place(r), nil
	case <-p.done:
	}
	select {
	case r := <-p.runs:
		return p.place(r), nil
	default:
	}
	if p.err != nil {
		return nil, p.err
	}
	return nil, io.EOF
}

func (p *pass) place(r *run) *run {
	r.first = p.first
	p.first += int64(r.rows)
	return r
}

// Close implements connectors.Reader: a COPY that has not ended is ended.
func (p *pass) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	p.cancel()
	for ended := false; !ended; {
		select {
		case <-p.runs:
		case <-p.done:
			ended = true
		}
	}
	p.db.close()
	return nil
}

// signature begins what COPY sends in its binary format; flags and the length of an
// extension follow, 4 bytes each.
var signature = []byte("PGCOPY\n\xff\r\n\x00")

// cutter takes the bytes of a COPY, in pieces of any length, and cuts them into runs.
type cutter struct {
	pass    *pass
	ctx     context.Context
	records int
	bytes   int // 0: unbounded

	begun, ended bool
	buffer       []byte
	scanned      int // of held: whole rows
	rows         int // that they are

	total      int64
	hashes     []uint64 // of the columns so far
	key, prior []byte   // of the last row and the one before it: the values that order it
}

var errFormat = errors.New("what the server sends is not the binary format of COPY")

// Write takes a piece.
func (c *cutter) Write(piece []byte) (int, error) {
	c.buffer = append(c.buffer, piece...)
	if err := c.scan(); err != nil {
		return 0, &Error{What: c.pass.source.label, Why: err.Error()}
	}
	return len(piece), nil
}

// scan looks for whole rows and hands on the runs that they complete.
func (c *cutter) scan() error {
	if !c.begun {
		n, err := header(c.buffer)
		if n == 0 || err != nil {
			return err
		}
		c.buffer, c.begun = c.buffer[n:], true
	}
	for {
		rest := c.buffer[c.scanned:]
		switch {
		case len(rest) > 0 && c.ended:
			return errFormat
		case len(rest) < 2:
			return nil
		case int16(binary.BigEndian.Uint16(rest)) == -1:
			c.ended = true
			c.buffer = slices.Delete(c.buffer, c.scanned, c.scanned+2)
			continue
		}
		n, err := c.row(rest)
		if n == 0 || err != nil {
			return err
		}
		c.scanned += n
		c.rows++
		if c.rows == c.records || c.bytes > 0 && c.scanned >= c.bytes {
			if err := c.emit(); err != nil {
				return err
			}
		}
	}
}

// header returns the length of what comes before the rows, 0 where it is not there yet.
func header(p []byte) (int, error) {
	if n := min(len(p), len(signature)); !bytes.Equal(p[:n], signature[:n]) {
		return 0, errFormat
	}
	const fixed = 19
	if len(p) < fixed {
		return 0, nil
	}
	if flags := binary.BigEndian.Uint32(p[11:]); flags>>16 != 0 {
		return 0, errFormat // critical ones, of which none is known
	}
	extension := binary.BigEndian.Uint32(p[15:])
	if extension > 1<<20 {
		return 0, errFormat
	}
	if n := fixed + int(extension); len(p) >= n {
		return n, nil
	}
	return 0, nil
}

// row returns the length of the row at the beginning of p, 0 where it is not whole yet, and
// takes its values into the hashes. Its order must be another than that of the row before.
func (c *cutter) row(p []byte) (int, error) {
	columns := c.pass.requested
	if int(binary.BigEndian.Uint16(p)) != len(columns) {
		return 0, errFormat
	}
	end := 2
	for range columns {
		_, n, ok, err := field(p[end:])
		if !ok || err != nil {
			return 0, err
		}
		end += n
	}
	c.key, c.prior = c.prior[:0], c.key
	at := 2
	for i := range columns {
		value, n, _, _ := field(p[at:])
		at += n
		h := uint64(1) // of null
		if value != nil {
			h = maphash.Bytes(c.pass.source.seed, value)
		}
		c.hashes[i] = c.hashes[i]*0x9e3779b97f4a7c15 + h
	}
	c.key = c.pass.keyOf(c.key, p)
	c.total++
	if c.total > 1 && bytes.Equal(c.key, c.prior) {
		return 0,
			fmt.Errorf(
				"record %d has the same values in the columns of its order as the one before it, so that their order is left to chance; name columns that tell all records apart (order)", c.total)
	}
	return end, nil
}

// field returns the value at the beginning of p, nil for null, and its length with the
// four bytes that tell it; ok is false where it is not whole yet.
func field(p []byte) (value []byte, n int, ok bool, err error) {
	if len(p) < 4 {
		return nil, 0, false, nil
	}
	length := int32(binary.BigEndian.Uint32(p))
	switch {
	case length == -1:
		return nil, 4, true, nil
	case length < 0:
		return nil, 0, false, errFormat
	case len(p)-4 < int(length):
		return nil, 0, false, nil
	}
	return p[4 : 4+length : 4+length], 4 + int(length), true, nil
}

// keyOf appends the values that order a whole row: equal ones have equal bytes.
func (p *pass) keyOf(key, row []byte) []byte {
	for _, column := range p.source.order {
		at := 2
		for range p.at[column] {
			_, n, _, _ := field(row[at:])
			at += n
		}
		value, _, _, _ := field(row[at:])
		if value == nil {
			key = append(key, 0)
			continue
		}
		from := len(key) + 5
		switch p.source.columns[column].oid {
		case oidBpchar:
			value = bytes.TrimRight(value, " ") // which count for nothing
		}
		key = append(key, 1)
		key = binary.BigEndian.AppendUint32(key, uint32(len(value)))
		key = append(key, value...)
		if p.source.columns[column].oid == oidNumeric && len(value) >= 8 {
			key[from+6], key[from+7] = 0, 0 // the scale that is shown: 1.0 is 1.00
		}
	}
	return key
}

// emit hands on the whole rows that are held.
func (c *cutter) emit() error {
	if c.rows == 0 {
		return nil
	}
	r := &run{pass: c.pass, data: bytes.Clone(c.buffer[:c.scanned]), rows: c.rows}
	c.buffer = append(c.buffer[:0], c.buffer[c.scanned:]...)
	c.scanned, c.rows = 0, 0
	select {
	case c.pass.runs <- r:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// finish hands on the last rows; without the mark of its end a COPY is cut off.
func (c *cutter) finish() error {
	source := c.pass.source
	if !c.ended || c.scanned != len(c.buffer) {
		return &Error{What: source.label, Why: "what the server sends is cut off"}
	}
	if err := c.emit(); err != nil {
		return err
	}
	columns := map[int]uint64{}
	for i, column := range c.pass.requested {
		columns[column] = c.hashes[i]
	}
	if err := source.fingerprint.compare(c.total, columns); err != nil {
		return &Error{What: source.label, Why: err.Error()}
	}
	return nil
}
