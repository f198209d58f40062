package compress

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

const (
	pumpBuffer = 256 << 10
	pumpDepth  = 4
)

// Reader reads ahead in a goroutine of its own.
type Reader struct {
	src   io.Reader
	ctx   context.Context
	full  chan piece
	empty chan []byte
	quit  chan struct{}
	once  sync.Once // starts the goroutine
	stop  sync.Once
	cur   piece
	off   int
	err   error
}

type piece struct {
	data []byte
	err  error
}

// Ahead returns a reader that fetches from src in a goroutine, from the first
// Read on. Close does not close src.
func Ahead(src io.Reader) *Reader {
	return &Reader{src: src, ctx: context.Background(), full: make(chan piece, pumpDepth),
		empty: make(chan []byte, pumpDepth), quit: make(chan struct{})}
}

// WithContext makes further calls of Read end when ctx does, even while src
// waits, as a terminal or a pipe may.
func (r *Reader) WithContext(ctx context.Context) { r.ctx = ctx }

func (r *Reader) start() {
	for range pumpDepth {
		r.empty <- make([]byte, pumpBuffer)
	}
	go func() {
		if s, ok := r.src.(*lazy); ok {
			defer s.stop()
		}
		defer bug.Guard()
		for {
			var buf []byte
			select {
			case buf = <-r.empty:
			case <-r.quit:
				return
			}
			n, err := r.src.Read(buf[:cap(buf)])
			select {
			case r.full <- piece{buf[:n], err}:
			case <-r.quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()
}

func (r *Reader) Read(p []byte) (int, error) {
	r.once.Do(r.start)
	for r.off == len(r.cur.data) {
		if r.err != nil {
			return 0, r.err
		}
		if r.cur.data != nil {
			r.empty <- r.cur.data // never blocks: there are only pumpDepth buffers
			r.cur.data = nil
		}
		r.off = 0
		select {
		case r.cur = <-r.full:
			r.err = r.cur.err
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-r.quit:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, r.cur.data[r.off:])
	r.off += n
	return n, nil
}

// Close ends the goroutine.
func (r *Reader) Close() error {
	r.stop.Do(func() { close(r.quit) })
	return nil
}

// writer hands what is written to a goroutine that compresses it.
type writer struct {
	dst    io.WriteCloser
	full   chan []byte
	empty  chan []byte
	failed chan struct{} // closed once err is set
	err    error
	done   chan struct{}
	cur    []byte
	closed bool
}

func behind(dst io.WriteCloser) *writer {
	w := &writer{dst: dst, full: make(chan []byte, pumpDepth), empty: make(chan []byte, pumpDepth),
		failed: make(chan struct{}), done: make(chan struct{})}
	for range pumpDepth - 1 {
		w.empty <- make([]byte, 0, pumpBuffer)
	}
	w.cur = make([]byte, 0, pumpBuffer)
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	defer bug.Guard()
	fail := func(err error) {
		if err != nil && w.err == nil {
			w.err = err
			close(w.failed)
		}
	}
	for buf := range w.full {
		if w.err == nil {
			_, err := w.dst.Write(buf)
			fail(err)
		}
		w.empty <- buf[:0]
	}
	fail(w.dst.Close())
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errors.New("write after close")
	}
	for n := 0; n < len(p); {
		k := copy(w.cur[len(w.cur):cap(w.cur)], p[n:])
		w.cur = w.cur[:len(w.cur)+k]
		n += k
		if len(w.cur) == cap(w.cur) {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return len(p), nil
}

func (w *writer) flush() error {
	select {
	case <-w.failed:
		return w.err
	default:
	}
	w.full <- w.cur
	w.cur = <-w.empty
	return nil
}

// Close completes the compressed stream and returns the first error.
func (w *writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if len(w.cur) > 0 {
		w.full <- w.cur
	}
	close(w.full)
	<-w.done
	return w.err
}
