package referee

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// every calls f for all outcomes that were measured.
func (r *Result) every(f func(name string, o *Outcome)) {
	f("univariate", r.SinglingOut.Univariate)
	f("multivariate", r.SinglingOut.Multivariate)
	f("linkability", r.Linkability)
	for i := range r.Inference {
		f("inference of "+r.Inference[i].Column, &r.Inference[i].Outcome)
	}
	for i := range r.Rarest {
		f("rarest "+r.Rarest[i].Column, &r.Rarest[i].Outcome)
	}
}

func (r *Result) criterion(name string) *Criterion {
	for i := range r.Framework.Criteria {
		if r.Framework.Criteria[i].Criterion == name {
			return &r.Framework.Criteria[i]
		}
	}
	return nil
}

// TestAReleaseThatIsTheOriginal: everything is found, whatever is measured.
func TestAReleaseThatIsTheOriginal(t *testing.T) {
	o := options()
	o.Aux = [][]string{{"wage", "hours", "age"}, {"educ", "region", "job", "sex"}}
	r := mustRun(t, scenario("identical", 1), o)
	r.every(func(name string, o *Outcome) {
		least := 0.98
		switch {
		case name == "linkability":
			least = 0.3 // the second group of columns does not tell people apart
		case strings.HasPrefix(name, "rarest"): // of few
			if o.Attack != nil && o.Attack.Share != 1 {
				t.Errorf("%s: %+v", name, o.Attack)
			}
			return
		}
		if o.Risk == nil || o.Risk.Value < least {
			t.Errorf("%s: %+v", name, o.Risk)
		}
	})
	for _, c := range r.Framework.Criteria {
		if c.Found == nil || !*c.Found {
			t.Errorf("%+v", c)
		}
	}
	if c := r.Closest; c.Share.Share != 1 || c.Original.Same.Share != 1 || c.Excess.Value != 1 || *c.Original.Ratio != 0 ||
		*c.Original.Median != 0 {
		t.Errorf("%+v", c)
	}
	if m := r.Membership; m.AUC.Value < 0.99 || m.Advantage.Value < 0.95 {
		t.Errorf("%+v, %+v", m.AUC, m.Advantage)
	}
	if l := r.Likeness; *l.Marginal != 1 || *l.Pairwise < 1-1e-12 || l.Propensity.PMSE > 1e-12 {
		t.Errorf("%v, %v, %+v", *l.Marginal, *l.Pairwise, l.Propensity)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("%q", r.Warnings)
	}
}

// TestAnIndependentReleaseTellsNothing: over many releases of other people of the population, intervals do not have an
// excess more often than their level says. 40 rounds of 3 criteria, each found with probability at most 0.025 if
// nothing is told; more than 10 of 120 have a probability of 5·10⁻⁴ (Poisson of mean 3), and as many of the 40 rounds'
// intervals of AUC and share that miss have 10⁻⁵ each side.
func TestAnIndependentReleaseTellsNothing(t *testing.T) {
	rounds := uint64(40)
	if testing.Short() {
		rounds = 12
	}
	found, missed := 0, 0
	auc, share, advantage := 0.0, 0.0, 0.0
	for k := range rounds {
		d := &lcg{1000 + k}
		var files [3][]person
		for s, n := range []int{400, 500, 300} {
			for range n {
				files[s] = append(files[s], newPerson(d))
			}
		}
		o := options()
		o.Attempts = 200
		r := mustRun(t, dataOf(files[:]...), o)
		for _, c := range r.Framework.Criteria {
			if *c.Found {
				found++
				t.Log(c.Measured)
			}
		}
		if e := r.Closest; e.Share.Lower > *e.Expected || e.Share.Upper < *e.Expected {
			missed++
		}
		if m := r.Membership.AUC; m.Lower > 0.5 || m.Upper < 0.5 {
			missed++
		}
		auc += r.Membership.AUC.Value / float64(rounds)
		advantage += r.Membership.Advantage.Value / float64(rounds)
		share += r.Closest.Share.Share / float64(rounds)
		if len(r.Warnings) > 0 {
			t.Errorf("%q", r.Warnings)
		}
	}
	if found > 10 || missed > 12 {
		t.Errorf("an excess is found %d times of %d, and %d of %d intervals miss", found, 3*rounds, missed, 2*rounds)
	}
	// SDs of the means of AUC (200 and 200 targets), share and advantage over 12 rounds: 0.0084, 0.010, 0.015; 5 of them.
	if math.Abs(auc-0.5) > 0.042 || math.Abs(share-400.0/700) > 0.05 || math.Abs(advantage) > 0.075 {
		t.Errorf("AUC %v, share %v, advantage %v", auc, share, advantage)
	}
}

