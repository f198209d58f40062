package config

import (
	"reflect"
	"strings"
	"testing"
)

// An omitted field of a part has its default. An omitted part stays nil, because the default choice
// of parts depends on the data.
func TestIntruderDefaults(t *testing.T) {
	const keys = "assess: {keys: [wage]"
	for _, c := range []struct {
		text         string
		asked, named bool
		want         *Intruder
	}{
		{"", false, false, nil},
		{keys + "}", true, false, nil},
		{keys + ", intruder: {}}", true, false, &Intruder{Targets: 1000, Count: CountSnooper}},
		{keys + ", intruder: {linkage: {}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper, Linkage: &IntruderLinkage{Distance: "standardised"}}},
		{keys + ", intruder: {bayes: {}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper, Bayes: &IntruderBayes{Knowledge: KnowledgeD1}}},
		{keys + ", intruder: {uniqueness: {}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper,
				Uniqueness: &IntruderUniqueness{Alpha: 1, K: []int{2, 3, 5}, SUDA2: true, Approximate: true}}},
		{keys + ", intruder: {uniqueness: {k: [], alpha: 0}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper,
				Uniqueness: &IntruderUniqueness{K: []int{}, SUDA2: true, Approximate: true}}},
		{"assess: {intruder: {interval: [0.05]}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper, Interval: []float64{0.05}}},
		{"assess: {intruder: {inversion: true}}", true, true, &Intruder{Targets: 1000, Count: CountSnooper, Inversion: true}},
		{"assess: {intruder: {utility: {}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper, Utility: &IntruderUtility{}}},
		{"assess: {intruder: {utility: {regressions: [{response: wage, predictors: [person.income]}]}}}", true, true,
			&Intruder{Targets: 1000, Count: CountSnooper,
				Utility: &IntruderUtility{
					Regressions: []IntruderRegression{{Response: "wage", Predictors: []string{"person.income"}, Level: 0.95}}}}},
	} {
		p, err := Parse("p.yaml", []byte(base+c.text+"\n"), Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a := &p.Assess; a.AttacksRelease() != c.asked || a.Intruder.Named() != c.named {
			t.Errorf("%s: asked %v, named %v", c.text, a.AttacksRelease(), a.Intruder.Named())
		}
		if !reflect.DeepEqual(p.Assess.Intruder, c.want) {
			t.Errorf("%s must give %+v, got %+v", c.text, c.want, p.Assess.Intruder)
		}
	}
}

// Every setting of the file reaches the pipeline.
func TestIntruderIsRead(t *testing.T) {
	p, err := Load("testdata/intruder.good.yaml", Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	want := &Intruder{
		Targets: 500, Count: CountSnooper, Categorical: []string{"education"},
		Linkage: &IntruderLinkage{Distance: "mahalanobis", OneToOne: true},
		Bayes: &IntruderBayes{Knowledge: KnowledgeD1, Threshold: 0.5, Population: 1_000_000,
			Phi: map[string]float64{"wage": 0.05}, Sigma: map[string]float64{"wage": 90, "age": 1.5}},
		Uniqueness: &IntruderUniqueness{Weight: "weight", Household: "household", Person: []string{"id", "household"},
			Sensitive: []string{"illness"}, Alpha: 0.5, K: []int{3}},
		Interval: []float64{0.01, 0.05},
		Utility: &IntruderUtility{Propensity: true, Regressions: []IntruderRegression{
			{Response: "wage", Predictors: []string{"age", "education"}, Level: 0.9},
			{Response: "wage", Predictors: []string{"age"}, Level: 0.95}}},
		Inversion: true,
	}
	if !reflect.DeepEqual(p.Assess.Intruder, want) {
		t.Errorf("must be %+v, got %+v", want, p.Assess.Intruder)
	}
	if want := []string{"wage", "age", "education"}; !reflect.DeepEqual(p.Assess.Keys, want) {
		t.Errorf("the keys must be %q, got %q", want, p.Assess.Keys)
	}
	if p, err = Load("testdata/intruder-prior.good.yaml", Options{LookupEnv: lookup}); err != nil {
		t.Fatal(err)
	}
	if got := p.Assess.Intruder.Bayes; got.Knowledge != KnowledgeD2 || got.PhiPrior != nil ||
		*got.SigmaPrior != (IntruderPrior{Shape: 402, Scale: 1604}) {
		t.Errorf("the prior is %+v", got)
	}
}

// An explicit default is the same configuration; another question is a different one.
func TestIntruderInTheDigest(t *testing.T) {
	sum := func(text string) string {
		p, err := Parse("p.yaml", []byte(base+text), Options{LookupEnv: lookup})
		if err != nil {
			t.Fatal(err)
		}
		return p.SHA256()
	}
	short := sum("assess: {keys: [wage], intruder: {linkage: {}}}\n")
	if long := sum(
		"assess: {keys: [wage], intruder: {targets: 1000, inversion: false, linkage: {one_to_one: false, distance: standardised}}}\n"); long != short {
		t.Error("a default must make no difference")
	}
	for _, other := range []string{"", "assess: {keys: [wage]}\n", "assess: {keys: [wage], intruder: {}}\n",
		"assess: {keys: [wage], intruder: {linkage: {}, uniqueness: {}}}\n"} {
		if sum(other) == short {
			t.Errorf("%q must make a difference", other)
		}
	}
}

// A stream releases records before the attack: a warning says so, and a rule about respondents is
// refused (gate-identity-stream.bad.yaml, gate-identity-bounded.bad.yaml).
func TestIntruderOnAStream(t *testing.T) {
	const topic = `kafka: {brokers: ["b:1"], topic: c}`
	for _, c := range []struct {
		source, assess string
		warned         bool
	}{
		{`kafka: {brokers: ["b:1"], topics: [a]}`, "keys: [age]", true},
		{`kafka: {brokers: ["b:1"], topics: [a]}`, "intruder: {inversion: true}", true},
		{`kafka: {brokers: ["b:1"], topics: [a]}`, "replicates: 20", false},
		{`kafka: {brokers: ["b:1"], topics: [a], until: latest}`, "keys: [age]", true},
		{`csv: {path: in.csv}`, "keys: [age]", false},
	} {
		text := strings.NewReplacer("SOURCE", c.source, "SINK", topic).Replace(swapping) + "assess: {" + c.assess + "}\n"
		p, err := Parse("p.yaml", []byte(text), Options{LookupEnv: lookup})
		if err != nil {
			t.Errorf("%s, %s: %v", c.source, c.assess, err)
			continue
		}
		if got := strings.Join(p.Warnings, "\n"); strings.Contains(got,
			"assess.intruder: what an intruder finds stands in the final report alone") != c.warned {
			t.Errorf("%s, %s: warnings %q", c.source, c.assess, got)
		}
	}
}

// An error elsewhere is the only one reported, because then the keys are unknown.
func TestMistakesElsewhereAreNotOfTheKeys(t *testing.T) {
	const text = `version: 1
key: {env: KEY}
source: {csv: {path: in.csv}}
columns: {age: {role: key}, sex: {role: key}, wage: {role: sensitive}}
masks: [{noise: {columns: [wage], sd: 3}}, {recode: {columns: [sex], map: {m: p}, other: p}}]
sink: {csv: {path: out.csv}}
assess: {intruder: {linkage: {}, bayes: {knowledge: d1, phi: {age: 0.1}}, uniqueness: {}, inversion: true, categorical: [sex]}}
`
	for _, c := range []struct{ old, with, want string }{
		{"inversion: true,", "inversion: true, targets: many,", "assess.intruder.targets: "},
		{"inversion: true,", "inversion: true, utility: {models: [wage ~ age, wage ~]},",
			"assess.intruder.utility.models[1]: must be a regression such as"},
		{"inversion: true,", "inversion: true, utility: {models: [wage ~ age + size]},",
			"assess.intruder.utility.models[0]: must be one of the listed columns, got \"size\""},
		{"inversion: true,", "inversion: true, utility: {regressions: [wage]},", "assess.intruder.utility.regressions[0]: "},
		{"assess: {", "assess: {replicates: -1, ", "assess.replicates: "},
		{"age: {role: key}", "age: {role: keys}", "columns.age.role: "},
		{"columns: {age", "columns: {wages: {rol: key}, age", "columns.wages.rol: "},
		{
			"assess: {intruder: {linkage: {}, bayes: {knowledge: d1, phi: {age: 0.1}}, uniqueness: {}, inversion: true, categorical: [sex]}}", "assess: many\ngate: {rules: [{column: wage, target: max, max_risk: 1}]}", "assess: "},
		{"sink:", "gate: {rules: [{min_kk: 3}, {max_linked: 0.1}]}\nsink:", "gate.rules[0].min_kk: "},
	} {
		_, err := Parse("p.yaml", []byte(strings.Replace(text, c.old, c.with, 1)), Options{LookupEnv: lookup})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one error of %s, got\n%v", c.with, c.want, err)
		}
	}
}
