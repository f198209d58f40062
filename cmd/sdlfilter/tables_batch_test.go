package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeAll writes files of a test.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const batchMetadata = `Nace 1 4 "9999"
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 2 1 1 0 0
Region 6 2 99
  <RECODEABLE>
  <TOTCODE> "All"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "--"
Turnover 9 9
  <NUMERIC>
  <DECIMALS> 1
Weight 19 3
  <WEIGHT>
Asked 23 1
  <REQUEST> "1" "2"
Group 25 4
  <HOLDING>
`

const batchFile = `// made by hand
<OPENMICRODATA> "firms.asc"
<OPENMETADATA>  "firms.rda"
<SPECIFYTABLE>  "Nace""Region"|"Turnover"||-2
<SAFETYRULE>    NK(0,0)|NK(0,0)|NK(2,85)|P(0,100,1)|P(0,100,1)|P(15,100,1)|FREQ(0,30)|FREQ(3,30)|REQ(0,0,0,0)|REQ(30,0,0,10)|WGT(1)
<SPECIFYTABLE>  "Region"|<freq>||
<SAFETYRULE>    FREQ(0,50)|FREQ(3,50)
<READMICRODATA>
<APRIORI>       "known.hst", 1, ";", 0, 0
<SUPPRESS>      MOD(1,5,1,0,0)
<SUPPRESS>      OPT(2,1)
<WRITETABLE>    (1,3,AS+,"C:\out\safe.txt")
`