// TestResultsRepeat: the same on one processor and on several, and another with another seed.
func TestResultsRepeat(t *testing.T) {
	text := func(seed uint64) string {
		o := options()
		o.Attempts, o.Seed = 300, seed
		out, err := json.Marshal(mustRun(t, scenario("leaky", 3), o))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	many := text(1)
	before := runtime.GOMAXPROCS(1)
	one := text(1)
	runtime.GOMAXPROCS(before)
	if one != many {
		t.Error("the number of processors changes the result")
	}
	if text(2) == many {
		t.Error("the seed has no effect")
	}
}

// TestControlRecordsThatWereUsed: control records among the original ones are no control.
func TestControlRecordsThatWereUsed(t *testing.T) {
	d := scenario("leaky", 3)
	take := func(share int) Data {
		files := Data{Columns: slices.Clone(d.Columns)}
		for j := range files.Columns {
			c := &files.Columns[j]
			v := Values{slices.Clone(c.Sides[Control].Numbers), slices.Clone(c.Sides[Control].Codes)}
			for i := range v.len() {
				if i%100 >= share {
					continue
				}
				if c.Numeric {
					v.Numbers[i] = c.Sides[Original].Numbers[i]
				} else {
					v.Codes[i] = c.Sides[Original].Codes[i]
				}
			}
			c.Sides[Control] = v
		}
		return files
	}
	for share, want := range map[int]struct {
		controlled bool
		words      string
	}{
		0: {true, ""},
		1: {
			true,
			"15 of 1500 control records are equal to an original record in all columns compared, more than chance explains: risks may be understated"},
		30: {
			false,
			"450 of 1500 control records are equal to an original record in all columns compared, more than chance explains: they were used for the release"},
		100: {false, "1500 of 1500 control records"},
	} {
		o := options()
		o.Attempts = 300
		r := mustRun(t, take(share), o)
		if all := strings.Join(r.Warnings, "\n"); r.Controlled != want.controlled || !strings.Contains(all, want.words) ||
			(want.words == "") != (all == "") {
			t.Errorf("%d %%: controlled %v, %q", share, r.Controlled, all)
		}
		r.every(func(name string, o *Outcome) {
			if !r.Controlled && o.Risk != nil && math.Abs(o.Risk.Value-o.Attack.centre) > 1e-12 {
				t.Errorf("%d %%, %s: risk %v is corrected", share, name, o.Risk.Value)
			}
		})
		if got := r.Membership.AUC != nil && r.Closest.Share != nil; got != want.controlled {
			t.Errorf("%d %%: membership is measured: %v", share, got)
		}
		if *r.criterion("inference").Found != true {
			t.Errorf("%d %%: %+v", share, r.criterion("inference"))
		}
	}
}

// TestFilesThatAreTakenForOneAnother: a release that was made of the control records, whether it holds copies of them
// or only resembles them, corrects nothing.
func TestFilesThatAreTakenForOneAnother(t *testing.T) {
	for name, words := range map[string]string{"leaky": "control records are equal to a released record",
		"noisy": "Control records are nearer to the release"} {
		d := scenario(name, 3)
		for j := range d.Columns {
			v := &d.Columns[j].Sides
			v[Original], v[Control] = v[Control], v[Original]
		}
		o := options()
		o.Attempts = 300
		r := mustRun(t, d, o)
		if all := strings.Join(r.Warnings, "\n"); r.Controlled || len(r.Warnings) != 1 || !strings.Contains(all, words) {
			t.Errorf("%s: %q", name, all)
		}
		r.every(func(what string, o *Outcome) {
			if o.Risk != nil && math.Abs(o.Risk.Value-o.Attack.centre) > 1e-12 {
				t.Errorf("%s, %s: risk %v is corrected", name, what, o.Risk.Value)
			}
		})
	}
}

// TestCopiesThatAreUsualAreNoOverlap: in data of few values many control records are equal to an original one.
func TestCopiesThatAreUsualAreNoOverlap(t *testing.T) {
	for _, n := range []int{300, 1500} {
		d := scenario("independent", 9)
		for j := range d.Columns {
			c := &d.Columns[j]
			for s := range c.Sides {
				v := &c.Sides[s]
				for i := range v.Numbers {
					v.Numbers[i] = math.Floor(v.Numbers[i] / 1000)
				}
				for i := range v.Codes {
					v.Codes[i] /= 3
				}
				if Side(s) == Control {
					if c.Numeric {
						v.Numbers = v.Numbers[:n]
					} else {
						v.Codes = v.Codes[:n]
					}
				}
			}
		}
		if r := mustRun(t, d, Options{Attempts: 200, Level: 0.95}); !r.Controlled || len(r.Warnings) > 0 {
			t.Errorf("%d: %q", n, r.Warnings)
		}
	}
}

// TestControlRecordsOfAnotherPopulation are named by their columns.
func TestControlRecordsOfAnotherPopulation(t *testing.T) {
	d := scenario("leaky", 3)
	for i := range d.Columns[0].Sides[Control].Numbers {
		d.Columns[0].Sides[Control].Numbers[i] += 10
	}
	for i := range d.Columns[4].Sides[Control].Codes {
		if i%4 == 0 {
			d.Columns[4].Sides[Control].Codes[i] = 0
		}
	}
	r := mustRun(t, d, options())
	all := strings.Join(r.Warnings, "\n")
	if len(r.Warnings) != 2 || !strings.Contains(all, `differ in "age" by 0.1`) ||
		!strings.Contains(all, `differ in "sex" by 0.1`) {
		t.Errorf("%q", r.Warnings)
	}
}

// TestReleasesThatCannotBeCompared: without control records, with pseudonyms, of one record, of one category, constant.
func TestReleasesThatCannotBeCompared(t *testing.T) {
	d := scenario("leaky", 3)
	without := Data{Columns: slices.Clone(d.Columns)}
	for j := range without.Columns {
		without.Columns[j].Sides[Control] = Values{}
	}
	few := options()
	few.Attempts = 200
	r := mustRun(t, without, few)
	if r.Controlled || r.Closest.Share != nil || r.Membership.Not == "" || r.Linkability.Control != nil ||
		!strings.Contains(strings.Join(r.Warnings, ""), "no control records") {
		t.Errorf("%+v", r)
	}
	if !*r.criterion("inference").Found || math.Abs(r.Inference[0].Risk.Value-r.Inference[0].Attack.centre) > 1e-12 {
		t.Errorf("%+v", r.criterion("inference"))
	}
	if r = mustRun(t, d, Options{Attempts: 100, Level: 0.95}); r.Linkability.Attack != nil ||
		!strings.Contains(r.criterion("linkability").Measured, "were not given") {
		t.Errorf("%+v", r.Linkability)
	}
	if r = mustRun(t, d, Options{Attempts: 100, Level: 0.95, Aux: [][]string{{"age", "sex"}, {"sex"}}}); !strings.Contains(
		r.Linkability.Not, "share one") {
		t.Errorf("%+v", r.Linkability)
	}
	pseudonyms := Data{Columns: slices.Clone(d.Columns)}
	codes := slices.Clone(pseudonyms.Columns[6].Sides[Released].Codes)
	for i := range codes {
		codes[i] += 100
	}
	pseudonyms.Columns[6].Sides[Released].Codes = codes
	if r = mustRun(t, pseudonyms, few); len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], `No released category of "job" occurs`) {
		t.Errorf("%q", r.Warnings)
	}
	one := func(n int) Data { // n records each, all alike
		var files [3][]person
		for s := range files {
			for range n {
				files[s] = append(files[s], person{1, 1, 1, 1, 1, 1, 1})
			}
		}
		return dataOf(files[:]...)
	}
	for _, n := range []int{1, 9, 10, 50} {
		r := mustRun(t, one(n), few)
		if little := n < 10; (r.Closest.Share == nil) != little || (r.Likeness.Marginal == nil) != little ||
			r.Controlled == little {
			t.Errorf("%d records: %+v", n, r)
		}
		r.every(func(name string, o *Outcome) {
			if o.Risk != nil && (o.Risk.Value != o.Risk.Value || r.Controlled && o.Risk.Lower > 0) {
				t.Errorf("%d records, %s: %+v of equal records", n, name, o.Risk)
			}
		})
	}
}

