package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// wantHousehold asks for the column that tells households apart if a mask makes one draw for a household,
// and marks the columns that belong to households.
func (pl *Plan) wantHousehold(b *layoutBuilder) {
	if !pl.Config.DrawsByHousehold() {
		return
	}
	i := b.want(pl.Config.Household, microdata.Array, false)
	pl.household = transform.Households{Index: []int{i}, Instead: pl.insteadOf(b, pl.Config.Household)}
	if !slices.Contains(pl.Carry, i) {
		pl.Carry = append(pl.Carry, i)
	}
	for _, c := range pl.Config.Columns {
		switch c.Level {
		case config.OfHousehold:
			pl.household.Shared = append(pl.household.Shared, c.Name)
		case config.OfPerson:
			pl.household.Personal = append(pl.household.Personal, c.Name)
		}
	}
}

// insteadOf asks for the columns that identify records where others are missing.
func (pl *Plan) insteadOf(b *layoutBuilder, names ...string) []int {
	list := make([]int, len(names))
	for k, name := range names {
		list[k] = -1
		if other := pl.Config.Counterpart(name); other != "" && !slices.Contains(names, other) {
			list[k] = b.want(other, microdata.Array, false)
		}
	}
	return list
}

// sameAs returns the columns that draw as others do.
func (pl *Plan) sameAs() map[string]string {
	same := map[string]string{}
	for _, c := range pl.Config.Columns {
		if c.SameAs != "" {
			same[c.Name] = c.SameAs
		}
	}
	return same
}

// Setup is what a chain of the plan's columns needs, for a release under the key.
func (pl *Plan) Setup(key keystream.Key, columns []transform.ColumnInfo) transform.Setup {
	return transform.Setup{
		Key: key, Columns: columns, Identity: pl.identity, Instead: pl.instead, SameAs: pl.sameAs(), Households: pl.household,
		Window: pl.Config.Window.Records, Sorted: pl.sorted, Correlations: pl.correlations, Frequencies: pl.frequencies,
		Weights: pl.weights,
		People:  pl.people, Places: pl.Config.Assess.Verified(),
	}
}

const (
	fewHouseholds = 3    // with fewer of two or more members, chance can make a column the same within all
	mostlySame    = 0.95 // the share of households from which on a column that differs within others is named
)

// settleHouseholds reads the data once if columns are masked of which nobody says whether the members of a
// household have one value, or if a sample of households has strata. A column that is the same within all
// households is an error: a draw for each member would leave several noisy values of one number.
func (pl *Plan) settleHouseholds(ctx context.Context, progress *Progress) error {
	open, strata := pl.Config.OpenLevels(), pl.strata()
	if len(open)+len(strata) == 0 || pl.Config.Streaming() || pl.Config.Source.Config == nil {
		return nil
	}
	if !pl.Source.Rewindable() {
		pl.levels = append(pl.levels,
			"the source can be read only once, and so it is not known whether all members of a household have the same value of "+
				strings.Join(append(open, strata...), ", ")+": say level: household or level: person under columns")
		return nil
	}
	layout := &microdata.Layout{Schema: pl.Source.Schema()}
	columns := wantArrays(layout, append([]string{pl.Config.Household}, append(open, strata...)...))
	progress.Start("households", pl.Source.Records())
	same := newWithin(len(columns)-1, len(open))
	pass := Flow{Source: pl.Source, Layout: layout, Stages: []func(*Parcel) error{func(p *Parcel) error {
		progress.Add(p.Block.N)
		same.add(p.Block, columns)
		return nil
	}}}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	var problems config.Errors
	for k, c := range columns[1:] {
		n, differ := same.several[k], same.differ[k]
		switch {
		case k >= len(open) && differ > 0:
			problems = append(problems, pl.Config.Errorf(pl.MaskPath(0)+".by",
				"must be the same for all members of a household, because the sample draws whole households, and %s differs within %s", c.Name, countOf(differ)))
		case k >= len(open) || n < fewHouseholds:
		case differ == 0:
			problems = append(problems,
				pl.Config.Errorf("columns."+c.Name,
					"is the same for all members of each household (in all %s with two or more values), "+
						"so that a draw for each member could be averaged out: say level: household, and it is masked once for each household, or level: person", countOf(n)))
		case float64(n-differ) >= mostlySame*float64(n):
			pl.levels = append(pl.levels,
				fmt.Sprintf(
					"%s is the same for all members in %.1f %% of the households, where a draw for each member could be averaged out; "+
						"say level: household under columns, and members with the same value share a draw, or level: person", c.Name,
					100*float64(n-differ)/float64(n)))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

func countOf(households int) string {
	if households == 1 {
		return "1 household"
	}
	return fmt.Sprintf("%d households", households)
}

// strata returns the column by which a sample of households has its rates.
func (pl *Plan) strata() []string {
	if s := transform.SampleOf(pl.Config.Masks); s != nil && pl.Config.Household != "" {
		return slices.DeleteFunc(slices.Clone(s.Params.Reads()), func(name string) bool {
			return name == pl.Config.Household
		})
	}
	return nil
}

// within finds the columns that are the same for all members of a household. Missing values of the first
// columns do not count, since no mask draws for them.
type within struct {
	households map[float64]int32
	first      [][]float64 // by column and household: the code of the first value; NaN: none yet
	state      [][]uint8   // likewise
	nulls      int         // from this column on a missing value is one like any other
	several    []int       // by column: households of two or more values
	differ     []int       // those in which they differ
}

const (
	several = 1 << iota
	differing
)

func newWithin(columns, nulls int) *within {
	return &within{households: map[float64]int32{}, nulls: nulls, first: make([][]float64, columns),
		state:   make([][]uint8, columns),
		several: make([]int, columns), differ: make([]int, columns)}
}

// missing stands for a missing value where it counts as one; no code is infinite.
var missing = math.Inf(1)

func (w *within) add(b *microdata.Block, columns []transform.ColumnInfo) {
	for i := range b.N {
		code := microdata.CodeOf(b.Columns[columns[0].Index].Array, i)
		if code != code {
			continue
		}
		h, known := w.households[code]
		if !known {
			h = int32(len(w.households))
			w.households[code] = h
			for k := range w.first {
				w.first[k], w.state[k] = append(w.first[k], math.NaN()), append(w.state[k], 0)
			}
		}
		for k, c := range columns[1:] {
			v := microdata.CodeOf(b.Columns[c.Index].Array, i)
			if v != v && k >= w.nulls {
				v = missing
			}
			w.see(k, h, v)
		}
	}
}

func (w *within) see(k int, h int32, v float64) {
	first, state := &w.first[k][h], &w.state[k][h]
	switch {
	case v != v:
		return
	case *first != *first:
		*first = v
		return
	}
	if *state&several == 0 {
		*state |= several
		w.several[k]++
	}
	if v != *first && *state&differing == 0 {
		*state |= differing
		w.differ[k]++
	}
}
