package parquet

import (
	"context"
	"io"
)

// filter reads a carried column of a row group and encodes it again without the
// dropped records. Their values are not left in dictionary or statistics.
func (s *sink) filter(ctx context.Context, g *pendingGroup, l *leaf, pe *pageEncoder, dict *chunkDictionary) (
	[]*encodedPage, error) {
	st := s.source.streams[s.stream]
	rg := &st.RowGroups[g.group]
	in := newPages(g.near, st.file.Label, g.group, l, &rg.Columns[l.index].MetaData.V)
	f := &rowFilter{pe: pe, dict: dict, dropped: g.dropped, row: -1}
	f.clear()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := f.decode(in.chunk, p); err != nil {
			return nil, in.fail(err)
		}
	}
	if f.row != rg.NumRows-1 {
		return nil, in.fail(errCut)
	}
	if err := f.flush(); err != nil {
		return nil, in.fail(err)
	}
	return f.pages, nil
}

// rowFilter copies the values of kept records into pages.
type rowFilter struct {
	pe      *pageEncoder
	dict    *chunkDictionary
	dropped []int64 // the remaining dropped rows, in order
	row     int64   // current
	skip    bool    // the current record is dropped
	out     *values
	rows    int // in out
	size    int // number of bytes of the values in out
	pages   []*encodedPage
}

// fullPage is the number of bytes of values at which a page is full, even with fewer than
// defaultRecords records: with a dictionary of a few long values, short pages become long.
const fullPage = 8 << 20

func (f *rowFilter) clear() {
	f.rows, f.size = 0, 0
	f.out = &values{}
	if f.pe.leaf.width == 0 {
		f.out.offsets = []uint32{0}
	}
}

func (f *rowFilter) flush() error {
	if f.rows == 0 {
		return nil
	}
	p, err := f.pe.page(f.out, f.rows)
	if d := f.out.dict; d != nil {
		f.dict.most = len(d.data) + 4*d.n // it needs no more than the source's
	}
	if err == nil {
		err = f.dict.settle(f.pe, p)
	}
	if err != nil {
		return err
	}
	f.pages = append(f.pages, p)
	f.clear()
	return nil
}

func (f *rowFilter) decode(c *chunk, p *page) (err error) {
	defer recovered(&err)
	v := &values{dense: true}
	defer v.free()
	if err = v.page(c, p); err == nil {
		err = f.take(c.leaf, v)
	}
	return err
}

// take copies the kept records of a decoded page. A record may continue in the next page.
func (f *rowFilter) take(l *leaf, v *values) error {
	if f.row < 0 && v.rep != nil && v.rep[0] != 0 {
		return errMiddle
	}
	k := 0 // value
	for i, d := range v.def {
		if v.rep == nil || v.rep[i] == 0 {
			if err := f.next(); err != nil {
				return err
			}
		}
		if !f.skip {
			if l.maxRep > 0 {
				f.out.rep = append(f.out.rep, v.rep[i])
			}
			if l.maxDef > 0 {
				f.out.def = append(f.out.def, d)
			}
		}
		if d < l.maxDef {
			continue
		}
		if !f.skip {
			if err := f.value(l, v, k); err != nil {
				return err
			}
		}
		k++
	}
	return nil
}

// next goes on to the next record, which may be a dropped one. It first writes the page if
// that is full.
func (f *rowFilter) next() error {
	if f.rows == defaultRecords || f.size >= fullPage {
		if err := f.flush(); err != nil {
			return err
		}
	}
	f.row++
	if f.skip = len(f.dropped) > 0 && f.dropped[0] == f.row; f.skip {
		f.dropped = f.dropped[1:]
	} else {
		f.rows++
	}
	return nil
}

// value copies value k. Indexes into the dictionary are kept as long as all
// values have them.
func (f *rowFilter) value(l *leaf, v *values, k int) error {
	f.out.n++
	if w := l.width; w > 0 {
		f.out.data = append(f.out.data, v.data[k*w:(k+1)*w]...)
		f.size += w
		return nil
	}
	b := v.bytes(k)
	f.size += len(b)
	if v.index != nil && (f.out.n == 1 || f.out.index != nil) {
		f.out.index, f.out.dict = append(f.out.index, v.index[k]), v.dict
		return nil
	}
	if f.out.index != nil {
		f.out.n--
		if err := f.out.resolve(); err != nil {
			return err
		}
		f.out.n++
	}
	f.out.data = append(f.out.data, b...)
	f.out.offsets = append(f.out.offsets, uint32(len(f.out.data)))
	return nil
}
