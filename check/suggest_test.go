package check

import "testing"

// A suggestion differs from the word in at most a third of its letters (rounded). Two exchanged
// letters count as one.
func TestSuggestions(t *testing.T) {
	for _, test := range []struct{ word, candidate, want string }{
		{"wgae", "wage", ` (did you mean "wage"?)`},
		{"wages", "wage", ` (did you mean "wage"?)`},
		{"Wage", "wage", ` (did you mean "wage"?)`},
		{"wage", "name", ""},
		{"sensitve", "sensitive", ` (did you mean "sensitive"?)`},
		{"person", "region", ""},
		{"persn", "person", ` (did you mean "person"?)`},
		{"a", "b", ""},
		{"A", "a", ` (did you mean "a"?)`},
		{"a", "bc", ""},
	} {
		if got := Suggest(test.word, []string{"unlike anything", test.candidate}); got != test.want {
			t.Errorf("%q for %q: suggested %q, want %q", test.candidate, test.word, got, test.want)
		}
	}
}
