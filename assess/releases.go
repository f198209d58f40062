package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// Earlier describes the releases before this one, of which Options.Beside has the columns (BesideColumn.Release):
// their masks applied to the records of this release.
type Earlier struct {
	Releases int // how many there are
	// Others is how many of them are not this one once more, draw by draw.
	Others int
	// Not says why it cannot be computed what all releases together tell; "" if it can be.
	Not string
	// Totals are tables of sums of masked columns that were published, of all records.
	Totals []Totals
	// Law is Options.Law for a column of the earlier release with that number in the ledger.
	Law func(release int, column string) Law `json:"-"`
	// OrderNot says why it is not known that the order in which earlier releases left tells nothing of a column; "" if
	// it tells nothing.
	OrderNot func(column string) string `json:"-"`
}

// OfOneRelease reports whether the rule limits what a snooper learns by a measure that is computed of each release by
// itself. It does not hold once others were released, unless it says releases: alone. A rule of a column by itself is
// one.
func (r Rule) OfOneRelease() bool {
	if r.Record == RecordAlone {
		return true
	}
	for _, share := range []*float64{r.MaxReplicatedUniques, r.MaxAttributeDisclosure} {
		if share != nil && *share < 1 { // all of them is at most 1 in any case
			return true
		}
	}
	return r.Knowledge == KnowledgePosition || r.MaxExpectedPopulation != nil || r.MaxExpectedUniques != nil ||
		r.MinPlaceRMSE != nil || r.MinSpatialK != nil
}

// OfUnion reports whether the rule limits a measure of Measures.Linked: with a ledger, what a snooper has who holds all
// releases of a respondent. One that says releases: alone does not.
func (r Rule) OfUnion() bool {
	return r.Releases != ReleasesAlone && (r.countsKeys() || r.LimitsLinks() || r.MaxCorrectLinks != nil ||
		r.LimitsPosterior() || r.MaxExact != nil)
}

// byAll says by what of all releases a rule about respondents is judged.
func (r Rule) byAll() string {
	if r.LimitsPosterior() {
		return ", by all releases in the ledger"
	}
	return ", by the keys of all releases in the ledger"
}

// LimitsPosterior reports whether the rule limits the probability of an original category, to less than one.
func (r Rule) LimitsPosterior() bool { return r.MaxPosterior != nil && *r.MaxPosterior < 1 }

// LimitsLinks reports whether the rule limits the share of respondents that linkage finds, to less than all.
func (r Rule) LimitsLinks() bool { return r.MaxLinked != nil && *r.MaxLinked < 1 }

// together refuses a rule that holds of this release, and of which it is not known whether it holds of all of them.
func (r Rule) together(v RuleVerdict, e *Earlier) RuleVerdict {
	if v.Passed && e != nil && e.Others > 0 && r.OfOneRelease() && r.Releases != ReleasesAlone {
		v.Passed = false
		v.Advice =
			"it holds of this release; what it is of all releases in the ledger together is not computed: say releases: alone in the rule to judge this one by itself"
	}
	v.Releases = r.Releases
	return v
}

// mostTogether is the number of records of a sample on which the risk by all releases is computed if it does not hold
// all: the posterior takes about 0.1 ms for each record and column of five releases.
const mostTogether = 20_000

// earlierColumn is what an earlier release has of a column, by row of a frame.
type earlierColumn struct {
	column BesideColumn
	values []float64
}

// byAllReleases adds to the risks of each masked column, each after that by the whole record, those of an intruder
// who also has the earlier releases of the record. f has this release alone.
func (r *reckoning) byAllReleases(f *recordFrame, columns []ColumnMeasures, limit int) {
	e := r.a.opts.Earlier
	if e == nil {
		return
	}
	some := len(e.Totals) > 0 ||
		slices.ContainsFunc(r.a.opts.Beside, func(c BesideColumn) bool { return c.Release > 0 && !c.Before })
	if !r.data.Complete && (limit == 0 || limit > mostTogether) {
		limit = mostTogether // a sample of a sample
	}
	if e.Not == "" && some {
		f = r.recordFrame(nil, limit, true, nil)
	}
	not := e.Not
	if not == "" && f != nil {
		not, r.known = f.not, f.known
	}
	cores.Each(len(columns), func(c int) {
		switch list := &columns[c].Risk; {
		case !r.a.opts.Columns[c].Masked:
		case not == "" && some:
			f.add(c, list)
		default:
			*list = repeatedFor(*list, not)
		}
	})
}

