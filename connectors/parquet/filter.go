package parquet

import (
	"context"
	"io"
)

// filter reads a carried column of a row group and encodes it anew without the
// records that were dropped. Nothing of theirs is left in dictionary or
// statistics.
func (s *sink) filter(ctx context.Context, g *pendingGroup, l *leaf, pe *pageEncoder, dict *chunkDictionary) ([]*encodedPage, error) {
	st := s.source.streams[s.stream]
	rg := &st.RowGroups[g.group]
	in := newPages(s.out.in, st.file.Label, g.group, l, &rg.Columns[l.index].MetaData.V)
	f := &rowFilter{pe: pe, dict: dict, dropped: g.dropped, row: -1}
	f.clear()
	var all []*page
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
		all = append(all, p)
		if l.maxRep > 0 {
			continue // a record may begin in one page and end in the next
		}
		if err := f.decode(in.chunk, all, 0); err != nil {
			return nil, in.fail(err)
		}
		all = all[:0]
	}
	if l.maxRep > 0 {
		if err := f.decode(in.chunk, all, int(rg.NumRows)); err != nil {
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
	dropped []int64 // still to come, in order
	row     int64   // current
	skip    bool    // the current record is dropped
	out     *values
	rows    int // in out
	pages   []*encodedPage
}

func (f *rowFilter) clear() {
	f.rows = 0
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

func (f *rowFilter) decode(c *chunk, pages []*page, rows int) (err error) {
	defer recovered(&err)
	v := &values{dense: true}
	defer v.free()
	if c.leaf.maxRep > 0 {
		err = v.decode(c, pages, rows)
	} else {
		err = v.page(c, pages[0])
	}
	if err != nil {
		return err
	}
	return f.take(c.leaf, v)
}

// take copies what is kept of decoded values.
func (f *rowFilter) take(l *leaf, v *values) error {
	k := 0 // value
	for i, d := range v.def {
		if v.rep == nil || v.rep[i] == 0 {
			if f.rows == defaultRecords {
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
			f.out.n++
			if w := l.width; w > 0 {
				f.out.data = append(f.out.data, v.data[k*w:(k+1)*w]...)
			} else {
				f.out.data = append(f.out.data, v.bytes(k)...)
				f.out.offsets = append(f.out.offsets, uint32(len(f.out.data)))
			}
		}
		k++
	}
	return nil
}
