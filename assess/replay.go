package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Replay shows the originals of all records again, in blocks of at most size, which
// follow one another within a stream: what masks that are tried are to look at. It
// returns false where the sample does not hold all records.
func (a *Accumulator) Replay(size int, show func(b *microdata.Block) error) (bool, error) {
	a.sample.settle()
	if int64(a.sample.len()) != a.records {
		return false, nil
	}
	r := a.reckon(true)
	p := &planner{of: a.layout, data: r.data}
	whole := p.whole()[0]
	var b microdata.Block
	scratch := make([]microdata.Bitmap, len(whole.values))
	for _, run := range whole.runs {
		for from := run.from; from < run.to; from += size {
			part := stretch{run.stream, from, min(from+size, run.to)}
			whole.present(&b, a.layout, part, scratch)
			origin := r.data.from[from]
			b.Scope, b.Stream, b.Places = origin.scope, int(origin.stream), slices.Clone(r.data.row[part.from:part.to])
			b.First = b.Places[0]
			if err := show(&b); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}
