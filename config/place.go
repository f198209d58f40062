package config

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Place names the columns that hold the places of records: whole numbers from 0, different for
// any two records. They are released only if they are listed.
type Place struct {
	Stream string `yaml:"stream" doc:"the column with the number of the part or file that a record comes from; by default all records come from one"`
	Record string `yaml:"record" required:"true" doc:"the column with the record's number in that part or file"`
}

// Has reports whether a column holds places; of no place, none does.
func (p *Place) Has(column string) bool {
	return p != nil && column != "" && (column == p.Stream || column == p.Record)
}

// String names the columns.
func (p *Place) String() string {
	switch {
	case p == nil:
		return "no columns"
	case p.Stream == "":
		return "column " + p.Record
	}
	return "columns " + p.Stream + " and " + p.Record
}

// validatePlace checks that columns of places are not changed by any mask, and that, if the run is
// one of several, draws depend on more than the place of a record in the run.
func (l *loader) validatePlace(p *Pipeline) {
	if p.Place != nil {
		l.validatePlaceColumns(p)
	}
	if p.Place != nil || len(p.Identity) > 0 || p.kafkaSource() != nil || p.Source.Config == nil {
		return
	}
	switch {
	case p.Shard != nil && *p.Shard && l.Sound("shard"):
		l.Wrong("shard",
			"must not be true without place or identity: each run would treat its first record as the first of the whole dataset and mask it with the same random draws. Name the columns that hold the records' places, or plan the runs with `sdlfilter shard plan`")
	case p.Shard == nil && pathOf(p.Source.Config) == "-":
		p.Warnings = append(p.Warnings,
			"standard input does not give the places of records: if this run is one of several that each mask a part of one dataset, their records would share their noise; name the columns of their places (place) or of the respondents (identity), or set shard: false")
	}
}

func (l *loader) validatePlaceColumns(p *Pipeline) {
	if l.Given("place.record") && p.Place.Record == "" && l.Sound("place.record") {
		l.Wrong("place.record", "must name a column")
	}
	if p.Place.Record != "" && p.Place.Stream == p.Place.Record && l.Sound("place.stream") {
		l.Wrong("place.stream", "must not be the column of place.record, got %q", p.Place.Stream)
	}
	if p.kafkaSource() != nil {
		l.Wrong("place", "must not be given with a kafka source, whose records have their partitions and offsets for places")
	}
	for _, f := range []struct{ field, column string }{{"place.stream", p.Place.Stream},
		{"place.record", p.Place.Record}} {
		for _, m := range p.Masks {
			if m.Params != nil && f.column != "" && slices.Contains(m.Params.Masks(), f.column) && l.Sound(f.field) {
				l.Wrong(f.field, "must be a column that no mask changes, got %q, which %s does", f.column, m.Kind())
				break
			}
		}
	}
	for i, m := range p.Masks {
		if m.Params != nil && transform.MixesRecords(m.Params) {
			l.Wrong(p.MaskPath(i),
				"must not be used with place: it groups records by their position in the source, which is not their position in the whole dataset")
		}
	}
}
