package interop

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// noiseSD is the SD of the noise on wage; those on hours and debt are given in run.
const noiseSD = 300

// program returns the path of the binary. Without one the test fails, because nothing was tested.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SDLFILTER_BINARY")
	if path == "" {
		t.Fatal("SDLFILTER_BINARY must name the program; scripts/test-interop.sh builds it")
	}
	return path
}

// job is one run. columns are released; masked says which of wage, debt and
// amount get noise.
type job struct {
	source, sink string // as in a configuration's flow style
	columns      []string
	masked       []string
	stdin        []byte
}

// run releases a source, without the identifier name, and returns what the
// program wrote to standard output.
func run(t *testing.T, j job) []byte {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "k")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))),
		0o600); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "version: 1\nname: interop\nkey: {file: %q}\nsource: {%s}\nsink: {%s}\n", key, j.source, j.sink)
	fmt.Fprintf(&text, "assess: {replicates: 0, sample: 20, intruder: {inversion: false}}\nreport: {json: %q}\ncolumns:\n  name: {role: identifier}\n",
		filepath.Join(dir, "report.json"))
	role := map[string]string{}
	for _, c := range j.masked {
		role[c] = "sensitive, decimals: 2"
	}
	if _, ok := role["debt"]; ok {
		role["debt"] = "sensitive, decimals: 0"
	}
	for _, c := range j.columns {
		r := role[c]
		if r == "" {
			r = "other"
		}
		fmt.Fprintf(&text, "  %s: {role: %s}\n", c, r)
	}
	if len(j.masked) > 0 {
		text.WriteString("masks:\n")
		for _, c := range j.masked {
			fmt.Fprintf(&text, "  - noise: {columns: [%s], sd: %d}\n", c, noiseSD)
		}
	}
	config := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(config, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t), "run", "--quiet", config)
	cmd.Stdin = bytes.NewReader(j.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// masked compares a numeric column with its masked version; valid marks the rows that are not null.
func masked(t *testing.T, name string, original, released []float64, validBefore, validAfter []bool) {
	t.Helper()
	if len(original) != len(released) {
		t.Fatalf("%s: %d rows, want %d", name, len(released), len(original))
	}
	n, changed, sum := 0, 0, 0.0
	for i := range original {
		if validBefore[i] != validAfter[i] {
			t.Fatalf("%s: row %d: null: %v, want %v", name, i, !validAfter[i], !validBefore[i])
		}
		if !validBefore[i] {
			continue
		}
		d := released[i] - original[i]
		// A normal draw exceeds 10 SDs once in 1e22.
		if math.Abs(d) > 10*noiseSD {
			t.Fatalf("%s: row %d is further than 10 SDs from its original", name, i)
		}
		if d != 0 {
			changed++
		}
		n++
		sum += d * d
	}
	// On a grid of 1, noise of SD 300 leaves a value unchanged with probability 0.0013; for 300
	// values, more than a tenth unchanged has a probability below 1e-40.
	if changed < n*9/10 {
		t.Errorf("%s: only %d of %d values differ", name, changed, n)
	}
	// The mean square of 300 draws has a relative SD of √(2/300) = 0.082; 0.5 is 6 of them.
	if n >= 300 {
		if ratio := sum / float64(n) / (noiseSD * noiseSD); math.Abs(ratio-1) > 0.5 {
			t.Errorf("%s: the noise's variance is %.2f of what it should be", name, ratio)
		}
	}
}

// absent checks that a release contains no identifier. Those of the tests begin with "Respondent-".
func absent(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("Respondent-")) {
		t.Errorf("%s: a name is in its bytes", filepath.Base(path))
	}
}
