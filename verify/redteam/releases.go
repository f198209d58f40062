package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// The information that releases reveal when they are compared with each other, or by their order.
var releaseAttacks = []attack{
	{"two-releases-place", "subtracts releases of the same file with other masks before the noise", func(s *scene) error {
		return twoReleases(s, "")
	}},
	{"two-releases-identity", "the same, where respondents are identified", func(s *scene) error {
		return twoReleases(s, "identity: [id]")
	}},
	{"two-files", "subtracts releases of two files under one key, place by place", twoFiles},
	{"null-identities", "takes the noise of one known record off all that have no identity", nullIdentities},
	{"order", "fits the released values in the order of the file", order},
	{"no-masking", "looks for originals behind masks that mask nothing", noMasking},
}

const records = 2000

// wages are skewed, with two decimals.
func (s *scene) wages(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Round(100*math.Exp(6+0.8*s.rng.NormFloat64())) / 100
	}
	return x
}

// table writes id, wage and kind; id gives the text of each identity.
func (s *scene) table(name string, x []float64, id func(i int) string) error {
	var b strings.Builder
	b.WriteString("id,wage,kind\n")
	for i, v := range x {
		fmt.Fprintf(&b, "%s,%.2f,%c\n", id(i), v, 'a'+rune(i%4))
	}
	return s.write(name, b.String())
}

func serial(i int) string { return fmt.Sprintf("S%06d", 700000+i) }

// pipeline is a configuration of CSV files; lines are added at its end.
func pipeline(in, out, masks string, lines ...string) string {
	return fmt.Sprintf(`version: 1
name: redteam
key: {file: k}
source: {csv: {path: %s, types: {id: string}}}
columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, kind: {role: key}}
masks: [%s]
sink: {csv: {path: %s}}
%s
`, in, masks, out, strings.Join(lines, "\n"))
}

const quick = "assess: {replicates: 20, sample: all}"

