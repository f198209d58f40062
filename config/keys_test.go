package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The columns with role key are those known to an intruder, unless keys are configured, or no
// question uses keys.
func TestKeysByRole(t *testing.T) {
	const (
		head  = "version: 1\nkey: {file: k}\nmasks: [{noise: {columns: [wage], sd: 1}}]\ncolumns: {id: {role: identifier}, age: {role: key, decimals: 0}, wage: {role: sensitive, decimals: 0}, sex: {role: other}, region: {role: key}}\n"
		files = "source: {csv: {path: in.csv}}\nsink: {csv: {path: out.csv}}\n"
		topic = `kafka: {brokers: ["b:1"], topics: [a]`
	)
	roles := []string{"age", "region"}
	for _, c := range []struct {
		text   string
		keys   []string
		byRole bool
		asked  bool
	}{
		{files, roles, true, true},
		{files + "assess: {keys: [sex]}\n", []string{"sex"}, false, true},
		{files + "assess: {keys: [region, age]}\n", []string{"region", "age"}, false, true},
		{files + "assess: {intruder: {}}\n", roles, true, true},
		{files + "assess: {intruder: {linkage: {}}}\n", roles, true, true},
		{files + "assess: {intruder: {bayes: {sigma: {age: 2}}}}\n", roles, true, true},
		{files + "assess: {intruder: {categorical: [age], uniqueness: {sensitive: [sex]}}}\n", roles, true, true},
		{files + "assess: {intruder: {inversion: true}}\n", nil, false, true},
		{files + "assess: {intruder: {interval: [0.1], utility: {}}}\n", nil, false, true},
		{files + "gate: {rules: [{max_linked: 0.1}, {min_k: 3}]}\n", roles, true, true},
		// If the intruder's results appear only in the final report, they must be requested.
		{"source: {" + topic + "}}\nsink: {kafka: {brokers: [\"b:1\"], topic: c}}\n", nil, false, false},
		{"source: {" + topic + ", until: latest}}\nsink: {kafka: {brokers: [\"b:1\"], topic: c}}\n", nil, false, false},
		{"source: {" + topic + "}}\nsink: {kafka: {brokers: [\"b:1\"], topic: c}}\nassess: {intruder: {linkage: {}}}\n",
			roles, true, true},
		{"source: {" + topic + ", until: latest}}\nsink: {csv: {path: out.csv}}\n", roles, true, true},
	} {
		p, err := Parse("p.yaml", []byte(head+c.text), Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := p.Assess.IntruderKeys(); !reflect.DeepEqual(got, c.keys) || p.Assess.KeysByRole() != c.byRole ||
			p.Assess.AttacksRelease() != c.asked {
			t.Errorf("%s: keys %q, by role %v, asked %v", c.text, got, p.Assess.KeysByRole(), p.Assess.AttacksRelease())
		}
		if without := p.Assess.WithoutIntruder(); without.AttacksRelease() || without.IntruderKeys() != nil ||
			without.Replicates != p.Assess.Replicates {
			t.Errorf("%s: without the intruder %+v", c.text, without)
		}
		// Keys that follow from the roles are not written in addition to the roles.
		if strings.Contains(string(p.Part("assess")), `"keys"`) != strings.Contains(c.text, "keys:") {
			t.Errorf("%s", p.Part("assess"))
		}
	}
	for text, want := range map[string]string{
		"assess: {intruder: {categorical: [sex]}}":                `assess.intruder.categorical[0]: must be one of the columns whose role is key (or of assess.keys, where that is given), got "sex"`,
		"assess: {intruder: {bayes: {sigma: {sex: 2}}}}":          "assess.intruder.bayes.sigma.sex: must be one of the columns whose role is key",
		"assess: {intruder: {uniqueness: {sensitive: [region]}}}": `assess.intruder.uniqueness.sensitive[0]: must not be one of the columns whose role is key (or of assess.keys, where that is given), got "region"`,
		"assess: {kesy: [sex], intruder: {linkage: {}}}":          `assess.kesy: is not a field here (did you mean "keys"?)`,
	} {
		_, err := Parse("p.yaml", []byte(head+files+text), Options{LookupEnv: lookup})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s must say %s, got %v", text, want, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  "assess.keys: age, region (the columns whose role is key, since the configuration has no assess.keys)",
		"assess: {keys: [sex]}":             "assess.keys: sex (as the configuration names them)",
		"assess: {intruder: {utility: {}}}": "",
	} {
		if p, err := Parse("p.yaml", []byte(head+files+text), Options{LookupEnv: lookup}); err != nil ||
			p.KeysInWords() != want {
			t.Errorf("%s: %v, %s", text, err, p.KeysInWords())
		}
	}
	set, err := Parse("p.yaml", []byte(head+files), Options{LookupEnv: lookup, Set: []string{"assess.keys.0=sex"}})
	if err != nil || set.KeysInWords() != "assess.keys: sex (with --set assess.keys.0)" {
		t.Errorf("%v: %s", err, set.KeysInWords())
	}
	var many strings.Builder
	for i := range 65 {
		fmt.Fprintf(&many, "  k%d: {role: key}\n", i)
	}
	p, err := Parse("p.yaml", []byte("version: 1\nkey: {file: k}\n"+files+"columns:\n"+many.String()),
		Options{LookupEnv: lookup})
	if err != nil || p.Assess.AttacksRelease() ||
		!strings.HasPrefix(strings.Join(p.Warnings, "\n"), "assess.keys: 65 columns have the role key") {
		t.Errorf("65 keys: %v, %q", err, p.Warnings)
	}
}
