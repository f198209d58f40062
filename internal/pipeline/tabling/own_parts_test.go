package tabling

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The long form takes some minutes:
//
//	go test ./internal/pipeline/tabling -run OwnPart -own-parts 400
var ownParts = flag.Int("own-parts", 40, "random tables that TestNobodyUsesHerOwnPart makes")

// simplex is a linear program in its simplest form, for a test: the columns are at least 0, and the rows of a tableau
// of exact basic solutions are kept by elimination.
type simplex struct {
	rows  [][]float64 // the last column is the right-hand side
	basis []int
}

const tiny = 1e-7

// pivot makes column c basic in row r.
func (s *simplex) pivot(r, c int, cost []float64) {
	p := s.rows[r][c]
	for j := range s.rows[r] {
		s.rows[r][j] /= p
	}
	eliminate := func(row []float64) {
		if f := row[c]; f != 0 {
			for j := range row {
				row[j] -= f * s.rows[r][j]
			}
		}
	}
	for i := range s.rows {
		if i != r {
			eliminate(s.rows[i])
		}
	}
	eliminate(cost)
	s.basis[r] = c
}

// minimize moves to the minimum of a cost over the first n columns, by the rule of Bland, and returns it: −∞ if
// there is none.
func (s *simplex) minimize(cost []float64, n int) float64 {
	for {
		c := slices.IndexFunc(cost[:n], func(v float64) bool { return v < -tiny })
		if c < 0 {
			return -cost[len(cost)-1]
		}
		out, ratio := -1, math.Inf(1)
		for i, row := range s.rows {
			if row[c] <= tiny {
				continue
			}
			if q := row[len(row)-1] / row[c]; q < ratio-1e-9 || q < ratio+1e-9 && s.basis[i] < s.basis[out] {
				out, ratio = i, q
			}
		}
		if out < 0 {
			return math.Inf(-1)
		}
		s.pivot(out, c, cost)
	}
}

// rangeOf returns the least and the greatest value of column x if all columns are at least lower and each row of sums
// is 0 with the constants: Σ factors · columns + constant = 0.
func rangeOf(x int, lower []float64, sums [][]float64, constants []float64) (low, high float64) {
	n, m := len(lower), len(sums)
	for i, sign := range []float64{1, -1} {
		s := &simplex{basis: make([]int, m)}
		cost := make([]float64, n+m+1)
		for k := range sums {
			row := make([]float64, n+m+1)
			right := -constants[k]
			for j, f := range sums[k] {
				row[j] = f
				right -= f * lower[j]
			}
			row[n+m] = right
			if right < 0 {
				for j := range row {
					row[j] = -row[j]
				}
			}
			row[n+k], s.basis[k] = 1, n+k
			s.rows = append(s.rows, row)
			for j := range cost {
				if j < n || j == n+m {
					cost[j] -= row[j]
				}
			}
		}
		if s.minimize(cost, n) > 1e-4 {
			return math.NaN(), math.NaN() // no table
		}
		for r := range s.rows { // artificial columns of dependent sums
			if s.basis[r] >= n {
				if c := slices.IndexFunc(s.rows[r][:n], func(v float64) bool { return math.Abs(v) > tiny }); c >= 0 {
					s.pivot(r, c, cost)
				}
			}
		}
		cost = make([]float64, n+m+1)
		cost[x] = sign
		for r, b := range s.basis {
			if b == x {
				for j := range cost {
					cost[j] -= sign * s.rows[r][j]
				}
			}
		}
		for k := range m { // never again
			cost[n+k] = math.Inf(1)
			for r := range s.rows {
				s.rows[r][n+k] = 0
			}
			cost[n+k] = 0
		}
		if v := s.minimize(cost, n); i == 0 {
			low = v + lower[x]
		} else {
			high = -v + lower[x]
		}
	}
	return low, high
}

// A table of linked cells as everybody sees it.
type seenTables struct {
	columns map[string]int // hidden cells
	names   []string
	value   []float64 // true values of the hidden cells
	needLow []float64
	needUp  []float64
	unsafe  []bool
	sums    [][]float64
	consts  []float64
}

