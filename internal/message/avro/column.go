package avro

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// cell describes where a column's values are in records of one schema, and how they are
// encoded.
type cell struct {
	field  int   // index in the record; -1: the schema has no such field, the values are null
	node   *node // type of the values other than null
	null   int   // number of the null branch, -1: none
	branch int   // number of the values' branch, -1: no union
	unfit  string
}

// newCell matches a column to a schema's field.
func newCell(w *written, column int, f microdata.Field) cell {
	c := cell{field: w.field[column], null: -1, branch: -1}
	if c.field < 0 {
		return c
	}
	c.node, c.null, c.branch = w.record.node.fields[c.field].node.value()
	if !readable(c.node, f.Type) {
		c.unfit = fmt.Sprintf("has type %s in the record's schema, which cannot be read as %s", c.node.arrow, f.Type)
	}
	return c
}

// readable reports whether a column of type want can hold values of type n, or at least
// some of them.
func readable(n *node, want arrow.DataType) bool {
	if n.kind == kindNull || arrow.TypeEqual(n.arrow, want) {
		return true
	}
	number := n.arrow.ID() == arrow.INT32 || n.arrow.ID() == arrow.INT64
	switch want.ID() {
	case arrow.INT32, arrow.INT64:
		return number
	case arrow.FLOAT32, arrow.FLOAT64:
		return number || n.kind == kindFloat || n.kind == kindDouble
	case arrow.STRING, arrow.BINARY:
		return n.arrow.ID() == arrow.STRING || n.arrow.ID() == arrow.BINARY && n.kind == kindBytes
	case arrow.DECIMAL128, arrow.DECIMAL256:
		d, ok := n.arrow.(arrow.DecimalType)
		return ok && d.GetScale() == want.(arrow.DecimalType).GetScale()
	}
	return false
}

// at returns the begin and the end of row's value; from is -1 if it is null.
func (c *cell) at(r *rows, row int) (from, to int) {
	e := r.ends[r.starts[row]+c.field:]
	from, to = int(e[0]), int(e[1])
	if c.branch < 0 {
		return from, to
	}
	which, next := long(r.values[row], from)
	if int(which) == c.null {
		return -1, -1
	}
	return next, to
}

// columnDecoder decodes one wanted column of a run.
type columnDecoder struct {
	block *microdata.Block
	rows  *rows
	want  int
	field microdata.Field
}

const (
	tooWide  = "integer beyond ±2^53 cannot be masked exactly"
	tooLong  = "decimal of more digits than a float64 holds cannot be masked exactly"
	outside  = "is beyond the range of the column's type"
	notUTF8  = "is text that is not valid UTF-8"
	tooLarge = "makes the column larger than 2 GB; read fewer records at a time"
)

func (d *columnDecoder) reject(row int, reason string) {
	d.block.Reject(row, d.field.Name, reason)
}

// each calls value for every record with a value, and null for the others. It rejects
// records whose schema has an incompatible type for the column.
func (d *columnDecoder) each(value func(row int, c *cell, v []byte, from, to int), null func(row int)) {
	for row, p := range d.rows.plans {
		if p == nil {
			null(row)
			continue
		}
		c := &p.cells[d.want]
		if c.field < 0 || c.unfit != "" {
			if c.unfit != "" {
				d.reject(row, c.unfit)
			}
			null(row)
			continue
		}
		from, to := c.at(d.rows, row)
		if from < 0 || c.node.kind == kindNull {
			null(row)
			continue
		}
		value(row, c, d.rows.values[row], from, to)
	}
}

// numbers decodes into the form that masks use.
func (d *columnDecoder) numbers(out *microdata.Column, measured bool) {
	if _, ok := d.field.Type.(arrow.DecimalType); ok {
		d.decimalNumbers(out, measured)
		return
	}
	n := d.block.N
	dst := out.Alloc(n, true)
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if d.field.Type.ID() == arrow.INT32 {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	nulls := false
	for row, p := range d.rows.plans {
		dst.Values[row] = 0
		var c *cell
		if p != nil {
			c = &p.cells[d.want]
		}
		if c == nil || c.field < 0 || c.unfit != "" || c.node.kind == kindNull {
			if c != nil && c.unfit != "" {
				d.reject(row, c.unfit)
			}
			dst.Valid.Clear(row)
			nulls = true
			continue
		}
		from, _ := c.at(d.rows, row)
		if from < 0 {
			dst.Valid.Clear(row)
			nulls = true
			continue
		}
		v := d.rows.values[row]
		switch c.node.kind {
		case kindInt, kindLong:
			x, _ := long(v, from)
			switch {
			case x < lo || x > hi:
				d.reject(row, outside)
				continue
			case (x < -microdata.MaxExact || x > microdata.MaxExact) && !measured:
				d.reject(row, tooWide)
				continue
			}
			dst.Values[row] = float64(x)
		case kindFloat:
			dst.Values[row] = float64(math.Float32frombits(binary.LittleEndian.Uint32(v[from:])))
		case kindDouble:
			x := math.Float64frombits(binary.LittleEndian.Uint64(v[from:]))
			if d.field.Type.ID() == arrow.FLOAT32 && !narrows(x) {
				d.reject(row, outside)
				continue
			}
			dst.Values[row] = x
		}
	}
	if !nulls {
		dst.Valid = nil
	}
}

// narrows reports whether a float32 represents x exactly.
func narrows(x float64) bool { return float64(float32(x)) == x || math.IsNaN(x) }

// decimalNumbers decodes decimals, which a float64 may not represent exactly.
func (d *columnDecoder) decimalNumbers(out *microdata.Column, measured bool) {
	a := d.array()
	defer a.Release()
	for _, row := range microdata.NumbersOf(a, out) {
		if measured {
			out.Original.Values[row] = nearest(a.ValueStr(row))
			continue
		}
		d.reject(row, tooLong)
	}
}
