package project

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// TestTablesWithoutRelation: where the other tables tell nothing of a column nothing is stated beyond its own table,
// whatever these have.
func TestTablesWithoutRelation(t *testing.T) {
	racetest.Further(t)
	seed := uint64(0)
	if testing.Short() {
		seed = 2 // where chance comes nearest to telling something
	}
	for ; seed < 3; seed++ {
		w := newWorld(t, 100+seed, 300)
		wages(w)
		costs(w)
		for _, h := range w.households {
			h["rent"] = 50 * math.Round(6+18*w.rng.Float64())
			h["rooms"] = float64(1 + w.rng.IntN(6))
		}
		for _, p := range w.persons {
			p["age"] = float64(w.rng.IntN(90))
			p["debt"] = max(0, math.Round(2000*w.rng.NormFloat64()))
		}
		for _, v := range w.visits {
			v["days"] = float64(w.rng.IntN(4))
		}
		w.masked("households", []string{"rent", "rooms"}, map[string]float64{"rent": 80})
		w.masked("persons", []string{"wage", "age", "debt"}, map[string]float64{"wage": 300})
		w.masked("visits", []string{"cost", "days"}, map[string]float64{"cost": 40})
		rep := w.released()
		if len(rep.Amounts) != 3 {
			t.Fatalf("%+v", rep.Amounts)
		}
		for _, a := range rep.Amounts {
			for _, k := range a.Risk {
				if k.Alone != k.Joined {
					t.Errorf("seed %d: %s.%s, %s: ± %v alone and ± %v joined, by %v", seed, a.Table, a.Column, k.Target,
						k.Alone.RMSE, k.Joined.RMSE, k.Tells)
				}
			}
		}
	}
}

// TestRulesHoldWithTheJoinedTables: a gate that a table passes by itself refuses all tables where the others tell more
// than its rule allows, and says so in each report; with the sum withheld they pass.
func TestRulesHoldWithTheJoinedTables(t *testing.T) {
	rules := map[string]string{
		"min_rmse":  "{column: wage, knowledge: index, target: typical, min_rmse: 250}",
		"max_exact": "{column: wage, max_exact: {share: 0.3, within: 100}}",
		"alone":     "{column: wage, knowledge: index, target: typical, record: alone, min_rmse: 250}",
	}
	for name, rule := range rules {
		for _, withheld := range []bool{false, true} {
			w := newWorld(t, 7, 300)
			for i := range w.persons { // two in each household
				w.persons[i]["hid"] = float64(min(i/2, len(w.households)-1))
			}
			w.persons = w.persons[:2*len(w.households)]
			w.visits = w.visits[:100]
			wages(w)
			for _, p := range w.persons {
				w.households[int(p["hid"])]["income"] += p["wage"]
			}
			w.masked("households", []string{"income"}, nil)
			w.masked("persons", []string{"wage"}, map[string]float64{"wage": 300})
			w.masked("visits", nil, nil)
			w.tables["persons"] = strings.NewReplacer("inversion: false", "inversion: true", "replicates: 0", "replicates: 20").Replace(
				w.tables["persons"]) +
				"gate: {rules: [" + rule + "]}\n"
			if withheld {
				w.tables["households"] = strings.Replace(w.tables["households"], "income: {role: other", "income: {role: identifier", 1)
			}
			result, err := w.run()
			if err != nil {
				t.Fatal(err)
			}
			rep := result.Report
			if want := !withheld && name != "alone"; result.Refused() != want {
				t.Errorf("%s, withheld %v: refused %v (%s), %+v", name, withheld, result.Refused(), rep.Withheld, rep.Amounts)
			}
			if !rep.Tables[1].Passed {
				t.Errorf("%s, withheld %v: the table does not pass by itself: the test checks nothing", name, withheld)
			}
			joined := 0
			for _, v := range rep.Gate.Rules {
				if strings.Contains(v.Rule, "joined with the other tables") {
					if joined++; v.Passed || v.Column != "wage" || v.Measure != name || !strings.Contains(v.Advice, "another table") {
						t.Errorf("%s: %+v", name, v)
					}
				}
			}
			if (joined > 0) != result.Refused() {
				t.Errorf("%s, withheld %v: %d verdicts, %+v", name, withheld, joined, rep.Gate.Rules)
			}
			if result.Refused() {
				for path := range w.tree() {
					if strings.Contains(path, "release") {
						t.Errorf("%s: there is %s", name, path)
					}
				}
			}
		}
	}
}

