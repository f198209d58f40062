package foreign

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// wages, debts and regions return columns of records in the form that an attack needs.
func wages(in []row) (out []float64) {
	for _, r := range in {
		v := r.wage
		if r.bad {
			v = math.NaN()
		}
		out = append(out, v)
	}
	return out
}

func debts(in []row) (out []float64) {
	for _, r := range in {
		v := r.debt
		if r.bad {
			v = math.NaN()
		}
		out = append(out, v)
	}
	return out
}

// classes numbers the texts of several files in order of first appearance, one file after another.
func classes(of func(row) string, files ...[]row) (out [][]int32) {
	numbers := map[string]int32{}
	for _, in := range files {
		var codes []int32
		for _, r := range in {
			text := of(r)
			code, known := numbers[text]
			if !known {
				code = int32(len(numbers))
				numbers[text] = code
			}
			if r.bad || text == "" {
				code = -1
			}
			codes = append(codes, code)
		}
		out = append(out, codes)
	}
	return out
}

// same reports whether two columns group the records in the same way in all files: codes are names,
// and only their equality counts.
func same(a, b [][]int32) bool {
	there, back := map[int32]int32{-1: -1}, map[int32]int32{-1: -1}
	x, y := slices.Concat(a...), slices.Concat(b...)
	if len(a) != len(b) || len(x) != len(y) {
		return false
	}
	for i := range x {
		if to, known := there[x[i]]; known && to != y[i] {
			return false
		}
		if from, known := back[y[i]]; known && from != x[i] {
			return false
		}
		there[x[i]], back[y[i]] = y[i], x[i]
	}
	return true
}

