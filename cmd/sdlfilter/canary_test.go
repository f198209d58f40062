package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The canaries are recognisable values. None of them may appear in any output in any encoding,
// except the extremes of a sensitive column, which the confidential report contains by definition.
const (
	canaryName   = "Canaryname"     // + number: identifier
	canaryNote   = "Canarynote"     // + number: a column that is not listed
	canaryWage   = 73_184_000.25    // + 1000·i: sensitive, masked
	canaryBroken = "73184Canarybad" // in place of a number
)

const canaryRows = 400

type canaryRecord struct {
	Name string  `parquet:"name,dict"`
	Note string  `parquet:"note"`
	Wage float64 `parquet:"wage"`
	Kind string  `parquet:"kind,dict"`
}

func canaryRecords() []canaryRecord {
	rows := make([]canaryRecord, canaryRows)
	for i := range rows {
		rows[i] = canaryRecord{
			Name: canaryName + strconv.Itoa(i), Note: canaryNote + strconv.Itoa(i),
			Wage: canaryWage + 1000*float64(i), Kind: string(rune('a' + i%3)),
		}
	}
	return rows
}

// canaryInputs writes the records in each format; broken inputs contain a malformed record,
// truncated ones end in the middle.
func canaryInputs(t *testing.T, dir string) {
	t.Helper()
	rows := canaryRecords()
	var csv, jsonl bytes.Buffer
	csv.WriteString("name,note,wage,kind\n")
	for _, r := range rows {
		fmt.Fprintf(&csv, "%s,\"%s\",%.2f,%s\n", r.Name, r.Note, r.Wage, r.Kind)
		fmt.Fprintf(&jsonl, `{"name":%q,"note":%q,"wage":%.2f,"kind":%q}`+"\n", r.Name, r.Note, r.Wage, r.Kind)
	}
	brokenCSV := strings.Replace(csv.String(), "73200000.25,", canaryBroken+",", 1)
	brokenCSV = strings.Replace(brokenCSV, "73201000.25,", "73201000.25,"+canaryBroken+",", 1)
	brokenJSON := strings.Replace(jsonl.String(), "73200000.25,", `"`+canaryBroken+`",`, 1)
	brokenJSON = strings.Replace(brokenJSON, `"wage":73201000.25,`, `"wage":73201000.25 `+canaryBroken+`,`, 1)
	var pq bytes.Buffer
	w := parquet.NewGenericWriter[canaryRecord](&pq, parquet.KeyValueMetadata("source", canaryName+"0"))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	nan := append([]canaryRecord(nil), rows...)
	nan[7].Wage = math.NaN()
	var pqNaN bytes.Buffer
	w = parquet.NewGenericWriter[canaryRecord](&pqNaN)
	if _, err := w.Write(nan); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"in.csv": csv.Bytes(), "in.jsonl": jsonl.Bytes(), "in.parquet": pq.Bytes(),
		"broken.csv": []byte(brokenCSV), "broken.jsonl": []byte(brokenJSON), "broken.parquet": pqNaN.Bytes(),
		"truncated.csv":     append(csv.Bytes()[:csv.Len()/2:csv.Len()/2], `"`+canaryNote...),
		"truncated.jsonl":   jsonl.Bytes()[:jsonl.Len()/2],
		"truncated.parquet": pq.Bytes()[:pq.Len()/2],
		// A fixed key: with a random key, about one run in fifty would by chance release a value
		// equal to another record's original.
		"k": []byte(base64.StdEncoding.EncodeToString([]byte("a fixed key of 32 bytes for tests"[:32]))),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func canaryConfig(format, input, rule string) string {
	compression := ""
	if format == "parquet" || format == "arrow" {
		compression = ", compression: none"
	}
	types := ""
	if format == "csv" || format == "jsonl" {
		types = ", types: {wage: float64}"
	}
	return fmt.Sprintf(`version: 1
name: canary
key: {file: k}
source: {%[1]s: {path: %[2]s%[4]s}}
columns:
  name: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  kind: {role: other}
unlisted: drop
masks:
  - noise: {columns: [wage], sd: 5000}
sink: {%[1]s: {path: out/release.%[1]s%[3]s}}
assess: {privacy: {delta: 1.0e-9}, replicates: 10, emit: [{jsonl: out/snapshots.jsonl}], every: {records: 100}}
gate: {rules: [%[5]s]}
quarantine: {jsonl: out/quarantine.jsonl}
lineage: {file: out/lineage.ndjson}
report: {json: out/report.json, html: out/report.html, board: out/report.board.html, xlsx: out/report.xlsx, publish: [sd]}
`, format, input, compression, types, rule)
}

var canaryFormats = []string{"csv", "jsonl", "parquet"}

// takesPart reports whether case k of a test is tried in variant i of n. The short form tries each case
// once, in a variant that changes from case to case, so that it has every case and every variant; the
// long form has all.
func takesPart(k, i, n int) bool { return !testing.Short() || k%n == i }

// TestCanary runs an input of recognisable values through every way in which a run can end, and
// searches for them in all output.
func TestCanary(t *testing.T) {
	const passes, fails = "{column: wage, min_efficiency: 0.001}", "{column: wage, max_risk: 1e-30}"
	for i, format := range canaryFormats {
		for k, c := range []struct {
			name, input, rule string
			config            func(string) string
			status            int
		}{
			{name: "success", input: "in." + format, rule: passes},
			{name: "shuffled", input: "in." + format, rule: passes,
				config: func(s string) string { return strings.Replace(s, "}}\nassess:", "}, order: shuffled}\nassess:", 1) }},
			{name: "quarantine", input: "broken." + format, rule: passes, status: exitQuarantined},
			{name: "refused", input: "in." + format, rule: fails, status: exitRefused},
			{name: "truncated", input: "truncated." + format, rule: passes, status: -1},
			{name: "missing column", input: "in." + format, rule: passes, status: exitUsage,
				config: func(s string) string { return strings.Replace(s, "kind: {", "kinds: {", 1) }},
			{name: "wrong type", input: "in." + format, rule: passes, status: exitUsage,
				config: func(s string) string { return strings.Replace(s, "columns: [wage], sd", "columns: [kind], sd", 1) }},
			{name: "unlisted", input: "in." + format, rule: passes, status: exitUsage,
				config: func(s string) string { return strings.Replace(s, "unlisted: drop", "unlisted: fail", 1) }},
			{name: "table", input: "in." + format, rule: passes,
				config: func(s string) string {
					return regexp.MustCompile(`(?m)^sink: .*$`).ReplaceAllString(s,
						"sink: {iceberg: {path: out/table, compression: none}}")
				}},
		} {
			if !takesPart(k, i, len(canaryFormats)) {
				continue
			}
			t.Run(format+"/"+c.name, func(t *testing.T) {
				dir := t.TempDir()
				canaryInputs(t, dir)
				text := canaryConfig(format, c.input, c.rule)
				if c.config != nil {
					text = c.config(text)
				}
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				spans := collectSpans(t, http.StatusOK)
				for _, args := range [][]string{
					{"validate", "--connect", "pipeline.yaml"},
					{"init", c.input},
					{"run", "--summary", "json", "--metrics-file", "job.prom", "pipeline.yaml"},
					{"run", "--verbose", "--progress", "json", "pipeline.yaml"},
					{"verify", "out/report.json"},
					{"verify", "--json", "out/report.public.html"},
					{"verify", "out/report.board.html"},
					{"diff", "out/report.json", "out/report.public.json"},
					{"diff", "out/report.json", "out/report.json"},
				} {
					cmd := program(t, dir, args...)
					cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.URL)
					printed, err := cmd.CombinedOutput()
					checkCanaries(t, strings.Join(args, " "), printed, true)
					if args[0] == "run" {
						checkStatus(t, err, c.status, printed)
					}
				}
				checkFiles(t, filepath.Join(dir, "out"))
				metrics, err := os.ReadFile(filepath.Join(dir, "job.prom"))
				if err != nil {
					t.Error(err)
				}
				checkCanaries(t, "job.prom", metrics, true)
				if len(spans.taken()) == 0 {
					t.Error("no spans have arrived")
				}
				checkCanaries(t, "spans", spans.taken(), true)
				if c.status == 0 {
					checkNote(t, filepath.Join(dir, "out"))
				}
			})
		}
	}
}

