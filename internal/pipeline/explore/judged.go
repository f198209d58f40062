package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/transform"
)

// inverts reports whether a run would try to recover original values.
func inverts(p *config.Pipeline) bool { return p.Inverts() }

// judgesIntruder reports whether the gate of a run judges what an intruder finds.
func judgesIntruder(p *config.Pipeline) bool {
	return inverts(p) || slices.ContainsFunc(p.Gate.Rules, assess.Rule.Identity)
}

// measuresLoss reports whether points have the information loss that assess.intruder.utility
// asks for.
func measuresLoss(p *config.Pipeline) bool {
	return p.Assess.Intruder != nil && p.Assess.Intruder.Utility != nil && len(p.Map.Categories) == 0
}

// attributes reports whether points have the attribute disclosure of synthetic columns.
func attributes(p *config.Pipeline) bool {
	return p.Assess.Intruder != nil && p.Assess.Intruder.Attribute != nil && len(p.Map.Categories) == 0
}

// wantsIntruder reports whether a point needs anything that an intruder finds.
func wantsIntruder(p *config.Pipeline) bool {
	return judgesIntruder(p) || measuresLoss(p) || attributes(p)
}

// limitsOthers reports whether a rule limits R, an error or the efficiency of another column
// than that of the map.
func (g *grid) limitsOthers() bool {
	return slices.ContainsFunc(g.plan.Assessed, func(c assess.Column) bool {
		return c.Masked && c.Name != g.column && g.limited(c.Name)
	})
}

// limited reports whether a rule limits R, an error or the efficiency of a column.
func (g *grid) limited(column string) bool {
	return slices.ContainsFunc(g.config.Gate.Rules, func(r assess.Rule) bool {
		return r.Column == column && !r.Identity() && r.MaxUnchanged == nil && r.MaxExact == nil && !r.LimitsPrivacy()
	})
}

// byRecord reports whether a rule is judged by all released columns of a record.
func (g *grid) byRecord() bool {
	return !g.ofCategories() && slices.ContainsFunc(g.config.Gate.Rules, func(r assess.Rule) bool {
		return (r.MaxRisk != nil || r.MinRMSE != nil) && assess.Covers("", r.Knowledge, r.Record, "", assess.KnowledgeRecord)
	})
}

// addRecord adds to the risks of a point those of an intruder who uses all released columns.
func (g *grid) addRecord(pairs assess.Pairs, p *rumap.Point) {
	add := func(column string, to *rumap.Point) {
		known := make([]assess.Risk, len(to.Risk))
		for i, k := range to.Risk {
			known[i] = assess.Risk{Target: k.Target, Knowledge: k.Knowledge, R: k.R, SE: k.RSE, RMSE: k.RMSE, Sampled: k.Sampled,
				Approximate: k.Approximate, Errs: k.Errs, Bound: k.Bound}
		}
		to.Risk = risksOf(g.pairs.WithRecord(pairs, column, known))
	}
	add(g.column, p)
	for column, other := range p.Beside {
		add(column, other)
	}
}

// wantPairs makes the accumulator of the pairs on which rules about respondents and about unchanged
// values are judged, and losses are measured. Its sample is that of a run.
func (g *grid) wantPairs() (err error) {
	stays := func(r assess.Rule) bool { return r.MaxUnchanged != nil }
	if !g.ofCategories() && !wantsIntruder(g.whole) && !slices.ContainsFunc(g.config.Gate.Rules, stays) && !g.byRecord() {
		return nil
	}
	g.pairs,
		err = assess.New(assess.Options{Columns: g.plan.Assessed, Carry: g.carry(), Released: g.plan.Intruder.Released,
		Key: g.key, Sample: g.sample(), Mixes: g.mixes,
		Targets: g.config.Assess.Targets, Record: true, Beside: g.plan.Beside, Together: pipeline.Together(g.config.Masks)})
	return err
}

