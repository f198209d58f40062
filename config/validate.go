package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// validate checks what must hold beyond the form of single fields. Parts in
// which decoding found something wrong are not judged again.
func (l *loader) validate(p *Pipeline) {
	if !l.Known("") {
		return
	}
	if l.Given("version") && l.Sound("version") && p.Version != 1 {
		l.Wrong("version", "must be 1, got %d", p.Version)
	}
	l.Within("key", p.Key.Check())
	l.validateColumns(p)
	l.validateMasks(p)
	l.validateUnmasked(p)
	l.validateMap(p)
	l.validateSource(p)
	l.validateHousehold(p)
	l.validateStream(p)
	l.validatePlace(p)
	l.validateTopics(p)
	l.validateAssess(p)
	l.validatePlaces(p)
	l.validateIntruder(p)
	l.validateGate(p)
	l.validatePrivacy(p)
	l.validateLedger(p)
	l.validateReport(p)
	l.validateCopies(p)
	l.validateLineage(p.Lineage)
	if p.Lineage != nil && p.Streaming() && l.Sound("lineage") {
		l.Wrong("lineage", "is of file jobs: a stream has no events (--listen serves its metrics)")
	}
	l.validatePaths(p)
	l.validateExtension(p.Sink)
	if len(p.Masks) == 0 && l.Sound("masks") {
		p.Warnings = append(p.Warnings, "no masks are configured: what is released is what was read, without the identifiers")
	}
	if columns := transform.NeedsSD(p.Masks); len(p.Identity) > 0 && p.Profile == "" && len(columns) > 0 {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("the noise of %s is a percentage of a standard deviation that changes with the data: "+
				"name a profile, or give sd in the column's unit, so that the same value of the same respondent is masked alike in every release", strings.Join(columns, ", ")))
	}
}

func (l *loader) validateColumns(p *Pipeline) {
	if l.Given("columns") && l.Sound("columns") {
		released := slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Role != microdata.Identifier })
		if !released {
			l.Wrong("columns", "must list at least one column that is released, got %s", count(len(p.Columns), "identifier"))
		}
	}
	for _, c := range p.Columns {
		l.Within(form.Join("columns", c.Name)+".missing", c.Missing.Check())
		if c.Decimals != nil {
			var ps check.Problems
			ps.Whole("decimals", *c.Decimals, 0, 15)
			l.Within(form.Join("columns", c.Name), ps)
		}
	}
	for i, name := range p.Identity {
		path := fmt.Sprintf("identity[%d]", i)
		if l.listed(p, path, name) == nil {
			continue
		}
		if slices.Contains(p.Identity[:i], name) {
			l.Wrong(path, "must not repeat a column, got %q again", name)
		}
	}
	if p.Weight != "" {
		l.validateWeight(p)
	}
	if l.Given("identity") && l.Sound("identity") && len(p.Identity) == 0 {
		l.Wrong("identity", "must name at least one column; remove the field where a record's place is its identity")
	}
}

// listed returns the column of that name; where there is none it reports so and
// returns nil. Where the columns themselves are wrong nothing is reported.
func (l *loader) listed(p *Pipeline, path, name string) *Column {
	if c := p.Columns.Named(name); c != nil {
		return c
	}
	if l.NamesRead("columns") && l.Sound(path) {
		l.Wrong(path, "must be one of the listed columns, got %q%s", name, form.Instead(name, p.Columns.Names()))
	}
	return nil
}

func (l *loader) validateMasks(p *Pipeline) {
	l.validateMaskList(p, "masks", p.Masks)
	var ps check.Problems
	ps.Whole("records", p.Window.Records, 2, 1<<24)
	l.Within("window", ps)
}

