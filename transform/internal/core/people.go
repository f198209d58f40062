package core

import (
	"math"

	"github.com/sdlfilter/sdlfilter/internal/places"
)

// PeopleOf names the places of the source's records: the unit, the two columns, and that of their weights, "" for none.
type PeopleOf struct{ Unit, A, B, Weight string }

// UnitOf returns the unit of that name, how many of them make a metre along a meridian, and the decimals of what is
// released of columns in which no decimals are found: a centimetre.
func UnitOf(name string) (unit places.Unit, perMetre float64, finest int) {
	if name == "metres" {
		return places.Metres, 1, 2
	}
	return places.Degrees, 180 / (math.Pi * places.EarthRadius), 7
}
