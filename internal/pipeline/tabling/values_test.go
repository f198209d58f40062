package tabling

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

const valueTables = `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
hierarchies: {nace: {prefix: [1, 2]}}
tables:
  - {name: t, rows: [nace, region], value: turnover, unsafe: [{p_percent: 10}], protect: {cell_key: {values: {VALUES}}}}
  - {name: u, rows: [region], value: turnover, unsafe: [{p_percent: 10}], protect: {cell_key: {values: {VALUES}}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, cells: %s/cells.csv}
`

// earner is a record.
type earner struct {
	id, nace, region string
	turnover         float64
}

func drawFirms(rng *rand.Rand, n int) (list []earner) {
	for i := range n {
		x := math.Round(math.Exp(8 + 1.5*rng.NormFloat64()))
		if rng.IntN(12) == 0 {
			x = 0
		}
		list = append(list,
			earner{fmt.Sprint(1000 + i), string("ABC"[rng.IntN(3)]) + fmt.Sprint(1+rng.IntN(2)),
				fmt.Sprint("r", min(int(rng.ExpFloat64()), 3)), x})
	}
	return list
}

func writeFirms(t *testing.T, dir string, list []earner) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,nace,region,turnover\n")
	for _, f := range list {
		fmt.Fprintf(&b, "%s,%s,%s,%.0f\n", f.id, f.nace, f.region, f.turnover)
	}
	write(t, dir, "key", testKey+"\n")
	write(t, dir, "in.csv", b.String())
}

// firmCells are the cells by their names in the file of cells, from the records alone: table|nace|region.
func firmCells(list []earner) map[string][]earner {
	cells := map[string][]earner{}
	for _, f := range list {
		for _, region := range []string{f.region, "total"} {
			for _, nace := range []string{f.nace, f.nace[:1], "total"} {
				cells["t|"+nace+"|"+region] = append(cells["t|"+nace+"|"+region], f)
			}
			cells["u|total|"+region] = append(cells["u|total|"+region], f)
		}
	}
	return cells
}

// greatest is the greatest change of a cell of given contributions, written anew from the documentation.
func greatest(most float64, epsilon []float64, least float64, x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	slices.Reverse(x)
	s, sum := 0.0, 0.0
	for i, v := range x {
		if sum += v; i < len(epsilon) {
			s += epsilon[i] * most * v
		}
	}
	return min(max(s, least), sum)
}

func turnovers(list []earner) (x []float64, sum float64) {
	for _, f := range list {
		x, sum = append(x, f.turnover), sum+f.turnover
	}
	return x, sum
}

// The same contributors get the same change: in another order, in the other table, in a total with only one part,
// beside contributors of 0, and in a release with fewer other firms. Changes have expectation 0 and the variance of
// their scale; empty cells and cells of value 0 stay 0.
func TestChangesOfValues(t *testing.T) {
	list := drawFirms(rand.New(rand.NewPCG(38, 11)), 400)
	for i := range list { // C2 has firms without turnover only, so C is C1
		if list[i].nace == "C2" {
			list[i].turnover = 0
		}
	}
	release := func(list []earner, key string) map[string]float64 {
		dir := t.TempDir()
		writeFirms(t, dir, list)
		write(t, dir, "key", key+"\n")
		if _, err := run(t, dir, strings.ReplaceAll(valueTables, "VALUES", "most: 0.5, epsilon: [1, 0.5], least: 20")); err !=
			nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for cell, text := range values(t, dir) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || v < 0 {
				t.Errorf("%s is %q", cell, text)
			}
			found[cell] = v
		}
		return found
	}
	first := release(list, testKey)
	shuffled := slices.Clone(list)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(list), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if fmt.Sprint(release(shuffled, testKey)) != fmt.Sprint(first) {
		t.Error("the order of the records changes the tables")
	}
	cells := firmCells(list)
	alike := 0
	for cell, v := range first {
		f := strings.Split(cell, "|")
		if f[0] == "u" && first["t|total|"+f[2]] != v {
			t.Errorf("%s is %v in one table and %v in the other", cell, v, first["t|total|"+f[2]])
		}
		if f[1] == "C1" {
			if alike++; first["t|C|"+f[2]] != v {
				t.Errorf("%s is %v, and with firms of no turnover %v", cell, v, first["t|C|"+f[2]])
			}
		}
		if _, sum := turnovers(cells[cell]); sum == 0 && v != 0 {
			t.Errorf("%s is 0, and published as %v", cell, v)
		}
	}
	if alike < 3 {
		t.Fatalf("%d cells of the same contributors", alike)
	}
	others := slices.DeleteFunc(slices.Clone(list), func(f earner) bool { return f.region == "r0" })
	kept := 0
	for cell, v := range release(others, testKey) {
		if strings.HasSuffix(cell, "|total") {
			continue
		}
		if kept++; first[cell] != v {
			t.Errorf("%s is %v, but %v in a release with other firms in other cells", cell, first[cell], v)
		}
	}
	if kept < 20 {
		t.Errorf("%d cells with the same firms", kept)
	}
	var n, mean, square float64
	for i := range 24 {
		key := []byte(testKey)
		key[5], key[9] = "ABCDEFGH"[i%8], "IJK"[i/8]
		for cell, y := range release(list, string(key)) {
			x, sum := turnovers(cells[cell])
			if s := greatest(0.5, []float64{1, 0.5}, 20, x); s > 20 && strings.HasPrefix(cell, "t|") &&
				!strings.HasPrefix(cell, "t|C|") {
				d := (y - sum) / s
				n, mean, square = n+1, mean+d, square+d*d
			}
		}
	}
	// n independent draws of variance 1/12 (their squares have variance 0.0111); tolerances of five standard deviations,
	// and 0.002 for rounding to units
	if mean, square = mean/n, square/n; n < 500 || math.Abs(mean) > 5*math.Sqrt(1/12.0/n)+0.002 ||
		math.Abs(square-1/12.0) > 5*math.Sqrt(0.0118/n)+0.002 {
		t.Errorf("%v changes: mean %v, mean square %v", n, mean, square)
	}
}

