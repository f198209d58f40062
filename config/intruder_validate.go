package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// validateIntruder validates assess.keys and assess.intruder. Which keys are numeric is known only
// when the data are opened, except for keys listed as categorical.
func (l *loader) validateIntruder(p *Pipeline) {
	const path = "assess.intruder"
	a := &p.Assess
	if !l.Known("assess") {
		return
	}
	l.validateKeys(p)
	a.uninverted = l.Given(path+".inversion") && a.Intruder != nil && !a.Intruder.Inversion
	if a.AttacksRelease() && (p.Stream() || p.Streaming()) {
		p.Warnings = append(p.Warnings,
			path+
				": what an intruder finds stands in the final report alone, and stops nothing but for the inversion: a stream releases before")
	}
	in := a.Intruder
	if in == nil || !l.Known(path) {
		return
	}
	l.Within(path, in.Check())
	l.validateCategorical(p)
	l.validateKeyedParts(p)
	if at := path + ".linkage.one_to_one"; in.Linkage != nil && in.Linkage.OneToOne &&
		(a.Sample < 0 || a.Sample > asked.OneToOne) && l.Sound(at, "assess.sample") {
		// Else a run would find out at its end.
		l.Wrong(at,
			"needs assess.sample of at most %d: the memory for the optimal assignment grows with the square of the number of records", asked.OneToOne)
	}
	if in.Bayes != nil {
		l.validateBayes(p, path+".bayes")
	}
	if in.Uniqueness != nil {
		l.validateUniqueness(p, path+".uniqueness")
	}
	if in.Population != nil {
		l.validatePopulation(p, path+".population")
	}
	if in.Utility != nil {
		l.validateRegressions(p, path+".utility.regressions")
		l.validateModels(p, path+".utility.models")
	}
	if in.Attribute != nil {
		l.validateAttribute(p, path+".attribute")
	}
	if at := path + ".inversion"; in.Inversion && l.Sound("masks", at) {
		l.validateInversion(p, at)
	}
}

// validateInversion judges whether the masks can be undone: each of them says what it does, and
// categories are those of keys, of sensitive columns or of what is randomised.
func (l *loader) validateInversion(p *Pipeline, path string) {
	if len(p.Masks) == 0 {
		l.Wrong(path, "needs masks: without any there is nothing to undo")
	}
	for i, m := range p.Masks {
		for _, name := range m.Params.Masks() {
			inferred := false // without being a key
			switch c, a := p.Columns.Named(name), transform.ActionOf(m.Params, name, 1); a := a.(type) {
			case transform.Recoding:
				inferred = c != nil && c.Role == microdata.Sensitive && a.From != nil
			case transform.Randomising:
				inferred = c != nil && c.Role != microdata.Identifier
			}
			switch transform.ActionOf(m.Params, name, 1).(type) {
			case nil:
				l.Wrong(path, "needs masks that say what they do to a value; masks[%d].%s does not", i, m.Kind())
				return
			case transform.Recoding, transform.Randomising, transform.Suppression:
				if !inferred && !slices.Contains(p.Assess.IntruderKeys(), name) && l.Sound("columns", "assess.keys") {
					l.Wrong(path,
						"infers categories of keys, of sensitive columns and of what masks randomise, but masks[%d].%s changes %q, which is none of them: give it the role key, or leave inversion out", i, m.Kind(), name)
					return
				}
			}
		}
	}
}

// validateKeys judges the columns that an intruder may know.
func (l *loader) validateKeys(p *Pipeline) {
	const path = "assess.keys"
	if !l.Given(path) || !l.Known(path) {
		return
	}
	switch n := len(p.Assess.Keys); {
	case n == 0:
		l.Wrong(path, "must name at least one column; remove the field where an intruder knows nothing")
	case n > asked.Keys:
		l.Wrong(path, "must name at most %d columns, got %d", asked.Keys, n)
	default:
		l.releasedOnce(p, path, p.Assess.Keys, "it never leaves, so there is nothing to link it to")
	}
}

// releasedOnce demands that every name of a list is a listed column that is released, and is
// there once. never says what it would mean for the list that a column is an identifier.
func (l *loader) releasedOnce(p *Pipeline, list string, names []string, never string) {
	for i, name := range names {
		path := fmt.Sprintf("%s[%d]", list, i)
		if !l.Sound(path) {
			continue
		}
		switch c := l.listed(p, path, name); {
		case c == nil:
		case c.Role == microdata.Identifier:
			l.Wrong(path, "must be a column that is released, got %q, an identifier: %s", name, never)
		case slices.Contains(names[:i], name):
			l.Wrong(path, "must not repeat a column, got %q again", name)
		}
	}
}

