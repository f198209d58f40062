package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The firms of the canary: every contribution is a separate bit, so that the digits of each total
// reveal its parts, and it can be recognised anywhere.
func canaryFirms() (text string, values map[string]int64) {
	var b strings.Builder
	b.WriteString("firm,region,branch,turnover\n")
	values = map[string]int64{}
	add := func(region, branch string, v int64) {
		for _, r := range []string{region, "total"} {
			for _, c := range []string{branch, "total"} {
				values[r+","+c] += v
			}
		}
	}
	n := 0
	for _, region := range []string{"north", "south", "west"} {
		for _, branch := range []string{"mining", "trade", "farms"} {
			firms := 4
			if region == "north" && branch == "mining" || region == "west" && branch == "farms" {
				firms = 1
			}
			for range firms {
				v := int64(1) << (17 + n%34)
				v += int64(bits.Reverse16(uint16(n + 1)))
				n++
				fmt.Fprintf(&b, "Canaryfirm%d,%s,%s,%d\n", n, region, branch, v)
				add(region, branch, v)
			}
		}
	}
	return b.String(), values
}

const canaryTables = `version: 1
source: {%[1]s}
hierarchies: {branch: {codes: [mining, trade, farms]}}
tables:
  - {name: turnover, rows: [region, branch], value: turnover, unsafe: [{threshold: 2}], interval: {percent: 10}, protect: {%[2]s}}
  - {name: firms, rows: [region, branch], unsafe: [{threshold: 2}], protect: {%[2]s}}
sink: {%[3]s}
report: {json: out/report.json, html: out/report.html, cells: out/cells.csv}
`