// TestIdentifiersThatWereLeftIn are found by singling out, and with missing values nothing breaks.
func TestIdentifiersThatWereLeftIn(t *testing.T) {
	d := scenario("independent", 4)
	id := Column{Name: "name"}
	for s := range id.Sides {
		for i := range d.Len(Side(s)) {
			code := int32(i)
			if Side(s) == Control {
				code += 10_000
			}
			id.Sides[s].Codes = append(id.Sides[s].Codes, code)
		}
	}
	d.Columns = append(d.Columns, id)
	for s := range sides {
		for i := 0; i < d.Len(s); i += 5 {
			d.Columns[2].Sides[s].Numbers[i] = math.NaN()
			d.Columns[5].Sides[s].Codes[i] = -1
		}
	}
	r := mustRun(t, d, options())
	if c := r.criterion("singling out"); !*c.Found || r.SinglingOut.Univariate.Risk.Lower < 0.5 {
		t.Errorf("%+v", c)
	}
	if len(r.Likeness.LeftOut) != 1 || r.Likeness.Marginals[2].Missing != [2]float64{0.2, 0.2} {
		t.Errorf("%q, %+v", r.Likeness.LeftOut, r.Likeness.Marginals[2])
	}
	out, err := json.Marshal(r)
	if err != nil || strings.Contains(string(out), "NaN") {
		t.Error(err)
	}
}

