package tabulation

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
)

// EarlierRelease names an earlier release of tables of the same or of similar records.
type EarlierRelease struct {
	Report string        `yaml:"report" required:"true" doc:"report.json of the earlier release. It names the file with all cells of that release (report.cells), which must lie where it was written"`
	Source config.Source `yaml:"source" doc:"the records of the earlier release, if they are others than today's; needs identity or holding, by which records of the same contributor are known"`
}

// OtherRecords reports whether some earlier release was made of other records.
func (t *Config) OtherRecords() bool {
	for i := range t.Releases {
		if t.Releases[i].Source.Config != nil {
			return true
		}
	}
	return false
}

// MostReleases is the greatest number of earlier releases.
const MostReleases = 16

// validateReleases demands that the audit can compute what follows from earlier releases and these tables together.
func (l *loader) validateReleases(t *Config) {
	if len(t.Releases) == 0 {
		return
	}
	if len(t.Releases) > MostReleases {
		l.Wrong("releases", "must be at most %d, got %d", MostReleases, len(t.Releases))
	}
	if t.Window != nil {
		l.Wrong("releases",
			"must not stand beside window: a record is in one window only, and windows are audited one by one")
	}
	if t.Map != nil {
		l.Wrong("releases", "must not stand beside map, which compares methods for tables that stand alone")
	}
	for i := range t.Tables {
		switch p := &t.Tables[i].Protect; {
		case !l.Sound(fmt.Sprintf("tables[%d].protect", i)) || p.CellKey != nil:
		case p.Suppress == nil:
			l.Wrong(fmt.Sprintf("tables[%d].protect", i),
				"must be suppress (or cell_key, after earlier releases by the same cell_key) beside releases, got %s: what follows from it and earlier releases together is not known", p.Name())
		case p.Suppress.Effort == "optimal":
			l.Wrong(fmt.Sprintf("tables[%d].protect.suppress.effort", i), "must be usual beside releases, got optimal")
		}
	}
	for i := range t.Releases {
		r, at := &t.Releases[i], fmt.Sprintf("releases[%d]", i)
		for k := range t.Releases[:i] {
			if r.Report != "" && config.SameFile(r.Report, t.Releases[k].Report) {
				l.Wrong(at+".report", "must be another report than that of releases[%d]", k)
			}
		}
		if r.Source.Config == nil {
			continue
		}
		from := form.Join(at+".source", r.Source.Kind)
		l.Within(from, r.Source.Config.Check())
		switch {
		case r.Source.Kind == "kafka":
			l.Wrong(from, "must be files")
		case t.Pipeline != "":
			l.Wrong(at+".source",
				"must be left out beside pipeline: only releases of the same records are audited together with what masks release")
		case len(t.Identity) == 0 && t.Holding == "" && !l.Misspelt("", "identity") && !l.Misspelt("", "holding"):
			l.WrongAt("", "identity",
				"or holding is required by %s.source: the columns by which a contributor is known who is in both", at)
		}
	}
}
