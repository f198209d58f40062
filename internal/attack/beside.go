package attack

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// bins is the number of classes of a numeric column whose values are nearly all different.
const bins = 20

// beside returns all released columns as they are seen beside a category, each once.
func (a *attack) beside() (list []inversion.Key) {
	add := func(name string, codes []int32) {
		if !slices.ContainsFunc(list, func(k inversion.Key) bool { return k.Name == name }) {
			list = append(list, inversion.Key{Name: name, Codes: codes})
		}
	}
	for _, columns := range [][]CategoricalColumn{a.d.Categorical, a.d.Sensitive} {
		for i := range columns {
			add(columns[i].Name, columns[i].released())
		}
	}
	for i := range a.d.Numeric {
		add(a.d.Numeric[i].Name, seen(a.d.Numeric[i].Released))
	}
	for i := range a.d.Beside {
		add(a.d.Beside[i].Name, seen(a.d.Beside[i].Released))
	}
	return list
}

// seen returns the codes of values, of their classes where most of them occur once.
func seen(values []float64) []int32 {
	codes := uniqueness.Codes(values)
	if len(codes) == 0 || int(slices.Max(codes)) < len(codes)/2 {
		return codes
	}
	return classes(values)
}

// classes returns the codes of classes of about equally many values, −1 for none.
func classes(values []float64) []int32 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	codes := make([]int32, len(values))
	for i, v := range values {
		if v != v {
			codes[i] = -1
			continue
		}
		at, _ := slices.BinarySearch(sorted, v)
		codes[i] = int32(at * bins / len(sorted))
	}
	return codes
}
