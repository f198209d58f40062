package tabling

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// firmsIn writes records of two times: firm f1 has left, f90 has come, and f7 has another turnover.
func firmsIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	lines := []string{"id,region,branch,size,dom,exp,turnover"}
	row := func(i, dom int) string {
		return fmt.Sprintf("f%d,r%d,b%d,s%d,%d,%d,%d", i, i%3, i%4, i/3%2, dom, 7*i%40, dom+7*i%40)
	}
	for i := range 40 {
		lines = append(lines, row(i, 1000+37*i%211))
	}
	write(t, dir, "t0.csv", strings.Join(lines, "\n")+"\n")
	lines[2], lines[8] = row(90, 1777), row(7, 1555)
	write(t, dir, "t1.csv", strings.Join(lines, "\n")+"\n")
	return dir
}

// firms is a configuration: name, time, tables, and more.
func firms(dir, name string, time int, tables string, more ...string) string {
	os.Mkdir(filepath.Join(dir, name), 0o700)
	return fmt.Sprintf(
		"version: 1\nname: %[1]s\nsource: {csv: {path: %%s/t%[2]d.csv}}\n%[4]s\ntables: [%[3]s]\nsink: {csv: {path: %%s/%[1]s/out.csv}}\nreport: {json: %%s/%[1]s/report.json, cells: %%s/%[1]s/cells.csv}\n",
		name, time, tables, strings.Join(more, "\n"))
}

const (
	byBranch = "{name: t, rows: [region, branch], value: turnover, unsafe: [{threshold: 4}], protect: {suppress: {}}}"
	bySize   = "{name: t, rows: [region, size], value: turnover, unsafe: [{threshold: 4}], protect: {suppress: {}}}"
	against  = "releases: [{report: %s/first/report.json}]"
	others   = "identity: [id]\nreleases: [{report: %s/first/report.json, source: {csv: {path: %s/t0.csv}}}]"
)

