package assess

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// WatchedColumn is a masked column of which only all records together tell what the masks have left.
type WatchedColumn struct {
	Name  string
	Index int // in Block.Columns
	// Texts says that it is held as an array and not measured as numbers: whether all of its values are the
	// original is then noted. Judged says that a gate refuses it.
	Texts, Judged bool
	Renamed       bool // a mask gives pseudonyms
	Dates         bool // a mask replaces dates by the middle of their interval
}

// Renamed is what pseudonyms leave: how many records each identifier has.
type Renamed struct {
	Column      string
	Identifiers int64 // different ones, without nulls
	Repeated    int64 // those of more than one record
	Singular    int64 // those with a number of records that no other has: whoever knows the number has found them
	Estimated   bool  // from a part of the identifiers; Singular is then not known, and 0
}

// Determined is how much of a column of rounded dates follows from the release alone.
type Determined struct {
	Column  string
	Records int64 // with a released date that stands for one and the same original date in at least leastAlike records
	Of      int64
}

// Unaltered is a column of texts that had values, all of which were released unchanged: whatever the law of the masks
// is, it is not protected.
type Unaltered struct {
	Column string
	Judged bool
}

// leastAlike is how many records a released date must have for it to show that it stands for one original date. Of
// fewer nobody sees it.
const leastAlike = 5

// mostCounted is how many identifiers of a column are counted; of more, a part that their hash selects.
const mostCounted = 1 << 18

// residue is what is noted of one column.
type residue struct {
	seen, altered bool              // whether it has values, and whether the masks have changed any
	counts        map[uint64]int64  // records, by hash of the identifiers that begins with so many zeros
	zeros         int               // of the hashes
	dates         map[float64]dates // by released date
}

// dates is what a released date stands for.
type dates struct {
	first   float64 // an original date
	records int64
	several bool // other records have another
}

// and returns what two groups of records with the same released date have together.
func (d dates) and(e dates) dates {
	if d.records == 0 {
		return e
	}
	return dates{d.first, d.records + e.records, d.several || e.several || d.first != e.first}
}

// watch notes what the masks have left of a block's records.
func (a *Accumulator) watch(b *microdata.Block) {
	for i, c := range a.opts.Watched {
		w, col := &a.watched[i], &b.Columns[c.Index]
		if c.Texts && col.Array != nil && !w.altered {
			w.compare(b, col, a.opts.Same)
		}
		if c.Renamed && col.Array != nil {
			w.countIdentifiers(b, col.OutArray())
		}
		if c.Dates && col.Original.Values != nil {
			w.countDates(b, col)
		}
	}
}

// compare looks for a changed value, until one has been found.
func (w *residue) compare(b *microdata.Block, col *microdata.Column, same func(x, y arrow.Array) func(i int) bool) {
	if col.OutArray() == col.Array && w.seen {
		return // no mask has replaced the array
	}
	stays := same(col.Array, col.OutArray())
	for i := range b.N {
		if b.Rejected(i) {
			continue
		}
		w.seen = w.seen || !col.Array.IsNull(i)
		if !stays(i) {
			w.altered = true
			return
		}
	}
}

func (w *residue) countIdentifiers(b *microdata.Block, a arrow.Array) {
	if w.counts == nil {
		w.counts = map[uint64]int64{}
	}
	for i := range b.N {
		if b.Rejected(i) || a.IsNull(i) {
			continue
		}
		if text := a.ValueStr(i); text != "" {
			if hash := uint64(microdata.CategoryCode([]byte(text))) << 11; w.selected(hash) {
				w.counts[hash]++
			}
		}
	}
	w.thin()
}

// selected reports whether the records of an identifier are counted.
func (w *residue) selected(hash uint64) bool { return hash>>(64-w.zeros) == 0 }

// thin drops a part of too many identifiers. Which ones are left depends on the identifiers alone, not on their order.
func (w *residue) thin() {
	for len(w.counts) > mostCounted {
		w.zeros++
		maps.DeleteFunc(w.counts, func(hash uint64, _ int64) bool { return !w.selected(hash) })
	}
}

func (w *residue) countDates(b *microdata.Block, col *microdata.Column) {
	if w.dates == nil {
		w.dates = map[float64]dates{}
	}
	x, y := col.Original, col.Out()
	for i, v := range y.Values {
		if !b.Rejected(i) && y.Valid.Has(i) {
			w.dates[v] = w.dates[v].and(dates{first: x.Values[i], records: 1})
		}
	}
}

// merge adds what o has noted of other records.
func (w *residue) merge(o *residue) {
	w.seen, w.altered = w.seen || o.seen, w.altered || o.altered
	if o.zeros > w.zeros {
		w.zeros = o.zeros
		maps.DeleteFunc(w.counts, func(hash uint64, _ int64) bool { return !w.selected(hash) })
	}
	if w.counts == nil && o.counts != nil {
		w.counts = map[uint64]int64{}
	}
	for hash, n := range o.counts {
		if w.selected(hash) {
			w.counts[hash] += n
		}
	}
	w.thin()
	if w.dates == nil && o.dates != nil {
		w.dates = map[float64]dates{}
	}
	for v, of := range o.dates {
		w.dates[v] = w.dates[v].and(of)
	}
}

