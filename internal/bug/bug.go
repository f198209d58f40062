// Package bug ends what a mistake in the program itself has stopped, without telling what it was
// working on: the text of a panic, and the arguments in the trace of its stack, may be a
// respondent's values.
package bug

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Error is a panic that has become an error. It says where, and nothing of the panic's text.
type Error struct{ Place string }

func (e *Error) Error() string {
	return "internal error: " + e.Place + "; this is a mistake in the program: please report it with this line"
}

// Catch is to be deferred by a function that returns an error: a panic becomes an *Error.
func Catch(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Place(r)}
	}
}

// Guard is to be deferred by the function of a goroutine, as the last of what it defers. A panic
// ends the process with exit status 1, as if it had been killed; otherwise the runtime would show
// the panic's text and its stack, and end with status 2.
func Guard() {
	if r := recover(); r != nil {
		fmt.Fprintf(output, "sdlfilter: %v\n", &Error{Place(r)})
		exit(1)
	}
}

// Replaced by tests.
var (
	output io.Writer = os.Stderr
	exit             = os.Exit
)

// Place describes a panic by its type, and the function and line where it happened. It is called
// by the function that is deferred, with what recover returned.
func Place(r any) string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])]) // not runtime.Callers, Place and what is deferred
	for {
		frame, more := frames.Next()
		if frame.Func != nil && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%T at %s:%d", r, frame.Function, frame.Line)
		}
		if !more {
			return fmt.Sprintf("%T", r)
		}
	}
}
