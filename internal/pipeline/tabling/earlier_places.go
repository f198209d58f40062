package tabling

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// compare notes the columns of a value, by which records are told apart.
func (v *vintage) compare(f *family) {
	add := func(at int, number bool) {
		if c := (column{at, number}); at >= 0 && !slices.Contains(v.compared, c) {
			v.compared = append(v.compared, c)
		}
	}
	for _, c := range f.columns.Variables {
		add(c, false)
	}
	add(f.columns.Value, true)
	add(f.columns.Weight, true)
	add(f.columns.Holding, false)
	add(f.columns.Request, false)
	for _, c := range v.identity {
		add(c, false)
	}
}

// print tells a record from all records that are not the same.
type print [16]byte

// prints returns the prints of some rows.
func (v *vintage) prints(b *microdata.Block, rows []int) []print {
	list := make([]print, len(rows))
	texts := make([]func(int) (string, bool), len(v.compared))
	numbers := make([]microdata.Vector, len(v.compared))
	for k, c := range v.compared {
		if c.number {
			numbers[k] = b.Columns[c.at].Out()
		} else {
			texts[k] = tabulate.Texts(&b.Columns[c.at])
		}
	}
	var key []byte
	for i, row := range rows {
		key = key[:0]
		for k := range v.compared {
			if texts[k] == nil {
				x := numbers[k].Values[row] + 0 // no −0
				if !numbers[k].Valid.Has(row) {
					x = math.NaN()
				}
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(x))
				continue
			}
			text, has := texts[k](row)
			if !has {
				text = "\x00"
			}
			key = binary.LittleEndian.AppendUint32(key, uint32(len(text)))
			key = append(key, text...)
		}
		sum := sha256.Sum256(key)
		copy(list[i][:], sum[:])
	}
	return list
}

// next returns the print of the next copy of a record.
func (p print) next() print {
	binary.LittleEndian.PutUint64(p[8:], binary.LittleEndian.Uint64(p[8:])+1)
	return p
}

// places says in which vintages each record is, in the lower half of a word. The upper half has the vintages from which
// it has been taken.
type places map[print]uint64

// enter enters a record of a vintage. Of equal records in one vintage each is one of its own.
func (s places) enter(vintage int, p print) {
	for s[p]>>vintage&1 == 1 {
		p = p.next()
	}
	s[p] |= 1 << vintage
}

// take returns the vintages in which a record of a vintage is; each of equal records is taken once.
func (s places) take(vintage int, p print) uint32 {
	for s[p]>>(32+vintage)&1 == 1 {
		p = p.next()
	}
	s[p] |= 1 << (32 + vintage)
	return uint32(s[p])
}