func publicOf(t *testing.T, dir, name string) *Public {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name, "report.public.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(Public)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A release that does not fit its records, or is none, is refused with places and codes and without values.
func TestReleasesThatAreRefused(t *testing.T) {
	dir := firmsIn(t)
	if _, err := run(t, dir, firms(dir, "first", 0, byBranch)); err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "first", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := os.ReadFile(filepath.Join(dir, "first", "cells.csv"))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(name, old, new string) {
		os.Mkdir(filepath.Join(dir, name), 0o700)
		if !strings.Contains(string(report), old) {
			t.Fatalf("the report has no %s", old)
		}
		write(t, filepath.Join(dir, name), "report.json", strings.Replace(string(report), old, new, 1))
		write(t, filepath.Join(dir, name), "cells.csv", string(cells))
	}
	edit("schema", ReportSchema, "another")
	edit("withheld", `"gate"`, `"withheld": "why", "gate"`)
	edit("none", `"cells": {`, `"cell": {`)
	edit("table", `"name": "t"`, `"name": "u"`)
	edit("rows", `"branch"`, `"brunch"`)
	edit("weight", `"value": "turnover"`, `"value": "turnover", "weight": "dom"`)
	edit("method", `"method": "suppress"`, `"method": "swap"`)
	edit("moved", `"path": "cells.csv"`, `"path": "../gone/cells.csv"`)
	edit("changed", `"name": "first"`, `"name": "second"`)
	write(t, filepath.Join(dir, "changed"), "cells.csv", strings.Replace(string(cells), "t,", "t,", 1)+"\n")
	for _, c := range []struct{ release, more, want string }{
		{"nowhere", "", "releases[0].report: file DIR/nowhere/report.json does not exist"},
		{"schema", "", "releases[0].report: must be a report of sdlfilter tables"},
		{"withheld", "", "releases[0].report: must be of tables that were published"},
		{"none", "", "releases[0].report: must be of a run with report.cells"},
		{"table", "", `cells.csv:2: the report has no table "t"`},
		{"rows", "", `cells.csv:2: must have a column "brunch"`},
		{"weight", "", "releases[0]: table t, cell release first: region="},
		{
			"method", "",
			"releases[0]: must be left out, and these tables not be published: its table t, protected by swap, is of the same value as tables[0], protected by suppress"},
		{"moved", "", "gone/cells.csv with its cells does not exist"},
		{"changed", "", "releases[0].report: must name the file with its cells as it was written"},
	} {
		text := strings.ReplaceAll(firms(dir, "now", 0, bySize, against), "first/report", c.release+"/report")
		_, err := run(t, dir, text)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), c.want) {
			t.Errorf("%s: error %v, want %q", c.release, err, c.want)
		}
	}
	for _, c := range []struct {
		what, text string
		want       []string
		not        string
	}{
		{"other records", firms(dir, "now", 1, bySize, against),
			[]string{"releases[0]: table t, cell release first: region=total, branch=total: the records give another value",
				"name them: releases[0].source", "cell release first: region=r1, branch=b1:"},
			"cell release first: region=r2, branch=b2"},
		{"not its records", firms(dir, "now", 0, bySize, strings.Replace(others, "t0.csv", "t1.csv", 1)),
			[]string{"region=r1, branch=b1: the records give another value", "source must be the records that it was made of"},
			"region=r2, branch=b2"},
		{"other contributors", firms(dir, "now", 0, bySize, against, "holding: size"),
			[]string{"region=r1, branch=b1: the records give another value, or other contributors"}, ""},
		{
			"other codes",
			strings.Replace(firms(dir, "now", 0, bySize, against), "tables:", "hierarchies: {branch: {total: all}}\ntables:", 1),
			[]string{`variable branch has no code "total"`, "its hierarchy must have the codes of that release"}, ""},
		{"one column twice", strings.Replace(firms(dir, "now", 0, strings.Replace(byBranch, "branch", "kind", 1), against),
			"tables:", "hierarchies: {kind: {column: branch}}\ntables:", 1),
			[]string{"releases: variables kind and branch are both made from column branch"}, ""},
		{"a column that is not there", firms(dir, "now", 0, bySize, strings.Replace(others, "%s/t0.csv", "%s/bare.csv", 1)),
			[]string{`releases[0].source: the source has no column "branch"`}, ""},
	} {
		write(t, dir, "bare.csv", "id,region,size,turnover\nf1,r0,s0,12\n")
		_, err := run(t, dir, c.text)
		if err == nil {
			t.Errorf("%s: no error", c.what)
			continue
		}
		text := strings.ReplaceAll(err.Error(), dir, "DIR")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: error %v, want %q", c.what, err, want)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: error %v has a cell that is as it was", c.what, err)
		}
		if strings.Contains(text, "1777") || strings.Contains(text, "1555") || strings.Contains(text, "1037") {
			t.Errorf("%s: the error has a value: %v", c.what, err)
		}
	}
}

