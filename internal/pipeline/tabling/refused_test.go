package tabling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// If records do not provide what a configuration needs, it is refused with its place and without a
// value, by everything that makes tables: a run, an audit, a map. Nothing is written.
func TestTablesThatCannotBeMade(t *testing.T) {
	const (
		source = "version: 1\nsource: {csv: {path: %s/in.csv, types: {id: string, wage: float64}}}\n"
		sink   = "sink: {csv: {path: %s/out.csv}}\n"
		plain  = "tables: [{name: t, rows: [region, size], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n"
		keyed  = "tables: [{name: t, rows: [region, size], unsafe: [{threshold: 2}], protect: {cell_key: {}}}]\n"
		masked = "version: 1\npipeline: %s/p.yaml\n"
	)
	for _, c := range []struct {
		what, text, want string
		keyed            bool // an audit says that it does not judge such a protection
	}{
		{"a variable that follows from another",
			source +
				"tables: [{name: t, rows: [region, size], unsafe: [{threshold: 2}], protect: {suppress: {}}}, {name: u, rows: [size, land], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n" + sink,
			"tables[1].rows[1]: must be one variable with region, whose codes always tell its codes", false},
		{"a variable that follows from a hierarchy",
			source +
				"hierarchies: {land: {total: all}}\ntables: [{name: t, rows: [region, size], unsafe: [{threshold: 2}], protect: {suppress: {}}}, {name: u, rows: [land], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n" + sink,
			"hierarchies.land: must be one variable with region, whose codes always tell its codes: their cells are linked; say so as a hierarchy (columns: [land, region])", false},
		{"codes of other lengths", source + "hierarchies: {region: {prefix: [1, 3]}}\n" + plain + sink,
			"hierarchies.region.prefix: prefix: 4 codes of 2 characters: the last level has 3", false},
		{"no key", source + "key: {file: %s/gone}\nidentity: [id]\n" + keyed + sink, "gone", true},
		{"an identity that is not there", source + "key: {file: %s/key}\nidentity: [idd]\n" + keyed + sink, "identity[0]: ",
			true},
		{"a stream", "version: 1\npipeline: %s/stream.yaml\n" + plain + sink,
			"pipeline: must be a file job: the tables of a topic need windows", false},
		{"a stream that ends", "version: 1\npipeline: %s/ending.yaml\n" + plain + sink,
			"pipeline: must be a file job: the tables of a topic need windows", false},
		{"a column that is not listed",
			masked + "tables: [{name: t, rows: [land], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n" + sink,
			`must be a column that the pipeline lists, got "land"`, false},
	} {
		dir := t.TempDir()
		write(t, dir, "key", testKey)
		// One column's code is taken to determine another's only if more than 20 records agree on it.
		write(t, dir, "in.csv",
			"id,region,land,size,grade,wage\n101,n1,N,small,1,7351.5\n102,n2,N,big,2,7352\n103,s1,S,small,1,7353\n104,s1,S,big,2,7354\n105,n1,N,big,2,7355\n106,s2,S,small,1,7356\n"+strings.Repeat("107,n2,N,small,1,7357\n108,s2,S,big,2,7358\n", 15))
		write(t, dir, "p.yaml",
			strings.ReplaceAll(
				"version: 1\nkey: {file: %s/key}\nsource: {csv: {path: %s/in.csv}}\ncolumns: {id: {role: identifier}, region: {role: key}, size: {role: other}, grade: {role: other}}\n"+
					"unlisted: drop\nmasks: [{pram: {columns: [grade], keep: 0.5, categories: [\"1\", \"2\"]}}]\nsink: {csv: {path: %s/masked.csv}}\n", "%s", dir))
		stream := strings.ReplaceAll(`version: 1
key: {file: %s/key}
source: {kafka: {brokers: ["localhost:9"], topics: [in], group: g}}
columns: {region: {role: other}, size: {role: other}, wage: {role: sensitive, decimals: 2}}
masks: [{noise: {columns: [wage], sd: 3}}]
sink: {kafka: {brokers: ["localhost:9"], topic: out}}
`, "%s", dir)
		write(t, dir, "stream.yaml", stream)
		write(t, dir, "ending.yaml", strings.Replace(stream, "group: g", "until: latest", 1))
		write(t, dir, "table.csv", "region,size,value\n")
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		parsed := func() *tabulation.Config {
			t.Helper()
			tables,
				err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(c.text, "%s", dir)),
				config.Options{Environ: func() []string { return nil }})
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			return tables
		}
		o := pipeline.Options{Version: "test", Log: zerolog.Nop()}
		for who, made := range map[string]func() error{
			"run": func() error { _, err := Run(context.Background(), parsed(), o); return err },
			"map": func() error { _, err := Map(context.Background(), parsed(), o); return err },
			"audit": func() error {
				_, err := Audit(context.Background(), parsed(), Foreign{Path: filepath.Join(dir, "table.csv")}, o)
				return err
			},
		} {
			want := c.want
			if who == "audit" && c.keyed {
				want = "tables[0].protect: must be suppress or none, got cell_key"
			}
			err := made()
			var data *pipeline.DataError
			var faults config.Errors
			if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &data) && !errors.As(err, &faults) {
				t.Errorf("%s, %s: error %v, want %q", c.what, who, err, want)
			}
			if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), dir, ""), "735") {
				t.Errorf("%s, %s: the error contains a value: %v", c.what, who, err)
			}
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("%s: the folder has %d files, want %d as before (error %v)", c.what, len(after), len(before), err)
		}
	}
}

