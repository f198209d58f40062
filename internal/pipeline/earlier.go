package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// EarlierRelease is a release of the ledger. Its masks are applied to the records of this release, as they are today,
// and what they give is in the sample beside what is released now.
type EarlierRelease struct {
	Number  int64
	Name    string
	Config  *config.Pipeline // of config.Pipeline.Before; nil where it cannot be read
	Columns []EarlierColumn  // that it had
	Amounts *assess.Profile  // the standard deviations and decimals that its masks went by
	// Key makes its draws: the key of this release if its draws are those of the earlier one, for the same value of
	// the same respondent, and else a key of its own, so that the draws are independent.
	Key keystream.Key
	// Repeats says that the draws are those of the earlier release, and that this one has the same masks: it is
	// released once more.
	Repeats bool
	// Shuffled says that its records left in an order drawn at random.
	Shuffled bool

	plan  *Plan
	chain *transform.Chain
	index []int // by column that its plan reads: the column of this release's blocks
	shown []int // of its plan's columns, those that it has released
	// of shown, those of keys and categories that are judged, and what copies of columns are looked for in (FindCopies):
	// their originals are in the sample too
	keys []int
}

// NotTogether says of figures of a configuration with a ledger that they are of this release alone.
const NotTogether = "the releases of the ledger are left out: the figures are of this release alone, and those who have the earlier ones know more (run, or ledger simulate, judges them together)"

// Had reports whether the release had a column.
func (e *EarlierRelease) Had(column string) bool {
	return slices.ContainsFunc(e.Columns, func(c EarlierColumn) bool { return c.Name == column })
}

// At names the release in messages.
func (e *EarlierRelease) At() string {
	return fmt.Sprintf("release %d of the ledger (%s)", e.Number, e.Name)
}

// WithLedger says that there is a ledger, with these earlier releases. not says why what they tell cannot be computed
// at all, for example because one of them cannot be read. doubts says so once all records are masked: read is their
// number, released that of those that are released, and unidentified that of those without identity.
func (pl *Plan) WithLedger(list []*EarlierRelease, not string, doubts func(read, released, unidentified int64) string) {
	pl.fromLedger, pl.earlier, pl.earlierNot, pl.doubts = true, list, not, doubts
}

