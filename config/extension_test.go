package config

import (
	"strings"
	"testing"
)

// A file is not named like one of another format, by which other programs would open it.
func TestExtensionsOfSinks(t *testing.T) {
	const pipeline = "version: 1\nkey: {file: k}\nsource: {csv: {path: in.csv}}\ncolumns: {a: {role: key}}\nmasks: []\nsink: {SINK}\n"
	for sink, want := range map[string]string{
		"csv: {path: out/o.csv}":                       "",
		"csv: {path: out/o.csv.gz}":                    "",
		"csv: {path: out/o.tsv}":                       "",
		"csv: {path: out/o.txt}":                       "",
		"csv: {path: out.d/o}":                         "",
		"csv: {path: '-'}":                             "",
		"jsonl: {path: o.json}":                        "",
		"jsonl: {path: o.ndjson}":                      "",
		"csv: {path: o.xlsx}":                          "sink.csv.path: must not end in .xlsx, by which programs take the file for one of sink xlsx",
		"jsonl: {path: o.XLS}":                         "sink.jsonl.path: must not end in .xls",
		"parquet: {path: o.csv}":                       "sink.parquet.path: must not end in .csv, by which programs take the file for one of sink csv",
		"csv: {path: o.parquet}":                       "sink.csv.path: must not end in .parquet, by which programs take the file for one of sink parquet",
		"csv: {path: o.jsonl.gz}":                      "sink.csv.path: must not end in .jsonl.gz",
		"csv: {path: o.parquet/}":                      "sink.csv.path: must not end in .parquet",
		"arrow: {path: o.ods}":                         "sink.arrow.path: must not end in .ods",
		"postgres: {table: o.xlsx, address: {env: A}}": "",
	} {
		_, err := Parse("p.yaml", []byte(strings.Replace(pipeline, "SINK", sink, 1)), Options{})
		judgeExtension(t, sink, err, want)
	}
	for sink, want := range map[string]string{
		"xlsx: {path: o.XLSX}": "", "spss: {path: o.zsav}": "", "stata: {path: o.dta}": "",
		"stata: {path: o.sav}": "sink.stata.path: must not end in .sav, by which programs take the file for one of sink spss",
		"spss: {path: o.xpt}":  "sink.spss.path: must not end in .xpt, by which programs take the file for one of source sas",
	} {
		_, err := Parse("p.yaml", []byte(strings.Replace(pipeline, "SINK", sink, 1)), Options{})
		judgeExtension(t, sink, err, want)
	}
}

func judgeExtension(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" && err != nil && strings.Contains(err.Error(), "must not end") || want != "" &&
		(err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}
