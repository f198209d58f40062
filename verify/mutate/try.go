package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// What becomes of a mutant.
const (
	killed    = "killed"
	late      = "timed out"
	survived  = "SURVIVED"
	unreached = "UNREACHED"
)

// How a run of tests ends.
type ending int

const (
	passed ending = iota
	failed
	overdue
)

var errNotCompiled = errors.New("does not compile")

// arguments are those of a test program that runs some tests.
func (s settings) arguments(names ...string) []string {
	args := []string{"-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.count=1",
		"-test.timeout=0"}
	if !s.long {
		args = append(args, "-test.short")
	}
	return args
}

// try builds a mutant and runs the tests that run through it: the fast ones first, in
// groups that each take about as long as all before.
func (r *reached) try(ctx context.Context, s settings, scratch string, m mutant) (fate, by string, err error) {
	tests := r.through(m)
	if len(tests) == 0 {
		return unreached, "", nil
	}
	number := r.together.number[m.key()]
	programs := map[*pkg]string{}
	program := func(p *pkg) (path string, err error) {
		if number > 0 {
			return r.together.program(ctx, scratch, p)
		}
		if programs[p] == "" {
			programs[p] = filepath.Join(scratch, fmt.Sprintf("mutant%d.test", len(programs)))
			err = p.build(ctx, scratch, m.at.Filename, m.changed(), "test", "-vet=off", "-c", "-o", programs[p])
		}
		return programs[p], err
	}
	var before time.Duration
	for len(tests) > 0 {
		owner := tests[0].owner
		var names []string
		var group time.Duration
		for len(tests) > 0 && tests[0].owner == owner &&
			(len(names) == 0 || group+tests[0].took < max(before, 500*time.Millisecond)) {
			names, group = append(names, tests[0].name), group+tests[0].took
			tests = tests[1:]
		}
		before += group
		path, err := program(owner)
		if err != nil {
			return "", "", err
		}
		end, output,
			err := perform(ctx, s, owner.Dir, path, s.patience+10*group, s.arguments(names...),
			fmt.Sprintf("%s=%d", variable, number))
		switch {
		case err != nil:
			return "", "", err
		case end == overdue:
			return late, "", nil
		case end == failed:
			return killed, " · " + blamed(output), nil
		}
	}
	return survived, "", nil
}

// build runs a go command on a package with one file's text exchanged.
func (p *pkg) build(ctx context.Context, scratch, path string, text []byte, command ...string) error {
	file, overlay := filepath.Join(scratch, "mutant.go"), filepath.Join(scratch, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(command, "-overlay", overlay, "-ldflags=-s -w", p.ImportPath)...)
	switch output, err := cmd.CombinedOutput(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case bytes.Contains(output, []byte("mutant.go:")):
		return errNotCompiled
	default:
		return fmt.Errorf("go %s: %w\n%s", command[0], err, output)
	}
}

// perform runs a test program in the package's folder with a temporary folder of its
// own, within limits of time and memory: a mutant may do anything but that. All that it
// starts ends with it.
func perform(ctx context.Context, s settings, dir, program string, limit time.Duration, args []string,
	environment ...string) (ending, []byte, error) {
	temporary, err := os.MkdirTemp(filepath.Dir(program), "run")
	if err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(temporary)
	if limit < time.Hour {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errors.New("overdue"))
		defer cancel()
	}
	shell := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, s.memory*1024)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", shell, program}, args...)...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "TMPDIR="+temporary), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return 0, nil, ctx.Err()
	case ctx.Err() != nil:
		return overdue, output, nil
	case err == nil:
		return passed, output, nil
	case errors.As(err, &exit):
		return failed, output, nil
	default:
		return 0, nil, err
	}
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// blamed is the test that failed first, or how the program broke down.
func blamed(output []byte) string {
	found := failure.FindSubmatch(output)
	switch {
	case found == nil:
		return "failed"
	case len(found[1]) > 0:
		return string(found[1])
	default:
		return oneLine(string(found[2]))
	}
}