// column reads the numbers of a released column.
func (s *scene) column(file, name string) ([]float64, error) {
	f, err := os.Open(s.path(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		return nil, fmt.Errorf("%s has no column %s", file, name)
	}
	v := make([]float64, len(rows)-1)
	for i, row := range rows[1:] {
		if v[i], err = strconv.ParseFloat(row[at], 64); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// exact counts where a guess is the value to the cent, and how many of them chance
// would give: released values are on a grid of 0.01 around one that is off by
// hundreds.
func exact(guess func(i int) float64, x []float64, of func(i int) bool) (n, total int) {
	for i := range x {
		if of(i) {
			total++
			if math.Abs(guess(i)-x[i]) < 0.015 {
				n++
			}
		}
	}
	return n, total
}

// beyondChance is how many exact guesses there are more than chance may give: with
// noise of SD 200 or 20 at least, a guess hits a window of 0.03 with probability below
// 0.03·0.4/20 = 0.0006, of 2,000 records 1.2 times, and 9 times by a chance of 10⁻⁵.
func beyondChance(n int) int { return max(0, n-9) }

func twoReleases(s *scene, identity string) error {
	if err := s.key(); err != nil {
		return err
	}
	x := s.wages(records)
	if err := s.table("in.csv", x, serial); err != nil {
		return err
	}
	const noise = "{noise: {columns: [wage], sd: 200}}"
	if _, _, err := s.release(pipeline("in.csv", "a.csv", noise, identity, quick), 0); err != nil {
		return err
	}
	a, err := s.column("a.csv", "wage")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		masks string
		// of says which values the first mask changes, and into what.
		to func(v float64) float64
	}{
		{"{truncate: {columns: [wage], upper: 500}}, " + noise, func(v float64) float64 { return min(v, 500) }},
		{"{truncate: {columns: [wage], lower: 400}}, " + noise, func(v float64) float64 { return max(v, 400) }},
		{"{round: {columns: [wage], base: 1000}}, " + noise, func(v float64) float64 {
			return 1000 * math.RoundToEven(v/1000)
		}},
	} {
		if _, _, err := s.release(pipeline("in.csv", "b.csv", c.masks, identity, quick), 0); err != nil {
			return err
		}
		b, err := s.column("b.csv", "wage")
		if err != nil {
			return err
		}
		changed := func(i int) bool { return c.to(x[i]) != x[i] }
		n, of := exact(func(i int) float64 { return c.to(x[i]) + a[i] - b[i] }, x, changed)
		s.gained(beyondChance(n), "%d of %d originals to the cent from %s", n, of, c.masks)
	}
	return nil
}

func twoFiles(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	x, z := s.wages(records), s.wages(records)
	const noise = "{noise: {columns: [wage], sd: 200}}"
	var released [2][]float64
	for k, v := range [][]float64{x, z} {
		if err := s.table("in.csv", v, serial); err != nil {
			return err
		}
		if _, _, err := s.release(pipeline("in.csv", "out.csv", noise, quick), 0); err != nil {
			return err
		}
		var err error
		if released[k], err = s.column("out.csv", "wage"); err != nil {
			return err
		}
	}
	// Who knows the one file has the other.
	n, of := exact(func(i int) float64 { return z[i] + released[0][i] - released[1][i] }, x, func(int) bool {
		return true
	})
	s.gained(beyondChance(n), "%d of %d originals to the cent by who knows the other file", n, of)
	return nil
}

func nullIdentities(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	x := s.wages(records)
	for i := range x {
		x[i] = 300 // alike, so that the same draw gives the same value
	}
	if err := s.table("in.csv", x, func(int) string { return "" }); err != nil {
		return err
	}
	if _, _, err := s.release(pipeline("in.csv", "out.csv", "{noise: {columns: [wage], sd: 200}}", "identity: [id]",
		quick), 0); err != nil {
		return err
	}
	y, err := s.column("out.csv", "wage")
	if err != nil {
		return err
	}
	n, of := exact(func(i int) float64 { return y[i] - (y[0] - x[0]) }, x, func(i int) bool { return i > 0 })
	s.gained(beyondChance(n), "%d of %d originals with the noise of the first record", n, of)
	return nil
}

// order fits a monotone curve to the released values of a file that is sorted by
// them, and holds it against what the gate promises.
func order(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	x := s.wages(records)
	sort.Float64s(x)
	if err := s.table("in.csv", x, serial); err != nil {
		return err
	}
	const minRMSE = 150
	gate := fmt.Sprintf("gate: {rules: [{column: wage, min_rmse: %d, target: typical}]}", minRMSE)
	const masks = "{noise: {columns: [wage], sd: 200}}"
	for _, sink := range []string{"source", "shuffled"} {
		config := strings.Replace(pipeline("in.csv", "out.csv", masks, gate, quick), "sink: {", "sink: {order: "+sink+", ", 1)
		status, _, err := s.release(config, 0, 4)
		if err != nil {
			return err
		}
		if status == 4 {
			s.say("order %s: the gate refuses the sorted file", sink)
			continue
		}
		y, err := s.column("out.csv", "wage")
		if err != nil {
			return err
		}
		rmse := 0.0
		for i, v := range isotonic(y) {
			rmse += (v - x[i]) * (v - x[i]) / float64(len(x))
		}
		rmse = math.Sqrt(rmse)
		if rmse < 0.8*minRMSE {
			s.gained(len(x), "%d wages to ± %.0f by a monotone fit, and the gate has passed ± %d", len(x), rmse, minRMSE)
		} else {
			s.say("order %s: a monotone fit is off by ± %.0f", sink, rmse)
		}
	}
	return nil
}

// isotonic is the least-squares fit that never falls: pool adjacent violators.
func isotonic(y []float64) []float64 {
	type block struct{ sum, n float64 }
	var blocks []block
	for _, v := range y {
		b := block{v, 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].sum/blocks[len(blocks)-1].n >= b.sum/b.n {
			last := blocks[len(blocks)-1]
			b, blocks = block{b.sum + last.sum, b.n + last.n}, blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	var fit []float64
	for _, b := range blocks {
		for range int(b.n) {
			fit = append(fit, b.sum/b.n)
		}
	}
	return fit
}

func noMasking(s *scene) error {
	if err := s.key(); err != nil {
		return err
	}
	if err := s.table("in.csv", s.wages(records), serial); err != nil {
		return err
	}
	if err := s.write("whole.csv",
		"id,wage,kind\n1,100000000000000000000,a\n2,200000000000000000000,b\n3,300000000000000000000,c\n"); err != nil {
		return err
	}
	for _, c := range []struct{ in, masks, gate string }{
		{"in.csv", "{noise: {columns: [wage], sd: 0}}", ""},
		{"in.csv", "{noise: {columns: [wage], sd: 1e-300}}", "gate: {rules: [{column: wage, min_efficiency: 0.01}]}"},
		{"in.csv", "{noise: {columns: [wage], sd: 0.0001}}", "gate: {rules: [{column: wage, min_efficiency: 0.01}]}"},
		{"whole.csv", "{noise: {columns: [wage], sd: 1}}", "gate: {rules: [{column: wage, min_efficiency: 0.01}]}"},
		{"in.csv", "", ""}, // a sensitive column without a mask
	} {
		if err := s.write("pipeline.yaml", pipeline(c.in, "out.csv", c.masks, c.gate, quick)); err != nil {
			return err
		}
		status, printed, err := s.filter(nil, "run", "pipeline.yaml")
		if err != nil {
			return err
		}
		silent := !strings.Contains(printed, "warn")
		if status == 0 && (silent || c.gate != "") {
			s.gained(1, "masks [%s] over %s: released, %v", c.masks, c.in,
				map[bool]string{true: "without a word", false: "with a warning, though there is a gate"}[silent])
		}
	}
	return nil
}
