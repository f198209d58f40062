// Command redteam plays the intruder against a build of the filter: each attack sets
// a scene with data that it makes up, runs the program as its user would, and then
// computes from what has come out, and from what an intruder may know, values that
// were to be kept. It prints what each recovered, and exits with 1 where one has
// recovered anything, or could not be run.
//
//	(cd verify && go build -o ../.cache/verify/ ./redteam)
//	.cache/verify/redteam -program bin/sdlfilter [NAME…]
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// attack is one way of getting at what was to be kept.
type attack struct {
	name string
	what string // what the intruder does, in a line
	run  func(s *scene) error
}

// scene is a folder in which an attack plays.
type scene struct {
	dir       string
	program   string
	rng       *rand.Rand
	recovered int      // values, or files, that an intruder has
	findings  []string // what they are, in words, one a line
}

var attacks = slices.Concat(releaseAttacks, contentAttacks, systemAttacks)

func main() {
	program := flag.String("program", "", "the filter's binary")
	flag.Parse()
	if err := run(*program, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "redteam:", err)
		os.Exit(1)
	}
}

func run(program string, names []string) error {
	if program == "" {
		return errors.New("-program must name the filter's binary")
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	recovered, failed, played := 0, 0, 0
	for i, a := range attacks {
		if len(names) > 0 && !slices.Contains(names, a.name) {
			continue
		}
		played++
		start := time.Now()
		s, err := play(a, program, uint64(i))
		took := time.Since(start).Round(10 * time.Millisecond)
		switch {
		case err != nil:
			failed++
			fmt.Printf("!! %-22s could not be played (%v): %v\n", a.name, took, err)
		case s.recovered > 0:
			recovered++
			fmt.Printf("✗  %-22s %s: RECOVERED %d (%v)\n", a.name, a.what, s.recovered, took)
		default:
			fmt.Printf("✓  %-22s %s: recovered nothing (%v)\n", a.name, a.what, took)
		}
		if s != nil {
			for _, line := range s.findings {
				fmt.Println("      " + line)
			}
		}
	}
	fmt.Printf("%d attacks: %d recovered something, %d could not be played\n", played, recovered, failed)
	if recovered+failed > 0 || played == 0 {
		return fmt.Errorf("of %d attacks %d have recovered something and %d could not be played", played, recovered, failed)
	}
	return nil
}

// play runs an attack in a folder of its own.
func play(a attack, program string, seed uint64) (*scene, error) {
	dir, err := os.MkdirTemp("", "redteam-*")
	if err != nil {
		return nil, err
	}
	s := &scene{dir: dir, program: program, rng: rand.New(rand.NewPCG(20261122, seed))}
	err = a.run(s)
	return s, errors.Join(err, os.RemoveAll(dir))
}

// gained notes what an intruder has.
func (s *scene) gained(n int, format string, args ...any) {
	if n > 0 {
		s.recovered += n
		s.say(format, args...)
	}
}

func (s *scene) say(format string, args ...any) {
	s.findings = append(s.findings, fmt.Sprintf(format, args...))
}

func (s *scene) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scene) write(name, text string) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// filter runs the program in the scene's folder with more variables in its
// environment, and returns its exit status and what it printed.
func (s *scene) filter(env []string, args ...string) (status int, printed string, err error) {
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SDLFILTER_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out), nil
	}
	return 0, string(out), err
}

// release runs a configuration and demands that it ends as expected: an attack on
// what does not come out shows nothing.
func (s *scene) release(config string, statuses ...int) (status int, printed string, err error) {
	if err := s.write("pipeline.yaml", config); err != nil {
		return 0, "", err
	}
	if status, printed, err = s.filter(nil, "run", "pipeline.yaml"); err != nil {
		return 0, "", err
	}
	if !slices.Contains(statuses, status) {
		return status, printed,
			fmt.Errorf("the run ended with status %d, and %v was expected:\n%s", status, statuses, printed)
	}
	return status, printed, nil
}

// key makes the release key k.
func (s *scene) key() error {
	status, printed, err := s.filter(nil, "keygen", "--out", "k")
	if err == nil && status != 0 {
		err = errors.New(printed)
	}
	return err
}
