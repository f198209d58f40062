package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Attack applies the masks of a configuration to its source, as a run would, and
// lets the intruder of assess.keys at what would be released. Nothing is written.
func Attack(ctx context.Context, p *config.Pipeline, o Options) (*attack.Result, attack.Data, error) {
	var none attack.Data
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	ctx = o.Log.WithContext(ctx)
	switch {
	case p.Stream():
		return nil, none, config.Errors{p.Errorf("source", "is a stream without end, and an attack needs data that end: use `until: latest`, or a file of the same columns")}
	case !p.Assess.Asked():
		return nil, none, config.Errors{p.Errorf("assess.keys", "must be given: the columns that an intruder may know of a respondent")}
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, none, dataErrorf("%v", err)
	}
	src, err := openSource(ctx, p)
	if err != nil {
		return nil, none, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	r := &run{config: p, options: o, key: key, source: src, streams: src.Streams(), quarantine: &quarantine{}}
	if r.plan, err = newPlan(p, src, true); err != nil {
		return nil, none, err
	}
	if err := r.plan.settle(ctx, o.Progress); err != nil {
		return nil, none, err
	}
	if r.chain, err = r.plan.newChain(ctx, key, o.Progress); err != nil {
		return nil, none, err
	}
	options, err := r.plan.assessOptions(key, r.chain)
	if err != nil {
		return nil, none, err
	}
	if len(options.Columns) == 0 {
		// Nothing numeric is measured: the accumulator still needs a column to carry the
		// keys beside, and any that is read will do.
		return nil, none, dataErrorf("no numeric column is masked, sensitive or a key: use `sdlfilter attack --original --categorical`")
	}
	if r.measured, err = assess.New(options); err != nil {
		return nil, none, err
	}
	o.Progress.start("mask", src.Records())
	pass := flow{
		source: src, layout: r.plan.surveyLayout(), cut: r.plan.cut,
		work: func(p *parcel) error { return r.chain.Apply(p.block) },
		stages: []func(*parcel) error{func(p *parcel) error {
			o.Progress.add(p.block.N)
			r.measured.Add(p.block)
			return nil
		}},
	}
	if err := pass.run(ctx); err != nil {
		return nil, none, err
	}
	if r.measured.Records() == 0 {
		return nil, none, dataErrorf("the source has no records")
	}
	o.Progress.measuring()
	return r.plan.attack(ctx, r.measured.Pairs())
}

// attacked says which columns an intruder knows and where they are found.
type attacked struct {
	linked  []string // numeric keys
	counted []string // categorical keys
	carried []int    // indexes in layout.Read that the sample must hold codes of
	index   map[string]int
}

// asked reports whether an intruder is asked for.
func (pl *plan) asked() bool { return pl.config.Assess.Asked() }

// compared reports whether a numeric column is measured because the intruder knows
// it or a regression names it.
func (pl *plan) compared(name string) bool {
	in := pl.config.Assess.Intruder
	if slices.Contains(pl.config.Assess.Keys, name) {
		return in == nil || !slices.Contains(in.Categorical, name)
	}
	if in == nil || in.Utility == nil {
		return false
	}
	return slices.ContainsFunc(in.Utility.Regressions, func(r config.IntruderRegression) bool {
		return r.Response == name || slices.Contains(r.Predictors, name)
	})
}

// setIntruder says which columns are read for the intruder. Numeric keys are linked
// unless they are said to be categories, all others are counted.
func (pl *plan) setIntruder(b *layoutBuilder, inMask map[string]microdata.Form) error {
	a := pl.config.Assess
	if !pl.asked() {
		return nil
	}
	in := a.Intruder
	if in == nil {
		in = &config.Intruder{}
	}
	at := &pl.intruder
	at.index = map[string]int{}
	carry := func(name string, as microdata.Form) {
		i := b.want(name, as, as == microdata.Numbers)
		at.index[name] = i
		if !slices.Contains(at.carried, i) {
			at.carried = append(at.carried, i)
		}
	}
	for i, name := range a.Keys {
		if b.field(name).Numeric() && !slices.Contains(in.Categorical, name) {
			at.linked = append(at.linked, name)
			continue
		}
		if _, masked := inMask[name]; masked {
			return config.Errors{pl.config.Errorf(fmt.Sprintf("assess.keys[%d]", i),
				"%s is counted and a mask changes it, and the sample of a run holds the original's categories: measure the release with `sdlfilter attack --original --released`", name)}
		}
		at.counted = append(at.counted, name)
		carry(name, microdata.Array)
	}
	if u := in.Uniqueness; u != nil {
		for _, name := range u.Sensitive {
			carry(name, microdata.Array)
		}
		if u.Household != "" {
			carry(u.Household, microdata.Array)
		}
		if u.Weight != "" {
			if !b.field(u.Weight).Numeric() {
				return config.Errors{pl.config.Errorf("assess.intruder.uniqueness.weight", "must be a numeric column, and %s is %s", u.Weight, b.field(u.Weight).Type)}
			}
			carry(u.Weight, microdata.Numbers)
		}
	}
	switch {
	case in.Linkage != nil && len(at.linked) == 0 && in.Linkage.Distance != "gower":
		return config.Errors{pl.config.Errorf("assess.intruder.linkage", "links numeric keys, and none of assess.keys is one")}
	case in.Bayes != nil && len(at.linked) == 0:
		return config.Errors{pl.config.Errorf("assess.intruder.bayes", "links numeric keys, and none of assess.keys is one")}
	case in.Uniqueness != nil && len(at.counted) == 0:
		return config.Errors{pl.config.Errorf("assess.intruder.uniqueness", "counts categories, and none of assess.keys is categorical; list numeric ones that are in assess.intruder.categorical")}
	}
	for i, rule := range pl.config.Gate.Rules {
		path := fmt.Sprintf("gate.rules[%d]", i)
		for _, m := range assess.RespondentMeasures {
			_, given := m.Limit(rule)
			switch {
			case !given:
			case m.Categorical && len(at.counted) == 0:
				return config.Errors{pl.config.Errorf(path, "is about combinations of categorical keys, and none of assess.keys is one; list numeric ones that are in assess.intruder.categorical")}
			case !m.Categorical && m.ByDefault && len(at.linked) == 0 && in.Linkage == nil:
				return config.Errors{pl.config.Errorf(path+"."+m.Name, "is about linkage by numeric keys, and none of assess.keys is one")}
			}
		}
	}
	return nil
}

// attack lets the intruder at the pairs of a release.
func (pl *plan) attack(ctx context.Context, p assess.Pairs) (*attack.Result, attack.Data, error) {
	d := attack.Data{}
	if !p.Complete {
		d.Records = p.Records
	}
	for c, column := range pl.assessed {
		grid := 0.0
		for _, touched := range pl.columns {
			if touched.Name == column.Name && touched.Decimals >= 0 {
				grid = math.Pow10(-touched.Decimals)
			}
		}
		if slices.Contains(pl.intruder.linked, column.Name) {
			d.Linked = append(d.Linked, c)
		}
		d.Numeric = append(d.Numeric, attack.NumericColumn{Name: column.Name, Grid: grid, Original: p.Original[c], Released: p.Released[c]})
	}
	codes := func(name string) []int32 {
		return uniqueness.Codes(p.Carried[slices.Index(p.CarriedColumns, pl.intruder.index[name])])
	}
	for _, name := range pl.intruder.counted {
		d.Categorical = append(d.Categorical, attack.CategoricalColumn{Name: name, Original: codes(name)})
	}
	if in := pl.config.Assess.Intruder; in != nil && in.Uniqueness != nil {
		for _, name := range in.Uniqueness.Sensitive {
			d.Sensitive = append(d.Sensitive, attack.CategoricalColumn{Name: name, Original: codes(name)})
		}
		if w := in.Uniqueness.Weight; w != "" {
			d.Weights = p.Carried[slices.Index(p.CarriedColumns, pl.intruder.index[w])]
		}
		if h := in.Uniqueness.Household; h != "" {
			d.Household = codes(h)
		}
	}
	o, err := pl.attackOptions(&d)
	if err != nil {
		return nil, d, err
	}
	r, err := attack.Run(ctx, d, o)
	if err != nil {
		return nil, d, fmt.Errorf("assess.intruder: %w", err)
	}
	return r, d, nil
}

// attackOptions says what the configuration asks: linkage and uniqueness where
// there are keys for them and no part is named.
func (pl *plan) attackOptions(d *attack.Data) (attack.Options, error) {
	in := pl.config.Assess.Intruder
	if in == nil {
		in = &config.Intruder{Targets: 1000}
	}
	o := attack.Options{Targets: in.Targets, Intervals: in.Interval}
	all := !in.Named()
	if l := in.Linkage; l != nil {
		o.Linkage = &attack.Linkage{OneToOne: l.OneToOne}
		if err := o.Linkage.Distance.UnmarshalText([]byte(l.Distance)); err != nil {
			return o, fmt.Errorf("assess.intruder.linkage.distance: %w", err)
		}
	} else if all && len(d.Linked) > 0 {
		o.Linkage = &attack.Linkage{}
	}
	if u := in.Uniqueness; u != nil || all && len(d.Categorical) > 0 {
		options := uniqueness.DefaultOptions()
		options.Estimator = uniqueness.Approximate
		if u != nil {
			options.Alpha, options.K = u.Alpha, u.K
			if !u.SUDA2 {
				options.SUDA2 = nil
			}
			if !u.Approximate {
				options.Estimator = uniqueness.Exact
			}
		}
		o.Uniqueness = &options
	}
	if in.Bayes != nil {
		bayes, err := pl.bayes(in.Bayes, d)
		if err != nil {
			return o, err
		}
		o.Bayes = bayes
	}
	if u := in.Utility; u != nil {
		o.Loss = &loss.Options{}
		if u.Propensity {
			o.Loss.Propensity = &loss.PropensityOptions{}
		}
		for _, r := range u.Regressions {
			o.Loss.Regressions = append(o.Loss.Regressions, loss.Regression{Response: r.Response, Predictors: r.Predictors, Level: r.Level})
		}
	}
	if in.Inversion {
		o.Inversion = &attack.Inversion{Masks: pl.config.Masks, Known: pl.publishedMoments(d)}
	}
	return o, nil
}

// publishedMoments are what whoever inverts the masks may have been told: mean and
// SD of the original, which users can estimate or are told elsewhere. An inversion
// that needs them is one that must not succeed.
func (pl *plan) publishedMoments(d *attack.Data) inversion.Published {
	known := inversion.Published{Moments: map[string]inversion.Moments{}}
	if d.Records == 0 && transform.NeedsWindow(pl.config.Masks) {
		known.Window = pl.config.Window.Records
	}
	for _, c := range d.Numeric {
		m := loss.MomentsOf(c.Original)
		if m.Mean != nil && m.SD != nil && slices.Contains(pl.masked, c.Name) {
			known.Moments[c.Name] = inversion.Moments{Mean: *m.Mean, SD: *m.SD}
		}
	}
	return known
}

// bayes says what the Bayesian intruder knows: by d1 bias and noise that the masks
// put on each key, unless the configuration says them.
func (pl *plan) bayes(b *config.IntruderBayes, d *attack.Data) (*intruder.Options, error) {
	o := &intruder.Options{Threshold: b.Threshold, Population: b.Population}
	for _, j := range d.Linked {
		name := d.Numeric[j].Name
		var k intruder.Key
		phi, hasPhi := b.Phi[name]
		sigma, hasSigma := b.Sigma[name]
		implied, sd, err := pl.impliedNoise(name)
		if err != nil && !(hasPhi && hasSigma) {
			return nil, fmt.Errorf("assess.intruder.bayes: %w", err)
		}
		if k.Phi = implied; hasPhi {
			k.Phi = phi
		}
		if k.Sigma = sd; hasSigma {
			k.Sigma = sigma
		}
		if b.Knowledge == config.KnowledgeD2 {
			// Trottini et al., section 5: φ about 0.5/6, σ about a sixth of the range.
			k.PhiPrior = intruder.InverseGammaAround(0.5 / 6)
			if p := b.PhiPrior; p != nil {
				k.PhiPrior = &intruder.Prior{Shape: p.Shape, Scale: p.Scale}
			}
			if low, high := ends(d.Numeric[j].Released); high > low {
				k.SigmaPrior = intruder.InverseGammaAround((high - low) / 6)
			}
			if p := b.SigmaPrior; p != nil {
				k.SigmaPrior = &intruder.Prior{Shape: p.Shape, Scale: p.Scale}
			}
		}
		o.Keys = append(o.Keys, k)
	}
	return o, nil
}

// ends are the least and the greatest value.
func ends(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

// impliedNoise returns φ and σ of z = xθ + ε of a column under the masks: of several
// biases E θ² multiply, of several noises the variances add, a bias after a noise
// multiplies it as well, and rounding to a step h adds h²/12. Tiers, truncation
// and swaps are not in the model; of a mask that does not say what it does nothing
// follows, which is an error.
func (pl *plan) impliedNoise(column string) (phi, sigma float64, err error) {
	sd := 0.0
	for _, c := range pl.columns {
		if c.Name == column && c.SD == c.SD {
			sd = c.SD
		}
	}
	square, variance := 1.0, 0.0 // E θ², Var ε
	for _, m := range pl.config.Masks {
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		switch a := transform.ActionOf(m.Params, column, sd).(type) {
		case transform.Multiplication:
			square *= 1 + a.Phi*a.Phi
			variance *= 1 + a.Phi*a.Phi
		case transform.Addition:
			variance += a.SD * a.SD
		case transform.Rounding:
			variance += a.Step * a.Step / 12
		case transform.Bounding, transform.Exchange:
		default:
			return 0, 0, fmt.Errorf("the mask %s does not say what it does to %s; give phi and sigma of that key", m.Kind(), strconv.Quote(column))
		}
	}
	return math.Sqrt(square - 1), math.Sqrt(variance), nil
}

// identify lets the intruder of the configuration at a file job's release, and
// tells the measures what the gate is to judge.
func (pl *plan) identify(ctx context.Context, acc *assess.Accumulator, m *assess.Measures) (*attack.Result, error) {
	if !pl.asked() || acc == nil || acc.Records() == 0 {
		return nil, nil
	}
	r, _, err := pl.attack(ctx, acc.Pairs())
	if err != nil {
		return nil, err
	}
	m.Identity = r.Identity()
	return r, nil
}
