package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saying writes an input, and a configuration with masks and further sections.
func saying(t *testing.T, sink, masks, rest string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var in bytes.Buffer
	in.WriteString("wage,age\n")
	for i := range 300 {
		fmt.Fprintf(&in, "%d.25,%d\n", 9000+i*i%977, 20+i*7%50)
	}
	config :=
		"version: 1\nname: saying\nkey: {file: k}\nsource: {csv: {path: in.csv}}\ncolumns:\n  wage: {role: sensitive, decimals: 2}\n  age: {role: key}\n" +
			"masks:\n  - " + masks + "\nsink: {csv: {path: " + sink + "}}\nassess: {replicates: 10}\n" + rest
	for name, data := range map[string][]byte{"in.csv": in.Bytes(), "pipeline.yaml": []byte(config),
		"k": []byte(strings.Repeat("QUJD", 10) + "QUI=")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A quiet run refused by the gate prints the reason in one line without a value: otherwise there
// would be only status 4. A released run prints nothing.
func TestQuietRunsSayWhyTheyAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		masks, rest, want string
		status            int
	}{
		{"noise: {columns: [wage], sd: 400}", "", "", 0},
		{"noise: {columns: [wage], sd: 400}", "gate: {rules: [{column: wage, min_efficiency: 0.999}]}\n",
			"sdlfilter: withheld: does not hold: wage: efficiency at least 0.999\n", exitRefused},
		{"topcode: {columns: [wage], upper: 1e6}", "gate: {rules: [{column: wage, min_efficiency: 0.1}]}\n",
			"sdlfilter: withheld: does not hold: no value is computed back from the list of masks; wage: no more released values equal to the original than the masks explain; wage: no more values stated within 0.5 than noise of one step of its usual values leaves\n", exitRefused},
	} {
		cmd := program(t, saying(t, "out.csv", c.masks, c.rest), "run", "--quiet", "pipeline.yaml")
		var out, words bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &words
		checkStatus(t, cmd.Run(), c.status, words.Bytes())
		if out.Len() > 0 || words.String() != c.want {
			t.Errorf("%s %s: printed %q and %q, want %q", c.masks, c.rest, out.String(), words.String(), c.want)
		}
	}
}

// A preview says which columns are synthetic and that it shows the values of the first copy.
func TestPreviewSaysWhatIsSynthetic(t *testing.T) {
	t.Parallel()
	dir := saying(t, "\"out{copy}.csv\"", "synthesise: {columns: [wage], on: [age], copies: 3}", "")
	printed, err := program(t, dir, "preview", "-n", "2", "pipeline.yaml").CombinedOutput()
	checkStatus(t, err, 0, printed)
	if want := "2 rows; * masked; synthetic: wage (drawn from a model, here in the first of 3 copies, no value is that of its record)"; !bytes.Contains(printed, []byte(want)) {
		t.Errorf("printed %s, want %q", printed, want)
	}
	ran, err := program(t, dir, "run", "--quiet", "pipeline.yaml").CombinedOutput()
	checkStatus(t, err, 0, ran)
	first, err := os.ReadFile(filepath.Join(dir, "out1.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(first), "\n")[1:3] {
		wage, _, _ := strings.Cut(line, ",")
		if !bytes.Contains(printed, []byte("\n"+strings.TrimRight(strings.TrimRight(wage, "0"), "."))) {
			t.Errorf("the first copy has %s, the preview %s", wage, printed)
		}
	}
	dir = saying(t, "out.csv", "synthesise: {columns: [wage], on: [age]}\n  - round: {columns: [age], base: 10}", "")
	printed, err = program(t, dir, "preview", "pipeline.yaml").CombinedOutput()
	checkStatus(t, err, 0, printed)
	if want := "synthetic: wage (drawn from a model, no value is that of its record)"; !bytes.Contains(printed,
		[]byte(want)) {
		t.Errorf("printed %s, want %q", printed, want)
	}
	dir = saying(t, "out.csv", "noise: {columns: [wage], sd: 400}", "")
	printed, err = program(t, dir, "preview", "pipeline.yaml").CombinedOutput()
	checkStatus(t, err, 0, printed)
	if bytes.Contains(printed, []byte("synthetic")) {
		t.Errorf("noise is called synthetic: %s", printed)
	}
}
