package foreign

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Measures and attacks of a foreign release do not change unnoticed: by position and by an
// identifier, with records in one file only.
func TestFiguresOfForeignReleases(t *testing.T) {
	racetest.Further(t)
	original := rows(150)
	released := masked(original)
	for i := range released {
		if i%5 == 0 {
			released[i].region = "w"
		}
	}
	original[4].bad, released[149].bad = true, true
	numbers := []string{"wage", "float64", "debt", "float64"}
	var f pinned.Figures
	for _, id := range []string{"", "id"} {
		theirs, name := released, "by position"
		if id != "" {
			name = "by identifier"
			theirs = shuffled(append(append([]row(nil), released[1:40]...), released[41:]...))
		}
		o, r := file(t, columnsOfAttack, original, numbers...), file(t, columnsOfAttack, theirs, numbers...)
		m, err := Assess(t.Context(), Release{ID: id, Original: o, Released: r, Targets: measured, Pictures: true},
			new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		f.AddTree(name+": assessed", m, nil)
		options := uniqueness.DefaultOptions()
		a := Attack{
			Original: o, Released: r, ID: id, Keys: []string{"wage", "debt"}, Categorical: []string{"age", "region"},
			Sensitive: []string{"region"}, Household: "age",
			Options: attack.Options{Targets: 40, Linkage: &attack.Linkage{}, Uniqueness: &options, Categories: true,
				Intervals: []float64{0.1}},
		}
		found, err := a.Run(t.Context(), new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		f.AddTree(name+": attacked", found.Result, nil)
		f.Add(name+": records", float64(found.Unmatched), float64(found.Unowned), float64(found.Malformed))
	}
	f.Check(t, "testdata/figures.tsv")
}
