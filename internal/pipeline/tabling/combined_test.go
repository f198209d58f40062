package tabling

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The long form takes some minutes:
//
//	go test ./internal/pipeline/tabling -run Combine -configurations 2000
var configurations = flag.Int("configurations", 120, "random linked tables that TestNobodyCombinesTables makes")

// inShort is the number of random cases: in the short form a quarter of them.
func inShort(n int) int {
	if testing.Short() {
		return (n + 3) / 4
	}
	return n
}

// linkedTables is a random configuration of linked tables made so that few contributors are in
// several of their small cells.
type linkedTables struct {
	text      string
	records   [][]string // a, b, c, holding, x
	rows      [][]string // of the tables
	holding   bool
	threshold int
	coalition int
}

func drawLinked(rng *rand.Rand) *linkedTables {
	l := &linkedTables{holding: rng.IntN(3) > 0, threshold: 2 + rng.IntN(2), coalition: 1 + rng.IntN(5)/3}
	n := 9 + rng.IntN(12)
	for i := range n {
		l.records = append(l.records, []string{
			fmt.Sprint("a", rng.IntN(3)), fmt.Sprint("b", rng.IntN(2+rng.IntN(2))), fmt.Sprint("c", rng.IntN(3)),
			fmt.Sprint("h", i%(n*2/3)), fmt.Sprint(1 + rng.IntN(60)),
		})
	}
	l.rows = [][]string{{"a", "b"}, {"a", "c"}, {"b", "c"}}[:1+rng.IntN(3)]
	l.text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"
	l.text += fmt.Sprintf("coalition: %d\n", l.coalition)
	if l.holding {
		l.text += "holding: h\n"
	}
	value := ", value: x"
	if rng.IntN(5) == 0 {
		value = ""
	}
	l.text += "tables:\n"
	for i, rows := range l.rows {
		l.text += fmt.Sprintf(
			"  - {name: t%d, rows: [%s]%s, unsafe: [{threshold: %d}], protect: {suppress: {respondents: WHICH}}}\n", i,
			strings.Join(rows, ", "), value, l.threshold)
	}
	return l
}

// cellIn is a published or suppressed cell as an intruder sees it.
type cellIn struct {
	name   string
	codes  map[string]string // without totals
	hidden bool
}

// read reads the published file.
func (l *linkedTables) read(t *testing.T, path string) (cells []cellIn) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := lines[0]
	for _, line := range lines[1:] {
		c := cellIn{codes: map[string]string{}, hidden: line[slices.Index(head, "status")] == "suppressed"}
		var rows []string
		for i := range l.rows {
			if line[0] == fmt.Sprint("t", i) {
				rows = l.rows[i]
			}
		}
		for _, v := range rows {
			code := line[slices.Index(head, v)]
			c.name += v + "=" + code + ", "
			if code != "total" {
				c.codes[v] = code
			}
		}
		c.name = strings.TrimSuffix(c.name, ", ")
		cells = append(cells, c)
	}
	return cells
}

// in reports whether a cell has the combination of codes a, b, c.
func (c *cellIn) in(codes []string) bool {
	for k, v := range []string{"a", "b", "c"} {
		if code, has := c.codes[v]; has && code != codes[k] {
			return false
		}
	}
	return true
}

// who returns the contributors of a cell.
func (l *linkedTables) who(c *cellIn) map[string]bool {
	who := map[string]bool{}
	for i, r := range l.records {
		if !c.in(r) {
			continue
		}
		if l.holding {
			who[r[3]] = true
		} else {
			who[fmt.Sprint(i)] = true
		}
	}
	return who
}