// An auditor that shares no code, and knows the public values, the parameters and all records but the turnover of one
// firm, tries every turnover of the firm. The program says exactly of the cells that they are disclosed in which he has
// one within p percent with more than 0.9, up to the error of his grid, and its risk is his.
func TestAnIntruderWhoKnowsAllButOneContribution(t *testing.T) {
	racetest.Further(t)
	trials := 40
	if testing.Short() {
		trials = 6
	}
	rng := rand.New(rand.NewPCG(38, 12))
	disclosed, protectedCells, published, hits, guesses := 0, 0, 0, 0.0, 0.0
	for trial := range trials {
		most := 0.2 + 0.6*rng.Float64()
		epsilon := [][]float64{{1}, {1, 0.5}, {1, 1, 0.3}}[trial%3]
		dir := t.TempDir()
		list := drawFirms(rng, 30+rng.IntN(60))
		if trial%3 == 1 { // firms much alike, mostly alone: in totals of four and more each is seen, too
			list = list[:14]
			for i := range list {
				list[i].turnover = float64(5000 + rng.IntN(1500))
			}
		}
		writeFirms(t, dir, list)
		res,
			err := run(t, dir,
			strings.ReplaceAll(valueTables, "VALUES",
				fmt.Sprintf("most: %v, epsilon: [%s], least: 30", most,
					strings.Trim(strings.Join(strings.Fields(fmt.Sprint(epsilon)), ","), "[]"))))
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Gate.Passed {
			published++
		}
		y := map[string]float64{}
		for cell, text := range values(t, dir) {
			y[cell], _ = strconv.ParseFloat(text, 64)
		}
		said := map[string]bool{}
		for _, name := range res.Report.Tables[0].Disclosed {
			said[name] = true
		}
		cells, worst := firmCells(list), 0.0
		for _, row := range read(t, dir, "cells.csv")[1:] {
			name := strings.Join(row[:3], "|")
			if row[0] != "t" || row[5] != "primary" {
				continue
			}
			x, sum := turnovers(cells[name])
			big := slices.Index(x, slices.Max(x))
			second := 0.0
			for i, v := range x {
				if i != big {
					second = max(second, v)
				}
			}
			if sum-x[big]-second >= 0.1*x[big] {
				t.Fatalf("%s is not unsafe", name)
			}
			need, _ := strconv.ParseFloat(row[7], 64)
			w := max(0.1*x[big], need-sum)
			p, risk, guess := intrude(cells, y, cells[name][big], most, epsilon, 30, w)
			worst = max(worst, risk)
			isSaid := slices.ContainsFunc(res.Report.Tables[0].Disclosed, func(s string) bool {
				return codesOfName(s) == row[1]+"|"+row[2]
			})
			if p > 0.93 && !isSaid || p < 0.87 && isSaid {
				t.Errorf("trial %d: %s: the intruder has %.3f within %v, and the program says disclosed: %v", trial, name, p, w,
					isSaid)
			}
			if isSaid {
				disclosed++
			} else {
				protectedCells++
				guesses++
				if math.Abs(guess-x[big]) <= w {
					hits++
				}
			}
		}
		if r := float64(res.Report.Tables[0].Risk); math.Abs(r-worst) > 0.04*worst {
			t.Errorf("trial %d: risk %v, the intruder has %v", trial, r, worst)
		}
	}
	t.Logf(
		"%d disclosed, %d protected, %d of %d tables published; of protected ones %v of %v guesses were within p percent",
		disclosed, protectedCells, published, trials, hits, guesses)
	if disclosed < 5 || protectedCells < 50 || published == 0 {
		t.Errorf("%d disclosed, %d protected cells, %d tables published: the test shows little", disclosed, protectedCells,
			published)
	}
	if hits/guesses > 0.9 {
		t.Errorf("%v of %v guesses about protected cells are within p percent", hits, guesses)
	}
}

