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

// carries reports whether columns pass as the bytes that they are. They do not if records
// change their order.
func carries(p *config.Pipeline, src connectors.Source) bool {
	return !p.Sink.Shuffled() && p.Sink.Config.Carries(src)
}

// createSink prepares the output. done describes what was done to its records; number is that
// of a copy if there are several.
func createSink(ctx context.Context, pl *pipeline.Plan, key keystream.Key, done string, number int) (connectors.Sink, error) {
	plan := connectors.Plan{Source: pl.Source, Layout: pl.Layout}
	if !pl.Config.Sink.Shuffled() {
		return pl.Config.Sink.Config.Create(ctx, plan)
	}
	return shuffle.Create(ctx, pl.Config.Sink.Config, plan, ranks(pl, key, done, number))
}

// ranks gives the records' places in a shuffled release: a keyed function of their
// place and of what they hold. By the place alone two files would have the same
// order under one key, and whoever knows that of the one could put back the other. Copies, and
// releases of which anything else was done to the records, have orders of their own, so that
// their records cannot be put side by side.
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
