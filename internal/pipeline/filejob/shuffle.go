package filejob

import (
	"context"
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/shuffle"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// carries reports whether unmasked columns are released as the bytes that were read. They are not
// if records change their order.
func carries(p *config.Pipeline, src connectors.Source) bool {
	return p.Sink.Config == nil || !p.Sink.Shuffled() && p.Sink.Config.Carries(src)
}

// createSink prepares the output of records to which the masks do what is to be said of them; masks that are not ready
// yet do nothing.
func (r *run) createSink(ctx context.Context) (connectors.Sink, error) {
	pl, done := r.masked.Plan, ""
	plan := connectors.Plan{Source: pl.Source, Layout: pl.Layout}
	if !pl.Config.Sink.Shuffled() {
		return pl.Config.Sink.Config.Create(ctx, plan)
	}
	if r.masked.Chain != nil {
		done = r.masked.Chain.Done()
	}
	return shuffle.Create(ctx, pl.Config.Sink.Config, plan, ranks(pl, r.key, done, r.copy))
}

// ranks returns the records' places in a shuffled release: a keyed function of their original
// place and of their content. If it depended on the place only, two files would have the same
// order under one key, and who knows the order of one could restore that of the other. Copies,
// and releases whose records were processed differently, have different orders, so that their
// records cannot be matched by place.
func ranks(pl *pipeline.Plan, key keystream.Key, done string, number int) shuffle.Ranks {
	var bound []int
	for _, out := range pl.Layout.Release {
		if out.Column >= 0 && (pl.Layout.Read[out.Column].As == microdata.Numbers || keystream.CanIdentify(out.Field.Type)) {
			bound = append(bound, out.Column)
		}
	}
	name := keystream.Name{Mask: "sink/order", Done: done}
	if number > 0 {
		name.Mask += "/copy " + strconv.Itoa(number)
	}
	stream := key.Release(name)
	return func(dst []uint64, b *microdata.Block) {
		r := keystream.Records{Stream: b.Stream, First: b.First, Places: b.Places, Values: make([]float64, b.N)}
		for i := range r.Values {
			r.Values[i] = float64(b.Place(i))
		}
		if len(bound) > 0 {
			columns := make([]*microdata.Column, len(bound))
			for i, c := range bound {
				columns[i] = &b.Columns[c]
			}
			r.Digests = key.Digests(nil, columns, b.N)
		}
		stream.Words(dst, r)
	}
}