// A variable may have a maximum number of codes read from the records, and not one more. Codes of
// unreadable records do not count.
func TestCodesThatAreReadOff(t *testing.T) {
	c,
		err := tabulation.Parse("t.yaml",
		[]byte(
			"version: 1\nsource: {csv: {path: in.csv}}\ntables: [{name: t, rows: [size], unsafe: [{threshold: 2}], protect: {suppress: {}}}, {name: u, rows: [size, region], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: out.csv}}\n"), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string][]string{}
	for i := range MaxCodes {
		ways[fmt.Sprint(i)] = nil
	}
	s := &survey{ways: map[string]map[string][]string{"region": ways, "size": {}}}
	if err := s.check(&records{config: c}); err != nil {
		t.Errorf("the greatest number of codes: error %v, want none", err)
	}
	more := maps.Clone(ways)
	more["one more"] = nil
	s.ways["region"] = more
	if err := s.check(&records{config: c}); err == nil ||
		err.Error() !=
			(config.Errors{c.Errorf("tables[1].rows[1]", "has more than 100000 codes: it is no variable of a table")}).Error() {
		t.Errorf("one code too many: error %v", err)
	}
	if got := (&records{config: c}).rowPath("nobody"); got != "tables" {
		t.Errorf("rowPath of a variable of no table is %s, want tables", got)
	}

	dir := t.TempDir()
	write(t, dir, "in.csv",
		"region,size,wage\n"+strings.Repeat("n,small,1\nzz,small,canary\nn,big,2\ns,small,3\ns,big,4\nyy,big,canary\n", 2))
	const text = "version: 1\nsource: {csv: {path: %s/in.csv, types: {wage: float64}}}\nunknown: drop\ntables: [{name: t, rows: [region, size], value: wage, unsafe: [{threshold: 2}], protect: {none: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
	if _, err := run(t, dir, text); err != nil {
		t.Fatal(err)
	}
	for _, row := range read(t, dir, "out.csv") {
		if row[1] == "zz" || row[1] == "yy" {
			t.Errorf("the code of a malformed record is in the tables: %v", row)
		}
	}
}

// The number of decimals is the smallest that represents the value exactly, and at least that of
// the previous values. A value that is not a number has no effect.
func TestDecimalsOfValues(t *testing.T) {
	for _, c := range []struct {
		v           float64
		known, want int
	}{
		{0, 0, 0}, {3, 0, 0}, {-2.5, 0, 1}, {1.25, 0, 2}, {1.25, 3, 3}, {1e-9, 0, 9}, {1e-10, 0, -1}, {1.0 / 3, 4, -1},
		{0.1, 9, 9},
		{math.NaN(), 2, 2}, {math.Inf(1), 0, 0}, {math.Inf(-1), 7, 7},
	} {
		if got := decimalsOf(c.v, c.known); got != c.want {
			t.Errorf("decimalsOf(%v, %d) = %d, want %d", c.v, c.known, got, c.want)
		}
	}
}

