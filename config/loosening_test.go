package config

import (
	"slices"
	"strings"
	"testing"
)

const tight = `version: 1
key: {file: k}
identity: [id]
source: {csv: {path: in.csv}}
columns:
  id: {role: identifier}
  ssn: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  age: {role: key}
  region: {role: other}
masks:
  - noise: {columns: [wage], sd: 35%, tiers: [{above: 1000, variance_factor: 2}]}
  - truncate: {columns: [wage], lower: 0, upper: 5000}
  - bias: {columns: [wage], range: 0.05}
  - swap: {keys: [age], attribute: region, columns: [wage], rate: 0.5}
  - round: {columns: [wage], base: 5}
window: {records: 1000}
sink: {csv: {path: out.csv}}
assess: {replicates: 100}
gate:
  rules:
    - {column: wage, target: max, max_risk: 4e-5}
    - {column: wage, min_rmse: 158}
report: {json: r.json, publish: [sd]}
`

// Settings and whether each loosens; on the left of => the earlier settings.
var settingsOf = map[bool][]string{
	true: {
		"columns.ssn.role=other", "columns.ssn.role=sensitive", "columns.wage.role=key", "columns.age.role=other", "columns.new.role=other",
		"columns.wage.decimals=9", "columns.wage.decimals=1", "unlisted=drop", "identity.0=ssn", "key.file=other", "profile=p.yaml",
		"masks.0.noise.sd=34%", "masks.0.noise.sd=100", "masks.0.noise.distribution=uniform", "masks.0.noise.columns.0=age",
		"masks.0.noise.tiers.0.above=2000", "masks.0.noise.tiers.0.variance_factor=1", "masks.0.name=x",
		"masks.1.truncate.upper=9000", "masks.1.truncate.lower=-5", "masks.1.truncate.mode=redraw",
		"masks.2.bias.range=0.01", "masks.3.swap.rate=0.1", "masks.4.round.base=1",
		"window.records=10", "window.records=100000",
		"gate.rules.0.max_risk=1", "gate.rules.0.max_risk=5e-5", "gate.rules.0.target=min", "gate.rules.0.knowledge=mean",
		"gate.rules.1.min_rmse=157.9", "gate.rules.1.target=max",
		"assess.replicates=99", "assess.sample=100", "assess.keys.0=age",
		"report.publish.0=tiers", "report.publish.1=tiers", "source.csv.header=false", "sink.order=source", "source.csv.types.wage=string", "source.csv.nulls.0=7",
	},
	false: {
		"name=x", "columns.ssn.role=identifier", "columns.wage.role=sensitive", "columns.age.role=sensitive",
		"columns.region.role=key", "columns.new.role=identifier", "columns.wage.unit=EUR", "columns.wage.decimals=2", "unlisted=fail", "key.file=k",
		"masks.0.noise.sd=35%", "masks.0.noise.sd=36%", "masks.1.truncate.upper=4000", "masks.1.truncate.lower=10",
		"masks.2.bias.range=0.2", "masks.3.swap.rate=0.6", "masks.4.round.base=10",
		"gate.rules.0.max_risk=1e-5", "gate.rules.0.max_risk=0.00004", "gate.rules.1.min_rmse=200",
		"assess.replicates=500", "assess.sample=all", "assess.every.records=5", "report.json=other.json", "report.html=r.html",
		"source.csv.path=other.csv", "sink.csv.path=-", "sink.order=shuffled", "sink.csv.compression=gzip", "quarantine.jsonl=q.jsonl", "gate.on_fail=withhold",
	},
}

func TestLoosening(t *testing.T) {
	for loosens, settings := range settingsOf {
		for _, set := range settings {
			for _, env := range []bool{false, true} {
				o := Options{Set: []string{set}, Environ: func() []string { return nil }}
				if path, value, _ := strings.Cut(set, "="); env {
					if strings.Contains(path, ".new.") || strings.Contains(path, ".types.") {
						continue // the environment changes no names
					}
					name := dialect().Prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
					o = Options{Environ: func() []string { return []string{name + "=" + value} }}
				}
				p, err := Parse("p.yaml", []byte(tight), o)
				if err != nil {
					t.Errorf("%s: %v", set, err)
					continue
				}
				if got := len(p.Loosened) == 1; got != loosens {
					t.Errorf("%s (environment: %v): loosens %v, want %v", set, env, got, loosens)
				}
				if (p.LooseningAllowed(false) != nil) != loosens || p.LooseningAllowed(true) != nil {
					t.Errorf("%s: allowed: %v", set, p.LooseningAllowed(false))
				}
			}
		}
	}
}

// An added rule is one more rule; an added mask may undo another.
func TestLooseningOfAddedElements(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want []string
	}{
		{[]string{"gate.rules.2.column=wage", "gate.rules.2.max_risk=1", "gate.rules.2.knowledge=mean"}, nil},
		{[]string{"masks.5.noise.columns.0=wage", "masks.5.noise.sd=5"}, []string{"masks[5].noise.columns[0]", "masks[5].noise.sd"}},
		// The last setting counts, compared with the file.
		{[]string{"masks.0.noise.sd=50%", "masks.0.noise.sd=10%"}, []string{"masks[0].noise.sd"}},
		{[]string{"masks.0.noise.sd=10%", "masks.0.noise.sd=35%"}, nil},
		{[]string{"columns.ssn.role=other", "unlisted=drop"}, []string{"columns.ssn.role", "unlisted"}},
	} {
		p, err := Parse("p.yaml", []byte(tight), Options{Set: c.set, Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range p.Loosened {
			got = append(got, o.Path)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: loosened %q, want %q", c.set, got, c.want)
		}
	}
}

// For a stream: the treatment of refused records, and the outputs besides the values.
func TestLooseningOfAStream(t *testing.T) {
	const stream = `version: 1
key: {file: k}
source: {kafka: {brokers: [b:9], topics: [t], group: g}}
columns: {wage: {role: sensitive, decimals: 2}}
masks: [{noise: {columns: [wage], sd: 3}}]
sink: {kafka: {brokers: [b:9], topic: out}}
gate: {on_fail: ON, rules: [{column: wage, min_rmse: 1}]}
`
	for set, want := range map[string]bool{
		"stop gate.on_fail=alert": true, "stop gate.on_fail=stop": false,
		"alert gate.on_fail=stop": false, "alert gate.on_fail=alert": false,
		"stop sink.kafka.headers=pass": true, "stop sink.kafka.headers=drop": false, "stop sink.kafka.key=wage": true, "stop sink.kafka.key=drop": false,
		"stop sink.kafka.timestamp=drop": false, "stop sink.kafka.timestamp=pass": true,
		"stop sink.kafka.topic=elsewhere": false, "stop source.kafka.group=h": false,
		"stop source.kafka.until=latest": false,
	} {
		on, set, _ := strings.Cut(set, " ")
		p, err := Parse("p.yaml", []byte(strings.Replace(stream, "ON", on, 1)), Options{Set: []string{set}, Environ: func() []string { return nil }})
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if got := len(p.Loosened) > 0; got != want {
			t.Errorf("%s, %s: loosens %v, want %v", on, set, got, want)
		}
	}
}
