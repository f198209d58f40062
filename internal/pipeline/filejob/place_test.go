package filejob

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// standing is a person with the record's place in the whole data set.
type standing struct {
	person
	Part *int64 `parquet:"part,optional"`
	Row  *int64 `parquet:"row,optional"`
}

// standingIn gives each person a place: part i is parts[i].
func standingIn(parts [][]person) (all []standing) {
	for part, rows := range parts {
		for row, p := range rows {
			part, row := int64(part), int64(row)
			all = append(all, standing{p, &part, &row})
		}
	}
	return all
}

func (s *standing) csv() string {
	cell := func(v *int64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf("%s,%v,%s,%d,%s,%s,%s\n", s.ID, s.Income, cell(s.Debt), s.Age, s.Region, cell(s.Part), cell(s.Row))
}

func (s *standing) json() string {
	cell := func(v *int64) string {
		if v == nil {
			return "null"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf(`{"id":%q,"income":%v,"debt":%s,"age":%d,"region":%q,"part":%s,"row":%s}`+"\n",
		s.ID, s.Income, cell(s.Debt), s.Age, s.Region, cell(s.Part), cell(s.Row))
}

func writeStanding(t *testing.T, path string, rows []standing) {
	t.Helper()
	var out bytes.Buffer
	switch filepath.Ext(path) {
	case ".csv":
		out.WriteString("id,income,debt,age,region,part,row\n")
		for i := range rows {
			out.WriteString(rows[i].csv())
		}
	case ".jsonl":
		for i := range rows {
			out.WriteString(rows[i].json())
		}
	default:
		w := parquet.NewGenericWriter[standing](&out, parquet.MaxRowsPerRowGroup(700))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, out.Bytes())
}

// placing returns a configuration with a CSV release that contains the identifier, so that records
// can be recognised.
func placing(t *testing.T, dir, source, extra string) (*config.Pipeline, error) {
	t.Helper()
	write(t, filepath.Join(dir, "k"),
		[]byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))))
	return config.Parse("test.yaml", []byte(fmt.Sprintf(`version: 1
name: placing
key: {file: %[1]s/k}
source: {%[2]s}
sink: {csv: {path: %[1]s/out.csv}}
columns:
  id: {role: other}
  income: {role: sensitive}
  debt: {role: sensitive}
  age: {role: key}
  region: {role: key}
masks:
  - noise: {columns: [income], sd: 20%%}
  - noise: {columns: [debt], sd: 300, distribution: laplace}
  - truncate: {columns: [income], lower: 0}
assess: {sample: 2000, replicates: 20}
quarantine: {jsonl: %[1]s/quarantine.jsonl}
report: {json: %[1]s/report.json}
%[3]s`, dir, source, extra)), config.Options{Environ: func() []string { return nil }})
}

// lines returns the lines of a CSV file after its header, sorted.
func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	slices.Sort(all)
	return all
}