// checkStatus checks the exit status; -1 accepts any (a truncated text file may contain whole
// records, or fail).
func checkStatus(t *testing.T, err error, want int, printed []byte) {
	t.Helper()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if want >= 0 && got != want {
		t.Errorf("exit status %d, want %d\n%s", got, want, printed)
	}
}

// checkNote checks that the public report contains the note for data users with the published λ, so
// that the search for canaries covers it.
func checkNote(t *testing.T, dir string) {
	t.Helper()
	for name, words := range map[string][]string{
		"report.public.html": {"Note for data users", "λ = 5,000", "corrected_variance"},
		"report.public.json": {`"note"`, `"correction": "formula"`, "corrected_variance"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range words {
			if !bytes.Contains(text, []byte(w)) {
				t.Errorf("%s has no %q", name, w)
			}
		}
	}
}

func checkFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// The confidential reports contain the extremes of the original column.
		confidential := strings.HasPrefix(e.Name(), "report.") && !strings.Contains(e.Name(), "public") ||
			e.Name() == "snapshots.jsonl"
		// The page for the board contains figures only.
		checkCanaries(t, e.Name(), data, !confidential || e.Name() == "report.board.html")
		if confidential || e.Name() == "quarantine.jsonl" || e.Name() == "lineage.ndjson" {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, want 0600", e.Name(), info.Mode().Perm())
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// checkCanaries searches for the canaries of identifiers and dropped columns, and with values for
// the original values of the masked column: as text, and as doubles, little- and big-endian.
func checkCanaries(t *testing.T, where string, data []byte, values bool) {
	t.Helper()
	for _, canary := range []string{canaryName, canaryNote, canaryBroken, "note"} {
		if i := bytes.Index(data, []byte(canary)); i >= 0 && !(canary == "note" && !strings.HasPrefix(where, "release")) {
			t.Errorf("%s holds %q at byte %d", where, canary, i)
		}
	}
	if !values {
		return
	}
	for i := range canaryRows {
		x := canaryWage + 1000*float64(i)
		var le, be [8]byte
		binary.LittleEndian.PutUint64(le[:], math.Float64bits(x))
		binary.BigEndian.PutUint64(be[:], math.Float64bits(x))
		for _, enc := range [][]byte{[]byte(strconv.FormatFloat(x, 'f', 2, 64)), []byte(strconv.FormatFloat(x, 'g', -1, 64)),
			le[:], be[:]} {
			if bytes.Contains(data, enc) {
				t.Errorf("%s holds the original value of record %d", where, i+1)
				return
			}
		}
	}
}
