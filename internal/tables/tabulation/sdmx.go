package tabulation

import (
	"fmt"
	"regexp"
	"slices"
)

// SDMX says of which structure the public tables are, where they are written as SDMX-CSV.
type SDMX struct {
	Structure  string `yaml:"structure" required:"true" doc:"the dataflow whose dimensions are the variables, as AGENCY:ID(VERSION), for example ESTAT:DF_TURNOVER(1.0)"`
	TimePeriod string `yaml:"time_period" doc:"the period of all observations, such as 2026 or 2026-Q1, written to a column TIME_PERIOD; by default there is no such column"`
	Secondary  string `yaml:"secondary" default:"C" enum:"C,D" doc:"the CONF_STATUS of cells that are held back to protect others: C (default), as of unsafe cells, or D (secondary confidentiality), for tables of values. D says of every cell with C that it breaks a rule, and of every cell with D that it breaks none; what contributors infer from this is not audited"`
	Freq       string `yaml:"freq" doc:"the frequency code of all observations, such as A or Q, written to a column FREQ; by default there is no such column"`
}

var (
	sdmxStructure = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*:[A-Za-z0-9_@$-]+\([0-9]+(\.[0-9]+)*\+?\)$`)
	sdmxName      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	sdmxCode      = regexp.MustCompile(`^[A-Za-z0-9_@$-]+$`)
	sdmxPeriod    = regexp.MustCompile(`^[0-9]{4}(-[A-Z0-9][0-9]*(-[0-9]{2})?)?$`)
)

// sdmxColumns are those that variables must not be named like.
var sdmxColumns = []string{"STRUCTURE", "STRUCTURE_ID", "ACTION", "TABLE", "FREQ", "TIME_PERIOD", "OBS_VALUE",
	"OBS_STATUS", "CONF_STATUS"}

// validateSDMX checks what SDMX asks of names: those of its dimensions are its variables.
func (l *loader) validateSDMX(t *Config) {
	s := t.SDMX
	if s == nil {
		return
	}
	if t.Sink.Config != nil && t.Sink.Kind != "csv" {
		l.Wrong("sdmx", "must be left out with sink %s: SDMX-CSV is for csv", t.Sink.Kind)
	}
	for _, f := range []struct {
		name, value string
		form        *regexp.Regexp
		words       string
	}{
		{"structure", s.Structure, sdmxStructure, "AGENCY:ID(VERSION), as ESTAT:DF_TURNOVER(1.0)"},
		{"time_period", s.TimePeriod, sdmxPeriod, "a period, as 2026, 2026-Q1 or 2026-01"},
		{"freq", s.Freq, sdmxCode, "a code of letters and digits, as A"},
	} {
		if l.Given("sdmx."+f.name) && l.Sound("sdmx."+f.name) && !f.form.MatchString(f.value) {
			l.Wrong("sdmx."+f.name, "must be %s, got %q", f.words, f.value)
		}
	}
	if s.Secondary == "D" {
		l.validateSecondary(t)
	}
	seen := map[string]bool{}
	for i := range t.Tables {
		for k, v := range t.Tables[i].Rows {
			at := fmt.Sprintf("tables[%d].rows[%d]", i, k)
			switch {
			case seen[v] || v == "" || !l.Sound(at):
			case !sdmxName.MatchString(v):
				l.Wrong(at,
					"must be a name that SDMX can have for a dimension, letters, digits, _ and -, got %q; give the variable another one (hierarchies, column)", v)
			case slices.Contains(sdmxColumns, v):
				l.Wrong(at, "must not be %q, which is a column of SDMX-CSV; give the variable another name (hierarchies, column)",
					v)
			}
			seen[v] = true
		}
	}
}

// validateSecondary demands that nothing is known of the value of a cell because it breaks a rule, and warns of what
// is.
func (l *loader) validateSecondary(t *Config) {
	for i := range t.Tables {
		const path = "sdmx.secondary"
		switch table := &t.Tables[i]; {
		case table.Value == "":
			l.Wrong(path,
				"must be C: tables[%d] is of counts, and beside D everybody would know that a count with C is below the threshold, so that its range is narrower than the audit finds", i)
		case table.Zeros == "unsafe":
			l.Wrong(path,
				"must be C: by tables[%d].zeros cells of value 0 are unsafe, and beside D everybody would know of cells with C that they may be 0", i)
		default:
			continue
		}
		return
	}
	t.Warnings = append(t.Warnings,
		"sdmx.secondary: D beside C tells everybody which of the cells that are held back break a rule, and that the others break none: contributors of the latter can infer more of them than the audit finds")
}
