package attack

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// panel parses a configuration of a CSV file with the columns pid, sub, wave, region and wage. columns are what it says
// of pid.
func panel(t *testing.T, rows, pid, rest string) (*config.Pipeline, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"in.csv": "pid,sub,wave,region,wage\n" + rows,
		"k": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZUY="} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Parse("test.yaml", []byte(fmt.Sprintf(`version: 1
name: test
key: {file: %[1]s/k}
source: {csv: {path: %[1]s/in.csv}}
sink: {csv: {path: %[1]s/out.csv}}
columns: {pid: {%[2]s}, sub: {role: identifier}, wave: {role: key}, region: {role: key}, wage: {role: other}}
%[3]s
`, dir, pid, rest)), config.Options{Environ: func() []string { return nil }})
}

// histories returns the joined k of each record of a file.
func histories(t *testing.T, rows, pid, rest string) []float64 {
	t.Helper()
	p, err := panel(t, rows, pid, rest)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := Run(t.Context(), p, pipeline.Options{})
	if err != nil || r.Uniqueness == nil || r.Uniqueness.Persons == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	return r.Uniqueness.Persons.Frequency
}

// Who is whose: by numbers and texts, by several columns, with a stand-in; a record without a person, with an empty one
// or with a declared code is nobody's. The person may be withheld or a pseudonym, and the key may be recoded or partly
// suppressed.
func TestWhoseRecordsAre(t *testing.T) {
	const asks = "assess: {keys: [region], intruder: {categorical: [wave], uniqueness: {person: [pid]}}}"
	const four = "1,a,1,n,5\n1,a,2,s,6\n2,b,1,s,7\n2,b,2,n,8\n" // both have n and s
	recode := "masks: [{recode: {columns: [region], map: {n: u, s: u, w: u}}}]\n"
	for name, c := range map[string]struct {
		rows, pid, rest string
		want            []float64
	}{
		"numbers": {four, "role: identifier", strings.Replace(asks, "categorical: [wave], ", "", 1),
			[]float64{2, 2, 2, 2}},
		"texts": {strings.NewReplacer("1,a", "x,a", "2,b", "y,b").Replace(four), "role: identifier",
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{2, 2, 2, 2}},
		"the wave is a key": {four, "role: identifier", strings.Replace(asks, "[region]", "[region, wave]", 1),
			[]float64{1, 1, 1, 1}},
		"released": {four, "role: other", strings.Replace(asks, "categorical: [wave], ", "", 1),
			[]float64{2, 2, 2, 2}},
		"a key itself": {four, "role: other",
			"assess: {keys: [region, pid], intruder: {categorical: [pid], uniqueness: {person: [pid]}}}", []float64{1, 1, 1, 1}},
		"pseudonyms": {four, "role: other", "masks: [{pseudonym: {columns: [pid], scope: a}}]\n" +
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{2, 2, 2, 2}},
		"a key of pseudonyms": {four, "role: other",
			"masks: [{pseudonym: {columns: [pid], scope: a}}]\nassess: {keys: [region, pid], intruder: {uniqueness: {person: [pid]}}}", []float64{2, 2, 2, 2}},
		"the last differs": {four + "3,c,1,n,1\n3,c,2,w,2\n", "role: identifier",
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{2, 2, 2, 2, 1, 1}},
		"recoded": {four + "3,c,1,n,1\n3,c,2,w,2\n", "role: identifier",
			recode + strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{3, 3, 3, 3, 3, 3}},
		"unequal numbers": {four + "1,a,3,n,5\n", "role: identifier",
			recode + strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{1, 1, 1, 1, 1}},
		"nobody's": {"1,a,1,n,5\n,a,2,n,6\n,b,1,n,7\n2,b,2,n,8\n", "role: identifier",
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{4, 4, 4, 4}},
		"empty": {"x,a,1,n,5\n\"\",a,2,n,6\n\"\",b,1,n,7\ny,b,2,n,8\n", "role: identifier",
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{4, 4, 4, 4}},
		"a declared code": {"1,a,1,n,5\n-9,a,2,n,6\n-9,b,1,n,7\n2,b,2,n,8\n", "role: identifier, missing: [-9]",
			strings.Replace(asks, "categorical: [wave], ", "", 1), []float64{4, 4, 4, 4}},
		"two columns": {"1,a,1,n,5\n1,b,2,n,6\n1,b,1,n,7\n2,b,2,n,8\n", "role: identifier",
			"assess: {keys: [region], intruder: {uniqueness: {person: [pid, sub]}}}", []float64{2, 1, 1, 2}},
		"one of two": {"1,,1,n,5\n1,,2,n,6\n,b,1,n,7\n,b,2,n,8\n", "role: identifier",
			"assess: {keys: [region], intruder: {uniqueness: {person: [pid, sub]}}}", []float64{2, 2, 2, 2}},
		"a stand-in": {"a,,1,n,5\n,a,2,n,6\nb,c,1,n,7\n,b,2,n,8\n", "role: identifier, same_as: sub",
			"assess: {keys: [region], intruder: {uniqueness: {person: [pid]}}}", []float64{2, 2, 2, 2}},
	} {
		if got := histories(t, c.rows, c.pid, c.rest); !slices.Equal(got, c.want) {
			t.Errorf("%s: joined k %v, want %v", name, got, c.want)
		}
	}
}

// A rule about k of persons is refused, with its place, before the data are read, if a key is drawn at random; so is a
// column that cannot tell persons apart. Without the person the same rule stands.
func TestPersonsThatCannotBeCounted(t *testing.T) {
	const rest = "masks: [{pram: {columns: [region], categories: [n, s], keep: 0.8}}]\nassess: {keys: [region], intruder: {inversion: false, uniqueness: {%s}}}\ngate: {rules: [{%s}]}"
	for _, rule := range []string{"min_k: 2", "max_individual_risk: 0.5", "min_k: 2, combinations: 1"} {
		p, err := panel(t, "1,a,1,n,5\n1,a,2,s,6\n", "role: identifier", fmt.Sprintf(rest, "person: [pid]", rule))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Run(t.Context(), p, pipeline.Options{})
		if name, _, _ := strings.Cut(rule, ":"); err == nil ||
			!strings.Contains(err.Error(),
				"gate.rules[0]."+name+
					": counts all records of a person together (assess.intruder.uniqueness.person), which is not possible for keys that masks draw at random: \"region\"") || !strings.Contains(err.Error(), "test.yaml:") {
			t.Errorf("%s: %v", rule, err)
		}
		if p, err = panel(t, "1,a,1,n,5\n1,a,2,s,6\n", "role: identifier", fmt.Sprintf(rest, "k: [2]", rule)); err != nil {
			t.Fatal(err)
		}
		if _, _, err = Run(t.Context(), p, pipeline.Options{}); err != nil {
			t.Errorf("%s without persons: %v", rule, err)
		}
	}
	// Noise on a key is a draw too; rules about something else, and no rule, say in the result that persons are not
	// counted.
	p,
		err := panel(t, "1,a,1,n,5\n1,a,2,s,6\n", "role: identifier",
		"masks: [{noise: {columns: [wave], sd: 1}}]\nassess: {keys: [region, wave], intruder: {inversion: false, uniqueness: {person: [pid]}}}\ngate: {rules: [{min_k: 2}]}")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = Run(t.Context(), p, pipeline.Options{}); err == nil ||
		!strings.Contains(err.Error(), `draw at random: "wave"`) {
		t.Errorf("noise: %v", err)
	}
	// A draw of another column, which is no key, is none of the rule's concern.
	if p, err = panel(t, "1,a,1,n,5\n1,a,2,s,6\n", "role: identifier",
		strings.NewReplacer("keys: [region]", "keys: [wave]").Replace(fmt.Sprintf(rest, "person: [pid]", "min_k: 2"))); err != nil {
		t.Fatal(err)
	}
	if r, _, err := Run(t.Context(), p, pipeline.Options{}); err != nil || r.Uniqueness.Persons == nil {
		t.Errorf("a draw of another column: %v", err)
	}
	if p, err = panel(t, "1,a,1,n,5\n1,a,2,s,6\n", "role: identifier",
		fmt.Sprintf(rest, "person: [pid]", "max_changed: 1")); err != nil {
		t.Fatal(err)
	}
	r, _, err := Run(t.Context(), p, pipeline.Options{})
	if err != nil || r.Uniqueness.Persons != nil || !strings.Contains(r.PersonsUnmeasured, "masks draw at random") {
		t.Errorf("%v, %+v", err, r)
	}
}

// Of two pseudonyms that join records, what both tell together is not counted, though one is that of the person: rules
// about k do not hold. Persons are counted for the limits of rules too.
func TestPersonBesideAnotherPseudonym(t *testing.T) {
	const rows = "1,a,1,n,5\n1,b,2,n,6\n2,a,1,n,5\n2,b,2,n,6\n"
	const rest = "masks: [{pseudonym: {columns: [%s], scope: a}}]\nassess: {keys: [region], intruder: {inversion: false, uniqueness: {person: [pid]}}}\ngate: {rules: [{min_k: 4}]}"
	for pseudonyms, uncounted := range map[string]bool{"pid": false, "pid, wage": true} {
		p, err := panel(t, rows, "role: other", fmt.Sprintf(rest, pseudonyms))
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil || (len(r.Uncounted) > 0) != uncounted || math.IsNaN(float64(r.Identity().MinK)) != uncounted {
			t.Fatalf("%s: %v, %+v, k %v", pseudonyms, err, r.Uncounted, r.Identity().MinK)
		}
		if v := r.Uniqueness.Persons.Violations; !uncounted && (len(v) != 4 || v[4] != 2 || v[2] != 0) {
			t.Errorf("persons below k: %v", v)
		}
	}
}

// That records of one respondent are judged one by one is said if identity repeats and keys are counted, and not
// otherwise.
func TestRecordsAreJudgedApart(t *testing.T) {
	for name, c := range map[string]struct {
		rows, rest string
		want       bool
	}{
		"repeated": {"1,a,1,n,5\n2,b,1,n,6\n1,a,2,s,7\n", "identity: [pid]\nassess: {keys: [region]}", true},
		"the last": {"1,a,1,n,5\n2,b,1,n,6\n2,a,2,s,7\n", "identity: [pid]\nassess: {keys: [region]}", true},
		"masked numbers": {"1,a,1,n,5\n2,b,1,n,6\n2,a,2,s,7\n",
			"identity: [pid]\nmasks: [{noise: {columns: [wage], sd: 1}}]\nassess: {keys: [region]}", true},
		"once each":      {"1,a,1,n,5\n2,b,1,n,6\n3,a,2,s,7\n", "identity: [pid]\nassess: {keys: [region]}", false},
		"with the other": {"1,a,1,n,5\n2,b,1,n,6\n1,b,2,s,7\n", "identity: [pid, sub]\nassess: {keys: [region]}", false},
		"nobody's":       {"1,a,1,n,5\n,b,1,n,6\n,a,2,s,7\n", "identity: [pid]\nassess: {keys: [region]}", false},
		"no identity":    {"1,a,1,n,5\n2,b,1,n,6\n1,a,2,s,7\n", "assess: {keys: [region]}", false},
		"counted together": {"1,a,1,n,5\n2,b,1,n,6\n1,a,2,s,7\n",
			"identity: [pid]\nassess: {keys: [region], intruder: {uniqueness: {person: [pid]}}}", false},
		"nothing is counted": {"1,a,1,n,5\n2,b,1,n,6\n1,a,2,s,7\n",
			"identity: [pid]\nassess: {keys: [wage], intruder: {linkage: {}}}", false},
		"by something else": {"1,a,1,n,5\n2,b,1,n,6\n1,a,2,s,7\n",
			"identity: [pid]\nassess: {keys: [region], intruder: {uniqueness: {person: [sub]}}}", false},
		"the person repeated": {"1,a,1,n,5\n2,b,1,n,6\n3,a,2,s,7\n",
			"identity: [pid]\nassess: {keys: [region], intruder: {uniqueness: {person: [sub]}}}", false},
	} {
		p, err := panel(t, c.rows, "role: identifier", c.rest)
		if err != nil {
			t.Fatal(err)
		}
		if r, _, err := Run(t.Context(), p, pipeline.Options{}); err != nil || r.Apart != c.want {
			t.Errorf("%s: %v, judged apart %v", name, err, r != nil && r.Apart)
		}
	}
}

// filled takes the second column where the first has nothing: null or an empty text, first and last.
func TestStandInForAPerson(t *testing.T) {
	nan, empty := math.NaN(), microdata.CategoryCode(nil)
	values := []float64{nan, 1, empty, 2, nan}
	if got := filled(values, []float64{7, 8, 9, 10, 11}); !slices.Equal(got, []float64{7, 1, 9, 2, 11}) || values[0] == 7 {
		t.Errorf("%v", got)
	}
	if got := codesOfPersons([]float64{empty, 5, nan, 3, empty}); !slices.Equal(got, []int32{-1, 1, -1, 0, -1}) {
		t.Errorf("%v", got)
	}
}
