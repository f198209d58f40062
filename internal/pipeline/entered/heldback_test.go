package entered_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Tables by a column that no release has hold counts of it back. Whoever knows which places make up an area counts its
// records in those that a release names by place.
func TestReleasedColumnsThatTellHiddenCounts(t *testing.T) {
	racetest.Further(t)
	const rule = "{column: wage, target: typical, min_rmse: 1}, {column: wage, max_unchanged: 1}"
	place := func(i int) int { // 40 places of some 15 records, two of one
		if i < 2 {
			return 40 + i
		}
		return i % 40
	}
	hidden := func(i int) int { // areas, of which two are unsafe
		if i < 4 {
			return i / 2
		}
		return 2 + i%3
	}
	for name, c := range map[string]struct {
		region, area func(rng *rand.Rand, i int) string
		age          func(i, n int) int
		masks        string
		columns      string
		first        string // the columns of a release before
		want         string
	}{
		"a copy": {region: text(func(i int) int { return 7 * hidden(i) }), area: text(hidden), want: "column region, which is released, tells area"},
		"a grouping": {region: text(place), area: text(func(i int) int {
			if p := place(i); p < 40 {
				return p / 10
			}
			return place(i)
		}), want: "column region, which is released, tells area"},
		"a grouping with exceptions": {region: text(place), area: text(func(i int) int {
			p := place(i)
			switch {
			case p >= 40:
				return p
			case i%37 == 3:
				return i / 37 % 4
			}
			return p / 10
		}), want: "column region, which is released, tells area"},
		"one area of places of its own": {region: text(func(i int) int {
			if i < 2 {
				return 40
			}
			return i % 40
		}), area: func(rng *rand.Rand, i int) string {
			if i < 4 {
				return fmt.Sprint("a", i/2)
			}
			return fmt.Sprint("a", 2+rng.IntN(3))
		}, want: "column region, which is released, tells area"},
		"a number in bands": {region: text(place), area: text(hidden), age: func(i, n int) int { return hidden(i)*1000 + i },
			want: "column age, which is released, tells area"},
		"an earlier release": {region: text(place), area: text(place), columns: "age: {role: other}",
			first: "region: {role: key}, age: {role: other}", want: "column region, which is released, tells area"},
		"nothing of it": {region: func(rng *rand.Rand, i int) string { return fmt.Sprint("g", rng.IntN(40)) }, area: text(hidden)},
		"households, of which nobody knows where": {region: text(func(i int) int { return i / 2 }),
			area: text(func(i int) int { return hidden(2 * (i / 2)) })},
		"pseudonyms":               {region: text(place), area: text(place), masks: noise + ", {pseudonym: {columns: [region], scope: place}}"},
		"where it is not released": {region: text(place), area: text(place), columns: "age: {role: other}"},
	} {
		for _, tablesFirst := range []bool{true, false} {
			dir := records(t, 10)
			rng := rand.New(rand.NewPCG(11, 4))
			lines := make([]string, 600)
			for i := range lines {
				age := rng.IntN(2)
				if c.age != nil {
					age = c.age(i, len(lines))
				}
				lines[i] = fmt.Sprintf("p%d,%s,%d,%s,%.2f\n", i, c.region(rng, i), age, c.area(rng, i), 2500+500*rng.NormFloat64())
			}
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			if err := os.WriteFile(filepath.Join(dir, "in.csv"),
				[]byte("pid,region,age,band,wage\n"+strings.ReplaceAll(strings.Join(lines, ""), "area", "band")), 0o600); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "tells area", "tells band")
			masks := c.masks
			if masks == "" {
				masks = noise
			}
			release := func(name, columns string) (passed bool, not string) {
				rep := release{name: name, masks: masks, rule: rule, columns: columns}.run(t, dir)
				return rep.Gate.Passed, rep.Ledger.Not
			}
			if c.first != "" {
				if passed, not := release("a", c.first); !passed {
					t.Fatalf("%s: the first release is withheld: %s", name, not)
				}
			}
			if !tablesFirst {
				if passed, not := release("b", c.columns); !passed {
					t.Fatalf("%s: withheld: %s", name, not)
				}
			}
			made := counted(t, dir, "[band]").Report
			if !tablesFirst || c.first != "" {
				if last := made.Gate.Rules[len(made.Gate.Rules)-1]; made.Gate.Passed != (want == "") || !strings.Contains(last.Advice, want) {
					t.Errorf("tables after records, %s: %+v", name, made.Gate)
				}
				continue
			}
			if text, err := os.ReadFile(filepath.Join(dir, "ledger")); err != nil || !strings.Contains(string(text), `"hidden":[`) {
				t.Fatalf("%s: nothing is held back, %v", name, err)
			}
			if passed, not := release("b", c.columns); passed != (want == "") || !strings.Contains(not, want) || (not == "") != (want == "") {
				t.Errorf("records after tables, %s: passes %v, %q", name, passed, not)
			}
		}
	}
}

// text returns codes of numbers.
func text(of func(i int) int) func(rng *rand.Rand, i int) string {
	return func(_ *rand.Rand, i int) string { return fmt.Sprint("c", of(i)) }
}