// repeatedFor returns risks with those by the whole record once more, as those by all releases: there are no earlier
// ones that tell, or what they tell is not known, for the given reason.
func repeatedFor(list []Risk, not string) (rows []Risk) {
	for _, row := range list {
		rows = append(rows, row)
		if row.Knowledge != KnowledgeRecord {
			continue
		}
		row.Knowledge = KnowledgeAllReleases
		if not != "" {
			none := Float(math.NaN())
			row = Risk{Target: row.Target, Knowledge: row.Knowledge, R: none, SE: none, RMSE: none, RealisedR: none, Not: not}
		}
		rows = append(rows, row)
	}
	return rows
}

// follows is the knowledge state after which add puts its own.
func (f *recordFrame) follows() string {
	if f.together {
		return KnowledgeRecord
	}
	return KnowledgeIndex
}

// states is the knowledge state of the frame.
func (f *recordFrame) states() string {
	if f.together {
		return KnowledgeAllReleases
	}
	return KnowledgeRecord
}

// atLeast returns a risk by all releases that is not below that of this release alone, which is the row before it:
// who has more can leave it aside.
func atLeast(all, alone Risk) Risk {
	const more = 1.001 // what is fitted to columns that tell nothing
	if all.R != all.R || float64(all.R) > more*float64(alone.R) && float64(all.Upper()) >= float64(alone.Upper()) {
		return all
	}
	all.R, all.SE, all.RMSE = alone.R, alone.SE, alone.RMSE
	all.Sampled, all.Approximate, all.Errs, all.Bound = alone.Sampled, alone.Approximate, alone.Errs, alone.Bound
	return all
}

// byDraws marks a risk by all releases as one that earlier draws decide, of which there is one set, and returns the
// variance of its mean square over these draws: that of a mean over the records of the frame, or over those near a
// target.
func (f *recordFrame) byDraws(row *Risk, square float64, found *joint.Result) float64 {
	relative := found.Noise / (found.Square * found.Square)
	if row.Target != TargetTypical {
		relative *= float64(found.Rows) / float64(joint.Near(found.Rows))
	}
	if !(square > 0) || relative != relative {
		return 0
	}
	row.Approximate, row.Errs = true, ErrsEither
	return square * square * relative
}

// framesOf returns the frames in which column c is attacked, with originals x: where earlier releases have it too, with
// the mean of the posterior by all of them, from the laws of their masks and the distribution of the originals.
func (f *recordFrame) framesOf(c int, x []float64) []*joint.Frame {
	seen := f.observed(c)
	if len(seen) < 2 { // of one release the risk by the whole record tells
		return f.frames[c]
	}
	mean := estimate.Posterior(x, seen)
	frames := slices.Clone(f.frames[c])
	for k := range frames {
		frames[k] = frames[k].With(joint.Column{Name: f.a.opts.Columns[c].Name + " in all releases", Values: mean})
	}
	return frames
}

// observed returns what the releases have of column c by known laws, each draw once.
func (f *recordFrame) observed(c int) (seen []estimate.Observed) {
	column := f.a.opts.Columns[c]
	add := func(values []float64, law Law) {
		if law == nil || slices.ContainsFunc(seen, func(o estimate.Observed) bool { return equalValues(o.Values, values) }) {
			return // one draw tells once
		}
		seen = append(seen, estimate.Observed{Values: values, Law: law})
	}
	for _, e := range f.earlier {
		if e.column.Of == column.Name && f.a.opts.Earlier.Law != nil {
			add(e.values, f.a.opts.Earlier.Law(e.column.Release, column.Name))
		}
	}
	if f.a.opts.Law != nil && !column.Withheld {
		add(f.released[c], f.a.opts.Law(column.Name))
	}
	return seen
}

// Held is what one release has of a column, by record (NaN: nothing), and the law of its masks.
type Held struct {
	Values []float64
	Law    Law
}

// MeanOf returns the mean of the posterior of originals by what several releases have of them, with independent draws;
// NaN where none has a value.
func MeanOf(originals []float64, held []Held) []float64 {
	seen := make([]estimate.Observed, len(held))
	for i, h := range held {
		seen[i] = estimate.Observed{Values: h.Values, Law: h.Law}
	}
	return estimate.Posterior(originals, seen)
}

// equalValues reports whether two columns have the same values, and miss the same.
func equalValues(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}