// readyEarlier has the sample hold what the masks of earlier releases make of the records. Where a release does not
// fit today's records, that is why nothing is known of all of them together. Its passes over the source are those
// that the earlier masks need.
func (pl *Plan) readyEarlier(ctx context.Context, progress *Progress) error {
	pl.settleEarlier(func(e *EarlierRelease) error { return e.settle(ctx, pl, Job{Progress: progress}) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// settleEarlier makes the earlier releases ready, one after the other.
func (pl *Plan) settleEarlier(settle func(*EarlierRelease) error) {
	for _, e := range pl.earlier {
		if pl.earlierNot != "" {
			break
		}
		if err := settle(e); err != nil {
			pl.earlierNot = fmt.Sprintf("%s cannot be told from today's records: %s", e.At(), oneLine(err))
		}
	}
	if pl.earlierNot == "" {
		pl.showMembers()
		pl.showCounted()
		pl.showEarlier()
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// settle fits an earlier release to a plan of today, and makes its masks ready by a job.
func (e *EarlierRelease) settle(ctx context.Context, today *Plan, job Job) error {
	job.Config, job.Source, job.Key, job.Log = e.Config, today.Source, e.Key, zerolog.Nop()
	job.Check = func(pl *Plan) error {
		e.plan, pl.amounts = pl, e.Amounts
		switch {
		case !pl.Cut.Exact:
		case !today.Cut.Exact:
			today.Cut = pl.Cut // which changes nothing of what is released
		case today.Cut != pl.Cut:
			return fmt.Errorf("it swapped within windows of %d records, and today's have %d", pl.Cut.Records, today.Cut.Records)
		}
		return nil
	}
	r, err := job.Masks(ctx)
	if err != nil {
		return err
	}
	e.chain = r.Chain
	for _, w := range e.plan.Layout.Read {
		e.index = append(e.index, today.wantAlso(w))
	}
	for _, out := range e.plan.Layout.Release {
		if out.Field.Nested() {
			return fmt.Errorf("column %s has nested values, which are not looked at", out.Field.Name)
		}
		e.shown = append(e.shown, out.Column)
	}
	return e.fits()
}

// wantAlso asks for a column beside those of the release. It never sends a record to quarantine that would not go
// there without it.
func (pl *Plan) wantAlso(w microdata.Want) int {
	same := func(o microdata.Want) bool { return o.Field == w.Field && o.As == w.As && o.Days == w.Days }
	if i := slices.IndexFunc(pl.Layout.Read, same); i >= 0 {
		return i
	}
	w.Measured = w.As == microdata.Numbers
	pl.Layout.Read = append(pl.Layout.Read, w)
	return len(pl.Layout.Read) - 1
}

// showEarlier adds to the sample the columns that earlier releases had. They stand in a block behind those that are
// read.
func (pl *Plan) showEarlier() {
	at, n, pieces := len(pl.Layout.Read), 0, pl.pieces
	for _, e := range pl.earlier {
		for k := range e.shown {
			name := e.plan.Layout.Release[k].Field.Name
			pl.Beside = append(pl.Beside, assess.BesideColumn{
				Name: fmt.Sprintf("%s (release %d)", name, e.Number), Of: name, Release: int(e.Number), Index: at + n,
			})
			pl.showPieces(&e.plan.Layout.Release[k])
			n++
		}
		for k := range e.shown {
			if name := e.plan.Layout.Release[k].Field.Name; pl.judgesKeys() && pl.IsKey(e, name) || pl.infers(name) ||
				pl.Config.WantsPrivacy() && slices.Contains(e.plan.Masked, name) {
				e.keys = append(e.keys, k)
				pl.Beside = append(pl.Beside, assess.BesideColumn{
					Name: fmt.Sprintf("%s (release %d, before)", name, e.Number), Of: name, Release: int(e.Number), Before: true,
					Index: at + n,
				})
				n++
			}
		}
	}
	if n+pl.whole() > mostBeside {
		pl.earlierNot = fmt.Sprintf("all releases together have more than %d columns", mostBeside)
		pl.Beside = slices.DeleteFunc(pl.Beside, func(c assess.BesideColumn) bool { return c.Release > 0 })
		pl.pieces = pieces
	}
}

// showPieces adds pieces of the texts of the last column of Beside, which an earlier release had as out, unless it is
// masked, or there are pieces of it already.
func (pl *Plan) showPieces(out *microdata.Output) {
	c := pl.Beside[len(pl.Beside)-1]
	if out.Masked || !out.Field.Text() || pl.pieces == mostPieces ||
		slices.ContainsFunc(pl.Beside, func(o assess.BesideColumn) bool {
			return o.Piece > 0 && (o.Of == c.Of || o.Release == 0 && o.Name == c.Of)
		}) {
		return
	}
	pl.pieces++
	for piece := range assess.Pieces {
		c.Piece = piece + 1
		pl.Beside = append(pl.Beside, c)
	}
}

// Unguarded names the sensitive columns that earlier releases masked and this one does not: what this one tells of
// them is not judged. Without a ledger there are none.
func (pl *Plan) Unguarded() (names []string) {
	for _, e := range pl.earlier {
		for _, c := range e.Columns {
			if c.Guarded && !slices.Contains(pl.Masked, c.Name) && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// IsKey reports whether k, or links, over all releases go by what an earlier one has of a column: a key then, or today.
func (pl *Plan) IsKey(e *EarlierRelease, name string) bool {
	then := e.Config.Columns.Named(name)
	return then != nil && then.Role == microdata.Key || slices.Contains(pl.Config.Assess.IntruderKeys(), name)
}

// Uncounted says why what an earlier release has of a key cannot be counted; "" if it can be. Which cells it has hidden
// is not known: its masks are applied anew, and suppress chooses among equally good cells by chance.
func (e *EarlierRelease) Uncounted(name string) string {
	for _, m := range e.Config.Masks {
		if !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		if _, hides := transform.ActionOf(m.Params, name, 1).(transform.Suppression); hides {
			return "has cells that suppress has hidden in an earlier release, and which ones is not known"
		}
	}
	return e.plan.whyUncounted(name)
}

// Law returns the law of what the masks of the release make of a single value of a column; false if it has none in
// closed form, for example because they exchange values between records.
func (e *EarlierRelease) Law(column string) (*transform.Law, bool) { return e.chain.Law(column) }

// JudgesCounts reports whether a rule is about combinations of all keys.
func (pl *Plan) JudgesCounts() bool { return pl.judgesCounts() }

// replayEarlier applies the masks of earlier releases to the records of a block, and adds what these released as
// columns behind those that were read. The block's own columns stay as they are.
func (pl *Plan) replayEarlier(b *microdata.Block) error {
	if len(pl.earlier) == 0 || pl.earlierNot != "" {
		return nil
	}
	columns := b.Columns[:len(pl.Layout.Read)]
	for _, e := range pl.earlier {
		again := microdata.Block{Stream: b.Stream, First: b.First, N: b.N, Scope: b.Scope, Places: b.Places}
		for _, i := range e.index {
			from := &b.Columns[i]
			again.Columns = append(again.Columns,
				microdata.Column{Original: from.Original, Array: from.Array, Coded: from.Coded})
		}
		if err := e.chain.Apply(&again); err != nil {
			return fmt.Errorf("%s: %w", e.At(), err)
		}
		for _, i := range e.shown {
			columns = append(columns, again.Columns[i])
		}
		for _, k := range e.keys {
			from := &again.Columns[e.shown[k]]
			columns = append(columns, microdata.Column{Original: from.Original, Array: from.Array, Coded: from.Coded})
		}
	}
	b.Columns = columns
	return nil
}

// earlierOptions says what the assessment is to know of earlier releases; nil without a ledger.
func (pl *Plan) earlierOptions() *assess.Earlier {
	if !pl.fromLedger || pl.earlierKnown != nil {
		return pl.earlierKnown
	}
	others := 0
	for _, e := range pl.earlier {
		if !e.Repeats {
			others++
		}
	}
	others += pl.tables
	if pl.earlierNot != "" {
		others = max(others, 1)
	}
	pl.earlierKnown = &assess.Earlier{Releases: len(pl.earlier), Others: others, Not: pl.earlierNot, OrderNot: pl.orderNot,
		Totals: pl.totals,
		Law: func(release int, column string) assess.Law {
			for _, e := range pl.earlier {
				if e.Number == int64(release) {
					return LawOf(e.chain)(column)
				}
			}
			return nil
		}}
	return pl.earlierKnown
}
