package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Replay passes the originals of all records to show, in blocks of at most size consecutive
// records of a stream, for masks that need a first pass. It returns false if the sample does
// not hold all records.
func (a *Accumulator) Replay(size int, show func(b *microdata.Block) error) (bool, error) {
	a.sample.Settle()
	if int64(a.sample.Len()) != a.records {
		return false, nil
	}
	r := a.reckon(true)
	p := &replicate.Planner{Of: a.layout, Data: r.data}
	whole := p.Whole()[0]
	var b microdata.Block
	scratch := make([]microdata.Bitmap, len(whole.Values))
	for _, run := range whole.Runs {
		for from := run.From; from < run.To; from += size {
			part := replicate.Stretch{Stream: run.Stream, From: from, To: min(from+size, run.To)}
			whole.Present(&b, a.layout, part, scratch)
			origin := r.data.From[from]
			b.Scope, b.Stream, b.Places = origin.Scope, int(origin.Stream), slices.Clone(r.data.Row[part.From:part.To])
			b.First = b.Places[0]
			if err := show(&b); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}