func read(t *testing.T, path string) (v map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sameMeasures compares two reports: sums in another order agree to 1e-9.
func sameMeasures(t *testing.T, path string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for k := range want {
			sameMeasures(t, path+"/"+k, got[k], want[k])
		}
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			t.Errorf("%s: %d entries, want %d", path, len(got), len(want))
			return
		}
		for i := range want {
			sameMeasures(t, fmt.Sprintf("%s[%d]", path, i), got[i], want[i])
		}
	case float64:
		if v, is := got.(float64); !is || !(math.Abs(v-want) <= 1e-9*math.Abs(want)) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestPlaces: for any order and any division of the records into files, records with the places of
// the whole data set are masked as in the whole, bit by bit, and measured as there.
func TestPlaces(t *testing.T) {
	racetest.Further(t)
	rows := people(9000)
	parts := [][]person{rows[:4000], rows[4000:4001], rows[4001:]}
	whole := t.TempDir()
	for i, part := range parts {
		writeCSV(t, filepath.Join(whole, "in", fmt.Sprintf("%d.csv", i)), part)
	}
	p, err := placing(t, whole, "csv: {path: "+whole+"/in}", "")
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := lines(t, filepath.Join(whole, "out.csv"))

	draw := rand.New(rand.NewPCG(1, 2))
	standing := standingIn(parts)
	for i, format := range []string{"csv", "jsonl", "parquet"} {
		for k, order := range []string{"ascending", "descending", "shuffled", "pieces", "files"} {
			if testing.Short() && k%3 != i {
				continue // each order once
			}
			t.Run(format+" "+order, func(t *testing.T) {
				dir := t.TempDir()
				rows, in := slices.Clone(standing), filepath.Join(dir, "in."+format)
				switch order {
				case "descending":
					slices.Reverse(rows)
				case "shuffled":
					draw.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
				case "pieces":
					rows = slices.Concat(rows[5000:], rows[300:4500], rows[:300], rows[4500:5000])
				}
				if order == "files" { // the parts that another task reads
					in = filepath.Join(dir, "in")
					writeStanding(t, filepath.Join(in, "0."+format), rows[7000:])
					writeStanding(t, filepath.Join(in, "1."+format), rows[:7000])
				} else {
					writeStanding(t, in, rows)
				}
				p,
					err := placing(t, dir, fmt.Sprintf("%s: {path: %s}", format, in),
					"place: {stream: part, record: row}\nshard: true\n")
				if err != nil {
					t.Fatal(err)
				}
				result, err := Run(context.Background(), p, pipeline.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got := lines(t, filepath.Join(dir, "out.csv"))
				if !slices.Equal(got, want) {
					t.Errorf("the release has %d records, want the %d of the reference", len(got), len(want))
				}
				if result.Report.Records.Released != wanted.Report.Records.Released {
					t.Errorf("%d released, want %d", result.Report.Records.Released, wanted.Report.Records.Released)
				}
				sameMeasures(t, "", read(t, dir+"/report.json")["columns"], read(t, whole+"/report.json")["columns"])
			})
		}
	}
}

// TestPlacesKeepTheirOrder: if places are ascending, the release has the order of the source.
func TestPlacesKeepTheirOrder(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	rows := standingIn([][]person{people(3000)})
	for i := range rows { // with gaps
		*rows[i].Row = int64(i)*7 + int64(i%3)
	}
	writeStanding(t, dir+"/in.csv", rows)
	p, err := placing(t, dir, "csv: {path: "+dir+"/in.csv}", "place: {record: row}\nunlisted: drop\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(dir + "/out.csv")
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if id := strings.Split(line, ",")[0]; i == 0 && line != "id,income,debt,age,region" || i > 0 && id != rows[i-1].ID {
			t.Fatalf("line %d of the file is %s", i, line)
		}
	}
}

// TestNoPlace: a record without a place goes to quarantine, where the file and the record number
// identify it. The others are masked as without it.
func TestNoPlace(t *testing.T) {
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			rows := standingIn([][]person{people(2000)})
			bad := map[int]struct {
				column string
				part   *int64
				row    *int64
			}{
				0: {"row", rows[0].Part, nil}, 17: {"part", nil, rows[17].Row}, 1000: {"row", rows[0].Part, new(int64(-1))},
				1001: {"part", new(int64(-5)), rows[1001].Row}, 1500: {"part", new(int64(1 << 31)), rows[1500].Row},
				1999: {"row", rows[0].Part, new(int64(1 << 62))},
			}
			for i, b := range bad {
				rows[i].Part, rows[i].Row = b.part, b.row
			}
			in := filepath.Join(dir, "in."+format)
			writeStanding(t, in, rows)
			p, err := placing(t, dir, fmt.Sprintf("%s: {path: %s}", format, in), "place: {stream: part, record: row}\n")
			if err != nil {
				t.Fatal(err)
			}
			result, err := Run(context.Background(), p, pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if result.Quarantined() != int64(len(bad)) || len(lines(t, dir+"/out.csv")) != 2000-len(bad) {
				t.Errorf("%d records in quarantine, want %d", result.Quarantined(), len(bad))
			}
			text, _ := os.ReadFile(dir + "/quarantine.jsonl")
			found := 0
			for line := range strings.Lines(string(text)) {
				var e struct {
					Stream, Column, Reason string
					Record                 int
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				b, is := bad[e.Record-1]
				if !is || e.Column != b.column || filepath.Base(e.Stream) != "in."+format ||
					!strings.Contains(e.Reason, "holds no place") {
					t.Errorf("unexpected quarantine entry %s", line)
				}
				found++
			}
			if found != len(bad) || bytes.Contains(text, []byte(strconv.Itoa(1<<31))) || bytes.Contains(text, []byte("-5")) {
				t.Errorf("want one quarantine entry per bad record, without values: %s", text)
			}
		})
	}
}

// TestPlaceOfTwo: two records with the same place are detected anywhere, and nothing is published.
func TestPlaceOfTwo(t *testing.T) {
	parts := [][]person{people(40_000)}
	for name, twin := range map[string][2]int{"neighbours": {7, 8}, "the last": {39_998, 39_999}, "far apart": {0, 39_999},
		"blocks apart": {2_000, 37_000}} {
		for _, format := range []string{"csv", "parquet"} {
			t.Run(name+" "+format, func(t *testing.T) {
				dir := t.TempDir()
				rows := standingIn(parts)
				*rows[twin[1]].Row = *rows[twin[0]].Row
				in := filepath.Join(dir, "in."+format)
				writeStanding(t, in, rows)
				p, err := placing(t, dir, fmt.Sprintf("%s: {path: %s}", format, in), "place: {stream: part, record: row}\n")
				if err != nil {
					t.Fatal(err)
				}
				_, err = Run(context.Background(), p, pipeline.Options{})
				if err == nil || !strings.Contains(err.Error(), "two records have the same place") ||
					!strings.Contains(err.Error(), "columns part and row") {
					t.Fatalf("the error is %v", err)
				}
				if _, err := os.Stat(dir + "/out.csv"); err == nil {
					t.Error("the run left a release in spite of the error")
				}
			})
		}
	}
}

// TestPlaceColumns: a column that does not exist or does not contain integers is an error of the
// configuration, with its place.
func TestPlaceColumns(t *testing.T) {
	dir := t.TempDir()
	writeStanding(t, dir+"/in.csv", standingIn([][]person{people(20)}))
	for place, want := range map[string]string{
		"{stream: part, record: rwo}":      `place.record: the source has no such column, got "rwo" (did you mean column `,
		"{stream: region, record: row}":    "place.stream: must be a column of whole numbers, and region is",
		"{record: id}":                     "place.record: must be a column of whole numbers, and id is",
		"{stream: part, record: nonsense}": "test.yaml:",
	} {
		p, err := placing(t, dir, "csv: {path: "+dir+"/in.csv}", "place: "+place+"\n")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), p, pipeline.Options{})
		var problems config.Errors
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", place, err, want)
		}
	}
}

// TestShardsWithoutIdentity: in several runs, records without identity would share the draws of
// other records.
func TestShardsWithoutIdentity(t *testing.T) {
	dir := t.TempDir()
	rows := people(200)
	writeCSV(t, dir+"/in.csv", rows)
	run := func() error {
		p, err := placing(t, dir, "csv: {path: "+dir+"/in.csv}", "identity: [id]\nshard: true\n")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), p, pipeline.Options{})
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	os.Remove(dir + "/out.csv")
	rows[199].ID = ""
	writeCSV(t, dir+"/in.csv", rows)
	if err := run(); err == nil ||
		!strings.Contains(err.Error(),
			"shard: must not be true if records have neither identity nor place: 1 have no value") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(dir + "/out.csv"); err == nil {
		t.Error("the run left a release in spite of the error")
	}
}