// judgePairs masks the sample at a place and adds to its point the measures of rules about
// respondents and about unchanged values, and its losses.
func (g *grid) judgePairs(ctx context.Context, at place, p *rumap.Point, replicate int) error {
	if g.pairs == nil {
		return nil
	}
	masks, err := g.strategies[at.strategy].Masks(at.values)
	if err != nil {
		return err
	}
	chain, err := g.chainOf(at, masks, false)
	if err != nil {
		return err
	}
	pairs, err := g.masked(ctx, chain.Replicate(replicate))
	if err != nil {
		return err
	}
	p.Unchanged = map[string]assess.Float{}
	for _, r := range g.config.Gate.Rules {
		c := slices.IndexFunc(g.plan.Assessed, func(c assess.Column) bool { return c.Name == r.Column })
		if r.MaxUnchanged != nil && c >= 0 {
			p.Unchanged[r.Column] = assess.Float(unchanged(pairs.Original[c], pairs.Released[c]))
		}
	}
	if g.byRecord() {
		g.addRecord(pairs, p)
	}
	if !wantsIntruder(g.whole) {
		return nil
	}
	of, settings := *g.plan, *g.config
	settings.Masks, of.Config = masks, &settings
	found, err := attack.Some(ctx, &of, chain, pairs, g.parts())
	if err != nil {
		return err
	}
	id := assess.Unmeasured()
	if found != nil {
		id = found.Identity()
	}
	if judgesIntruder(g.whole) || attributes(g.whole) {
		g.takeIdentity(p, id)
	}
	if measuresLoss(g.whole) && found != nil && found.Utility != nil {
		p.Loss = lossOf(found.Utility, id)
	}
	return nil
}

// cancellable are masks that can be cancelled.
type cancellable interface {
	assess.Masker
	Cancel()
}

// masked returns the pairs that a replicate makes of the sample. It is cancelled when ctx ends.
func (g *grid) masked(ctx context.Context, replicate cancellable) (assess.Pairs, error) {
	defer context.AfterFunc(ctx, replicate.Cancel)()
	pairs, err := g.pairs.Masked(replicate)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return pairs, err
}

// lossOf returns the loss of a point. The overlap of intervals is the measure of the gate, which does not
// exist for a sample: its intervals are wider than those of the release.
func lossOf(u *loss.Utility, id *assess.Identity) *rumap.Loss {
	l := &rumap.Loss{KS: map[string]assess.Float{}}
	for name, v := range u.KS {
		l.KS[name] = assess.Float(v)
	}
	if u.PMSE != nil {
		v := assess.Float(*u.PMSE)
		l.PMSE = &v
	}
	if v := id.Overlap; len(u.Regressions) > 0 && v == v {
		l.Overlap = &v
	}
	return l
}

// parts returns the parts of the intruder that a rule needs, or that points have in any case. Measures of
// categorical keys that no mask changes are computed once.
func (g *grid) parts() (parts []string) {
	if inverts(g.whole) {
		parts = append(parts, "inversion")
	}
	if measuresLoss(g.whole) {
		parts = append(parts, "utility")
	}
	if attributes(g.whole) {
		parts = append(parts, "attribute")
	}
	for _, r := range g.config.Gate.Rules {
		for i := range assess.RespondentMeasures {
			m := &assess.RespondentMeasures[i]
			if _, limited := m.Limit(r); limited && !slices.Contains(parts, m.Part) &&
				!(m.Categorical && g.countedOnce() && g.categoricalIdentity != nil) {
				parts = append(parts, m.Part)
			}
		}
	}
	return parts
}

// countedOnce reports whether the categorical keys are the same at every point.
func (g *grid) countedOnce() bool { return len(g.plan.Intruder.Released) == 0 }

