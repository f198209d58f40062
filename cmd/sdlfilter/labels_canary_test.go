package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLabelledFilesCanary releases files of SPSS, Stata and SAS that say more than leaves: "canary" is in their file
// labels, notes, names of tables, identifiers, labels of variables and labels of codes that no record has. It is in no
// output, of whatever format.
func TestLabelledFilesCanary(t *testing.T) {
	const config = `version: 1
name: labelled
key: {file: k}
source: {%s: {path: in%s}}
columns:
  %s: {role: identifier}
  %s: {role: sensitive, decimals: 2}
  %s: {role: key}
  %s: {role: other}
unlisted: drop
masks:
  - noise: {columns: [%[4]s], sd: 50}
sink: {%[7]s}
gate: {rules: [{column: %[4]s, min_efficiency: 0.001}]}
report: {json: out/report.json, html: out/report.html, board: out/report.board.html, publish: [sd]}
`
	sinks := []string{
		"spss: {path: out/r.sav, compression: none}", "stata: {path: out/r.dta}", "xlsx: {path: out/r.xlsx}",
		"csv: {path: out/r.csv, codebook: out/book.csv}", "parquet: {path: out/r.parquet, compression: none}",
		"jsonl: {path: out/r.jsonl}",
	}
	k := 0
	for _, in := range []struct{ program, file string }{{"spss", "made.sav"}, {"spss", "made.zsav"}, {"stata", "made.dta"},
		{"sas", "made5.xpt"}} {
		for i, sink := range sinks {
			if k++; !takesPart(k, i, len(sinks)) && in.file != "made.sav" {
				continue
			}
			t.Run(in.file+"/"+sink[:strings.IndexByte(sink, ':')], func(t *testing.T) {
				dir := t.TempDir()
				ext := filepath.Ext(in.file)
				content, err := os.ReadFile(filepath.Join("../../connectors/statfile/testdata", in.file))
				if err != nil {
					t.Fatal(err)
				}
				names := []any{"id", "income", "sex", "region"}
				if program(t, dir, "keygen", "--out", "k").Run() != nil {
					t.Fatal("no key")
				}
				for path, text := range map[string][]byte{
					"in" + ext: content, "p.yaml": fmt.Appendf(nil, config, append(append([]any{in.program, ext}, names...), sink)...),
				} {
					if err := os.WriteFile(filepath.Join(dir, path), text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, args := range [][]string{{"validate", "--connect", "p.yaml"}, {"preview", "p.yaml"}, {"run", "p.yaml"}} {
					printed, err := program(t, dir, args...).CombinedOutput()
					if err != nil {
						t.Fatalf("%s: %v\n%s", args[0], err, printed)
					}
					noLabelCanary(t, args[0], printed)
				}
				err = filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e fs.DirEntry, err error) error {
					if err != nil || e.IsDir() {
						return err
					}
					data, err := os.ReadFile(path)
					noLabelCanary(t, e.Name(), data)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func noLabelCanary(t *testing.T, what string, data []byte) {
	t.Helper()
	if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			noLabelCanary(t, what+"/"+f.Name, part)
		}
	}
	if i := bytes.Index(bytes.ToLower(data), []byte("canary")); i >= 0 {
		t.Errorf("%s has %q", what, data[i:min(i+40, len(data))])
	}
}
