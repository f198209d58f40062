package main

import (
	"os"
	"runtime"
	"runtime/trace"
)

// sampled is how many times a second of processor time the stack of who uses it enters a trace, as often as Linux
// looks at its clocks.
const sampled = 250

// tracing writes an execution trace with samples of the processor, of which scripts/bench_span.py
// tells how many goroutines each part of a run has to share it.
type tracing struct {
	path string
	file *os.File
}

// start begins the trace; without a path there is none.
func (t *tracing) start() (err error) {
	if t.path == "" {
		return nil
	}
	if t.file, err = os.Create(t.path); err != nil {
		return err
	}
	runtime.SetCPUProfileRate(sampled) // the samples go to the trace, and to nobody else
	return trace.Start(t.file)
}

// stop ends what start has begun.
func (t *tracing) stop() error {
	if t.file == nil {
		return nil
	}
	trace.Stop()
	runtime.SetCPUProfileRate(0)
	return t.file.Close()
}