// validateMaskList judges the list of masks at path: the pipeline's own, or one
// that a map compares with it.
func (l *loader) validateMaskList(p *Pipeline, list string, masks []transform.Spec) {
	complete := true // every entry has its parameters
	for i, spec := range masks {
		if spec.Params == nil {
			complete = false
			continue
		}
		path := fmt.Sprintf("%s[%d].%s", list, i, spec.Kind())
		if inner, outer := path+".name", fmt.Sprintf("%s[%d].name", list, i); l.Given(inner) && l.Given(outer) {
			l.Wrong(inner, "must be given only once, beside the mask or within it; remove one of the two")
		}
		l.readTable(path, spec.Params)
		l.Within(path, spec.Params.Check())
		l.maskColumns(p, path, transform.ColumnsField(spec.Params), spec.Params.Masks(), "masked")
		l.madeCodes(p, path, spec.Params)
		if len(transform.NeedsCorrelations(spec.Params)) > 0 && len(p.Identity) > 0 {
			l.Wrong(path,
				"must not have correlated: true together with identity: the noise of a value depends on the other values, so that a value that a respondent keeps "+
					"would be released with new noise whenever another value changes, and the noise could be averaged out; remove one of the two")
		}
		l.validateCalibration(p, path, spec.Params)
		l.validateDisplaced(p, path, spec.Params)
		for _, c := range transform.ReadColumnsOf(spec.Params) {
			at := path
			if c.Field != "" {
				at = form.Join(path, c.Field)
			}
			if transform.ReadsHidden(spec.Params) {
				l.listed(p, at, c.Name)
			} else {
				l.maskColumn(p, at, c.Name, c.As)
			}
		}
	}
	if complete {
		l.Within(list, l.nameProblems(list, masks, transform.CheckSpecs(masks)))
	}
}

// nameProblems moves problems of a mask's name to where the name stands, beside
// the kind or within it.
func (l *loader) nameProblems(list string, masks []transform.Spec, ps check.Problems) check.Problems {
	for k := range ps {
		for i, m := range masks {
			within := fmt.Sprintf("[%d].%s.name", i, m.Kind())
			if ps[k].Path == fmt.Sprintf("[%d].name", i) && l.Given(list+within) {
				ps[k].Path = within
			}
		}
	}
	return ps
}

func (l *loader) maskColumns(p *Pipeline, path, field string, names []string, as string) {
	for i, name := range names {
		l.maskColumn(p, fmt.Sprintf("%s.%s[%d]", path, field, i), name, as)
	}
}

// maskColumn demands that a column which a mask names is listed and leaves.
func (l *loader) maskColumn(p *Pipeline, path, name, as string) {
	if name == "" {
		return // the mask's own check says so
	}
	if c := l.listed(p, path, name); c != nil && c.Role == microdata.Identifier {
		l.Wrong(path, "must be a column that is released, got %q, an identifier: it never leaves and cannot be %s", name, as)
	}
}

// validateSource judges the connectors' own parameters, and what a source that
// can be read only once makes impossible.
func (l *loader) validateSource(p *Pipeline) {
	if p.Source.Config != nil {
		l.Within("source."+p.Source.Kind, p.Source.Config.Check())
	}
	if p.Sink.Config != nil {
		l.Within("sink."+p.Sink.Kind, p.Sink.Config.Check())
	}
	if p.Sink.Shuffled() && (p.kafkaSink() != nil || p.kafkaSource() != nil) && l.Sound("sink.order") {
		l.Wrong("sink.order",
			"must be source where a topic is read or written: a stream's records cannot wait for those that come last")
	}
	switch {
	case p.Source.Config == nil:
	case pathOf(p.Source.Config) == "-":
		l.validateOnce(p, "standard input can be read only once", true)
	case p.kafkaSource() != nil:
		l.validateOnce(p, "a stream's records are masked as they come", p.Stream() || p.Streaming())
	}
}

// validateOnce refuses what must be learnt from the data before they are masked;
// once says why it cannot be, and whether a swap over the whole dataset is
// beyond reach too. It holds for what a map compares as well, since any of it
// may become the pipeline's own.
func (l *loader) validateOnce(p *Pipeline, once string, windowOnly bool) {
	l.validateMasksOnce(p, "masks", p.Masks, once, windowOnly)
	if p.Map == nil {
		return
	}
	l.validateAxesOnce(p, "map.vary", p.Map.Vary, once)
	for i, s := range p.Map.Strategies {
		path := fmt.Sprintf("map.strategies[%d]", i)
		l.validateMasksOnce(p, path+".masks", s.Masks, once, windowOnly)
		l.validateAxesOnce(p, path+".vary", s.Vary, once)
	}
}

