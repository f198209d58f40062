package attack

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// k of records with pseudonyms counts respondents: those with as many records, all of whose other keys agree. Brute
// force counts them from the file.
func TestPseudonymsAreCountedByTheirRecords(t *testing.T) {
	const keys = "assess: {keys: [weight]}"
	// Records 0 to 99 of 25 times 4: house has three records each but the last, weight differs between records.
	if why := uncounted(t, survey(t, 100, "{pseudonym: {columns: [house], scope: house}}", keys)); !strings.Contains(why,
		"joins records whose other keys differ") {
		t.Errorf("keys differ within a pseudonym: %q", why)
	}
	if why := uncounted(t,
		survey(t, 100, "{pseudonym: {columns: [house], scope: house}}", keys+"\nhousehold: house")); why != "" {
		t.Errorf("a household: %q", why)
	}
	if why := uncounted(t,
		survey(t, 100, "{pseudonym: {columns: [house, region], scope: house}}", "assess: {keys: [house, region]}")); !strings.Contains(why, "one of several pseudonyms") {
		t.Errorf("two pseudonyms: %q", why)
	}
	// By the pseudonym alone: 34 of 100 records in 33 houses of three and one of one.
	for _, c := range []struct {
		n, k int
		keys string
	}{{99, 33, "[house]"}, {100, 1, "[house]"}, {98, 1, "[house]"}, {99, 33, "[region]"}} {
		p := survey(t, c.n, "{pseudonym: {columns: [house], scope: house, form: uuid}}", "assess: {keys: "+c.keys+"}")
		if c.keys == "[region]" { // n, s and w in each house: one of each kind, so they differ
			if why := uncounted(t, p); !strings.Contains(why, "other keys differ") {
				t.Errorf("region: %q", why)
			}
			continue
		}
		r, _, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil || r.Uniqueness == nil || r.Uniqueness.MinFrequency != float64(c.k) {
			t.Errorf("%d records: %v, %+v, want k = %d", c.n, err, r.Uniqueness, c.k)
		}
	}
	// An identifier of one record each is no key: k is that of the other keys.
	p := survey(t, 100, "{pseudonym: {columns: [wage], scope: id}}", "assess: {keys: [region]}")
	r, d, err := Run(t.Context(), p, pipeline.Options{})
	if err != nil || r.Uniqueness.MinFrequency != 33 || len(d.Counted) != 1 {
		t.Errorf("a pseudonym of one record: %v, %d keys", err, len(d.Counted))
	}
}

// uncounted returns why the keys are not counted.
func uncounted(t *testing.T, p *config.Pipeline) string {
	t.Helper()
	_, d, err := Run(t.Context(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Counted {
		if c.Known != nil && c.Known.Not != "" {
			return c.Known.Not
		}
	}
	return ""
}

func TestNumberedRecords(t *testing.T) {
	if got, want := numbered([]int32{7, 8, -1, 7, 9, 8, 7, -1}), []int32{0, 1, -1, 2, 3, 4, 5, -1}; !slices.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want) // 7 three times, 8 twice, 9 once
	}
	if got, want := numbered([]int32{1, 2, 2, 1}), []int32{0, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, c := range []struct {
		units, codes []int32
		same         bool
	}{{[]int32{1, 1, 2}, []int32{5, 5, 6}, true}, {[]int32{1, 1, 2}, []int32{5, 6, 6}, false},
		{[]int32{-1, -1}, []int32{5, 6}, true}, {[]int32{1, 1}, nil, true}, {[]int32{2, 1, 1}, []int32{5, 6, -1}, false}} {
		if got := sameWithin(c.units, c.codes); got != c.same {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
