package tabulation

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const sdmxTabulation = `version: 1
source: {csv: {path: in.csv}}
tables: [{name: t, rows: [region, sex], unsafe: [{threshold: 3}], protect: {suppress: {}}}]
sink: {csv: {path: out.csv}}
sdmx: {structure: "NSO:DF_SHOPS(1.0)", time_period: 2026-Q1, freq: Q}
`

func TestSDMX(t *testing.T) {
	for _, period := range []string{"2026", "2026-01", "2026-Q1", "2026-W05", "2026-01-31"} {
		if _, err := Parse("t.yaml", []byte(strings.Replace(sdmxTabulation, "2026-Q1", `"`+period+`"`, 1)),
			config.Options{}); err != nil {
			t.Errorf("%s: %v", period, err)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"NSO:DF_SHOPS(1.0)", "DF_SHOPS",
			`sdmx.structure: must be AGENCY:ID(VERSION), as ESTAT:DF_TURNOVER(1.0), got "DF_SHOPS" (t.yaml:5:19)`},
		{"NSO:DF_SHOPS(1.0)", "NSO:DF_SHOPS(1.0)x", "sdmx.structure: must be AGENCY:ID(VERSION)"},
		{`structure: "NSO:DF_SHOPS(1.0)", `, "", "sdmx.structure: is required"},
		{"2026-Q1", "first quarter", "sdmx.time_period: must be a period"},
		{"freq: Q", "freq: once a year", "sdmx.freq: must be a code of letters and digits"},
		{"sink: {csv: {path: out.csv}}", "sink: {jsonl: {path: out.jsonl}}", "sdmx: must be left out with sink jsonl"},
		{"[region, sex]", "[region, size class]",
			`tables[0].rows[1]: must be a name that SDMX can have for a dimension, letters, digits, _ and -, got "size class"`},
		{"[region, sex]", "[region, FREQ]", `tables[0].rows[1]: must not be "FREQ", which is a column of SDMX-CSV`},
		{"freq: Q", "secondary: S", "sdmx.secondary: must be one of C, D, got \"S\""},
		{"freq: Q", "secondary: D", "sdmx.secondary: must be C: tables[0] is of counts"},
		{"[region, sex], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\nsink: {csv: {path: out.csv}}\nsdmx: {",
			"[region, sex], value: x, zeros: unsafe, unsafe: [{threshold: 3}], protect: {suppress: {}}}]\nsink: {csv: {path: out.csv}}\nsdmx: {secondary: D, ", "sdmx.secondary: must be C: by tables[0].zeros"},
	} {
		refusedTabulation(t, sdmxTabulation, c.from, c.to, c.want)
	}
}