func (l *loader) validateMasksOnce(p *Pipeline, list string, masks []transform.Spec, once string, windowOnly bool) {
	for i, spec := range masks {
		path := fmt.Sprintf("%s[%d].%s", list, i, spec.Kind())
		if spec.Params == nil {
			continue
		}
		switch scope := transform.ScopeOf(spec.Params); {
		case !windowOnly:
		case scope == transform.ScopeDataset:
			if !transform.InParts(spec.Params) {
				l.Wrong(path, "must not be used here: %s, and the mask looks at all records before it masks any; use %s", once,
					transform.InsteadOf(spec.Params))
			} else {
				l.Wrong(path+".scope", "must be window: %s, and dataset takes two passes", once)
			}
		case scope == transform.ScopeUndeclared:
			l.Wrong(path, "must not be used here: %s, and the mask does not say that one pass is enough", once)
		}
		if field := transform.NeedsFrequencies(spec.Params); field != "" {
			l.Wrong(form.Join(path, field),
				"must not be used here without frequencies: %s, and categories cannot be counted first; give frequencies", once)
		}
		if transform.NeedsPeople(spec.Params) != nil {
			l.Wrong(form.Join(path, "records"),
				"must not be used here: %s, and it takes the places of all records first; use %s", once,
				transform.InsteadOf(spec.Params))
		}
		if !transform.Computes(spec.Params) {
			continue
		}
		if field := transform.NeedsValues(spec.Params); field != "" {
			l.Wrong(form.Join(path, field),
				"must not be used here: %s, and it takes all values first; give a bound in the column's unit, and replace: bound or label", once)
		}
		if field, columns := transform.RelativeTo(spec.Params); len(columns) > 0 && p.Profile == "" {
			l.Wrong(form.Join(path, field),
				"must be a number in the column's unit: %s, and the standard deviation that a percentage refers to is not known then; or name a profile", once)
		}
		for k, name := range spec.Params.Masks() {
			if c := p.Columns.Named(name); c != nil && c.Decimals == nil && p.Profile == "" &&
				l.Sound(form.Join("columns", name)) {
				l.Wrong(fmt.Sprintf("%s.columns[%d]", path, k),
					"must have decimals: %s, so they cannot be read off the data first; give columns.%s.decimals, or name a profile",
					once, name)
			}
		}
	}
}

func (l *loader) validateAssess(p *Pipeline) {
	var ps check.Problems
	a := &p.Assess
	if l.Given("assess.every.records") {
		ps.Whole("every.records", a.Every.Records, 1, 1<<50)
	}
	ps.Whole("replicates", a.Replicates, 0, 1_000_000)
	if a.Replicates == 1 {
		ps.Addf("replicates", "must be 0 or at least 2, got 1: one replicate does not estimate an expectation")
	}
	for i, target := range a.Targets {
		path := fmt.Sprintf("targets[%d]", i)
		switch err := assess.CheckTarget(target); {
		case target == assess.TargetTypical:
			ps.Addf(path, "must be min, max or a percentile; typical is always measured and not listed")
		case err != nil:
			ps.Addf(path, "%v", err)
		case slices.Contains(a.Targets[:i], target):
			ps.Addf(path, "must not repeat a target, got %q again", target)
		}
	}
	if l.Given("assess.emit") && l.Sound("assess") && a.Every == (Every{}) {
		ps.Addf("emit", "needs every.records or every.interval, which say when a snapshot is emitted")
	}
	l.Within("assess", ps)
}

