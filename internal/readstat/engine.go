package readstat

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

//go:embed wasm/readstat.wasm
var code []byte

// MemoryLimit is the most memory, in bytes, that a file can take while it is read or written.
const MemoryLimit = 1 << 30

// ErrMalformed is the error of a file over which the library fails.
var ErrMalformed = errors.New("is malformed")

// engine is the compiled library.
type engine struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

var compiled = sync.OnceValues(func() (*engine, error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithMemoryLimitPages(MemoryLimit>>16).WithCloseOnContextDone(true))
	if err := host(ctx, r); err != nil {
		return nil, err
	}
	m, err := r.CompileModule(ctx, code)
	return &engine{r, m}, err
})

// instance is the library with a memory of its own.
type instance struct {
	module api.Module
	calls  *calls
	fails  error // what it means that the library comes to a sudden end
}

// calls are what the library asks its host for.
type calls struct {
	read     func(to []byte) (int, error)
	seek     func(offset int64, whence int) (int64, error)
	write    func(from []byte) error
	variable func(Variable) (want bool)
	metadata func(rows int64, version int, encoding string)
	missing  func(index int, m Range)
	label    func(Label)
	weight   func(index int)
	chunk    func(data []byte, rows int) error
	err      error // the first error of the host
}

type callsKey struct{}

func start(ctx context.Context, c *calls) (*instance, error) {
	e, err := compiled()
	if err != nil {
		return nil, err
	}
	m,
		err := e.runtime.InstantiateModule(ctx, e.module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		if done := ctx.Err(); done != nil {
			return nil, done
		}
		return nil, fmt.Errorf("the library for files of statistical packages does not start: %w", err)
	}
	return &instance{m, c, fmt.Errorf("%w: the library that reads it fails over it", ErrMalformed)}, nil
}

func (i *instance) close() error { return i.module.Close(context.Background()) }

// call calls a function of the library. Its result is 0 without one.
func (i *instance) call(ctx context.Context, name string, args ...uint64) (uint64, error) {
	out, err := i.module.ExportedFunction(name).Call(context.WithValue(ctx, callsKey{}, i.calls), args...)
	switch {
	case i.calls.err != nil:
		return 0, i.calls.err
	case err != nil:
		// What the error says names places in the library's code.
		if done := ctx.Err(); done != nil {
			return 0, done
		}
		return 0, i.fails
	case len(out) == 0:
		return 0, nil
	}
	return uint64(uint32(out[0])), nil // addresses and codes: the upper half of a stack slot is of no meaning
}

// do calls a function that returns a code of the library's errors.
func (i *instance) do(ctx context.Context, name string, args ...uint64) error {
	code, err := i.call(ctx, name, args...)
	if err != nil || code == 0 {
		return err
	}
	return i.explain(ctx, code)
}

// explain returns the error of a code.
func (i *instance) explain(ctx context.Context, code uint64) error {
	at, err := i.call(ctx, "message", code)
	if err != nil {
		return err
	}
	if code == outOfMemory || code == aborted && i.calls.err == nil { // by glue.c, which has no other reason
		return errRoom
	}
	return &Error{Code: int(code), What: text(i.module.Memory(), uint32(at))}
}

// The codes of the library that are told otherwise.
const (
	outOfMemory = 3
	aborted     = 4
)

// errRoom is the error of a file that the library cannot hold. Of a release it keeps the labels, and the long texts of
// Stata, until the end.
var errRoom = fmt.Errorf("takes more than the %d MiB of memory that a file has", MemoryLimit>>20)

// Error is an error of the library.
type Error struct {
	Code int
	What string
}

func (e *Error) Error() string { return e.What }

// put copies bytes into the library's memory; free takes them back.
func (i *instance) put(ctx context.Context, p []byte) (at uint64, err error) {
	if at, err = i.call(ctx, "alloc", uint64(max(len(p), 1))); err != nil {
		return 0, err
	}
	if at == 0 || !i.module.Memory().Write(uint32(at), p) {
		return 0, errRoom
	}
	return at, nil
}

func (i *instance) free(ctx context.Context, at ...uint64) error {
	for _, p := range at {
		if _, err := i.call(ctx, "free", p); err != nil {
			return err
		}
	}
	return nil
}

// putText is put of a text with its end.
func (i *instance) putText(ctx context.Context, s string) (uint64, error) {
	return i.put(ctx, append([]byte(s), 0))
}

// text is the text at a place of the memory; "" for none.
func text(m api.Memory, at uint32) string {
	if at == 0 {
		return ""
	}
	rest, ok := m.Read(at, m.Size()-min(at, m.Size()))
	if !ok {
		return ""
	}
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}
