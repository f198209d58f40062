package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// usage is what a process took, from its start to its end.
type usage struct {
	wall, cpu float64 // seconds
	peak      float64 // MB of 10⁶ bytes, resident at most
	out       []byte  // its standard output
}

// measure runs a command in a folder and reports what it took.
func measure(ctx context.Context, dir string, argv ...string) (usage, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(begin).Seconds(), out: stdout.Bytes()}
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s%s", strings.Join(argv, " "), err, stderr.String(), stdout.String())
	}
	u.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = float64(r.Maxrss) * 1024 / 1e6
		if runtime.GOOS == "darwin" {
			u.peak = float64(r.Maxrss) / 1e6 // bytes there
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %.3f s, %.3f CPU s, %.0f MB\n", filepath.Base(argv[0]), u.wall, u.cpu, u.peak)
	return u, nil
}

// inTurn runs every contestant once as a warm-up and then as often as asked,
// alternating, and returns by contestant what the runs took.
func inTurn(ctx context.Context, runs int, contestants []func(context.Context) (usage, error)) ([][]usage, error) {
	if runs < 1 {
		return nil, errors.New("-runs must be at least 1")
	}
	taken := make([][]usage, len(contestants))
	for round := range runs + 1 {
		for i, c := range contestants {
			u, err := c(ctx)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				taken[i] = append(taken[i], u)
			}
		}
	}
	return taken, nil
}
