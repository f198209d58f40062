package pipeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
)

// settled is a CSV file of n households in two regions of three districts each, with a postcode for each district, a
// code that only households of region 1 have with a probability, and one of its own for each household.
func settled(t *testing.T, n int, coded float64, sorted bool, rest string) *config.Pipeline {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(2, 8))
	var lines []string
	for h := range n {
		region := r.IntN(2)
		district := 3*region + r.IntN(3)
		code := "none"
		if region == 1 && r.Float64() < coded {
			code = "council"
		}
		for range 1 + r.IntN(3) {
			lines = append(lines,
				fmt.Sprintf("%d,r%d,d%d,p%d,%s,%d,%d\n", h, region, district, district, code, 10_000+h, r.IntN(5)))
		}
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for kind, own := range map[string]func(district, number string) string{ // district by district
		"numbered": func(d, n string) string { return "1" + d + n },
		"lettered": func(d, n string) string { return "case-24-" + string("KXAMZB"[d[0]-'0']) + "-" + n },
		"behind":   func(d, n string) string { return "h" + n + "@" + string("KXAMZB"[d[0]-'0']) },
		"by the date": func(d, n string) string {
			return fmt.Sprintf("202%s-1%s-2%s", d, n[len(n)-1:][:1], n[len(n)-2:][:1])
		},
	} {
		if !strings.Contains(rest, kind) {
			continue
		}
		for i, line := range lines {
			f := strings.Split(line, ",")
			lines[i] = fmt.Sprintf("%s,%s,%s,%s,%s,%s,%s", f[0], f[1], f[2], f[3], f[4], own(f[2][1:], f[5]), f[6])
		}
		rest = strings.Replace(rest, kind, "other", 1)
	}
	if sorted {
		lines = nil
		for d := range 6 {
			for h := range n / 6 {
				lines = append(lines, fmt.Sprintf("%d,r%d,d%d,p%d,none,%d,%d\n", n*d+h, d/3, d, d, r.IntN(1_000_000), r.IntN(5)))
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"),
		[]byte("id,region,district,postcode,code,own,age\n"+strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return parsed(t, dir, "household: id\n"+rest)
}

// A column that leaves unchanged and tells where a household lives, and an order of the records that does, undo a
// record swap.
func TestAreasThatOthersTell(t *testing.T) {
	const columns = "columns: {id: {role: identifier}, region: {role: key}, district: {role: key}, postcode: {role: %s}, code: {role: other}, own: {role: other}, age: {role: key}}\n"
	const mask = "masks: [{recordswap: {hierarchy: [region, district], risk: [age], rate: 0.1, carry: [%s]}}]\n"
	for name, c := range map[string]struct {
		coded       float64
		sorted      bool
		role, carry string
		recoded     bool
		want, said  string
	}{
		"told": {0, false, "other", "", false,
			"masks[0].recordswap: is undone by postcode, which leaves unchanged: 100 % of the households have a value of it that occurs in one region, or near others of it alone", ""},
		"carried":      {0, false, "other", "postcode", false, "", ""},
		"not released": {0, false, "identifier", "", false, "", ""},
		"masked":       {0, false, "other", "", true, "", ""},
		"in part": {0.2, false, "other", "postcode", false, "",
			"masks[0].recordswap: code leaves unchanged, and 11 % of the households"},
		"more than all": {1.0, false, "other", "postcode", false, "is undone by code", ""},
		"numbered":      {0, false, "numbered", "postcode", false, "is undone by own, which leaves unchanged: 100 %", ""},
		"lettered":      {0, false, "lettered", "postcode", false, "is undone by own, which leaves unchanged: 99 %", ""},
		"behind":        {0, false, "behind", "postcode", false, "is undone by own, which leaves unchanged: 99 %", ""},
		"by the date":   {0, false, "by the date", "postcode", false, "is undone by own, which leaves unchanged:", ""},
		"ordered": {0, true, "other", "postcode", false,
			"is undone by the order of the records, which is that of the source: 100 %", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rest := fmt.Sprintf(columns, c.role) + fmt.Sprintf(mask, c.carry)
			if c.recoded {
				rest = strings.Replace(rest, "masks: [", "masks: [{recode: {columns: [postcode], map: {p0: x}, other: y}}, ", 1)
			}
			pl := planFor(t, settled(t, 600, c.coded, c.sorted, rest), true)
			err := pl.Settle(t.Context(), new(Progress))
			text := fmt.Sprint(err)
			if (err == nil) != (c.want == "") || !strings.Contains(text, c.want) ||
				strings.Contains(text, "own") != strings.Contains(c.want, "own") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if said := strings.Join(pl.levels, "\n"); (said == "") != (c.said == "") || !strings.Contains(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
	rest := fmt.Sprintf(columns, "other") + fmt.Sprintf(mask, "postcode")
	shuffled := settled(t, 600, 0, true, rest)
	shuffled.Sink.Order = "shuffled"
	if err := planFor(t, shuffled, true).Settle(t.Context(), new(Progress)); err != nil {
		t.Errorf("a shuffled release: %v", err)
	}
	attempt := settling(t, settled(t, 60, 0, false, rest), func(*Plan) error { return nil })
	calls := new(faulty.Calls)
	_ = attempt(calls)
	for name, n := range faulty.Each(calls.Counts()) {
		if err := attempt(&faulty.Calls{Name: name, N: n}); err == nil && !strings.HasPrefix(name, "close") {
			t.Errorf("%s, call %d fails, but Settle returns no error", name, n)
		}
	}
}

// A value that few households have tells their area by chance, and is not counted; one of many is.
func TestToldBeyondChance(t *testing.T) {
	for _, c := range []struct {
		share float64 // of the area
		n     float64 // households with the value
		told  bool
	}{{0.1, 2, false}, {0.09, 3, true}, {0.5, 7, false}, {0.5, 8, true}, {0.9, 44, false}, {0.9, 46, true},
		{1, 1000, false}} {
		x := newTold(1, 1)
		x.n = 10_000
		x.areas[0] = map[float64]float64{1: c.share * 10_000}
		x.values[0] = map[float64]*toldBy{7: {n: c.n, areas: []float64{1}}}
		if _, share := x.share(0); (share > 0) != c.told {
			t.Errorf("%v households in an area of %v: told %v", c.n, c.share, share)
		}
	}
}