func (a *Accumulator) mergeWatched(o *Accumulator) {
	for i := range a.watched {
		a.watched[i].merge(&o.watched[i])
	}
}

// inherit makes a delta count no identifiers that the whole has dropped.
func (w *residue) inherit(from *residue) { *w = residue{zeros: from.zeros} }

// takeWatched enters into the measures what the masks have left.
func (a *Accumulator) takeWatched(m *Measures) {
	for i, c := range a.opts.Watched {
		w := &a.watched[i]
		if w.seen && !w.altered {
			m.Unaltered = append(m.Unaltered, Unaltered{c.Name, c.Judged})
		}
		if c.Renamed {
			m.Renamed = append(m.Renamed, w.renamed(c.Name))
		}
		if c.Dates {
			m.Determined = append(m.Determined, w.determined(c.Name))
		}
	}
}

func (w *residue) renamed(column string) Renamed {
	of := Renamed{Column: column, Estimated: w.zeros > 0}
	alike := map[int64]int64{} // identifiers by their number of records
	for _, n := range w.counts {
		of.Identifiers++
		if alike[n]++; n > 1 {
			of.Repeated++
		}
	}
	for _, n := range alike {
		if n == 1 && !of.Estimated {
			of.Singular++
		}
	}
	of.Identifiers <<= w.zeros
	of.Repeated <<= w.zeros
	return of
}

func (w *residue) determined(column string) Determined {
	r := Determined{Column: column}
	for _, of := range w.dates {
		r.Of += of.records
		if of.records >= leastAlike && !of.several {
			r.Records += of.records
		}
	}
	return r
}

// encodeWatched writes nothing where no column is watched.
func (a *Accumulator) encodeWatched(e *wire.Encoder) {
	for i, c := range a.opts.Watched {
		w := &a.watched[i]
		e.Text(c.Name)
		e.Short(c.kinds())
		e.Short(bit(w.seen, 0) | bit(w.altered, 1))
		e.Short(uint64(w.zeros))
		e.Uint(uint64(len(w.counts)))
		before := uint64(0)
		for _, hash := range slices.Sorted(maps.Keys(w.counts)) {
			e.Short(hash - before)
			e.Short(uint64(w.counts[hash]))
			before = hash
		}
		e.Uint(uint64(len(w.dates)))
		for _, v := range slices.Sorted(maps.Keys(w.dates)) {
			of := w.dates[v]
			e.Floats(v, of.first)
			e.Short(uint64(of.records)<<1 | bit(of.several, 0))
		}
	}
}

// kinds says what is noted of the column.
func (c WatchedColumn) kinds() uint64 { return bit(c.Texts, 0) | bit(c.Renamed, 1) | bit(c.Dates, 2) }

func bit(v bool, place int) uint64 {
	if v {
		return 1 << place
	}
	return 0
}

// decodeWatched reads what encodeWatched wrote for the same columns.
func (a *Accumulator) decodeWatched(d *wire.Decoder) {
	for i, c := range a.opts.Watched {
		w := &a.watched[i]
		if d.Text() != c.Name || d.Short() != c.kinds() {
			d.Fail()
			return
		}
		flags, zeros := d.Short(), d.Short()
		if flags > 3 || !c.Texts && flags != 0 || zeros > 52 || !c.Renamed && zeros != 0 { // a code has 53 bits
			d.Fail()
			return
		}
		w.seen, w.altered, w.zeros = flags&1 != 0, flags&2 != 0, int(zeros)
		a.decodeIdentifiers(d, w, c.Renamed)
		a.decodeDates(d, w, c.Dates)
	}
}

func (a *Accumulator) decodeIdentifiers(d *wire.Decoder, w *residue, any bool) {
	n, hash, records := d.Count(2), uint64(0), uint64(0)
	if n > 0 {
		w.counts = make(map[uint64]int64, n)
	}
	for k := range n {
		step, of := d.Short(), d.Short()
		if hash += step; k > 0 && step == 0 || hash < step || of == 0 || of > uint64(a.records) || !any ||
			!w.selected(hash) || hash<<53 != 0 {
			d.Fail()
			return
		}
		w.counts[hash] = int64(of)
		records += of
	}
	if n > mostCounted || records > uint64(a.records) {
		d.Fail()
	}
}

func (a *Accumulator) decodeDates(d *wire.Decoder, w *residue, any bool) {
	n, records := d.Count(17), uint64(0)
	if n > 0 {
		w.dates = make(map[float64]dates, n)
	}
	for range n {
		v, first, of := d.Float(), d.Float(), d.Short()
		if v-v != 0 || first-first != 0 || of>>1 == 0 || of>>1 > uint64(a.records) || of == 3 || !any {
			d.Fail()
			return
		}
		if _, twice := w.dates[v]; twice {
			d.Fail()
			return
		}
		w.dates[v] = dates{first, int64(of >> 1), of&1 != 0}
		records += of >> 1
	}
	if records > uint64(a.records) {
		d.Fail()
	}
}