func (l *loader) validateCategorical(p *Pipeline) {
	in, keys := p.Assess.Intruder, p.Assess.IntruderKeys()
	for i, name := range in.Categorical {
		path := fmt.Sprintf("assess.intruder.categorical[%d]", i)
		if !l.Sound(path, "columns", "assess.keys") {
			continue
		}
		switch {
		case !slices.Contains(keys, name):
			l.Wrong(path, "must be one of %s, got %q%s", p.Assess.keysWords(), name, form.Instead(name, keys))
		case slices.Contains(in.Categorical[:i], name):
			l.Wrong(path, "must not repeat a column, got %q again", name)
		}
	}
}

// validateKeyedParts demands keys, of the kind that a part computes with.
func (l *loader) validateKeyedParts(p *Pipeline) {
	const path = "assess.intruder"
	a := &p.Assess
	in := a.Intruder
	if !l.Sound("columns", "assess.keys", path+".categorical") || l.Misspelt("assess", "keys") {
		return
	}
	parts := []struct {
		name    string
		given   bool
		numeric bool // computes with numeric keys alone
		hint    string
	}{
		{"linkage", in.Linkage != nil, in.Linkage != nil && in.Linkage.Distance != "gower",
			"; with distance: gower those are compared too"},
		{"bayes", in.Bayes != nil, true, ""},
		{"uniqueness", in.Uniqueness != nil, false, ""},
		{"population", in.Population != nil, false, ""},
		{"attribute", in.Attribute != nil, false, ""},
	}
	if len(a.IntruderKeys()) == 0 && !in.Named() && !a.uninverted && !l.HasStrange(path) {
		l.Wrong(path,
			"needs columns with role: key, or assess.keys, the columns that an intruder may know; or name a part that needs none: interval, utility, inversion")
	}
	for _, part := range parts {
		switch at := form.Join(path, part.name); {
		case !part.given || !l.Sound(at):
		case len(a.IntruderKeys()) == 0:
			l.Wrong(at, "needs columns with role: key, or assess.keys, the columns that an intruder may know")
		case part.numeric && !a.linked():
			l.Wrong(at, "needs a numeric key, and intruder.categorical lists all keys%s", part.hint)
		}
	}
}

// linked reports whether some key may be a numeric one.
func (a *Assess) linked() bool {
	return slices.ContainsFunc(a.IntruderKeys(), func(name string) bool {
		return a.Intruder == nil || !slices.Contains(a.Intruder.Categorical, name)
	})
}

func (l *loader) validateBayes(p *Pipeline, path string) {
	b := p.Assess.Intruder.Bayes
	ps := b.Check()
	if l.Given(path + ".population") {
		ps.Whole("population", b.Population, 1, 1<<50)
	}
	l.Within(path, ps)
	if at := path + ".jointly"; b.Jointly && l.Sound(at, "assess.sample", path+".population") {
		switch sample := p.Assess.Sample; {
		case sample < 0 || sample > asked.Jointly: // else a run would find out at its end
			l.Wrong(at,
				"needs assess.sample of at most %d: the memory for all targets and records grows with the square of their number",
				asked.Jointly)
		case b.Population > 0:
			l.Wrong(at, "must be left out with population, of which a target need not have a record")
		}
	}
	for _, word := range []struct {
		name   string
		values map[string]float64
		prior  *IntruderPrior
	}{{"phi", b.Phi, b.PhiPrior}, {"sigma", b.Sigma, b.SigmaPrior}} {
		at := form.Join(path, word.name)
		if b.Knowledge == KnowledgeD2 && l.Given(at) && l.Sound(at) {
			l.Wrong(at, "must be left out with knowledge: d2, whose intruder has only a prior of it; give %s_prior", word.name)
		}
		l.validateKnown(p, at, word.values)
		l.validatePrior(path, at+"_prior", b.Knowledge, word.prior)
	}
}

