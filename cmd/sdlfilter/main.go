// Command sdlfilter masks microdata on their way out, measures the disclosure
// risk and the data utility of what leaves, and withholds a release that is too
// risky.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	_ "time/tzdata" // zones of dates, on machines without them

	"golang.org/x/sys/unix"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// Exit statuses, fixed by the program's contract.
const (
	exitDone        = 0
	exitFailed      = 1 // failed at run time, nothing published
	exitUsage       = 2 // the command line or the configuration is wrong
	exitQuarantined = 3 // done, but some records are in quarantine
	exitRefused     = 4 // the gate refused the release, the output is withheld
	// published, but the report, or something else that belongs to the release, is not; or perhaps published, as the words
	// say
	exitUnreported = 5
	exitSignal     = 128 // plus the signal's number
)

func main() {
	// Buffers are reused, so garbage comes slowly and collecting it early costs
	// little: the peak of memory stays near what is in use, however long the file.
	if os.Getenv("GOGC") == "" {
		percent := 40
		if runtime.GOMAXPROCS(0) == 1 {
			percent = 100 // fewer blocks are at hand, of which garbage is a share
		}
		collector.collect(percent)
	}
	os.Exit(execute(os.Args[1:]))
}

// execute runs one command line and returns its exit status.
func execute(args []string) (status int) {
	ctx := untilSignal()
	root, state := newRoot()
	root.SetArgs(args)
	defer func() { state.spans.End(status) }()
	err := func() (err error) {
		defer func() { err = errors.Join(err, state.trace.stop()) }()
		defer bug.Catch(&err)
		return root.ExecuteContext(ctx)
	}()
	var (
		ended     *signalError
		published *filejob.PublishedError
	)
	switch signalled := errors.As(context.Cause(ctx), &ended); {
	case err == nil && signalled && state.cut:
		fmt.Fprintf(os.Stderr,
			"sdlfilter: %v before the end: what was read until then is released, and the next run goes on from there\n", ended)
		return exitSignal + int(ended.signal)
	case err == nil:
		return state.status // a signal that came too late has changed nothing
	case signalled && (!state.streaming || errors.Is(err, stream.ErrUnopened)) && !errors.As(err, &published):
		fmt.Fprintf(os.Stderr, "sdlfilter: %v: nothing was published\n", ended)
		return exitSignal + int(ended.signal)
	}
	printError(err)
	return statusOf(err)
}

// signalError is the cause of a context that a signal has ended.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return "ended by " + unix.SignalName(e.signal) }

// untilSignal gives a context that ends with SIGINT or SIGTERM, or with SIGQUIT or SIGABRT, for
// which the runtime would print stacks and registers. A second signal ends the process at once,
// with its status to the very end.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		defer bug.Guard()
		if s, ok := (<-signals).(syscall.Signal); ok {
			cancel(&signalError{s})
		}
		if s, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(exitSignal + int(s))
		}
	}()
	return ctx
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// statusOf sorts an error into the exit statuses.
func statusOf(err error) int {
	var (
		usage    usageError
		settings config.Errors
		data     *pipeline.DataError
	)
	if errors.As(err, &usage) || errors.As(err, &settings) || errors.As(err, &data) {
		return exitUsage
	}
	var published *filejob.PublishedError
	if errors.As(err, &published) {
		return exitUnreported
	}
	return exitFailed
}

// printError prints each line of an error under the program's name.
func printError(err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(os.Stderr, "sdlfilter: %s\n", strings.TrimSuffix(line, "\n"))
	}
}