func (l *loader) validateGate(p *Pipeline) {
	l.validateOnFail(p)
	p.Gate.given = l.Given("gate")
	if p.Gate.AllowUnchanged != nil {
		var ps check.Problems
		ps.Between("allow_unchanged", *p.Gate.AllowUnchanged, 0, 1)
		l.Within("gate", ps)
	}
	if p.Gate.MaxQuarantined != nil {
		var ps check.Problems
		ps.Between("max_quarantined", *p.Gate.MaxQuarantined, 0, 1)
		if p.Streaming() {
			ps.Addf("max_quarantined",
				"must be left out of a stream, because its share of quarantined records is known only at its end; watch sdlfilter_records_total{result=\"quarantined\"}")
		}
		l.Within("gate", ps)
	}
	if p.Gate.MaxLost != 0 {
		var ps check.Problems
		switch {
		case p.Gate.MaxLost < 0:
			ps.Addf("max_lost", "must be at least 0, got %d", p.Gate.MaxLost)
		case !p.Streaming():
			ps.Addf("max_lost", "must be left out of a file job, which reads all of its source or fails")
		}
		l.Within("gate", ps)
	}
	if p.Assess.Replicates == 0 && l.Known("assess") && l.Sound("assess.replicates") &&
		slices.ContainsFunc(p.Gate.Rules, func(r assess.Rule) bool { return !r.Identity() && !r.LimitsPrivacy() }) {
		l.Wrong("assess.replicates",
			"must be at least 2 where the gate has rules about columns, got 0: they judge expectations over replicates")
	}
	masked := map[string]bool{}
	for _, spec := range p.Masks {
		if spec.Params != nil {
			for _, name := range spec.Params.Masks() {
				masked[name] = true
			}
		}
	}
	for i, rule := range p.Gate.Rules {
		path := fmt.Sprintf("gate.rules[%d]", i)
		problems := rule.Check()
		if l.HasStrange(path) { // it may be the misspelt name of a measure that takes no column
			problems = slices.DeleteFunc(problems, func(p check.Problem) bool { return p.Path == "column" })
		}
		l.Within(path, problems)
		if rule.Identity() {
			l.validateIdentityRule(p, path, rule)
			continue // Check has seen to it that it names nothing else
		}
		if rule.MaxExact != nil {
			l.validateExactRule(p, path)
		}
		if rule.Column != "" {
			c := l.listed(p, path+".column", rule.Column)
			switch {
			case c == nil:
			case c.Role == microdata.Identifier:
				l.Wrong(path+".column",
					"must be a column that is released, got %q, an identifier: it never leaves, so there is nothing to judge",
					rule.Column)
			case c.Role != microdata.Sensitive && c.Role != "" && !masked[rule.Column] && l.Sound("masks"):
				l.Wrong(path+".column", "must be a column that is sensitive or masked, got %q, whose role is %s", rule.Column,
					c.Role)
			}
		}
		if t := rule.Target; t != "" && t != assess.TargetTypical && !slices.Contains(p.Assess.Targets, t) &&
			l.Known("assess") && l.Sound("assess.targets", path+".target") {
			words := append(slices.Clone(p.Assess.Targets), assess.TargetTypical)
			l.Wrong(path+".target", "must be typical or one of assess.targets, got %q%s", t, form.Instead(t, words))
		}
	}
}

// publishable are what publish can name: the parameters of the masks, without
// the columns that they concern, and the efficiency, which with the released SD
// gives λ away.
func publishable() []string {
	words := []string{"efficiency"}
	for _, m := range dialect().Of(specType).Members {
		for _, parameter := range m.Form.Members {
			if w := parameter.Name; w != "name" && w != "columns" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}

func (l *loader) validateReport(p *Pipeline) {
	var ps check.Problems
	words := publishable()
	for i, word := range p.Report.Publish {
		path := fmt.Sprintf("publish[%d]", i)
		if ps.OneOf(path, word, words...); slices.Contains(p.Report.Publish[:i], word) {
			ps.Addf(path, "must not repeat a parameter, got %q again", word)
		}
	}
	if l.Given("report.publish") && !l.Given("report.json") && !l.Given("report.html") && l.Sound("report") {
		ps.Addf("publish", "needs json or html, beside which the public report appears")
	}
	l.Within("report", ps)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