// validateKnown judges the standard deviations that an intruder knows, by key.
func (l *loader) validateKnown(p *Pipeline, path string, values map[string]float64) {
	a := &p.Assess
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := form.Join(path, name)
		if !l.Sound(at, "columns", "assess.keys") {
			continue
		}
		switch v := values[name]; {
		case !slices.Contains(a.IntruderKeys(), name):
			l.WrongName(at, "must be one of %s%s", a.keysWords(), form.Instead(name, a.IntruderKeys()))
		case slices.Contains(a.Intruder.Categorical, name):
			l.WrongName(at, "must be a numeric key, and intruder.categorical lists it")
		case v < 0:
			l.Wrong(at, "must be at least 0, got %v", v)
		}
	}
}

// validatePrior judges the prior at a path within the intruder's.
func (l *loader) validatePrior(path, at, knowledge string, prior *IntruderPrior) {
	if prior == nil || !l.Sound(at) {
		return
	}
	if knowledge != KnowledgeD2 && l.Sound(path+".knowledge") {
		l.Wrong(at, "needs knowledge: d2, got %s, whose intruder knows the value", knowledge)
	}
	l.Within(at, prior.Check())
}

func (l *loader) validateUniqueness(p *Pipeline, path string) {
	u := p.Assess.Intruder.Uniqueness
	l.Within(path, u.Check())
	for _, c := range []struct{ field, name string }{{"weight", u.Weight}, {"household", u.Household}} {
		if at := form.Join(path, c.field); l.Given(at) && l.Sound(at) {
			l.listed(p, at, c.name)
		}
	}
	l.validatePerson(p, path+".person", u.Person)
	list := path + ".sensitive"
	l.releasedOnce(p, list, u.Sensitive, "it never leaves, so that a respondent's is not learnt from the release")
	for i, name := range u.Sensitive {
		at := fmt.Sprintf("%s[%d]", list, i)
		if !l.Sound(at) {
			continue
		}
		if slices.Contains(p.Assess.IntruderKeys(), name) {
			l.Wrong(at, "must not be one of %s, got %q: records with equal keys all have the same value", p.Assess.keysWords(),
				name)
		}
	}
}

func (l *loader) validatePerson(p *Pipeline, path string, names []string) {
	if l.Given(path) && l.Sound(path) && len(names) == 0 {
		l.Wrong(path, "must name at least one column; remove the field where no person has several records")
	}
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		if l.Sound(at) && l.listed(p, at, name) != nil && slices.Contains(names[:i], name) {
			l.Wrong(at, "must not repeat a column, got %q again", name)
		}
	}
}

const neverLeaves = "it never leaves, so that no user of the data can regress on it"

func (l *loader) validateRegressions(p *Pipeline, list string) {
	for i, r := range p.Assess.Intruder.Utility.Regressions {
		path := fmt.Sprintf("%s[%d]", list, i)
		l.Within(path, r.Check())
		if at := path + ".response"; l.Given(at) && l.Sound(at) {
			if c := l.listed(p, at, r.Response); c != nil && c.Role == microdata.Identifier {
				l.Wrong(at, "must be a column that is released, got %q, an identifier: %s", r.Response, neverLeaves)
			}
		}
		predictors := path + ".predictors"
		if l.Given(predictors) && l.Sound(predictors) && len(r.Predictors) == 0 {
			l.Wrong(predictors, "must name at least one column")
		}
		l.releasedOnce(p, predictors, r.Predictors, neverLeaves)
		for k, name := range r.Predictors {
			if at := fmt.Sprintf("%s[%d]", predictors, k); name == r.Response && l.Sound(at) {
				l.Wrong(at, "must not be the response, got %q", name)
			}
		}
	}
}

// validateModels reads the models, whose columns must be released.
func (l *loader) validateModels(p *Pipeline, list string) {
	for i, text := range p.Assess.Intruder.Utility.Models {
		path := fmt.Sprintf("%s[%d]", list, i)
		if !l.Sound(path) {
			continue
		}
		m, err := asked.ParseLinearModel(text)
		if err != nil {
			l.Wrong(path, "must be a regression such as log(wage) ~ education + experience, got %v", err)
			continue
		}
		for _, name := range m.Columns() {
			if c := l.listed(p, path, name); c != nil && c.Role == microdata.Identifier {
				l.Wrong(path, "must have columns that are released, got %q, an identifier: %s", name, neverLeaves)
			}
		}
	}
}

