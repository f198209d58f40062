package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/privacy"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Privacy returns what differential privacy says of the release, by the configuration and the source's schema alone;
// nil if nothing asks for it (assess.privacy, rules). docs/methods.md, section 10, has the reasons.
func (pl *Plan) Privacy() *assess.Privacy {
	if !pl.Config.WantsPrivacy() {
		return nil
	}
	p, a := pl.privacy()
	pl.composeCopies(p, a, map[int]stated{0: statedAt(p, a, "in this release")})
	return p
}

// privacy is Privacy, with the losses of which the figures are made.
func (pl *Plan) privacy() (*assess.Privacy, *privacyAccount) {
	a := &privacyAccount{plan: pl, asked: pl.Config.Assess.PrivacyOf(), rate: 1, losses: map[string]privacy.Loss{}}
	p := &assess.Privacy{
		Columns: []assess.ColumnPrivacy{}, Records: max(a.asked.Records, 1), Members: a.asked.Members, Unit: "person",
		NotCounted: notCounted,
	}
	if a.asked.Delta > 0 {
		delta := assess.Float(a.asked.Delta)
		p.Delta = &delta
	}
	for i, m := range pl.Config.Masks {
		if !transform.LeavesOut(m.Params) {
			continue
		}
		if drawn := transform.MechanismOf(pl.Config.Masks, i, ""); drawn.Not != "" {
			a.broken = append(a.broken, pl.MaskPath(i)+": "+drawn.Not)
		} else {
			a.rate = drawn.Rate
			rate := assess.Float(a.rate)
			p.Rate = &rate
		}
	}
	if more := passedOn(pl.Config.Sink.Config); more != "" {
		a.broken = append(a.broken, more+" leaves as it is")
	}
	for i := range pl.Layout.Release {
		p.Columns = append(p.Columns, a.column(&pl.Layout.Release[i]))
	}
	p.Masked = a.stated(a.personal.And(a.shared), a.rate)
	if a.stateable == 0 {
		p.Masked = assess.NoLoss("no column has a figure")
	}
	a.record(p)
	return p, a
}

// PrivacyOf is Privacy for other masks of the same columns.
func (pl *Plan) PrivacyOf(masks []transform.Spec) *assess.Privacy {
	of, settings := *pl, *pl.Config
	settings.Masks, of.Config, of.paths, of.Masked = masks, &settings, nil, nil
	for _, name := range pl.Masked {
		if slices.ContainsFunc(masks, func(m transform.Spec) bool { return slices.Contains(m.Params.Masks(), name) }) {
			of.Masked = append(of.Masked, name)
		}
	}
	return of.Privacy()
}

