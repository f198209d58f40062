package pipeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
)

// families is a CSV file of n households: their number, a wage and a region of the household (another one
// of a member in some of them), a kind of the person.
func families(t *testing.T, n, differ int, rest string) *config.Pipeline {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 8))
	var text strings.Builder
	text.WriteString("id,wage,region,kind\n")
	var lines []string
	for h := range n {
		wage, region := 1000+r.IntN(5000), "nesw"[r.IntN(4):][:1]
		for m := range 2 + r.IntN(3) {
			own := region
			if m == 1 && h < differ {
				own = "x"
			}
			lines = append(lines, fmt.Sprintf("%d,%d,%s,%d\n", h, wage, own, r.IntN(9)))
		}
		lines = append(lines, fmt.Sprintf("%d,,%s,%d\n", h, region, r.IntN(9))) // a missing wage is no other wage
		lines = append(lines, fmt.Sprintf(",%d,%s,%d\n", r.IntN(5000), "y", r.IntN(9)))
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	text.WriteString(strings.Join(lines, ""))
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return parsed(t, dir, "household: id\n"+rest)
}

// A masked column that is the same within all households needs a level; one that differs in a few of
// them is named; a stratum of a sample that differs in one is an error.
func TestHouseholdsAreLookedAt(t *testing.T) {
	columnsOf := func(wage, region string) string {
		return fmt.Sprintf(
			"columns: {id: {role: identifier}, wage: {role: sensitive%s}, region: {role: key%s}, kind: {role: other}}\n", wage,
			region)
	}
	noise, round := "masks: [{noise: {columns: [wage, kind], sd: 100}}]\n",
		"masks: [{round: {columns: [wage], base: 100}}]\n"
	pram := "masks: [{pram: {columns: [region], keep: 0.9, categories: [n, e, s, w, x, y]}}]\n"
	swap := "masks: [{swap: {columns: [wage], keys: [kind], attribute: region, rate: 0.5}}]\n"
	sample := "masks: [{sample: {by: region, rates: {n: 0.5, e: 0.5, s: 0.5, w: 0.5, x: 0.5, y: 0.5}}}]\n"
	for name, c := range map[string]struct {
		n, differ  int
		rest       string
		want, said string
	}{
		"found": {60, 0, columnsOf("", "") + noise,
			"columns.wage: is the same for all members of each household (in all 60 households", ""},
		"swapped":          {60, 0, columnsOf("", "") + swap, "columns.wage: is the same for all members", ""},
		"household":        {60, 0, columnsOf(", level: household", "") + noise, "", ""},
		"person":           {60, 0, columnsOf(", level: person", "") + noise, "", ""},
		"rounded":          {60, 0, columnsOf("", ", level: person") + round, "", ""},
		"few households":   {2, 0, columnsOf("", "") + noise, "", ""},
		"three households": {3, 0, columnsOf("", "") + noise, "columns.wage: is the same", ""},
		"a few differ": {60, 3, columnsOf("", "") + pram, "",
			"region is the same for all members in 95.0 % of the households"},
		"one differs": {60, 1, columnsOf("", "") + pram, "",
			"region is the same for all members in 98.3 % of the households"},
		"more differ": {60, 4, columnsOf("", "") + pram, "", ""},
		"stratum":     {60, 0, columnsOf("", ", level: household") + sample, "", ""},
		"one stratum torn": {60, 1, columnsOf("", ", level: household") + sample,
			"masks[0].sample.by: must be the same for all members of a household, because the sample draws whole households, and region differs within 1 household", ""},
		"three strata torn": {60, 3, columnsOf("", ", level: household") + sample, "region differs within 3 households", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pl := planFor(t, families(t, c.n, c.differ, c.rest), true)
			err := pl.Settle(t.Context(), new(Progress))
			if text := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(text, c.want) ||
				strings.Contains(text, "kind") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if said := strings.Join(pl.levels, "\n"); (said == "") != (c.said == "") || !strings.Contains(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
	once := planFor(t, families(t, 60, 0, columnsOf("", "")+"profile: DIR/profile.json\n"+noise), true)
	once.Source = readOnce{once.Source}
	if err := once.settleHouseholds(t.Context(), new(Progress)); err != nil ||
		!strings.Contains(strings.Join(once.levels, ""), "members of a household have the same value of wage, kind") {
		t.Errorf("a source that can be read once: %v, said %q", err, once.levels)
	}
	p := families(t, 60, 0, columnsOf("", "")+swap)
	attempt := settling(t, p, func(*Plan) error { return nil })
	calls := new(faulty.Calls)
	_ = attempt(calls)
	for name, n := range faulty.Each(calls.Counts()) {
		if err := attempt(&faulty.Calls{Name: name, N: n}); err == nil && !strings.HasPrefix(name, "close") {
			t.Errorf("%s, call %d fails, but Settle returns no error", name, n)
		}
	}
}

// The household of the pipeline is that of the intruder too, who is given its column.
func TestTheHouseholdIsTheIntrudersToo(t *testing.T) {
	rest := "columns: {id: {role: identifier}, wage: {role: sensitive}, region: {role: key}, kind: {role: key}}\n" +
		"masks: [{round: {columns: [wage], base: 100}}]\n"
	for _, more := range []string{"", "assess: {intruder: {uniqueness: {}}}\n",
		"assess: {intruder: {uniqueness: {household: kind}}}\n"} {
		p := families(t, 60, 0, rest+more)
		want := "id"
		if strings.Contains(more, "kind") {
			want = "kind"
		}
		pl := planFor(t, p, true)
		if got := p.UniquenessHousehold(); got != want || !slices.Contains(pl.Intruder.Carried, pl.Intruder.Index[want]) {
			t.Errorf("%q: the household is %q, carried: %v", more, got, pl.Intruder.Index)
		}
	}
}

// The assessment is told of which columns the members of a household share a draw.
func TestSharedDrawsAreDeclared(t *testing.T) {
	for household, want := range map[string]bool{", level: household": true, ", level: person": false} {
		rest := "columns: {id: {role: identifier}, wage: {role: sensitive" + household +
			"}, region: {role: key}, kind: {role: other, level: person}}\n" +
			"masks: [{noise: {columns: [wage, kind], sd: 100}}]\n"
		for _, c := range planFor(t, families(t, 60, 0, rest), true).Assessed {
			if c.Shared != (want && c.Name == "wage") {
				t.Errorf("%s%s: shared draws %v", c.Name, household, c.Shared)
			}
		}
	}
}