// validateAttribute demands columns of which records are set aside, and of each a key beside it.
func (l *loader) validateAttribute(p *Pipeline, path string) {
	sound := l.Sound("masks", path)
	l.Within(path, p.Assess.Intruder.Attribute.Check())
	if !sound {
		return
	}
	columns := transform.HoldOut(p.Masks)
	if len(columns) == 0 {
		l.Wrong(path,
			"needs a synthesise mask with held_out, such as held_out: 0.1: without records that are set aside, what the release discloses about its own records cannot be distinguished from what it discloses about everybody")
	}
	keys := p.Assess.IntruderKeys()
	for _, name := range columns {
		if len(keys) == 1 && keys[0] == name && l.Sound("assess.keys") {
			l.Wrong(path, "needs a key other than %q, from which its values are guessed", name)
		}
	}
}

// validateExactRule demands that a rule about values that are stated exactly has its measure, and has
// it before anything is released.
func (l *loader) validateExactRule(p *Pipeline, path string) {
	if p.Assess.uninverted && l.Sound(path) {
		l.Wrong(form.Join(path, "max_exact"),
			"needs the intruder who knows the masks: remove assess.intruder.inversion: false")
	}
}

// validateIdentityRule demands that a rule about the respondents has its measure, and has it
// before anything is released.
func (l *loader) validateIdentityRule(p *Pipeline, path string, r assess.Rule) {
	if (p.Stream() || p.Streaming()) && l.Sound("source", "sink", path) {
		l.Wrong(path,
			"must not be about the respondents on a stream: this measure needs all records, and a stream releases records before all have arrived; use a file job, such as from topics with until: latest into a file")
		return
	}
	if l.validatePlaceRule(p, path, r) {
		return
	}
	a := &p.Assess
	if !l.Known("assess") || !l.Sound("assess.keys") || l.Misspelt("assess", "keys") || l.Misspelt("assess", "intruder") {
		return
	}
	in := a.Intruder
	if in == nil {
		in = &Intruder{}
	}
	if at := form.Join(path, "min_overlap"); r.MinOverlap != nil && in.Utility != nil &&
		len(in.Utility.Regressions)+len(in.Utility.Models) == 0 &&
		l.Sound(at, "assess.intruder.utility.regressions", "assess.intruder.utility.models") {
		l.Wrong(at,
			"needs assess.intruder.utility.regressions or models, whose confidence intervals are compared: name regressions that data users would fit")
	}
	for _, limit := range assess.RespondentMeasures {
		at := form.Join(path, limit.Name)
		if _, given := limit.Limit(r); given && limit.Part == "population" && in.Population != nil &&
			in.Population.Model == asked.Weighted.String() && l.Sound(at, "assess.intruder.population.model") {
			l.Wrong(at,
				"must not be judged by assess.intruder.population.model: weighted, which is told by the weights which cells are empty and is for comparison with other tools; use pml")
		}
		if _, given := limit.Limit(r); !given || in.IsSet(limit.Part) || limit.Part == "inversion" && p.Inverts() ||
			!l.Sound(at) || l.Misspelt("assess.intruder", limit.Part) || !l.Known("assess.intruder."+limit.Part) {
			continue
		}
		add := fmt.Sprintf("add assess.intruder.%s: {}", limit.Part)
		if limit.Part == "inversion" {
			add = "add assess.intruder.inversion: true"
		}
		if limit.Part == "population" {
			add = "add assess.intruder.population: {weight: COLUMN}, or {size: N} with the number of persons in the population"
		}
		if len(a.IntruderKeys()) == 0 && limit.Part != "inversion" && limit.Part != "utility" {
			add = "give the role key to the columns that an intruder may know, or name them in assess.keys"
			if !limit.ByDefault || in.Named() {
				add += fmt.Sprintf(", and assess.intruder.%s: {}", limit.Part)
			}
		}
		switch {
		case !limit.ByDefault && !in.Named():
			who := "the Bayesian intruder, who"
			switch limit.Part {
			case "inversion":
				who = "the intruder who knows the masks, who"
			case "utility":
				who = "the comparison of what users compute, which"
			case "population":
				who = "the estimate of population uniques, which"
			case "attribute":
				who = "the guess of synthetic values, which"
			}
			l.Wrong(at, "needs %s is not asked for by default: %s", who, add)
		case in.Named():
			l.Wrong(at, "needs %s, which is not among the parts of assess.intruder that are named: %s", limit.Part, add)
		case !a.AttacksRelease():
			l.Wrong(at, "needs %s, and nothing is asked of an intruder: %s", limit.Part, add)
		}
	}
}
