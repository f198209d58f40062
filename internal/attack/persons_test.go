package attack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// waves are eight records of two keys: each tuple is in two records or more, and each of the four persons has two. 0
// and 1 have the same history in another order, and those of 2 and 3 are their own.
func waves() attack.Data {
	a, b := []int32{0, 1, 1, 0, 0, 0, 1, 1}, []int32{5, 5, 5, 5, 5, 5, 5, 5}
	d := ofKeys([2][]int32{a, nil}, [2][]int32{b, nil})
	d.Person = []int32{0, 0, 1, 1, 2, 2, 3, 3}
	return d
}

// Rules about k and individual risk see the worse of single records and of persons; nothing else changes.
func TestRulesSeePersons(t *testing.T) {
	d := waves()
	r := countOf(t, d)
	p := r.Uniqueness.Persons
	if want := []float64{2, 2, 2, 2, 1, 1, 1, 1}; !slices.Equal(p.Frequency, want) || r.Uniqueness.MinFrequency != 4 ||
		p.Uniques != 2 || p.Found != 0.75 {
		t.Fatalf("%+v, k %v", p, r.Uniqueness.MinFrequency)
	}
	id := r.Identity()
	if id.MinK != 1 || id.MaxIndividualRisk != 1 || id.Linked != 0.75 || !id.KByPersons || !id.RiskByPersons ||
		id.Uncounted != "" || id.BySubset[1].MinK != 1 || id.BySubset[1].MaxIndividualRisk != 1 {
		t.Errorf("%+v", id)
	}
	d.Person = nil
	if id := countOf(t, d).Identity(); id.MinK != 4 || id.MaxIndividualRisk != 0.25 || id.Linked != 0.25 ||
		id.KByPersons || id.RiskByPersons || id.BySubset[1].MinK != 4 {
		t.Errorf("of single records %+v", id)
	}
	// Persons of one record are records.
	d.Person = []int32{7, 6, 5, 4, 3, 2, 1, -1}
	if id := countOf(t, d).Identity(); id.MinK != 4 || id.KByPersons || id.RiskByPersons {
		t.Errorf("of persons of one record %+v", id)
	}
	// Other tools' count sees persons too.
	d = waves()
	d.Released = true
	if id := countOf(t, d).Identity(); id.MinK != 1 || !id.KByPersons {
		t.Errorf("counted from the released record %+v", id)
	}
	o := uniqueness.DefaultOptions()
	var text strings.Builder
	d = waves()
	r, err := attack.Run(t.Context(), d, attack.Options{Uniqueness: &o})
	must(t, err)
	must(t, attack.WriteRecords(&text, r, d))
	if rows := strings.Split(text.String(), "\n"); !strings.HasPrefix(rows[0], "record,f_k,F_k,risk,person_k,") ||
		!strings.HasPrefix(rows[1], "0,4,4,0.25,2,") || !strings.HasPrefix(rows[8], "7,4,4,0.25,1,") {
		t.Errorf("%s", text.String())
	}
}

// What cannot be counted of persons is said, and no rule about k, individual risk or links holds: of a sample, of keys
// that are drawn at random, and of those whose masks are not known.
func TestPersonsThatAreNotCounted(t *testing.T) {
	drawn := waves()
	drawn.Categorical[1].Released = []int32{5, 5, 5, 5, 5, 6, 5, 5}
	drawn.Categorical[1].Known = &attack.Known{
		Law: &uniqueness.Law{Row: make([]int32, 8), P: [][]float64{{0, 0, 0, 0, 0, 0.5, 0.5}}}}
	unknown := waves()
	unknown.Categorical[1].Released = []int32{5, 6, 5, 5, 5, 5, 6, 6}
	sample, sampleReleased := waves(), waves()
	sample.Records, sampleReleased.Records, sampleReleased.Released = 9, 9, true
	for name, c := range map[string]struct {
		d    attack.Data
		want string
	}{
		"drawn":                        {drawn, `"b": masks draw at random`},
		"unknown":                      {unknown, `"b": the release has other values in a way that is not known`},
		"sample":                       {sample, "a sample does not hold all records of a person"},
		"sample, as other tools count": {sampleReleased, "a sample does not hold"},
	} {
		r := countOf(t, c.d)
		id := r.Identity()
		if r.Uniqueness == nil || r.Uniqueness.Persons != nil || !strings.Contains(r.PersonsUnmeasured, c.want) ||
			id.MinK == id.MinK || id.MaxIndividualRisk == id.MaxIndividualRisk ||
			id.Linked == id.Linked || id.BySubset != nil || !strings.Contains(id.Uncounted, c.want) || id.KByPersons ||
			id.RiskByPersons {
			t.Errorf("%s: %q, %+v", name, r.PersonsUnmeasured, id)
		}
		o := uniqueness.DefaultOptions()
		r,
			err := attack.Run(t.Context(), c.d,
			attack.Options{Uniqueness: &o, Linkage: &attack.Linkage{Distance: linkage.Gower}})
		if must(t, err); r.Identity().Linked == r.Identity().Linked {
			t.Errorf("%s: links are measured", name)
		}
		c.d.Person = nil
		if r := countOf(t, c.d); r.PersonsUnmeasured != "" || r.Sampled == 0 && r.Identity().MinK != r.Identity().MinK {
			t.Errorf("%s: without persons %q", name, r.PersonsUnmeasured)
		}
	}
}

// Persons are told apart by all columns together, and a record is nobody's only if it lacks them all.
func TestPersonsOfSeveralColumns(t *testing.T) {
	got := attack.Persons([][]int32{{1, 1, 2, -1, -1, 1, 0}, {1, 2, 1, 1, -1, 1, -1}})
	if want := []int32{0, 1, 2, 3, -1, 0, 4}; !slices.Equal(got, want) || !attack.Repeated(got) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, person := range [][]int32{{-1, -1}, {0, 1}, {}} {
		if attack.Repeated(person) {
			t.Errorf("%v repeats nobody", person)
		}
	}
	for _, person := range [][]int32{{0, 0, 1}, {1, 0, 0}} {
		if !attack.Repeated(person) {
			t.Errorf("%v repeats a person", person)
		}
	}
}
