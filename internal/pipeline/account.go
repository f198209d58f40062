package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/transform"
)

// reporter knows what a report says of a run beside its measures.
type reporter struct {
	config  *config.Pipeline
	version string // of the program
	keyID   string
	started time.Time
	plan    *plan
	chain   *transform.Chain
	interim bool // a snapshot
}

// report is the account of the records so far.
func (r *reporter) report(records report.Records, measures *assess.Measures) *report.Report {
	rep := &report.Report{
		Name: r.config.Name, Version: r.version, Started: r.started, Finished: time.Now(),
		ConfigSHA256: r.config.SHA256(), KeyID: r.keyID,
		Records: records, IdentifiedByPlace: r.chain.Unidentified(),
		Gate: assess.Judge(r.rules(), measures),
	}
	rep.SetMeasures(measures)
	for _, o := range r.config.Loosened {
		rep.Loosened = append(rep.Loosened, report.Loosened(o))
	}
	touched := r.chain.Touched()
	for i, spec := range r.config.Masks {
		rep.Masks = append(rep.Masks, report.MaskOf(spec, touched[i].Records, r.plan.sd))
	}
	rep.Warnings = r.warnings(measures, touched)
	return rep
}

// rules are those that are judged. Whether respondents can be found is measured
// once, at the end of a file job.
func (r *reporter) rules() []assess.Rule {
	if !r.interim {
		return r.config.Gate.Rules
	}
	return slices.DeleteFunc(slices.Clone(r.config.Gate.Rules), assess.Rule.Identity)
}

// newReport is the report of a file job, or with interim a snapshot before its end.
func (r *run) newReport(records report.Records, measures *assess.Measures, interim bool) *report.Report {
	who := reporter{r.config, r.options.Version, r.key.ID(), r.started, r.plan, r.chain, interim}
	rep := who.report(records, measures)
	if !interim {
		judgeLosses(&rep.Gate, r.config.Gate, records)
	}
	if !rep.Gate.Passed {
		rep.Withheld = withheldBecause(rep.Gate)
	}
	return rep
}

// sd is the standard deviation that a percentage of the column refers to.
func (pl *plan) sd(column string) float64 {
	for _, c := range pl.columns {
		if c.Name == column {
			return c.SD
		}
	}
	return nan
}

// withheldBecause names the rules that do not hold.
func withheldBecause(v assess.Verdict) string {
	var broken []string
	for _, rule := range v.Rules {
		if !rule.Passed {
			broken = append(broken, rule.Rule)
		}
	}
	return "does not hold: " + strings.Join(broken, "; ")
}