// see reads the confidential file of all cells.
func (l *linkedTables) see(t *testing.T, dir string) *seenTables {
	t.Helper()
	rows := read(t, dir, "cells.csv")
	head := rows[0]
	at := func(row []string, name string) string { return row[slices.Index(head, name)] }
	v := &seenTables{columns: map[string]int{}}
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	shown := map[string]float64{}
	name := func(codes map[string]string) (key string) {
		for _, variable := range []string{"a", "b", "c"} {
			if code, has := codes[variable]; has && code != "total" {
				key += variable + "=" + code + " "
			}
		}
		return key
	}
	codesOf := map[string][]string{}
	for _, row := range rows[1:] {
		codes := map[string]string{}
		for _, variable := range []string{"a", "b", "c"} {
			if slices.Contains(head, variable) {
				codes[variable] = at(row, variable)
				if c := codes[variable]; c != "total" && !slices.Contains(codesOf[variable], c) {
					codesOf[variable] = append(codesOf[variable], c)
				}
			}
		}
		key := name(codes)
		if at(row, "published") != "" {
			shown[key] = number(at(row, "published"))
			continue
		}
		if _, known := v.columns[key]; known {
			continue
		}
		v.columns[key] = len(v.names)
		v.names, v.value = append(v.names, key), append(v.value, number(at(row, "value")))
		v.unsafe = append(v.unsafe, at(row, "status") == "primary")
		low, up := math.Inf(-1), math.Inf(1)
		if v.unsafe[len(v.unsafe)-1] {
			low, up = number(at(row, "need_low")), number(at(row, "need_high"))
		}
		v.needLow, v.needUp = append(v.needLow, low), append(v.needUp, up)
	}
	for _, of := range l.rows { // every line of every table
		for k, variable := range of {
			others := append([]string{"total"}, codesOf[of[1-k]]...)
			for _, other := range others {
				sum, constant, any := make([]float64, len(v.names)), 0.0, false
				for _, code := range append([]string{"total"}, codesOf[variable]...) {
					key, sign := name(map[string]string{variable: code, of[1-k]: other}), 1.0
					if code == "total" {
						sign = -1
					}
					if c, hidden := v.columns[key]; hidden {
						sum[c] += sign
						any = true
					} else {
						constant += sign * shown[key]
					}
				}
				if any {
					v.sums, v.consts = append(v.sums, sum), append(v.consts, constant)
				}
			}
		}
	}
	return v
}

// own returns, for each hidden cell, how much of it is of the given contributors, and whether it has no others.
func (l *linkedTables) own(v *seenTables, who []string) (own []float64, alone []bool) {
	own, alone = make([]float64, len(v.names)), make([]bool, len(v.names))
	for c, key := range v.names {
		cell := cellIn{codes: map[string]string{}}
		for _, part := range strings.Fields(key) {
			variable, code, _ := strings.Cut(part, "=")
			cell.codes[variable] = code
		}
		alone[c] = true
		for i, r := range l.records {
			if !cell.in(r) {
				continue
			}
			name := fmt.Sprint(i)
			if l.holding {
				name = r[3]
			}
			if !slices.Contains(who, name) {
				alone[c] = false
				continue
			}
			x, _ := strconv.ParseFloat(r[4], 64)
			own[c] += x
		}
		alone[c] = alone[c] && own[c] > 0
	}
	return own, alone
}

