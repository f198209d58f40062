package tabulation

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
)

const windowTabulation = `version: 1
pipeline: p.yaml
window: {records: 1000, folder: out/windows}
tables: [{name: t, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}]
sink: {csv: {path: tables.csv}}
report: {json: r.json, html: r.html, cells: c.csv, jj: c.jj}
`

func TestTabulationWindow(t *testing.T) {
	t.Parallel()
	p, err := Parse("t.yaml", []byte(windowTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Window.Lateness != 0 {
		t.Errorf("a window of a number of records waits for %v", p.Window.Lateness)
	}
	for text, want := range map[string]config.Duration{"every: 1h": config.Duration(time.Minute),
		"every: 1h, lateness: 5m": config.Duration(5 * time.Minute)} {
		timed, err := Parse("t.yaml", []byte(strings.Replace(windowTabulation, "records: 1000", text, 1)), config.Options{})
		if err != nil || timed.Window.Every != config.Duration(time.Hour) || timed.Window.Lateness != want ||
			timed.Window.Records != 0 {
			t.Errorf("%s: %+v, %v", text, timed, err)
		}
	}
	in := p.InFolder("x/y")
	for got, want := range map[string]string{
		in.Sink.Config.Paths()[0]: "tables.csv", in.Report.JSON: "r.json", in.Report.HTML: "r.html", in.Report.Cells: "c.csv",
		in.Report.JJ: "c.jj",
	} {
		if got != filepath.Join("x/y", want) {
			t.Errorf("%s in another folder is %s", want, got)
		}
	}
	if in.SHA256() != p.SHA256() || p.Sink.Config.Paths()[0] != "tables.csv" || p.Report.JSON != "r.json" {
		t.Error("the configuration itself has changed")
	}
	for _, c := range []struct{ from, to, want string }{
		{"records: 1000, ", "", "window: must have records or every, which say when a window is complete"},
		{"records: 1000, ", "records: 1000, every: 1h, ", "window.every: must be left out if records is given"},
		{"records: 1000, ", "every: 1500ms, ", "window.every: must be whole seconds, at least 1s, got 1.5s"},
		{"records: 1000, ", "every: 200ms, ", "window.every: must be whole seconds, at least 1s, got 200ms"},
		{"records: 1000, ", "records: 1000, lateness: 5s, ", "window.lateness: needs every"},
		{"records: 1000, ", "every: 1h, lateness: -5s, ", "window.lateness: must be a positive length of time"},
		{"records: 1000", "records: 0", "window.records: must be at least 1, got 0"},
		{", folder: out/windows", "", "window.folder: is required"},
		{"out/windows", "''", "window.folder: must be a folder of this machine"},
		{"out/windows", "'-'", "window.folder: must be a folder of this machine"},
		{"out/windows", "s3://bucket/windows", "window.folder: must be a folder of this machine"},
		{"out/windows", "~/windows", "window.folder: must be a path"},
		{"pipeline: p.yaml", "source: {csv: {path: in.csv}}", "window: needs pipeline instead of source"},
		{"pipeline: p.yaml", `source: {kafka: {brokers: ["localhost:9"], topics: [in]}}`,
			"source.kafka: must be files; for the tables of a topic, give instead of source a pipeline"},
		{"path: tables.csv", "path: out/tables.csv", "sink.csv.path: must be the name of a file, without a folder"},
		{"path: tables.csv", "path: '-'", "sink.csv.path: must be the name of a file"},
		{"path: tables.csv", "path: ../tables.csv", "sink.csv.path: must be the name of a file"},
		{"path: tables.csv", "path: ..", "sink.csv.path: must be the name of a file"},
		{"path: tables.csv", "path: window.json", "sink.csv.path: must be another name than window.json"},
		{"csv: {path: tables.csv}", `postgres: {url: "postgres://localhost/x", table: t}`, "sink.postgres: must be a file"},
		{"suppress: {}", "sample: {one_in: 3}", "tables[0].protect.sample: must be another method for windows"},
		{"r.json", "/tmp/r.json", "report.json: must be the name of a file"},
		{"r.html", ".r.html", "report.html: must be the name of a file"},
		{"cells: c.csv", "cells: window.json", "report.cells: must be another name"},
		{"jj: c.jj", "jj: a/c.jj", "report.jj: must be the name of a file"},
	} {
		refusedTabulation(t, windowTabulation, c.from, c.to, c.want)
	}
}
