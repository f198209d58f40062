package tabulation

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

func TestLooseningOfTables(t *testing.T) {
	const text = `version: 1
source: {csv: {path: in.csv}}
tables:
  - {name: t, rows: [region, size], value: turnover, unsafe: [{threshold: 3}, {dominance: [1, 75]}], protect: {suppress: {}}}
gate: {rules: [{min_efficiency: 0.1}, {max_risk: 2}]}
sink: {csv: {path: out.csv}}
`
	for set, want := range map[string]bool{
		"tables.0.unsafe.0.threshold=2": true, "tables.0.unsafe.0.threshold=4": true, "tables.0.unsafe.0.threshold=3": false,
		"tables.0.unsafe.1.dominance.1=90": true,
		"tables.0.zeros=unsafe":            true, "tables.0.interval.percent=1": true, "tables.0.rows.2=kind": true,
		"hierarchies.region.column=place": true,
		"unknown=drop":                    true, "unknown=fail": false, "gate.rules.0.min_efficiency=0.05": true,
		"gate.rules.0.min_efficiency=0.2": false,
		"gate.rules.1.max_risk=3":         true, "gate.rules.1.max_risk=1": false, "gate.rules.1.table=t": true,
		"gate.rules.2.max_disclosed=0": false,
		"gate.allow_records.0=people":  true,
		"source.csv.path=other.csv":    false, "source.csv.nulls.0=7": true, "sink.csv.path=-": false,
		"report.json=r.json": false, "name=x": false,
		"holding=firm": true, "request=asks": true,
	} {
		p, err := Parse("t.yaml", []byte(text), config.Options{Set: []string{set}, Environ: func() []string { return nil }})
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if (len(p.Loosened) > 0) != want || (p.LooseningAllowed(false) != nil) != want || p.LooseningAllowed(true) != nil {
			t.Errorf("%s: loosened %v, want %v", set, p.Loosened, want)
		}
	}
}

// A gate of records allows tables of its ledger by their name: one that is given elsewhere than in the file would be
// allowed by nobody.
func TestLooseningOfANameInALedger(t *testing.T) {
	const text = `version: 1
name: t
pipeline: p.yaml
tables: [{name: heads, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}]
sink: {csv: {path: out.csv}}
`
	for set, want := range map[string]bool{"name=x": true, "name=t": false} {
		p, err := Parse("t.yaml", []byte(text), config.Options{Set: []string{set}, Environ: func() []string { return nil }})
		if err != nil || (p.LooseningAllowed(false) != nil) != want {
			t.Errorf("%s: error %v, loosened %v, want %v", set, err, p, want)
		}
	}
}
