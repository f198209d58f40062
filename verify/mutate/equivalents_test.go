package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const counted = `
// F adds up to a.
func F(a int) (sum int) {
	for i := range a {
		sum += i
	}
	if sum < 10 || sum > 20 {
		sum *= 2
	}
	return sum
}
`

// A mutant equivalent to the program is named by the text in which it begins, and by its change. If
// the text is missing, occurs twice or has no reason, that is an error, and the mutant is not
// excluded.
func TestEquivalent(t *testing.T) {
	module(t, counted, "")
	packages, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	find := func(text string) ([]mutant, error) {
		list, err := equivalences(text)
		if err != nil {
			return nil, err
		}
		return mutantsEquivalent(list, packages)
	}
	const because = " | It is only said so here.\n"
	all, err := find("# a comment\n\nm.go | sum += i | deletion: sum += i → nothing" + because +
		"other/m.go | no such text | deletion: a → b" + because + // of a package without mutants
		`m.go | \t\tsum += i\n\t} | arithmetic: sum += i → sum -= i` + because +
		"m.go | sum > 20 | boundary: sum > 20 → (sum >= 20)" + because +
		"m.go | sum < 10 \\|\\| sum | and-or: sum < 10 \\|\\| sum > 20 → (sum < 10) && sum > 20" + because)
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []string{"m.go:6:3 deletion: sum", "m.go:6:3 arithmetic: ", "m.go:8:17 boundary: ",
		"m.go:8:5 and-or: "} {
		if !strings.HasPrefix(all[i].String(), want) {
			t.Errorf("got %s, want %s", all[i], want)
		}
	}
	for bad, want := range map[string]string{
		"m.go | sum += i | deletion: sum += i → nothing":                         "want a file, a text, a change and a reason",
		"m.go | sum += i | deletion: sum += i → nothing | ":                      "want a file, a text, a change and a reason",
		"m.go | sum += i | deletion: sum += i → nothing |  ":                     "want a file, a text, a change and a reason",
		"m.go | sum += i | deletion: sum += i → nothing | hard":                  "want a reason",
		"m.go | sum += i | deletion: sum += i → nothing | a | reason with a bar": "want a file, a text, a change and a reason",
		"m.go | sum -= i | deletion: sum -= i → nothing" + because:               "0 times, want once",
		"m.go | sum | deletion: sum += i → nothing" + because:                    "times, want once",
		"m.go | sum += i | deletion: sum -= i → nothing" +
			because: "0 times, want once; it has\n\tdeletion: sum += i → nothing\n\tarithmetic: sum += i → sum -= i",
		// begins before the text
		"m.go | += i | deletion: sum += i → nothing" + because:                    "0 times, want once",
		"m.go | for i := range a {\n | loop bound: a → (a)-1 | a reason this is.": "want a file",
	} {
		if _, err := find(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	one := "m.go | sum > 20 | boundary: sum > 20 → (sum >= 20)" + because
	if _, err := find(one + "m.go | sum > 20 { | boundary: sum > 20 → (sum >= 20)" + because); err == nil ||
		!strings.Contains(err.Error(), "in two lines") {
		t.Errorf("twice: %v", err)
	}
}

// The same change occurs twice in a text: it is ambiguous.
func TestEquivalentTwice(t *testing.T) {
	module(t, "func f(a, b int) int {\n\tif a > b || a > b+1 {\n\t\treturn 1\n\t}\n\treturn a\n}\n", "")
	packages, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"return 1": true, "return 1\\n\\t}\\n\\treturn": true, "a > b \\|\\| a": true,
		"a > b+1": true} {
		change := "boundary: a > b → (a >= b)"
		switch text {
		case "a > b+1":
			change = "boundary: a > b+1 → (a >= (b+1))"
		case "return 1", "return 1\\n\\t}\\n\\treturn":
			change = "constant: 1 → 2"
		}
		list, err := equivalences("m.go | " + text + " | " + change + " | So that it is found.")
		if err != nil {
			t.Fatal(err)
		}
		if all, err := mutantsEquivalent(list, packages); (err == nil && len(all) == 1) != want {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
}

// Equivalent mutants are not drawn, first or last. The others keep their order, and another one is
// drawn instead.
func TestEquivalentNotDrawn(t *testing.T) {
	module(t, counted, "")
	packages, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	all, none := drawMutants(settings{n: 100}, sample(settings{seed: 3}, packages), nil)
	if none != 0 || len(all) < 10 {
		t.Fatal(len(all), none)
	}
	for _, at := range []int{0, 1, 4, len(all) - 1} {
		same := map[span]bool{all[at].key(): true}
		for n := 1; n <= len(all); n++ {
			got, over := drawMutants(settings{n: n}, slices.Clone(all), same)
			want, wantOver := slices.Delete(slices.Clone(all), at, at+1), 0
			if n > at {
				wantOver = 1
			}
			if len(got) != min(n, len(want)) || over != wantOver {
				t.Fatalf("%d of which %d is left out: %d, %d passed over", n, at, len(got), over)
			}
			for i := range got {
				if got[i].key() != want[i].key() {
					t.Errorf("%d: got %s, want %s", i, got[i], want[i])
				}
			}
		}
	}
}

// The tool reports how many it omitted, and tries them on request; then a killed one is an error.
func TestEquivalentIsSaid(t *testing.T) {
	module(t, counted, "")
	list, name := equivalent, "equivalent.txt"
	defer func() { equivalent = list }()
	equivalent = "m.go | sum > 20 | boundary: sum > 20 → (sum >= 20) | It is only said so here.\n"
	var out bytes.Buffer
	if err := run(t.Context(), settings{patterns: []string{"."}, n: 100, seed: 3, list: true}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "# 1 of "+name+" are not drawn; 1 of them would have been\n") ||
		strings.Contains(text, "sum >= 20") || !strings.Contains(text, "sum <= 20") {
		t.Error(text)
	}
	out.Reset()
	if err := run(t.Context(), settings{same: true, list: true}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, "m.go:8:17 boundary: sum > 20 → (sum >= 20)\n") {
		t.Errorf("of the list alone: %q", text)
	}
	for _, bad := range []string{
		"m.go", "m.go | sum < 20 | boundary: sum < 20 → (sum <= 20) | It is only said so here.\n"} {
		equivalent = bad
		if err := run(t.Context(), settings{patterns: []string{"."}, n: 1, list: true}, &out); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Every mutant listed as equivalent exists, in the form in which the tool prints it.
// The short form looks for the text alone, without the types of all packages.
func TestEquivalentOfTheProject(t *testing.T) {
	t.Chdir("../..")
	list, err := equivalences(equivalent)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		for _, e := range list {
			if n := timesIn(t, []string{e.file}, e.text); n != 1 {
				t.Errorf("%s has %q %d times, want once", e.file, e.text, n)
			}
		}
		return
	}
	packages, err := load(t.Context(), strings.Join(foldersOf(list), " "))
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutantsEquivalent(list, packages)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(list) || len(list) == 0 {
		t.Errorf("%d lines name %d mutants: a file is not there", len(list), len(all))
	}
	for _, m := range all {
		if !m.compiles() {
			t.Errorf("%s does not compile, so that it need not be named", m)
		}
	}
}
