package filejob

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// wave is one file of a panel: its records by person, and its columns.
type wave struct {
	header string
	rows   map[string][]string
	order  []string
}

// twoWaves are 600 persons in 200 households, and the same a year later: some have left and others have come, all are
// in another order, every second wage and every third region has changed, and all else is as it was.
func twoWaves() (first, second wave) {
	rng := rand.New(rand.NewPCG(31, 32))
	first = wave{header: "id,hh,wage,rent,region,visit,lat,lon,card", rows: map[string][]string{}}
	second = wave{header: first.header, rows: map[string][]string{}}
	rents := map[string]string{}
	for i := range 660 {
		id, hh := fmt.Sprint("P", 1000+i), fmt.Sprint("H", i/3)
		if rents[hh] == "" {
			rents[hh] = fmt.Sprint(300 + rng.IntN(900))
		}
		row := []string{id, hh, fmt.Sprint(1000 + rng.IntN(3000)), rents[hh], []string{"n", "s", "w"}[rng.IntN(3)],
			fmt.Sprintf("2020-%02d-%02d", 1+rng.IntN(12), 1+rng.IntN(28)),
			fmt.Sprintf("%.4f", 47+rng.Float64()), fmt.Sprintf("%.4f", 8+rng.Float64()), fmt.Sprint("card-", i*i%9973, "-", i)}
		if i < 600 {
			first.rows[id], first.order = row, append(first.order, id)
		}
		if i < 60 {
			continue
		}
		row = append([]string(nil), row...)
		if i%2 == 0 {
			row[2] = fmt.Sprint(1000 + rng.IntN(3000))
		}
		if i%3 == 0 {
			row[4] = map[string]string{"n": "s", "s": "w", "w": "n"}[row[4]]
		}
		second.rows[id], second.order = row, append(second.order, id)
	}
	rng.Shuffle(len(second.order), func(a, b int) { second.order[a], second.order[b] = second.order[b], second.order[a] })
	return first, second
}

// release masks a wave under one key, and returns the released rows by person: of these, the person's number is the
// last.
func (w *wave) release(t *testing.T, masks, more string) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	text.WriteString(w.header + ",own\n")
	for _, id := range w.order {
		fmt.Fprintln(&text, strings.Join(w.rows[id], ",")+","+id)
	}
	write(t, filepath.Join(dir, "in.csv"), text.Bytes())
	write(t, filepath.Join(dir, "k"), []byte(keytest.Key(1).Text()+"\n"))
	body := fmt.Sprintf(`version: 1
name: wave
key: {file: %[1]s/k}
identity: [id]
household: hh
source: {csv: {path: %[1]s/in.csv}}
sink: {csv: {path: %[1]s/out.csv}}
assess: {replicates: 0}
columns:
  id: {role: identifier}
  hh: {role: identifier}
  wage: {role: other, level: person}
  rent: {role: other, level: household}
  region: {role: other, level: person}
  visit: {role: other, level: person}
  lat: {role: other, level: person}
  lon: {role: other, level: person}
  card: {role: other}
  own: {role: other}
%[2]s
masks: [%[3]s]
`, dir, more, masks)
	p, err := config.Parse("wave.yaml", []byte(body), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatalf("%s: %v", masks, err)
	}
	if _, err := Run(t.Context(), p, pipeline.Options{}); err != nil {
		t.Fatalf("%s: %v", masks, err)
	}
	f, err := os.Open(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, row := range rows[1:] {
		out[row[len(row)-1]] = append([]string{"", ""}, row...) // id and hh are withheld
	}
	return out
}