// PrivacyHolds returns an error for each rule on ε that does not hold, which is known before a record is read.
func (pl *Plan) PrivacyHolds() error {
	var problems config.Errors
	measures := &assess.Measures{Privacy: pl.Privacy()}
	for i, rule := range pl.Config.Gate.Rules {
		if !rule.LimitsPrivacy() {
			continue
		}
		if v := assess.Judge([]assess.Rule{rule}, measures).Rules[0]; !v.Passed {
			problems = append(problems,
				pl.Config.Errorf(fmt.Sprintf("gate.rules[%d]", i), "%s does not hold: %s", v.Rule, v.Advice))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// passedOn says what a sink releases of a record besides its columns; "" if that is nothing, as without a sink (package
// filter).
func passedOn(sink connectors.SinkConfig) string {
	if sink == nil {
		return ""
	}
	able := sink.Abilities()
	if able.ColumnsAlone {
		return ""
	}
	return cmp.Or(able.PassesMore, "what the sink adds to a record's columns")
}

// notCounted is what tells of a record and is in no figure.
var notCounted = []string{
	"whether a value is missing or a record goes to quarantine: records are compared that have values, which the masks take, in the same columns",
	"the order, the places and the number of the records, and that the gate let the release go, which depends on all data",
	"reports, and other releases under this key. There an unchanged value has the same draw and adds nothing, a changed one adds its ε, and which of the two it is shows",
	"the key: against those who have it nothing is promised, and against all others as much as AES is worth",
}

// privacyAccount collects the losses of the columns.
type privacyAccount struct {
	plan  *Plan
	asked config.Privacy
	rate  float64 // with which a record is released

	losses map[string]privacy.Loss // by column with a figure; nil: they are not asked for
	// of the columns with a figure: with a draw for each person, and for each household
	personal, shared privacy.Loss
	stateable        int      // how many those are
	broken           []string // why nothing can be stated of the whole record
	asItIs           []string // columns that leave as they are
	unstated         []string // columns without a figure for another reason
}

// column accounts for one column of the release.
func (a *privacyAccount) column(out *microdata.Output) assess.ColumnPrivacy {
	name := out.Field.Name
	none := assess.Float(math.NaN())
	c := assess.ColumnPrivacy{Column: name, Unit: a.plan.Unit(name), Metric: none, Distance: none}
	if !slices.Contains(a.plan.Masked, name) {
		c.PrivacyLoss = assess.NoLoss("leaves as it is")
		c.Epsilon, c.MetricNot = assess.Float(math.Inf(1)), "leaves as it is"
		a.asItIs = append(a.asItIs, name)
		return c
	}
	of := maskedValue{plan: a.plan, column: name, lower: math.Inf(-1), upper: math.Inf(1),
		delta: cmp.Or(a.asked.Delta, privacy.Resolution)}
	of.walk()
	c.Household = a.plan.Config.SharedByHousehold(name)
	if why := cmp.Or(of.not, a.bound(name, c.Household)); why != "" {
		c.PrivacyLoss, c.MetricNot = assess.NoLoss(why), why
		a.unstated = append(a.unstated, name)
		return c
	}
	if a.losses != nil && of.best != nil {
		a.losses[name] = *of.best
	}
	if c.Metric, c.MetricNot = assess.Float(of.metric), of.metricNot; of.metricNot == "" {
		c.Distance = assess.Float(roundToDigit(math.Sqrt2 / of.metric))
	}
	if of.best == nil {
		c.PrivacyLoss = assess.NoLoss(of.unbounded)
		a.unstated = append(a.unstated, name)
		return c
	}
	c.PrivacyLoss = a.stated(*of.best, a.rate)
	a.stateable++
	if c.Household {
		a.shared = a.shared.And(*of.best)
	} else {
		a.personal = a.personal.And(*of.best)
	}
	return c
}

// bound says why nothing can be stated of a column whose draws are bound to more than the record's place; "" if it can.
// Such a draw is the same for the same value, so that of two values it shows whether they are equal.
func (a *privacyAccount) bound(name string, household bool) string {
	p := a.plan.Config
	for _, c := range p.Columns {
		if c.SameAs == name || c.Name == name && c.SameAs != "" {
			return "it shares its draws with another column (same_as), and where their values are equal shows"
		}
	}
	who, of := "person", "identity"
	if household {
		who, of = "household", "level: household"
	} else if len(p.Identity) == 0 {
		return ""
	}
	switch {
	case a.asked.Records == 0:
		return fmt.Sprintf(
			"equal values of one %s have equal draws (%s), and that they are equal shows: say with assess.privacy.records: 1 that nobody has two records", who, of)
	case a.asked.Records > 1:
		return fmt.Sprintf(
			"a %s has up to %d records (assess.privacy.records), and equal values of one %s have equal draws (%s): that they are equal shows", who, a.asked.Records, who, of)
	}
	return ""
}

// record sets the figures of all columns together.
func (a *privacyAccount) record(p *assess.Privacy) {
	why, epsilon := slices.Clone(a.broken), math.NaN()
	if n := len(a.asItIs); n > 0 {
		epsilon = math.Inf(1)
		why = append(why, listed(a.asItIs)+leave(n)+" as it is: limit each masked column by itself (column)")
	}
	if len(a.unstated) > 0 {
		why = append(why, "no ε is stated of "+listed(a.unstated))
	}
	members := 1
	if p.Members > 0 {
		p.Unit, members = "household", p.Members
	}
	if len(why) > 0 {
		p.Record = assess.NoLoss(strings.Join(why, "; "))
		p.Record.Epsilon = assess.Float(epsilon)
		p.Person = p.Record
		return
	}
	p.Record = a.stated(a.personal.And(a.shared), a.rate)
	all := a.personal.Times(p.Records * members).And(a.shared.Times(p.Records))
	p.Person = a.stated(all, min(1, a.rate*float64(p.Records*members)))
}

// listed names the first columns of a list.
func listed(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func leave(n int) string {
	if n == 1 {
		return " leaves"
	}
	return " leave"
}

// stated turns a loss into what is reported of it.
func (a *privacyAccount) stated(l privacy.Loss, rate float64) assess.PrivacyLoss {
	p := assess.PrivacyLoss{Epsilon: assess.Float(l.Pure), Delta: assess.Float(privacy.Drawn(l.Extra, rate)),
		Rho: assess.Float(l.TotalRho())}
	none := assess.Float(math.NaN())
	switch {
	case a.asked.Delta > 0:
		p.Epsilon, p.Delta = assess.Float(l.Epsilon(a.asked.Delta, rate)), assess.Float(a.asked.Delta)
		if math.IsInf(float64(p.Epsilon), 1) {
			p.Epsilon, p.Delta = none, none
			p.Not = coarseDraws(l, rate) + fmt.Sprintf(", above δ = %.3g", a.asked.Delta)
		}
	case !l.IsPure():
		p.Epsilon, p.Delta, p.Not = none, none, "normal noise has an ε at a δ only: give assess.privacy.delta"
	case !(float64(p.Delta) <= privacy.Resolution):
		p.Epsilon, p.Delta = none, none
		p.Not = coarseDraws(l, rate) + fmt.Sprintf(", above %.3g", privacy.Resolution)
	}
	return p
}

// coarseDraws says how much the resolution of the draws leaves beside the ε that a loss would have.
func coarseDraws(l privacy.Loss, rate float64) string {
	return fmt.Sprintf("draws of 52 bits leave δ = %.2g beside it (less with fewer decimals, or a smaller ε)",
		min(1, privacy.Drawn(l.Unresolved(), rate)))
}

// roundToDigit rounds to one digit.
func roundToDigit(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	return math.Round(x/unit) * unit
}

// maskedValue follows a column through the masks.
type maskedValue struct {
	plan   *Plan
	column string
	delta  float64 // at which mechanisms are compared

	lower, upper float64 // of the value so far; infinite where it has no fixed bound
	apart        string  // why two values may have moved apart; "" if they have not

	best      *privacy.Loss // of the mechanism with the least ε; nil if none has one
	not       string        // why nothing can be stated at all
	unbounded string        // why there is no ε, without best
	metric    float64       // ε for each unit of distance
	metricNot string
}

// walk applies the masks of the column one after the other. What follows a mechanism only sees what it has made of the
// value, and keeps its ε (post-processing: Dwork and Roth 2014, proposition 2.1); what comes before it decides which
// values it can be given. Of several mechanisms the least ε holds.
func (c *maskedValue) walk() {
	c.metric, c.metricNot = math.NaN(), "no mask adds Laplace noise"
	c.unbounded = "no mask on it has an ε"
	masks := c.plan.Config.Masks
	for i, m := range masks {
		if slices.Contains(m.Params.Reads(), c.column) {
			c.not = c.plan.MaskPath(i) + ": what becomes of other columns or of the record depends on it"
		}
		if c.not != "" || !slices.Contains(m.Params.Masks(), c.column) {
			continue
		}
		mechanism := transform.MechanismOf(masks, i, c.column)
		switch {
		case mechanism.Not != "":
			c.not = c.plan.MaskPath(i) + ": " + mechanism.Not
		case transform.Computes(m.Params) && c.plan.Config.Columns.Named(c.column).Decimals == nil:
			c.not = "the decimals of its values are those of the data: declare them (columns." + c.column + ".decimals)"
		default:
			c.step(mechanism)
		}
	}
}

func (c *maskedValue) step(m transform.Mechanism) {
	switch m.Kind {
	case transform.Clipping:
		lower, upper := max(m.Lower, math.Inf(-1)), min(m.Upper, math.Inf(1))
		c.lower, c.upper = min(max(c.lower, lower), upper), max(min(c.upper, upper), lower)
		return
	case transform.Stepping:
		c.lower, c.upper = c.lower-m.Step/2, c.upper+m.Step/2
		c.apart = "values are rounded in front of the noise, and two that are near may then be a step apart"
		return
	case transform.Adding:
		c.add(m)
	case transform.Responding:
		c.apart = "categories have no distance"
		if epsilon := privacy.Matrix(m.Matrix); math.IsInf(epsilon, 1) {
			c.unbounded = "some category is released for some originals and never for others (a probability of 0)"
		} else {
			c.offer(privacy.OfPure(epsilon, privacy.MatrixApart(m.Categories)))
		}
	default:
		c.apart = "another mask changes distances in front of the noise"
	}
	c.lower, c.upper = math.Inf(-1), math.Inf(1)
}

// add takes noise into account whose law is the same for all values.
func (c *maskedValue) add(m transform.Mechanism) {
	if m.SD == 0 {
		c.unbounded = "the noise has standard deviation 0"
		return
	}
	decimals := *c.plan.Config.Columns.Named(c.column).Decimals
	steps := m.SD * math.Pow10(decimals) // of the grid
	width := c.upper - c.lower
	if farthest := max(math.Abs(c.lower), math.Abs(c.upper)); !math.IsInf(width, 1) &&
		!(farthest*math.Pow10(decimals)+64*steps <= microdata.MaxExact) || !(64*steps <= microdata.MaxExact/2) {
		c.not = "its values, with the noise, have more decimals than a double holds exactly"
		return
	}
	const noBounds = "values have no fixed bounds in front of the noise (truncate, or topcode with lower and upper), so that ε has none"
	switch m.Law {
	case "laplace":
		if c.apart == "" {
			if v := privacy.Laplace(1, m.SD); !(c.metric <= v) {
				c.metric, c.metricNot = v, ""
			}
		} else if c.metric != c.metric {
			c.metricNot = c.apart
		}
		if epsilon := privacy.Laplace(width, m.SD); math.IsInf(epsilon, 1) {
			c.unbounded = noBounds
		} else {
			c.offer(privacy.OfPure(epsilon, privacy.LaplaceApart(steps)))
		}
	case "normal":
		if c.metric != c.metric {
			c.metricNot = "normal noise has no ε by distance; ρ of two values d apart is d²/(2λ²)"
		}
		if rho := privacy.Gaussian(width, m.SD); math.IsInf(rho, 1) {
			c.unbounded = noBounds
		} else {
			c.offer(privacy.OfGaussian(rho, privacy.GaussianApart(steps)))
		}
	default:
		c.unbounded = m.Law + " noise is bounded: what it cannot reach from a value tells that the value is another one"
	}
}

// offer keeps the loss with the least ε.
func (c *maskedValue) offer(l privacy.Loss) {
	if c.best == nil || l.Epsilon(c.delta, 1) < c.best.Epsilon(c.delta, 1) {
		c.best = &l
	}
}