// TestTablesCanary: no contribution, and no value of a suppressed cell, appears in public output,
// on the terminal or in a log, however the run ends. Only the owner can read confidential files.
func TestTablesCanary(t *testing.T) {
	text, values := canaryFirms()
	for _, c := range []struct {
		name, source, protect, sink string
		change                      func(string) string
		status                      int
	}{
		{name: "csv", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}"},
		{name: "jsonl", source: "csv: {path: in.csv}", protect: "suppress: {cost: value}",
			sink: "jsonl: {path: out/tables.jsonl}"},
		{name: "parquet", source: "csv: {path: in.csv}", protect: "suppress: {cost: log, respondents: ignore}",
			sink: "parquet: {path: out/tables.parquet, compression: none}"},
		{name: "workbook", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "xlsx: {path: out/tables.xlsx}"},
		{name: "optimal", source: "csv: {path: in.csv}", protect: "suppress: {cost: value, effort: optimal}",
			sink: "csv: {path: out/tables.csv}"},
		{name: "cell key", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			change: func(s string) string {
				return "key: {file: key}\nidentity: [firm]\n" +
					strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
						"unsafe: [{threshold: 2}], protect: {cell_key: {}}}\nsink", 1)
			}},
		{name: "values by cell key", source: "csv: {path: in.csv}", protect: "suppress: {}",
			sink: "csv: {path: out/tables.csv}", change: func(s string) string {
				return "key: {file: key}\nidentity: [firm]\n" + strings.Replace(s, "protect: {suppress: {}}}\n  - {name: firms",
					"protect: {cell_key: {values: {most: 0.9}}}}\n  - {name: firms", 1)
			}},
		{name: "rounded", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "jsonl: {path: out/tables.jsonl}",
			change: func(s string) string {
				return strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
					"unsafe: [{threshold: 2}], protect: {round: {base: 5, mode: small}}}\nsink", 1)
			}},
		{name: "adjusted", source: "csv: {path: in.csv}", protect: "adjust: {}", sink: "csv: {path: out/tables.csv}"},
		{name: "simulated", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			change: func(s string) string {
				return strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
					"unsafe: [{threshold: 2}], protect: {simulate: {}}}\nsink", 1)
			}},
		{name: "markov", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "jsonl: {path: out/tables.jsonl}",
			change: func(s string) string {
				return "key: {file: key}\nidentity: [firm]\n" +
					strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
						"unsafe: [{threshold: 2}], protect: {markov: {theta: 1}}}\nsink", 1)
			}},
		{name: "swapped", source: "csv: {path: in.csv}", protect: "suppress: {}",
			sink: "parquet: {path: out/tables.parquet, compression: none}", change: func(s string) string {
				return "key: {file: key}\nidentity: [firm]\n" +
					strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
						"unsafe: [{threshold: 2}], protect: {swap: {rate: 0.5}}}\nsink", 1)
			}},
		{name: "sampled", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "jsonl: {path: out/tables.jsonl}",
			change: func(s string) string {
				return "key: {file: key}\nidentity: [firm]\n" +
					strings.Replace(s, "unsafe: [{threshold: 2}], protect: {suppress: {}}}\nsink",
						"unsafe: [{threshold: 2}], protect: {sample: {one_in: 2}}}\nsink", 1)
			}},
		{name: "jj", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			change: func(s string) string {
				counts := s[strings.Index(s, "  - {name: firms"):strings.Index(s, "sink:")]
				return strings.Replace(strings.Replace(s, counts, "", 1), "cells: out/cells.csv",
					"cells: out/cells.csv, jj: out/cells.jj", 1)
			}},
		{name: "sdmx", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			change: func(s string) string {
				return "sdmx: {structure: 'NSO:DF_FIRMS(1.0)'}\n" + s
			}},
		{name: "finished", source: "csv: {path: finished.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			change: finishedCells},
		{name: "finished and contradictory", source: "csv: {path: contradictory.csv}", protect: "suppress: {}",
			sink: "csv: {path: out/tables.csv}", change: finishedCells, status: exitUsage},
		{name: "withheld", source: "csv: {path: in.csv}", protect: "none: {}", sink: "csv: {path: out/tables.csv}",
			status: exitRefused},
		{name: "broken", source: "csv: {path: broken.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			status: exitUsage},
		{name: "broken left out", source: "csv: {path: broken.csv, types: {turnover: int64}}", protect: "suppress: {}",
			sink: "csv: {path: out/tables.csv}", status: exitQuarantined,
			change: func(s string) string { return "unknown: drop\n" + s }},
		{name: "broken and typed", source: "csv: {path: broken.csv, types: {turnover: int64}}", protect: "suppress: {}",
			sink: "csv: {path: out/tables.csv}", status: exitUsage},
		{name: "a name for a value", source: "csv: {path: in.csv}", protect: "suppress: {}",
			sink: "csv: {path: out/tables.csv}", status: exitUsage,
			change: func(s string) string { return strings.ReplaceAll(s, "value: turnover", "value: firm") }},
		{name: "too large", source: "csv: {path: in.csv}", protect: "suppress: {}", sink: "csv: {path: out/tables.csv}",
			status: exitUsage,
			change: func(s string) string { return strings.ReplaceAll(s, "value: turnover", "value: turnover, decimals: 9") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := fmt.Sprintf(canaryTables, c.source, c.protect, c.sink)
			if c.change != nil {
				config = c.change(config)
			}
			broken := strings.Replace(text, "trade", "Canarycode", 1)
			broken = strings.Replace(broken, "\n", "\nCanaryfirm0,south,farms,73184Canarybad\n", 1)
			for name, content := range map[string]string{"in.csv": text, "broken.csv": broken,
				"finished.csv": finishedFirms(text, ""), "contradictory.csv": finishedFirms(text, "3"), "tables.yaml": config,
				"key": canaryTableKey + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			printed, err := program(t, dir, "tables", "--verbose", "--progress", "json", "tables.yaml").CombinedOutput()
			checkStatus(t, err, c.status, printed)
			checkTableCanaries(t, "what is printed", string(printed), values, nil)
			if c.name == "csv" {
				printed,
					err := program(t, dir, "audit-tables", "--verbose", "tables.yaml", "--table", "out/tables.csv").CombinedOutput()
				checkStatus(t, err, 0, printed)
				checkTableCanaries(t, "what the audit prints", string(printed), values, nil)
				printed,
					err = program(t, dir, "audit-tables", "--verbose", "tables.yaml", "--table", "out/cells.csv").CombinedOutput()
				checkStatus(t, err, exitRefused, printed)
				checkTableCanaries(t, "what the audit of true values prints", string(printed), values, nil)
			}
			if file := map[string]string{"sdmx": "out/tables.csv", "jj": "out/cells.jj"}[c.name]; file != "" {
				printed, err := program(t, dir, "audit-tables", "--verbose", "tables.yaml", "--table", file).CombinedOutput()
				checkStatus(t, err, 0, printed)
				checkTableCanaries(t, "what the audit of "+file+" prints", string(printed), values, nil)
			}
			hidden := hiddenCells(t, filepath.Join(dir, "out", "cells.csv"))
			least := 4
			// nothing is held back beside the unsafe cells, whose true values are not published
			if c.name == "values by cell key" || c.name == "adjusted" {
				least = 2
			}
			if c.status == 0 && len(hidden) < least {
				t.Errorf("only %d cells are protected", len(hidden))
			}
			err = filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				name := e.Name()
				if name == "report.json" || name == "report.html" || name == "cells.csv" || name == "cells.jj" {
					if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s has mode %v", name, info.Mode().Perm())
					}
					if name == "report.json" {
						text, err := os.ReadFile(path)
						checkTableCanaries(t, name, string(text), values, hidden)
						return err
					}
					return nil
				}
				text, err := os.ReadFile(path)
				if filepath.Ext(name) == ".xlsx" {
					text = unzipped(t, text)
				}
				checkTableCanaries(t, name, string(text), nil, nil)
				for cell := range hidden {
					if v := values[cell]; holdsNumber(string(text), v) {
						t.Errorf("%s contains the value of %s, which is suppressed", name, cell)
					}
				}
				return err
			})
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		})
	}
}