// A value that a person, or a household, has not changed leaves in the next wave's file as it did in the first, under
// every mask that looks at the value and whose it is; the file has other persons in another order. Of one that has
// changed the difference is not the original's. Masks whose released values depend on the other records of the file,
// and amounts in per cent of their spread, make no such claim.
func TestWavesInSeveralFiles(t *testing.T) {
	racetest.Further(t)
	first, second := twoWaves()
	const wage, rent, region, visit, lat, lon, card = 2, 3, 4, 5, 6, 7, 8
	for i, c := range []struct {
		masks   string
		columns []int
		sticky  bool
		draws   bool // the difference of a changed value is hidden by a draw
	}{
		{"{noise: {columns: [wage, rent], sd: 80}}", []int{wage, rent}, true, true},
		{"{noise: {columns: [wage, rent], sd: 80, distribution: laplace}}", []int{wage, rent}, true, true},
		{"{noise: {columns: [wage], sd: 80, tiers: [{above: 2500, variance_factor: 4}]}}", []int{wage}, true, true},
		{`{noise: {columns: [wage], sd: 80, where: "wage > 2000"}}`, []int{wage}, true, false},
		{"{noise: {columns: [wage], sd: 10%}}", []int{wage}, false, false},
		{"{bias: {columns: [wage, rent], phi: 0.1}}", []int{wage, rent}, true, true},
		{
			"{bias: {columns: [wage, rent], range: 0.2}}, {noise: {columns: [wage], sd: 30}}, {round: {columns: [wage], base: 5}}", []int{wage, rent}, true, true},
		{"{truncate: {columns: [wage], lower: 1200, upper: 3500}}", []int{wage}, true, false},
		{"{noise: {columns: [wage], sd: 80}}, {truncate: {columns: [wage], lower: 1200, upper: 3500, mode: redraw}}",
			[]int{wage}, true, true},
		{"{recode: {columns: [wage], breaks: [0, 1500, 2500, 5000]}}", []int{wage}, true, false},
		{"{topcode: {columns: [wage], upper: 3000}}", []int{wage}, true, false},
		{"{topcode: {columns: [wage], upper_percentile: 80, replace: mean, least: 3, share: 1}}", []int{wage}, false, false},
		{"{pram: {columns: [region], categories: [n, s, w], keep: 0.6}}", []int{region}, true, false},
		{"{recode: {columns: [region], map: {n: a, s: a}, other: b}}", []int{region}, true, false},
		{"{pseudonym: {columns: [card], scope: a}}", []int{card}, true, false},
		{"{pseudonym: {columns: [card], scope: a, form: like}}", []int{card}, true, false},
		{"{date: {columns: [visit], round: month}}", []int{visit}, true, false},
		{"{date: {columns: [visit], shift: 30, by: id, scope: person}}", []int{visit}, true, false},
		{"{date: {columns: [visit], age: 2024-12-31}}", []int{visit}, true, false},
		{"{donut: {columns: [lat, lon], unit: degrees, least: 200, most: 900}}", []int{lat, lon}, true, false},
		{"{sample: {rate: 0.6}}, {noise: {columns: [wage, rent], sd: 80}}", []int{wage, rent}, true, true},
		{"{microaggregate: {columns: [wage], k: 3, share: 1}}", []int{wage}, false, false},
		{"{rankswap: {columns: [wage], p: 0.1}}", []int{wage}, false, false},
		{"{swap: {keys: [region], attribute: rent, columns: [wage], rate: 0.6, policy: random, scope: dataset}}", []int{wage},
			false, false},
		{"{shuffle: {columns: [wage], on: [lat]}}", []int{wage}, false, false},
		{"{synthesise: {columns: [wage], on: [lat]}}", []int{wage}, false, false},
		{"{suppress: {keys: [region, visit], k: 2}}", []int{visit}, false, false},
	} {
		if testing.Short() && i%3 == 1 {
			continue // another form of the one before
		}
		a, b := first.release(t, c.masks, ""), second.release(t, c.masks, "")
		sampled := strings.Contains(c.masks, "sample")
		for _, column := range c.columns {
			same, differ, exposed, changed, gone := 0, 0, 0, 0, 0
			for id, row := range second.rows {
				old, there := first.rows[id]
				if !there {
					continue
				}
				x, y := a[id], b[id]
				if (x == nil) != (y == nil) {
					t.Errorf("%s: %s is released in one wave alone", c.masks, id)
				}
				if x == nil || y == nil {
					gone++
					continue
				}
				switch {
				case old[column] == row[column] && x[column] == y[column]:
					same++
				case old[column] == row[column]:
					differ++
				case amount(old[column])-amount(row[column]) == amount(x[column])-amount(y[column]):
					exposed, changed = exposed+1, changed+1
				default:
					changed++
				}
			}
			if c.sticky == (differ > 0) || same+differ < 150 {
				t.Errorf("%s, column %d: %d values that have not changed leave as before, and %d do not; sticky %v", c.masks,
					column, same, differ, c.sticky)
			}
			// Two noisy values of 1,000 or so steps differ by chance as the originals do in less than 1 % of the cases.
			if c.draws && changed > 0 && exposed > changed/20 {
				t.Errorf("%s, column %d: of %d changed values, %d differ as the originals do", c.masks, column, changed, exposed)
			}
			if sampled != (gone > 0) {
				t.Errorf("%s: %d of the persons in both waves have left", c.masks, gone)
			}
		}
	}
}

// amount returns a value as a number; of a text, which has no difference to another, one that equals no amount.
func amount(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// The second file may say both what was and what is: with same_as, what was leaves as in the first file, and what has
// not changed since is twice the same.
func TestWavesWithWhatWasBefore(t *testing.T) {
	racetest.Further(t)
	first, second := twoWaves()
	second.header = strings.Replace(second.header, ",card", ",card,before", 1)
	for id, row := range second.rows {
		before := row[2]
		if old, there := first.rows[id]; there {
			before = old[2]
		}
		second.rows[id] = append(row, before)
	}
	const wage, before = 2, 9
	for _, masks := range []string{"{noise: {columns: [wage%s], sd: 80}}",
		"{bias: {columns: [wage%s], phi: 0.1}}, {round: {columns: [wage%[1]s], base: 5}}",
		"{recode: {columns: [wage%s], breaks: [0, 1500, 2500, 5000]}}"} {
		a := first.release(t, fmt.Sprintf(masks, ""), "")
		b := second.release(t, fmt.Sprintf(masks, ", before"), "  before: {role: other, level: person, same_as: wage}")
		twice := 0
		for id, row := range b {
			if old, there := a[id]; there && row[before] != old[wage] {
				t.Fatalf("%s, %s: what was leaves as %s, and in the first file as %s", masks, id, row[before], old[wage])
			}
			if was := second.rows[id]; was[before] == was[wage] {
				if twice++; row[before] != row[wage] {
					t.Fatalf("%s, %s: a value that has not changed leaves as %s and as %s", masks, id, row[before], row[wage])
				}
			}
		}
		if twice < 200 {
			t.Errorf("%s: %d values have not changed", masks, twice)
		}
	}
}
