package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// program returns the command that runs this program in dir.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SDLFILTER_TEST_AS_PROGRAM=1")
	return cmd
}

// killPipeline writes an input and a configuration whose run takes a few tenths
// of a second.
func killPipeline(t *testing.T, dir string) {
	t.Helper()
	var in bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 2))
	in.WriteString("id,wage,kind\n")
	for i := range 200_000 {
		fmt.Fprintf(&in, "%d,%.2f,%c\n", i, 100+900*rng.Float64(), 'a'+rune(i%5))
	}
	config := `version: 1
name: kill
key: {file: k}
source: {csv: {path: in.csv}}
columns:
  id:   {role: identifier}
  wage: {role: sensitive, decimals: 2}
  kind: {role: other}
masks:
  - noise: {columns: [wage], sd: 20}
sink: {csv: {path: out/release.csv}}
identity: [id]
ledger: releases
assess: {replicates: 20}
quarantine: {jsonl: out/quarantine.jsonl}
report: {json: out/report.json, html: out/report.html}
`
	for name, data := range map[string][]byte{
		"in.csv": in.Bytes(), "pipeline.yaml": []byte(config), "k": []byte(keytest.Key(1).Text()),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledAtAnyMoment kills a run with SIGKILL at 50 random moments, and at a few with formats whose files are
// written when all records are known. A file that has its final name is always the whole file: runs with one key are
// identical to the byte, so the release is compared with that of an undisturbed run, and the ledger has what has its
// final name. The next run succeeds over what is left behind. Every third run is killed as soon as it has entered its
// release, and another third as soon as this has its name.
func TestKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program about 100 times")
	}
	for _, c := range []struct {
		format, name string
		runs         int
	}{{"csv", "release.csv", 50}, {"spss", "release.sav", 8}, {"spss", "release.zsav", 8}, {"stata", "release.dta", 8},
		{"xlsx", "release.xlsx", 8}} {
		t.Run(c.name, func(t *testing.T) { killed(t, c.format, c.name, c.runs) })
	}
}

func killed(t *testing.T, format, name string, runs int) {
	dir := t.TempDir()
	killPipeline(t, dir)
	config := filepath.Join(dir, "pipeline.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("sink: {csv: {path: out/release.csv}}"),
		[]byte("sink: {"+format+": {path: out/"+name+"}}"), 1)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	spools := filepath.Join(dir, "spools")
	if err := os.Mkdir(spools, 0o700); err != nil {
		t.Fatal(err)
	}
	command := func() *exec.Cmd {
		cmd := program(t, dir, "run", "-q", "pipeline.yaml")
		cmd.Env = append(cmd.Env, "TMPDIR="+spools)
		return cmd
	}
	start := time.Now()
	if out, err := command().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(start)
	want, err := os.ReadFile(filepath.Join(dir, "out", name))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	ended, between := 0, 0
	book := filepath.Join(dir, "releases")
	for k := range runs {
		if err := os.RemoveAll(filepath.Join(dir, "out", name)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, "out", "report.json")), os.RemoveAll(book)); err != nil {
			t.Fatal(err)
		}
		cmd := command()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rng.Float64()*1.1*float64(whole)), func() {
			for deadline := time.Now().Add(whole); k%3 > 0 && time.Now().Before(deadline); {
				if info, err := os.Stat([]string{1: book, 2: filepath.Join(dir, "out", name)}[k%3]); err == nil && info.Size() > 0 {
					break
				}
				time.Sleep(20 * time.Microsecond)
			}
			cmd.Process.Kill()
		})
		if err := cmd.Wait(); err != nil {
			ended++
		}
		timer.Stop()
		checkWhole(t, dir, name, want)
		if !checkLedger(t, dir, name, want) {
			between++
		}
		// What is kept beside the release until it is written has no name.
		entries, err := os.ReadDir(spools)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || !info.IsDir() && info.Size() > 0 {
				t.Errorf("a killed run leaves %s, %v", e.Name(), err)
			}
		}
	}
	if ended < runs/5 {
		t.Errorf("only %d of %d runs were killed before they ended: the test shows little", ended, runs)
	}
	if runs >= 50 && between == 0 {
		t.Error(
			"no run was killed between the entry of its release and that of its outcome: the test shows little of the ledger")
	}
	if out, err := command().CombinedOutput(); err != nil {
		t.Fatalf("the run after: %v\n%s", err, out)
	}
	checkWhole(t, dir, name, want)
	if out, err := program(t, dir, "ledger", "check", "releases").CombinedOutput(); err != nil {
		t.Errorf("the ledger after: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if publish.IsTemp(e.Name()) {
			t.Errorf("remaining files after a complete run: %s", e.Name())
		}
	}
}

// checkLedger checks that a release that has its final name is in the ledger, which is whole. It reports whether each
// release has its outcome.
func checkLedger(t *testing.T, dir, name string, want []byte) (settled bool) {
	t.Helper()
	l, err := ledger.Look(t.Context(), filepath.Join(dir, "releases"))
	if errors.Is(err, fs.ErrNotExist) {
		l, err = &ledger.Ledger{}, nil
	}
	if err != nil {
		t.Fatalf("the ledger of a killed run: %v", err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out", name))
	if err == nil && bytes.Equal(got, want) && (l.Path() == "" || len(l.Releases()) != 1) {
		t.Error("a release that has its name is not in the ledger")
	}
	return l.Path() == "" || len(l.Unknown()) == 0
}

// checkWhole checks that files with final names are complete.
func checkWhole(t *testing.T, dir, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "out", name))
	if !errors.Is(err, fs.ErrNotExist) && (err != nil || !bytes.Equal(got, want)) {
		t.Fatalf("%s is there and is not the whole release (%d bytes of %d, %v)", name, len(got), len(want), err)
	}
	released := err == nil
	text, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !released {
		t.Error("the report is there before the release")
	}
	if _, err := report.Parse(text); err != nil {
		t.Errorf("report.json is there and is not a report: %v", err)
	}
	html, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(html)), "</html>") {
		t.Errorf("report.html is not whole: %v", err)
	}
}

// TestSignalPublishesNothing interrupts a run: no file remains, it says so without a stack trace,
// and exits with 128 plus the signal's number.
func TestSignalPublishesNothing(t *testing.T) {
	for name, end := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM,
		"SIGQUIT": syscall.SIGQUIT, "SIGABRT": syscall.SIGABRT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killPipeline(t, dir)
			status, stderr := interrupted(t, dir, end)
			if status != exitSignal+int(end) ||
				!strings.HasSuffix(stderr, "\nsdlfilter: ended by "+name+": nothing was published\n") ||
				strings.Contains(stderr, "goroutine") {
				t.Errorf("exit status %d\n%s", status, stderr)
			}
			if entries, err := os.ReadDir(filepath.Join(dir, "out")); err == nil && len(entries) > 0 {
				t.Errorf("remaining files: %s and %d more", entries[0].Name(), len(entries)-1)
			}
		})
	}
}

// interrupted starts a run over a source that never ends, sends a signal while it reads, and returns
// its exit status and what it wrote to standard error.
func interrupted(t *testing.T, dir string, end syscall.Signal) (status int, stderr string) {
	t.Helper()
	cmd := program(t, dir, "run", "pipeline.yaml", "--set", "source.csv.path=-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than the capacity of a pipe: when all is written, the program has read a part of it.
	if _, err := stdin.Write([]byte("id,wage,kind\n" + strings.Repeat("1,100.00,a\n", 100_000))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(end); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		cmd.Process.Kill()
		t.Fatalf("the run did not end on %v", end)
	}
	return cmd.ProcessState.ExitCode(), log.String()
}