// codesOfName brings the name of a cell in the report (t: nace=A1 × region=r1) to the codes.
func codesOfName(name string) string {
	var codes []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" :,×[]()", r) }) {
		if _, code, ok := strings.Cut(part, "="); ok {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, "|")
}

// intrude returns the greatest probability that the turnover of a firm is within w of a guess, 1/entropy in units, and
// this guess.
func intrude(cells map[string][]earner, y map[string]float64, of earner, most float64, epsilon []float64, least,
	w float64) (p, risk, guess float64) {
	type sight struct {
		y      float64
		others []float64
	}
	var seen []sight
	same := map[string]bool{}
	for name, list := range cells {
		var ids []string
		var others []float64
		for _, f := range list {
			if f.turnover != 0 {
				ids = append(ids, f.id)
			}
			if f.id != of.id {
				others = append(others, f.turnover)
			}
		}
		key := strings.Join(ids, " ")
		if len(others) == len(list) || same[key] {
			continue
		}
		same[key] = true
		seen = append(seen, sight{y[name], others})
	}
	density := func(v float64) float64 { // of (U₁+U₂+U₃+U₄)/2 − 1: a cubic spline on −1 … 1
		v = math.Abs(2 * v)
		switch {
		case v >= 2:
			return 0
		case v >= 1:
			return (2 - v) * (2 - v) * (2 - v) / 3
		}
		return 2 * (4 - 6*v*v + 3*v*v*v) / 6
	}
	likelihood := func(x float64) float64 {
		l := 1.0
		for _, s := range seen {
			all := append(slices.Clone(s.others), x)
			sum := 0.0
			for _, o := range all {
				sum += o
			}
			scale := greatest(most, epsilon, least, all)
			if scale == 0 {
				if s.y != sum {
					return 0
				}
				continue
			}
			if scale < 40 { // few units: the published value is rounded
				q := 0.0
				for k := range 20 {
					q += density((s.y-sum-0.475+float64(k)/20)/scale) / scale / 20
				}
				l *= q * 1e3
				continue
			}
			l *= density((s.y-sum)/scale) / scale * 1e3
		}
		return l
	}
	step := max(1, math.Ceil(of.turnover/400))
	var grid, weight []float64
	total := 0.0
	for x := math.Mod(of.turnover, step); x <= 8*of.turnover+300; x += step {
		l := likelihood(x)
		grid, weight, total = append(grid, x), append(weight, l), total+l
	}
	for i := range weight {
		if weight[i] /= total; weight[i] > 0 {
			risk -= weight[i] * math.Log(weight[i]/step)
		}
	}
	for i := range grid {
		q := 0.0
		for k := i; k < len(grid) && grid[k]-grid[i] <= 2*w; k++ {
			q += weight[k]
		}
		if q > p {
			p, guess = q, grid[i]+w
		}
	}
	return p, 1 / max(risk, 0), guess
}

