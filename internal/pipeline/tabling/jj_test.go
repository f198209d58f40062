package tabling

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

const jjTables = "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\nreport: {jj: %s/t.jj}\n" +
	"tables: [{name: t, rows: [a, b], value: v, decimals: 1, unsafe: [{threshold: 2}], interval: {absolute: 1.5}, protect: {PROTECT}}]\n"

// jjOf returns the file of a table with two rows and three columns; one cell has one record, 2.5,
// and one is empty.
func jjOf(t *testing.T, protect string) (dir, text string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "in.csv", "a,b,v\nx,p,2.5\nx,q,3\nx,q,4.5\ny,p,2\ny,p,4\ny,q,2\ny,q,2.5\ny,r,8\ny,r,1\n")
	if _, err := run(t, dir, strings.ReplaceAll(jjTables, "PROTECT", protect)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "t.jj"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(err, info)
	}
	b, err := os.ReadFile(filepath.Join(dir, "t.jj"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, string(b)
}

// The cells without suppression, by hand: value, cost, status, known minimum and maximum,
// protection; then the sums of columns and of rows. The file is also written for a withheld table.
func TestJJByHand(t *testing.T) {
	const want = `0
12
0 29.5 1 s 0.0 29.5 0.0000 0.0000 0.0
1 8.5 1 s 0.0 29.5 0.0000 0.0000 0.0
2 12.0 1 s 0.0 29.5 0.0000 0.0000 0.0
3 9.0 1 s 0.0 29.5 0.0000 0.0000 0.0
4 10.0 1 s 0.0 29.5 0.0000 0.0000 0.0
5 2.5 1 u 0.0 29.5 1.5000 1.5000 0.0
6 7.5 1 s 0.0 29.5 0.0000 0.0000 0.0
7 0.0 1 z 0.0 29.5 0.0000 0.0000 0.0
8 19.5 1 s 0.0 29.5 0.0000 0.0000 0.0
9 6.0 1 s 0.0 29.5 0.0000 0.0000 0.0
10 4.5 1 s 0.0 29.5 0.0000 0.0000 0.0
11 9.0 1 s 0.0 29.5 0.0000 0.0000 0.0
7
0 3 : 0 (-1) 4 (1) 8 (1)
0 3 : 1 (-1) 5 (1) 9 (1)
0 3 : 2 (-1) 6 (1) 10 (1)
0 3 : 3 (-1) 7 (1) 11 (1)
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
0 4 : 4 (-1) 5 (1) 6 (1) 7 (1)
0 4 : 8 (-1) 9 (1) 10 (1) 11 (1)
`
	if _, text := jjOf(t, "none: {}"); text != want {
		t.Errorf("the file is\n%s\nwant\n%s", text, want)
	}
	// With suppression: every cell that is not 0 is known to be at least one unit, 0.1, and costs
	// are by value.
	_, text := jjOf(t, "suppress: {cost: value}")
	lines := strings.Split(text, "\n")
	for i, want := range map[int]string{
		2: "0 29.5 295 s 0.1 29.5 0.0000 0.0000 0.0", 7: "5 2.5 25 u 0.1 29.5 1.5000 1.5000 0.0",
		9: "7 0.0 0 z 0.0 29.5 0.0000 0.0000 0.0",
		8: "6 7.5 75 m 0.1 29.5 0.0000 0.0000 0.0", 11: "9 6.0 60 m 0.1 29.5 0.0000 0.0000 0.0",
		12: "10 4.5 45 m 0.1 29.5 0.0000 0.0000 0.0",
	} {
		if lines[i] != want {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
	}
	if _, text := jjOf(t, "suppress: {zeros: may}"); !strings.Contains(text, "\n7 0.0 1 s 0.0 ") &&
		!strings.Contains(text, "\n7 0.0 1 m 0.0 ") {
		t.Errorf("a cell of value 0 that may be suppressed has another line: %s", text)
	}
}

// The written file is judged like its tables. A pattern of another tool is judged by its suppressed
// cells. A file of other records is refused, with its cells and without a value.
func TestForeignTablesAsJJ(t *testing.T) {
	dir, own := jjOf(t, "suppress: {}")
	audited := func(text string) (*Report, error) {
		t.Helper()
		write(t, dir, "other.JJ", text)
		c,
			err := tabulation.Parse("t.yaml",
			[]byte(strings.ReplaceAll(strings.ReplaceAll(jjTables, "PROTECT", "suppress: {}"), "%s", dir)), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Audit(t.Context(), c, Foreign{Path: filepath.Join(dir, "other.JJ")}, pipeline.Options{})
	}
	rep, err := audited(own)
	if err != nil || !rep.Gate.Passed || rep.Tables[0].Secondary != 3 || rep.Tables[0].Primary != 1 {
		t.Fatalf("the written table itself: error %v, report %+v, want a passed gate", err, rep)
	}
	rep, err = audited(strings.ReplaceAll(own, " m ", " s "))
	if err != nil || rep.Gate.Passed || !slices.Equal(rep.Tables[0].Disclosed, []string{"a=x, b=p"}) {
		t.Errorf("one suppressed cell: error %v, report %+v, want it disclosed", err, rep)
	}
	if rep, err = audited(strings.ReplaceAll(own, " u ", " z ")); err != nil || rep.Gate.Passed ||
		!slices.Contains(rep.Tables[0].Disclosed, "a=x, b=p") {
		t.Errorf("a published unsafe cell: error %v, report %+v, want it disclosed", err, rep)
	}
	for _, c := range []struct{ from, to, want string }{
		{"10 4.5 ", "10 4.6 ", "cell 10, a=y, b=q, has another value than the records give"},
		{"0 4 : 8 (-1)", "0 4 : 4 (-1)", "the sum of a=y, b=total from a=y, b=p on is not there"},
		{"0 4 : 8 (-1)", "0 4 : 4 (-1)", "a=x, b=total has a sum that the tables do not have"},
		{" s ", " w ", "other.JJ:3: field 4 must be the status"},
		{"\n12\n0 29.5", "\n13\n0 29.5 1 s 0 30 0 0 0\n1 29.5", "other.JJ:5: must be a cell of its own"},
		{own, "0\n1\n0 29.5 1 s 0 30 0 0 0\n0\n", "has 1 cells, must have the 12 of the tables"},
		{"0 29.5 ", "0 2.95 ", "cell 0, a=total, b=total, has another value"},
		{own, "table,value\n", "other.JJ:1: must be 0"},
	} {
		_, err := audited(strings.ReplaceAll(own, c.from, c.to))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "4.5") ||
			strings.Contains(err.Error(), "29.5") {
			t.Errorf("%q: error %v, want %q", c.to, err, c.want)
		}
	}
	two,
		err := tabulation.Parse("t.yaml",
		[]byte(
			strings.ReplaceAll(
				"version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\ntables: [{name: t, rows: [a, b], value: v, protect: {none: {}}}, {name: n, rows: [a], protect: {none: {}}}]\n", "%s", dir)), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Audit(t.Context(), two, Foreign{Path: filepath.Join(dir, "t.jj")}, pipeline.Options{}); err == nil ||
		!strings.Contains(err.Error(), "must be CSV, where tables are of several values") {
		t.Error(err)
	}
	if _, err := Audit(t.Context(), two, Foreign{Path: filepath.Join(dir, "gone.jj")}, pipeline.Options{}); err == nil {
		t.Error("a missing file gives no error")
	}
}

// Another tool may number cells differently and write cells and sums in any order: the verdict
// equals that of our own file. If cells cannot be distinguished, and only some of them are
// suppressed, the file is refused.
func TestJJOfOtherNumbers(t *testing.T) {
	dir, own := jjOf(t, "suppress: {}")
	audited := func(dir, text string) (*Report, error) {
		t.Helper()
		write(t, dir, "other.jj", text)
		c,
			err := tabulation.Parse("t.yaml",
			[]byte(strings.ReplaceAll(strings.ReplaceAll(jjTables, "PROTECT", "suppress: {}"), "%s", dir)), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Audit(t.Context(), c, Foreign{Path: filepath.Join(dir, "other.jj")}, pipeline.Options{})
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		for _, text := range []string{own, strings.ReplaceAll(own, " m ", " s ")} {
			want, err := audited(dir, text)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := audited(dir, shuffledJJ(t, rng, text))
			if err != nil {
				t.Fatal(err)
			}
			if rep.Gate.Passed != want.Gate.Passed || !reflect.DeepEqual(rep.Tables, want.Tables) ||
				rep.Families[0].PatternSHA256 != want.Families[0].PatternSHA256 {
				t.Fatalf("seed %d: the report is %+v, want %+v", seed, rep, want)
			}
		}
		for from, to := range map[string]string{" 4.5 ": " 4.0 ", "0 4 : 8 (-1)": "0 4 : 4 (-1)"} {
			_, err := audited(dir, shuffledJJ(t, rng, strings.Replace(own, from, to, 1)))
			if err == nil || !strings.Contains(err.Error(), "in no numbering of its cells") &&
				!strings.Contains(err.Error(), "another value") && !strings.Contains(err.Error(), "sum") ||
				strings.Contains(err.Error(), "4.5") {
				t.Errorf("seed %d, %q: error %v", seed, to, err)
			}
		}
	}
	// Two identical rows: only the numbers of report.jj say which of them is suppressed.
	alike, _ := jjOf(t, "suppress: {}")
	write(t, alike, "in.csv", "a,b,v\nx,p,1\nx,q,2\nx,q,2\ny,p,1\ny,q,2\ny,q,2\n")
	if _, err := run(t, alike, strings.ReplaceAll(jjTables, "PROTECT", "none: {}")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(alike, "t.jj"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), " u ", " z ", 1)
	if _, err := audited(alike, text); err != nil {
		t.Error(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if _, err := audited(alike, shuffledJJ(t, rng, text)); err == nil ||
		!strings.Contains(err.Error(), "which of the cells a=x, b=p; a=y, b=p is held back cannot be told") {
		t.Error(err)
	}
	if _, err := audited(alike, shuffledJJ(t, rng, string(b))); err != nil {
		t.Errorf("all equal cells suppressed: error %v, want none", err)
	}
}

// shuffledJJ gives the cells of a file other numbers, and its lines and sums another order.
func shuffledJJ(t *testing.T, rng *rand.Rand, text string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	n, err := strconv.Atoi(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	number := rng.Perm(3 * n)
	as := func(word string) string {
		k, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.Itoa(number[k])
	}
	for i, line := range lines {
		f := strings.Fields(line)
		switch {
		case i >= 2 && i < 2+n:
			f[0] = as(f[0])
		case i > 2+n:
			for k := 3; k < len(f); k += 2 {
				f[k] = as(f[k])
			}
		}
		lines[i] = strings.Join(f, " ")
	}
	shuffle := func(part []string) {
		rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
	}
	shuffle(lines[2 : 2+n])
	shuffle(lines[3+n:])
	return strings.Join(lines, "\n") + "\n"
}

// The bounds include every value and the required protection (1.5, as integer units 2), also for
// negative values.
func TestJJOfNegativeValues(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "a,b,v\nx,p,-2\nx,q,3\nx,q,4\ny,p,2\ny,p,4\ny,q,1\ny,q,-30\n")
	text := strings.ReplaceAll(strings.ReplaceAll(jjTables, "PROTECT", "none: {}"), "decimals: 1,",
		"decimals: 0, absolute: true,")
	if _, err := run(t, dir, text); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "t.jj"))
	if err != nil || !strings.Contains(string(b), " -2 1 u -460 460 2.000 2.000 0\n") {
		t.Errorf("error %v, or the file is not as expected: %s", err, b)
	}
}
