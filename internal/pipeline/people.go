package pipeline

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// settlePeople reads the places of all records for masks that count how many people live about them. A respondent who
// has several records at one place is one person there. It takes 16 bytes for each place, and 40 for each respondent.
func (pl *Plan) settlePeople(ctx context.Context, progress *Progress) error {
	for i, m := range pl.Config.Masks {
		of := transform.NeedsPeople(m.Params)
		if of == nil || pl.people[*of] != nil {
			continue
		}
		if !pl.Source.Rewindable() {
			return config.Errors{
				pl.Config.Errorf(pl.MaskPath(i)+".records",
					"reads the source twice, which this source does not allow: give a file with the places of the population")}
		}
		people, err := pl.peopleOf(ctx, *of, pl.MaskPath(i), progress)
		if err != nil {
			return err
		}
		if pl.people == nil {
			pl.people = map[transform.PeopleOf]*places.People{}
		}
		pl.people[*of] = people
	}
	return nil
}

// at is a respondent at a place.
type at struct {
	who   microdata.Digest
	where places.Point
}

func (pl *Plan) peopleOf(ctx context.Context, of transform.PeopleOf, path string, progress *Progress) (*places.People,
	error) {
	schema := pl.Source.Schema()
	layout := &microdata.Layout{Schema: schema}
	names := []string{of.A, of.B}
	if of.Weight != "" {
		names = append(names, of.Weight)
	}
	for _, name := range names {
		field := schema.Index(name)
		if field < 0 || !schema.Fields[field].Numeric() {
			return nil, config.Errors{pl.Config.Errorf(path+".records", "needs numbers in the column %q", name)}
		}
		layout.Read = append(layout.Read, microdata.Want{Field: field, As: microdata.Numbers, Measured: true})
	}
	var identity []int
	for _, c := range wantArrays(layout, slices.DeleteFunc(slices.Clone(pl.Config.Identity), func(name string) bool {
		return schema.Index(name) < 0
	})) {
		identity = append(identity, c.Index)
	}
	unit := places.Degrees
	if of.Unit == "metres" {
		unit = places.Metres
	}
	var points []places.Point
	var count []float64
	known, key := map[at]bool{}, keystream.Generate() // its digests are for this pass alone
	var digests []microdata.Digest
	progress.Start("survey", pl.Source.Records())
	pass := Flow{Source: pl.Source, Layout: layout, Stages: []func(*Parcel) error{func(p *Parcel) error {
		b := p.Block
		progress.Add(b.N)
		if len(identity) > 0 {
			var columns []*microdata.Column
			for _, i := range identity {
				columns = append(columns, &b.Columns[i])
			}
			digests = key.Digests(digests, columns, b.N)
		}
		x, y := b.Columns[0].Original, b.Columns[1].Original
		for i := range b.N {
			if !x.Valid.Has(i) || !y.Valid.Has(i) || b.Rejected(i) {
				continue
			}
			where, n := places.Point{A: x.Values[i], B: y.Values[i]}, 1.0
			if !unit.Valid(where) {
				continue
			}
			if len(identity) > 0 && digests[i] != (microdata.Digest{}) {
				if one := (at{digests[i], where}); known[one] {
					continue
				} else {
					known[one] = true
				}
			}
			if of.Weight != "" {
				w := b.Columns[2].Original
				if n = w.Values[i]; !w.Valid.Has(i) || !(n > 0) || n-n != 0 {
					continue
				}
			}
			points, count = append(points, where), append(count, n)
		}
		return nil
	}}}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	return places.NewPeople(unit, points, count), nil
}
