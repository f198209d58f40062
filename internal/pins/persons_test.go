package pins

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

// ofPersons is what reports say of persons.
type ofPersons struct {
	Attack struct {
		Apart      bool   `json:"judged_apart"`
		Unmeasured string `json:"persons_unmeasured"`
		Sampled    int
		Uncounted  []struct{ Name, Why string }
		Uniqueness *struct {
			MinK    float64 `json:"min_k"`
			Persons *counted
		}
	}
	Gate struct {
		Passed bool
		Rules  []struct {
			Measure string
			Passed  bool
			Found   *float64
			Advice  string
			Persons bool
		}
	}
	Warnings []string
}

type counted struct {
	Persons, Several, Unknown int
	MinK                      float64 `json:"min_k"`
	Uniques                   int
	UniqueShare               float64 `json:"unique_share"`
	Violations                map[int]int
	Risk                      float64 `json:"max_individual_risk"`
	Found                     float64
	AtLeast                   bool `json:"at_least"`
}

func personsIn(t *testing.T, text []byte) (r ofPersons) {
	t.Helper()
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// panelOf makes records of persons with unequal numbers of waves, in a random order; some records are nobody's.
func panelOf(i int) []person {
	people, rng := draw(i), rand.New(rand.NewPCG(2, uint64(i)))
	for j := range people {
		who := j % (len(people) * 2 / 3) // persons of one and of two records
		if j%5 == 1 {
			who = j % 40 // and of many
		}
		if people[j].ID = fmt.Sprintf("p%04d", who); j%29 == 3 {
			people[j].ID = ""
		}
		people[j].K = []string{"0", "1"}[rng.IntN(2)]
	}
	rng.Shuffle(len(people), func(a, b int) { people[a], people[b] = people[b], people[a] })
	return people
}

// byHand counts persons by what is released of them: the texts of all records of each, sorted, are compared.
func byHand(t *testing.T, rows []string) counted {
	t.Helper()
	of, nobody := map[string][]string{}, 0
	for _, row := range rows {
		var v struct{ ID, K, S string }
		if err := json.Unmarshal([]byte(row), &v); err != nil {
			t.Fatal(err)
		}
		if v.ID == "" {
			nobody++
			v.ID = fmt.Sprint("nobody ", nobody)
		}
		of[v.ID] = append(of[v.ID], v.K+"/"+v.S)
	}
	c, times := counted{Persons: len(of), Unknown: nobody, Violations: map[int]int{2: 0, 3: 0, 5: 0}}, map[string]int{}
	for who, list := range of {
		slices.Sort(list)
		of[who] = []string{strings.Join(list, " "), fmt.Sprint(len(list))}
		times[of[who][0]]++
	}
	for _, list := range of {
		k := float64(times[list[0]])
		if c.MinK == 0 || k < c.MinK {
			c.MinK = k
		}
		if list[1] != "1" {
			c.Several++
		}
		if k == 1 {
			c.Uniques++
		}
		for limit := range c.Violations {
			if k < float64(limit) {
				c.Violations[limit]++
			}
		}
		c.Found += 1 / k / float64(len(of))
		c.Risk = max(c.Risk, 1/k)
	}
	c.UniqueShare = float64(c.Uniques) / float64(c.Persons)
	return c
}

// By every carrier, joined k is what brute force counts from the rows that leave, whether persons are drawn, records go
// to quarantine, or categories are recoded, and whatever the person's number is: released, withheld or a pseudonym.
func TestPersonsByEveryCarrier(t *testing.T) {
	for i, mask := range []string{
		"{noise: {columns: [x], sd: 8}}",
		"{sample: {rate: 0.8}}, {noise: {columns: [x], sd: 8}}",
		`{noise: {columns: [x], sd: 8}}, {recode: {columns: [s], map: {n: a, "s, \"q\"": a}, other: b}}`,
	} {
		t.Chdir(t.TempDir())
		write(t, "test.key", []byte(keytest.Key(1).Text()+"\n"))
		people := panelOf(i)
		config := func(role, more string) string {
			return "version: 1\nname: pinned\nkey: {file: test.key}\nidentity: [id]\n" +
				"columns: {id: {role: " + role +
				"}, x: {role: sensitive, decimals: 2}, v: {role: other, decimals: 2}, w: {decimals: 0, role: other}, k: {role: key}, s: {role: key}}\n" +
				"masks: [" + mask + more + "]\n"
		}
		const assess = "assess: {sample: all, replicates: 5, keys: [k, s], intruder: {inversion: false, uniqueness: {person: [id]}}}\n"
		for name, carrier := range carriersOf(t) {
			rows, report := carrier(config("other", "")+assess, people)
			want, got := byHand(t, rows), personsIn(t, report)
			p := got.Attack.Uniqueness.Persons
			if p == nil || got.Attack.Apart || want.Several == 0 || want.Uniques == 0 || want.Uniques == want.Persons ||
				want.Unknown == 0 {
				t.Fatalf("%s, %s: %+v, by hand %+v", name, mask, p, want)
			}
			const rounding = 1e-12
			if d := p.Found - want.Found; d < -rounding || d > rounding {
				t.Errorf("%s, %s: %v of the persons are found, want %v", name, mask, p.Found, want.Found)
			}
			if p.Found = want.Found; fmt.Sprint(*p) != fmt.Sprint(want) {
				t.Errorf("%s, %s: %+v\nwant %+v", name, mask, *p, want)
			}
			// Withheld, or as a pseudonym, the number of the person tells the same of whoever knows the records.
			for _, other := range []string{config("identifier", ""),
				config("other", ", {pseudonym: {columns: [id], scope: a}}")} {
				if name == "stream" && strings.Contains(other, "pseudonym") {
					continue // the identity of JSON is of several types
				}
				_, report := carrier(other+assess, people)
				hidden := personsIn(t, report)
				if q := hidden.Attack.Uniqueness; q == nil || q.Persons == nil || len(hidden.Attack.Uncounted) > 0 {
					t.Fatalf("%s, %s: %+v", name, other, hidden.Attack)
				} else if q.Persons.Found = want.Found; fmt.Sprint(*q.Persons) != fmt.Sprint(want) ||
					q.MinK != got.Attack.Uniqueness.MinK {
					t.Errorf("%s: %+v\nwant %+v\n%s", name, *q.Persons, want, other)
				}
			}
			// Without it the report says that records of one person are judged one by one.
			_, report = carrier(config("other", "")+strings.Replace(assess, "person: [id]", "k: [2]", 1), people)
			apart := personsIn(t, report)
			if !apart.Attack.Apart || apart.Attack.Uniqueness.Persons != nil ||
				!slices.ContainsFunc(apart.Warnings, func(w string) bool {
					return strings.Contains(w, "set assess.intruder.uniqueness.person")
				}) {
				t.Errorf("%s: judged apart %v, warnings %q", name, apart.Attack.Apart, apart.Warnings)
			}
			// Of a sample they are not counted.
			_, report = carrier(config("other", "")+strings.Replace(assess, "sample: all", "sample: 100", 1), people)
			if some := personsIn(t, report); some.Attack.Sampled != 100 || some.Attack.Uniqueness.Persons != nil ||
				!strings.Contains(some.Attack.Unmeasured, "a sample does not hold all records") {
				t.Errorf("%s: of a sample %+v", name, some.Attack)
			}
		}
	}
}

// A rule about k is judged at the lesser of k of records and joined k, by run, shards and embedded filters alike; from
// a sample it does not hold.
func TestRulesAboutPersonsByEveryCarrier(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "test.key", []byte(keytest.Key(1).Text()+"\n"))
	people := draw(0)[:120]
	// 30 persons of four records; three histories of ten persons each, so that each key tuple is in 40 records
	for j := range people {
		people[j].ID, people[j].S = fmt.Sprint("p", j%30), "n"
		people[j].K = []string{"0", "1", "2"}[(j%30%3+j/30)%3]
	}
	body := func(rule, sample, person string) string {
		return "version: 1\nname: pinned\nkey: {file: test.key}\nidentity: [id]\n" +
			"columns: {id: {role: identifier}, x: {role: sensitive, decimals: 2}, v: {role: other, decimals: 2}, w: {decimals: 0, role: other}, k: {role: key}, s: {role: key}}\n" +
			"masks: [{noise: {columns: [x], sd: 8}}]\n" +
			"assess: {sample: " + sample +
			", replicates: 5, keys: [k, s], intruder: {inversion: false, linkage: {distance: gower}, uniqueness: {" + person +
			"}}}\n" +
			"gate: {rules: [{" + rule + "}]}\n"
	}
	for _, c := range []struct {
		rule, sample, person string
		found                float64
		passed               bool
	}{
		{"min_k: 10", "all", "person: [id]", 10, true}, {"min_k: 11", "all", "person: [id]", 10, false},
		{"min_k: 11", "all", "", 40, true}, {"min_k: 40", "all", "", 40, true}, {"min_k: 41", "all", "", 40, false},
		{"max_individual_risk: 0.1", "all", "person: [id]", 0.1, true},
		{"max_individual_risk: 0.09", "all", "person: [id]", 0.1, false},
		{"max_individual_risk: 0.09", "all", "", 0.025, true},
		{"max_linked: 0.1", "all", "person: [id]", 0.1, true}, {"max_linked: 0.09", "all", "person: [id]", 0.1, false},
		{"max_linked: 0.09", "all", "", 0.025, true},
		{"min_k: 10, combinations: 1", "all", "person: [id]", 10, true},
		{"min_k: 11, combinations: 1", "all", "person: [id]", 10, false},
		{"min_k: 2", "119", "person: [id]", 0, false}, {"max_linked: 1", "119", "person: [id]", 0, false},
		{"max_linked: 1", "119", "", 1. / 39, true},
	} {
		for name, carrier := range carriersOf(t) {
			if name == "stream" {
				continue // which has no such rules
			}
			rows, report := carrier(body(c.rule, c.sample, c.person), people)
			got := personsIn(t, report)
			rule := got.Gate.Rules[0]
			if rule.Passed != c.passed || (rule.Found != nil) != (c.found > 0) || rule.Found != nil &&
				(*rule.Found-c.found > 0.01 || c.found-*rule.Found > 0.01) {
				t.Errorf("%s, %+v: %+v", name, c, got.Gate)
			}
			if name != "filter" && (len(rows) > 0) != c.passed {
				t.Errorf("%s, %+v: %d rows left", name, c, len(rows))
			}
			if want := c.person != "" && c.sample == "all" && !strings.Contains(c.rule, "linked") &&
				!strings.Contains(c.rule, "combinations"); rule.Persons != want {
				t.Errorf("%s, %+v: by persons %v, want %v", name, c, rule.Persons, want)
			}
			if by := strings.Contains(rule.Advice, "all records of a person together"); by != (c.person != "" && !c.passed &&
				!strings.Contains(c.rule, "linked") && !strings.Contains(c.rule, "combinations") && c.sample == "all") {
				t.Errorf("%s, %+v: advice %q", name, c, rule.Advice)
			}
		}
	}
}
