package attack

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// The weight of the pipeline is the one of uniqueness and of population uniques unless they name another, also where no
// part of the intruder is named. Persons for whom a record stands lower the risk.
func TestWeightOfThePipeline(t *testing.T) {
	run := func(extra string) *attack.Result {
		t.Helper()
		p := survey(t, 120, "", "assess: {keys: [region, age], "+extra)
		r, _, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const categorical = "intruder: {categorical: [age]"
	for _, c := range []struct {
		what, by, explicit string
	}{
		{"uniqueness", categorical + ", uniqueness: {}}}\nweight: weight", categorical + ", uniqueness: {weight: weight}}}"},
		{"another", categorical + ", uniqueness: {weight: weight}}}\nweight: debt",
			categorical + ", uniqueness: {weight: weight}}}"},
		{"population", categorical + ", population: {}}}\nweight: weight", categorical + ", population: {weight: weight}}}"},
		{"by default", categorical + "}}\nweight: weight", ""},
	} {
		got := run(c.by)
		if c.explicit != "" {
			if want := run(c.explicit); !reflect.DeepEqual(got.Uniqueness, want.Uniqueness) ||
				!reflect.DeepEqual(got.Population, want.Population) {
				t.Errorf("%s: other figures than with the weight named there", c.what)
			}
		} else if want := run(categorical + ", uniqueness: {weight: weight}}}"); got.Uniqueness.ExpectedReidentifications != want.Uniqueness.ExpectedReidentifications {
			t.Errorf("%s: %v found, want %v", c.what, got.Uniqueness.ExpectedReidentifications,
				want.Uniqueness.ExpectedReidentifications)
		}
		if none := run(categorical + ", uniqueness: {}}}"); got.Uniqueness != nil &&
			!(got.Uniqueness.ExpectedReidentifications < none.Uniqueness.ExpectedReidentifications) {
			t.Errorf("%s: the weights do not lower the risk", c.what)
		}
	}
	p := survey(t, 60, "", "assess: {keys: [region]}\nweight: house")
	if _, _, err := Run(t.Context(), p, pipeline.Options{}); err == nil ||
		!strings.Contains(err.Error(), "weight: must be a numeric column, and house is") {
		t.Errorf("weights of text: %v", err)
	}
}
