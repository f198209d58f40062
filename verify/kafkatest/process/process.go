// Package process runs a program that tests kill, freeze and ask to stop.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is a running program, in a process group of its own. It ends with the test
// binary, in whatever way that ends.
type Process struct {
	Log string // standard output and error, appended to

	command *exec.Cmd
	ended   chan struct{}
	frozen  atomic.Bool
}

// started numbers the logs.
var started atomic.Int64

// Start runs a program with its output in a file of dir.
func Start(dir string, env []string, program string, args ...string) (*Process, error) {
	p := &Process{Log: filepath.Join(dir, fmt.Sprintf("%s-%d.log", filepath.Base(program), started.Add(1))),
		ended: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.command = exec.Command(program, args...)
	p.command.Env = append(Environ(), env...)
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Environ returns the environment without the tests' own variable that has the prefix of
// the program's settings: the program would warn about it.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SDLFILTER_BINARY=") })
}

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Signal sends a signal, unless the program has ended.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	switch s {
	case syscall.SIGSTOP:
		p.frozen.Store(true)
	case syscall.SIGCONT:
		p.frozen.Store(false)
	}
	return nil
}

// Kill ends the program and its group with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	syscall.Kill(-p.PID(), syscall.SIGKILL)
	<-p.ended
}

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for the program's end and returns its exit status, -1 for a signal. It
// returns an error if the program still runs.
func (p *Process) Wait(patience time.Duration) (int, error) {
	select {
	case <-p.ended:
		return p.command.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("%s still runs after %v", filepath.Base(p.command.Path), patience)
	}
}

// CPU returns the processor time of the program, once it has ended.
func (p *Process) CPU() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// RSS returns the program's resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}

// Tail returns the end of the log.
func (p *Process) Tail() string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-3000):])
}
