package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Rules on ε have one verdict whichever way a release takes, and what is stated is the same. Where nothing can be
// stated, a rule holds nowhere.
func TestPrivacyInEveryCarrier(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	wages := make([]int, 600)
	for i := range wages {
		wages[i] = 900 + rng.IntN(997)
	}
	p := people{
		n: 600, born: func(i int) int { return i * 7919 % 730 }, place: func(i int) string { return fmt.Sprint(i * i % 3) },
		person: func(i int) string { return fmt.Sprint(i) }, wage: func(i int) string { return fmt.Sprint(wages[i]) },
	}
	const columns = "columns: {born: {role: identifier}, place: {role: sensitive}, person: {role: identifier}, wage: {role: sensitive, decimals: 0}}\n"
	const place = "{pram: {columns: [place], categories: ['0', '1'], keep: 0.75}}"
	const clip, noise = "{truncate: {columns: [wage], lower: 900, upper: 1900}}, ",
		"{noise: {columns: [wage], sd: 1000, distribution: laplace}}, "
	const gate = "assess: {replicates: 4, targets: [p50], intruder: {inversion: false}}\ngate: {allow_unchanged: 1, rules: ["
	// √2·1000/1000 = 1.414 for the wage, ln 3 = 1.0986 for the place: together 2.5128.
	for name, c := range map[string]struct {
		identity, masks, rules string
		broken                 []string
	}{
		"all hold": {"", clip + noise + place,
			"{column: wage, max_epsilon: 1.42}, {column: place, max_epsilon: 1.1}, {column: wage, max_metric_epsilon: 0.0015}, {max_epsilon: 2.52}", nil},
		"none holds": {"", clip + noise + place,
			"{column: wage, max_epsilon: 1.41}, {column: place, max_epsilon: 1}, {column: wage, max_metric_epsilon: 0.0014}, {max_epsilon: 2.5}", []string{"wage: ε at most 1.41", "place: ε at most 1", "wage: ε per unit of distance at most 0.0014", "all records of a person: ε at most 2.5"}},
		"one of two": {"", clip + noise + place, "{column: wage, max_epsilon: 1.42}, {max_epsilon: 2.5}",
			[]string{"all records of a person: ε at most 2.5"}},
		"no bounds": {"", noise + place, "{column: wage, max_epsilon: 1000}, {column: place, max_epsilon: 1.1}",
			[]string{"wage: ε at most 1000"}},
		"identity": {"identity: [person]\n", clip + noise + place, "{column: wage, max_epsilon: 1000}",
			[]string{"wage: ε at most 1000"}},
		"metric, wider": {"", clip + "{noise: {columns: [wage], sd: 1000}}, " + place,
			"{column: wage, max_metric_epsilon: 9}", []string{"wage: ε per unit of distance at most 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := p
			of.place = func(i int) string { return fmt.Sprint(i * i % 3 % 2) }
			all := carried(t, of, c.identity+columns+"masks: ["+c.masks+"]\n"+gate+c.rules+"]}\n")
			for carrier, v := range all {
				if v.err != nil {
					t.Errorf("%s: %v", carrier, v.err)
					continue
				}
				if v.refused != (c.broken != nil) || !slices.Equal(v.rules, c.broken) {
					t.Errorf("%s: refused %v by %q, want %q", carrier, v.refused, v.rules, c.broken)
				}
				if v.privacy != all["run"].privacy || v.privacy == "" {
					t.Errorf("%s states\n%s\na run\n%s", carrier, v.privacy, all["run"].privacy)
				}
			}
		})
	}
}

// A stream of which nothing is measured compares no transaction with the rules: a rule on ε that does not hold ends it
// at its start, before anything is released.
func TestPrivacyOfAnUnmeasuredStream(t *testing.T) {
	p := people{n: 4, born: func(i int) int { return i }, place: func(i int) string {
		return fmt.Sprint(i % 2)
	}, person: func(i int) string { return "p" }, wage: func(i int) string { return "1" }}
	all := carried(t, p,
		"columns: {born: {role: identifier}, place: {role: other}, person: {role: identifier}, wage: {role: identifier}}\nmasks: []\n"+
			"assess: {intruder: {inversion: false}}\ngate: {rules: [{max_epsilon: 9}]}\n")
	for carrier, v := range all {
		switch want := "gate.rules[0]: all records of a person: ε at most 9 does not hold: no finite ε is stated: place leaves as it is"; {
		case carrier == "stream":
			if v.err == nil || !strings.Contains(v.err.Error(), want) {
				t.Errorf("stream: %+v", v)
			}
		case v.err != nil || !v.refused:
			t.Errorf("%s: %+v", carrier, v)
		}
	}
}
