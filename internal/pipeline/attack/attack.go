package attack

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Run applies the masks of a configuration to its source, as a run would, and runs the
// configured intruder on what would be released. It writes nothing.
func Run(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*attack.Result, attack.Data, error) {
	var none attack.Data
	ctx, o = o.Ready(ctx)
	switch {
	case p.Stream():
		return nil, none, config.Errors{p.Errorf("source", "is a stream without end, and an attack needs data that end: use `until: latest`, or a file of the same columns")}
	case !p.Assess.AttacksRelease():
		return nil, none, config.Errors{p.Errorf("assess.keys", "must be given, or columns must have the role key: what an intruder may know about a respondent")}
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, none, pipeline.DataErrorf("%v", err)
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, none, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	acc, pl, chain, err := masked(ctx, p, o, src, key)
	if err != nil {
		return nil, none, err
	}
	o.Progress.Measuring()
	return onPairs(ctx, pl, chain, acc.Pairs())
}

// masked applies the masks to the source and collects the pairs of original and released values.
func masked(ctx context.Context, p *config.Pipeline, o pipeline.Options, src connectors.Source, key keystream.Key) (*assess.Accumulator, *pipeline.Plan, *transform.Chain, error) {
	pl, err := pipeline.NewPlan(p, src, true)
	if err != nil {
		return nil, nil, nil, err
	}
	if left := pl.Intruder.Unmeasured(); left != "" {
		o.Log.Warn().Msg(left)
	}
	if err := pl.Settle(ctx, o.Progress); err != nil {
		return nil, nil, nil, err
	}
	chain, err := pl.NewChain(ctx, key, o.Progress)
	if err != nil {
		return nil, nil, nil, err
	}
	options, err := pl.AssessOptions(key, chain)
	if err != nil {
		return nil, nil, nil, err
	}
	if !pl.Measures() {
		return nil, nil, nil, pipeline.DataErrorf("no numeric column is masked, sensitive or a key, and no key is counted: there is nothing to attack")
	}
	acc, err := assess.New(options)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Progress.Start("mask", src.Records())
	pass := pipeline.Flow{
		Source: src, Layout: pl.SurveyLayout(), Cut: pl.Cut,
		Work: func(p *pipeline.Parcel) error { return chain.Apply(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			o.Progress.Add(p.Block.N)
			acc.Add(p.Block)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, nil, nil, err
	}
	if acc.Records() == 0 {
		return nil, nil, nil, pipeline.DataErrorf("the source has no records")
	}
	return acc, pl, chain, nil
}

// Judged lists the parts of the intruder whose results the gate judges, with their names in
// assess.intruder.
var Judged = []string{"linkage", "bayes", "uniqueness", "population", "inversion", "attribute", "utility"}

// Some runs parts of the configured intruder, named as in Judged, on pairs that masks have made
// of a sample. It returns the result, or nil if the configuration asks for none of the parts.
// The chain is the one that made the pairs.
func Some(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs, parts []string) (*attack.Result, error) {
	d := dataOf(pl, chain, p)
	o, err := optionsOf(pl, &d)
	if err != nil {
		return nil, err
	}
	only := attack.Options{Targets: o.Targets}
	for _, part := range parts {
		switch part {
		case "linkage":
			if only.Linkage = o.Linkage; o.Linkage != nil {
				only.Linkage = &attack.Linkage{Distance: o.Linkage.Distance} // no rule is about one-to-one links
			}
		case "bayes":
			only.Bayes = o.Bayes
		case "uniqueness":
			only.Uniqueness, only.Categories = counting(o.Uniqueness), o.Categories
		case "population":
			only.Population = o.Population
		case "inversion":
			only.Inversion = o.Inversion
		case "utility":
			only.Loss = o.Loss
		case "attribute":
			only.Attribute = attributeOf(pl, p, chain)
		}
	}
	if only.Linkage == nil && only.Bayes == nil && only.Uniqueness == nil && only.Population == nil && only.Inversion == nil && only.Attribute == nil && only.Loss == nil {
		return nil, nil
	}
	r, err := attack.Run(ctx, d, only)
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	return r, nil
}

// onPairs runs the intruder on the pairs of a release.
func onPairs(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs) (*attack.Result, attack.Data, error) {
	d := dataOf(pl, chain, p)
	o, err := optionsOf(pl, &d)
	if err != nil {
		return nil, d, err
	}
	o.Attribute = attributeOf(pl, p, chain)
	r, err := attack.Run(ctx, d, o)
	if err != nil {
		return nil, d, fmt.Errorf("assess.intruder: %w", err)
	}
	return r, d, nil
}

// dataOf puts pairs into the form of an attack.
func dataOf(pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs) attack.Data {
	d := attack.Data{}
	if !p.Complete {
		d.Records = p.Records
	}
	for c, column := range pl.Assessed {
		grid := 0.0
		for _, touched := range pl.Columns {
			if touched.Name == column.Name && touched.Decimals >= 0 {
				grid = math.Pow10(-touched.Decimals)
			}
		}
		if slices.Contains(pl.Intruder.Linked, column.Name) {
			d.Linked = append(d.Linked, c)
		}
		d.Numeric = append(d.Numeric, attack.NumericColumn{Name: column.Name, Grid: grid, Original: p.Original[c], Released: p.Released[c], Withheld: column.Withheld, Alike: column.Alike})
	}
	codes := func(name string) []int32 {
		return uniqueness.Codes(p.Carried[slices.Index(p.CarriedColumns, pl.Intruder.Index[name])])
	}
	categories := map[string]attack.CategoricalColumn{}
	for _, name := range slices.Concat(pl.Intruder.Counted, pl.Intruder.Keys) {
		if _, done := categories[name]; !done {
			c := categoriesOf(pl, p, name)
			c.Recoded = recodedFirst(pl, &c)
			categories[name] = c
		}
	}
	joined := joinedBy(pl, categories)
	for _, name := range pl.Intruder.Beside {
		i := slices.Index(p.CarriedColumns, pl.Intruder.Index[name])
		values := p.CarriedReleased[i]
		if values == nil {
			values = p.Carried[i]
		}
		if at := slices.Index(p.BesideColumns, name); at >= 0 {
			values = p.Beside[at] // dates are in their order
		}
		d.Beside = append(d.Beside, attack.BesideColumn{Name: name, Released: assess.Known(values)})
	}
	for i, name := range p.PieceColumns {
		if slices.Contains(pl.Intruder.Beside, name) {
			d.Pieces = append(d.Pieces, attack.BesideColumn{Name: name, Released: p.Pieces[i]})
		}
	}
	for i, name := range p.BesideColumns {
		d.Shown = append(d.Shown, attack.BesideColumn{Name: name, Released: p.Beside[i]})
	}
	d.Read = readBy(pl, p)
	in := pl.Config.Assess.Intruder
	d.Released = in != nil && in.Count == config.CountReleased
	for _, name := range pl.Intruder.Keys {
		c := categories[name]
		if not, renamed := joined[name]; renamed {
			switch {
			case pl.IsPerson(name) && len(pl.Intruder.Keys) > 1:
				continue // what it joins is counted by persons
			case not != "":
				c.Known = &attack.Known{Not: not}
			case !slices.Contains(pl.Config.Assess.IntruderKeys(), name) && isConstant(c.Original):
				continue // a pseudonym of one record tells nothing
			}
		}
		if !d.Released && c.Known == nil {
			c.Known, c.Cells = knownOf(pl, chain, p, &c, categories)
			categories[name] = c
		}
		original, released := codesOfKey(pl, p, name)
		d.Counted = append(d.Counted, withMissingCodes(c, original, released))
	}
	for _, u := range pl.Intruder.Uncounted {
		c := categories[u.Name]
		c.Name, c.Known = u.Name, &attack.Known{Not: u.Why}
		if c.Original == nil {
			c.Original = make([]int32, p.Len()) // not read
		}
		d.Counted = append(d.Counted, c)
	}
	for _, name := range pl.Intruder.Counted {
		d.Categorical = append(d.Categorical, categories[name])
	}
	for _, name := range pl.Intruder.Inferred {
		d.Inferred = append(d.Inferred, categoriesOf(pl, p, name))
	}
	if in != nil && in.Population != nil {
		if w := pl.Config.PopulationWeight(); w != "" {
			d.Persons = p.Carried[slices.Index(p.CarriedColumns, pl.Intruder.Index[w])]
		}
	}
	if w := pl.Config.UniquenessWeight(); w != "" && pl.Config.CountsUniqueness() {
		d.Weights = p.Carried[slices.Index(p.CarriedColumns, pl.Intruder.Index[w])]
	}
	if in != nil && in.Uniqueness != nil {
		for _, name := range in.Uniqueness.Sensitive {
			d.Sensitive = append(d.Sensitive, categoriesOf(pl, p, name))
		}
	}
	if h := pl.Config.UniquenessHousehold(); h != "" && slices.Contains(p.CarriedColumns, pl.Intruder.Index[h]) {
		d.Household = codes(h)
	}
	d.Person, d.Apart = personOf(pl, p)
	return d
}

// readBy returns the columns that masks read and do not change, such as the keys and attributes of swaps, whatever their
// role: they are released, and the snooper knows the groups by them.
func readBy(pl *pipeline.Plan, p assess.Pairs) (list []inversion.Key) {
	seen := map[string]bool{}
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Reads() {
			if seen[name] {
				continue
			}
			seen[name] = true
			at := slices.IndexFunc(pl.Columns, func(c transform.ColumnInfo) bool { return c.Name == name })
			if at < 0 {
				continue
			}
			i := slices.Index(p.CarriedColumns, pl.Columns[at].Index)
			if i < 0 {
				continue // it is among the numeric columns
			}
			values := p.Carried[i]
			if p.CarriedReleased[i] != nil {
				values = p.CarriedReleased[i]
			}
			list = append(list, inversion.Key{Name: name, Codes: uniqueness.Codes(values)})
		}
	}
	return list
}

// codesOfKey returns the numbers that represent the categories of a column; released is nil if no mask changes it.
func codesOfKey(pl *pipeline.Plan, p assess.Pairs, name string) (original, released []float64) {
	index := pl.Intruder.Index[name]
	if i := slices.Index(p.CarriedColumns, index); i >= 0 {
		return p.Carried[i], p.CarriedReleased[i]
	}
	c := slices.IndexFunc(pl.Assessed, func(c assess.Column) bool { return c.Index == index })
	return p.Original[c], p.Released[c]
}

// categoriesOf returns the categories of a column. If a mask changes it, they are those of the
// original and of the release, with common codes.
func categoriesOf(pl *pipeline.Plan, p assess.Pairs, name string) attack.CategoricalColumn {
	original, released := codesOfKey(pl, p, name)
	if released == nil {
		return attack.CategoricalColumn{Name: name, Original: uniqueness.Codes(original)}
	}
	values := slices.Concat(original, released)
	both := uniqueness.Codes(values)
	n := len(original)
	return attack.CategoricalColumn{Name: name, Original: both[:n:n], Released: both[n:], Code: codesOf(values, both)}
}

// codesOf returns a function that finds the code of a category by its text. values are the
// numbers that represent the categories: the number itself, or the CategoryCode of a text.
func codesOf(values []float64, codes []int32) func(text string) (int32, bool) {
	of := sync.OnceValue(func() map[float64]int32 {
		of := map[float64]int32{}
		for i, v := range values {
			if codes[i] >= 0 {
				of[v] = codes[i]
			}
		}
		return of
	})
	return func(text string) (int32, bool) {
		if code, ok := of()[microdata.CategoryCode([]byte(text))]; ok {
			return code, true
		}
		v, err := strconv.ParseFloat(text, 64)
		code, ok := of()[v+0]
		return code, ok && err == nil
	}
}

// optionsOf returns the parts of the attack that the configuration asks for. If it names no
// part, these are linkage and uniqueness, as far as there are keys for them.
func optionsOf(pl *pipeline.Plan, d *attack.Data) (attack.Options, error) {
	in := pl.Config.Assess.Intruder
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
	if u := in.Uniqueness; u != nil || all && len(d.Counted) > 0 {
		options := defaultUniqueness()
		options.Subsets, options.Limits = pl.Subsets(), limitsOfK(pl.Config.Gate.Rules)
		if u == nil && pl.Config.Assess.KeysByRole() && len(d.Counted) > pipeline.MostForSUDA2 {
			options.SUDA2 = nil // not requested, and slow with so many keys
		}
		if u != nil {
			options.Alpha, options.K = u.Alpha, u.K
			if !u.SUDA2 {
				options.SUDA2 = nil
			}
			if !u.Approximate {
				options.Estimator = uniqueness.Exact
			}
		}
		o.Uniqueness, o.Categories = options, true
	}
	if of := in.Population; of != nil {
		o.Population = &attack.Population{Model: of.PopulationModel(), Formula: pl.Population(of), Linear: of.Linear, Size: float64(of.Size)}
	}
	if in.Bayes != nil {
		bayes, err := bayesOf(pl, in.Bayes, d)
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
	if pl.Config.Inverts() && (in.Inversion || invertible(pl)) {
		o.Inversion = &attack.Inversion{Unasked: !in.Inversion, Masks: pl.Config.Masks, Known: publishedMoments(pl, d), Within: distances(pl.Config.Gate.Rules),
			Alone: alone(pl.Config.Gate.Rules)}
	}
	return o, nil
}

// invertible reports whether a masked column is a number that was assessed, or a counted key.
func invertible(pl *pipeline.Plan) bool {
	return slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Masked }) || len(pl.Intruder.Released) > 0
}

// alone returns the columns that rules judge without the columns beside them, unless a rule limits what is stated of
// them.
func alone(rules []assess.Rule) map[string]bool {
	columns := map[string]bool{}
	for _, r := range rules {
		if r.Record == assess.RecordAlone {
			columns[r.Column] = true
		}
	}
	for _, r := range rules {
		if r.MaxExact != nil {
			delete(columns, r.Column)
		}
	}
	return columns
}

// distances returns, by column, the distances of the rules about values that are stated.
func distances(rules []assess.Rule) map[string][]float64 {
	within := map[string][]float64{}
	for _, r := range rules {
		if r.MaxExact != nil {
			within[r.Column] = append(within[r.Column], r.MaxExact.Within)
		}
	}
	return within
}

func defaultUniqueness() *uniqueness.Options {
	o := uniqueness.DefaultOptions()
	o.Estimator = uniqueness.Approximate
	return &o
}

// counting returns the options without the scores of special uniques (SUDA2), which take the
// most time and which no rule is about. For nil it returns nil.
func counting(o *uniqueness.Options) *uniqueness.Options {
	if o == nil {
		return nil
	}
	only := *o
	only.SUDA2 = nil
	return &only
}

// publishedMoments returns what an intruder who inverts the masks may know: mean and SD of the
// original, which users can estimate or may find elsewhere. An inversion that needs them must
// not succeed either.
func publishedMoments(pl *pipeline.Plan, d *attack.Data) inversion.Published {
	known := inversion.Published{Moments: map[string]inversion.Moments{}}
	if d.Records == 0 && transform.NeedsWindow(pl.Config.Masks) {
		known.Window = pl.Config.Window.Records
	}
	for _, c := range d.Numeric {
		m := loss.MomentsOf(c.Original)
		if m.Mean != nil && m.SD != nil && slices.Contains(pl.Masked, c.Name) {
			known.Moments[c.Name] = inversion.Moments{Mean: *m.Mean, SD: *m.SD}
		}
	}
	return known
}

// bayesOf returns what the Bayesian intruder knows. With knowledge d1 these are the bias and the
// noise of each key, from the masks or from the configuration; with d2, priors of them.
func bayesOf(pl *pipeline.Plan, b *config.IntruderBayes, d *attack.Data) (*intruder.Options, error) {
	o := &intruder.Options{Threshold: b.Threshold, Population: b.Population, Jointly: b.Jointly}
	for _, j := range d.Linked {
		name := d.Numeric[j].Name
		var k intruder.Key
		phi, hasPhi := b.Phi[name]
		sigma, hasSigma := b.Sigma[name]
		implied, sd, err := impliedNoise(pl, name)
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
	if b.Knowledge != config.KnowledgeD2 {
		o.Covariance = covarianceOf(pl, b, d, o.Keys)
	}
	return o, nil
}

// covarianceOf returns the covariance matrix of the keys' noise if a mask correlates the noise
// of two of them, else nil.
func covarianceOf(pl *pipeline.Plan, b *config.IntruderBayes, d *attack.Data, keys []intruder.Key) [][]float64 {
	var covariance [][]float64
	for _, m := range pl.Config.Masks {
		among := transform.NeedsCorrelations(m.Params)
		for j, column := range d.Linked {
			for k, other := range d.Linked[:j] {
				x, w := d.Numeric[column].Name, d.Numeric[other].Name
				_, givenX := b.Sigma[x]
				_, givenW := b.Sigma[w]
				r, known := pl.Correlations().Of(x, w)
				if givenX || givenW || !known || !slices.Contains(among, x) || !slices.Contains(among, w) {
					continue
				}
				if covariance == nil {
					covariance = diagonal(keys)
				}
				λ, _ := transform.ActionOf(m.Params, x, pl.SD(x)).(transform.Addition)
				μ, _ := transform.ActionOf(m.Params, w, pl.SD(w)).(transform.Addition)
				covariance[j][k] += r * λ.SD * μ.SD
				covariance[k][j] = covariance[j][k]
			}
		}
	}
	return covariance
}

// diagonal returns the covariance matrix of independent noise.
func diagonal(keys []intruder.Key) [][]float64 {
	s := make([][]float64, len(keys))
	for j, key := range keys {
		s[j] = make([]float64, len(keys))
		s[j][j] = key.Sigma * key.Sigma
	}
	return s
}

// ends returns the least and the greatest value.
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

// impliedNoise returns φ and σ of z = xθ + ε for a column under the masks: for several biases
// the E θ² are multiplied, for several noises the variances are added, a bias after a noise
// multiplies its variance too, and rounding to a step h adds h²/12. Tiers, truncation and swaps
// are not part of the model. A mask that does not describe its effect is an error.
func impliedNoise(pl *pipeline.Plan, column string) (phi, sigma float64, err error) {
	sd := 0.0
	for _, c := range pl.Columns {
		if c.Name == column && c.SD == c.SD {
			sd = c.SD
		}
	}
	square, variance := 1.0, 0.0 // E θ², Var ε
	for _, m := range pl.Config.Masks {
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
		case transform.Aggregation, transform.RankExchange, transform.Shuffling, transform.Synthesis, transform.Relocation:
			return 0, 0, fmt.Errorf("the mask %s of %s is no noise, so phi and sigma do not follow from it; give phi and sigma of that key", m.Kind(), strconv.Quote(column))
		default:
			return 0, 0, fmt.Errorf("the mask %s does not say what it does to %s; give phi and sigma of that key", m.Kind(), strconv.Quote(column))
		}
	}
	return math.Sqrt(square - 1), math.Sqrt(variance), nil
}

// Identify runs the configured intruder on the release of a file job, and enters into the
// measures what the gate judges. The chain is that of the release.
func Identify(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, acc *assess.Accumulator, m *assess.Measures) (*attack.Result, error) {
	inverts := pl.Config.InvertsUnasked() && invertible(pl)
	if !pl.Config.Assess.AttacksRelease() && !inverts || acc == nil || acc.Records() == 0 {
		return nil, nil
	}
	r, _, err := onPairs(ctx, pl, chain, acc.Pairs())
	if err != nil {
		return nil, err
	}
	m.Identity = r.Identity()
	return r, nil
}
