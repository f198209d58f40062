package parquet

import (
	"fmt"
	"math"
)

// append adds the nested values of a further page. They are kept as dictionary indexes as long as
// all pages have indexes.
func (v *values) append(l *leaf, o *values) error {
	v.rep = append(v.rep, o.rep...)
	v.def = append(v.def, o.def...)
	if o.n == 0 {
		return nil
	}
	if l.width > 0 {
		v.n += o.n
		if v.expanded += o.expanded; v.expanded > maxPage {
			return errExpanded
		}
		v.reserve()
		v.data = append(v.data, o.data...)
		return nil
	}
	if o.index != nil && (v.n == 0 || v.index != nil) {
		v.n += o.n
		v.index, v.dict = append(v.index, o.index...), o.dict
		return nil
	}
	if err := v.resolve(); err != nil {
		return err
	}
	v.n += o.n
	return v.add(o, o.n)
}

// reserve makes room for all values before the first.
func (v *values) reserve() {
	if v.data == nil {
		v.data = make([]byte, 0, v.room)
	}
}

// add appends the first n values of a BYTE_ARRAY column, without counting them.
func (v *values) add(o *values, n int) error {
	v.reserve()
	for i := range n {
		b := o.bytes(i)
		if o.index != nil {
			if v.expanded += len(b); v.expanded > maxPage {
				return errExpanded
			}
		}
		if len(v.data)+len(b) > math.MaxUint32 {
			return errExpanded
		}
		v.data = append(v.data, b...)
		v.offsets = append(v.offsets, uint32(len(v.data)))
	}
	return nil
}

var errExpanded = fmt.Errorf(
	"the values of a column, of which a dictionary has each once, have together more than %d MB, the most that is decoded at once", maxPage>>20)

// resolve replaces indexes into a dictionary by values.
func (v *values) resolve() error {
	if v.offsets == nil {
		v.offsets = []uint32{0}
	}
	if v.index == nil {
		return nil
	}
	from := values{index: v.index, dict: v.dict}
	v.index, v.dict = nil, nil
	return v.add(&from, v.n)
}
