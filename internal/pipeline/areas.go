package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

const (
	undone   = 0.5  // the share of households whose area another column tells from which on a record swap is refused
	partly   = 0.01 // and from which on the column is named
	inOrder  = 0.1  // the share of households that live where the one before them does, beyond chance
	byChance = 0.01 // probability up to which it is no chance that the households with a value live in one area
)

// settleAreas reads the data once for each record swap: a column that leaves unchanged and tells the area where a
// household lives (a postcode that is not carried along) tells every household that was exchanged, and from where. It
// judges the first record of each household, by columns that no mask changes: each by itself.
func (pl *Plan) settleAreas(ctx context.Context, progress *Progress) error {
	var problems config.Errors
	for i, m := range pl.Config.Masks {
		swap, ok := m.Params.(*transform.RecordSwap)
		if !ok || !pl.Source.Rewindable() {
			continue
		}
		beside := pl.besideAreas()
		layout := &microdata.Layout{Schema: pl.Source.Schema()}
		areas := wantArrays(layout, swap.Hierarchy)
		columns := wantArrays(layout, beside)
		household := -1
		if pl.Config.Household != "" {
			household = wantArrays(layout, []string{pl.Config.Household})[0].Index
		}
		progress.Start("areas", pl.Source.Records())
		t := newTold(len(areas), len(columns))
		pass := Flow{Source: pl.Source, Layout: layout, Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			t.add(p.Block, household, areas, columns)
			return nil
		}}}
		if err := pass.Run(ctx); err != nil {
			return err
		}
		if level, excess := t.ordered(); level >= 0 && !pl.Config.Sink.Shuffled() {
			problems = append(problems,
				pl.Config.Errorf(pl.MaskPath(i),
					"is undone by the order of the records, which is that of the source: %.0f %% of the households that follow one another live in the same %s beyond chance, "+
						"and so the place of a household in the file tells where it comes from; say order: shuffled in the sink",
					100*excess, swap.Hierarchy[level]))
		}
		for k, name := range beside {
			level, share := t.share(k)
			if l, excess := t.orderedBy(k); excess > share {
				level, share = l, excess
			}
			switch path := pl.MaskPath(i); {
			case share >= undone:
				problems = append(problems,
					pl.Config.Errorf(path,
						"is undone by %s, which leaves unchanged: %.0f %% of the households have a value of it that occurs in one %s, or near others of it alone, and so it tells which were exchanged, and from where; "+
							"name it under carry, recode it in front of the mask, or leave it out", name, 100*share, swap.Hierarchy[level]))
			case share >= partly:
				pl.levels = append(pl.levels,
					fmt.Sprintf(
						"%s: %s leaves unchanged, and %.0f %% of the households have a value of it that occurs in one %s, or near others of it alone: it tells which of these were exchanged, and from where; "+
							"name it under carry, recode it, or leave it out", path, name, 100*share, swap.Hierarchy[level]))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// besideAreas returns the released columns that no mask changes.
func (pl *Plan) besideAreas() (names []string) {
	schema := pl.Source.Schema()
	for _, c := range pl.Config.Columns {
		at := schema.Index(c.Name)
		if at < 0 || c.Role == microdata.Identifier || schema.Fields[at].Nested() {
			continue
		}
		if !slices.ContainsFunc(pl.Config.Masks, func(m transform.Spec) bool {
			return slices.Contains(m.Params.Masks(), c.Name)
		}) {
			names = append(names, c.Name)
		}
	}
	return names
}

// told finds which columns tell areas.
type told struct {
	seen   map[float64]bool
	n      float64
	areas  []map[float64]float64 // by level: households
	values []map[float64]*toldBy // by column
	order  sequence              // as the source has them
	// lists has by column, and piece of its texts (assess.Piece; the first is of numbers and dates), the households with a
	// number.
	lists [][assess.Pieces + 1][]numberedHousehold
}

// numberedHousehold is a household with a number.
type numberedHousehold struct {
	at    float64
	tie   uint64 // equal numbers are in another order than that of the source
	areas []float64
}

// mostPlaced is the number of households whose numbers are sorted.
const mostPlaced = 200_000

// sequence counts households that follow one another in some order.
type sequence struct {
	n     float64
	last  []float64 // by level: the area of the household before
	alike []float64 // by level: households in the same area as the one before
}

func (s *sequence) add(areas []float64) {
	if s.n++; s.n == 1 {
		s.last, s.alike = slices.Clone(areas), make([]float64, len(areas))
		return
	}
	for l, a := range areas {
		if s.last[l] == a {
			s.alike[l]++
		}
	}
	copy(s.last, areas)
}

// toldBy is the households with one value of a column.
type toldBy struct {
	n     float64
	areas []float64 // by level: the one in which all live; NaN: several
}

func newTold(levels, columns int) *told {
	t := &told{seen: map[float64]bool{}, lists: make([][assess.Pieces + 1][]numberedHousehold, columns),
		areas: make([]map[float64]float64, levels), values: make([]map[float64]*toldBy, columns)}
	for l := range t.areas {
		t.areas[l] = map[float64]float64{}
	}
	for k := range t.values {
		t.values[k] = map[float64]*toldBy{}
	}
	return t
}

func (t *told) add(b *microdata.Block, household int, areas, columns []transform.ColumnInfo) {
	code := func(index, i int) float64 {
		if v := microdata.CodeOf(b.Columns[index].Array, i); v == v {
			return v
		}
		return missing
	}
	of := make([]float64, len(areas))
	for i := range b.N {
		if household >= 0 {
			if h := code(household, i); h != missing {
				if t.seen[h] {
					continue
				}
				t.seen[h] = true
			}
		}
		t.n++
		for l, c := range areas {
			of[l] = code(c.Index, i)
			t.areas[l][of[l]]++
		}
		t.order.add(of)
		kept := slices.Clone(of)
		for k, c := range columns {
			v := code(c.Index, i)
			by := t.values[k][v]
			if by == nil {
				by = &toldBy{areas: slices.Clone(of)}
				t.values[k][v] = by
			}
			by.n++
			for piece := range t.lists[k] {
				if x := assess.Piece(&b.Columns[c.Index], i, piece); x < assess.Categories && (piece == 0 || c.Field.Text()) &&
					len(t.lists[k][piece]) < mostPlaced {
					t.lists[k][piece] = append(t.lists[k][piece], numberedHousehold{x, uint64(t.n) * 0x9e3779b97f4a7c15, kept})
				}
			}
			for l, a := range of {
				if by.areas[l] != a {
					by.areas[l] = math.NaN()
				}
			}
		}
	}
}

// share returns the greatest share, over the levels, of households with a value of a column that occurs in one area
// only and that would not do so by chance.
func (t *told) share(column int) (level int, share float64) {
	for l := range t.areas {
		sum := 0.0
		for _, by := range t.values[column] {
			if a := by.areas[l]; a == a && math.Pow(t.areas[l][a]/t.n, by.n-1) < byChance {
				sum += by.n
			}
		}
		if sum/t.n > share {
			level, share = l, sum/t.n
		}
	}
	return level, share
}

// ordered returns the level at which households that follow one another in the source live in the same area most often
// beyond chance, and how often; −1 if that is less than inOrder, or no more than chance makes of it.
func (t *told) ordered() (level int, excess float64) { return t.beyond(&t.order) }

// orderedBy is ordered for the households in the order of a column of numbers or dates, or of some characters of its
// texts: numbers that were given area by area tell it, and codes that begin with it.
func (t *told) orderedBy(column int) (level int, excess float64) {
	level = -1
	for _, list := range t.lists[column] {
		slices.SortFunc(list, func(a, b numberedHousehold) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.tie, b.tie))
		})
		var s sequence
		for _, p := range list {
			s.add(p.areas)
		}
		if l, e := t.beyond(&s); e > excess {
			level, excess = l, e
		}
	}
	return level, excess
}

func (t *told) beyond(s *sequence) (level int, excess float64) {
	level = -1
	for l, areas := range t.areas {
		if s.n < 2 {
			break
		}
		chance := 0.0
		for _, n := range areas {
			chance += n / t.n * n / t.n
		}
		alike := s.alike[l] / (s.n - 1)
		beyond := (alike - chance) / (1 - chance)
		if beyond > max(inOrder, excess) && alike-chance > 4*math.Sqrt(chance*(1-chance)/(s.n-1)) {
			level, excess = l, beyond
		}
	}
	return level, excess
}
