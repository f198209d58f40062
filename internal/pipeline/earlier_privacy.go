package pipeline

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
)

// PrivacyTogether is Privacy of this release and all earlier ones of the ledger, one after the other: ε, ρ and δ of
// releases with independent draws add up (sequential composition: Dwork and Roth 2014, theorem 3.16; Bun and Steinke
// 2016, lemma 1.7). A release that repeats this one, draw by draw, adds nothing. A sample of earlier records is not
// counted as protection, nor is that of this release where there are earlier ones. nil without a ledger, or if
// nothing asks for it.
func (pl *Plan) PrivacyTogether() *assess.Privacy {
	if !pl.fromLedger || !pl.Config.WantsPrivacy() {
		return nil
	}
	p, a := pl.privacy()
	var others []*EarlierRelease
	for _, e := range pl.earlier {
		if !e.Repeats {
			others = append(others, e)
		}
	}
	not := pl.earlierNot
	if not == "" && pl.tables > 0 {
		not = "tables of the records were published, for which there is no ε"
	}
	if not != "" {
		for i := range p.Columns {
			c := &p.Columns[i]
			c.PrivacyLoss, c.Metric, c.MetricNot = assess.NoLoss(not), assess.Float(math.NaN()), not
		}
		p.Masked, p.Record, p.Person = assess.NoLoss(not), assess.NoLoss(not), assess.NoLoss(not)
		return p
	}
	releases := map[int]stated{0: statedAt(p, a, "in this release")}
	if len(others) == 0 {
		pl.composeCopies(p, a, releases)
		return p
	}
	a.rate, p.Rate = 1, nil
	for _, e := range others {
		of, b := e.plan.privacy()
		releases[int(e.Number)] = stated{of, b.losses, e.At()}
		for i := range p.Columns {
			a.addEarlier(&p.Columns[i], e, of, b)
		}
		a.personal, a.shared = a.personal.And(b.personal), a.shared.And(b.shared)
		a.asItIs, a.unstated = union(a.asItIs, b.asItIs), union(a.unstated, b.unstated)
		a.broken = union(a.broken, b.broken)
	}
	pl.composeCopies(p, a, releases)
	p.Masked = a.stated(a.personal.And(a.shared), 1)
	a.record(p)
	return p
}

// addEarlier adds to the figures of a column what an earlier release has of it.
func (a *privacyAccount) addEarlier(c *assess.ColumnPrivacy, e *EarlierRelease, of *assess.Privacy, b *privacyAccount) {
	was := of.Of(c.Column)
	if was == nil {
		return // it did not have the column
	}
	none := assess.Float(math.NaN())
	if c.Metric += was.Metric; was.MetricNot != "" && c.MetricNot == "" {
		c.Metric, c.MetricNot = none, e.At()+": "+was.MetricNot
	}
	if float64(c.Metric) > 0 {
		c.Distance = assess.Float(roundToDigit(math.Sqrt2 / float64(c.Metric)))
	}
	own, known := a.losses[c.Column]
	before, stated := b.losses[c.Column]
	switch {
	case !known:
	case !stated:
		delete(a.losses, c.Column)
		c.PrivacyLoss = assess.NoLoss(e.At() + ": " + was.Not)
		if math.IsInf(float64(was.Epsilon), 1) {
			c.Epsilon = was.Epsilon
		}
	default:
		a.losses[c.Column] = own.And(before)
		c.PrivacyLoss = a.stated(own.And(before), 1)
	}
}

// union returns a list with the entries of another one that it lacks.
func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// EarlierReleases says of which releases of the ledger the plan knows.
func (pl *Plan) EarlierReleases() []*EarlierRelease { return pl.earlier }

// FromLedger reports whether there is a ledger, and why nothing is known of all its releases together ("" if it is).
func (pl *Plan) FromLedger() (ledger bool, not string) { return pl.fromLedger, pl.earlierNot }
