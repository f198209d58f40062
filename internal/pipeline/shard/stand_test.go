package shard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

// person is a record of the test data: some without a wage, one that no mask accepts.
type person struct {
	ID     string   `parquet:"id" json:"id"`
	Wage   *float64 `parquet:"wage,optional" json:"wage"`
	Age    int32    `parquet:"age" json:"age"`
	Region string   `parquet:"region" json:"region"`
}

func people(n int) []person {
	draw := rand.New(rand.NewPCG(5, 6))
	rows := make([]person, n)
	for i := range rows {
		wage := math.Round(100*math.Exp(6+0.7*draw.NormFloat64())) / 100
		rows[i] = person{ID: fmt.Sprintf("canary-%05d", i), Wage: &wage, Age: int32(16 + draw.IntN(70)),
			Region: []string{"n", "s", "e\nw, \"quoted\""}[draw.IntN(3)]}
		if i%13 == 0 {
			rows[i].Wage = nil
		}
	}
	return rows
}

// formats write the test data, as one file of many parts.
var formats = map[string]func(t *testing.T, path string, rows []person){
	"parquet": func(t *testing.T, path string, rows []person) {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[person](&out, parquet.MaxRowsPerRowGroup(int64(len(rows)/70+1)))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, path, out.Bytes())
	},
	"csv": func(t *testing.T, path string, rows []person) {
		var out bytes.Buffer
		out.WriteString("\xef\xbb\xbfid,wage,age,region\r\n")
		for _, r := range rows {
			wage := ""
			if r.Wage != nil {
				wage = fmt.Sprintf("%.2f", *r.Wage)
			}
			fmt.Fprintf(&out, "%s,%s,%d,\"%s\"\r\n", r.ID, wage, r.Age, strings.ReplaceAll(r.Region, `"`, `""`))
		}
		write(t, path, out.Bytes())
	},
	"jsonl": func(t *testing.T, path string, rows []person) {
		var out bytes.Buffer
		for _, r := range rows {
			line, _ := json.Marshal(r)
			out.Write(append(line, '\n'))
			if r.Age == 20 {
				out.WriteString("  \n")
			}
		}
		write(t, path, out.Bytes())
	},
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// prepare makes a configuration in a new folder, which becomes the working directory.
func prepare(t *testing.T, format string, rows int, more string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "test.key", []byte(keytest.Key(1).Text()))
	if err := os.Chmod("test.key", 0o600); err != nil {
		t.Fatal(err)
	}
	formats[format](t, "in."+format, people(rows))
	write(t, "pipeline.yaml", []byte(fmt.Sprintf(`version: 1
name: shards
key: {file: test.key}
source: {%[1]s: {path: in.%[1]s}}
columns:
  id: {role: identifier}
  wage: {role: sensitive}
  age: {role: key}
  region: {role: key}
masks:
  - noise: {columns: [wage], sd: 20%%, tiers: [{above: 1000, variance_factor: 4}]}
  - truncate: {columns: [wage], lower: 0, upper: 5000}
sink: {%[1]s: {path: released}}
assess: {keys: [age, region], sample: 5000, replicates: 50}
quarantine: {jsonl: quarantine.jsonl}
report: {json: report.json}
gate: {rules: [{column: wage, min_efficiency: 0.5}]}
`, format)+more))
}

func load(t *testing.T, set ...string) *config.Pipeline {
	t.Helper()
	p, err := config.Load("pipeline.yaml", config.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var options = pipeline.Options{Version: "test", Log: zerolog.New(io.Discard)}

// single runs the job in one piece, and returns its report.
func single(t *testing.T, format string) map[string]any {
	t.Helper()
	p := load(t, "sink."+format+".path=whole."+format, "report.json=whole.json", "quarantine.jsonl=whole-quarantine.jsonl")
	if _, err := filejob.Run(context.Background(), p, options); err != nil {
		t.Fatal(err)
	}
	return read(t, "whole.json")
}

// sharded plans n shards, runs them and commits.
func sharded(t *testing.T, n int) (*Manifest, *account.Result, error) {
	t.Helper()
	m := planned(t, n)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	result, err := Commit(context.Background(), load(t), m, "states", options)
	return m, result, err
}

func planned(t *testing.T, n int) *Manifest {
	t.Helper()
	m, err := Plan(context.Background(), load(t), "pipeline.yaml", nil, n, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write("plan.json"); err != nil {
		t.Fatal(err)
	}
	back, err := Read(t.Context(), "plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if back.ID() != m.ID() {
		t.Fatal("the manifest that was read is not the one that was written")
	}
	return back
}

func runShard(t *testing.T, m *Manifest, i int) *State {
	t.Helper()
	s, err := Run(context.Background(), load(t), m, i, nil, options)
	if err != nil {
		t.Fatalf("shard %d: %v", i, err)
	}
	if err := s.Write(fmt.Sprintf("states/%d.state", i)); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// differences compares two reports, numbers to a relative 1e-9, because sums have another order.
// Fields that differ between releases are ignored.
func differences(a, b any, path string) (found []string) {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for k, v := range a {
			switch path + "/" + k {
			case "/config_sha256", "/started", "/finished", "/release":
			default:
				found = append(found, differences(v, b[k], path+"/"+k)...)
			}
		}
		for k := range b {
			if _, there := a[k]; !there {
				found = append(found, path+"/"+k+" is there in one alone")
			}
		}
	case []any:
		b, _ := b.([]any)
		if len(a) != len(b) {
			return []string{path + ": of another length"}
		}
		for i := range a {
			found = append(found, differences(a[i], b[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	case float64:
		if b, ok := b.(float64); !ok || !(math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))) {
			return []string{fmt.Sprintf("%s: %v and %v", path, a, b)}
		}
	default:
		if a != b {
			return []string{fmt.Sprintf("%s: %v and %v", path, a, b)}
		}
	}
	return found
}

// records returns the records of a release, from its files in order.
func records(t *testing.T, format, path string) string {
	t.Helper()
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		var err error
		if files, err = filepath.Glob(filepath.Join(path, "*."+format)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		switch format {
		case "parquet":
			type released struct {
				Wage   *float64 `parquet:"wage,optional"`
				Age    int32    `parquet:"age"`
				Region string   `parquet:"region"`
			}
			rows, err := parquet.Read[released](bytes.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			for _, r := range rows {
				if r.Wage != nil {
					fmt.Fprintf(&out, "%x", math.Float64bits(*r.Wage))
				}
				fmt.Fprintf(&out, " %d %s\n", r.Age, r.Region)
			}
		case "csv":
			if i > 0 {
				_, text, _ = bytes.Cut(text, []byte("\r\n"))
			}
			out.Write(text)
		default:
			out.Write(text)
		}
	}
	return out.String()
}
