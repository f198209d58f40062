package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// module writes a module of one package with tests, and changes to its folder.
func module(t *testing.T, source, tests string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n",
		"m.go": "package m\n" + source, "m_test.go": "package m\n" + tests} {
		if text == "package m\n" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"))
	t.Setenv("GOWORK", "off")
}

// Every operator, and the omitted places.
func TestOperators(t *testing.T) {
	tests := []struct {
		name, source string
		want         []string
	}{
		{"boundary and negation", "func f(a, b int) bool { return a < b }",
			[]string{"boundary: a < b → a <= b", "negation: a < b → a >= b"}},
		{"equal", "func f(a, b int) bool { return a == b }", []string{"negation: a == b → a != b"}},
		{"not", "func f(a bool) bool { return !a }", []string{"negation: !a → a"}},
		{"condition", "func f(a func() bool) {\n\tif a() {\n\t}\n}", []string{"negation: a() → !a()"}},
		{"and", "func f(a, b, c bool) bool { return a && (b || c) }",
			[]string{"and-or: a && (b || c) → a || (b || c)", "and-or: b || c → b && c"}},
		{"brackets", "func f(a, b, c int) int { return a*b - c }",
			[]string{"arithmetic: a*b - c → (a*b) + c", "arithmetic: a*b → (a / b)"}},
		{"texts are not added", `func f(a, b string) string { return a + b }`, nil},
		{"constant", "func f() (int, float64) { return 2, 0.5 }",
			[]string{"constant: 2 → 3", "constant: 2 → 1", "constant: 0.5 → 1.5", "constant: 0.5 → (-0.5)"}},
		{"a great constant", "func f() (float64, float64) { return 0x1p53, 1e300 }",
			[]string{"constant: 0x1p53 → (9.007199254740991e+15)"}},
		{"the sign of infinity", "import \"math\"\nfunc f() (float64, float64) { return math.Inf(1), math.Inf(-1) }",
			[]string{"constant: 1 → 0"}},
		{
			"which infinity",
			"import \"math\"\nfunc f(a float64) (bool, bool, bool) { return math.IsInf(a, 1), math.IsInf(a, -1), math.IsInf(a, 0) }", []string{"constant: 1 → 0", "constant: 1 → 0", "constant: 0 → 1"}},
		{"bits of a number", "import \"strconv\"\nfunc f(a string) (float64, error) { return strconv.ParseFloat(a, 64) }",
			nil},
		{"cores", "import \"runtime\"\nfunc f() int { return runtime.GOMAXPROCS(0) }", nil},
		{
			"a long wait",
			"import \"time\"\nfunc f() (time.Duration, time.Duration, int) { return 10 * time.Second, 5 * time.Minute, 9 * 8 }",
			[]string{"arithmetic: 10 * time.Second → 10 / time.Second", "arithmetic: 5 * time.Minute → 5 / time.Minute",
				"arithmetic: 9 * 8 → 9 / 8", "constant: 9 → 10", "constant: 9 → 8", "constant: 8 → 9", "constant: 8 → 7"}},
		{"a short wait", "import \"time\"\nfunc f() time.Duration { return 4 * time.Second }",
			[]string{"arithmetic: 4 * time.Second → 4 / time.Second", "constant: 4 → 5", "constant: 4 → 3"}},
		{"truth", "func f() bool { return true }", []string{"constant: true → false"}},
		{"deletion", "func f(a *int, g func()) {\n\t*a = *a\n\tg()\n}",
			[]string{"deletion: *a = *a → nothing", "deletion: g() → nothing"}},
		{"counted", "func f(a *int) { *a += *a }",
			[]string{"deletion: *a += *a → nothing", "arithmetic: *a += *a → *a -= *a"}},
		{"increment", "func f(a *int) { *a++ }", []string{"deletion: *a++ → nothing", "arithmetic: *a++ → *a--"}},
		{"loop", "func f(a int, g func(int)) {\n\tfor i := a; i < a; i++ {\n\t\tg(i)\n\t}\n}",
			[]string{"loop bound: a → (a)-1", "boundary: i < a → i <= a", "negation: i < a → i >= a",
				"deletion: g(i) → nothing"}},
		{"range", "func f(a []int, g func()) {\n\tfor range a {\n\t\tg()\n\t}\n}",
			[]string{"loop bound: a → a[:max(0, len(a)-1)]", "deletion: g() → nothing"}},
		{"error", "func f(e error) (bool, error) { return false, e }",
			[]string{"error to nil: e → nil", "constant: false → true"}},
		{"arguments", "func g(a, b int, c string) {}\nfunc f(a, b int) { g(a, b, \"\") }",
			[]string{"deletion: g(a, b, \"\") → nothing", "swapped arguments: a, b → b, a"}},
		{"order does not matter", "func f(a, b int) int { return max(a, b) }", nil},
		{"texts of errors", "import \"fmt\"\nfunc f(a, b int) error { return fmt.Errorf(\"%d\", a+b) }",
			[]string{"error to nil: fmt.Errorf(\"%d\", a+b) → nil"}},
		{"logs", "import \"log/slog\"\nfunc f(a int) { slog.Info(\"\", \"a\", a+1) }", nil},
		{"panics", "func f(a int) { panic(a + 1) }", nil},
		{"the mode of a file that is not made", "import \"os\"\nfunc f() { os.OpenFile(\"\", os.O_RDWR, 0) }",
			[]string{"deletion: os.OpenFile(\"\", os.O_RDWR, 0) → nothing"}},
		{"the mode of a file that is made", "import \"os\"\nfunc f() { os.OpenFile(\"\", os.O_CREATE, 0) }",
			[]string{"deletion: os.OpenFile(\"\", os.O_CREATE, 0) → nothing", "constant: 0 → 1"}},
		{"capacity", "func f(a int) []int { return make([]int, a, a+1) }", nil},
		{"room", "func f(a []int, n int) bool { return cap(a) < n }", []string{"negation: cap(a) < n → cap(a) >= n"}},
		{"tag and array", "type s struct {\n\ta [4]int `b:\"1\"`\n}", nil},
		{"how a thing prints", "type s int\nfunc (s) String() string { return string(rune(1)) }", nil},
	}
	module(t, "", "")
	for i, test := range tests {
		dir := fmt.Sprintf("p%02d", i)
		if err := errors.Join(os.Mkdir(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "p.go"), []byte("package p\n"+test.source+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := load(t.Context(), "./...")
	if err != nil || len(packages) != len(tests) {
		t.Fatal(len(packages), err)
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, m := range packages[i].mutants() {
				_, text, _ := strings.Cut(m.String(), " ")
				got = append(got, text)
			}
			if !slices.Equal(sorted(got), sorted(test.want)) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}

// A module of one function with tests that miss one boundary: the surviving mutants are known.
func TestFates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds eight programs")
	}
	module(t, `
// F is 1 above 10 and counts down to it from below.
func F(a int) int {
	if a > 10 {
		return 1
	}
	for a < 10 {
		a++
	}
	return a
}

func Never() int { return 3 }
`, `
import "testing"

func TestF(t *testing.T) {
	if F(12) != 1 || F(9) != 10 || F(0) != 10 {
		t.Error("wrong")
	}
}

func TestOther(t *testing.T) {}
`)
	before, err := os.ReadFile("m.go")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := settings{patterns: []string{"."}, n: 100, seed: 1, patience: 2 * time.Second, memory: 6000}
	if err := run(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for place, fate := range map[string]string{
		"5:5 boundary: a > 10 → a >= 10": survived, // 10 itself is not tried
		"5:5 negation: a > 10 → a <= 10": killed,
		"5:9 constant: 10 → 11":          survived,
		"5:9 constant: 10 → 9":           survived,
		"6:10 constant: 1 → 2":           killed,
		"6:10 constant: 1 → 0":           killed,
		"8:6 boundary: a < 10 → a <= 10": killed,
		"8:6 negation: a < 10 → a >= 10": killed,
		"8:10 constant: 10 → 9":          killed,
		"8:10 constant: 10 → 11":         killed,
		"8:10 loop bound: 10 → (10)-1":   killed,
		"9:3 deletion: a++ → nothing":    late,
		"9:3 arithmetic: a++ → a--":      "", // ends at the least number, if the time suffices
		"14:27 constant: 3 → 2":          unreached,
		"14:27 constant: 3 → 4":          unreached,
	} {
		line := strings.TrimSpace(fmt.Sprintf("%-9s m.go:%s", fate, place))
		if !strings.Contains(text, line) {
			t.Errorf("there is no %q", line)
		}
	}
	if !strings.Contains(text, "# 2 tests, ") || !strings.Contains(text, "| `.` | 15 | ") ||
		!strings.Contains(text, " | 3 | 2 | 67 % |\n| all | 15 | ") {
		t.Error("other counts")
	}
	after, err := os.ReadFile("m.go")
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the source was changed: %v", err)
	}
	s.share, s.seed = 0.9, 2
	if err := run(t.Context(), s, &out); err == nil || !strings.Contains(err.Error(), "were killed, wanted 90.0 %") {
		t.Errorf("too few killed: %v", err)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// The sample depends on the seed alone.
func TestSample(t *testing.T) {
	module(t, "func f(a, b int) int {\n"+strings.Repeat("\ta += b\n", 40)+"\treturn a\n}\n", "")
	packages, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	texts := func(s settings) (all []string) {
		for _, m := range sample(s, packages) {
			all = append(all, m.String())
		}
		return all
	}
	one, two := texts(settings{seed: 1}), texts(settings{seed: 2})
	if slices.Equal(one, two) || !slices.Equal(one, texts(settings{seed: 1})) || !slices.Equal(sorted(one), sorted(two)) ||
		len(one) != 80 {
		t.Errorf("%d mutants", len(one))
	}
	if some := texts(settings{seed: 1, file: "m.go:42"}); len(some) != 2 {
		t.Errorf("of one line: %q", some)
	}
}

// A named mutant that the source no longer contains is an error, not a success.
func TestNamed(t *testing.T) {
	module(t, "func f(a, b int) int {\n\ta += b\n\ta += b\n\treturn a\n}\n", "")
	packages, err := load(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	find := func(text string) ([]mutant, error) {
		list, err := changes(text)
		if err != nil {
			return nil, err
		}
		return mutantsNamed(list, ".", packages)
	}
	all, err := find("# a comment\n\n. | return a | return b\n./other | no | text\n. | b\\n\\treturn | c\\n\\treturn\n")
	if err != nil || len(all) != 2 || !strings.HasSuffix(all[0].String(), "m.go:5:9 named: return a → return b") ||
		all[1].with != "c\n\treturn" {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range []string{". | a += b | a -= b", ". | a *= b | a", ". | return a"} {
		if _, err := find(bad); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// timesIn counts a text in files.
func timesIn(t *testing.T, paths []string, text string) (n int) {
	t.Helper()
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		n += bytes.Count(source, []byte(text))
	}
	return n
}

// sourceOf returns the program's files in a folder and, with /..., in those below it.
func sourceOf(t *testing.T, pattern string) (paths []string) {
	t.Helper()
	root, below := strings.CutSuffix(pattern, "/...")
	err := filepath.WalkDir(filepath.FromSlash(root), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != filepath.FromSlash(root) && (!below || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Every named mutant exists. The short form looks for the text alone, without the types of its package.
func TestNamedOfTheProject(t *testing.T) {
	t.Chdir("../..")
	list, err := changes(named)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		for _, c := range list {
			var paths []string
			for _, pattern := range strings.Fields(c.pattern) {
				paths = append(paths, sourceOf(t, pattern)...)
			}
			if n := timesIn(t, paths, c.old); n != 1 {
				t.Errorf("%s has %q %d times, want once", c.pattern, c.old, n)
			}
		}
		return
	}
	for _, pattern := range patternsOf(list) {
		packages, err := load(t.Context(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		all, err := mutantsNamed(list, pattern, packages)
		if err != nil || len(all) == 0 {
			t.Errorf("%d of %s: %v", len(all), pattern, err)
		}
	}
}
