package attack

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A cell that a mask hides is known to whoever sees it in another released column: the region in the city, in the other
// records of a house, in a date, in the order of the file. k is then counted as if the cell had not been hidden, by
// brute force over all records, and the column counts as computed back. What is not released, or has nothing to do with
// it, tells nothing, and so does the file's order once it is shuffled.
func TestHiddenCellsBesideOtherColumns(t *testing.T) {
	g := rand.New(rand.NewPCG(37, 5))
	const n = 600
	var people [n][]string
	for i := range people {
		house := i * 2 / 7
		region := house * 5 % 12
		people[i] = []string{fmt.Sprint("r", region), string("fm"[g.IntN(2)]), fmt.Sprint("a", g.IntN(30)),
			fmt.Sprint("c", 4*region+house%3), fmt.Sprint("h", house),
			fmt.Sprintf("%d-0%d-%02d", 1960+region, 1+g.IntN(9), 1+g.IntN(28)), fmt.Sprint("x", g.IntN(48)),
			fmt.Sprint(100_000 + g.IntN(900_000)), fmt.Sprintf("%d%02d%d", 10+g.IntN(20), 1+g.IntN(12), 1960+region),
			fmt.Sprint(1000 + g.IntN(4000))}
	}
	sorted := people
	slices.SortFunc(sorted[:], slices.Compare)
	g.Shuffle(n, func(i, j int) { people[i], people[j] = people[j], people[i] })
	for _, c := range []struct {
		people            [n][]string
		columns, more, by string
	}{
		{people, "city: {role: other}", "", "city"},
		{people, "city: {role: other}, pay: {role: sensitive}", "", "city"}, // beside what is measured
		{people, "city: {role: other}", "gate: {rules: [{min_k: 2}]}", "city"},
		{people, "city: {role: other}", "assess: {keys: [region, sex, age], intruder: {uniqueness: {}, inversion: false}}",
			"city"},
		{people, "house: {role: other}", "", "house"},
		{people, "house: {role: identifier}",
			"assess: {keys: [region, sex, age], intruder: {uniqueness: {household: house}, inversion: true}}", "the household"},
		{people, "born: {role: other}", "", "born"},
		{people, "stamp: {role: other}", "", "stamp"},
		{sorted, "x: {role: other}", "", "the order of the records"},
		{sorted, "x: {role: other}", "sink: {csv: {path: DIR/out.csv}, order: shuffled}", ""},
		{people, "x: {role: other}, number: {role: other}", "", ""},
		{people, "city: {role: identifier}", "", ""},
	} {
		dir := t.TempDir()
		rows := "region,sex,age,city,house,born,x,number,stamp,pay\n"
		for _, row := range c.people {
			rows += strings.Join(row, ",") + "\n"
		}
		for name, text := range map[string]string{
			"in.csv": rows, "k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		masks := "{suppress: {keys: [region, sex, age], k: 3, importance: {region: 1, sex: 4, age: 3}}}"
		if strings.Contains(c.columns, "pay:") {
			masks += ", {noise: {columns: [pay], sd: 400}}"
		}
		c.columns += ", region: {role: key}, sex: {role: key}, age: {role: key}"
		if !strings.Contains(c.more, "sink") {
			c.more += "\nsink: {csv: {path: DIR/out.csv}}"
		}
		if !strings.Contains(c.more, "assess") {
			c.more += "\nassess: {keys: [region, sex, age], intruder: {uniqueness: {}, inversion: true}}"
		}
		p,
			err := config.Parse("test.yaml",
			[]byte(
				strings.ReplaceAll("version: 1\nkey: {file: DIR/k}\nsource: {csv: {path: DIR/in.csv}}\ncolumns: {"+c.columns+
					"}\nunlisted: drop\nmasks: ["+masks+"]\n"+
					c.more+"\n", "DIR", dir)), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		r, d, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		region := d.Counted[0]
		filled := slices.Clone(region.Released)
		hidden, shown := 0, 0 // cells, and those that another record of the city, or the house, shows
		place := map[bool]int{true: 3, false: 4}[c.by == "city"]
		exact := c.by == "city" || strings.Contains(c.by, "house")
		for i, y := range region.Released {
			if y >= 0 {
				continue
			}
			hidden++
			if c.by != "" && (!exact || seenIn(place, c.people[:], region.Released, i)) {
				filled[i] = region.Original[i]
				shown++
			}
		}
		if hidden < n/8 {
			t.Fatalf("%+v: only %d cells are hidden", c.columns, hidden)
		}
		least := leastOf(d.Counted, filled)
		told := attack.Told{}
		for _, of := range r.Told {
			if of.Name == "region" {
				told = of
			}
		}
		inverted := r.Inversion != nil && slices.ContainsFunc(r.Identity().InvertedBy, func(s string) bool {
			return strings.HasPrefix(s, "region follows from "+c.by)
		})
		k, all := int(r.Uniqueness.MinFrequency), leastOf(d.Counted, region.Original)
		switch {
		case c.by == "" && (told.Cells > 0 || inverted || k != least):
			t.Errorf("%s %s: %+v, k %d, want %d", c.columns, c.more, told, k, least)
		case c.by == "":
		case told.Hidden != hidden || told.Tells[0] != c.by || exact && told.Cells != shown || 5*told.Cells < 2*shown:
			t.Errorf("%s %s: %+v of %d hidden, %d shown", c.columns, c.more, told, hidden, shown)
		case exact && k != least || k < all || k >= leastOf(d.Counted, region.Released):
			t.Errorf("%s %s: k %d, by brute force with the cells that are told %d, with all %d", c.columns, c.more, k, least,
				all)
		case inverted != (2*told.Cells > hidden) && !strings.Contains(c.more, "inversion: false"):
			t.Errorf("%s %s: computed back %v", c.columns, c.more, r.Identity().InvertedBy)
		}
	}
}

// seenIn reports whether another record of the same place shows a cell.
func seenIn(place int, people [][]string, released []int32, i int) bool {
	for j, y := range released {
		if y >= 0 && people[j][place] == people[i][place] {
			return true
		}
	}
	return false
}

// leastOf counts, for each respondent, the records that do not contradict the keys, with the given cells of the first
// one.
func leastOf(keys []attack.CategoricalColumn, first []int32) int {
	least := len(first)
	for i := range first {
		k := 0
		for j := range first {
			fits := first[j] < 0 || first[j] == keys[0].Original[i]
			for _, c := range keys[1:] {
				y := c.Original[j]
				if c.Released != nil {
					y = c.Released[j]
				}
				fits = fits && (y < 0 || y == c.Original[i])
			}
			if fits {
				k++
			}
		}
		least = min(least, k)
	}
	return least
}

// Values that a mask puts into a coarser coding are known to whoever sees them in another column, if only of some
// records: the age of pupils in their grade. k is then counted, by brute force, by the ages of these.
func TestCoarserKeysBesideOtherColumns(t *testing.T) {
	g := rand.New(rand.NewPCG(37, 7))
	const n = 1500
	var rows strings.Builder
	rows.WriteString("age,sex,grade,number\n")
	age, sex := make([]int, n), make([]int, n)
	for i := range n {
		age[i], sex[i] = g.IntN(80), g.IntN(2)
		grade := ""
		if age[i] >= 6 && age[i] < 18 {
			grade = fmt.Sprint("g", age[i]-6)
		}
		fmt.Fprintf(&rows, "%d,%s,%s,%d\n", age[i], string("fm"[sex[i]]), grade, 100+g.IntN(800))
	}
	for _, c := range []struct {
		columns, masks, intruder string
		told                     bool
	}{
		{"grade: {role: other}", "{recode: {columns: [age], breaks: [0, 20, 40, 60, 120]}}", "categorical: [age], ", true},
		{"grade: {role: other}", "{round: {columns: [age], base: 20}}", "", true},
		{"number: {role: other}", "{recode: {columns: [age], breaks: [0, 20, 40, 60, 120]}}", "categorical: [age], ", false},
		{"grade: {role: identifier}", "{round: {columns: [age], base: 20}}", "", false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"in.csv": rows.String(),
			"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := config.Parse("test.yaml", []byte(strings.ReplaceAll(`version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
sink: {csv: {path: DIR/out.csv}}
columns: {age: {role: key}, sex: {role: key}, `+c.columns+`}
unlisted: drop
masks: [`+c.masks+`]
assess: {keys: [age, sex], intruder: {`+c.intruder+`uniqueness: {}}}
`, "DIR", dir)), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := Run(t.Context(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		band := func(a int) int {
			switch {
			case c.told && a >= 6 && a < 18:
				return 1000 + a
			case strings.Contains(c.masks, "round"):
				return int(math.RoundToEven(float64(a) / 20)) // 10, 30, 50 and 70 are half-way
			}
			return a / 20
		}
		count := map[[2]int]int{}
		for i := range n {
			count[[2]int{band(age[i]), sex[i]}]++
		}
		least := n
		for _, k := range count {
			least = min(least, k)
		}
		if k := int(r.Uniqueness.MinFrequency); k != least || (len(r.Told) > 0) != c.told {
			t.Errorf("%s, %s: k %d, by brute force %d; %+v", c.columns, c.masks, k, least, r.Told)
		}
	}
}