// takeIdentity adds what an intruder finds to a point. A measure that could not be computed is
// NaN, so that its rule fails, as in a run.
func (g *grid) takeIdentity(p *rumap.Point, id *assess.Identity) {
	if g.categoricalIdentity == nil {
		g.categoricalIdentity = id
	}
	p.Respondents = map[string]assess.Float{}
	for _, r := range g.config.Gate.Rules {
		for i := range assess.RespondentMeasures {
			m := &assess.RespondentMeasures[i]
			if _, limited := m.Limit(r); !limited {
				continue
			}
			p.Respondents[r.Key()] = m.Value(r, id)
			if m.Categorical && g.countedOnce() {
				p.Respondents[r.Key()] = m.Value(r, g.categoricalIdentity)
			}
		}
	}
	if v := id.AttributeDisclosure; attributes(g.whole) && v == v {
		p.Respondents[rumap.MeasureAttribute] = v
	}
	// A run that nobody asks to undo its masks leaves out what cannot be undone.
	if inverts(g.whole) && (id.Inverted != nil || !g.whole.InvertsUnasked()) {
		g.takeExact(p, id)
		p.Respondents[rumap.MeasureInversion] = assess.Float(math.NaN())
		if id.Inverted != nil {
			p.Respondents[rumap.MeasureInversion] = assess.Float(*id.Inverted)
		}
	}
}

// takePrivacy adds to a point what rules on ε are compared with. It depends on the masks alone.
func (g *grid) takePrivacy(at place, p *rumap.Point) error {
	if !g.whole.WantsPrivacy() {
		return nil
	}
	masks, err := g.strategies[at.strategy].Masks(at.values)
	if err != nil {
		return err
	}
	stated := g.plan.PrivacyOf(masks)
	if c := stated.Of(g.column); c != nil {
		p.Epsilon = &c.Epsilon
	}
	p.Privacy = map[string]assess.Float{}
	for _, r := range g.config.Gate.Rules {
		if r.LimitsPrivacy() { // by the words that the map has for the rule, before anything is stated
			words := assess.Judge([]assess.Rule{r}, &assess.Measures{}).Rules[0].Rule
			p.Privacy[words] = assess.Judge([]assess.Rule{r}, &assess.Measures{Privacy: stated}).Rules[0].Found
		}
	}
	return nil
}

// takeExact adds to a point what rules max_exact and the default limit are compared with.
func (g *grid) takeExact(p *rumap.Point, id *assess.Identity) {
	rules := g.config.Gate.Rules
	measures := &assess.Measures{Identity: id, Gated: true}
	for _, c := range g.plan.Assessed {
		measures.Columns = append(measures.Columns,
			assess.ColumnMeasures{Name: c.Name, Masked: c.Masked, Original: assess.Moments{N: 1}})
	}
	p.Exact = map[string]assess.Float{}
	for _, r := range rules {
		if r.MaxExact != nil {
			v := assess.Judge([]assess.Rule{r}, measures).Rules[0]
			p.Exact[v.Rule] = v.Found
		}
	}
	var excess assess.Float
	for _, v := range assess.Judge(rules, measures).Rules {
		if v.Measure == rumap.MeasureUsual && v.Column != "" && !v.Passed {
			if _, ofRule := p.Exact[v.Rule]; !ofRule {
				excess = max(excess, v.Found-v.Limit)
			}
		}
	}
	p.Respondents[rumap.MeasureUsual] = excess
}

// unchanged returns the share of pairs whose released value equals the original; 0 if there are
// no pairs.
func unchanged(x, y []float64) float64 {
	same, n := 0, 0
	for i, v := range x {
		if v == v && y[i] == y[i] {
			n++
			if v == y[i] {
				same++
			}
		}
	}
	return float64(same) / float64(max(n, 1))
}

// rehearse masks and judges all records at a point as a run would.
func (g *grid) rehearse(ctx context.Context, by *filejob.Rehearsals, point int) (assess.Verdict, error) {
	at := g.places[point]
	strategy := g.strategies[at.strategy]
	masks, err := strategy.Masks(at.values)
	if err != nil {
		return assess.Verdict{}, err
	}
	trial := *g.whole
	trial.Masks = masks
	var paths []string
	for i, m := range masks {
		paths = append(paths, fmt.Sprintf("%s[%d].%s", strategy.Path, i, m.Kind()))
	}
	verdict, err := by.Rehearse(ctx, &trial, paths, g.key, g.progress)
	var refused *transform.SurveyError
	if errors.As(err, &refused) {
		return assess.Verdict{}, &rumap.ImpossibleError{Why: refused.Error()}
	}
	if err != nil {
		return assess.Verdict{}, err
	}
	return *verdict, nil
}