// breaches returns the unsafe cells whose value follows, by linear equations alone, from all published
// cells and from the cells whose contributors are all in one coalition; outsiders are a coalition
// without members. The unknowns are the totals of all combinations of a, b and c. A cell follows if
// it is a linear combination of known ones; this is decided in arithmetic modulo a prime, so that there
// is no rounding.
func (l *linkedTables) breaches(cells []cellIn) (found []string) {
	var atoms [][]string
	for _, a := range []string{"a0", "a1", "a2"} {
		for _, b := range []string{"b0", "b1", "b2"} {
			for _, c := range []string{"c0", "c1", "c2"} {
				atoms = append(atoms, []string{a, b, c})
			}
		}
	}
	vector := func(c *cellIn) []int64 {
		v := make([]int64, len(atoms))
		for i, atom := range atoms {
			if c.in(atom) {
				v[i] = 1
			}
		}
		return v
	}
	public := &span{}
	everybody := map[string]bool{}
	who := make([]map[string]bool, len(cells))
	for i := range cells {
		c := &cells[i]
		who[i] = l.who(c)
		for w := range who[i] {
			everybody[w] = true
		}
		if !c.hidden {
			public.add(vector(c))
		}
	}
	list := []string{}
	for w := range everybody {
		list = append(list, w)
	}
	slices.Sort(list)
	coalitions := [][]string{nil}
	for i, w := range list {
		coalitions = append(coalitions, []string{w})
		for _, o := range list[:i] {
			if l.coalition > 1 {
				coalitions = append(coalitions, []string{w, o})
			}
		}
	}
	for _, k := range coalitions {
		among := func(i int) bool {
			for w := range who[i] {
				if !slices.Contains(k, w) {
					return false
				}
			}
			return len(who[i]) > 0
		}
		known := public.clone()
		for i := range cells {
			if cells[i].hidden && among(i) {
				known.add(vector(&cells[i]))
			}
		}
		for i := range cells {
			if n := len(who[i]); n > 0 && n < l.threshold && !among(i) && (!cells[i].hidden || known.has(vector(&cells[i]))) {
				found = append(found, cells[i].name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// span is a space of vectors modulo a prime, as rows in echelon form.
type span struct{ rows [][]int64 }

const modulus = 2147483647

func (s *span) clone() *span { return &span{slices.Clone(s.rows)} }

func leading(v []int64) int { return slices.IndexFunc(v, func(x int64) bool { return x != 0 }) }

// reduce returns what remains of a vector.
func (s *span) reduce(v []int64) []int64 {
	v = slices.Clone(v)
	for _, row := range s.rows {
		k := leading(row)
		if f := v[k]; f != 0 {
			for i := k; i < len(v); i++ {
				v[i] = (v[i] + (modulus-f)*row[i]) % modulus
			}
		}
	}
	return v
}

func (s *span) has(v []int64) bool { return leading(s.reduce(v)) < 0 }

func (s *span) add(v []int64) {
	v = s.reduce(v)
	k := leading(v)
	if k < 0 {
		return
	}
	inverse, base := int64(1), v[k]
	for e := modulus - 2; e > 0; e >>= 1 { // Fermat
		if e&1 == 1 {
			inverse = inverse * base % modulus
		}
		base = base * base % modulus
	}
	for i := range v {
		v[i] = v[i] * inverse % modulus
	}
	s.rows = append(s.rows, v)
	slices.SortFunc(s.rows, func(a, b []int64) int { return leading(a) - leading(b) })
}

// No contributor, and no coalition as large as the configuration says, can compute an unsafe cell from
// the published tables and from the cells that only they contribute to, in whatever table these are. Where
// tables that are only protected against outsiders allow it, audit-tables names the cell.
func TestNobodyCombinesTables(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(38, 1))
	published, open, pairs := 0, 0, 0
	n := inShort(*configurations)
	for trial := range n {
		l := drawLinked(rng)
		dir := t.TempDir()
		lines := []string{"a,b,c,h,x"}
		for _, r := range l.records {
			lines = append(lines, strings.Join(r, ","))
		}
		write(t, dir, "in.csv", strings.Join(lines, "\n")+"\n")
		safe := strings.Replace(l.text, "WHICH", "protect", -1)
		res, err := run(t, dir, safe)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range res.Report.Tables {
			if len(table.Respondent) > 0 { // the search for a pattern knows all that the audit knows
				t.Errorf("configuration %d: withheld for respondents: %v\n%s", trial, table.Respondent, safe)
			}
		}
		if res.Report.Withheld == "" {
			published++
			if l.coalition > 1 {
				pairs++
			}
			if found := l.breaches(l.read(t, filepath.Join(dir, "out.csv"))); len(found) > 0 {
				t.Fatalf("configuration %d: %v can be computed\n%s\n%s", trial, found, safe, strings.Join(lines, "\n"))
			}
		}
		if res, err = run(t, dir, strings.Replace(l.text, "WHICH", "ignore", -1)); err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			continue
		}
		found := l.breaches(l.read(t, filepath.Join(dir, "out.csv")))
		if len(found) == 0 {
			continue
		}
		open++
		rep, err := Audit(t.Context(), configured(t, dir, safe), Foreign{Path: filepath.Join(dir, "out.csv")},
			pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, table := range rep.Tables {
			named = append(named, table.Respondent...)
		}
		for _, cell := range found {
			if !slices.ContainsFunc(named, func(name string) bool { return same(name, cell) }) {
				t.Fatalf("configuration %d: %s can be computed by a respondent, audit-tables names %v\n%s", trial, cell, named,
					safe)
			}
		}
	}
	t.Logf("%d published, %d of them safe from pairs; %d would be open without asking", published, pairs, open)
	if published < n/3 || pairs < n/20 || open < n/20 {
		t.Errorf("%d published, %d safe from pairs, %d open: the test shows little", published, pairs, open)
	}
}

// same reports whether two names are of the same cell: a cell that tables share has the name of one of
// them, with the codes of its variables.
func same(a, b string) bool {
	codes := func(name string) (list []string) {
		for _, part := range strings.Split(name, ", ") {
			if !strings.HasSuffix(part, "=total") {
				list = append(list, part)
			}
		}
		return list
	}
	return slices.Equal(codes(a), codes(b))
}