// For some counts in three dimensions no controlled rounding exists: the configuration
// is refused with an alternative, and nothing is written. In two dimensions one always exists
// (Bacharach 1966: the roundings are flows in a network with integer bounds).
func TestCountsThatCannotBeRoundedUnderControl(t *testing.T) {
	const text = `version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [ROWS], unsafe: [{threshold: 2}], protect: {round: {base: 2, respondents: ignore}}}]
sink: {csv: {path: %s/out.csv}}
`
	rng := rand.New(rand.NewPCG(12, 7))
	refused, made := 0, 0
	for range 200 {
		dir := t.TempDir()
		var rows []string
		for _, a := range "xy" {
			for _, b := range "pq" {
				for _, c := range "kl" {
					for range rng.IntN(4) {
						rows = append(rows, fmt.Sprintf("%c,%c,%c", a, b, c))
					}
				}
			}
		}
		write(t, dir, "in.csv", "a,b,c\n"+strings.Join(rows, "\n")+"\n")
		if _, err := run(t, dir, strings.Replace(text, "ROWS", "a, b", 1)); err != nil {
			t.Fatalf("two dimensions: error %v, want none", err)
		}
		if err := os.Remove(filepath.Join(dir, "out.csv")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		_, err := run(t, dir, strings.Replace(text, "ROWS", "a, b, c", 1))
		if err == nil {
			made++
			continue
		}
		refused++
		var faults config.Errors
		if !errors.As(err, &faults) ||
			!strings.Contains(err.Error(),
				"tables[0].protect.round.mode: must be small, random or nearest for these tables: no rounding takes") {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("refused tables are written (os.Stat returns %v)", err)
		}
		if refused > 0 && made > 0 {
			break
		}
	}
	t.Logf("%d made, %d refused", made, refused)
	if refused == 0 || made == 0 {
		t.Errorf("%d made, %d refused: the test checks nothing", made, refused)
	}
}

// A table with more cells than one batch has each cell once, in order, and a page names it without
// its cells.
func TestTablesOfManyCells(t *testing.T) {
	dir := t.TempDir()
	const n = 256 // and a total: 257 · 257 = 66,049 cells, more than 2¹⁶
	var b strings.Builder
	b.WriteString("a,b\n")
	for i := range n {
		fmt.Fprintf(&b, "a%03[1]d,b%03[1]d\na%03[1]d,b%03[2]d\na%03[1]d,b%03[1]d\na%03[1]d,b%03[2]d\n", i, (i+1)%n)
	}
	write(t, dir, "in.csv", b.String())
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: t, rows: [a, b], unsafe: [{threshold: 2}], protect: {none: {}}}]\nsink: {csv: {path: %s/out.csv}}\nreport: {html: %s/r.html}\n"
	if _, err := run(t, dir, text); err != nil {
		t.Fatal(err)
	}
	rows := read(t, dir, "out.csv")
	seen, sum := map[string]bool{}, 0
	for _, r := range rows[1:] {
		cell := r[1] + "|" + r[2]
		if seen[cell] {
			t.Fatalf("cell %s is twice in the tables", cell)
		}
		seen[cell] = true
		want := "0"
		switch {
		case r[1] == "total" && r[2] == "total":
			want = fmt.Sprint(4 * n)
		case r[1] == "total" || r[2] == "total":
			want = "4"
		default:
			var i, k int
			if _, err := fmt.Sscanf(cell, "a%03d|b%03d", &i, &k); err != nil {
				t.Fatal(err)
			}
			if k == i || k == (i+1)%n {
				want, sum = "2", sum+1
			}
		}
		if r[3] != want {
			t.Fatalf("cell %s is %q, want %s", cell, r[3], want)
		}
	}
	if len(seen) != (n+1)*(n+1) || sum != 2*n {
		t.Errorf("the table has %d cells with the sum %d", len(seen), sum)
	}
	page, err := os.ReadFile(filepath.Join(dir, "r.html"))
	if err != nil ||
		!strings.Contains(string(page), fmt.Sprintf("The table has %d cells, more than a page shows", (n+1)*(n+1))) ||
		strings.Contains(string(page), "a017") {
		t.Errorf("the page is not as expected (error %v, %d bytes)", err, len(page))
	}
}
