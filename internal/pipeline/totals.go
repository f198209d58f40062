package pipeline

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Counted is a column that no release has, by which records were counted.
type Counted struct {
	Entry  int64 // of the ledger: the tables
	Table  string
	Column string
	Joined bool // whether together with columns that a release has, so that the counts tell of its records
	Held   bool // whether some of these counts are held back, so that records are not to tell them
}

// WithTotals says which tables of sums of today's records were published, and by which columns that are not released
// they were counted, as WithLedger does of releases. not says why what the tables of an entry of the ledger tell beside
// this release is not computed; "" if it is, and then all are judged with it. entries is how many releases of tables
// there are, also of those that are neither.
//
// Of those who look alike, counts tell how many have which code. The snooper is given the code of each record, which is
// as much where all have the same one, and more where they have not.
func (pl *Plan) WithTotals(list []assess.Totals, counts []Counted, entries int) (entry int64, not string) {
	for at := range list {
		if not := pl.noTotals(&list[at]); not != "" {
			return list[at].Entry, not
		}
	}
	for _, c := range counts {
		if not := pl.noMember(c.Column); not != "" {
			return c.Entry, not
		}
	}
	pl.totals, pl.byCounts, pl.tables = list, counts, entries
	return 0, ""
}

// noTotals says why it is not computed what a table tells beside this release; "" if it is.
func (pl *Plan) noTotals(t *assess.Totals) string {
	i := slices.IndexFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == t.Column })
	switch {
	case i < 0 || !pl.Assessed[i].Masked:
		return fmt.Sprintf("their column %s is no number that this release masks", t.Column)
	case slices.Contains(pl.Config.Assess.IntruderKeys(), t.Column) || pl.Assessed[i].Key:
		return fmt.Sprintf("their column %s is a key", t.Column)
	}
	switch c := &pl.Assessed[i]; {
	case c.Withheld:
		return fmt.Sprintf("their column %s is not released", t.Column)
	case c.Exchanged || c.Fitted || c.Elsewhere || c.Alike || c.Shared || c.Copies > 1:
		return fmt.Sprintf("the masks of their column %s go by more than its own value", t.Column)
	}
	for _, by := range t.By {
		if why := pl.noMember(by.Column); why != "" {
			return why
		}
	}
	return ""
}

// noMember says why a column does not tell which cells of tables a record is in; "" if it does.
func (pl *Plan) noMember(name string) string {
	at := pl.Source.Schema().Index(name)
	if at < 0 {
		return fmt.Sprintf("today's records have no column %s", name)
	}
	switch f := &pl.Source.Schema().Fields[at]; {
	case f.Nested() || f.Missing != nil:
		return fmt.Sprintf("their column %s has declared codes of missing values, or nested ones", name)
	case slices.Contains(pl.Masked, name):
		return fmt.Sprintf("their column %s is masked", name)
	}
	return ""
}

// Counts are the columns that no release has and that counts tell of.
func (pl *Plan) Counts() []Counted { return pl.byCounts }

// Totals are the tables of sums that are judged with this release.
func (pl *Plan) Totals() []assess.Totals { return pl.totals }

// showCounted adds to the sample the columns by which records were counted together with released ones, as releases of
// their own, and those by which counts are held back.
func (pl *Plan) showCounted() {
	for _, c := range pl.byCounts {
		if c.Held {
			pl.showMember(c.Column)
		}
		if !c.Joined || slices.ContainsFunc(pl.Beside, func(o assess.BesideColumn) bool {
			return o.Release > 0 && o.Of == c.Column
		}) {
			continue
		}
		field := pl.Source.Schema().Index(c.Column)
		form := microdata.Array
		if pl.Source.Schema().Fields[field].Numeric() {
			form = microdata.Numbers
		}
		pl.Beside = append(pl.Beside, assess.BesideColumn{
			Name: fmt.Sprintf("%s (counts of entry %d)", c.Column, c.Entry), Of: c.Column, Release: int(c.Entry),
			Index: pl.wantAlso(microdata.Want{Field: field, As: form})})
	}
}

// showMembers has the sample hold which cells of tables a record is in.
func (pl *Plan) showMembers() {
	for _, t := range pl.totals {
		for _, by := range t.By {
			pl.showMember(by.Column)
		}
	}
}

func (pl *Plan) showMember(name string) {
	if slices.ContainsFunc(pl.Beside, func(c assess.BesideColumn) bool { return c.Member && c.Name == name }) {
		return
	}
	index := pl.wantAlso(microdata.Want{Field: pl.Source.Schema().Index(name), As: microdata.Array})
	pl.Beside = append(pl.Beside, assess.BesideColumn{Name: name, Index: index, Member: true})
}

// MasksCategories names a key, or a column of categories, that this release or an earlier one masks; "" if there is
// none.
func (pl *Plan) MasksCategories() string {
	masks := slices.Clone(pl.Config.Masks)
	for _, e := range pl.earlier {
		if e.Config != nil {
			masks = append(masks, e.Config.Masks...)
		}
	}
	for _, m := range masks {
		for _, name := range m.Params.Masks() {
			if slices.Contains(pl.Intruder.Keys, name) || slices.Contains(pl.Intruder.Counted, name) ||
				slices.Contains(pl.Intruder.Linked, name) || slices.Contains(pl.Intruder.Inferred, name) {
				return name
			}
			switch transform.ActionOf(m.Params, name, 1).(type) {
			case transform.Recoding, transform.Randomising, transform.Suppression:
				return name
			}
		}
	}
	return ""
}
