package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
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
		"columns.ssn.role=other", "columns.ssn.role=sensitive", "columns.wage.role=key", "columns.age.role=other",
		"columns.age.role=sensitive", "columns.region.role=key",
		"columns.new.role=other", "columns.new.role=identifier",
		"columns.wage.decimals=9", "columns.wage.decimals=1", "unlisted=drop", "identity.0=ssn", "key.file=other",
		"profile=p.yaml",
		"masks.0.noise.sd=34%", "masks.0.noise.sd=100", "masks.0.noise.distribution=uniform", "masks.0.noise.columns.0=age",
		"masks.0.noise.tiers.0.above=2000", "masks.0.noise.tiers.0.variance_factor=1", "masks.0.name=x",
		"masks.1.truncate.upper=9000", "masks.1.truncate.lower=-5", "masks.1.truncate.upper=4000",
		"masks.1.truncate.lower=10", "masks.1.truncate.mode=redraw",
		"masks.2.bias.range=0.01", "masks.3.swap.rate=0.1", "masks.3.swap.rate=0.6", "masks.4.round.base=1",
		"masks.4.round.base=10",
		"window.records=10", "window.records=100000",
		"gate.rules.0.max_risk=1", "gate.rules.0.max_risk=5e-5", "gate.rules.0.target=min", "gate.rules.0.knowledge=mean",
		"gate.rules.1.min_rmse=157.9", "gate.rules.1.target=max",
		"gate.max_quarantined=1", "gate.max_quarantined=1.1%", "gate.max_quarantined=0.011", "gate.allow_unchanged=0.001",
		"assess.replicates=99", "assess.sample=100", "assess.sample=99999", "assess.keys.0=age",
		"assess.intruder.targets=5000", "assess.intruder.inversion=false", "assess.privacy.records=1",
		"assess.privacy.delta=1e-6",
		"report.publish.0=tiers", "report.publish.1=tiers", "source.csv.header=false", "sink.order=source",
		"source.csv.types.wage=string", "source.csv.nulls.0=7",
		"sink.csv.nulls=7", "sink.csv.quoting=minimal", "sink.csv.decimal=.",
	},
	false: {
		"name=x", "columns.ssn.role=identifier", "columns.wage.role=sensitive", "columns.region.role=sensitive",
		"columns.wage.unit=EUR", "columns.wage.decimals=2", "unlisted=fail", "key.file=k",
		"masks.0.noise.sd=35%", "masks.0.noise.sd=36%", "masks.2.bias.range=0.2",
		"gate.max_quarantined=1%", "gate.max_quarantined=0.5%", "gate.max_quarantined=0", "gate.allow_unchanged=0",
		"gate.rules.0.max_risk=1e-5", "gate.rules.0.max_risk=0.00004", "gate.rules.1.min_rmse=200",
		"assess.replicates=500", "assess.sample=all", "assess.sample=100000", "assess.every.records=5",
		"report.json=other.json", "report.html=r.html",
		"source.csv.path=other.csv", "sink.csv.path=-", "sink.order=shuffled", "sink.csv.compression=gzip",
		"sink.csv.quoting=all", "sink.csv.line_ending=lf", "quarantine.jsonl=q.jsonl", "gate.on_fail=withhold",
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
		{[]string{"gate.rules.2.column=wage", "gate.rules.2.max_epsilon=9"}, nil},
		{[]string{"gate.rules.2.column=wage", "gate.rules.2.max_metric_epsilon=9"}, nil},
		// A rule that takes the place of what is refused without one, whatever it says.
		{[]string{"gate.rules.2.column=wage", "gate.rules.2.max_unchanged=1"}, []string{"gate.rules[2].max_unchanged"}},
		{[]string{"gate.rules.2.column=wage", "gate.rules.2.max_unchanged=0"}, []string{"gate.rules[2].max_unchanged"}},
		{[]string{"masks.5.noise.columns.0=wage", "masks.5.noise.sd=5"},
			[]string{"masks[5].noise.columns[0]", "masks[5].noise.sd"}},
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

// With a ledger, whatever leaves out what earlier releases or tables tell loosens; without one there is nothing to
// leave out.
func TestLooseningOfALedger(t *testing.T) {
	for set, loosens := range map[string]bool{
		"gate.allow_unguarded.0=wage": true, "gate.allow_tables.0=t": true, "gate.rules.0.releases=alone": true,
		"ledger=other": true, "ledger=l": false, "name=x": true, "ledger=s3://bucket/l": true,
		"ledger=postgres://h/d?table=s.t": true, "ledger=": true,
	} {
		objectpath.Know("s3")
		o := Options{Set: []string{set}, Environ: func() []string { return nil }}
		p, err := Parse("p.yaml", []byte(tight+"ledger: l\n"), o)
		if err != nil || (len(p.Loosened) == 1) != loosens || (p.LooseningAllowed(false) != nil) != loosens {
			t.Errorf("%s: error %v, loosened %v", set, err, p)
		}
		if _, err := Parse("p.yaml", []byte(tight), o); strings.Contains(set, "allow_") &&
			(err == nil || !strings.Contains(err.Error(), "must be left out without a ledger")) {
			t.Errorf("%s without a ledger: error %v", set, err)
		}
	}
	for _, at := range []string{"s3://bucket/l", "postgres://h/d?table=s.t"} {
		for set, loosens := range map[string]bool{at: false, at + "x": true, "l": true, "": true} {
			p, err := Parse("p.yaml", []byte(tight+"ledger: "+at+"\n"),
				Options{Set: []string{"ledger=" + set}, Environ: func() []string { return nil }})
			if err != nil || (len(p.Loosened) == 1) != loosens {
				t.Errorf("%s, and %q by a setting: error %v, loosened %v", at, set, err, p)
			}
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
		"stop sink.kafka.headers=pass": true, "stop sink.kafka.headers=drop": false, "stop sink.kafka.key=wage": true,
		"stop sink.kafka.key=drop":       false,
		"stop sink.kafka.timestamp=drop": false, "stop sink.kafka.timestamp=pass": true,
		"stop sink.kafka.topic=elsewhere": false, "stop source.kafka.group=h": true, "stop name=h": true,
		"stop source.kafka.until=latest": true, "stop source.kafka.start=latest": true,
		"stop source.kafka.instance=i": false, "stop source.kafka.topics.0=u": false,
		"stop sink.kafka.commit.records=10":      true,
		"stop sink.kafka.delivery=at_least_once": true, "stop sink.kafka.delivery=exactly_once": false,
		"stop gate.max_lost=5": true, "stop gate.max_lost=0": false, "stop source.kafka.on_recreated=stop": false,
		"'${F:-stop}' gate.on_fail=alert": true, "'${F:-stop}' gate.on_fail=stop": false,
	} {
		on, set, _ := strings.Cut(set, " ")
		p,
			err := Parse("p.yaml", []byte(strings.Replace(stream, "ON", on, 1)),
			Options{Set: []string{set}, Environ: func() []string { return nil }})
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if got := len(p.Loosened) > 0; got != want {
			t.Errorf("%s, %s: loosens %v, want %v", on, set, got, want)
		}
	}
}

// What becomes of refused records, from one setting to another: less strict, as strict, and stricter. A file that says
// nothing has the default.
func TestLooseningOfWhatBecomesOfRefusedRecords(t *testing.T) {
	strictness := map[string]int{Alert: 0, Hold: 1, Stop: 2, Withhold: 2} // stop and withhold are alike: nothing leaves
	for now, of := range strictness {
		for old, was := range strictness {
			c := &change{Change: form.Change{Names: []string{"gate", "on_fail"}, Old: &old, Now: now}}
			if got := c.loosens(); got != (of < was) {
				t.Errorf("from %s to %s: loosens %v", old, now, got)
			}
		}
		c := &change{Change: form.Change{Names: []string{"gate", "on_fail"}, Now: now}}
		if got := c.loosens(); got != (of < 2) {
			t.Errorf("from the default to %s: loosens %v", now, got)
		}
	}
}

// Masks that hide more the greater they are only where nothing else becomes of their columns.
func TestLooseningOfMasksAlone(t *testing.T) {
	const file = `version: 1
key: {file: k}
source: {csv: {path: in.csv}}
columns: {wage: {role: sensitive, decimals: 2}, tax: {role: sensitive}, age: {role: sensitive}, h: {role: sensitive}, t: {role: key}, m: {role: sensitive}, z: {role: key}}
masks:
  - round: {columns: [wage], base: 7}
  - round: {columns: [tax], decimals: 1}
  - truncate: {columns: [age], lower: 18, upper: 90}
  - noise: {columns: [h], sd: 3}
  - truncate: {columns: [h], lower: 0, mode: redraw}
  - topcode: {columns: [t], upper: 9, replace: mean}
  - microaggregate: {columns: [m], k: 5, least: 5, share: 0.7}
sink: {csv: {path: out.csv}}
`
	for set, want := range map[string]bool{
		"0.round.base=8": true, "0.round.base=10.5": true, "0.round.base=14": false, "0.round.base=21": false,
		"0.round.base=3.5": true, "0.round.base=-7": true,
		"0.round.base=0.7": true, "1.round.decimals=0": false, "1.round.decimals=-2": false, "1.round.decimals=2": true,
		"2.truncate.lower=20": false, "2.truncate.lower=17": true, "2.truncate.upper=80": false, "2.truncate.upper=91": true,
		"4.truncate.lower=1": true, "4.truncate.upper=99": true, "3.noise.sd=4": false, "3.noise.sd=2": true,
		"5.topcode.least=2": true, "5.topcode.least=3": false, "5.topcode.least=4": false, "5.topcode.share=0.9": true,
		"5.topcode.share=0.8": false, "5.topcode.share=0.5": false,
		"6.microaggregate.least=4": true, "6.microaggregate.share=0.75": true, "6.microaggregate.share=0.6": false,
		"6.microaggregate.k=6": true, "5.topcode.upper=8": true,
	} {
		c := settled(t, file, "masks."+set)
		if c != nil && (len(c) > 0) != want {
			t.Errorf("%s: loosened %v, want %v", set, c, want)
		}
	}
	for set, want := range map[string]bool{
		"0.max_exact.share=0.2": true, "0.max_exact.share=0.05": false, "0.max_exact.within=1": true,
		"0.max_exact.within=3": false,
		"3.column=wage 3.max_exact.share=0.01 3.max_exact.within=5": true, "3.min_k=3 3.combinations=2": false,
	} {
		var list []string
		for _, s := range strings.Fields(set) {
			list = append(list, "gate.rules."+s)
		}
		text := strings.Replace(tight, "gate:\n  rules:",
			"gate:\n  rules:\n    - {column: wage, max_exact: {share: 0.1, within: 2}}", 1)
		text = strings.Replace(text, "assess: {", "assess: {intruder: {inversion: true, uniqueness: {}}, ", 1)
		if c := settled(t, text, list...); (len(c) > 0) != want {
			t.Errorf("%s: loosened %v, want %v", set, c, want)
		}
	}
	// Another mask on the column, before or after, and one that reads it.
	for _, other := range []string{"noise: {columns: [wage], sd: 1}",
		"swap: {keys: [z], attribute: wage, columns: [tax], rate: 0.1}"} {
		for i, masks := range []string{"[{" + other + "}, {round: {columns: [wage], base: 5}}]",
			"[{round: {columns: [wage], base: 5}}, {" + other + "}]"} {
			text := file[:strings.Index(file, "masks:")] + "masks: " + masks + "\nsink: {csv: {path: out.csv}}\n"
			set := "masks." + []string{"1", "0"}[i] + ".round.base=10"
			if c := settled(t, text, set); len(c) != 1 {
				t.Errorf("%s with %s: loosened %v", set, masks, c)
			}
		}
	}
}

// settled are the settings that loosen a text.
func settled(t *testing.T, text string, set ...string) []Loosening {
	t.Helper()
	p, err := Parse("p.yaml", []byte(text), Options{Set: set, Environ: func() []string { return nil }})
	if err != nil {
		if !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", set, err)
		}
		return nil
	}
	return append([]Loosening{}, p.Loosened...)
}

// What says which values are missing, whose they are, and what they weigh, and the demands on totals that weights are
// calibrated to. A setting that repeats the file does not loosen, and neither does a stricter demand, nor a code that
// becomes null.
func TestLooseningOfSurveys(t *testing.T) {
	const file = `version: 1
key: {file: k}
identity: [id]
household: hh
weight: w
source: {csv: {path: in.csv}}
columns:
  id: {role: identifier}
  hh: {role: identifier}
  other: {role: identifier}
  w: {role: other}
  v: {role: other}
  rent: {role: sensitive, level: household, missing: {codes: [-9, {from: 97, to: 99}], as: keep}}
  wage: {role: sensitive, level: person, missing: {codes: [{code: -9}]}}
  before: {role: sensitive, same_as: wage}
  age: {role: key}
masks:
  - noise: {columns: [rent, wage, before], sd: 3}
  - calibrate: {columns: [w], by: [age], least: 5, share: 0.7}
assess: {intruder: {uniqueness: {person: [hh]}}}
sink: {csv: {path: out.csv}}
`
	for set, want := range map[string]bool{
		"assess.intruder.uniqueness.person.0=w": true, "assess.intruder.uniqueness.person.0=hh": false,
		"assess.intruder.uniqueness.person.1=w": true,
		"weight=v":                              true, "weight=w": false, "household=other": true, "household=hh": false,
		"columns.rent.level=person": true, "columns.rent.level=household": false, "columns.wage.level=household": true,
		"columns.wage.level=person":   false,
		"columns.before.same_as=rent": true, "columns.before.same_as=wage": false,
		"columns.wage.missing.codes.0.code=-8": true, "columns.wage.missing.codes.0.code=-9": false,
		"columns.wage.missing.codes.1.code=0": true, "columns.before.missing.codes.0.code=5": true,
		"columns.rent.missing.codes.1.from=96": true, "columns.rent.missing.codes.1.from=98": true,
		"columns.rent.missing.codes.1.to=99": false, "columns.rent.missing.codes.1.to=100": true,
		"columns.rent.missing.as=keep": false, "columns.rent.missing.as=null": false,
		"masks.1.calibrate.least=4": true, "masks.1.calibrate.least=5": false, "masks.1.calibrate.least=6": false,
		"masks.1.calibrate.share=0.71": true, "masks.1.calibrate.share=0.7": false, "masks.1.calibrate.share=0.6": false,
		"masks.1.calibrate.by.0=v": true, "masks.1.calibrate.lower=0.5": true, "masks.1.calibrate.upper=2": true,
	} {
		text := file
		if strings.HasPrefix(set, "weight=") {
			text = uncalibrated(text)
		}
		if c := settled(t, text, set); c == nil || (len(c) > 0) != want {
			t.Errorf("%s: loosened %v, want %v", set, c, want)
		}
	}
	// The file may leave them to their defaults, 3 and 0.8, and say nothing of the rest.
	silent := strings.NewReplacer(", least: 5, share: 0.7", "", "household: hh\n", "", "level: household, ", "",
		"level: person, ", "", ", as: keep", "").Replace(file)
	for set, want := range map[string]bool{
		"weight=w": true, "household=hh": true, "columns.before.same_as=rent": true, "columns.rent.missing.as=keep": true,
		"columns.rent.missing.as=null": false,
		"masks.1.calibrate.least=2":    true, "masks.1.calibrate.least=3": false, "masks.1.calibrate.least=4": false,
		"masks.1.calibrate.share=0.81": true, "masks.1.calibrate.share=0.8": false, "masks.1.calibrate.share=0.5": false,
	} {
		text := silent
		if strings.HasPrefix(set, "weight=") {
			text = strings.Replace(uncalibrated(text), "weight: w\n", "", 1)
		}
		if c := settled(t, text, set); c == nil || (len(c) > 0) != want {
			t.Errorf("the file is silent, %s: loosened %v, want %v", set, c, want)
		}
	}
	keeping := strings.Replace(file, "as: keep", "as: 'null'", 1)
	if c := settled(t, keeping, "columns.rent.missing.as=keep"); len(c) != 1 {
		t.Errorf("codes that would be null are kept: %v", c)
	}
}

// uncalibrated is the text without its calibration, which is of the weight alone.
func uncalibrated(text string) string {
	before, rest, _ := strings.Cut(text, "  - calibrate")
	_, after, _ := strings.Cut(rest, "\n")
	return before + after
}

// What the file leaves to a variable is not known when a setting is compared with it, nor does a
// setting tell more often what snapshots tell.
func TestLooseningOfAVariable(t *testing.T) {
	text := strings.Replace(tight, "ssn: {role: identifier}", "ssn: {role: '${ROLE:-identifier}'}", 1)
	for set, want := range map[string]int{"columns.ssn.role=other": 1, "columns.ssn.role=sensitive": 1,
		"columns.ssn.role=identifier": 0} {
		if c := settled(t, text, set); len(c) != want {
			t.Errorf("%s: loosened %v", set, c)
		}
	}
	text = strings.Replace(tight, "assess: {replicates: 100}",
		"assess: {replicates: 100, every: {records: 1000}, emit: [{jsonl: e.jsonl}]}", 1)
	for set, want := range map[string]int{
		"assess.every.records=999": 1, "assess.every.records=2000": 0, "assess.every.interval=1h": 1,
		"assess.emit.1.log=info": 1, "assess.emit.1.jsonl=f.jsonl": 0,
	} {
		if c := settled(t, text, set); len(c) != want {
			t.Errorf("%s: loosened %v", set, c)
		}
	}
	text = strings.Replace(tight, "sd: 35%", "sd: '${SD:-35%}'", 1)
	if c := settled(t, text, "masks.0.noise.sd=99%"); len(c) != 1 {
		t.Errorf("an sd that is not known: %v", c)
	}
}
