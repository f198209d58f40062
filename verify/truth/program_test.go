package truth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
)

// value is a number of a report; infinite ones are strings there.
type value float64

func (v *value) UnmarshalJSON(text []byte) error {
	switch s := strings.Trim(string(text), `"`); s {
	case "Infinity":
		*v = value(math.Inf(1))
	case "-Infinity":
		*v = value(math.Inf(-1))
	case "null":
		*v = value(math.NaN())
	default:
		f, err := strconv.ParseFloat(s, 64)
		*v = value(f)
		return err
	}
	return nil
}

// report contains the parts of a report that the tests use.
type report struct {
	Columns map[string]struct {
		Utility struct {
			U              value  `json:"U"`
			SE             value  `json:"U_se"`
			U0             value  `json:"U0"`
			Efficiency     value  `json:"efficiency"`
			EfficiencyGate *value `json:"efficiency_gate"`
			Bias           value  `json:"bias"`
			Sampled        bool   `json:"sampled"`
			Approximate    bool   `json:"approximate"`
			Errs           string `json:"errs"`
		} `json:"utility"`
		Risk []risk `json:"risk"`
	} `json:"columns"`
	Gate struct {
		Passed bool `json:"passed"`
	} `json:"gate"`
}

type risk struct {
	Target      string `json:"target"`
	Knowledge   string `json:"knowledge"`
	R           value  `json:"R"`
	SE          value  `json:"R_se"`
	RealisedR   value  `json:"realised_R"`
	Sampled     bool   `json:"sampled"`
	Approximate bool   `json:"approximate"`
	Errs        string `json:"errs"`
	Bound       bool   `json:"bound"`
}

// job is a run of the program on a file.
type job struct {
	f          *file
	masks      string
	path       string // of the file as CSV
	sample     int
	replicates int
	window     int
	key        int
	gate       string // rules; "": none
	vary       string // axes of a map
}

// configuration writes the program's configuration into dir and returns it.
func (j job) configuration(t testing.TB, dir string) *config.Pipeline {
	t.Helper()
	p, err := j.loaded(t, dir)
	if err != nil {
		t.Fatalf("%s: %v", j.masks, err)
	}
	return p
}

// loaded is configuration, but returns its error.
func (j job) loaded(t testing.TB, dir string) (*config.Pipeline, error) {
	t.Helper()
	secret := sha256.Sum256([]byte("key " + strconv.Itoa(j.key)))
	key := filepath.Join(dir, "release.key")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(secret[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := "{role: sensitive}"
	if j.f.decimals >= 0 {
		x = fmt.Sprintf("{role: sensitive, decimals: %d}", j.f.decimals)
	}
	text := fmt.Sprintf(`version: 1
key: {file: %[1]s/release.key}
source: {csv: {path: %[2]s, types: {x: float64}}}
columns: {x: %[3]s, many: {role: other}, few: {role: other}, a: {role: other}}
masks: %[4]s
window: {records: %[5]d}
sink: {csv: {path: %[1]s/out.csv}}
assess: {replicates: %[6]d, sample: %[7]d, targets: [%[8]s], intruder: {inversion: false}}
report: {json: %[1]s/report.json}
`, dir, j.path, x, j.masks, max(j.window, 2), j.replicates, j.sample, strings.Join(targets, ", "))
	if j.gate != "" {
		text += "gate: {rules: [" + j.gate + "]}\n"
	}
	if j.vary != "" {
		text += "map: {column: x, vary: {" + j.vary + "}}\n"
	}
	path := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path, config.Options{Environ: func() []string { return nil }})
}

// run runs the program and reads its report.
func (j job) run(t testing.TB) *report {
	t.Helper()
	r, _ := j.release(t)
	return r
}

// release is run, and also returns the released values of x, NaN where there is none; none if the
// gate refuses them.
func (j job) release(t testing.TB) (*report, []float64) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(j.path), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if _, err := run.Pipeline(context.Background(), j.configuration(t, dir), pipeline.Options{}); err != nil {
		t.Fatalf("%s: %v", j.masks, err)
	}
	r := readReport(t, dir)
	if !r.Gate.Passed && j.gate != "" {
		return r, nil
	}
	out, err := os.ReadFile(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var y []float64
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n")[1:] {
		text, _, _ := strings.Cut(line, ",")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			v = math.NaN()
		}
		y = append(y, v)
	}
	return r, y
}

func readReport(t testing.TB, dir string) *report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := new(report)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// tempDir returns a folder with a simple name: a test's own folder contains the test's name, whose
// commas a configuration would have to quote.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