// A batch file becomes a configuration whose tables are those of a configuration written by hand: the same rules with
// the same parameters, holdings, requests, weights, hierarchies, codes of missing values, and a-priori list.
func TestBatchFileOfTauArgus(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(38, 2))
	var fixed, free, csv strings.Builder
	csv.WriteString("Nace,Region,Turnover,Weight,Asked,Group\n")
	nace := []string{"1011", "1012", "1021", "2011", "2012", "9999"}
	for i := range 1500 {
		n, r := nace[min(rng.IntN(8), 5)], []string{"1", "2", "3", "4", "99"}[rng.IntN(5)]
		v := fmt.Sprintf("%.1f", math.Exp(3+rng.NormFloat64()))
		w, asked, group := 1+rng.IntN(3), rng.IntN(6), i/2
		switch {
		case i == 0: // has asked for protection, and is much of her cell
			n, r, v, asked = "1012", "1", "1300.0", 1
		case i == 2 || i == 4: // a cell of two
			n, r = "2012", "2"
		case n == "2012" && r == "2":
			r = "3"
		}
		fmt.Fprintf(&fixed, "%4s %2s %9s %3d %d %4d\r\n", n, r, strings.Replace(v, ".", ",", 1), w, asked, group)
		fmt.Fprintf(&free, "%q; %s;%s;%d;%d;%d\n", n, r, v, w, asked, group)
		fmt.Fprintf(&csv, "%s,%s,%s,%d,%v,g%d\n", n, r, v, w, asked == 1 || asked == 2, group)
	}
	writeAll(t, dir, map[string]string{
		"firms.asc": fixed.String(), "firms.rda": batchMetadata, "job.arb": batchFile, "firms.csv": csv.String(),
		"free.asc": free.String(),
		"free.rda": strings.NewReplacer("Nace 1 4", "<SEPARATOR> \";\"\nNace 4", "Region 6 2", "Region 2", "Turnover 9 9",
			"Turnover 9", "Weight 19 3", "Weight 3", "Asked 23 1", "Asked 1", "Group 25 4", "Group 4").Replace(batchMetadata),
		"free.arb":   strings.NewReplacer("firms.asc", "free.asc", "firms.rda", "free.rda").Replace(batchFile),
		"region.hrc": "North\n--1\n--2\nSouth\n--3\n--4\n", "region2.hrc": "North\n@1\n@2\nSouth\n@3\n@4\n99\n",
		"known.hst": "1011;3;u\n2011;1;c;9\n",
		"hand.yaml": `version: 1
source: {csv: {path: firms.csv, types: {Nace: string, Region: string, Asked: string}}}
holding: Group
request: Asked
hierarchies: {Nace: {prefix: [2, 3, 4], total: Total}, Region: {file: region2.hrc, total: All}}
tables:
  - {name: table-1, rows: [Nace, Region], value: Turnover, decimals: 1, weight: Weight, interval: {percent: 30}, apriori: known.hst,
     unsafe: [{dominance: [2, 85]}, {p_percent: 15}, {threshold: 3}, {request: 30}], protect: {suppress: {cost: unit}}}
  - {name: table-2, rows: [Region], unsafe: [{threshold: 3}], interval: {percent: 50}, protect: {suppress: {cost: value, effort: optimal}}}
sink: {csv: {path: hand.csv}}
report: {cells: handcells.csv}
`})
	status := func(want int, args ...string) string {
		out, err := program(t, dir, args...).CombinedOutput()
		checkStatus(t, err, want, out)
		return string(out)
	}
	status(exitDone, "tables", "hand.yaml")
	for _, name := range []string{"job", "free"} {
		said := status(exitDone, "tables", "--from-batch", name+".arb", name)
		for _, words := range []string{"job.arb:12: all tables are one file, safe.csv"} {
			if !strings.Contains(said, strings.Replace(words, "job", name, 1)) {
				t.Errorf("%s: not said: %s\n%s", name, words, said)
			}
		}
		status(exitDone, "tables", "--check", name+"/tables.yaml")
		status(exitDone, "tables", name+"/tables.yaml")
		for made, hand := range map[string]string{"safe.csv": "hand.csv", "cells-report.csv": "handcells.csv"} {
			a, b := readFile(t, filepath.Join(dir, name, made)), readFile(t, filepath.Join(dir, hand))
			if !bytes.Equal(a, b) || len(a) < 500 {
				t.Errorf("%s: %s is not %s:\n%s\n%s", name, made, hand, a, b)
			}
		}
		for _, rule := range []string{"request", "dominance", "apriori"} {
			if !strings.Contains(string(readFile(t, filepath.Join(dir, name, "cells-report.csv"))), rule) {
				t.Errorf("%s: no cell is unsafe by %s", name, rule)
			}
		}
		for _, file := range []string{"tables.yaml", "records.csv"} {
			if info, err := os.Stat(filepath.Join(dir, name, file)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
	}
	said := status(exitFailed, "tables", "--from-batch", "job.arb", "job")
	if !strings.Contains(said, "job is there already") {
		t.Error(said)
	}
}

// Finished tables: cells with statuses and levels, two files, linked.
func TestBatchFileOfFinishedTables(t *testing.T) {
	dir := t.TempDir()
	const metadata = `<SEPARATOR> ";"
<UNSAFE> "X"
A "9"
  <RECODEABLE>
  <TOTCODE> "Total"
B
  <RECODEABLE>
Value
  <NUMERIC>
N
  <FREQUENCY>
Top1
  <MAXSCORE>
Top2
  <MAXSCORE>
State
  <STATUS>
Low
  <NUMERIC> <LOWERPL>
Up
  <NUMERIC> <UPPERPL>
`
	cells := ";;200;12;40;30;S;0;0\n;x;90;5;40;20;S;0;0\n;y;110;7;30;25;S;0;0\n" +
		"1;;100;6;40;30;S;0;0\n1;x;40,0;1;40;0;X;8;9,5\n1;y;60;5;30;10;S;0;0\n" +
		"2;;100;6;25;25;S;0;0\n2;x;50;4;20;15;S;0;0\n2;y;50;2;25;25;P;0;0\n"
	const job = "<OPENTABLEDATA> \"cells.tab\"\n<OPENMETADATA> \"cells.rda\"\n<SPECIFYTABLE> \"A\"\"B\"|\"Value\"\n%s<READTABLE> 0\n<SUPPRESS> GH(1,100,0,1)\n<WRITETABLE> (1,1,,\"out.csv\")\n"
	writeAll(t, dir,
		map[string]string{"cells.rda": metadata, "cells.tab": cells, "status.arb": fmt.Sprintf(job, "<SAFETYRULE>\n"),
			"rule.arb": fmt.Sprintf(job, "<SAFETYRULE> FREQ(3,20)\n"),
			"bad.arb":  strings.Replace(fmt.Sprintf(job, ""), "cells.tab", "bad.tab", 1),
			"bad.tab":  strings.Replace(cells, "40,0;1;40;0;X", "40,0;1;40;0;Canary", 1)})
	rows := func(name string) (held []string) {
		out, err := program(t, dir, "tables", "--from-batch", name+".arb", name).CombinedOutput()
		checkStatus(t, err, exitDone, out)
		out, err = program(t, dir, "tables", name+"/tables.yaml").CombinedOutput()
		checkStatus(t, err, exitDone, out)
		for line := range strings.Lines(string(readFile(t, filepath.Join(dir, name, "cells-report.csv")))) {
			if f := strings.Split(line, ","); slices.Contains(f, "unsafe") || slices.Contains(f, "primary") ||
				strings.Contains(line, "threshold") || strings.Contains(line, "apriori") {
				held = append(held, strings.TrimSpace(line))
			}
		}
		return held
	}
	if got := rows("status"); len(got) != 1 || !strings.Contains(got[0], "1,x,") {
		t.Errorf("by the status alone: %q", got)
	}
	// a P of the file makes no cell safe that breaks a rule
	if got := rows("rule"); len(got) != 2 || !strings.Contains(got[1], "2,y,") {
		t.Errorf("by the rule and the status: %q", got)
	}
	out, err := program(t, dir, "tables", "--from-batch", "bad.arb", "bad").CombinedOutput()
	checkStatus(t, err, exitUsage, out)
	if s := string(out); strings.Contains(s, "Canary") || !strings.Contains(s, "bad.tab:5: ") {
		t.Error(s)
	}
	if _, err := os.Stat(filepath.Join(dir, "bad")); err == nil {
		t.Error("something was left of a batch file that does not fit")
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
