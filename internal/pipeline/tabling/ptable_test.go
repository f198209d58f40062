package tabling

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
)

// A table of changes with the probabilities of a max and a variance gives the same release, the same beliefs and the
// same parameters; another one gives another release, with its own parameters. The probabilities are found from how
// often draws give each change: a row of the table has them in units of 2⁻³², which binary search finds exactly.
func TestTablesOfChanges(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, drawPeople(rand.New(rand.NewPCG(38, 1)), 900))
	of, problems := perturb.NewTable(perturb.Noise{Max: 3, Variance: 1.5})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text := "i;j;p\n"
	for count := range int64(5) {
		from := uint64(0)
		for v := int64(-3); v <= 3 && from < 1<<32; v++ {
			low, high := from, uint64(1)<<32 // the first draw, in units of 2⁻³², with a greater change
			for low < high {
				if mid := (low + high) / 2; of.Perturb(count, mid<<32) > count+v {
					high = mid
				} else {
					low = mid + 1
				}
			}
			if low > from {
				text += fmt.Sprintf("%d;%d;%.17g\n", count, count+v, float64(low-from)/(1<<32))
			}
			from = low
		}
	}
	write(t, dir, "ptable.txt", text)
	const config1 = `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
tables: [{name: t, rows: [region, sex], unsafe: [{threshold: 3}], protect: {cell_key: {CHANGES, respondents: ignore}}}]
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, cells: %s/cells.csv, html: %s/report.html}
`
	files := map[string][]byte{}
	for _, changes := range []string{"max: 3, variance: 1.5", "p_table: %s/ptable.txt"} {
		res, err := run(t, dir, strings.Replace(config1, "CHANGES", changes, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Report.Tables[0].Parameters; got["max"] != 3 || math.Abs(got["variance"]-1.5) > 1e-6 {
			t.Errorf("%s: parameters %v", changes, got)
		}
		for _, name := range []string{"out.csv", "cells.csv"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if before, again := files[name]; again && !bytes.Equal(before, text) {
				t.Errorf("%s differs:\n%s\n%s", name, before, text)
			}
			files[name] = text
		}
	}
	var b strings.Builder
	b.WriteString("i,j,p\n0,0,1\n1,0,.5\n1,2,.5\n")
	for _, v := range []int{-2, -1, 1, 2} {
		fmt.Fprintf(&b, "2,%d,.25\n", 2+v)
	}
	write(t, dir, "ptable.txt", b.String())
	res, err := run(t, dir, strings.Replace(config1, "CHANGES", "p_table: %s/ptable.txt", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Report.Tables[0].Parameters; got["max"] != 2 || math.Abs(got["variance"]-2.5) > 1e-6 ||
		got["least"] != 1 {
		t.Errorf("parameters %v", got)
	}
	for _, row := range read(t, dir, "cells.csv")[1:] {
		if row[3] != "0" && row[3] == row[len(row)-1] {
			t.Errorf("no count but 0 stays, and this one does: %v", row)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "each changed by at most 2") {
		t.Errorf("the page does not say what the greatest change is, %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{strings.Replace(b.String(), "2,1,.25", "2,1,.2", 1), "count 2: the probabilities must add up to 1"},
		{"", "no such file"},
	} {
		os.Remove(filepath.Join(dir, "ptable.txt"))
		if c.text != "" {
			write(t, dir, "ptable.txt", c.text)
		}
		_, err := run(t, dir, strings.Replace(config1, "CHANGES", "p_table: %s/ptable.txt", 1))
		if errs, is := err.(config.Errors); !is || !strings.HasPrefix(errs[0].Path, "tables[0].protect.cell_key.p_table") ||
			c.text != "" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := run(t, dir, strings.Replace(config1, "CHANGES", "p_table: %s/ptable.txt, max: 3", 1)); err == nil ||
		!strings.Contains(err.Error(), "cell_key.max: must be left out beside p_table") {
		t.Errorf("max beside p_table: %v", err)
	}
}
