package tabling

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// frameRanges returns how many unsafe cells of published tables are closer to be inferred than their rule asks, by
// somebody who knows that no combination of a, b and c is below 0.
func (l *linkedTables) frameRanges(t *testing.T, dir string) (cells, narrow, exact int) {
	t.Helper()
	var atoms [][]string
	for _, a := range []string{"a0", "a1", "a2"} {
		for _, b := range []string{"b0", "b1", "b2"} {
			for _, c := range []string{"c0", "c1", "c2"} {
				atoms = append(atoms, []string{a, b, c})
			}
		}
	}
	rows := read(t, dir, "cells.csv")
	head := rows[0]
	at := func(row []string, name string) string {
		if k := slices.Index(head, name); k >= 0 {
			return row[k]
		}
		return "total"
	}
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	lower := make([]float64, len(atoms)+1) // the last is the cell
	var sums [][]float64
	var consts []float64
	vector := func(row []string) []float64 {
		v := make([]float64, len(atoms)+1)
		for i, atom := range atoms {
			in := true
			for k, name := range []string{"a", "b", "c"} {
				code := at(row, name)
				in = in && (code == "total" || code == atom[k])
			}
			if in {
				v[i] = 1
			}
		}
		return v
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		if p := at(row, "published"); p != "" {
			v := vector(row)
			sums, consts = append(sums, v), append(consts, -number(p))
		}
	}
	for _, row := range rows[1:] {
		key := at(row, "a") + at(row, "b") + at(row, "c")
		if at(row, "status") != "primary" || seen[key] {
			continue
		}
		seen[key] = true
		v := vector(row)
		v[len(atoms)] = -1
		low, high := rangeOf(len(atoms), lower, append(slices.Clone(sums), v), append(slices.Clone(consts), 0))
		cells++
		if high-low < 1e-3 {
			exact++
		}
		if low > number(at(row, "need_low"))+1e-3 || high < number(at(row, "need_high"))-1e-3 {
			narrow++
		}
	}
	return cells, narrow, exact
}

func TestFrameHole(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 7))
	published, open, cells, narrow, exact := 0, 0, 0, 0, 0
	for range *configurations {
		l := drawLinked(rng)
		if len(l.rows) < 2 {
			continue
		}
		dir := t.TempDir()
		lines := []string{"a,b,c,h,x"}
		for _, r := range l.records {
			lines = append(lines, strings.Join(r, ","))
		}
		write(t, dir, "in.csv", strings.Join(lines, "\n")+"\n")
		res, err := run(t, dir, strings.Replace(l.text, "WHICH", "ignore", -1)+"report: {cells: %s/cells.csv}\n")
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			continue
		}
		published++
		n, k, x := l.frameRanges(t, dir)
		cells, narrow, exact = cells+n, narrow+k, exact+x
		if k > 0 {
			open++
		}
	}
	t.Logf("%d published, %d open; %d cells, %d narrow, %d exact", published, open, cells, narrow, exact)
}
