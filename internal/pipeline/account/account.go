package account

import (
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Reporter holds what a report says about a run in addition to its measures.
type Reporter struct {
	Config  *config.Pipeline
	Version string // of the program
	KeyID   string
	Started time.Time
	Plan    *pipeline.Plan
	Chain   *transform.Chain
	Interim bool    // more records may come: a snapshot, or the report of a stream
	Total   bool    // of all that a stream has released, and as confidential as the report of a file job
	Effect  *Effect // what the masks did to the records that are reported; nil: to all that Chain has masked
}

// ReporterOf reports on a release.
func ReporterOf(r *pipeline.Release, version string, started time.Time) Reporter {
	return Reporter{Config: r.Plan.Config, Version: version, KeyID: r.Key.ID(), Started: started, Plan: r.Plan,
		Chain: r.Chain}
}

// Report is the account of the records so far.
func (r *Reporter) Report(records report.Records, measures *assess.Measures) *report.Report {
	effect := r.effect()
	rep := &report.Report{
		Name: r.Config.Name, Version: r.Version, Started: r.Started, Finished: time.Now(),
		ConfigSHA256: r.Config.SHA256(), KeyID: r.KeyID,
		Records: records, IdentifiedByPlace: effect.Unidentified,
	}
	rep.Places = r.places(measures)
	measures.Privacy, measures.Together = r.Plan.Privacy(), r.Plan.PrivacyTogether()
	rep.Privacy = measures.Privacy
	rep.Ledger = r.ledger(measures)
	rep.Gate = assess.Judge(r.rules(), measures)
	r.remark(measures)
	rep.SetMeasures(measures)
	for _, o := range r.Config.Loosened {
		rep.Loosened = append(rep.Loosened, report.Loosened(o))
	}
	for i, spec := range r.Config.Masks {
		mask := report.MaskOf(spec, effect.changed(i), r.Plan.SD)
		mask.Calibration, mask.Relocated = r.calibration(i), r.relocated(i)
		rep.Masks = append(rep.Masks, mask)
	}
	rep.Warnings = r.warnings(measures, effect)
	rep.Codes = r.codes()
	return rep
}

// Attacked enters into a report what the intruder found, nil for nothing, and warns where he took the records of a
// respondent for those of several, and where he found cells that masks have hidden.
func Attacked(rep *report.Report, found *attack.Result) {
	if rep.Attack = found; found == nil {
		return
	}
	if found.Apart {
		rep.Warnings = append(rep.Warnings, pipeline.RecordsApart)
	}
	rep.Warnings = append(rep.Warnings, found.ToldWords()...)
}

// codes returns the numeric columns whose values are codes of categories: the keys that the
// configuration lists as categorical, and unmasked keys of whole numbers without a unit.
func (r *Reporter) codes() (list []string) {
	schema, in := r.Plan.Source.Schema(), r.Config.Assess.Intruder
	for _, c := range r.Config.Columns {
		i := schema.Index(c.Name)
		if i < 0 || slices.Contains(r.Plan.Masked, c.Name) {
			continue
		}
		listed := in != nil && slices.Contains(in.Categorical, c.Name)
		if listed || c.Role == microdata.Key && c.Unit == "" && arrow.IsInteger(schema.Fields[i].Type.ID()) {
			list = append(list, c.Name)
		}
	}
	return list
}

// Judged is the Report of a release. Unless it is interim, the gate also judges the records in quarantine. If the gate
// refuses, the report gives the reason.
func (r *Reporter) Judged(records report.Records, measures *assess.Measures) *report.Report {
	if !r.Interim {
		limit, _ := maxQuarantined(r.Config.Gate)
		records.MaxQuarantined = (*assess.Float)(&limit)
	}
	rep := r.Report(records, measures)
	if !r.Interim {
		judgeLosses(&rep.Gate, r.Config.Gate, records)
		judgeUnguarded(&rep.Gate, r.Config.Gate, r.Plan.Unguarded())
	}
	if !rep.Gate.Passed {
		rep.Withheld = WithheldBecause(rep.Gate)
	}
	return rep
}

// rules returns the rules that are judged. Measures about respondents are taken once, at the
// end of a file job.
func (r *Reporter) rules() []assess.Rule {
	if !r.Interim {
		return r.Config.Gate.Rules
	}
	return slices.DeleteFunc(slices.Clone(r.Config.Gate.Rules), assess.Rule.Identity)
}

// WithheldBecause names the rules that failed.
func WithheldBecause(v assess.Verdict) string {
	var broken []string
	for _, rule := range v.Rules {
		if !rule.Passed {
			broken = append(broken, rule.Rule)
		}
	}
	return "does not hold: " + strings.Join(broken, "; ")
}