// coalitions returns all contributors, and all pairs of them if the configuration says so.
func (l *linkedTables) coalitions() (list [][]string) {
	var all []string
	for i, r := range l.records {
		name := fmt.Sprint(i)
		if l.holding {
			name = r[3]
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for i, who := range all {
		list = append(list, []string{who})
		for _, other := range all[:i] {
			if l.coalition > 1 {
				list = append(list, []string{other, who})
			}
		}
	}
	return list
}

// inferred returns the unsafe cells of which contributors infer more than their rule allows, and the number of ranges.
func (l *linkedTables) inferred(v *seenTables) (found []string, checked, largest int) {
	for _, who := range l.coalitions() {
		own, alone := l.own(v, who)
		lower, sums, consts := make([]float64, len(own)), slices.Clone(v.sums), slices.Clone(v.consts)
		inside := false
		for c := range own {
			lower[c] = max(own[c], min(1, v.value[c]))
			inside = inside || own[c] > 0
			if alone[c] {
				exactly := make([]float64, len(own))
				exactly[c] = 1
				sums, consts = append(sums, exactly), append(consts, -own[c])
			}
		}
		for c, unsafe := range v.unsafe {
			if !unsafe || !inside || alone[c] {
				continue
			}
			checked++
			low, high := rangeOf(c, lower, sums, consts)
			if l.counts() {
				low, high = math.Ceil(low-1e-6), math.Floor(high+1e-6)
			}
			if own[c] > v.needLow[c] {
				largest++
			}
			if !(low <= max(v.needLow[c], own[c])+1e-3) || !(high >= v.needUp[c]-1e-3) {
				found = append(found, v.names[c])
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), checked, largest
}

func (l *linkedTables) counts() bool { return !strings.Contains(l.text, "value: x") }

// No contributor, and no pair if the configuration says so, can infer more about an unsafe cell than its rule allows
// from the published tables and from their own part in each cell that is held back: of a cell in which they are alone
// they know the value, of others that they are at least their part, and for a cell in which they are the range need not
// begin below it. The ranges are computed by another linear program than the audit's, from the file of all cells and
// the records alone. Where tables that are only protected against outsiders allow it, audit-tables names the cells.
func TestNobodyUsesHerOwnPart(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(38, 2))
	published, ranges, matters, open := 0, 0, 0, 0
	n := inShort(*ownParts)
	for trial := range n {
		l := drawLinked(rng)
		if l.counts() {
			for i := range l.records {
				l.records[i][4] = "1"
			}
		} else {
			l.text = strings.ReplaceAll(l.text, "unsafe: [{threshold:", "unsafe: [{p_percent: 20}, {threshold:")
		}
		dir := t.TempDir()
		lines := []string{"a,b,c,h,x"}
		for _, r := range l.records {
			lines = append(lines, strings.Join(r, ","))
		}
		write(t, dir, "in.csv", strings.Join(lines, "\n")+"\n")
		text := strings.ReplaceAll(l.text, "WHICH", "protect") + "report: {cells: %s/cells.csv}\n"
		res, err := run(t, dir, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range res.Report.Tables {
			if len(table.Respondent) > 0 { // the search for a pattern knows all that the audit knows
				t.Errorf("configuration %d: withheld for respondents: %v", trial, table.Respondent)
			}
		}
		protect := l.see(t, dir)
		if res.Report.Withheld == "" {
			published++
			found, checked, largest := l.inferred(protect)
			if ranges, matters = ranges+checked, matters+largest; len(found) > 0 {
				t.Fatalf("configuration %d: too much is inferred about %v\n%s\n%s", trial, found, text, strings.Join(lines, "\n"))
			}
		}
		if res, err = run(t, dir, strings.ReplaceAll(text, "respondents: protect", "respondents: ignore")); err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			continue
		}
		seen := l.see(t, dir)
		for c, key := range seen.names { // no rule can ask that a range begins below what respondents know in any case
			if seen.unsafe[c] {
				seen.needLow[c] = protect.needLow[protect.columns[key]]
			}
		}
		found, _, _ := l.inferred(seen)
		rep, err := Audit(t.Context(), configured(t, dir, text), Foreign{Path: filepath.Join(dir, "out.csv")},
			pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, table := range rep.Tables {
			named = append(append(named, table.Respondent...), table.Narrow...)
		}
		if len(found) > 0 {
			open++
		}
		for _, cell := range found {
			if !slices.ContainsFunc(named, func(name string) bool {
				return same(name, strings.Join(strings.Fields(cell), ", "))
			}) {
				t.Fatalf("configuration %d: too much can be inferred about %s, audit-tables names %v\n%s", trial, cell, named, text)
			}
		}
	}
	t.Logf(
		"%d published, %d ranges of contributors, %d of cells that are their own for the most part; %d would be open without asking", published, ranges, matters, open)
	if published < n/3 || ranges < 20*n || open < n/20 {
		t.Errorf("%d published, %d ranges, %d open: the test shows little", published, ranges, open)
	}
}
