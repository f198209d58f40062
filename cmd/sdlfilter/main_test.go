package main

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"flag"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the program itself, in scripts and in the
// tests that kill it.
func TestMain(m *testing.M) {
	if os.Getenv("SDLFILTER_TEST_AS_PROGRAM") == "1" {
		os.Exit(execute(os.Args[1:]))
	}
	// The tests of streams wait for timers most of the time, not for a processor.
	if f := flag.Lookup("test.parallel"); f != nil {
		if err := f.Value.Set(strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"sdlfilter": func() {
		if slices.Contains(os.Args, "keygen") {
			rand.Reader = always(os.Args[1:])
		}
		os.Exit(execute(os.Args[1:]))
	}})
}

// always returns the source of the keys of scripts: which key a command makes hangs on its arguments alone.
// Verdicts are under a fixed key, so that a script passes always or never.
func always(args []string) io.Reader {
	return mathrand.NewChaCha8(sha256.Sum256([]byte(strings.Join(args, " "))))
}

// example is the file of the repository's example.
const example = "../../examples/cps/cps1988.parquet"

// TestScripts runs whole commands: testdata/script/*.txtar.
//
//	status N sdlfilter ARGS…   demands exit status N
//	mode FILE PERM             demands a file's permission bits
func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

// TestLongScripts runs those that take many seconds of a processor: testdata/script/long/*.txtar.
func TestLongScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("many seconds of a processor")
	}
	scripts(t, "testdata/script/long")
}

func scripts(t *testing.T, dir string) {
	t.Helper()
	cps, err := filepath.Abs(example)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CPS", cps)
			e.Setenv("EXAMPLES", filepath.Dir(filepath.Dir(cps)))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: status N command args…")
				}
				got := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					var exit *exec.ExitError
					if !errors.As(err, &exit) {
						ts.Fatalf("%v", err)
					}
					got = exit.ExitCode()
				}
				if want, _ := strconv.Atoi(args[0]); got != want {
					ts.Fatalf("exit status %d, want %d", got, want)
				}
			},
			"mode": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: mode FILE PERM")
				}
				info, err := os.Stat(ts.MkAbs(args[0]))
				ts.Check(err)
				if got := strconv.FormatInt(int64(info.Mode().Perm()), 8); got != args[1] {
					ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
				}
			},
		},
	})
}