func TestRunIsRefused(t *testing.T) {
	d := scenario("leaky", 3)
	short := Data{Columns: slices.Clone(d.Columns)}
	short.Columns[1].Sides[Released].Numbers = short.Columns[1].Sides[Released].Numbers[1:]
	mixed := Data{Columns: slices.Clone(d.Columns)}
	mixed.Columns[1].Numeric = false
	empty := dataOf(nil, nil, nil)
	for want, c := range map[string]struct {
		d Data
		o Options
	}{
		"columns: must be at least 1": {Data{}, options()},
		"must have distinct names, got \"age\" twice": {Data{Columns: append(slices.Clone(d.Columns), d.Columns[0])},
			options()},
		"column \"educ\": must have the records":    {short, options()},
		"column \"educ\": must hold numbers in all": {mixed, options()},
		"records: must be at least 1":               {empty, options()},
		"attempts: must be at least 1":              {d, Options{Level: 0.95}},
		"level: must be between 0 and 1":            {d, Options{Attempts: 1, Level: 1}},
		"aux: must be two groups":                   {d, Options{Attempts: 1, Level: 0.9, Aux: [][]string{{"age"}}}},
		"aux: there is no column \"x\"": {
			d, Options{Attempts: 1, Level: 0.9, Aux: [][]string{{"age"}, {"x"}}}},
		"aux: each of the two groups must have a column": {d, Options{Attempts: 1, Level: 0.9, Aux: [][]string{{"age"}, {}}}},
		"known: there is no column \"y\" to compare":     {d, Options{Attempts: 1, Level: 0.9, Known: []string{"y"}}},
		"secrets: there is no column \"z\" to compare":   {d, Options{Attempts: 1, Level: 0.9, Secrets: []string{"z"}}},
		"secrets: column \"age\" is named twice": {
			d, Options{Attempts: 1, Level: 0.9, Secrets: []string{"age", "age"}}},
	} {
		if _, err := Run(t.Context(), c.d, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestKnownAndSecrets: the intruder knows some columns, and a secret is guessed by the other known ones alone.
func TestKnownAndSecrets(t *testing.T) {
	d := scenario("identical", 1)
	r := mustRun(t, d,
		Options{Attempts: 500, Level: 0.95, Known: []string{"age", "wage"}, Secrets: []string{"job", "age"}})
	if len(r.Inference) != 2 || r.Inference[0].Column != "job" || r.Inference[0].Attack.Share < 0.95 ||
		r.Inference[1].Attack.Share < 0.5 || r.Inference[1].Attack.Share > 0.95 {
		t.Errorf("%+v", r.Inference)
	}
	if !strings.Contains(r.Rarest[0].Not, "no column of categories") {
		t.Errorf("%+v", r.Rarest[0])
	}
	r = mustRun(t, d,
		Options{Attempts: 500, Level: 0.95, Known: []string{"age"}, Actor: " the public ",
			Stated: map[string]string{"governance": "none"}})
	if len(r.Inference) != 1 || !strings.Contains(r.Inference[0].Not, "no other column") {
		t.Errorf("%+v", r.Inference)
	}
	f := r.Framework
	if f.Actor != "the public" || len(f.Clauses) != 6 || f.Clauses[5].Stated != "none" ||
		f.Clauses[0].Stated != NotStated {
		t.Errorf("%+v", f)
	}
}
