package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/population"
)

// populationView shows how many unique combinations of keys are expected to be unique in the population.
type populationView struct {
	Keys  string
	About string
	Tiles []labelled // none if no model was fitted
}

func viewPopulation(a *attack.Result, path string) *populationView {
	r := a.Population
	if r == nil {
		if a.Unfitted == "" {
			return nil
		}
		return &populationView{About: capital(a.Unfitted) + "."}
	}
	v := &populationView{Keys: names(r.Keys), About: aboutPopulation(a)}
	v.Tiles = []labelled{
		{"sample uniques", whole(path+"/sample_uniques", int64(r.SampleUniques)),
			"combinations that one record has; the model expects " + amount(r.ModelUniques)},
		{"unique in the population", amountCell(path+"/tau1", r.Tau1),
			"of them expected to be, ± " + amount(r.Tau1SE) + " (tau1)"},
		{"correct matches", amountCell(path+"/tau2", r.Tau2), "expected, if each is matched with one of the population, ± " +
			amount(r.Tau2SE) + " (tau2)"},
	}
	return v
}

func aboutPopulation(a *attack.Result) string {
	r := a.Population
	s := fmt.Sprintf("A log-linear model (%s) of %s in %s cells, of a population of %s: %s.", r.Model,
		plural(int64(r.Records), "record", "records"), count(r.Cells), amount(r.Size), r.Formula)
	if r.Missing > 0 {
		s += fmt.Sprintf(" %s without one of the keys, and left out.", isAreOf(int64(r.Missing), int64(r.Missing+r.Records)))
	}
	if len(r.LeftOut) > 0 {
		s += " By " + names(r.LeftOut) + " too, which the formula leaves out, more are unique."
	}
	if a.Unfitted != "" {
		s += " " + capital(a.Unfitted) + "."
	}
	return s
}

// uniqueInPopulation is the sentence about population uniques.
func uniqueInPopulation(r *population.Result) string {
	return fmt.Sprintf("Of %s of %s, %s expected to be unique in the population (± %s).",
		plural(int64(r.SampleUniques), "unique combination", "unique combinations"), names(r.Keys), isAre(r.Tau1),
		amount(r.Tau1SE))
}

func (t *attackTable) population(v *populationView) {
	if v == nil {
		return
	}
	t.title("Unique in the population" + after(": ", v.Keys))
	t.text(v.About)
	t.tiles(v.Tiles)
	t.Line("")
}
