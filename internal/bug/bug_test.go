package bug

import (
	"bytes"
	"strings"
	"testing"
)

const canary = "canary 4711"

func fails(with func()) (err error) {
	defer Catch(&err)
	with()
	return nil
}

// A panic, of the program or of the runtime, becomes an error that names its place and nothing else.
func TestCatch(t *testing.T) {
	if err := fails(func() {}); err != nil {
		t.Error(err)
	}
	var none []int
	for want, with := range map[string]func(){
		"string at ":              func() { panic(canary) },
		"runtime.boundsError at ": func() { none[4711]++ },
	} {
		err := fails(with)
		if err == nil || !strings.HasPrefix(err.Error(), "internal error: "+want) ||
			!strings.Contains(err.Error(), "bug.TestCatch.func") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A goroutine that panics ends the process with status 1 before anything else can happen.
func TestGuard(t *testing.T) {
	var text bytes.Buffer
	var status []int
	oldOutput, oldExit := output, exit
	output, exit = &text, func(s int) { status = append(status, s) }
	defer func() { output, exit = oldOutput, oldExit }()

	func() { defer Guard() }()
	if len(status) > 0 || text.Len() > 0 {
		t.Fatalf("nothing has happened: %d, %s", status, text.String())
	}
	func() {
		defer func() { status = append(status, -1) }() // a waiting goroutine is notified after the end
		defer Guard()
		panic(canary)
	}()
	if len(status) != 2 || status[0] != 1 {
		t.Errorf("status %d", status)
	}
	if s := text.String(); !strings.HasPrefix(s, "sdlfilter: internal error: string at ") || strings.Count(s, "\n") != 1 ||
		strings.Contains(s, "4711") {
		t.Errorf("printed %q", s)
	}
}
