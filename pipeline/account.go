package pipeline

import (
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// newReport is the account of the run so far: measures, masks, verdict.
func (r *run) newReport(measures *assess.Measures) *report.Report {
	p := r.config
	rep := &report.Report{
		Name: p.Name, Version: r.options.Version, Started: r.started, Finished: time.Now(),
		ConfigSHA256: p.SHA256(), KeyID: r.key.ID(),
		Records: report.Records{Read: r.read, Released: r.read - r.quarantine.count, Quarantined: r.quarantine.count},
		Gate:    assess.Judge(p.Gate.Rules, measures),
	}
	rep.SetMeasures(measures)
	touched := r.chain.Touched()
	for i, spec := range p.Masks {
		rep.Masks = append(rep.Masks, report.MaskOf(spec, touched[i].Records, r.plan.sd))
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
