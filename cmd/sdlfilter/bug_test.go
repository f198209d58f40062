package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/transform"
)

// slip is a mask with a bug: it panics with a text that could be a value.
type slip struct {
	transform.Bias `yaml:"as"`
}

func (*slip) Check() check.Problems { panic("canary 4711") }

func init() {
	if os.Getenv("SDLFILTER_TEST_SLIP") == "1" {
		transform.Register(transform.Kind{Name: "slip", Doc: "panics", New: func() transform.Params {
			return new(slip)
		}})
	}
}

// A bug in the program ends a run like any other error: with status 1 and one line with its place
// in the code, without the text of the panic.
func TestMistakeInTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"in.csv": "id,wage\n1,4711\n",
		"p.yaml": "version: 1\nkey: {file: k}\nsource: {csv: {path: in.csv}}\nsink: {csv: {path: out.csv}}\ncolumns: {wage: {role: sensitive}}\nmasks: [{slip: {columns: [wage]}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := program(t, dir, "run", "p.yaml")
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = append(cmd.Env, "SDLFILTER_TEST_SLIP=1"), &stderr
	_ = cmd.Run()
	if status := cmd.ProcessState.ExitCode(); status != exitFailed {
		t.Errorf("status %d", status)
	}
	said := stderr.String()
	if !strings.Contains(said, "sdlfilter: internal error: string at ") || !strings.Contains(said, "slip).Check:") ||
		strings.Contains(said, "4711") || strings.Count(said, "\n") != 1 {
		t.Errorf("said:\n%s", said)
	}
}