// finishedCells changes the configuration to one of finished cells, with the one value that these have.
func finishedCells(s string) string {
	counts := s[strings.Index(s, "  - {name: firms"):strings.Index(s, "sink:")]
	return "finished: {count: n, largest: [x, y], who: [v, w]}\n" + strings.Replace(s, counts, "", 1)
}

// finishedFirms returns the finished cells of the firms, with two contributors each. more is put before the values of
// some of them.
func finishedFirms(text, more string) string {
	type cell struct {
		sum, n int64
		x      [2]int64
		who    [2]string
	}
	cells := map[string]*cell{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		f := strings.Split(line, ",")
		v, _ := strconv.ParseInt(f[3], 10, 64)
		for _, r := range []string{f[1], "total"} {
			for _, b := range []string{f[2], "total"} {
				c := cells[r+","+b]
				if c == nil {
					c = new(cell)
					cells[r+","+b] = c
				}
				c.sum += v
				c.n++
				switch {
				case v > c.x[0]:
					c.x, c.who = [2]int64{v, c.x[0]}, [2]string{f[0], c.who[0]}
				case v > c.x[1]:
					c.x[1], c.who[1] = v, f[0]
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("region,branch,turnover,n,x,y,v,w\n")
	for name, c := range cells {
		value := strconv.FormatInt(c.sum, 10)
		if strings.HasPrefix(name, "south") {
			value = more + value
		}
		second := ""
		if c.n > 1 {
			second = strconv.FormatInt(c.x[1], 10)
		}
		fmt.Fprintf(&b, "%s,%s,%d,%d,%s,%s,%s\n", name, value, c.n, c.x[0], second, c.who[0], c.who[1])
	}
	return b.String()
}

// unzipped returns what the members of a zip file hold.
func unzipped(t *testing.T, file []byte) (all []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	if !bytes.Contains(all, []byte("mining")) {
		t.Error("the workbook has no code")
	}
	return all
}

// TestEarlierReleasesCanary: tables that are held against an earlier release say nothing of the values of those who
// have come or left, whether the release fits its records or not.
func TestEarlierReleasesCanary(t *testing.T) {
	t.Parallel()
	text, values := canaryFirms()
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	without := strings.Join(slices.Delete(slices.Clone(lines), 3, 4), "\n") + "\n"
	gone, err := strconv.ParseInt(lines[3][strings.LastIndex(lines[3], ",")+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	values["the firm that has left"] = gone
	for code, v := range values {
		if strings.HasSuffix(code, "total") {
			values["today "+code] = v - gone
		}
	}
	form := func(time, name string, head ...string) string {
		return strings.Join(head, "\n") + "\n" + fmt.Sprintf(strings.ReplaceAll(canaryTables, "out/", name+"/"),
			"csv: {path: "+time+".csv}", "suppress: {}", "csv: {path: "+name+"/tables.csv}")
	}
	for name, content := range map[string]string{
		"in.csv": text, "today.csv": without,
		"first.yaml": form("in", "first"),
		"with.yaml": form("today", "with", "identity: [firm]",
			"releases: [{report: first/report.json, source: {csv: {path: in.csv}}}]"),
		"other.yaml": form("today", "other", "releases: [{report: first/report.json}]"),
		"alone.yaml": form("today", "alone"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what   string
		status int
		args   []string
	}{
		{"the first release", 0, []string{"tables", "first.yaml"}},
		{"tables made alone", 0, []string{"tables", "alone.yaml"}},
		{"a release of other records", exitUsage, []string{"tables", "other.yaml"}},
		{"tables held against it", 0, []string{"tables", "with.yaml"}},
		{"an audit", 0, []string{"audit-tables", "with.yaml", "--table", "with/tables.csv"}},
		{"an audit of tables made alone", exitRefused, []string{"audit-tables", "with.yaml", "--table", "alone/tables.csv"}},
	} {
		printed, err := program(t, dir, append(c.args, "--verbose")...).CombinedOutput()
		checkStatus(t, err, c.status, printed)
		checkTableCanaries(t, "what is printed for "+c.what, string(printed), values, nil)
	}
	hidden := hiddenCells(t, filepath.Join(dir, "with", "cells.csv"))
	for _, name := range []string{"report.public.json", "report.public.html", "tables.csv", "report.json"} {
		text, err := os.ReadFile(filepath.Join(dir, "with", name))
		if err != nil {
			t.Fatal(err)
		}
		checkTableCanaries(t, name, string(text), map[string]int64{"the firm that has left": gone}, nil)
		for cell := range hidden {
			if v := values["today "+cell]; v != 0 && holdsNumber(string(text), v) {
				t.Errorf("%s contains the value of %s, which is suppressed", name, cell)
			}
		}
	}
}

// canaryTableKey is the release key of tables.
const canaryTableKey = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="

// hiddenCells returns the suppressed cells of turnover, "region,branch".
func hiddenCells(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	hidden := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, ",")
		if f[0] == "turnover" && (f[5] == "primary" || f[5] == "secondary") {
			hidden[f[1]+","+f[2]] = true
		}
	}
	return hidden
}

// holdsNumber searches for a number as text, as a 64-bit integer and as a double.
func holdsNumber(text string, v int64) bool {
	var whole, double [8]byte
	binary.LittleEndian.PutUint64(whole[:], uint64(v))
	binary.LittleEndian.PutUint64(double[:], math.Float64bits(float64(v)))
	return strings.Contains(text, strconv.FormatInt(v, 10)) || strings.Contains(text, string(whole[:])) ||
		strings.Contains(text, string(double[:]))
}

// checkTableCanaries searches for names and for the given totals.
func checkTableCanaries(t *testing.T, where, text string, values map[string]int64, only map[string]bool) {
	t.Helper()
	for _, canary := range []string{"Canaryfirm", "Canarycode", "Canarybad", canaryTableKey} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds %q", where, canary)
		}
	}
	for cell, v := range values {
		if (only == nil || only[cell]) && strings.Contains(text, strconv.FormatInt(v, 10)) {
			t.Errorf("%s holds the value of %s: %s", where, cell, around(text, strconv.FormatInt(v, 10)))
		}
	}
}

func around(text, s string) string {
	i := strings.Index(text, s)
	return text[max(0, i-60):min(len(text), i+60)]
}