// TestCategoriesAreToldByOtherTables: a category that is drawn at random in the table of visits, and that the table of
// persons has as it is, is computed back by whoever joins them.
func TestCategoriesAreToldByOtherTables(t *testing.T) {
	for _, there := range []bool{true, false} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(5, 1)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		rng, persons, visits := rand.New(rand.NewPCG(6, 1)), "pid,hid,ill\n", "vid,pid,why\n"
		ill := map[string]string{}
		for _, p := range c.records("persons.csv") {
			ill[p[0]] = []string{"a", "b", "c"}[rng.IntN(3)]
			told := ill[p[0]]
			if !there {
				told = "x"
			}
			persons += p[0] + "," + p[1] + "," + told + "\n"
		}
		seen := map[string]bool{}
		for _, v := range c.records("visits.csv") {
			if !seen[v[1]] { // one visit each: the draws of several would tell by themselves
				visits += v[0] + "," + v[1] + "," + ill[v[1]] + "\n"
			}
			seen[v[1]] = true
		}
		c.write("persons.csv", persons)
		c.write("visits.csv", visits)
		c.tables["persons"] = "identity: [pid]\ncolumns: {pid: {role: other}, hid: {role: other}, ill: {role: other}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}, {pseudonym: {columns: [hid], scope: household}}]\n"
		c.tables["visits"] = "identity: [vid]\ncolumns: {vid: {role: identifier}, pid: {role: other}, why: {role: sensitive}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}, {pram: {columns: [why], categories: [a, b, c], keep: 0.6}}]\n" +
			"assess: {intruder: {inversion: true}}\ngate: {rules: [{max_posterior: 0.95}]}\n"
		result, err := c.run()
		if err != nil {
			t.Fatal(err)
		}
		joined := 0
		for _, v := range result.Report.Gate.Rules {
			if strings.Contains(v.Rule, "joined with the other tables") && !v.Passed {
				joined++
			}
		}
		if result.Refused() != there || (joined > 0) != there {
			t.Errorf("there %v: refused %v, %+v", there, result.Refused(), result.Report.Gate.Rules)
		}
	}
}

// TestExactlyOfFew: who lives alone has the household's income, and no one else has; max_exact counts these persons.
func TestExactlyOfFew(t *testing.T) {
	w := newWorld(t, 9, 300)
	joins["the sum over the household is released"].make(w)
	w.tables["persons"] = strings.NewReplacer("inversion: false", "inversion: true", "replicates: 0", "replicates: 20").
		Replace(w.tables["persons"]) + "gate: {rules: [{column: wage, max_exact: {share: 0.9, within: 1}}]}\n"
	lone := 0.0
	for _, members := range w.lived() {
		if len(members) == 1 {
			lone += 1 / float64(len(w.persons))
		}
	}
	result, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range result.Report.Amounts {
		for _, e := range a.Exact {
			if e.Within != 1 {
				continue
			}
			// Noise of SD 300 leaves 1 of 400 values within 1, and the draws of a household may happen to be near too.
			if float64(e.Joined) < lone || float64(e.Joined) > lone+0.03 || float64(e.Alone) > 0.03 {
				t.Errorf("%.4v are stated by the table, %.4v joined; %.4v live alone", e.Alone, e.Joined, lone)
			}
			return
		}
	}
	t.Errorf("nothing is said: %+v", result.Report.Amounts)
}

// TestTablesThatAreNotWhole: where a sample does not hold all records of any table, what it tells of another one is not
// known, and the rules of that one do not hold.
func TestTablesThatAreNotWhole(t *testing.T) {
	w := newWorld(t, 9, 300)
	wages(w)
	w.masked("households", nil, nil)
	w.masked("persons", []string{"wage"}, map[string]float64{"wage": 300})
	w.masked("visits", nil, nil)
	w.tables["persons"] = strings.Replace(w.tables["persons"], "replicates: 0", "replicates: 20", 1) +
		"gate: {rules: [{column: wage, target: typical, knowledge: index, min_rmse: 100}]}\n"
	w.tables["visits"] = strings.Replace(w.tables["visits"], "replicates: 0", "replicates: 0, sample: 20", 1)
	result, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	rep, said := result.Report, 0
	for _, v := range rep.Gate.Rules {
		if strings.Contains(v.Rule, "joined with the other tables") {
			if said++; v.Passed || !strings.Contains(v.Advice, `the sample of table "visits" does not hold all records`) {
				t.Errorf("%+v", v)
			}
		}
	}
	if !rep.Tables[1].Passed || said != 1 || len(rep.Amounts) != 1 || rep.Amounts[0].Not == "" ||
		rep.Amounts[0].Risk[0].Joined.R == rep.Amounts[0].Risk[0].Joined.R {
		t.Errorf("%d verdicts, %+v", said, rep.Amounts)
	}
}