func equal(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

func region(r row) string { return r.region }
func age(r row) string    { return fmt.Sprint(r.age) }

// picked returns the records at some places.
func picked(in []row, at []int) (out []row) {
	for _, i := range at {
		out = append(out, in[i])
	}
	return out
}

const columnsOfAttack = "id,wage,debt,age,region"

// An attack uses the columns of the files, record by record: by position and by an identifier, with
// records in one file only, with weights and households of the original, and with earlier releases
// in which some records are missing.
func TestAttackOnARelease(t *testing.T) {
	original := rows(500)
	released := masked(original)
	original[2].bad, released[499].bad = true, true
	for i := range released {
		if i%5 == 0 {
			released[i].region = "w"
		}
	}
	for i := range original {
		original[i].debt = float64(1 + i%7) // as a weight: none is missing
	}
	numbers := []string{"wage", "float64", "debt", "float64"}
	for _, byID := range []bool{false, true} {
		t.Run(fmt.Sprint("by identifier ", byID), func(t *testing.T) {
			theirs, earlier := released, masked(released)
			at := make([]int, 500)
			for i := range at {
				at[i] = i
			}
			a := Attack{Keys: []string{"wage"}, Categorical: []string{"age", "region"}, Sensitive: []string{"region"},
				Weight: "debt", Household: "age",
				Options: attack.Options{Targets: 50, Linkage: &attack.Linkage{}, Averaging: true}}
			want, unowned, missing := released, 0, -1
			if byID {
				a.ID = "id"
				// The first and the last record of the original and one in between are not
				// released. Two released records are unknown, and the original of one cannot be
				// read.
				at = slices.Concat(at[1:2], at[3:100], at[101:499])
				want = picked(released, at)
				theirs = shuffled(append(slices.Clone(want), released[2], row{id: "7"}, row{id: "8"}))
				unowned, missing = 3, 20
				earlier = slices.Delete(slices.Clone(earlier), missing, missing+1)
				earlier = shuffled(earlier)
			}
			a.Original, a.Released = file(t, columnsOfAttack, original, numbers...),
				file(t, "region,age,wage,id", theirs, "wage", "float64")
			a.Earlier = []connectors.SourceConfig{file(t, "wage,id", earlier, "wage", "float64"),
				file(t, "id,wage", released, "wage", "float64")}
			progress := new(pipeline.Progress)
			got, err := a.Run(t.Context(), progress)
			if err != nil {
				t.Fatal(err)
			}
			mine := picked(original, at)
			d := got.Data
			if got.Unmatched != 500-len(at) || got.Unowned != unowned || (d.Places != nil) != byID || byID &&
				!slices.Equal(d.Places, at) {
				t.Errorf("%d originals without a released record, %d released records without an original, %d places",
					got.Unmatched, got.Unowned, len(d.Places))
			}
			if malformed := 2; !byID && got.Malformed != malformed || byID && got.Malformed != 1 {
				t.Errorf("%d malformed records", got.Malformed)
			}
			if len(d.Numeric) != 1 || d.Numeric[0].Name != "wage" || !equal(d.Numeric[0].Original, wages(mine)) ||
				!equal(d.Numeric[0].Released, wages(want)) || !slices.Equal(d.Linked, []int{0}) {
				t.Errorf("the numeric keys are not the values of wage")
			}
			for j, of := range []func(row) string{age, region} {
				c := d.Categorical[j]
				if c.Name != []string{"age", "region"}[j] || !same([][]int32{c.Original, c.Released}, classes(of, mine, want)) {
					t.Errorf("the classes of %s are %v and %v", c.Name, c.Original[:10], c.Released[:10])
				}
			}
			if len(d.Categorical) != 2 || len(d.Sensitive) != 1 || d.Sensitive[0].Name != "region" ||
				!same([][]int32{d.Sensitive[0].Original, d.Sensitive[0].Released}, classes(region, mine, want)) {
				t.Errorf("%d categorical and %d sensitive columns, want 2 and 1 (region)", len(d.Categorical), len(d.Sensitive))
			}
			if !equal(d.Weights, debts(mine)) || !same([][]int32{d.Household}, classes(age, mine)) {
				t.Errorf("the weights are %v and the households %v", d.Weights[:10], d.Household[:10])
			}
			before := [][]float64{wages(picked(masked(released), at)), wages(picked(released, at))}
			if missing >= 0 {
				before[0][slices.Index(at, missing)] = math.NaN()
			}
			if len(d.Earlier) != 2 || !equal(d.Earlier[0][0], before[0]) || !equal(d.Earlier[1][0], before[1]) {
				t.Error("the keys of the earlier releases are wrong")
			}
			if got.Result == nil || got.Result.Targets != 50 || got.Result.Linkage == nil || got.Result.Averaging == nil ||
				progress.Phase() != "assess" {
				t.Errorf("the result is %+v in the phase %s", got.Result, progress.Phase())
			}
		})
	}
}

// Without a release only the original is counted. A household is a separate column.
func TestAttackOnAnOriginal(t *testing.T) {
	original := rows(200)
	original[7].bad = true
	a := Attack{Original: file(t, columnsOfAttack, original, "wage", "float64", "id", "string"), ID: "id",
		Categorical: []string{"region", "age"}, Household: "id", Keys: []string{"wage"},
		Earlier: []connectors.SourceConfig{file(t, "id,wage", shuffled(original[:199]), "id", "string", "wage", "float64")}}
	got, err := a.Run(t.Context(), new(pipeline.Progress))
	if err != nil {
		t.Fatal(err)
	}
	d := got.Data
	// The unreadable record has no identity, and so none in the earlier release.
	if got.Malformed != 1 || got.Unmatched != 0 || got.Unowned != 0 || d.Places != nil {
		t.Errorf("%+v, want one malformed record, all matched by position", got)
	}
	if !same([][]int32{d.Categorical[0].Original}, classes(region, original)) ||
		!same([][]int32{d.Categorical[1].Released}, classes(age, original)) {
		t.Error("the categories are wrong")
	}
	if !same([][]int32{d.Household}, classes(func(r row) string { return r.id }, original)) {
		t.Errorf("the households are %v", d.Household[:10])
	}
	want := wages(original)
	want[199] = math.NaN()
	if !equal(d.Earlier[0][0], want) {
		t.Error("the keys of the earlier release are wrong")
	}
}

// Persons are told apart by columns of the original that the release need not have: one of the keys, the household, or
// their own; records without a released one are left out.
func TestPersonsOfAnAttack(t *testing.T) {
	original := rows(60)
	pair := func(rows []row, of ...func(r row) string) []string {
		list := make([]string, len(rows))
		for i, r := range rows {
			for _, f := range of {
				list[i] += f(r) + "/"
			}
		}
		return list
	}
	id := func(r row) string { return r.id }
	for _, c := range []struct {
		person    []string
		household string
		of        []func(r row) string
	}{
		{[]string{"region"}, "", []func(r row) string{region}},
		{[]string{"age", "region"}, "age", []func(r row) string{age, region}},
		{[]string{"id"}, "id", []func(r row) string{id}}, {[]string{"region", "id"}, "age", []func(r row) string{region, id}},
	} {
		a := Attack{Original: file(t, columnsOfAttack, original, "id", "string"),
			Released: file(t, columnsOfAttack, original[:59], "id", "string"), ID: "id",
			Categorical: []string{"region"}, Person: c.person, Household: c.household}
		got, err := a.Run(t.Context(), new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		seen, codes := map[string]int32{}, map[int32]string{}
		for i, who := range pair(original[:59], c.of...) {
			code := got.Data.Person[i]
			if k, again := seen[who]; again && k != code || codes[code] != "" && codes[code] != who {
				t.Fatalf("%q, record %d: person %d", c.person, i, code)
			}
			seen[who], codes[code] = code, who
		}
		if len(got.Data.Person) != 59 || got.Unmatched != 1 || (got.Data.Household != nil) != (c.household != "") {
			t.Errorf("%q: %d records, %d unmatched, households %v", c.person, len(got.Data.Person), got.Unmatched,
				got.Data.Household)
		}
	}
}

// Numbers are the same class in any notation. An infinite number is a missing value. Texts are
// compared as texts if one of the files has texts.
func TestClasses(t *testing.T) {
	c := &category{number: true, values: map[float64]int32{}, texts: map[string]int32{}}
	for _, v := range []struct {
		x    float64
		want int32
	}{{3, 0}, {-1, 1}, {3, 0}, {math.NaN(), -1}, {2.5, 2}, {-1, 1}} {
		if got := c.ofNumber(v.x); got != v.want {
			t.Errorf("the category of %v is %d, want %d", v.x, got, v.want)
		}
	}
	original := rows(30)
	released := slices.Clone(original)
	for _, types := range [][2]string{{"int64", "float64"}, {"string", "int64"}, {"int64", "string"},
		{"string", "string"}} {
		a := Attack{Original: file(t, columnsOfAttack, original, "age", types[0]),
			Released: file(t, columnsOfAttack, released, "age", types[1]), Categorical: []string{"age"}}
		got, err := a.Run(t.Context(), new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		c := got.Data.Categorical[0]
		if !same([][]int32{c.Original, c.Released}, classes(age, original, released)) || slices.Contains(c.Original, -1) {
			t.Errorf("types %v: categories are %v and %v", types, c.Original, c.Released)
		}
	}
}

// Unsuitable files are an error that names the file.
func TestAttackRefuses(t *testing.T) {
	original := rows(30)
	full := func() *csv.SourceConfig { return file(t, columnsOfAttack, original, "region", "string") }
	gone := &csv.SourceConfig{Path: filepath.Join(t.TempDir(), "gone.csv")}
	twice := slices.Clone(original)
	twice[29].id = twice[0].id
	others := slices.Clone(original)
	for i := range others {
		others[i].id = fmt.Sprint(i)
	}
	many := rows(asked.OneToOne + 1)
	for _, c := range []struct {
		name, want string
		a          Attack
		data       bool
	}{
		{"no original", "original: ", Attack{Original: gone}, false},
		{"no release", "released: ", Attack{Original: full(), Released: gone}, false},
		{"the last of the earlier", "earlier (2): ",
			Attack{Original: full(), Released: full(), Earlier: []connectors.SourceConfig{full(), gone}}, false},
		{"no such key", `column "wages" is not in the original file (did you mean column `,
			Attack{Original: full(), Released: full(), Keys: []string{"wage", "wages"}}, true},
		{"no such key in the release", `column "debt" is not in the released file`,
			Attack{Original: full(), Released: file(t, "id,wage", original), Keys: []string{"wage", "debt"}}, true},
		{"no such key in an earlier one", `column "debt" is not in the earlier (2) file`,
			Attack{Original: full(), Released: full(), Earlier: []connectors.SourceConfig{full(), file(t, "id,wage", original)},
				Keys: []string{"debt"}}, true},
		{"a key of text", `column "region" of the original file is string, and must be numeric; count it with --categorical`,
			Attack{Original: full(), Released: full(), Keys: []string{"region"}}, true},
		{"no such class", `column "place" is not in the original file`,
			Attack{Original: full(), Released: full(), Categorical: []string{"region", "place"}}, true},
		{"no such class in the release", `column "region" is not in the released file`,
			Attack{Original: full(), Released: file(t, "id,wage", original), Sensitive: []string{"region"}}, true},
		{"no such weight", `column "w" is not in the original file`, Attack{Original: full(), Released: full(), Weight: "w"},
			true},
		{"a weight of text", `column "region" of the original file is string`,
			Attack{Original: full(), Released: full(), Weight: "region"}, true},
		{"no such household", `column "h" is not in the original file`,
			Attack{Original: full(), Released: full(), Household: "h"}, true},
		{"no such person", `column "p" is not in the original file`,
			Attack{Original: full(), Released: full(), Person: []string{"id", "p"}}, true},
		{"no such identifier", `column "id" is not in the released file`,
			Attack{Original: full(), Released: file(t, "wage", original), ID: "id"}, true},
		{"repeated identity in the release", "released: ",
			Attack{Original: full(), Released: file(t, columnsOfAttack, twice), ID: "id"}, false},
		{"repeated identity in the original", "original: ",
			Attack{Original: file(t, columnsOfAttack, twice), Released: full(), ID: "id"}, false},
		{"repeated identity in an earlier release", "earlier (1): ",
			Attack{Original: full(), Released: full(), Earlier: []connectors.SourceConfig{file(t, columnsOfAttack, twice)},
				ID: "id"}, false},
		{"another number", "the files have different numbers of records",
			Attack{Original: full(), Released: file(t, columnsOfAttack, original[1:])}, true},
		{"another number in an earlier one", "the files have different numbers of records",
			Attack{Original: full(), Released: full(),
				Earlier: []connectors.SourceConfig{file(t, columnsOfAttack, original[1:])}}, true},
		{"nothing in common", "the files have no record in common",
			Attack{Original: full(), Released: file(t, columnsOfAttack, others), ID: "id"}, true},
		{"no records", "the original file has no records",
			Attack{Original: file(t, columnsOfAttack, nil), Released: file(t, columnsOfAttack, nil)}, true},
		{"too small a population", "the population must be at least the 30 released records, got 29",
			Attack{Original: full(), Released: full(), Options: attack.Options{Bayes: &intruder.Options{Population: 29}}}, true},
		{"too many for one to one",
			fmt.Sprintf("one-to-one linkage takes at most %d records, and there are %d", asked.OneToOne, len(many)),
			Attack{Original: file(t, columnsOfAttack, many), Released: file(t, columnsOfAttack, many), Keys: []string{"age"},
				Options: attack.Options{Linkage: &attack.Linkage{OneToOne: true}}}, true},
	} {
		got, err := c.a.Run(t.Context(), new(pipeline.Progress))
		var data *pipeline.DataError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &data) != c.data || got != nil {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	// At the limit both are accepted.
	a := Attack{Original: full(), Released: full(), Keys: []string{"wage"},
		Options: attack.Options{
			Bayes: &intruder.Options{Population: 30, Threshold: 0.5, Keys: []intruder.Key{{Phi: 0, Sigma: 1}}}}}
	if _, err := a.Run(t.Context(), new(pipeline.Progress)); err != nil {
		t.Errorf("a population of as many records as released: %v", err)
	}
	if !reflect.DeepEqual(withoutRepeats([]string{"a", "b", ""}, []string{"b", "c"}), []string{"a", "b", "c"}) {
		t.Error("withoutRepeats does not return each name once")
	}
}

// A record without a sampling weight is an error with its place, the first and the last, by position and by an
// identifier; a weight of 0 is one, and where nothing is estimated by weights nobody asks.
func TestWeightsOfAnAttack(t *testing.T) {
	numbers := []string{"wage", "float64", "debt", "float64"}
	for _, c := range []struct {
		weights map[int]float64
		want    string
	}{
		{nil, ""}, {map[int]float64{3: 0}, ""},
		{map[int]float64{0: -1}, "1 of 40 records have none, the first of them record 1;"},
		{map[int]float64{39: -1e-9, 5: math.Inf(1), 6: math.NaN()}, "3 of 40 records have none, the first of them record 6;"},
		{map[int]float64{39: math.NaN()}, "the first of them record 40;"},
	} {
		original := rows(40)
		for i := range original {
			if original[i].debt = float64(1 + i%7); c.weights != nil {
				if w, given := c.weights[i]; given {
					original[i].debt = w
				}
			}
		}
		for _, o := range []attack.Options{{Uniqueness: &uniqueness.Options{Alpha: 1, K: []int{2}}},
			{Linkage: &attack.Linkage{}, Targets: 5}} {
			for _, id := range []string{"", "id"} {
				a := Attack{ID: id, Keys: []string{"wage"}, Categorical: []string{"region"}, Weight: "debt", Options: o,
					Original: file(t, columnsOfAttack, original, numbers...),
					Released: file(t, columnsOfAttack, masked(original), numbers...)}
				_, err := a.Run(t.Context(), new(pipeline.Progress))
				var data *pipeline.DataError
				if wrong := c.want != "" && o.Uniqueness != nil; wrong != (err != nil) || wrong &&
					(!errors.As(err, &data) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"debt"`)) {
					t.Errorf("weights %v, by %q: error %v, want %q", c.weights, id, err, c.want)
				}
			}
		}
	}
}