// A release of another breakdown is known to the tables and to audit-tables, which finds the tables unsafe that are
// made without it. The reports say so.
func TestTablesKnowEarlierReleases(t *testing.T) {
	dir := firmsIn(t)
	if _, err := run(t, dir, firms(dir, "first", 0, byBranch)); err != nil {
		t.Fatal(err)
	}
	alone, err := run(t, dir, firms(dir, "alone", 1, bySize))
	if err != nil || alone.Report.Withheld != "" || alone.Report.Earlier != nil {
		t.Fatalf("alone: %v, %+v", err, alone)
	}
	with := firms(dir, "with", 1, bySize, others)
	res, err := run(t, dir, with)
	if err != nil || res.Report.Withheld != "" {
		t.Fatalf("%v, %v", err, res.Report.Withheld)
	}
	if e := res.Report.Earlier; len(e) != 1 || e[0].Name != "first" || !slices.Equal(e[0].Tables, []string{"t"}) ||
		e[0].Records != 40 || e[0].Today != 38 || len(e[0].Open) > 0 {
		t.Errorf("the report says of the earlier release %+v", e)
	}
	if p := publicOf(t, dir, "with"); !p.Audited || !slices.Equal(p.Earlier, []string{"first"}) || p.Unaudited != nil {
		t.Errorf("the public report is %+v", p)
	}
	if p := publicOf(t, dir, "alone"); p.Earlier != nil {
		t.Errorf("the public report of tables made alone is %+v", p)
	}
	audit := func(name string) *Report {
		t.Helper()
		table, err := os.ReadFile(filepath.Join(dir, name, "out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := audited(t, dir, with, string(table))
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := audit("with"); !rep.Gate.Passed {
		t.Errorf("the audit of the tables themselves: %s, %+v", rep.Withheld, rep.Earlier)
	}
	rep := audit("alone")
	if rep.Gate.Passed || len(rep.Earlier) != 1 || len(rep.Earlier[0].Open) == 0 ||
		!strings.Contains(rep.Withheld, "nothing follows from it and earlier releases together") {
		t.Errorf("the audit of tables that were made alone passes: %s %+v", rep.Withheld, rep.Earlier)
	}
	// f1 was alone among those who have left, f90 alone among those who have come.
	if open := strings.Join(rep.Earlier[0].Open, "\n"); !strings.Contains(open,
		"in the records of first, not of today: ") || !strings.Contains(open, "in the records of today, not of first: ") {
		t.Errorf("the audit names %s", open)
	}
}

// Tables of total turnover are held against an earlier release of its two parts.
func TestEarlierReleasesOfOtherValues(t *testing.T) {
	dir := firmsIn(t)
	parts :=
		"{name: d, rows: [region, branch], value: dom, unsafe: [{threshold: 3}], protect: {suppress: {}}}, {name: e, rows: [region, branch], value: exp, unsafe: [{threshold: 3}], protect: {suppress: {}}}"
	if _, err := run(t, dir, firms(dir, "first", 0, parts)); err != nil {
		t.Fatal(err)
	}
	for _, time := range []int{0, 1} {
		more := against
		if time == 1 {
			more = others
		}
		text := firms(dir, fmt.Sprint("now", time), time, strings.Replace(byBranch, "threshold: 4", "threshold: 3", 1), more)
		res, err := run(t, dir, text)
		if err != nil || res.Report.Withheld != "" {
			t.Fatalf("%v, %s %+v %+v", err, res.Report.Withheld, res.Report.Earlier, res.Report.Families)
		}
		if e := res.Report.Earlier; len(e) != 1 || !slices.Equal(e[0].Tables, []string{"d", "e"}) {
			t.Errorf("the report says of the earlier release %+v", e)
		}
		table, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("now", time), "out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := audited(t, dir, text, string(table))
		if err != nil || !rep.Gate.Passed {
			t.Errorf("the audit of the tables themselves: %v, %+v", err, rep)
		}
		before,
			err := run(t, dir,
			firms(dir, fmt.Sprint("alone", time), time, strings.Replace(byBranch, "threshold: 4", "threshold: 3", 1)))
		if err != nil || before.Report.Withheld != "" {
			t.Fatal(err)
		}
		if table, err = os.ReadFile(filepath.Join(dir, fmt.Sprint("alone", time), "out.csv")); err != nil {
			t.Fatal(err)
		}
		if rep, err = audited(t, dir, text, string(table)); time == 1 && (err != nil || rep.Gate.Passed) {
			t.Errorf("time %d: the audit of tables that were made alone: %v, passed", time, err)
		}
	}
}

// What cannot be computed is refused, or said to be unaudited where people see it.
func TestReleasesThatAreNotAudited(t *testing.T) {
	dir := firmsIn(t)
	write(t, dir, "key", testKey)
	write(t, dir, "key2", strings.Replace(testKey, testKey[:4], "AAAA", 1))
	const keyed = "key: {file: %s/key}\nidentity: [id]"
	counts := func(rows, protect string) string {
		return "{name: c, rows: [" + rows + "], unsafe: [{threshold: 2}], protect: {" + protect + "}}"
	}
	if res, err := run(t, dir, firms(dir, "first", 0, counts("region", "cell_key: {}"), keyed)); err != nil ||
		res.Report.Withheld != "" {
		t.Fatalf("%v %+v", err, res)
	}
	res, err := run(t, dir, firms(dir, "same", 1, counts("region", "cell_key: {}"), keyed, against))
	if err != nil || res.Report.Withheld != "" {
		t.Fatalf("%v %+v", err, res)
	}
	if p := publicOf(t, dir, "same"); p.Audited || len(p.Unaudited) != 1 ||
		!strings.Contains(p.Unaudited[0], "c of release first: ") {
		t.Errorf("the public report is %+v", p)
	}
	for what, text := range map[string]string{
		"another key": firms(dir, "now", 0, counts("region", "cell_key: {}"),
			strings.Replace(keyed, "/key}", "/key2}", 1), against),
		"other parameters": firms(dir, "now", 0, counts("region", "cell_key: {max: 4}"), keyed, against),
		"another method":   firms(dir, "now", 0, counts("region", "suppress: {}"), against),
	} {
		if _, err := run(t, dir, text); err == nil ||
			!strings.Contains(err.Error(),
				"releases[0]: must be left out, and these tables not be published: its table c, protected by cell_key") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	// The same name: an earlier release is replaced.
	if _, err := run(t, dir, firms(dir, "place", 0, byBranch)); err != nil {
		t.Fatal(err)
	}
	if p := publicOf(t, dir, "place"); !p.Audited || p.Unaudited != nil {
		t.Errorf("the public report of a first release is %+v", p)
	}
	if _, err := run(t, dir, firms(dir, "place", 0, byBranch)); err != nil {
		t.Fatal(err)
	}
	if p := publicOf(t, dir, "place"); !p.Audited || p.Unaudited != nil {
		t.Errorf("the public report of the same release again is %+v", p)
	}
	known := firms(dir, "kept", 0, byBranch)
	if _, err := run(t, dir, known); err != nil {
		t.Fatal(err)
	}
	again := strings.Replace(firms(dir, "later", 1, bySize, others), "/first/", "/kept/", 1)
	again = strings.Replace(again, "/later/out.csv", "/kept/out.csv", 1)
	if res, err := run(t, dir, again); err != nil || res.Report.Withheld != "" {
		t.Fatalf("%v %+v", err, res)
	}
	if p := publicOf(t, dir, "later"); !p.Audited || p.Unaudited != nil {
		t.Errorf("the public report of a release that replaces one that it knows is %+v", p)
	}
	if _, err := run(t, dir, firms(dir, "place", 1, bySize)); err != nil {
		t.Fatal(err)
	}
	if p := publicOf(t, dir, "place"); p.Audited ||
		!slices.Equal(p.Unaudited, []string{"the release that was published under the same name before"}) {
		t.Errorf("the public report of a release that replaces another is %+v", p)
	}
	// Whoever has a release has those before it, and what was not audited with it.
	for _, c := range []struct {
		name, head string
		want       []string
	}{
		{"third", "identity: [id]\nreleases: [{report: %s/later/report.json, source: {csv: {path: %s/t1.csv}}}]",
			[]string{"release kept, which came before release later"}},
		{
			"third",
			"identity: [id]\nreleases: [{report: %s/kept/report.json, source: {csv: {path: %s/t0.csv}}}, {report: %s/later/report.json, source: {csv: {path: %s/t1.csv}}}]", nil},
		{"third", "identity: [id]\nreleases: [{report: %s/place/report.json, source: {csv: {path: %s/t1.csv}}}]",
			[]string{"before release place: the release that was published under the same name before"}},
	} {
		if err := os.RemoveAll(filepath.Join(dir, c.name)); err != nil {
			t.Fatal(err)
		}
		if res, err := run(t, dir, firms(dir, c.name, 1, byBranch, c.head)); err != nil || res.Report.Withheld != "" {
			t.Fatalf("%v %+v", err, res)
		}
		if p := publicOf(t, dir, c.name); p.Audited != (c.want == nil) || !slices.Equal(p.Unaudited, c.want) {
			t.Errorf("after %s: the public report is %+v", c.head, p)
		}
	}
}