// The audit uses each cell that the largest contributor of an unsafe cell is in, once for the same contributors, with
// her own part and the largest of the others; also where four others are larger. Of a holding it uses all cells above
// those that keep it, and never less than its part.
func TestSightings(t *testing.T) {
	for _, holdings := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(38, 14))
		dir := t.TempDir()
		list := drawFirms(rng, 120)
		text := strings.ReplaceAll(valueTables, "VALUES", "most: 0.5, epsilon: [1, 0.5]")
		owner := func(f earner) string { return f.id }
		if holdings {
			owner = func(f earner) string { return f.id[:3] }
			text = "holding: h\n" + text
		}
		writeFirms(t, dir, list)
		var b strings.Builder
		b.WriteString("id,nace,region,turnover,h\n")
		for _, f := range list {
			fmt.Fprintf(&b, "%s,%s,%s,%.0f,%s\n", f.id, f.nace, f.region, f.turnover, owner(f))
		}
		write(t, dir, "in.csv", b.String())
		ctx, options := pipeline.Options{Log: zerolog.Nop()}.Ready(t.Context())
		r, err := open(ctx, configured(t, dir, strings.ReplaceAll(text, "%s", dir)), options)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		protectedTables, _, err := r.tabulate(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		p, cells, looked, small := protectedTables[0], firmCells(list), 0, 0
		seen := p.newSightings()
		for _, cell := range p.unsafeCounts() {
			codes := codesOfName(p.set.Name(int(cell)))
			of := map[string]float64{}
			most := ""
			for _, f := range cells["t|"+codes] {
				if of[owner(f)] += f.turnover; most == "" || of[owner(f)] > of[most] {
					most = owner(f)
				}
			}
			want := map[string][2]float64{} // by the contributing firms: the value of the cell, and her part
			for name, members := range cells {
				own, sum, key := 0.0, 0.0, ""
				for _, f := range members {
					if sum += f.turnover; f.turnover != 0 {
						key += f.id + " "
					}
					if owner(f) == most {
						own += f.turnover
					}
				}
				if own > 0 && strings.HasPrefix(name, "t|") &&
					(!holdings || strings.HasSuffix(name, "|total") && strings.HasPrefix(name, "t|total")) {
					want[key] = [2]float64{sum, own}
				}
			}
			found := seen.of(cell)
			if looked++; len(found) < len(want) || !holdings && len(found) != len(want) {
				t.Errorf("holdings %v: %s is seen in %d cells, want %d", holdings, codes, len(found), len(want))
			}
			for _, w := range want {
				if !slices.ContainsFunc(found, func(s sighting) bool {
					own := s.share * of[most]
					return math.Abs(s.rest+own-w[0]) < 1e-6 && (math.Abs(own-w[1]) < 1e-6 || holdings && own > w[1])
				}) {
					t.Errorf("holdings %v: %s is not seen in a cell", holdings, codes)
				}
			}
			for _, s := range found {
				if len(s.others) > 2 && s.others[2] > s.share*of[most] {
					small++
				}
			}
		}
		if looked < 5 || small < 5 {
			t.Errorf("%d cells, %d sightings behind three larger contributors", looked, small)
		}
	}
}

// What cannot be changed by cell keys is refused: negative contributions, tables without one of all variables. Tables
// whose unsafe cells have the value 0 are withheld.
func TestValuesThatCellKeysDoNotChange(t *testing.T) {
	dir := t.TempDir()
	list := drawFirms(rand.New(rand.NewPCG(38, 13)), 60)
	list[3].turnover = -5
	text := strings.ReplaceAll(valueTables, "VALUES", "most: 0.5")
	writeFirms(t, dir, list)
	var wrong config.Errors
	_,
		err := run(t, dir, strings.ReplaceAll(text, "unsafe: [{p_percent: 10}]", "absolute: true, unsafe: [{p_percent: 10}]"))
	if !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "cell_key.values: must be another method: some contributions are below 0") {
		t.Errorf("negative contributions: %v", err)
	}
	list[3].turnover = 5
	writeFirms(t, dir, list)
	if _, err = run(t, dir, strings.Replace(text, "rows: [nace, region]", "rows: [nace]", 1)); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "one of the tables must have all variables") {
		t.Errorf("tables without one of all variables: %v", err)
	}
	for i := range list {
		list[i].turnover = 1000 + float64(i)
		if list[i].region == "r3" {
			list[i].turnover = 0
		}
	}
	writeFirms(t, dir, list)
	res,
		err := run(t, dir,
		strings.ReplaceAll(text, "unsafe: [{p_percent: 10}]", "zeros: unsafe, unsafe: [{p_percent: 0.001}]"))
	if err != nil || res.Report.Gate.Passed || len(res.Report.Tables[0].Disclosed) == 0 {
		t.Errorf("unsafe cells of value 0: %+v, %v", res, err)
	}
	if _, err := tabulation.Parse("t.yaml", []byte(strings.Replace(text, "most: 0.5", "large: 0.1", 1)),
		config.Options{}); err == nil {
		t.Error("without most")
	}
}
