package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

// A SIGINT during a mask's decision about all records, which takes many seconds here, ends the run
// with the status of the signal. Nothing is published and nothing remains, for `run`, `map` and
// `attack`.
func TestSignalWithinADecision(t *testing.T) {
	if testing.Short() {
		t.Skip("groups 300,000 records")
	}
	const records = 300_000
	dir := t.TempDir()
	var in bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 2))
	in.WriteString("a,b,c,d\n")
	for range records {
		fmt.Fprintf(&in, "%.3f,%.3f,%.3f,%.3f\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
	}
	config := `version: 1
name: decision
key: {file: k}
source: {csv: {path: in.csv}}
columns: {a: {role: sensitive}, b: {role: sensitive}, c: {role: sensitive}, d: {role: key}}
masks:
  - microaggregate: {columns: [a, b, c], k: 3}
sink: {csv: {path: out/release.csv}}
assess: {replicates: 2}
report: {json: out/report.json}
map: {column: a, vary: {masks.0.microaggregate.k: {from: 3, to: 6, steps: 2}}}
`
	for name, data := range map[string][]byte{"in.csv": in.Bytes(), "pipeline.yaml": []byte(config),
		"k": []byte(keytest.Key(1).Text())} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	survey := fmt.Sprintf(`{"phase":"survey","records":%d,`, records)
	for _, command := range [][]string{
		{survey, "run", "pipeline.yaml"},
		{survey, "attack", "pipeline.yaml"},
		{`{"phase":"map",`, "map", "pipeline.yaml", "--out", "out", "--set", "assess.sample=all"}, // within a point
	} {
		when, command := command[0], command[1:]
		text := interruptAt(t, program(t, dir, append(command, "--progress", "json")...), when)
		mustContain(t, text, "ended by SIGINT: nothing was published")
		if entries, err := os.ReadDir(filepath.Join(dir, "out")); err == nil && len(entries) > 0 {
			t.Errorf("%s: remaining files: %s", command[0], entries[0].Name())
		}
	}
}

// interruptAt runs a program, sends it a SIGINT when it prints a text on standard error, and
// returns all its output. It must end with status 130.
func interruptAt(t *testing.T, cmd *exec.Cmd, when string) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	var text strings.Builder
	sent := time.Time{}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if sent.IsZero() && strings.Contains(lines.Text(), when) {
			sent = time.Now()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	t.Logf("%s: ended %v after the signal", cmd.Args[1], time.Since(sent).Round(time.Millisecond))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 || sent.IsZero() {
		t.Errorf("%s: ended with %v, want exit status 130\n%s", cmd.Args[1], err, text.String())
	}
	return text.String()
}
